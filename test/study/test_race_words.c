/* What a plan says: its medians are a study's; who stays the fastest is as clear as who takes its place; and
 * where no run reached the target, nothing is recommended. */
#include "ends.h"
#include "report/json.h"
#include "study/document.h"
#include "study/race.h"

static struct mot_run_figures reached_at(double time_s, double updates)
{
    struct mot_run_figures f = { .known = true, .has_target = true, .reached = true, .nearest = NAN };
    for (size_t i = 0; i < MOT_FIGURES; i++) f.value[i] = NAN;
    snprintf(f.status, sizeof f.status, "ok");
    f.value[MOT_FIGURE_TIME] = f.value[MOT_FIGURE_TIME_TO_TARGET] = time_s;
    f.value[MOT_FIGURE_UPDATES] = f.value[MOT_FIGURE_UPDATES_TO_TARGET] = updates;
    return f;
}

static struct mot_run_figures missed(double time_s, double nearest)
{
    struct mot_run_figures f = reached_at(time_s, 1000);
    f.reached = false;
    f.nearest = nearest;
    f.value[MOT_FIGURE_TIME_TO_TARGET] = f.value[MOT_FIGURE_UPDATES_TO_TARGET] = NAN;
    return f;
}

/* Three methods that raced; the first took 1 s and 100 updates, the others 2 and 3 times that. */
static struct mot_racer racer[3];
static struct mot_race race;
static void line_up(void)
{
    static const char *const name[] = { "async", "ringmaster", "fedbuff" };
    memset(racer, 0, sizeof racer);
    for (size_t i = 0; i < 3; i++) {
        racer[i] = (struct mot_racer){
            .name = name[i], .setting = name[i], .stage = MOT_RACE_RACED, .tried = true, .out = i > 0
        };
        for (size_t s = 0; s < MOT_RACE_SEEDS; s++)
            racer[i].run[s] = reached_at((double)(i + 1) * (1 + 0.01 * (double)s), 100.0 * (double)(i + 1));
        racer[i].best = racer[i].run[0];
    }
    race = (struct mot_race){ .racer = racer,
        .racers = 3,
        .target = MOT_TARGET_TEST_ACCURACY,
        .target_value = 0.8,
        .target_given = true,
        .lr = 0.1,
        .horizon_s = 10,
        .complete = true };
}

static void change_to(size_t i, double first_s, double second_s, double third_s)
{
    racer[i].changed[0][0] = reached_at(first_s, 100);
    racer[i].changed[0][1] = reached_at(second_s, 100);
    racer[i].changed[0][2] = reached_at(third_s, 100);
    race.changes = true;
    race.pointless[1] = race.pointless[2] = true;
}

static bool says(const json_t *plan, const char *key, const char *text)
{
    bool found = strcmp(mot_json_get_text(plan, key), text) == 0;
    if (!found) printf("  %s: found \"%s\"\n", key, mot_json_get_text(plan, key));
    return found;
}

static const json_t *change_of(const json_t *plan)
{
    return json_array_get(mot_json_get_list(plan, "changes"), 0);
}

TEST(a_miss_is_later_than_any_run_that_reached_the_target)
{
    line_up();
    for (size_t s = 0; s < MOT_RACE_SEEDS; s++)
        racer[0].run[s] = s == 4 ? missed(30, 0.79) : reached_at((double)(s + 1), 10.0 * (double)(s + 1));
    CHECK(mot_race_median(&racer[0], MOT_FIGURE_TIME_TO_TARGET) == 6.5); /* of 1 2 3 4 6 | 7 8 9 10 never */
    CHECK(mot_race_median(&racer[0], MOT_FIGURE_UPDATES_TO_TARGET) == 65);
}

