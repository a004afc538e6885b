/* test_submodular.c -- the greedy partition follows its definition, however it is computed, and represents
 * its classes. */
#include "partition/greedy.h"
#include "math/kernels.h"
#include "partition/quality.h"

#include "help.h"

/* ---- Against the definition ------------------------------------------------------------------ */

static struct mot_features random_features(uint32_t n, uint32_t cols, uint64_t seed, struct mot_table *t)
{
    struct mot_rng rng = mot_rng_at(seed, MOT_RNG_TEST, 1);
    float *x = mot_new((size_t)n * cols, sizeof *x);
    for (size_t i = 0; i < (size_t)n * cols; i++) x[i] = (float)mot_rng_normal(&rng);
    /* equal samples: ties */
    for (uint32_t i = 0; i + 1 < n; i += 9)
        memcpy(x + (size_t)(i + 1) * cols, x + (size_t)i * cols, cols * sizeof *x);
    *t = (struct mot_table){ .rows = n, .cols = cols, .x = x };
    return (struct mot_features){ .rows = n, .cols = cols, .x = x, .table = t };
}

static int64_t worth(
    enum mot_objective objective, const struct mot_similar *s, const uint32_t *owner, uint32_t block)
{
    uint32_t n = s->samples->n;
    int64_t f = 0;
    for (uint32_t v = 0; v < n; v++) {
        int64_t most = 0, sum = 0;
        for (uint32_t a = 0; a < n; a++) {
            if (owner[a] != block) continue;
            int64_t like = s->matrix[(size_t)v * s->samples->width + a];
            most = like > most ? like : most;
            sum += like;
        }
        f += objective == MOT_FACILITY_LOCATION ? most : owner[v] == block ? 0 : sum;
    }
    return f;
}

/* The algorithm as it is written: f is computed anew for every sample that could be taken. */
static void by_definition(const struct mot_greedy *g, uint32_t *owner, uint32_t *order)
{
    const struct mot_similar *s = g->similar;
    uint32_t n = s->samples->n, size[8] = { 0 }, turn = 0;
    int64_t value[8] = { 0 };
    for (uint32_t v = 0; v < n; v++) owner[v] = MOT_NOBODY;
    for (uint32_t done = 0;; done++) {
        uint32_t block = MOT_NOBODY, best = MOT_NOBODY;
        int64_t most = INT64_MIN;
        for (uint32_t i = 0; i < g->blocks; i++) {
            uint32_t j = g->rule == MOT_RULE_ROUND_ROBIN ? (turn + i) % g->blocks : i;
            if (size[j] == g->quota[j]) continue;
            bool better = block == MOT_NOBODY;
            if (!better && g->rule == MOT_RULE_FILL)
                better = size[j] * g->quota[block] < size[block] * g->quota[j];
            if (!better && g->rule == MOT_RULE_LITERAL) better = value[j] < value[block];
            if (better) block = j;
        }
        if (block == MOT_NOBODY) return;
        turn = block + 1;
        for (uint32_t v = 0; v < n; v++) {
            if (owner[v] != MOT_NOBODY) continue;
            owner[v] = block;
            int64_t f = worth(g->objective, s, owner, block);
            owner[v] = MOT_NOBODY;
            if (f > most) most = f, best = v;
        }
        owner[best] = block;
        value[block] = most;
        size[block]++;
        order[done] = best;
    }
}

static struct mot_greedy greedy_for(struct mot_similar *s, enum mot_objective objective,
    enum mot_block_rule rule, const uint32_t *quota, uint32_t blocks)
{
    uint32_t n = s->samples->n;
    return (struct mot_greedy){ .similar = s,
        .objective = objective,
        .rule = rule,
        .blocks = blocks,
        .quota = quota,
        .owner = mot_new(n, sizeof(uint32_t)),
        .order = mot_new(n, sizeof(uint32_t)),
        .value = mot_new(blocks, sizeof(int64_t)) };
}

