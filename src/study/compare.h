/* compare.h -- `motley compare` and `motley tune`: from a study's file to its folder. */
#ifndef MOT_STUDY_COMPARE_H
#define MOT_STUDY_COMPARE_H

#include "study/runner.h"

struct mot_compare {
    const char *experiment; /* the file; NULL: defaults */
    struct mot_plan_flags flags;
    const char *command;     /* as typed, for the document */
    const char *store, *out; /* folders */
    const char *csv;         /* prefix of files that will be written; NULL: none */
    const char *svg;         /* a picture that will be written; NULL: none */
    unsigned jobs;
    bool models, fresh, tune_only; /* tune_only: stop after tuning, and leave the best experiments */
    FILE *progress;
    bool terminal; /* progress NULL: none */
    const volatile sig_atomic_t *interrupt;
    const struct mot_study_listener *listener; /* may be NULL */
};
struct mot_compared {
    json_t *document;         /* json_decref it */
    size_t made, found, lost; /* runs: made now, found in the store, crashed or refused */
};
/* Writes study.json into `out`, and best-ARM.yaml after tuning. MOT_OK even if runs were lost: the document
 * says which. */
enum mot_status mot_compare_run(const struct mot_compare *, struct mot_compared *out);

/* How many runs it would take, by kind, and how many the store has; checks all that can be checked without
 * running. */
struct mot_compare_size {
    size_t arms, conditions, seeds, runs, tuning, points, there;
};
enum mot_status mot_compare_plan(const struct mot_compare *, struct mot_compare_size *out, FILE *text);

/* What all runs of a plan share, resolved; or the file as it is, if that alone is no experiment. malloc'd. */
char *mot_study_shared(const struct mot_study_plan *);

#endif
