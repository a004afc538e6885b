/* tensorboard.c -- TensorBoard's event files, by hand.
 *
 * A file is a sequence of records: length (u64, little-endian), masked CRC-32C of the length, the bytes,
 * masked CRC-32C of the bytes. The bytes are a protobuf message Event:
 *
 *   Event   { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5; }
 *   Summary { repeated Value value = 1; }   Value { string tag = 1; float simple_value = 2; }
 *
 * wall_time is the run's clock, so two simulated runs of one seed give the same bytes. */
#include "report/tensorboard.h"

#include "base/file.h"
#include "base/memory.h"
#include "report/history.h"
#include "report/json.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENT_MOST 2048

struct mot_tensorboard {
    FILE *out;
    char *path;
    int trouble; /* the errno of the first write that failed */
};

/* What is shown, under which tag; a slash makes a group. */
static const struct {
    enum mot_column column;
    const char *tag;
} scalars[] = {
    { MOT_COL_TRAIN_LOSS, "loss/train" },
    { MOT_COL_VALID_LOSS, "loss/valid" },
    { MOT_COL_TEST_LOSS, "loss/test" },
    { MOT_COL_TRAIN_ACCURACY, "accuracy/train" },
    { MOT_COL_VALID_ACCURACY, "accuracy/valid" },
    { MOT_COL_TEST_ACCURACY, "accuracy/test" },
    { MOT_COL_GRAD_NORM, "grad_norm" },
    { MOT_COL_EPOCHS, "progress/epochs" },
    { MOT_COL_BYTES, "progress/bytes_sent" },
    { MOT_COL_STALENESS_MEAN, "staleness/mean" },
    { MOT_COL_STALENESS_MAX, "staleness/max" },
    { MOT_COL_ACTIVE_JOBS, "active_jobs/mean" },
    { MOT_COL_CONSENSUS, "consensus" },
    { MOT_COL_DRIFT, "drift" },
    { MOT_COL_MASS, "mass" },
    { MOT_COL_ARRIVED, "stream/arrived" },
    { MOT_COL_USED, "stream/used" },
    { MOT_COL_DROPPED, "stream/dropped" },
    { MOT_COL_WAITING, "stream/waiting" },
    { MOT_COL_OLDEST, "stream/oldest_s" },
    { MOT_COL_ZETA2, "heterogeneity/zeta2" },
    { MOT_COL_SIGMA2, "heterogeneity/sigma2" },
};

/* ---- Encoding ------------------------------------------------------------------------------ */

/* CRC-32C (Castagnoli), bit by bit: a few hundred bytes per evaluation. */
static uint32_t masked_crc(const unsigned char *bytes, size_t n)
{
    uint32_t crc = ~UINT32_C(0);
    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (UINT32_C(0x82f63b78) & (0 - (crc & 1)));
    }
    crc = ~crc;
    return ((crc >> 15) | (crc << 17)) + UINT32_C(0xa282ead8);
}

struct message {
    unsigned char byte[EVENT_MOST];
    size_t n;
};

static void put_byte(struct message *m, unsigned value)
{
    MOT_ASSERT(m->n < EVENT_MOST);
    m->byte[m->n++] = (unsigned char)value;
}

static void put_varint(struct message *m, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) put_byte(m, (unsigned)(value & 0x7f) | 0x80);
    put_byte(m, (unsigned)value);
}

static void put_little(struct message *m, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) put_byte(m, (unsigned)(value >> (8 * i)) & 0xff);
}

enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

static void put_key(struct message *m, unsigned field, enum wire wire) { put_varint(m, field << 3 | wire); }

static void put_double(struct message *m, unsigned field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_key(m, field, FIXED64);
    put_little(m, bits, 8);
}

static void put_float(struct message *m, unsigned field, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_key(m, field, FIXED32);
    put_little(m, bits, 4);
}

static void put_bytes(struct message *m, unsigned field, const void *bytes, size_t n)
{
    put_key(m, field, BYTES);
    put_varint(m, n);
    for (size_t i = 0; i < n; i++) put_byte(m, ((const unsigned char *)bytes)[i]);
}

/* ---- Writing ------------------------------------------------------------------------------- */

static bool write_record(FILE *out, const struct message *event)
{
    struct message head = { .n = 0 }, tail = { .n = 0 };
    put_little(&head, event->n, 8);
    put_little(&head, masked_crc(head.byte, 8), 4);
    put_little(&tail, masked_crc(event->byte, event->n), 4);
    return fwrite(head.byte, 1, head.n, out) == head.n && fwrite(event->byte, 1, event->n, out) == event->n &&
        fwrite(tail.byte, 1, tail.n, out) == tail.n;
}

static bool write_version(FILE *out)
{
    struct message event = { .n = 0 };
    put_double(&event, 1, 0);
    put_bytes(&event, 3, "brain.Event:2", 13);
    return write_record(out, &event);
}