static void greedy_free(struct mot_greedy *g) { free(g->owner), free(g->order), free(g->value); }

TEST(every_algorithm_takes_the_samples_of_the_definition_one_by_one)
{
    static const uint32_t quotas[3][4] = { { 15, 15, 15, 15 }, { 30, 8, 20, 2 }, { 0, 41, 1, 18 } };
    struct mot_table t;
    mot_kernels_open();
    for (uint32_t round = 0; round < 3; round++) {
        struct mot_features f = random_features(60, 5, round, &t);
        struct mot_samples x;
        mot_samples_open(&f, NULL, 60, 2, &x);
        struct mot_similar dense = { .kind = MOT_SIMILAR_DENSE, .samples = &x },
                           blocked = { .kind = MOT_SIMILAR_BLOCKED, .samples = &x };
        /* all of them: then it is exact too */
        struct mot_similar knn = { .kind = MOT_SIMILAR_KNN, .samples = &x, .k = 60 };
        CHECK(mot_similar_open(&dense) == MOT_OK && mot_similar_open(&blocked) == MOT_OK &&
            mot_similar_open(&knn) == MOT_OK);
        for (int objective = 0; objective < 2; objective++)
            for (int rule = 0; rule < 3; rule++) {
                uint32_t owner[60], order[60];
                struct mot_similar *ways[] = { &dense, &blocked, &knn };
                struct mot_greedy plain = { .similar = &dense,
                    .objective = (enum mot_objective)objective,
                    .rule = (enum mot_block_rule)rule,
                    .blocks = 4,
                    .quota = quotas[round] };
                by_definition(&plain, owner, order);
                for (int way = 0; way < (objective == MOT_GRAPH_CUT ? 2 : 3); way++) {
                    struct mot_greedy g =
                        greedy_for(ways[way], plain.objective, plain.rule, quotas[round], 4);
                    enum mot_status status = mot_greedy_run(&g);
                    bool same = memcmp(g.order, order, sizeof order) == 0 &&
                        memcmp(g.owner, owner, sizeof owner) == 0;
                    for (uint32_t j = 0; j < 4; j++)
                        same &= g.value[j] == worth(plain.objective, &dense, owner, j);
                    greedy_free(&g);
                    if (status != MOT_OK || !same)
                        FAIL("round %u, objective %d, rule %d, way %d", round, objective, rule, way);
                }
            }
        mot_similar_close(&dense), mot_similar_close(&blocked), mot_similar_close(&knn);
        mot_samples_close(&x);
        free((void *)(size_t)t.x);
    }
}

TEST(lazy_looks_at_a_small_part_of_what_naive_looks_at)
{
    struct mot_table t;
    const uint32_t quota[] = { 60 };
    mot_kernels_open();
    struct mot_features f = random_features(600, 6, 9, &t);
    struct mot_samples x;
    mot_samples_open(&f, NULL, 600, 2, &x);
    struct mot_similar s = { .kind = MOT_SIMILAR_DENSE, .samples = &x };
    mot_similar_open(&s);
    struct mot_greedy g = greedy_for(&s, MOT_FACILITY_LOCATION, MOT_RULE_FILL, quota, 1);
    CHECK_INT(mot_greedy_run(&g), MOT_OK);
    CHECK(g.evaluations < 60 * 600 / 10);
    uint32_t taken = 0;
    for (uint32_t v = 0; v < 600; v++) taken += g.owner[v] != MOT_NOBODY;
    CHECK_INT(taken, 60);
    greedy_free(&g);
    mot_similar_close(&s);
    mot_samples_close(&x);
    free((void *)(size_t)t.x);
}

