#include "data/augment.h"
#include "base/rng.h"
#include <string.h>

bool mot_augments(const struct mot_dataset *d) { return d->crop > 0 || d->flip; }

size_t mot_augment_bytes(const struct mot_dataset *d)
{
    return mot_augments(d) ? MOT_SLICE_ROWS * ((size_t)d->train.cols + 1) * sizeof(float) : 0;
}

/* The value of a pixel beyond the edge: a 0 in the file, scaled like any other. */
static float beyond(const struct mot_dataset *d, size_t column)
{
    float shift = d->shift ? d->shift[column] : 0, factor = d->factor ? d->factor[column] : 1;
    return (0 - shift) * factor;
}

/* One line of pixels, moved by `right` and then, with `flip`, mirrored. */
static void line(
    const struct mot_dataset *d, const float *from, size_t column, int right, bool flip, float *to)
{
    int width = (int)d->picture.width;
    for (int x = 0; x < width; x++) {
        int source = x + right;
        float value = from && source >= 0 && source < width ? from[source] : beyond(d, column + (size_t)x);
        to[flip ? width - 1 - x : x] = value;
    }
}

struct mot_table mot_augment(const struct mot_dataset *d, uint64_t seed, uint32_t part, uint64_t draw,
    const uint32_t *row, uint32_t n, void *room)
{
    const struct mot_table *t = &d->train;
    const struct mot_picture *p = &d->picture;
    float *x = room, *y = x + (size_t)MOT_SLICE_ROWS * t->cols;
    for (uint32_t i = 0; i < n; i++) {
        struct mot_rng rng = mot_rng_at(seed, MOT_RNG_AUGMENT, mot_hash3(part, draw + i, 0));
        int down = (int)mot_rng_below(&rng, 2 * d->crop + 1) - (int)d->crop;
        int right = (int)mot_rng_below(&rng, 2 * d->crop + 1) - (int)d->crop;
        bool flip = d->flip && mot_rng_below(&rng, 2);
        const float *from = t->x + (size_t)row[i] * t->cols;
        for (uint32_t c = 0; c < p->channels; c++)
            for (int h = 0; h < (int)p->height; h++) {
                size_t at = ((size_t)c * p->height + (size_t)h) * p->width;
                int source = h + down;
                bool inside = source >= 0 && source < (int)p->height;
                const float *pixels =
                    inside ? from + ((size_t)c * p->height + (size_t)source) * p->width : NULL;
                line(d, pixels, at, right, flip, x + (size_t)i * t->cols + at);
            }
        y[i] = t->y[row[i]];
    }
    return (struct mot_table){ .rows = n, .cols = t->cols, .classes = t->classes, .x = x, .y = y };
}
