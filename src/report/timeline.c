/* timeline.c -- timeline.json: what every node did at the beginning of a run, small enough to
 * be in every folder.
 *
 * Spans are kept in memory, a fixed number of them. A node's messages that overlap become one
 * span, so a collective of many small messages costs one or two. When all spans are used, that time is
 * the cut. Phases that began before it are taken for a short while longer, since a phase is
 * reported only when it ends; then `enough` is set, and the driver stops reporting. */
#include "report/timeline.h"

#include "base/file.h"
#include "base/memory.h"
#include <inttypes.h>
#include <stdlib.h>

enum kind { COMPUTE, CANCELLED, COLLECTIVE, SEND, RECEIVE, KINDS };
static const char *const kind_name[KINDS] = { "compute", "cancelled", "collective", "send", "receive" };

#define ROWS_MOST (MOT_TIMELINE_WORKERS + MOT_TIMELINE_SERVERS)
#define LATE_SPANS (ROWS_MOST * 4) /* for phases that end after the cut */
#define LATE_REPORTS 2048          /* reports that may bring them */
#define NOBODY UINT16_MAX

struct span {
    uint16_t row;
    uint8_t kind;
    mot_time from, to;
};
struct union_of {
    mot_time from, to;
    bool open;
};
struct row {
    mot_node node;
    struct union_of message[2];
}; /* sent, received */

struct mot_timeline {
    char *path;
    const struct mot_experiment *experiment;
    uint32_t workers, nodes;
    uint16_t *place; /* [nodes]: a node's row, or NOBODY */
    struct row row[ROWS_MOST];
    uint32_t rows;
    struct span *span;     /* [MOT_TIMELINE_SPANS + LATE_SPANS] */
    uint32_t spans, opens; /* opens: unions that will become spans */
    uint32_t late;         /* reports since the cut */
    mot_time from, latest, cut;
    bool any, is_cut, saved;
    atomic_bool enough;
    enum mot_status status; /* of the first write that failed */
};

/* All nodes if they are few; otherwise the first, the last and some evenly spaced in between. */
static void choose(struct mot_timeline *t, mot_node first, uint32_t n, uint32_t most)
{
    uint32_t shown = n < most ? n : most;
    for (uint32_t i = 0; i < shown; i++) {
        mot_node node = first + (shown < n ? (uint32_t)((uint64_t)i * (n - 1) / (shown - 1)) : i);
        t->place[node] = (uint16_t)t->rows;
        t->row[t->rows++].node = node;
    }
}

struct mot_timeline *mot_timeline_open(const char *path, const struct mot_experiment *e)
{
    struct mot_timeline *t = mot_new(1, sizeof *t);
    t->path = mot_text(path);
    t->experiment = e;
    t->workers = e->workers;
    t->nodes = e->workers + e->servers;
    t->place = mot_new(t->nodes ? t->nodes : 1, sizeof *t->place);
    for (uint32_t i = 0; i < t->nodes; i++) t->place[i] = NOBODY;
    t->span = mot_new(MOT_TIMELINE_SPANS + LATE_SPANS, sizeof *t->span);
    choose(t, 0, t->workers, MOT_TIMELINE_WORKERS);
    choose(t, t->workers, e->servers, MOT_TIMELINE_SERVERS);
    atomic_init(&t->enough, false);
    return t;
}

const atomic_bool *mot_timeline_enough(const struct mot_timeline *t) { return &t->enough; }

static void add(struct mot_timeline *t, uint16_t row, enum kind kind, mot_time from, mot_time to)
{
    if (t->spans == MOT_TIMELINE_SPANS + LATE_SPANS) return;
    t->span[t->spans++] = (struct span){ row, (uint8_t)kind, from, to };
}

/* Notes that the run is at `now`; false if the span from `from` is no longer wanted. */
static bool takes(struct mot_timeline *t, mot_time from, mot_time now)
{
    if (!t->any || from < t->from) t->from = from;
    t->any = true;
    if (!t->is_cut && t->spans + t->opens < MOT_TIMELINE_SPANS) {
        if (now > t->latest) t->latest = now;
        return true;
    }
    if (!t->is_cut) t->cut = t->latest;
    t->is_cut = true;
    if (++t->late == LATE_REPORTS) atomic_store_explicit(&t->enough, true, memory_order_relaxed);
    return from < t->cut;
}

void mot_timeline_phase(
    struct mot_timeline *t, mot_node node, enum mot_phase phase, mot_time from, mot_time to)
{
    MOT_ASSERT(node < t->nodes && from <= to);
    if (phase == MOT_PHASE_PIECE) return; /* its job is shown */
    if (atomic_load_explicit(&t->enough, memory_order_relaxed)) return;
    uint16_t row = t->place[node];
    if (row == NOBODY && !t->is_cut) return;
    if (!takes(t, from, to) || row == NOBODY) return;
    add(t, row,
        phase == MOT_PHASE_COMPUTE         ? COMPUTE
            : phase == MOT_PHASE_CANCELLED ? CANCELLED
                                           : COLLECTIVE,
        from, to);
}

