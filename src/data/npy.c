/* npy.c -- NumPy's format: \x93NUMPY, version, length of a header, which is a Python
 * dictionary such as {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 784), }. */
#include "base/memory.h"
#include "data/formats.h"
#include "data/number.h"
#include <stdlib.h>
#include <string.h>

#define HEADER_MAX (UINT32_C(1) << 20)
#define RANK_MAX 16

static const char *blanks(const char *p)
{
    while (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r') p++;
    return p;
}

/* The value of a key, or NULL. Keys and values of the header hold no quotes inside quotes. */
static const char *value_of(const char *header, const char *key)
{
    size_t n = strlen(key);
    for (const char *p = header; (p = strpbrk(p, "'\"")) != NULL;) {
        char quote = *p++;
        const char *end = strchr(p, quote);
        if (!end) return NULL;
        const char *after = blanks(end + 1);
        if ((size_t)(end - p) == n && memcmp(p, key, n) == 0 && *after == ':') return blanks(after + 1);
        p = end + 1;
    }
    return NULL;
}

static enum mot_status npy_type(const struct mot_source *s, const char *value, struct mot_number_type *out)
{
    static const char expected[] = "one of f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1, after <, > or |";
    char clip[MOT_CLIP];
    size_t n = value ? strcspn(value, ",}") : 0;
    if (!value) return mot_fail_at(s, 10, "the NPY header has no 'descr', expected %s", expected);
    if ((*value != '\'' && *value != '"') || n < 5 || !strchr("<>|=", value[1]) || value[4] != *value)
        return mot_fail_at(
            s, 10, "NPY type %s, expected %s", mot_clip(clip, sizeof clip, value, n), expected);
    char kind = value[2];
    uint32_t bytes = (uint32_t)(value[3] - '0');
    bool whole = (kind == 'i' || kind == 'u') && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8);
    if (!(whole || (kind == 'f' && (bytes == 4 || bytes == 8)) || (kind == 'b' && bytes == 1)))
        return mot_fail_at(
            s, 10, "NPY type %s, expected %s", mot_clip(clip, sizeof clip, value, n), expected);
    out->kind = kind == 'i' ? MOT_NUMBER_INT
        : kind == 'u'       ? MOT_NUMBER_UINT
        : kind == 'f'       ? MOT_NUMBER_REAL
                            : MOT_NUMBER_BOOL;
    out->bytes = bytes;
    out->big_endian = value[1] == '>';
    return MOT_OK;
}

static enum mot_status npy_shape(const struct mot_source *s, const char *value, struct mot_array *a)
{
    char clip[MOT_CLIP];
    if (!value || *value != '(')
        return mot_fail_at(s, 10, "NPY shape %s, expected such as (100, 20)",
            mot_clip(clip, sizeof clip, value ? value : "", value ? strcspn(value, "}") : 0));
    a->rows = a->cols = 1;
    const char *p = blanks(value + 1);
    for (a->rank = 0; *p != ')'; a->rank++) {
        uint64_t n = 0;
        const char *digit = p;
        for (; *p >= '0' && *p <= '9'; p++) n = n > UINT64_MAX / 100 ? n : n * 10 + (uint64_t)(*p - '0');
        if (p == digit || a->rank == RANK_MAX || (*blanks(p) != ',' && *blanks(p) != ')'))
            return mot_fail_at(s, 10, "NPY shape %s, expected such as (100, 20)",
                mot_clip(clip, sizeof clip, value, strcspn(value, "}")));
        if (a->rank == 0) a->rows = n;
        else if (n && a->cols > MOT_COLS_MAX / n)
            return mot_fail_at(s, 10, "NPY shape %s: over %u columns",
                mot_clip(clip, sizeof clip, value, strcspn(value, "}")), MOT_COLS_MAX);
        else a->cols *= n;
        a->shape[a->rank] = (uint32_t)n; /* of cols: checked above */
        p = blanks(p);
        if (*p == ',') p = blanks(p + 1);
    }
    if (a->rank == 0) return mot_fail_at(s, 10, "NPY shape () is a single number, expected rows");
    return MOT_OK;
}

static enum mot_status parse_header(const struct mot_source *s, const char *header, struct mot_array *out)
{
    struct mot_array a = { 0 };
    char clip[MOT_CLIP];
    enum mot_status status = npy_type(s, value_of(header, "descr"), &a.type);
    if (status == MOT_OK) status = npy_shape(s, value_of(header, "shape"), &a);
    if (status != MOT_OK) return status;
    const char *fortran = value_of(header, "fortran_order");
    if (fortran && strncmp(fortran, "True", 4) == 0) a.fortran = true;
    else if (!fortran || strncmp(fortran, "False", 5) != 0)
        return mot_fail_at(s, 10, "NPY fortran_order %s, expected True or False",
            mot_clip(clip, sizeof clip, fortran ? fortran : "", fortran ? strcspn(fortran, ",}") : 0));
    if (a.fortran && a.rank > 2)
        return mot_fail_at(
            s, 10, "Fortran order with %u dimensions, expected at most 2: save it in C order", a.rank);
    *out = a;
    return MOT_OK;
}

