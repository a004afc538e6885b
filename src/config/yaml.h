/* yaml.h -- YAML text as a tree whose every node knows where it was written. */
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
    bool quoted;      /* a scalar in quotes: "" is then a value */
    const char *text; /* of a scalar */
    const char *key;  /* as a member of a map */
    uint32_t key_line, key_column;
    const char *file;      /* as shown in messages; NULL: it came from a flag */
    const char *flag;      /* "--stop-updates" */
    uint32_t line, column; /* from 1 */
    uint32_t count;        /* of the children */
    struct mot_yaml *first, *last, *next;
};

/* Limits of a document. Nothing that people write comes near them. */
#define MOT_YAML_BYTES_MAX (4u << 20)
#define MOT_YAML_DEPTH_MAX 16
#define MOT_YAML_NODES_MAX 300000
#define MOT_YAML_KEYS_MAX 500 /* in one map: duplicates are found by comparing all */

/* One document of UTF-8 without anchors, aliases, tags or duplicate keys. An
 * empty text is an empty map. `name` is what messages call it; `flag` says that
 * it is a flag's value rather than a file. The arena owns the tree. */
enum mot_status mot_yaml_parse(
    const char *name, bool flag, const char *text, size_t n, struct mot_arena *, struct mot_yaml **out);
/* The text of one, for those who parse it themselves; free() it. */
enum mot_status mot_yaml_load(const char *path, unsigned char **bytes_out, size_t *n_out);
enum mot_status mot_yaml_read(const char *path, struct mot_arena *, struct mot_yaml **out);

/* The map's member of that name, or NULL; NULL too if `map` is NULL or no map. */
struct mot_yaml *mot_yaml_get(const struct mot_yaml *map, const char *key);

/* Sets the dotted `key` as the flag `origin` says. A plain word on the way
 * becomes {name: word}; a plain word put over {name: word, ...} keeps the map. An entry of a list is
 * called by its `name`, or by its number from 0: workers.slow.speed, workers.1.speed. */
enum mot_status mot_yaml_put(
    struct mot_yaml *root, const char *key, const char *value, const char *origin, struct mot_arena *);

/* "exp.yaml:3:7" or "--stop-updates", of the value or of its key. */
const char *mot_yaml_where(const struct mot_yaml *, struct mot_arena *);
const char *mot_yaml_where_key(const struct mot_yaml *, struct mot_arena *);

/* What was found, short enough and safe for a message: "'3 apples'", "a list". */
const char *mot_yaml_found(const struct mot_yaml *, struct mot_arena *);
const char *mot_yaml_quote(const char *text, struct mot_arena *);

#endif
