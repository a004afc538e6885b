#include "base/file.h"
#include "cluster/cluster.h"
#include "shared.h"
#include "test.h"
#include <unistd.h>

static struct mot_machine plain(double speed)
{
    return (struct mot_machine){
        .speed = speed, .jitter = { .kind = MOT_LAW_FIXED, .mean = 1 }, .straggle.factor = 1
    };
}

TEST(speed_and_fixed_cost_make_the_time_of_a_job)
{
    struct mot_machine m = plain(500);
    struct mot_pace pace = { 0 };
    m.fixed = 2000000;
    CHECK_INT(mot_job_time(&m, 1, 0, &pace, 100), 202000000);
    CHECK_INT(pace.jobs, 1);
    CHECK_NEAR(mot_job_mean(&m, 100), 0.202, 1e-12);
}

TEST(a_fixed_job_time_is_exact_whatever_the_samples)
{
    struct mot_machine m = plain(500);
    m.has_job_time = true;
    for (int s = 1; s <= 1000; s++) {
        struct mot_pace pace = { 0 };
        m.job_time = (struct mot_law){ .kind = MOT_LAW_FIXED, .mean = s };
        CHECK_INT(mot_job_time(&m, 1, 3, &pace, 7), s * 1000000000LL);
        CHECK_INT(mot_job_time(&m, 1, 3, &pace, 9), s * 1000000000LL);
    }
}

TEST(a_job_is_a_function_of_seed_worker_and_number)
{
    struct mot_machine m = plain(1000);
    m.jitter = (struct mot_law){ .kind = MOT_LAW_LOGNORMAL, .mean = 1, .sigma = 0.3 };
    struct mot_pace pace = { 0 }, later = { .jobs = 5 }, other = { .jobs = 5 };
    mot_time t = 0;
    for (int i = 0; i < 6; i++) t = mot_job_time(&m, 9, 2, &pace, 32);
    CHECK_INT(mot_job_time(&m, 9, 2, &later, 32), t);
    CHECK(mot_job_time(&m, 9, 3, &other, 32) != t);
    other.jobs = 5;
    CHECK(mot_job_time(&m, 10, 2, &other, 32) != t);
}

TEST(iid_straggling_has_its_share_and_factor)
{
    struct mot_machine m = plain(1000);
    struct mot_pace pace = { 0 };
    int slow = 0;
    m.straggle = (struct mot_straggle){ .kind = MOT_STRAGGLE_IID, .factor = 5, .p = 0.25 };
    printf("  seed 11\n");
    for (int i = 0; i < 40000; i++) {
        mot_time t = mot_job_time(&m, 11, 0, &pace, 10);
        CHECK(t == 10000000 || t == 50000000);
        CHECK_INT(pace.straggling, t == 50000000);
        slow += t == 50000000;
    }
    CHECK_NEAR(slow / 40000.0, 0.25, 0.01);
    CHECK_NEAR(mot_job_mean(&m, 10), 0.02, 1e-12);
}

TEST(a_worker_keeps_its_class_and_classes_have_their_shares)
{
    struct mot_machine m = plain(1000);
    int workers = 4000, jobs = 100, slow_class = 0;
    m.straggle = (struct mot_straggle){
        .kind = MOT_STRAGGLE_TWO_CLASS, .factor = 5, .slow = 0.2, .p_slow = 0.8, .p_fast = 0.01
    };
    printf("  seed 5\n");
    for (int w = 0; w < workers; w++) {
        struct mot_pace pace = { 0 };
        int slow = 0;
        for (int i = 0; i < jobs; i++) slow += mot_job_time(&m, 5, (mot_node)w, &pace, 1) > 1000000;
        /* With 0.8 against 0.01 of 100 jobs, nothing lies between. */
        CHECK(slow < 15 || slow > 55);
        slow_class += slow > 55;
    }
    CHECK_NEAR(slow_class / (double)workers, 0.2, 0.02);
}

