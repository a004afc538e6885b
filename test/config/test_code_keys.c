/* The section `code:`, from YAML and back, and what a method that codes sees of it. */
#include "api/job.h"
#include "method/methods.h"
#include "run/world.h"
#include "test.h"
#include <motley/code.h>
#include <unistd.h>

/* Nothing of it ever runs. */
static void codes_traits(const void *conf, uint32_t workers, struct mot_traits *t)
{
    (void)conf, (void)workers;
    t->servers = 1;
    t->codes = t->redundant = true;
}
static const struct mot_option no_options[] = { { .name = NULL } };
static const struct mot_method codes = {
    .name = "codes", .summary = "a method that codes", .options = no_options, .traits = codes_traits
};
static const struct mot_method *const more[] = { &codes, NULL };

static struct mot_experiment *open_text(const char *text)
{
    char path[] = "/tmp/motley-test-XXXXXX";
    int fd = mkstemp(path);
    struct mot_experiment *x = NULL;
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) abort();
    close(fd);
    mot_methods_extend(more);
    if (mot_experiment_open(path, NULL, 0, &x) != MOT_OK) printf("  %s\n", mot_error());
    mot_methods_extend(NULL);
    unlink(path);
    return x;
}

static char *printed(const struct mot_experiment *x)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    mot_experiment_print(x, out);
    fclose(out);
    return text;
}

TEST(what_is_printed_gives_the_same_code_again)
{
    static const char *const texts[] = {
        "method: codes\n",
        "method: codes\nworkers: 7\ncode: {stragglers: 2}\n",
        "method: codes\nworkers: 12\ncode: {name: frc, stragglers: 3, parts: 24}\n",
        "method: codes\nworkers: 6\ncode: {name: crc, stragglers: 2, decoder: optimal}\n",
        "method: codes\nworkers: 6\ncode: uncoded\n",
    };
    for (size_t i = 0; i < MOT_COUNT(texts); i++) {
        struct mot_experiment *x = open_text(texts[i]);
        CHECK(x);
        char *text = printed(x);
        struct mot_experiment *y = open_text(text);
        CHECK(y);
        CHECK_TEXT(y->code.name, x->code.name);
        CHECK_INT(y->code.stragglers, x->code.stragglers);
        CHECK_INT(y->traits.parts, x->traits.parts);
        CHECK(mot_experiment_hash(x) == mot_experiment_hash(y));
        free(text);
        mot_experiment_close(x);
        mot_experiment_close(y);
    }
}

TEST(the_default_is_the_simplest_code_that_fits_the_workers)
{
    static const struct {
        const char *text, *name;
    } c[] = { { "method: codes\nworkers: 8\n", "frc" }, { "method: codes\nworkers: 7\n", "crc" },
        { "method: codes\nworkers: 9\ncode: {stragglers: 2}\n", "frc" } };
    for (size_t i = 0; i < MOT_COUNT(c); i++) {
        struct mot_experiment *x = open_text(c[i].text);
        CHECK(x);
        CHECK_TEXT(x->code.name, c[i].name);
        char *text = printed(x), *section = mot_format("code:\n  name: %s\n", c[i].name);
        CHECK_HAS(text, section);
        free(section);
        free(text);
        mot_experiment_close(x);
    }
}

TEST(a_method_that_does_not_code_ignores_the_section)
{
    struct mot_experiment *x = open_text("method: server\ncode: {name: frc, stragglers: 6}\n"),
                          *y = open_text("method: server\n");
    CHECK(x && y && mot_experiment_hash(x) == mot_experiment_hash(y));
    CHECK_INT(x->traits.parts, x->workers);
    char *text = printed(x);
    CHECK(!strstr(text, "code:"));
    free(text);
    mot_experiment_close(x);
    mot_experiment_close(y);
}

