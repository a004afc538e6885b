/* shared.c -- shared.csv: which rows each worker sent to whom, and when.
 *
 * A line is a message: `time_s,round,from,to,rows`, the rows by their numbers in the data file, from 0, with
 * spaces between them. A resumed run repeats the rounds after its checkpoint, so the first that it
 * comes to cuts the file. Several processes write one file each, as for records. */
#include "report/report.h"

#include "base/file.h"
#include "base/memory.h"
#include "report/json.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADER "time_s,round,from,to,rows\n"
#define ROWS_AT_ONCE 256u
#define BYTES_MOST ((size_t)1 << 34)

struct mot_shared_rows {
    const struct mot_problem *problem;
    char *path;
    FILE *out; /* NULL: nothing was shared yet */
    bool resume;
    int trouble; /* the errno of the first write that failed */
};

struct mot_shared_rows *mot_shared_rows_open(
    const char *folder, uint32_t rank, const struct mot_problem *problem, bool resume)
{
    struct mot_shared_rows *s = mot_new(1, sizeof *s);
    char name[32] = "shared.csv";
    if (rank) snprintf(name, sizeof name, "shared.%u.csv", rank);
    s->problem = problem;
    s->path = mot_path_join(folder, name);
    s->resume = resume;
    return s;
}

/* How many bytes the lines of earlier rounds take. */
static size_t earlier(const char *text, size_t n, uint64_t round)
{
    size_t kept = 0;
    for (const char *at = text, *end; (end = memchr(at, '\n', n - (size_t)(at - text))); at = end + 1) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        if (at != text && (!comma || strtoull(comma + 1, NULL, 10) >= round)) break;
        kept = (size_t)(end - text) + 1;
    }
    return kept;
}

static void begin(struct mot_shared_rows *s, uint64_t round)
{
    unsigned char *old = NULL;
    size_t n = 0;
    if (s->resume && mot_file_exists(s->path) && mot_file_read(s->path, BYTES_MOST, &old, &n) == MOT_OK)
        n = earlier((const char *)old, n, round);
    free(old);
    if (n == 0 || truncate(s->path, (off_t)n) == 0) s->out = fopen(s->path, n ? "ae" : "we");
    if (!s->out) s->trouble = errno;
    else if (n == 0) fputs(HEADER, s->out);
}

static void put_rows(struct mot_shared_rows *s, const struct mot_message *m)
{
    const struct mot_dataset *data = s->problem->data;
    uint32_t row[ROWS_AT_ONCE];
    for (uint32_t done = 0, n; done < m->given; done += n) {
        n = m->given - done < ROWS_AT_ONCE ? m->given - done : ROWS_AT_ONCE;
        mot_sample(&s->problem->sampler, m->rows - 1, m->draw, done, n, row);
        for (uint32_t i = 0; i < n; i++)
            fprintf(s->out, "%s%u", done + i ? " " : "", data->file_row ? data->file_row[row[i]] : row[i]);
    }
}

void mot_shared_rows_add(struct mot_shared_rows *s, const struct mot_message *m, mot_time now)
{
    char seconds[MOT_NUMBER_SIZE];
    if (!s->out && !s->trouble) begin(s, m->head.round);
    if (!s->out) return;
    fprintf(s->out, "%s,%" PRIu64 ",%u,%u,", mot_seconds_text(now, seconds), m->head.round, m->from, m->to);
    put_rows(s, m);
    fputc('\n', s->out);
    if (ferror(s->out) && !s->trouble) s->trouble = errno;
}

enum mot_status mot_shared_rows_close(struct mot_shared_rows *s)
{
    if (!s) return MOT_OK;
    enum mot_status status = MOT_OK;
    if (s->out && fclose(s->out) != 0 && !s->trouble) s->trouble = errno;
    if (s->trouble)
        status = mot_fail(MOT_ESYSTEM, "%s: could not be written: %s", s->path, strerror(s->trouble));
    free(s->path);
    free(s);
    return status;
}
