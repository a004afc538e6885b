/* taken.h -- for tests: checkpoints that say what cannot be, though their checksum is right. */
#ifndef MOT_TEST_TAKEN_H
#define MOT_TEST_TAKEN_H

#include "sim/state.h"
#include <stdlib.h>

/* Whether a checkpoint that says what the simulator holds now is taken. */
static inline bool is_taken(struct sim *s, const struct mot_driver_options *o)
{
    struct mot_bytes file = mot_sim_pack(s);
    struct sim *other;
    uint64_t mark;
    if (mot_sim_open(o, &other)) abort();
    enum mot_status status = mot_sim_unpack(other, file.at, file.n, &mark);
    if (status != MOT_OK && status != MOT_EDATA) abort();
    mot_sim_close(other);
    mot_bytes_free(&file);
    return status == MOT_OK;
}

#endif
