/* tuning.h -- values of keys tried for each arm under each condition, on seeds of their own. */
#ifndef MOT_STUDY_TUNING_H
#define MOT_STUDY_TUNING_H

#include "study/runner.h"

/* The best values of one arm under one condition; settings that a run takes besides. */
struct mot_best {
    const struct mot_study_setting *setting;
    size_t settings;
};

struct mot_tuning {
    struct mot_arena arena;
    struct mot_best *best; /* [conditions * arms] */
    json_t *json;          /* the document's `tuning` */
    struct mot_study_run *run;
    size_t runs; /* of the best points, for the document of `motley tune` */
};
/* `check` only resolves all points, and counts them in *runs_out
 * (all that a grid takes; halving takes fewer). */
enum mot_status mot_tuning_check(struct mot_runner *, size_t *runs_out);
enum mot_status mot_tuning_run(struct mot_runner *, struct mot_tuning *out);
void mot_tuning_close(struct mot_tuning *);

#endif
