#include "test.h"

#include "base/file.h"
#include "report/fixture.h"
#include "report/json.h"

static struct mot_moment moment(uint64_t updates)
{
    struct mot_moment m = { .now = 1500000000 * updates + 1,
        .updates = updates,
        .steps = 2 * updates,
        .samples = 64 * updates,
        .epochs = 0.1 * (double)updates,
        .bytes_sent = 1000,
        .messages = 20,
        .events = 30,
        .staleness_mean = NAN,
        .staleness_max = NAN,
        .active_jobs = 7.5,
        .mixed = MOT_MIXED_UNKNOWN };
    m.score = (struct mot_score){ 0.1 + 0.2, 0.5, NAN, NAN, 1.0 / 3, INFINITY, 1e-300, 0.7, 1e9 };
    return m;
}

static char *written(const char *path)
{
    unsigned char *bytes;
    size_t n;
    if (mot_file_read(path, 1 << 20, &bytes, &n) != MOT_OK) return NULL;
    return (char *)bytes;
}

TEST(a_line_has_every_key_and_its_numbers_read_back_exactly)
{
    char *path = scratch("metrics.jsonl");
    struct mot_metrics *m;
    struct mot_moment one = moment(3);
    CHECK_INT(mot_metrics_open(path, 0, &m), MOT_OK);
    mot_metrics_add(m, &one);
    uint64_t bytes = mot_metrics_bytes(m);
    CHECK_INT(mot_metrics_close(m), MOT_OK);
    char *text = written(path);
    CHECK_INT(strlen(text), bytes);
    CHECK_TEXT(text,
        "{\"time_s\":4.500000001,\"updates\":3,\"steps\":6,\"samples\":192,\"epochs\":0.30000000000000004,"
        "\"train_loss\":0.30000000000000004,\"train_accuracy\":0.5,\"valid_loss\":null,\"valid_accuracy\":"
        "null,"
        "\"test_loss\":0.3333333333333333,\"test_accuracy\":null,\"grad_norm\":1e-300,\"bytes_sent\":1000,"
        "\"messages\":20,\"events\":30,\"staleness_mean\":null,\"staleness_max\":null,\"active_jobs_mean\":7."
        "5,"
        "\"consensus\":null,\"zeta2\":0.7,\"sigma2\":1000000000}\n");
    json_t *line = json_loads(text, 0, NULL);
    CHECK(json_real_value(json_object_get(line, "test_loss")) == 1.0 / 3);
    CHECK(json_real_value(json_object_get(line, "train_loss")) == 0.1 + 0.2);
    json_decref(line);
    free(text);
    free(path);
}

TEST(a_line_tells_what_mixing_did_only_if_the_method_knows)
{
    char *path = scratch("mixed.jsonl");
    struct mot_metrics *m;
    struct mot_moment one = moment(3);
    CHECK_INT(mot_metrics_open(path, 0, &m), MOT_OK);
    mot_metrics_add(m, &one);
    one.mixed = (struct mot_mixed){ .consensus = 2.5, .drift = 0, .mass = 0.875 };
    mot_metrics_add(m, &one);
    CHECK_INT(mot_metrics_close(m), MOT_OK);
    char *text = written(path), *second = strchr(text, '\n') + 1;
    CHECK(strstr(second, "\"consensus\":2.5,"));
    CHECK(strstr(second, ",\"drift\":0,\"mass\":0.875}\n"));
    *second = 0;
    CHECK(!strstr(text, "drift") && !strstr(text, "mass"));
    free(text);
    free(path);
}

TEST(a_resumed_file_is_cut_after_the_checkpoint_and_goes_on)
{
    char *whole = scratch("whole.jsonl"), *path = scratch("cut.jsonl");
    struct mot_metrics *m;
    struct mot_moment a = moment(1), b = moment(2), c = moment(3);
    CHECK_INT(mot_metrics_open(whole, 0, &m), MOT_OK);
    mot_metrics_add(m, &a), mot_metrics_add(m, &b);
    CHECK_INT(mot_metrics_close(m), MOT_OK);

    CHECK_INT(mot_metrics_open(path, 0, &m), MOT_OK);
    mot_metrics_add(m, &a);
    uint64_t keep = mot_metrics_bytes(m);
    mot_metrics_add(m, &c), mot_metrics_add(m, &c);
    CHECK_INT(mot_metrics_close(m), MOT_OK);
    CHECK_INT(mot_metrics_open(path, keep, &m), MOT_OK);
    CHECK_INT(mot_metrics_bytes(m), keep);
    mot_metrics_add(m, &b);
    CHECK_INT(mot_metrics_close(m), MOT_OK);
    char *one = written(whole), *two = written(path);
    CHECK_TEXT(two, one);
    free(one), free(two), free(whole), free(path);
}

TEST(a_file_that_is_not_the_checkpoints_is_refused_and_left_alone)
{
    char *path = scratch("short.jsonl");
    struct mot_metrics *m = NULL;
    CHECK_INT(mot_file_replace(path, "{\"a\":1}\n", 8), MOT_OK);
    CHECK_INT(mot_metrics_open(path, 9, &m), MOT_EDATA);
    CHECK_HAS(mot_error(), "has 8 bytes, expected at least the 9");
    CHECK_INT(mot_metrics_open(path, 5, &m), MOT_EDATA);
    CHECK_HAS(mot_error(), "expected the end of a line");
    char *text = written(path);
    CHECK_TEXT(text, "{\"a\":1}\n");
    CHECK_INT(unlink(path), 0);
    CHECK_INT(mot_metrics_open(path, 5, &m), MOT_EDATA);
    CHECK_HAS(mot_error(), "is missing");
    CHECK(m == NULL);
    free(text), free(path);
}

TEST(a_full_disk_is_said_at_the_close)
{
    struct mot_metrics *m;
    struct mot_moment one = moment(1);
    if (access("/dev/full", W_OK) != 0) SKIP("no /dev/full here");
    CHECK_INT(mot_metrics_open("/dev/full", 0, &m), MOT_OK);
    mot_metrics_add(m, &one);
    CHECK_INT(mot_metrics_close(m), MOT_ESYSTEM);
    CHECK_HAS(mot_error(), "No space left");
}

TEST(numbers_are_short_and_exact)
{
    char text[MOT_NUMBER_SIZE];
    CHECK_TEXT(mot_number_text(0.1, text), "0.1");
    CHECK_TEXT(mot_number_text(-0.0, text), "-0");
    CHECK_TEXT(mot_number_text(12345678, text), "12345678");
    CHECK_TEXT(mot_number_text(NAN, text), "null");
    CHECK_TEXT(mot_number_text(-INFINITY, text), "null");
    CHECK_TEXT(mot_seconds_text(0, text), "0");
    CHECK_TEXT(mot_seconds_text(1500000000, text), "1.5");
    CHECK_TEXT(mot_seconds_text(10000000000, text), "10");
    CHECK_TEXT(mot_seconds_text(1, text), "0.000000001");
}

TEST_MAIN()
