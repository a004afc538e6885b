/* local.h -- the worker's side of methods with local steps: for each model that the server sends, the worker
 * makes some steps of plain SGD on its own copy, at the optimiser's rate for the model's round, and returns
 * the displacement.
 *
 *   MODEL(round)  y(0) = x;  g(q) = the mean gradient of a batch at y(q), + mu (y(q) - x) if proximal,
 *                 y(q+1) = y(q) - rate * g(q),  q = 0..steps-1
 *   -> GRAD(round, samples, loss):  sum_q g(q), times the batch;
 *                 so x - y(steps) is rate / batch times the body
 *
 * In whole epochs the last batch of a pass takes only what is left, so each row is seen once a pass.
 *
 * The sum is sent rather than the difference of the models, which would lose the last digits: with one step
 * it is exactly the gradient that a grader would send. If the data runs out, the job ends early; 0 samples:
 * there were none left. The messages are those of grader.h; jobs come one at a time. */
#ifndef MOT_METHOD_LOCAL_H
#define MOT_METHOD_LOCAL_H

#include <motley/hub.h>
#include "method/grader.h"

struct mot_local {
    uint64_t round, draw;
    double loss;
    mot_buf y, sum;     /* MOT_NO_BUF without a job; no sum before the first gradient */
    mot_buf x;          /* the job's model, if the steps are proximal */
    uint32_t own;       /* 1: nobody else holds the sum */
    uint32_t tag, done; /* steps of this job */
    uint32_t samples;
    struct mot_packer packer;
};

/* The most samples of a job. */
uint64_t mot_local_samples(const struct mot_local_steps *, const struct mot_world *, mot_node worker);
extern const struct mot_worker_side mot_local_side;

#endif
