/* hub.h -- the server's side of a method: who is there, which jobs each worker has, what comes back. The
 * method adds its rule: what to do with a gradient, and who gets a job.
 *
 * A job is the gradient of a worker's next batch at a model that the server sends. Workers run their jobs one
 * at a time, in order of arrival, and answer each exactly once.
 *
 *   give(i), replace(i) --> job (i, round) is active --answer--> the method's gradient()
 *                                 |--worker lost, out of data, or barred--> gone: the method's lost()
 *                                 '--replaced--> its answer is waste, whatever it is
 *
 * A worker has at most `queue` unanswered jobs; further ones wait at the server. A job's round is the number
 * of the model it is computed at, so t - round is its delay.
 *
 * A method may have several servers (mot_traits.servers), each a hub with its range of the parameters; it
 * then replaces no jobs.
 *
 * Gradients that are not finite never reach the method (option `guard`). Workers report them, and the hub
 * checks bodies that may have been damaged in transit. If a method turns each gradient into a step of its
 * own, the step checks as it reads and undoes itself (mot_hub_step). A worker that sends MOT_HUB_STRIKES of
 * them in a row is barred.
 *
 * The hub notes (mot_note) wasted and wasted_samples (jobs given up, answers to replaced jobs), guarded,
 * workers_barred, workers_lost, workers_back and, after each answer, active_jobs; mot_hub_credit notes
 * staleness. */
#ifndef MOTLEY_HUB_H
#define MOTLEY_HUB_H

#include <motley/method.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MOT_HUB_STRIKES 3u

enum mot_guard { MOT_GUARD_DROP, MOT_GUARD_STOP, MOT_GUARD_OFF };

/* A method's configuration starts with this struct, and its option table with MOT_HUB_OPTIONS. */
struct mot_hub_conf {
    uint32_t guard; /* enum mot_guard */
};
#define MOT_HUB_OPTIONS                                                                                      \
    {                                                                                                        \
        .name = "guard", .type = MOT_OPT_CHOICE, .offset = offsetof(struct mot_hub_conf, guard),             \
        .preset = "drop", .choices = "drop|stop|off",                                                        \
        .doc = "what to do with a gradient that is not finite: drop discards and counts it, and bars "       \
               "a worker that sends three in a row; stop ends the run; off checks only losses"               \
    }

/* What the server needs besides the parameters and the messages of its jobs. */
struct mot_hub_need {
    size_t state_bytes; /* of the server's state, which starts with struct mot_hub */
    uint32_t buffers;   /* held by the method itself */
    /* unanswered jobs at a worker: 1; or 2, so that it need not wait for the next, or so that a job can be
     * replaced, since the new job takes a place beside the old one */
    uint32_t queue;
    /* jobs that can wait at the server while their workers' queues are full; a method that replaces jobs
     * needs some, since a replaced job keeps its place in the queue until it is answered */
    uint32_t backlog;
    uint32_t alarms;
    uint32_t sends; /* messages of the rule's own in flight, besides jobs */
    bool keep;      /* keep the model of each job until its answer: mot_answer.at */
};

enum mot_away { MOT_AWAY_LOST = 1, MOT_AWAY_NO_DATA = 2, MOT_AWAY_BARRED = 4 };

/* What the hub knows about a worker. */
struct mot_seat {
    uint32_t away;        /* bits of enum mot_away; 0: present */
    uint32_t first, last; /* its jobs, oldest first: places in the hub, from 1; 0: none */
    uint32_t unsent;      /* the first job that waits at the server */
    uint32_t there;       /* sent and unanswered, replaced ones included */
    uint32_t active;      /* jobs given, unanswered and not replaced */
    uint32_t strikes;     /* consecutive gradients that were not finite */
    uint32_t answers;     /* finished jobs */
    mot_time answered;    /* when the last answer came */
    mot_time busy;        /* total time of finished jobs; their mean is busy / answers */
};

struct mot_hub {
    struct mot_params params; /* the model x(t); params.step is t */
    uint32_t present;         /* workers that are not away */
    uint32_t active;          /* jobs given, unanswered, not replaced */
    uint32_t queue, keep;
    uint32_t free, jobs_max; /* list of unused jobs */
    uint32_t looks, spare;   /* looks: mot_hub_step checks that gradients are finite */
    uint64_t seats_at;       /* offset of seats and jobs, in bytes from here */
};

