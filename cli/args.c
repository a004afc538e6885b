#include "args.h"
#include "base/words.h"
#include "config/keys.h"
#include <stdlib.h>
#include <string.h>

const struct cli_flag cli_common_flags[] = {
    { "help", NULL, "show help for this command" },
    { "json", NULL, "print one JSON object on standard output" },
    { "plugin", "FILE.so", "load methods and models of your own: see docs/writing-a-method.md" },
    { "quiet", NULL, "print only the result: no progress, no remarks; one line for a run" },
    { NULL, NULL, NULL },
};

/* ---- Commands ----------------------------------------------------------------------- */

static size_t count_names(const char *name)
{
    size_t n = 1;
    for (; *name; name++) n += *name == ' ';
    return n;
}

/* True if the first words are the command's name. */
static bool is_named(const struct cli_command *command, const char *const *word, size_t words)
{
    const char *name = command->name;
    size_t n = count_names(name);
    if (words < n) return false;
    for (size_t i = 0; i < n; i++) {
        size_t length = strcspn(name, " ");
        if (strlen(word[i]) != length || memcmp(word[i], name, length) != 0) return false;
        name += length + (name[length] == ' ');
    }
    return true;
}

/* "data" alone, or "data inof": lists the subcommands, or suggests the nearest. */
static enum mot_status half_a_command(const char *const *word, size_t words)
{
    const char *second[16], *nearest = NULL;
    char all[256] = "";
    size_t n = 0, length = strlen(word[0]);
    for (size_t i = 0; cli_commands[i] && n < MOT_COUNT(second); i++) {
        const char *name = cli_commands[i]->name;
        if (strncmp(name, word[0], length) != 0 || name[length] != ' ') continue;
        second[n++] = name + length + 1;
        size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%s", used ? ", " : "", second[n - 1]);
    }
    if (n == 0) return MOT_OK;
    if (words > 1) nearest = mot_nearest(word[1], second, n);
    if (nearest)
        return mot_fail(
            MOT_EUSAGE, "unknown command '%s %s': did you mean '%s %s'?", word[0], word[1], word[0], nearest);
    return mot_fail(MOT_EUSAGE, "'%s' needs a subcommand: %s", word[0], all);
}

enum mot_status cli_find_command(
    const char *const *word, size_t words, const struct cli_command **command_out, size_t *used_out)
{
    const char *names[64];
    size_t n = 0;
    for (size_t i = 0; cli_commands[i]; i++) {
        if (n < MOT_COUNT(names)) names[n++] = cli_commands[i]->name;
        if (!is_named(cli_commands[i], word, words)) continue;
        *command_out = cli_commands[i];
        *used_out = count_names(cli_commands[i]->name);
        return MOT_OK;
    }
    enum mot_status status = half_a_command(word, words);
    if (status != MOT_OK) return status;
    const char *nearest = mot_nearest(word[0], names, n);
    size_t length = strlen(word[0]);
    bool is_file = length > 5 && strcmp(word[0] + length - 5, ".yaml") == 0;
    if (is_file)
        return mot_fail(MOT_EUSAGE, "unknown command '%s': did you mean 'motley sim %s'?", word[0], word[0]);
    if (nearest) return mot_fail(MOT_EUSAGE, "unknown command '%s': did you mean '%s'?", word[0], nearest);
    return mot_fail(MOT_EUSAGE, "unknown command '%s'; 'motley help' lists them", word[0]);
}

bool cli_asks(const char *const *word, size_t words, const char *flag, const char *letter)
{
    for (size_t i = 0; i < words && strcmp(word[i], "--") != 0; i++)
        if (strcmp(word[i], flag) == 0 || strcmp(word[i], letter) == 0) return true;
    return false;
}

/* ---- Flags ------------------------------------------------------------------------------ */

/* The command line, as far as it has been read. */
struct parse {
    struct cli_args *args;
    struct mot_arena *arena;
    const char *const *word;
    size_t words, at;          /* at: the next word */
    const struct mot_key *key; /* of the experiment, if the command takes them */
    size_t keys;
};

bool cli_same_flag(const char *a, const char *b, size_t b_length)
{
    size_t i = 0;
    for (; a[i] && i < b_length; i++) {
        char x = a[i] == '_' || a[i] == '.' ? '-' : a[i], y = b[i] == '_' || b[i] == '.' ? '-' : b[i];
        if (x != y) return false;
    }
    return !a[i] && i == b_length;
}