/* The message joins the node's last span if they touch; otherwise a new one begins. */
static void add_message(struct mot_timeline *t, uint16_t row, enum kind kind, mot_time from, mot_time to)
{
    struct union_of *u = &t->row[row].message[kind - SEND];
    if (u->open && from <= u->to && to >= u->from) {
        if (from < u->from) u->from = from;
        if (to > u->to) u->to = to;
        return;
    }
    if (u->open) add(t, row, kind, u->from, u->to);
    else t->opens++;
    *u = (struct union_of){ from, to, true };
}

void mot_timeline_flight(struct mot_timeline *t, const struct mot_flight *f)
{
    MOT_ASSERT(f->from < t->nodes && f->to < t->nodes && f->sent <= f->delivered);
    if (atomic_load_explicit(&t->enough, memory_order_relaxed)) return;
    uint16_t from = t->place[f->from], to = t->place[f->to];
    if (from == NOBODY && to == NOBODY && !t->is_cut) return;
    if (!takes(t, f->sent, f->sent) || t->is_cut) return;
    if (from != NOBODY) add_message(t, from, SEND, f->sent, f->delivered);
    if (to != NOBODY) add_message(t, to, RECEIVE, f->sent, f->delivered);
}

/* ---- Writing ------------------------------------------------------------------------------ */

static int by_row(const void *a, const void *b)
{
    const struct span *s = a, *t = b;
    if (s->row != t->row) return s->row < t->row ? -1 : 1;
    if (s->kind != t->kind) return s->kind < t->kind ? -1 : 1;
    if (s->from != t->from) return s->from < t->from ? -1 : 1;
    return (s->to > t->to) - (s->to < t->to);
}

/* Names come from the user's file: escape what JSON requires. */
static void print_text(const char *text, FILE *out)
{
    if (!text) {
        fputs("null", out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') fprintf(out, "\\%c", c);
        else if (c < 0x20) fprintf(out, "\\u%04x", c);
        else fputc(c, out);
    }
    fputc('"', out);
}

static void print_row(const struct mot_timeline *t, uint32_t row, FILE *out)
{
    const struct mot_cluster *cluster = t->experiment->cluster;
    mot_node node = t->row[row].node;
    const char *name =
        cluster && node < cluster->workers + cluster->servers ? cluster->machine[node].name : NULL;
    fprintf(out, "%s\n    {\"id\": %" PRIu32 ", \"name\": ", row ? "," : "", node);
    print_text(name, out);
    fprintf(out, ", \"role\": \"%s\"", node < t->workers ? "worker" : "server");
    for (enum kind kind = 0; kind < KINDS; kind++) {
        const char *between = "";
        fprintf(out, ",\n     \"%s\": [", kind_name[kind]);
        for (uint32_t i = 0; i < t->spans; i++) {
            const struct span *s = &t->span[i];
            if (s->row != row || s->kind != kind) continue;
            fprintf(out, "%s[%" PRIu64 ",%" PRIu64 "]", between, s->from, s->to);
            between = ",";
        }
        fputc(']', out);
    }
    fputc('}', out);
}

static enum mot_status write_file(struct mot_timeline *t, mot_time end)
{
    for (uint32_t row = 0; row < t->rows; row++)
        for (int side = 0; side < 2; side++) {
            struct union_of *u = &t->row[row].message[side];
            if (u->open) add(t, (uint16_t)row, SEND + side, u->from, u->to);
            u->open = false;
        }
    t->opens = 0;
    qsort(t->span, t->spans, sizeof *t->span, by_row);
    struct mot_replace file;
    enum mot_status status = mot_replace_begin(t->path, &file);
    if (status != MOT_OK) return status;
    fprintf(file.out,
        "{\n  \"unit\": \"ns\",\n  \"from\": %" PRIu64 ",\n  \"until\": %" PRIu64
        ",\n  \"cut\": %s,\n  \"nodes_of_run\": %" PRIu32 ",\n  \"node\": [",
        t->from, t->is_cut ? t->cut : end, t->is_cut ? "true" : "false", t->nodes);
    for (uint32_t row = 0; row < t->rows; row++) print_row(t, row, file.out);
    fputs("\n  ]\n}\n", file.out);
    return mot_replace_commit(&file);
}

void mot_timeline_save(struct mot_timeline *t)
{
    if (t->saved || !atomic_load_explicit(&t->enough, memory_order_relaxed)) return;
    t->saved = true;
    t->status = write_file(t, t->cut);
}

void mot_timeline_abandon(struct mot_timeline *t)
{
    if (!t) return;
    free(t->path);
    free(t->place);
    free(t->span);
    free(t);
}

enum mot_status mot_timeline_close(struct mot_timeline *t, mot_time end)
{
    if (!t) return MOT_OK;
    enum mot_status status = t->status;
    if (!t->saved && t->any) status = write_file(t, end);
    mot_timeline_abandon(t);
    return status;
}
