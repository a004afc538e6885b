#include "config/yaml.h"
#include "base/file.h"
#include "base/shown.h"
#include "base/words.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct builder {
    yaml_parser_t parser;
    yaml_event_t event; /* the current one; deleted before the next */
    const char *name;
    bool flag;
    struct mot_arena *arena;
    uint32_t nodes;
};

static enum mot_status complain(const struct builder *b, yaml_mark_t at, const char *what)
{
    if (b->flag) return mot_fail(MOT_EUSAGE, "%s: %s", b->name, what);
    return mot_fail(MOT_EUSAGE, "%s:%zu:%zu: %s", b->name, at.line + 1, at.column + 1, what);
}

/* libyaml says what is wrong, in its own words; we say where. */
static enum mot_status parser_failed(const struct builder *b)
{
    const yaml_parser_t *p = &b->parser;
    if (p->error == YAML_MEMORY_ERROR) return mot_fail(MOT_ESYSTEM, "%s: out of memory", b->name);
    if (p->error == YAML_READER_ERROR)
        return mot_fail(MOT_EUSAGE, "%s: byte %zu: %s, expected UTF-8 text", b->name, p->problem_offset,
            p->problem ? p->problem : "unreadable");
    char *what = p->context
        ? mot_format("not valid YAML: %s, %s", p->context, p->problem ? p->problem : "unreadable")
        : mot_format("not valid YAML: %s", p->problem ? p->problem : "unreadable");
    enum mot_status status = complain(b, p->problem_mark, what);
    free(what);
    return status;
}

static enum mot_status advance(struct builder *b)
{
    yaml_event_delete(&b->event);
    if (!yaml_parser_parse(&b->parser, &b->event)) return parser_failed(b);
    return MOT_OK;
}

static struct mot_yaml *new_node(struct builder *b, enum mot_yaml_kind kind)
{
    struct mot_yaml *node = mot_arena_new(b->arena, sizeof *node);
    node->kind = kind;
    if (b->flag) node->flag = b->name;
    else node->file = b->name;
    node->line = (uint32_t)b->event.start_mark.line + 1;
    node->column = (uint32_t)b->event.start_mark.column + 1;
    return node;
}

static void append(struct mot_yaml *parent, struct mot_yaml *child)
{
    if (parent->last) parent->last->next = child;
    else parent->first = child;
    parent->last = child;
    parent->count++;
}

static enum mot_status build(struct builder *b, int depth, struct mot_yaml **out);

static enum mot_status build_scalar(struct builder *b, struct mot_yaml **out)
{
    const char *text = (const char *)b->event.data.scalar.value;
    if (strlen(text) != b->event.data.scalar.length)
        return complain(b, b->event.start_mark, "found a zero byte, expected text");
    if (b->event.data.scalar.anchor)
        return complain(b, b->event.start_mark, "found an anchor ('&'), which is not allowed here");
    if (b->event.data.scalar.tag)
        return complain(b, b->event.start_mark, "found a YAML tag ('!'), expected a plain value");
    struct mot_yaml *node = new_node(b, MOT_YAML_SCALAR);
    node->text = mot_arena_text(b->arena, text);
    node->quoted = b->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    *out = node;
    return MOT_OK;
}

static enum mot_status build_list(struct builder *b, int depth, struct mot_yaml **out)
{
    struct mot_yaml *list = new_node(b, MOT_YAML_LIST);
    for (;;) {
        enum mot_status status = advance(b);
        if (status != MOT_OK) return status;
        if (b->event.type == YAML_SEQUENCE_END_EVENT) break;
        struct mot_yaml *child;
        if ((status = build(b, depth + 1, &child))) return status;
        append(list, child);
    }
    *out = list;
    return MOT_OK;
}

static enum mot_status build_member(struct builder *b, int depth, struct mot_yaml *map)
{
    yaml_mark_t at = b->event.start_mark;
    if (b->event.type != YAML_SCALAR_EVENT)
        return complain(b, at, "found a list or a map as a key, expected a name");
    if (map->count == MOT_YAML_KEYS_MAX) return complain(b, at, "found more than 500 keys in one map");
    struct mot_yaml *key, *value;
    enum mot_status status = build_scalar(b, &key);
    if (status != MOT_OK) return status;
    const struct mot_yaml *twin = mot_yaml_get(map, key->text);
    if (twin) {
        char *what = mot_format(
            "%s is given twice, first in line %u", mot_yaml_quote(key->text, b->arena), twin->key_line);
        status = complain(b, at, what);
        free(what);
        return status;
    }
    if ((status = advance(b))) return status;
    if ((status = build(b, depth + 1, &value))) return status;
    value->key = key->text;
    value->key_line = key->line;
    value->key_column = key->column;
    append(map, value);
    return MOT_OK;
}