/* Four of six runs reach it, and three of six: a plan of the same runs says what a study says. */
TEST(its_medians_are_those_of_a_study)
{
    struct end mostly = { .accuracy = 0.7, .loss = 1, .time = 10, .learned = 1, .target = NAN },
               half = { .accuracy = 0.9, .loss = 1, .time = 20, .learned = 1, .target = 4, .odd = true };
    runs = 0;
    line_up();
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        if (seed < 5) mostly.target = (double)seed;
        else mostly.target = NAN;
        add(0, seed, &mostly);
    }
    for (uint64_t seed = 1; seed <= SEEDS; seed++) add(1, seed, &half);
    for (size_t i = 0; i < 2; i++)
        for (size_t s = 0; s < MOT_RACE_SEEDS; s++) {
            racer[i].run[s] = (struct mot_run_figures){ .known = false };
            if (s < SEEDS)
                CHECK(mot_figures_read(run[i * SEEDS + s].folder, NULL, &racer[i].run[s]) == MOT_OK);
        }
    struct mot_study_side arm[] = { { "async", NULL, 0 }, { "ringmaster", NULL, 0 } }, none = { "", NULL, 0 };
    struct mot_study study = { .title = "t",
        .command = "motley plan t",
        .experiment = "",
        .arm = arm,
        .condition = &none,
        .arms = 2,
        .conditions = 1,
        .run = run,
        .runs = runs };
    json_t *document;
    CHECK(mot_study_document(&study, &document) == MOT_OK);
    json_t *plan = mot_race_json(&race);
    for (size_t i = 0; i < 2; i++) {
        const json_t *figure = mot_cell_figure(mot_document_cell(document, i, 0), "time_to_target"),
                     *m = NULL;
        for (size_t k = 0; k < 3; k++) {
            const json_t *one = json_array_get(mot_json_get_list(plan, "methods"), k);
            if (strcmp(mot_json_get_text(one, "method"), racer[i].name) == 0) m = one;
        }
        CHECK(json_equal(json_object_get(m, "time_to_target_s"), json_object_get(figure, "median")));
        CHECK(json_equal(json_object_get(m, "beyond_s"), json_object_get(figure, "beyond")));
    }
    CHECK(mot_json_get_number(
              mot_cell_figure(mot_document_cell(document, 0, 0), "time_to_target"), "median") == 3.5);
    CHECK(mot_json_get_number(
              mot_cell_figure(mot_document_cell(document, 1, 0), "time_to_target"), "beyond") == 12);
    json_decref(plan);
    json_decref(document);
}

TEST(it_says_what_to_run_by_what_margin_and_why)
{
    line_up();
    json_t *plan = mot_race_json(&race);
    CHECK(says(plan, "method", "async"));
    CHECK(says(plan, "answer",
        "async, learning rate 0.1: 80 % test accuracy in 1.04 s of this cluster's time (median of 10 runs)"));
    CHECK(says(plan, "margin",
        "2.00 times (2.00 to 2.00; median of 10 pairs of runs) as fast as ringmaster, the next that can be "
        "told "
        "apart"));
    json_decref(plan);
    racer[1].out = racer[2].out = false;
    plan = mot_race_json(&race);
    CHECK(says(plan, "undecided", "cannot be told apart from ringmaster and fedbuff in 10 runs each"));
    json_decref(plan);
    racer[1].run[8].known = racer[1].run[9].known = false; /* the budget ran out */
    plan = mot_race_json(&race);
    CHECK(
        says(plan, "undecided", "cannot be told apart from ringmaster and fedbuff in 8 to 10 pairs of runs"));
    json_decref(plan);
    race.racers = 2;
    for (size_t s = 0; s < MOT_RACE_SEEDS; s++) racer[1].run[s].known = false;
    plan = mot_race_json(&race);
    CHECK(says(plan, "undecided",
        "has not been told apart from ringmaster: no pair of runs, and a verdict needs 6"));
    json_decref(plan);
}

/* Four pairs are too few for a verdict. */
static void four_pairs(double other_s, bool misses)
{
    line_up();
    race.racers = 2;
    for (size_t s = 0; s < MOT_RACE_SEEDS; s++) {
        if (s > 3) racer[0].run[s] = racer[1].run[s] = (struct mot_run_figures){ .known = false };
        else racer[1].run[s] = misses ? missed(10, 0.7) : reached_at(other_s, 100);
    }
}

