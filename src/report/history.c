/* history.c -- metrics.jsonl, read back. */
#include "report/history.h"

#include "base/file.h"
#include "base/json_text.h"
#include "base/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MOST ((size_t)1 << 30)

const char *const mot_column_name[MOT_COLUMNS] = {
    "time_s",
    "updates",
    "steps",
    "samples",
    "epochs",
    "train_loss",
    "train_accuracy",
    "valid_loss",
    "valid_accuracy",
    "test_loss",
    "test_accuracy",
    "grad_norm",
    "bytes_sent",
    "messages",
    "events",
    "staleness_mean",
    "staleness_max",
    "active_jobs_mean",
    "consensus",
    "zeta2",
    "sigma2",
    "drift",
    "mass",
    "arrived",
    "used",
    "dropped",
    "waiting",
    "oldest_s",
};

void mot_history_free(struct mot_history *h)
{
    for (int c = 0; c < MOT_COLUMNS; c++) free(h->value[c]);
    *h = (struct mot_history){ 0 };
}

static enum mot_status read_line(
    const char *name, size_t line, const char *text, size_t n, struct mot_history *h)
{
    const struct mot_json_text t = { .name = name, .text = text, .n = n, .line = line, .bad = MOT_EDATA };
    json_t *object;
    enum mot_status status = mot_json_parse(&t, &object);
    if (status != MOT_OK) return status;
    if (!json_is_object(object)) {
        json_decref(object);
        return mot_fail(MOT_EDATA,
            "%s:%zu: expected an object with the figures of an evaluation; found something else", name, line);
    }
    for (int c = 0; c < MOT_COLUMNS; c++) {
        const json_t *value = json_object_get(object, mot_column_name[c]);
        if (value && !json_is_number(value) && !json_is_null(value)) {
            json_decref(object);
            return mot_fail(MOT_EDATA, "%s:%zu: %s: expected a number or null; found something else", name,
                line, mot_column_name[c]);
        }
        h->value[c][h->n] = json_is_number(value) ? json_number_value(value) : (double)NAN;
    }
    bool has_place = !isnan(h->value[MOT_COL_TIME][h->n]) && !isnan(h->value[MOT_COL_UPDATES][h->n]);
    json_decref(object);
    if (!has_place)
        return mot_fail(
            MOT_EDATA, "%s:%zu: expected time_s and updates of an evaluation; found none", name, line);
    h->n++;
    return MOT_OK;
}

enum mot_status mot_history_parse(const char *name, const char *text, size_t n, struct mot_history *out)
{
    struct mot_history h = { 0 };
    size_t lines = 0, line = 0;
    for (size_t i = 0; i < n; i++) lines += text[i] == '\n';
    for (int c = 0; c < MOT_COLUMNS; c++) h.value[c] = mot_new_large(lines + 1, sizeof(double));
    if (mot_memory_refused()) {
        mot_history_free(&h);
        return mot_memory_status();
    }
    for (const char *at = text, *end; (end = memchr(at, '\n', n - (size_t)(at - text))); at = end + 1) {
        enum mot_status status = read_line(name, ++line, at, (size_t)(end - at), &h);
        if (status != MOT_OK) {
            mot_history_free(&h);
            return status;
        }
    }
    *out = h;
    return MOT_OK;
}

enum mot_status mot_history_read(const char *path, struct mot_history *out)
{
    unsigned char *bytes;
    size_t n;
    enum mot_status status = mot_file_read(path, BYTES_MOST, &bytes, &n);
    if (status != MOT_OK) return status;
    status = mot_history_parse(path, (const char *)bytes, n, out);
    free(bytes);
    return status;
}
