/* csv.c -- rows of numbers and words with a label among them. A missing value is never a silent zero: it is
 * an error that says where and how many there are, or NaN until somebody fills it in. */
#include "data/csv.h"

#include "base/memory.h"
#include "data/number.h"
#include "data/words.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A column of features holds numbers or words, as its first value does. */
enum kind { KIND_OPEN, KIND_NUMBERS, KIND_WORDS };
struct column {
    enum kind kind;
    bool told;     /* by the caller, not by the first value */
    uint64_t line; /* of that value */
    uint32_t gaps; /* missing values */
    struct mot_labels words;
};

struct reader {
    struct mot_source *s;
    const struct mot_read_conf *conf;
    struct csv_layout layout;
    struct csv_fields fields;
    struct mot_raw raw;
    uint64_t empty_line;   /* line of an empty row; only empty ones may follow */
    struct column *column; /* [layout.features] */
    uint64_t gap_line;     /* of the first missing value; 0: none */
    uint32_t gap_column, gap_feature;
    char gap[MOT_CLIP]; /* how it was spelt */
};

/* A cell may begin on a later line than its record. */
static unsigned long long line_of(const struct reader *r, const struct csv_field *f)
{
    return mot_source_line_number(r->s) + f->line;
}

/* "2 ('age')" */
static char *show_column(const struct reader *r, uint32_t column)
{
    char name[MOT_CLIP];
    if (!r->layout.names) return mot_format("%u", column);
    const char *text = r->layout.names[column];
    return mot_format("%u (%s)", column, mot_clip(name, sizeof name, text, strlen(text)));
}

static enum mot_status fail_cell(
    const struct reader *r, uint32_t column, const struct csv_field *f, const char *expected)
{
    char found[MOT_CLIP], *which = show_column(r, column);
    enum mot_status status =
        mot_fail(MOT_EDATA, "%s:%llu: column %s: found %s, expected %s", mot_source_name(r->s), line_of(r, f),
            which, f->n ? mot_clip(found, sizeof found, f->text, f->n) : "an empty cell", expected);
    free(which);
    return status;
}

/* A number after words, or a word after numbers. */
static enum mot_status fail_kind(
    const struct reader *r, uint32_t column, const struct column *k, const struct csv_field *f)
{
    const char *wanted = k->kind == KIND_WORDS ? "word" : "number";
    char *as = k->told
        ? mot_format("a %s, as in the training data", wanted)
        : mot_format("a %s as in line %llu (`words` takes the column as words, `skip` leaves it out)", wanted,
              (unsigned long long)k->line);
    enum mot_status status = fail_cell(r, column, f, as);
    free(as);
    return status;
}

/* Adds a missing value. */
static void note_gap(struct reader *r, uint32_t column, uint32_t feature, const struct csv_field *f)
{
    r->column[feature].gaps++;
    if (r->gap_line) return;
    r->gap_line = line_of(r, f);
    r->gap_column = column;
    r->gap_feature = feature;
    if (f->n) mot_clip(r->gap, sizeof r->gap, f->text, f->n);
    else memcpy(r->gap, "an empty cell", sizeof "an empty cell");
}

/* Adds a word, or an empty one if it is missing, so that there is one for each row. */
static enum mot_status read_word(
    struct reader *r, uint32_t column, struct column *k, const struct csv_field *f, bool missing)
{
    double value;
    if (!missing && (csv_damaged(f) || memchr(f->text, 0, f->n))) return fail_cell(r, column, f, "a word");
    if (!missing && !k->told && csv_number(&r->layout, f, &value)) return fail_kind(r, column, k, f);
    enum mot_status status = mot_labels_add(&k->words, r->s, f->text, missing ? 0 : f->n, '.', line_of(r, f));
    if (status == MOT_OK && k->words.count > MOT_WORDS_MAX + 1)
        return fail_cell(r, column, f,
            "one of at most 1000 different words: leave out columns of names and texts with `skip`");
    return status;
}

/* The column turns out to hold words; it was empty so far. */
static enum mot_status begin_words(struct reader *r, struct column *k, const struct csv_field *f)
{
    enum mot_status status = MOT_OK;
    k->kind = KIND_WORDS;
    k->line = line_of(r, f);
    for (uint32_t i = 0; i < r->raw.rows && status == MOT_OK; i++)
        status = mot_labels_add(&k->words, r->s, "", 0, '.', 0);
    return status;
}

static enum mot_status read_feature(
    struct reader *r, uint32_t column, uint32_t feature, const struct csv_field *f, float *out)
{
    struct column *k = &r->column[feature];
    const char *end = f->text + f->n;
    if (k->kind != KIND_WORDS && f->n &&
        (mot_scan_float(f->text, '.', out) == end ||
            (r->layout.decimal_comma && mot_scan_float(f->text, ',', out) == end))) {
        if (!isfinite(*out)) return fail_cell(r, column, f, "a number that fits a 32-bit float");
        if (k->kind == KIND_OPEN) k->kind = KIND_NUMBERS, k->line = line_of(r, f);
        return MOT_OK;
    }
    bool missing = csv_missing(f);
    *out = NAN;
    if (missing) note_gap(r, column, feature, f);
    else if (k->kind == KIND_NUMBERS) return fail_kind(r, column, k, f);
    else if (csv_damaged(f) || memchr(f->text, 0, f->n)) return fail_cell(r, column, f, "a number or a word");
    else if (k->kind == KIND_OPEN) {
        enum mot_status status = begin_words(r, k, f);
        if (status != MOT_OK) return status;
    }
    return k->kind == KIND_WORDS ? read_word(r, column, k, f, missing) : MOT_OK;
}

