/* run.c -- shared by `motley sim` and `motley train`: from the command line to the result. */
#include "run.h"
#include "api/job.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "base/shown.h"
#include "base/words.h"
#include "interrupt.h"
#include "report/json.h"
#include "report/report.h"
#include "serve.h"
#include "sim/sim.h"
#include "study/plan.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_size_line(const char *what, uint64_t bytes)
{
    char text[32];
    printf("#   %-12s %10s\n", what, mot_show_size((double)bytes, text, sizeof(text)));
}

static void print_plan_json(const struct mot_job *j, const struct mot_memory_plan *plan)
{
    json_t *all =
        json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:{s:I, s:I, s:I, s:I, s:I, s:I, s:I}, s:{s:I, s:I}}",
            "method", j->experiment->method->name, "workers", (json_int_t)j->experiment->workers, "servers",
            (json_int_t)j->experiment->servers, "train_rows", (json_int_t)j->data->train.rows, "parameters",
            (json_int_t)j->net.parameters, "segments", (json_int_t)j->net.segments, "memory_bytes", "data",
            (json_int_t)plan->data, "buffers", (json_int_t)plan->buffers, "states", (json_int_t)plan->states,
            "events", (json_int_t)plan->events, "scratch", (json_int_t)plan->scratch, "evaluation",
            (json_int_t)plan->evaluation, "total", (json_int_t)plan->total, "buffers", "expected",
            (json_int_t)plan->buffer_count, "reserved", (json_int_t)plan->buffers_reserved);
    struct mot_foresight foresight;
    if (mot_job_foresee(j, &foresight)) {
        mot_json_set(all, "prediction", mot_foresight_json(&foresight));
        mot_foresight_close(&foresight);
    }
    mot_json_print(all, stdout);
    json_decref(all);
}

static void print_buffers(const struct mot_memory_plan *p)
{
    const bool all = p->buffer_count >= p->buffers_reserved;
    printf(
        "# (Scratch holds the outputs of all layers %u time%s. Address space is reserved for %llu buffers of "
        "the\n# model's size",
        p->copies, p->copies == 1 ? "" : "s", (unsigned long long)p->buffers_reserved);
    if (all && p->rehearsed) fputs("; all will be used", stdout);
    else if (!all)
        printf(", of which %s %llu will be used", p->rehearsed ? "some" : "at most",
            (unsigned long long)p->buffer_count);
    puts(".)");
}

/* The resolved experiment, with its cost in comments. */
static enum mot_status print_plan(const struct cli_args *args, const struct mot_job *j,
    const struct mot_driver *driver, struct mot_ranks *ranks)
{
    struct mot_memory_plan plan;
    struct mot_driver_options o = { .experiment = j->experiment,
        .problem = &j->problem,
        .optim = &j->optim,
        .ranks = ranks,
        .emulate = cli_given(args, "emulate") };
    enum mot_status status = (driver->plan ? driver->plan : mot_driver_sim.plan)(&o, &plan);
    if (status != MOT_OK) return status;
    if (args->json) {
        print_plan_json(j, &plan);
        return MOT_OK;
    }
    status = mot_experiment_print(j->experiment, stdout);
    if (status != MOT_OK) return status;
    printf("\n# %u workers, %u server%s, %u training rows, %.0f parameters in %u segment%s.\n",
        j->experiment->workers, j->experiment->servers, j->experiment->servers == 1 ? "" : "s",
        j->data->train.rows, j->net.parameters, j->net.segments, j->net.segments == 1 ? "" : "s");
    printf("# Memory%s:\n", ranks ? " of rank 0" : "");
    print_size_line("data", plan.data);
    print_size_line("buffers", plan.buffers);
    print_size_line("states", plan.states);
    print_size_line("events", plan.events);
    print_size_line("scratch", plan.scratch);
    print_size_line("evaluation", plan.evaluation);
    print_size_line("total", plan.total);
    print_buffers(&plan);
    struct mot_foresight foresight;
    if (mot_job_foresee(j, &foresight)) {
        puts("#");
        mot_foresight_print(&foresight, "# ", stdout);
        mot_foresight_close(&foresight);
    }
    return MOT_OK;
}

/* The last worker with the model is gone. */
static void fail_without_model(const struct mot_outcome *out)
{
    char left[80] = "; no checkpoint was written";
    if (out->saved)
        snprintf(left, sizeof left, "; --resume continues from the checkpoint of update %llu",
            (unsigned long long)out->saved_updates);
    mot_fail(MOT_EPEER, "worker %u was lost after %s, and with it the only copy of the model%s", out->peer,
        mot_updates_text(out->last.updates).text, left);
}

