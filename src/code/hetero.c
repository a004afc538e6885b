/* hetero.c -- codes for workers of different speeds: the fast ones hold more parts (Wang, Guo, Li, Luo,
 * Wu and Xu, Heterogeneity-aware Gradient Coding for Straggler Tolerance, 2019).
 *
 * Every part has s + 1 holders: the workers take ranges of parts one after the other, around and around. With
 * a random C of s + 1 rows, the column of part j, whose holders are W, is d = C_W^-1 1, so that C B is all
 * ones. If S is missing, some y has y'C = 0 on S and y'1 = 1, and the weights y'C decode.
 *
 * The group form looks for sets of workers whose ranges tile the data. Their sum needs no code. If each of P
 * such sets lacks a member, at most s - P other workers are missing, and the code of the others covers
 * that. */
#include "base/memory.h"
#include "base/rng.h"
#include "code/codes.h"
#include "code/patterns.h"
#include "code/solve.h"
#include <math.h>
#include <stdlib.h>

#define DRAWS 40u   /* of C: the one with the smallest weights is kept */
#define LOOKS 1000u /* patterns looked at for each, or all if there are fewer */

struct ranges {
    uint32_t n, k, s; /* workers, parts, stragglers */
    uint32_t *start, *load, *group;
};

/* How many parts each worker takes: k (s + 1) in all, handed out one by one to whoever would finish first;
 * everyone gets at least one and at most all. */
static void share_out(struct ranges *g, const double *speed)
{
    uint64_t left = (uint64_t)g->k * (g->s + 1) - g->n;
    for (uint32_t i = 0; i < g->n; i++) g->load[i] = 1;
    for (; left > 0; left--) {
        uint32_t best = MOT_NO_ROLE;
        double soonest = INFINITY;
        for (uint32_t i = 0; i < g->n; i++) {
            double end = (g->load[i] + 1) / (speed ? speed[i] : 1);
            if (g->load[i] == g->k || !(end < soonest)) continue;
            soonest = end;
            best = i;
        }
        g->load[best]++;
    }
    for (uint32_t i = 1; i < g->n; i++) g->start[i] = (g->start[i - 1] + g->load[i - 1]) % g->k;
}

/* Makes group `name` of workers in no group yet whose ranges, from `first` on, follow one another all the way
 * round. */
static bool tile(struct ranges *g, uint32_t first, uint32_t name, uint32_t *by)
{
    uint32_t end = g->k;
    for (uint32_t o = 0; o <= end; o++) by[o] = MOT_NO_ROLE; /* who brought us to this place */
    by[g->load[first]] = first;
    for (uint32_t o = 1; o < end; o++) {
        if (by[o] == MOT_NO_ROLE) continue;
        for (uint32_t i = 0; i < g->n; i++)
            if (g->group[i] == MOT_NO_ROLE && g->start[i] == (g->start[first] + o) % end &&
                g->load[i] <= end - o && by[o + g->load[i]] == MOT_NO_ROLE)
                by[o + g->load[i]] = i;
    }
    if (by[end] == MOT_NO_ROLE) return false;
    for (uint32_t o = end; o > 0;) {
        uint32_t i = by[o];
        g->group[i] = name;
        o -= g->load[i];
    }
    return true;
}

static uint32_t find_groups(struct ranges *g)
{
    uint32_t groups = 0, *by = mot_new((size_t)g->k + 1, sizeof(*by));
    for (uint32_t i = 0; i < g->n; i++)
        if (g->group[i] == MOT_NO_ROLE && tile(g, i, groups, by)) groups++;
    free(by);
    return groups;
}

/* ---- Coefficients of those in no group ----------------------------------------------------------- */

struct coder {
    uint32_t m, s; /* workers coded for, and how many of them may be missing */
    uint32_t *who; /* [m] */
    double *c;     /* [m][s + 1]: columns of C */
    double *d;     /* by part: the coefficients of its holders, rising */
    double *a, *x, *b, *scratch;
};

