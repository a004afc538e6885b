/* A study's file: what it means, and the messages for a wrong one. */
#include "study/plan.h"
#include "study/values.h"
#include "test.h"

static struct mot_study_plan *plan;
static enum mot_status status;

static void take_with(const char *text, const struct mot_plan_flags *flags)
{
    mot_study_plan_close(plan);
    plan = NULL;
    status = mot_study_plan_parse("exp.yaml", text, strlen(text), flags, &plan);
}

static void take(const char *text) { take_with(text, &(struct mot_plan_flags){ .methods = NULL }); }

#define REFUSED(text, part)                                                                                  \
    do {                                                                                                     \
        take(text);                                                                                          \
        CHECK_INT(status, MOT_EUSAGE);                                                                       \
        CHECK_HAS(mot_error(), part);                                                                        \
    } while (0)

TEST(arms_by_hand_are_names_or_labels_with_the_keys_they_set)
{
    take("compare:\n  - async\n  - {label: twin, method: async}\n  - {label: server 6 of 8, method: {name: "
         "server, k: 6}, optimizer.lr: 0.2}\n"
         "  - {method: {name: server, k: 4}, batch: 8}\n");
    CHECK_INT(status, MOT_OK);
    CHECK_INT(plan->arms, 4);
    CHECK_TEXT(plan->arm[0].name, "async");
    CHECK_TEXT(plan->arm[1].name, "twin");
    CHECK_TEXT(plan->arm[2].name, "server 6 of 8");
    CHECK_INT(plan->arm[2].settings, 2);
    CHECK_TEXT(plan->arm[2].setting[0].value, "{name: server, k: 6}");
    CHECK_TEXT(plan->arm[2].setting[1].key, "optimizer.lr");
    CHECK_TEXT(plan->arm[3].name, "server k=4, batch=8");
    CHECK_INT(plan->conditions, 1);
    CHECK_TEXT(plan->condition[0].name, "");
    CHECK_INT(plan->seeds.n, 10);
}

TEST(a_sweep_makes_arms_of_methods_seeds_of_seeds_and_conditions_of_the_rest)
{
    take("sweep:\n  method: [allreduce, {name: server, k: 6}]\n  batch: [8, 16, 32]\n  data: [{name: digits, "
         "test: 0.3}, digits]\n  seed: 3..7\n");
    CHECK_INT(status, MOT_OK);
    CHECK_INT(plan->arms, 2);
    CHECK_TEXT(plan->arm[1].name, "server k=6");
    CHECK_INT(plan->conditions, 6);
    CHECK_TEXT(plan->condition[1].name, "batch=8, data=digits");
    CHECK_TEXT(plan->condition[4].setting[1].value, "{name: digits, test: 0.3}");
    CHECK_INT(plan->seeds.n, 5);
    CHECK_INT(plan->seeds.seed[4], 7);
}

TEST(keys_that_change_together_make_a_condition_for_each_of_their_maps)
{
    take("sweep:\n  together: [{workers: 4, batch: 48}, {workers: 8, optimizer: {name: sgd, lr: 1}}]\n"
         "  partition: [equal, sorted]\n");
    CHECK_INT(status, MOT_OK);
    CHECK_INT(plan->conditions, 4);
    CHECK_TEXT(plan->condition[0].name, "workers=4, batch=48, partition=equal");
    CHECK_TEXT(plan->condition[3].name, "workers=8, optimizer={name: sgd, lr: 1}, partition=sorted");
    CHECK_INT(plan->condition[3].settings, 3);
    CHECK_TEXT(plan->condition[3].setting[0].key, "workers");
    CHECK_TEXT(plan->condition[3].setting[1].value, "{name: sgd, lr: 1}");
    CHECK_TEXT(plan->condition[1].setting[1].value, "48");
}

