/* complete.c -- completes command lines from the tables that parsing and help use. */
#include "complete.h"
#include "args.h"
#include "config/cluster_named.h"
#include "config/keys.h"
#include "data/data.h"
#include "topics.h"
#include <string.h>

struct offers {
    FILE *out;
    struct mot_arena arena;
    const char *kept; /* the start of the last word, which stays: "--method=", "allreduce," */
    size_t kept_n;
    const char *begun; /* the rest of that word, which is to be completed */
    const char **word; /* printed already; none is printed twice */
    size_t n, room;
    const struct mot_key *key;
    size_t keys;
};

static void offer(struct offers *o, const char *word, const char *doc)
{
    if (strncmp(word, o->begun, strlen(o->begun)) != 0) return;
    for (size_t i = 0; i < o->n; i++)
        if (strcmp(o->word[i], word) == 0) return;
    if (o->n == o->room) {
        const char **more = mot_arena_new(&o->arena, (2 * o->room + 64) * sizeof *more);
        if (o->n) memcpy(more, o->word, o->n * sizeof *more);
        o->word = more;
        o->room = 2 * o->room + 64;
    }
    o->word[o->n++] = mot_arena_text(&o->arena, word);
    fprintf(o->out, "%.*s%s\t%s\n", (int)o->kept_n, o->kept, word, doc ? doc : "");
}

/* The text before `begun` stays as it is. */
static void keep_until(struct offers *o, const char *begun)
{
    o->kept_n += (size_t)(begun - o->begun);
    o->begun = begun;
}

static void offer_files(struct offers *o) { fputs(":files\n", o->out); }

/* "drop|wait" */
static void offer_each(struct offers *o, const char *choices)
{
    for (const char *at = choices; *at;) {
        size_t n = strcspn(at, "|");
        char *one = mot_arena_text(&o->arena, at);
        one[n] = '\0';
        offer(o, one, NULL);
        at += n + (at[n] == '|');
    }
}

static void offer_family(struct offers *o, const struct mot_family *family)
{
    struct mot_choice choice;
    for (size_t i = 0; family->get(i, &choice); i++) offer(o, choice.name, choice.summary);
}

static void offer_data(struct offers *o)
{
    for (const struct mot_builtin *b = mot_builtins; b->name; b++) offer(o, b->name, b->summary);
    offer_files(o);
}

static void offer_clusters(struct offers *o)
{
    const struct mot_named_cluster *c;
    for (size_t i = 0; (c = mot_named_cluster_at(i)); i++) offer(o, c->name, c->summary);
    offer_files(o);
}

/* ---- Commands ----------------------------------------------------------------------------------- */

/* The words of commands that come after the first `n` words: "info" after "data". */
static void offer_commands(struct offers *o, const char *const *word, size_t n)
{
    for (size_t i = 0; cli_commands[i]; i++) {
        const char *name = cli_commands[i]->name, *space = strchr(name, ' ');
        if (n == 0) {
            char *first = mot_arena_text(&o->arena, name);
            if (space) first[space - name] = '\0';
            offer(o, first, space ? NULL : cli_commands[i]->summary);
        } else if (n == 1 && space && strlen(word[0]) == (size_t)(space - name) &&
            strncmp(word[0], name, (size_t)(space - name)) == 0) {
            offer(o, space + 1, cli_commands[i]->summary);
        }
    }
}

static void offer_topics(struct offers *o, const char *const *word, size_t n)
{
    offer_commands(o, word, n);
    for (const struct topic *t = topics; n == 0 && t->name; t++) offer(o, t->name, t->summary);
    for (size_t i = 0; mot_families[i]; i++) {
        if (n == 0) offer(o, mot_families[i]->section, mot_families[i]->many);
        else if (n == 1 && strcmp(word[0], mot_families[i]->section) == 0) offer_family(o, mot_families[i]);
    }
    for (const struct mot_section *s = mot_sections; n == 0 && s->name; s++)
        if (*s->name) offer(o, s->name, s->doc);
}

