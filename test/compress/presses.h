/* presses.h -- for tests of compressors: one by name, and its packet of some floats. */
#ifndef MOT_TEST_PRESSES_H
#define MOT_TEST_PRESSES_H

#include "base/memory.h"
#include "base/rng.h"
#include "compress/compress.h"
#include "test.h"

#define PRESS_MOST 70000u

static struct mot_press press_room;
static unsigned char press_packet[8 + 4 * PRESS_MOST];

static inline struct mot_compress press_of(const char *name)
{
    struct mot_compress c = {
        .ratio = 0.1, .per = MOT_PER_WHOLE, .threshold = 0.5, .levels = 7, .bucket = 512, .delta = NAN
    };
    for (size_t i = 0; mot_compressors[i]; i++)
        if (strcmp(mot_compressors[i]->name, name) == 0) c.kind = mot_compressors[i];
    return c;
}

/* Into press_packet; returns its bytes. */
static inline size_t press(const struct mot_compress *c, const float *x, uint32_t n, uint64_t key)
{
    static uint32_t index[PRESS_MOST + MOT_PRESS_SLACK], number[PRESS_MOST + MOT_PRESS_SLACK];
    press_room = (struct mot_press){ index, number };
    uint32_t at[2] = { 0, n };
    struct mot_pressing p = {
        .len = n, .x = x, .at = at, .layers = 1, .weight = 1, .key = key, .room = press_room
    };
    return c->kind->pack(c, &p, press_packet);
}

/* Sizes as gradients have them: most small, some large, some 0. */
static inline void press_draw(float *x, uint32_t n, uint64_t seed)
{
    struct mot_rng rng = mot_rng_at(seed, MOT_RNG_TEST, 15);
    for (uint32_t i = 0; i < n; i++) {
        double v = mot_rng_normal(&rng);
        x[i] = mot_rng_unit(&rng) < 0.05 ? 0.0f : (float)(v * v * v);
    }
}

static inline double press_norm2(const float *x, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sum;
}

static inline double press_gap2(const float *x, const float *y, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) sum += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
    return sum;
}

#endif
