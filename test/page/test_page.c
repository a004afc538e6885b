#include "page/page_parts.h"
#include "page/pages.h"

static const char *const two[] = { "slow", "fast" };

/* The answer as a reader sees it: without marks. */
static char *answer_of(json_t *d)
{
    char *page = page_of(d), *from = strstr(page, "class=\"answer\">"), *to = strstr(from, "</p>"),
         *out = mot_new(strlen(page) + 1, 1);
    size_t n = 0;
    bool mark = false;
    for (char *c = from + strlen("class=\"answer\">"); c < to; c++) {
        if (*c == '<') mark = true;
        if (!mark) out[n++] = *c;
        if (*c == '>') mark = false;
    }
    free(page);
    return out;
}

TEST(the_answer_names_the_winner_and_by_how_much)
{
    json_t *d = document_of(two, 2);
    set_figure(d, 0, "time_to_target", 10, 9, 11);
    set_figure(d, 1, "time_to_target", 2.5, 2.2, 2.9);
    set_against(d, 1, "time_to_target", 4, 3.5, 4.5, "faster");
    char *answer = answer_of(d);
    CHECK_TEXT(answer,
        "fast wins: it reaches 90 % test accuracy in 2.50 s (median of 10, 2.20 s to 2.90 s), 4.00 times "
        "(3.50 to 4.50) as fast as slow. All arms share one learning rate, which was not tuned for any of "
        "them. "
        "Tune them first: motley compare x.yaml --over optimizer.lr=2^0..2^-8 --halving");
    free(answer);
    json_decref(d);
}

TEST(the_answer_says_where_nothing_is_distinguishable)
{
    json_t *d = document_of(two, 2);
    set_figure(d, 0, "time_to_target", 10, 9, 11);
    set_figure(d, 1, "time_to_target", 10.5, 9, 11.5);
    set_against(d, 1, "time_to_target", 0.97, 0.9, 1.1, "not distinguishable");
    char *answer = answer_of(d);
    CHECK_HAS(answer, "Nothing is distinguishable");
    free(answer);
    set_figure(d, 1, "time_to_target", 9.5, 9, 11.5);
    answer = answer_of(d);
    CHECK_HAS(answer, "fast has the best median");
    CHECK_HAS(answer, "not distinguishable from slow");
    CHECK(!strstr(answer, "wins"));
    free(answer);
    json_decref(d);
}

TEST(the_first_arm_may_win_and_a_slower_one_is_measured_the_other_way_round)
{
    json_t *d = document_of(two, 2);
    set_figure(d, 0, "time_to_target", 2, 1.9, 2.1);
    set_figure(d, 1, "time_to_target", 4, 3.9, 4.1);
    set_against(d, 1, "time_to_target", 0.5, 0.4, 0.8, "slower");
    char *answer = answer_of(d);
    CHECK_HAS(answer, "slow wins: it reaches 90 % test accuracy in 2.00 s");
    CHECK_HAS(answer, "fast, takes 2.00 times (1.25 to 2.50) as long");
    free(answer);
    json_decref(d);
}

TEST(without_a_target_arms_are_judged_by_accuracy_and_more_is_better)
{
    json_t *d = document_of(two, 2);
    json_object_set_new(d, "target", json_null());
    set_figure(d, 0, "test_accuracy", 0.8, 0.79, 0.81);
    set_figure(d, 1, "test_accuracy", 0.9, 0.89, 0.91);
    set_against(d, 1, "test_accuracy", 1.125, 1.1, 1.15, "better");
    char *answer = answer_of(d), *page = page_of(d);
    CHECK_HAS(answer, "fast wins: it ends with a test accuracy of 90.0 %");
    CHECK_PAGE(page, "no target");
    CHECK(!strstr(page, ">Time<")); /* these runs have none */
    free(page);
    free(answer);
    json_decref(d);
}

