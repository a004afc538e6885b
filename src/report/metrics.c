/* metrics.c -- metrics.jsonl: what the run looked like at each evaluation.
 *
 * No wall-clock value goes in, and numbers are printed by one function, so that
 * two runs of one seed give the same bytes. */
#include "report/report.h"

#include "base/memory.h"
#include "report/json.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct mot_metrics {
    FILE *out;
    char *path;
    uint64_t bytes;
    int trouble; /* the errno of the first write that failed */
};

/* Cuts the file after `keep` bytes, which must end a line. */
static enum mot_status cut(const char *path, int file, uint64_t keep)
{
    struct stat facts;
    if (fstat(file, &facts) != 0) return mot_fail(MOT_ESYSTEM, "%s: %s", path, strerror(errno));
    if ((uint64_t)facts.st_size < keep)
        return mot_fail(MOT_EDATA,
            "%s: has %lld bytes, expected at least the %" PRIu64
            " that were written when the checkpoint was taken",
            path, (long long)facts.st_size, keep);
    char last;
    if (pread(file, &last, 1, (off_t)(keep - 1)) != 1)
        return mot_fail(MOT_ESYSTEM, "%s: %s", path, strerror(errno));
    if (last != '\n')
        return mot_fail(MOT_EDATA,
            "%s: byte %" PRIu64 " is 0x%02x, expected the end of a line: "
            "the file does not belong to this checkpoint",
            path, keep - 1, (unsigned char)last);
    if (ftruncate(file, (off_t)keep) != 0 || lseek(file, (off_t)keep, SEEK_SET) < 0)
        return mot_fail(MOT_ESYSTEM, "%s: %s", path, strerror(errno));
    return MOT_OK;
}

enum mot_status mot_metrics_open(const char *path, uint64_t keep, struct mot_metrics **out)
{
    int flags = keep > 0 ? O_RDWR | O_CLOEXEC : O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC;
    int file = open(path, flags, 0666);
    if (file < 0) {
        if (keep > 0 && errno == ENOENT)
            return mot_fail(MOT_EDATA,
                "%s: is missing, expected the %" PRIu64
                " bytes that were written when the checkpoint was taken",
                path, keep);
        return mot_fail(MOT_ESYSTEM, "%s: %s", path, strerror(errno));
    }
    enum mot_status status = keep > 0 ? cut(path, file, keep) : MOT_OK;
    if (status != MOT_OK) {
        close(file);
        return status;
    }
    FILE *stream = fdopen(file, "w");
    if (!stream) {
        status = mot_fail(MOT_ESYSTEM, "%s: %s", path, strerror(errno));
        close(file);
        return status;
    }
    struct mot_metrics *m = mot_new(1, sizeof *m);
    m->out = stream;
    m->path = mot_text(path);
    m->bytes = keep;
    *out = m;
    return MOT_OK;
}

/* The moment as one line of JSON with every key, except those that few methods have. malloc'd. */
char *mot_metrics_line(const struct mot_moment *m)
{
    const struct mot_score *s = &m->score;
    const struct figure {
        const char *key;
        double value;
    } real[] = {
        { "train_loss", s->train_loss },
        { "train_accuracy", s->train_accuracy },
        { "valid_loss", s->valid_loss },
        { "valid_accuracy", s->valid_accuracy },
        { "test_loss", s->test_loss },
        { "test_accuracy", s->test_accuracy },
        { "grad_norm", s->grad_norm },
    },
      late[] = {
          { "active_jobs_mean", m->active_jobs },
          { "consensus", m->mixed.consensus },
          { "zeta2", s->zeta2 },
          { "sigma2", s->sigma2 },
      };
    const size_t most = 1536;
    char *line = mot_new(most, 1), number[MOT_NUMBER_SIZE], second[MOT_NUMBER_SIZE];
    int n = snprintf(line, most,
        "{\"time_s\":%s,\"updates\":%" PRIu64 ",\"steps\":%" PRIu64 ",\"samples\":%" PRIu64 ",\"epochs\":%s",
        mot_seconds_text(m->now, number), m->updates, m->steps, m->samples,
        mot_number_text(m->epochs, second));
    if (m->computed) n += snprintf(line + n, most - (size_t)n, ",\"computed_samples\":%" PRIu64, m->computed);
    if (m->missed_most)
        n += snprintf(line + n, most - (size_t)n, ",\"missed_most\":%" PRIu64, m->missed_most);
    if (m->streams)
        n += snprintf(line + n, most - (size_t)n,
            ",\"arrived\":%" PRIu64 ",\"used\":%" PRIu64 ",\"dropped\":%" PRIu64 ",\"waiting\":%" PRIu64
            ",\"oldest_s\":%s",
            m->flow.arrived, m->flow.used, m->flow.dropped, m->flow.waiting,
            mot_number_text(m->flow.oldest, number));
    for (size_t i = 0; i < MOT_COUNT(real); i++)
        n += snprintf(
            line + n, most - (size_t)n, ",\"%s\":%s", real[i].key, mot_number_text(real[i].value, number));
    n += snprintf(line + n, most - (size_t)n, ",\"bytes_sent\":%" PRIu64, m->bytes_sent);
    if (m->rows_bytes) n += snprintf(line + n, most - (size_t)n, ",\"rows_bytes\":%" PRIu64, m->rows_bytes);
    n += snprintf(line + n, most - (size_t)n,
        ",\"messages\":%" PRIu64 ",\"events\":%" PRIu64 ",\"staleness_mean\":%s,\"staleness_max\":%s",
        m->messages, m->events, mot_number_text(m->staleness_mean, number),
        mot_number_text(m->staleness_max, second));
    for (size_t i = 0; i < MOT_COUNT(late); i++)
        n += snprintf(
            line + n, most - (size_t)n, ",\"%s\":%s", late[i].key, mot_number_text(late[i].value, number));
    const struct figure mixed[] = { { "drift", m->mixed.drift }, { "mass", m->mixed.mass } };
    for (size_t i = 0; i < MOT_COUNT(mixed); i++)
        if (!isnan(mixed[i].value))
            n += snprintf(line + n, most - (size_t)n, ",\"%s\":%s", mixed[i].key,
                mot_number_text(mixed[i].value, number));
    n += snprintf(line + n, most - (size_t)n, "}\n");
    MOT_ASSERT((size_t)n < most);
    return line;
}

void mot_metrics_add(struct mot_metrics *m, const struct mot_moment *moment)
{
    char *line = mot_metrics_line(moment);
    size_t n = strlen(line);
    errno = 0;
    if ((fwrite(line, 1, n, m->out) != n || fflush(m->out) != 0) && !m->trouble)
        m->trouble = errno ? errno : EIO;
    m->bytes += n;
    free(line);
}

uint64_t mot_metrics_bytes(const struct mot_metrics *m) { return m->bytes; }

enum mot_status mot_metrics_close(struct mot_metrics *m)
{
    if (!m) return MOT_OK;
    enum mot_status status = MOT_OK;
    if (fclose(m->out) != 0 && !m->trouble) m->trouble = errno;
    if (m->trouble)
        status = mot_fail(MOT_ESYSTEM, "%s: could not be written: %s", m->path, strerror(m->trouble));
    free(m->path);
    free(m);
    return status;
}
