/* bench_allreduce.c [THREADS...] -- the sum over all workers on threads, as a method gets it,
 * against the memory.
 *
 * A method that does nothing else joins one collective after another. What every worker gets is one
 * shared, frozen sum; nobody needs a copy of his own. So the bytes that must move are those of each
 * worker's buffer, once, and of the sum, once: the limit is what two threads take to do just that,
 * half of it each, in the same process, waiting for nobody. */
#include "math/kernels.h"
#include "rounds.h"
#include <pthread.h>

static double measure_sum(unsigned threads, uint32_t dim, unsigned wanted)
{
    char workers[16], updates[16];
    struct rig r = { 0 };
    struct mot_outcome out;
    snprintf(workers, sizeof(workers), "%u", threads);
    snprintf(updates, sizeof(updates), "%u", wanted + WARM_UP);
    const struct mot_setting setting[] = {
        { "data", "synthetic", "bench" },
        { "data.size", "256", "bench" },
        { "model", "softmax", "bench" },
        { "workers", workers, "bench" },
        { "method", "sums", "bench" },
        { "stop.updates", updates, "bench" },
        { "evaluate.every", "1000000000 updates", "bench" },
    };
    mot_methods_extend(rounds_methods);
    noted.n = 0;
    enum mot_status status = rig_open(&r, &rig_silent, dim, setting, MOT_COUNT(setting));
    if (status == MOT_OK) status = rig_run(&r, &out);
    if (status != MOT_OK) {
        fprintf(stderr, "bench_allreduce: %s\n", mot_error());
        exit(status);
    }
    double each = rounds_each();
    mot_outcome_close(&out);
    rig_close(&r);
    return each;
}

/* ---- The memory's limit ------------------------------------------------------------------------ */

struct adder {
    pthread_t thread;
    pthread_barrier_t *barrier;
    const float *buf[16];
    float *sum;
    unsigned buffers, rounds;
    size_t n;
    double each;
};

static void *read_and_write(void *p)
{
    struct adder *c = p;
    pthread_barrier_wait(c->barrier);
    double began = rig_now();
    for (unsigned k = 0; k < c->rounds; k++) mot_kernels()->add(c->n, c->buffers, c->buf, c->sum);
    c->each = (rig_now() - began) / c->rounds;
    return NULL;
}

static float *filled(uint32_t dim)
{
    float *x = mot_aligned((size_t)dim * sizeof(float));
    for (uint32_t i = 0; i < dim; i++) x[i] = 1;
    return x;
}

static double measure_limit(unsigned buffers, uint32_t dim, unsigned rounds)
{
    struct adder c[2];
    pthread_barrier_t barrier;
    float *buf[16], *sum = filled(dim);
    pthread_barrier_init(&barrier, NULL, 2);
    for (unsigned b = 0; b < buffers; b++) buf[b] = filled(dim);
    for (unsigned i = 0; i < 2; i++) {
        size_t first = i * (size_t)(dim / 2);
        c[i] = (struct adder){
            .barrier = &barrier, .buffers = buffers, .rounds = rounds, .sum = sum + first, .n = dim / 2
        };
        for (unsigned b = 0; b < buffers; b++) c[i].buf[b] = buf[b] + first;
        if (pthread_create(&c[i].thread, NULL, read_and_write, &c[i]) != 0) abort();
    }
    for (unsigned i = 0; i < 2; i++) pthread_join(c[i].thread, NULL);
    for (unsigned b = 0; b < buffers; b++) free(buf[b]);
    free(sum);
    pthread_barrier_destroy(&barrier);
    return c[0].each > c[1].each ? c[0].each : c[1].each;
}

#define REPEATS 5

int main(int count, char **arguments)
{
    static const struct {
        uint32_t bytes;
        unsigned rounds;
    } sizes[] = { { 4096, 4000 }, { 262144, 1000 }, { 4194304, 100 }, { 67108864, 8 } };
    printf(
        "%7s %10s %12s %22s %12s %8s\n", "threads", "bytes", "us", "(least to most)", "limit, us", "ratio");
    for (int t = 1; t < (count > 1 ? count : 3); t++) {
        unsigned threads = count > 1 ? (unsigned)strtoul(arguments[t], NULL, 10) : 2u * (unsigned)t;
        if (threads < 1 || threads > 16) continue;
        for (size_t s = 0; s < MOT_COUNT(sizes); s++) {
            double sum[REPEATS], limit[REPEATS];
            for (int i = 0; i < REPEATS; i++) { /* in turn, so that both see the same machine */
                sum[i] = measure_sum(threads, sizes[s].bytes / 4, sizes[s].rounds);
                limit[i] = measure_limit(threads, sizes[s].bytes / 4, sizes[s].rounds);
            }
            qsort(sum, REPEATS, sizeof(*sum), rig_by_size);
            qsort(limit, REPEATS, sizeof(*limit), rig_by_size);
            printf("%7u %10u %12.1f %10.1f to %8.1f %12.1f %8.2f\n", threads, sizes[s].bytes,
                sum[REPEATS / 2] * 1e6, sum[0] * 1e6, sum[REPEATS - 1] * 1e6, limit[REPEATS / 2] * 1e6,
                limit[REPEATS / 2] / sum[REPEATS / 2]);
            fflush(stdout);
        }
    }
    return 0;
}
