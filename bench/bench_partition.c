/* bench_partition.c [select | limits | doubling] -- what submodular selection costs.
 *
 * select: facility location, lazy, 1,000 of 10,000 samples of 25 columns; its value, in double, against that
 * of a greedy which looks
 *   at every sample for every pick.
 * limits: Fashion-MNIST over 8 workers: on 10,000 samples each algorithm's MMD^2 against the
 * exact greedy's; all 60,000. doubling: from 5,000 to 60,000 samples, and the exponent that
 * fits the CPU times. Without an argument all three. CPU seconds are of all threads: on a shared machine they
 * mean more than the wall's. */
#include "base/memory.h"
#include "base/options.h"
#include "base/rng.h"
#include "base/stopwatch.h"
#include "data/data.h"
#include "math/kernels.h"
#include "partition/greedy.h"
#include "partition/quality.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static double peak_mb(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_maxrss / 1000;
}

static void check(enum mot_status status)
{
    if (status == MOT_OK) return;
    fprintf(stderr, "bench_partition: %s\n", mot_error());
    exit(status);
}

/* ---- Selecting a thousand ---------------------------------------------------------------------- */

enum { N = 10000, D = 25, K = 1000 };

static double distance2(const float *a, const float *b)
{
    double sum = 0;
    for (int c = 0; c < D; c++) sum += ((double)a[c] - (double)b[c]) * ((double)a[c] - (double)b[c]);
    return sum;
}

/* The plain greedy on floats from double distances: every sample's gain is computed again for every pick. */
static void plain_greedy(const float *x, double gamma, uint32_t *order)
{
    float *s = malloc((size_t)N * N * sizeof *s), *cover = mot_new(N, sizeof *cover);
    unsigned char *taken = mot_new(N, 1);
    if (!s) exit(MOT_ESYSTEM);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j <= i; j++)
            s[i * N + j] = s[j * N + i] = (float)exp(-gamma * distance2(x + i * D, x + j * D));
    for (int k = 0; k < K; k++) {
        double most = -1;
        uint32_t best = 0;
        for (uint32_t v = 0; v < N; v++) {
            const float *row = s + (size_t)v * N;
            float lane[16] = { 0 };
            if (taken[v]) continue;
            for (int i = 0; i < N; i += 16)
                for (int l = 0; l < 16; l++)
                    lane[l] += row[i + l] > cover[i + l] ? row[i + l] - cover[i + l] : 0;
            double gain = 0;
            for (int l = 0; l < 16; l++) gain += (double)lane[l];
            if (gain > most) most = gain, best = v;
        }
        taken[best] = 1;
        order[k] = best;
        for (int i = 0; i < N; i++)
            cover[i] = s[(size_t)best * N + i] > cover[i] ? s[(size_t)best * N + i] : cover[i];
    }
    free(s), free(cover), free(taken);
}

/* f of a selection, in double from the features. */
static double value_of(const float *x, double gamma, const uint32_t *order)
{
    double value = 0;
    for (size_t i = 0; i < N; i++) {
        double least = INFINITY;
        for (int k = 0; k < K; k++) least = fmin(least, distance2(x + i * D, x + (size_t)order[k] * D));
        value += exp(-gamma * least);
    }
    return value;
}

static void select_once(const struct mot_features *f, double bandwidth, enum mot_similar_kind kind,
    struct mot_crew *crew, uint32_t *order, double *wall_s, double *cpu_s)
{
    const uint32_t quota[] = { K };
    int64_t value;
    uint32_t *owner = mot_new(N, sizeof *owner), *all = mot_new(N, sizeof *all);
    double w = mot_wall_s(), c = mot_cpu_s();
    struct mot_samples samples;
    mot_samples_open(f, NULL, N, bandwidth, &samples);
    struct mot_similar s = { .kind = kind, .samples = &samples, .crew = crew, .k = 256 };
    check(mot_similar_open(&s));
    struct mot_greedy g = {
        .similar = &s, .blocks = 1, .quota = quota, .owner = owner, .order = all, .value = &value
    };
    check(mot_greedy_run(&g));
    *wall_s = mot_wall_s() - w;
    *cpu_s = mot_cpu_s() - c;
    memcpy(order, all, K * sizeof *order);
    mot_similar_close(&s);
    mot_samples_close(&samples);
    free(owner), free(all);
}

