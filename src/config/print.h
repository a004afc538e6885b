/* print.h -- values as YAML. */
#ifndef MOT_CONFIG_PRINT_H
#define MOT_CONFIG_PRINT_H

#include <motley/option.h>
#include <stdio.h>

/* Text in double quotes, unless it is clearly a plain scalar. */
void mot_print_scalar(const char *text, FILE *);

/* "key: value" lines, indented, for one option or a whole table (NULL: none). */
void mot_print_option(const struct mot_option *, const void *conf, int indent, FILE *);
void mot_print_options(const struct mot_option *table, const void *conf, int indent, FILE *);

/* "section:" with its name and options below. */
void mot_print_choice(const char *section, const char *name, const struct mot_option *table, const void *conf,
    int indent, FILE *);

#endif