/* A finished job, valid during the call. The gradient is a sum over `samples`; with several servers, this
 * server's range of it. */
struct mot_answer {
    mot_node from;
    uint64_t round, delay; /* delay = t - round */
    uint32_t task;         /* as given by mot_hub_order; else 0 */
    uint32_t samples;
    double loss;
    struct mot_slice grad;
    mot_buf at;    /* the model it was computed at, if the need says `keep` */
    mot_time took; /* time since the worker could begin, as far as the server knows; includes links */
    bool *refused; /* for mot_hub_step and mot_hub_look */
};

/* What a worker with local steps does for a job: plain SGD on its own copy of the model, at the optimiser's
 * rate for the job's round; the answer is the sum of the steps' gradients. The queue is then 1, and no job is
 * replaced. */
struct mot_local_steps {
    uint32_t steps;  /* one batch each; 0: `epochs` instead */
    uint32_t epochs; /* passes over the worker's rows; the last batch of a pass takes those that are left */
    /* FedProx's mu: a step also moves back to the job's model by rate * mu times its distance (Li, Sahu,
     * Zaheer, Sanjabi, Talwalkar and Smith, 2020) */
    double proximal;
};

/* The method's rule. `state` starts with struct mot_hub. Every function except need, begin and gradient
 * may be NULL. */
struct mot_worker_side;
struct mot_served {
    struct mot_hub_need (*need)(const void *conf, const struct mot_world *);
    /* Whether gradient() begins by passing every gradient to mot_hub_step, or to mot_hub_look before dropping
     * it: then nobody else needs to check it. NULL: no. */
    bool (*at_once)(const void *conf, const struct mot_world *);
    void (*begin)(
        void *state, struct mot_env *); /* sets up the method's own state and gives the first jobs */
    void (*gradient)(void *state, struct mot_env *, const struct mot_answer *);
    /* The worker has gone away, with this many active jobs. In an elastic run it may have been the last
     * one: then nobody can get a job until a worker is back. Otherwise losing the last one ends the run
     * without this call. */
    void (*lost)(void *state, struct mot_env *, mot_node worker, uint32_t jobs);
    /* A node is lost, even one that was away: called before lost(). */
    void (*gone)(void *state, struct mot_env *, mot_node worker);
    void (*back)(void *state, struct mot_env *, mot_node worker);    /* it has no jobs; NULL: gives it one */
    void (*refused)(void *state, struct mot_env *, mot_node worker); /* not finite; NULL: gives a new job */
    void (*gave_up)(void *state, struct mot_env *, mot_node worker); /* gave up a job at its time limit */
    void (*timer)(void *state, struct mot_env *, uint32_t tag);
    void (*check)(const void *state, const struct mot_env *);
    struct mot_local_steps (*local_steps)(const void *conf); /* NULL: a job is one gradient */
    /* Internal: what the workers of motley's own `coded` do instead. Elsewhere NULL: a method whose workers
     * do more than compute gradients defines their steps itself, without a hub (<motley/method.h>). */
    const struct mot_worker_side *side;
};

MOT_API bool mot_hub_always(const void *conf, const struct mot_world *); /* true; for at_once */

/* ---- What a rule calls ---------------------------------------------------------------- */

MOT_API const struct mot_seat *mot_hub_seat(const struct mot_hub *, mot_node worker);
/* This server's range of a buffer; all of it if there is a single server. */
MOT_API struct mot_slice mot_hub_range(const struct mot_env *, mot_buf);

/* Gives a job at x(t) to a worker that is not away. */
MOT_API void mot_hub_give(struct mot_hub *, struct mot_env *, mot_node worker);
/* Gives a job in place of all those it has. */
MOT_API void mot_hub_replace(struct mot_hub *, struct mot_env *, mot_node worker);
/* The same for a numbered task, which the worker finds in the head's `samples`. */
MOT_API void mot_hub_order(struct mot_hub *, struct mot_env *, mot_node worker, uint32_t task);
/* Whether the worker's next answer will be to a job that was not replaced, and the job's task. */
MOT_API bool mot_hub_expects(
    const struct mot_hub *, const struct mot_env *, mot_node worker, uint32_t *task_out);
