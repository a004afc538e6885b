/* read.h -- from a YAML tree and option tables to values, with errors that say where they are. */
#ifndef MOT_CONFIG_READ_H
#define MOT_CONFIG_READ_H

#include "config/keys.h"
#include "config/yaml.h"
#include <motley/option.h>

struct mot_yaml_reader {
    struct mot_arena *arena;
    bool alone; /* do not look up files that the text names */
    bool study; /* sections of a study are read elsewhere */
    /* of a study: paths in settings written there ("FILE:LINE:COLUMN") are relative to it; else NULL */
    const char *file;
};

/* "WHERE: KEY: MESSAGE", with the place of the node's value (or of its key). */
enum mot_status mot_read_fail(const struct mot_yaml_reader *, const struct mot_yaml *, const char *key,
    const char *format, ...) MOT_PRINTF(4, 5);
enum mot_status mot_read_fail_key(const struct mot_yaml_reader *, const struct mot_yaml *, const char *key,
    const char *format, ...) MOT_PRINTF(4, 5);

/* "section.name" in the arena. */
const char *mot_key_join(const struct mot_yaml_reader *, const char *section, const char *name);

/* ": did you mean 'x'?" or "", in the arena; `words` ends with NULL. */
const char *mot_did_you_mean(const struct mot_yaml_reader *, const char *wrong, const char *const *words);

enum { MOT_READ_KEEP = 1 }; /* options not given keep their values instead of taking the presets */

/* Reads a map into `conf`. `node` may be NULL (nothing given), or a scalar if the table has an option
 * `name`. `others` (NULL-terminated; may be NULL) are keys that the caller reads. A map {name: C, k: v}
 * under an option that is a choice sets the choice to C and its sibling option k to v. */
enum mot_status mot_read_options(const struct mot_yaml_reader *, const struct mot_yaml *node, const char *key,
    const struct mot_option *table, void *conf, const char *const *others, unsigned flags);

/* The option's node under its name or its synonym; a flag beats a file. */
const struct mot_yaml *mot_read_given(const struct mot_yaml *map, const struct mot_option *);

/* One value, a scalar or (for numbers) a list. */
enum mot_status mot_read_value(const struct mot_yaml_reader *, const struct mot_yaml *, const char *key,
    const struct mot_option *, void *conf);

/* Joins a list of scalars into the one text that its option expects: [0-1, 1-2] becomes "0-1, 1-2".
 * `expected` says what they are, as in "an edge such as 0-1". */
enum mot_status mot_read_joined(
    const struct mot_yaml_reader *, struct mot_yaml *list, const char *key, const char *expected);

/* One of a family of named choices. The node is the name, a map with a name, or NULL for the preset. */
enum mot_status mot_read_name(const struct mot_yaml_reader *, const struct mot_yaml *node, const char *key,
    const struct mot_family *, struct mot_choice *out);

/* The node must be a map; NULL is fine. */
enum mot_status mot_read_map(
    const struct mot_yaml_reader *, const struct mot_yaml *node, const char *key, const char *example);

/* Resolves a path relative to the file that names it, or to the working directory if a flag does;
 * mot_read_path also makes it absolute. In the arena. */
const char *mot_read_beside(const struct mot_yaml_reader *, const struct mot_yaml *said_by, const char *path);
const char *mot_read_path(const struct mot_yaml_reader *, const struct mot_yaml *said_by, const char *path);

#endif
