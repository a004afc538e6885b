/* help.c -- `motley help` and the man pages. Everything about an option comes from its table. */
#include "help.h"
#include "args.h"
#include "base/options.h"
#include "base/words.h"
#include "config/keys.h"
#include "help_page.h"
#include "topics.h"
#include <stdlib.h>
#include <string.h>

/* ---- Commands ------------------------------------------------------------------------ */

static const char summary[] = "train on a motley crew of machines";

void help_short(FILE *out)
{
    struct page p = { .out = out };
    page_title(&p, "motley", "1", summary);
    page_heading(&p, "Commands");
    for (size_t i = 0; cli_commands[i]; i++)
        page_item(&p, cli_commands[i]->name, cli_commands[i]->summary, NULL);
    page_heading(&p, "Start with");
    page_lines(&p,
        "motley sim                      train on a simulated cluster of 8 workers\n"
        "motley help                     list all commands and topics\n");
}

static void commands_and_topics(struct page *p)
{
    page_heading(p, "Commands");
    for (size_t i = 0; cli_commands[i]; i++)
        page_item(p, cli_commands[i]->name, cli_commands[i]->summary, NULL);
    page_heading(p, "Topics");
    for (const struct topic *t = topics; t->name; t++) page_item(p, t->name, t->summary, NULL);
    for (size_t i = 0; mot_families[i]; i++) {
        char term[64], text[160];
        snprintf(term, sizeof term, "%s [NAME]", mot_families[i]->section);
        snprintf(text, sizeof text, "the %s; with NAME, one of them and its options", mot_families[i]->many);
        page_item(p, term, text, NULL);
    }
}

void help_all(FILE *out)
{
    struct page p = { .out = out };
    page_title(&p, "motley", "1", summary);
    page_heading(&p, "Usage");
    page_lines(&p, "motley COMMAND [flags]\nmotley help COMMAND|TOPIC\nmotley --version\n");
    commands_and_topics(&p);
}

static bool has_flag(const struct cli_command *c, const char *name)
{
    for (const struct cli_flag *f = c->flags; f && f->name; f++)
        if (strcmp(f->name, name) == 0) return true;
    return false;
}

static void flag_item(struct page *p, const struct cli_flag *flag)
{
    char *term =
        flag->value ? mot_format("--%s %s", flag->name, flag->value) : mot_format("--%s", flag->name);
    page_item(p, term, flag->doc, NULL);
    free(term);
}

static void command_body(struct page *p, const struct cli_command *c)
{
    char *usage = mot_format("motley %s %s", c->name, c->synopsis);
    page_heading(p, p->roff ? "Synopsis" : "Usage");
    page_text(p, usage);
    free(usage);
    if (c->about) {
        page_heading(p, p->roff ? "Description" : "About");
        page_text(p, c->about);
    }
    page_heading(p, p->roff ? "Options" : "Flags");
    for (const struct cli_flag *f = c->flags; f && f->name; f++) flag_item(p, f);
    if (c->experiment_flags) {
        page_item(p, "--KEY VALUE",
            "any experiment key, with dashes for dots: --stop-updates 100, --method async, --optimizer-lr "
            "0.1",
            NULL);
        page_item(p, "--set KEY=VALUE", "the same, with the key as it is in the file: --set stop.updates=100",
            NULL);
        if (!has_flag(c, "out") && !c->prints_only)
            page_item(p, "--out DIR", "the run folder; short for --output", NULL);
    }
    for (const struct cli_flag *f = cli_common_flags; f->name; f++) flag_item(p, f);
    if (c->examples) {
        page_heading(p, "Examples");
        page_lines(p, c->examples);
    }
    if (c->experiment_flags && !p->roff) {
        page_heading(p, "See also");
        page_lines(p, "motley help experiment, motley help cluster, motley help method\n");
    }
}

void help_command(FILE *out, const struct cli_command *c)
{
    struct page p = { .out = out };
    char *name = mot_format("motley %s", c->name);
    page_title(&p, name, "1", c->summary);
    free(name);
    command_body(&p, c);
}

bool help_group(FILE *out, const char *first)
{
    struct page p = { .out = out };
    size_t length = strlen(first), found = 0;
    for (size_t i = 0; cli_commands[i]; i++) {
        const struct cli_command *c = cli_commands[i];
        if (strncmp(c->name, first, length) != 0 || c->name[length] != ' ') continue;
        if (!found++) fputs("Commands\n", out);
        page_item(&p, c->name, c->summary, NULL);
    }
    if (!found) return false;
    page_heading(&p, "Details");
    page_lines(&p, "motley COMMAND --help\n");
    return true;
}

/* ---- Man pages ------------------------------------------------------------------------ */

static void seealso(struct page *p, const char *pages)
{
    page_heading(p, "See also");
    page_text(p, pages);
}

