/* bell.h -- waiting for another thread: spin briefly, then yield, then sleep.
 *
 * A blocking wake-up costs some fifty microseconds, so a thread with a core to itself spins first. If
 * threads outnumber cores, spinning only keeps the awaited thread from running, so it yields at once.
 * Other programs crowd a machine too, so a sleeper that spun in vain spins less next time, and yields only
 * while that is quick. */
#ifndef MOT_LIVE_BELL_H
#define MOT_LIVE_BELL_H

#include "live/turn.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct mot_bell {
    _Atomic uint32_t rung, asleep;
    /* private to the sleeper */
    uint32_t spins; /* how long spinning has paid off */
    struct mot_turn turn;
};

void mot_bell_ring(struct mot_bell *);
static inline uint32_t mot_bell_heard(struct mot_bell *b)
{
    return atomic_load_explicit(&b->rung, memory_order_acquire);
}
/* Returns once the bell has rung after `heard`, or after about `ns`. */
void mot_bell_wait(struct mot_bell *, uint32_t heard, uint64_t ns, bool crowded);

#endif
