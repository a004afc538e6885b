/* What the live view says of a run or a study, from a scene on the stack: no server, no run. */
#include "base/memory.h"
#include "serve/scene.h"
#include "test.h"

static struct mot_scene scene(enum mot_scene_of of)
{
    struct mot_scene v = { .of = of,
        .version = 7,
        .command = "motley sim",
        .title = "first.yaml",
        .experiment = "seed: 1\n",
        .method = "async",
        .driver = "sim",
        .every = 1,
        .share = NAN,
        .doing = "" };
    struct mot_score none = MOT_SCORE_UNKNOWN;
    pthread_mutex_init(&v.lock, NULL);
    v.score = none;
    v.now = (struct mot_moment){ .mixed = MOT_MIXED_UNKNOWN,
        .staleness_mean = NAN,
        .staleness_max = NAN,
        .active_jobs = NAN,
        .score = none };
    return v;
}

/* In a buffer that the next call overwrites. */
static const char *words(const struct mot_scene *v)
{
    static char kept[512];
    char *text = mot_scene_words(v);
    snprintf(kept, sizeof kept, "%s", text);
    free(text);
    return kept;
}

static char *printed(struct mot_scene *v, bool page)
{
    char *text = NULL;
    size_t n;
    uint64_t version = 0;
    FILE *out = open_memstream(&text, &n);
    enum mot_status status = MOT_OK;
    if (page) status = mot_scene_page(v, out, &version);
    else mot_scene_metrics(v, out);
    fclose(out);
    if (status != MOT_OK) printf("  %s\n", mot_error());
    if (page && version != v->version) printf("  of version %d\n", (int)version), *text = 0;
    return text;
}

TEST(a_run_says_how_far_it_is)
{
    struct mot_scene v = scene(MOT_SCENE_NOTHING);
    CHECK_TEXT(words(&v), "It is about to begin.");
    v.of = MOT_SCENE_RUN;
    CHECK_TEXT(words(&v), "The run goes on: it has not reached its first evaluation yet.");
    v.known = true;
    v.now.updates = 1, v.now.now = 4200000000u;
    CHECK_TEXT(words(&v), "The run goes on: 1 update, 4.20 s on its clock.");
    v.now.updates = 1234, v.share = 0.379;
    CHECK_TEXT(words(&v), "The run goes on: 1,234 updates, 4.20 s on its clock, 37 % done.");
}

TEST(a_study_says_what_it_does_and_how_many_runs_have_ended)
{
    struct mot_scene v = scene(MOT_SCENE_STUDY);
    CHECK_TEXT(words(&v), "The study goes on: it has not begun yet.");
    v.doing = "tuning", v.runs = 1;
    CHECK_TEXT(words(&v), "The study goes on, tuning: 0 of 1 run has ended.");
    v.runs = 60, v.done = 12;
    CHECK_TEXT(words(&v), "The study goes on, tuning: 12 of 60 runs have ended.");
    v.failed = 1;
    CHECK_TEXT(words(&v), "The study goes on, tuning: 12 of 60 runs have ended, 1 of them failed.");
}

TEST(the_end_says_how_it_came_and_what_it_left)
{
    struct mot_scene v = scene(MOT_SCENE_NOTHING);
    v.ended = true, v.where = "out";
    CHECK_TEXT(mot_scene_state(&v), "ended");
    CHECK_TEXT(words(&v), "The command has ended. What it left is in out.");
    v.of = MOT_SCENE_STUDY;
    CHECK_TEXT(words(&v), "The study has ended. What it left is in out.");
    v.status = MOT_EINTERRUPTED, v.how = "interrupted";
    CHECK_TEXT(words(&v), "The study was interrupted.");
    v.status = MOT_EDATA, v.how = "it is torn";
    CHECK_TEXT(words(&v), "The study has failed: it is torn.");
    v.of = MOT_SCENE_RUN; /* without an evaluation it may have left nothing */
    CHECK_TEXT(words(&v), "The run has failed: it is torn.");
    v.known = true, v.now.updates = 5, v.now.now = 2000000000u, v.share = 0.5;
    CHECK_TEXT(
        words(&v), "The run has failed: 5 updates, 2.00 s on its clock: it is torn. What it left is in out.");
    v.status = MOT_OK, v.how = NULL, v.where = NULL;
    CHECK_TEXT(words(&v), "The run has ended: 5 updates, 2.00 s on its clock.");
}

