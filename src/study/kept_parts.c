#include "study/kept_parts.h"
#include "base/bytes.h"
#include "base/file.h"
#include "base/memory.h"
#include <stdlib.h>

#define FILE_NAME "parts.bin"

static enum mot_status write_parts(const char *folder, const struct mot_parts *p)
{
    struct mot_bytes bytes = { 0 };
    char *path = mot_path_join(folder, FILE_NAME);
    MOT_PUT(&bytes, p->parts);
    mot_bytes_put(&bytes, p->at, ((size_t)p->parts + 1) * sizeof *p->at);
    mot_bytes_put(&bytes, p->row, (size_t)p->at[p->parts] * sizeof *p->row);
    enum mot_status status = mot_make_folder(folder);
    if (status == MOT_OK) status = mot_file_replace(path, bytes.at, bytes.n);
    mot_bytes_free(&bytes);
    free(path);
    return status;
}

/* Whether they can be trained on: no part empty, all rows valid. */
static bool are_sound(const struct mot_parts *p, uint32_t rows)
{
    bool good = p->at[0] == 0 && p->at[p->parts] == rows;
    for (uint32_t i = 0; i < p->parts && good; i++) good = p->at[i] < p->at[i + 1];
    for (uint32_t i = 0; i < rows && good; i++) good = p->row[i] < rows;
    return good;
}

static bool read_parts(const char *folder, uint32_t parts, uint32_t rows, struct mot_parts *out)
{
    struct mot_parts p = { 0, mot_new((size_t)parts + 1, sizeof *p.at),
        mot_new((size_t)rows + 1, sizeof *p.row) };
    size_t at_n = ((size_t)parts + 1) * sizeof *p.at, row_n = (size_t)rows * sizeof *p.row, n = 0;
    unsigned char *bytes = NULL;
    char *path = mot_path_join(folder, FILE_NAME);
    bool good = mot_file_read(path, sizeof p.parts + at_n + row_n, &bytes, &n) == MOT_OK;
    struct mot_reader reader = { .at = bytes, .n = n };
    if (good) {
        MOT_GET(&reader, p.parts);
        mot_reader_get(&reader, p.at, at_n);
        mot_reader_get(&reader, p.row, row_n);
        good = !reader.short_of && reader.done == n && p.parts == parts && are_sound(&p, rows);
    }
    free(bytes);
    free(path);
    if (good) *out = p;
    else mot_parts_free(&p);
    return good;
}

static bool load(const struct mot_store *s, const char *key, const struct mot_experiment *x,
    const struct mot_dataset *data, struct mot_parts *out)
{
    char *folder = mot_store_folder(s, key);
    bool good = mot_store_has(s, key) && read_parts(folder, x->traits.parts, data->train.rows, out);
    free(folder);
    return good;
}

enum mot_status mot_parts_have(const struct mot_store *s, const char *key, const char *workshop,
    const struct mot_experiment *x, const struct mot_dataset *data, struct mot_parts *out)
{
    struct mot_store_claim claim;
    if (!*key) return mot_job_parts(x, data, out);
    if (load(s, key, x, data, out)) return MOT_OK;
    if (!mot_store_claim(s, key, &claim)) return mot_fail(MOT_EINTERRUPTED, "interrupted");
    enum mot_status status = MOT_OK;
    if (!load(s, key, x, data, out)) {
        status = mot_job_parts(x, data, out);
        /* A full store costs time, not the run. */
        if (status == MOT_OK && write_parts(workshop, out) == MOT_OK) {
            mot_store_remove(s, key);
            mot_store_publish(s, workshop, key);
        }
    }
    mot_store_release(&claim);
    return status;
}
