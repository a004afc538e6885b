#include "driver/views.h"

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
static void add_range(const struct mot_pool *p, const struct mot_view *v, uint32_t at, uint32_t len,
    double *sum, uint32_t *count)
{
    uint32_t first = v->len ? v->off : 0, end = v->len ? v->off + v->len : p->dim;
    MOT_ASSERT(end <= p->dim && "a view ends past the model");
    if (first < at) first = at;
    if (end > at + len) end = at + len;
    const float *x = mot_pool_at(p, v->x);
    for (uint32_t j = first; j < end; j++) {
        double value = v->scale * (double)x[j];
        sum[j - at] = count[j - at]++ ? sum[j - at] + value : value;
    }
}

const float *mot_views_mean(
    const struct mot_pool *p, const struct mot_view *view, uint32_t n, const float *rest, float *into)
{
    if (same_whole(p, view, n)) return mot_pool_at(p, view[0].x);
    for (uint32_t at = 0, len; at < p->dim; at += len) {
        double sum[RANGE];
        uint32_t count[RANGE] = { 0 };
        len = p->dim - at < RANGE ? p->dim - at : RANGE;
        for (uint32_t i = 0; i < n; i++) add_range(p, &view[i], at, len, sum, count);
        for (uint32_t j = 0; j < len; j++) {
            MOT_ASSERT((count[j] || rest) && "no node shows this parameter");
            into[at + j] = count[j] ? (float)(sum[j] / count[j]) : rest[at + j];
        }
    }
    return into;
}
