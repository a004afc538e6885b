/* records_json.c -- a line of JSON as a row: {"x": [1, 2.5], "y": "cat"}, or {"width": 1, "height": 2.5,
 * "y": "cat"}.
 *
 * Other keys are skipped, whatever they hold. Keys are compared as written, so one with escapes is a
 * different key. A record with a key twice is malformed. */
#include "data/number.h"
#include "stream/records_parts.h"
#include <string.h>

#define DEPTH_MOST 64u /* of skipped values */

struct json {
    struct mot_records *records;
    const char *p, *end; /* a line end follows, so *end can be read */
    float *x, *y;
    uint32_t cols, have; /* have: columns found so far */
    bool labelled;
};

static inline void blanks(struct json *j)
{
    while (*j->p == ' ' || *j->p == '\t') j->p++;
}

static bool eat(struct json *j, char c)
{
    blanks(j);
    if (j->p == j->end || *j->p != c) return false;
    j->p++;
    return true;
}

/* At a quote: reads the text up to the closing one. */
static bool text(struct json *j, const char **at, size_t *n)
{
    const char *p = ++j->p;
    while (p < j->end && *p != '"') p += *p == '\\' ? 2 : 1;
    if (p >= j->end) return false;
    *at = j->p;
    *n = (size_t)(p - j->p);
    j->p = p + 1;
    return true;
}

static bool skip_word(struct json *j)
{
    static const char *const word[] = { "true", "false", "null" };
    float any;
    for (int i = 0; i < 3; i++) {
        size_t n = strlen(word[i]);
        if ((size_t)(j->end - j->p) >= n && memcmp(j->p, word[i], n) == 0) {
            j->p += n;
            return true;
        }
    }
    const char *end = mot_scan_float(j->p, '.', &any);
    bool number = end != j->p;
    j->p = end;
    return number;
}

/* Skips a value of any kind. Brackets are counted, not matched: a skipped value need not be understood. */
static bool skip(struct json *j)
{
    unsigned depth = 0;
    const char *at;
    size_t n;
    do {
        blanks(j);
        if (j->p >= j->end) return false;
        if (*j->p == '"') {
            if (!text(j, &at, &n)) return false;
        } else if (*j->p == '[' || *j->p == '{') {
            if (++depth > DEPTH_MOST) return false;
            j->p++;
        } else if (*j->p == ']' || *j->p == '}') {
            if (depth-- == 0) return false;
            j->p++;
        } else if (depth && (*j->p == ',' || *j->p == ':')) {
            j->p++;
        } else if (!skip_word(j)) {
            return false;
        }
    } while (depth);
    return true;
}

static enum mot_parsed number(struct json *j, float *out)
{
    blanks(j);
    const char *end = mot_scan_float(j->p, '.', out);
    if (end == j->p) return j->p < j->end ? MOT_RECORD_NO_NUMBER : MOT_RECORD_SYNTAX;
    j->p = end;
    return MOT_RECORD_ROW;
}

static enum mot_parsed features(struct json *j)
{
    if (j->have || !eat(j, '[')) return MOT_RECORD_SYNTAX;
    for (uint32_t i = 0;; i++) {
        if (i == j->cols) return MOT_RECORD_MANY;
        enum mot_parsed is = number(j, &j->x[i]);
        if (is != MOT_RECORD_ROW) return is;
        blanks(j);
        if (*j->p == ',') {
            j->p++;
            continue;
        }
        j->have = i + 1;
        return eat(j, ']') ? MOT_RECORD_ROW : MOT_RECORD_SYNTAX;
    }
}

static enum mot_parsed label(struct json *j)
{
    const char *at;
    size_t n;
    double value;
    if (j->labelled) return MOT_RECORD_SYNTAX;
    j->labelled = true;
    blanks(j);
    if (j->p < j->end && *j->p == '"')
        return text(j, &at, &n) ? mot_record_label(j->records, at, n, j->y) : MOT_RECORD_SYNTAX;
    const char *end = mot_scan_double(j->p, '.', &value);
    if (end == j->p) return MOT_RECORD_NO_NUMBER;
    j->p = end;
    return mot_record_label_number(j->records, value, j->y);
}

/* Reads the record's own number, which must be whole and small enough to be exact. */
static enum mot_parsed own_number(struct json *j)
{
    double value;
    blanks(j);
    const char *end = mot_scan_double(j->p, '.', &value);
    if (end == j->p || !(value >= 0 && value < 9007199254740992.0)) return MOT_RECORD_NO_NUMBER;
    j->records->own_number = (uint64_t)value;
    if ((double)j->records->own_number != value) return MOT_RECORD_NO_NUMBER;
    if (j->records->numbered) return MOT_RECORD_SYNTAX;
    j->records->numbered = true;
    j->p = end;
    return MOT_RECORD_ROW;
}

static bool is_key(const char *key, const char *at, size_t n)
{
    return key && strlen(key) == n && memcmp(key, at, n) == 0;
}

/* Columns mostly come in order, so try the next one first. Returns cols if there is no such column. */
static uint32_t column_of(const struct json *j, const char *at, size_t n)
{
    char *const *name = j->records->form.column_names;
    if (!name) return j->cols;
    for (uint32_t i = 0; i < j->cols; i++) {
        uint32_t c = (j->have + i) % j->cols;
        if (is_key(name[c], at, n)) return c;
    }
    return j->cols;
}

static enum mot_parsed member(struct json *j)
{
    const struct mot_record_form *form = &j->records->form;
    const char *key;
    size_t n;
    blanks(j);
    if (j->p == j->end || *j->p != '"' || !text(j, &key, &n) || !eat(j, ':')) return MOT_RECORD_SYNTAX;
    if (is_key(form->label_key, key, n)) return label(j);
    if (is_key(form->feature_key, key, n)) return features(j);
    if (is_key(form->number_key, key, n)) return own_number(j);
    uint32_t c = column_of(j, key, n);
    if (c == j->cols) return skip(j) ? MOT_RECORD_ROW : MOT_RECORD_SYNTAX;
    if (j->records->seen[c] == j->records->serial) return MOT_RECORD_SYNTAX;
    j->records->seen[c] = j->records->serial;
    j->have++;
    return number(j, &j->x[c]);
}

enum mot_parsed mot_record_json(struct mot_records *r, const char *p, const char *end, float *x, float *y)
{
    struct json j = { .records = r, .p = p, .end = end, .x = x, .y = y, .cols = r->form.schema.cols };
    r->serial++;
    r->numbered = false;
    if (!eat(&j, '{')) return MOT_RECORD_SYNTAX;
    do {
        enum mot_parsed is = member(&j);
        if (is != MOT_RECORD_ROW) return is;
    } while (eat(&j, ','));
    if (!eat(&j, '}')) return MOT_RECORD_SYNTAX;
    blanks(&j);
    if (j.p != end) return MOT_RECORD_SYNTAX;
    if (j.have < j.cols || !j.labelled) return MOT_RECORD_FEW;
    return mot_record_finish(r, x);
}
