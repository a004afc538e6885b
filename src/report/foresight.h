/* foresight.h -- what to expect of a coded run if workers straggle as the cluster file says: how often parts
 * are used and rounds wait, with and without shuffling, and what a shuffle costs. */
#ifndef MOT_REPORT_FORESIGHT_H
#define MOT_REPORT_FORESIGHT_H

#include "run/world.h"
#include <jansson.h>
#include <motley/code.h>

#define MOT_FORESIGHT_LISTED 1000u             /* workers and parts listed one by one, at most */
#define MOT_FORESEEN (MOT_SHUFFLE_PARTIAL + 1) /* kinds of shuffles */

struct mot_foresight {
    uint32_t workers, parts, tolerated; /* tolerated: stragglers that the code is made for */
    double *chance;                     /* [workers]: share of the rounds in which each is late */
    double *coverage; /* [parts], with the shuffle in use: see mot_forecast; NULL: too many parts to list */
    uint32_t latest;  /* the worker that is late most often */
    uint32_t late;    /* workers that are late at least half as often */
    bool others;      /* some others are late, but less often */
    double job_s;     /* the median worker's job when it is not late */
    bool exact;       /* rounds last until the sum is exact */
    bool by_groups;   /* it is exact once each group has answered, not once enough workers have */
    uint32_t used, advised; /* enum mot_shuffle_kind */
    uint64_t period;
    bool known[MOT_FORESEEN]; /* partial shuffles only if they are used */
    struct mot_forecast of[MOT_FORESEEN];
    double bytes[MOT_FORESEEN], seconds[MOT_FORESEEN]; /* of one shuffle, on the cluster's links */
};

/* Returns false, with nothing to close, if the method does not code, its code is sequential, or hardly
 * anybody is ever late. */
bool mot_foresee(const struct mot_experiment *, const struct mot_world *, struct mot_foresight *out);
void mot_foresight_close(struct mot_foresight *);

/* What to expect and which shuffle to choose, in sentences. malloc'd. */
char *mot_foresight_words(const struct mot_foresight *);
/* Prints these sentences and the figures, each line after `lead`. */
void mot_foresight_print(const struct mot_foresight *, const char *lead, FILE *);
json_t *mot_foresight_json(const struct mot_foresight *);

#endif