TEST(a_stochastic_pick_among_all_samples_is_the_exact_one)
{
    struct mot_table t;
    const uint32_t quota[] = { 20, 20 };
    mot_kernels_open();
    struct mot_features f = random_features(40, 6, 4, &t);
    struct mot_samples x;
    mot_samples_open(&f, NULL, 40, 2, &x);
    struct mot_similar s = { .kind = MOT_SIMILAR_BLOCKED, .samples = &x };
    mot_similar_open(&s);
    struct mot_greedy exact = greedy_for(&s, MOT_FACILITY_LOCATION, MOT_RULE_FILL, quota, 2),
                      drawn = greedy_for(&s, MOT_FACILITY_LOCATION, MOT_RULE_FILL, quota, 2);
    drawn.stochastic = true;
    drawn.epsilon = 1e-9; /* 41 samples of 40 */
    CHECK(mot_greedy_run(&exact) == MOT_OK && mot_greedy_run(&drawn) == MOT_OK);
    CHECK(memcmp(exact.order, drawn.order, 40 * sizeof(uint32_t)) == 0);
    CHECK_INT(drawn.candidates, 40);
    greedy_free(&exact), greedy_free(&drawn);
    mot_similar_close(&s);
    mot_samples_close(&x);
    free((void *)(size_t)t.x);
}

/* ---- The partitioner on real data ------------------------------------------------------------------ */

static const double unequal[8] = { 2, 1, 1, 1, 1, 2, 1, 1 };

struct quick {
    double mmd2, random, value;
    struct mot_split_cost cost;
    bool covers;
    double quota_class, quota_worker;
};

static enum mot_status cut_and_measure(
    const struct mot_dataset *d, const double *speed, uint32_t parts, const void *conf, struct quick *out)
{
    struct mot_split s = { .table = &d->train,
        .parts = parts,
        .speed = speed,
        .seed = 1,
        .file_row = d->file_row,
        .file_rows = d->file_rows };
    struct mot_parts p;
    struct mot_features f;
    struct mot_quality q;
    enum mot_status status = mot_partition(partitioner("submodular"), conf, &s, &p, &out->cost);
    if (status != MOT_OK) return status;
    struct mot_crew *crew = mot_crew_open(1);
    status = mot_features_open("raw", &s, UINT64_MAX, crew, &f);
    mot_crew_close(crew);
    if (status == MOT_OK) status = mot_quality_of(&s, &p, &f, 0, MOT_MMD_EXACT, &q);
    out->mmd2 = q.mmd2_mean;
    out->random = q.mmd2_random;
    out->value = q.facility_location;
    out->quota_class = q.quota_class;
    out->quota_worker = q.quota_worker;
    out->covers = covers(&p, d->train.rows);
    mot_quality_close(&q);
    mot_features_close(&f);
    mot_parts_free(&p);
    return status;
}

#define MEASURE(d, speed, ...)                                                                               \
    if (cut_and_measure((d), (speed), 8, OPTIONS("submodular", __VA_ARGS__), &r) != MOT_OK)                  \
    FAIL("%s", mot_error())

/* He and Dube's partition against a random one: at most half of its MMD^2
 * with equal workers, 0.6 of it with unequal ones. */
static void looks_like_its_classes(const struct mot_dataset *d)
{
    struct quick r;
    static const char *const objectives[] = { "facility-location", "graph-cut" };
    for (int i = 0; i < 2; i++) {
        MEASURE(d, NULL, "objective", objectives[i]);
        printf("  %s, equal: MMD^2 %.3g, at random %.3g\n", objectives[i], r.mmd2, r.random);
        CHECK(r.covers && r.quota_class <= 1 && r.quota_worker <= 1);
        CHECK(r.mmd2 <= 0.5 * r.random);
        MEASURE(d, unequal, "objective", objectives[i]);
        printf("  %s, unequal: MMD^2 %.3g, at random %.3g\n", objectives[i], r.mmd2, r.random);
        CHECK(r.covers && r.quota_class <= 1 && r.quota_worker <= 1);
        CHECK(r.mmd2 <= 0.6 * r.random);
    }
}

