/* gradient.h -- the mathematics of a job and of an evaluation, the same for every driver. */
#ifndef MOT_RUN_GRADIENT_H
#define MOT_RUN_GRADIENT_H

#include "data/data.h"
#include "data/sampler.h"
#include "base/crew.h"
#include "run/outcome.h"
#include <motley/method.h>
#include <motley/model.h>

/* What is to be learnt, from what. */
struct mot_problem {
    const struct mot_dataset *data;
    const struct mot_net *net;
    struct mot_sampler sampler;
    const struct mot_mixing *mixing; /* who averages with whom, in methods with neighbours; else NULL */
};

/* How many samples the terms cover in all, given what data there is. */
uint64_t mot_terms_samples(const struct mot_problem *, const struct mot_term *, uint32_t terms);

/* Writes into g the sum of coef * gradient over the first `samples` samples of the
 * terms, at x, in slices of MOT_SLICE_ROWS; returns the sum of coef * loss. */
double mot_gradient(const struct mot_problem *, const struct mot_term *, uint32_t terms, uint64_t samples,
    const float *x, float *g, void *scratch);

/* The same, a slice at a time, for those who have other things to do between. */
struct mot_gradient_run {
    const struct mot_problem *problem;
    const struct mot_term *term;
    uint32_t terms, at;     /* at: the term that is under way */
    uint64_t in_term, left; /* samples done of this term; still to do in all */
    const float *x;
    float *g;
    double loss;
    bool first; /* no slice is done: g holds nothing yet */
};
void mot_gradient_begin(struct mot_gradient_run *, const struct mot_problem *, const struct mot_term *,
    uint32_t terms, uint64_t samples, const float *x, float *g);
bool mot_gradient_slice(struct mot_gradient_run *, void *scratch); /* false: there was nothing left to do */
/* Before g is read, however many slices were done: without any it is 0. */
void mot_gradient_end(struct mot_gradient_run *);
/* what a poisoned worker hands over: NaN */
void mot_gradient_spoil(float *g, uint32_t dim);

/* What an evaluation computes; the rest of the score is NaN. */
enum mot_evaluate_what {
    MOT_EVALUATE_TRAIN = 1,
    MOT_EVALUATE_VALID = 2,
    MOT_EVALUATE_TEST = 4,
    MOT_EVALUATE_GRAD = 8,
    MOT_EVALUATE_PARTS = 16 /* how far they differ */
};
/* What the experiment asks for at a moment, and at the end: all but what it never asks for. */
unsigned mot_evaluate_what(const struct mot_experiment *, const struct mot_moment *, bool final);
struct mot_evaluator;
struct mot_evaluator *mot_evaluator_open(const struct mot_problem *, struct mot_crew *);
void mot_evaluator_close(struct mot_evaluator *);
size_t mot_evaluator_bytes(const struct mot_net *);
/* The same bits for any number of threads: rows go in fixed chunks, chunks are added in order. */
struct mot_score mot_evaluate(struct mot_evaluator *, const float *x, unsigned what);

#endif
