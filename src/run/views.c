#include "run/views.h"

#define RANGE 1024u /* floats that are added up at a time */

static bool same_whole(const struct mot_pool *p, const struct mot_view *view, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        bool whole = view[i].len == 0 || (view[i].off == 0 && view[i].len == p->dim);
        if (!whole || view[i].x != view[0].x || view[i].scale != 1.0) return false;
    }
    return n > 0;
}

/* In double, so that the mean of equal models is that model, bit for bit. */
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

static struct mot_piece piece_of(const struct mot_pool *p, const struct mot_view *v)
{
    uint32_t off = v->len ? v->off : 0;
    return (struct mot_piece){ mot_pool_at(p, v->x) + off, v->scale, off, v->len ? v->len : p->dim };
}

/* The pieces are `piece`, or else what the views of a pool say. */
static void mean(uint32_t dim, const struct mot_piece *piece, const struct mot_pool *p,
    const struct mot_view *view, uint32_t n, const float *rest, float *into)
{
    for (uint32_t at = 0, len; at < dim; at += len) {
        double sum[RANGE];
        uint32_t count[RANGE] = { 0 };
        len = dim - at < RANGE ? dim - at : RANGE;
        for (uint32_t i = 0; i < n; i++) {
            struct mot_piece one = piece ? piece[i] : piece_of(p, &view[i]);
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

static double distance2(const struct mot_piece *p, const float *mean)
{
    double square = 0;
    for (uint32_t j = 0; j < p->len; j++) {
        double d = p->scale * (double)p->x[j] - (double)mean[p->off + j];
        square += d * d;
    }
    return square;
}

double mot_views_spread(const struct mot_pool *p, const struct mot_view *view, uint32_t n, const float *mean)
{
    double sum = 0;
    if (n == 0 || same_whole(p, view, n)) return 0;
    for (uint32_t i = 0; i < n; i++) {
        struct mot_piece one = piece_of(p, &view[i]);
        sum += distance2(&one, mean);
    }
    return sum / n;
}

double mot_pieces_spread(uint32_t dim, const struct mot_piece *piece, uint32_t n, const float *mean)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        MOT_ASSERT(piece[i].len == dim);
        sum += distance2(&piece[i], mean);
    }
    return n ? sum / n : 0;
}
