/* models.h -- the models that come with motley. */
#ifndef MOT_MATH_MODELS_H
#define MOT_MATH_MODELS_H

#include <motley/model.h>

/* ended by NULL: logistic, least-squares, softmax, mlp, networks, phantom */
extern const struct mot_model *const mot_models[];
/* Model i, or NULL past the last. */
const struct mot_model *mot_model_at(size_t i);
/* Models that a user of the library provides (ended by NULL, or NULL for none) follow the built-in ones in
 * this thread, until the next call. Returns the previous ones. */
const struct mot_model *const *mot_models_extend(const struct mot_model *const *more);

/* Sets net->kind, conf, shape, then calls the model's own open. Close it again. */
enum mot_status mot_net_open(
    const struct mot_model *, const void *conf, const struct mot_shape *, struct mot_net *out);

/* How many rows a slice needs for statistics that mean something: 2 with a batch norm that sees one number a
 * channel in each. */
uint32_t mot_net_least(const struct mot_net *);
/* Refuses batches of fewer. */
enum mot_status mot_net_check_batch(const struct mot_net *, uint32_t rows);
/* Refuses rows that the model cannot take; the message names the first such row of the file `name`, from 0.
 * Row r of the table is the file's row file_row[first + r] or, without file_row, first + r. */
enum mot_status mot_net_check(const struct mot_net *, const struct mot_table *, const char *name,
    const uint32_t *file_row, uint32_t first);

void mot_net_close(struct mot_net *); /* and zeroes it */
/* The model's own initial values, and that of the float beside its statistics. */
void mot_net_init(const struct mot_net *, uint64_t seed, float *x);
/* Whether the segment is the float that mot_net_open adds to statistics, not a tensor of the model. */
bool mot_net_counts(const struct mot_net *, uint32_t segment);

/* What the model's grad adds to g; `first`: g holds nothing yet. */
double mot_net_grad(const struct mot_net *, const float *x, const struct mot_batch *, float coef, bool first,
    float *g, void *scratch);
/* The same for the last slice of a gradient that leaves early. A model without grad_early reports nothing. */
double mot_net_grad_early(const struct mot_net *, const float *x, const struct mot_batch *, float coef,
    bool first, float *g, void *scratch, const struct mot_leaving *);

/* Phantom: the cluster says how long a sample takes; nothing to do here. */

#endif
