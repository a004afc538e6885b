/* quality.c -- what a code is worth with some workers missing: at random, and at the worst. */
#include "base/memory.h"
#include "base/rng.h"
#include "code/patterns.h"
#include <math.h>
#include <motley/code.h>
#include <stdlib.h>
#include <string.h>

struct look {
    const struct mot_code *c;
    struct mot_decoder *decoder;
    uint64_t *answered; /* [words] */
    struct mot_code_quality *q;
    bool found; /* a worst one */
};

/* The error when `set` is missing. */
static double error_of(struct look *l, uint32_t s, const uint32_t *set)
{
    struct mot_decoded out;
    const struct mot_code *c = l->c;
    memset(l->answered, 0, MOT_ROLE_WORDS(c->workers) * sizeof(*l->answered));
    for (uint32_t r = 0, k = 0; r < c->workers; r++)
        if (k < s && set[k] == r) k++;
        else mot_role_add(l->answered, r);
    mot_decode(l->decoder, c, l->answered, &out);
    l->q->weight = fmax(l->q->weight, out.weight);
    return out.error;
}

/* The same, and keeps the set if it is the worst. */
static double look_at(struct look *l, uint32_t s, const uint32_t *set)
{
    struct mot_code_quality *q = l->q;
    double error = error_of(l, s, set);
    if (error <= q->worst_error && l->found) return error;
    l->found = true;
    q->worst_error = error;
    memset(q->worst, 0, sizeof(q->worst));
    for (uint32_t k = 0; k < s; k++) mot_role_add(q->worst, set[k]);
    return error;
}

static void look_at_some(struct look *l, uint32_t s, uint64_t patterns, uint64_t seed, uint32_t *set)
{
    struct mot_code_quality *q = l->q;
    uint64_t all = mot_count_sets(l->c->workers, s, patterns + 1);
    double sum = 0;
    q->all = all <= patterns;
    q->patterns = q->all ? all : patterns;
    mot_first_set(s, set);
    for (uint64_t k = 0; k < q->patterns; k++) {
        if (!q->all) mot_random_set(l->c->workers, s, mot_hash3(seed, MOT_RNG_CODE, k), set);
        double error = look_at(l, s, set);
        sum += error;
        q->random_most = fmax(q->random_most, error);
        if (q->all) mot_next_set(l->c->workers, s, set);
    }
    q->random_error = sum / (double)q->patterns;
}

/* ---- A bad pattern ------------------------------------------------------------------------------- */

static uint32_t *insert(uint32_t *set, uint32_t s, uint32_t role)
{
    uint32_t k = s;
    for (; k > 0 && set[k - 1] > role; k--) set[k] = set[k - 1];
    set[k] = role;
    return set;
}

/* Again and again takes away all holders of the part that has the fewest left. */
static void cut_off_parts(struct look *l, uint32_t s, uint32_t *set)
{
    const struct mot_code *c = l->c;
    bool *gone = mot_new(c->workers, sizeof(*gone));
    uint32_t *left = mot_new(c->parts, sizeof(*left)), n = 0;
    for (uint32_t j = 0; j < c->parts; j++) left[j] = c->held[j + 1] - c->held[j];
    while (n < s) {
        uint32_t best = MOT_NO_ROLE;
        for (uint32_t j = 0; j < c->parts; j++)
            if (left[j] && (best == MOT_NO_ROLE || left[j] < left[best])) best = j;
        if (best == MOT_NO_ROLE) break;
        for (uint32_t k = c->held[best]; k < c->held[best + 1] && n < s; k++) {
            uint32_t r = c->holder[k];
            if (gone[r]) continue;
            gone[r] = true;
            insert(set, n++, r);
            for (uint32_t e = c->at[r]; e < c->at[r + 1]; e++) left[c->share[e].part]--;
        }
    }
    for (uint32_t r = 0; n < s; r++)
        if (!gone[r]) insert(set, n++, r);
    look_at(l, s, set);
    free(gone);
    free(left);
}

/* Again and again takes away the worker whose loss hurts most. */
static void climb(struct look *l, uint32_t s, uint32_t *set)
{
    uint32_t n = l->c->workers, *tried = mot_new((size_t)s + 1, sizeof(*tried));
    for (uint32_t k = 0; k < s; k++) {
        double most = -1;
        uint32_t best = 0;
        for (uint32_t r = 0, at = 0; r < n; r++) {
            if (at < k && set[at] == r) {
                at++;
                continue;
            }
            memcpy(tried, set, k * sizeof(*set));
            double error = error_of(l, k + 1, insert(tried, k, r));
            if (!(error > most)) continue;
            most = error;
            best = r;
        }
        insert(set, k, best);
    }
    look_at(l, s, set);
    free(tried);
}

enum mot_status mot_code_measure(const struct mot_code *c, uint32_t stragglers, uint64_t patterns,
    uint64_t seed, struct mot_code_quality *out)
{
    if (stragglers >= c->workers)
        return mot_fail(MOT_EUSAGE, "found %u missing workers; expected fewer than there are (%u)",
            stragglers, c->workers);
    struct look l = { .c = c, .q = out };
    *out = (struct mot_code_quality){ .load_mean = (double)c->at[c->workers] / c->workers };
    uint32_t *set = mot_new((size_t)stragglers + 1, sizeof(*set));
    l.answered = mot_new(MOT_ROLE_WORDS(c->workers), sizeof(*l.answered));
    l.decoder = mot_new_large(1, mot_decoder_bytes(c));
    enum mot_status status = mot_memory_status();
    if (l.decoder && status == MOT_OK) {
        mot_decoder_init(l.decoder, c);
        look_at_some(&l, stragglers, patterns, seed, set);
        if (!out->all) cut_off_parts(&l, stragglers, set);
        if (!out->all && (uint64_t)c->workers * stragglers <= patterns) climb(&l, stragglers, set);
    }
    free(set);
    free(l.answered);
    free(l.decoder);
    return status;
}