static enum mot_status read_label(struct reader *r, const struct csv_field *f)
{
    double value;
    bool number = csv_number(&r->layout, f, &value);
    if ((!number && csv_damaged(f)) || memchr(f->text, 0, f->n))
        return fail_cell(r, r->layout.label, f, "a label");
    if (number && !isfinite((float)value))
        return fail_cell(r, r->layout.label, f, "a number that fits a 32-bit float");
    bool comma = number && r->layout.decimal_comma && memchr(f->text, ',', f->n);
    return mot_labels_add(&r->raw.labels, r->s, f->text, f->n, comma ? ',' : '.', line_of(r, f));
}

static enum mot_status read_row(struct reader *r)
{
    struct mot_raw *raw = &r->raw;
    const struct csv_layout *layout = &r->layout;
    size_t cells = r->fields.count, expected = layout->width + layout->row_names;
    while (cells > expected && r->fields.field[cells - 1].n == 0) cells--;
    if (cells != expected)
        return mot_fail_line(r->s, "%zu columns, expected %zu as in the first %s", cells, expected,
            layout->header ? "rows" : "row");
    uint64_t begin = (uint64_t)raw->rows * layout->features;
    enum mot_status status = mot_raw_room(
        r->s, (void **)&raw->x, &raw->x_room, begin + layout->features, sizeof *raw->x, r->conf->memory);
    float *x = raw->x + begin;
    for (uint32_t c = 0; c < layout->width && status == MOT_OK; c++) {
        const struct csv_field *f = &r->fields.field[c + layout->row_names];
        switch ((enum csv_role)layout->role[c]) {
        case CSV_FEATURE:
        case CSV_WORDS: status = read_feature(r, c, layout->feature[c], f, &x[layout->feature[c]]); break;
        case CSV_LABEL: status = read_label(r, f); break;
        case CSV_SKIP: break;
        }
    }
    if (status == MOT_OK) raw->rows++;
    return status;
}

static enum mot_status read_record(struct reader *r, char *record, size_t n)
{
    const char *wrong = csv_split(record, n, r->layout.separator, &r->fields);
    if (wrong && mot_memory_refused()) return mot_memory_status();
    if (wrong)
        return mot_fail(MOT_EDATA, "%s:%llu: %s", mot_source_name(r->s),
            line_of(r, &r->fields.field[r->fields.count - 1]), wrong);
    if (csv_used(&r->fields) == 0) {
        if (!r->empty_line) r->empty_line = mot_source_line_number(r->s);
        return MOT_OK;
    }
    if (r->empty_line)
        return mot_fail(MOT_EDATA, "%s:%llu: an empty row before the last row (line %llu has numbers)",
            mot_source_name(r->s), (unsigned long long)r->empty_line,
            (unsigned long long)mot_source_line_number(r->s));
    if (r->raw.rows == MOT_ROWS_MAX) return mot_fail_line(r->s, "more than %u rows", MOT_ROWS_MAX);
    return read_row(r);
}

static enum mot_status read_all(struct reader *r)
{
    bool header = r->layout.header, begun = false;
    while (r->raw.rows < r->conf->rows) {
        struct csv_quotes quotes = { .separator = r->layout.separator };
        char *record;
        size_t n;
        enum mot_status status = mot_source_record(r->s, csv_goes_on, &quotes, &record, &n);
        if (status != MOT_OK) return status;
        if (!record) break;
        if (!begun && strspn(record, " \t\r") == n) continue; /* blank lines before the first */
        begun = true;
        if (header) {
            header = false;
            continue;
        }
        status = read_record(r, record, n);
        if (status != MOT_OK) return status;
    }
    return MOT_OK;
}

/* Skips the mark that some programs put before UTF-8. */
static enum mot_status skip_mark(struct mot_source *s)
{
    const unsigned char *at;
    unsigned char mark[3];
    size_t n;
    enum mot_status status = mot_source_peek(s, sizeof mark, &at, &n);
    if (status != MOT_OK || n < sizeof mark || memcmp(at, "\xEF\xBB\xBF", sizeof mark) != 0) return status;
    return mot_source_read(s, mark, sizeof mark, &n);
}

/* The names of the features, and of the label. */
static void take_names(struct reader *r)
{
    struct csv_layout *layout = &r->layout;
    if (!layout->names) return;
    r->raw.column_names = mot_new_large(layout->features, sizeof *r->raw.column_names);
    for (uint32_t c = 0; c < layout->width && !mot_memory_refused(); c++) {
        if (layout->role[c] <= CSV_WORDS)
            r->raw.column_names[layout->feature[c]] = mot_text(layout->names[c]);
        else if (layout->role[c] == CSV_LABEL) r->raw.label_name = mot_text(layout->names[c]);
    }
}

