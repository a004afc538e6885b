/* What was run, in words: data, model, machines, and the settings that are not the defaults. */
#include "base/memory.h"
#include "config/experiment.h"
#include "report/json.h"
#include "study/about.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

/* The whole experiment with these settings, ended by NULL, as it is printed into run folders. malloc'd. */
static char *experiment_with(const char *const *set)
{
    struct mot_setting setting[16];
    struct mot_experiment *x;
    char *text = NULL;
    size_t n = 0, size;
    for (; set[n] && n < MOT_COUNT(setting); n++) {
        size_t key = strcspn(set[n], "=");
        setting[n] = (struct mot_setting){ mot_format("%.*s", (int)key, set[n]), set[n] + key + 1, "--set" };
    }
    if (mot_experiment_open_run(NULL, NULL, 0, setting, n, &x) != MOT_OK) {
        printf("  %s\n", mot_error());
        abort();
    }
    FILE *out = open_memstream(&text, &size);
    if (mot_experiment_print(x, out) != MOT_OK) abort();
    fclose(out);
    mot_experiment_close(x);
    while (n--) free((char *)(size_t)setting[n].key);
    return text;
}
#define ABOUT(document, ...) about((document), (const char *const[]){ __VA_ARGS__, "output=none", NULL })

static json_t *about(const json_t *document, const char *const *set)
{
    char *text = experiment_with(set);
    json_t *about = mot_about_json(text, document);
    free(text);
    return about;
}

/* "method: dpsgd; batch: 8". malloc'd. */
static char *settings_of(const json_t *about)
{
    char *all = mot_text("");
    size_t i;
    const json_t *pair;
    json_array_foreach(json_object_get(about, "settings"), i, pair)
    {
        char *longer = mot_format("%s%s%s: %s", all, i ? "; " : "",
            json_string_value(json_array_get(pair, 0)), json_string_value(json_array_get(pair, 1)));
        free(all);
        all = longer;
    }
    return all;
}

TEST(groups_of_workers_are_listed_whatever_their_names)
{
    json_t *none = json_object(), *spot = ABOUT(none, "data=digits", "cluster=spot", "workers=10"),
           *plain = ABOUT(none, "data=digits", "workers=4"),
           *one = ABOUT(none, "cluster.workers=[{name: edge, count: 3, speed: 9/s}]");
    CHECK_TEXT(mot_json_get_text(spot, "workers"), "10 workers (7 steady, 1 often, 1 sometimes, 1 seldom)");
    CHECK_TEXT(mot_json_get_text(plain, "workers"), "4 workers");
    CHECK_TEXT(mot_json_get_text(one, "workers"), "3 workers (edge)");
    json_decref(spot), json_decref(plain), json_decref(one), json_decref(none);
}

TEST(speeds_and_links_are_written_as_people_do)
{
    json_t *none = json_object(),
           *x = ABOUT(none,
               "cluster={network: {up: 20Mbit, down: 1Gbit, latency: 100us}, workers: [{name: fast, count: "
               "6, speed: 1000 "
               "samples/s}, {name: slow, count: 2, speed: 90/min, latency: 1.5ms}]}");
    CHECK_TEXT(mot_json_get_text(x, "cluster"),
        "6 fast: speed 1,000/s, up 20 Mbit/s, down 1 Gbit/s, latency 100 us; "
        "2 slow: speed 1.5/s, up 20 Mbit/s, down 1 Gbit/s, latency 1.5 ms");
    json_decref(x), json_decref(none);
}

TEST(odd_speeds_are_rounded_and_no_latency_is_no_bandwidth)
{
    json_t *none = json_object(),
           *x = ABOUT(none,
               "cluster={network: {up: 20Mbit, down: 1Gbit, latency: 0}, workers: [{speed: 16666.67/s}, "
               "{speed: 8123.4/s}, {speed: 500/min}]}");
    const char *words = mot_json_get_text(x, "cluster");
    CHECK_HAS(words, "speed 16,667/s, up 20 Mbit/s, down 1 Gbit/s, latency 0;");
    CHECK_HAS(words, "speed 8,123/s,");
    CHECK_HAS(words, "speed 8.333/s,");
    json_decref(x), json_decref(none);
}

TEST(a_method_that_is_not_the_default_is_among_the_settings)
{
    json_t *none = json_object(), *usual = ABOUT(none, "data=digits"),
           *other = ABOUT(none, "data=digits", "method=dpsgd", "batch=8"),
           *arms = json_pack("{s:[{s:{s:s}}]}", "arms", "settings", "method", "dpsgd"),
           *arm = ABOUT(arms, "data=digits", "method=dpsgd", "batch=8");
    char *a = settings_of(usual), *b = settings_of(other), *c = settings_of(arm);
    CHECK_TEXT(a, "");
    CHECK_TEXT(b, "method: dpsgd; batch: 8");
    CHECK_TEXT(c, "batch: 8"); /* the arm says so */
    free(a), free(b), free(c);
    json_decref(usual), json_decref(other), json_decref(arms), json_decref(arm), json_decref(none);
}

TEST_MAIN()