TEST(ranges_go_up_and_down_and_over_powers)
{
    struct mot_arena arena = { 0 };
    struct mot_axis axis;
    CHECK_INT(mot_values_flag("--over", "optimizer.lr=2^-1..2^-10", &arena, &axis), MOT_OK);
    CHECK_INT(axis.values, 10);
    CHECK_TEXT(axis.key, "optimizer.lr");
    CHECK_TEXT(axis.value[0], "2^-1");
    CHECK_TEXT(axis.value[9], "2^-10");
    CHECK_INT(mot_values_flag("--over", "x=5..3", &arena, &axis), MOT_OK);
    CHECK_TEXT(axis.value[2], "3");
    CHECK_INT(mot_values_flag("--over", "x=a, b,c", &arena, &axis), MOT_OK);
    CHECK_INT(axis.values, 3);
    CHECK_TEXT(axis.value[1], "b");
    CHECK_INT(mot_values_flag("--over", "x=2^1..3^4", &arena, &axis), MOT_EUSAGE);
    CHECK_INT(mot_values_flag("--over", "x=1..1000000", &arena, &axis), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "at most 10000 values");
    CHECK_INT(mot_values_flag("--over", "=1", &arena, &axis), MOT_EUSAGE);
    CHECK_INT(mot_values_flag("--over", "lr", &arena, &axis), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "KEY=VALUES");
    mot_arena_free(&arena);
}

TEST(methods_on_the_command_line_may_carry_their_options)
{
    const char *list = "allreduce, server{k: 6},{name: server, k: 4}, async{}";
    take_with(
        "compare: [async]\n", &(struct mot_plan_flags){ .methods = &list, .methods_n = 1, .seeds = "3..5" });
    CHECK_INT(status, MOT_OK);
    CHECK_INT(plan->arms, 4);
    CHECK_TEXT(plan->arm[1].name, "server k=6");
    CHECK_TEXT(plan->arm[1].setting[0].value, "{name: server, k: 6}");
    CHECK_TEXT(plan->arm[2].name, "server k=4");
    CHECK_TEXT(plan->arm[3].setting[0].value, "{name: async}");
    CHECK_INT(plan->seeds.n, 3);
    const char *const wrong[] = { "async{", "}", "async,,", "", "[a]", "{k: 3}" };
    for (size_t i = 0; i < MOT_COUNT(wrong); i++) {
        take_with("", &(struct mot_plan_flags){ .methods = &wrong[i], .methods_n = 1 });
        if (status != MOT_EUSAGE) FAIL("'%s' is taken", wrong[i]);
    }
}

TEST(the_arm_to_compare_with_goes_first_and_the_others_keep_their_order)
{
    static const char arms[] = "compare: [allreduce, async, {label: my own, method: server}, rennala]\n";
    take_with(arms, &(struct mot_plan_flags){ .against = "my own" });
    CHECK_INT(status, MOT_OK);
    static const char *const order[] = { "my own", "allreduce", "async", "rennala" };
    CHECK_INT(plan->arms, 4);
    for (size_t i = 0; i < 4; i++) CHECK_TEXT(plan->arm[i].name, order[i]);
    take_with(arms, &(struct mot_plan_flags){ .against = "allreduce" });
    CHECK_TEXT(plan->arm[0].name, "allreduce");
    CHECK_TEXT(plan->arm[1].name, "async");
    take_with(arms, &(struct mot_plan_flags){ .against = "renala" });
    CHECK_INT(status, MOT_EUSAGE);
    CHECK_HAS(mot_error(), "--against: expected the name of an arm; found 'renala': did you mean 'rennala'?");
    take_with(arms, &(struct mot_plan_flags){ .against = "nothing near" });
    CHECK_INT(status, MOT_EUSAGE);
    CHECK(strstr(mot_error(), "did you mean") == NULL);
}

TEST(seeds_count_from_the_experiments_own)
{
    take_with("seed: 40\n", &(struct mot_plan_flags){ .seeds = "3" });
    CHECK_INT(status, MOT_OK);
    CHECK_INT(plan->seeds.seed[0], 40);
    CHECK_INT(plan->seeds.seed[2], 42);
    take_with("", &(struct mot_plan_flags){ .seeds = "7,9" });
    CHECK_INT(plan->seeds.seed[1], 9);
}

