#include "stream/intake.h"
#include "base/memory.h"
#include "base/stopwatch.h"
#include "data/number.h"
#include "stream/inlet.h"
#include "stream/mqtt.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK (UINT64_C(1) << 18) /* bytes read at a time, besides the longest record */
#define WAIT_NS UINT64_C(20000000)
#define LOG_MOST 1000u /* malformed records in a log */
#define TICKS 16u      /* parts of a second in which rows are counted */
#define TICK_NS (UINT64_C(1000000000) / TICKS)

struct mot_intake {
    struct mot_ring ring;
    struct mot_records *records;
    struct mot_inlet *inlet;
    struct mot_spare *spare;
    bool text, csv;
    uint32_t worker;
    size_t longest, room;
    unsigned char *own;         /* [room + 1] */
    const unsigned char *bytes; /* what to parse: `own`, or a message that lies elsewhere */
    size_t have;                /* bytes waiting to be parsed, */
    uint64_t at;                /* and where the first of them was */
    uint64_t next;              /* the number of the next message; 0: unknown */
    bool skipping;              /* inside a record that was too long */
    uint64_t skip;              /* records of the first message that were taken in an earlier run */
    uint64_t now_ns;            /* when the last bytes came */
    char *log_path;
    FILE *log;
    uint32_t logged;
    pthread_t thread;
    bool running;
    _Atomic bool stop;
    struct mot_reservoir *reservoir; /* NULL: nothing is held out */
    uint64_t seed, held_below;       /* records with keys below it are held out */
    uint64_t number;                 /* the next record's, if the device counts them; 0: unknown */
    _Atomic uint64_t missing, repeated;
    _Atomic uint64_t malformed, held, lag, stalled_since;
    _Atomic uint32_t stalls;
    _Atomic bool ended;
    struct {
        _Atomic uint64_t number;
        _Atomic uint32_t rows;
    } tick[TICKS + 1];
    pthread_mutex_t lock; /* guards what follows */
    enum mot_status failed;
    char words[MOT_INTAKE_WORDS], note[MOT_INTAKE_WORDS];
};

/* ---- Counting ------------------------------------------------------------------------- */

static void log_malformed(
    struct mot_intake *k, enum mot_parsed why, uint64_t at, const unsigned char *bytes, size_t n)
{
    char clip[MOT_CLIP];
    atomic_fetch_add(&k->malformed, 1);
    if (!k->log_path || k->logged == LOG_MOST) return;
    if (!k->log) k->log = fopen(k->log_path, "ae");
    if (!k->log) return;
    while (n && (bytes[n - 1] == '\n' || bytes[n - 1] == '\r')) n--;
    fprintf(k->log, "%llu: %s", (unsigned long long)at, mot_record_why(why));
    if (k->text) fprintf(k->log, ": %s", mot_clip(clip, sizeof(clip), (const char *)bytes, n));
    fputs(++k->logged == LOG_MOST ? "\nno more are logged\n" : "\n", k->log);
    fflush(k->log);
}

static void count_row(struct mot_intake *k)
{
    uint64_t number = k->now_ns / TICK_NS;
    uint32_t slot = (uint32_t)(number % (TICKS + 1));
    if (atomic_load_explicit(&k->tick[slot].number, memory_order_relaxed) != number) {
        atomic_store_explicit(&k->tick[slot].rows, 0, memory_order_relaxed);
        atomic_store_explicit(&k->tick[slot].number, number, memory_order_relaxed);
    }
    uint32_t rows = atomic_load_explicit(&k->tick[slot].rows, memory_order_relaxed);
    atomic_store_explicit(&k->tick[slot].rows, rows + 1, memory_order_relaxed);
}

double mot_intake_rate(struct mot_intake *k)
{
    uint64_t number = mot_wall_ns() / TICK_NS, rows = 0;
    for (uint32_t i = 0; i <= TICKS; i++) {
        uint64_t is = atomic_load_explicit(&k->tick[i].number, memory_order_relaxed);
        if (is + TICKS > number) rows += atomic_load_explicit(&k->tick[i].rows, memory_order_relaxed);
    }
    return (double)rows;
}

/* ---- From bytes to rows ---------------------------------------------------------------- */

/* Waits until there is room for a row. NULL: the intake must stop. */
static float *slot(struct mot_intake *k, float **y)
{
    float *x = NULL;
    while (!atomic_load(&k->stop) && !(x = mot_ring_slot(&k->ring, WAIT_NS, y))) {}
    return x;
}

/* After a message's last record, go on with the next message, so that this one need not exist any more. */
static struct mot_cursor after_record(const struct mot_intake *k, size_t done, uint64_t taken)
{
    return done == k->have && k->next ? (struct mot_cursor){ k->next, 0, k->number }
                                      : (struct mot_cursor){ k->at, taken, k->number };
}

