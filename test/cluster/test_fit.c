/* Traces are drawn from known models by mot_job_time and fitted back. Bounds are five standard errors of the
 * estimate, as the sample's size gives them. */
#include "cluster/fit.h"
#include "base/exact.h"
#include "shared.h"
#include "test.h"

#define SEED 20
#define ERRORS 5 /* standard errors: one failure in a million */

static double error_of(double p, double n) { return ERRORS * sqrt(p * (1 - p) / n); }

static double *trace_from(
    const struct mot_machine *machine, uint32_t kinds, uint32_t rows, uint32_t cols, struct mot_trace *out)
{
    double *seconds = malloc(sizeof *seconds * rows * cols);
    for (uint32_t c = 0; c < cols; c++) {
        struct mot_pace pace = { 0 };
        for (uint32_t r = 0; r < rows; r++)
            seconds[(size_t)r * cols + c] =
                (double)mot_job_time(&machine[c % kinds], SEED, c, &pace, 1) * 1e-9;
    }
    *out = (struct mot_trace){ rows, cols, seconds, NULL };
    printf("  seed %d\n", SEED);
    return seconds;
}

static struct mot_machine straggler(struct mot_straggle s)
{
    return (struct mot_machine){ .has_job_time = true,
        .job_time = { .kind = MOT_LAW_LOGNORMAL, .mean = 2, .sigma = 0.05 },
        .jitter = { .kind = MOT_LAW_FIXED, .mean = 1 },
        .straggle = s };
}

TEST(iid_is_fitted_back)
{
    struct mot_machine m = straggler((struct mot_straggle){ MOT_STRAGGLE_IID, .factor = 6, .p = 0.1 });
    struct mot_trace t;
    struct mot_fit f;
    double *seconds = trace_from(&m, 1, 300, 20, &t);
    CHECK_INT(mot_fit_open("t", &t, 2, 1, &f), MOT_OK);
    CHECK_INT(f.best, MOT_FIT_IID);
    CHECK(mot_fit_agrees(&f, MOT_FIT_IID));
    CHECK_NEAR(f.model[MOT_FIT_IID].straggle.p, 0.1, error_of(0.1, 6000));
    /* 600 factors with a deviation of 5 % each, over means of 270 */
    CHECK_NEAR(f.factor, 6, ERRORS * 6 * 0.05 / sqrt(300));
    CHECK_INT(f.law[f.best_law].kind, MOT_LAW_LOGNORMAL);
    for (uint32_t i = 0; i < 20; i++) {
        CHECK_NEAR(f.node[i].mean, 2, ERRORS * 2 * 0.05 / sqrt(240));
        CHECK_NEAR(f.node[i].law.mean, 2, ERRORS * 2 * 0.05 / sqrt(240));
        CHECK_NEAR(f.node[i].law.sigma, 0.05, ERRORS * 0.05 / sqrt(2 * 240));
    }
    mot_fit_close(&f);
    free(seconds);
}

TEST(two_classes_are_fitted_back_and_their_nodes_found)
{
    struct mot_machine m = straggler((struct mot_straggle){
        MOT_STRAGGLE_TWO_CLASS, .factor = 6, .slow = 0.2, .p_slow = 0.8, .p_fast = 0.01 });
    struct mot_trace t;
    struct mot_fit f;
    double *seconds = trace_from(&m, 1, 100, 200, &t);
    CHECK_INT(mot_fit_open("t", &t, 2, 1, &f), MOT_OK);
    const struct mot_straggle *s = &f.model[MOT_FIT_TWO_CLASS].straggle;
    CHECK_INT(f.best, MOT_FIT_TWO_CLASS);
    CHECK(mot_fit_agrees(&f, MOT_FIT_TWO_CLASS));
    CHECK_NEAR(s->slow, 0.2, error_of(0.2, 200));
    CHECK_NEAR(s->p_slow, 0.8, error_of(0.8, 200 * s->slow * 100));
    CHECK_NEAR(s->p_fast, 0.01, error_of(0.01, 200 * (1 - s->slow) * 100));
    for (uint32_t i = 0; i < 200; i++) {
        CHECK_INT(f.node[i].slow > 0.5, f.node[i].straggles > 40); /* nothing lies between */
        CHECK_NEAR(
            mot_fit_straggle(&f, MOT_FIT_CLASSES, i).p, f.node[i].slow > 0.5 ? s->p_slow : s->p_fast, 0);
    }
    mot_fit_close(&f);
    free(seconds);
}

