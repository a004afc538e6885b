#include "run/heterogeneity.h"
#include "base/memory.h"
#include "base/rng.h"
#include "math/models.h"
#include "run/world.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LANES 8u /* sums over parts; part p goes to lane p % LANES, whatever the number of threads */

/* By default a run looks twice. With a third of the rows, that costs two thirds of an epoch of gradients in
 * all, next to some fifty evaluations of all rows. 64 parts show how far thousands differ. */
#define RUN_SHARE 3u
#define RUN_ROWS_MOST 4096u
#define RUN_PARTS 64u
#define RUN_GROUPS 16u      /* over all parts, */
#define RUN_GROUPS_LEAST 3u /* and per part at least */

#define ALL_GROUPS 32u
#define ALL_WORK ((uint64_t)1 << 30) /* most gradient floats to compute row by row: a few seconds */

/* A running mean and the squared deviations from it (Welford): equal vectors give exactly 0. */
struct spread {
    double *mean, weight, squares;
};

/* Moves the mean towards x; returns their squared distance before the move. */
static double move(double *mean, double x, double share)
{
    double d = x - *mean;
    *mean += share * d;
    return d * d;
}

static void spread_add(struct spread *s, uint32_t dim, const double *x, double weight)
{
    double share = weight / (s->weight + weight), square = 0;
    for (uint32_t i = 0; i < dim; i++) square += move(&s->mean[i], x[i], share);
    s->squares += weight * (1 - share) * square;
    s->weight += weight;
}

/* Adds the mean of `rows` rows, given as their sum. */
static void spread_add_sum(struct spread *s, uint32_t dim, const float *sum, double rows)
{
    double share = rows / (s->weight + rows), square = 0, part = 1 / rows;
    for (uint32_t i = 0; i < dim; i++) square += move(&s->mean[i], part * (double)sum[i], share);
    s->squares += rows * (1 - share) * square;
    s->weight += rows;
}

struct look {
    const struct mot_problem *problem;
    const float *x;
    uint32_t parts;      /* parts looked at */
    uint64_t rows, held; /* in these parts: rows looked at, rows there are */
    uint32_t groups;
    uint64_t key;
    void *const *scratch; /* [threads] */
    float *sum;           /* [threads][dim]: the gradient of a group */
    double *mean;         /* [threads][dim]: of a part */
    double *lane;         /* [LANES][dim] */
    struct spread between[LANES];
    double *sigma2; /* [parts] */
    double *error2; /* [parts]: expected squared error of the part's mean, which is over some rows only */
};

static uint32_t part_of(const struct look *l, uint32_t i)
{
    return (uint32_t)((uint64_t)i * l->problem->sampler.parts->parts / l->parts);
}

static uint64_t held_of(const struct look *l, uint32_t i)
{
    const struct mot_parts *p = l->problem->sampler.parts;
    uint32_t part = part_of(l, i);
    return p->at[part + 1] - p->at[part];
}

static uint64_t looked_at(const struct look *l, uint64_t held)
{
    double fair = ceil((double)l->rows * (double)held / (double)l->held);
    if (fair < 2) fair = 2;
    return fair < (double)held ? (uint64_t)fair : held;
}

/* Sums the gradients of rows first..end-1 of a part in a random order. */
static void group_sum(
    struct look *l, const uint32_t *row, uint64_t held, uint64_t first, uint64_t end, unsigned who)
{
    const struct mot_net *net = l->problem->net;
    float *sum = l->sum + (size_t)who * net->dim; /* a whole gradient; its statistics do not count */
    for (uint64_t at = first; at < end;) {
        uint32_t slice[MOT_SLICE_ROWS], n = 0;
        bool begins = at == first;
        for (; n < MOT_SLICE_ROWS && at < end; n++, at++) slice[n] = row[mot_permute(l->key, held, at)];
        struct mot_batch batch = { .table = &l->problem->data->train, .row = slice, .rows = n };
        mot_net_grad(net, l->x, &batch, 1.0f, begins, sum, l->scratch[who]);
    }
}

/* As in an analysis of variance, the squared deviations of g group means, weighted by rows, sum to g - 1
 * times the variance of the rows; this holds for sampling without replacement too. */
static void look_at_part(struct look *l, uint32_t i, unsigned who)
{
    const struct mot_parts *p = l->problem->sampler.parts;
    const struct mot_net *net = l->problem->net;
    const uint32_t *row = p->row + p->at[part_of(l, i)], dim = net->trained;
    uint64_t held = held_of(l, i), n = looked_at(l, held), groups = n < l->groups ? n : l->groups;
    struct spread within = { .mean = l->mean + (size_t)who * dim };
    memset(within.mean, 0, dim * sizeof(double));
    for (uint64_t g = 0; g < groups; g++) {
        uint64_t first = g * n / groups, end = (g + 1) * n / groups;
        group_sum(l, row, held, first, end, who);
        spread_add_sum(&within, dim, l->sum + (size_t)who * net->dim, (double)(end - first));
    }
    double variance = groups > 1 ? within.squares / (double)(groups - 1) : 0;
    l->sigma2[i] = variance * (double)(held - 1) / (double)held;
    l->error2[i] = variance / (double)n * (1 - (double)n / (double)held);
}