TEST(blocks_of_digits_look_like_their_classes)
{
    struct mot_dataset *d = open_set("digits", 0, 1);
    looks_like_its_classes(d);
    mot_dataset_close(d);
}

TEST(blocks_of_phishing_look_like_their_classes)
{
    const char *path = shared_set("phishing/phishing.gz");
    if (!path) SKIP(NOT_SHARED);
    struct mot_dataset *d = open_set(path, 3000, 1);
    looks_like_its_classes(d);
    mot_dataset_close(d);
}

TEST(the_literal_rule_is_worse_with_unequal_workers)
{
    struct quick r;
    struct mot_dataset *d = open_set("digits", 0, 1);
    MEASURE(d, unequal, "rule", "fill", "objective", "graph-cut");
    double fill = r.mmd2;
    MEASURE(d, unequal, "rule", "literal", "objective", "graph-cut");
    printf("  graph cut, unequal: fill %.3g, literal %.3g\n", fill, r.mmd2);
    CHECK(r.mmd2 > 1.5 * fill);
    CHECK(r.covers && r.quota_class <= 1 && r.quota_worker <= 1);
    mot_dataset_close(d);
}

TEST(the_scalable_algorithms_are_within_a_tenth_of_the_exact_one)
{
    struct quick r;
    struct mot_dataset *d = open_set("digits", 0, 1);
    MEASURE(d, NULL, "algorithm", "dense");
    CHECK(r.cost.exact);
    double exact = r.mmd2, value = r.value;
    static const char *const names[] = { "knn", "stochastic", "blocked" };
    for (int i = 0; i < 3; i++) {
        MEASURE(d, NULL, "algorithm", names[i], "neighbours", "48");
        printf(
            "  %s: %.3f of the exact MMD^2, %.5f of the value\n", names[i], r.mmd2 / exact, r.value / value);
        CHECK_TEXT(r.cost.algorithm, names[i]);
        CHECK(r.mmd2 <= 1.1 * exact);
        CHECK(r.value >= 0.99 * value);
        CHECK(i < 2 || (r.mmd2 == exact && r.value == value && r.cost.exact));
    }
    mot_dataset_close(d);
}

TEST(classes_take_their_share_of_all_pairs)
{
    uint32_t rows_of[10];
    struct quick r;
    for (int l = 0; l < 10; l++) rows_of[l] = 40;
    struct mot_table t = labels_only(10, rows_of);
    float *x = mot_new(400, sizeof *x);
    struct mot_rng rng = mot_rng_at(1, MOT_RNG_TEST, 3);
    for (int i = 0; i < 400; i++) x[i] = (float)mot_rng_normal(&rng);
    t.x = x;
    struct mot_dataset d = { .train = t };
    MEASURE(&d, NULL, "algorithm", "knn", "neighbours", "40");
    CHECK_INT(r.cost.pairs, 400 * 400 / 10);
    MEASURE(&d, NULL, "algorithm", "dense");
    CHECK_INT(r.cost.pairs, 10 * 40 * 41 / 2); /* each pair once */
    free(x);
    free((void *)(size_t)t.y);
}

/* ---- Budgets and bad input ---------------------------------------------------------------------------- */

