/* runner.h -- many runs on all cores, each in a process that can crash without the others.
 *
 * The parent forks a worker per core and hands it cases by number; a worker makes the run, stores it and
 * replies. Partitions that several runs share are made first, in the same way. If a worker dies, its
 * case is recorded as crashed and a new worker takes over. A worker keeps a data set loaded while its cases
 * share it. Workers die with the parent. */
#ifndef MOT_STUDY_RUNNER_H
#define MOT_STUDY_RUNNER_H

#include "study/figures.h"
#include "study/plan.h"
#include "study/store.h"
#include <signal.h>

/* One run to make, and what became of it. */
struct mot_case {
    size_t arm, condition;
    const struct mot_study_setting *more;
    size_t mores; /* tuned values; not owned */
    uint64_t seed;
    /* Filled by mot_cases_resolve: the experiment, but for its seed. Cases of one cell share it. */
    struct mot_experiment *experiment;
    bool owner; /* this case closes it */
    /* Filled by mot_cases_name: */
    char key[MOT_KEY_SIZE];
    char family[MOT_KEY_SIZE]; /* the key of the same run without a target */
    struct mot_goal goal;      /* its target */
    char parts[MOT_KEY_SIZE];  /* of its partition, if worth keeping */
    uint64_t data;             /* equal for cases of one data set */
    char *folder;              /* the finished run's, or NULL; free() it */
    char *failed;              /* why there is none: "crashed: ..." or "refused: ..."; free() it */
};
void mot_cases_free(struct mot_case *, size_t n); /* what they own, and the array */

struct mot_runner;
/* Hears how a study is doing; called by the process that hands out the runs, while it waits. */
struct mot_study_listener {
    void *self;
    /* Runs are about to be made; those that the store has have their folder. */
    void (*begins)(void *self, const struct mot_runner *, const struct mot_case *, size_t n);
    void (*ended)(void *self, const struct mot_runner *, const struct mot_case *);
};

struct mot_runner {
    const struct mot_study_plan *plan;
    struct mot_store *store;
    unsigned jobs; /* workers; 0: one per core */
    bool models;   /* keep models, too */
    bool fresh;    /* make all runs anew, whatever the store holds */
    bool rereads;  /* a run for another target that tells enough will do; its folder is read with the goal */
    const char *doing; /* "tuning", "comparing": for progress */
    FILE *progress;    /* NULL: none */
    bool terminal;
    const volatile sig_atomic_t *interrupt;    /* may be NULL */
    const struct mot_study_listener *listener; /* may be NULL */
    /* by mot_wall_s(): no run begins after it, which leaves its case without a folder; 0: no limit */
    double until_s;
    /* totals over all calls: runs made, found in the store, crashed or refused */
    size_t made, found, lost;
};

/* Resolves the experiments, so that a mistake in any of them is found before one runs. The cases come seed by
 * seed, `cells` of them for each: case i is case i % cells with another seed. */
enum mot_status mot_cases_resolve(const struct mot_runner *, struct mot_case *, size_t n, size_t cells);
/* Computes the keys under which the store keeps them. */
enum mot_status mot_cases_name(const struct mot_runner *, struct mot_case *, size_t n);

/* The folder of the case's run, or of one that tells as much; NULL: it has to be made. malloc'd. */
char *mot_case_found(const struct mot_runner *, const struct mot_case *);
/* Makes the runs that the store does not have. MOT_OK even if some crashed: their cases say so. */
enum mot_status mot_runner_run(struct mot_runner *, struct mot_case *, size_t n);

/* ---- Between runner.c and worker.c -------------------------------------------------------------- */

enum mot_reply_kind { MOT_REPLY_DONE, MOT_REPLY_FAILED };
struct mot_reply {
    uint32_t at, kind;
    char text[2048];
}; /* one message of a socket */

/* A worker's life, until its socket closes; never returns. `partitions`: it makes the cases' partitions,
 * not their runs. */
MOT_NORETURN void mot_worker(const struct mot_runner *, const struct mot_case *, size_t n, bool partitions,
    int socket, const char *workshop, uint32_t threads);

#endif