/* The cells of an arm's row in the first table, without marks, a bar between them. malloc'd. */
static char *row_of(const char *page, const char *arm)
{
    char *name = mot_format("</span>%s</th>", arm), *out = mot_new(4096, 1);
    const char *from = strstr(strstr(page, "<tbody>"), name), *to = strstr(from, "</tr>");
    size_t n = 0;
    bool mark = false;
    for (const char *c = from + strlen(name); c < to && n < 4000; c++) {
        if (strncmp(c, "<td", 3) == 0) out[n++] = '|';
        else if (*c == '<' && c[1] != '/') out[n++] = ' ';
        if (*c == '<') mark = true;
        if (!mark) out[n++] = *c;
        if (*c == '>') mark = false;
    }
    free(name);
    return out;
}

TEST(without_a_target_the_table_has_the_time_and_says_faster_of_that)
{
    static const char *const names[] = { "slow", "fast", "both", "costly" };
    json_t *d = document_of(names, 4);
    json_object_set_new(d, "target", json_null());
    const double time[] = { 20, 5, 10, 40 }, accuracy[] = { 0.9, 0.9, 0.95, 0.95 };
    for (size_t a = 0; a < 4; a++) {
        set_figure(d, a, "time", time[a], time[a], time[a]);
        set_figure(d, a, "test_accuracy", accuracy[a], accuracy[a] - 0.01, accuracy[a] + 0.01);
        if (a)
            set_against(d, a, "time", 20 / time[a], 20 / time[a], 20 / time[a], a < 3 ? "faster" : "slower");
        if (a)
            set_against(
                d, a, "test_accuracy", accuracy[a] / 0.9, 1, 1.1, a == 1 ? "not distinguishable" : "better");
    }
    char *page = page_of(d), *fast = row_of(page, "fast"), *both = row_of(page, "both"),
         *costly = row_of(page, "costly");
    CHECK_PAGE(page, ">Time</th><th scope=\"col\" class=\"num\">Speed-up</th>");
    CHECK_PAGE(page, ">Test accuracy</th><th scope=\"col\" class=\"num\">Against the first</th>");
    CHECK_HAS(fast, "|5.00 s|4.00\u00d7 4.00 \u2013 4.00 faster|90.0 % ");
    CHECK_HAS(fast, "|1.00\u00d7 1.00 \u2013 1.10 not distinguishable|");
    CHECK_HAS(both, "|10.0 s|2.00\u00d7 2.00 \u2013 2.00|95.0 % ");
    CHECK_HAS(both, "|1.06\u00d7 1.00 \u2013 1.10 better and faster|");
    CHECK_HAS(costly, "|40.0 s|0.500\u00d7 0.500 \u2013 0.500|95.0 % ");
    CHECK_HAS(costly, "|1.06\u00d7 1.00 \u2013 1.10 better, but slower|");
    free(page), free(fast), free(both), free(costly);
    json_decref(d);
}

TEST(an_arm_that_learned_nothing_is_not_called_faster)
{
    json_t *d = document_of(two, 2);
    json_object_set_new(d, "target", json_null());
    for (size_t a = 0; a < 2; a++) {
        set_figure(d, a, "time", a ? 5 : 20, a ? 5 : 20, a ? 5 : 20);
        set_figure(d, a, "test_accuracy", a ? 0.1 : 0.9, a ? 0.1 : 0.9, a ? 0.1 : 0.9);
    }
    set_against(d, 1, "time", 4, 4, 4, "faster");
    set_against(d, 1, "test_accuracy", 0.11, 0.1, 0.12, "worse");
    json_object_set_new(cell_at(d, 1), "unlearned", json_integer(2));
    char *page = page_of(d), *row = row_of(page, "fast");
    CHECK_HAS(row, "|5.00 s|4.00\u00d7 4.00 \u2013 4.00|10.0 %|");
    CHECK_HAS(row, " learned nothing|");
    free(page), free(row);
    json_decref(d);
}