TEST(markov_straggling_has_its_stationary_share_and_runs)
{
    struct mot_machine m = plain(1000);
    int slow = 0, runs = 0, jobs = 200000, first = 0;
    struct mot_pace pace = { 0 };
    m.straggle = (struct mot_straggle){
        .kind = MOT_STRAGGLE_MARKOV, .factor = 3, .stay_slow = 0.9, .stay_fast = 0.95
    };
    printf("  seed 6\n");
    for (int i = 0; i < jobs; i++) {
        uint32_t before = pace.straggling;
        mot_job_time(&m, 6, 0, &pace, 1);
        slow += pace.straggling;
        runs += pace.straggling && !before;
    }
    CHECK_NEAR(slow / (double)jobs, 0.05 / 0.15, 0.01);
    CHECK_NEAR(slow / (double)runs, 10, 0.5); /* a run lasts 1 / (1 - stay_slow) jobs */
    /* Stationary from the first job on. */
    for (int w = 0; w < 6000; w++) {
        pace = (struct mot_pace){ 0 };
        mot_job_time(&m, 6, (mot_node)w, &pace, 1);
        first += pace.straggling;
    }
    CHECK_NEAR(first / 6000.0, 1.0 / 3, 0.02);
}

TEST(absurd_times_are_capped_rather_than_overflowing)
{
    struct mot_machine m = plain(1e-290);
    struct mot_pace pace = { 0 };
    CHECK_INT(mot_job_time(&m, 1, 0, &pace, 1000), 1000000000000000000LL);
}

TEST(samples_done_at_a_deadline_begin_after_the_fixed_cost)
{
    struct mot_machine m = plain(1000);
    m.fixed = 100000000;
    mot_time whole = 200000000; /* 0.1 s + 100 samples */
    CHECK_INT(mot_job_done(&m, whole, 0, 100), 0);
    CHECK_INT(mot_job_done(&m, whole, 99999999, 100), 0);
    CHECK_INT(mot_job_done(&m, whole, 150000000, 100), 50);
    CHECK_INT(mot_job_done(&m, whole, 199999999, 100), 99);
    CHECK_INT(mot_job_done(&m, whole, 200000000, 100), 100);
    /* A job that straggles stretches both parts. */
    CHECK_INT(mot_job_done(&m, 5 * whole, 5 * 150000000ULL, 100), 50);
    m.has_job_time = true;
    CHECK_INT(mot_job_done(&m, whole, 50000000, 100), 25);
}

TEST(so_many_samples_are_done_from_one_nanosecond_on)
{
    struct mot_rng rng = mot_rng_at(5, MOT_RNG_METHOD, 0);
    printf("  seed 5\n");
    for (int i = 0; i < 20000; i++) {
        struct mot_machine m = plain(1 + mot_rng_unit(&rng) * 1e5);
        m.has_job_time = mot_rng_below(&rng, 3) == 0;
        m.fixed = mot_rng_below(&rng, 2) ? mot_rng_below(&rng, 100000000) : 0;
        uint64_t samples = 1 + mot_rng_below(&rng, 1u << mot_rng_below(&rng, 20));
        uint64_t done = mot_rng_below(&rng, samples + 1);
        mot_time whole = mot_rng_below(&rng, UINT64_C(1) << mot_rng_below(&rng, 60));
        mot_time when = mot_job_when(&m, whole, done, samples);
        CHECK(when <= whole);
        CHECK(mot_job_done(&m, whole, when, samples) >= done);
        CHECK(when == 0 || mot_job_done(&m, whole, when - 1, samples) < done);
    }
    struct mot_machine m = plain(1000);
    m.fixed = 100000000;
    CHECK_INT(mot_job_when(&m, 200000000, 50, 100), 150000000);
    CHECK_INT(mot_job_when(&m, 200000000, 0, 100), 0);
    CHECK_INT(mot_job_when(&m, 200000000, 100, 100), 200000000);
}