/* If the device counts its records, counts those that never came and those that came again. */
static void follow_numbers(struct mot_intake *k)
{
    uint64_t is;
    if (!mot_records_number(k->records, &is)) return;
    if (k->number && is < k->number) {
        atomic_fetch_add(&k->repeated, 1);
        return;
    }
    if (k->number) atomic_fetch_add(&k->missing, is - k->number);
    k->number = is + 1;
}

/* Whether to hold out the record just read for evaluation. If so, it enters the reservoir before any later
 * row enters the ring. */
static bool hold_out(struct mot_intake *k, const float *x, float y)
{
    if (!k->reservoir) return false;
    uint64_t rows = atomic_load_explicit(&k->ring.tail, memory_order_relaxed);
    uint64_t key = mot_reservoir_key(k->seed, k->worker, rows + atomic_load(&k->held));
    if (key >= k->held_below) return false;
    mot_reservoir_offer(k->reservoir, key, x, y);
    atomic_fetch_add(&k->held, 1);
    return true;
}

/* Parses what is there. of_message: all bytes are one message, numbered `at`. Returns the bytes taken: fewer
 * than there are if the last record is incomplete or the intake must stop. */
static size_t parse(struct mot_intake *k, bool of_message)
{
    size_t done = 0;
    uint64_t taken = 0; /* records of the message */
    while (done < k->have) {
        float *y, *x = slot(k, &y);
        size_t took = 0;
        if (!x) return done;
        enum mot_parsed is = mot_records_next(k->records, k->bytes + done, k->have - done, &took, x, y);
        if (is == MOT_RECORD_PARTIAL) break;
        uint64_t at = of_message ? k->at : k->at + done;
        bool header = is >= MOT_RECORD_MALFORMED && k->csv && at == 0 && !of_message &&
            mot_records_header(k->records, k->bytes, took);
        done += took;
        if (is == MOT_RECORD_NONE || header) continue;
        if (taken++ < k->skip) continue;
        follow_numbers(k);
        if (is != MOT_RECORD_ROW) {
            log_malformed(k, is, at, k->bytes + done - took, took);
            continue;
        }
        if (hold_out(k, x, *y)) continue;
        struct mot_mark mark = {
            .malformed = atomic_load(&k->malformed), .held = atomic_load(&k->held), .came_ns = k->now_ns
        };
        mark.after = of_message
            ? after_record(k, done, taken)
            : (struct mot_cursor){ k->at + done, mot_records_left(k->records), k->number };
        mot_ring_add(&k->ring, &mark);
        count_row(k);
    }
    return done;
}

/* Takes bytes of an endless text; an incomplete record waits for its rest. */
static void take_bytes(struct mot_intake *k, size_t n)
{
    k->have += n;
    if (k->skipping) {
        unsigned char *end = memchr(k->own, '\n', k->have);
        size_t gone = end ? (size_t)(end + 1 - k->own) : k->have;
        k->skipping = !end;
        k->have -= gone;
        k->at += gone;
        memmove(k->own, k->own + gone, k->have);
    }
    size_t done = parse(k, false);
    k->have -= done;
    k->at += done;
    memmove(k->own, k->own + done, k->have);
    if (k->text && k->have > k->longest && !atomic_load(&k->stop)) {
        log_malformed(k, MOT_RECORD_LONG, k->at, k->own, k->have < MOT_CLIP ? k->have : MOT_CLIP);
        k->at += k->have;
        k->have = 0;
        k->skipping = true;
    }
}

/* Text must end with a line end, which the parsers rely on. */
static void end_message(struct mot_intake *k)
{
    if (k->have && k->bytes[k->have - 1] == '\n') return;
    if (k->bytes != k->own) memcpy(k->own, k->bytes, k->have);
    k->bytes = k->own;
    k->own[k->have++] = '\n';
}

static void take_message(struct mot_intake *k, const struct mot_inlet_piece *p)
{
    uint32_t cols = k->ring.cols;
    if (p->bytes) k->bytes = p->bytes;
    if (p->at != k->at) k->skip = 0; /* the half-used message is gone */
    k->at = p->at;
    k->next = p->next;
    k->have = p->n;
    bool whole = p->n <= k->longest && (k->text || mot_raw_whole(k->bytes, p->n, cols));
    if (!whole) {
        if (k->skip == 0)
            log_malformed(k, p->n > k->longest ? MOT_RECORD_LONG : MOT_RECORD_SYNTAX, p->at, k->bytes, 0);
    } else {
        if (k->text) end_message(k);
        parse(k, true);
    }
    k->bytes = k->own;
    k->have = 0;
    k->skip = 0;
}

/* ---- The thread --------------------------------------------------------------------------- */