TEST(how_it_dropped_out_is_said_as_it_stands_against_the_method_that_leads_at_last)
{
    static const struct {
        double other_s;
        bool misses, odd; /* the first run of the second method is as fast as the leader's */
        const char *clause;
    } cases[] = {
        { 2, false, false,
            " as fast as ringmaster, which took more than half as long again in each of them" },
        { 1.2, false, false, " as fast as ringmaster, which had dropped out behind another method" },
        { 2, true, false,
            " pairs of runs or more), which took more than half as long again, or missed the target, in each "
            "of them" },
        { 2, true, true, " pairs of runs or more), which had dropped out behind another method" },
    };
    for (size_t i = 0; i < MOT_COUNT(cases); i++) {
        four_pairs(cases[i].other_s, cases[i].misses);
        if (cases[i].odd) racer[1].run[0] = racer[0].run[0];
        json_t *plan = mot_race_json(&race);
        const char *margin = mot_json_get_text(plan, "margin"), *clause = cases[i].clause;
        CHECK_HAS(margin, clause);
        CHECK(
            strlen(margin) > strlen(clause) && strcmp(margin + strlen(margin) - strlen(clause), clause) == 0);
        json_decref(plan);
    }
}

TEST(why_does_not_count_the_updates_of_runs_that_never_got_there)
{
    line_up();
    race.racers = 2;
    for (size_t s = 0; s < 5; s++) racer[1].run[s] = missed(10, 0.7);
    json_t *plan = mot_race_json(&race);
    CHECK(says(plan, "margin",
        "faster than ringmaster (no ratio: it missed the target in half of 10 pairs of runs or more), "
        "the "
        "next that "
        "can be told apart"));
    CHECK(says(plan, "reason",
        "it gets there in about 100 updates of 10.4 ms each, ringmaster in half of its runs at most"));
    json_decref(plan);
}

TEST(where_no_run_reaches_the_target_nothing_is_recommended)
{
    line_up();
    for (size_t i = 0; i < 3; i++)
        for (size_t s = 0; s < MOT_RACE_SEEDS; s++) {
            racer[i].run[s] = missed(10, 0.7 + 0.01 * (double)(i == 1) + 0.001 * (double)(s == 2));
            racer[i].out = false;
        }
    json_t *plan = mot_race_json(&race);
    CHECK(says(plan, "answer",
        "no run reaches 80 % test accuracy in 10.0 s of this cluster's time; the nearest was ringmaster, "
        "learning "
        "rate 0.1, with a test accuracy of 71.1 % (seed 3). Try a lower stop.target, or longer runs, with a "
        "later "
        "stop.epochs, stop.updates or stop.time"));
    CHECK(json_is_null(json_object_get(plan, "method")) && json_is_null(json_object_get(plan, "lr")));
    CHECK(json_is_null(json_object_get(plan, "undecided")));
    const json_t *first = json_array_get(mot_json_get_list(plan, "methods"), 0);
    CHECK(json_is_null(json_object_get(first, "time_to_target_s")));
    CHECK(mot_json_get_number(first, "beyond_s") == 10);
    json_decref(plan);
    race.target = MOT_TARGET_TRAIN_LOSS;
    race.target_value = 0.1;
    plan = mot_race_json(&race);
    CHECK(strstr(mot_json_get_text(plan, "answer"), "Try a higher stop.target"));
    CHECK(strstr(mot_json_get_text(plan, "answer"), "a training loss of 0.7000 (seed 1)"));
    json_decref(plan);
    char *why = mot_race_nothing(&race);
    CHECK_TEXT(why, "no run reached a training loss of 0.1 in time");
    free(why);
    race.target_value = NAN; /* no run ended with a figure */
    why = mot_race_nothing(&race);
    CHECK_TEXT(why, "no run ended with a figure to set a target by");
    free(why);
}