TEST(a_chain_is_fitted_back_and_no_other_model_has_its_runs)
{
    struct mot_machine m = straggler(
        (struct mot_straggle){ MOT_STRAGGLE_MARKOV, .factor = 6, .stay_slow = 0.9, .stay_fast = 0.98 });
    struct mot_trace t;
    struct mot_fit f;
    double *seconds = trace_from(&m, 1, 400, 40, &t), slow = 40 * 400 / 6.0;
    CHECK_INT(mot_fit_open("t", &t, 2, 1, &f), MOT_OK);
    const struct mot_straggle *s = &f.model[MOT_FIT_MARKOV].straggle;
    CHECK_INT(f.best, MOT_FIT_MARKOV);
    CHECK(mot_fit_agrees(&f, MOT_FIT_MARKOV));
    CHECK_NEAR(s->stay_slow, 0.9, error_of(0.9, slow));
    CHECK_NEAR(s->stay_fast, 0.98, error_of(0.98, 5 * slow));
    CHECK(!mot_fit_agrees(&f, MOT_FIT_IID));
    CHECK(!mot_fit_agrees(&f, MOT_FIT_TWO_CLASS));
    CHECK(!mot_fit_agrees(&f, MOT_FIT_IID_EACH));
    mot_fit_close(&f);
    free(seconds);
}

TEST(nodes_that_differ_have_parameters_of_their_own)
{
    struct mot_machine each[8];
    for (int i = 0; i < 8; i++) {
        each[i] = straggler((struct mot_straggle){ MOT_STRAGGLE_NONE, .factor = 1 });
        each[i].job_time.mean = 1 + 0.05 * i;
    }
    each[2].straggle = (struct mot_straggle){ MOT_STRAGGLE_IID, .factor = 4, .p = 0.2 };
    each[5].straggle = (struct mot_straggle){ MOT_STRAGGLE_IID, .factor = 9, .p = 0.7 };
    struct mot_trace t;
    struct mot_fit f;
    double *seconds = trace_from(each, 8, 500, 8, &t);
    CHECK_INT(mot_fit_open("t", &t, 2, 1, &f), MOT_OK);
    CHECK_INT(f.best, MOT_FIT_IID_EACH);
    CHECK(mot_fit_agrees(&f, MOT_FIT_IID_EACH));
    struct mot_straggle a = mot_fit_straggle(&f, MOT_FIT_IID_EACH, 2);
    struct mot_straggle b = mot_fit_straggle(&f, MOT_FIT_IID_EACH, 5);
    CHECK_NEAR(a.p, 0.2, error_of(0.2, 500));
    CHECK_NEAR(b.p, 0.7, error_of(0.7, 500));
    CHECK_NEAR(a.factor, 4, ERRORS * 4 * 0.05 * sqrt(1 / 100.0 + 1 / 400.0));
    CHECK_NEAR(b.factor, 9, ERRORS * 9 * 0.05 * sqrt(1 / 350.0 + 1 / 150.0));
    CHECK_INT(mot_fit_straggle(&f, MOT_FIT_IID_EACH, 0).kind, MOT_STRAGGLE_NONE);
    mot_fit_close(&f);
    free(seconds);

    each[2].straggle =
        (struct mot_straggle){ MOT_STRAGGLE_MARKOV, .factor = 4, .stay_slow = 0.95, .stay_fast = 0.95 };
    each[5].straggle =
        (struct mot_straggle){ MOT_STRAGGLE_MARKOV, .factor = 4, .stay_slow = 0.8, .stay_fast = 0.99 };
    seconds = trace_from(each, 8, 2000, 8, &t);
    CHECK_INT(mot_fit_open("t", &t, 2, 1, &f), MOT_OK);
    CHECK_INT(f.best, MOT_FIT_MARKOV_EACH);
    a = mot_fit_straggle(&f, MOT_FIT_MARKOV_EACH, 2);
    b = mot_fit_straggle(&f, MOT_FIT_MARKOV_EACH, 5);
    CHECK_NEAR(a.stay_slow, 0.95, error_of(0.95, 1000));
    CHECK_NEAR(a.stay_fast, 0.95, error_of(0.95, 1000));
    CHECK_NEAR(b.stay_slow, 0.8, error_of(0.8, 2000 / 21.0));
    CHECK_NEAR(b.stay_fast, 0.99, error_of(0.99, 2000));
    mot_fit_close(&f);
    free(seconds);
}

