/* judge.h -- what the files of a live run's judge share. */
#ifndef MOT_LIVE_JUDGE_H
#define MOT_LIVE_JUDGE_H

#include "live/node.h"
#include <pthread.h>
#include <stdatomic.h>

/* A model to evaluate, to keep, or to end with: of one node, or of several. */
struct mot_judge_job {
    struct mot_judge_job *next;
    bool evaluates, saves, asked;
    uint64_t at;              /* several: the update at which it is due */
    uint32_t missing;         /* several: nodes that have not shown theirs yet */
    struct mot_params params; /* one: held; else x is MOT_NO_BUF */
    struct mot_copy *copy;    /* several: [nodes]; x is NULL where it is not here */
    struct mot_moment moment;
    uint64_t *draw; /* [workers] */
};

struct mot_judge {
    struct mot_live *live;
    struct mot_live_node *lead;
    struct mot_watch watch;
    const volatile sig_atomic_t *interrupt;
    struct mot_crew *crew;
    struct mot_evaluator *evaluator;
    double next, next_save; /* where the lead says what is due */
    double ticked_s;

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake, taken; /* there is something to do; something less is waiting */
    bool busy, closing;
    struct mot_judge_job *ready; /* what waits for the thread, oldest first */
    struct mot_judge_job *sets;  /* several: what is not whole yet */
    struct mot_judge_job *final; /* what the run ends with, where that is known before its nodes have ended */
    struct mot_judge_job
        *ending;     /* several: what each ends with; moment and draws are the lead's at its end */
    bool ends_early; /* a node has ended before live->stop_at */
    bool *lost;      /* [nodes] */
    uint32_t lasts_missing;
    struct mot_piece *piece; /* [nodes]: room for what is put together, */
    float *whole[3];         /* and for what comes of it: the model and the optimiser's buffers */
    struct mot_moment last;  /* of the last evaluation */
    char *save_error;        /* of the first checkpoint that could not be written */
    bool save_fails;         /* so did the last one: that has been said */
    atomic_bool target_met, diverged;
    mot_time target_at;
    uint64_t target_updates;
    struct mot_score target_score;
    float *best;
    struct mot_score best_score;
    uint64_t best_updates;
    const char *ended_by;
    enum mot_status status;
};

/* Whether the run's model is that of several nodes. */
static inline bool mot_judge_several(const struct mot_judge *j) { return j->live->showing > 1; }

/* judge.c */
struct mot_moment mot_judge_moment(struct mot_judge *); /* how far the lead is */

/* jobs.c */
int mot_jobs_open(struct mot_judge *);    /* starts the thread; what pthread_create says */
void mot_jobs_finish(struct mot_judge *); /* the thread does what waits for it, and is gone */
void mot_jobs_free(struct mot_judge *);
/* The lead's model, as it is after this update, for the thread: if it is free, or the run may end by it. */
void mot_judge_offer(struct mot_judge *, bool evaluates, bool saves);
/* Several: asks for their models at the lead's next update, unless the thread or such a set is under way. */
void mot_judge_ask(struct mot_judge *, bool evaluates, bool saves);
/* Where no evaluation is left out, the lead does not run away from the thread, and nobody from the lead. */
void mot_judge_wait(struct mot_judge *);
void mot_judge_evaluate(struct mot_judge *, struct mot_moment *, const float *x, bool final);
void mot_judge_save(struct mot_judge *, const struct mot_judge_job *, bool final);
/* The model that the run begins with: of a run that goes on, that of its checkpoint. */
struct mot_judge_job *mot_judge_beginning(struct mot_judge *);
struct mot_judge_job *mot_judge_last(struct mot_judge *); /* what the nodes ended with */
/* Until the next call; the moment gets how far the models are apart, where workers have their own. */
const float *mot_judge_x(struct mot_judge *, const struct mot_judge_job *, struct mot_moment *);
float *mot_floats_copy(const float *x, uint32_t n);

#endif
