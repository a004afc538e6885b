/* test_fallback.c -- classes that came out worse than random are partitioned again, and no others; what is
 * measured on the way equals a measurement afterwards. */
#include "base/crew.h"
#include "partition/fallback.h"
#include "partition/glimpse.h"

#include "help.h"

static struct mot_dataset *d;
static struct mot_features f;
static struct mot_split s;
static struct mot_glimpse glimpse;
static struct mot_parts parts, old;
static struct mot_quality q;
static const double speeds[] = { 32, 1, 1 };

static struct mot_parts copy_of(const struct mot_parts *p)
{
    uint32_t *owner = mot_new(p->at[p->parts], sizeof *owner);
    for (uint32_t j = 0; j < p->parts; j++)
        for (uint64_t i = p->at[j]; i < p->at[j + 1]; i++) owner[p->row[i]] = j;
    struct mot_parts c = mot_parts_owned(p->parts, (uint32_t)p->at[p->parts], owner);
    free(owner);
    return c;
}

/* Digits, by a partitioner, for one fast and two slow workers. */
static void cut(const char *name, const struct mot_classwise_conf *conf, bool glimpses)
{
    d = open_set("digits", 0, 1);
    s = (struct mot_split){ .table = &d->train, .parts = 3, .speed = speeds, .seed = 3 };
    mot_glimpse_open(&glimpse, 10, 3);
    if (glimpses) s.glimpse = &glimpse;
    if (mot_partition(partitioner(name), conf, &s, &parts, NULL) != MOT_OK) abort();
    if (mot_features_open("raw", &s, UINT64_MAX, NULL, &f) != MOT_OK) abort();
    if (mot_quality_of(&s, &parts, &f, 0, MOT_MMD_EXACT, &q) != MOT_OK) abort();
    old = copy_of(&parts);
}

static void end(void)
{
    mot_quality_close(&q);
    mot_features_close(&f);
    mot_parts_free(&parts);
    mot_parts_free(&old);
    mot_glimpse_close(&glimpse);
    mot_dataset_close(d);
}

static bool rows_of_class_are_the_same(uint32_t class)
{
    uint32_t *owner = mot_new(d->train.rows, sizeof *owner);
    bool same = true;
    for (uint32_t j = 0; j < 3; j++)
        for (uint64_t i = old.at[j]; i < old.at[j + 1]; i++) owner[old.row[i]] = j;
    for (uint32_t j = 0; j < 3; j++)
        for (uint64_t i = parts.at[j]; i < parts.at[j + 1]; i++)
            same &= d->train.y[parts.row[i]] != (float)class || owner[parts.row[i]] == j;
    free(owner);
    return same;
}

TEST(what_is_seen_while_cutting_is_what_measuring_gives)
{
    cut("herding", OPTIONS("herding", "memory", "1GB"), true);
    struct mot_quality measured;
    struct mot_split plain = s;
    plain.glimpse = NULL;
    for (uint32_t l = 0; l < 10; l++) CHECK(glimpse.seen[l]);
    CHECK_INT(mot_quality_of(&plain, &parts, &f, 0, MOT_MMD_EXACT, &measured), MOT_OK);
    for (uint32_t i = 0; i < 30; i++) {
        CHECK_NEAR(q.mmd2[i], measured.mmd2[i], 1e-6);
        CHECK_NEAR(q.random[i] / measured.random[i], 1, 1e-5);
    }
    CHECK_NEAR(q.facility_location / measured.facility_location, 1, 1e-6);
    CHECK_NEAR(q.graph_cut / measured.graph_cut, 1, 1e-6);
    mot_quality_close(&measured);
    end();
}

