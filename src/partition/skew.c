/* skew.c -- parts that differ on purpose, to test methods on non-IID data.
 *
 * dirichlet: each class is shared out by proportions drawn from Dirichlet(alpha) (Hsu, Qi and Brown,
 * "Measuring the effects of non-identical data distribution", 2019). shards: each worker has k labels
 * (McMahan et al., "Communication-efficient learning of deep networks", 2017). quantity: like rows, unlike
 * sizes (Li et al., "Federated learning on non-IID data silos", 2022). */
#include "base/exact.h"
#include "base/memory.h"
#include "base/rng.h"
#include "partition/partition.h"
#include <math.h>
#include <stdlib.h>

struct alpha_conf {
    double alpha;
};
struct shards_conf {
    uint64_t labels;
};

/* Streams of MOT_RNG_PARTITION, apart from those that shuffle. */
enum { DRAW_SHARES = 1 << 20, ORDER_LABELS = 2 << 20, ORDER_WORKERS, SHUFFLE_CLASS = 3 << 20 };

static const struct mot_option alpha_options[] = {
    { .name = "alpha",
        .type = MOT_OPT_REAL,
        .offset = offsetof(struct alpha_conf, alpha),
        .preset = "0.5",
        .min = 1e-3,
        .max = 1e6,
        .doc = "how even the proportions are: 0.1 gives most to a few workers, 100 is nearly even" },
    { .name = NULL },
};

static const struct mot_option shards_options[] = {
    { .name = "labels",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct shards_conf, labels),
        .preset = "2",
        .min = 1,
        .max = 65536,
        .doc = "labels per worker" },
    { .name = NULL },
};

/* ---- Draws ------------------------------------------------------------------------------- */

/* The logarithm of a Gamma(a) variable: Marsaglia and Tsang, "A simple method for generating gamma variables"
 * (2000), for a + 1, times U^(1/a). In logarithms a small `a` does not underflow. */
static double log_gamma_draw(struct mot_rng *rng, double a)
{
    double d = a + 1 - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = mot_rng_normal(rng), v = 1 + c * x;
        if (v <= 0) continue;
        v = v * v * v;
        if (mot_log(1 - mot_rng_unit(rng)) < 0.5 * x * x + d - d * v + d * mot_log(v))
            return mot_log(d * v) + mot_log(1 - mot_rng_unit(rng)) / a;
    }
}

static void dirichlet_draw(struct mot_rng *rng, double alpha, uint32_t n, double *share)
{
    double most = -INFINITY, sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        share[i] = log_gamma_draw(rng, alpha);
        if (share[i] > most) most = share[i];
    }
    for (uint32_t i = 0; i < n; i++) sum += share[i] = mot_exp(share[i] - most);
    for (uint32_t i = 0; i < n; i++) share[i] /= sum;
}

/* Whole numbers that sum to `rows`, by cutting the line of shares at its rounded sums. */
static void cut_shares(uint32_t n, const double *share, uint32_t rows, uint32_t *size)
{
    double sum = 0;
    uint32_t before = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += share[i];
        uint32_t until = i + 1 == n || sum > 1 ? rows : (uint32_t)floor(rows * sum + 0.5);
        if (until < before) until = before;
        size[i] = until - before;
        before = until;
    }
}

/* A worker without rows gets one from the worker with the most. */
static void fill_empty(uint32_t parts, uint32_t rows, uint32_t *owner)
{
    uint32_t *size = mot_new_large(parts, sizeof *size);
    for (uint32_t r = 0; size && r < rows; r++) size[owner[r]]++;
    for (uint32_t j = 0; size && j < parts; j++) {
        if (size[j]) continue;
        uint32_t rich = 0, r = 0;
        for (uint32_t i = 1; i < parts; i++)
            if (size[i] > size[rich]) rich = i;
        while (owner[r] != rich) r++;
        owner[r] = j;
        size[j]++;
        size[rich]--;
    }
    free(size);
}

/* ---- The partitioners -------------------------------------------------------------------- */

static enum mot_status split_dirichlet(
    const void *conf, const struct mot_split *s, struct mot_parts *out, struct mot_split_cost *cost)
{
    (void)cost;
    const struct alpha_conf *c = conf;
    enum mot_status status = mot_split_needs_classes(s, "dirichlet");
    if (status != MOT_OK) return status;
    struct mot_strata strata = mot_strata_of(s->table);
    uint32_t *owner = mot_new_large(s->table->rows, sizeof *owner),
             *size = mot_new_large(s->parts, sizeof *size);
    double *share = mot_new_large(s->parts, sizeof *share);
    for (uint32_t l = 0; l < strata.classes && !mot_memory_refused(); l++) {
        struct mot_rng rng = mot_rng_at(s->seed, MOT_RNG_PARTITION, DRAW_SHARES + (uint64_t)l);
        uint32_t first = strata.at[l], n = strata.at[l + 1] - first, at = 0;
        uint64_t key = mot_hash3(s->seed, MOT_RNG_PARTITION, SHUFFLE_CLASS + (uint64_t)l);
        dirichlet_draw(&rng, c->alpha, s->parts, share);
        cut_shares(s->parts, share, n, size);
        for (uint32_t j = 0; j < s->parts; j++)
            for (uint32_t k = 0; k < size[j]; k++)
                owner[strata.row[first + (uint32_t)mot_permute(key, n, at++)]] = j;
    }
    if (!mot_memory_refused()) fill_empty(s->parts, s->table->rows, owner);
    if (!mot_memory_refused()) *out = mot_parts_owned(s->parts, s->table->rows, owner);
    free(share);
    free(size);
    free(owner);
    mot_strata_free(&strata);
    return MOT_OK;
}

