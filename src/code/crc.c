/* crc.c -- cyclic repetition: worker i holds the parts i .. i + s (Tandon et al., 2017, Algorithm 2).
 *
 * B lies in the null space of a random s x n matrix H whose columns add up to 0: any n - s rows of B
 * span the null space, which has the vector of ones in it. */
#include "base/memory.h"
#include "base/rng.h"
#include "code/codes.h"
#include "code/patterns.h"
#include "code/solve.h"
#include <math.h>
#include <stdlib.h>

#define DRAWS 40u /* of H: the one with the smallest weights is kept */
#define SURE 12u  /* up to this many workers every pattern is looked at, and float gradients keep 1e-4 */
#define LOOKS 20u /* patterns otherwise */
#define WORK 1e9  /* operations that finding a matrix may take, about */

struct cyclic {
    uint32_t n, s;
    double *b; /* [n][s + 1]: role i's coefficients of the parts i, i + 1, ... */
    double *h, *a, *x, *one, *scratch;
};

static void draw(struct cyclic *c, struct mot_rng *rng)
{
    uint32_t n = c->n, s = c->s;
    for (uint32_t row = 0; row < s; row++) { /* H by columns */
        double sum = 0;
        for (uint32_t j = 0; j + 1 < n; j++) sum += c->h[(size_t)j * s + row] = mot_rng_normal(rng);
        c->h[(size_t)(n - 1) * s + row] = -sum;
    }
    for (uint32_t i = 0; i < n; i++) { /* H[:, i+1..i+s] x = -H[:, i] */
        for (uint32_t k = 0; k < s; k++)
            for (uint32_t row = 0; row < s; row++)
                c->a[(size_t)k * s + row] = c->h[(size_t)((i + 1 + k) % n) * s + row];
        double *right = c->x;
        for (uint32_t row = 0; row < s; row++) right[row] = -c->h[(size_t)i * s + row];
        c->b[(size_t)i * (s + 1)] = 1;
        mot_least_squares(s, s, s, c->a, right, &c->b[(size_t)i * (s + 1) + 1], c->scratch);
    }
}

/* The largest weight in decoding without these workers, in increasing order; INFINITY if the others do not
 * decode. */
static double weight_of(struct cyclic *c, const uint32_t *missing)
{
    uint32_t n = c->n, s = c->s, cols = 0, gone = 0;
    for (uint32_t r = 0; r < n; r++) {
        if (gone < s && missing[gone] == r) {
            gone++;
            continue;
        }
        double *column = c->a + (size_t)cols++ * n;
        for (uint32_t j = 0; j < n; j++) column[j] = 0;
        for (uint32_t k = 0; k <= s; k++) column[(r + k) % n] = c->b[(size_t)r * (s + 1) + k];
    }
    mot_least_squares(n, cols, cols, c->a, c->one, c->x, c->scratch);
    double most = 0;
    for (uint32_t k = 0; k < cols; k++) {
        if (c->x[k] == 0) return INFINITY; /* not a basis: this worker's column depends on the others' */
        most = fmax(most, fabs(c->x[k]));
    }
    return most;
}

static double amplification(struct cyclic *c, uint64_t seed, uint32_t *set)
{
    double most = 0, coef = 0;
    for (size_t k = 0; k < (size_t)c->n * (c->s + 1); k++) coef = fmax(coef, fabs(c->b[k]));
    if (c->n <= SURE) {
        mot_first_set(c->s, set);
        do most = fmax(most, weight_of(c, set));
        while (mot_next_set(c->n, c->s, set) && most < INFINITY);
        return most * coef;
    }
    for (uint32_t look = 0; look < LOOKS; look++) {
        mot_random_set(c->n, c->s, mot_hash3(seed, MOT_RNG_CODE, look), set);
        most = fmax(most, weight_of(c, set));
    }
    return most * coef;
}

static enum mot_status build_crc(const struct mot_code_spec *spec, struct mot_draft *d)
{
    uint32_t n = spec->workers, s = n > 1 ? (uint32_t)spec->stragglers : 0;
    if (n > MOT_CODE_DENSE)
        return mot_fail(MOT_EUSAGE,
            "code crc: found %u workers; its decoder solves for up to %u: use frc, graph or expander", n,
            MOT_CODE_DENSE);
    size_t most = n;
    struct cyclic c = { .n = n, .s = s };
    double *best = mot_new_large((size_t)n * (s + 1), sizeof(*best));
    uint32_t *set = mot_new((size_t)s + 1, sizeof(*set));
    c.b = mot_new_large((size_t)n * (s + 1), sizeof(*c.b));
    c.h = mot_new_large((size_t)n * s + 1, sizeof(*c.h));
    c.a = mot_new_large(most * most, sizeof(*c.a));
    c.x = mot_new(most, sizeof(*c.x));
    c.one = mot_new(most, sizeof(*c.one));
    c.scratch = mot_new(mot_least_squares_room(n, n), sizeof(*c.scratch));
    bool room = best && c.b && c.h && c.a;
    for (uint32_t j = 0; j < n; j++) c.one[j] = 1;
    double least = INFINITY;
    double each = 2.0 * n * n * n * (n <= SURE ? 1 : LOOKS);
    uint32_t draws = each * DRAWS < WORK || n <= SURE ? DRAWS : 1 + (uint32_t)(WORK / each);
    for (uint32_t k = 0; room && (k < draws || (k < 10 * draws && !(least < INFINITY))); k++) {
        struct mot_rng rng = mot_rng_at(spec->seed, MOT_RNG_CODE, k);
        draw(&c, &rng);
        double grows = amplification(&c, spec->seed, set);
        if (!(grows < least)) continue;
        least = grows;
        for (size_t e = 0; e < (size_t)n * (s + 1); e++) best[e] = c.b[e];
    }
    for (uint32_t i = 0; room && i < n; i++)
        for (uint32_t k = 0; k <= s; k++) mot_draft_add(d, i, (i + k) % n, best[(size_t)i * (s + 1) + k]);
    free(best), free(set), free(c.b), free(c.h), free(c.a), free(c.x), free(c.one), free(c.scratch);
    if (!room) return mot_memory_status();
    if (!(least < INFINITY))
        return mot_fail(MOT_EUSAGE,
            "code crc: found no matrix for %u workers and %u stragglers whose weights a double can hold: "
            "tolerate fewer, or use frc, hetero or expander",
            n, s);
    d->code.parts = n;
    d->code.stragglers = s;
    d->code.leap = s + 1;
    d->code.row_sum = 0;
    d->code.amplifies = least;
    for (size_t e = 0; e < d->entries; e++) d->code.row_sum += d->entry[e].coef / n;
    if (n > SURE && least > 100)
        d->warning = mot_format(
            "code crc: with %u workers and %u straggler%s decoding multiplies the rounding errors of "
            "gradients by %.2g or more; frc does not",
            n, s, s == 1 ? "" : "s", least);
    return MOT_OK;
}

static const struct mot_option crc_options[] = { MOT_CODE_STRAGGLERS, MOT_CODE_DECODER, { .name = NULL } };

const struct mot_code_kind mot_code_crc = { "crc",
    "cyclic repetition: each worker combines stragglers + 1 parts in a row", crc_options, MOT_DECODER_OPTIMAL,
    build_crc };
