#include "stream/records.h"
#include "base/memory.h"
#include "data/number.h"
#include "data/scale.h"
#include "stream/records_parts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "raw rows are read as they lie");

const char *mot_record_why(enum mot_parsed r)
{
    static const char *const why[MOT_RECORD_KINDS] = { "fine", "blank", "incomplete", "not a number",
        "not a finite number", "too few columns", "too many columns", "an unknown class",
        "not a record of this format", "too long" };
    return why[r];
}

/* ---- Classes ------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    const struct mot_class_number *p = a, *q = b;
    return (p->value > q->value) - (p->value < q->value);
}

static int by_word(const void *a, const void *b)
{
    const struct mot_class_word *p = a, *q = b;
    size_t n = p->n < q->n ? p->n : q->n;
    int order = memcmp(p->text, q->text, n);
    return order ? order : (p->n > q->n) - (p->n < q->n);
}

static void learn_classes(struct mot_records *r)
{
    const struct mot_schema *s = &r->form.schema;
    r->number = mot_new(s->classes + 1, sizeof(*r->number));
    r->word = mot_new(s->classes + 1, sizeof(*r->word));
    for (uint32_t i = 0; i < MOT_SMALL_CLASSES; i++) r->small[i] = MOT_NO_CLASS;
    for (uint32_t c = 0; c < s->classes; c++) {
        const char *name = s->class_names[c];
        double value;
        if (mot_is_number(name, strlen(name), '.', &value)) {
            r->number[r->numbers++] = (struct mot_class_number){ value, c };
            if (value >= 0 && value < MOT_SMALL_CLASSES && value == floor(value)) r->small[(int)value] = c;
        } else {
            r->word[r->words++] = (struct mot_class_word){ name, strlen(name), c };
        }
    }
    qsort(r->number, r->numbers, sizeof(*r->number), by_number);
    qsort(r->word, r->words, sizeof(*r->word), by_word);
}

enum mot_parsed mot_record_label_number(const struct mot_records *r, double value, float *y)
{
    if (r->form.schema.classes == 0) {
        *y = (float)value;
        return isfinite(*y) ? MOT_RECORD_ROW : MOT_RECORD_NOT_FINITE;
    }
    if (value >= 0 && value < MOT_SMALL_CLASSES && value == floor(value)) {
        *y = (float)r->small[(int)value];
        return r->small[(int)value] == MOT_NO_CLASS ? MOT_RECORD_CLASS : MOT_RECORD_ROW;
    }
    struct mot_class_number key = { value, 0 },
                            *found = bsearch(&key, r->number, r->numbers, sizeof(key), by_number);
    if (!found) return MOT_RECORD_CLASS;
    *y = (float)found->class_of;
    return MOT_RECORD_ROW;
}

enum mot_parsed mot_record_label(const struct mot_records *r, const char *text, size_t n, float *y)
{
    double value;
    while (n && (*text == ' ' || *text == '\t')) text++, n--;
    while (n && (text[n - 1] == ' ' || text[n - 1] == '\t')) n--;
    if (n >= 2 && *text == '"' && text[n - 1] == '"') text++, n -= 2;
    struct mot_class_word key = { text, n, 0 }, *found;
    found = r->words ? bsearch(&key, r->word, r->words, sizeof(key), by_word) : NULL;
    if (found) {
        *y = (float)found->class_of;
        return MOT_RECORD_ROW;
    }
    if (n && mot_scan_double(text, '.', &value) == text + n) return mot_record_label_number(r, value, y);
    return r->form.schema.classes ? MOT_RECORD_CLASS : MOT_RECORD_NO_NUMBER;
}

/* ---- Rows ----------------------------------------------------------------------------- */

/* Has no branch and no order of sums, so the compiler can vectorise it. */
static bool all_finite(const float *x, size_t n)
{
    const uint32_t exponent = 0x7f800000u;
    uint32_t bad = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof(bits));
        bad |= (uint32_t)((bits & exponent) == exponent);
    }
    return bad == 0;
}

enum mot_parsed mot_record_finish(const struct mot_records *r, float *x)
{
    const struct mot_schema *s = &r->form.schema;
    if (s->scale == MOT_SCALE_UNIT || s->factor)
        mot_scale_row(x, NULL, s->cols, (enum mot_scale)s->scale, s->shift, s->factor);
    return all_finite(x, s->cols) ? MOT_RECORD_ROW : MOT_RECORD_NOT_FINITE;
}