/* ---- Values ------------------------------------------------------------------------------------- */

static const struct mot_family *family_of(const char *key)
{
    for (size_t i = 0; mot_families[i]; i++) {
        const char *section = mot_families[i]->section;
        size_t n = strlen(section);
        if (strncmp(key, section, n) == 0 && (!key[n] || strcmp(key + n, ".name") == 0))
            return mot_families[i];
    }
    return NULL;
}

static void offer_option(struct offers *o, const struct mot_option *option)
{
    if (option->type == MOT_OPT_CHOICE) offer_each(o, option->choices);
    if (option->type == MOT_OPT_BOOL) offer_each(o, "true|false");
    if (option->word) offer(o, option->word, NULL);
}

static void offer_key_values(struct offers *o, const char *name)
{
    const struct mot_family *family = family_of(name);
    if (family) offer_family(o, family);
    else if (strcmp(name, "data") == 0) offer_data(o);
    else if (strcmp(name, "cluster") == 0) offer_clusters(o);
    else if (strcmp(name, "output") == 0) fputs(":folders\n", o->out);
    bool is_text = false;
    for (size_t i = 0; i < o->keys; i++) {
        if (strcmp(o->key[i].name, name) != 0 || !o->key[i].option) continue;
        offer_option(o, o->key[i].option);
        is_text = is_text || (o->key[i].option->type == MOT_OPT_TEXT && strcmp(name, "cluster") != 0);
    }
    if (is_text && strcmp(name, "output") != 0) offer_files(o);
}

/* KEY=VALUE, or without values KEY=, since only the user knows the list. */
static void offer_settings(struct offers *o, bool with_values)
{
    const char *equals = strchr(o->begun, '=');
    if (!equals) {
        for (size_t i = 0; i < o->keys; i++) {
            char *name = mot_format("%s=", o->key[i].name);
            offer(o, mot_arena_take(&o->arena, name), o->key[i].doc);
        }
        return;
    }
    char *name = mot_arena_text(&o->arena, o->begun);
    name[equals - o->begun] = '\0';
    keep_until(o, equals + 1);
    if (with_values) offer_key_values(o, name);
}

static void offer_methods(struct offers *o)
{
    const char *comma = strrchr(o->begun, ',');
    if (comma) keep_until(o, comma + 1 + strspn(comma + 1, " "));
    offer_family(o, &mot_family_method);
}

static void offer_flag_values(struct offers *o, const struct cli_flag *flag)
{
    const char *value = flag->value;
    if (strcmp(flag->name, "methods") == 0) offer_methods(o);
    else if (strncmp(value, "KEY=", 4) == 0) offer_settings(o, false);
    else if (strchr(value, '|')) offer_each(o, value);
    else if (strcmp(value, "DIR") == 0 || strcmp(value, "RUN") == 0) fputs(":folders\n", o->out);
    else if (strncmp(value, "FILE", 4) == 0 || strcmp(value, "PREFIX") == 0) offer_files(o);
}

/* ---- Flags -------------------------------------------------------------------------------------- */

/* What a flag is: one of the command's, --set, or a key of the experiment. */
struct meaning {
    const struct cli_flag *flag;
    const char *key; /* NULL: not a key */
    bool sets, known, takes_value;
};

static struct meaning meaning_of(const struct offers *o, const struct cli_command *c, const char *word)
{
    const char *name = word + 2;
    size_t n = strcspn(name, "=");
    struct meaning m = { .flag = cli_find_flag(c->flags, name, n) };
    if (!m.flag) m.flag = cli_find_flag(cli_common_flags, name, n);
    m.known = m.flag;
    m.takes_value = m.flag && m.flag->value;
    if (m.flag || !c->experiment_flags) return m;
    m.sets = cli_same_flag("set", name, n);
    if (cli_same_flag("out", name, n)) m.key = "output";
    for (size_t i = 0; i < o->keys && !m.key && !m.sets; i++) {
        const struct mot_option *option = o->key[i].option;
        if (!cli_same_flag(o->key[i].name, name, n)) continue;
        m.key = o->key[i].name;
        m.takes_value = !option || option->type != MOT_OPT_BOOL;
    }
    m.known = m.sets || m.key;
    if (m.sets || (m.key && strcmp(m.key, "output") == 0)) m.takes_value = true;
    return m;
}

