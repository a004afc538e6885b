/* partners.h -- draws at random with whom a worker exchanges models, for methods in which everyone goes at
 * its own pace. */
#ifndef MOT_METHOD_PARTNERS_H
#define MOT_METHOD_PARTNERS_H

#include "base/rng.h"
#include <motley/method.h>

enum mot_partners_of { MOT_PARTNERS_ANY, MOT_PARTNERS_TOPOLOGY };
#define MOT_NOBODY UINT32_MAX

/* Candidate k: a neighbour; without `near`, worker (first + stride * k) mod workers. */
struct mot_candidates {
    uint32_t n, first, stride;
    const struct mot_near *near;
};
struct mot_candidates mot_candidates_near(const struct mot_env *); /* the neighbours in the topology */

/* The last member of a method's state: a bit for each worker follows it. */
struct mot_partners {
    struct mot_rng rng;
};
size_t mot_partners_bytes(const struct mot_world *); /* of those bits */
void mot_partners_init(struct mot_partners *, const struct mot_env *);

/* One of the candidates that are not lost; MOT_NOBODY: none is left. */
mot_node mot_partners_draw(struct mot_partners *, const struct mot_env *, const struct mot_candidates *);
bool mot_is_candidate(const struct mot_env *, const struct mot_candidates *, mot_node);
void mot_partners_lose(struct mot_partners *, mot_node);
bool mot_partners_lost(const struct mot_partners *, mot_node);

#define MOT_PARTNERS_OPTION(conf, field, any)                                                                \
    {                                                                                                        \
        .name = "peers", .type = MOT_OPT_CHOICE, .offset = offsetof(conf, field), .preset = "any",           \
        .choices = "any|topology",                                                                           \
        .doc = "with whom a worker exchanges models, drawn at random: any, " any "; topology, its "          \
               "neighbours in the experiment's topology"                                                     \
    }

#endif
