#include "method/segments.h"

enum mot_status mot_segments_of(const struct mot_world *w, enum mot_cut cut, uint64_t wanted,
    const char *option, struct mot_segments *out)
{
    uint64_t n = wanted == MOT_WORD_UINT ? w->tensors : wanted;
    if (n > w->dim)
        return mot_fail(MOT_EUSAGE, "%s: %llu segments, but the model has only %u parameter%s", option,
            (unsigned long long)n, w->dim, w->dim == 1 ? "" : "s");
    if (cut == MOT_CUT_LAYERS && n > w->tensors)
        return mot_fail(MOT_EUSAGE,
            "%s: %llu segments, but the model has only %u tensor%s to cut it between; `cut: equal` cuts "
            "inside tensors",
            option, (unsigned long long)n, w->tensors, w->tensors == 1 ? "" : "s");
    *out = (struct mot_segments){ .cut = cut, .n = (uint32_t)n };
    return MOT_OK;
}

static uint32_t begin_of(const struct mot_world *w, const struct mot_segments *g, uint32_t s)
{
    uint64_t all = g->cut == MOT_CUT_LAYERS ? w->tensors : w->dim;
    uint32_t at = (uint32_t)(all * s / g->n);
    return g->cut == MOT_CUT_LAYERS ? w->tensor_at[at] : at;
}

struct mot_slice mot_segment(const struct mot_world *w, const struct mot_segments *g, uint32_t s, mot_buf buf)
{
    MOT_ASSERT(s < g->n);
    uint32_t first = begin_of(w, g, s), end = begin_of(w, g, s + 1);
    return (struct mot_slice){ .buf = buf, .off = first, .len = end - first };
}