/* ---- CSV ------------------------------------------------------------------------------ */

static const char *skip_blanks(const char *p, char separator)
{
    while ((*p == ' ' || *p == '\t') && *p != separator) p++;
    return p;
}

/* Reads a number, quoted or not, and the blanks around it. NULL if there is none. */
static const char *csv_number(const char *p, char separator, float *out)
{
    p = skip_blanks(p, separator);
    bool quoted = *p == '"';
    const char *end = mot_scan_float(p + quoted, '.', out);
    if (end == p + quoted || (quoted && *end != '"')) return NULL;
    return skip_blanks(end + quoted, separator);
}

static enum mot_parsed read_csv(struct mot_records *r, const char *p, const char *end, float *x, float *y)
{
    uint32_t cols = r->form.schema.cols, at = 0;
    uint32_t label = r->form.label < cols ? r->form.label : cols;
    char separator = r->form.separator;
    for (uint32_t field = 0; field <= cols; field++) {
        if (field == label) {
            const char *stop = field == cols ? end : memchr(p, separator, (size_t)(end - p));
            if (!stop) return MOT_RECORD_FEW;
            if (field == cols && memchr(p, separator, (size_t)(end - p))) return MOT_RECORD_MANY;
            enum mot_parsed label_is = mot_record_label(r, p, (size_t)(stop - p), y);
            if (label_is != MOT_RECORD_ROW) return label_is;
            p = stop;
        } else {
            p = csv_number(p, separator, &x[at++]);
            if (!p) return MOT_RECORD_NO_NUMBER;
        }
        if (field == cols) break;
        if (p == end) return MOT_RECORD_FEW;
        if (*p != separator) return MOT_RECORD_NO_NUMBER;
        p++;
    }
    if (p == end) return mot_record_finish(r, x);
    return *p == separator ? MOT_RECORD_MANY : MOT_RECORD_NO_NUMBER;
}

bool mot_records_header(const struct mot_records *r, const unsigned char *line, size_t n)
{
    const char *p = (const char *)line, *end = p + n;
    while (p < end) {
        double any;
        const char *stop = memchr(p, r->form.separator, (size_t)(end - p));
        size_t field = (size_t)((stop ? stop : end) - p);
        if (mot_is_number(p, field, '.', &any)) return false;
        p += field + 1;
    }
    return true;
}

/* ---- LIBSVM --------------------------------------------------------------------------- */

static enum mot_parsed read_libsvm(struct mot_records *r, const char *p, const char *end, float *x, float *y)
{
    uint32_t cols = r->form.schema.cols;
    uint64_t last = 0;
    const char *word = p;
    while (p < end && *p != ' ' && *p != '\t') p++;
    enum mot_parsed label = mot_record_label(r, word, (size_t)(p - word), y);
    if (label != MOT_RECORD_ROW) return label;
    memset(x, 0, cols * sizeof(*x));
    for (;;) {
        uint64_t index = 0;
        while (p < end && (*p == ' ' || *p == '\t')) p++;
        if (p == end || *p == '#') break;
        const char *begin = p;
        for (; (unsigned char)(*p - '0') < 10 && index <= cols; p++)
            index = index * 10 + (uint64_t)(*p - '0');
        if (p == begin || (index <= cols && *p != ':')) return MOT_RECORD_SYNTAX;
        if (index > cols) return MOT_RECORD_MANY;
        if (index <= last) return MOT_RECORD_SYNTAX; /* indices begin at 1 and rise */
        last = index;
        begin = ++p;
        p = mot_scan_float(p, '.', &x[index - 1]);
        if (p == begin || (p < end && *p != ' ' && *p != '\t')) return MOT_RECORD_NO_NUMBER;
    }
    return mot_record_finish(r, x);
}

/* ---- Raw floats ----------------------------------------------------------------------- */

void mot_raw_header(unsigned char into[MOT_RAW_HEADER], uint32_t cols, uint32_t rows)
{
    memcpy(into, MOT_RAW_MAGIC, 8);
    memcpy(into + 8, &cols, 4);
    memcpy(into + 12, &rows, 4);
}

