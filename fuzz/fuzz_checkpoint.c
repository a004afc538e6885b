/* fuzz_checkpoint.c -- any bytes as the body of a checkpoint: its header and checksum are made
 * to fit, so that damage gets past them. What is let through is saved again, which must give something that
 * is let through. */
#include "checkpoint_seed.h"
#include <stdlib.h>

struct bench {
    struct mot_experiment *x;
    struct mot_job job;
};
static struct bench bench[SEED_METHODS];

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
    struct bench *b = &bench[bytes[0] % SEED_METHODS];
    if (!b->x) small_job(seed_method[bytes[0] % SEED_METHODS], "none", "3", &b->x, &b->job);
    const struct mot_driver_options o = { .experiment = b->x,
        .problem = &b->job.problem,
        .optim = &b->job.optim,
        .x0 = b->job.x0,
        .checkpoint = "x" };
    struct sim *s = open_sim(&o);
    if (seed_unpack(s, bytes + 1, n - 1) == MOT_OK) {
        uint64_t mark;
        struct mot_bytes again = mot_sim_pack(s);
        struct sim *other = open_sim(&o);
        MOT_ASSERT(mot_sim_unpack(other, again.at, again.n, &mark) == MOT_OK);
        mot_sim_close(other);
        mot_bytes_free(&again);
    }
    mot_sim_close(s);
    return 0;
}
