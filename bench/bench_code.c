/* bench_code.c -- what decoding costs: a survivor set that is known, one that is new, and the weighted
 * sum of the answers compared with the limit of the memory.
 *
 *   bench_code [REPEATS]
 *
 * CPU time, medians with the least and the most. The limit is what must move: every answer read once and one
 * sum written, by the kernel that adds without weights; on one thread, since a server's step is one, and on
 * two as in bench_allreduce. */
#include "base/memory.h"
#include "math/kernels.h"
#include "rig.h"
#include "run/outbox.h"
#include "run/pool.h"
#include <motley/code.h>
#include <motley/method.h>
#include <motley/random.h>
#include <pthread.h>

#define MOST_REPEATS 101u

/* Of this thread: others on the machine do not count, unless they take its memory's time. */
static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void print(const char *what, unsigned n, double *each)
{
    qsort(each, n, sizeof(*each), rig_by_size);
    printf("%-56s %10.2f us (%.2f to %.2f)\n", what, each[n / 2] * 1e6, each[0] * 1e6, each[n - 1] * 1e6);
    fflush(stdout);
}

static struct mot_code *opened(const struct mot_code_spec *spec)
{
    struct mot_code *c;
    if (mot_code_open(spec, &c) == MOT_OK) return c;
    fprintf(stderr, "bench_code: %s\n", mot_error());
    exit(2);
}

/* ---- Weights
 * --------------------------------------------------------------------------------------------- */

static void leave_out(const struct mot_code *c, uint32_t missing, uint64_t key, uint64_t *answered)
{
    memset(answered, 0, MOT_ROLE_WORDS(c->workers) * sizeof(*answered));
    for (uint32_t k = missing; k < c->workers; k++)
        mot_role_add(answered, (uint32_t)mot_permute(key, c->workers, k));
}

static volatile double sink;

/* Decodes `sets` survivor sets over and over: with up to 64 they are known. */
static double measure_decode(
    const struct mot_code *c, struct mot_decoder *d, uint32_t missing, uint32_t sets, uint32_t rounds)
{
    static uint64_t key;
    size_t words = MOT_ROLE_WORDS(c->workers);
    uint64_t *answered = mot_new((size_t)sets * words, sizeof(*answered));
    struct mot_decoded out;
    for (uint32_t k = 0; k < sets; k++) leave_out(c, missing, ++key, answered + k * words);
    for (uint32_t k = 0; k < sets && sets <= 64; k++) mot_decode(d, c, answered + k * words, &out);
    double began = cpu_now();
    for (uint32_t k = 0; k < rounds; k++) sink = mot_decode(d, c, answered + k % sets * words, &out)[0];
    double each = (cpu_now() - began) / rounds;
    free(answered);
    return each;
}

static void bench_decode(const char *what, struct mot_code_spec spec, uint32_t missing, unsigned repeats)
{
    struct mot_code *c = opened(&spec);
    struct mot_decoder *d = mot_new(1, mot_decoder_bytes(c));
    double known[MOST_REPEATS], fresh[MOST_REPEATS];
    char text[128];
    mot_decoder_init(d, c);
    for (unsigned k = 0; k < repeats; k++) {
        known[k] = measure_decode(c, d, missing, 32, 20000);
        fresh[k] = measure_decode(c, d, missing, 100, 100);
    }
    snprintf(text, sizeof(text), "%s, a known set", what);
    print(text, repeats, known);
    snprintf(text, sizeof(text), "%s, a new set", what);
    print(text, repeats, fresh);
    free(d);
    mot_code_close(c);
}

/* ---- The sum
 * ----------------------------------------------------------------------------------------------- */

static float *filled(uint32_t dim)
{
    float *x = mot_aligned((size_t)dim * sizeof(float));
    for (uint32_t i = 0; i < dim; i++) x[i] = 1;
    return x;
}

struct adder {
    pthread_t thread;
    pthread_barrier_t *barrier;
    const float *const *buf;
    float *sum;
    uint32_t buffers, first, n, rounds;
    double each;
};

static void *add_up(void *p)
{
    struct adder *a = p;
    const float *buf[16];
    for (uint32_t b = 0; b < a->buffers; b++) buf[b] = a->buf[b] + a->first;
    pthread_barrier_wait(a->barrier);
    double began = cpu_now();
    for (uint32_t k = 0; k < a->rounds; k++) mot_kernels()->add(a->n, a->buffers, buf, a->sum + a->first);
    a->each = (cpu_now() - began) / a->rounds;
    return NULL;
}