bool mot_raw_whole(const unsigned char *bytes, size_t n, uint32_t cols)
{
    size_t done = 0;
    while (n - done >= MOT_RAW_HEADER) {
        uint32_t says[2];
        memcpy(says, bytes + done + 8, sizeof(says));
        if (memcmp(bytes + done, MOT_RAW_MAGIC, 8) != 0 || says[0] != cols) return false;
        done += MOT_RAW_HEADER;
        if (says[1] > (n - done) / MOT_RAW_ROW(cols)) return false;
        done += says[1] * MOT_RAW_ROW(cols);
    }
    return done == n && n > 0;
}

/* Where the next block begins after bytes that are not one: at the next magic word, or beyond these bytes. */
static size_t next_block(const unsigned char *bytes, size_t n)
{
    for (size_t at = 1; at < n; at++) {
        const unsigned char *found = memchr(bytes + at, MOT_RAW_MAGIC[0], n - at);
        if (!found) return n;
        at = (size_t)(found - bytes);
        size_t there = n - at < 8 ? n - at : 8;
        if (memcmp(found, MOT_RAW_MAGIC, there) == 0) return at;
    }
    return n;
}

static enum mot_parsed read_raw(
    struct mot_records *r, const unsigned char *bytes, size_t n, size_t *took, float *x, float *y)
{
    uint32_t cols = r->form.schema.cols;
    if (r->left == 0) {
        uint32_t says[2];
        if (n < MOT_RAW_HEADER) return MOT_RECORD_PARTIAL;
        memcpy(says, bytes + 8, sizeof(says));
        if (memcmp(bytes, MOT_RAW_MAGIC, 8) != 0) {
            *took = next_block(bytes, n);
            return MOT_RECORD_SYNTAX;
        }
        *took = MOT_RAW_HEADER;
        if (says[0] != cols) return says[0] < cols ? MOT_RECORD_FEW : MOT_RECORD_MANY;
        r->left = says[1];
        return MOT_RECORD_NONE;
    }
    if (n < MOT_RAW_ROW(cols)) return MOT_RECORD_PARTIAL;
    *took = MOT_RAW_ROW(cols);
    r->left--;
    float label;
    memcpy(&label, bytes, sizeof(label));
    memcpy(x, bytes + sizeof(label), cols * sizeof(*x));
    if (!isfinite(label)) return MOT_RECORD_NOT_FINITE;
    if (r->form.schema.classes) { /* the number of the class, not its name */
        if (!(label >= 0 && label < (float)r->form.schema.classes) || label != floorf(label))
            return MOT_RECORD_CLASS;
    }
    *y = label;
    return mot_record_finish(r, x);
}

uint64_t mot_records_left(const struct mot_records *r) { return r->left; }

bool mot_records_number(const struct mot_records *r, uint64_t *out)
{
    *out = r->own_number;
    return r->numbered;
}

void mot_records_resume(struct mot_records *r, uint64_t left) { r->left = left; }

/* ---- The whole -------------------------------------------------------------------------- */

struct mot_records *mot_records_open(const struct mot_record_form *form)
{
    struct mot_records *r = mot_new(1, sizeof(*r));
    r->form = *form;
    learn_classes(r);
    r->seen = mot_new(form->schema.cols, sizeof(*r->seen));
    return r;
}

void mot_records_close(struct mot_records *r)
{
    if (!r) return;
    free(r->number);
    free(r->word);
    free(r->seen);
    free(r);
}

enum mot_parsed mot_records_next(
    struct mot_records *r, const unsigned char *bytes, size_t n, size_t *took, float *x, float *y)
{
    if (r->form.format == MOT_RECORDS_RAW) return read_raw(r, bytes, n, took, x, y);
    const char *p = (const char *)bytes, *end = memchr(bytes, '\n', n);
    if (!end) return MOT_RECORD_PARTIAL;
    *took = (size_t)(end + 1 - p);
    if (end > p && end[-1] == '\r') end--;
    while (p < end && (*p == ' ' || *p == '\t') && *p != r->form.separator) p++;
    if (p == end) return MOT_RECORD_NONE;
    switch ((enum mot_record_format)r->form.format) {
    case MOT_RECORDS_CSV: return read_csv(r, p, end, x, y);
    case MOT_RECORDS_LIBSVM: return *p == '#' ? MOT_RECORD_NONE : read_libsvm(r, p, end, x, y);
    case MOT_RECORDS_JSON: return mot_record_json(r, p, end, x, y);
    case MOT_RECORDS_RAW: break;
    }
    return MOT_RECORD_SYNTAX;
}