TEST(a_wrong_study_is_refused_with_its_place)
{
    REFUSED(
        "sweep: {batch: []}", "exp.yaml:1:16: sweep.batch: expected at least one value; found an empty list");
    REFUSED("sweep: {batch: 8}", "sweep.batch: expected a list of values");
    REFUSED("sweep: {batch: [8, 8]}", "found '8' twice");
    REFUSED("sweep: {}", "sweep: expected a map");
    REFUSED("sweep: 3", "sweep: expected a map");
    REFUSED(
        "sweep: {together: 1..3}", "exp.yaml:1:19: sweep.together: expected a list of maps; found '1..3'");
    REFUSED("sweep: {together: [3]}", "expected maps of keys that change together");
    REFUSED("sweep: {together: [{batch: 8}, {}]}", "found an empty one");
    REFUSED("sweep: {together: [{seed: 8}]}", "all arms share the same seeds");
    REFUSED("sweep: {together: [{batch: 8}], batch: [1]}", "1:21: expected a key once; found 'batch' twice");
    REFUSED("sweep: {together: [{a: 1}]}\ntune: {over: {a: [1]}}", "both tuned and swept");
    REFUSED("sweep: {method: []}", "at least one method");
    REFUSED("sweep: {method: async}", "expected a list of methods");
    REFUSED("sweep: {seed: 5}", "sweep.seed: expected a list of values, or a range");
    REFUSED("sweep: {seed: [1, 1]}", "twice");
    REFUSED("sweep: {seed: [a]}", "whole numbers");
    REFUSED("sweep: {output: [a]}", "--store");
    REFUSED("sweep: {tune: [1, 2]}", "tune: expected a key of a run; found one of the study");
    REFUSED("compare: [{label: x, sweep.batch: [1, 2]}]", "sweep.batch: expected a key of a run");
    REFUSED("compare: []", "compare: expected a list of arms to compare; found an empty list");
    REFUSED("compare: async", "expected a list of arms to compare");
    REFUSED("compare: [async, async]", "found 'async' twice: give one a label");
    REFUSED("compare: [{name: server, k: 6}]", "write {method: {name: server, k: 6}}");
    REFUSED("compare: [{seed: 3, method: async}]", "all arms share the same seeds");
    REFUSED("compare: [{label: [], method: async}]", "compare.label: expected a name");
    REFUSED("compare: [{label: \"a\\nb\", method: async}]", "compare.label: expected a name on one line");
    REFUSED("compare: [[]]", "expected a method's name");
    REFUSED("compare: [async]\nsweep: {method: [async]}", "expected the arms in one place");
    REFUSED("tune: 3", "tune: expected a map");
    REFUSED("tune: {}", "tune.over: expected a map");
    REFUSED("tune: {over: {}}", "tune.over: expected a map");
    REFUSED("tune: {over: {a: [1]}, bye: x}", "unknown key: did you mean 'by'");
    REFUSED("tune: {over: {a: [1]}, by: test_acuracy}", "did you mean 'test_accuracy'");
    REFUSED("tune: {over: {seed: [1]}}", "cannot be tuned");
    REFUSED("tune: {over: {stop.updates: [10, 20]}}", "'stop.updates' cannot be tuned");
    REFUSED("tune: {over: {method: [async]}}", "'method' cannot be tuned");
    REFUSED("tune: {over: {a: [1]}, seeds: 9..11}",
        "exp.yaml:1:31: tune.seeds: expected seeds that no arm is judged on; found 9 in both");
    REFUSED("sweep: {a: [1]}\ntune: {over: {a: [1]}}", "both tuned and swept");
    REFUSED("sweep: {a: 1..50, b: 1..50}", "at most 2000 combinations");
    REFUSED("sweep: {a: 1..1000, seed: 1..1000}", "at most 100000 runs; this one has 1000000");
    REFUSED("tune: {over: {a: 1..1000, b: 1..1000, c: 1..1000}}", "at most 100000 runs");
    REFUSED("[]", "expected a map");
    REFUSED("compare: [", "not valid YAML");
}