static double measure_limit(
    uint32_t threads, const float *const *buf, uint32_t buffers, float *sum, uint32_t dim, uint32_t rounds)
{
    struct adder a[2];
    pthread_barrier_t barrier;
    double most = 0;
    pthread_barrier_init(&barrier, NULL, threads);
    for (uint32_t t = 0; t < threads; t++) {
        a[t] = (struct adder){ .barrier = &barrier,
            .buf = buf,
            .sum = sum,
            .buffers = buffers,
            .first = t * (dim / threads),
            .n = dim / threads,
            .rounds = rounds };
        if (pthread_create(&a[t].thread, NULL, add_up, &a[t]) != 0) abort();
    }
    for (uint32_t t = 0; t < threads; t++) {
        pthread_join(a[t].thread, NULL);
        if (a[t].each > most) most = a[t].each;
    }
    pthread_barrier_destroy(&barrier);
    return most;
}

static void bench_sum(uint32_t buffers, uint32_t dim, uint32_t rounds, unsigned repeats)
{
    struct mot_pool pool;
    struct mot_world world = { .dim = dim };
    struct mot_outbox out = { 0 }; /* counts what is edited */
    struct mot_env env = { .world = &world, .pool = &pool, .out = &out };
    mot_buf buf[16];
    const float *at[16];
    float *sum = filled(dim);
    double weight[16], ours[MOST_REPEATS], one[MOST_REPEATS], two[MOST_REPEATS];
    char text[128];
    if (mot_pool_open(&pool, dim, buffers + 1) != MOT_OK) exit(1);
    for (uint32_t b = 0; b < buffers; b++) {
        buf[b] = mot_take(&env);
        for (uint32_t i = 0; i < dim; i++) mot_edit(&env, buf[b])[i] = 1;
        at[b] = mot_read(&env, buf[b]);
        weight[b] = 1.5 - b;
    }
    mot_drop(&env, mot_sum_weighted(&env, buf, weight, buffers));
    for (unsigned k = 0; k < repeats; k++) { /* in turn, so that all see the same machine */
        double began = cpu_now();
        for (uint32_t round = 0; round < rounds; round++)
            mot_drop(&env, mot_sum_weighted(&env, buf, weight, buffers));
        ours[k] = (cpu_now() - began) / rounds;
        one[k] = measure_limit(1, at, buffers, sum, dim, rounds);
        two[k] = measure_limit(2, at, buffers, sum, dim, rounds);
    }
    snprintf(text, sizeof(text), "weighted sum of %u buffers of %u KB", buffers, dim / 256);
    print(text, repeats, ours);
    print("  limit, one thread", repeats, one);
    print("  limit, two threads", repeats, two);
    printf("  of the limit: %.2f (one thread), %.2f (two)\n", one[repeats / 2] / ours[repeats / 2],
        two[repeats / 2] / ours[repeats / 2]);
    free(sum);
    mot_pool_close(&pool);
}

int main(int count, char **arguments)
{
    unsigned repeats = count > 1 ? (unsigned)strtoul(arguments[1], NULL, 10) : 11;
    if (repeats < 1 || repeats > MOST_REPEATS) repeats = 11;
    bench_decode(
        "frc, 100 workers, 1 straggler", (struct mot_code_spec){ .name = "frc", .workers = 100 }, 1, repeats);
    bench_decode("crc, 12 workers, 3 stragglers",
        (struct mot_code_spec){ .name = "crc", .workers = 12, .stragglers = 3 }, 3, repeats);
    bench_decode("expander, optimal, 100 workers, load 11",
        (struct mot_code_spec){ .name = "expander", .workers = 100, .load = 11 }, 10, repeats);
    bench_decode("expander, optimal (LSQR), 1,000 workers, load 11",
        (struct mot_code_spec){ .name = "expander", .workers = 1000, .load = 11 }, 100, repeats);
    bench_decode("graph, component, 10,000 workers",
        (struct mot_code_spec){ .name = "graph", .workers = 10000, .degree = 4 }, 1000, repeats);
    bench_sum(4, 1 << 10, 4000, repeats);
    bench_sum(4, 1 << 16, 400, repeats);
    bench_sum(4, 1 << 20, 40, repeats);
    bench_sum(4, 1 << 24, 4, repeats);
    bench_sum(12, 1 << 20, 20, repeats);
    return 0;
}
