/* How far parts and rows differ: against the definition in double, for parts that are alike and parts that
 * are not, on some rows instead of all, and the same under every driver. */
#include "base/memory.h"
#include "run/heterogeneity.h"
#include "run/views.h"
#include "run/run.h"

static const struct mot_look every_row = { .parts = UINT32_MAX, .rows = UINT64_MAX, .groups = UINT32_MAX };

static bool open_job(struct run *r)
{
    r->status = mot_experiment_open(NULL, r->setting, r->settings, &r->experiment);
    if (r->status == MOT_OK) r->status = mot_job_open(r->experiment, &r->job);
    if (r->status != MOT_OK) printf("  %s\n", mot_error());
    return r->status == MOT_OK;
}

#define OPENED(r, ...)                                                                                       \
    struct run r = { 0 };                                                                                    \
    RUN_SET(&r, __VA_ARGS__);                                                                                \
    CHECK(open_job(&r))

/* ---- The definition ------------------------------------------------------------------------------------ */

/* The gradient of (w.x + b - y)^2 / 2 at a row; the penalty is the same for all rows, and left out. */
static void add_row(const struct mot_job *j, uint32_t row, double *g)
{
    const struct mot_table *t = &j->data->train;
    const float *x = t->x + (size_t)row * t->cols;
    double d = (double)j->x0[t->cols] - (double)t->y[row];
    for (uint32_t c = 0; c < t->cols; c++) d += (double)j->x0[c] * (double)x[c];
    for (uint32_t c = 0; c < t->cols; c++) g[c] += d * (double)x[c];
    g[t->cols] += d;
}

static double *mean_of(const struct mot_job *j, uint64_t first, uint64_t end)
{
    double *g = mot_new(j->net.dim, sizeof *g);
    for (uint64_t i = first; i < end; i++) add_row(j, j->parts.row[i], g);
    for (uint32_t c = 0; c < j->net.dim; c++) g[c] /= (double)(end - first);
    return g;
}

static double distance2(const double *a, const double *b, uint32_t dim)
{
    double sum = 0;
    for (uint32_t c = 0; c < dim; c++) sum += (a[c] - b[c]) * (a[c] - b[c]);
    return sum;
}

static struct mot_heterogeneity by_definition(const struct mot_job *j)
{
    const struct mot_parts *p = &j->parts;
    struct mot_heterogeneity h = { 0, 0 };
    double rows = (double)p->at[p->parts], *all = mean_of(j, 0, p->at[p->parts]);
    for (uint32_t part = 0; part < p->parts; part++) {
        double *mine = mean_of(j, p->at[part], p->at[part + 1]);
        h.zeta2 += (double)(p->at[part + 1] - p->at[part]) / rows * distance2(mine, all, j->net.dim);
        for (uint64_t i = p->at[part]; i < p->at[part + 1]; i++) {
            double *one = mean_of(j, i, i + 1);
            h.sigma2 += distance2(one, mine, j->net.dim) / rows;
            free(one);
        }
        free(mine);
    }
    free(all);
    return h;
}

#define LINE                                                                                                 \
    "data", "synthetic", "data.kind", "regression", "data.size", "300", "model", "least-squares",            \
        "model.init", "random", "model.reg", "l2", "model.lambda", "0.1"

TEST(all_rows_one_by_one_give_the_definition_of_both)
{
    static const char *const cuts[] = { "equal", "sorted", "quantity" };
    for (size_t c = 0; c < MOT_COUNT(cuts); c++) {
        OPENED(r, LINE, "workers", "11", "partition", cuts[c]);
        struct mot_heterogeneity want = by_definition(&r.job), is = mot_job_differs(&r.job, &every_row, 1);
        CHECK(want.zeta2 > 0 && want.sigma2 > 0);
        CHECK_NEAR(is.zeta2 / want.zeta2, 1, 1e-5); /* gradients are floats */
        CHECK_NEAR(is.sigma2 / want.sigma2, 1, 1e-5);
        run_free(&r);
    }
}

TEST(one_worker_has_no_parts_that_differ)
{
    OPENED(r, LINE, "workers", "1");
    struct mot_heterogeneity h = mot_job_differs(&r.job, &every_row, 1);
    CHECK(h.zeta2 == 0);
    CHECK_NEAR(h.sigma2 / by_definition(&r.job).sigma2, 1, 1e-5);
    run_free(&r);
}

