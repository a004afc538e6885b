/* crew.h -- threads that compute for the thread that hands out the work.
 *
 * A task is given to the crew and awaited later; who runs it, and when, does not affect its result. The
 * awaiting thread works too: with one thread there is no crew at all and every task runs when it is
 * awaited. */
#ifndef MOT_BASE_CREW_H
#define MOT_BASE_CREW_H

#include <stdbool.h>
#include <stdint.h>

enum mot_task_state { MOT_TASK_IDLE, MOT_TASK_QUEUED, MOT_TASK_RUNNING, MOT_TASK_DONE };
struct mot_crew_task {
    void (*run)(struct mot_crew_task *, unsigned who); /* who: 0..threads-1, for scratch */
    struct mot_crew_task *next, *before;
    enum mot_task_state state; /* guarded by the crew's lock */
};

unsigned mot_cores(void); /* of this machine; 1 if unknown */

struct mot_crew;
struct mot_crew *mot_crew_open(unsigned threads);
void mot_crew_close(struct mot_crew *); /* waits for what runs; drops what is queued */
unsigned mot_crew_threads(const struct mot_crew *);

void mot_crew_give(struct mot_crew *, struct mot_crew_task *); /* idle or done before */
/* returns once it is done; runs an idle one itself */
void mot_crew_await(struct mot_crew *, struct mot_crew_task *);
/* back to idle, after waiting if it is running; true if it had not begun */
bool mot_crew_recall(struct mot_crew *, struct mot_crew_task *);

/* Calls run(context, i, who) for i in 0..n-1, on all threads, in any order. */
void mot_crew_each(
    struct mot_crew *, uint32_t n, void (*run)(void *context, uint32_t i, unsigned who), void *context);

#endif