TEST(the_budget_chooses_the_algorithm)
{
    struct quick r;
    struct mot_dataset *d = open_set("digits", 300, 1);
    MEASURE(d, NULL, "memory", "2G");
    CHECK_TEXT(r.cost.algorithm, "dense");
    double dense = r.cost.bytes;
    MEASURE(d, NULL, "algorithm", "knn", "neighbours", "32", "memory", "2G", "features", "raw");
    CHECK_TEXT(r.cost.algorithm, "knn");
    struct mot_dataset *one = open_set("digits", 700, 1); /* one class: a matrix of 700 x 700 */
    one->train.classes = 0;
    MEASURE(one, NULL, "memory", "2G");
    CHECK_TEXT(r.cost.algorithm, "dense");
    MEASURE(one, NULL, "memory", "1.3MB");
    CHECK_TEXT(r.cost.algorithm, "knn");
    CHECK(r.cost.bytes <= 1.3e6 && r.cost.neighbours >= 32);
    MEASURE(one, NULL, "memory", "700kB");
    CHECK_TEXT(r.cost.algorithm, "stochastic");
    CHECK(r.cost.bytes <= 7e5);
    MEASURE(one, NULL, "memory", "800kB", "objective", "graph-cut");
    CHECK_TEXT(r.cost.algorithm, "blocked");
    CHECK(r.cost.exact && dense > 0);
    one->train.classes = d->train.classes;
    mot_dataset_close(one);
    mot_dataset_close(d);
}

TEST(a_budget_too_small_for_any_algorithm_says_what_the_least_needs)
{
    struct quick r;
    struct mot_dataset *d = open_set("digits", 0, 1);
    CHECK_INT(cut_and_measure(d, NULL, 8, OPTIONS("submodular", "memory", "10kB"), &r), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "a memory of 10 kB is too small: stochastic needs");
    CHECK_INT(
        cut_and_measure(d, NULL, 8, OPTIONS("submodular", "memory", "10kB", "objective", "graph-cut"), &r),
        MOT_EUSAGE);
    CHECK_HAS(mot_error(), "blocked needs");
    CHECK_INT(
        cut_and_measure(d, NULL, 8, OPTIONS("submodular", "algorithm", "knn", "objective", "graph-cut"), &r),
        MOT_EUSAGE);
    CHECK_HAS(mot_error(), "knn is for facility-location");
    CHECK_INT(cut_and_measure(d, NULL, 8, OPTIONS("submodular", "features", "pca:1000"), &r), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "expected pca:K with K from 1 to 64");
    CHECK_INT(cut_and_measure(d, NULL, 8, OPTIONS("submodular", "features", "pca:x"), &r), MOT_EUSAGE);
    CHECK_INT(cut_and_measure(d, NULL, 2000, OPTIONS("submodular", "memory", "1G"), &r), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "2000 workers share 1797 training rows");
    double speed[8] = { 1, 1, 1, NAN, 1, 1, 1, 1 };
    CHECK_INT(cut_and_measure(d, speed, 8, OPTIONS("submodular", "memory", "1G"), &r), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "the speed of worker 3 is nan");
    /* which does not ask */
    CHECK_INT(cut_and_measure(d, speed, 8, OPTIONS("submodular", "sizes", "equal"), &r), MOT_OK);
    mot_dataset_close(d);
}

TEST(more_workers_than_a_class_has_rows_leave_nobody_empty)
{
    struct quick r;
    struct mot_dataset *d = open_set("digits", 60, 1); /* six a class */
    for (uint32_t parts = 7; parts <= 60; parts += 13) {
        if (cut_and_measure(d, NULL, parts, OPTIONS("submodular", "memory", "1G"), &r) != MOT_OK)
            FAIL("%s", mot_error());
        CHECK(r.covers && r.quota_class <= 1 && r.quota_worker <= 1);
    }
    mot_dataset_close(d);
}

static volatile sig_atomic_t wish;
static void stop_soon(void *self, double done)
{
    (void)self;
    wish = done > 0.3;
}

TEST(an_interrupt_ends_the_work)
{
    struct mot_dataset *d = open_set("digits", 0, 1);
    struct mot_split s = {
        .table = &d->train, .parts = 8, .seed = 1, .threads = 1, .interrupt = &wish, .progress = stop_soon
    };
    struct mot_parts p;
    wish = 0;
    CHECK_INT(mot_partition(partitioner("submodular"), OPTIONS("submodular", "memory", "1G"), &s, &p, NULL),
        MOT_EINTERRUPTED);
    mot_dataset_close(d);
}

TEST_MAIN()