static bool write_scalars(FILE *out, const double value[MOT_COLUMNS])
{
    struct message event = { .n = 0 }, summary = { .n = 0 };
    for (size_t i = 0; i < MOT_COUNT(scalars); i++) {
        if (isnan(value[scalars[i].column])) continue;
        struct message one = { .n = 0 };
        put_bytes(&one, 1, scalars[i].tag, strlen(scalars[i].tag));
        put_float(&one, 2, (float)value[scalars[i].column]);
        put_bytes(&summary, 1, one.byte, one.n);
    }
    put_double(&event, 1, value[MOT_COL_TIME]);
    put_key(&event, 2, VARINT);
    put_varint(&event, (uint64_t)value[MOT_COL_UPDATES]);
    put_bytes(&event, 5, summary.byte, summary.n);
    return write_record(out, &event);
}

/* Earlier evaluations; the file is replaced as a whole or not at all. */
static enum mot_status write_past(const char *path, const char *metrics)
{
    struct mot_history past = { 0 };
    enum mot_status status = mot_file_exists(metrics) ? mot_history_read(metrics, &past) : MOT_OK;
    if (status != MOT_OK) return status;
    struct mot_replace file;
    status = mot_replace_begin(path, &file);
    if (status == MOT_OK) {
        write_version(file.out);
        for (size_t i = 0; i < past.n; i++) {
            double value[MOT_COLUMNS];
            for (int c = 0; c < MOT_COLUMNS; c++) value[c] = past.value[c][i];
            write_scalars(file.out, value);
        }
        status = mot_replace_commit(&file);
    }
    mot_history_free(&past);
    return status;
}

enum mot_status mot_tensorboard_open(const char *path, const char *metrics, struct mot_tensorboard **out)
{
    enum mot_status status = write_past(path, metrics);
    if (status != MOT_OK) return status;
    FILE *stream = fopen(path, "abe");
    if (!stream) return mot_fail(MOT_ESYSTEM, "%s: %s", path, strerror(errno));
    struct mot_tensorboard *t = mot_new(1, sizeof *t);
    t->out = stream;
    t->path = mot_text(path);
    *out = t;
    return MOT_OK;
}

void mot_tensorboard_add(struct mot_tensorboard *t, const struct mot_moment *m)
{
    const struct mot_score *s = &m->score;
    char seconds[MOT_NUMBER_SIZE];
    double value[MOT_COLUMNS];
    for (int c = 0; c < MOT_COLUMNS; c++) value[c] = (double)NAN;
    /* as metrics.jsonl gives it back */
    value[MOT_COL_TIME] = strtod(mot_seconds_text(m->now, seconds), NULL);
    value[MOT_COL_UPDATES] = (double)m->updates;
    value[MOT_COL_EPOCHS] = m->epochs;
    value[MOT_COL_TRAIN_LOSS] = s->train_loss;
    value[MOT_COL_TRAIN_ACCURACY] = s->train_accuracy;
    value[MOT_COL_VALID_LOSS] = s->valid_loss;
    value[MOT_COL_VALID_ACCURACY] = s->valid_accuracy;
    value[MOT_COL_TEST_LOSS] = s->test_loss;
    value[MOT_COL_TEST_ACCURACY] = s->test_accuracy;
    value[MOT_COL_GRAD_NORM] = s->grad_norm;
    value[MOT_COL_BYTES] = (double)m->bytes_sent;
    value[MOT_COL_STALENESS_MEAN] = m->staleness_mean;
    value[MOT_COL_STALENESS_MAX] = m->staleness_max;
    value[MOT_COL_ACTIVE_JOBS] = m->active_jobs;
    value[MOT_COL_CONSENSUS] = m->mixed.consensus;
    value[MOT_COL_DRIFT] = m->mixed.drift;
    value[MOT_COL_MASS] = m->mixed.mass;
    if (m->streams) {
        value[MOT_COL_ARRIVED] = (double)m->flow.arrived;
        value[MOT_COL_USED] = (double)m->flow.used;
        value[MOT_COL_DROPPED] = (double)m->flow.dropped;
        value[MOT_COL_WAITING] = (double)m->flow.waiting;
        value[MOT_COL_OLDEST] = m->flow.oldest;
    }
    value[MOT_COL_ZETA2] = s->zeta2;
    value[MOT_COL_SIGMA2] = s->sigma2;
    for (int c = 0; c < MOT_COLUMNS; c++) /* metrics.jsonl has no infinity either */
        if (!isfinite(value[c])) value[c] = (double)NAN;
    errno = 0;
    if ((!write_scalars(t->out, value) || fflush(t->out) != 0) && !t->trouble)
        t->trouble = errno ? errno : EIO;
}

enum mot_status mot_tensorboard_close(struct mot_tensorboard *t)
{
    if (!t) return MOT_OK;
    enum mot_status status = MOT_OK;
    if (fclose(t->out) != 0 && !t->trouble) t->trouble = errno;
    if (t->trouble)
        status = mot_fail(MOT_ESYSTEM, "%s: could not be written: %s", t->path, strerror(t->trouble));
    free(t->path);
    free(t);
    return status;
}
