/* folder.h -- a partition on disk: partition.json, and for each worker an NPY file (int64) of
 * the rows it holds.
 *
 * Rows are numbered from 0 as in the training file itself, whatever `data.order` and `data.test`
 * make of it: NumPy or PyTorch can index the same file by them. Rows kept for testing or validation are in no
 * file. */
#ifndef MOT_PARTITION_FOLDER_H
#define MOT_PARTITION_FOLDER_H

#include "partition/partition.h"
#include <jansson.h>

/* What a reader needs to know: version, rows, rows_hash, workers with their files. More keys may be added. */
json_t *mot_partition_facts(const struct mot_split *, const struct mot_parts *);

/* Whether a partition may be written there: nothing, an empty folder, or
 * (replace) a folder with nothing but a partition. */
enum mot_status mot_partition_writable(const char *folder, bool replace);
/* Writes the folder whole or not at all; `json` is partition.json, `page` partition.html, or NULL. */
enum mot_status mot_partition_write(const char *folder, bool replace, const struct mot_split *,
    const struct mot_parts *, const char *json, const char *page);

/* Reads it for these rows and workers: every row of the table must belong to a worker. */
enum mot_status mot_partition_read(const char *folder, const struct mot_split *, struct mot_parts *out);

/* partition.json, checked; free the names with mot_partition_index_close. `name` is for messages. */
struct mot_partition_index {
    uint32_t workers, rows, file_rows;
    uint64_t rows_hash;
    bool has_seed;
    uint64_t seed;
    char **file;
    uint32_t *file_n;
};
enum mot_status mot_partition_parse(
    const char *name, const char *text, size_t n, struct mot_partition_index *out);
void mot_partition_index_close(struct mot_partition_index *);

#endif