TEST(a_run_alone_has_its_time_in_the_table_and_a_target_takes_its_place)
{
    json_t *d = document_of(two, 1);
    set_figure(d, 0, "time", 4.64, 4.64, 4.64);
    set_figure(d, 0, "time_to_target", 2.5, 2.5, 2.5);
    char *page = page_of(d);
    CHECK_PAGE(page, ">Time to target<");
    CHECK(!strstr(page, ">Time<"));
    free(page);
    json_object_set_new(d, "target", json_null());
    json_object_del(json_object_get(cell_at(d, 0), "figures"), "time_to_target");
    page = page_of(d);
    CHECK_PAGE(page, ">Time</th>");
    CHECK_PAGE(page, "<td class=\"num\">4.64 s</td>");
    CHECK(!strstr(page, "Speed-up"));
    free(page);
    json_decref(d);
}

TEST(the_page_of_a_plan_says_what_to_run_and_what_would_change_that)
{
    json_t *d = document_of(two, 2);
    set_figure(d, 0, "time_to_target", 2, 1.9, 2.1);
    json_object_set_new(d, "plan",
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:[s], s:b}", "answer", "fast, learning rate 0.1: soon",
            "undecided", "", "margin", "2.00 times faster than slow", "reason", "it waits for nobody",
            "command", "motley train x.yaml --method 'a<b'", "changes",
            "half the bandwidth: fast stays the fastest", "complete", 0));
    char *answer = answer_of(d), *page = page_of(d);
    CHECK_TEXT(answer,
        "Run fast, learning rate 0.1: soon. It is 2.00 times faster than slow. Why: it waits for nobody.");
    CHECK_PAGE(page, "<h2>What to run</h2>");
    CHECK_PAGE(page, ">motley train x.yaml --method &#39;a&lt;b&#39;</pre>");
    CHECK_PAGE(page, "<li>half the bandwidth: fast stays the fastest</li>");
    CHECK_PAGE(page, "the budget ran out");
    free(answer), free(page);
    json_object_del(d, "plan");
    page = page_of(d);
    CHECK(!strstr(page, "What to run"));
    free(page);
    json_decref(d);
}

TEST(the_page_of_a_plan_that_recommends_nothing_says_so_and_whether_it_was_complete)
{
    json_t *d = document_of(two, 2),
           *plan = json_pack("{s:s, s:s, s:s, s:s, s:s, s:[], s:b}", "answer",
               "no run reaches 99 % test accuracy", "undecided", "", "margin", "", "reason", "", "command",
               "", "changes", "complete", 0);
    json_object_set_new(d, "plan", plan);
    char *answer = answer_of(d), *page = page_of(d);
    CHECK_TEXT(answer, "Nothing to recommend: no run reaches 99 % test accuracy.");
    CHECK_PAGE(page, "Not complete: the budget ran out");
    CHECK(!strstr(page, "What to run"));
    free(answer), free(page);
    json_object_set_new(plan, "complete", json_true());
    page = page_of(d);
    CHECK(!strstr(page, "Not complete"));
    free(page);
    json_decref(d);
}

TEST(a_target_that_nobody_reaches_and_runs_that_fail_are_shown_as_such)
{
    json_t *d = document_of(two, 2);
    set_figure(d, 0, "time_to_target", NAN, 3, NAN);
    set_figure(d, 1, "time_to_target", NAN, NAN, NAN);
    json_object_set_new(cell_at(d, 0), "reached", json_integer(0));
    add_run(d, 0, 1, NULL, "diverged", "the loss became infinite after 12 updates", NAN);
    add_run(d, 0, 2, NULL, "crashed", "crashed: signal 11 (Segmentation fault)", NAN);
    add_run(d, 1, 1, NULL, "ok", NULL, NAN);
    char *answer = answer_of(d), *page = page_of(d);
    CHECK_HAS(answer, "No arm reaches 90 % test accuracy");
    CHECK_PAGE(page, "1 diverged");
    CHECK_PAGE(page, "1 crashed");
    CHECK_PAGE(page, "1 fell short");
    CHECK_PAGE(page, "signal 11 (Segmentation fault)");
    CHECK_PAGE(page, "the loss became infinite after 12 updates");
    CHECK_PAGE(page, "2 failed");
    CHECK_PAGE(page, "not reached");
    free(page);
    free(answer);
    json_decref(d);
}