static void say(struct mot_intake *k, enum mot_inlet_got got, const struct mot_inlet_piece *p)
{
    bool stalls = got == MOT_INLET_STALLED || got == MOT_INLET_FAILED;
    uint64_t since = atomic_load(&k->stalled_since);
    if (!stalls) {
        if (since) atomic_store(&k->stalled_since, 0);
        return;
    }
    pthread_mutex_lock(&k->lock);
    memcpy(k->words, p->words, sizeof(k->words));
    if (got == MOT_INLET_FAILED) k->failed = p->failed;
    pthread_mutex_unlock(&k->lock);
    if (since) return;
    atomic_fetch_add(&k->stalls, 1);
    atomic_store(&k->stalled_since, mot_wall_ns());
}

/* Passes on what the inlet has found out. */
static void learn(struct mot_intake *k)
{
    struct mot_inlet *in = k->inlet;
    if (atomic_load_explicit(&k->ring.origin, memory_order_relaxed) != in->origin)
        atomic_store(&k->ring.origin, in->origin);
    if (!in->note[0]) return;
    pthread_mutex_lock(&k->lock);
    memcpy(k->note, in->note, sizeof(k->note));
    pthread_mutex_unlock(&k->lock);
    in->note[0] = 0;
}

static void end_text(struct mot_intake *k)
{
    if (k->have && k->text && !k->skipping) { /* the last line may lack its end */
        k->own[k->have] = '\n';
        take_bytes(k, 1);
    } else if (k->have) {
        log_malformed(k, MOT_RECORD_SYNTAX, k->at, k->bytes, 0);
    }
    if (!atomic_load(&k->stop)) atomic_store(&k->ended, true);
}

static void *intake_main(void *p)
{
    struct mot_intake *k = p;
    char words[MOT_INTAKE_WORDS];
    mot_spare_use(k->spare);
    while (!atomic_load(&k->stop)) {
        struct mot_inlet_piece piece = { .words = words };
        words[0] = 0;
        enum mot_inlet_got got = k->inlet->ops->read(k->inlet, k->own + k->have, k->room - k->have, &piece);
        if (!piece.along) {
            k->now_ns = mot_wall_ns();
            say(k, got, &piece);
            learn(k);
        }
        atomic_store_explicit(&k->lag, piece.lag, memory_order_relaxed);
        if (got == MOT_INLET_BYTES) {
            if (k->have == 0) k->at = piece.at;
            take_bytes(k, piece.n);
        } else if (got == MOT_INLET_MESSAGE) {
            take_message(k, &piece);
        } else if (got == MOT_INLET_END) {
            end_text(k);
            break;
        } else if (got == MOT_INLET_FAILED) {
            break;
        }
    }
    return NULL;
}

/* ---- Opening and closing ------------------------------------------------------------------- */

/* Counts the partitions of the topic that workers read: each has one of its own, or a topic of its own. */
static uint32_t partitions_read(const struct mot_address *mine, const struct mot_intake_setup *s)
{
    struct mot_address other;
    char *wrong = mot_address_of(s->conf->from, s->worker ? 0 : 1, s->workers, &other);
    free(wrong);
    if (wrong) return 1;
    bool shared = s->workers > 1 && strcmp(mine->topic, other.topic) == 0;
    mot_address_free(&other);
    return shared ? s->workers : 1;
}

static enum mot_status open_inlet(
    struct mot_intake *k, const struct mot_intake_setup *s, const struct mot_mark *begin)
{
    struct mot_address a;
    char *wrong = mot_address_of(s->conf->from, s->worker, s->workers, &a);
    if (wrong) {
        enum mot_status status = mot_fail(MOT_EUSAGE, "source.from: %s", wrong);
        free(wrong);
        return status;
    }
    bool afresh = false;
    struct mot_inlet_setup setup = { .address = &a,
        .conf = s->conf,
        .folder = s->folder,
        .worker = s->worker,
        .longest = k->longest,
        .from = begin->after,
        .partitions = 1,
        .whole_again = &afresh };
    enum mot_status status = MOT_OK;
    switch (a.kind) {
    case MOT_INLET_FILE: status = mot_inlet_file(a.path, s->conf->ends, begin->after.at, &k->inlet); break;
    case MOT_INLET_INPUT: status = mot_inlet_input(begin->after.at, &k->inlet); break;
    case MOT_INLET_MQTT: status = mot_inlet_mqtt(&setup, &k->inlet); break;
    case MOT_INLET_KAFKA:
        setup.partitions = partitions_read(&a, s);
        status = mot_inlet_kafka(&setup, &k->inlet);
        break;
    case MOT_INLET_RATE:
    case MOT_INLET_KINDS: break; /* not from outside */
    }
    bool messages = a.kind == MOT_INLET_MQTT || a.kind == MOT_INLET_KAFKA;
    if (messages) k->skip = afresh ? 0 : begin->after.sub;
    else mot_records_resume(k->records, k->text ? 0 : begin->after.sub);
    mot_address_free(&a);
    return status;
}

