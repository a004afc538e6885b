/* quota.c -- two-way controlled rounding of the table |V_l| r_j / sum r.
 *
 * Rounding each class by itself (largest remainders) gives the same workers the extra row in
 * every class: with 100 workers and 10 classes of 50 half of them end with nothing. Here the extra rows of a
 * class go to the workers that are most behind so far; what still misses a worker's total is repaired by
 * exchanging extras along a path of workers and classes. That such a rounding exists is the integrality of
 * flows (Bacharach, "Matrix rounding problems", 1966): a path is missing only where a worker is to have a row
 * that its share does not contain. */
#include "partition/quota.h"

#include "base/memory.h"
#include <math.h>
#include <stdlib.h>

#define CELLS_MAX (UINT64_C(1) << 28)

enum { WHOLE, DOWN, UP }; /* a cell: its exact value is whole, or was rounded down or up */

struct rounding {
    uint32_t classes, parts;
    const uint32_t *rows;           /* [classes] */
    const double *share;            /* [parts], 1 in all */
    unsigned char *way;             /* [classes][parts] */
    uint32_t *quota;                /* [classes][parts] */
    uint32_t *total, *least, *most; /* [parts] */
};

static size_t cell(const struct rounding *r, uint32_t class, uint32_t part)
{
    return (size_t) class * r->parts + part;
}

/* Floor, but a number that is whole up to rounding errors counts as whole. */
static uint32_t whole_part(double exact, bool *is_whole)
{
    double near = floor(exact + 0.5);
    *is_whole = fabs(exact - near) <= 1e-9 * (exact > 1 ? exact : 1);
    return (uint32_t)(*is_whole ? near : floor(exact));
}

/* ---- First try: extras to those who are behind --------------------------------------------- */

struct behind {
    double by;
    uint32_t part;
};

static int most_behind_first(const void *a, const void *b)
{
    const struct behind *p = a, *q = b;
    if (p->by != q->by) return p->by > q->by ? -1 : 1;
    return (p->part > q->part) - (p->part < q->part);
}

static void round_class(struct rounding *r, uint32_t class, double *behind, struct behind *order)
{
    uint32_t left = r->rows[class], open = 0;
    for (uint32_t j = 0; j < r->parts; j++) {
        bool is_whole;
        double exact = r->rows[class] * r->share[j];
        uint32_t n = whole_part(exact, &is_whole);
        if (n > left) n = left; /* rounding errors only */
        r->quota[cell(r, class, j)] = n;
        r->way[cell(r, class, j)] = is_whole ? WHOLE : DOWN;
        behind[j] += exact - n;
        left -= n;
        if (!is_whole) order[open++] = (struct behind){ behind[j], j };
    }
    qsort(order, open, sizeof *order, most_behind_first);
    for (uint32_t i = 0; i < left; i++) {
        uint32_t j = i < open ? order[i].part : i % r->parts;
        r->quota[cell(r, class, j)]++;
        r->way[cell(r, class, j)] = UP;
        behind[j] -= 1;
    }
}

/* ---- Repair: an extra row moves along a path ------------------------------------------------- */

struct path {
    uint32_t *queue, *by_part, *by_class;
    unsigned char *seen_part, *seen_class;
};

static void exchange(struct rounding *r, uint32_t class, uint32_t from, uint32_t to)
{
    r->quota[cell(r, class, from)]--;
    r->way[cell(r, class, from)] = DOWN;
    r->quota[cell(r, class, to)]++;
    r->way[cell(r, class, to)] = UP;
}

/* Moves one row from `start` (give) or to it; false: no worker along any path can take or spare one. */
static bool move_one(struct rounding *r, struct path *p, uint32_t start, bool give)
{
    const unsigned char here = give ? UP : DOWN, there = give ? DOWN : UP;
    uint32_t head = 0, tail = 0, end = UINT32_MAX;
    for (uint32_t j = 0; j < r->parts; j++) p->seen_part[j] = j == start;
    for (uint32_t l = 0; l < r->classes; l++) p->seen_class[l] = 0;
    p->queue[tail++] = start;
    while (head < tail && end == UINT32_MAX) {
        uint32_t at = p->queue[head++];
        for (uint32_t l = 0; l < r->classes && end == UINT32_MAX; l++) {
            if (p->seen_class[l] || r->way[cell(r, l, at)] != here) continue;
            p->seen_class[l] = 1;
            for (uint32_t j = 0; j < r->parts && end == UINT32_MAX; j++) {
                if (p->seen_part[j] || r->way[cell(r, l, j)] != there) continue;
                p->seen_part[j] = 1;
                p->by_part[j] = at;
                p->by_class[j] = l;
                p->queue[tail++] = j;
                if (give ? r->total[j] < r->most[j] : r->total[j] > r->least[j]) end = j;
            }
        }
    }
    if (end == UINT32_MAX) return false;
    for (uint32_t j = end; j != start; j = p->by_part[j])
        exchange(r, p->by_class[j], give ? p->by_part[j] : j, give ? j : p->by_part[j]);
    r->total[start] += give ? UINT32_MAX : 1;
    r->total[end] += give ? 1 : UINT32_MAX;
    return true;
}

