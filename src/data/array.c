/* array.c -- typed numbers of either byte order into floats, as they arrive: memory grows with the bytes
 * actually read, not with what a header claims. */
#include "base/memory.h"
#include "base/words.h"
#include "data/formats.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES 65536 /* a multiple of every number's size */

static uint64_t bits_at(const unsigned char *p, uint32_t bytes, bool big_endian)
{
    uint64_t bits = 0;
    for (uint32_t i = 0; i < bytes; i++) bits |= (uint64_t)p[big_endian ? bytes - 1 - i : i] << (8 * i);
    return bits;
}

static double number_at(const unsigned char *p, struct mot_number_type type)
{
    uint64_t bits = bits_at(p, type.bytes, type.big_endian);
    switch (type.kind) {
    case MOT_NUMBER_UINT: return (double)bits;
    case MOT_NUMBER_BOOL: return bits != 0;
    case MOT_NUMBER_INT: {
        uint64_t sign = UINT64_C(1) << (8 * type.bytes - 1);
        return bits & sign ? -(double)((~bits & (sign - 1)) + 1) : (double)bits;
    }
    case MOT_NUMBER_REAL: {
        double wide;
        float narrow;
        if (type.bytes == 8) {
            memcpy(&wide, &bits, 8);
            return wide;
        }
        uint32_t half = (uint32_t)bits;
        memcpy(&narrow, &half, 4);
        return (double)narrow;
    }
    }
    return 0;
}

/* n numbers at `bytes` into x; returns how many are finite floats before the first that is not. */
static size_t convert(const unsigned char *bytes, size_t n, struct mot_number_type type, float *x)
{
    if (type.kind == MOT_NUMBER_UINT && type.bytes == 1) {
        for (size_t i = 0; i < n; i++) x[i] = (float)bytes[i];
        return n;
    }
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)number_at(bytes + i * type.bytes, type);
        if (!isfinite(x[i])) return i;
    }
    return n;
}

static enum mot_status check_size(
    const struct mot_source *s, const struct mot_array *a, const struct mot_read_conf *conf)
{
    uint64_t offset = mot_source_offset(s), left = mot_source_left(s);
    if (a->rows == 0 || a->cols == 0)
        return mot_fail_at(s, offset, "the header says %llu x %llu numbers, expected at least one",
            (unsigned long long)a->rows, (unsigned long long)a->cols);
    if (a->rows > MOT_ROWS_MAX || a->cols > MOT_COLS_MAX)
        return mot_fail_at(s, offset, "the header says %llu rows of %llu columns, expected at most %u of %u",
            (unsigned long long)a->rows, (unsigned long long)a->cols, MOT_ROWS_MAX, MOT_COLS_MAX);
    enum mot_status status = mot_source_promised(s, a->rows * a->cols * a->type.bytes);
    if (status != MOT_OK) return status;
    if (a->rows > left / a->cols / a->type.bytes)
        return mot_fail_at(s, offset,
            "the header says %llu x %llu numbers of %u bytes, but the file %s %llu bytes after it: truncated "
            "or damaged",
            (unsigned long long)a->rows, (unsigned long long)a->cols, a->type.bytes, "can hold no more than",
            (unsigned long long)left);
    uint64_t rows = a->rows < conf->rows ? a->rows : conf->rows;
    char size[32];
    if (rows * a->cols > conf->memory / sizeof(float))
        return mot_fail_at(s, offset, "%llu x %llu numbers need %s of memory, more than this machine has",
            (unsigned long long)rows, (unsigned long long)a->cols,
            mot_show_size((double)rows * (double)a->cols * 4, size, sizeof size));
    return MOT_OK;
}

static enum mot_status fail_short(const struct mot_source *s, uint64_t numbers, struct mot_number_type type)
{
    return mot_fail_at(s, mot_source_offset(s),
        "the file ends here, expected a total of %llu numbers of %u bytes: truncated",
        (unsigned long long)numbers, type.bytes);
}

