/* figures.h -- what a study takes from the summary of a run. */
#ifndef MOT_STUDY_FIGURES_H
#define MOT_STUDY_FIGURES_H

#include "report/learned.h"
#include <jansson.h>
#include <motley/status.h>
#include <stdbool.h>
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
struct mot_figure_kind {
    const char *name;
    enum mot_figure_sense sense;
    bool needs_target;
};
extern const struct mot_figure_kind mot_figure_kinds[MOT_FIGURES];

struct mot_run_figures {
    bool known; /* there is a summary; else all are NaN */
    char status[24], ended_by[24];
    bool has_target, reached;
    enum mot_learned learned;
    char target[24];
    double target_value;
    char worst_name[64];       /* the group of the worker that waited longest; "" if it has none */
    double value[MOT_FIGURES]; /* NaN: not known, or not reached */
};
/* From FOLDER/summary.json. */
enum mot_status mot_figures_read(const char *folder, struct mot_run_figures *out);

#endif
