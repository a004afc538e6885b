/* safetensors.c -- the file format of models. */
#include "report/safetensors.h"

#include "base/file.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "report/json.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_MOST (UINT64_C(16) << 20)
#define FILE_MOST (SIZE_MAX / 4)
#define TENSORS_MOST 65536

/* ---- Reading ---------------------------------------------------------------- */

static uint64_t read_u64(const unsigned char *b)
{
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--) value = value << 8 | b[i];
    return value;
}

static enum mot_status read_shape(
    const char *name, const char *key, const json_t *entry, struct mot_tensor *t)
{
    const json_t *dtype = json_object_get(entry, "dtype"), *shape = json_object_get(entry, "shape");
    if (!json_is_string(dtype) || strcmp(json_string_value(dtype), "F32") != 0)
        return mot_fail(MOT_EDATA, "%s: tensor %.100s: dtype is %.20s, expected F32", name, key,
            json_is_string(dtype) ? json_string_value(dtype) : "missing");
    if (!json_is_array(shape) || json_array_size(shape) > MOT_TENSOR_RANK_MAX)
        return mot_fail(MOT_EDATA, "%s: tensor %.100s: shape is not a list of at most %d numbers", name, key,
            MOT_TENSOR_RANK_MAX);
    t->rank = (uint32_t)json_array_size(shape);
    t->floats = 1;
    for (uint32_t i = 0; i < t->rank; i++) {
        const json_t *side = json_array_get(shape, i);
        json_int_t length = json_integer_value(side);
        if (!json_is_integer(side) || length < 0)
            return mot_fail(
                MOT_EDATA, "%s: tensor %.100s: shape[%u] is not a number from 0 up", name, key, i);
        t->shape[i] = (uint64_t)length;
        if (__builtin_mul_overflow(t->floats, t->shape[i], &t->floats) || t->floats > FILE_MOST / 4)
            return mot_fail(MOT_EDATA, "%s: tensor %.100s: shape is larger than any file", name, key);
    }
    return MOT_OK;
}

static enum mot_status read_entry(const char *name, const char *key, const json_t *entry,
    const unsigned char *data, uint64_t bytes, struct mot_tensor *t)
{
    if (!json_is_object(entry) || json_object_size(entry) != 3)
        return mot_fail(MOT_EDATA,
            "%s: tensor %.100s: expected dtype, shape and data_offsets, and nothing else", name, key);
    enum mot_status status = read_shape(name, key, entry, t);
    if (status != MOT_OK) return status;
    const json_t *offsets = json_object_get(entry, "data_offsets");
    const json_t *from = json_array_get(offsets, 0), *to = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(from) || !json_is_integer(to))
        return mot_fail(MOT_EDATA, "%s: tensor %.100s: data_offsets is not a list of two numbers", name, key);
    json_int_t begin = json_integer_value(from), end = json_integer_value(to);
    if (begin < 0 || end < begin || (uint64_t)end > bytes)
        return mot_fail(MOT_EDATA,
            "%s: tensor %.100s: data_offsets are %lld and %lld, expected both within the %" PRIu64
            " bytes of data",
            name, key, (long long)begin, (long long)end, bytes);
    if ((uint64_t)(end - begin) != 4 * t->floats)
        return mot_fail(MOT_EDATA, "%s: tensor %.100s: has %lld bytes, its shape needs %" PRIu64, name, key,
            (long long)(end - begin), 4 * t->floats);
    t->name = key;
    t->bytes = data + begin;
    return MOT_OK;
}

static int by_place(const void *a, const void *b)
{
    const struct mot_tensor *s = a, *t = b;
    if (s->bytes != t->bytes) return s->bytes < t->bytes ? -1 : 1;
    /* empty ones come before what begins there */
    if (s->floats != t->floats) return s->floats < t->floats ? -1 : 1;
    return strcmp(s->name, t->name);
}

