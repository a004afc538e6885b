/* outcome.h -- what a driver says of a run, while it lasts and at its end. */
#ifndef MOT_RUN_OUTCOME_H
#define MOT_RUN_OUTCOME_H

#include "config/experiment.h"
#include <motley/method.h>
#include <math.h>
#include <stdatomic.h>

/* Figures of the model; NaN where not evaluated. */
struct mot_score {
    double train_loss; /* mean over the training set, with the regulariser */
    double train_accuracy;
    double valid_loss, valid_accuracy;
    double test_loss, test_accuracy;
    double grad_norm;     /* of the whole objective */
    double zeta2, sigma2; /* how far parts and rows differ: run/heterogeneity.h */
};
#define MOT_SCORE_UNKNOWN                                                                                    \
    {                                                                                                        \
        NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN                                                          \
    }

/* A moment of the run: one line of metrics.jsonl. No wall-clock value in it. */
struct mot_moment {
    mot_time now;
    uint64_t updates, steps, samples; /* updates: global steps; steps: of all nodes */
    double epochs;
    uint64_t bytes_sent, messages, events;
    double staleness_mean, staleness_max;
    double active_jobs; /* given out and not answered, mean over the answers so far; NaN */
    double
        consensus; /* mean squared distance of the workers' models from their mean; NaN where all have one */
    /* for progress: the worker whose jobs take longest, and how much longer than the mean; NaN */
    double slowest, slowest_factor;
    struct mot_score score;
};

/* Where a node's time went; the three add up to the run's time. */
struct mot_node_tally {
    /* computing; else a message of its own or to it under way; else neither */
    mot_time compute, send, wait;
    uint64_t updates; /* workers: gradients that went into an update; servers: updates */
    uint64_t samples, jobs, bytes_sent, messages_sent;
};

struct mot_note_tally {
    const char *key;
    uint64_t count;
    double sum, max;
};
#define MOT_NOTES_MAX 32

/* How often each staleness was noted: exact up to 127, then in bins that double (128..255, 256..511, ...). */
#define MOT_HISTOGRAM_EXACT 128u
#define MOT_HISTOGRAM_BINS (MOT_HISTOGRAM_EXACT + 57u)
struct mot_histogram {
    uint64_t count[MOT_HISTOGRAM_BINS];
};
void mot_histogram_bounds(uint32_t bin, uint64_t *first, uint64_t *last); /* both belong to it */

/* The notes of a node, or of several together. */
struct mot_notes {
    struct mot_note_tally note[MOT_NOTES_MAX];
    uint32_t n;
    uint32_t stale; /* which of them is "staleness", from 1; 0: none yet */
    struct mot_histogram staleness;
};
void mot_notes_add(struct mot_notes *, const char *key, double value); /* the key is kept, not copied */
void mot_notes_merge(struct mot_notes *into, const struct mot_notes *from);
struct mot_note_tally *mot_notes_of(struct mot_notes *, const char *key);   /* makes it if it is new */
const struct mot_note_tally *mot_notes_staleness(const struct mot_notes *); /* or NULL */
/* What methods note of delays and jobs under way, into a moment; NaN where they note none. */
void mot_moment_note(struct mot_moment *, const struct mot_notes *);

/* What went wrong in a run, and what the channel did about it. */
struct mot_fault_tally {
    /* frames; cut: lost between the sides of a partition */
    uint64_t dropped, duplicated, reordered, corrupted, cut;
    uint64_t resent;   /* frames, after a time-out */
    uint64_t poisoned; /* gradients */
    uint64_t crashes, restarts, stalls, partitions, slow_links, given_up;
};

/* Why a run could make no progress: a worker that ends jobs in no time, workers that are lost again and
 * again, stalls and partitions that let nothing through. */
enum mot_stuck { MOT_STUCK_NOT, MOT_STUCK_SPIN, MOT_STUCK_LOSSES, MOT_STUCK_FAULTS };

/* What is reached by who knows only how often each answer occurs. */
struct mot_chance {
    uint64_t rows;         /* that it was counted on; 0: not known */
    bool tested;           /* of the test part, else of the training part */
    double accuracy, loss; /* of the commonest class, or NaN; of its shares, or of the mean value */
};