static enum mot_status split_quantity(
    const void *conf, const struct mot_split *s, struct mot_parts *out, struct mot_split_cost *cost)
{
    (void)cost;
    const struct alpha_conf *c = conf;
    uint32_t rows = s->table->rows, *size = mot_new_large(s->parts, sizeof *size);
    double *share = mot_new_large(s->parts, sizeof *share);
    struct mot_rng rng = mot_rng_at(s->seed, MOT_RNG_PARTITION, DRAW_SHARES);
    if (share && size) {
        dirichlet_draw(&rng, c->alpha, s->parts, share);
        cut_shares(s->parts, share, rows - s->parts, size);
        for (uint32_t j = 0; j < s->parts; j++) size[j]++;
        *out = mot_parts_sized(s->parts, size);
    }
    uint64_t key = mot_hash3(s->seed, MOT_RNG_PARTITION, SHUFFLE_CLASS);
    for (uint32_t i = 0; !mot_memory_refused() && i < rows; i++)
        out->row[i] = (uint32_t)mot_permute(key, rows, i);
    free(share);
    free(size);
    return MOT_OK;
}

/* How many workers share each class: in proportion to its rows, one at least, `parts` at most,
 * parts * labels in all if the classes can take them. */
static void share_slots(const struct mot_strata *strata, uint32_t parts, uint64_t slots, uint32_t *slot)
{
    uint64_t given = 0;
    for (uint32_t l = 0; l < strata->classes; l++) given += slot[l] = strata->at[l + 1] > strata->at[l];
    while (given < slots) {
        uint32_t best = UINT32_MAX;
        double most = 0;
        for (uint32_t l = 0; l < strata->classes; l++) {
            uint32_t rows = strata->at[l + 1] - strata->at[l];
            if (slot[l] == parts || slot[l] >= rows || (double)rows / slot[l] <= most) continue;
            most = (double)rows / slot[l];
            best = l;
        }
        if (best == UINT32_MAX) break;
        slot[best]++;
        given++;
    }
}

/* Classes one after another, each over its workers, worker after worker around the circle: as no class has
 * more slots than there are workers, a worker's labels differ. */
static void deal_slots(
    const struct mot_split *s, const struct mot_strata *strata, const uint32_t *slot, uint32_t *owner)
{
    uint64_t labels_key = mot_hash3(s->seed, MOT_RNG_PARTITION, ORDER_LABELS);
    uint64_t workers_key = mot_hash3(s->seed, MOT_RNG_PARTITION, ORDER_WORKERS);
    uint64_t dealt = 0;
    for (uint32_t i = 0; i < strata->classes; i++) {
        uint32_t l = (uint32_t)mot_permute(labels_key, strata->classes, i), first = strata->at[l],
                 n = strata->at[l + 1] - first;
        uint64_t key = mot_hash3(s->seed, MOT_RNG_PARTITION, SHUFFLE_CLASS + (uint64_t)l);
        for (uint32_t k = 0; k < n; k++) {
            uint64_t which = dealt + (uint64_t)k * slot[l] / n;
            owner[strata->row[first + (uint32_t)mot_permute(key, n, k)]] =
                (uint32_t)mot_permute(workers_key, s->parts, which % s->parts);
        }
        dealt += slot[l];
    }
}

static enum mot_status split_shards(
    const void *conf, const struct mot_split *s, struct mot_parts *out, struct mot_split_cost *cost)
{
    (void)cost;
    const struct shards_conf *c = conf;
    enum mot_status status = mot_split_needs_classes(s, "shards");
    if (status != MOT_OK) return status;
    struct mot_strata strata = mot_strata_of(s->table);
    if (mot_memory_refused()) return mot_memory_status();
    uint32_t present = 0;
    for (uint32_t l = 0; l < strata.classes; l++) present += strata.at[l + 1] > strata.at[l];
    if (s->parts * c->labels < present) {
        mot_strata_free(&strata);
        return mot_fail(MOT_EUSAGE,
            "partition shards: %u %s with %llu labels each hold %llu, expected at least the %u of the "
            "data: some rows would be left over",
            s->parts, mot_split_whose(s), (unsigned long long)c->labels,
            (unsigned long long)(s->parts * c->labels), present);
    }
    uint32_t *owner = mot_new_large(s->table->rows, sizeof *owner),
             *slot = mot_new_large(strata.classes, sizeof *slot);
    if (!mot_memory_refused()) {
        share_slots(&strata, s->parts, s->parts * c->labels, slot);
        deal_slots(s, &strata, slot, owner);
        /* where classes are so small that they have too few slots */
        fill_empty(s->parts, s->table->rows, owner);
    }
    if (!mot_memory_refused()) *out = mot_parts_owned(s->parts, s->table->rows, owner);
    free(slot);
    free(owner);
    mot_strata_free(&strata);
    return MOT_OK;
}

const struct mot_partitioner mot_partition_dirichlet = {
    .name = "dirichlet",
    .summary = "each class by proportions drawn from Dirichlet(alpha): skewed labels",
    .options = alpha_options,
    .conf_bytes = sizeof(struct alpha_conf),
    .split = split_dirichlet,
};
const struct mot_partitioner mot_partition_quantity = {
    .name = "quantity",
    .summary = "rows at random, sizes drawn from Dirichlet(alpha): skewed sizes",
    .options = alpha_options,
    .conf_bytes = sizeof(struct alpha_conf),
    .split = split_quantity,
};
const struct mot_partitioner mot_partition_shards = {
    .name = "shards",
    .summary = "a few labels per worker",
    .options = shards_options,
    .conf_bytes = sizeof(struct shards_conf),
    .split = split_shards,
};
