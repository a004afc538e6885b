#include "code/decode.h"
#include <math.h>
#include <string.h>

#define SETS 64u /* survivor sets whose weights are kept; the least recently used one goes */

/* Followed by key[SETS][words], weight[SETS][workers], sum[parts], and the scratch memory of the solver. */
struct mot_decoder {
    uint64_t clock;
    uint32_t sets, missed; /* missed: the part that nobody had answered for the last time */
    uint64_t used[SETS], hash[SETS];
    struct mot_decoded result[SETS];
};

static size_t words_of(const struct mot_code *c) { return MOT_ROLE_WORDS(c->workers); }
static uint64_t *key_at(struct mot_decoder *d, const struct mot_code *c, uint32_t set)
{
    return (uint64_t *)(void *)(d + 1) + set * words_of(c);
}
static double *weight_at(struct mot_decoder *d, const struct mot_code *c, uint32_t set)
{
    return (double *)(void *)key_at(d, c, SETS) + (size_t)set * c->workers;
}

static size_t solver_room(const struct mot_code *c)
{
    switch ((enum mot_decoder_kind)c->decoder) {
    case MOT_DECODER_OPTIMAL: return mot_optimal_room(c);
    case MOT_DECODER_COMPONENT: return mot_component_room(c);
    default: return 0;
    }
}

size_t mot_decoder_bytes(const struct mot_code *c)
{
    return sizeof(struct mot_decoder) + SETS * words_of(c) * sizeof(uint64_t) +
        ((size_t)SETS * c->workers + c->parts + c->groups + solver_room(c)) * sizeof(double);
}

void mot_decoder_init(struct mot_decoder *d, const struct mot_code *c) { memset(d, 0, mot_decoder_bytes(c)); }

uint32_t mot_answers(const struct mot_code *c, const uint64_t *answered)
{
    uint32_t n = 0;
    for (size_t w = 0; w < words_of(c); w++) n += (uint32_t)__builtin_popcountll(answered[w]);
    return n;
}

uint32_t mot_code_holder(const struct mot_code *c, const uint64_t *answered, uint32_t part)
{
    for (uint32_t k = c->held[part]; k < c->held[part + 1]; k++)
        if (mot_role_in(answered, c->holder[k])) return c->holder[k];
    return MOT_NO_ROLE;
}

/* ---- Exact? ----------------------------------------------------------------------------------- */

/* The first group whose members have all answered, or MOT_NO_ROLE. */
static uint32_t full_group(const struct mot_code *c, const uint64_t *answered, double *missing)
{
    memset(missing, 0, c->groups * sizeof(*missing));
    for (uint32_t r = 0; r < c->workers; r++)
        if (c->group_of[r] != MOT_NO_ROLE && !mot_role_in(answered, r)) missing[c->group_of[r]]++;
    for (uint32_t g = 0; g < c->groups; g++)
        if (missing[g] == 0) return g;
    return MOT_NO_ROLE;
}

/* Whether someone who answered holds the part. */
static bool served(const struct mot_code *c, const uint64_t *answered, uint32_t part)
{
    return mot_code_holder(c, answered, part) != MOT_NO_ROLE;
}

/* Starts with the part that was missing the last time: while a round fills up, most calls end there. */
static bool all_served(struct mot_decoder *d, const struct mot_code *c, const uint64_t *answered)
{
    for (uint32_t k = 0; k < c->parts; k++) {
        uint32_t j = d->missed;
        if (!served(c, answered, j)) return false;
        d->missed = j + 1 < c->parts ? j + 1 : 0;
    }
    return true;
}

bool mot_decoder_exact(struct mot_decoder *d, const struct mot_code *c, const uint64_t *answered)
{
    uint32_t missing = c->workers - mot_answers(c, answered);
    if (missing <= c->stragglers) return true;
    if (c->decoder == MOT_DECODER_ANY_HOLDER) return all_served(d, c, answered);
    if (!c->groups || c->replicas || c->decoder != MOT_DECODER_OPTIMAL) return false;
    return full_group(c, answered, weight_at(d, c, SETS) + c->parts) != MOT_NO_ROLE;
}