static enum mot_status fail_infinite(
    const struct mot_source *s, uint64_t offset, uint64_t index, const struct mot_array *a, double found)
{
    uint64_t row = a->fortran ? index % a->rows : index / a->cols,
             col = a->fortran ? index / a->rows : index % a->cols;
    return mot_fail_at(s, offset, "row %llu, column %llu: found %g, expected a finite 32-bit float",
        (unsigned long long)row, (unsigned long long)col, found);
}

static enum mot_status check_end(struct mot_source *s)
{
    const unsigned char *more;
    size_t n;
    enum mot_status status = mot_source_peek(s, 1, &more, &n);
    if (status == MOT_OK && n)
        return mot_fail_at(
            s, mot_source_offset(s), "bytes follow the last number, expected the end of the file");
    return status;
}

static enum mot_status read_rows(struct mot_source *s, const struct mot_array *a,
    const struct mot_read_conf *conf, unsigned char *chunk, struct mot_raw *raw)
{
    uint64_t whole = (uint64_t)raw->rows * a->cols;
    for (uint64_t done = 0; done < whole;) {
        uint64_t want =
            whole - done < CHUNK_BYTES / a->type.bytes ? whole - done : CHUNK_BYTES / a->type.bytes;
        uint64_t offset = mot_source_offset(s);
        size_t got;
        enum mot_status status = mot_source_read(s, chunk, (size_t)want * a->type.bytes, &got);
        if (status != MOT_OK) return status;
        if (got < want * a->type.bytes) return fail_short(s, a->rows * a->cols, a->type);
        /* Doubles, but never beyond the whole. */
        uint64_t need = 2 * (done + want) > whole ? whole : done + want;
        status = mot_raw_room(s, (void **)&raw->x, &raw->x_room, need, sizeof *raw->x, conf->memory);
        if (status != MOT_OK) return status;
        size_t good = convert(chunk, (size_t)want, a->type, raw->x + done);
        if (good < want)
            return fail_infinite(s, offset + good * a->type.bytes, done + good, a,
                number_at(chunk + good * a->type.bytes, a->type));
        done += want;
    }
    return raw->rows == a->rows ? check_end(s) : MOT_OK;
}

/* Column after column: the numbers of a column are scattered over the rows. */
static enum mot_status read_columns(struct mot_source *s, const struct mot_array *a, struct mot_raw *raw)
{
    unsigned char *column = mot_new_large((size_t)a->rows, a->type.bytes);
    float *x = mot_new_large((size_t)a->rows, sizeof *x);
    raw->x = mot_new_large((size_t)raw->rows * a->cols, sizeof *raw->x);
    enum mot_status status = mot_memory_status();
    for (uint64_t c = 0; c < a->cols && status == MOT_OK; c++) {
        uint64_t offset = mot_source_offset(s);
        size_t got;
        status = mot_source_read(s, column, (size_t)a->rows * a->type.bytes, &got);
        if (status != MOT_OK) break;
        if (got < a->rows * a->type.bytes) {
            status = fail_short(s, a->rows * a->cols, a->type);
            break;
        }
        size_t good = convert(column, (size_t)a->rows, a->type, x);
        if (good < a->rows)
            status = fail_infinite(s, offset + good * a->type.bytes, c * a->rows + good, a,
                number_at(column + good * a->type.bytes, a->type));
        for (uint32_t r = 0; r < raw->rows && status == MOT_OK; r++) raw->x[(size_t)r * a->cols + c] = x[r];
    }
    free(column);
    free(x);
    return status == MOT_OK ? check_end(s) : status;
}

/* [rows][height][width], [rows][channels][height][width], or with channels last, as Keras has them. */
static bool channels_last(const struct mot_array *a)
{
    const uint32_t *n = a->shape;
    return a->rank == 4 && !a->fortran && (n[3] == 1 || n[3] == 3 || n[3] == 4) && n[1] > 4 && n[2] > 4;
}

static struct mot_picture geometry_of(const struct mot_array *a)
{
    const uint32_t *n = a->shape;
    if (channels_last(a)) return (struct mot_picture){ n[3], n[1], n[2] };
    if (a->rank == 3 && !a->fortran && a->cols) return (struct mot_picture){ 1, n[1], n[2] };
    if (a->rank == 4 && !a->fortran && a->cols) return (struct mot_picture){ n[1], n[2], n[3] };
    return (struct mot_picture){ 0 };
}

