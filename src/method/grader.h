/* grader.h -- the worker's side of every method with a server: it computes a
 * gradient at each model it is sent, and sends it back.
 *
 *   IDLE --MODEL(round)--> BUSY --work done--> GRAD(round, samples) --> IDLE
 *
 * Without its server it has nothing to do; other workers' lives are no concern of it. */
#ifndef MOT_METHOD_GRADER_H
#define MOT_METHOD_GRADER_H

#include <motley/method.h>

enum { MOT_MSG_MODEL, MOT_MSG_GRAD };

struct mot_grader { uint64_t round, draw; uint32_t busy; };

struct mot_need mot_grader_need(size_t state_bytes);
void mot_grader_init(struct mot_grader *, const struct mot_env *);
void mot_grader_step(struct mot_grader *, struct mot_env *, const struct mot_event *, mot_node server);

#endif
