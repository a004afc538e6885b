/* figures.h -- what a study takes from a run's summary, and how it is shown. */
#ifndef MOT_STUDY_FIGURES_H
#define MOT_STUDY_FIGURES_H

#include "report/learned.h"
#include <jansson.h>
#include <motley/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mot_figure {
    MOT_FIGURE_TIME_TO_TARGET,
    MOT_FIGURE_UPDATES_TO_TARGET,
    MOT_FIGURE_BYTES_TO_TARGET,
    MOT_FIGURE_TIME,
    MOT_FIGURE_UPDATES,
    MOT_FIGURE_BYTES,
    MOT_FIGURE_TRAIN_LOSS,
    MOT_FIGURE_TEST_LOSS,
    MOT_FIGURE_TEST_ACCURACY,
    MOT_FIGURE_GRAD_NORM,
    MOT_FIGURE_UTILISATION,
    MOT_FIGURE_WORST_WAIT,
    MOT_FIGURE_WORST_WORKER,
    MOT_FIGURE_STALENESS_MEAN,
    MOT_FIGURE_STALENESS_MAX,
    MOT_FIGURES
};
/* How a figure is compared. */
enum mot_figure_sense { MOT_SENSE_NONE, MOT_SENSE_TIME, MOT_SENSE_LESS, MOT_SENSE_MORE };
enum mot_unit {
    MOT_UNIT_SECONDS,
    MOT_UNIT_BYTES,
    MOT_UNIT_SHARE,
    MOT_UNIT_COUNT,
    MOT_UNIT_RATIO,
    MOT_UNIT_PLAIN
};
struct mot_figure_kind {
    const char *name, *title; /* in a document; for people */
    enum mot_unit unit;
    enum mot_figure_sense sense;
    bool needs_target;
};
extern const struct mot_figure_kind mot_figure_kinds[MOT_FIGURES];
const struct mot_figure_kind *mot_figure_kind(const char *name); /* NULL: not known */
/* "test accuracy": the title within a sentence. Returns `into`. */
char *mot_figure_words(const struct mot_figure_kind *, char *into, size_t size);
/* Whether the first of two figures is the better one; NaN is worse than any. */
bool mot_figure_better(const struct mot_figure_kind *, double mine, double other);
/* "1.50 s", "92.1 %", "1,234"; a dash where it is NaN. Returns `into`. */
char *mot_figure_show(double value, enum mot_unit, char *into, size_t size);

struct mot_run_figures {
    bool known;  /* there is a summary; else all are NaN */
    bool reread; /* for a target other than the one the run was made for */
    bool cut;    /* that target was met before the run's end: the figures are of that moment */
    char status[24], ended_by[24];
    bool has_target, reached;
    enum mot_learned learned;
    char target[24];
    double target_value;
    double evaluations;        /* until the target was met, not counting that at the start; NaN: not met */
    double nearest;            /* to a target that was not met: the best of any evaluation; NaN: none */
    double chance;             /* the accuracy of the commonest class alone; NaN: unknown */
    char remedy[400];          /* of a run that learned nothing: why, probably, and what to try; or "" */
    char worst_name[64];       /* the group of the worker that waited longest; "" if none */
    double value[MOT_FIGURES]; /* NaN: not known, or not reached */
};
/* A run's figure as it counts in a study: a run that missed its target is later than any that reached it
 * (INFINITY). One that failed never finished, and one that diverged has an infinite loss (if `measured`: some
 * run of the study has the figure): left out, or taken as they are, they would make an arm look better the
 * sooner it fails. NaN: it has none. */
double mot_figure_counted(const struct mot_run_figures *, enum mot_figure, bool measured);
/* A lower bound for the time to target: as if a run that stopped short had reached it just then. A run that
 * failed never would have. NaN: it has no target. */
double mot_figure_beyond(const struct mot_run_figures *);

/* The target that a reader has in mind. A run that was made for another one, and went far enough, answers
 * too: its evaluations say when it got there, and what it had sent by then. */
struct mot_goal {
    const char *kind; /* "test_accuracy", ...; NULL: none */
    double value;
};
/* From FOLDER/summary.json and, for what only evaluations tell, metrics.jsonl. `goal`: for that target; NULL:
 * for the run's own. What is known only for a run's end (utilisation, waits, a loss that was evaluated only
 * there) is not known for the moment at which another goal was met. */
enum mot_status mot_figures_read(
    const char *folder, const struct mot_goal *goal, struct mot_run_figures *out);
/* Whether the folder's run tells when the goal was met, or that it was not. */
bool mot_figures_answer(const char *folder, const struct mot_goal *);

#endif
