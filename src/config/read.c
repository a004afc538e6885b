#include "config/read.h"
#include "base/file.h"
#include "base/options.h"
#include "base/words.h"
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum mot_status fail_at(const char *where, const char *key, const char *format, va_list rest)
{
    char message[1024];
    vsnprintf(message, sizeof message, format, rest);
    return mot_fail(MOT_EUSAGE, "%s: %s%s%s", where, key, *key ? ": " : "", message);
}

enum mot_status mot_read_fail(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, const char *key, const char *format, ...)
{
    va_list rest;
    va_start(rest, format);
    enum mot_status status =
        fail_at(node ? mot_yaml_where(node, r->arena) : "the experiment", key, format, rest);
    va_end(rest);
    return status;
}

enum mot_status mot_read_fail_key(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, const char *key, const char *format, ...)
{
    va_list rest;
    va_start(rest, format);
    enum mot_status status = fail_at(mot_yaml_where_key(node, r->arena), key, format, rest);
    va_end(rest);
    return status;
}

const char *mot_key_join(const struct mot_yaml_reader *r, const char *section, const char *name)
{
    return *section ? mot_arena_take(r->arena, mot_format("%s.%s", section, name))
                    : mot_arena_text(r->arena, name);
}

const char *mot_did_you_mean(const struct mot_yaml_reader *r, const char *wrong, const char *const *words)
{
    size_t n = 0;
    while (words[n]) n++;
    const char *nearest = mot_nearest(wrong, words, n);
    return nearest ? mot_arena_take(r->arena, mot_format(": did you mean '%s'?", nearest)) : "";
}

/* ---- Paths ------------------------------------------------------------------- */

/* The file that the node comes from; NULL: a flag. */
static const char *file_of(const struct mot_yaml_reader *r, const struct mot_yaml *said_by)
{
    if (!said_by || !said_by->flag) return said_by ? said_by->file : NULL;
    size_t n = r->file ? strlen(r->file) : 0;
    return n && strncmp(said_by->flag, r->file, n) == 0 && said_by->flag[n] == ':' ? r->file : NULL;
}

const char *mot_read_beside(const struct mot_yaml_reader *r, const struct mot_yaml *said_by, const char *path)
{
    const char *file = file_of(r, said_by);
    const char *slash = file ? strrchr(file, '/') : NULL;
    if (*path == '/' || !slash) return mot_arena_text(r->arena, path);
    return mot_arena_take(r->arena, mot_format("%.*s/%s", (int)(slash - file), file, path));
}

const char *mot_read_path(const struct mot_yaml_reader *r, const struct mot_yaml *said_by, const char *path)
{
    char here[PATH_MAX];
    path = mot_read_beside(r, said_by, path);
    if (*path == '/' || !getcwd(here, sizeof here)) return path;
    while (strncmp(path, "./", 2) == 0) path += 2;
    return mot_arena_take(r->arena, mot_format("%s/%s", strcmp(here, "/") == 0 ? "" : here, path));
}

/* ---- Names ------------------------------------------------------------------- */

/* The names of a family as words, ended by NULL. */
static const char *const *names_of(const struct mot_yaml_reader *r, const struct mot_family *family)
{
    struct mot_choice choice;
    size_t n = 0;
    while (family->get(n, &choice)) n++;
    const char **words = mot_arena_new(r->arena, (n + 1) * sizeof *words);
    for (size_t i = 0; family->get(i, &choice); i++) words[i] = choice.name;
    return words;
}

static const char *joined(const struct mot_yaml_reader *r, const char *const *words)
{
    char *text = mot_text("");
    for (; *words; words++) {
        char *longer = mot_format("%s%s%s", text, *text ? ", " : "", *words);
        free(text);
        text = longer;
    }
    return mot_arena_take(r->arena, text);
}