static void bench_select(void)
{
    static const struct {
        const char *name;
        enum mot_similar_kind kind;
    } ways[] = {
        { "dense", MOT_SIMILAR_DENSE },
        { "blocked", MOT_SIMILAR_BLOCKED },
        { "knn, 256", MOT_SIMILAR_KNN },
    };
    static uint32_t order[K], exact[K];
    struct mot_rng rng = mot_rng_at(1, MOT_RNG_TEST, 0);
    float *x = mot_new((size_t)N * D, sizeof *x);
    for (size_t i = 0; i < (size_t)N * D; i++) x[i] = (float)mot_rng_unit(&rng);
    struct mot_table t = { .rows = N, .cols = D, .x = x };
    struct mot_features f = { .rows = N, .cols = D, .x = x, .table = &t };
    double bandwidth = mot_features_bandwidth(&f, 1), gamma = 1 / (2 * bandwidth * bandwidth);
    double plain_s = mot_cpu_s();
    plain_greedy(x, gamma, exact);
    plain_s = mot_cpu_s() - plain_s;
    double plain = value_of(x, gamma, exact);
    printf("Facility location, %d of %d samples, %d columns; plain greedy %.1f s of CPU, value %.6f\n", K, N,
        D, plain_s, plain);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct mot_crew *crew = mot_crew_open((unsigned)sysconf(_SC_NPROCESSORS_ONLN));
        double best = INFINITY, best_cpu = INFINITY, w, c;
        for (int repeat = 0; repeat < 5; repeat++) {
            select_once(&f, bandwidth, ways[i].kind, crew, order, &w, &c);
            best = fmin(best, w);
            best_cpu = fmin(best_cpu, c);
        }
        mot_crew_close(crew);
        int same = 0;
        while (same < K && order[same] == exact[same]) same++;
        printf("  %-9s %.3f s, %.3f s of CPU (best of 5); submodlib's 11.9 s is %.0f times the wall time, "
               "%.0f times the CPU time; value %.8f of plain; the first %d picks agree\n",
            ways[i].name, best, best_cpu, 11.9 / best, 11.9 / best_cpu, value_of(x, gamma, order) / plain,
            same);
    }
    free(x);
}

/* ---- Fashion-MNIST -------------------------------------------------------------------------------- */

static struct mot_arena arena;

static struct mot_dataset *open_rows(uint64_t rows, uint64_t seed)
{
    struct mot_data_conf conf = { 0 };
    struct mot_dataset *set;
    check(mot_options_preset(mot_data_options, &conf, &arena));
    conf.name = "fashion-mnist";
    conf.rows = rows;
    conf.test = 0;
    check(mot_dataset_open(&conf, seed, &set));
    return set;
}

static void *options(const char *objective, const char *algorithm)
{
    const struct mot_option *table = mot_partition_submodular.options;
    void *conf = mot_arena_new(&arena, mot_partition_submodular.conf_bytes);
    check(mot_options_preset(table, conf, &arena));
    check(mot_option_set(mot_option_find(table, "objective"), conf, objective, &arena));
    check(mot_option_set(mot_option_find(table, "algorithm"), conf, algorithm, &arena));
    return conf;
}

struct cut {
    double wall_s, cpu_s, mmd2, random, value, measure_s;
    struct mot_split_cost cost;
};

static struct cut run(
    const struct mot_dataset *d, const char *objective, const char *algorithm, uint64_t seed, bool measure)
{
    struct mot_split s = { .table = &d->train, .parts = 8, .seed = seed };
    struct mot_parts p;
    struct cut r = { .wall_s = mot_wall_s(), .cpu_s = mot_cpu_s() };
    check(mot_partition(&mot_partition_submodular, options(objective, algorithm), &s, &p, &r.cost));
    r.wall_s = mot_wall_s() - r.wall_s;
    r.cpu_s = mot_cpu_s() - r.cpu_s;
    if (measure) {
        struct mot_features f;
        struct mot_quality q;
        double began = mot_wall_s();
        check(mot_features_open("raw", &s, UINT64_MAX, NULL, &f));
        check(mot_quality_of(&s, &p, &f, r.cost.bandwidth, MOT_MMD_EXACT, &q));
        r.measure_s = mot_wall_s() - began;
        r.mmd2 = q.mmd2_mean;
        r.random = q.mmd2_random;
        r.value = objective[0] == 'g' ? q.graph_cut : q.facility_location;
        mot_quality_close(&q);
        mot_features_close(&f);
    }
    mot_parts_free(&p);
    return r;
}

