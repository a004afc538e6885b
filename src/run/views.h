/* views.h -- the evaluated model: for every parameter the mean over the nodes that show it. */
#ifndef MOT_RUN_VIEWS_H
#define MOT_RUN_VIEWS_H

#include "run/pool.h"

/* The mean of n views, taken in their order: the buffer itself where all show the same whole
 * one, else written to `into` ([dim]). Parameters that nobody shows are those of `rest`; NULL:
 * that is a bug. */
const float *mot_views_mean(
    const struct mot_pool *, const struct mot_view *, uint32_t n, const float *rest, float *into);

/* The same of what does not lie in a pool: scale * x[0..len-1] are the model's floats off..off+len-1. */
struct mot_piece {
    const float *x;
    double scale;
    uint32_t off, len;
};
void mot_pieces_mean(uint32_t dim, const struct mot_piece *, uint32_t n, const float *rest, float *into);

/* The consensus distance: the mean over n whole models of their squared distance from `mean`. */
double mot_views_spread(const struct mot_pool *, const struct mot_view *, uint32_t n, const float *mean);
double mot_pieces_spread(uint32_t dim, const struct mot_piece *, uint32_t n, const float *mean);

#endif
