/* safetensors.h -- reading and writing the safetensors format, float32 only.
 *
 *   8 bytes      N, the header's length, little-endian
 *   N bytes      JSON: {"__metadata__": {text: text}, name: {"dtype": "F32",
 *                "shape": [..], "data_offsets": [begin, end]}, ..}, then spaces
 *   the rest     the tensors' bytes, little-endian; offsets count from here,
 *                the tensors cover it without holes or overlaps */
#ifndef MOT_REPORT_SAFETENSORS_H
#define MOT_REPORT_SAFETENSORS_H

#include <jansson.h>
#include <motley/status.h>
#include <stddef.h>
#include <stdint.h>

#define MOT_TENSOR_RANK_MAX 8

struct mot_tensor {
    const char *name;
    uint32_t rank;
    uint64_t shape[MOT_TENSOR_RANK_MAX];
    uint64_t floats;
    const unsigned char *bytes; /* 4 * floats of them, little-endian, of any alignment */
};

struct mot_tensors {
    unsigned char *file; /* the bytes that the tensors lie in; owned if read from a path */
    json_t *header;      /* owns the names */
    json_t *metadata;    /* an object of strings; NULL if there is none */
    size_t n;
    struct mot_tensor *tensor; /* in the order of their bytes */
};

/* Everything is checked before use; errors are MOT_EDATA and begin with `name`. */
enum mot_status mot_tensors_read(const char *path, struct mot_tensors *out);
enum mot_status mot_tensors_parse(
    const char *name, const unsigned char *bytes, size_t n, struct mot_tensors *out);
void mot_tensors_free(struct mot_tensors *);
const struct mot_tensor *mot_tensors_find(const struct mot_tensors *, const char *name); /* or NULL */
void mot_tensor_copy(const struct mot_tensor *, float *into);

/* The model made from tensors and their metadata: mot_model_load without the file. */
struct mot_saved_model;
enum mot_status mot_saved_model_read(
    const char *name, const struct mot_tensors *, struct mot_saved_model **out);

/* What mot_tensors_write takes: floats in memory. */
struct mot_tensor_source {
    const char *name;
    uint32_t rank;
    const uint32_t *shape; /* [rank] */
    const float *x;
};

/* Replaces the file at `path` atomically. Tensors lie in the order given. */
enum mot_status mot_tensors_write(
    const char *path, json_t *metadata, const struct mot_tensor_source *, size_t n);

#endif
