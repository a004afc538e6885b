/* grader.h -- the worker's side of methods with a server: a queue of jobs. A job is a
 * gradient at a model that the server has sent; jobs run one at a time, in the order they came.
 *
 *   MODEL(round)    joins the queue
 *   REPLACE(round)  what runs or waits is given up, and this begins at once
 *   job done        -> GRAD(round, samples, loss); 0 samples: the data has run out
 *   given up        -> GAVE_UP(samples computed in vain, jobs)
 *
 * Every job is answered, once, by a GRAD of its own or by the GAVE_UP that counts it, and
 * answers keep the jobs' order. So the server knows what is at the worker, and since it
 * never has more than `queue` jobs there without an answer, queues, messages and memory are bounded
 * however slow a link is.
 *
 * A job's samples are chosen as it begins. Those of a job that was given up half-way
 * count as drawn: a worker's place in its data is the sum of what it has computed, which is
 * what a checkpoint knows of it, and who is often interrupted does not see the same rows again and again.
 *
 * With several servers each has a range of the parameters, and a job comes in as many messages: the k-th
 * MODEL of every server is for the k-th job, which begins when all are there. Every server
 * gets its range of the gradient.
 *
 * Without its server a worker has nothing to do; other workers' lives are no concern of it. */
#ifndef MOT_METHOD_GRADER_H
#define MOT_METHOD_GRADER_H

#include <motley/method.h>

/* Heads. MODEL, REPLACE: round; value = seconds after which the worker gives the job up by itself, 0: never.
 * GRAD: round, samples, value = the loss's sum. GAVE_UP: samples, value = how many jobs. */
enum { MOT_MSG_MODEL, MOT_MSG_GRAD, MOT_MSG_REPLACE, MOT_MSG_GAVE_UP };

/* here: ranges of the model that have come */
struct mot_grader_job {
    double limit_s;
    mot_buf at;
    uint32_t here;
};

struct mot_grader {
    uint64_t draw;
    uint64_t begun; /* jobs that have begun, or been given up before */
    mot_time until; /* the running one is given up then; MOT_NEVER */
    uint32_t tag, busy;
    uint32_t given_up; /* jobs to be answered when the running one, cancelled, comes in */
    uint32_t queue_max, servers;
    uint32_t looks; /* at its gradients: no step of the server does */
    /* came[servers]: messages for jobs from each; round[queue_max + 1][servers] of the jobs in the queue, job
     * k's at k % queue_max, and last of the running one; the queue itself */
    uint64_t numbers[];
};

/* The loss that a worker tells beside its gradient: NaN if the gradient is not finite and there is a
 * guard. The worker looks, as it has just written the gradient and nobody waits for it as for the server,
 * unless the server's step is made of this gradient alone and looks as it reads it (mot_hub_step). And of
 * several servers, each of which sees a range only, all refuse the gradient together: else one alone would
 * leave the worker out, and the others wait for jobs that it never begins. */
double mot_told_loss(const struct mot_env *, mot_buf grad, uint32_t samples, double loss);

struct mot_need mot_grader_need(const struct mot_world *, uint32_t queue);
/* looks: at its gradients, if there is a guard */
void mot_grader_init(struct mot_grader *, const struct mot_env *, uint32_t queue, bool looks);
void mot_grader_step(struct mot_grader *, struct mot_env *, const struct mot_event *);
void mot_grader_check(const struct mot_grader *, const struct mot_world *, uint32_t queue);

#endif