/* A run that was already over: its folder has the result. */
static enum mot_status print_over(
    const struct cli_args *args, const struct mot_job *j, const struct mot_outcome *out)
{
    const char *folder = j->experiment->output;
    if (args->json) {
        unsigned char *bytes;
        size_t n;
        char *path = mot_path_join(folder, "summary.json");
        enum mot_status status = mot_file_read(path, SIZE_MAX, &bytes, &n);
        free(path);
        if (status != MOT_OK) return status;
        fwrite(bytes, 1, n, stdout);
        free(bytes);
        return MOT_OK;
    }
    mot_put_shown(folder, stdout);
    if (strcmp(out->ended_by, "data") == 0)
        printf(": already finished: its data ran out after %s; nothing was changed\n",
            mot_updates_text(out->last.updates).text);
    else /* also if it was interrupted after the point where it is now asked to end */
        printf(": already finished: stop.%s is reached, after %s; nothing was changed. Change "
               "stop.%s to continue.\n",
            out->ended_by, mot_updates_text(out->last.updates).text, out->ended_by);
    return MOT_OK;
}

/* ---- The error of a prediction ------------------------------------------------------------------ */

/* Seconds per update according to a simulated run's folder or a plan.json; NaN: it does not say. */
static enum mot_status predicted_update(const char *path, double *out)
{
    char *file = mot_path_join(path, "summary.json");
    bool folder = mot_file_exists(file);
    json_t *said;
    (void)mot_json_read(folder ? file : path, MOT_EUSAGE, &said);
    free(file);
    if (mot_memory_refused()) return mot_memory_status();
    if (!said)
        return mot_fail(MOT_EUSAGE,
            "--predicted: expected the folder of a simulated run, or a plan.json; found '%.200s'", path);
    *out = folder ? mot_json_get_number(said, "time_s") / mot_json_get_number(said, "updates")
                  : mot_json_get_number(said, "update_s");
    json_decref(said);
    return MOT_OK;
}

/* "13 % too optimistic"; beyond a factor of two percentages mislead. */
static void say_off(double off, char *into, size_t size)
{
    double times = off < 0 ? 1 / (1 + off) : 1 + off;
    if (fabs(off) < 0.01) snprintf(into, size, "as predicted");
    else if (times < 2)
        snprintf(into, size, "%.0f %% %s", 100 * fabs(off), off < 0 ? "too optimistic" : "too pessimistic");
    else
        snprintf(into, size, "%.*f times as %s as predicted", times < 9.95 ? 1 : 0, times,
            off < 0 ? "long" : "fast");
}

/* Reports the error on the terminal and in the run's summary.json. */
static void tell_prediction(
    const struct cli_args *args, const struct mot_job *j, const struct mot_outcome *out, double predicted)
{
    double took = out->last.updates ? (double)out->last.now * 1e-9 / (double)out->last.updates : (double)NAN;
    if (!(predicted > 0) || !(took > 0)) return;
    char mine[32], theirs[32], words[64];
    double off = predicted / took - 1;
    say_off(off, words, sizeof(words));
    if (!args->json)
        printf("Predicted: %s an update; it took %s: %s.\n",
            mot_show_time((uint64_t)(predicted * 1e9 + 0.5), theirs, sizeof(theirs)),
            mot_show_time((uint64_t)(took * 1e9 + 0.5), mine, sizeof(mine)), words);
    if (!j->experiment->output) return;
    char *path = mot_path_join(j->experiment->output, "summary.json");
    json_t *summary;
    if (mot_json_read(path, MOT_EDATA, &summary) == MOT_OK) {
        mot_json_set(summary, "predicted",
            json_pack("{s:f, s:f, s:f}", "update_s", predicted, "took_s", took, "off", off));
        mot_json_write(summary, path);
    }
    json_decref(summary);
    free(path);
}