TEST(where_few_runs_reach_it_the_method_with_most_is_recommended_and_how_few_is_said)
{
    line_up();
    for (size_t i = 0; i < 3; i++) {
        racer[i].out = false;
        for (size_t s = 0; s < MOT_RACE_SEEDS; s++)
            if (s > i) racer[i].run[s] = missed(10, 0.7); /* the last of them reaches it most often */
    }
    json_t *plan = mot_race_json(&race);
    CHECK(says(plan, "method", "fedbuff"));
    CHECK(says(plan, "answer",
        "fedbuff, learning rate 0.1: it reaches 80 % test accuracy in time in 3 of 10 runs, and no method "
        "does so in "
        "more than half of its runs"));
    CHECK(json_is_null(json_object_get(plan, "time_to_target_s")));
    json_decref(plan);
}

TEST(a_leader_stays_the_fastest_only_where_every_seed_says_so_by_a_twentieth)
{
    static const struct {
        double mine[3], other[3];
        const char *outcome, *text;
    } cases[] = {
        { { 1, 1, 1 }, { 1.1, 1.1, 1.1 }, "stays", "one worker 4 times slower: async stays the fastest" },
        { { 1, 1, 1 }, { 1.04, 1.04, 1.04 }, "open", /* too little */
            "one worker 4 times slower: async and ringmaster cannot be told apart by 3 runs each" },
        { { 1, 1, 1 }, { 0.99, 1.2, 1.2 }, "open", /* not all */
            "one worker 4 times slower: async and ringmaster cannot be told apart by 3 runs each" },
        { { 1, 1, 1 }, { 0.9, 0.9, 0.9 }, "changes",
            "one worker 4 times slower: ringmaster would be 1.11 times as fast as async" },
        { { 1, 1, 1 }, { 0.97, 0.97, 0.97 }, "open",
            "one worker 4 times slower: async and ringmaster cannot be told apart by 3 runs each" },
        { { 1, 1, 1 }, { 0.8, 0.8, 1.01 }, "open",
            "one worker 4 times slower: async and ringmaster cannot be told apart by 3 runs each" },
    };
    for (size_t i = 0; i < MOT_COUNT(cases); i++) {
        line_up();
        change_to(0, cases[i].mine[0], cases[i].mine[1], cases[i].mine[2]);
        change_to(1, cases[i].other[0], cases[i].other[1], cases[i].other[2]);
        change_to(2, 5, 5, 5);
        json_t *plan = mot_race_json(&race);
        CHECK(json_array_size(mot_json_get_list(plan, "changes")) == 1); /* others could not matter */
        CHECK(says(change_of(plan), "outcome", cases[i].outcome));
        CHECK(says(change_of(plan), "text", cases[i].text));
        json_decref(plan);
    }
}

/* Which changes a plan leaves out: one worker slower, half the bandwidth, skewed labels. */
static bool leaves_out(const char *workers, const char *network, const char *server, const char *changes)
{
    char *cluster = mot_format("{network: %s, server: %s, workers: [{count: %s}]}", network, server, workers),
         found[4];
    struct mot_setting setting[] = { { "data", "digits", "--set" }, { "model", "softmax", "--set" },
        { "cluster", cluster, "--set" }, { "stop.updates", "10", "--set" } };
    struct mot_race dry = { .setting = setting, .settings = MOT_COUNT(setting), .dry_run = true };
    bool fine = mot_race_run(&dry) == MOT_OK;
    if (!fine) printf("  %s\n", mot_error());
    for (size_t c = 0; c < MOT_RACE_CHANGES; c++) found[c] = dry.pointless[c] ? '-' : '+';
    found[MOT_RACE_CHANGES] = '\0';
    fine = fine && strcmp(found, changes) == 0;
    if (!fine) printf("  %s workers, network %s, server %s: found %s\n", workers, network, server, found);
    mot_race_close(&dry);
    free(cluster);
    return fine;
}

TEST(a_change_is_left_out_only_where_it_cannot_have_an_effect)
{
    const char *slow = "{bandwidth: 10Mbit}", *none = "none";
    CHECK(leaves_out("4", slow, slow, "+++"));
    CHECK(leaves_out("4", none, "{}", "+-+"));
    CHECK(leaves_out("4", none, slow, "+++")); /* methods with a server race, too */
    CHECK(leaves_out("1", slow, slow, "++-")); /* what it sends to a server takes time */
    CHECK(leaves_out("1", none, "{}", "+--"));
}

TEST_MAIN()
