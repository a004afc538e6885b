/* read.h -- from a YAML tree and option tables to values, with errors that say where. */
#ifndef MOT_CONFIG_READ_H
#define MOT_CONFIG_READ_H

#include "config/keys.h"
#include "config/yaml.h"
#include <motley/option.h>

struct mot_reader {
    struct mot_arena *arena;
    bool alone; /* do not look for the files that the text names */
    bool study; /* the sections of a study are somebody else's to read */
    /* of a study: a setting that was written in it ("FILE:LINE:COLUMN") names paths from there; else NULL */
    const char *file;
};

/* "WHERE: KEY: MESSAGE", where the node's value (or its key) stands. */
enum mot_status mot_read_fail(const struct mot_reader *, const struct mot_yaml *, const char *key,
    const char *format, ...) MOT_PRINTF(4, 5);
enum mot_status mot_read_fail_key(const struct mot_reader *, const struct mot_yaml *, const char *key,
    const char *format, ...) MOT_PRINTF(4, 5);

/* "section.name" in the arena. */
const char *mot_key_join(const struct mot_reader *, const char *section, const char *name);

/* ": did you mean 'x'?" or "", in the arena; `words` ends with NULL. */
const char *mot_did_you_mean(const struct mot_reader *, const char *wrong, const char *const *words);

enum { MOT_READ_KEEP = 1 }; /* what is not given stays as it is, rather than becoming the preset */

/* Reads a map into `conf`. `node` may be NULL (nothing is given), or a scalar if
 * the table has an option `name`. `others` (ended by NULL; may be NULL) are keys
 * that the caller reads. A map {name: C, k: v} under an option that is a choice
 * sets the choice to C and its sibling option k to v. */
enum mot_status mot_read_options(const struct mot_reader *, const struct mot_yaml *node, const char *key,
    const struct mot_option *table, void *conf, const char *const *others, unsigned flags);

/* The option's node under its name or its synonym; a flag beats a file. */
const struct mot_yaml *mot_read_given(const struct mot_yaml *map, const struct mot_option *);

/* One value, a scalar or (for numbers) a list. */
enum mot_status mot_read_value(const struct mot_reader *, const struct mot_yaml *, const char *key,
    const struct mot_option *, void *conf);

/* One of a family of named parts. The node is the name, or a map with one, or
 * NULL: then it is the preset. */
enum mot_status mot_read_name(const struct mot_reader *, const struct mot_yaml *node, const char *key,
    const struct mot_family *, struct mot_part *out);

/* The node must be a map; NULL is fine. */
enum mot_status mot_read_map(
    const struct mot_reader *, const struct mot_yaml *node, const char *key, const char *example);

/* A path, relative to the file that says it, or to the working directory if a
 * flag does: as people would write it, and absolute. In the arena. */
const char *mot_read_beside(const struct mot_reader *, const struct mot_yaml *said_by, const char *path);
const char *mot_read_path(const struct mot_reader *, const struct mot_yaml *said_by, const char *path);

#endif