/* The run's title in its live view. */
static const char *title_of(const struct cli_args *args, const struct mot_job *j)
{
    const char *path = args->words ? args->word[0]
        : j->experiment->output    ? j->experiment->output
                                   : "defaults";
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* Connects the run to its live view, if --serve asks for one. */
static enum mot_status be_seen(const struct cli_args *args, const struct mot_job *j,
    const struct mot_driver *driver, struct mot_job_ways *ways)
{
    struct mot_serve *serve;
    enum mot_status status = cli_serve_open(args, ways->ranks != NULL, &serve);
    if (status != MOT_OK || !serve) return status;
    ways->told = serve;
    ways->evaluated = mot_serve_evaluated;
    ways->tick = mot_serve_tick;
    ways->worked = mot_serve_worked;
    cli_serve_results(j->experiment->output);
    mot_serve_run(serve, j->experiment, driver->name, title_of(args, j));
    return MOT_OK;
}

static enum mot_status run_job(const struct cli_args *args, const struct mot_job *j,
    const struct mot_driver *driver, struct mot_ranks *ranks)
{
    struct mot_outcome out;
    bool leads = mot_driver_rank(driver, ranks) == 0; /* who prints */
    struct mot_job_ways ways = { .driver = driver,
        .ranks = ranks,
        .own_rows = ranks != NULL,
        .emulate = cli_given(args, "emulate"),
        .resume = cli_given(args, "resume"),
        .replace = cli_given(args, "replace"),
        .tensorboard = cli_given(args, "tensorboard"),
        .record = cli_given(args, "record"),
        .arrivals = cli_value(args, "arrivals"),
        .interrupt = cli_catch_interrupts(),
        .progress = args->quiet || !leads ? NULL : stderr,
        .terminal = isatty(STDERR_FILENO) };
    if (ways.resume && ways.replace)
        return mot_fail(MOT_EUSAGE,
            "--resume and --replace: expected only one; the first continues the run in --out, the second "
            "overwrites it");
    double predicted = NAN;
    enum mot_status status = MOT_OK;
    if (cli_given(args, "predicted")) status = predicted_update(cli_value(args, "predicted"), &predicted);
    if (status == MOT_OK && leads) status = be_seen(args, j, driver, &ways);
    if (status == MOT_OK) status = mot_job_run(j, &ways, &out);
    if (status != MOT_OK) return status;
    if (!leads) {
        status = out.status;
        mot_outcome_close(&out);
        return status;
    }
    if (out.was_over) {
        status = print_over(args, j, &out);
        mot_outcome_close(&out);
        return status;
    }
    if (args->json) {
        json_t *summary = mot_job_summary(j, driver, &out);
        mot_json_print(summary, stdout);
        json_decref(summary);
    } else if (args->quiet) {
        mot_summary_line(j->experiment, &out, stdout);
    } else {
        mot_summary_print(j->experiment, &out, stdout, isatty(STDOUT_FILENO) && args->colour);
    }
    tell_prediction(args, j, &out, predicted);
    status = out.status;
    if (status == MOT_EDIVERGED)
        mot_fail(status,
            "the run diverged after %s: the loss is no longer finite; try a smaller optimizer.lr",
            mot_updates_text(out.last.updates).text);
    if ((status == MOT_EDATA || status == MOT_ESYSTEM || status == MOT_EUSAGE) && out.trouble)
        mot_fail(status, "the source of worker %u: %s", out.troubled, out.trouble);
    if (status == MOT_EDEADLINE || (status != MOT_OK && out.stuck_by)) {
        char why[240];
        mot_stuck_how(&out, why, sizeof why);
        mot_fail(status, "the run stopped making progress after %s: %s",
            mot_updates_text(out.last.updates).text, why);
    } else if (status == MOT_EPEER && out.model_lost) fail_without_model(&out);
    else if (status == MOT_EPEER && out.has_peer)
        mot_fail(status, "%s %u was lost after %s%s%s%s", out.peer < out.workers ? "worker" : "server",
            out.peer < out.workers ? out.peer : out.peer - out.workers,
            mot_updates_text(out.last.updates).text, out.peer_by ? ": " : "",
            out.peer_by ? mot_lost_how(out.peer_by) : "",
            j->experiment->output && driver->live ? "; --resume continues from the last checkpoint" : "");
    else if (status == MOT_EPEER)
        mot_fail(status, "a peer was lost after %s", mot_updates_text(out.last.updates).text);
    if (status == MOT_EINTERRUPTED && j->experiment->output && out.saved &&
        out.saved_updates < out.last.updates)
        mot_fail(status, "interrupted; --resume continues from the checkpoint of update %llu",
            (unsigned long long)out.saved_updates);
    else if (status == MOT_EINTERRUPTED)
        mot_fail(status,
            j->experiment->output ? "interrupted; --resume continues where it stopped" : "interrupted");
    mot_outcome_close(&out);
    return status;
}

/* With --resume or --arrivals and no experiment file, the run folder's own is used. */
char *cli_experiment_path(const struct cli_args *args)
{
    if (args->words) return mot_text(args->word[0]);
    if (cli_given(args, "arrivals")) return mot_path_join(cli_value(args, "arrivals"), "experiment.yaml");
    if (!cli_given(args, "resume")) return NULL;
    for (size_t i = args->settings; i-- > 0;) {
        if (strcmp(args->setting[i].key, "output") != 0) continue;
        char *path = mot_path_join(args->setting[i].value, "experiment.yaml");
        if (mot_file_exists(path)) return path;
        free(path);
    }
    return NULL;
}

/* One arm of a study's file, with what the command line sets. */
static enum mot_status open_arm(const struct cli_args *args, const char *path, const char *name,
    const struct mot_setting *setting, size_t settings, struct mot_experiment **out)
{
    struct mot_study_plan *plan;
    if (!path) return mot_fail(MOT_EUSAGE, "--arm: expected a study's file, which names its arms");
    enum mot_status status = mot_study_plan_open(path, &(struct mot_plan_flags){ .seeds = "1" }, &plan);
    if (status != MOT_OK) return status;
    bool lone = plan->arms == 1 && !*plan->arm[0].name;
    size_t at = 0;
    while (at < plan->arms && strcmp(plan->arm[at].name, name) != 0) at++;
    if (lone) {
        status = mot_fail(MOT_EUSAGE, "--arm: %s compares nothing, so it has no arms; leave --arm out", path);
    } else if (at == plan->arms) {
        char *known = mot_text("");
        for (size_t i = 0; i < plan->arms; i++) {
            char *longer = mot_format("%s%s'%s'", known, i ? ", " : "", plan->arm[i].name);
            free(known);
            known = longer;
        }
        status = mot_fail(
            MOT_EUSAGE, "--arm: expected one of %s; found '%.60s'", *known ? known : "no arms", name);
        free(known);
    } else {
        const struct mot_study_side *arm = &plan->arm[at];
        struct mot_setting *all = mot_new(arm->settings + settings + 1, sizeof(*all));
        size_t n = 0;
        for (size_t i = 0; i < arm->settings; i++)
            all[n++] =
                (struct mot_setting){ arm->setting[i].key, arm->setting[i].value, arm->setting[i].origin };
        for (size_t i = 0; i < settings; i++) all[n++] = setting[i];
        status = mot_experiment_open_run(plan->path, plan->text, plan->n, all, n, out);
        free(all);
        if (status == MOT_OK && plan->tune.asked && !args->quiet)
            fprintf(stderr,
                "motley: this study tunes %s before it compares; motley tune leaves the best values in "
                "best-%s.yaml\n",
                plan->tune.overs ? plan->tune.over[0].key : "its arms", name);
    }
    mot_study_plan_close(plan);
    return status;
}

enum mot_status cli_run(const struct cli_args *args, const struct mot_driver *driver, struct mot_ranks *ranks)
{
    struct mot_experiment *x;
    struct mot_job job;
    char *path = cli_experiment_path(args);
    /* A replay does not write to the recorded run's folder; only --out says where. */
    struct mot_setting *setting = mot_new(args->settings + 1, sizeof(*setting));
    size_t settings = cli_given(args, "arrivals");
    if (settings)
        setting[0] = (struct mot_setting){ .key = "output", .value = "none", .origin = "--arrivals" };
    for (size_t i = 0; i < args->settings; i++) setting[settings++] = args->setting[i];
    const char *arm = cli_value(args, "arm");
    enum mot_status status = arm ? open_arm(args, path, arm, setting, settings, &x)
                                 : mot_experiment_open(path, setting, settings, &x);
    free(setting);
    free(path);
    if (status != MOT_OK) return status;
    if (driver->fits) status = driver->fits(ranks, x);
    if (status == MOT_OK) status = mot_job_open(x, &job);
    if (status == MOT_OK) {
        if (!cli_given(args, "dry-run")) status = run_job(args, &job, driver, ranks);
        else if (mot_driver_rank(driver, ranks) == 0) status = print_plan(args, &job, driver, ranks);
        mot_job_close(&job);
    }
    mot_experiment_close(x);
    return status;
}