static void bench_limits(void)
{
    static const struct {
        const char *objective, *algorithm;
    } ways[] = {
        { "facility-location", "dense" },
        { "facility-location", "knn" },
        { "facility-location", "stochastic" },
        { "facility-location", "blocked" },
        { "graph-cut", "dense" },
        { "graph-cut", "blocked" },
    };
    puts("Fashion-MNIST, 8 workers, raw pixels; MMD^2 and value relative to the exact greedy, mean over 3 "
         "seeds (worst)");
    printf("%-18s %-11s %8s %8s %8s  %-16s %9s %10s\n", "objective", "algorithm", "rows", "wall s", "CPU s",
        "MMD^2", "value", "at random");
    struct cut exact[3];
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        double ratio = 0, worst = 0, value = 0, w = 0, c = 0, random = 0;
        for (uint64_t seed = 1; seed <= 3; seed++) {
            struct mot_dataset *d = open_rows(10000, seed);
            struct cut r = run(d, ways[i].objective, ways[i].algorithm, seed, true);
            if (strcmp(ways[i].algorithm, "dense") == 0) exact[seed - 1] = r;
            double here = r.mmd2 / exact[seed - 1].mmd2;
            ratio += here / 3;
            worst = fmax(worst, here);
            value += r.value / exact[seed - 1].value / 3;
            random += r.random / exact[seed - 1].mmd2 / 3;
            w += r.wall_s / 3;
            c += r.cpu_s / 3;
            mot_dataset_close(d);
        }
        printf("%-18s %-11s %8d %8.2f %8.2f  %.3f (%.3f)    %9.5f %10.2f\n", ways[i].objective,
            ways[i].algorithm, 10000, w, c, ratio, worst, value, random);
    }
    struct mot_dataset *d = open_rows(60000, 1);
    for (size_t i = 0; i < 5; i++) {
        if (i == 2 || i == 3) continue; /* minutes */
        struct cut r = run(d, ways[i].objective, ways[i].algorithm, 1, true);
        printf("%-18s %-11s %8d %8.2f %8.2f  %.3g; random %.3g; measured in %.1f s; %.0f MB at peak so far\n",
            ways[i].objective, ways[i].algorithm, 60000, r.wall_s, r.cpu_s, r.mmd2, r.random, r.measure_s,
            peak_mb());
    }
    mot_dataset_close(d);
}

/* The slope of log time over log rows, by least squares. */
static double exponent(const double *rows, const double *seconds, int n)
{
    double x = 0, y = 0, xx = 0, xy = 0;
    for (int i = 0; i < n; i++) {
        double a = log(rows[i]), b = log(seconds[i]);
        x += a, y += b, xx += a * a, xy += a * b;
    }
    return (n * xy - x * y) / (n * xx - x * x);
}

static void bench_doubling(void)
{
    static const struct {
        const char *objective, *algorithm;
    } ways[] = {
        { "facility-location", "dense" },
        { "facility-location", "knn" },
        { "graph-cut", "dense" },
        { "graph-cut", "blocked" },
    };
    static const double rows[] = { 5000, 10000, 20000, 40000, 60000 };
    enum { SIZES = sizeof rows / sizeof *rows };
    puts("CPU seconds as the rows double (Fashion-MNIST, 8 workers, 784 columns, 10 classes), and the "
         "exponent that fits");
    printf("%-18s %-9s", "objective", "algorithm");
    for (int i = 0; i < SIZES; i++) printf(" %8.0f", rows[i]);
    puts("  exponent");
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        double seconds[SIZES];
        printf("%-18s %-9s", ways[k].objective, ways[k].algorithm);
        for (int i = 0; i < SIZES; i++) {
            struct mot_dataset *d = open_rows((uint64_t)rows[i], 1);
            seconds[i] = run(d, ways[k].objective, ways[k].algorithm, 1, false).cpu_s;
            mot_dataset_close(d);
            printf(" %8.2f", seconds[i]);
            fflush(stdout);
        }
        printf("  %.2f\n", exponent(rows, seconds, SIZES));
    }
}

int main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "";
    const bool all = !*what;
    check(mot_kernels_open());
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (all || strcmp(what, "select") == 0) bench_select();
    bool fashion = false;
    for (const struct mot_builtin *b = mot_builtins; b->name; b++)
        fashion |= strcmp(b->name, "fashion-mnist") == 0 && b->available();
    if (!fashion && (all || strcmp(what, "select") != 0)) {
        puts("Fashion-MNIST is not on this machine: skipping the rest");
        return 0;
    }
    if (all || strcmp(what, "limits") == 0) bench_limits();
    if (all || strcmp(what, "doubling") == 0) bench_doubling();
    mot_arena_free(&arena);
    return 0;
}