const struct cli_flag *cli_find_flag(const struct cli_flag *flags, const char *name, size_t length)
{
    for (; flags && flags->name; flags++)
        if (cli_same_flag(flags->name, name, length)) return flags;
    return NULL;
}

static const struct mot_key *find_key(const struct parse *p, const char *name, size_t length)
{
    if (length == 3 && strncmp(name, "out", 3) == 0) return find_key(p, "output", 6);
    for (size_t i = 0; i < p->keys; i++)
        if (cli_same_flag(p->key[i].name, name, length)) return &p->key[i];
    return NULL;
}

/* A key as a flag: "--stop-updates". In the arena. */
static const char *flag_of(const struct parse *p, const char *key)
{
    char *text = mot_format("--%s", key);
    for (char *c = text + 2; *c; c++)
        if (*c == '.' || *c == '_') *c = '-';
    return mot_arena_take(p->arena, text);
}

static enum mot_status unknown_flag(const struct parse *p, const char *given, size_t length)
{
    const struct cli_command *command = p->args->command;
    const char **names = mot_arena_new(p->arena, (p->keys + 128) * sizeof *names), *nearest = NULL;
    size_t n = 0;
    for (const struct cli_flag *f = command->flags; f && f->name; f++) names[n++] = flag_of(p, f->name);
    for (const struct cli_flag *f = cli_common_flags; f->name; f++) names[n++] = flag_of(p, f->name);
    if (command->experiment_flags) names[n++] = "--set", names[n++] = "--out";
    for (size_t i = 0; i < p->keys; i++) names[n++] = flag_of(p, p->key[i].name);
    char *wrong = mot_format("%.*s", (int)length, given);
    /* The last word of a flag is often enough: --lr for --optimizer-lr. */
    for (size_t i = 0; i < n && length > 2; i++) {
        const char *tail = strlen(names[i]) > length - 1 ? names[i] + strlen(names[i]) - (length - 1) : "";
        if (*tail == '-' && !nearest && strcmp(tail + 1, wrong + 2) == 0) nearest = names[i];
    }
    if (!nearest) {
        /* Compare without the dashes, which would make every short word look near. */
        for (size_t i = 0; i < n; i++) names[i] += 2;
        nearest = mot_nearest(length > 2 ? wrong + 2 : wrong, names, n);
        if (nearest) nearest -= 2;
    }
    enum mot_status status = nearest
        ? mot_fail(MOT_EUSAGE, "unknown flag '%s': did you mean '%s'?", wrong, nearest)
        : mot_fail(MOT_EUSAGE, "unknown flag '%s'; 'motley help %s' lists them", wrong, command->name);
    free(wrong);
    return status;
}

static void add_setting(struct parse *p, const char *key, const char *value, const char *origin)
{
    struct cli_args *a = p->args;
    struct mot_setting *more = mot_arena_new(p->arena, (a->settings + 1) * sizeof *more);
    if (a->settings) memcpy(more, a->setting, a->settings * sizeof *more);
    more[a->settings++] = (struct mot_setting){ key, value, origin };
    a->setting = more;
}

static void add_given(struct parse *p, const struct cli_flag *flag, const char *value)
{
    struct cli_args *a = p->args;
    void *more = mot_arena_new(p->arena, (a->givens + 1) * sizeof *a->given);
    if (a->givens) memcpy(more, a->given, a->givens * sizeof *a->given);
    a->given = more;
    a->given[a->givens].flag = flag;
    a->given[a->givens++].value = value;
}

/* --set a.b=c */
static enum mot_status read_set(struct parse *p, const char *text)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return mot_fail(
            MOT_EUSAGE, "--set: expected KEY=VALUE, such as stop.updates=100; found '%.60s'", text);
    char *key = mot_arena_text(p->arena, text);
    key[equals - text] = '\0';
    add_setting(p, key, equals + 1, "--set");
    return MOT_OK;
}

static bool is_truth(const char *word)
{
    static const char *const truths[] = { "true", "false", "yes", "no", "on", "off" };
    for (size_t i = 0; i < MOT_COUNT(truths); i++)
        if (strcmp(word, truths[i]) == 0) return true;
    return false;
}

/* The value after the `=`, or the next word. */
static enum mot_status take_value(
    struct parse *p, const char *flag, const char *equals, const char *what, const char **out)
{
    if (equals) *out = equals + 1;
    else if (p->at < p->words) *out = p->word[p->at++];
    else return mot_fail(MOT_EUSAGE, "%s: expected %s after the flag; found nothing", flag, what);
    return MOT_OK;
}