/* The largest weight when these of the m are missing. */
static double weight_of(struct coder *q, const uint32_t *missing)
{
    uint32_t size = q->s + 1;
    double most = 0, sum = 0;
    for (uint32_t row = 0; row < q->s; row++)
        for (uint32_t col = 0; col < size; col++)
            q->a[col * size + row] = q->c[(size_t)missing[row] * size + col];
    for (uint32_t col = 0; col < size; col++) {
        q->a[col * size + q->s] = 1;
        q->b[col] = col == q->s;
    }
    mot_least_squares(size, size, size, q->a, q->b, q->x, q->scratch);
    for (uint32_t col = 0; col < size; col++) sum += q->x[col];
    if (!(fabs(sum - 1) < 1e-9)) return INFINITY;
    for (uint32_t i = 0; i < q->m; i++) {
        double a = 0;
        for (uint32_t col = 0; col < size; col++) a += q->x[col] * q->c[(size_t)i * size + col];
        most = fmax(most, fabs(a));
    }
    return most;
}

static bool holds(const struct ranges *g, uint32_t worker, uint32_t part)
{
    return (part + g->k - g->start[worker]) % g->k < g->load[worker];
}

/* Fills d from a fresh C; the largest coefficient, or INFINITY if holders' columns depend on each other. */
static double draw(const struct ranges *g, struct coder *q, struct mot_rng *rng)
{
    uint32_t size = q->s + 1;
    double most = 0;
    for (size_t e = 0; e < (size_t)q->m * size; e++) q->c[e] = mot_rng_normal(rng);
    for (uint32_t j = 0; j < g->k; j++) {
        uint32_t col = 0;
        for (uint32_t i = 0; i < q->m; i++)
            if (holds(g, q->who[i], j)) {
                for (uint32_t row = 0; row < size; row++)
                    q->a[col * size + row] = q->c[(size_t)i * size + row];
                col++;
            }
        double *d = q->d + (size_t)j * size;
        for (uint32_t row = 0; row < size; row++) q->b[row] = 1;
        mot_least_squares(size, size, size, q->a, q->b, d, q->scratch);
        for (uint32_t row = 0; row < size; row++) {
            if (d[row] == 0) return INFINITY;
            most = fmax(most, fabs(d[row]));
        }
    }
    return most;
}

static double amplification(const struct ranges *g, struct coder *q, struct mot_rng *rng, uint32_t *set)
{
    double coef = draw(g, q, rng), most = 0;
    uint64_t sets = mot_count_sets(q->m, q->s, LOOKS);
    if (!(coef < INFINITY)) return coef;
    mot_first_set(q->s, set);
    for (uint64_t look = 0; look < sets && most < INFINITY; look++) {
        if (sets == LOOKS) mot_random_set(q->m, q->s, mot_hash3(rng->key, MOT_RNG_CODE, look), set);
        most = fmax(most, weight_of(q, set));
        if (sets < LOOKS) mot_next_set(q->m, q->s, set);
    }
    return most * coef;
}

static void add_coded(const struct ranges *g, const struct coder *q, const double *d, struct mot_draft *draft)
{
    for (uint32_t j = 0; j < g->k; j++)
        for (uint32_t i = 0, k = 0; i < q->m; i++)
            if (holds(g, q->who[i], j)) mot_draft_add(draft, q->who[i], j, d[(size_t)j * (q->s + 1) + k++]);
}

/* Codes the workers in no group so that any `s` of them may be missing. INFINITY: it found no code, or no
 * memory. */
static double code_rest(const struct ranges *g, uint32_t s, uint64_t seed, struct mot_draft *d)
{
    struct coder q = { .s = s };
    uint32_t size = s + 1, *set = mot_new((size_t)size, sizeof(*set));
    double *best = mot_new_large((size_t)g->k * size, sizeof(*best)), least = INFINITY;
    q.who = mot_new(g->n, sizeof(*q.who));
    for (uint32_t i = 0; i < g->n; i++)
        if (g->group[i] == MOT_NO_ROLE) q.who[q.m++] = i;
    q.c = mot_new_large((size_t)q.m * size, sizeof(*q.c));
    q.d = mot_new_large((size_t)g->k * size, sizeof(*q.d));
    q.a = mot_new_large((size_t)size * size, sizeof(*q.a));
    q.x = mot_new(size, sizeof(*q.x));
    q.b = mot_new(size, sizeof(*q.b));
    q.scratch = mot_new(mot_least_squares_room(size, size), sizeof(*q.scratch));
    bool room = best && q.c && q.d && q.a;
    for (uint32_t k = 0; room && k < DRAWS; k++) {
        struct mot_rng rng = mot_rng_at(seed, MOT_RNG_CODE, k);
        double grows = amplification(g, &q, &rng, set);
        if (!(grows < least)) continue;
        least = grows;
        for (size_t e = 0; e < (size_t)g->k * size; e++) best[e] = q.d[e];
    }
    if (room) add_coded(g, &q, best, d);
    free(set), free(best), free(q.who), free(q.c), free(q.d), free(q.a), free(q.x), free(q.b),
        free(q.scratch);
    return least;
}

