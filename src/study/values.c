#include "study/values.h"
#include "base/words.h"
#include "config/print.h"
#include "config/read.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Values as text ---------------------------------------------------------------------- */

/* YAML in flow style, on one line. */
static void print_flow(const struct mot_yaml *node, FILE *out)
{
    if (node->kind == MOT_YAML_SCALAR) {
        if (*node->text || node->quoted) mot_print_scalar(node->text, out);
        return;
    }
    bool map = node->kind == MOT_YAML_MAP;
    putc(map ? '{' : '[', out);
    for (const struct mot_yaml *child = node->first; child; child = child->next) {
        if (map) {
            mot_print_scalar(child->key, out);
            fputs(": ", out);
        }
        print_flow(child, out);
        if (child->next) fputs(", ", out);
    }
    putc(map ? '}' : ']', out);
}

const char *mot_value_text(const struct mot_yaml *node, struct mot_arena *arena)
{
    if (node->kind == MOT_YAML_SCALAR) return mot_arena_text(arena, node->text);
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    if (!out) return "";
    print_flow(node, out);
    fclose(out);
    return mot_arena_take(arena, text);
}

const char *mot_value_label(const struct mot_yaml *node, struct mot_arena *arena)
{
    const struct mot_yaml *name = mot_yaml_get(node, "name");
    if (!name || name->kind != MOT_YAML_SCALAR) return mot_value_text(node, arena);
    const char *label = name->text;
    for (const struct mot_yaml *child = node->first; child; child = child->next)
        if (child != name)
            label = mot_arena_take(
                arena, mot_format("%s %s=%s", label, child->key, mot_value_label(child, arena)));
    return label;
}

/* ---- Ranges -------------------------------------------------------------------------------- */

/* A small whole number: "12", "-3". */
static bool read_whole(const char *text, size_t n, long *out)
{
    char digits[24], *end;
    if (n == 0 || n >= sizeof(digits)) return false;
    memcpy(digits, text, n);
    digits[n] = 0;
    if (!isdigit((unsigned char)digits[digits[0] == '-'])) return false;
    long value = strtol(digits, &end, 10);
    if (*end || value > 1000000000000L || value < -1000000000000L) return false;
    *out = value;
    return true;
}

struct range {
    char base[32];
    long from, to;
}; /* base "": whole numbers */

/* "1..10" or "2^-1..2^-10"; both ends share a base. */
static bool read_range(const char *text, struct range *r)
{
    const char *dots = strstr(text, "..");
    if (!dots) return false;
    size_t n = (size_t)(dots - text);
    const char *hat = memchr(text, '^', n), *right = dots + 2;
    r->base[0] = 0;
    if (hat) {
        size_t base = (size_t)(hat - text);
        double value;
        if (base == 0 || base >= sizeof(r->base) || strncmp(right, text, base + 1) != 0) return false;
        memcpy(r->base, text, base);
        r->base[base] = 0;
        if (!mot_read_real(r->base, &value) || !(value > 0)) return false;
        right += base + 1;
        return read_whole(hat + 1, (size_t)(dots - hat) - 1, &r->from) &&
            read_whole(right, strlen(right), &r->to);
    }
    return read_whole(text, n, &r->from) && read_whole(right, strlen(right), &r->to);
}

static size_t range_count(const struct range *r) { return (size_t)labs(r->to - r->from) + 1; }

static long range_at(const struct range *r, size_t i)
{
    return r->to >= r->from ? r->from + (long)i : r->from - (long)i;
}

/* ---- Lists of values --------------------------------------------------------------------------- */

static enum mot_status too_many(const char *where, const char *key, size_t n)
{
    return mot_fail(
        MOT_EUSAGE, "%s: %s: expected at most %d values; found %zu", where, key, MOT_VALUES_MAX, n);
}

static enum mot_status expand_range(
    const struct range *r, const char *where, const char *key, struct mot_arena *arena, struct mot_axis *out)
{
    size_t n = range_count(r);
    if (n > MOT_VALUES_MAX) return too_many(where, key, n);
    out->value = mot_arena_new(arena, n * sizeof(*out->value));
    out->place = mot_arena_new(arena, n * sizeof(*out->place));
    for (size_t i = 0; i < n; i++) {
        out->value[i] =
            mot_arena_take(arena, mot_format("%s%s%ld", r->base, r->base[0] ? "^" : "", range_at(r, i)));
        out->place[i] = where;
    }
    out->values = n;
    return MOT_OK;
}

static enum mot_status check_twice(const struct mot_axis *axis)
{
    for (size_t i = 1; i < axis->values; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(axis->value[i], axis->value[k]) == 0)
                return mot_fail(MOT_EUSAGE, "%s: %s: expected each value once; found '%.60s' twice",
                    axis->place[i], axis->key, axis->value[i]);
    return MOT_OK;
}

enum mot_status mot_values_read(
    const struct mot_yaml *node, const char *key, struct mot_arena *arena, struct mot_axis *out)
{
    const char *where = mot_yaml_where(node, arena);
    struct range range;
    *out = (struct mot_axis){ .key = mot_arena_text(arena, key), .origin = where };
    if (node->kind == MOT_YAML_SCALAR && read_range(node->text, &range))
        return expand_range(&range, where, key, arena, out);
    if (node->kind != MOT_YAML_LIST)
        return mot_fail(MOT_EUSAGE,
            "%s: %s: expected a list of values, or a range such as 1..10 or 2^-1..2^-10; found %s", where,
            key, mot_yaml_found(node, arena));
    if (node->count == 0)
        return mot_fail(MOT_EUSAGE, "%s: %s: expected at least one value; found an empty list", where, key);
    if (node->count > MOT_VALUES_MAX) return too_many(where, key, node->count);
    out->value = mot_arena_new(arena, node->count * sizeof(*out->value));
    out->place = mot_arena_new(arena, node->count * sizeof(*out->place));
    for (const struct mot_yaml *child = node->first; child; child = child->next) {
        out->place[out->values] = mot_yaml_where(child, arena);
        out->value[out->values++] = mot_value_text(child, arena);
    }
    return check_twice(out);
}