TEST(parts_of_the_same_rows_do_not_differ_at_all)
{
    OPENED(r, LINE, "workers", "3");
    struct mot_parts *p = &r.job.parts;
    uint64_t n = p->at[1];
    for (uint32_t part = 1; part < 3; part++) {
        p->at[part + 1] = (part + 1) * n; /* 80 rows of 240 each */
        memcpy(p->row + part * n, p->row, n * sizeof *p->row);
    }
    CHECK(mot_job_differs(&r.job, &every_row, 1).zeta2 == 0);
    struct mot_look some = { .parts = 3, .rows = 60, .groups = 4 };
    CHECK(mot_job_differs(&r.job, &some, 1).zeta2 == 0);
    run_free(&r);
}

TEST_SIMULATED(sorted_labels_set_parts_further_apart_than_rows_are_and_random_ones_do_not)
{
    OPENED(sorted, "data", "digits", "partition", "sorted");
    OPENED(random, "data", "digits", "partition", "equal");
    struct mot_heterogeneity a = mot_job_differs(&sorted.job, &every_row, 2),
                             b = mot_job_differs(&random.job, &every_row, 2);
    CHECK(a.zeta2 > 20 * b.zeta2);
    CHECK(a.zeta2 > 10 * a.sigma2 / 32);
    CHECK(b.zeta2 < b.sigma2 / 32);
    /* Whatever the cut, the rows are as far from all others: both together are the same. */
    CHECK_NEAR((a.zeta2 + a.sigma2) / (b.zeta2 + b.sigma2), 1, 1e-5);
    run_free(&sorted);
    run_free(&random);
}

/* ---- Some rows instead of all ------------------------------------------------------------------------ */

/* The mean over seeds, which choose the rows, against the definition; data and parts stay. */
static void check_look(struct run *r, const struct mot_look *look, uint32_t times, double within)
{
    struct mot_heterogeneity want = mot_job_differs(&r->job, &every_row, 1), mean = { 0, 0 };
    for (uint32_t i = 0; i < times; i++) {
        r->job.problem.sampler.seed = 1000 + i;
        struct mot_heterogeneity h = mot_job_differs(&r->job, look, 1);
        mean.zeta2 += h.zeta2 / times;
        mean.sigma2 += h.sigma2 / times;
    }
    CHECK_NEAR(mean.zeta2 / want.zeta2, 1, within);
    CHECK_NEAR(mean.sigma2 / want.sigma2, 1, within);
}

TEST_SIMULATED(some_rows_are_right_on_average)
{
    /* Without what they differ by at random, 40 of 160 rows would make random parts 4 times as different. */
    OPENED(random, "data", "digits", "data.rows", "1600", "model", "softmax", "workers", "8", "partition",
        "equal");
    check_look(&random, &(struct mot_look){ .parts = 8, .rows = 320, .groups = 2 }, 200, 0.1);
    OPENED(sorted, "data", "digits", "data.rows", "1600", "model", "softmax", "workers", "8", "partition",
        "sorted");
    check_look(&sorted, &(struct mot_look){ .parts = 8, .rows = 64, .groups = 8 }, 200, 0.05);
    run_free(&random);
    run_free(&sorted);
}

TEST(some_parts_stand_for_many)
{
    OPENED(r, "data", "digits", "model", "softmax", "workers", "200", "partition", "equal");
    struct mot_heterogeneity all = mot_job_differs(&r.job, &every_row, 1),
                             some =
                                 mot_job_differs(&r.job, &(struct mot_look){ 50, UINT64_MAX, UINT32_MAX }, 1);
    CHECK_NEAR(some.zeta2 / all.zeta2, 1, 0.1);
    CHECK_NEAR(some.sigma2 / all.sigma2, 1, 0.1);
    run_free(&r);
}

TEST(threads_do_not_show)
{
    OPENED(r, "data", "digits", "workers", "11");
    struct mot_look look = mot_look_of_run(&r.job.problem);
    struct mot_heterogeneity one = mot_job_differs(&r.job, &look, 1),
                             three = mot_job_differs(&r.job, &look, 3);
    CHECK(one.zeta2 == three.zeta2 && one.sigma2 == three.sigma2 && one.sigma2 > 0);
    run_free(&r);
}

