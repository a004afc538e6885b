/* learned.h -- whether a run learned anything beyond the frequency of each answer. */
#ifndef MOT_REPORT_LEARNED_H
#define MOT_REPORT_LEARNED_H

#include "run/outcome.h"
#include "data/data.h"

enum mot_learned { MOT_LEARNED_UNKNOWN, MOT_LEARNED_NOTHING, MOT_LEARNED };

/* Of the test part or, if there is none, of the training part. */
struct mot_chance mot_chance_of(const struct mot_dataset *);
struct mot_chance mot_chance_of_test(const struct mot_table *); /* only its labels are looked at */
enum mot_learned mot_learned(const struct mot_experiment *, const struct mot_outcome *);

#endif