enum mot_status mot_read_name(const struct mot_yaml_reader *r, const struct mot_yaml *node, const char *key,
    const struct mot_family *family, struct mot_choice *out)
{
    const struct mot_yaml *name = node;
    if (node && node->kind == MOT_YAML_MAP) {
        name = mot_yaml_get(node, "name");
        if (name) key = mot_key_join(r, key, "name");
    }
    if (!name) {
        if (mot_family_find(family, family->preset, out)) return MOT_OK;
        return mot_fail(MOT_EUSAGE, "%s: has no part called '%s'", key, family->preset);
    }
    const char *const *words = names_of(r, family);
    if (name->kind != MOT_YAML_SCALAR)
        return mot_read_fail(
            r, name, key, "expected one of %s; found %s", joined(r, words), mot_yaml_found(name, r->arena));
    if (!mot_family_find(family, name->text, out))
        return mot_read_fail(r, name, key, "expected one of %s; found %s%s", joined(r, words),
            mot_yaml_found(name, r->arena), mot_did_you_mean(r, name->text, words));
    return MOT_OK;
}

enum mot_status mot_read_map(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, const char *key, const char *example)
{
    if (!node || node->kind == MOT_YAML_MAP) return MOT_OK;
    return mot_read_fail(
        r, node, key, "expected a map such as %s; found %s", example, mot_yaml_found(node, r->arena));
}

/* ---- Values ------------------------------------------------------------------ */

static bool is_plain(const char *text) { return *text && !strpbrk(text, ",:[]{}#\n"); }

/* A list as the text "[a, {b: c}]" that options take. NULL, or what has no such text: a scalar or a key that
 * is empty or has punctuation or, without `nested`, more than a scalar. */
static const struct mot_yaml *print_list(const struct mot_yaml *node, bool nested, FILE *out)
{
    if (node->kind == MOT_YAML_SCALAR) {
        fputs(node->text, out);
        return is_plain(node->text) ? NULL : node;
    }
    bool map = node->kind == MOT_YAML_MAP;
    putc(map ? '{' : '[', out);
    for (const struct mot_yaml *child = node->first; child; child = child->next) {
        if (!nested && child->kind != MOT_YAML_SCALAR) return child;
        fprintf(out, "%s%s%s", child == node->first ? "" : ", ", map ? child->key : "", map ? ": " : "");
        if (map && !is_plain(child->key)) return child;
        const struct mot_yaml *odd = print_list(child, nested, out);
        if (odd) return odd;
    }
    putc(map ? '}' : ']', out);
    return NULL;
}

/* NULL if the list has no such text; odd: why. */
static const char *list_text(
    const struct mot_yaml_reader *r, const struct mot_yaml *list, bool nested, const struct mot_yaml **odd)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) {
        mot_memory_refuse(0);
        return NULL;
    }
    *odd = print_list(list, nested, out);
    bool failed = fclose(out) != 0 || !text;
    if (failed) mot_memory_refuse(0);
    const char *kept = !failed && !*odd ? mot_arena_text(r->arena, text) : NULL;
    free(text);
    return kept;
}

enum mot_status mot_read_value(const struct mot_yaml_reader *r, const struct mot_yaml *node, const char *key,
    const struct mot_option *option, void *conf)
{
    const char *text = NULL;
    const struct mot_yaml *odd = NULL;
    if (node->kind == MOT_YAML_SCALAR && (*node->text || node->quoted)) text = node->text;
    if (node->kind == MOT_YAML_LIST && (option->type == MOT_OPT_UINTS || option->type == MOT_OPT_LIST))
        text = list_text(r, node, option->type == MOT_OPT_LIST, &odd);
    if (odd && (odd->kind == MOT_YAML_SCALAR || option->type == MOT_OPT_LIST)) {
        bool in_key = odd->key && !is_plain(odd->key);
        return mot_read_fail(r, odd, key,
            "in the list: expected a word or a number, without line breaks and without , : [ ] { } #; "
            "found %s%s",
            in_key ? "the key " : "",
            in_key ? mot_yaml_quote(odd->key, r->arena) : mot_yaml_found(odd, r->arena));
    }
    if (!text)
        return mot_read_fail(r, node, key, "expected %s; found %s",
            mot_arena_take(r->arena, mot_option_expects(option)), mot_yaml_found(node, r->arena));
    if (mot_option_set(option, conf, text, r->arena)) return mot_read_fail(r, node, key, "%s", mot_error());
    return MOT_OK;
}