/* ---- Weights ----------------------------------------------------------------------------------- */

/* |B'a - 1|^2 */
static double error_of(const struct mot_code *c, const double *weight, double *sum)
{
    double error = 0;
    memset(sum, 0, c->parts * sizeof(*sum));
    for (uint32_t r = 0; r < c->workers; r++)
        if (weight[r] != 0)
            for (uint32_t k = c->at[r]; k < c->at[r + 1]; k++)
                sum[c->share[k].part] += weight[r] * (double)c->share[k].coef;
    for (uint32_t j = 0; j < c->parts; j++) error += (sum[j] - 1) * (sum[j] - 1);
    return error;
}

static void take_any_holder(const struct mot_code *c, const uint64_t *answered, double *weight)
{
    uint32_t last = MOT_NO_ROLE; /* the members of a group are neighbours */
    for (uint32_t r = 0; r < c->workers; r++) {
        if (!mot_role_in(answered, r) || (c->replicas && c->group_of[r] == last)) continue;
        weight[r] = 1;
        if (c->replicas) last = c->group_of[r];
    }
}

static void weigh_all_alike(const struct mot_code *c, const uint64_t *answered, double *weight)
{
    double each = c->parts / (mot_answers(c, answered) * c->row_sum);
    for (uint32_t r = 0; r < c->workers; r++)
        if (mot_role_in(answered, r)) weight[r] = each;
}

static void solve(struct mot_decoder *d, const struct mot_code *c, const uint64_t *answered, double *weight)
{
    double *sum = weight_at(d, c, SETS), *counts = sum + c->parts, *room = counts + c->groups;
    uint32_t group = MOT_NO_ROLE;
    memset(weight, 0, c->workers * sizeof(*weight));
    switch ((enum mot_decoder_kind)c->decoder) {
    case MOT_DECODER_ANY_HOLDER: take_any_holder(c, answered, weight); break;
    case MOT_DECODER_ONE_STEP: weigh_all_alike(c, answered, weight); break;
    case MOT_DECODER_COMPONENT: mot_decode_component(c, answered, weight, room); break;
    default:
        if (c->groups && !c->replicas) group = full_group(c, answered, counts);
        if (group == MOT_NO_ROLE) mot_decode_optimal(c, answered, weight, room);
        else
            for (uint32_t r = 0; r < c->workers; r++) weight[r] = c->group_of[r] == group;
    }
}

static double uncovered(const struct mot_code *c, const uint64_t *answered)
{
    double n = 0;
    for (uint32_t j = 0; j < c->parts; j++) n += !served(c, answered, j);
    return n;
}

const double *mot_decode(
    struct mot_decoder *d, const struct mot_code *c, const uint64_t *answered, struct mot_decoded *out)
{
    size_t words = words_of(c), bytes = words * sizeof(*answered);
    uint64_t hash = 0;
    uint32_t set = 0;
    for (size_t w = 0; w < words; w++) {
        hash = (hash ^ answered[w]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    while (set < d->sets && !(d->hash[set] == hash && memcmp(key_at(d, c, set), answered, bytes) == 0)) set++;
    double *weight = weight_at(d, c, set < SETS ? set : 0);
    if (set == d->sets) {
        if (set < SETS) d->sets++;
        else {
            set = 0;
            for (uint32_t k = 1; k < SETS; k++)
                if (d->used[k] < d->used[set]) set = k;
            weight = weight_at(d, c, set);
        }
        d->hash[set] = hash;
        memcpy(key_at(d, c, set), answered, bytes);
        solve(d, c, answered, weight);
        struct mot_decoded *result = &d->result[set];
        result->error = c->partials ? uncovered(c, answered) : error_of(c, weight, weight_at(d, c, SETS));
        result->weight = 0;
        for (uint32_t r = 0; r < c->workers; r++)
            if (fabs(weight[r]) > result->weight) result->weight = fabs(weight[r]);
    }
    d->used[set] = ++d->clock;
    *out = d->result[set];
    return weight;
}
