/* judge.h -- private to the files of a live run's judge. */
#ifndef MOT_LIVE_JUDGE_H
#define MOT_LIVE_JUDGE_H

#include "live/node.h"
#include "run/judge.h"
#include <pthread.h>
#include <stdatomic.h>

/* A model to evaluate, to save, or to end with: of one node, or of several. */
struct mot_live_job {
    struct mot_live_job *next;
    bool evaluates, saves, asked;
    bool initial;             /* from before the first update: nothing is kept */
    uint64_t at;              /* several: update at which it is due */
    uint32_t missing;         /* several: nodes yet to show theirs */
    struct mot_params params; /* one: held; else x is MOT_NO_BUF */
    struct mot_kept kept;     /* one: its buffers held */
    struct mot_copy *copy;    /* several: [nodes]; x is NULL if missing */
    struct mot_moment moment;
    uint64_t *draw;           /* [workers] */
    struct mot_mark *cursor;  /* [workers]: where sources go on; NULL: there are none */
    struct mot_gather *rests; /* what workers had left to send; NULL: not saved, or there is nothing */
};

struct mot_live_judge {
    struct mot_live *live;
    struct mot_live_node *lead;
    struct mot_judge judge; /* what the thread found; what is due, if the lead decides */
    struct mot_watch watch;
    const volatile sig_atomic_t *interrupt;
    struct mot_crew *crew;
    struct mot_spare *spare; /* inherited from the opening thread */
    double ticked_s;

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake, taken; /* there is work; a job was taken */
    pthread_cond_t answered;    /* a worker has said what it had left, or is lost */
    bool busy, closing;
    struct mot_live_job *ready;    /* jobs for the thread, oldest first */
    struct mot_live_job *sets;     /* several: incomplete sets */
    struct mot_live_job *final;    /* the run's end, if known before its nodes have ended */
    struct mot_live_job *ending;   /* several: final models; moment and draws are the lead's at its end */
    bool ends_early;               /* a node ended before live->stop_at */
    mot_node awaited;              /* by everybody, */
    uint64_t overdue;              /* while this many messages came from others; 0: it need not end the run */
    bool *lost;                    /* [nodes] */
    struct mot_gather *gathers;    /* those that workers may still answer */
    struct mot_gather *last_rests; /* one: of the lead's last update, once asked for */
    uint64_t set_done;             /* several: update of the latest complete set */
    char stalled[MOT_LIVE_STALLED]; /* what progress says about a source that gives nothing */
    uint32_t lasts_missing;
    struct mot_piece *piece;          /* [nodes]: scratch for pieces, */
    float *whole[1 + MOT_LIVE_SLOTS]; /* and for their means: the model, and what else is saved of it */
    /* updates of the last checkpoint, if it has every worker's own model; else 0 */
    uint64_t cut;
    char *save_error; /* of the first checkpoint that failed */
    bool save_fails;  /* the last one failed too, and was reported */
    /* counts checkpoints that lack what workers had left to send; whether one was reported */
    struct mot_notes notes;
    bool lack_told;
};

/* Whether the run's model comes from several nodes. */
static inline bool mot_live_judge_several(const struct mot_live_judge *j) { return j->live->showing > 1; }

/* judge.c */
struct mot_moment mot_live_judge_moment(struct mot_live_judge *); /* the lead's progress */
/* mot_judge_evaluate; if held-out records are the test rows, on those held out by now. */
void mot_live_judge_evaluate(struct mot_live_judge *, struct mot_moment *, const float *x, bool final);

/* jobs.c */
int mot_jobs_open(struct mot_live_judge *);    /* starts the thread; returns what pthread_create does */
void mot_jobs_finish(struct mot_live_judge *); /* lets the thread finish its jobs, then joins it */
void mot_jobs_free(struct mot_live_judge *);
/* Hands the lead's model after this update to the thread, if that is free or the run may end with it. */
void mot_live_judge_offer(struct mot_live_judge *, bool evaluates, bool saves);
/* Several: asks for their models at the lead's next update, unless the thread is busy or such a set is
 * pending. */
void mot_live_judge_ask(struct mot_live_judge *, bool evaluates, bool saves);
/* If no evaluation may be skipped: keeps the lead from running ahead of the thread, and others from
 * running ahead of the lead. */
void mot_live_judge_wait(struct mot_live_judge *);
/* Where a job's model and its optimiser's buffers are; valid until the next call. */
struct mot_live_at {
    struct mot_live_params params;
    uint64_t step;
};
struct mot_live_at mot_live_judge_model(
    struct mot_live_judge *, const struct mot_live_job *, bool with_slots);
/* The initial model; of a resumed run, its checkpoint's. */
struct mot_live_job *mot_live_judge_beginning(struct mot_live_judge *);
struct mot_live_job *mot_live_judge_last(struct mot_live_judge *); /* the nodes' final models */
/* Under the lock: the gather that a worker's answer belongs to; NULL: nobody needs it. */
struct mot_gather *mot_live_judge_gather(struct mot_live_judge *, const struct mot_want *);
/* Valid until the next call. Sets the moment's `mixed` if workers have their own models. */
const float *mot_live_judge_x(struct mot_live_judge *, const struct mot_live_job *, struct mot_moment *);
/* What is known of workers' own models before they part, or if there is one; call in the lead's thread. */
struct mot_mixed mot_live_judge_first(struct mot_live_judge *);
float *mot_floats_copy(const float *x, uint32_t n); /* NULL if memory is refused */

/* save.c */
void mot_live_judge_save(struct mot_live_judge *, const struct mot_live_job *, bool final);
/* If models differ: whether the last checkpoint has all of them after one update, but the end does not. */
bool mot_live_judge_left_cut(const struct mot_live_judge *, const struct mot_live_job *);

#endif