/* ---- Likelihoods against their definitions ----------------------------------------------------- */

/* The likelihood of bits under a chain that begins in its stationary distribution, factor by factor. */
static double chain_likelihood(const char *bits, double stay_slow, double stay_fast)
{
    double share = (1 - stay_fast) / (2 - stay_slow - stay_fast), l = bits[0] == '1' ? share : 1 - share;
    for (size_t i = 1; bits[i]; i++) {
        double stay = bits[i - 1] == '1' ? stay_slow : stay_fast;
        l *= bits[i] == bits[i - 1] ? stay : 1 - stay;
    }
    return l;
}

TEST(no_other_chain_is_more_likely_than_the_fitted_one)
{
    static const char *const bits[] = { "1000000", "0000001", "1110010", "0101010", "1", "0", "11111", "10",
        "1100110000000111" };
    for (size_t k = 0; k < sizeof bits / sizeof *bits; k++) {
        struct mot_fit_chain c = { 0 };
        (*(bits[k][0] == '1' ? &c.first_slow : &c.first_fast))++;
        for (size_t i = 1; bits[k][i]; i++)
            if (bits[k][i - 1] == '1') (*(bits[k][i] == '1' ? &c.slow_slow : &c.slow_fast))++;
            else (*(bits[k][i] == '1' ? &c.fast_slow : &c.fast_fast))++;
        double slow, fast, most = mot_fit_markov(&c, &slow, &fast);
        CHECK(slow >= 0 && slow <= 1 && fast >= 0 && fast <= 1);
        CHECK_NEAR(chain_likelihood(bits[k], slow, fast), exp(most), 1e-9);
        for (int a = 0; a <= 200; a++)
            for (int b = 0; b <= 200 && a + b < 400; b++)
                if (chain_likelihood(bits[k], a / 200.0, b / 200.0) > exp(most) * (1 + 1e-6))
                    FAIL("%s: stay_slow %g, stay_fast %g is more likely than %g, %g", bits[k], a / 200.0,
                        b / 200.0, slow, fast);
    }
}

static double two_class_likelihood(
    const double *hits, uint32_t nodes, double jobs, double slow, double p_slow, double p_fast)
{
    double l = 1;
    for (uint32_t i = 0; i < nodes; i++)
        l *= slow * pow(p_slow, hits[i]) * pow(1 - p_slow, jobs - hits[i]) +
            (1 - slow) * pow(p_fast, hits[i]) * pow(1 - p_fast, jobs - hits[i]);
    return l;
}

TEST(no_other_classes_are_more_likely_than_the_fitted_ones)
{
    /* The last three have summits that a climb from other divisions of the nodes ends on. */
    static const struct {
        uint32_t nodes;
        double jobs, hits[7];
    } cases[] = { { 6, 10, { 0, 0, 1, 0, 9, 8 } }, { 6, 10, { 10, 0, 0, 0, 0, 0 } },
        { 6, 10, { 3, 4, 2, 3, 3, 4 } }, { 6, 10, { 5, 5, 5, 5, 5, 5 } }, { 6, 10, { 0, 0, 0, 0, 0, 0 } },
        { 3, 4, { 3, 4, 0 } }, { 6, 20, { 20, 19, 4, 20, 20, 20 } }, { 7, 49, { 15, 0, 0, 6, 0, 0, 28 } } };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const double *hits = cases[k].hits, jobs = cases[k].jobs;
        uint32_t n = cases[k].nodes;
        struct mot_straggle s;
        double slow[7], most = mot_fit_two_class(hits, n, jobs, &s, slow);
        CHECK_NEAR(two_class_likelihood(hits, n, jobs, s.slow, s.p_slow, s.p_fast) / exp(most), 1, 1e-9);
        CHECK(s.p_slow >= s.p_fast || s.slow == 0);
        for (int a = 0; a <= 50; a += SANITIZED ? 5 : 1)
            for (int b = 0; b <= 50; b++)
                for (int c = 0; c <= 50; c++)
                    if (two_class_likelihood(hits, n, jobs, a / 50.0, b / 50.0, c / 50.0) >
                        exp(most) * (1 + 1e-6))
                        FAIL("case %zu: slow %g, p_slow %g, p_fast %g is more likely than %g, %g, %g", k,
                            a / 50.0, b / 50.0, c / 50.0, s.slow, s.p_slow, s.p_fast);
    }
}

