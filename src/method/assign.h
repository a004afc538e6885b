/* assign.h -- who gets the next job. */
#ifndef MOT_METHOD_ASSIGN_H
#define MOT_METHOD_ASSIGN_H

#include "method/hub_parts.h"

enum mot_assign_rule { MOT_ASSIGN_PURE, MOT_ASSIGN_RANDOM, MOT_ASSIGN_SHUFFLED, MOT_ASSIGN_ONCE };

struct mot_assign {
    uint64_t count;
}; /* jobs given by the rule so far */

/* The next worker that is not away, by the rule (not MOT_ASSIGN_PURE): uniform, or the next in a permutation
 * of all workers, redrawn every n assignments or never. `order` has room for one number per worker. */
mot_node mot_assign_next(struct mot_assign *, enum mot_assign_rule, const struct mot_hub *,
    const struct mot_env *, uint32_t *order);

#endif