TEST(a_recorded_trace_is_replayed_cell_by_cell)
{
    char path[512], line[4096];
    if (!shared_file("ec2-stragglers/set4.csv", path, sizeof path)) SKIP(NOT_SHARED);
    struct mot_arena arena = { NULL };
    const struct mot_trace *trace;
    CHECK_INT(mot_trace_read(path, &arena, &trace), MOT_OK);
    CHECK_INT(trace->rows, 311);
    CHECK_INT(trace->cols, 10);
    struct mot_machine m = plain(1000);
    m.straggle =
        (struct mot_straggle){ .kind = MOT_STRAGGLE_TRACE, .factor = 1, .column = 6, .trace = trace };
    m.jitter = (struct mot_law){ .kind = MOT_LAW_FIXED, .mean = 7 }; /* has no say in a replay */
    FILE *file = fopen(path, "r");
    struct mot_pace pace = { 0 };
    double total = 0;
    CHECK(fgets(line, sizeof line, file));
    while (fgets(line, sizeof line, file)) {
        char *cell = line;
        for (int i = 0; i < 7; i++) cell = strchr(cell, ',') + 1;
        CHECK_INT(mot_job_time(&m, 1, 0, &pace, 32), llround(strtod(cell, NULL) * 1e9));
        total += strtod(cell, NULL);
    }
    fclose(file);
    CHECK_INT(pace.jobs, 311);
    CHECK_INT(mot_job_time(&m, 1, 0, &pace, 32), 11276000000LL); /* and again from the first row */
    CHECK_NEAR(mot_job_mean(&m, 32), total / 311, 1e-9);
    mot_arena_free(&arena);
}

#define ZEROS "00000000000000000000000000000000000000000000000000000000000000000000000000000000"
#define LONG_CELL                                                                                            \
    ZEROS ZEROS ZEROS ZEROS ZEROS ZEROS ZEROS ZEROS ZEROS ZEROS ZEROS ZEROS ZEROS ZEROS ZEROS ZEROS
TEST(a_damaged_trace_is_refused_with_its_line)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        { "", "found an empty line" },
        { "iteration,a,b\n", "found no rows" },
        { "1,2\n3\n", ":2: found 1 columns, expected 2" },
        { "1,2\n3,x\n", ":2: column 2: found 'x', expected a time in seconds" },
        { "1,2\n3,-1\n", ":2: column 2: found '-1'" },
        { "1,2\n3,nan\n", ":2: column 2: found 'nan'" },
        { "1,2\n3,inf\n", ":2: column 2" },
        { "nan,2\n3,4\n", ":1: column 1: found 'nan'" },
        { ",a\n1,2\n", ":1: column 1: found ''" },
        { LONG_CELL "\n", ":1: column 1: found '000" },
    };
    char path[] = "/tmp/motley-trace-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct mot_arena arena = { NULL };
        const struct mot_trace *trace;
        CHECK_INT(mot_file_replace(path, bad[i].text, strlen(bad[i].text)), MOT_OK);
        CHECK_INT(mot_trace_read(path, &arena, &trace), MOT_EUSAGE);
        CHECK_HAS(mot_error(), bad[i].message);
        mot_arena_free(&arena);
    }
    const char good[] = "1.5,0.25\r\n\r\n0,4"; /* no header, CRLF, an empty line, no newline at the end */
    struct mot_arena arena = { NULL };
    const struct mot_trace *trace;
    CHECK_INT(mot_file_replace(path, good, strlen(good)), MOT_OK);
    CHECK_INT(mot_trace_read(path, &arena, &trace), MOT_OK);
    CHECK_INT(trace->rows, 2);
    CHECK(trace->seconds[0] == 1.5 && trace->seconds[1] == 0.25 && trace->seconds[2] == 0 &&
        trace->seconds[3] == 4);
    static const char *const named[] = { "a,b\n1.5,2\n3,4\n", "Zone,b\n1.5,2\n3,4\n", "_a,b\n1.5,2\n3,4\n",
        "\"fast\",b\n1.5,2\n3,4\n", " 'a',b\n1.5,2\n3,4\n", "\xc3\xa9,b\n1.5,2\n3,4\n",
        "iteration,a,b\n1,1.5,2\n2,3,4\n" };
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        CHECK_INT(mot_file_replace(path, named[i], strlen(named[i])), MOT_OK);
        if (mot_trace_read(path, &arena, &trace) != MOT_OK) FAIL("%s: %s", named[i], mot_error());
        CHECK_INT(trace->rows, 2);
        CHECK_INT(trace->cols, 2);
        CHECK(trace->seconds[0] == 1.5 && trace->seconds[3] == 4);
    }
    mot_arena_free(&arena);
    unlink(path);
}

