/* write.c -- tables back into files, for `motley data convert`. A file appears complete or not at all. */
#include "base/csv_field.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/formats.h"
#include "data/number.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define BUFFER_BYTES 65536

struct out {
    struct mot_replace file;
    bool packed, failed;
    z_stream z;
    unsigned char raw[BUFFER_BYTES], deflated[BUFFER_BYTES];
    size_t n;
};

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static enum mot_status out_open(const char *path, struct out **out)
{
    struct out *o = mot_new(1, sizeof *o);
    enum mot_status status = mot_replace_begin(path, &o->file);
    if (status != MOT_OK) {
        free(o);
        return status;
    }
    o->packed = ends_with(path, ".gz");
    if (o->packed && deflateInit2(&o->z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        mot_replace_abandon(&o->file);
        free(o);
        return mot_fail(MOT_ESYSTEM, "%s: cannot start zlib", path);
    }
    *out = o;
    return MOT_OK;
}

static void flush(struct out *o, bool last)
{
    if (!o->packed) o->failed |= fwrite(o->raw, 1, o->n, o->file.out) != o->n;
    o->z.next_in = o->raw;
    o->z.avail_in = (uInt)o->n;
    for (bool more = o->packed; more && !o->failed;) {
        o->z.next_out = o->deflated;
        o->z.avail_out = BUFFER_BYTES;
        int said = deflate(&o->z, last ? Z_FINISH : Z_NO_FLUSH);
        size_t made = BUFFER_BYTES - o->z.avail_out;
        o->failed |= fwrite(o->deflated, 1, made, o->file.out) != made;
        more = last ? said != Z_STREAM_END : o->z.avail_in > 0 || o->z.avail_out == 0;
    }
    o->n = 0;
}

static void put(struct out *o, const void *bytes, size_t n)
{
    for (const unsigned char *p = bytes; n;) {
        if (o->n == BUFFER_BYTES) flush(o, false);
        size_t part = n < BUFFER_BYTES - o->n ? n : BUFFER_BYTES - o->n;
        memcpy(o->raw + o->n, p, part);
        o->n += part;
        p += part;
        n -= part;
    }
}

static void put_text(struct out *o, const char *text) { put(o, text, strlen(text)); }

/* Renames the file into place, unless `status` says that the caller failed. */
static enum mot_status out_close(struct out *o, enum mot_status status)
{
    if (status == MOT_OK) flush(o, true);
    if (o->packed) deflateEnd(&o->z);
    if (status == MOT_OK && o->failed)
        status = mot_fail(MOT_ESYSTEM, "%s: cannot write: %s", o->file.path, strerror(errno));
    if (status == MOT_OK) status = mot_replace_commit(&o->file);
    else mot_replace_abandon(&o->file);
    free(o);
    return status;
}

/* ---- LIBSVM ------------------------------------------------------------------------- */

static enum mot_status write_libsvm(const struct mot_raw *raw, const char *path, struct out *o)
{
    char text[64], label[40];
    if (!raw->labelled || raw->labels.words)
        return mot_fail(MOT_EDATA, "%s: LIBSVM needs a number as the label of each row, but these are %s",
            path, raw->labelled ? "words" : "not there");
    for (uint32_t r = 0; r < raw->rows; r++) {
        double value;
        const char *spelt = mot_raw_label(raw, r, label);
        if (!mot_is_number(spelt, strlen(spelt), '.', &value)) {
            mot_print_float(label, sizeof label, (float)raw->labels.value[r]);
            spelt = label;
        }
        put_text(o, spelt);
        uint64_t begin = raw->sparse ? raw->row_at[r] : (uint64_t)r * raw->cols,
                 n = raw->sparse ? raw->row_at[r + 1] - begin : raw->cols;
        for (uint64_t i = 0; i < n; i++) {
            float number = raw->sparse ? raw->val[begin + i] : raw->x[begin + i];
            /* an explicit zero keeps the number of columns */
            bool corner = !raw->sparse && r == 0 && i + 1 == n;
            if (!raw->sparse && number == 0 && !corner) continue;
            int length = snprintf(
                text, sizeof text, " %llu:", (unsigned long long)(raw->sparse ? raw->col[begin + i] : i) + 1);
            length += mot_print_float(text + length, sizeof text - (size_t)length, number);
            put(o, text, (size_t)length);
        }
        put(o, "\n", 1);
    }
    return MOT_OK;
}

/* ---- CSV ------------------------------------------------------------------------------- */

/* Outside quotes there is no character that a reader could take for the separator. */
static void put_cell(struct out *o, const char *text)
{
    char *field = mot_csv_field(text, ", ;\t");
    put_text(o, field);
    free(field);
}

static enum mot_status write_csv(const struct mot_raw *raw, struct out *o)
{
    char text[64];
    float *scratch = mot_new(raw->cols, sizeof *scratch);
    for (uint32_t c = 0; c < raw->cols; c++) {
        snprintf(text, sizeof text, "x%u", c);
        if (c) put(o, ",", 1);
        put_cell(o, raw->column_names ? raw->column_names[c] : text);
    }
    if (raw->labelled) {
        put(o, ",", 1);
        put_cell(o, raw->label_name ? raw->label_name : "label");
    }
    put(o, "\n", 1);
    for (uint32_t r = 0; r < raw->rows; r++) {
        const float *x = mot_raw_row(raw, r, scratch);
        for (uint32_t c = 0; c < raw->cols; c++) {
            if (c) put(o, ",", 1);
            put(o, text, (size_t)mot_print_float(text, sizeof text, x[c]));
        }
        if (raw->labelled) {
            put(o, ",", 1);
            put_cell(o, mot_raw_label(raw, r, text));
        }
        put(o, "\n", 1);
    }
    free(scratch);
    return MOT_OK;
}

/* ---- NPY and IDX: features in one file, labels in another --------------------------------- */

static void put_npy_header(struct out *o, const char *type, const char *shape)
{
    char header[256];
    int n = snprintf(
        header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type, shape);
    size_t whole = (10 + (size_t)n + 1 + 63) / 64 * 64 - 10; /* numbers begin at a multiple of 64 */
    unsigned char head[10] = { 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(whole & 255),
        (unsigned char)(whole >> 8) };
    put(o, head, sizeof head);
    put(o, header, (size_t)n);
    for (size_t i = (size_t)n; i + 1 < whole; i++) put(o, " ", 1);
    put(o, "\n", 1);
}

static void put_u32_big(struct out *o, uint32_t v)
{
    unsigned char b[4] = { (unsigned char)(v >> 24), (unsigned char)(v >> 16), (unsigned char)(v >> 8),
        (unsigned char)v };
    put(o, b, 4);
}

/* The dimensions of rows as readers take them: height and width of pictures with one channel, channels before
 * them with more, or else the columns. */
static uint32_t dimensions(const struct mot_raw *raw, uint32_t out[4])
{
    const struct mot_picture *p = &raw->geometry;
    uint32_t n = 1;
    out[0] = raw->rows;
    if (raw->sparse || p->channels == 0) {
        out[n++] = raw->cols;
        return n;
    }
    if (p->channels > 1) out[n++] = p->channels;
    out[n++] = p->height, out[n++] = p->width;
    return n;
}

static enum mot_status write_npy(const struct mot_raw *raw, struct out *o)
{
    char shape[64];
    uint32_t size[4], rank = dimensions(raw, size);
    float *scratch = mot_new(raw->cols, sizeof *scratch);
    int used = snprintf(shape, sizeof shape, "(%u", size[0]);
    for (uint32_t d = 1; d < rank; d++)
        used +=
            snprintf(shape + used, sizeof shape - (size_t)used, ", %u%s", size[d], d + 1 == rank ? ")" : "");
    put_npy_header(o, "<f4", shape);
    for (uint32_t r = 0; r < raw->rows; r++)
        put(o, mot_raw_row(raw, r, scratch), (size_t)raw->cols * sizeof(float));
    free(scratch);
    return MOT_OK;
}

static enum mot_status write_npy_labels(const struct mot_raw *raw, const char *path, struct out *o)
{
    char shape[64];
    if (raw->labels.words)
        return mot_fail(MOT_EDATA, "%s: NPY labels are numbers, but these are words: convert to CSV", path);
    snprintf(shape, sizeof shape, "(%u,)", raw->rows);
    put_npy_header(o, raw->labels.fractions ? "<f8" : "<i8", shape);
    for (uint32_t r = 0; r < raw->rows; r++) {
        int64_t whole = raw->labels.fractions ? 0 : (int64_t)raw->labels.value[r];
        put(o, raw->labels.fractions ? (const void *)&raw->labels.value[r] : &whole, 8);
    }
    return MOT_OK;
}

enum mot_status mot_write_npy_rows(const char *path, const uint32_t *row, uint32_t n)
{
    struct out *o;
    char shape[64];
    enum mot_status status = out_open(path, &o);
    if (status != MOT_OK) return status;
    snprintf(shape, sizeof shape, "(%u,)", n);
    put_npy_header(o, "<i8", shape);
    for (uint32_t i = 0; i < n; i++) {
        unsigned char number[8] = { (unsigned char)row[i], (unsigned char)(row[i] >> 8),
            (unsigned char)(row[i] >> 16), (unsigned char)(row[i] >> 24) };
        put(o, number, sizeof number);
    }
    return out_close(o, MOT_OK);
}

static bool is_byte(double v) { return v >= 0 && v <= 255 && v == floor(v); }

static enum mot_status write_idx(const struct mot_raw *raw, const char *path, struct out *o)
{
    uint32_t size[4], rank = dimensions(raw, size);
    const unsigned char magic[4] = { 0, 0, 8, (unsigned char)rank };
    float *scratch = mot_new(raw->cols, sizeof *scratch);
    put(o, magic, 4);
    for (uint32_t d = 0; d < rank; d++) put_u32_big(o, size[d]);
    enum mot_status status = MOT_OK;
    for (uint32_t r = 0; r < raw->rows && status == MOT_OK; r++) {
        const float *x = mot_raw_row(raw, r, scratch);
        for (uint32_t c = 0; c < raw->cols && status == MOT_OK; c++) {
            unsigned char byte = is_byte((double)x[c]) ? (unsigned char)x[c] : 0;
            if (!is_byte((double)x[c]))
                status = mot_fail(MOT_EDATA,
                    "%s: row %u, column %u is %g, expected whole numbers from 0 to 255 for IDX: convert to "
                    "NPY",
                    path, r, c, (double)x[c]);
            put(o, &byte, 1);
        }
    }
    free(scratch);
    return status;
}

static enum mot_status write_idx_labels(const struct mot_raw *raw, const char *path, struct out *o)
{
    static const unsigned char magic[4] = { 0, 0, 8, 1 };
    put(o, magic, 4);
    put_u32_big(o, raw->rows);
    for (uint32_t r = 0; r < raw->rows; r++) {
        double v = raw->labels.words ? -1 : raw->labels.value[r];
        if (!is_byte(v))
            return mot_fail(MOT_EDATA,
                "%s: the label of row %u is not a whole number from 0 to 255, as IDX needs", path, r);
        unsigned char byte = (unsigned char)v;
        put(o, &byte, 1);
    }
    return MOT_OK;
}

/* ------------------------------------------------------------------------------------------- */

static enum mot_status write_features(
    const struct mot_raw *raw, const char *path, enum mot_format format, struct out *o)
{
    switch (format) {
    case MOT_FORMAT_AUTO: break;
    case MOT_FORMAT_LIBSVM: return write_libsvm(raw, path, o);
    case MOT_FORMAT_CSV: return write_csv(raw, o);
    case MOT_FORMAT_NPY: return write_npy(raw, o);
    case MOT_FORMAT_IDX: return write_idx(raw, path, o);
    case MOT_FORMAT_NPZ:
    case MOT_FORMAT_CIFAR10:
    case MOT_FORMAT_CIFAR100: break; /* are only read */
    }
    return mot_fail(MOT_EUSAGE, "%s: no format to write", path);
}

/* Both files or none: neither is renamed into place before both are written. */
enum mot_status mot_raw_write(
    const struct mot_raw *raw, const char *path, const char *labels_path, enum mot_format format)
{
    struct out *x, *y;
    char *usual = labels_path ? NULL : mot_labels_path(path, format);
    if (!labels_path) labels_path = usual;
    bool pair = raw->labelled && (format == MOT_FORMAT_NPY || format == MOT_FORMAT_IDX);
    enum mot_status status = out_open(path, &x);
    if (status != MOT_OK) goto out_free_usual;
    status = pair ? out_open(labels_path, &y) : MOT_OK;
    if (status != MOT_OK) {
        out_close(x, status);
        goto out_free_usual;
    }
    if (pair)
        status = format == MOT_FORMAT_NPY ? write_npy_labels(raw, labels_path, y)
                                          : write_idx_labels(raw, labels_path, y);
    if (status == MOT_OK) status = write_features(raw, path, format, x);
    if (pair) status = out_close(y, status);
    status = out_close(x, status);
out_free_usual:
    free(usual);
    return status;
}
