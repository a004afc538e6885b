/* yaml.h -- YAML text as a tree in which every node knows where it was written. */
#ifndef MOT_CONFIG_YAML_H
#define MOT_CONFIG_YAML_H

#include "base/memory.h"
#include <motley/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mot_yaml_kind { MOT_YAML_SCALAR, MOT_YAML_LIST, MOT_YAML_MAP };

struct mot_yaml {
    enum mot_yaml_kind kind;
    bool quoted;      /* a quoted scalar: "" is then a value */
    const char *text; /* of a scalar */
    const char *key;  /* as a member of a map */
    uint32_t key_line, key_column;
    const char *file;      /* as shown in messages; NULL: it came from a flag */
    const char *flag;      /* "--stop-updates" */
    uint32_t line, column; /* from 1 */
    uint32_t count;        /* of the children */
    struct mot_yaml *first, *last, *next;
};

/* Limits of a document. Nothing people write comes close. */
#define MOT_YAML_BYTES_MAX (4u << 20)
#define MOT_YAML_DEPTH_MAX 16
#define MOT_YAML_NODES_MAX 300000
#define MOT_YAML_KEYS_MAX 500 /* in one map: duplicates are found by comparing them all */

/* One UTF-8 document without anchors, aliases, tags or duplicate keys. Empty text is an empty map.
 * Messages call it `name`; `flag`: it is a flag's value, not a file. The arena owns the tree. */
enum mot_status mot_yaml_parse(
    const char *name, bool flag, const char *text, size_t n, struct mot_arena *, struct mot_yaml **out);
/* "server{k: 6}", of n bytes, is short for "{name: server, k: 6}". malloc'd; NULL: it is not of that form. */
char *mot_yaml_longhand(const char *text, size_t n);
/* A file's text, for callers that parse it themselves; free() it. */
enum mot_status mot_yaml_load(const char *path, unsigned char **bytes_out, size_t *n_out);
enum mot_status mot_yaml_read(const char *path, struct mot_arena *, struct mot_yaml **out);

/* The map's member of that name, or NULL; also NULL if `map` is NULL or not a map. */
struct mot_yaml *mot_yaml_get(const struct mot_yaml *map, const char *key);

/* Sets the dotted `key` for the flag `origin`. A plain word on the way becomes {name: word}; a plain word
 * put over {name: word, ...} keeps the map. An entry of a list goes by its `name` or its number from 0:
 * workers.slow.speed, workers.1.speed. */
enum mot_status mot_yaml_put(
    struct mot_yaml *root, const char *key, const char *value, const char *origin, struct mot_arena *);

/* "exp.yaml:3:7" or "--stop-updates", of the value or of its key. */
const char *mot_yaml_where(const struct mot_yaml *, struct mot_arena *);
const char *mot_yaml_where_key(const struct mot_yaml *, struct mot_arena *);

/* What was found, short and safe to print: "'3 apples'", "a list". */
const char *mot_yaml_found(const struct mot_yaml *, struct mot_arena *);
const char *mot_yaml_quote(const char *text, struct mot_arena *);

#endif
