/* bench_compress.c -- what compressing costs on one thread, beside one read of the same floats.
 *
 * Everything is measured in turn, REPEATS times (argument; 15 if none), in CPU time, and the median is
 * printed: another process then costs at most the memory bandwidth it takes. The first table is of
 * compressors by themselves, of 10 million floats like those of a gradient. The second is what a worker of
 * allreduce does in a step with 25 million parameters, top-k at 1 % and error feedback, beside the gradient:
 * select and encode its own, and add its own and another's. With "alone" it prints the milliseconds of top-k
 * and of one read and nothing else, for bench/compare-topk. */
#include "base/memory.h"
#include "base/rng.h"
#include "compress/compress.h"
#include "math/kernels.h"
#include "run/outbox.h"
#include "run/pool.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REPEATS_MOST 101

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *ms, int n)
{
    qsort(ms, (size_t)n, sizeof(*ms), by_size);
    return ms[n / 2];
}

/* Most entries of a gradient are small, a few large. */
static void fill(float *x, size_t n, uint64_t seed)
{
    struct mot_rng rng = mot_rng_at(seed, MOT_RNG_TEST, 0);
    for (size_t i = 0; i < n; i++) {
        double v = mot_rng_normal(&rng);
        x[i] = (float)(1e-3 * v * v * v);
    }
}

struct vectors {
    uint32_t n;
    float *x, *y;
    unsigned char *packet;
    struct mot_press room;
    uint32_t at[2];
};

static struct vectors vectors_of(uint32_t n)
{
    struct vectors v = { .n = n,
        .x = mot_aligned((size_t)n * sizeof(float)),
        .y = mot_aligned((size_t)n * sizeof(float)),
        .packet = mot_aligned(mot_packet_most(n)),
        .room = { mot_aligned(((size_t)n + MOT_PRESS_SLACK) * 4),
            mot_aligned(((size_t)n + MOT_PRESS_SLACK) * 4) },
        .at = { 0, n } };
    fill(v.x, n, 1);
    memset(v.y, 0, (size_t)n * sizeof(float));
    memset(v.packet, 0, mot_packet_most(n));
    return v;
}

static volatile double sink;

static double time_read(const struct vectors *v)
{
    double t = now();
    sink = mot_kernels()->finite(v->n, v->x);
    return now() - t;
}

static double time_copy(const struct vectors *v)
{
    double t = now();
    memcpy(v->y, v->x, (size_t)v->n * sizeof(float));
    return now() - t;
}

static size_t packed;
static double time_press(const struct vectors *v, const struct mot_compress *c)
{
    struct mot_pressing p = {
        .len = v->n, .x = v->x, .at = v->at, .layers = 1, .weight = 1, .key = 1, .room = v->room
    };
    double t = now();
    packed = c->kind->pack(c, &p, v->packet);
    return now() - t;
}

static struct mot_compress conf_of(const char *name)
{
    struct mot_compress c = {
        .ratio = 0.01, .threshold = 0.004, .levels = 7, .bucket = 512, .delta = 0.0 / 0.0
    };
    for (size_t i = 0; mot_compressors[i]; i++)
        if (strcmp(mot_compressors[i]->name, name) == 0) c.kind = mot_compressors[i];
    return c;
}

static void table(int repeats, bool alone)
{
    static const char *const names[] = { "topk", "threshold", "qsgd", "sign" };
    static double read[REPEATS_MOST], copy[REPEATS_MOST], ms[4][REPEATS_MOST];
    struct vectors v = vectors_of(10000000);
    size_t bytes[4];
    for (int r = 0; r < repeats; r++) {
        read[r] = time_read(&v);
        copy[r] = time_copy(&v);
        for (int i = 0; i < (alone ? 1 : 4); i++) {
            struct mot_compress c = conf_of(names[i]);
            ms[i][r] = time_press(&v, &c);
            bytes[i] = packed;
        }
    }
    if (alone) {
        printf("%.2f %.2f\n", median(ms[0], repeats), median(read, repeats));
        return;
    }
    double one = median(read, repeats), both = median(copy, repeats);
    printf("10,000,000 floats, %s kernels\n", mot_kernels_name());
    printf("  %-24s %8.2f ms\n  %-24s %8.2f ms\n", "one read", one, "one read and one write", both);
    for (int i = 0; i < 4; i++) {
        double m = median(ms[i], repeats);
        printf("  %-24s %8.2f ms   %5.2f reads   %5.2f copies   %9zu bytes\n", names[i], m, m / one, m / both,
            bytes[i]);
    }
}

/* ---- A step of allreduce ----------------------------------------------------------------------------- */

static void step(int repeats)
{
    static double pack[REPEATS_MOST], add[REPEATS_MOST], all[REPEATS_MOST];
    const uint32_t dim = 25000000, at[2] = { 0, dim };
    struct mot_compress conf = conf_of("topk");
    conf.feedback = MOT_FEEDBACK_EF;
    conf.corrected = true;
    struct mot_world world = { .workers = 2, .dim = dim, .tensors = 1, .tensor_at = at, .compress = &conf };
    struct mot_pool pool;
    struct mot_outbox out;
    struct mot_packer own = { 0 }, other = { 0 };
    mot_pool_open(&pool, dim, 12);
    mot_pool_open_packets(&pool);
    mot_outbox_open(&out, 64, 1);
    mot_outbox_open_press(&out, dim);
    struct mot_env env = { .world = &world, .pool = &pool, .out = &out };
    mot_buf g = mot_take(&env), h = mot_take(&env), sum = mot_take(&env);
    fill(mot_edit(&env, g), dim, 1);
    fill(mot_edit(&env, h), dim, 2);
    for (int r = -2; r < repeats; r++) { /* two to warm up: what is left grows first */
        struct mot_slice theirs = mot_pack(&env, &other, mot_whole(&env, h), 1);
        double t0 = now();
        struct mot_slice mine = mot_pack(&env, &own, mot_whole(&env, g), 1);
        double t1 = now();
        const struct mot_slice in[2] = { mine, theirs };
        mot_pool_sum_packed(&pool, in, 2, mot_pool_at(&pool, sum));
        double t2 = now();
        if (r >= 0) pack[r] = t1 - t0, add[r] = t2 - t1, all[r] = t2 - t0;
        if (r == repeats - 1)
            printf("25,000,000 parameters, top-k 1 %% with error feedback, 2 workers: %llu bytes each\n",
                (unsigned long long)mot_pool_packed(&pool, mine.buf));
        mot_drop(&env, mine.buf);
        mot_drop(&env, theirs.buf);
        out.n = 0;
    }
    printf("  %-24s %8.2f ms\n", "select and encode", median(pack, repeats));
    printf("  %-24s %8.2f ms\n", "add both", median(add, repeats));
    printf("  %-24s %8.2f ms\n", "together", median(all, repeats));
}

int main(int count, char **argument)
{
    bool alone = count > 1 && strcmp(argument[1], "alone") == 0;
    int repeats = count > 1 && !alone ? (int)strtol(argument[1], NULL, 10) : 15;
    if (repeats < 1) repeats = 1;
    if (repeats > REPEATS_MOST) repeats = REPEATS_MOST;
    table(repeats, alone);
    if (!alone) step(repeats);
    return 0;
}