static enum mot_status npy_header(struct mot_source *s, struct mot_array *out)
{
    unsigned char head[12];
    size_t got;
    enum mot_status status = mot_source_read(s, head, 8, &got);
    if (status != MOT_OK) return status;
    if (got < 8)
        return mot_fail_at(s, got, "the file ends inside the NPY magic, expected 8 bytes: truncated");
    if (memcmp(head, "\x93NUMPY", 6) != 0)
        return mot_fail_at(s, 0,
            "the file begins with %02x %02x %02x %02x, expected the NPY magic 93 4e 55 4d", head[0], head[1],
            head[2], head[3]);
    if (head[6] < 1 || head[6] > 3)
        return mot_fail_at(s, 6, "NPY version %u.%u, expected 1, 2 or 3", head[6], head[7]);
    size_t width = head[6] == 1 ? 2 : 4;
    status = mot_source_read(s, head + 8, width, &got);
    if (status != MOT_OK) return status;
    if (got < width)
        return mot_fail_at(s, 8 + got,
            "the file ends inside the length of the NPY header, expected %zu bytes: truncated", width);
    uint32_t n = (uint32_t)head[8] | (uint32_t)head[9] << 8;
    if (width == 4) n |= (uint32_t)head[10] << 16 | (uint32_t)head[11] << 24;
    if (n > HEADER_MAX || n > mot_source_left(s))
        return mot_fail_at(s, 8,
            "an NPY header of %u bytes, expected at most %u and no more than the file holds", n, HEADER_MAX);
    char *header = mot_new((size_t)n + 1, 1);
    status = mot_source_read(s, header, n, &got);
    if (status == MOT_OK && got < n)
        status = mot_fail_at(
            s, mot_source_offset(s), "the file ends inside the NPY header, expected %u bytes: truncated", n);
    if (status == MOT_OK) status = parse_header(s, header, out);
    free(header);
    return status;
}

/* ---- row numbers ------------------------------------------------------------------ */

static int64_t whole_number(const unsigned char *p, const struct mot_number_type *type)
{
    uint64_t v = 0;
    for (uint32_t i = 0; i < type->bytes; i++) v = v << 8 | p[type->big_endian ? i : type->bytes - 1 - i];
    bool negative = type->kind == MOT_NUMBER_INT && v >> (8 * type->bytes - 1);
    if (negative && type->bytes < 8) v |= UINT64_MAX << (8 * type->bytes);
    if (type->kind == MOT_NUMBER_UINT && v > INT64_MAX) v = INT64_MAX;
    return (int64_t)v;
}

enum mot_status mot_read_npy_rows(struct mot_source *s, uint64_t most, uint32_t **row_out, uint32_t *n_out)
{
    struct mot_array a;
    enum mot_status status = npy_header(s, &a);
    if (status != MOT_OK) return status;
    if (a.rank != 1 || (a.type.kind != MOT_NUMBER_INT && a.type.kind != MOT_NUMBER_UINT))
        return mot_fail_at(s, 10,
            "an array of %u dimensions%s, expected row numbers: one dimension of whole numbers", a.rank,
            a.type.kind == MOT_NUMBER_REAL ? " of floats" : "");
    if (a.rows > most || a.rows > MOT_ROWS_MAX)
        return mot_fail_at(s, 10, "%llu row numbers, expected at most %llu", (unsigned long long)a.rows,
            (unsigned long long)most);
    if (a.rows > mot_source_left(s) / a.type.bytes)
        return mot_fail_at(s, mot_source_offset(s),
            "the header promises %llu numbers of %u bytes, more than the file holds: truncated",
            (unsigned long long)a.rows, a.type.bytes);
    uint32_t *row = mot_new_large((size_t)a.rows + 1, sizeof *row);
    if (!row) return mot_memory_status();
    for (uint32_t i = 0; i < a.rows && status == MOT_OK; i++) {
        unsigned char bytes[8];
        size_t got;
        uint64_t offset = mot_source_offset(s);
        status = mot_source_read(s, bytes, a.type.bytes, &got);
        if (status != MOT_OK) break;
        int64_t v = got == a.type.bytes ? whole_number(bytes, &a.type) : 0;
        if (got < a.type.bytes)
            status = mot_fail_at(s, offset, "the file ends after %u of %llu row numbers: truncated", i,
                (unsigned long long)a.rows);
        else if (v < 0 || v >= MOT_ROWS_MAX)
            status = mot_fail_at(
                s, offset, "row number %lld, expected 0 or more, below %u", (long long)v, MOT_ROWS_MAX);
        row[i] = (uint32_t)v;
    }
    if (status != MOT_OK) {
        free(row);
        return status;
    }
    *row_out = row;
    *n_out = (uint32_t)a.rows;
    return MOT_OK;
}

/* ------------------------------------------------------------------------------------ */

enum mot_status mot_read_npy(
    struct mot_source *s, struct mot_source *labels, const struct mot_read_conf *conf, struct mot_raw *out)
{
    return mot_array_read_set(s, labels, npy_header, MOT_FORMAT_NPY, conf, out);
}