static enum mot_status man_program(void)
{
    struct page p = { .out = stdout, .roff = true };
    page_title(&p, "motley", "1", summary);
    page_heading(&p, "Synopsis");
    page_lines(&p, "motley COMMAND [flags]\nmotley help COMMAND|TOPIC\nmotley --version\n");
    page_heading(&p, "Description");
    page_text(&p,
        "motley trains models by distributed stochastic gradient descent on workers that differ: in speed, "
        "in bandwidth, in the data they hold, in how often they stall. Its simulator runs the real "
        "mathematics on a virtual clock.");
    commands_and_topics(&p);
    page_heading(&p, "Exit status");
    topic_exit_codes_items(&p);
    page_heading(&p, "Environment");
    page_item(&p, "NO_COLOR", "if set and not empty, messages are not coloured", NULL);
    page_item(&p, "MOTLEY_STORE", "where compare and tune keep their runs, unless --store is given", NULL);
    seealso(&p, "motley-sim(1), motley-experiment(5), motley-cluster(5)");
    return MOT_OK;
}

static void man_name(const struct cli_command *c, char *into, size_t size)
{
    snprintf(into, size, "motley-%s", c->name);
    for (char *s = into; *s; s++)
        if (*s == ' ') *s = '-';
}

static enum mot_status man_command(const struct cli_command *c)
{
    struct page p = { .out = stdout, .roff = true };
    char name[64];
    man_name(c, name, sizeof name);
    page_title(&p, name, "1", c->summary);
    command_body(&p, c);
    seealso(&p, "motley(1), motley-experiment(5), motley-cluster(5)");
    return MOT_OK;
}

static enum mot_status man_file(const struct topic *t, const char *name)
{
    struct page p = { .out = stdout, .roff = true };
    page_title(&p, name, "5", t->summary);
    page_heading(&p, "Description");
    t->print(&p);
    seealso(&p, "motley(1), motley-sim(1), motley-experiment(5), motley-cluster(5)");
    return MOT_OK;
}

static enum mot_status man_list(void)
{
    puts("motley.1");
    for (size_t i = 0; cli_commands[i]; i++) {
        char name[64];
        man_name(cli_commands[i], name, sizeof name);
        printf("%s.1\n", name);
    }
    puts("motley-experiment.5\nmotley-cluster.5");
    return MOT_OK;
}

static enum mot_status man_page(const char *wanted)
{
    char page[64];
    size_t n = strlen(wanted);
    if (n > 2 && (strcmp(wanted + n - 2, ".1") == 0 || strcmp(wanted + n - 2, ".5") == 0)) n -= 2;
    snprintf(page, sizeof page, "%.*s", (int)(n < 63 ? n : 63), wanted);
    if (strcmp(page, "motley") == 0) return man_program();
    for (size_t i = 0; cli_commands[i]; i++) {
        char name[64];
        man_name(cli_commands[i], name, sizeof name);
        if (strcmp(name, page) == 0) return man_command(cli_commands[i]);
    }
    if (strcmp(page, "motley-experiment") == 0) return man_file(topic_find("experiment"), page);
    if (strcmp(page, "motley-cluster") == 0) return man_file(topic_find("cluster"), page);
    return mot_fail(MOT_EUSAGE, "--man: unknown page '%s'; 'motley help --man-list' lists them", page);
}

/* ---- help [WORDS] ----------------------------------------------------------------------- */

static enum mot_status help_family(const struct mot_family *family, const char *name)
{
    struct page p = { .out = stdout };
    struct mot_choice choice;
    if (!name) {
        page_family(&p, family);
        return MOT_OK;
    }
    if (mot_family_find(family, name, &choice)) {
        page_choice(&p, family, &choice);
        return MOT_OK;
    }
    const char *names[64], *nearest;
    size_t n = 0;
    while (n < MOT_COUNT(names) && family->get(n, &choice)) names[n++] = choice.name;
    nearest = mot_nearest(name, names, n);
    if (nearest)
        return mot_fail(MOT_EUSAGE, "unknown %s '%.60s': did you mean '%s'?", family->one, name, nearest);
    return mot_fail(
        MOT_EUSAGE, "unknown %s '%.60s'; 'motley help %s' lists them", family->one, name, family->section);
}

/* A part by its name alone: 'motley help async'. If several families share the name, all of them. */
static bool help_part(const char *name)
{
    struct page p = { .out = stdout };
    struct mot_choice choice;
    bool found = false;
    for (size_t i = 0; mot_families[i]; i++) {
        if (!mot_family_find(mot_families[i], name, &choice)) continue;
        if (found) putchar('\n');
        page_choice(&p, mot_families[i], &choice);
        found = true;
    }
    return found;
}

static const char *last_word(const char *key)
{
    const char *dot = strrchr(key, '.');
    return dot ? dot + 1 : key;
}

