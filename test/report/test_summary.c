#include "test.h"

#include "report/fixture.h"

static json_t *at(const json_t *value, const char *key)
{
    json_t *found = json_object_get(value, key);
    return found ? found : json_null();
}

TEST(a_summary_has_every_documented_key)
{
    static const char *const keys[] = {
        "method",
        "driver",
        "version",
        "kernels",
        "workers",
        "servers",
        "seed",
        "status",
        "ended_by",
        "updates",
        "steps",
        "samples",
        "epochs",
        "time_s",
        "wall_s",
        "train_loss",
        "train_accuracy",
        "valid_loss",
        "valid_accuracy",
        "test_loss",
        "test_accuracy",
        "grad_norm",
        "bytes_sent",
        "messages",
        "events",
        "model_hash",
        "chance_accuracy",
        "learned",
        "target",
        "best",
        "peer",
        "faults",
        "staleness",
        "heterogeneity",
        "waits",
        "notes",
        "worker",
        "server",
        "verdict",
        "folder",
    };
    struct run r;
    run_make(&r, &method_async, 4, 10);
    json_t *s = mot_summary_json(&r.e, &r.o, "sim", NULL);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!json_object_get(s, keys[i])) FAIL("no %s", keys[i]);
    CHECK_INT(json_object_size(s), sizeof keys / sizeof *keys);
    json_decref(s);
}

TEST(a_summary_carries_the_outcome)
{
    struct run r;
    run_make(&r, &method_async, 4, 10);
    r.machine[3].name = "edge";
    run_shares(&r, 3, 0.5, 0.2, 0.3);
    r.e.stop.target = MOT_TARGET_TEST_ACCURACY, r.e.stop.value = 0.8;
    r.o.target.reached = true, r.o.target.at = 4250000000, r.o.target.updates = 33;
    r.o.last.score.test_accuracy = 0.81;
    r.o.model_hash = 0x00ab;
    run_note(&r, "staleness", 4, 10, 5);
    r.o.staleness.count[0] = 3, r.o.staleness.count[MOT_HISTOGRAM_EXACT] = 1;
    run_note(&r, "late", 2, 2, 1);
    json_t *s = mot_summary_json(&r.e, &r.o, "sim", "runs/first");
    CHECK_TEXT(json_string_value(at(s, "method")), "async");
    CHECK_TEXT(json_string_value(at(s, "model_hash")), "00000000000000ab");
    CHECK_TEXT(json_string_value(at(s, "status")), "ok");
    CHECK_TEXT(json_string_value(at(s, "folder")), "runs/first");
    CHECK_NEAR(json_real_value(at(s, "time_s")), 10, 0);
    CHECK_NEAR(json_real_value(at(s, "test_accuracy")), 0.81, 0);
    CHECK(json_is_null(json_object_get(s, "train_loss"))); /* NaN is null */
    CHECK_TEXT(json_string_value(at(at(s, "target"), "kind")), "test_accuracy");
    CHECK_NEAR(json_real_value(at(at(s, "target"), "time_s")), 4.25, 0);
    CHECK_INT(json_integer_value(at(at(s, "target"), "updates")), 33);
    CHECK_NEAR(json_real_value(at(at(s, "staleness"), "mean")), 2.5, 0);
    CHECK_NEAR(json_real_value(at(at(s, "staleness"), "max")), 5, 0);
    char *bins = json_dumps(at(at(s, "staleness"), "histogram"), JSON_COMPACT);
    CHECK_TEXT(bins, "[[0,0,3],[128,255,1]]");
    free(bins);
    CHECK_INT(json_integer_value(at(at(at(s, "notes"), "late"), "count")), 2);
    CHECK_NEAR(json_real_value(at(at(at(s, "notes"), "late"), "mean")), 1, 0);
    CHECK_INT(json_array_size(at(s, "worker")), 4);
    CHECK_INT(json_array_size(at(s, "server")), 1);
    const json_t *edge = json_array_get(at(s, "worker"), 3);
    CHECK_INT(json_integer_value(at(edge, "id")), 3);
    CHECK_TEXT(json_string_value(at(edge, "name")), "edge");
    CHECK_NEAR(json_real_value(at(edge, "wait_s")), 3, 1e-9);
    CHECK_NEAR(json_real_value(at(edge, "send_s")), 2, 1e-9);
    CHECK_NEAR(json_real_value(at(at(at(s, "waits"), "wait"), "worst_s")), 3, 1e-9);
    CHECK_NEAR(json_real_value(at(at(at(s, "waits"), "wait"), "median_s")), 0, 0);
    CHECK_INT(json_integer_value(at(at(at(s, "waits"), "wait"), "worker")), 3);
    json_decref(s);
}

