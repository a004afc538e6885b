/* broker.h -- what the benchmarks of brokers share: records, an intake, and how fast it has its rows.
 * Include it once, in a program. */
#ifndef BENCH_BROKER_H
#define BENCH_BROKER_H

#include "base/memory.h"
#include "base/stopwatch.h"
#include "rig.h"
#include "stream/outlet.h"
#include <time.h>

#define MOST_REPEATS 21u

struct kind {
    const char *name;
    uint32_t cols, format;
};
static const struct kind kinds[] = {
    { "CSV, 10 columns", 10, MOT_RECORDS_CSV },
    { "raw, 784 columns", 784, MOT_RECORDS_RAW },
};

static struct mot_address address;
static struct mot_intake_conf conf = { .bound = MOT_WORD_UINT, .longest = 1 << 20, .sync = 1 };
static uint64_t messages = 50000;
static void nap(void) { nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL); }
static void must(bool holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "bench: %s: %s\n", what, mot_error());
    exit(1);
}

static size_t record_of(const struct kind *k, unsigned char *into, size_t room)
{
    size_t n = 0;
    if (k->format == MOT_RECORDS_RAW) {
        mot_raw_header(into, k->cols, 1);
        memset(into + MOT_RAW_HEADER, 0, MOT_RAW_ROW(k->cols));
        return MOT_RAW_HEADER + MOT_RAW_ROW(k->cols);
    }
    for (uint32_t c = 0; c < k->cols; c++) n += (size_t)snprintf((char *)into + n, room - n, "%u.25,", c);
    return n + (size_t)snprintf((char *)into + n, room - n, "1");
}

/* All that one publisher sends: `messages` records of a kind. */
static void publish(const struct kind *k)
{
    static unsigned char record[1 << 16];
    struct mot_outlet *out;
    size_t n = record_of(k, record, sizeof(record));
    must(mot_outlet_open(&address, &conf, NULL, &out) == MOT_OK, "a publisher");
    for (uint64_t i = 0; i < messages; i++) must(out->ops->send(out, record, n) == MOT_OK, "publishing");
    must(out->ops->flush(out) == MOT_OK, "publishing");
    out->ops->close(out);
}

struct rows {
    struct mot_intake *intake;
    uint32_t rows;
    float *x, *y;
};

static void open_intake(const struct kind *k, const char *folder, struct rows *r)
{
    static char *classes[] = { "0", "1" };
    static struct mot_record_form form;
    form = (struct mot_record_form){ .format = k->format,
        .label = UINT32_MAX,
        .separator = ',',
        .schema = { .cols = k->cols, .classes = 2, .class_names = classes, .scale = MOT_SCALE_NONE } };
    struct mot_intake_setup setup = {
        .conf = &conf, .form = &form, .workers = 1, .rows = r->rows, .x = r->x, .y = r->y, .folder = folder
    };
    must(mot_intake_open(&setup, &r->intake) == MOT_OK, "an intake");
}

/* ---- The clock -------------------------------------------------------------------------- */

static struct {
    uint64_t wall;
    double cpu;
} began;
static double cpu_each; /* of the last measurement: CPU time of this process for a message, in s */

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void begin_clock(void)
{
    began.wall = mot_wall_ns();
    began.cpu = cpu_now();
}

/* Messages a second since then. */
static double end_clock(uint64_t n)
{
    cpu_each = (cpu_now() - began.cpu) / (double)n;
    return (double)n / ((double)(mot_wall_ns() - began.wall) * 1e-9);
}

/* From the first row on: messages a second. */
static double rows_per_second(struct rows *r)
{
    struct mot_ring *ring = mot_intake_ring(r->intake);
    uint64_t came, first;
    while ((came = first = atomic_load(&ring->tail)) == 0) nap();
    begin_clock();
    while ((came = atomic_load(&ring->tail)) < messages) {
        mot_ring_hold(ring, came);
        mot_ring_release(ring, came);
        nap();
    }
    return end_clock(messages - first);
}

/* A ring that has been round once: its memory is there. */
static void rows_open(struct rows *r, const struct kind *k)
{
    r->rows = 4096;
    r->x = mot_new((size_t)r->rows * k->cols, sizeof(float));
    r->y = mot_new(r->rows, sizeof(float));
    memset(r->x, 1, (size_t)r->rows * k->cols * sizeof(float));
}

static void rows_close(struct rows *r)
{
    mot_intake_close(r->intake);
    free(r->x);
    free(r->y);
}

static void print(const char *what, unsigned n, double *each, double *cpu)
{
    qsort(each, n, sizeof(*each), rig_by_size);
    qsort(cpu, n, sizeof(*cpu), rig_by_size);
    printf("  %-28s %8.0f messages/s (%.0f to %.0f), %.2f us of CPU time each\n", what, each[n / 2], each[0],
        each[n - 1], 1e6 * cpu[n / 2]);
}

/* Bare and whole in turn. */
static void compare(const struct kind *k, unsigned repeats, double (*bare)(const struct kind *),
    double (*whole)(const struct kind *), const char *what)
{
    double plain[MOST_REPEATS], all[MOST_REPEATS], plain_cpu[MOST_REPEATS], all_cpu[MOST_REPEATS];
    double share[MOST_REPEATS];
    if (repeats > MOST_REPEATS) repeats = MOST_REPEATS;
    for (unsigned i = 0; i < repeats; i++) {
        plain[i] = bare(k);
        plain_cpu[i] = cpu_each;
        all[i] = whole(k);
        all_cpu[i] = cpu_each;
        share[i] = all[i] / plain[i];
    }
    printf("%s, %llu messages\n", k->name, (unsigned long long)messages);
    print("a client that counts", repeats, plain, plain_cpu);
    print(what, repeats, all, all_cpu);
    qsort(share, repeats, sizeof(*share), rig_by_size);
    printf("  %-28s %8.0f %% (within a turn: %.0f to %.0f)\n", "share", 100 * share[repeats / 2],
        100 * share[0], 100 * share[repeats - 1]);
}

#endif
