/* turn.h -- giving up the core for a moment, as long as it is only a moment.
 *
 * sched_yield is cheap while the core has nobody else to run. On a busy machine it gives every other program
 * a whole turn, some milliseconds each, and does so again at the next call, while a thread that sleeps runs
 * soon after it is woken. So once yields take long, a waiter sleeps instead for a while. A single long one
 * says little: threads of the run itself may have had that turn. */
#ifndef MOT_LIVE_TURN_H
#define MOT_LIVE_TURN_H

#include "base/stopwatch.h"
#include <sched.h>
#include <stdbool.h>

#define MOT_TURN_LONG_NS UINT64_C(1000000)   /* somebody else has run, or a nap is short beside a job */
#define MOT_TURN_LONG_RUN 3                  /* so many in a row, and it is no accident */
#define MOT_TURN_HOLD_NS UINT64_C(100000000) /* how long we do not try again */

struct mot_turn {
    uint64_t hold_until;
    uint32_t long_run; /* yields that took long, one after the other */
};

/* Yields. False: the core is wanted by others, so sleep. */
static inline bool mot_turn_yield(struct mot_turn *t)
{
    uint64_t before = mot_wall_ns(), after;
    if (before < t->hold_until) return false;
    sched_yield();
    after = mot_wall_ns();
    if (after - before <= MOT_TURN_LONG_NS) {
        t->long_run = 0;
        return true;
    }
    if (++t->long_run < MOT_TURN_LONG_RUN) return true;
    t->long_run--; /* if the next one takes long, too, nothing has changed */
    t->hold_until = after + MOT_TURN_HOLD_NS;
    return false;
}

#endif
