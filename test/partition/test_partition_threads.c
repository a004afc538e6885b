/* test_partition_threads.c -- the same seed gives the same parts, byte for byte, on any number of threads. */
#include "partition/quality.h"

#include "help.h"

static void same_on_any_threads(const char *name, const void *conf, const struct mot_dataset *d)
{
    static const double speed[6] = { 2, 1, 1, 3, 1, 1 };
    struct mot_parts first = { 0 }, p;
    for (unsigned threads = 1; threads <= 4; threads++) {
        struct mot_split s = {
            .table = &d->train, .parts = 6, .speed = speed, .seed = 9, .threads = threads
        };
        if (mot_partition(partitioner(name), conf, &s, threads == 1 ? &first : &p, NULL) != MOT_OK)
            FAIL("%s: %s", name, mot_error());
        if (threads == 1) continue;
        bool same = same_parts(&first, &p);
        mot_parts_free(&p);
        if (!same) FAIL("%s differs on %u threads", name, threads);
    }
    mot_parts_free(&first);
}

TEST(every_partitioner_gives_the_same_parts_on_any_number_of_threads)
{
    struct mot_dataset *d = open_set("digits", 300, 2);
    for (size_t i = 0; mot_partitioners[i]; i++)
        if (strcmp(mot_partitioners[i]->name, "from") != 0)
            same_on_any_threads(mot_partitioners[i]->name, options_of(mot_partitioners[i]->name, NULL), d);
    mot_dataset_close(d);
}

TEST(submodular_gives_the_same_parts_whatever_the_algorithm_does_with_its_threads)
{
    struct mot_dataset *d = open_set("digits", 300, 2);
    static const char *const algorithms[] = { "dense", "blocked", "knn", "stochastic" };
    for (int i = 0; i < 4; i++) {
        same_on_any_threads(
            "submodular", OPTIONS("submodular", "algorithm", algorithms[i], "neighbours", "16"), d);
        if (i < 2)
            same_on_any_threads(
                "submodular", OPTIONS("submodular", "algorithm", algorithms[i], "objective", "graph-cut"), d);
    }
    same_on_any_threads("submodular", OPTIONS("submodular", "features", "pca:7"), d);
    uint32_t classes = d->train.classes;
    d->train.classes = 0; /* one class: all threads work on it together */
    for (int i = 0; i < 4; i++)
        same_on_any_threads(
            "submodular", OPTIONS("submodular", "algorithm", algorithms[i], "neighbours", "16"), d);
    d->train.classes = classes;
    mot_dataset_close(d);
}

TEST(herding_gives_the_same_parts_whatever_the_algorithm_does_with_its_threads)
{
    struct mot_dataset *d = open_set("digits", 300, 2);
    static const char *const algorithms[] = { "dense", "blocked", "chunks" };
    uint32_t classes = d->train.classes;
    for (int i = 0; i < 6; i++) {
        d->train.classes = i < 3 ? classes : 0; /* one class: all threads work on it together */
        same_on_any_threads("herding", OPTIONS("herding", "algorithm", algorithms[i % 3]), d);
    }
    d->train.classes = classes;
    mot_dataset_close(d);
}

TEST(the_figures_of_quality_are_the_same_bits_on_any_number_of_threads)
{
    struct mot_dataset *d = open_set("digits", 300, 2);
    double mmd2[2] = { 0 }, value = 0;
    for (unsigned threads = 1; threads <= 4; threads++)
        for (int way = 0; way < 2; way++) {
            struct mot_split s = { .table = &d->train, .parts = 6, .seed = 9, .threads = threads };
            struct mot_parts p;
            struct mot_features f;
            struct mot_quality q;
            CHECK_INT(mot_partition(partitioner("equal"), NULL, &s, &p, NULL), MOT_OK);
            CHECK_INT(mot_features_open("raw", &s, UINT64_MAX, NULL, &f), MOT_OK);
            CHECK_INT(mot_quality_of(&s, &p, &f, 0, way ? MOT_MMD_RANDOM : MOT_MMD_EXACT, &q), MOT_OK);
            if (threads == 1) mmd2[way] = q.mmd2_mean;
            if (threads == 1 && !way) value = q.facility_location;
            CHECK(q.mmd2_mean == mmd2[way]);
            CHECK(way || q.facility_location == value);
            mot_quality_close(&q);
            mot_features_close(&f);
            mot_parts_free(&p);
        }
    mot_dataset_close(d);
}

TEST_MAIN()