/* A list of `n` words, number `i` written between `begin` and `end`; malloc'd. */
static char *list_of(const char *before, const char *begin, size_t n, const char *end, const char *after)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    fputs(before, out);
    for (size_t i = 0; i < n; i++) fprintf(out, "%s%s%zu%s", i ? ", " : "", begin, i, end);
    fputs(after, out);
    fclose(out);
    return text;
}

TEST(a_study_may_be_as_large_as_its_limits_and_no_larger)
{
    char *arms = list_of("compare: [", "{label: a", 200, ", method: async}", "]"),
         *more = list_of("compare: [", "{label: a", 201, ", method: async}", "]");
    take(arms);
    CHECK_INT(status, MOT_OK);
    CHECK_INT(plan->arms, 200);
    REFUSED(more, "expected at most 200 arms; found more");
    free(arms);
    free(more);
    take("sweep: {a: 1..40, b: 1..50}");
    CHECK_INT(status, MOT_OK);
    CHECK_INT(plan->conditions, 2000);
    REFUSED("sweep: {a: 1..41, b: 1..50}", "at most 2000 combinations; found 2050 or more");
    take("sweep: {a: 1..1000, seed: 1..100}");
    CHECK_INT(status, MOT_OK);
    REFUSED("sweep: {a: 1..1000, seed: 1..101}", "at most 100000 runs; this one has 101000");
    /* 10 runs that judge, and 3 seeds of 33330 points */
    take("tune: {over: {a: 1..3333, b: 1..10}}");
    CHECK_INT(status, MOT_OK);
    REFUSED("tune: {over: {a: 1..3334, b: 1..10}}", "this one has 100030");
    const struct mot_plan_flags only = { .tunes = true };
    take_with("tune: {over: {a: 1..10000, b: 1..10}, seeds: [7]}", &only);
    CHECK_INT(status, MOT_OK);
    take_with("tune: {over: {a: 1..10000, b: 1..11}, seeds: [7]}", &only);
    CHECK_HAS(mot_error(), "this one has more than 100000");
}

TEST(a_key_may_have_ten_thousand_values)
{
    struct mot_arena arena = { 0 };
    struct mot_axis axis;
    CHECK_INT(mot_values_flag("--over", "x=1..10000", &arena, &axis), MOT_OK);
    CHECK_INT(axis.values, 10000);
    CHECK_TEXT(axis.value[9999], "10000");
    CHECK_INT(mot_values_flag("--over", "x=0..10000", &arena, &axis), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "--over: x: expected at most 10000 values; found 10001");
    char *most = list_of("x=", "", 10000, "", ""), *more = list_of("x=", "", 10001, "", "");
    CHECK_INT(mot_values_flag("--over", most, &arena, &axis), MOT_OK);
    CHECK_INT(axis.values, 10000);
    CHECK_INT(mot_values_flag("--over", more, &arena, &axis), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "at most 10000 values; found 10001");
    free(most);
    free(more);
    CHECK_INT(mot_values_flag("--over", "x=", &arena, &axis), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "--over: x: expected values such as 0.1,0.2 or 2^-1..2^-10; found none");
    mot_arena_free(&arena);
}

