/* outcome.h -- what a driver reports about a run, during it and at its end. */
#ifndef MOT_RUN_OUTCOME_H
#define MOT_RUN_OUTCOME_H

#include "config/experiment.h"
#include "run/traffic.h"
#include <motley/method.h>
#include <math.h>
#include <stdatomic.h>

/* Figures of the model; NaN: not evaluated. */
struct mot_score {
    double train_loss; /* mean over the training rows, plus the regulariser */
    double train_accuracy;
    double valid_loss, valid_accuracy;
    double test_loss, test_accuracy;
    double grad_norm;     /* of the full objective */
    double zeta2, sigma2; /* heterogeneity and noise: see run/heterogeneity.h */
};
#define MOT_SCORE_UNKNOWN                                                                                    \
    {                                                                                                        \
        NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN                                                          \
    }

/* What workers' own models have in common. `consensus`: their mean squared distance from their mean; NaN:
 * they share one model. `drift`: how far mixing has moved that mean, as a share of its norm; 0 if mixing
 * keeps it, NaN if the method does not keep track. `mass`: the sum of the workers' push-sum weights by the
 * number of workers; 1 if none is lost, NaN without such weights. */
struct mot_mixed {
    double consensus, drift, mass;
};
#define MOT_MIXED_UNKNOWN                                                                                    \
    {                                                                                                        \
        NAN, NAN, NAN                                                                                        \
    }

/* Samples that arrive while a run goes on, of one worker or of all: arrived = used + dropped + waiting +
 * malformed + held.
 * `oldest`: how long the oldest waiting sample has been waiting, in seconds; NaN: none waits. */
struct mot_flow {
    uint64_t arrived, used, dropped, waiting;
    double oldest;
    uint64_t malformed, held; /* records from a source: not samples; held out for evaluations */
};

/* A moment of the run: one line of metrics.jsonl. Holds no wall-clock value. */
struct mot_moment {
    mot_time now;
    uint64_t updates, steps, samples; /* updates: of the global model; steps: of all nodes' models */
    uint64_t computed; /* redundant methods: `samples` are useful ones, these were computed; else 0 */
    double epochs;
    uint64_t bytes_sent, rows_bytes, messages, events; /* rows_bytes: the part of bytes_sent that was rows */
    double staleness_mean, staleness_max;
    uint64_t missed_most; /* updates without samples of the part that was missed most often */
    double active_jobs;   /* jobs in flight, mean over the answers so far; NaN: unknown */
    struct mot_mixed mixed;
    bool streams; /* samples arrive over time: */
    struct mot_flow flow;
    const char *stalled; /* for progress: a worker whose source gives nothing, and why; NULL: none */
    /* For progress: the worker with the slowest jobs, and how many times the mean job time; NaN: unknown. */
    double slowest, slowest_factor;
    struct mot_score score;
};

/* What became of a worker's stream; all 0 if it has none. */
struct mot_feed_tally {
    uint64_t arrived, used, dropped, waiting; /* arrived, waiting: at the end */
    uint64_t most, spilled;                   /* most that waited at once; most of them in storage */
    mot_time starved, oldest; /* time that jobs waited for samples; the longest that a sample waited */
    /* a real source: records that were not samples; records held out for evaluations; what was left unread
     * at the end (bytes, or messages); how often it stalled */
    uint64_t malformed, held, lag, stalls;
    uint64_t missing, repeated; /* records that never came, or came again, by their devices' numbers */
};

/* Where a node's time went: compute, send and wait add up to the run's time. */
struct mot_node_tally {
    /* send: not computing, while a message from or to the node is in flight */
    mot_time compute, send, wait;
    uint64_t updates; /* workers: gradients that went into an update; servers: updates */
    uint64_t asked;   /* samples of its jobs, had none been cut short */
    uint64_t samples, jobs, bytes_sent, rows_bytes, messages_sent;
    struct mot_feed_tally feed;
};

struct mot_note_tally {
    const char *key;
    uint64_t count;
    double sum, max;
};
#define MOT_NOTES_MAX 32

/* Counts by staleness: exact up to 127, then in bins that double (128..255, 256..511, ...). */
#define MOT_HISTOGRAM_EXACT 128u
#define MOT_HISTOGRAM_BINS (MOT_HISTOGRAM_EXACT + 57u)
struct mot_histogram {
    uint64_t count[MOT_HISTOGRAM_BINS];
};
void mot_histogram_bounds(uint32_t bin, uint64_t *first, uint64_t *last); /* inclusive */

/* The notes of a node, or of several merged. */
struct mot_notes {
    struct mot_note_tally note[MOT_NOTES_MAX];
    uint32_t n;
    uint32_t stale; /* index + 1 of the note "staleness"; 0: none yet */
    struct mot_histogram staleness;
};
void mot_notes_add(struct mot_notes *, const char *key, double value); /* the key is not copied */
void mot_notes_merge(struct mot_notes *into, const struct mot_notes *from);
struct mot_note_tally *mot_notes_of(struct mot_notes *, const char *key);   /* created if new */
const struct mot_note_tally *mot_notes_staleness(const struct mot_notes *); /* or NULL */
/* Fills a moment from what methods note about staleness and jobs in flight; NaN if they note nothing. */
void mot_moment_note(struct mot_moment *, const struct mot_notes *);

/* The faults of a run, and what the channel did about them. */
struct mot_fault_tally {
    /* frames; cut: lost in a network partition */
    uint64_t dropped, duplicated, reordered, corrupted, cut;
    uint64_t resent;   /* frames, after a timeout */
    uint64_t poisoned; /* gradients */
    uint64_t crashes, restarts, stalls, partitions, slow_links, given_up;
};

