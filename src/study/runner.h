/* runner.h -- many runs on all cores, each in a process that may fall without the others.
 *
 * The parent forks a worker for each core and hands it cases by number; a worker makes a run,
 * puts it into the store and answers. Partitions that several runs share are made first, in the same way. A
 * worker that dies takes its case with it, which is recorded, and
 * another one takes its place. A data set stays loaded in a worker as long as its cases share it. Workers die
 * with the parent. */
#ifndef MOT_STUDY_RUNNER_H
#define MOT_STUDY_RUNNER_H

#include "study/plan.h"
#include "study/store.h"
#include <signal.h>

/* One run to be had, and what became of it. */
struct mot_case {
    size_t arm, condition;
    const struct mot_study_setting *more;
    size_t mores; /* besides: tuned values; not owned */
    uint64_t seed;
    char key[MOT_KEY_SIZE];   /* filled by mot_cases_resolve, with */
    uint64_t data;            /* which is equal for cases of one data set, */
    char parts[MOT_KEY_SIZE]; /* and the key of its partition, if that is worth keeping */
    char *folder;             /* the finished run's, or NULL; free() it */
    char *failed;             /* why there is none: "crashed: ..." or "refused: ..."; free() it */
};
void mot_cases_free(struct mot_case *, size_t n); /* what they own, and the array */

struct mot_runner {
    const struct mot_study_plan *plan;
    struct mot_store *store;
    unsigned jobs;     /* workers; 0: one a core */
    bool models;       /* keep models, too */
    bool fresh;        /* make all runs again, whatever the store has */
    const char *doing; /* "tuning", "comparing": for progress */
    FILE *progress;    /* NULL: none */
    bool terminal;
    const volatile sig_atomic_t *interrupt; /* may be NULL */
    /* counted over all calls: runs made, found in the store, crashed or refused */
    size_t made, found, lost;
};

/* Resolves every case, so that a mistake in any of them is found before one runs. */
enum mot_status mot_cases_resolve(const struct mot_runner *, struct mot_case *, size_t n);

/* Makes the runs that the store has not. MOT_OK even if some crashed: their cases say so. */
enum mot_status mot_runner_run(struct mot_runner *, struct mot_case *, size_t n);

/* ---- Between runner.c and worker.c -------------------------------------------------------------- */

enum mot_reply_kind { MOT_REPLY_DONE, MOT_REPLY_FAILED };
struct mot_reply {
    uint32_t at, kind;
    char text[2048];
}; /* one message of a socket */

/* What a worker does until its socket closes; never returns. `partitions`: it makes the cases' partitions,
 * not their runs. */
MOT_NORETURN void mot_worker(const struct mot_runner *, const struct mot_case *, size_t n, bool partitions,
    int socket, const char *workshop, uint32_t threads);

#endif