/* The sorted tensors must cover the data: each begins where the last ended. */
static enum mot_status check_cover(
    const char *name, const struct mot_tensors *t, const unsigned char *data, uint64_t bytes)
{
    uint64_t at = 0;
    for (size_t i = 0; i < t->n; i++) {
        uint64_t begin = (uint64_t)(t->tensor[i].bytes - data);
        if (begin != at)
            return mot_fail(MOT_EDATA,
                "%s: tensor %.100s begins at byte %" PRIu64 " of the data, expected %" PRIu64 ": %s", name,
                t->tensor[i].name, begin, at, begin < at ? "tensors overlap" : "there is a hole");
        at += 4 * t->tensor[i].floats;
    }
    if (at != bytes)
        return mot_fail(MOT_EDATA,
            "%s: %" PRIu64 " bytes follow the header, expected %" PRIu64 ", which the tensors fill", name,
            bytes, at);
    return MOT_OK;
}

static enum mot_status read_metadata(const char *name, json_t *metadata)
{
    const char *key;
    json_t *value;
    if (!json_is_object(metadata)) return mot_fail(MOT_EDATA, "%s: __metadata__ is not an object", name);
    json_object_foreach(metadata, key, value) if (!json_is_string(value)) return mot_fail(
        MOT_EDATA, "%s: __metadata__: the value of %.100s is not a text", name, key);
    return MOT_OK;
}

static enum mot_status read_entries(
    const char *name, struct mot_tensors *t, const unsigned char *data, uint64_t bytes)
{
    const char *key;
    json_t *entry;
    size_t most = json_object_size(t->header);
    if (most > TENSORS_MOST)
        return mot_fail(MOT_EDATA, "%s: names %zu tensors, expected at most %d", name, most, TENSORS_MOST);
    t->tensor = mot_new(most ? most : 1, sizeof *t->tensor);
    json_object_foreach(t->header, key, entry)
    {
        enum mot_status status;
        if (strcmp(key, "__metadata__") == 0) {
            status = read_metadata(name, entry);
            t->metadata = entry;
        } else {
            status = read_entry(name, key, entry, data, bytes, &t->tensor[t->n]);
            t->n++;
        }
        if (status != MOT_OK) return status;
    }
    qsort(t->tensor, t->n, sizeof *t->tensor, by_place);
    return check_cover(name, t, data, bytes);
}

enum mot_status mot_tensors_parse(
    const char *name, const unsigned char *bytes, size_t n, struct mot_tensors *out)
{
    if (n < 8)
        return mot_fail(MOT_EDATA, "%s: has %zu bytes, expected a safetensors file of at least 10", name, n);
    uint64_t header = read_u64(bytes);
    if (header > n - 8 || header > HEADER_MOST)
        return mot_fail(MOT_EDATA,
            "%s: gives its header %" PRIu64 " bytes, expected at most %" PRIu64
            ": not a safetensors file, or cut off",
            name, header, (uint64_t)n - 8 < HEADER_MOST ? (uint64_t)n - 8 : HEADER_MOST);
    if (header < 2 || bytes[8] != '{')
        return mot_fail(
            MOT_EDATA, "%s: offset 8: expected '{', where the header begins: not a safetensors file", name);
    struct mot_tensors t = { 0 };
    const struct mot_json_text text = {
        .name = name, .text = (const char *)bytes + 8, .n = (size_t)header, .offset = 8, .bad = MOT_EDATA
    };
    enum mot_status status = mot_json_parse(&text, &t.header);
    if (status != MOT_OK) return status;
    status = json_is_object(t.header) ? read_entries(name, &t, bytes + 8 + header, n - 8 - header)
                                      : mot_fail(MOT_EDATA, "%s: the header is not a JSON object", name);
    if (status != MOT_OK) {
        mot_tensors_free(&t);
        return status;
    }
    *out = t;
    return MOT_OK;
}