/* Whichever of the two is called straggling. These have a lower summit too, where few nodes are fast. */
TEST(few_fast_nodes_are_found_as_well_as_few_slow_ones)
{
    double hits[] = { 28, 28, 28, 26, 25, 27, 25, 28, 27, 23, 27, 30, 25, 27, 29, 30, 29, 25, 26, 27, 30, 25,
        27, 29, 26, 26, 30, 24, 28, 29, 29, 23, 28, 26, 27, 20, 26, 25, 28, 23, 25, 25, 24, 28, 26, 24, 29,
        24, 25, 17, 19 };
    enum { NODES = sizeof hits / sizeof *hits };
    double slow[NODES], many, few;
    struct mot_straggle s, t;
    many = mot_fit_two_class(hits, NODES, 39, &s, slow);
    for (int i = 0; i < NODES; i++) hits[i] = 39 - hits[i];
    few = mot_fit_two_class(hits, NODES, 39, &t, slow);
    CHECK_NEAR(many, few, 1e-6);
    CHECK_NEAR(s.p_fast, 1 - t.p_slow, 1e-3);
    CHECK_NEAR(s.slow, 1 - t.slow, 1e-3);
}

/* ---- Laws ----------------------------------------------------------------------------------------- */

/* Parameters of the law with which four nodes draw 1000 times each, and how exactly they come back. */
static const struct {
    struct mot_law law;
    double error; /* of the mean, relative */
} laws[] = {
    { { MOT_LAW_UNIFORM, .low = 2, .high = 3 }, ERRORS / 2.5 / 3.46 / 31.6 },
    { { MOT_LAW_NORMAL, .mean = 3, .sd = 0.3 }, ERRORS * 0.1 / 31.6 },
    { { MOT_LAW_LOGNORMAL, .mean = 3, .sigma = 0.4 }, ERRORS * 0.43 / 31.6 },
    { { MOT_LAW_EXPONENTIAL, .mean = 0.5, .plus = 2 }, ERRORS * 0.2 / 31.6 },
    { { MOT_LAW_PARETO, .mean = 2, .alpha = 8 }, ERRORS * 0.15 / 31.6 },
};

/* Eleven times at equal steps: a uniform law from the first to the last is off by one share at either end. */
TEST(a_laws_distance_is_the_largest_error_in_a_share_of_times)
{
    double seconds[11];
    for (int i = 0; i < 11; i++) seconds[i] = 1 + 0.1 * i;
    struct mot_trace t = { 11, 1, seconds, NULL };
    struct mot_fit f;
    CHECK_INT(mot_fit_open("t", &t, 1000, 1, &f), MOT_OK);
    CHECK_INT(f.law[0].kind, MOT_LAW_UNIFORM);
    CHECK_NEAR(f.law[0].distance, 1.0 / 11, 1e-9);
    CHECK(f.law[3].kind == MOT_LAW_EXPONENTIAL && f.law[3].distance > 2.0 / 11);
    mot_fit_close(&f);
}

