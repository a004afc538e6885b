/* trace.c -- trace.json, in the Chrome trace event format that Perfetto opens.
 *
 * Each node has a track for its phases, one for what it sends and one for what
 * it receives; a track appears when it is first used. Perfetto drops slices of
 * one track that overlap without nesting, so two facts keep every track valid:
 *
 *   1. Slices longer than 1 ns never overlap on a lane: a phase that would goes
 *      to the node's next lane, and a transfer is cut to begin where the last one ended.
 *   2. Times are whole nanoseconds, so a slice of 1 ns lies wholly inside or
 *      wholly outside any other slice. A transfer of which the first rule
 *      leaves nothing is drawn as such a slice.
 *
 * The file is written under a temporary name and is whole only once closed. */
#include "report/report.h"

#include "base/file.h"
#include "base/memory.h"
#include "config/version.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TRACE_EVENTS_MAX UINT64_C(2000000)
#define BUFFER_BYTES (UINT32_C(1) << 20)
#define RECORD_MOST 512 /* bytes of one event, names included */
#define NAME_MOST 96
#define FIRST_LINE "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"

enum lane { LANE_PHASE, LANE_PHASE_LAST = 3, LANE_SEND, LANE_RECEIVE, LANES = 8 };

struct track {
    mot_time end[LANES];
    bool named[LANES];
};

struct mot_trace_file {
    struct mot_replace file;
    char *buffer;
    uint32_t used;
    uint32_t workers, nodes;
    const struct mot_cluster *cluster; /* may be NULL */
    struct track *track;               /* [nodes] */
    uint64_t events, most, flights, dropped;
    int trouble; /* the errno of the first write that failed */
};

static void flush(struct mot_trace_file *t)
{
    errno = 0;
    if (t->used && fwrite(t->buffer, 1, t->used, t->file.out) != t->used && !t->trouble)
        t->trouble = errno ? errno : EIO;
    t->used = 0;
}

/* Room for one record; the caller appends with the functions below. */
static void begin(struct mot_trace_file *t)
{
    if (t->used + RECORD_MOST > BUFFER_BYTES) flush(t);
}

static void put(struct mot_trace_file *t, const char *text)
{
    size_t n = strlen(text);
    MOT_ASSERT(t->used + n <= BUFFER_BYTES);
    memcpy(t->buffer + t->used, text, n);
    t->used += (uint32_t)n;
}

static void put_uint(struct mot_trace_file *t, uint64_t value)
{
    char digits[20];
    size_t n = 0;
    do digits[n++] = (char)('0' + value % 10);
    while (value /= 10);
    while (n) t->buffer[t->used++] = digits[--n];
}

/* The format counts microseconds; three decimals keep the nanosecond. */
static void put_time(struct mot_trace_file *t, mot_time ns)
{
    uint32_t rest = (uint32_t)(ns % 1000);
    put_uint(t, ns / 1000);
    t->buffer[t->used++] = '.';
    t->buffer[t->used++] = (char)('0' + rest / 100);
    t->buffer[t->used++] = (char)('0' + rest / 10 % 10);
    t->buffer[t->used++] = (char)('0' + rest % 10);
}

/* Node names come from the user's file: what JSON does not allow is dropped. */
static void put_name(struct mot_trace_file *t, const char *text)
{
    for (size_t i = 0; text[i] && i < NAME_MOST; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') t->buffer[t->used++] = (char)c;
    }
}

static void put_label(struct mot_trace_file *t, mot_node node)
{
    if (node < t->workers) {
        put(t, "worker ");
        put_uint(t, node);
    } else {
        put(t, "server");
        if (t->nodes - t->workers > 1) {
            put(t, " ");
            put_uint(t, node - t->workers);
        }
    }
    const char *name = NULL;
    if (t->cluster && node < t->cluster->workers + t->cluster->servers) name = t->cluster->machine[node].name;
    if (name && node < t->workers) {
        put(t, " (");
        put_name(t, name);
        put(t, ")");
    }
}

static uint64_t track_id(mot_node node, uint32_t lane) { return (uint64_t)node * LANES + lane + 1; }

/* {"ph":"X","pid":1,"tid":12 */
static void put_head(struct mot_trace_file *t, const char *kind, mot_node node, uint32_t lane)
{
    put(t, ",\n{\"ph\":\"");
    put(t, kind);
    put(t, "\",\"pid\":1,\"tid\":");
    put_uint(t, track_id(node, lane));
}

static void name_track(struct mot_trace_file *t, mot_node node, uint32_t lane)
{
    if (t->track[node].named[lane]) return;
    t->track[node].named[lane] = true;
    begin(t);
    put_head(t, "M", node, lane);
    put(t, ",\"name\":\"thread_name\",\"args\":{\"name\":\"");
    put_label(t, node);
    if (lane == LANE_SEND) put(t, " sends");
    else if (lane == LANE_RECEIVE) put(t, " receives");
    else if (lane > LANE_PHASE) put(t, " also");
    put(t, "\"}}");
    begin(t);
    put_head(t, "M", node, lane);
    put(t, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":");
    put_uint(t, track_id(node, lane));
    put(t, "}}");
}

