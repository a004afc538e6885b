/* waits.c -- how many rounds an exact code cannot decode without a straggler. */
#include "base/memory.h"
#include "base/rng.h"
#include "code/codes.h"
#include <math.h>
#include <motley/code.h>
#include <stdlib.h>

#define DRAWS_MOST 4000u
#define DRAWN_MOST 4000000u /* workers drawn, about */

/* Every group needs an answer, from whichever member. */
static double some_group_fails(const struct mot_code *c, const double *fails, double *all)
{
    double decodes = 1;
    for (uint32_t g = 0; g < c->groups; g++) all[g] = 1;
    for (uint32_t r = 0; r < c->workers; r++) all[c->group_of[r]] *= fails[r];
    for (uint32_t g = 0; g < c->groups; g++) decodes *= 1 - all[g];
    return 1 - decodes;
}

/* The chance that more than `most` fail; chance[k]: that k of the workers so far do. */
static double too_many_fail(uint32_t workers, uint32_t most, const double *fails)
{
    double *chance = mot_new((size_t)most + 1, sizeof(*chance)), few = 0;
    chance[0] = 1;
    for (uint32_t i = 0; i < workers; i++)
        for (uint32_t k = most + 1; k-- > 0;)
            chance[k] = chance[k] * (1 - fails[i]) + (k ? chance[k - 1] * fails[i] : 0);
    for (uint32_t k = 0; k <= most; k++) few += chance[k];
    free(chance);
    return few < 1 ? 1 - few : 0;
}

/* For any other rule: draws rounds, the same ones for every kind of shuffle. */
static double drawn(const struct mot_code *c, const struct mot_shuffle *s, const double *straggles)
{
    uint32_t draws = DRAWN_MOST / c->workers + 1, wait = 0;
    if (draws > DRAWS_MOST) draws = DRAWS_MOST;
    uint64_t *answered = mot_new(MOT_ROLE_WORDS(c->workers), sizeof(*answered));
    struct mot_decoder *decoder = mot_aligned_large(mot_decoder_bytes(c));
    if (decoder) mot_decoder_init(decoder, c);
    for (uint32_t t = 0; decoder && t < draws; t++) {
        struct mot_rng rng = mot_rng_at(s->seed, MOT_RNG_CODE, t);
        for (size_t w = 0; w < MOT_ROLE_WORDS(c->workers); w++) answered[w] = 0;
        for (uint32_t i = 0; i < c->workers; i++)
            if (mot_rng_unit(&rng) >= straggles[i])
                mot_role_add(answered, mot_shuffle_role(s, c, mot_shuffle_seen(s, c, t, draws), i));
        wait += !mot_decoder_exact(decoder, c, answered);
    }
    free(decoder);
    free(answered);
    return (double)wait / draws;
}

double mot_code_waits(
    const struct mot_code *c, const struct mot_shuffle *s, const double *straggles, uint64_t shuffles)
{
    if (c->approximate || c->burst) return NAN;
    bool any = c->decoder == MOT_DECODER_ANY_HOLDER;
    if (!c->groups && !any) return too_many_fail(c->workers, c->stragglers, straggles);
    if (!c->replicas || !any) return drawn(c, s, straggles);
    double *fails = mot_new(c->workers, sizeof(*fails)), *all = mot_new(c->groups, sizeof(*all)), sum = 0;
    for (uint64_t seen = 0; seen < shuffles; seen++) {
        uint64_t number = mot_shuffle_seen(s, c, seen, shuffles);
        for (uint32_t i = 0; i < c->workers; i++) fails[mot_shuffle_role(s, c, number, i)] = straggles[i];
        sum += some_group_fails(c, fails, all) / (double)shuffles;
    }
    free(all);
    free(fails);
    return sum;
}