/* The parts are the code's, and without `holds` worker i holds what role i computes. */
TEST(a_method_that_codes_has_its_code_and_the_codes_parts)
{
    struct mot_experiment *x =
        open_text("method: codes\nworkers: 6\nbatch: 10\ndata: digits\nmodel: softmax\n"
                  "code: {name: frc, stragglers: 2, parts: 4}\n");
    struct mot_job job;
    struct mot_world w;
    CHECK(x);
    CHECK_INT(x->traits.parts, 4);
    CHECK_INT(mot_job_open(x, &job), MOT_OK);
    CHECK_INT(mot_world_open(x, &job.problem, &job.optim, &w), MOT_OK);
    CHECK_INT(w.parts, 4);
    CHECK(w.code && w.code == job.code);
    CHECK_INT(w.code->parts, 4);
    uint32_t samples = 0;
    for (uint32_t part = 0; part < 4; part++) {
        samples += w.part_batch[part];
        for (mot_node i = 0; i < 6; i++) CHECK(mot_world_holds(x, &w, i, part) == (i / 3 == part / 2));
    }
    CHECK_INT(samples, 60);
    mot_world_close(&w);
    mot_job_close(&job);
    mot_experiment_close(x);
}

/* A study reads an experiment once and gives it seed after seed. */
TEST(a_code_that_is_drawn_depends_on_the_seed_of_the_run)
{
    struct mot_experiment *x = open_text("method: codes\nworkers: 5\nmodel: softmax\ncode: crc\n");
    CHECK(x);
    uint64_t code[3], hash[3];
    for (int i = 0; i < 3; i++) {
        struct mot_job job;
        x->seed = i == 1 ? 2 : 1;
        CHECK_INT(mot_job_open(x, &job), MOT_OK);
        code[i] = mot_code_hash(job.code);
        hash[i] = job.hash;
        mot_job_close(&job);
    }
    CHECK(code[0] == code[2] && hash[0] == hash[2]);
    CHECK(code[0] != code[1] && hash[0] != hash[1]);
    mot_experiment_close(x);
}

TEST(speeds_come_from_the_cluster_at_the_workers_batches)
{
    struct mot_experiment *x = open_text("method: codes\nbatch: 10\ncluster: {workers: [{speed: 50/s}, "
                                         "{job_time: 2s}, {speed: 100/s, fixed: 100ms}]}\n");
    CHECK(x);
    CHECK_NEAR(x->code.speed[0], 50, 1e-9);
    CHECK_NEAR(x->code.speed[1], 5, 1e-9);
    CHECK_NEAR(x->code.speed[2], 50, 1e-9);
    mot_experiment_close(x);
}

TEST(mistakes_say_where_and_what)
{
    static const char *const wrong[][2] = {
        { "code: frk\n", ":1:7: code: expected one of auto, frc, crc," },
        { "code: [frc]\n", "code: expected a name or a map such as {name: auto}; found a list" },
        { "code: {name: uncoded, stragglers: 2}\n", "code.stragglers: unknown key; it is an option of" },
        { "code: {stragglers: 0}\n", ":1:20: code.stragglers: expected a whole number from 1 to" },
        { "code: {decoder: best}\n", "code.decoder: expected one of auto, any-holder," },
        { "method: codes\nworkers: 8\ncode: {name: frc, stragglers: 2}\n", ":3:7: code frc: 8 workers" },
        { "method: codes\nworkers: 4\ncode: {name: crc, stragglers: 4}\n",
            ":3:31: code.stragglers: found 4" },
        { "method: codes\nworkers: 4\ncode: {name: frc, parts: 3}\n", ":3:26: code.parts: found 3" },
        { "method: codes\nworkers: 4\ncode: {name: crc, decoder: component}\n",
            ":3:28: code.decoder: component" },
    };
    for (size_t i = 0; i < MOT_COUNT(wrong); i++) {
        CHECK(!open_text(wrong[i][0]));
        CHECK_HAS(mot_error(), wrong[i][1]);
    }
}

TEST_MAIN()
