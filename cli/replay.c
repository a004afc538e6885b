/* replay.c -- `motley replay`: the events of one node of a recorded run, one per line. */
#include "api/job.h"
#include "live/replay.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/words.h"
#include "cli.h"
#include "live/replay.h"
#include <stdlib.h>
#include <string.h>

struct range {
    uint64_t from, to;
    bool quiet;
};

/* ---- A line ------------------------------------------------------------------------------- */

static const char *scope_of(enum mot_coll_scope scope)
{
    return scope == MOT_COLL_ALL ? "" : scope == MOT_COLL_GROUP ? " of the group" : " of the roots";
}

static void print_event(const struct mot_taped *e)
{
    switch (e->kind) {
    case MOT_EV_START: printf("START"); return;
    case MOT_EV_MESSAGE:
        printf("MESSAGE from %u kind %u round %llu", e->from, (unsigned)e->message,
            (unsigned long long)e->head.round);
        if (e->head.samples) printf(" samples %u value %.9g", e->head.samples, e->head.value);
        if (e->rows) printf(" rows of part %u", e->rows - 1);
        return;
    case MOT_EV_WORK:
    case MOT_EV_PIECE: {
        double loss;
        memcpy(&loss, &e->check, sizeof(loss));
        if (e->kind == MOT_EV_PIECE) printf("PIECE %u", e->piece);
        else printf("WORK");
        printf(" tag %u samples %u loss %.9g", e->tag, e->samples, loss);
        return;
    }
    case MOT_EV_COLL: printf("COLL tag %u%s", e->tag, scope_of(e->scope)); return;
    case MOT_EV_TIMER: printf("TIMER %u", e->tag); return;
    case MOT_EV_PEER: printf("PEER %u %s", e->peer.node, e->peer.up ? "is back" : "is lost"); return;
    }
}

static void print_effect(const struct mot_effect *e, mot_time now)
{
    switch (e->kind) {
    case MOT_FX_SEND:
        printf(" send(to %u kind %u round %llu", e->message.to, (unsigned)e->message.kind,
            (unsigned long long)e->message.head.round);
        if (e->message.rows) printf(" rows of part %u", e->message.rows - 1);
        putchar(')');
        return;
    case MOT_FX_FORGET: printf(" forget(part %u)", e->part); return;
    case MOT_FX_START: {
        uint64_t samples = 0;
        for (uint32_t t = 0; t < e->work.terms; t++) samples += e->work.term[t].samples;
        printf(" start(tag %u draw %llu samples %llu)", e->work.tag, (unsigned long long)e->work.term[0].draw,
            (unsigned long long)samples);
        return;
    }
    case MOT_FX_CANCEL: printf(" cancel(tag %u)", e->alarm.tag); return;
    case MOT_FX_COLLECT:
        printf(" collect(tag %u%s%s)", e->coll.tag, scope_of(e->coll.scope),
            e->coll.kind == MOT_COLL_TO_ROOT         ? " to the root"
                : e->coll.kind == MOT_COLL_FROM_ROOT ? " from the root"
                                                     : "");
        return;
    case MOT_FX_ALARM:
        if (e->alarm.at == MOT_NEVER) printf(" disarm(%u)", e->alarm.tag);
        else printf(" alarm(%u in %.6f s)", e->alarm.tag, (double)(e->alarm.at - now) * 1e-9);
        return;
    case MOT_FX_ADVANCE: printf(" advance"); return;
    case MOT_FX_ENTER: printf(" enter(at %llu)", (unsigned long long)e->updates); return;
    case MOT_FX_CREDIT: printf(" credit(%u)", e->credit); return;
    case MOT_FX_NOTE: printf(" note(%s %.6g)", e->note.key, e->note.value); return;
    case MOT_FX_STOP: printf(" stop(%s)", mot_status_name(e->stop)); return;
    }
}

static void on_event(void *self, const struct mot_replayed *r)
{
    const struct range *range = self;
    if (r->number < range->from || r->number > range->to || range->quiet) return;
    printf("%8llu  %12.6f s  ", (unsigned long long)r->number, (double)r->event->now * 1e-9);
    print_event(r->event);
    if (r->effects->n) printf("  ->");
    for (uint32_t i = 0; i < r->effects->n; i++) print_effect(&r->effects->effect[i], r->event->now);
    putchar('\n');
}