static enum mot_status read_key_flag(struct parse *p, const struct mot_key *key, const char *equals)
{
    const char *flag = flag_of(p, key->name), *value = "true";
    bool is_switch = key->option && key->option->type == MOT_OPT_BOOL && !equals &&
        !(p->at < p->words && is_truth(p->word[p->at]));
    enum mot_status status = is_switch ? MOT_OK : take_value(p, flag, equals, "a value", &value);
    if (status != MOT_OK) return status;
    add_setting(p, key->name, value, flag);
    return MOT_OK;
}

static enum mot_status read_flag(struct parse *p, const char *word)
{
    struct cli_args *a = p->args;
    const char *equals = strchr(word, '='), *name = word + 2, *value = NULL;
    size_t length = (equals ? (size_t)(equals - word) : strlen(word)) - 2;
    const struct cli_flag *flag = cli_find_flag(a->command->flags, name, length);
    if (!flag) flag = cli_find_flag(cli_common_flags, name, length);
    if (flag) {
        enum mot_status status = MOT_OK;
        const char *shown = flag_of(p, flag->name);
        if (flag->value) status = take_value(p, shown, equals, flag->value, &value);
        else if (equals)
            status = mot_fail(MOT_EUSAGE, "%s: takes no value; found '%.60s'", shown, equals + 1);
        if (status != MOT_OK) return status;
        if (strcmp(flag->name, "json") == 0) a->json = true;
        if (strcmp(flag->name, "quiet") == 0) a->quiet = true;
        add_given(p, flag, value);
        return MOT_OK;
    }
    if (!a->command->experiment_flags) return unknown_flag(p, word, length + 2);
    if (length == 3 && strncmp(name, "set", 3) == 0) {
        enum mot_status status = take_value(p, "--set", equals, "KEY=VALUE", &value);
        return status == MOT_OK ? read_set(p, value) : status;
    }
    const struct mot_key *key = find_key(p, name, length);
    if (key && a->command->prints_only && strcmp(key->name, "output") == 0)
        return mot_fail(MOT_EUSAGE, "--%.*s: motley %s only prints; it writes no folder", (int)length, name,
            a->command->name);
    return key ? read_key_flag(p, key, equals) : unknown_flag(p, word, length + 2);
}

static enum mot_status check_words(const struct cli_args *a)
{
    const struct cli_command *c = a->command;
    if (a->words < c->words_min)
        return mot_fail(MOT_EUSAGE, "expected: motley %s %s; found %s", c->name, c->synopsis,
            a->words ? "too few arguments" : "no arguments");
    if (a->words > c->words_max)
        return mot_fail(MOT_EUSAGE, "expected: motley %s %s; unexpected argument '%.60s'", c->name,
            c->synopsis, a->word[c->words_max]);
    return MOT_OK;
}

enum mot_status cli_parse(const struct cli_command *command, const char *const *word, size_t words,
    struct mot_arena *arena, struct cli_args *out)
{
    struct parse p = { .args = out, .arena = arena, .word = word, .words = words };
    bool only_words = false;
    out->command = command;
    out->word = mot_arena_new(arena, (words + 1) * sizeof *out->word);
    if (command->experiment_flags) p.key = mot_keys(arena, &p.keys);
    while (p.at < words) {
        const char *now = word[p.at++];
        bool is_flag = !only_words && now[0] == '-' && now[1] != '\0';
        if (!is_flag) {
            out->word[out->words++] = now;
            continue;
        }
        if (strcmp(now, "--") == 0) {
            only_words = true;
            continue;
        }
        enum mot_status status = now[1] == '-' ? read_flag(&p, now) : unknown_flag(&p, now, strlen(now));
        if (status != MOT_OK) return status;
    }
    return check_words(out);
}

bool cli_given(const struct cli_args *a, const char *flag)
{
    for (size_t i = 0; i < a->givens; i++)
        if (strcmp(a->given[i].flag->name, flag) == 0) return true;
    return false;
}

const char *cli_value(const struct cli_args *a, const char *flag)
{
    const char *value = NULL;
    for (size_t i = 0; i < a->givens; i++)
        if (strcmp(a->given[i].flag->name, flag) == 0) value = a->given[i].value;
    return value;
}
