/* tuning.h -- tries values of keys for each arm under each condition, on separate seeds. */
#ifndef MOT_STUDY_TUNING_H
#define MOT_STUDY_TUNING_H

#include "study/runner.h"

/* The best values of one arm under one condition, as settings for its runs. */
struct mot_best {
    const struct mot_study_setting *setting;
    size_t settings;
};

struct mot_tuner;
struct mot_tuning {
    struct mot_arena arena;
    struct mot_tuner *tuner;
    size_t grid; /* runs that all points take at full length; halving takes fewer */
    /* After the run: */
    struct mot_best *best; /* [conditions * arms] */
    json_t *json;          /* the document's `tuning` */
    struct mot_study_run *run;
    size_t runs; /* of the best points, for the document of `motley tune` */
};
/* Resolves all points, so that a mistake in any of them is found before one runs. */
enum mot_status mot_tuning_open(struct mot_runner *, struct mot_tuning *out);
enum mot_status mot_tuning_run(struct mot_tuning *);
void mot_tuning_close(struct mot_tuning *); /* also of one that could not be opened */

#endif
