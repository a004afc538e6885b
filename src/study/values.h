/* values.h -- the notations of a study: values as text, ranges, lists of methods, seeds. */
#ifndef MOT_STUDY_VALUES_H
#define MOT_STUDY_VALUES_H

#include "config/yaml.h"
#include "study/plan.h"

/* A value of any shape as the text of a setting: "0.1", "[1, 2]", "{name: server, k: 6}". In the arena. */
const char *mot_value_text(const struct mot_yaml *, struct mot_arena *);

/* A value as a label shows it: "server k=6", "0.1". In the arena. */
const char *mot_value_label(const struct mot_yaml *, struct mot_arena *);

/* The values of a list, or of a range "1..10", "2^-1..2^-10". */
enum mot_status mot_values_read(
    const struct mot_yaml *, const char *key, struct mot_arena *, struct mot_axis *out);

/* "KEY=VALUES", where values are a list "[a, b]", "a,b" or a range. */
enum mot_status mot_values_flag(const char *flag, const char *text, struct mot_arena *, struct mot_axis *out);

/* "10" (that many, from `first` on), "3..12", or a list. */
enum mot_status mot_seeds_read(
    const struct mot_yaml *, const char *key, uint64_t first, struct mot_arena *, struct mot_seeds *out);

/* "allreduce, server{k: 6}, {name: async}" as a list of YAML values. */
enum mot_status mot_methods_read(
    const char *flag, const char *text, struct mot_arena *, struct mot_yaml **list_out);

#endif
