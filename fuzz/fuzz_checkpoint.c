/* fuzz_checkpoint.c -- any bytes as the body of a checkpoint: its header and checksum are made
 * to fit, so that damage gets past them. What is let through is saved again, which must give something that
 * is let through. */
#include "sim/state.h"
#include "small_job.h"
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* The first byte chooses the method, so that all kinds of state are there: messages, alarms, a collective. */
static const char *const methods[] = { "allreduce", "server", "async" };
#define METHODS 3

struct bench {
    struct mot_experiment *x;
    struct mot_job job;
};
static struct bench bench[METHODS];

static struct sim *open_sim(const struct mot_driver_options *o)
{
    struct sim *s;
    if (mot_sim_open(o, &s) != MOT_OK) abort();
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n == 0) return 0;
    struct bench *b = &bench[bytes[0] % METHODS];
    if (!b->x) small_job(methods[bytes[0] % METHODS], "none", "3", &b->x, &b->job);
    const struct mot_driver_options o = { .experiment = b->x,
        .problem = &b->job.problem,
        .optim = &b->job.optim,
        .x0 = b->job.x0,
        .checkpoint = "x" };
    struct sim *s = open_sim(&o);
    struct mot_bytes file = mot_sim_pack(s);
    file.n = MOT_SIM_HEAD;
    mot_bytes_put(&file, bytes + 1, n - 1);
    uint64_t mark, sum = XXH64(file.at, file.n, 0);
    mot_bytes_put(&file, &sum, sizeof(sum));
    bool good = mot_sim_unpack(s, file.at, file.n, &mark) == MOT_OK;
    mot_bytes_free(&file);
    if (good) {
        struct mot_bytes again = mot_sim_pack(s);
        struct sim *other = open_sim(&o);
        MOT_ASSERT(mot_sim_unpack(other, again.at, again.n, &mark) == MOT_OK);
        mot_sim_close(other);
        mot_bytes_free(&again);
    }
    mot_sim_close(s);
    return 0;
}
