/* options.c -- values of option tables: from text, to text, in words. */
#include "base/options.h"

#include "base/words.h"
#include <math.h>
#include <motley/method.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *field(const struct mot_option *o, void *conf) { return (char *)conf + o->offset; }

/* ---- Ranges ------------------------------------------------------------------ */

static bool limited(const struct mot_option *o) { return o->min != 0 || o->max != 0; }

/* A maximum below the minimum is no limit: it is the 0 of a table that gives only a minimum. */
static bool limited_above(const struct mot_option *o)
{
    return limited(o) && o->max >= o->min && !isinf(o->max);
}

static bool limited_below(const struct mot_option *o) { return limited(o) && !isinf(o->min); }

static bool in_range(const struct mot_option *o, double value)
{
    if (limited_below(o) && value < o->min) return false;
    return !(limited_above(o) && value > o->max);
}

/* ---- Choices ------------------------------------------------------------------- */

#define CHOICES_MAX 32

/* Cuts "drop|wait" into words; free(*copy_out) when done with them. */
static size_t cut_choices(const char *choices, const char *word[CHOICES_MAX], char **copy_out)
{
    char *rest = *copy_out = mot_text(choices), *bar;
    size_t n = 0;
    do {
        bar = strchr(rest, '|');
        if (bar) *bar = 0;
        MOT_ASSERT(n < CHOICES_MAX);
        word[n++] = rest;
        rest = bar ? bar + 1 : NULL;
    } while (rest);
    return n;
}

static bool read_choice(const char *choices, const char *text, uint32_t *out)
{
    const char *word[CHOICES_MAX];
    char *copy;
    size_t n = cut_choices(choices, word, &copy), i = 0;
    while (i < n && strcmp(word[i], text) != 0) i++;
    free(copy);
    if (i == n) return false;
    *out = (uint32_t)i;
    return true;
}

/* ---- In words ------------------------------------------------------------------- */

static const char *noun(enum mot_option_type type)
{
    switch (type) {
    case MOT_OPT_UINT: return "a whole number";
    case MOT_OPT_REAL: return "a number";
    case MOT_OPT_BOOL: return "true or false";
    case MOT_OPT_CHOICE: return "one of";
    case MOT_OPT_TIME: return "a time";
    case MOT_OPT_SIZE: return "a size";
    case MOT_OPT_BANDWIDTH: return "a bandwidth";
    case MOT_OPT_RATE: return "a rate";
    case MOT_OPT_TEXT: return "a text";
    case MOT_OPT_UINTS: return "a list of whole numbers";
    case MOT_OPT_LIST: return "a list";
    }
    return "a value";
}

/* A hint for a wrong unit; NULL if the noun says enough. */
static const char *example(enum mot_option_type type)
{
    switch (type) {
    case MOT_OPT_TIME: return "3ms";
    case MOT_OPT_SIZE: return "64MB";
    case MOT_OPT_BANDWIDTH: return "20Mbit";
    case MOT_OPT_RATE: return "500 samples/s";
    case MOT_OPT_UINTS: return "[256, 128]";
    case MOT_OPT_LIST: return "[{name: linear, out: 10}, relu]";
    case MOT_OPT_UINT:
    case MOT_OPT_REAL:
    case MOT_OPT_BOOL:
    case MOT_OPT_CHOICE:
    case MOT_OPT_TEXT: return NULL;
    }
    return NULL;
}

static void print_limit(FILE *out, enum mot_option_type type, double limit)
{
    char text[64];
    if (type == MOT_OPT_TIME)
        fputs(limit == 0 ? "0" : mot_show_time((uint64_t)limit, text, sizeof text), out);
    else if (type == MOT_OPT_SIZE) fputs(mot_show_size(limit, text, sizeof text), out);
    else if (type == MOT_OPT_BANDWIDTH) fputs(mot_show_bandwidth(limit, text, sizeof text), out);
    else if (fabs(limit) < 1e15 && limit == floor(limit)) fprintf(out, "%.0f", limit);
    else fprintf(out, "%.6g", limit);
    if (type == MOT_OPT_RATE) fputs(" /s", out);
}

static bool is_text(enum mot_option_type type) { return type == MOT_OPT_TEXT || type == MOT_OPT_LIST; }