static const struct mot_trace *trace_of(struct mot_arena *arena, const char *text, size_t n)
{
    const struct mot_trace *trace = NULL;
    char path[] = "/tmp/motley-trace-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0) abort();
    close(fd);
    mot_file_replace(path, text, n);
    if (mot_trace_read(path, arena, &trace) != MOT_OK) trace = NULL;
    unlink(path);
    return trace;
}

#define DIGITS_40 "0.25000000000000000000000000000000000000"
TEST(cells_of_a_trace_may_have_blanks_around_them_and_63_digits)
{
    struct mot_arena arena = { NULL };
    const struct mot_trace *t;
#define TRACE(literal) t = trace_of(&arena, literal, sizeof(literal) - 1)
    TRACE(" 1.5 ,\t2\t\r\n\t3,\t 4 \t\r\n");
    CHECK(t && t->rows == 2 && t->cols == 2);
    CHECK(t->seconds[0] == 1.5 && t->seconds[1] == 2 && t->seconds[2] == 3 && t->seconds[3] == 4);
    TRACE(DIGITS_40 "00000000000000000000000\n");
    CHECK(t && t->seconds[0] == 0.25);
    TRACE(DIGITS_40 "000000000000000000000000\n");
    CHECK(!t);
    CHECK_HAS(mot_error(), ":1: column 1: found '" DIGITS_40 "', expected");
    TRACE("1\n\n \t\r\n2\n\nx\n");
    CHECK(!t);
    CHECK_HAS(mot_error(), ":6: column 1: found 'x'");
    TRACE("1,x\r\n");
    CHECK_HAS(mot_error(), ":1: column 2: found 'x', expected");
    TRACE("a,b\n1,2\n3,4,5\n");
    CHECK_HAS(mot_error(), ":3: found 3 columns, expected 2");
    TRACE("1\0,2\n");
    CHECK_HAS(mot_error(), "found a zero byte");
    TRACE("inf,2\n1,2\n");
    CHECK_HAS(mot_error(), ":1: column 1: found 'inf'");
    TRACE(" \t\n1\n");
    CHECK_HAS(mot_error(), ":1: found an empty line");
    static const char *const first[] = { "a", "z", "A", "Z", "\tb" };
    for (size_t i = 0; i < MOT_COUNT(first); i++) {
        char text[32];
        int n = snprintf(text, sizeof text, "%s\n5\n", first[i]);
        t = trace_of(&arena, text, (size_t)n);
        if (!t || t->rows != 1 || t->seconds[0] != 5) FAIL("'%s' is no header", first[i]);
    }
    static const char *const none[] = { "@", "[", "`", "{" };
    for (size_t i = 0; i < MOT_COUNT(none); i++) {
        char text[32];
        int n = snprintf(text, sizeof text, "%s\n5\n", none[i]);
        if (trace_of(&arena, text, (size_t)n)) FAIL("'%s' is a header", none[i]);
    }
    TRACE("iteration\n5\n6\n"); /* a node's name, where nothing follows */
    CHECK(t && t->cols == 1 && t->rows == 2);
    mot_arena_free(&arena);
}

TEST(a_trace_may_be_long_and_as_wide_as_a_cluster)
{
    struct mot_arena arena = { NULL };
    char *text = malloc(200002);
    size_t n = 0;
    for (int row = 0; row < 300; row++) n += (size_t)snprintf(text + n, 32, "%d,%d\n", row, 2 * row);
    const struct mot_trace *t = trace_of(&arena, text, n);
    CHECK(t && t->rows == 300 && t->cols == 2);
    for (int row = 0; row < 300; row++)
        CHECK(t->seconds[2 * row] == row && t->seconds[2 * row + 1] == 2 * row);
    for (size_t i = 0; i < 200002; i += 2) text[i] = '1', text[i + 1] = ',';
    t = trace_of(&arena, text, 199999);
    CHECK(t && t->cols == 100000);
    CHECK(!trace_of(&arena, text, 200001));
    CHECK_HAS(mot_error(), "found more than 100000 columns");
    free(text);
    mot_arena_free(&arena);
}