/* ---- The codes ------------------------------------------------------------------------------------- */

static enum mot_status build(const struct mot_code_spec *spec, struct mot_draft *d, bool with_groups)
{
    struct ranges g = {
        .n = spec->workers, .k = d->code.parts, .s = spec->workers > 1 ? (uint32_t)spec->stragglers : 0
    };
    if (g.n > MOT_CODE_DENSE || g.k > MOT_CODE_DENSE)
        return mot_fail(MOT_EUSAGE,
            "code %s: found %u workers and %u parts; its decoder solves for up to %u of each", d->code.name,
            g.n, g.k, MOT_CODE_DENSE);
    if ((uint64_t)g.k * (g.s + 1) < g.n)
        return mot_fail(MOT_EUSAGE,
            "code.parts: found %u; with %u copies of each, not every one of %u workers would have a part",
            g.k, g.s + 1, g.n);
    uint32_t groups = 0;
    g.start = mot_new(g.n, sizeof(*g.start));
    g.load = mot_new(g.n, sizeof(*g.load));
    mot_draft_groups(d);
    g.group = d->group_of;
    share_out(&g, spec->speed);
    if (with_groups) groups = find_groups(&g);
    for (uint32_t i = 0; i < g.n; i++)
        for (uint32_t k = 0; g.group[i] != MOT_NO_ROLE && k < g.load[i]; k++)
            mot_draft_add(d, i, (g.start[i] + k) % g.k, 1);
    double grows = groups <= g.s ? code_rest(&g, g.s - groups, spec->seed, d) : 1;
    free(g.start), free(g.load);
    if (mot_memory_refused()) return mot_memory_status();
    if (!(grows < INFINITY))
        return mot_fail(MOT_EUSAGE,
            "code %s: found no matrix for %u workers and %u stragglers whose weights a double can hold: "
            "tolerate fewer",
            d->code.name, g.n, g.s);
    d->code.groups = groups;
    d->code.stragglers = g.s;
    d->code.leap = g.s + 1;
    d->code.amplifies = grows;
    for (size_t e = 0; e < d->entries; e++) d->code.row_sum += d->entry[e].coef / g.n;
    if (grows > 1000)
        d->warning =
            mot_format("code %s: with %u workers and %u straggler%s decoding multiplies the rounding errors "
                       "of gradients by up to %.2g; frc does not",
                d->code.name, g.n, g.s, g.s == 1 ? "" : "s", grows);
    return MOT_OK;
}

static enum mot_status build_hetero(const struct mot_code_spec *s, struct mot_draft *d)
{
    return build(s, d, false);
}
static enum mot_status build_groups(const struct mot_code_spec *s, struct mot_draft *d)
{
    return build(s, d, true);
}

static const struct mot_option options[] = { MOT_CODE_STRAGGLERS,
    MOT_CODE_PARTS("parts of the data: more of them follow the speeds more closely; 0: as many as workers"),
    { .name = "speeds",
        .type = MOT_OPT_TEXT,
        .offset = MOT_CODE_FIELD(speeds),
        .preset = "cluster",
        .word = "cluster",
        .doc = "how fast each worker is, as '1, 2, 4'; cluster: as the cluster file says" },
    MOT_CODE_DECODER, { .name = NULL } };

const struct mot_code_kind mot_code_hetero = { "hetero", "fast workers hold more parts", options,
    MOT_DECODER_OPTIMAL, build_hetero };
const struct mot_code_kind mot_code_hetero_groups = { "hetero-groups",
    "the same, with sets of workers that decode by themselves", options, MOT_DECODER_OPTIMAL, build_groups };