/* Each figure has a value of its own, so that two that are exchanged show. */
static void fill(struct mot_scene *v)
{
    v->known = true, v->share = 0.25, v->evaluations = 3;
    v->now = (struct mot_moment){ .now = 1500000000u,
        .updates = 11,
        .steps = 12,
        .samples = 13,
        .bytes_sent = 14000,
        .messages = 15,
        .epochs = 1.6,
        .staleness_mean = 1.7,
        .staleness_max = 18,
        .active_jobs = 1.9,
        .mixed = MOT_MIXED_UNKNOWN,
        .streams = true,
        .flow = { .arrived = 21, .used = 22, .dropped = 23, .waiting = 24 } };
    v->now.mixed.consensus = 0.25;
    v->score = (struct mot_score){ .train_loss = 0.31,
        .train_accuracy = 0.32,
        .valid_loss = 0.33,
        .valid_accuracy = 0.34,
        .test_loss = 0.35,
        .test_accuracy = 0.36,
        .grad_norm = INFINITY,
        .zeta2 = NAN,
        .sigma2 = NAN };
}

TEST(prometheus_is_told_each_figure_that_is_known_under_its_name)
{
    static const char *const lines[] = { "method=\"async\",driver=\"sim\"} 1", "motley_running 1",
        "motley_progress_ratio 0.25", "motley_evaluations_total 3", "motley_updates_total 11",
        "motley_steps_total 12", "motley_samples_total 13", "motley_sent_bytes_total 14000",
        "motley_messages_total 15", "motley_epochs 1.6", "motley_clock_seconds 1.5",
        "motley_staleness_mean_updates 1.7", "motley_staleness_max_updates 18", "motley_active_jobs_mean 1.9",
        "motley_consensus_distance 0.25", "motley_stream_arrived_samples_total 21",
        "motley_stream_used_samples_total 22", "motley_stream_dropped_samples_total 23",
        "motley_stream_waiting_samples 24", "motley_train_loss 0.31", "motley_train_accuracy 0.32",
        "motley_validation_loss 0.33", "motley_validation_accuracy 0.34", "motley_test_loss 0.35",
        "motley_test_accuracy 0.36", "motley_gradient_norm +Inf",
        "motley_worker_busy_seconds_total{worker=\"1\",group=\"slow\"} 2.5" };
    struct mot_scene v = scene(MOT_SCENE_RUN);
    const char *group[] = { "fast", "slow", NULL };
    uint64_t worked_ns[] = { 0, 2500000000u, 0 };
    v.group = group, v.worked_ns = worked_ns, v.told = 3;
    char *before = printed(&v, false);
    CHECK_HAS(before, "motley_running 1\n");
    CHECK(!strstr(before, "motley_updates_total") && !strstr(before, "_busy_"));
    fill(&v);
    char *text = printed(&v, false);
    for (size_t i = 0; i < MOT_COUNT(lines); i++) {
        char line[128];
        snprintf(line, sizeof line, "%s\n", lines[i]);
        CHECK_HAS(text, line);
    }
    CHECK(!strstr(text, "worker=\"0\"")); /* nobody has told of it */
    CHECK_HAS(text, "# TYPE motley_updates_total counter\n");
    CHECK_HAS(text, "# TYPE motley_epochs gauge\n");
    v.ended = true, v.now.streams = false, v.score.test_loss = NAN;
    char *end = printed(&v, false);
    CHECK_HAS(end, "motley_running 0\n");
    CHECK(!strstr(end, "stream") && !strstr(end, "motley_test_loss"));
    free(before), free(text), free(end);
}