TEST(a_summary_says_how_far_parts_differed_at_the_start_and_the_end)
{
    struct run r;
    run_make(&r, &method_async, 4, 10);
    json_t *s = mot_summary_json(&r.e, &r.o, "sim", NULL), *h = json_object_get(s, "heterogeneity");
    CHECK(json_is_null(json_object_get(at(h, "start"), "zeta2")));
    CHECK(json_is_null(json_object_get(at(h, "end"), "ratio")));
    CHECK(json_is_null(json_object_get(h, "words")));
    json_decref(s);
    r.o.start.known = true, r.o.start.zeta2 = 0.5, r.o.start.sigma2 = 80, r.o.start.batch_share = 1.0 / 32;
    r.o.last.score.zeta2 = 6, r.o.last.score.sigma2 = 64;
    s = mot_summary_json(&r.e, &r.o, "sim", NULL), h = json_object_get(s, "heterogeneity");
    CHECK_NEAR(json_real_value(at(at(h, "start"), "batch_noise")), 2.5, 1e-12);
    CHECK_NEAR(json_real_value(at(at(h, "start"), "ratio")), 0.2, 1e-12);
    CHECK_NEAR(json_real_value(at(at(h, "end"), "ratio")), 3, 1e-12);
    CHECK_HAS(json_string_value(at(h, "words")), "parts differ by about 20 % of a batch's noise");
    json_decref(s);
}

TEST(a_target_not_reached_has_no_time)
{
    struct run r;
    run_make(&r, &method_allreduce, 1, 10);
    json_t *s = mot_summary_json(&r.e, &r.o, "sim", NULL);
    CHECK(json_is_null(json_object_get(s, "target")));
    json_decref(s);
    r.e.stop.target = MOT_TARGET_TRAIN_LOSS, r.e.stop.value = 0.1;
    s = mot_summary_json(&r.e, &r.o, "sim", NULL);
    CHECK(json_is_false(at(at(s, "target"), "reached")));
    CHECK(json_is_null(json_object_get(at(s, "target"), "time_s")));
    json_decref(s);
}

static char *printed_json(const json_t *value)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    mot_json_print(value, out);
    fclose(out);
    return text;
}

TEST(printed_json_reads_back_equal)
{
    struct run r;
    run_make(&r, &method_async, 3, 10);
    r.o.last.score.train_loss = 0.1 + 0.2;
    run_note(&r, "staleness", 4, 10, 5);
    json_t *s = mot_summary_json(&r.e, &r.o, "sim", "a \"quoted\" folder\n");
    char *text = printed_json(s);
    json_error_t error;
    json_t *again = json_loads(text, 0, &error);
    if (!again) FAIL("line %d: %s", error.line, error.text);
    CHECK(json_equal(s, again));
    CHECK_HAS(text, "\"train_loss\": 0.30000000000000004,\n");
    CHECK_HAS(text, "\"time_s\": 10.0,\n");
    CHECK_HAS(text, "\n    {\"id\": 1, \"name\": null, \"compute_s\": 10.0,");
    json_decref(s), json_decref(again);
    free(text);
}

static char *printed(struct run *r, bool colour)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    mot_summary_print(&r->e, &r->o, out, colour);
    fclose(out);
    return text;
}

TEST(the_printed_result_shows_each_worker_the_target_and_the_verdict_within_its_columns)
{
    struct run r;
    run_make(&r, &method_allreduce, 8, 100);
    r.machine[7].name = "edge";
    for (int i = 0; i < 8; i++) r.node[i].jobs = 20;
    for (int i = 0; i < 7; i++) run_shares(&r, i, 0.2, 0, 0.8);
    r.e.stop.target = MOT_TARGET_TEST_ACCURACY, r.e.stop.value = 0.8;
    r.o.target.reached = true, r.o.target.at = 4250000000, r.o.target.updates = 33;
    r.o.last.score.test_accuracy = 0.8125, r.o.last.score.test_loss = 0.5;
    r.e.output = "runs/first";
    char *text = printed(&r, false);
    CHECK_HAS(text, "allreduce on 8 workers: done (ended by updates)\n");
    CHECK_HAS(text, "test       loss 0.5, accuracy 81.25 %\n");
    CHECK_HAS(text, "80 % test accuracy: reached at 4.25 s, after 33 updates\n");
    CHECK_HAS(text, "  worker 7 (edge)        100.0     0.0     0.0     5.00 s");
    CHECK_HAS(text, "  worker 0                20.0    80.0     0.0     1.00 s");
    CHECK_HAS(text, "`--method server --method-k 7`"); /* not broken across lines */
    CHECK_HAS(text, "runs/first\n");
    CHECK(!strchr(text, '\x1b'));
    for (char *line = text; *line; line += strcspn(line, "\n") + 1)
        if (strcspn(line, "\n") > 80) FAIL("too long: %.*s", (int)strcspn(line, "\n"), line);
    free(text);
    text = printed(&r, true);
    CHECK_HAS(text, "\x1b[32mdone\x1b[0m");
    free(text);
}

static size_t widest_line(const char *text)
{
    size_t most = 0;
    for (size_t n; *text; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        if (n > most) most = n;
    }
    return most;
}