static void print_range(FILE *out, const struct mot_option *o)
{
    if (o->type == MOT_OPT_BOOL || o->type == MOT_OPT_CHOICE || is_text(o->type)) return;
    bool below = limited_below(o), above = limited_above(o);
    if (!below && !above) return;
    bool open = below && o->min > 0 && o->min < 1e-200; /* a table's way to say that 0 is excluded */
    if (below && above && !open) {
        fputs(o->type == MOT_OPT_UINTS ? ", each from " : " from ", out);
        print_limit(out, o->type, o->min);
        fputs(" to ", out);
        print_limit(out, o->type, o->max);
        return;
    }
    fputs(o->type == MOT_OPT_UINTS ? ", each " : ", ", out);
    if (open) fputs("more than 0", out);
    if (open && above) fputs(" and ", out);
    if (below && !open) {
        print_limit(out, o->type, o->min);
        fputs(" or more", out);
    }
    if (above) {
        fputs("at most ", out);
        print_limit(out, o->type, o->max);
    }
}

static char *expects(const struct mot_option *o, bool with_example)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) {
        mot_memory_refuse(0);
        return mot_text(noun(o->type));
    }
    fputs(noun(o->type), out);
    if (o->type == MOT_OPT_CHOICE) {
        const char *word[CHOICES_MAX];
        char *copy;
        size_t n = cut_choices(o->choices, word, &copy);
        for (size_t i = 0; i < n; i++) fprintf(out, "%s %s", i ? "," : "", word[i]);
        free(copy);
    }
    if (with_example && example(o->type)) fprintf(out, " such as %s", example(o->type));
    print_range(out, o);
    if (o->word) fprintf(out, ", or '%s'", o->word);
    if (fclose(out) == 0 && text) return text;
    free(text);
    mot_memory_refuse(0);
    return mot_text(noun(o->type));
}

char *mot_option_expects(const struct mot_option *o) { return expects(o, false); }

static enum mot_status refuse(const struct mot_option *o, const char *found)
{
    const char *word[CHOICES_MAX + 1], *near;
    char *copy = NULL, *expected = expects(o, true);
    size_t n = 0;
    if (o->type == MOT_OPT_CHOICE) n = cut_choices(o->choices, word, &copy);
    if (o->word) word[n++] = o->word;
    near = mot_nearest(found, word, n);
    /* Long input, such as a file given instead of a word, would bury the message. */
    const char *dots = strlen(found) > 60 ? "..." : "";
    if (near)
        mot_fail(MOT_EUSAGE, "expected %s; found '%.60s%s': did you mean '%s'?", expected, found, dots, near);
    else mot_fail(MOT_EUSAGE, "expected %s; found '%.60s%s'", expected, found, dots);
    free(expected);
    free(copy);
    return MOT_EUSAGE;
}

/* ---- Reading ------------------------------------------------------------------------ */

static bool read_bool(const char *text, bool *out)
{
    static const char *const word[] = { "false", "true", "no", "yes", "off", "on" };
    for (size_t i = 0; i < MOT_COUNT(word); i++)
        if (strcmp(text, word[i]) == 0) {
            *out = i % 2;
            return true;
        }
    return false;
}

static bool read_uints(const struct mot_option *o, const char *text, struct mot_uints *out)
{
    struct mot_uints list = { 0 };
    char *copy = mot_text(text + strspn(text, " \t")), *p = copy;
    size_t n = strlen(p);
    while (n && (p[n - 1] == ' ' || p[n - 1] == '\t')) p[--n] = 0;
    bool good = n > 0, brackets = good && *p == '[';
    if (brackets) {
        good = n >= 2 && p[n - 1] == ']';
        if (good) p[n - 1] = 0;
        p++;
    }
    bool empty = brackets && good && p[strspn(p, " \t")] == 0; /* "[]" */
    while (good && !empty) {
        char *comma = strchr(p, ',');
        if (comma) *comma = 0;
        uint64_t value;
        good = list.n < MOT_UINTS_MAX && mot_read_uint(p, &value) && value <= UINT32_MAX &&
            in_range(o, (double)value);
        if (good) list.v[list.n++] = (uint32_t)value;
        if (!comma) break;
        p = comma + 1;
    }
    free(copy);
    if (good) *out = list;
    return good;
}

static void set_word(const struct mot_option *o, void *at)
{
    switch (o->type) {
    case MOT_OPT_UINT:
    case MOT_OPT_TIME:
    case MOT_OPT_SIZE: *(uint64_t *)at = MOT_WORD_UINT; return;
    case MOT_OPT_REAL:
    case MOT_OPT_BANDWIDTH:
    case MOT_OPT_RATE: *(double *)at = NAN; return;
    case MOT_OPT_LIST:
    case MOT_OPT_TEXT: *(const char **)at = NULL; return;
    case MOT_OPT_CHOICE: *(uint32_t *)at = UINT32_MAX; return;
    case MOT_OPT_UINTS: *(struct mot_uints *)at = (struct mot_uints){ 0 }; return;
    case MOT_OPT_BOOL: break;
    }
    MOT_ASSERT(!"a boolean option has a word");
}

