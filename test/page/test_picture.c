/* A study as one picture: the best arm first, every node's timeline, curves to the target, names as text. */
#include "pages.h"
#include "study/study.h"

static struct mot_study_run run[6];

/* Two arms, three seeds each, to a target that all reach. */
static json_t *small_study(const char *second)
{
    struct mot_study_side arm[2] = { { .name = "sums" }, { .name = second } }, condition = { .name = "" };
    size_t runs = 0;
    for (uint32_t a = 0; a < 2; a++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            char *name = mot_format("%s-%d", a ? "async" : "sums", (int)seed), *folder = place(name),
                 *set = mot_format("seed=%d", (int)seed);
            SIMULATE(folder, a ? "method=async" : "method=allreduce", set, "stop.updates=100",
                "stop.target.test_accuracy=0.6", "evaluate.every=2 updates");
            run[runs++] = (struct mot_study_run){ .arm = a, .seed = seed, .folder = folder };
            free(set);
            free(name);
        }
    struct mot_study s = { .title = "x.yaml",
        .command = "motley compare x.yaml",
        .experiment = "workers: 4\ndata: {name: digits}\nmodel: {name: mlp, hidden: [8, 4]}\n",
        .arm = arm,
        .arms = 2,
        .condition = &condition,
        .conditions = 1,
        .run = run,
        .runs = runs };
    json_t *d = NULL;
    if (mot_study_document(&s, &d) != MOT_OK) printf("  %s\n", mot_error());
    for (size_t i = 0; i < runs; i++) free((char *)(uintptr_t)run[i].folder);
    return d;
}

static char *picture_of(const json_t *d)
{
    char *path = place("picture.svg");
    if (mot_picture_write(d, path) != MOT_OK) printf("  %s\n", mot_error());
    char *text = whole_file(path);
    free(path);
    return text;
}

TEST(a_picture_has_every_node_of_every_arm_and_both_curves)
{
    json_t *d = small_study("async");
    char *text = picture_of(d);
    CHECK_INT(times_in(text, "<svg "), 1);
    CHECK_INT(times_in(text, "</svg>"), 1);
    CHECK_INT(times_in(text, ">worker "), 8);
    CHECK_INT(times_in(text, ">server<"), 1);
    CHECK_INT(times_in(text, "class=\"line stroke\""), 2);
    CHECK_INT(times_in(text, "<circle class=\"fill\""), 2); /* both cross the target */
    CHECK_HAS(text, "digits \u00b7 MLP 8-4 \u00b7 4 workers");
    CHECK_HAS(text, "to 60 % test accuracy");
    CHECK_HAS(text, "prefers-color-scheme:dark");
    CHECK(!strstr(text, "nan") && !strstr(text, "inf"));
    free(text);
    json_decref(d);
}

TEST(the_best_arm_comes_first)
{
    json_t *d = small_study("async");
    const json_t *cells = json_object_get(d, "cells");
    double time[2];
    for (size_t a = 0; a < 2; a++)
        time[a] = json_number_value(json_object_get(
            json_object_get(json_object_get(json_array_get(cells, a), "figures"), "time_to_target"),
            "median"));
    char *text = picture_of(d);
    const char *sums = strstr(text, ">sums<"), *async = strstr(text, ">async<");
    CHECK(sums && async);
    CHECK((sums < async) == (time[0] <= time[1]));
    free(text);
    json_decref(d);
}

TEST(a_name_that_is_markup_stays_a_name)
{
    json_t *d = small_study("</svg><script>x</script>");
    char *text = picture_of(d);
    CHECK(!strstr(text, "<script"));
    CHECK_HAS(text, "&lt;script&gt;");
    free(text);
    json_decref(d);
}

TEST(runs_without_a_timeline_leave_their_curves)
{
    json_t *d = small_study("async");
    for (int i = 0; i < 6; i++) {
        char *name = mot_format("%s-%d/timeline.json", i < 3 ? "sums" : "async", i % 3 + 1),
             *path = place(name);
        CHECK_INT(remove(path), 0);
        free(path);
        free(name);
    }
    char *text = picture_of(d);
    CHECK_INT(times_in(text, "class=\"line stroke\""), 2);
    CHECK_INT(times_in(text, ">worker "), 0);
    free(text);
    json_decref(d);
}

TEST_MAIN()