static void look_at_lane(void *context, uint32_t lane, unsigned who)
{
    struct look *l = context;
    uint32_t dim = l->problem->net->trained;
    l->between[lane].mean = l->lane + (size_t)lane * dim;
    for (uint32_t i = lane; i < l->parts; i += LANES) {
        look_at_part(l, i, who);
        spread_add(&l->between[lane], dim, l->mean + (size_t)who * dim, (double)held_of(l, i));
    }
}

/* 1 - the sum of the squared weights: random differences between parts are proportional to it. */
static double evenness(const struct mot_parts *p, uint32_t parts, uint32_t of, double held)
{
    double squares = 0;
    for (uint32_t i = 0; i < parts; i++) {
        uint32_t part = (uint32_t)((uint64_t)i * of / parts);
        double w = (double)(p->at[part + 1] - p->at[part]) / held;
        squares += w * w;
    }
    return 1 - squares;
}

static struct mot_heterogeneity put_together(struct look *l)
{
    const struct mot_parts *p = l->problem->sampler.parts;
    struct mot_heterogeneity h = { 0, 0 };
    struct spread all = l->between[0];
    double error2 = 0;
    for (uint32_t lane = 1; lane < LANES && lane < l->parts; lane++) {
        spread_add(&all, l->problem->net->trained, l->between[lane].mean, l->between[lane].weight);
        all.squares += l->between[lane].squares;
    }
    for (uint32_t i = 0; i < l->parts; i++) {
        double w = (double)held_of(l, i) / (double)l->held;
        h.sigma2 += w * l->sigma2[i];
        error2 += w * (1 - w) * l->error2[i];
    }
    h.zeta2 = all.squares / all.weight - error2;
    if (l->parts < p->parts)
        h.zeta2 *= evenness(p, p->parts, p->parts, (double)p->at[p->parts]) /
            evenness(p, l->parts, p->parts, (double)l->held);
    if (h.zeta2 < 0) h.zeta2 = 0; /* sampling error exceeded what there is to see */
    return h;
}

struct mot_heterogeneity mot_heterogeneity(const struct mot_problem *p, struct mot_crew *crew,
    void *const *scratch, const struct mot_look *look, const float *x)
{
    if (!p->net->kind->computes) return (struct mot_heterogeneity){ NAN, NAN };
    unsigned threads = mot_crew_threads(crew);
    size_t dim = p->net->dim;
    const struct mot_parts *parts = p->sampler.parts;
    struct look l = { .problem = p,
        .x = x,
        .scratch = scratch,
        .parts = parts->parts < look->parts ? parts->parts : look->parts,
        .rows = look->rows,
        .groups = look->groups,
        .key = mot_hash3(p->sampler.seed, MOT_RNG_LOOK, 0) };
    for (uint32_t i = 0; i < l.parts; i++) l.held += held_of(&l, i);
    l.sum = mot_aligned_large(threads * dim * sizeof(*l.sum));
    l.mean = mot_new_large(threads * dim, sizeof(*l.mean));
    l.lane = mot_new_large(LANES * dim, sizeof(*l.lane));
    l.sigma2 = mot_new_large(l.parts, sizeof(*l.sigma2));
    l.error2 = mot_new_large(l.parts, sizeof(*l.error2));
    struct mot_heterogeneity h = { NAN, NAN };
    if (l.sum && l.mean && l.lane && l.sigma2 && l.error2) {
        mot_crew_each(crew, l.parts < LANES ? l.parts : LANES, look_at_lane, &l);
        h = put_together(&l);
    }
    free(l.sum);
    free(l.mean);
    free(l.lane);
    free(l.sigma2);
    free(l.error2);
    return h;
}

size_t mot_heterogeneity_bytes(const struct mot_problem *p, unsigned threads)
{
    const uint32_t parts = p->sampler.parts->parts, lanes = parts < LANES ? parts : LANES;
    const size_t busy = threads < lanes ? threads : lanes;
    return threads * (size_t)p->net->dim * sizeof(float) +
        (busy + lanes) * (size_t)p->net->trained * sizeof(double);
}

/* ---- What is looked at ----------------------------------------------------------------------- */

struct mot_look mot_look_of_run(const struct mot_problem *p)
{
    uint64_t rows = p->data->train.rows / RUN_SHARE;
    uint32_t parts = p->sampler.parts->parts, groups = RUN_GROUPS / parts;
    if (groups < RUN_GROUPS_LEAST) groups = RUN_GROUPS_LEAST;
    if (rows > RUN_ROWS_MOST) rows = RUN_ROWS_MOST;
    return (struct mot_look){ .parts = RUN_PARTS, .rows = rows, .groups = groups };
}

struct mot_look mot_look_at_all(const struct mot_problem *p)
{
    bool single = (uint64_t)p->data->train.rows * p->net->dim <= ALL_WORK;
    return (struct mot_look){
        .parts = UINT32_MAX, .rows = UINT64_MAX, .groups = single ? UINT32_MAX : ALL_GROUPS
    };
}

double mot_batch_share(const struct mot_experiment *x, const struct mot_parts *p)
{
    double share = 0;
    if (x->batch_full) return 0;
    uint32_t *batch = mot_new(p->parts, sizeof *batch);
    mot_part_batches(x, p, batch);
    for (uint32_t i = 0; i < p->parts; i++) {
        double n = (double)(p->at[i + 1] - p->at[i]), b = (double)batch[i], left = 1;
        if (x->sampler.name != MOT_SAMPLE_REPLACE) left = b < n ? (n - b) / (n - 1) : 0;
        share += n / (double)p->at[p->parts] * left / b;
    }
    free(batch);
    return share;
}
