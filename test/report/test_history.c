#include "test.h"

#include "report/fixture.h"
#include "report/history.h"

static enum mot_status parse(const char *text, struct mot_history *h)
{
    return mot_history_parse("m.jsonl", text, strlen(text), h);
}

TEST(what_metrics_wrote_is_read_back_to_the_last_bit)
{
    char *path = scratch("metrics.jsonl");
    struct mot_metrics *m;
    struct mot_moment moment = { .now = 1234567891,
        .updates = 7,
        .steps = 9,
        .samples = 11,
        .epochs = 0.1,
        .bytes_sent = 1ull << 50,
        .messages = 5,
        .events = 6,
        .staleness_mean = 1.0 / 3,
        .staleness_max = NAN,
        .active_jobs = 31.5,
        .mixed = { .consensus = 1e-9, .drift = 0.25, .mass = 0.875 },
        .score = { 0.1, 0.2, NAN, NAN, 1e-300, 0.7, INFINITY, 0.3, NAN } };
    CHECK_INT(mot_metrics_open(path, 0, &m), MOT_OK);
    mot_metrics_add(m, &moment);
    moment.updates = 8;
    mot_metrics_add(m, &moment);
    CHECK_INT(mot_metrics_close(m), MOT_OK);
    struct mot_history h;
    CHECK_INT(mot_history_read(path, &h), MOT_OK);
    CHECK_INT(h.n, 2);
    CHECK(h.value[MOT_COL_TIME][0] == 1.234567891);
    CHECK(h.value[MOT_COL_UPDATES][1] == 8);
    CHECK(h.value[MOT_COL_BYTES][0] == (double)(1ull << 50));
    CHECK(h.value[MOT_COL_TEST_LOSS][0] == 1e-300);
    CHECK(h.value[MOT_COL_STALENESS_MEAN][1] == 1.0 / 3);
    CHECK(isnan(h.value[MOT_COL_VALID_LOSS][0]));
    CHECK(h.value[MOT_COL_ACTIVE_JOBS][0] == 31.5 && h.value[MOT_COL_CONSENSUS][0] == 1e-9);
    CHECK(h.value[MOT_COL_DRIFT][0] == 0.25 && h.value[MOT_COL_MASS][1] == 0.875);
    CHECK(h.value[MOT_COL_ZETA2][1] == 0.3 && isnan(h.value[MOT_COL_SIGMA2][1]));
    CHECK(isnan(h.value[MOT_COL_GRAD_NORM][0])); /* infinity is null there */
    mot_history_free(&h);
    free(path);
}

TEST(a_line_of_an_older_run_lacks_what_it_did_not_measure)
{
    struct mot_history h;
    CHECK_INT(parse("{\"time_s\":1,\"updates\":2,\"staleness_max\":3}\n", &h), MOT_OK);
    CHECK_INT(h.n, 1);
    CHECK(h.value[MOT_COL_STALENESS_MAX][0] == 3);
    CHECK(isnan(h.value[MOT_COL_ACTIVE_JOBS][0]) && isnan(h.value[MOT_COL_ZETA2][0]));
    mot_history_free(&h);
}

TEST(the_half_line_of_a_killed_run_is_passed_over)
{
    struct mot_history h;
    CHECK_INT(parse("{\"time_s\":1,\"updates\":2}\n{\"time_s\":2,\"upd", &h), MOT_OK);
    CHECK_INT(h.n, 1);
    mot_history_free(&h);
    CHECK_INT(parse("", &h), MOT_OK);
    CHECK_INT(h.n, 0);
    mot_history_free(&h);
}

TEST(damage_is_an_error_with_its_line)
{
    struct mot_history h;
    CHECK_INT(parse("{\"time_s\":1,\"updates\":2}\nnonsense\n", &h), MOT_EDATA);
    CHECK_HAS(mot_error(), "m.jsonl:2:8: not valid JSON");
    CHECK_INT(parse("[1]\n", &h), MOT_EDATA);
    CHECK_HAS(mot_error(), "expected an object");
    CHECK_INT(parse("{\"time_s\":1}\n", &h), MOT_EDATA);
    CHECK_HAS(mot_error(), "time_s and updates");
    CHECK_INT(parse("{\"time_s\":1,\"updates\":2,\"test_loss\":\"x\"}\n", &h), MOT_EDATA);
    CHECK_HAS(mot_error(), "test_loss");
    CHECK_INT(mot_history_read("/no/such/file", &h), MOT_EUSAGE);
}

TEST_MAIN()