TEST(no_text_of_a_study_becomes_part_of_the_page_itself)
{
    const char *const wicked[] = { "</script><img src=x onerror=alert(1)>",
        "{{data}} {{script}} <!-- & \"'" };
    json_t *d = document_of(wicked, 2);
    json_object_set_new(d, "title", json_string("</title><script>alert(2)</script>"));
    json_object_set_new(d, "command", json_string("<img src=x onerror=alert(3)>"));
    json_object_set_new(d, "experiment", json_string("</pre><script>alert(4)</script>"));
    json_array_append_new(json_object_get(d, "tuning"),
        json_pack("{s:i, s:i, s:s, s:[s], s:[]}", "arm", 0, "condition", 0, "by", "</script>", "over", "<b>",
            "points"));
    add_run(d, 0, 1, NULL, "<i>", "<img src=x onerror=alert(5)>", NAN);
    set_figure(d, 0, "time_to_target", 1, 1, 1);
    char *page = page_of(d);
    CHECK(!strstr(page, "<img"));
    CHECK(!strstr(page, "<i>"));
    CHECK(!strstr(page, "<script>alert"));
    CHECK(!strstr(page, "</script><"));
    CHECK_INT(times_in(page, "</script>"), 2);    /* the data's and the script's own */
    CHECK_INT(times_in(page, "'use strict'"), 1); /* {{script}} in a name is not filled in */
    CHECK_PAGE(page, "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;");
    CHECK_PAGE(page, "\\u003c/script\\u003e");
    free(page);
    json_decref(d);
}

TEST(the_page_asks_for_nothing_and_allows_only_its_own_script)
{
    json_t *d = document_of(two, 2);
    set_figure(d, 0, "time_to_target", 1, 1, 1);
    char *page = page_of(d), *again = page_of(d);
    CHECK(strcmp(page, again) == 0);
    CHECK_PAGE(page, "default-src 'none'");
    CHECK(!strstr(page, "unsafe"));
    CHECK(!strstr(page, "https://"));
    CHECK(!strstr(page, "@import"));
    CHECK_INT(times_in(page, "http://"), 1); /* the name of SVG, which is no address to ask */
    CHECK(!strstr(page, "{{"));
    free(again);
    free(page);
    json_decref(d);
}

TEST(curves_timelines_rows_and_staleness_of_real_runs_are_in_it)
{
    char *folder = place("real");
    SIMULATE(folder, "method=async", "cluster.network.up=1Mbit");
    json_t *d = document_of(two, 1), *summary;
    add_run(d, 0, 1, folder, "ok", NULL, 1.5);
    char *page = page_of(d), *path = mot_path_join(folder, "summary.json");
    CHECK_PAGE(page, "\"test_accuracy\":[");
    CHECK_PAGE(page, "\"u\":[0,4,8,12]");
    CHECK_PAGE(page, "\"timeline\":{");
    CHECK_PAGE(page, "\"compute\":[");
    CHECK_PAGE(page, "\"classes\":[");
    summary = json_load_file(path, 0, NULL);
    json_int_t rows = 0, by_class = 0;
    size_t i, c;
    json_t *worker, *count;
    json_array_foreach(json_object_get(summary, "worker"), i, worker)
    {
        rows += json_integer_value(json_object_get(worker, "rows"));
        json_array_foreach(json_object_get(worker, "rows_by_class"), c, count) by_class +=
            json_integer_value(count);
        CHECK_INT(json_array_size(json_object_get(worker, "rows_by_class")), 10);
    }
    CHECK_INT(rows, 1438); /* 80 % of the digits */
    CHECK_INT(by_class, 1438);
    json_decref(summary);
    free(path);
    free(page);
    free(folder);
    json_decref(d);
}

/* What the page's script reads. */
static json_t *data_of(const char *page)
{
    static const char begins[] = "<script type=\"application/json\" id=\"data\">";
    const char *from = strstr(page, begins), *to = from ? strstr(from, "</script>") : NULL;
    json_error_t error;
    json_t *data =
        to ? json_loadb(from + strlen(begins), (size_t)(to - from) - strlen(begins), 0, &error) : NULL;
    if (!data) printf("  the page's data are no JSON: %s\n", to ? error.text : "there are none");
    return data;
}