TEST(a_runs_page_has_a_row_for_each_figure)
{
    static const char *const rows[][2] = { { "Updates", "11" }, { "Time on its clock", "1.50 s" },
        { "Passes over the data", "1.600" }, { "Test accuracy", "36.0 %" }, { "Test loss", "0.3500" },
        { "Training loss", "0.3100" }, { "Sent", "14.0 kB" }, { "Mean staleness", "1.700" } };
    struct mot_scene v = scene(MOT_SCENE_RUN);
    char *before = printed(&v, true);
    CHECK_HAS(before, "There are no figures yet.");
    fill(&v);
    v.evaluations = 0; /* no lines of metrics */
    v.score.grad_norm = NAN;
    v.seed = 9, v.target = "test_accuracy", v.target_value = 0.8;
    char *page = printed(&v, true);
    for (size_t i = 0; i < MOT_COUNT(rows); i++) {
        char row[160];
        snprintf(row, sizeof row, "<tr><th scope=\"row\">%s</th><td class=\"num\">%s</td></tr>\n", rows[i][0],
            rows[i][1]);
        CHECK_HAS(page, row);
    }
    CHECK(!strstr(page, ">Gradient norm<"));
    CHECK_HAS(page, "\"arms\":[\"async\"]");
    CHECK_HAS(page, "\"targets\":[{\"kind\":\"test_accuracy\",\"value\":0.8}]");
    CHECK_HAS(page, "{\"a\":0,\"c\":0,\"s\":9,");
    CHECK_HAS(page, "<h1>first.yaml</h1>"); /* the experiment does not say what is run */
    CHECK_HAS(page, "data-moment=\"7\"");
    CHECK_HAS(page, "seed: 1\n");
    CHECK_HAS(page, ">motley sim<");
    free(before), free(page);
}

#define DIGITS "workers: 8\ndata: {name: digits}\nmodel: {name: softmax}\n"

TEST(the_head_is_what_is_run_and_the_file_is_named_below_it)
{
    struct mot_scene v = scene(MOT_SCENE_RUN);
    v.experiment = DIGITS;
    char *page = printed(&v, true);
    CHECK_HAS(page, "<h1>digits \u00b7 softmax regression \u00b7 8 workers</h1>");
    CHECK_HAS(page, "<p id=\"file\" class=\"soft\">first.yaml</p>");
    free(page);
}

/* ---- Studies: of runs that failed, which need no folders --------------------------------------------- */

enum { CASES = MOT_SCENE_ARMS + 3 };

static struct mot_study_setting method[] = { { "method", "allreduce", "" }, { "method", "async", "" } };
static struct mot_study_side arm[] = { { "allreduce", &method[0], 1 }, { "async", &method[1], 1 } };
static struct mot_study_side nowhere[] = { { "", NULL, 0 } };
static struct mot_scene_case cases[CASES];
static char values[CASES][16];

/* Two arms with seeds of their own; `tuned`: of one seed, with as many values. */
static struct mot_scene study(size_t runs, bool tuned)
{
    struct mot_scene v = scene(MOT_SCENE_STUDY);
    v.arm = arm, v.arms = 2, v.condition = nowhere, v.conditions = 1;
    v.doing = tuned ? "tuning" : "comparing";
    v.run = cases, v.runs = runs;
    for (size_t i = 0; i < runs; i++) {
        snprintf(values[i], sizeof values[i], "lr=%zu", i / 2);
        cases[i] = (struct mot_scene_case){ .arm = i % 2, .seed = tuned ? 1 : 1 + i / 2, .more = "" };
        if (tuned) cases[i].more = values[i];
    }
    return v;
}

static void end_runs(struct mot_scene *v, size_t n)
{
    for (size_t i = 0; i < n; i++) cases[i].failed = "crashed: signal 11";
    v->done = v->failed = n;
}

TEST(a_study_counts_its_runs_for_prometheus)
{
    struct mot_scene v = study(6, false);
    end_runs(&v, 2);
    v.done = 5; /* three of them well */
    char *text = printed(&v, false);
    CHECK_HAS(text, "motley_study_runs{step=\"comparing\",state=\"ended\"} 3\n");
    CHECK_HAS(text, "motley_study_runs{step=\"comparing\",state=\"failed\"} 2\n");
    CHECK_HAS(text, "motley_study_runs{step=\"comparing\",state=\"not_ended\"} 1\n");
    CHECK(!strstr(text, "motley_updates_total") && !strstr(text, "driver="));
    free(text);
}