TEST(what_is_nearly_a_range_is_none)
{
    struct mot_arena arena = { 0 };
    struct mot_axis axis;
    static const char *const none[] = { "x=..3", "x=1..", "x=1..a", "x=a..3", "x=-..3", "x=1..3x", "x=^1..^3",
        "x=2^..2^3", "x=2^1..2^", "x=2^1..3", "x=2^1..3^3", "x=0^1..0^3", "x=-2^1..-2^3", "x=a^1..a^3",
        "x=1000000000001..1000000000002", "x=-1000000000001..-1000000000002",
        "x=000000000000000000000001..000000000000000000000002",
        "x=00000000000000000000000000000002^1..00000000000000000000000000000002^2" };
    for (size_t i = 0; i < MOT_COUNT(none); i++)
        if (mot_values_flag("--over", none[i], &arena, &axis) != MOT_EUSAGE) FAIL("'%s' is taken", none[i]);
    static const struct {
        const char *text, *first, *last;
        size_t n;
    } range[] = { { "x=-2..1", "-2", "1", 4 }, { "x=7..7", "7", "7", 1 },
        { "x=0.5^0..0.5^2", "0.5^0", "0.5^2", 3 },
        { "x=999999999999..1000000000000", "999999999999", "1000000000000", 2 },
        { "x=-999999999999..-1000000000000", "-999999999999", "-1000000000000", 2 },
        { "x=00000000000000000000001..2", "1", "2", 2 },
        { "x=0000000000000000000000000000002^1..0000000000000000000000000000002^2",
            "0000000000000000000000000000002^1", "0000000000000000000000000000002^2", 2 } };
    for (size_t i = 0; i < MOT_COUNT(range); i++) {
        CHECK_INT(mot_values_flag("--over", range[i].text, &arena, &axis), MOT_OK);
        CHECK_INT(axis.values, range[i].n);
        CHECK_TEXT(axis.value[0], range[i].first);
        CHECK_TEXT(axis.value[axis.values - 1], range[i].last);
    }
    mot_arena_free(&arena);
}

TEST(from_one_to_ten_thousand_seeds_each_of_them_once)
{
    take_with("", &(struct mot_plan_flags){ .seeds = "0" });
    CHECK_HAS(mot_error(),
        "--seeds: seeds: expected a number of seeds from 1 to 10000, or a range such as 3..12; found 0");
    take_with("", &(struct mot_plan_flags){ .seeds = "1" });
    CHECK_INT(plan->seeds.n, 1);
    take_with("", &(struct mot_plan_flags){ .seeds = "10000" });
    CHECK_INT(plan->seeds.n, 10000);
    take_with("", &(struct mot_plan_flags){ .seeds = "10001" });
    CHECK_INT(status, MOT_EUSAGE);
    take_with("", &(struct mot_plan_flags){ .seeds = "1,01" });
    CHECK_HAS(mot_error(), "expected each seed once; found 1 twice");
    take_with("seed: 18446744073709551615\n", &(struct mot_plan_flags){ .seeds = "2" });
    CHECK_INT(status, MOT_OK);
    CHECK(plan->seeds.seed[0] + 1 == plan->seeds.seed[1] && plan->seeds.seed[1] == UINT64_MAX - 1);
    take_with("seed: 18446744073709551613\n", &(struct mot_plan_flags){ .seeds = "2" });
    CHECK(plan->seeds.seed[0] == UINT64_MAX - 2);
    take("tune: {over: {a: [1]}}");
    CHECK_INT(plan->tune.seeds.n, 3);
    CHECK_INT(plan->tune.seeds.seed[0], 1001);
    CHECK_INT(plan->seeds.n, 10);
    /* a tuning's own seeds: those of the flag */
    take_with("tune: {over: {a: [1]}, seeds: 5}", &(struct mot_plan_flags){ .seeds = "2", .tunes = true });
    CHECK_INT(plan->tune.seeds.n, 2);
    CHECK_INT(plan->seeds.n, 10);
    take_with("tune: {over: {a: [1]}, seeds: 5}", &(struct mot_plan_flags){ .seeds = "2" });
    CHECK_INT(plan->tune.seeds.n, 5);
    CHECK_INT(plan->tune.seeds.seed[4], 1005);
    CHECK_INT(plan->seeds.n, 2);
}