TEST(a_machine_is_slower_in_all_that_its_jobs_take)
{
    struct mot_machine m = plain(600);
    m.fixed = 3;
    mot_machine_slow(&m, 2.5);
    CHECK(m.speed == 240 && m.fixed == 8);
    m.has_job_time = true;
    m.job_time = (struct mot_law){
        .mean = 1, .low = 2, .high = 3, .sd = 4, .unit = 5, .plus = 6, .sigma = 7, .alpha = 8
    };
    mot_machine_slow(&m, 3);
    CHECK(m.job_time.mean == 3 && m.job_time.low == 6 && m.job_time.high == 9 && m.job_time.sd == 12);
    CHECK(m.job_time.unit == 15 && m.job_time.plus == 18 && m.job_time.sigma == 7 && m.job_time.alpha == 8);
    CHECK(m.speed == 240 && m.fixed == 8);
    m.job_time.mean = 1e-9;
    mot_machine_slow(&m, 2.4); /* in whole nanoseconds */
    CHECK(m.job_time.mean == 2e-9);
}

TEST(of_a_recorded_job_samples_are_done_from_its_beginning)
{
    const double seconds[] = { 1 };
    const struct mot_trace one = { 1, 1, seconds, NULL };
    struct mot_machine m = plain(1000);
    m.fixed = 500000000;
    m.straggle = (struct mot_straggle){ .kind = MOT_STRAGGLE_TRACE, .trace = &one };
    CHECK_INT(mot_job_done(&m, 1000000000, 250000000, 100), 25);
    m.straggle.kind = MOT_STRAGGLE_NONE;
    CHECK_INT(mot_job_done(&m, 1000000000, 500000000, 0), 0);
    CHECK_INT(mot_job_done(&m, 600000000, 550000000, 100), 50);
}

TEST(a_chain_that_never_moves_straggles_never)
{
    struct mot_machine m = plain(10);
    m.straggle =
        (struct mot_straggle){ .kind = MOT_STRAGGLE_MARKOV, .factor = 9, .stay_slow = 1, .stay_fast = 1 };
    CHECK_NEAR(mot_job_mean(&m, 10), 1, 1e-12);
}

TEST(the_mean_of_a_job_counts_how_often_its_worker_straggles)
{
    struct mot_machine m = { .speed = 32, .jitter = { .kind = MOT_LAW_FIXED, .mean = 1 } };
    m.straggle = (struct mot_straggle){ .kind = MOT_STRAGGLE_IID, .factor = 5, .p = 0.25 };
    CHECK_NEAR(mot_job_mean(&m, 32), 0.75 + 0.25 * 5, 1e-12);
    m.straggle = (struct mot_straggle){
        .kind = MOT_STRAGGLE_TWO_CLASS, .factor = 5, .slow = 0.5, .p_slow = 0.4, .p_fast = 0.1
    };
    CHECK_NEAR(mot_job_mean(&m, 32), 0.75 + 0.25 * 5, 1e-12);
    /* one step in twenty into straggling, one in four out of it: a sixth of the time */
    m.straggle = (struct mot_straggle){
        .kind = MOT_STRAGGLE_MARKOV, .factor = 7, .stay_slow = 0.75, .stay_fast = 0.95
    };
    CHECK_NEAR(mot_job_mean(&m, 32), 5.0 / 6 + 7.0 / 6, 1e-12);
}