TEST(the_law_of_times_is_found_with_its_parameters)
{
    for (size_t k = 0; k < sizeof laws / sizeof *laws; k++) {
        struct mot_machine m = straggler((struct mot_straggle){ MOT_STRAGGLE_NONE, .factor = 1 });
        const struct mot_law *law = &laws[k].law;
        m.job_time = *law;
        struct mot_trace t;
        struct mot_fit f;
        double *seconds = trace_from(&m, 1, 1000, 4, &t);
        CHECK_INT(mot_fit_open("t", &t, 1000, 1, &f), MOT_OK); /* nothing straggles */
        CHECK_INT(f.best, MOT_FIT_NONE);
        CHECK_INT(f.timed, 4000);
        CHECK_INT(f.law[f.best_law].kind, law->kind);
        CHECK(f.law[f.best_law].distance < 1.63 / sqrt(4000));
        for (uint32_t i = 0; i < 4; i++) {
            const struct mot_law *mine = &f.node[i].law;
            CHECK_NEAR(mot_law_mean(mine) / mot_law_mean(law), 1, laws[k].error);
            /* The ends of a law with a sharp end are off by few thousandths of its width. */
            CHECK_NEAR(mine->low, law->low, 0.01);
            CHECK_NEAR(mine->high, law->high, 0.01);
            CHECK_NEAR(mine->plus, law->plus, 0.01);
            CHECK_NEAR(mine->sd, law->sd, ERRORS * law->sd / sqrt(2000));
            CHECK_NEAR(mine->sigma, law->sigma, ERRORS * law->sigma / sqrt(2000));
            CHECK_NEAR(mine->alpha, law->alpha, ERRORS * law->alpha / sqrt(1000));
        }
        mot_fit_close(&f);
        free(seconds);
    }
}

/* ---- Traces that are hardly any --------------------------------------------------------------------- */

static enum mot_status fit_of(const double *seconds, uint32_t rows, uint32_t cols, struct mot_fit *out)
{
    static struct mot_trace t;
    t = (struct mot_trace){ rows, cols, seconds, NULL };
    return mot_fit_open("small.csv", &t, 2, 1, out);
}

TEST(a_single_job_says_how_long_it_takes)
{
    struct mot_fit f;
    CHECK_INT(fit_of((const double[]){ 1.5 }, 1, 1, &f), MOT_OK);
    CHECK_INT(f.best, MOT_FIT_NONE);
    CHECK_INT(f.constant, 1);
    CHECK(f.node[0].law.kind == MOT_LAW_FIXED && f.node[0].law.mean == 1.5);
    mot_fit_close(&f);
}

TEST(one_node_is_compared_with_its_own_median)
{
    struct mot_fit f;
    CHECK_INT(fit_of((const double[]){ 1, 1, 8, 8, 1, 1, 1 }, 7, 1, &f), MOT_OK);
    CHECK(f.of_own);
    CHECK_INT(f.node[0].straggles, 2);
    CHECK_INT(f.node[0].longest, 2);
    CHECK_INT(f.node[0].runs, 1);
    CHECK_NEAR(f.node[0].factor, 8, 1e-12);
    mot_fit_close(&f);
}

TEST(of_two_nodes_neither_is_hidden_by_the_other)
{
    struct mot_fit f;
    /* Never more than twice the median of two, which is their mean. */
    CHECK_INT(fit_of((const double[]){ 1, 1, 1, 9, 1, 1, 1, 1, 1, 9 }, 5, 2, &f), MOT_OK);
    CHECK_INT(f.node[0].straggles, 0);
    CHECK_INT(f.node[1].straggles, 2);
    CHECK_NEAR(f.node[1].factor, 9, 1e-12);
    mot_fit_close(&f);
}

TEST(looks_count_runs_by_node)
{
    static const uint8_t bits[] = { 1, 0, 0, /**/ 1, 0, 1, /**/ 0, 0, 1, /**/ 1, 0, 1 };
    struct mot_fit_looks l = mot_fit_look(bits, 4, 3); /* runs of 2, 1 and 3 */
    CHECK_NEAR(l.mean_run, 2, 0);
    CHECK_NEAR(l.longest_run, 3, 0);
    CHECK_NEAR(l.busiest, 0.75, 0);
    l = mot_fit_look((const uint8_t[]){ 0, 0 }, 1, 2);
    CHECK_NEAR(l.mean_run, 0, 0);
}

