/* json.c -- JSON text with numbers that people can read.
 *
 * jansson prints 0.1 as 0.10000000000000001, because 17 digits are always
 * enough. The shortest text that reads back to the same double says the same. */
#include "report/json.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/shown.h"
#include "report/report.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *mot_number_text(double value, char into[MOT_NUMBER_SIZE])
{
    if (!isfinite(value)) {
        snprintf(into, MOT_NUMBER_SIZE, "null");
        return into;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(into, MOT_NUMBER_SIZE, "%.*g", digits, value);
        if (strtod(into, NULL) == value) break;
    }
    /* A program that links the library may have set a locale with a decimal comma. */
    char *comma = strchr(into, ',');
    if (comma) *comma = '.';
    return into;
}

char *mot_seconds_text(uint64_t ns, char into[MOT_NUMBER_SIZE])
{
    unsigned long long whole = ns / 1000000000, rest = ns % 1000000000;
    int n = snprintf(into, MOT_NUMBER_SIZE, "%llu.%09llu", whole, rest);
    while (into[n - 1] == '0') into[--n] = '\0';
    if (into[n - 1] == '.') into[--n] = '\0';
    return into;
}

json_t *mot_json_number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

/* jansson also returns NULL when it is out of memory: a second try may succeed, and if not, mot_json_set()
 * notices. */
json_t *mot_json_string(const char *text)
{
    json_t *string = json_string(text);
    return string ? string : json_string(text);
}

json_t *mot_json_text(const char *text)
{
    json_t *string = mot_json_string(text);
    if (string) return string;
    char *shown = mot_shown(text);
    string = json_string(shown);
    free(shown);
    return string;
}

double mot_json_get_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

size_t mot_json_get_count(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));
    return value > 0 ? (size_t)value : 0;
}

const char *mot_json_get_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

const json_t *mot_json_get_list(const json_t *object, const char *key)
{
    const json_t *list = json_object_get(object, key);
    return json_is_array(list) ? list : NULL;
}

void mot_json_set(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0) mot_memory_refuse(0);
}

void mot_json_add(json_t *list, json_t *value)
{
    if (json_array_append_new(list, value) != 0) mot_memory_refuse(0);
}

/* Whether it holds lists or objects; with `lists`, plain lists do not count. */
static bool holds_container(const json_t *value, bool lists)
{
    size_t i;
    const char *key;
    json_t *each;
    json_array_foreach(value, i, each) if (json_is_object(each) ||
        (json_is_array(each) && !(lists && !holds_container(each, false)))) return true;
    json_object_foreach((json_t *)value, key, each) if (json_is_object(each) ||
        (json_is_array(each) && !(lists && !holds_container(each, false)))) return true;
    return false;
}

static void dump(const json_t *value, FILE *out)
{
    if (json_dumpf(value, out, JSON_ENCODE_ANY) != 0 && !ferror(out)) mot_memory_refuse(0);
}

static void print_text(const char *text, FILE *out)
{
    json_t *string = json_string(text); /* jansson gave it to us, so it is valid UTF-8 */
    dump(string, out);
    json_decref(string);
}

static void print_plain(const json_t *value, FILE *out)
{
    char number[MOT_NUMBER_SIZE];
    if (!json_is_real(value)) {
        dump(value, out);
        return;
    }
    mot_number_text(json_real_value(value), number);
    fputs(number, out);
    if (!strpbrk(number, ".en")) fputs(".0", out); /* keeps it a real for readers that look at types */
}

/* Prints what precedes the n-th entry of a container. */
static void print_lead(size_t n, bool open, int depth, FILE *out)
{
    if (n) fputs(open ? "," : ", ", out);
    if (open) fprintf(out, "\n%*s", 2 * (depth + 1), "");
}

/* A container of plain values takes one line, as does, deeper down, one
 * of plain lists; others take several. */
static void print_value(const json_t *value, int depth, FILE *out)
{
    bool array = json_is_array(value);
    if (!array && !json_is_object(value)) {
        print_plain(value, out);
        return;
    }
    bool open = depth == 0 || holds_container(value, depth >= 2);
    size_t n = 0, i;
    const char *key;
    json_t *each;
    fputc(array ? '[' : '{', out);
    json_array_foreach(value, i, each)
    {
        print_lead(n++, open, depth, out);
        print_value(each, depth + 1, out);
    }
    json_object_foreach((json_t *)value, key, each)
    {
        print_lead(n++, open, depth, out);
        print_text(key, out);
        fputs(": ", out);
        print_value(each, depth + 1, out);
    }
    if (open && n) fprintf(out, "\n%*s", 2 * depth, "");
    fputc(array ? ']' : '}', out);
}

void mot_json_print(const json_t *value, FILE *out)
{
    print_value(value, 0, out);
    fputc('\n', out);
}

enum mot_status mot_json_write(const json_t *value, const char *path)
{
    struct mot_replace file;
    enum mot_status status = mot_replace_begin(path, &file);
    if (status != MOT_OK) return status;
    mot_json_print(value, file.out);
    return mot_replace_commit(&file);
}
