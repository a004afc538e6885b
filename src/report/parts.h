/* parts.h -- how far the workers' parts differ, against a batch's noise, in figures and in words. */
#ifndef MOT_REPORT_PARTS_H
#define MOT_REPORT_PARTS_H

#include "run/heterogeneity.h"
#include <jansson.h>

/* At one model. `noise` is sigma^2 times mot_batch_share. */
struct mot_parts_differ {
    double zeta2, sigma2, noise;
};
struct mot_parts_differ mot_parts_differ(struct mot_heterogeneity, double batch_share);
/* zeta2 / noise; infinite if rows do not differ but parts do, NaN if neither does or nothing is known */
double mot_parts_ratio(const struct mot_parts_differ *);

struct mot_parts_cut {
    uint32_t parts;
    uint32_t batch; /* rows of a batch; 0 if workers have batches of several sizes */
    bool shared;    /* parts are not the workers' own */
};
/* What that means for a run, in one sentence without a full stop. `some`: only some rows were looked at, so a
 * small share cannot be told from none. Empty if nothing is known. Returns `into`. */
char *mot_parts_words(
    const struct mot_parts_differ *, const struct mot_parts_cut *, bool some, char *into, size_t size);
/* "2.1 %", "12 times" */
char *mot_parts_ratio_text(double ratio, char *into, size_t size);
/* rows of a batch if all workers have the same, else 0 */
uint32_t mot_batch_of_all(const struct mot_experiment *);

/* zeta2, sigma2, batch_noise, ratio */
json_t *mot_parts_json(const struct mot_parts_differ *);

#endif