/* Why a run made no progress: a worker ended jobs in no time; workers were lost again and again; stalls
 * and network partitions let nothing through; all waited for a worker. */
enum mot_stuck { MOT_STUCK_NOT, MOT_STUCK_SPIN, MOT_STUCK_LOSSES, MOT_STUCK_FAULTS, MOT_STUCK_WAIT };

/* What a constant guess achieves, knowing only how often each answer occurs. */
struct mot_chance {
    uint64_t rows;         /* rows counted; 0: unknown */
    bool tested;           /* counted on the test rows, else on the training rows */
    double accuracy, loss; /* of the commonest class, or NaN; of the class shares, or of the mean value */
};

void mot_score_fill(struct mot_score *into, const struct mot_score *from); /* fills in what is NaN */
/* Whether the score meets the experiment's target; NaN (not evaluated) never does. */
bool mot_target_met(const struct mot_experiment *, const struct mot_score *);
/* Whether a validates better than b; NaN is worse than anything. */
bool mot_validates_better(const struct mot_score *a, const struct mot_score *b, bool classes);

struct mot_outcome {
    bool from_source;    /* samples arrived from outside */
    const char *trouble; /* trouble with a worker's source, and which worker; NULL: none */
    mot_node troubled;
    struct {
        bool judges;   /* the test rows are records of the stream that were held out, */
        uint32_t rows; /* so many at the end, */
        float *y;      /* [rows]: with these labels */
    } held;
    struct mot_arena arena; /* owns the keys of notes read from a checkpoint */
    enum mot_status status;
    /* "updates", "epochs", "time", "target", "data", "diverged",
     * "interrupted"; "checkpoint", "clock", "halt", "no_progress" */
    const char *ended_by;
    bool was_over; /* the run to resume had ended, with all its results: nothing was done */
    struct mot_moment last;
    double wall_s;
    struct {
        bool reached;
        mot_time at;
        uint64_t updates;
    } target;
    bool priced; /* job times are the cluster file's: the run was simulated or emulated */
    uint32_t workers, servers;
    struct mot_node_tally *node; /* [workers + servers] */
    struct mot_traffic traffic;
    struct mot_note_tally note[MOT_NOTES_MAX];
    uint32_t notes;
    struct mot_histogram staleness; /* of the note "staleness" */
    uint32_t parts;
    uint64_t *missed;  /* [parts]: updates without samples of the part; NULL: none can lack any */
    float *x;          /* the model, [dim] */
    uint64_t *ends_at; /* live: [nodes], the update that each node's part of x is from; else
                                     * NULL */
    float *best;       /* best by validation, or NULL */
    uint32_t buffers;  /* simulated: the most in use at once */
    struct mot_score best_score;
    uint64_t best_updates;
    struct mot_chance chance; /* filled in by the caller that has the data; else rows is 0 */
    struct {
        bool known;           /* filled in like `chance` */
        double zeta2, sigma2; /* at the initial model */
        double batch_share;   /* mot_batch_share */
        double *share;        /* [workers]: shares of the rows; NULL if parts are shared */
    } start;
    uint64_t model_hash; /* XXH64 of the little-endian floats */
    bool has_faults;
    struct mot_fault_tally faults;
    enum mot_stuck stuck_by; /* if ended_by is "no_progress", or "epochs" without a last update */
    mot_node stuck_node;
    uint64_t stuck_count;
    bool has_peer; /* losing `peer` ended the run */
    mot_node peer;
    mot_time peer_at;    /* when it was lost, if known */
    const char *peer_by; /* how: "crash", "partition", "death", "silence", ... or NULL */
    /* The lost node had the only up-to-date model: `x` shows what was lost and is not written. */
    bool model_lost;
    bool saved; /* a checkpoint of this update is left */
    uint64_t saved_updates;
    /* Wall time spent on gradients over all threads; the rest is event handling. */
    double job_wall_s;
};

void mot_outcome_close(struct mot_outcome *);
void mot_outcome_note(struct mot_outcome *, const struct mot_notes *); /* replaces its notes */
void mot_outcome_missed(
    struct mot_outcome *, const struct mot_method *, const struct mot_world *, const void *lead_state);

/* Callbacks for traces, progress and metrics; any may be NULL. They must not change the run. Times are on
 * the run's clock. */
enum mot_phase {
    MOT_PHASE_COMPUTE,
    MOT_PHASE_CANCELLED,
    MOT_PHASE_COLLECTIVE,
    MOT_PHASE_PIECE, /* a moment within a job, whose own phase follows when it ends */
};
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
    /* A worker sent samples of its own to another; called for every one, whatever `enough` says. */
    void (*shared)(void *self, const struct mot_message *, mot_time);
    void (*update)(void *self, mot_node, uint64_t updates_of_node, mot_time);
    void (*evaluated)(void *self, const struct mot_moment *);
    void (*tick)(void *self, const struct mot_moment *); /* about ten times a second; score is NaN */
    /* Before each tick, for every worker whose time is known here: how long it has computed. */
    void (*worked)(void *self, mot_node worker, mot_time compute);
    void (*trouble)(void *self, const char *what); /* a failure that the run survives; from any thread */
    uint64_t (*mark)(void *self);                  /* metrics bytes written so far; a checkpoint keeps it */
    /* Becomes true when phases, flights and updates are no longer wanted; may be NULL. */
    const atomic_bool *enough;
};

/* Whether phases, flights and updates are still wanted. */
static inline bool mot_watch_follows(const struct mot_watch *w)
{
    return !w->enough || !atomic_load_explicit(w->enough, memory_order_relaxed);
}

#endif