/* The number in "key":"number" after `at`; 0 if it is not there. */
static uint64_t number_after(const char *at, const char *key)
{
    const char *found = strstr(at, key);
    return found ? strtoull(found + strlen(key), NULL, 10) : 0;
}

/* Starts with the events in the file, if it is a complete trace of ours. */
static bool take_over(struct mot_trace_file *t, const char *path)
{
    unsigned char *bytes;
    size_t n;
    if (!mot_file_exists(path) || mot_file_read(path, SIZE_MAX, &bytes, &n) != MOT_OK) return false;
    static const char tail[] = "\n],\"otherData\":{";
    const char *end = NULL, *text = (const char *)bytes;
    size_t look = n < 4096 ? n : 4096; /* the tail is short */
    for (const char *at = text + n - look; (at = strstr(at, tail)); at++) end = at;
    bool ours = end && strncmp(text, FIRST_LINE, sizeof(FIRST_LINE) - 1) == 0;
    if (ours) {
        t->events = number_after(end, "\"events\":\"");
        t->dropped = number_after(end, "\"events_left_out\":\"");
        t->flights = t->events; /* more than there were, so that no arrow has its number twice */
        errno = 0;
        if (fwrite(bytes, 1, (size_t)(end - text), t->file.out) != (size_t)(end - text))
            t->trouble = errno ? errno : EIO;
    }
    free(bytes);
    return ours;
}

enum mot_status mot_trace_open(
    const char *path, const struct mot_experiment *e, bool goes_on, struct mot_trace_file **out)
{
    struct mot_trace_file *t = mot_new(1, sizeof *t);
    enum mot_status status = mot_replace_begin(path, &t->file);
    if (status != MOT_OK) {
        free(t);
        return status;
    }
    t->buffer = mot_new(BUFFER_BYTES, 1);
    t->workers = e->workers;
    t->nodes = e->workers + e->servers;
    t->cluster = e->cluster;
    t->track = mot_new(t->nodes, sizeof *t->track);
    t->most = TRACE_EVENTS_MAX;
    if (!goes_on || !take_over(t, path))
        put(t,
            FIRST_LINE
            "{\"ph\":\"M\",\"pid\":1,\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"motley\"}}");
    *out = t;
    return MOT_OK;
}

void mot_trace_limit(struct mot_trace_file *t, uint64_t most) { t->most = most; }

/* Whether `n` more events fit the limit; those beyond it are counted. */
static bool room(struct mot_trace_file *t, uint64_t n)
{
    if (t->dropped == 0 && t->events + n <= t->most) {
        t->events += n;
        return true;
    }
    if (t->dropped == 0)
        fprintf(stderr,
            "trace.json: stops after %" PRIu64 " events, the run goes on; "
            "a shorter run is traced whole\n",
            t->events);
    t->dropped += n;
    return false;
}

static const char *const phase_name[] = {
    [MOT_PHASE_COMPUTE] = "compute",
    [MOT_PHASE_CANCELLED] = "cancelled",
    [MOT_PHASE_COLLECTIVE] = "collective",
    [MOT_PHASE_PIECE] = "piece",
};

/* An event that lasts; its name and arguments follow. */
static void begin_span(struct mot_trace_file *t, mot_node node, uint32_t lane, mot_time from, mot_time to)
{
    name_track(t, node, lane);
    begin(t);
    put_head(t, "X", node, lane);
    put(t, ",\"ts\":");
    put_time(t, from);
    put(t, ",\"dur\":");
    put_time(t, to - from);
}

/* An event without duration, among the phases; its name follows. */
static void begin_instant(struct mot_trace_file *t, mot_node node, mot_time at)
{
    name_track(t, node, LANE_PHASE);
    begin(t);
    put_head(t, "i", node, LANE_PHASE);
    put(t, ",\"s\":\"t\",\"ts\":");
    put_time(t, at);
}

void mot_trace_phase(struct mot_trace_file *t, mot_node node, enum mot_phase phase, uint32_t tag,
    uint32_t samples, mot_time from, mot_time to)
{
    MOT_ASSERT(node < t->nodes && from <= to);
    if (!room(t, 1)) return;
    if (phase == MOT_PHASE_PIECE) {
        begin_instant(t, node, to);
    } else {
        struct track *track = &t->track[node];
        uint32_t lane = LANE_PHASE;
        while (lane < LANE_PHASE_LAST && from < track->end[lane]) lane++;
        if (from < track->end[lane]) from = track->end[lane];
        if (to < from) to = from;
        track->end[lane] = to;
        begin_span(t, node, lane, from, to);
    }
    put(t, ",\"name\":\"");
    put(t, phase_name[phase]);
    put(t, "\",\"args\":{\"tag\":");
    put_uint(t, tag);
    if (phase != MOT_PHASE_COLLECTIVE) {
        put(t, ",\"samples\":");
        put_uint(t, samples);
    }
    put(t, "}}");
}