TEST_SIMULATED(a_run_looks_at_a_bounded_number_of_rows_and_parts)
{
    OPENED(small, "data", "digits", "workers", "2");
    OPENED(large, "data", "synthetic", "data.size", "100000", "workers", "5000", "batch", "4");
    struct mot_look a = mot_look_of_run(&small.job.problem), b = mot_look_of_run(&large.job.problem);
    CHECK_INT(a.rows, small.job.data->train.rows / 3);
    CHECK_INT(a.groups, 8);
    CHECK(b.rows == 4096 && b.parts == 64 && b.groups == 3);
    run_free(&small);
    run_free(&large);
}

/* ---- A batch's noise ----------------------------------------------------------------------------------- */

static double share_of(const char *batch, const char *sampler)
{
    struct run r = { 0 };
    RUN_SET(&r, "data", "synthetic", "data.size", "500", "workers", "4", "batch", batch, "sampler", sampler);
    double share = open_job(&r) ? mot_batch_share(r.experiment, &r.job.parts) : NAN; /* parts of 100 rows */
    run_free(&r);
    return share;
}

TEST(a_batch_has_a_share_of_the_noise_of_its_rows)
{
    CHECK_NEAR(share_of("20", "replace"), 1.0 / 20, 1e-12);
    CHECK_NEAR(share_of("20", "reshuffle"), 80.0 / 99 / 20, 1e-12);
    CHECK_NEAR(share_of("[10, 20, 40, 100]", "replace"), (0.1 + 0.05 + 0.025 + 0.01) / 4, 1e-12);
    CHECK(share_of("100", "reshuffle") == 0);
    CHECK(share_of("150", "reshuffle") == 0);
    CHECK(share_of("full", "reshuffle") == 0);
}

/* ---- In runs ------------------------------------------------------------------------------------------- */

#define RUN "data", "digits", "model", "softmax", "workers", "4", "stop.updates", "40"