static enum mot_inlet_kind kind_of(const struct mot_intake_conf *c)
{
    struct mot_address a;
    if (!c->from) return MOT_INLET_KINDS;
    char *wrong = mot_address_of(c->from, 0, 1, &a);
    free(wrong);
    if (wrong) return MOT_INLET_KINDS;
    mot_address_free(&a);
    return a.kind;
}

enum mot_status mot_intake_library(const struct mot_intake_conf *c)
{
    switch (kind_of(c)) {
    case MOT_INLET_MQTT: return mot_mqtt_library();
    case MOT_INLET_KAFKA: return mot_kafka_library();
    default: return MOT_OK;
    }
}

/* Only a Kafka broker decides what it still has; other sources begin at 0. */
static bool begins_anywhere(const struct mot_intake_setup *s) { return kind_of(s->conf) == MOT_INLET_KAFKA; }

enum mot_status mot_intake_open(const struct mot_intake_setup *s, struct mot_intake **out)
{
    struct mot_intake *k = mot_new(1, sizeof(*k));
    const struct mot_intake_conf *c = s->conf;
    struct mot_mark begin = s->begin;
    if (begin.after.at == MOT_CURSOR_UNKNOWN && !begins_anywhere(s)) begin.after.at = 0;
    k->worker = s->worker;
    k->spare = mot_spare_mine();
    k->text = s->form->format != MOT_RECORDS_RAW;
    k->csv = s->form->format == MOT_RECORDS_CSV;
    k->longest = c->longest;
    if (!k->text && k->longest < MOT_RAW_HEADER + MOT_RAW_ROW(s->form->schema.cols))
        k->longest = MOT_RAW_HEADER + MOT_RAW_ROW(s->form->schema.cols);
    k->room = k->longest + CHUNK;
    k->bytes = k->own = mot_new_large(k->room + 1, 1);
    k->records = mot_records_open(s->form);
    k->at = begin.after.at;
    atomic_store(&k->malformed, begin.malformed);
    atomic_store(&k->held, begin.held);
    k->number = begin.after.number;
    k->reservoir = s->held;
    k->seed = s->seed;
    k->held_below = mot_reservoir_below(c->holdout);
    mot_ring_open(&k->ring, s->rows, s->form->schema.cols, s->x, s->y, c->buffer != MOT_INTAKE_PERSIST,
        s->first, &begin);
    pthread_mutex_init(&k->lock, NULL);
    if (s->folder) k->log_path = mot_format("%s/malformed-%u.log", s->folder, s->worker);
    enum mot_status status = open_inlet(k, s, &begin);
    if (status == MOT_OK) status = mot_memory_status();
    if (status == MOT_OK) {
        k->running = pthread_create(&k->thread, NULL, intake_main, k) == 0;
        if (!k->running)
            status = mot_fail(MOT_ESYSTEM, "cannot start a thread for worker %u's stream", s->worker);
    }
    if (status == MOT_OK) *out = k;
    else mot_intake_close(k);
    return status;
}

void mot_intake_stop(struct mot_intake *k)
{
    if (!k->running) return;
    atomic_store(&k->stop, true);
    mot_ring_stop(&k->ring);
    pthread_join(k->thread, NULL);
    k->running = false;
}

void mot_intake_close(struct mot_intake *k)
{
    if (!k) return;
    mot_intake_stop(k);
    if (k->inlet) k->inlet->ops->close(k->inlet);
    if (k->log) fclose(k->log);
    free(k->log_path);
    mot_records_close(k->records);
    mot_ring_free(&k->ring);
    pthread_mutex_destroy(&k->lock);
    free(k->own);
    free(k);
}

struct mot_ring *mot_intake_ring(struct mot_intake *k) { return &k->ring; }

struct mot_intake_state mot_intake_state(struct mot_intake *k)
{
    uint64_t since = atomic_load(&k->stalled_since), now = mot_wall_ns();
    struct mot_intake_state s = { .malformed = atomic_load(&k->malformed),
        .held = atomic_load(&k->held),
        .missing = atomic_load(&k->missing),
        .repeated = atomic_load(&k->repeated),
        .lag = atomic_load(&k->lag),
        .ended = atomic_load(&k->ended),
        .stalls = atomic_load(&k->stalls),
        .stalled_ns = since && now > since ? now - since : 0 };
    pthread_mutex_lock(&k->lock);
    s.failed = k->failed;
    memcpy(s.words, k->words, sizeof(s.words));
    memcpy(s.note, k->note, sizeof(s.note));
    pthread_mutex_unlock(&k->lock);
    return s;
}