TEST(a_node_that_always_straggles_keeps_its_times)
{
    struct mot_fit f;
    const double seconds[] = { 1, 1, 1, 6, 1, 1, 1, 8, 1, 1, 1, 10 };
    CHECK_INT(fit_of(seconds, 3, 4, &f), MOT_OK);
    CHECK_INT(f.node[3].straggles, 3);
    CHECK_NEAR(f.node[3].factor, 8, 1e-12);
    for (int k = 0; k < 2; k++) {
        enum mot_fit_kind kind = k ? MOT_FIT_MARKOV_EACH : MOT_FIT_IID_EACH;
        const struct mot_machine m = { .has_job_time = true,
            .job_time = f.node[3].law,
            .jitter = { .kind = MOT_LAW_FIXED, .mean = 1 },
            .straggle = mot_fit_straggle(&f, kind, 3) };
        CHECK_NEAR(mot_job_mean(&m, 1), 8, 0.2);
        struct mot_pace pace = { 0 };
        for (int job = 0; job < 100; job++) {
            mot_job_time(&m, SEED, 3, &pace, 1);
            CHECK(pace.straggling);
        }
    }
    mot_fit_close(&f);
}

TEST(times_that_no_job_takes_are_refused_with_their_place)
{
    struct mot_fit f;
    CHECK_INT(fit_of((const double[]){ 1, 1, 1, 1, 0, 1 }, 2, 3, &f), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "small.csv: row 1, node 1 (both from 0): expected a time from 1 ns");
    CHECK_INT(fit_of((const double[]){ 1, 1, 2e9 }, 1, 3, &f), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "found 2e+09 s");
}

/* ---- Real traces ------------------------------------------------------------------------------------ */

/* What comes out of two traces of a cloud's machines: a few nodes straggle 29 to 78 % of the time (and one
 * 4 %), in runs of up to 13 iterations, 7 to 10 times as slow as they are otherwise, and the others never.
 * Which nodes straggle says nearly everything: runs are no longer than chance makes them. */
TEST(few_machines_of_a_cloud_straggle_and_the_others_never)
{
    static const struct {
        const char *file;
        uint32_t node, straggles, longest;
        double factor;
    } busy[] = {
        { "ec2-stragglers/set2.csv", 4, 78, 13, 10.25 },
        { "ec2-stragglers/set4.csv", 3, 12, 2, 4.90 },
        { "ec2-stragglers/set4.csv", 6, 167, 8, 10.10 },
        { "ec2-stragglers/set4.csv", 9, 89, 4, 7.20 },
    };
    for (size_t k = 0, n; k < sizeof busy / sizeof *busy; k += n) {
        char path[512];
        struct mot_arena arena = { NULL };
        const struct mot_trace *t;
        struct mot_fit f;
        if (!shared_file(busy[k].file, path, sizeof path)) SKIP(NOT_SHARED);
        CHECK_INT(mot_trace_read(path, &arena, &t), MOT_OK);
        CHECK_TEXT(t->name[3], "node3");
        CHECK_INT(mot_fit_open(path, t, 2, 1, &f), MOT_OK);
        for (n = 0; k + n < sizeof busy / sizeof *busy && strcmp(busy[k].file, busy[k + n].file) == 0; n++) {
            const struct mot_fit_node *node = &f.node[busy[k + n].node];
            CHECK_INT(node->straggles, busy[k + n].straggles);
            CHECK_INT(node->longest, busy[k + n].longest);
            CHECK_NEAR(node->factor, busy[k + n].factor, 0.005);
        }
        uint32_t never = 0;
        for (uint32_t i = 0; i < t->cols; i++) never += f.node[i].straggles == 0;
        CHECK_INT(never, t->cols - n);
        CHECK_INT(f.best, k == 0 ? MOT_FIT_TWO_CLASS : MOT_FIT_IID_EACH);
        CHECK(mot_fit_agrees(&f, MOT_FIT_IID_EACH) && !mot_fit_agrees(&f, MOT_FIT_IID));
        CHECK(f.model[MOT_FIT_MARKOV_EACH].bic > f.model[MOT_FIT_IID_EACH].bic);
        mot_fit_close(&f);
        mot_arena_free(&arena);
    }
}

TEST_MAIN()
