/* local.h -- the worker's side of methods with local steps: for each model that the server
 * sends, some steps of plain SGD on the worker's own copy, at the rate that the optimiser has for the model's
 * round; what goes back is the way it went.
 *
 *   MODEL(round)  y(0) = x;  g(q) = the mean gradient of a batch at y(q),
 *                 y(q+1) = y(q) - rate * g(q),  q = 0..steps-1
 *   -> GRAD(round, samples, loss):  sum_q g(q), times the batch;
 *                 so x - y(steps) is rate / batch times the body
 *
 * The sum is sent and not the difference of the models, which would lose the last digits: one
 * step gives the very gradient that a grader would send. Data that run out in between end the job early; 0
 * samples: there were none. The messages are those of grader.h; jobs come one at a time. */
#ifndef MOT_METHOD_LOCAL_H
#define MOT_METHOD_LOCAL_H

#include <motley/method.h>

struct mot_local {
    uint64_t round, draw;
    double loss;
    mot_buf y, sum;     /* MOT_NO_BUF while it has no job; no sum before the first gradient */
    uint32_t own;       /* nobody else holds the sum */
    uint32_t tag, done; /* steps of this job */
    uint32_t samples;
};

struct mot_need mot_local_need(void);
void mot_local_init(struct mot_local *, const struct mot_env *);
void mot_local_step(
    struct mot_local *, struct mot_env *, const struct mot_event *, mot_node server, uint32_t steps);
void mot_local_check(const struct mot_local *);

#endif