/* ---- Maps -------------------------------------------------------------------- */

const struct mot_yaml *mot_read_given(const struct mot_yaml *map, const struct mot_option *option)
{
    const struct mot_yaml *node = mot_yaml_get(map, option->name);
    const struct mot_yaml *other = option->also ? mot_yaml_get(map, option->also) : NULL;
    if (!node || !other) return node ? node : other;
    return other->flag && !node->flag ? other : node;
}

static bool among(const char *word, const char *const *words)
{
    for (; words && *words; words++)
        if (strcmp(word, *words) == 0) return true;
    return false;
}

/* A hint for a key that belongs elsewhere: `lr` instead of `optimizer.lr`, or `k`, which only another
 * method has. */
static const char *elsewhere(const struct mot_yaml_reader *r, const char *full, const char *wrong)
{
    size_t n;
    const struct mot_key *key = mot_keys(r->arena, &n);
    for (size_t i = 0; i < n; i++)
        if (key[i].of && strcmp(key[i].name, full) == 0)
            return mot_arena_take(r->arena, mot_format("; it is an option of '%s'", key[i].of));
    for (size_t i = 0; i < n; i++) {
        const char *dot = strrchr(key[i].name, '.');
        if (dot && strcmp(dot + 1, wrong) == 0)
            return mot_arena_take(r->arena, mot_format(": did you mean '%s'?", key[i].name));
    }
    return "";
}

static enum mot_status unknown_key(const struct mot_yaml_reader *r, const struct mot_yaml *node,
    const char *section, const struct mot_option *table, const char *const *others)
{
    size_t n = 0, at = 0;
    for (const struct mot_option *o = table; o && o->name; o++) n += 2;
    for (size_t i = 0; others && others[i]; i++) n++;
    const char **words = mot_arena_new(r->arena, (n + 2) * sizeof *words);
    for (const struct mot_option *o = table; o && o->name; o++) words[at++] = o->name;
    for (size_t i = 0; others && others[i]; i++)
        if (!mot_option_find(table, others[i])) words[at++] = others[i];
    const char *known = joined(r, words);
    for (const struct mot_option *o = table; o && o->name; o++)
        if (o->also) words[at++] = o->also;
    /* Quoting makes an odd key printable and short; the quotes are dropped. */
    char *shown = mot_arena_text(r->arena, mot_yaml_quote(node->key, r->arena) + 1);
    shown[strlen(shown) - 1] = '\0';
    const char *full = mot_key_join(r, section, shown), *near = mot_did_you_mean(r, node->key, words);
    if (!*near) near = elsewhere(r, full, node->key);
    return mot_read_fail_key(r, node, full, "unknown key%s%s%s", near,
        *known ? " (known here: " : " (there are no keys here",
        *known ? mot_arena_take(r->arena, mot_format("%s)", known)) : ")");
}

/* {name: nonconvex, lambda: 0.1} under a choice: `lambda` is a sibling option. */
static enum mot_status read_nested(const struct mot_yaml_reader *r, const struct mot_yaml *map,
    const struct mot_yaml *node, const char *section, const char *key, const struct mot_option *option,
    const struct mot_option *table, void *conf, bool *given)
{
    for (const struct mot_yaml *child = node->first; child; child = child->next) {
        const char *inner = mot_key_join(r, key, child->key);
        bool is_name = strcmp(child->key, "name") == 0;
        const struct mot_option *sibling = is_name ? option : mot_option_find(table, child->key);
        if (!sibling || (!is_name && sibling == option)) {
            static const char *const name_only[] = { "name", NULL };
            return unknown_key(r, child, key, table, name_only);
        }
        if (!is_name && mot_read_given(map, sibling))
            return mot_read_fail_key(
                r, child, inner, "is given twice: here and as %s", mot_key_join(r, section, sibling->name));
        enum mot_status status = mot_read_value(r, child, inner, sibling, conf);
        if (status != MOT_OK) return status;
        given[sibling - table] = true;
    }
    return MOT_OK;
}