static void offer_values(struct offers *o, const struct meaning *m)
{
    if (m->flag) offer_flag_values(o, m->flag);
    else if (m->sets) offer_settings(o, true);
    else offer_key_values(o, m->key);
}

static void offer_flag(struct offers *o, const char *name, const char *doc)
{
    char *flag = mot_format("--%s", name);
    for (char *c = flag + 2; *c; c++)
        if (*c == '.' || *c == '_') *c = '-';
    offer(o, mot_arena_take(&o->arena, flag), doc);
}

static void offer_flags(struct offers *o, const struct cli_command *c)
{
    for (const struct cli_flag *f = c->flags; f && f->name; f++) offer_flag(o, f->name, f->doc);
    for (const struct cli_flag *f = cli_common_flags; f->name; f++) offer_flag(o, f->name, f->doc);
    if (!c->experiment_flags) return;
    offer_flag(o, "set", "any key of the experiment, as it is in the file");
    if (!c->prints_only) offer_flag(o, "out", "the run folder");
    for (size_t i = 0; i < o->keys; i++)
        if (!c->prints_only || strcmp(o->key[i].name, "output") != 0)
            offer_flag(o, o->key[i].name, o->key[i].doc);
}

/* ---- Words that are not flags ------------------------------------------------------------------- */

static void offer_words(
    struct offers *o, const struct cli_command *c, const char *const *given, size_t givens)
{
    if (givens >= c->words_max) return;
    const struct mot_family *family = family_of(c->name);
    if (strcmp(c->name, "help") == 0) offer_topics(o, given, givens);
    else if (c->words) offer_each(o, c->words);
    else if (family && family != &mot_family_partition) offer_family(o, family);
    else if (strcmp(c->name, "cluster show") == 0) offer_clusters(o);
    else if (family || strncmp(c->name, "data ", 5) == 0) offer_data(o);
    else offer_files(o);
}

static void offer_for_command(
    struct offers *o, const struct cli_command *c, const char *const *word, size_t words)
{
    const char *now = word[words - 1];
    const char **given = mot_arena_new(&o->arena, words * sizeof *given);
    size_t givens = 0;
    bool only_words = false;
    if (c->experiment_flags) o->key = mot_keys(&o->arena, &o->keys);
    for (size_t i = 0; i + 1 < words; i++) {
        bool is_flag = !only_words && strncmp(word[i], "--", 2) == 0;
        if (!is_flag) given[givens++] = word[i];
        if (!is_flag) continue;
        if (!word[i][2]) only_words = true;
        const struct meaning m = meaning_of(o, c, word[i]);
        if (!m.takes_value || strchr(word[i], '=')) continue;
        if (i + 2 == words) {
            offer_values(o, &m);
            return;
        }
        i++;
    }
    const char *equals = strchr(now, '=');
    if (only_words || now[0] != '-') {
        offer_words(o, c, given, givens);
    } else if (strncmp(now, "--", 2) == 0 && equals) {
        const struct meaning m = meaning_of(o, c, now);
        keep_until(o, equals + 1);
        if (m.key || m.takes_value) offer_values(o, &m);
    } else {
        offer_flags(o, c);
    }
}

void cli_complete(const char *const *word, size_t words, FILE *out)
{
    const struct cli_command *command;
    size_t used;
    if (words == 0) return;
    struct offers o = { .out = out, .kept = word[words - 1], .begun = word[words - 1] };
    if (words > 1 && cli_find_command(word, words - 1, &command, &used) == MOT_OK) {
        offer_for_command(&o, command, word + used, words - used);
    } else {
        offer_commands(&o, word, words - 1);
        if (words == 1) offer_each(&o, "--help|--version");
    }
    mot_arena_free(&o.arena);
}