TEST(what_is_tuned_may_come_from_flags_which_go_before_the_file)
{
    const char *over[] = { "batch=8,16", "optimizer.lr=0.1,0.2,0.4" },
               *twice[] = { "batch=8,16", "batch=2,4" };
    take_with("tune: {over: {workers: [2, 4]}, by: grad_norm}",
        &(struct mot_plan_flags){ .over = over, .overs = 2, .by = "train_loss", .halving = true });
    CHECK_INT(status, MOT_OK);
    CHECK_INT(plan->tune.overs, 2);
    CHECK_TEXT(plan->tune.over[0].key, "batch");
    CHECK_TEXT(plan->tune.over[1].key, "optimizer.lr");
    CHECK_INT(plan->tune.over[1].values, 3);
    CHECK_INT(plan->tune.by, MOT_BY_TRAIN_LOSS);
    CHECK(plan->tune.asked && plan->tune.halving);
    take_with("", &(struct mot_plan_flags){ .over = over, .overs = 1 });
    CHECK(plan->tune.asked && !plan->tune.halving);
    CHECK_INT(plan->tune.by, MOT_BY_TIME_TO_TARGET);
    take_with("tune: {over: {workers: [2, 4]}, by: grad_norm, halving: true}",
        &(struct mot_plan_flags){ .overs = 0 });
    CHECK_INT(plan->tune.by, MOT_BY_GRAD_NORM);
    CHECK(plan->tune.halving);
    take_with("", &(struct mot_plan_flags){ .over = twice, .overs = 2 });
    CHECK_HAS(mot_error(), "--over: expected a key once; found 'batch' twice");
    take_with("", &(struct mot_plan_flags){ .over = over, .overs = 1, .by = "los" });
    CHECK_HAS(mot_error(),
        "--by: expected one of time_to_target, test_accuracy, train_loss, grad_norm; found 'los'");
    take("batch: 4");
    CHECK(!plan->tune.asked);
}

TEST(only_a_studys_own_keys_are_refused_in_its_runs)
{
    take("sweep: {tunes: [1, 2]}"); /* no such key either, but that is for the experiment to say */
    CHECK_INT(status, MOT_OK);
    take("tune: {over: {stopped: [1, 2]}}");
    CHECK_INT(status, MOT_OK);
    REFUSED("tune: {over: {stop: [1, 2]}}", "'stop' cannot be tuned");
    REFUSED("compare: [{compare: 1}]", "compare: expected a key of a run");
    REFUSED("compare: [{label: a, output: x}]", "the runs of a study go into its store");
    REFUSED("compare: [{label: \"a\\x7f\", method: async}]", "expected a name on one line");
    REFUSED("compare: [{label: '', method: async}]", "compare.label: expected a name");
    REFUSED("compare: [{}]", "expected a method's name");
    REFUSED("compare: ['']", "expected a name or a map");
    REFUSED("sweep: {method: [{k: 3}]}", "method: expected a name or a map such as {name: server, k: 6}");
    REFUSED("sweep: []", "found a list");
    REFUSED("sweep: {}", "found an empty one");
    REFUSED("tune: {over: 3}", "tune.over: expected a map such as {optimizer.lr: 2^-1..2^-10}; found '3'");
    REFUSED(
        "tune: {by: grad_norm}", "tune.over: expected a map such as {optimizer.lr: 2^-1..2^-10}; found none");
    REFUSED("tune: {over: {}}", "found an empty one");
}

TEST(flags_that_would_be_lost_are_refused)
{
    const struct mot_setting seed = { "seed", "3", "--seed" }, method = { "method", "async", "--method" },
                             out = { "output", "x", "--output" };
    take_with("", &(struct mot_plan_flags){ .setting = &seed, .settings = 1 });
    CHECK_HAS(mot_error(), "--seed: a study has several seeds");
    take_with("", &(struct mot_plan_flags){ .setting = &out, .settings = 1 });
    CHECK_HAS(mot_error(), "--out DIR");
    take_with("compare: [async]", &(struct mot_plan_flags){ .setting = &method, .settings = 1 });
    CHECK_HAS(mot_error(), "override it with --methods");
    take_with("sweep: {method: [async]}", &(struct mot_plan_flags){ .setting = &method, .settings = 1 });
    CHECK_HAS(mot_error(), "override it with --methods");
    take_with("", &(struct mot_plan_flags){ .setting = &method, .settings = 1 });
    CHECK_INT(status, MOT_OK);
    const char *list = "async";
    take_with(
        "", &(struct mot_plan_flags){ .setting = &method, .settings = 1, .methods = &list, .methods_n = 1 });
    CHECK_HAS(mot_error(), "--method: --methods already says which methods");
}