static bool repair(struct rounding *r)
{
    struct path p = { mot_new_large(r->parts, sizeof(uint32_t)), mot_new_large(r->parts, sizeof(uint32_t)),
        mot_new_large(r->parts, sizeof(uint32_t)), mot_new_large(r->parts, 1), mot_new_large(r->classes, 1) };
    bool good = !mot_memory_refused();
    for (uint32_t j = 0; j < r->parts && good; j++) {
        while (good && r->total[j] > r->most[j]) good = move_one(r, &p, j, true);
        while (good && r->total[j] < r->least[j]) good = move_one(r, &p, j, false);
    }
    free(p.queue);
    free(p.by_part);
    free(p.by_class);
    free(p.seen_part);
    free(p.seen_class);
    return good;
}

static bool round_all(struct rounding *r, uint32_t rows)
{
    double *behind = mot_new_large(r->parts, sizeof *behind);
    struct behind *order = mot_new_large(r->parts, sizeof *order);
    bool enough = behind && order;
    for (uint32_t l = 0; enough && l < r->classes; l++) round_class(r, l, behind, order);
    for (uint32_t j = 0; enough && j < r->parts; j++) {
        bool is_whole;
        uint32_t n = whole_part(rows * r->share[j], &is_whole);
        r->least[j] = n ? n : 1;
        r->most[j] = is_whole || n == 0 ? r->least[j] : n + 1;
        r->total[j] = 0;
        for (uint32_t l = 0; l < r->classes; l++) r->total[j] += r->quota[cell(r, l, j)];
    }
    free(behind);
    free(order);
    return enough && repair(r);
}

/* ---- Shares ------------------------------------------------------------------------------------ */

void mot_shares_of(uint32_t parts, const double *speed, double *share)
{
    double sum = 0, most = 0;
    for (uint32_t j = 0; speed && j < parts; j++)
        if (speed[j] > most) most = speed[j]; /* sums of large speeds must not overflow */
    for (uint32_t j = 0; j < parts; j++) sum += share[j] = speed ? speed[j] / most : 1;
    for (uint32_t j = 0; j < parts; j++) share[j] /= sum;
}

/* A worker who would have less than a row has one; the others share the rest in proportion. */
static void raise_shares(uint32_t parts, uint32_t rows, double *share)
{
    bool *raised = mot_new_large(parts, sizeof *raised);
    for (bool again = raised != NULL; again;) {
        double rest = 0;
        uint32_t ones = 0;
        again = false;
        for (uint32_t j = 0; j < parts; j++) {
            if (raised[j]) ones++;
            else rest += share[j];
        }
        for (uint32_t j = 0; j < parts; j++)
            share[j] = raised[j] ? 1.0 / rows : share[j] * ((double)(rows - ones) / rows / rest);
        for (uint32_t j = 0; j < parts; j++)
            if (!raised[j] && share[j] * rows < 1 - 1e-9) again = raised[j] = true;
    }
    free(raised);
}

static enum mot_status check_speeds(uint32_t parts, const double *speed)
{
    for (uint32_t i = 0; speed && i < parts; i++)
        if (!(speed[i] > 0) || speed[i] > 1e300)
            return mot_fail(MOT_EUSAGE,
                "the speed of worker %u is %g, expected a finite number above 0, since sizes go by speed", i,
                speed[i]);
    return MOT_OK;
}

enum mot_status mot_quota_of(
    const struct mot_strata *s, uint32_t parts, const double *speed, uint32_t **quota_out)
{
    enum mot_status status = check_speeds(parts, speed);
    if (status != MOT_OK) return status;
    if ((uint64_t)s->classes * parts > CELLS_MAX)
        return mot_fail(MOT_EUSAGE, "%u classes over %u workers, expected at most %llu pairs", s->classes,
            parts, (unsigned long long)CELLS_MAX);
    uint32_t *rows = mot_new_large(s->classes, sizeof *rows), all = s->at[s->classes];
    double *share = mot_new_large(parts, sizeof *share);
    size_t cells = (size_t)s->classes * parts;
    for (uint32_t l = 0; rows && l < s->classes; l++) rows[l] = s->at[l + 1] - s->at[l];
    if (share) mot_shares_of(parts, speed, share);
    struct rounding r = { .classes = s->classes,
        .parts = parts,
        .rows = rows,
        .share = share,
        .way = mot_new_large(cells, 1),
        .quota = mot_new_large(cells, sizeof *r.quota),
        .total = mot_new_large(parts, sizeof *r.total),
        .least = mot_new_large(parts, sizeof *r.least),
        .most = mot_new_large(parts, sizeof *r.most) };
    bool good = !mot_memory_refused() && round_all(&r, all);
    if (!good && !mot_memory_refused()) {
        raise_shares(parts, all, share);
        good = round_all(&r, all);
    }
    free(rows);
    free(share);
    free(r.way);
    free(r.total);
    free(r.least);
    free(r.most);
    if (!good) {
        free(r.quota);
        if (mot_memory_refused()) return mot_memory_status();
        return mot_fail(MOT_EUSAGE, "%u rows of %u classes cannot be shared among %u workers by these speeds",
            all, s->classes, parts);
    }
    *quota_out = r.quota;
    return MOT_OK;
}

uint32_t mot_quota_least_filled(uint32_t blocks, const uint32_t *size, const uint32_t *quota)
{
    uint32_t best = MOT_NOBODY;
    for (uint32_t j = 0; j < blocks; j++) {
        if (size[j] >= quota[j]) continue;
        if (best == MOT_NOBODY || (uint64_t)size[j] * quota[best] < (uint64_t)size[best] * quota[j]) best = j;
    }
    return best;
}
