/* option.h -- options described by tables.
 *
 * A method, a model or a section of the experiment describes its options once. Parsing, range checks, `motley
 * help`, the man pages and the resolved experiment file all follow from the table. */
#ifndef MOTLEY_OPTION_H
#define MOTLEY_OPTION_H

#include <motley/status.h>
#include <stddef.h>
#include <stdint.h>

enum mot_option_type {
    MOT_OPT_UINT,      /* uint64_t     "8", "25e6", "10k" */
    MOT_OPT_REAL,      /* double       "0.1", "1e-4", "2^-3", "20%" */
    MOT_OPT_BOOL,      /* bool         "true", "false", "yes", "no" */
    MOT_OPT_CHOICE,    /* uint32_t     index into `choices` */
    MOT_OPT_TIME,      /* mot_time     "3ms", "10min": nanoseconds */
    MOT_OPT_SIZE,      /* uint64_t     "2GB", "64MiB": bytes */
    MOT_OPT_BANDWIDTH, /* double       "20Mbit", "1GB/s": bytes a second */
    MOT_OPT_RATE,      /* double       "500 samples/s": a second */
    MOT_OPT_TEXT,      /* const char * */
    MOT_OPT_UINTS,     /* struct mot_uints, "[256, 128]" */
    MOT_OPT_LIST,      /* const char *: a list of words, maps and lists, "[a, {b: 1}]" */
};

#define MOT_UINTS_MAX 16
struct mot_uints {
    uint32_t n, v[MOT_UINTS_MAX];
};

/* What a field holds when the option's `word` was given instead of a value. */
#define MOT_WORD_UINT UINT64_MAX /* UINT, TIME, SIZE; NaN for REAL, BANDWIDTH, RATE; NULL for TEXT */

/* A table ends with an entry whose name is NULL. */
struct mot_option {
    const char *name; /* the key: "lr" */
    enum mot_option_type type;
    size_t offset;       /* of the field in the configuration */
    const char *preset;  /* the default, as a user would write it; NULL: must be given */
    const char *doc;     /* a sentence without a full stop */
    double min, max;     /* inclusive, in base units (ns, bytes); both 0: not limited */
    const char *choices; /* MOT_OPT_CHOICE: "drop|wait" */
    const char *word;    /* accepted in place of a value: "auto", "none", "full" */
    const char *also;    /* a synonym of the key */
};

#endif