/* A key, with its section or without: 'motley help optimizer.lr', 'motley help lr'. */
static bool help_key(const char *wanted, const struct mot_key *key, size_t keys)
{
    struct page p = { .out = stdout };
    bool found = false;
    for (size_t i = 0; i < keys; i++) {
        const struct mot_option *o = key[i].option;
        bool also = o && o->also && strcmp(o->also, wanted) == 0;
        if (!o || (strcmp(key[i].name, wanted) != 0 && strcmp(last_word(key[i].name), wanted) != 0 && !also))
            continue;
        if (!found) puts("Keys of an experiment");
        page_key(&p, &key[i]);
        found = true;
    }
    return found;
}

static enum mot_status no_topic(const char *wanted, const struct mot_key *key, size_t keys)
{
    const char *names[1024], *nearest;
    size_t n = 0;
    struct mot_choice choice;
    for (size_t i = 0; cli_commands[i]; i++) names[n++] = cli_commands[i]->name;
    for (const struct topic *t = topics; t->name; t++) names[n++] = t->name;
    for (const struct mot_section *s = mot_sections; s->name; s++) names[n++] = s->name;
    for (size_t i = 0; mot_families[i]; i++)
        for (size_t k = 0; mot_families[i]->get(k, &choice) && n < MOT_COUNT(names); k++)
            names[n++] = choice.name;
    for (size_t i = 0; i < 2 * keys && n < MOT_COUNT(names); i++) /* with and without their sections */
        names[n++] = i < keys ? key[i].name : last_word(key[i - keys].name);
    nearest = mot_nearest(wanted, names, n);
    if (nearest) return mot_fail(MOT_EUSAGE, "no help on '%.60s': did you mean '%s'?", wanted, nearest);
    return mot_fail(MOT_EUSAGE, "no help on '%.60s'; 'motley help' lists the topics", wanted);
}

static enum mot_status help_topic(const struct cli_args *a)
{
    struct page p = { .out = stdout };
    const char *first = a->word[0], *second = a->words > 1 ? a->word[1] : NULL;
    for (size_t i = 0; mot_families[i]; i++) {
        if (strcmp(mot_families[i]->section, first) != 0) continue;
        enum mot_status status = help_family(mot_families[i], second);
        /* A command may share the section's name: its help follows. */
        for (size_t c = 0; cli_commands[c] && !second; c++)
            if (strcmp(cli_commands[c]->name, first) == 0)
                putchar('\n'), help_command(stdout, cli_commands[c]);
        return status;
    }
    char joined[128];
    snprintf(joined, sizeof joined, "%s%s%s", first, second ? " " : "", second ? second : "");
    for (size_t i = 0; cli_commands[i]; i++) {
        if (strcmp(cli_commands[i]->name, joined) != 0) continue;
        help_command(stdout, cli_commands[i]);
        return MOT_OK;
    }
    const struct topic *t = topic_find(joined);
    if (t) {
        char *title = mot_format("motley help %s", t->name);
        page_title(&p, title, "", t->summary);
        free(title);
        putchar('\n');
        t->print(&p);
        return MOT_OK;
    }
    for (const struct mot_section *s = mot_sections; s->name; s++) {
        const char *dot = strrchr(s->name, '.');
        if (!*s->name || (strcmp(s->name, joined) != 0 && !(dot && strcmp(dot + 1, joined) == 0))) continue;
        page_section(&p, s, s->name);
        return MOT_OK;
    }
    if (help_part(joined)) return MOT_OK;
    struct mot_arena arena = { NULL };
    size_t keys;
    const struct mot_key *key = mot_keys(&arena, &keys);
    bool found = help_group(stdout, joined);
    if (found) putchar('\n'); /* a key may share the word: its help follows */
    if (help_key(joined, key, keys)) found = true;
    enum mot_status status = found ? MOT_OK : no_topic(joined, key, keys);
    mot_arena_free(&arena);
    return status;
}

static enum mot_status run_help(const struct cli_args *a)
{
    const char *page = cli_value(a, "man");
    if (cli_given(a, "man-list")) return man_list();
    if (page) return man_page(page);
    if (a->words) return help_topic(a);
    help_all(stdout);
    return MOT_OK;
}

static const struct cli_flag help_flags[] = {
    { "man", "PAGE", "print a man page, such as motley-sim, as roff" },
    { "man-list", NULL, "list the man pages" },
    { NULL, NULL, NULL },
};

const struct cli_command cli_help = {
    .name = "help",
    .synopsis = "[COMMAND | TOPIC [NAME] | NAME | KEY]",
    .summary = "explain commands, methods, models, files, exit codes",
    .about = "NAME is a method, model, optimiser, partitioner, topology, code or compressor. KEY is an "
             "experiment key, with or without its section.",
    .examples = "motley help sim\n"
                "motley help async\n"
                "motley help method\n"
                "motley help optimizer.lr\n"
                "motley help cluster\n"
                "motley help experiment\n",
    .flags = help_flags,
    .words_max = 2,
    .run = run_help,
};
