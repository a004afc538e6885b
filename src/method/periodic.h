/* periodic.h -- workers that train alone for a period and then average, with an outer step.
 *
 *   WORK --gradient--> step alone --(period - 1 times more)--> COLLECT --displacements--> outer step --> WORK
 *
 * All workers start from one model x. After a period, worker i is at x[i] and has weight w[i]; the mean
 * displacement is d = sum w[i] (x[i] - x) / sum w[i], and everyone takes the same outer step from x along d.
 * The plain one is x + d, the weighted mean of the models: that is local SGD. Displacements, not models, are
 * summed: rounding is then relative to how far the workers went, not to the size of the model.
 *
 * The first `from` updates are those of allreduce, bit for bit. */
#ifndef MOT_METHOD_PERIODIC_H
#define MOT_METHOD_PERIODIC_H

#include <motley/method.h>

struct mot_periodic_conf {
    uint64_t period, from;
    uint32_t weigh, state;
    bool overlap;
    double momentum, rate; /* of the outer step, in methods that have options for them */
};

/* u = momentum u + d; then x + rate u or, with Nesterov's way, x + rate (d + momentum u). Without momentum
 * this is x + rate d. In proportion: u is in units of the learning rate, so that it follows its schedule. */
struct mot_outer {
    double momentum, rate;
    bool nesterov, in_proportion;
    uint32_t keeps; /* the method's own buffers in a checkpoint; the packer's follow */
};

/* The options that all of them have; `usual` is the default period, as text. */
#define MOT_PERIODIC_FIELD(field) offsetof(struct mot_periodic_conf, field)
#define MOT_PERIODIC_OPTIONS(usual)                                                                          \
    { .name = "period",                                                                                      \
        .type = MOT_OPT_UINT,                                                                                \
        .offset = MOT_PERIODIC_FIELD(period),                                                                \
        .preset = usual,                                                                                     \
        .min = 1,                                                                                            \
        .max = 1e9,                                                                                          \
        .doc = "steps that a worker makes alone between two averagings" },                                   \
        { .name = "weigh",                                                                                   \
            .type = MOT_OPT_CHOICE,                                                                          \
            .offset = MOT_PERIODIC_FIELD(weigh),                                                             \
            .preset = "samples",                                                                             \
            .choices = "samples|rows|equal",                                                                 \
            .doc = "what a worker counts for in the mean: samples, by those it computed since the last "     \
                   "one, as in allreduce; rows, by the rows it holds; equal, all the same" },                \
        { .name = "state",                                                                                   \
            .type = MOT_OPT_CHOICE,                                                                          \
            .offset = MOT_PERIODIC_FIELD(state),                                                             \
            .preset = "keep",                                                                                \
            .choices = "keep|reset|average",                                                                 \
            .doc = "the optimiser's momentum when models are averaged: keep, each worker its own; reset, "   \
                   "to zero (not with adamw); average it too, which costs another sum for each buffer" },    \
        { .name = "local_from",                                                                              \
            .type = MOT_OPT_UINT,                                                                            \
            .offset = MOT_PERIODIC_FIELD(from),                                                              \
            .preset = "0",                                                                                   \
            .max = 1e15,                                                                                     \
            .doc =                                                                                           \
                "post-local: this many updates sum gradients, like allreduce, before workers train alone" }, \
    {                                                                                                        \
        .name = "overlap", .type = MOT_OPT_BOOL, .offset = MOT_PERIODIC_FIELD(overlap), .preset = "false",   \
        .doc = "compute the first gradient of a period while the sum is on its way; it is then taken at "    \
               "the worker's own model, before the averaging"                                                \
    }

/* Between two updates, what a resumed run would start from does not change: all results of an averaging are
 * applied at once, when its last sum is here. */
struct mot_periodic {
    struct mot_outer outer;
    struct mot_packer packer[2];      /* of gradients, of displacements: their units differ */
    struct mot_packer before_packing; /* the latter as it was, while an averaging is on its way */
    struct mot_params params;
    /* The step before an averaging is no update yet: the parameters before it, or no x. */
    struct mot_params before;
    uint64_t draw, round, last; /* last: nobody has data for this round */
    uint64_t covered;           /* samples since the last averaging */
    mot_buf start, momentum;    /* x and u above; MOT_NO_BUF: summing gradients, no momentum */
    double pace;                /* in proportion: the learning rate of the last outer step; 0: none yet */
    mot_buf sum[3];             /* what has arrived of an averaging: displacements, the optimiser's buffers */
    double weight;
    mot_buf grad; /* overlap: of this round, while sums are on their way */
    uint32_t samples;
    uint32_t joined;  /* collectives so far: the tag of the next */
    uint32_t pending; /* what is being summed: enum pending in periodic.c */
    bool averaging, computing;
};

/* A method uses these as its own, except for its `init`, which sets the outer step. */
void mot_periodic_init(struct mot_periodic *, struct mot_env *, struct mot_outer);
struct mot_need mot_periodic_need(const void *conf, const struct mot_world *, mot_node self);
enum mot_status mot_periodic_validate(const void *conf, const struct mot_world *);
void mot_periodic_step(void *state, struct mot_env *, const struct mot_event *);
void mot_periodic_check(const void *state, const struct mot_env *);
bool mot_periodic_model(const void *state, const struct mot_env *, struct mot_view *);
void mot_periodic_keep(const void *state, const struct mot_env *, struct mot_kept *);
void mot_periodic_traits(const void *conf, uint32_t workers, struct mot_traits *);
void mot_periodic_traits_momentum(const void *conf, uint32_t workers, struct mot_traits *);

#endif
