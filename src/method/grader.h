/* grader.h -- the worker's side of methods with a server: a queue of jobs. A job is a gradient at a model
 * that the server sent; jobs run one at a time, in order of arrival.
 *
 *   MODEL(round)    joins the queue
 *   REPLACE(round)  gives up all jobs, and begins at once
 *   job done        -> GRAD(round, samples, loss); 0 samples: the data has run out
 *   given up        -> GAVE_UP(samples computed in vain, jobs)
 *
 * Every job is answered exactly once, by its own GRAD or by the GAVE_UP that counts it, in order. So the
 * server knows what is in flight at the worker, and since it never has more than `queue` unanswered jobs
 * there, queues, messages and memory are bounded however slow a link is.
 *
 * A job's samples are chosen when it begins. Those of a job given up half-way count as drawn: a worker's
 * position in its data is the sum of what it computed, which is what a checkpoint knows, and a worker that
 * is often interrupted does not see the same rows again and again.
 *
 * With several servers, each has a range of the parameters, and a job comes in as many messages: the k-th
 * MODEL of every server is for the k-th job, which begins when all have arrived. Every server gets its range
 * of the gradient.
 *
 * Gradients are packed (mot_pack), each server's range by itself.
 *
 * Without its server a worker has nothing to do; the loss of other workers does not concern it. */
#ifndef MOT_METHOD_GRADER_H
#define MOT_METHOD_GRADER_H

#include <motley/method.h>

/* Heads. MODEL, REPLACE: round; value = seconds after which the worker gives the job up by itself, 0: never.
 * GRAD: round, samples, value = the loss's sum. GAVE_UP: samples, value = how many jobs. */
enum { MOT_MSG_MODEL, MOT_MSG_GRAD, MOT_MSG_REPLACE, MOT_MSG_GAVE_UP };

/* here: ranges of the model that have arrived */
struct mot_grader_job {
    double limit_s;
    mot_buf at;
    uint32_t here;
};

struct mot_grader {
    uint64_t draw;
    uint64_t begun; /* jobs begun, or given up before they began */
    mot_time until; /* when to give up the running job; or MOT_NEVER */
    uint32_t tag, busy;
    uint32_t given_up; /* jobs to answer once the cancelled one comes in */
    uint32_t queue_max, servers;
    uint32_t looks; /* checks its gradients, since no server step does */
    /* came[servers]: job messages from each; round[queue_max + 1][servers]: of the jobs in the queue, job
     * k's at k % queue_max, and last of the running one; then the queue itself; then a packer for each
     * server */
    uint64_t numbers[];
};

/* The loss that a worker sends with its gradient: NaN if the gradient is not finite and there is a guard. The
 * worker checks, since it has just written the gradient and nobody waits for it, whereas everyone waits for
 * the server; unless the server makes a step of this gradient alone and checks as it reads (mot_hub_step).
 * Several servers each see only a range, so they must refuse a gradient together: otherwise one alone would
 * bar the worker while the others wait for jobs that it never begins. */
double mot_told_loss(const struct mot_env *, mot_buf grad, uint32_t samples, double loss);

/* The worker's side of a method with a server: a grader, local steps (local.h), or gradient coding
 * (coder.h). `state` is the worker's, `server` the server's. */
struct mot_served;
struct mot_worker_side {
    struct mot_need (*need)(const struct mot_world *, uint32_t queue);
    /* looks: whether to check its gradients, if there is a guard */
    void (*init)(void *state, struct mot_env *, uint32_t queue, bool looks);
    void (*step)(const struct mot_served *, void *state, struct mot_env *, const struct mot_event *);
    void (*check)(const void *state, const struct mot_env *, uint32_t queue);
    bool (*admits)(const void *state, const struct mot_env *, const struct mot_message *);
    /* what packs for this server; NULL: it packs nothing */
    const struct mot_packer *(*packer)(const void *state, uint32_t server);

    /* For the server. The most samples that an answer of the worker can have: */
    uint64_t (*samples_most)(
        const struct mot_served *, const void *server, const struct mot_env *, mot_node worker);
    /* What else workers send: kinds from MOT_HUB_OWN on. NULL: nothing. */
    void (*message)(void *server, struct mot_env *, const struct mot_message *);
    bool (*message_admits)(const void *server, const struct mot_env *, const struct mot_message *);
};
#define MOT_HUB_OWN 8u
extern const struct mot_worker_side mot_grader_side;

#endif
