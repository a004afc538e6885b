/* libsvm.c -- "label index:value index:value ... # comment", one row per line. Rows stay sparse.
 *
 * Indices count from 1. Some files count from 0: if an index 0 appears anywhere, all indices of the file
 * count from 0. The format requires increasing indices. */
#include "data/formats.h"
#include "data/number.h"

#include <math.h>
#include <string.h>

_Static_assert(MOT_COLS_MAX == 134217728, "read_pair says so");

struct growing {
    struct mot_raw raw;
    uint64_t entries;
    uint32_t largest;
    bool zero;
};

static inline bool is_blank(char c) { return c == ' ' || c == '\t'; }
static inline bool is_end(char c) { return c == 0 || c == ' ' || c == '\t' || c == '#'; }

static enum mot_status fail_token(
    const struct mot_source *s, const char *p, const char *end, const char *expected)
{
    char clip[MOT_CLIP];
    size_t n = 0;
    while (p + n < end && !is_blank(p[n])) n++;
    return mot_fail_line(s, "found %s, expected %s", mot_clip(clip, sizeof clip, p, n), expected);
}

/* One "index:value"; *p moves behind it. */
static inline enum mot_status read_pair(
    const struct mot_source *s, const char **p, const char *end, uint32_t *index_out, float *value_out)
{
    const char *q = *p;
    uint64_t index = 0;
    for (; (unsigned char)(*q - '0') < 10; q++)
        if (index <= MOT_COLS_MAX) index = index * 10 + (uint64_t)(*q - '0');
    if (q == *p || *q != ':') {
        if (strncmp(*p, "qid:", 4) == 0)
            return fail_token(s, *p, end, "index:value: ranking data (qid) is not supported");
        return fail_token(s, *p, end, "index:value");
    }
    if (index > MOT_COLS_MAX - 1) return fail_token(s, *p, end, "an index below 134217728");
    float value;
    const char *after = mot_scan_float(q + 1, '.', &value);
    if (after == q + 1 || !is_end(*after) || (*after == 0 && after < end))
        return fail_token(s, *p, end, "index:value with a finite number as value");
    if (!isfinite(value)) return fail_token(s, *p, end, "a value that fits a 32-bit float");
    *p = after;
    *index_out = (uint32_t)index;
    *value_out = value;
    return MOT_OK;
}

static enum mot_status read_label(
    struct growing *g, const struct mot_source *s, const char **p, const char *end)
{
    const char *q = *p;
    while (q < end && !is_end(*q)) q++;
    double value;
    if (!mot_is_number(*p, (size_t)(q - *p), '.', &value) || !isfinite((float)value))
        return fail_token(s, *p, end, "a number as the label");
    enum mot_status status =
        mot_labels_add(&g->raw.labels, s, *p, (size_t)(q - *p), '.', mot_source_line_number(s));
    *p = q;
    return status;
}

static enum mot_status read_row(
    struct growing *g, const struct mot_source *s, const char *p, const char *end, uint64_t memory)
{
    struct mot_raw *raw = &g->raw;
    enum mot_status status = read_label(g, s, &p, end);
    if (status == MOT_OK)
        status = mot_raw_room(s, (void **)&raw->row_at, &raw->row_at_room, (uint64_t)raw->rows + 2,
            sizeof *raw->row_at, memory);
    if (status != MOT_OK) return status;
    int64_t before = -1;
    for (;;) {
        while (is_blank(*p)) p++;
        if (p == end || *p == '#') break;
        uint32_t index = 0;
        float value = 0;
        const char *token = p;
        status = read_pair(s, &p, end, &index, &value);
        if (status != MOT_OK) return status;
        if ((int64_t)index <= before) {
            char expected[64];
            snprintf(expected, sizeof expected, "an index above %lld, since indices must increase",
                (long long)before);
            return fail_token(s, token, end, expected);
        }
        if (g->entries == raw->col_room || g->entries == raw->val_room) {
            status =
                mot_raw_room(s, (void **)&raw->col, &raw->col_room, g->entries + 1, sizeof *raw->col, memory);
            if (status == MOT_OK)
                status = mot_raw_room(
                    s, (void **)&raw->val, &raw->val_room, g->entries + 1, sizeof *raw->val, memory);
            if (status != MOT_OK) return status;
        }
        raw->col[g->entries] = index;
        raw->val[g->entries++] = value;
        before = index;
        if (index > g->largest) g->largest = index;
        if (index == 0) g->zero = true;
    }
    raw->row_at[++raw->rows] = g->entries;
    return MOT_OK;
}

/* Tables count columns from 0, whatever the file does. */
static enum mot_status settle_base(struct growing *g, const struct mot_source *s, enum mot_index_base base)
{
    struct mot_raw *raw = &g->raw;
    if (g->zero && base == MOT_INDEX_ONE)
        return mot_fail(MOT_EDATA, "%s: has an index 0, expected indices from 1 as in the training file",
            mot_source_name(s));
    raw->from_zero = g->zero || base == MOT_INDEX_ZERO;
    raw->cols = g->entries == 0 ? 0 : g->largest + raw->from_zero;
    if (!raw->from_zero)
        for (uint64_t i = 0; i < g->entries; i++) raw->col[i]--;
    if (raw->cols == 0)
        return mot_fail(
            MOT_EDATA, "%s: no row has a feature, expected index:value after a label", mot_source_name(s));
    return MOT_OK;
}

enum mot_status mot_read_libsvm(struct mot_source *s, const struct mot_read_conf *conf, struct mot_raw *out)
{
    struct growing g = { .raw = { .sparse = true, .labelled = true, .format = MOT_FORMAT_LIBSVM } };
    enum mot_status status =
        mot_raw_room(s, (void **)&g.raw.row_at, &g.raw.row_at_room, 2, sizeof *g.raw.row_at, conf->memory);
    if (status == MOT_OK) g.raw.row_at[0] = 0;
    while (status == MOT_OK && g.raw.rows < conf->rows) {
        char *line;
        size_t n;
        status = mot_source_line(s, &line, &n);
        if (status != MOT_OK || !line) break;
        const char *p = line, *end = line + n;
        if (mot_source_line_number(s) == 1 && n >= 3 && memcmp(line, "\xEF\xBB\xBF", 3) == 0) p += 3;
        while (is_blank(*p)) p++;
        if (p == end || *p == '#') continue; /* nothing, or only a comment */
        if (g.raw.rows == MOT_ROWS_MAX) status = mot_fail_line(s, "more than %u rows", MOT_ROWS_MAX);
        else status = read_row(&g, s, p, end, conf->memory);
    }
    if (status == MOT_OK && g.raw.rows == 0)
        status = mot_fail(MOT_EDATA, "%s: no rows, expected 'label index:value ...'", mot_source_name(s));
    if (status == MOT_OK) status = settle_base(&g, s, conf->base);
    if (status != MOT_OK) {
        mot_raw_free(&g.raw);
        return status;
    }
    *out = g.raw;
    return MOT_OK;
}