static bool read_whole(const struct mot_option *o, const char *text, uint64_t *out)
{
    uint64_t value;
    bool good = o->type == MOT_OPT_UINT ? mot_read_uint(text, &value)
        : o->type == MOT_OPT_TIME       ? mot_read_time(text, &value)
                                        : mot_read_size(text, &value);
    if (!good || !in_range(o, (double)value)) return false;
    if (value == MOT_WORD_UINT && (o->word || o->type == MOT_OPT_TIME)) return false; /* means the word */
    *out = value;
    return true;
}

static bool read_number(const struct mot_option *o, const char *text, double *out)
{
    double value;
    bool good = o->type == MOT_OPT_REAL ? mot_read_real(text, &value)
        : o->type == MOT_OPT_BANDWIDTH  ? mot_read_bandwidth(text, &value)
                                        : mot_read_rate(text, &value);
    if (!good || !in_range(o, value)) return false;
    *out = value;
    return true;
}

enum mot_status mot_option_set(
    const struct mot_option *o, void *conf, const char *text, struct mot_arena *arena)
{
    void *at = field(o, conf);
    if (o->word && strcmp(text, o->word) == 0) {
        set_word(o, at);
        return MOT_OK;
    }
    bool good = false;
    switch (o->type) {
    case MOT_OPT_UINT:
    case MOT_OPT_TIME:
    case MOT_OPT_SIZE: good = read_whole(o, text, at); break;
    case MOT_OPT_REAL:
    case MOT_OPT_BANDWIDTH:
    case MOT_OPT_RATE: good = read_number(o, text, at); break;
    case MOT_OPT_BOOL: good = read_bool(text, at); break;
    case MOT_OPT_CHOICE: good = read_choice(o->choices, text, at); break;
    case MOT_OPT_UINTS: good = read_uints(o, text, at); break;
    case MOT_OPT_LIST:
    case MOT_OPT_TEXT:
        *(const char **)at = mot_arena_text(arena, text);
        good = o->type == MOT_OPT_TEXT || *text == '[';
        break;
    }
    return good ? MOT_OK : refuse(o, text);
}

enum mot_status mot_options_preset(const struct mot_option *table, void *conf, struct mot_arena *arena)
{
    for (const struct mot_option *o = table; o && o->name; o++) {
        if (!o->preset) continue;
        enum mot_status status = mot_option_set(o, conf, o->preset, arena);
        if (status != MOT_OK) return mot_fail(status, "the default of %s: %s", o->name, mot_error());
    }
    return MOT_OK;
}

const struct mot_option *mot_option_find(const struct mot_option *table, const char *name)
{
    for (const struct mot_option *o = table; o && o->name; o++)
        if (strcmp(o->name, name) == 0 || (o->also && strcmp(o->also, name) == 0)) return o;
    return NULL;
}

/* ---- Writing -------------------------------------------------------------------------- */

/* The fewest digits that read back to the same double. printf follows the host's
 * locale: whatever it prints as the decimal point is turned back into a point. */
static void print_real(double value, char *into, size_t size)
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(into, size, "%.*g", digits, value);
        char *end = into;
        for (char *p = into; *p; p++) {
            bool plain = (*p >= '0' && *p <= '9') || *p == '-' || *p == '+' || (*p >= 'a' && *p <= 'z');
            if (plain) *end++ = *p;
            else if (end == into || end[-1] != '.') *end++ = '.';
        }
        *end = 0;
        double back;
        if (mot_read_real(into, &back) && back == value) return;
    }
}

struct written {
    const char *unit;
    double factor;
};

/* In the unit that needs the fewest characters and reads back exactly. */
static char *real_with_unit(
    double value, const struct written *unit, size_t n, bool (*read)(const char *, double *))
{
    char best[96] = "", text[96], number[64];
    for (size_t i = 0; i < n; i++) {
        double back;
        print_real(value / unit[i].factor, number, sizeof number);
        snprintf(text, sizeof text, "%s%s", number, unit[i].unit);
        bool exact = read(text, &back) && back == value;
        if (exact && (!*best || strlen(text) < strlen(best))) memcpy(best, text, sizeof best);
    }
    return mot_text(best);
}

struct whole_unit {
    const char *name;
    uint64_t factor;
};