TEST(the_data_of_a_page_are_json_with_every_worker_of_its_run)
{
    char *folder = place("workers");
    SIMULATE(folder, "method=async", "workers=3", "cluster.network.up=1Mbit", "trace=true");
    json_t *d = document_of(two, 1);
    add_run(d, 0, 1, folder, "ok", NULL, 1.5);
    char *page = page_of(d);
    json_t *data = data_of(page), *detail = json_array_get(json_object_get(data, "details"), 0), *worker;
    CHECK(data && detail);
    CHECK_INT(json_integer_value(json_object_get(detail, "workers_of_run")), 3);
    CHECK(json_is_true(json_object_get(detail, "trace"))); /* there is more of it than the timeline shows */
    size_t i, n = json_array_size(json_object_get(detail, "workers"));
    CHECK_INT(n, 3);
    json_array_foreach(json_object_get(detail, "workers"), i, worker)
    {
        CHECK_INT(json_integer_value(json_object_get(worker, "id")), i);
        CHECK_INT(json_array_size(json_object_get(worker, "time")), 3);
        CHECK_INT(json_array_size(json_object_get(worker, "classes")), 10);
    }
    json_decref(data);
    free(page);
    free(folder);
    json_decref(d);
}

TEST(under_each_condition_there_is_an_answer_that_names_it)
{
    json_t *d = document_of(two, 1);
    set_figure(d, 0, "time_to_target", 10, 9, 11);
    json_array_append_new(json_object_get(d, "conditions"), json_pack("{s:s, s:{}}", "name", "", "settings"));
    json_t *second = json_deep_copy(cell_at(d, 0));
    json_object_set_new(second, "condition", json_integer(1));
    json_array_append_new(json_object_get(d, "cells"), second);
    for (size_t c = 0; c < 2; c++)
        json_object_set_new(json_array_get(json_object_get(d, "conditions"), c), "name",
            json_string(c ? "batch=16" : "batch=8"));
    char *page = page_of(d);
    CHECK_PAGE(page, "<li><span class=\"under\">batch=8</span> <b class=\"k0\">slow</b> reaches");
    CHECK_PAGE(page, "<li><span class=\"under\">batch=16</span> <b class=\"k0\">slow</b> reaches");
    CHECK_INT(times_in(page, "<ul class=\"answer\">"), 1);
    free(page);
    json_decref(d);
}

TEST(figures_have_the_digits_that_count_and_the_unit_that_suits)
{
    static const struct {
        double value;
        enum mot_unit unit;
        const char *text;
    } shown[] = {
        { 9.994, MOT_UNIT_RATIO, "9.99" },
        { 9.996, MOT_UNIT_RATIO, "10.0" },
        { 10.4, MOT_UNIT_RATIO, "10.4" },
        { 99.94, MOT_UNIT_RATIO, "99.9" },
        { 99.96, MOT_UNIT_RATIO, "100" },
        { 1234.5, MOT_UNIT_RATIO, "1234" },
        { 0.1234, MOT_UNIT_RATIO, "0.123" },
        { 1, MOT_UNIT_RATIO, "1.00" },
        { 0, MOT_UNIT_PLAIN, "0.000" },
        { 9.9996, MOT_UNIT_PLAIN, "10.00" },
        { 0.00099, MOT_UNIT_PLAIN, "9.90e-04" },
        { 0.001, MOT_UNIT_PLAIN, "0.001000" },
        { 99999, MOT_UNIT_PLAIN, "99999" },
        { 1e5, MOT_UNIT_PLAIN, "1.00e+05" },
        { 999.4, MOT_UNIT_BYTES, "999 B" },
        { 999.6, MOT_UNIT_BYTES, "1.00 kB" },
        { 1.5e12, MOT_UNIT_BYTES, "1.50 TB" },
        { 2.5e15, MOT_UNIT_BYTES, "2.50 PB" },
        { 2.5e18, MOT_UNIT_BYTES, "2500 PB" },
        { 0, MOT_UNIT_SHARE, "0 %" },
        { 0.0994, MOT_UNIT_SHARE, "9.94 %" },
        { 0.0996, MOT_UNIT_SHARE, "10.0 %" },
        { 1, MOT_UNIT_SHARE, "100.0 %" },
        { 123, MOT_UNIT_COUNT, "123" },
        { 1234567.4, MOT_UNIT_COUNT, "1,234,567" },
        { 999.5, MOT_UNIT_COUNT, "1,000" },
        { 2e15, MOT_UNIT_COUNT, "2.00e+15" },
        { 1.5, MOT_UNIT_SECONDS, "1.50 s" },
        { -1, MOT_UNIT_SECONDS, "0 ns" },
        { NAN, MOT_UNIT_SECONDS, "\u2013" },
    };
    char text[96];
    for (size_t i = 0; i < MOT_COUNT(shown); i++)
        CHECK_TEXT(mot_figure_show(shown[i].value, shown[i].unit, text, sizeof text), shown[i].text);
}