/* How long `bytes` occupy a link according to the cluster; the whole flight if it does not say. */
static mot_time link_time(double bandwidth, uint64_t bytes, mot_time flight)
{
    double ns = ceil((double)bytes * 1e9 / bandwidth); /* as the links count it (sim/network.c) */
    return isfinite(ns) && ns >= 0 && ns < (double)flight ? (mot_time)ns : flight;
}

/* Trims from..to to what is free on the lane; 1 ns at `from` if nothing is. */
static void claim(mot_time *end, mot_time *from, mot_time *to)
{
    mot_time free_from = *from < *end ? *end : *from;
    if (free_from + 1 < *to) {
        *from = free_from;
        *end = *to;
    } else {
        *to = *from + 1;
    }
}

static void put_transfer(
    struct mot_trace_file *t, const struct mot_flight *f, bool send, mot_time from, mot_time to)
{
    mot_node node = send ? f->from : f->to;
    uint32_t lane = send ? LANE_SEND : LANE_RECEIVE;
    begin_span(t, node, lane, from, to);
    put(t, send ? ",\"name\":\"to " : ",\"name\":\"from ");
    put_label(t, send ? f->to : f->from);
    put(t, "\",\"args\":{\"bytes\":");
    put_uint(t, f->bytes);
    if (f->collective) {
        put(t, ",\"collective\":true");
    } else {
        put(t, ",\"kind\":");
        put_uint(t, f->kind);
    }
    if (f->sent != f->began) { /* it was queued */
        put(t, ",\"sent_us\":");
        put_time(t, f->sent);
    }
    put(t, "}}");
    begin(t);
    put_head(t, send ? "s" : "f", node, lane);
    put(t, ",\"ts\":");
    put_time(t, from);
    put(t, ",\"cat\":\"message\",\"name\":\"message\",\"id\":");
    put_uint(t, t->flights);
    put(t, send ? "}" : ",\"bp\":\"e\"}");
}

void mot_trace_flight(struct mot_trace_file *t, const struct mot_flight *f)
{
    MOT_ASSERT(f->from < t->nodes && f->to < t->nodes && f->began <= f->delivered);
    if (!room(t, 4)) return; /* both ends or neither: an arrow needs two */
    double up = NAN, down = NAN;
    if (t->cluster && t->cluster->workers + t->cluster->servers >= t->nodes) {
        up = t->cluster->machine[f->from].link.up;
        down = t->cluster->machine[f->to].link.down;
    }
    mot_time flight = f->delivered - f->began;
    mot_time from = f->began, to = f->began + link_time(up, f->bytes, flight);
    claim(&t->track[f->from].end[LANE_SEND], &from, &to);
    put_transfer(t, f, true, from, to);
    mot_time left = from;
    from = f->delivered - link_time(down, f->bytes, flight);
    to = f->delivered;
    if (from < left) from = left; /* an arrow does not point back in time */
    if (to <= from) to = from + 1;
    claim(&t->track[f->to].end[LANE_RECEIVE], &from, &to);
    put_transfer(t, f, false, from, to);
    t->flights++;
}

void mot_trace_update(struct mot_trace_file *t, mot_node node, uint64_t updates, mot_time at)
{
    MOT_ASSERT(node < t->nodes);
    if (!room(t, 1)) return;
    begin_instant(t, node, at);
    put(t, ",\"name\":\"update ");
    put_uint(t, updates);
    put(t, "\"}");
}

static void trace_free(struct mot_trace_file *t)
{
    free(t->track);
    free(t->buffer);
    free(t);
}

void mot_trace_abandon(struct mot_trace_file *t)
{
    if (!t) return;
    mot_replace_abandon(&t->file);
    trace_free(t);
}

enum mot_status mot_trace_close(struct mot_trace_file *t)
{
    if (!t) return MOT_OK;
    begin(t);
    put(t, "\n],\"otherData\":{\"program\":\"motley " MOT_VERSION "\",\"events\":\"");
    put_uint(t, t->events);
    put(t, "\",\"events_left_out\":\"");
    put_uint(t, t->dropped);
    put(t, t->dropped ? "\",\"cut\":\"true\"}}\n" : "\",\"cut\":\"false\"}}\n");
    flush(t);
    enum mot_status status;
    if (t->trouble) {
        status = mot_fail(MOT_ESYSTEM, "%s: could not be written: %s", t->file.path, strerror(t->trouble));
        mot_trace_abandon(t);
    } else {
        status = mot_replace_commit(&t->file);
        trace_free(t);
    }
    return status;
}