/* In the unit that gives the smallest number. */
static char *whole_with_unit(uint64_t value, const struct whole_unit *unit, size_t n)
{
    size_t best = 0; /* the first unit is 1 */
    for (size_t i = 1; i < n; i++)
        if (value && value % unit[i].factor == 0 && unit[i].factor > unit[best].factor) best = i;
    return mot_format(
        "%llu%s", (unsigned long long)(value / unit[best].factor), value ? unit[best].name : "");
}

static char *time_text(uint64_t ns)
{
    static const struct whole_unit unit[] = {
        { "ns", 1 },
        { "us", 1000 },
        { "ms", 1000000 },
        { "s", UINT64_C(1000000000) },
        { "min", UINT64_C(60000000000) },
        { "h", UINT64_C(3600000000000) },
    };
    return whole_with_unit(ns, unit, MOT_COUNT(unit));
}

static char *size_text(uint64_t bytes)
{
    static const struct whole_unit unit[] = {
        { "B", 1 },
        { "kB", 1000 },
        { "MB", 1000000 },
        { "GB", 1000000000 },
        { "KiB", 1 << 10 },
        { "MiB", 1 << 20 },
        { "GiB", 1 << 30 },
    };
    return whole_with_unit(bytes, unit, MOT_COUNT(unit));
}

static char *bandwidth_text(double bytes_per_s)
{
    static const struct written unit[] = {
        { "B/s", 1 },
        { "kbit", 125 },
        { "Mbit", 125e3 },
        { "Gbit", 125e6 },
        { "kB/s", 1e3 },
        { "MB/s", 1e6 },
        { "GB/s", 1e9 },
    };
    return real_with_unit(bytes_per_s, unit, MOT_COUNT(unit), mot_read_bandwidth);
}

static char *rate_text(double per_s)
{
    static const struct written unit[] = { { "/s", 1 }, { "k/s", 1e3 }, { "M/s", 1e6 } };
    return real_with_unit(per_s, unit, MOT_COUNT(unit), mot_read_rate);
}

static char *choice_text(const char *choices, uint32_t index)
{
    const char *word[CHOICES_MAX];
    char *copy;
    size_t n = cut_choices(choices, word, &copy);
    MOT_ASSERT(index < n);
    char *text = mot_text(word[index]);
    free(copy);
    return text;
}

static char *uints_text(const struct mot_uints *list)
{
    char *text = mot_text("[");
    for (uint32_t i = 0; i < list->n; i++) {
        char *longer = mot_format("%s%s%u", text, i ? ", " : "", list->v[i]);
        free(text);
        text = longer;
    }
    char *closed = mot_format("%s]", text);
    free(text);
    return closed;
}

static bool holds_word(const struct mot_option *o, const void *at)
{
    if (!o->word) return false;
    switch (o->type) {
    case MOT_OPT_UINT:
    case MOT_OPT_TIME:
    case MOT_OPT_SIZE: return *(const uint64_t *)at == MOT_WORD_UINT;
    case MOT_OPT_REAL:
    case MOT_OPT_BANDWIDTH:
    case MOT_OPT_RATE: return isnan(*(const double *)at);
    case MOT_OPT_LIST:
    case MOT_OPT_TEXT: return *(const char *const *)at == NULL;
    case MOT_OPT_CHOICE: return *(const uint32_t *)at == UINT32_MAX;
    case MOT_OPT_UINTS: return ((const struct mot_uints *)at)->n == 0;
    case MOT_OPT_BOOL: return false;
    }
    return false;
}

char *mot_option_text(const struct mot_option *o, const void *conf)
{
    const void *at = (const char *)conf + o->offset;
    if (holds_word(o, at)) return mot_text(o->word);
    char number[64];
    switch (o->type) {
    case MOT_OPT_UINT: return mot_format("%llu", (unsigned long long)*(const uint64_t *)at);
    case MOT_OPT_REAL: print_real(*(const double *)at, number, sizeof number); return mot_text(number);
    case MOT_OPT_BOOL: return mot_text(*(const bool *)at ? "true" : "false");
    case MOT_OPT_CHOICE: return choice_text(o->choices, *(const uint32_t *)at);
    case MOT_OPT_TIME: return time_text(*(const uint64_t *)at);
    case MOT_OPT_SIZE: return size_text(*(const uint64_t *)at);
    case MOT_OPT_BANDWIDTH: return bandwidth_text(*(const double *)at);
    case MOT_OPT_RATE: return rate_text(*(const double *)at);
    case MOT_OPT_LIST:
    case MOT_OPT_TEXT: return mot_text(*(const char *const *)at ? *(const char *const *)at : "");
    case MOT_OPT_UINTS: return uints_text(at);
    }
    MOT_ASSERT(!"an option has a type");
    return NULL;
}