enum mot_status mot_tensors_read(const char *path, struct mot_tensors *out)
{
    unsigned char *bytes;
    size_t n;
    enum mot_status status = mot_file_read(path, FILE_MOST, &bytes, &n);
    if (status != MOT_OK) return status;
    status = mot_tensors_parse(path, bytes, n, out);
    if (status != MOT_OK) free(bytes);
    else out->file = bytes;
    return status;
}

void mot_tensors_free(struct mot_tensors *t)
{
    json_decref(t->header);
    free(t->tensor);
    free(t->file);
    *t = (struct mot_tensors){ 0 };
}

const struct mot_tensor *mot_tensors_find(const struct mot_tensors *t, const char *name)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->tensor[i].name, name) == 0) return &t->tensor[i];
    return NULL;
}

void mot_tensor_copy(const struct mot_tensor *t, float *into)
{
    for (uint64_t i = 0; i < t->floats; i++) {
        const unsigned char *b = t->bytes + 4 * i;
        uint32_t bits = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
        memcpy(&into[i], &bits, sizeof bits);
    }
}

/* ---- Writing ---------------------------------------------------------------- */

static uint64_t floats_of(const struct mot_tensor_source *t)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < t->rank; i++) n *= t->shape[i];
    return n;
}

static json_t *header_of(json_t *metadata, const struct mot_tensor_source *source, size_t n)
{
    json_t *header = json_object();
    uint64_t at = 0;
    if (metadata) mot_json_set(header, "__metadata__", json_incref(metadata));
    for (size_t i = 0; i < n; i++) {
        uint64_t bytes = 4 * floats_of(&source[i]);
        json_t *shape = json_array();
        for (uint32_t d = 0; d < source[i].rank; d++)
            mot_json_add(shape, json_integer((json_int_t)source[i].shape[d]));
        mot_json_set(header, source[i].name,
            json_pack("{s:s, s:o, s:[I, I]}", "dtype", "F32", "shape", shape, "data_offsets", (json_int_t)at,
                (json_int_t)(at + bytes)));
        at += bytes;
    }
    return header;
}

static bool write_floats(FILE *out, const float *x, uint64_t n)
{
    unsigned char block[4096];
    for (uint64_t i = 0; i < n;) {
        size_t used = 0;
        for (; i < n && used < sizeof block; i++) {
            uint32_t bits;
            memcpy(&bits, &x[i], sizeof bits);
            for (int b = 0; b < 4; b++) block[used++] = (unsigned char)(bits >> 8 * b);
        }
        if (fwrite(block, 1, used, out) != used) return false;
    }
    return true;
}

/* The header's text, padded with spaces so that the data begins at a multiple of 8. */
static bool write_header(FILE *out, const char *text)
{
    size_t length = strlen(text), padded = (length + 7) / 8 * 8;
    unsigned char size[8];
    for (int b = 0; b < 8; b++) size[b] = (unsigned char)((uint64_t)padded >> 8 * b);
    return fwrite(size, 1, 8, out) == 8 &&
        fprintf(out, "%s%*s", text, (int)(padded - length), "") == (int)padded;
}

enum mot_status mot_tensors_write(
    const char *path, json_t *metadata, const struct mot_tensor_source *source, size_t n)
{
    json_t *header = header_of(metadata, source, n);
    char *text = json_dumps(header, JSON_COMPACT);
    json_decref(header);
    enum mot_status status = mot_memory_status();
    if (status == MOT_OK && !text)
        status = mot_fail(MOT_ESYSTEM, "%s: the header cannot be written as JSON", path);
    if (status != MOT_OK) {
        free(text);
        return status;
    }
    struct mot_replace file;
    status = mot_replace_begin(path, &file);
    if (status == MOT_OK) {
        bool good = write_header(file.out, text);
        for (size_t i = 0; good && i < n; i++)
            good = write_floats(file.out, source[i].x, floats_of(&source[i]));
        if (good) {
            status = mot_replace_commit(&file);
        } else {
            status = mot_fail(MOT_ESYSTEM, "%s: could not be written: %s", path, strerror(errno));
            mot_replace_abandon(&file);
        }
    }
    free(text);
    return status;
}
