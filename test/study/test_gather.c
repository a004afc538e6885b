#include "study/gather.h"
#include "page/pages.h"

static struct mot_gathered *gather(size_t n, const char *const *folder)
{
    struct mot_gathered *g = NULL;
    if (mot_gather(folder, n, "motley report", &g) != MOT_OK) printf("  %s\n", mot_error());
    return g;
}

static const char *setting_of(const struct mot_study_side *side, const char *key)
{
    for (size_t i = 0; i < side->settings; i++)
        if (strcmp(side->setting[i].key, key) == 0) return side->setting[i].value;
    return NULL;
}

TEST(runs_that_differ_in_their_seed_only_are_one_arm_named_by_its_method)
{
    char *a = place("m/a1"), *b = place("m/b1"), *c = place("m/a2");
    SIMULATE(a, "method=async", "seed=1");
    SIMULATE(b, "method=server", "method.k=3", "seed=1", "sim.threads=2");
    SIMULATE(c, "method=async", "seed=2", "sim.threads=2");
    struct mot_gathered *g = gather(3, (const char *const[]){ a, b, c });
    CHECK(g);
    CHECK_INT(g->study.arms, 2);
    CHECK_INT(g->study.runs, 3);
    CHECK_TEXT(g->study.arm[0].name, "async");
    CHECK_TEXT(g->study.arm[1].name, "server");
    CHECK_INT(g->study.run[2].arm, 0);
    CHECK_INT(g->study.run[2].seed, 2);
    CHECK_TEXT(setting_of(&g->study.arm[1], "method.k"), "3");
    CHECK(!setting_of(&g->study.arm[0], "method.k"));
    CHECK(!setting_of(&g->study.arm[0], "data.name"));
    CHECK_HAS(g->study.experiment, "data:\n  name: digits\n");
    CHECK(!strstr(g->study.experiment, "name: async"));
    CHECK(strncmp(g->study.experiment, "seed: ", 6) != 0 && !strstr(g->study.experiment, "\nseed: "));
    mot_gathered_close(g);
    char *all = place("m"); /* the folder that holds them */
    g = gather(1, (const char *const[]){ all });
    CHECK_INT(g->study.runs, 3);
    mot_gathered_close(g);
    free(all), free(a), free(b), free(c);
}

TEST(arms_of_one_method_are_named_by_the_keys_that_differ)
{
    char *a = place("k/a"), *b = place("k/b"), *c = place("k/c");
    SIMULATE(a, "method=server", "method.k=2", "optimizer.lr=0.1");
    SIMULATE(b, "method=server", "method.k=3", "optimizer.lr=0.1");
    SIMULATE(c, "method=async", "optimizer.lr=0.05");
    struct mot_gathered *g = gather(3, (const char *const[]){ a, b, c });
    CHECK_TEXT(g->study.arm[0].name, "server (k=2)");
    CHECK_TEXT(g->study.arm[1].name, "server (k=3)");
    CHECK_TEXT(g->study.arm[2].name, "async");
    mot_gathered_close(g);
    SIMULATE(c, "method=server", "method.k=3", "optimizer.lr=0.05", "seed=9");
    free(c);
    c = place("k/d");
    SIMULATE(c, "method=server", "method.k=3", "optimizer.lr=0.05");
    g = gather(2, (const char *const[]){ b, c });
    CHECK_TEXT(g->study.arm[0].name, "optimizer.lr=0.1");
    CHECK_TEXT(g->study.arm[1].name, "optimizer.lr=0.05");
    mot_gathered_close(g);
    free(a), free(b), free(c);
}

TEST(what_is_no_whole_run_is_refused_saying_why)
{
    struct mot_gathered *g;
    char *none = place("none"), *run = place("w/run"), *summary = mot_path_join(run, "summary.json"),
         *missing = place("missing");
    CHECK_INT(mot_make_folder(none), MOT_OK);
    CHECK_INT(mot_gather((const char *const[]){ none }, 1, "", &g), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "not a run");
    CHECK_INT(mot_gather((const char *const[]){ missing }, 1, "", &g), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "No such file");
    SIMULATE(run, "method=async");
    CHECK_INT(mot_gather((const char *const[]){ run, run }, 2, "", &g), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "twice");
    CHECK_INT(mot_file_replace(summary, "{\"driver\":", 10), MOT_OK);
    CHECK_INT(mot_gather((const char *const[]){ run }, 1, "", &g), MOT_EDATA);
    CHECK_HAS(mot_error(), "summary.json:1:10: not valid JSON");
    CHECK_INT(mot_file_replace(summary, "{}", 2), MOT_OK);
    CHECK_INT(mot_gather((const char *const[]){ run }, 1, "", &g), MOT_EDATA);
    CHECK_HAS(mot_error(), "driver, seed and status");
    unlink(summary);
    CHECK_INT(mot_gather((const char *const[]){ run }, 1, "", &g), MOT_EDATA);
    CHECK_HAS(mot_error(), "has not ended");
    CHECK_HAS(mot_error(), "--resume");
    free(missing), free(summary), free(run), free(none);
}

TEST(one_experiment_and_seed_twice_is_refused)
{
    struct mot_gathered *g;
    char *a = place("s/a"), *b = place("s/b");
    SIMULATE(a, "method=async");
    SIMULATE(b, "method=async");
    CHECK_INT(mot_gather((const char *const[]){ a, b }, 2, "", &g), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "the same seed 1");
    free(a), free(b);
}

TEST_MAIN()