#define DIFFERS(field, value)                                                                                \
    do {                                                                                                     \
        struct mot_machine other = m;                                                                        \
        other.field = (value);                                                                               \
        if (mot_machine_alike(&m, &other) || mot_machine_alike(&other, &m))                                  \
            FAIL("machines that differ in " #field " are taken for alike");                                  \
    } while (0)

/* Groups of a printed cluster are of machines that are alike: one that is not would be lost. */
TEST(machines_that_differ_in_anything_are_not_alike)
{
    const struct mot_machine m = { .speed = 1, .link = { 1, 1, 1 } };
    static const double second = 1;
    const struct mot_trace trace = { 1, 1, &second, NULL };
    CHECK(mot_machine_alike(&m, &m));
    DIFFERS(name, "a");
    DIFFERS(speed, 2);
    DIFFERS(fixed, 1);
    DIFFERS(price, MOT_PRICE_SAMPLES);
    DIFFERS(has_job_time, true);
    DIFFERS(job_time.kind, MOT_LAW_UNIFORM);
    DIFFERS(job_time.mean, 2);
    DIFFERS(job_time.low, 2);
    DIFFERS(job_time.high, 2);
    DIFFERS(job_time.sd, 2);
    DIFFERS(job_time.sigma, 2);
    DIFFERS(job_time.alpha, 2);
    DIFFERS(job_time.unit, 2);
    DIFFERS(job_time.plus, 2);
    DIFFERS(jitter.mean, 2);
    DIFFERS(straggle.kind, MOT_STRAGGLE_TRACE);
    DIFFERS(straggle.factor, 2);
    DIFFERS(straggle.p, 0.5);
    DIFFERS(straggle.slow, 0.5);
    DIFFERS(straggle.p_slow, 0.5);
    DIFFERS(straggle.p_fast, 0.5);
    DIFFERS(straggle.stay_slow, 0.5);
    DIFFERS(straggle.stay_fast, 0.5);
    DIFFERS(straggle.trace, &trace);
    DIFFERS(link.up, 2);
    DIFFERS(link.down, 2);
    DIFFERS(link.latency, 2);
}

TEST(priced_by_samples_a_job_takes_as_much_longer_as_it_is_larger)
{
    struct mot_machine m = { .has_job_time = true,
        .job_time = { .kind = MOT_LAW_EXPONENTIAL, .mean = 2 },
        .jitter = { .kind = MOT_LAW_FIXED, .mean = 1 },
        .straggle = { .kind = MOT_STRAGGLE_IID, .factor = 5, .p = 0.5 } };
    struct mot_pace plain = mot_pace_of(&m, 32);
    CHECK_INT(plain.batch, 0);
    m.price = MOT_PRICE_SAMPLES;
    struct mot_pace batch = mot_pace_of(&m, 32), twice = batch, half = batch;
    CHECK_INT(batch.batch, 32);
    for (int i = 0; i < 100; i++) {
        double t = (double)mot_job_time(&m, 3, 1, &plain, 64);
        CHECK_NEAR(mot_job_time(&m, 3, 1, &batch, 32), t, 1);
        CHECK_NEAR(mot_job_time(&m, 3, 1, &twice, 64), 2 * t, 2);
        CHECK_NEAR(mot_job_time(&m, 3, 1, &half, 16), t / 2, 1);
    }
    m.has_job_time = false; /* speeds go by samples of themselves */
    CHECK_INT(mot_pace_of(&m, 32).batch, 0);
}

TEST(a_trace_can_be_priced_by_samples_too)
{
    static const double seconds[] = { 3, 5 };
    const struct mot_trace trace = { .rows = 2, .cols = 1, .seconds = seconds };
    struct mot_machine m = { .straggle = { .kind = MOT_STRAGGLE_TRACE, .trace = &trace },
        .price = MOT_PRICE_SAMPLES };
    struct mot_pace pace = mot_pace_of(&m, 8);
    CHECK_INT(mot_job_time(&m, 1, 0, &pace, 24), 9000000000LL);
    CHECK_INT(mot_job_time(&m, 1, 0, &pace, 8), 5000000000LL);
    CHECK_INT(mot_job_time(&m, 1, 0, &pace, 2), 750000000LL);
    CHECK_NEAR(mot_job_mean(&m, 8), 4, 1e-12);
}

TEST_MAIN()