void mot_score_fill(struct mot_score *into, const struct mot_score *from); /* what is NaN there */
/* Whether the experiment's target is met; a figure that was not evaluated (NaN) meets none. */
bool mot_target_met(const struct mot_experiment *, const struct mot_score *);
/* Whether a is the better of two by validation; NaN is worse than any. */
bool mot_validates_better(const struct mot_score *a, const struct mot_score *b, bool classes);

struct mot_outcome {
    struct mot_arena arena; /* owns keys of notes that came from a checkpoint */
    enum mot_status status;
    /* "updates", "epochs", "time", "target", "data", "diverged",
     * "interrupted"; "checkpoint", "clock", "halt", "no_progress" */
    const char *ended_by;
    bool was_over; /* the run that was to go on had ended, with all its results: nothing was done */
    struct mot_moment last;
    double wall_s;
    struct {
        bool reached;
        mot_time at;
        uint64_t updates;
    } target;
    uint32_t workers, servers;
    struct mot_node_tally *node; /* [workers + servers] */
    struct mot_note_tally note[MOT_NOTES_MAX];
    uint32_t notes;
    struct mot_histogram staleness; /* of the note of that name */
    float *x;                       /* the model, [dim] */
    uint64_t *ends_at; /* live: [nodes], the update whose model is each one's part of it; else NULL */
    float *best;       /* the best by validation, or NULL */
    struct mot_score best_score;
    uint64_t best_updates;
    struct mot_chance chance; /* given by who has the data at hand; else rows is 0 */
    struct {
        bool known;           /* given by who has the data at hand, as `chance` */
        double zeta2, sigma2; /* at the model that the run began with */
        double batch_share;   /* mot_batch_share */
        double *share;        /* [workers], of the rows */
    } start;
    uint64_t model_hash; /* XXH64 of the little-endian floats */
    bool has_faults;
    struct mot_fault_tally faults;
    enum mot_stuck stuck_by; /* where ended_by is "no_progress" */
    mot_node stuck_node;
    uint64_t stuck_count;
    bool has_peer; /* the loss of a node ended the run: */
    mot_node peer;
    mot_time peer_at;    /* when and by what it was lost, where that is known */
    const char *peer_by; /* "crash", "partition", "death", "silence", ... or NULL */
    /* it was the last that had the model: `x` shows what was lost, and is not written */
    bool model_lost;
    bool saved; /* what is left then: a checkpoint, of this update */
    uint64_t saved_updates;
    /* wall time in gradients, all threads: for the share of event handling */
    double job_wall_s;
};

void mot_outcome_close(struct mot_outcome *);
void mot_outcome_note(struct mot_outcome *, const struct mot_notes *); /* its notes are these */

/* What happens in a run, for traces, progress and metrics. Any may be NULL. The
 * watcher may not change the run; times are the run's clock. */
enum mot_phase { MOT_PHASE_COMPUTE, MOT_PHASE_CANCELLED, MOT_PHASE_COLLECTIVE };
struct mot_flight {
    mot_node from, to;
    uint16_t kind;
    uint64_t bytes;
    mot_time sent, began, delivered;
    bool collective;
};
struct mot_watch {
    void *self;
    void (*phase)(
        void *self, mot_node, enum mot_phase, uint32_t tag, uint32_t samples, mot_time from, mot_time to);
    void (*flight)(void *self, const struct mot_flight *);
    void (*update)(void *self, mot_node, uint64_t updates_of_node, mot_time);
    void (*evaluated)(void *self, const struct mot_moment *);
    void (*tick)(void *self, const struct mot_moment *); /* about ten times a wall second; score is NaN */
    void (*trouble)(void *self, const char *what); /* something failed, and the run goes on; any thread */
    uint64_t (*mark)(void *self);                  /* bytes of metrics written so far: kept in a checkpoint */
    /* set while the run lasts: phases, flights and updates are not asked for any more; may be NULL */
    const atomic_bool *enough;
};

/* Whether phases, flights and updates are still asked for. */
static inline bool mot_watch_follows(const struct mot_watch *w)
{
    return !w->enough || !atomic_load_explicit(w->enough, memory_order_relaxed);
}

#endif