TEST(classes_worse_than_random_are_cut_by_herding_and_only_they)
{
    const struct mot_classwise_conf *conf = OPTIONS("submodular", "objective", "graph-cut", "rule", "fill");
    struct mot_fallback done;
    for (int glimpses = 0; glimpses < 2; glimpses++) {
        cut("submodular", conf, glimpses);
        uint32_t worse = q.worse;
        CHECK_INT(
            mot_fall_back(MOT_FALLBACK_HERDING, conf, &s, &f, MOT_MMD_EXACT, &parts, &q, &done), MOT_OK);
        printf("  %u of 30 blocks were worse, in %u classes; the largest ratio is %.2f now\n", worse,
            done.tried, q.ratio_worst);
        CHECK(done.tried > 0 && done.tried < 10); /* else this shows little */
        CHECK_INT(done.taken, done.tried);
        CHECK_INT(q.worse, 0);
        CHECK(covers(&parts, d->train.rows));
        for (uint32_t l = 0; l < 10; l++) {
            CHECK_INT(done.is_taken[l], done.before[l] > 1);
            CHECK_INT(rows_of_class_are_the_same(l), !done.is_taken[l]);
            if (done.is_taken[l]) CHECK(done.after[l] < 1 && done.before[l] > 1);
            for (uint32_t j = 0; j < 3; j++)
                CHECK_INT(count_label(&parts, &d->train, j, l), count_label(&old, &d->train, j, l));
        }
        /* its figures are those of the new parts */
        struct mot_quality again;
        struct mot_split plain = s;
        plain.glimpse = NULL;
        CHECK_INT(mot_quality_of(&plain, &parts, &f, 0, MOT_MMD_EXACT, &again), MOT_OK);
        for (uint32_t i = 0; i < 30; i++) CHECK_NEAR(q.mmd2[i], again.mmd2[i], 1e-6);
        CHECK_NEAR(q.mmd2_mean / again.mmd2_mean, 1, 1e-4);
        CHECK_NEAR(q.ratio_worst / again.ratio_worst, 1, 1e-3);
        CHECK_NEAR(q.facility_location / again.facility_location, 1, 1e-6);
        mot_quality_close(&again);
        mot_fallback_close(&done);
        end();
    }
}

TEST(random_rows_are_taken_only_where_they_are_better)
{
    const struct mot_classwise_conf *conf =
        OPTIONS("submodular", "objective", "graph-cut", "rule", "literal");
    struct mot_fallback done;
    cut("submodular", conf, true);
    double before = q.ratio_worst;
    CHECK_INT(mot_fall_back(MOT_FALLBACK_RANDOM, conf, &s, &f, MOT_MMD_EXACT, &parts, &q, &done), MOT_OK);
    printf("  %u of %u classes are cut at random: %.2f became %.2f\n", done.taken, done.tried, before,
        q.ratio_worst);
    CHECK(done.taken > 0 && done.taken < done.tried && q.ratio_worst < before);
    CHECK(covers(&parts, d->train.rows));
    for (uint32_t l = 0; l < 10; l++) {
        CHECK_INT(done.is_taken[l], done.was_tried[l] && done.after[l] < done.before[l]);
        if (!done.is_taken[l]) CHECK(rows_of_class_are_the_same(l));
    }
    mot_fallback_close(&done);
    end();
}

TEST(nothing_changes_where_nothing_is_worse)
{
    const struct mot_classwise_conf *conf = OPTIONS("herding", "memory", "1GB");
    struct mot_fallback done;
    cut("herding", conf, false);
    CHECK_INT(mot_fall_back(MOT_FALLBACK_HERDING, conf, &s, &f, MOT_MMD_EXACT, &parts, &q, &done), MOT_OK);
    CHECK_INT(done.tried, 0);
    CHECK(same_parts(&parts, &old));
    mot_fallback_close(&done);
    end();
}

/* Random parts have a block above 1 in nearly every class. */
TEST(any_partition_can_fall_back_with_the_sizes_it_has)
{
    struct mot_fallback done;
    cut("dirichlet", OPTIONS("dirichlet", "alpha", "0.5"), false);
    CHECK_INT(mot_fall_back(MOT_FALLBACK_HERDING, OPTIONS("herding", "memory", "1GB"), &s, &f, MOT_MMD_EXACT,
                  &parts, &q, &done),
        MOT_OK);
    CHECK(done.taken > 0);
    for (uint32_t l = 0; l < 10; l++)
        for (uint32_t j = 0; j < 3; j++)
            CHECK_INT(count_label(&parts, &d->train, j, l), count_label(&old, &d->train, j, l));
    mot_fallback_close(&done);
    end();
}

TEST_MAIN()
