/* options.h -- reading and writing the values that option tables describe. */
#ifndef MOT_BASE_OPTIONS_H
#define MOT_BASE_OPTIONS_H

#include "base/memory.h"
#include <motley/option.h>

/* Reads `text` into the field of `conf`. On failure the message says what was
 * expected ("a time such as 3ms"), without saying where: the caller knows. */
enum mot_status mot_option_set(const struct mot_option *, void *conf, const char *text, struct mot_arena *);

/* Sets every option to its preset; one without a preset stays zero. */
enum mot_status mot_options_preset(const struct mot_option *table, void *conf, struct mot_arena *);

/* The option of that name or synonym, or NULL. */
const struct mot_option *mot_option_find(const struct mot_option *table, const char *name);

/* The field as text that mot_option_set reads back to the same value. malloc'd. */
char *mot_option_text(const struct mot_option *, const void *conf);

/* "a time, 0 or more", "one of drop, wait", "a number from 0 to 1,
 * or 'none'": for help and errors. malloc'd. */
char *mot_option_expects(const struct mot_option *);

#endif
