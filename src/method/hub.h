/* hub.h -- the server's side that methods with a server share: who is there, which jobs each
 * worker has, what comes back; so that a method is left with its own rule. Workers are graders (grader.h).
 *
 *   give(i), replace(i) --> a job (i, round) is active --GRAD--> the method's gradient()
 *                                 |--worker lost, out of data, or not trusted--> gone: the method's lost()
 *                                 '--replaced--> its answer is waste, whatever it is
 *
 * A worker has at most `queue` jobs there that it has not answered; what it is given beyond waits here.
 * The round of a job is the number of the model it is computed at: t - round is its delay.
 *
 * A method may have several servers (mot_method.server_count), each a hub with a range of the parameters;
 * then it does not replace jobs.
 *
 * Gradients that are not finite never reach the method (option `guard`): workers tell (grader.h), and
 * bodies that may have been damaged on their way are looked at here; or, in methods that make a step of
 * each gradient by itself, the step looks as it reads it and takes itself back (mot_hub_step). A worker
 * that sends MOT_HUB_STRIKES of them in a row is left out.
 *
 * Notes: wasted, wasted_samples (jobs given up, and answers to replaced jobs), guarded, workers_barred,
 * workers_lost, workers_back, active_jobs (after each answer); and staleness by mot_hub_credit. */
#ifndef MOT_METHOD_HUB_H
#define MOT_METHOD_HUB_H

#include "method/grader.h"
#include "method/local.h"

#define MOT_HUB_STRIKES 3u

enum mot_guard { MOT_GUARD_DROP, MOT_GUARD_STOP, MOT_GUARD_OFF };

/* A method's configuration begins with this one, and its table of options with MOT_HUB_OPTIONS. */
struct mot_hub_conf {
    uint32_t guard;
};
#define MOT_HUB_OPTIONS                                                                                      \
    {                                                                                                        \
        .name = "guard", .type = MOT_OPT_CHOICE, .offset = offsetof(struct mot_hub_conf, guard),             \
        .preset = "drop", .choices = "drop|stop|off",                                                        \
        .doc = "what is done with a gradient that is not finite: it is dropped and counted, and a worker "   \
               "that sends three in "                                                                        \
               "a row is left out; or the run stops; or gradients are not looked at, only losses"            \
    }

/* What a method's server needs beside the parameters and the messages of its jobs. */
struct mot_hub_need {
    size_t state_bytes; /* of the server's state, which begins with struct mot_hub */
    uint32_t buffers;   /* that the method itself holds */
    /* jobs at a worker without an answer: 1, or 2 so that a worker need not wait for the next, or to replace,
     * which is a job beside the one that it replaces */
    uint32_t queue;
    /* jobs that can wait here in all, as the queue of their worker is full; a method that replaces jobs has
     * some: a replaced one has a place in the queue until it is answered */
    uint32_t backlog;
    uint32_t alarms;
    bool keep; /* the model of each job is kept until its answer: mot_answer.at */
};

enum mot_away { MOT_AWAY_LOST = 1, MOT_AWAY_NO_DATA = 2, MOT_AWAY_BARRED = 4 };

struct mot_hub_job {
    uint64_t round;
    double limit_s;
    mot_time given;
    mot_buf x;
    uint32_t next;
    uint16_t kind;
    bool replaced;
};

struct mot_seat {
    uint32_t away;        /* enum mot_away; 0: it is there */
    uint32_t first, last; /* its jobs, oldest first: places in the hub's jobs, from 1; 0: none */
    uint32_t unsent;      /* the first that waits here */
    uint32_t there;       /* sent and not answered, replaced ones too */
    uint32_t active;      /* given, not answered, not replaced */
    uint32_t strikes;     /* gradients in a row that were not finite */
    uint32_t answers;     /* finished jobs */
    mot_time answered;    /* when the last came */
    mot_time busy;        /* what they took in all: the mean job time is busy / answers */
};

struct mot_hub {
    struct mot_params params; /* the model x(t); params.step is t */
    uint32_t present;         /* workers that are not away */
    uint32_t active;          /* jobs given, not answered, not replaced */
    uint32_t queue, keep;
    uint32_t free, jobs_max; /* the list of unused jobs */
    uint32_t looks, spare;   /* looks: mot_hub_step looks for gradients that are not finite */
    uint64_t seats_at;       /* where seats and jobs lie, in bytes from here */
};

/* A finished job; lent for the call. The gradient is a sum over
 * `samples`; with several servers, this one's range of it. */