TEST(a_study_shows_the_runs_that_have_ended_in_their_arms)
{
    struct mot_scene v = study(6, false);
    json_t *document;
    uint64_t version = 0;
    CHECK_INT(mot_scene_study(&v, &document, &version), MOT_OK);
    CHECK(!document); /* none has ended */
    char *before = printed(&v, true);
    CHECK_HAS(before, "There are no figures yet.");
    end_runs(&v, 3);
    CHECK_INT(mot_scene_study(&v, &document, &version), MOT_OK);
    CHECK(document);
    CHECK_INT(version, 7);
    const json_t *live = json_object_get(document, "live"), *runs = json_object_get(document, "runs");
    CHECK_INT(json_array_size(runs), 3);
    CHECK_INT(json_array_size(json_object_get(document, "arms")), 2);
    CHECK(json_is_true(json_object_get(live, "judged")) && json_is_false(json_object_get(live, "apart")));
    size_t second = 0, later = 0; /* of the arms, of the seeds: 0 and 1 of seed 1, 0 of seed 2 */
    for (size_t i = 0; i < 3; i++) {
        const json_t *run = json_array_get(runs, i);
        second += json_integer_value(json_object_get(run, "arm")) == 1;
        later += json_integer_value(json_object_get(run, "seed")) == 2;
    }
    CHECK_INT(second, 1);
    CHECK_INT(later, 1);
    json_decref(document);
    char *page = printed(&v, true);
    CHECK_HAS(page, "By the 3 runs that ended so far:");
    CHECK_HAS(page, "crashed: signal 11");
    CHECK(!strstr(page, "they are not compared"));
    end_runs(&v, 1);
    for (size_t i = 1; i < 6; i++) cases[i].failed = NULL;
    char *one = printed(&v, true);
    CHECK_HAS(one, "By the 1 run that ended so far:");
    free(before), free(page), free(one);
}

TEST(a_study_says_by_which_runs_it_judges_until_all_have_ended)
{
    struct mot_scene v = study(6, false);
    struct mot_study_setting softmax = { "model", "softmax", "" };
    struct mot_study_side side[] = { { "a", &softmax, 1 }, arm[1] };
    v.experiment = DIGITS, v.arm = side;
    char *none = printed(&v, true); /* the arms have models of their own */
    CHECK_HAS(none, "<h1>digits \u00b7 8 workers</h1>");
    v.arm = arm;
    end_runs(&v, 4);
    char *some = printed(&v, true);
    CHECK_HAS(some, "By the 4 runs that ended so far:");
    CHECK_HAS(some, "<h2>So far</h2>");
    CHECK_HAS(some, "<h1>digits \u00b7 softmax regression \u00b7 8 workers</h1>");
    v.ended = true;
    char *cut = printed(&v, true); /* it was interrupted */
    CHECK_HAS(cut, "By the 4 runs that ended:");
    CHECK_HAS(cut, "<h2>Results</h2>");
    end_runs(&v, 6);
    char *all = printed(&v, true);
    CHECK(!strstr(all, "that ended"));
    free(none), free(some), free(cut), free(all);
}

TEST(what_is_tuned_is_an_arm_for_each_value_and_not_compared)
{
    struct mot_scene v = study(4, true);
    end_runs(&v, 4);
    json_t *document;
    uint64_t version;
    CHECK_INT(mot_scene_study(&v, &document, &version), MOT_OK);
    const json_t *live = json_object_get(document, "live"), *arms = json_object_get(document, "arms");
    CHECK_INT(json_array_size(arms), 4);
    CHECK_TEXT(json_string_value(json_object_get(json_array_get(arms, 0), "name")), "allreduce lr=0");
    CHECK_TEXT(json_string_value(json_object_get(json_array_get(arms, 3), "name")), "async lr=1");
    CHECK(json_is_true(json_object_get(live, "apart")) && json_is_false(json_object_get(live, "judged")));
    CHECK_INT(json_integer_value(json_object_get(live, "left_out")), 0);
    json_decref(document);
    char *page = printed(&v, true);
    CHECK_HAS(page, "they are not compared");
    CHECK(!strstr(page, "ended so far:") && !strstr(page, "with other values"));
    free(page);
    v = study(CASES, true);
    end_runs(&v, CASES);
    page = printed(&v, true);
    CHECK_HAS(
        page, "The first 64 sets of values that were tried are shown; 3 runs with other values are not.");
    free(page);
}

TEST_MAIN()