TEST(rows_of_numbers_to_predict_have_no_classes)
{
    char *folder = place("regression"), *path = mot_path_join(folder, "summary.json");
    SIMULATE(folder, "data=synthetic", "data.kind=regression", "model=least-squares", "optimizer.lr=0.01");
    json_t *summary = json_load_file(path, 0, NULL),
           *worker = json_array_get(json_object_get(summary, "worker"), 0);
    CHECK_INT(json_integer_value(json_object_get(worker, "rows")), 200);
    CHECK(json_is_null(json_object_get(worker, "rows_by_class")));
    json_decref(summary);
    free(path);
    free(folder);
}

TEST(a_large_study_is_thinned_out_to_a_file_that_opens_at_once)
{
    char *folder = place("large"), *path = mot_path_join(folder, "metrics.jsonl");
    CHECK_INT(mot_make_folder(folder), MOT_OK);
    FILE *out = fopen(path, "w");
    for (int i = 0; i < 300; i++)
        fprintf(out,
            "{\"time_s\":%d.123456789,\"updates\":%d,\"bytes_sent\":1%03d,\"test_accuracy\":0.%09d,\"test_"
            "loss\":1.%09d,\"train_loss\":2.%09d,\"grad_norm\":3.%09d}\n",
            i, 10 * i, i, 123456789 + i, 987654321 - i, 111111111 + i, 222222222 + i);
    fclose(out);
    json_t *d = document_of(two, 2);
    for (int i = 0; i < 400; i++) add_run(d, i % 2, i / 2, folder, "ok", NULL, 1.5);
    char *page = page_of(d);
    CHECK(strlen(page) < 3000000);
    CHECK_PAGE(page, "\"thinned\":true");
    CHECK_INT(times_in(page, "\"test_loss\":["), 400);
    CHECK(times_in(page, "299.123") == 400); /* the last point of every curve is kept */
    free(page);
    free(path);
    free(folder);
    json_decref(d);
}

TEST(a_damaged_curve_is_an_error_with_its_place_and_leaves_no_page)
{
    char *folder = place("damaged"), *path = mot_path_join(folder, "metrics.jsonl"),
         *page = place("damaged.html");
    CHECK_INT(mot_make_folder(folder), MOT_OK);
    CHECK_INT(mot_file_replace(path, "{\n", 2), MOT_OK);
    json_t *d = document_of(two, 1);
    add_run(d, 0, 1, folder, "ok", NULL, 1.5);
    CHECK_INT(mot_page_write(d, page), MOT_EDATA);
    CHECK_HAS(mot_error(), "metrics.jsonl:1");
    CHECK(!mot_file_exists(page));
    CHECK_INT(mot_page_write(d, "/no/such/folder/x.html"), MOT_EUSAGE);
    free(page);
    free(path);
    free(folder);
    json_decref(d);
}

TEST_MAIN()
