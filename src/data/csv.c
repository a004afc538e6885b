/* csv.c -- rows of numbers with a label among them. Every feature must be a finite number:
 * a missing one is an error that names its place, never a silent zero. */
#include "data/csv.h"

#include "base/memory.h"
#include "data/number.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct mot_source *s;
    const struct mot_read_conf *conf;
    struct csv_layout layout;
    struct csv_fields fields;
    struct mot_raw raw;
    uint64_t empty_line; /* line of an empty row; only empty ones may follow */
};

/* A cell may begin on a later line than its record. */
static unsigned long long line_of(const struct reader *r, const struct csv_field *f)
{
    return mot_source_line_number(r->s) + f->line;
}

static enum mot_status fail_cell(
    const struct reader *r, uint32_t column, const struct csv_field *f, const char *expected)
{
    char found[MOT_CLIP], name[MOT_CLIP] = "";
    if (r->layout.names)
        mot_clip(name, sizeof name, r->layout.names[column], strlen(r->layout.names[column]));
    return mot_fail(MOT_EDATA, "%s:%llu: column %u%s%s%s: found %s, expected %s", mot_source_name(r->s),
        line_of(r, f), column, *name ? " (" : "", name, *name ? ")" : "",
        f->n ? mot_clip(found, sizeof found, f->text, f->n) : "an empty cell", expected);
}

static enum mot_status read_feature(
    const struct reader *r, uint32_t column, const struct csv_field *f, float *out)
{
    const char *end = f->text + f->n;
    if (f->n == 0 ||
        (mot_scan_float(f->text, '.', out) != end &&
            !(r->layout.decimal_comma && mot_scan_float(f->text, ',', out) == end)))
        return fail_cell(r, column, f, "a number (`skip` leaves out columns that are not numbers)");
    if (!isfinite(*out)) return fail_cell(r, column, f, "a number that fits a 32-bit float");
    return MOT_OK;
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
        case CSV_FEATURE: status = read_feature(r, c, f, x++); break;
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

/* The mark that some programs put before UTF-8. */
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
    uint32_t at = 0;
    for (uint32_t c = 0; c < layout->width && !mot_memory_refused(); c++) {
        if (layout->role[c] == CSV_FEATURE) r->raw.column_names[at++] = mot_text(layout->names[c]);
        else if (layout->role[c] == CSV_LABEL) r->raw.label_name = mot_text(layout->names[c]);
    }
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
    status = read_all(&r);
    if (status == MOT_OK && r.raw.rows == 0)
        status =
            mot_fail(MOT_EDATA, "%s: a header but no rows, expected lines of numbers", mot_source_name(s));
    if (status == MOT_OK) take_names(&r);
    if (status == MOT_OK) status = mot_memory_status();
    csv_layout_free(&r.layout);
    free(r.fields.field);
    if (status != MOT_OK) {
        mot_raw_free(&r.raw);
        return status;
    }
    *out = r.raw;
    return MOT_OK;
}