struct mot_answer {
    mot_node from;
    uint64_t round, delay; /* delay = t - round */
    uint32_t samples;
    double loss;
    struct mot_slice grad;
    mot_buf at; /* the model it was computed at, where need says `keep` */
    /* from when the worker could begin, as far as the server knows, links included */
    mot_time took;
    bool *refused; /* mot_hub_step's and mot_hub_look's */
};

/* The method's rule. `state` begins with struct mot_hub; lost, back, gave_up, timer and check may be NULL. */
struct mot_served {
    struct mot_hub_need (*need)(const void *conf, const struct mot_world *);
    /* Whether every gradient makes a step by mot_hub_step, or is thrown away after mot_hub_look, before
     * gradient() does anything else with it: then nobody else need look at it. NULL: no. */
    bool (*at_once)(const void *conf, const struct mot_world *);
    /* also sets up the method's own state */
    void (*begin)(void *state, struct mot_env *);
    void (*gradient)(void *state, struct mot_env *, const struct mot_answer *);
    /* The worker is away from now on, with so many jobs that were active.
     * Not called when it was the last: the run ends. */
    void (*lost)(void *state, struct mot_env *, mot_node worker, uint32_t jobs);
    /* it has no jobs; NULL: it is given one */
    void (*back)(void *state, struct mot_env *, mot_node worker);
    /* a gradient that was not finite; NULL: a new job */
    void (*refused)(void *state, struct mot_env *, mot_node worker);
    void (*gave_up)(void *state, struct mot_env *, mot_node worker); /* by its own limit */
    void (*timer)(void *state, struct mot_env *, uint32_t tag);
    void (*check)(const void *state, const struct mot_env *);
    /* Workers make so many steps of their own for each job (local.h); NULL: they
     * are graders. Their queue is 1, and no job is replaced. */
    uint32_t (*local_steps)(const void *conf);
};

bool mot_hub_always(const void *conf, const struct mot_world *); /* for at_once */

/* ---- What a rule calls ---------------------------------------------------------------- */

const struct mot_seat *mot_hub_seat(const struct mot_hub *, mot_node worker);
/* what this server has of a buffer; one server: all */
struct mot_slice mot_hub_range(const struct mot_env *, mot_buf);

/* a job at x(t); the worker is not away */
void mot_hub_give(struct mot_hub *, struct mot_env *, mot_node worker);
void mot_hub_replace(struct mot_hub *, struct mot_env *, mot_node worker); /* instead of all that it has */
/* it gives up by itself after that */
void mot_hub_give_for(struct mot_hub *, struct mot_env *, mot_node worker, double limit_s);
/* the round of its oldest active job; UINT64_MAX: none */
uint64_t mot_hub_oldest(const struct mot_hub *, const struct mot_env *, mot_node worker);

/* How many active jobs have each age t - round, 0..oldest; those that are older count as `oldest`. */
void mot_hub_ages(const struct mot_hub *, const struct mot_env *, uint32_t *count, uint64_t oldest);

/* One step of the parameters along `scale` times the answer's gradient. False: it is not finite; nothing has
 * changed, and the rule returns at once: the hub refuses the answer. */
bool mot_hub_step(
    struct mot_hub *, struct mot_env *, const struct mot_answer *, double scale, double lr_factor);
/* The same for a gradient that makes no step. */
bool mot_hub_look(const struct mot_hub *, const struct mot_env *, const struct mot_answer *);

/* its gradient goes into the update: notes the delay */
void mot_hub_credit(struct mot_env *, mot_node worker, uint64_t delay);

/* ---- A method of these ------------------------------------------------------------------ */

struct mot_need mot_served_need(
    const struct mot_served *, const void *conf, const struct mot_world *, mot_node self);
void mot_served_init(const struct mot_served *, void *state, struct mot_env *);
void mot_served_step(const struct mot_served *, void *state, struct mot_env *, const struct mot_event *);
void mot_served_check(const struct mot_served *, const void *state, const struct mot_env *);
bool mot_served_model(const void *state, const struct mot_env *, struct mot_view *);

/* The functions of a mot_method whose rule is `static const struct
 * mot_served NAME`, and their entries in its table. */
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
    static void NAME##_check_(const void *state, const struct mot_env *env)                                  \
    {                                                                                                        \
        mot_served_check(&NAME, state, env);                                                                 \
    }
#define MOT_SERVED_BY(NAME)                                                                                  \
    .servers = 1, .guards = true, .need = NAME##_need_, .init = NAME##_init_, .step = NAME##_step_,          \
    .check = NAME##_check_, .model = mot_served_model

#endif