/* ---- The command --------------------------------------------------------------------------- */

static enum mot_status read_number(
    const struct cli_args *args, const char *flag, uint64_t least, uint64_t most, uint64_t *out)
{
    const char *text = cli_value(args, flag);
    if (!text) return MOT_OK;
    if (!mot_read_uint(text, out) || *out < least || *out > most)
        return mot_fail(MOT_EUSAGE, "--%s: expected a whole number from %llu to %llu; found '%.40s'", flag,
            (unsigned long long)least, (unsigned long long)most, text);
    return MOT_OK;
}

static enum mot_status replay_job(
    const struct cli_args *args, const struct mot_job *j, struct mot_record *record)
{
    struct range range = { .from = 1, .to = UINT64_MAX, .quiet = args->quiet };
    uint64_t node = 0, most = UINT64_MAX;
    enum mot_status status = read_number(args, "node", 0, record->nodes - 1, &node);
    if (status == MOT_OK) most = record->tape[node].events ? record->tape[node].events : 1;
    if (status == MOT_OK) status = read_number(args, "from", 1, most, &range.from);
    if (status == MOT_OK) status = read_number(args, "to", range.from, most, &range.to);
    if (status != MOT_OK) return status;
    struct mot_outcome out;
    struct mot_inspection inspection = { .node = (mot_node)node,
        .until = range.to == UINT64_MAX ? 0 : range.to,
        .seen = on_event,
        .seen_self = &range };
    status = mot_driver_replay.run(&(struct mot_driver_options){ .experiment = j->experiment,
                                       .problem = &j->problem,
                                       .optim = &j->optim,
                                       .x0 = j->x0,
                                       .record = record,
                                       .inspection = &inspection },
        &out);
    if (status != MOT_OK) return status;
    if (!args->quiet && range.to == UINT64_MAX)
        printf("The model equals that of the recorded run: %016llx.\n", (unsigned long long)out.model_hash);
    mot_outcome_close(&out);
    return MOT_OK;
}

static enum mot_status replay(const struct cli_args *args)
{
    struct mot_experiment *x;
    struct mot_job job;
    struct mot_record record;
    char *path = mot_path_join(args->word[0], "experiment.yaml");
    const struct mot_setting setting = { .key = "output", .value = "none", .origin = "replay" };
    enum mot_status status = mot_experiment_open(path, &setting, 1, &x);
    free(path);
    if (status != MOT_OK) return status;
    status = mot_job_open(x, &job);
    if (status == MOT_OK) {
        status = mot_record_read(args->word[0], job.hash, &record);
        if (status == MOT_OK) {
            status = replay_job(args, &job, &record);
            mot_record_close(&record);
        }
        mot_job_close(&job);
    }
    mot_experiment_close(x);
    return status;
}

static const struct cli_flag flags[] = {
    { "node", "N", "the node: workers are 0, 1, ..., then comes the server; default: 0" },
    { "from", "EVENT", "start printing at this event of the node; the first is 1" },
    { "to", "EVENT", "stop after this event of the node" },
    { NULL, NULL, NULL },
};

const struct cli_command cli_replay = {
    .name = "replay",
    .synopsis = "RUN [--node N] [--from EVENT] [--to EVENT]",
    .summary = "step through the events of one node of a recorded run",
    .about =
        "Replays what `motley train --record` kept in the run folder RUN, and prints one line for each event "
        "of the node: its number, the time, the event, and after the arrow what the method did. A record "
        "holds no parameters, so what other nodes sent is computed again, up to the last event you ask for.\n"
        "For debuggers, mot_replay_here(node, number) is called before each of the node's steps: break "
        "there, then step into the method. `gdb --args motley replay RUN --node 3`, `break mot_replay_here "
        "if number == 120`, `run`.\n"
        "If an event cannot be repeated, the exit code is 7 and the message names the node and the event.",
    .examples = "motley train --method async --workers 4 --record --out runs/live\n"
                "motley replay runs/live --node 3 --to 20\n",
    .flags = flags,
    .words_min = 1,
    .words_max = 1,
    .run = replay,
};
