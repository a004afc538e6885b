/* bell.h -- waiting for another thread: spin a little, then yield, then sleep.
 *
 * A blocking wake-up costs some fifty microseconds, so a thread spins first where
 * it has a core to itself; where threads outnumber cores, spinning only keeps the
 * awaited one from running, so it yields at once. Other programs crowd a machine too, so a
 * sleeper whose spinning was for nothing spins less the next time. */
#ifndef MOT_LIVE_BELL_H
#define MOT_LIVE_BELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct mot_bell {
    _Atomic uint32_t rung, asleep;
    uint32_t spins; /* the sleeper's own: how long spinning has been worth it */
};

void mot_bell_ring(struct mot_bell *);
static inline uint32_t mot_bell_heard(struct mot_bell *b)
{
    return atomic_load_explicit(&b->rung, memory_order_acquire);
}
/* Returns when the bell was rung after `heard`, or after about `ns`. */
void mot_bell_wait(struct mot_bell *, uint32_t heard, uint64_t ns, bool crowded);

#endif
