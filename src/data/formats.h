/* formats.h -- one reader and one writer per format. A reader reads from a source, so that
 * files, gzip'd files and a fuzzer's bytes take the same path. */
#ifndef MOT_DATA_FORMATS_H
#define MOT_DATA_FORMATS_H

#include "data/raw.h"
#include "data/source.h"

enum mot_index_base { MOT_INDEX_AUTO, MOT_INDEX_ZERO, MOT_INDEX_ONE };

struct mot_read_conf {
    uint64_t rows;            /* read no more than these */
    uint64_t memory;          /* bytes that one array may take */
    uint64_t unpack_max;      /* as in mot_data_conf */
    bool unlabelled;          /* the file has features only */
    bool test;                /* NPZ: the file's test rows, if it tells them apart */
    enum mot_index_base base; /* LIBSVM */
    const char *label_column, *separator, *skip;
    uint32_t header; /* CSV, as in mot_data_conf */
    /* CSV: */
    bool keep_missing; /* as NaN; else they are an error */
    const char *words; /* as in mot_data_conf */
    bool unknown_zeros;
    uint32_t features; /* with these many columns and no label, rows may have none; 0: they must have one */
    /* [columns]: the features by name, as the training data has them; a file with a header may have them in
     * any order, and others too. NULL: by place */
    char *const *column;
    uint32_t columns;
    const struct mot_word_columns *like; /* which columns have words and which ones; NULL: find out */
};
struct mot_read_conf mot_read_preset(void); /* all rows, the machine's memory, labels in the last column */
struct mot_read_conf mot_read_as(const struct mot_data_conf *); /* as the `data:` section says */

/* Each writes *out only on success; free it with mot_raw_free. `labels` may be NULL if unlabelled. */
enum mot_status mot_read_idx(
    struct mot_source *, struct mot_source *labels, const struct mot_read_conf *, struct mot_raw *out);
enum mot_status mot_read_npy(
    struct mot_source *, struct mot_source *labels, const struct mot_read_conf *, struct mot_raw *out);
enum mot_status mot_read_libsvm(struct mot_source *, const struct mot_read_conf *, struct mot_raw *out);
enum mot_status mot_read_npz(struct mot_source *, const struct mot_read_conf *, struct mot_raw *out);
/* `classes`: 10 or 100 */
enum mot_status mot_read_cifar(
    struct mot_source *, uint32_t classes, const struct mot_read_conf *, struct mot_raw *out);
enum mot_status mot_read_csv(struct mot_source *, const struct mot_read_conf *, struct mot_raw *out);

/* Any format except auto. */
enum mot_status mot_read_format(struct mot_source *, struct mot_source *labels, enum mot_format,
    const struct mot_read_conf *, struct mot_raw *out);

/* The format, by the first bytes or else by the name. */
enum mot_status mot_detect_format(struct mot_source *, enum mot_format *out);
const char *mot_format_name(enum mot_format);

/* Opens what a configuration names: `part` 0 the rows to train on, 1 the set's own test rows
 * (MOT_OK with rows 0 where it has none). */
enum mot_status mot_raw_open(
    const struct mot_data_conf *, uint64_t seed, int part, const struct mot_read_conf *, struct mot_raw *out);
/* A file and, where the format needs one, its label file (NULL: found by its usual name). */
enum mot_status mot_raw_open_file(
    const char *path, const char *labels, enum mot_format, const struct mot_read_conf *, struct mot_raw *out);

/* The built-in sets. */
enum mot_status mot_read_digits(uint64_t rows, struct mot_raw *out);
enum mot_status mot_read_fashion(int part, const struct mot_read_conf *, struct mot_raw *out);
enum mot_status mot_make_synthetic(
    const struct mot_data_conf *, uint64_t seed, const struct mot_read_conf *, struct mot_raw *out);

/* An NPY file of whole numbers in one dimension, such as row numbers: exact, where a table
 * holds floats. A number below 0 or of MOT_ROWS_MAX or more, and more than `most` of them, is an error. The
 * array is malloc'd. */
enum mot_status mot_read_npy_rows(struct mot_source *, uint64_t most, uint32_t **row_out, uint32_t *n_out);
enum mot_status mot_write_npy_rows(const char *path, const uint32_t *row, uint32_t n); /* as int64 */

/* Writes a table; the file appears complete or not at all, gzip'd if its name ends in .gz. NPY and IDX
 * write the labels to a second file: labels_path, or its usual name if NULL. */
enum mot_status mot_raw_write(
    const struct mot_raw *, const char *path, const char *labels_path, enum mot_format);
/* The label file for a file of features, by the usual names; malloc'd, NULL if the name is unusual. */
char *mot_labels_path(const char *path, enum mot_format);
/* The one that a reader opens, which may be compressed even if the rows are not. */
char *mot_labels_beside(const char *path, enum mot_format);
/* The file of a built-in set's part (as in mot_raw_open) with its rows or labels; NULL if there is none.
 * malloc'd. */
char *mot_builtin_file(const char *set, int part, bool labels);

/* ---- arrays of numbers as IDX and NPY store them ---------------------------- */

enum mot_number_kind { MOT_NUMBER_UINT, MOT_NUMBER_INT, MOT_NUMBER_REAL, MOT_NUMBER_BOOL };
struct mot_number_type {
    enum mot_number_kind kind;
    uint32_t bytes;
    bool big_endian;
};

struct mot_array { /* a header, read */
    struct mot_number_type type;
    uint64_t rows, cols;      /* first dimension, product of the others */
    uint32_t rank, shape[16]; /* shape: [0] is not set */
    bool fortran;             /* column after column */
};

/* Checks a header's size against what the source can hold and the limits; reads rows * cols numbers. */
enum mot_status mot_array_read(
    struct mot_source *, const struct mot_array *, const struct mot_read_conf *, struct mot_raw *out);
enum mot_status mot_array_read_labels(struct mot_source *, const struct mot_array *,
    const struct mot_read_conf *, uint64_t rows, struct mot_labels *out);
/* Rows, and their labels unless there are none, each behind a header of the format's own. */
enum mot_status mot_array_read_set(struct mot_source *, struct mot_source *labels,
    enum mot_status (*header)(struct mot_source *, struct mot_array *out), enum mot_format,
    const struct mot_read_conf *, struct mot_raw *out);

#endif
