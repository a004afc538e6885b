/* Help and man pages, through the real program. */
#include "config/experiment.h"
#include "config/keys.h"
#include "test.h"
#include <sys/wait.h>
#include <unistd.h>

static char output[1 << 20];

/* Runs `motley WORDS` (or, with a pipe in it, what follows it too); returns its exit status. */
static int run(const char *words)
{
    char command[1024];
    snprintf(command, sizeof command, "'%s' </dev/null %s", getenv("MOTLEY"), words);
    FILE *pipe = popen(command, "r");
    if (!pipe) return -1;
    size_t n = fread(output, 1, sizeof output - 1, pipe);
    output[n] = '\0';
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
#define NEEDS_PROGRAM()                                                                                      \
    do {                                                                                                     \
        if (!getenv("MOTLEY") || access(getenv("MOTLEY"), X_OK) != 0)                                        \
            SKIP("MOTLEY does not name the program");                                                        \
    } while (0)

TEST(motley_alone_and_its_version_are_short)
{
    NEEDS_PROGRAM();
    CHECK_INT(run(""), 0);
    CHECK_HAS(output, "motley sim");
    CHECK(strlen(output) < 2000);
    CHECK_INT(run("--version"), 0);
    CHECK(strncmp(output, "motley ", 7) == 0);
    CHECK_INT(run("sim --version"), 0);
    CHECK(strncmp(output, "motley ", 7) == 0);
}

TEST(help_is_anywhere)
{
    NEEDS_PROGRAM();
    static const char *const words[] = { "help", "--help", "-h", "sim --help", "data info --help", "help sim",
        "help data", "help cluster", "help cluster show", "help experiment", "help exit-codes", "help stop",
        "help schedule", "help method", "help model mlp", "help optimizer adamw", "help partition equal",
        "help topology regular", "topology --help", "help async", "help mlp", "help submodular", "help ring",
        "help adamw", "help coded", "help code", "help crc", "code --help", "help trace fit",
        "help optimizer.lr", "help unpack_max", "help learning_rate" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (run(words[i]) != 0) FAIL("motley %s fails", words[i]);
        if (strlen(output) < 80) FAIL("motley %s says only: %s", words[i], output);
    }
}

TEST(every_command_has_a_complete_page)
{
    NEEDS_PROGRAM();
    static char list[1 << 14];
    unsigned commands = 0;
    CHECK_INT(run("help"), 0);
    const char *from = strstr(output, "Commands\n"), *to = strstr(output, "Topics\n");
    if (!from || !to || (size_t)(to - from) >= sizeof(list)) FAIL("no list of commands: %s", output);
    snprintf(list, sizeof(list), "%.*s", (int)(to - from), from);
    for (char *rest = NULL, *line = strtok_r(list, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *end = strstr(line + 2, "  "), words[128];
        if (!end || line[0] != ' ') continue;
        snprintf(words, sizeof(words), "help %.*s", (int)(end - line - 2), line + 2);
        if (run(words) != 0) FAIL("motley %s fails", words);
        if (strstr(output, "(null)")) FAIL("motley %s has a hole: %s", words, strstr(output, "(null)") - 60);
        CHECK_HAS(output, "About\n");
        commands++;
    }
    CHECK(commands > 20);
}

TEST(half_a_command_has_help_that_lists_its_commands)
{
    NEEDS_PROGRAM();
    static const char *const words[][2] = { { "data --help", "data convert" },
        { "cluster -h", "cluster show" }, { "trace --help", "trace fit" } };
    for (size_t i = 0; i < MOT_COUNT(words); i++) {
        CHECK_INT(run(words[i][0]), 0);
        CHECK_HAS(output, words[i][1]);
    }
    CHECK_INT(run("help trace"), 0);
    CHECK_HAS(output, "trace fit");
    CHECK_HAS(output, "trace.json"); /* of the key */
}

TEST(every_part_has_a_page_with_all_its_options_by_its_name_alone_too)
{
    NEEDS_PROGRAM();
    struct mot_choice choice;
    static char first[sizeof output];
    for (size_t f = 0; mot_families[f]; f++)
        for (size_t i = 0; mot_families[f]->get(i, &choice); i++) {
            char words[128];
            snprintf(words, sizeof words, "help %s %s", mot_families[f]->section, choice.name);
            CHECK_INT(run(words), 0);
            CHECK_HAS(output, choice.summary);
            for (const struct mot_option *o = choice.options; o && o->name; o++) CHECK_HAS(output, o->name);
            memcpy(first, output, strlen(output) + 1);
            snprintf(words, sizeof words, "help %s", choice.name);
            CHECK_INT(run(words), 0);
            CHECK_HAS(output, first); /* and those of other families that have the name */
        }
}

TEST(a_key_has_its_help_with_and_without_its_section)
{
    NEEDS_PROGRAM();
    CHECK_INT(run("help optimizer.lr"), 0);
    CHECK_HAS(output, "optimizer.lr");
    CHECK_HAS(output, "default: ");
    CHECK_INT(run("help unpack_max"), 0);
    CHECK_HAS(output, "data.unpack_max");
    CHECK_INT(run("help period"), 0); /* of several methods */
    CHECK_HAS(output, "method.period");
    CHECK_HAS(output, "default: 1; dpsgd");
}

TEST(what_has_no_help_has_a_nearest_name)
{
    NEEDS_PROGRAM();
    static const char *const words[][2] = { { "asinc", "'async'" }, { "sofmax", "'softmax'" },
        { "submodluar", "'submodular'" }, { "exponentail", "'exponential'" },
        { "optimizer.momentun", "'optimizer.momentum'" }, { "unpak_max", "'unpack_max'" },
        { "compar", "'compare'" } };
    for (size_t i = 0; i < MOT_COUNT(words); i++) {
        char line[128];
        snprintf(line, sizeof line, "help %s 2>&1", words[i][0]);
        CHECK_INT(run(line), 2);
        CHECK_HAS(output, "did you mean ");
        CHECK_HAS(output, words[i][1]);
    }
    CHECK_INT(run("help xqzw 2>&1"), 2);
    CHECK_HAS(output, "'motley help' lists the topics");
}

TEST(a_command_that_only_prints_takes_no_folder)
{
    NEEDS_PROGRAM();
    CHECK_INT(run("help topology"), 0);
    CHECK(!strstr(output, "--out DIR"));
    CHECK_INT(run("topology ring --out somewhere 2>&1"), 2);
    CHECK_HAS(output, "--out: motley topology only prints; it writes no folder");
    CHECK_INT(run("topology ring --output somewhere 2>&1"), 2);
}

TEST(the_experiment_page_has_every_key_and_its_default)
{
    NEEDS_PROGRAM();
    CHECK_INT(run("help experiment"), 0);
    for (const struct mot_section *s = mot_sections; s->name; s++)
        for (const struct mot_option *o = s->options; o && o->name; o++) {
            char key[128];
            snprintf(key, sizeof key, "  %s%s%s", s->name, *s->name ? "." : "", o->name);
            CHECK_HAS(output, key);
        }
    CHECK_HAS(output, "default: 20");
}

TEST(the_man_pages_pass_mandoc)
{
    NEEDS_PROGRAM();
    if (access("/usr/bin/mandoc", X_OK) != 0) SKIP("mandoc is not installed");
    static char list[4096];
    CHECK_INT(run("help --man-list"), 0);
    CHECK(strlen(output) < sizeof list);
    memcpy(list, output, strlen(output) + 1);
    CHECK_HAS(list, "motley-sim.1\n");
    CHECK_HAS(list, "motley-experiment.5\n");
    for (char *page = list, *end; (end = strchr(page, '\n')); page = end + 1) {
        char words[256];
        *end = '\0';
        snprintf(words, sizeof words, "help --man %.200s | mandoc -Tlint -Wstyle 2>&1", page);
        run(words);
        if (*output) FAIL("%s: %s", page, output);
    }
}

TEST_MAIN()