/* What is known of the columns before the first row. */
static void open_columns(struct reader *r)
{
    const struct csv_layout *layout = &r->layout;
    r->column = mot_new_large(layout->features, sizeof *r->column);
    for (uint32_t c = 0; r->column && c < layout->width; c++) {
        if (layout->role[c] > CSV_WORDS) continue;
        struct column *k = &r->column[layout->feature[c]];
        bool words = layout->role[c] == CSV_WORDS;
        for (uint32_t i = 0; r->conf->like && i < r->conf->like->count; i++)
            words |= r->conf->like->at[i].column == layout->feature[c];
        k->told = words || r->conf->like;
        if (k->told) k->kind = words ? KIND_WORDS : KIND_NUMBERS;
    }
}

static void close_columns(struct reader *r)
{
    for (uint32_t k = 0; r->column && k < r->layout.features; k++) mot_labels_free(&r->column[k].words);
    free(r->column);
}

static enum mot_status refuse_gaps(const struct reader *r)
{
    uint32_t here = r->column[r->gap_feature].gaps, columns = 0;
    uint64_t others = 0;
    for (uint32_t k = 0; k < r->layout.features; k++) {
        others += k == r->gap_feature ? 0 : r->column[k].gaps;
        columns += k != r->gap_feature && r->column[k].gaps;
    }
    char *which = show_column(r, r->gap_column);
    char *more = !columns ? mot_text("")
                          : mot_format(" (and %llu value%s of %u other column%s)", (unsigned long long)others,
                                others == 1 ? "" : "s", columns, columns == 1 ? "" : "s");
    enum mot_status status = mot_fail(MOT_EDATA,
        "%s:%llu: column %s: found %s, expected a number or a word: %u of this column's %u values %s "
        "missing%s; "
        "`missing: median` fills them in (so do mean, frequent and a number), `skip: COLUMN` leaves the "
        "column out",
        mot_source_name(r->s), (unsigned long long)r->gap_line, which, r->gap, here, r->raw.rows,
        here == 1 ? "is" : "are", more);
    free(which);
    free(more);
    return status;
}

/* Dates, names and ticket numbers say nothing about other rows: hardly any recurs. */
static enum mot_status refuse_names(const struct reader *r)
{
    for (uint32_t c = 0; c < r->layout.width; c++) {
        if (r->layout.role[c] > CSV_WORDS) continue;
        const struct column *k = &r->column[r->layout.feature[c]];
        if (k->told || r->raw.rows <= 20 || k->words.count <= r->raw.rows / 2) continue;
        char *which = show_column(r, c);
        enum mot_status status = mot_fail(MOT_EDATA,
            "%s:%llu: column %s: %u different words in %u rows, expected words that recur: leave the column "
            "out "
            "with `skip`, or list it in `words` if they are meant as features",
            mot_source_name(r->s), (unsigned long long)k->line, which, k->words.count, r->raw.rows);
        free(which);
        return status;
    }
    return MOT_OK;
}

static enum mot_status settle_columns(struct reader *r)
{
    enum mot_status status = refuse_names(r);
    if (status == MOT_OK && r->gap_line && !r->conf->keep_missing) status = refuse_gaps(r);
    if (status != MOT_OK) return status;
    struct mot_labels **cell = mot_new_large(r->layout.features, sizeof(struct mot_labels *));
    for (uint32_t k = 0; cell && k < r->layout.features; k++)
        if (r->column[k].kind == KIND_WORDS) cell[k] = &r->column[k].words;
    struct mot_worded how = { cell, r->raw.column_names, r->conf->like, r->conf->unknown_zeros,
        r->conf->memory };
    status = cell ? mot_words_spread(&r->raw, r->s, &how) : mot_memory_status();
    free(cell);
    return status;
}

enum mot_status mot_read_csv(struct mot_source *s, const struct mot_read_conf *conf, struct mot_raw *out)
{
    struct reader r = { .s = s, .conf = conf };
    enum mot_status status = skip_mark(s);
    if (status == MOT_OK) status = csv_layout_find(s, conf, &r.layout);
    if (status != MOT_OK) return status;
    r.raw.format = MOT_FORMAT_CSV;
    r.raw.cols = r.layout.features;
    r.raw.labelled = r.layout.labelled;
    open_columns(&r);
    status = r.column ? read_all(&r) : mot_memory_status();
    if (status == MOT_OK && r.raw.rows == 0)
        status =
            mot_fail(MOT_EDATA, "%s: a header but no rows, expected lines of numbers", mot_source_name(s));
    if (status == MOT_OK) take_names(&r);
    if (status == MOT_OK) status = mot_memory_status();
    if (status == MOT_OK) status = settle_columns(&r);
    close_columns(&r);
    csv_layout_free(&r.layout);
    free(r.fields.field);
    if (status != MOT_OK) {
        mot_raw_free(&r.raw);
        return status;
    }
    *out = r.raw;
    return MOT_OK;
}