/* Words separated by commas are a list; a range is a single word. */
static enum mot_status parse_values(
    const char *flag, const char *text, struct mot_arena *arena, struct mot_yaml **out)
{
    bool list = *text == '[' || !strchr(text, ',');
    char *wrapped = list ? mot_text(text) : mot_format("[%s]", text);
    enum mot_status status = mot_yaml_parse(flag, true, wrapped, strlen(wrapped), arena, out);
    free(wrapped);
    return status;
}

enum mot_status mot_values_flag(
    const char *flag, const char *text, struct mot_arena *arena, struct mot_axis *out)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return mot_fail(MOT_EUSAGE, "%s: expected KEY=VALUES such as optimizer.lr=2^-1..2^-10; found '%.60s'",
            flag, text);
    if (!equals[1])
        return mot_fail(MOT_EUSAGE, "%s: %.*s: expected values such as 0.1,0.2 or 2^-1..2^-10; found none",
            flag, (int)(equals - text), text);
    char *key = mot_arena_text(arena, text);
    key[equals - text] = 0;
    struct mot_yaml *node;
    enum mot_status status = parse_values(flag, equals + 1, arena, &node);
    return status == MOT_OK ? mot_values_read(node, key, arena, out) : status;
}

/* ---- Seeds ---------------------------------------------------------------------------------------- */

static enum mot_status seeds_of(const struct mot_axis *axis, struct mot_arena *arena, struct mot_seeds *out)
{
    *out = (struct mot_seeds){ .seed = mot_arena_new(arena, axis->values * sizeof(*out->seed)),
        .origin = axis->origin };
    for (size_t i = 0; i < axis->values; i++) {
        uint64_t seed;
        if (!mot_read_uint(axis->value[i], &seed))
            return mot_fail(MOT_EUSAGE, "%s: %s: expected whole numbers; found '%.60s'", axis->place[i],
                axis->key, axis->value[i]);
        for (size_t k = 0; k < out->n; k++)
            if (out->seed[k] == seed)
                return mot_fail(MOT_EUSAGE, "%s: %s: expected each seed once; found %llu twice",
                    axis->place[i], axis->key, (unsigned long long)seed);
        out->seed[out->n++] = seed;
    }
    return MOT_OK;
}

enum mot_status mot_seeds_read(const struct mot_yaml *node, const char *key, uint64_t first,
    struct mot_arena *arena, struct mot_seeds *out)
{
    struct mot_axis axis;
    struct range range;
    uint64_t count;
    if (node->kind != MOT_YAML_SCALAR || read_range(node->text, &range) ||
        !mot_read_uint(node->text, &count)) {
        enum mot_status status = mot_values_read(node, key, arena, &axis);
        return status == MOT_OK ? seeds_of(&axis, arena, out) : status;
    }
    const char *where = mot_yaml_where(node, arena);
    if (count == 0 || count > MOT_VALUES_MAX)
        return mot_fail(MOT_EUSAGE,
            "%s: %s: expected a number of seeds from 1 to %d, or a range such as 3..12; found %llu", where,
            key, MOT_VALUES_MAX, (unsigned long long)count);
    if (first > UINT64_MAX - count) first = UINT64_MAX - count;
    *out = (struct mot_seeds){
        .seed = mot_arena_new(arena, count * sizeof(*out->seed)), .n = count, .origin = where
    };
    for (uint64_t i = 0; i < count; i++) out->seed[i] = first + i;
    return MOT_OK;
}

/* ---- Methods ----------------------------------------------------------------------------------------- */

/* The length of the element at `text`, which ends at a comma outside braces. */
static size_t element_length(const char *text)
{
    size_t n = 0;
    for (long depth = 0; text[n] && !(text[n] == ',' && depth <= 0); n++)
        depth += (text[n] == '{' || text[n] == '[') - (text[n] == '}' || text[n] == ']');
    return n;
}

static void print_element(const char *text, size_t n, FILE *out)
{
    while (n && *text == ' ') text++, n--;
    while (n && text[n - 1] == ' ') n--;
    char *map = mot_yaml_longhand(text, n);
    if (map) fputs(map, out);
    else fprintf(out, "%.*s", (int)n, text);
    free(map);
}

enum mot_status mot_methods_read(
    const char *flag, const char *text, struct mot_arena *arena, struct mot_yaml **list_out)
{
    char *list = NULL;
    size_t n;
    FILE *out = open_memstream(&list, &n);
    if (!out) return mot_fail(MOT_ESYSTEM, "%s: out of memory", flag);
    putc('[', out);
    for (const char *at = text; *at;) {
        size_t length = element_length(at);
        print_element(at, length, out);
        at += length;
        if (*at) putc(*at++, out);
    }
    putc(']', out);
    fclose(out);
    enum mot_status status = mot_yaml_parse(flag, true, list, strlen(list), arena, list_out);
    free(list);
    return status;
}