static enum mot_status build_map(struct builder *b, int depth, struct mot_yaml **out)
{
    struct mot_yaml *map = new_node(b, MOT_YAML_MAP);
    for (;;) {
        enum mot_status status = advance(b);
        if (status != MOT_OK) return status;
        if (b->event.type == YAML_MAPPING_END_EVENT) break;
        if ((status = build_member(b, depth, map))) return status;
    }
    *out = map;
    return MOT_OK;
}

/* The tree that starts at the current event. */
static enum mot_status build(struct builder *b, int depth, struct mot_yaml **out)
{
    yaml_mark_t at = b->event.start_mark;
    if (depth > MOT_YAML_DEPTH_MAX) return complain(b, at, "found lists and maps nested more than 16 deep");
    if (++b->nodes > MOT_YAML_NODES_MAX) return complain(b, at, "found more than 300000 values in one file");
    switch (b->event.type) {
    case YAML_SCALAR_EVENT: return build_scalar(b, out);
    case YAML_SEQUENCE_START_EVENT:
        if (b->event.data.sequence_start.anchor)
            return complain(b, at, "found an anchor ('&'), which is not allowed here");
        if (b->event.data.sequence_start.tag)
            return complain(b, at, "found a YAML tag ('!'), expected a plain list");
        return build_list(b, depth, out);
    case YAML_MAPPING_START_EVENT:
        if (b->event.data.mapping_start.anchor)
            return complain(b, at, "found an anchor ('&'), which is not allowed here");
        if (b->event.data.mapping_start.tag)
            return complain(b, at, "found a YAML tag ('!'), expected a plain map");
        return build_map(b, depth, out);
    case YAML_ALIAS_EVENT: return complain(b, at, "found an alias ('*'), which is not allowed here");
    default: return complain(b, at, "not valid YAML: found no value");
    }
}

static enum mot_status build_stream(struct builder *b, struct mot_yaml **out)
{
    enum mot_status status = advance(b);       /* the stream's start */
    if (status == MOT_OK) status = advance(b); /* a document's start, or the end */
    if (status != MOT_OK) return status;
    if (b->event.type == YAML_STREAM_END_EVENT) {
        *out = new_node(b, MOT_YAML_MAP);
        return MOT_OK;
    }
    struct mot_yaml *root;
    if ((status = advance(b))) return status;
    if ((status = build(b, 1, &root))) return status;
    if ((status = advance(b))) return status; /* the document's end */
    if ((status = advance(b))) return status;
    if (b->event.type != YAML_STREAM_END_EVENT)
        return complain(b, b->event.start_mark, "found a second YAML document ('---'), expected one");
    *out = root;
    return MOT_OK;
}

enum mot_status mot_yaml_parse(
    const char *name, bool flag, const char *text, size_t n, struct mot_arena *arena, struct mot_yaml **out)
{
    if (n > MOT_YAML_BYTES_MAX)
        return mot_fail(MOT_EUSAGE, "%s: found %zu bytes, expected at most 4 MiB", name, n);
    struct builder b = { .name = mot_arena_text(arena, name), .flag = flag, .arena = arena };
    if (!yaml_parser_initialize(&b.parser)) return mot_fail(MOT_ESYSTEM, "%s: out of memory", name);
    /* libyaml would count a byte-order mark as a column, hence as indentation */
    size_t mark = n >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    text += mark;
    n -= mark;
    yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b.parser, (const unsigned char *)text, n);
    enum mot_status status = build_stream(&b, out);
    if (status == MOT_OK) status = mot_memory_status();
    yaml_event_delete(&b.event);
    yaml_parser_delete(&b.parser);
    return status;
}

enum mot_status mot_yaml_load(const char *path, unsigned char **bytes_out, size_t *n_out)
{
    enum mot_status status = mot_file_read(path, MOT_YAML_BYTES_MAX, bytes_out, n_out);
    return status == MOT_EDATA ? MOT_EUSAGE : status; /* too long: the user's mistake */
}

enum mot_status mot_yaml_read(const char *path, struct mot_arena *arena, struct mot_yaml **out)
{
    unsigned char *bytes;
    size_t n;
    enum mot_status status = mot_yaml_load(path, &bytes, &n);
    if (status != MOT_OK) return status;
    status = mot_yaml_parse(path, false, (const char *)bytes, n, arena, out);
    free(bytes);
    return status;
}

