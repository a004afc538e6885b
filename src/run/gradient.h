/* gradient.h -- the mathematics of a job and of an evaluation, the same for every driver. */
#ifndef MOT_RUN_GRADIENT_H
#define MOT_RUN_GRADIENT_H

#include "data/data.h"
#include "data/sampler.h"
#include "base/crew.h"
#include "run/outcome.h"
#include <motley/method.h>
#include <motley/model.h>

/* What to learn, and from which data. */
struct mot_problem {
    const struct mot_dataset *data;
    const struct mot_net *net;
    struct mot_sampler sampler;
    bool streamed; /* the training rows are rings that a source fills: they are never looked at as a whole */
    const struct mot_mixing *mixing; /* who averages with whom; NULL if the method does not mix */
    const struct mot_code *code;     /* who computes which parts; NULL if the method does not code */
};

/* Bytes of `scratch` below: what the net declares, and room for augmented pictures. */
size_t mot_gradient_scratch(const struct mot_problem *);

/* Samples that the terms cover together; fewer than they ask for if the data runs out. */
uint64_t mot_terms_samples(const struct mot_problem *, const struct mot_term *, uint32_t terms);

/* Rows of the next slice, if this many are left. One row left over may have no variance: then the last slice
 * gets two. */
uint32_t mot_slice_rows(const struct mot_net *, uint64_t left);

/* Sums coef * gradient at x over the first `samples` samples of the terms into g, in slices of
 * MOT_SLICE_ROWS. Returns the sum of coef * loss. */
double mot_gradient(const struct mot_problem *, const struct mot_term *, uint32_t terms, uint64_t samples,
    const float *x, float *g, void *scratch);

/* The same, one slice at a time, for callers that have other things to do in between. */
struct mot_gradient_run {
    const struct mot_problem *problem;
    const struct mot_term *term;
    uint32_t terms, at;     /* at: the current term */
    uint64_t in_term, left; /* samples done in this term; still to do overall */
    const float *x;
    float *g;
    double loss;
    bool first;                        /* no slice done yet: g is uninitialised */
    const struct mot_leaving *leaving; /* NULL, or whom the last slice tells how much of g is final */
};
void mot_gradient_begin(struct mot_gradient_run *, const struct mot_problem *, const struct mot_term *,
    uint32_t terms, uint64_t samples, const float *x, float *g);
bool mot_gradient_slice(struct mot_gradient_run *, void *scratch); /* false: nothing was left to do */
/* Call before reading g: if no slice was done, g is still uninitialised and is set to 0 here. */
void mot_gradient_end(struct mot_gradient_run *);
/* Fills g with NaN, as a poisoned worker does. */
void mot_gradient_spoil(float *g, uint32_t dim);

/* What an evaluation computes; the rest of the score is NaN. */
enum mot_evaluate_what {
    MOT_EVALUATE_TRAIN = 1,
    MOT_EVALUATE_VALID = 2,
    MOT_EVALUATE_TEST = 4,
    MOT_EVALUATE_GRAD = 8,
    MOT_EVALUATE_PARTS = 16 /* how far the parts' gradients differ */
};
/* What the experiment asks for at this moment. `final`: everything that it does not rule out. */
unsigned mot_evaluate_what(const struct mot_experiment *, const struct mot_moment *, bool final);
struct mot_evaluator;
/* NULL if memory is refused. */
struct mot_evaluator *mot_evaluator_open(const struct mot_problem *, struct mot_crew *);
void mot_evaluator_close(struct mot_evaluator *);
/* Without scratch: what the norm of the gradient takes, which the last evaluation of a run computes. */
size_t mot_evaluator_bytes(const struct mot_net *, unsigned threads);
/* Gives the same bits for any number of threads: rows go in fixed chunks, and chunks are added in order.
 * If memory is refused, the figure concerned is NaN and mot_memory_refused() is true. */
struct mot_score mot_evaluate(struct mot_evaluator *, const float *x, unsigned what);

#endif
