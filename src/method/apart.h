/* apart.h -- shared by methods whose workers have models of their own and train on their own parts. */
#ifndef MOT_METHOD_APART_H
#define MOT_METHOD_APART_H

#include <motley/method.h>
#include <stddef.h>

enum mot_weigh { MOT_WEIGH_ROWS, MOT_WEIGH_EQUAL };

#define MOT_WEIGH_OPTION(conf, field, whose)                                                                 \
    {                                                                                                        \
        .name = "weigh", .type = MOT_OPT_CHOICE, .offset = offsetof(conf, field), .preset = "rows",          \
        .choices = "rows|equal",                                                                             \
        .doc = whose " learning rate: rows, in proportion to the rows it holds, so that the "                \
                     "mean model follows the loss over all rows; equal, the same for all"                    \
    }

/* This worker's factor of the learning rate. By rows it is workers * rows[i] / all rows, as in federated
 * averaging (McMahan et al., 2017): the mean gradient is then that of the loss over all rows. */
double mot_apart_rate(const struct mot_env *, enum mot_weigh);

/* The first round for which nobody has data, if every round takes a batch from everyone. Everyone can tell
 * beforehand, even workers without rows. UINT64_MAX: data never ends. */
uint64_t mot_apart_end(const struct mot_world *);
uint64_t mot_apart_end_by(const struct mot_world *, uint32_t batches); /* a round takes `batches` from each */

#endif