static enum mot_status read_member(const struct mot_yaml_reader *r, const struct mot_yaml *map,
    const struct mot_yaml *node, const char *section, const struct mot_option *table, void *conf,
    const char *const *others, bool *given)
{
    if (among(node->key, others)) return MOT_OK;
    const struct mot_option *option = mot_option_find(table, node->key);
    if (!option) return unknown_key(r, node, section, table, others);
    const char *key = mot_key_join(r, section, option->name);
    const struct mot_yaml *chosen = mot_read_given(map, option);
    if (chosen != node) {
        if (chosen->flag && !node->flag) return MOT_OK;
        return mot_read_fail_key(
            r, node, key, "is given twice: '%s' and '%s' mean the same", option->name, option->also);
    }
    given[option - table] = true;
    if (node->kind == MOT_YAML_MAP && option->type == MOT_OPT_CHOICE)
        return read_nested(r, map, node, section, key, option, table, conf, given);
    return mot_read_value(r, node, key, option, conf);
}

enum mot_status mot_read_options(const struct mot_yaml_reader *r, const struct mot_yaml *node,
    const char *key, const struct mot_option *table, void *conf, const char *const *others, unsigned flags)
{
    static const struct mot_option no_options[] = { { .name = NULL } };
    if (!table) table = no_options;
    const struct mot_yaml *place = node;
    enum mot_status status;
    size_t n = 0;
    while (table[n].name) n++;
    bool *given = mot_arena_new(r->arena, (n + 1) * sizeof *given);
    if (!(flags & MOT_READ_KEEP) && (status = mot_options_preset(table, conf, r->arena))) return status;
    if (node && node->kind == MOT_YAML_SCALAR && !among("name", others)) {
        const struct mot_option *name = mot_option_find(table, "name");
        if (name) {
            given[name - table] = true;
            if ((status = mot_read_value(r, node, key, name, conf))) return status;
            node = NULL;
        }
    }
    if (node && node->kind == MOT_YAML_SCALAR && among("name", others)) node = NULL;
    if ((status = mot_read_map(r, node, key, "{key: value}"))) return status;
    for (const struct mot_yaml *child = node ? node->first : NULL; child; child = child->next)
        if ((status = read_member(r, node, child, key, table, conf, others, given))) return status;
    for (size_t i = 0; i < n; i++) {
        if (given[i] || table[i].preset || (flags & MOT_READ_KEEP)) continue;
        const char *name = mot_key_join(r, key, table[i].name),
                   *expects = mot_arena_take(r->arena, mot_option_expects(&table[i]));
        if (place) return mot_read_fail(r, place, name, "is missing; expected %s", expects);
        return mot_fail(MOT_EUSAGE, "%s: is missing; expected %s", name, expects);
    }
    return MOT_OK;
}

enum mot_status mot_read_joined(
    const struct mot_yaml_reader *r, struct mot_yaml *list, const char *key, const char *expected)
{
    size_t n = 1;
    for (const struct mot_yaml *child = list->first; child; child = child->next) {
        if (child->kind != MOT_YAML_SCALAR)
            return mot_read_fail(
                r, child, key, "expected %s; found %s", expected, mot_yaml_found(child, r->arena));
        n += strlen(child->text) + 2;
    }
    char *text = mot_arena_new(r->arena, n);
    size_t used = 0;
    for (const struct mot_yaml *child = list->first; child; child = child->next)
        used += (size_t)snprintf(text + used, n - used, "%s%s", used ? ", " : "", child->text);
    list->kind = MOT_YAML_SCALAR;
    list->text = text;
    return MOT_OK;
}