static bool same(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

static void run_into(
    const struct mot_driver *driver, const char *when, const char *const *method, struct run *r)
{
    r->ways.driver = driver;
    RUN_SET(r, RUN, "evaluate.heterogeneity", when);
    run_set_all(r, method);
    run_go(r);
}

static const char *const kinds[][5] = {
    { "method", "allreduce" },
    { "method", "server" },
    { "method", "dpsgd", "topology", "ring" },
    { "method", "matcha", "topology", "complete" },
};

TEST(a_synchronous_run_has_the_same_figures_simulated_and_on_threads)
{
    for (size_t k = 0; k < MOT_COUNT(kinds); k++) {
        struct run sim = { 0 }, threads = { 0 };
        run_into(&mot_driver_sim, "ends", kinds[k], &sim);
        run_into(&mot_driver_threads, "ends", kinds[k], &threads);
        CHECK(sim.status == MOT_OK && threads.status == MOT_OK);
        const struct mot_moment *a = &sim.out.last, *b = &threads.out.last;
        CHECK(a->score.zeta2 >= 0 && a->score.sigma2 > 0);
        CHECK(a->score.zeta2 == b->score.zeta2 && a->score.sigma2 == b->score.sigma2);
        CHECK(sim.out.start.zeta2 == threads.out.start.zeta2);
        CHECK(sim.out.start.sigma2 == threads.out.start.sigma2 && sim.out.start.known);
        CHECK(same(a->mixed.consensus, b->mixed.consensus));
        CHECK(k < 2 ? isnan(a->mixed.consensus) : a->mixed.consensus > 0);
        CHECK(same(a->active_jobs, b->active_jobs));
        run_free(&sim);
        run_free(&threads);
    }
}

TEST_SIMULATED(looking_changes_nothing)
{
    static const char *const when[] = { "never", "ends", "always" };
    for (size_t k = 0; k < MOT_COUNT(kinds); k++) {
        struct mot_outcome first = { 0 };
        for (size_t w = 0; w < MOT_COUNT(when); w++) {
            struct run r = { 0 };
            run_into(&mot_driver_sim, when[w], kinds[k], &r);
            CHECK(r.status == MOT_OK);
            if (w == 0) first = r.out;
            CHECK(r.out.model_hash == first.model_hash && r.out.last.now == first.last.now);
            CHECK(r.out.last.score.grad_norm == first.last.score.grad_norm);
            CHECK(isnan(r.out.last.score.zeta2) == (w == 0) && r.out.start.known == (w != 0));
            run_free(&r);
        }
    }
}

/* ---- Jobs under way, delays, consensus ----------------------------------------------------------------- */

TEST(workers_with_a_job_each_are_as_many_active_jobs)
{
    struct run r = { 0 };
    static const char *const async[] = { "method", "async", NULL };
    run_into(&mot_driver_sim, "ends", async, &r);
    CHECK(r.status == MOT_OK && r.out.last.active_jobs == 4);
    run_free(&r);
    struct run live = { 0 };
    run_into(&mot_driver_threads, "ends", async, &live);
    CHECK(live.status == MOT_OK && live.out.last.active_jobs == 4);
    run_free(&live);
    struct run few = { 0 };
    static const char *const two[] = { "method", "async", "method.assign", "random", "method.jobs", "2",
        NULL };
    run_into(&mot_driver_sim, "ends", two, &few);
    CHECK(few.status == MOT_OK && few.out.last.active_jobs == 2);
    run_free(&few);
}

TEST(the_largest_delay_is_that_of_the_histogram)
{
    struct run r = { 0 };
    RUN_SET(&r, "cluster", "{workers: [{count: 3, speed: 1000/s}, {count: 1, speed: 100/s}]}");
    run_into(&mot_driver_sim, "ends", (const char *const[]){ "method", "async", NULL }, &r);
    CHECK(r.status == MOT_OK && r.out.last.staleness_max > 10);
    uint32_t most = 0;
    for (uint32_t bin = 0; bin < MOT_HISTOGRAM_EXACT; bin++)
        if (r.out.staleness.count[bin]) most = bin;
    CHECK_INT(r.out.last.staleness_max, most);
    run_free(&r);
}

TEST(consensus_is_the_mean_squared_distance_from_the_mean)
{
    const float a[] = { 1, 2 }, b[] = { 6, 12 }, mean[] = { 2, 4 };
    const struct mot_world w = { .dim = 2, .workers = 4 };
    struct mot_piece piece[] = { { .x = a, .scale = 1, .len = 2 }, { .x = b, .scale = 0.5, .len = 2 } };
    CHECK_NEAR(mot_pieces_mixed(piece, 2, &w, mean).consensus, 5, 0);
    CHECK_NEAR(mot_pieces_mixed(piece, 1, &w, a).consensus, 0, 0);
    struct mot_mixed none = mot_pieces_mixed(piece, 2, &w, mean);
    CHECK(isnan(none.drift) && isnan(none.mass));
}

TEST(drift_is_what_mixing_moved_the_mean_by_and_mass_what_weights_are_left)
{
    const float x[] = { 3, 4 }, up[] = { 2, 0 }, down[] = { -2, 0 }, other[] = { 0, 4 }, zero[] = { 0, 0 };
    const struct mot_world w = { .dim = 2, .workers = 4 };
    struct mot_piece piece[] = { { .x = x, .scale = 1, .len = 2, .mass = 0.5, .moved = up },
        { .x = x, .scale = 1, .len = 2, .mass = 1.25, .moved = down } };
    struct mot_mixed kept = mot_pieces_mixed(piece, 2, &w, x);
    CHECK(kept.drift == 0 && kept.consensus == 0);
    CHECK_NEAR(kept.mass, 1.75 / 4, 0); /* two of the four are lost, and their weight with them */
    piece[1].moved = other;
    CHECK_NEAR(mot_pieces_mixed(piece, 2, &w, x).drift, sqrt(5) / 5, 1e-15);
    piece[1].moved = NULL; /* of those that keep track */
    CHECK_NEAR(mot_pieces_mixed(piece, 2, &w, x).drift, 2.0 / 5, 1e-15);
    piece[0].moved = zero; /* a model that begins at 0 has no norm to compare with */
    CHECK(mot_pieces_mixed(piece, 1, &w, zero).drift == 0);
}

TEST_MAIN()