/* Gives a job that the worker gives up on its own after `limit_s` seconds. */
MOT_API void mot_hub_give_for(struct mot_hub *, struct mot_env *, mot_node worker, double limit_s);
/* The round of the worker's oldest active job; UINT64_MAX: none. */
MOT_API uint64_t mot_hub_oldest(const struct mot_hub *, const struct mot_env *, mot_node worker);

/* Counts active jobs by age t - round, 0..oldest; older ones count as `oldest`. */
MOT_API void mot_hub_ages(const struct mot_hub *, const struct mot_env *, uint32_t *count, uint64_t oldest);

/* One step of the parameters along `scale` times the answer's gradient. False: the gradient is not finite
 * and nothing has changed; gradient() must return at once, and the hub refuses the answer. */
MOT_API bool mot_hub_step(
    struct mot_hub *, struct mot_env *, const struct mot_answer *, double scale, double lr_factor);
/* The same check for a gradient that is not used in a step. */
MOT_API bool mot_hub_look(const struct mot_hub *, const struct mot_env *, const struct mot_answer *);

/* Credits the worker's gradient to the update, and notes its delay. */
MOT_API void mot_hub_credit(struct mot_env *, mot_node worker, uint64_t delay);

/* ---- The method made of a rule ---------------------------------------------------------- */

MOT_API struct mot_need mot_served_need(
    const struct mot_served *, const void *conf, const struct mot_world *, mot_node self);
MOT_API void mot_served_init(const struct mot_served *, void *state, struct mot_env *);
MOT_API void mot_served_step(
    const struct mot_served *, void *state, struct mot_env *, const struct mot_event *);
MOT_API bool mot_served_admits(
    const struct mot_served *, const void *state, const struct mot_env *, const struct mot_message *);
MOT_API void mot_served_check(const struct mot_served *, const void *state, const struct mot_env *);
MOT_API bool mot_served_model(const void *state, const struct mot_env *, struct mot_view *);
MOT_API const struct mot_packer *mot_served_packer(
    const struct mot_served *, const void *state, const struct mot_env *, uint32_t server);

/* The traits of a method with one server that has the model and guards against gradients that are not
 * finite. A method whose updates take one batch changes the rest. */
MOT_API void mot_served_traits(const void *conf, uint32_t workers, struct mot_traits *);

/* Defines the functions of a method whose rule is `static const struct mot_served NAME`, and their entries
 * in its struct mot_method; its `traits` calls mot_served_traits. */
#define MOT_SERVED(NAME)                                                                                     \
    static struct mot_need NAME##_need_(const void *conf, const struct mot_world *world, mot_node self)      \
    {                                                                                                        \
        return mot_served_need(&NAME, conf, world, self);                                                    \
    }                                                                                                        \
    static void NAME##_init_(void *state, struct mot_env *env) { mot_served_init(&NAME, state, env); }       \
    static void NAME##_step_(void *state, struct mot_env *env, const struct mot_event *event)                \
    {                                                                                                        \
        mot_served_step(&NAME, state, env, event);                                                           \
    }                                                                                                        \
    static bool NAME##_admits_(                                                                              \
        const void *state, const struct mot_env *env, const struct mot_message *message)                     \
    {                                                                                                        \
        return mot_served_admits(&NAME, state, env, message);                                                \
    }                                                                                                        \
    static void NAME##_check_(const void *state, const struct mot_env *env)                                  \
    {                                                                                                        \
        mot_served_check(&NAME, state, env);                                                                 \
    }                                                                                                        \
    static const struct mot_packer *NAME##_packer_(                                                          \
        const void *state, const struct mot_env *env, uint32_t of)                                           \
    {                                                                                                        \
        return mot_served_packer(&NAME, state, env, of);                                                     \
    }
#define MOT_SERVED_BY(NAME)                                                                                  \
    .need = NAME##_need_, .init = NAME##_init_, .step = NAME##_step_, .admits = NAME##_admits_,              \
    .check = NAME##_check_, .model = mot_served_model, .packer = NAME##_packer_

#ifdef __cplusplus
}
#endif
#endif
