/* job_trace.c -- recorded job times: a CSV with one row per iteration, one column per node, in seconds. */
#include "base/file.h"
#include "base/words.h"
#include "cluster/cluster.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TRACE_BYTES_MAX (256u << 20)
#define TRACE_COLUMNS_MAX 100000

struct csv {
    const char *path, *at;
    uint32_t line;
};

/* The end of the cell that begins at `at`. */
static const char *cell_end(const char *at)
{
    while (*at && *at != ',' && *at != '\n') at++;
    return at;
}

static uint32_t count_cells(const char *at)
{
    uint32_t cells = 1;
    for (; *at && *at != '\n'; at++) cells += *at == ',' && cells <= TRACE_COLUMNS_MAX;
    return cells;
}

static bool read_cell(const char *at, const char *end, double *out)
{
    char text[64];
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    while (end > at && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r')) end--;
    size_t n = (size_t)(end - at);
    if (n == 0 || n >= sizeof text) return false;
    memcpy(text, at, n);
    text[n] = '\0';
    return mot_read_real(text, out); /* strtod would follow the host program's locale */
}

static enum mot_status bad_cell(const struct csv *csv, uint32_t column, const char *at)
{
    int n = (int)(cell_end(at) - at);
    while (n > 0 && at[n - 1] == '\r') n--;
    return mot_fail(MOT_EUSAGE, "%s:%u: column %u: found '%.*s', expected a time in seconds, 0 or more",
        csv->path, csv->line, column, n > 40 ? 40 : n, at);
}

/* Reads one line into `out` without its first `skip` cells. */
static enum mot_status read_line(struct csv *csv, uint32_t skip, uint32_t cols, double *out)
{
    uint32_t cells = count_cells(csv->at);
    if (cells != skip + cols)
        return mot_fail(MOT_EUSAGE, "%s:%u: found %u columns, expected %u as in the first line", csv->path,
            csv->line, cells, skip + cols);
    for (uint32_t c = 0; c < cells; c++) {
        const char *end = cell_end(csv->at);
        double seconds;
        if (c >= skip) {
            if (!read_cell(csv->at, end, &seconds) || !(seconds >= 0) || isinf(seconds))
                return bad_cell(csv, c + 1, csv->at);
            out[c - skip] = seconds;
        }
        csv->at = *end ? end + 1 : end;
    }
    return MOT_OK;
}

static bool is_blank(const char *at)
{
    while (*at == ' ' || *at == '\r' || *at == '\t') at++;
    return *at == '\n' || !*at;
}

static void next_line(struct csv *csv)
{
    while (*csv->at && *csv->at != '\n') csv->at++;
    if (*csv->at) csv->at++;
    csv->line++;
}

/* Names begin with a letter or a quote; so does nan, but that is a damaged number. */
static bool is_header(const char *at)
{
    while (*at == ' ' || *at == '\t') at++;
    bool word = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || *at == '_' || *at == '"' ||
        *at == '\'' || (unsigned char)*at >= 0x80;
    return word && strncasecmp(at, "nan", 3) != 0 && strncasecmp(at, "inf", 3) != 0;
}

/* The header's names, without surrounding blanks and quotes. */
static const char *const *read_names(const char *at, uint32_t skip, uint32_t cols, struct mot_arena *arena)
{
    const char **name = mot_arena_new(arena, cols * sizeof *name);
    for (uint32_t c = 0; c < skip + cols; c++) {
        const char *end = cell_end(at), *next = *end ? end + 1 : end;
        while (at < end && (*at == ' ' || *at == '\t')) at++;
        while (end > at && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r')) end--;
        if (end - at >= 2 && (*at == '"' || *at == '\'') && end[-1] == *at) at++, end--;
        if (c >= skip) name[c - skip] = mot_arena_take(arena, mot_format("%.*s", (int)(end - at), at));
        at = next;
    }
    return name;
}

static enum mot_status parse(struct csv *csv, struct mot_arena *arena, const struct mot_trace **out)
{
    bool header = is_header(csv->at);
    uint32_t skip = header && strncmp(csv->at, "iteration,", 10) == 0;
    uint32_t cells = count_cells(csv->at), cols = cells - skip;
    if (is_blank(csv->at))
        return mot_fail(
            MOT_EUSAGE, "%s:%u: found an empty line, expected job times in seconds", csv->path, csv->line);
    if (cells > TRACE_COLUMNS_MAX)
        return mot_fail(
            MOT_EUSAGE, "%s:%u: found more than %d columns", csv->path, csv->line, TRACE_COLUMNS_MAX);
    const char *const *name = header ? read_names(csv->at, skip, cols, arena) : NULL;
    if (header) next_line(csv);
    double *seconds = NULL;
    size_t rows = 0, room = 0;
    enum mot_status status = MOT_OK;
    for (; *csv->at; csv->line++) {
        if (is_blank(csv->at)) {
            next_line(csv);
            csv->line--;
            continue;
        }
        if (rows == room) {
            room = room ? 2 * room : 64;
            double *more = mot_grow_large(seconds, room * cols, sizeof *seconds);
            if (!more) {
                status = mot_memory_status();
                goto out_free;
            }
            seconds = more;
        }
        if ((status = read_line(csv, skip, cols, seconds + rows * cols))) goto out_free;
        rows++;
    }
    if (rows == 0) {
        status = mot_fail(MOT_EUSAGE, "%s: found no rows, expected job times in seconds", csv->path);
        goto out_free;
    }
    struct mot_trace *trace = mot_arena_new(arena, sizeof *trace);
    double *kept = mot_arena_new_large(arena, rows * cols * sizeof *kept);
    if (!kept) {
        status = mot_memory_status();
        goto out_free;
    }
    memcpy(kept, seconds, rows * cols * sizeof *kept);
    *trace = (struct mot_trace){ (uint32_t)rows, cols, kept, name };
    *out = trace;
out_free:
    free(seconds);
    return status;
}

enum mot_status mot_trace_parse(
    const char *name, const char *text, size_t n, struct mot_arena *arena, const struct mot_trace **out)
{
    struct csv csv = { name, text, 1 };
    if (memchr(text, 0, n)) return mot_fail(MOT_EUSAGE, "%s: found a zero byte, expected CSV text", name);
    return parse(&csv, arena, out);
}

enum mot_status mot_trace_read(const char *path, struct mot_arena *arena, const struct mot_trace **out)
{
    unsigned char *bytes;
    size_t n;
    enum mot_status status = mot_file_read(path, TRACE_BYTES_MAX, &bytes, &n);
    if (status != MOT_OK) return status;
    status = mot_trace_parse(path, (const char *)bytes, n, arena, out);
    free(bytes);
    return status;
}
