#include "run/views.h"
#include <math.h>

#define RANGE 1024u /* floats added up at a time */

static bool same_whole(const struct mot_pool *p, const struct mot_view *view, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        bool whole = view[i].len == 0 || (view[i].off == 0 && view[i].len == p->dim);
        if (!whole || view[i].x != view[0].x || view[i].scale != 1.0) return false;
    }
    return n > 0;
}

/* In double, so the mean of equal models is that model bit for bit. */
static void add_range(
    const struct mot_piece *v, uint32_t dim, uint32_t at, uint32_t len, double *sum, uint32_t *count)
{
    uint32_t first = v->off, end = v->off + v->len;
    MOT_ASSERT(end <= dim && "a view ends past the model");
    if (first < at) first = at;
    if (end > at + len) end = at + len;
    for (uint32_t j = first; j < end; j++) {
        double value = v->scale * (double)v->x[j - v->off];
        sum[j - at] = count[j - at]++ ? sum[j - at] + value : value;
    }
}

struct mot_piece mot_piece_of(const struct mot_pool *p, const struct mot_view *v)
{
    uint32_t off = v->len ? v->off : 0;
    return (struct mot_piece){ .x = mot_pool_at(p, v->x) + off,
        .scale = v->scale,
        .off = off,
        .len = v->len ? v->len : p->dim,
        .mass = v->mass,
        .moved = v->moved ? mot_pool_at(p, v->moved) + off : NULL };
}

/* Averages `piece` if given, else the views into the pool. */
static void mean(uint32_t dim, const struct mot_piece *piece, const struct mot_pool *p,
    const struct mot_view *view, uint32_t n, const float *rest, float *into)
{
    for (uint32_t at = 0, len; at < dim; at += len) {
        double sum[RANGE];
        uint32_t count[RANGE] = { 0 };
        len = dim - at < RANGE ? dim - at : RANGE;
        for (uint32_t i = 0; i < n; i++) {
            struct mot_piece one = piece ? piece[i] : mot_piece_of(p, &view[i]);
            add_range(&one, dim, at, len, sum, count);
        }
        for (uint32_t j = 0; j < len; j++) {
            MOT_ASSERT((count[j] || rest) && "no node shows this parameter");
            into[at + j] = count[j] ? (float)(sum[j] / count[j]) : rest[at + j];
        }
    }
}

const float *mot_views_mean(
    const struct mot_pool *p, const struct mot_view *view, uint32_t n, const float *rest, float *into)
{
    if (same_whole(p, view, n)) return mot_pool_at(p, view[0].x);
    mean(p->dim, NULL, p, view, n, rest, into);
    return into;
}

void mot_pieces_mean(uint32_t dim, const struct mot_piece *piece, uint32_t n, const float *rest, float *into)
{
    mean(dim, piece, NULL, NULL, n, rest, into);
}

static double distance2(const struct mot_piece *p, uint32_t dim, const float *mean)
{
    double square = 0;
    for (uint32_t j = 0; j < dim; j++) {
        double d = p->scale * (double)p->x[j] - (double)mean[p->off + j];
        square += d * d;
    }
    return square;
}

/* The norm of the models' mean displacement by mixing; NaN if nobody keeps track. */
static double norm_of_moved(const struct mot_piece *piece, uint32_t n, uint32_t dim)
{
    double square = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) kept += piece[i].moved != NULL;
    if (kept == 0) return NAN;
    for (uint32_t at = 0, len; at < dim; at += len) {
        double sum[RANGE] = { 0 };
        len = dim - at < RANGE ? dim - at : RANGE;
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = 0; piece[i].moved && j < len; j++) sum[j] += (double)piece[i].moved[at + j];
        for (uint32_t j = 0; j < len; j++) square += sum[j] / kept * (sum[j] / kept);
    }
    return sqrt(square);
}

/* 0 if nothing moved, whatever the model: it may begin at 0. */
static double share(double part, double whole2) { return part == 0 ? 0 : part / sqrt(whole2); }

struct mot_mixed mot_pieces_mixed(
    const struct mot_piece *piece, uint32_t n, const struct mot_world *w, const float *mean)
{
    double apart = 0, mass = 0, norm2 = 0, moved = norm_of_moved(piece, n, mot_trained(w));
    for (uint32_t i = 0; i < n; i++) {
        MOT_ASSERT(piece[i].len == w->dim);
        if (piece[i].x != mean || piece[i].scale != 1.0) apart += distance2(&piece[i], mot_trained(w), mean);
        mass += piece[i].mass;
    }
    for (uint32_t j = 0; j < mot_trained(w) && !isnan(moved); j++) norm2 += (double)mean[j] * (double)mean[j];
    return (struct mot_mixed){ .consensus = n ? apart / n : 0,
        .drift = share(moved, norm2),
        .mass = mass != 0 ? mass / w->workers : (double)NAN };
}

struct mot_mixed mot_mixed_at_first(const struct mot_view *v)
{
    return (struct mot_mixed){ .drift = v->moved ? 0 : (double)NAN,
        .mass = v->mass != 0 ? v->mass : (double)NAN };
}