struct mot_yaml *mot_yaml_get(const struct mot_yaml *map, const char *key)
{
    if (!map || map->kind != MOT_YAML_MAP) return NULL;
    for (struct mot_yaml *child = map->first; child; child = child->next)
        if (strcmp(child->key, key) == 0) return child;
    return NULL;
}

/* ---- Settings from the command line ------------------------------------------ */

#define ENTRIES_SHOWN 20u /* of a list, in a message */

static struct mot_yaml *flag_node(
    enum mot_yaml_kind kind, const char *text, const char *origin, struct mot_arena *arena)
{
    struct mot_yaml *node = mot_arena_new(arena, sizeof *node);
    node->kind = kind;
    node->text = text;
    node->quoted = kind == MOT_YAML_SCALAR;
    node->flag = origin;
    return node;
}

/* Replaces the member of that key, or appends it. */
static void put_member(struct mot_yaml *map, const char *key, struct mot_yaml *value)
{
    value->key = key;
    for (struct mot_yaml **at = &map->first; *at; at = &(*at)->next) {
        if (strcmp((*at)->key, key) != 0) continue;
        value->next = (*at)->next;
        if (map->last == *at) map->last = value;
        *at = value;
        return;
    }
    append(map, value);
}

/* A scalar on the way to a key becomes a map with that name. */
static void make_map(struct mot_yaml *node, struct mot_arena *arena)
{
    if (node->kind != MOT_YAML_SCALAR) return;
    struct mot_yaml *name = mot_arena_new(arena, sizeof *name);
    *name = *node;
    name->next = NULL;
    name->key = "name";
    name->key_line = node->line;
    name->key_column = node->column;
    node->kind = MOT_YAML_MAP;
    node->text = NULL;
    append(node, name);
}

static size_t word_length(const char *text, size_t n)
{
    size_t i = 0;
    while (i < n && (isalnum((unsigned char)text[i]) || text[i] == '_' || text[i] == '-')) i++;
    return i;
}

static size_t past_blanks(const char *text, size_t at, size_t n)
{
    while (at < n && text[at] == ' ') at++;
    return at;
}

char *mot_yaml_longhand(const char *text, size_t n)
{
    size_t name = word_length(text, n), brace = past_blanks(text, name, n);
    if (name == 0 || brace == n || text[brace] != '{' || text[n - 1] != '}') return NULL;
    size_t rest = past_blanks(text, brace + 1, n);
    bool bare = text[rest] == '}';
    if (!bare && !memchr(text + rest, ':', n - rest)) return NULL; /* a name like run{3} */
    return mot_format("{name: %.*s%s%.*s", (int)name, text, bare ? "" : ", ", (int)(n - rest), text + rest);
}

static enum mot_status flag_value(
    const char *value, const char *origin, struct mot_arena *arena, struct mot_yaml **out)
{
    if (*value == '[' || *value == '{') return mot_yaml_parse(origin, true, value, strlen(value), arena, out);
    char *map = mot_yaml_longhand(value, strlen(value));
    if (map) {
        enum mot_status status = mot_yaml_parse(origin, true, map, strlen(map), arena, out);
        free(map);
        return status;
    }
    *out = flag_node(MOT_YAML_SCALAR, mot_arena_text(arena, value), origin, arena);
    return MOT_OK;
}

/* How a setting names an entry of a list: by its name, or else by its number. */
static const char *entry_name(const struct mot_yaml *entry, uint32_t number, struct mot_arena *arena)
{
    char text[16];
    const struct mot_yaml *name = mot_yaml_get(entry, "name");
    if (name && name->kind == MOT_YAML_SCALAR && !strchr(name->text, '.')) return name->text;
    snprintf(text, sizeof text, "%u", number);
    return mot_arena_text(arena, text);
}

