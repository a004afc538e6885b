/* views.h -- the evaluated model: each parameter is the mean over the nodes that show it. */
#ifndef MOT_RUN_VIEWS_H
#define MOT_RUN_VIEWS_H

#include "run/outcome.h"
#include "run/pool.h"

/* The mean of n views, added in order. Returns the buffer itself if all views show the same whole one,
 * else `into` ([dim]). Parameters that no view shows come from `rest`; if `rest` is NULL, that is a bug. */
const float *mot_views_mean(
    const struct mot_pool *, const struct mot_view *, uint32_t n, const float *rest, float *into);

/* The same for floats outside a pool: scale * x[0..len-1] are floats off..off+len-1 of the model. `mass` and
 * `moved` are those of struct mot_view; `moved` is [len], or NULL. */
struct mot_piece {
    const float *x;
    double scale;
    uint32_t off, len;
    double mass;
    const float *moved;
};
struct mot_piece mot_piece_of(const struct mot_pool *, const struct mot_view *);
void mot_pieces_mean(uint32_t dim, const struct mot_piece *, uint32_t n, const float *rest, float *into);

/* How far n whole models are from their mean, `mean`, and whether mixing kept that mean. */
struct mot_mixed mot_pieces_mixed(
    const struct mot_piece *, uint32_t n, const struct mot_world *, const float *mean);
/* The same where all workers show what this one does: before the first update, or if it is alone. */
struct mot_mixed mot_mixed_at_first(const struct mot_view *);

#endif