TEST(a_wrong_key_or_value_of_a_run_is_named_where_it_was_written)
{
    struct mot_experiment *x;
    take("stop: {updates: 3}\nsweep:\n  batch: [8, many]\n");
    CHECK_INT(status, MOT_OK);
    CHECK_INT(mot_study_plan_run(plan, 0, 1, NULL, 0, NULL, &x), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "exp.yaml:3:14: batch: expected a whole number");
    take("sweep: {optimizer.lrr: [1]}");
    CHECK_INT(mot_study_plan_run(plan, 0, 0, NULL, 0, NULL, &x), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "did you mean 'lr'");
    CHECK_HAS(mot_error(), "exp.yaml:1:25");
    take("compare: [async, {label: x, method: {name: server, kk: 3}}]");
    CHECK_INT(mot_study_plan_run(plan, 1, 0, NULL, 0, NULL, &x), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "method.kk: unknown key");
}

TEST(a_path_that_is_swept_in_a_file_is_found_from_there_and_one_in_a_flag_from_here)
{
    const struct mot_setting flag = { "cluster", "nowhere.yaml", "--cluster" };
    static const char text[] = "sweep: {cluster: [a.yaml]}", plain[] = "seed: 1";
    struct mot_experiment *x;
    mot_study_plan_close(plan); /* of the test before */
    CHECK_INT(mot_study_plan_parse(
                  "box/exp.yaml", text, strlen(text), &(struct mot_plan_flags){ .methods = NULL }, &plan),
        MOT_OK);
    CHECK_INT(mot_study_plan_run(plan, 0, 0, NULL, 0, NULL, &x), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "'box/a.yaml'");
    mot_study_plan_close(plan);
    CHECK_INT(mot_study_plan_parse("box/exp.yaml", plain, strlen(plain),
                  &(struct mot_plan_flags){ .setting = &flag, .settings = 1 }, &plan),
        MOT_OK);
    CHECK_INT(mot_study_plan_run(plan, 0, 0, NULL, 0, NULL, &x), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "'nowhere.yaml'");
}

TEST(a_run_takes_flags_then_condition_then_arm_then_tuned_values_then_seed)
{
    const struct mot_setting flag = { "batch", "4", "--batch" };
    const struct mot_study_setting tuned = { "optimizer.lr", "0.5", "tune" };
    struct mot_experiment *x;
    uint64_t seed = 77;
    take_with("batch: 2\nsweep: {workers: [3, 5]}\ncompare: [{label: a, method: async}, {label: b, batch: "
              "16, optimizer.lr: 0.25}]\n",
        &(struct mot_plan_flags){ .setting = &flag, .settings = 1 });
    CHECK_INT(status, MOT_OK);
    CHECK_INT(mot_study_plan_run(plan, 0, 1, NULL, 0, &seed, &x), MOT_OK);
    CHECK(x->batch[0] == 4 && x->workers == 5 && x->seed == 77 && x->output == NULL);
    mot_experiment_close(x);
    CHECK_INT(mot_study_plan_run(plan, 1, 0, &tuned, 1, &seed, &x), MOT_OK);
    CHECK(x->batch[0] == 16 && x->workers == 3 && x->optim.lr == 0.5);
    mot_experiment_close(x);
    mot_study_plan_close(plan);
    plan = NULL;
}

TEST_MAIN()