static enum mot_status no_entry(const struct mot_yaml *list, const char *key, const char *wanted,
    const char *origin, struct mot_arena *arena)
{
    const char **words = mot_arena_new(arena, (list->count + 1) * sizeof *words);
    char *all = mot_text("");
    uint32_t i = 0;
    for (const struct mot_yaml *e = list->first; e && i < ENTRIES_SHOWN; e = e->next, i++) {
        words[i] = entry_name(e, i, arena);
        char *more = mot_format("%s%s%s", all, i ? ", " : "", words[i]);
        free(all);
        all = more;
    }
    const char *near = mot_nearest(wanted, words, i);
    enum mot_status status = mot_fail(MOT_EUSAGE,
        "%s: there is no '%s' in '%s' at %s; expected %s%s, or a number from 0 to %u%s%s%s", origin, wanted,
        key, mot_yaml_where(list, arena), list->count ? all : "nothing: it is empty",
        list->count > ENTRIES_SHOWN ? ", ..." : "", list->count ? list->count - 1 : 0,
        near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
    free(all);
    return status;
}

/* By name first: a group may be called 1. An entry that is not a map has no keys. */
static enum mot_status find_entry(const struct mot_yaml *list, const char *key, const char *wanted,
    const char *origin, struct mot_arena *arena, struct mot_yaml **out)
{
    struct mot_yaml *found = NULL;
    uint32_t i = 0;
    for (struct mot_yaml *e = list->first; e && !found; e = e->next) {
        const struct mot_yaml *name = mot_yaml_get(e, "name");
        if (name && name->kind == MOT_YAML_SCALAR && strcmp(name->text, wanted) == 0) found = e;
    }
    for (struct mot_yaml *e = list->first; e && !found; e = e->next, i++) {
        char number[16];
        snprintf(number, sizeof number, "%u", i);
        if (strcmp(number, wanted) == 0) found = e;
    }
    if (!found) return no_entry(list, key, wanted, origin, arena);
    make_map(found, arena);
    if (found->kind != MOT_YAML_MAP)
        return mot_fail(MOT_EUSAGE, "%s: '%s' of '%s' is a list at %s; expected an entry that has keys",
            origin, wanted, key, mot_yaml_where(found, arena));
    *out = found;
    return MOT_OK;
}

enum mot_status mot_yaml_put(
    struct mot_yaml *root, const char *key, const char *value, const char *origin, struct mot_arena *arena)
{
    origin = mot_arena_text(arena, origin);
    if (!*key || *key == '.' || key[strlen(key) - 1] == '.' || strstr(key, ".."))
        return mot_fail(MOT_EUSAGE, "%s: expected a key such as stop.updates; found %s", origin,
            mot_yaml_quote(key, arena));
    char *part = mot_arena_text(arena, key), *dot;
    struct mot_yaml *map = root;
    for (; (dot = strchr(part, '.')); part = dot + 1) {
        *dot = '\0';
        struct mot_yaml *next = mot_yaml_get(map, part);
        if (!next) {
            next = flag_node(MOT_YAML_MAP, NULL, origin, arena);
            put_member(map, part, next);
        }
        make_map(next, arena);
        if (next->kind == MOT_YAML_LIST) {
            char *entry = dot + 1;
            if (!(dot = strchr(entry, '.')))
                return mot_fail(MOT_EUSAGE,
                    "%s: '%s' is a list at %s; expected a key of one of its entries, such as %s.KEY", origin,
                    part, mot_yaml_where(next, arena), key);
            *dot = '\0';
            enum mot_status status = find_entry(next, part, entry, origin, arena, &next);
            if (status != MOT_OK) return status;
        }
        map = next;
    }
    struct mot_yaml *node;
    enum mot_status status = flag_value(value, origin, arena, &node);
    if (status != MOT_OK) return status;
    const struct mot_yaml *old = mot_yaml_get(map, part), *name = mot_yaml_get(old, "name");
    if (node->kind == MOT_YAML_SCALAR && name && name->kind == MOT_YAML_SCALAR &&
        strcmp(name->text, node->text) == 0)
        return MOT_OK;
    put_member(map, part, node);
    return MOT_OK;
}

/* ---- For messages ------------------------------------------------------------- */

const char *mot_yaml_where(const struct mot_yaml *node, struct mot_arena *arena)
{
    if (node->flag) return node->flag;
    if (!node->file) return "command line";
    return mot_arena_take(arena, mot_format("%s:%u:%u", node->file, node->line, node->column));
}

const char *mot_yaml_where_key(const struct mot_yaml *node, struct mot_arena *arena)
{
    if (!node->file || !node->key_line) return mot_yaml_where(node, arena);
    return mot_arena_take(arena, mot_format("%s:%u:%u", node->file, node->key_line, node->key_column));
}

const char *mot_yaml_quote(const char *text, struct mot_arena *arena)
{
    char shown[64];
    return mot_arena_take(arena, mot_format("'%s'", mot_show_text(text, shown, sizeof shown)));
}

const char *mot_yaml_found(const struct mot_yaml *node, struct mot_arena *arena)
{
    switch (node->kind) {
    case MOT_YAML_LIST: return "a list";
    case MOT_YAML_MAP: return "a map of keys";
    case MOT_YAML_SCALAR: break;
    }
    if (!*node->text && !node->quoted) return "nothing";
    return mot_yaml_quote(node->text, arena);
}
