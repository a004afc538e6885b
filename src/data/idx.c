/* idx.c -- the format of MNIST: two zero bytes, a type, the number of dimensions, each
 * dimension as a big-endian u32, then the numbers, big-endian, row after row. */
#include "data/formats.h"

static bool idx_type(unsigned char code, struct mot_number_type *out)
{
    static const struct {
        unsigned char code;
        struct mot_number_type type;
    } types[] = {
        { 0x08, { MOT_NUMBER_UINT, 1, true } },
        { 0x09, { MOT_NUMBER_INT, 1, true } },
        { 0x0B, { MOT_NUMBER_INT, 2, true } },
        { 0x0C, { MOT_NUMBER_INT, 4, true } },
        { 0x0D, { MOT_NUMBER_REAL, 4, true } },
        { 0x0E, { MOT_NUMBER_REAL, 8, true } },
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].code == code) {
            *out = types[i].type;
            return true;
        }
    return false;
}

static enum mot_status read_exact(struct mot_source *s, unsigned char *into, size_t n, const char *what)
{
    size_t got;
    enum mot_status status = mot_source_read(s, into, n, &got);
    if (status == MOT_OK && got < n)
        return mot_fail_at(
            s, mot_source_offset(s), "the file ends inside %s, expected %zu bytes: truncated", what, n);
    return status;
}

static enum mot_status idx_header(struct mot_source *s, struct mot_array *out)
{
    unsigned char magic[4], size[4];
    enum mot_status status = read_exact(s, magic, 4, "the IDX magic");
    if (status != MOT_OK) return status;
    if (magic[0] || magic[1])
        return mot_fail_at(
            s, 0, "the file begins with %02x %02x, expected the IDX magic 00 00", magic[0], magic[1]);
    struct mot_array a = { .rows = 1, .cols = 1, .rank = magic[3] };
    if (!idx_type(magic[2], &a.type))
        return mot_fail_at(s, 2, "IDX type 0x%02x, expected 0x08, 0x09, 0x0b, 0x0c, 0x0d or 0x0e", magic[2]);
    if (a.rank < 1 || a.rank > 8) return mot_fail_at(s, 3, "%u dimensions, expected 1 to 8", a.rank);
    for (uint32_t d = 0; d < a.rank; d++) {
        status = read_exact(s, size, 4, "the IDX dimensions");
        if (status != MOT_OK) return status;
        uint64_t n = (uint64_t)size[0] << 24 | (uint64_t)size[1] << 16 | (uint64_t)size[2] << 8 | size[3];
        if (d == 0) a.rows = n;
        else if (n && a.cols > MOT_COLS_MAX / n)
            return mot_fail_at(s, mot_source_offset(s) - 4, "dimension %u is %llu: over %u columns", d,
                (unsigned long long)n, MOT_COLS_MAX);
        else a.cols *= n;
        a.shape[d] = (uint32_t)n;
    }
    *out = a;
    return MOT_OK;
}

enum mot_status mot_read_idx(
    struct mot_source *s, struct mot_source *labels, const struct mot_read_conf *conf, struct mot_raw *out)
{
    return mot_array_read_set(s, labels, idx_header, MOT_FORMAT_IDX, conf, out);
}