static enum mot_status channels_first(struct mot_raw *raw)
{
    const struct mot_picture *p = &raw->geometry;
    size_t pixels = (size_t)p->height * p->width;
    float *row = mot_new_large(raw->cols, sizeof *row);
    if (!row) return mot_memory_status();
    for (uint32_t r = 0; r < raw->rows; r++) {
        float *x = raw->x + (size_t)r * raw->cols;
        memcpy(row, x, raw->cols * sizeof *row);
        for (size_t i = 0; i < pixels; i++)
            for (uint32_t c = 0; c < p->channels; c++) x[c * pixels + i] = row[i * p->channels + c];
    }
    free(row);
    return MOT_OK;
}

enum mot_status mot_array_read(
    struct mot_source *s, const struct mot_array *a, const struct mot_read_conf *conf, struct mot_raw *out)
{
    enum mot_status status = check_size(s, a, conf);
    if (status != MOT_OK) return status;
    struct mot_raw raw = { .rows = (uint32_t)(a->rows < conf->rows ? a->rows : conf->rows),
        .cols = (uint32_t)a->cols };
    raw.picture = a->type.kind == MOT_NUMBER_UINT && a->type.bytes == 1;
    raw.geometry = geometry_of(a);
    bool turn = channels_last(a) && a->shape[3] > 1;
    if (a->fortran && a->rank > 1) status = read_columns(s, a, &raw);
    else {
        unsigned char *chunk = mot_new(CHUNK_BYTES, 1);
        status = read_rows(s, a, conf, chunk, &raw);
        free(chunk);
    }
    if (status == MOT_OK && turn) status = channels_first(&raw);
    if (status != MOT_OK) {
        mot_raw_free(&raw);
        return status;
    }
    *out = raw;
    return MOT_OK;
}

enum mot_status mot_array_read_labels(struct mot_source *s, const struct mot_array *a,
    const struct mot_read_conf *conf, uint64_t rows, struct mot_labels *out)
{
    enum mot_status status = check_size(s, a, conf);
    if (status != MOT_OK) return status;
    if (a->cols != 1)
        return mot_fail_at(
            s, mot_source_offset(s), "%llu labels per row, expected one", (unsigned long long)a->cols);
    if (a->rows != rows)
        return mot_fail_at(s, mot_source_offset(s),
            "%llu labels, expected %llu, one for each row of the features", (unsigned long long)a->rows,
            (unsigned long long)rows);
    struct mot_labels labels = { 0 };
    uint64_t take = rows < conf->rows ? rows : conf->rows;
    for (uint64_t r = 0; r < take && status == MOT_OK; r++) {
        unsigned char bytes[8];
        size_t got;
        status = mot_source_read(s, bytes, a->type.bytes, &got);
        if (status != MOT_OK) break;
        if (got < a->type.bytes) {
            status = fail_short(s, rows, a->type);
            break;
        }
        double value = number_at(bytes, a->type);
        if (!isfinite((float)value))
            status = fail_infinite(s, mot_source_offset(s) - a->type.bytes, r, a, value);
        else status = mot_labels_add_number(&labels, s, value, r);
    }
    if (status == MOT_OK && take == rows) status = check_end(s);
    if (status != MOT_OK) {
        mot_labels_free(&labels);
        return status;
    }
    *out = labels;
    return MOT_OK;
}

enum mot_status mot_array_read_set(struct mot_source *s, struct mot_source *labels,
    enum mot_status (*header)(struct mot_source *, struct mot_array *out), enum mot_format format,
    const struct mot_read_conf *conf, struct mot_raw *out)
{
    struct mot_array x, y;
    struct mot_raw raw;
    enum mot_status status = header(s, &x);
    if (status == MOT_OK) status = mot_array_read(s, &x, conf, &raw);
    if (status != MOT_OK) return status;
    raw.format = format;
    raw.labelled = !conf->unlabelled;
    if (raw.labelled) status = header(labels, &y);
    if (status == MOT_OK && raw.labelled)
        status = mot_array_read_labels(labels, &y, conf, x.rows, &raw.labels);
    if (status == MOT_OK) *out = raw;
    else mot_raw_free(&raw);
    return status;
}
