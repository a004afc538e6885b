/* checkpoint_seed.h -- the seeds of fuzz_checkpoint: a byte that chooses the method, so that all kinds of
 * state are there (messages, alarms, a collective), and a checkpoint's body. */
#ifndef MOT_FUZZ_CHECKPOINT_SEED_H
#define MOT_FUZZ_CHECKPOINT_SEED_H

#include "sim/state.h"
#include "small_job.h"
#include <xxhash.h>

static const char *const seed_method[] = { "allreduce", "server", "async" };
#define SEED_METHODS 3u

/* Makes a header and a checksum to fit the body, and restores the run from it. */
static inline enum mot_status seed_unpack(struct sim *s, const uint8_t *body, size_t n)
{
    struct mot_bytes file = mot_sim_pack(s);
    file.n = MOT_SIM_HEAD;
    mot_bytes_put(&file, body, n);
    uint64_t mark, sum = XXH64(file.at, file.n, 0);
    mot_bytes_put(&file, &sum, sizeof(sum));
    enum mot_status status = mot_sim_unpack(s, file.at, file.n, &mark);
    mot_bytes_free(&file);
    return status;
}

#endif