/* Names of all lengths push every word of the verdict over the edge once. */
TEST(lines_of_the_verdict_are_filled_to_their_last_column_and_never_beyond)
{
    struct run r;
    char name[61] = "";
    size_t most = 0;
    for (size_t n = 0; n < 60; n++) {
        name[n] = 'x';
        run_make(&r, &method_allreduce, 8, 100);
        r.machine[7].name = name;
        for (int i = 0; i < 8; i++) r.node[i].jobs = 20;
        for (int i = 0; i < 7; i++) run_shares(&r, i, 0.2, 0, 0.8);
        char *text = printed(&r, false);
        if (widest_line(text) > 80) FAIL("too wide: %s", text);
        if (widest_line(text) > most) most = widest_line(text);
        free(text);
    }
    CHECK_INT(most, 80);
}

TEST(a_jobs_time_is_rounded_to_the_nearest_nanosecond)
{
    struct run r;
    run_make(&r, &method_allreduce, 2, 100);
    r.node[0].compute = 20 * 7, r.node[0].jobs = 20;
    r.node[1].compute = 20 * 7 + 12, r.node[1].jobs = 20; /* 7.6 */
    char *text = printed(&r, false);
    CHECK_HAS(text, " 7 ns ");
    CHECK_HAS(text, " 8 ns ");
    free(text);
}

TEST(of_many_workers_only_the_extremes_are_printed)
{
    struct run r;
    run_make(&r, &method_allreduce, 40, 100);
    r.node[31].jobs = 10, r.node[12].jobs = 2000;
    run_shares(&r, 5, 0.1, 0, 0.9);
    char *text = printed(&r, false);
    CHECK_HAS(text, "of 40 workers");
    CHECK_HAS(text, "worker 31 ");
    CHECK_HAS(text, "worker 12 ");
    CHECK_HAS(text, "worker 5 ");
    CHECK(!strstr(text, "worker 6 "));
    free(text);
}

TEST(an_outcome_of_nothing_prints_without_nan)
{
    struct run r;
    run_make(&r, &method_allreduce, 2, 0);
    r.o.ended_by = NULL, r.o.wall_s = NAN, r.o.last.epochs = NAN, r.o.status = MOT_EINTERRUPTED;
    for (int i = 0; i < 2; i++) r.node[i] = (struct mot_node_tally){ 0 };
    char *text = printed(&r, false);
    CHECK_HAS(text, "interrupted");
    CHECK(!strstr(text, "nan"));
    free(text);
}

TEST(what_mixing_did_is_printed_and_in_the_summary_if_it_is_known)
{
    struct run r;
    run_make(&r, &method_async, 3, 10);
    char *text = printed(&r, false);
    CHECK(!strstr(text, "models") && !strstr(text, "rounds ") && !strstr(text, "dropped"));
    free(text);
    r.o.last.mixed = (struct mot_mixed){ .consensus = 0.0625, .drift = 0.015, .mass = 0.75 };
    run_note(&r, "rounds_behind", 8, 12, 4);
    run_note(&r, "dropped_segments", 3, 3, 1);
    text = printed(&r, false);
    CHECK_HAS(text,
        "mean squared distance from their mean 0.0625\n"
        "             mixing moved that mean by 1.5 %; push-sum mass 0.75\n");
    CHECK_HAS(text, "what was mixed in was 1.50 rounds off on average, at most 4\n");
    CHECK_HAS(text, "3 segments outside the window\n");
    free(text);
    json_t *s = mot_summary_json(&r.e, &r.o, "sim", NULL);
    CHECK(json_number_value(at(s, "drift")) == 0.015 && json_number_value(at(s, "mass")) == 0.75);
    json_decref(s);
}

TEST(a_summary_lists_who_sent_to_whom_by_node_or_by_block)
{
    static const char *const want[] = { "{\"nodes_together\": 1, \"sent\": [[0, 3, 100, 1], [3, 2, 70, 2]]}",
        "{\"nodes_together\": 2, \"sent\": [[0, 100, 100, 1], [100, 2, 70, 2]]}" };
    for (uint32_t k = 0; k < 2; k++) {
        struct run r;
        run_make(&r, &method_async, 3, 10);
        const struct mot_world w = { .workers = k ? 100 : 3, .servers = 1, .nodes = k ? 101 : 4 };
        mot_traffic_open(&r.o.traffic, &w);
        mot_sent_add(&r.o.traffic.blocks, mot_traffic_row(&r.o.traffic, 0), w.workers, 100);
        for (int i = 0; i < 2; i++)
            mot_sent_add(&r.o.traffic.blocks, mot_traffic_row(&r.o.traffic, w.workers), 2, 35);
        r.o.last.messages = 3;
        json_t *s = mot_summary_json(&r.e, &r.o, "sim", NULL);
        char *text = json_dumps(at(s, "traffic"), 0);
        CHECK_TEXT(text, want[k]);
        free(text);
        json_decref(s);
        free(r.o.traffic.sent);
    }
}

TEST_MAIN()
