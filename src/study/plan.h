/* plan.h -- what a study runs: arms, conditions and seeds, from the file's sections and from flags.
 *
 * Nothing here knows what a key means. Each run is a list of settings over the experiment's file, in this
 * order: flags, condition, arm, tuned values, seed. The experiment's own reader says what is wrong with them,
 * naming the place in the file where the setting was written. */
#ifndef MOT_STUDY_PLAN_H
#define MOT_STUDY_PLAN_H

#include "base/memory.h"
#include "config/experiment.h"
#include "study/study.h"

/* Limits. A study beyond them must be a typing mistake. */
#define MOT_ARMS_MAX 200
#define MOT_CONDITIONS_MAX 2000
#define MOT_RUNS_MAX 100000
#define MOT_VALUES_MAX 10000 /* of one key */

enum mot_tune_by { MOT_BY_TIME_TO_TARGET, MOT_BY_TEST_ACCURACY, MOT_BY_TRAIN_LOSS, MOT_BY_GRAD_NORM };
extern const char *const mot_tune_by_names[]; /* ended by NULL */

/* A key and the values it takes. */
struct mot_axis {
    const char *key, *origin;
    const char **value, **place;
    size_t values;
};
struct mot_seeds {
    uint64_t *seed;
    size_t n;
    const char *origin;
};

struct mot_tune_plan {
    bool asked;
    struct mot_axis *over;
    size_t overs;
    enum mot_tune_by by;
    struct mot_seeds seeds;
    bool halving;
};

struct mot_study_plan {
    struct mot_arena arena; /* owns what the pointers name */
    const char *path, *text;
    size_t n; /* the experiment's file; NULL: defaults only */
    struct mot_setting *flag;
    size_t flags;
    struct mot_study_side *arm, *condition;
    size_t arms, conditions;
    struct mot_seeds seeds;
    struct mot_tune_plan tune;
};

/* What the command line adds; anything may be NULL. */
struct mot_plan_flags {
    const char *const *methods;
    size_t methods_n;    /* "allreduce, server{k: 6}" */
    const char *against; /* the arm that is the baseline; NULL: the first */
    const char *seeds;   /* "10", "3..12" */
    const char *const *over;
    size_t overs; /* "optimizer.lr=2^-1..2^-10" */
    const char *by;
    bool halving;
    /* for `motley tune`: the seeds are for tuning, 3 by default */
    bool tunes;
    const struct mot_setting *setting;
    size_t settings;
};
enum mot_status mot_study_plan_open(
    const char *path, const struct mot_plan_flags *, struct mot_study_plan **out);
enum mot_status mot_study_plan_parse(
    const char *name, const char *text, size_t n, const struct mot_plan_flags *, struct mot_study_plan **out);
void mot_study_plan_close(struct mot_study_plan *);

/* The experiment of one run. `more` are further settings (tuned values); without a seed the file's own
 * stays. */
enum mot_status mot_study_plan_run(const struct mot_study_plan *, size_t arm, size_t condition,
    const struct mot_study_setting *more, size_t mores, const uint64_t *seed, struct mot_experiment **out);

#endif
