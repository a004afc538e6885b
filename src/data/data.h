/* data.h -- data sets: from a name or a file to scaled training, validation and test tables. */
#ifndef MOT_DATA_DATA_H
#define MOT_DATA_DATA_H

#include <motley/model.h>
#include <motley/option.h>
#include <stdio.h>

enum mot_scale { MOT_SCALE_AUTO, MOT_SCALE_NONE, MOT_SCALE_STANDARD, MOT_SCALE_MINMAX, MOT_SCALE_UNIT };
enum mot_order { MOT_ORDER_SHUFFLED, MOT_ORDER_FILE, MOT_ORDER_SORTED };
enum mot_task { MOT_TASK_AUTO, MOT_TASK_CLASSES, MOT_TASK_REGRESSION };
enum mot_format {
    MOT_FORMAT_AUTO,
    MOT_FORMAT_IDX,
    MOT_FORMAT_LIBSVM,
    MOT_FORMAT_CSV,
    MOT_FORMAT_NPY,
    MOT_FORMAT_NPZ,
    MOT_FORMAT_CIFAR10,
    MOT_FORMAT_CIFAR100
};
enum mot_synthetic { MOT_SYNTHETIC_BLOBS, MOT_SYNTHETIC_LINEAR, MOT_SYNTHETIC_REGRESSION };

/* The `data:` section. One table, mot_data_options, describes it. */
struct mot_data_conf {
    const char *name;   /* digits, fashion-mnist, synthetic, or a file; NULL: path, or else digits */
    const char *path;   /* the training file; takes precedence over name */
    const char *labels; /* label file for IDX and NPY; NULL: found by its usual name */
    const char *test_path, *test_labels;       /* a test file; without it `test` sets rows aside */
    uint32_t format, scale, order, task, kind; /* the enums above */
    uint64_t unpack_max; /* bytes that a gzip'd file may unpack to; MOT_WORD_UINT: see mot_source_open */
    uint64_t rows;       /* use only this many from the start; MOT_WORD_UINT: all */
    /* fractions of the rows; test NaN: 0.2, unless the set has test rows of its own */
    double test, valid;
    /* CSV: a name, a number from 0, "last" or "first"; "none": no labels, for predictions */
    const char *label_column;
    const char *skip;      /* CSV: columns to leave out, separated by commas; NULL: none */
    const char *separator; /* CSV: NULL finds it */
    uint32_t header;       /* CSV: auto|yes|no */
    const char *missing;   /* CSV: refuse, mean, median, frequent or a number; NULL: refuse */
    const char *words;     /* CSV: columns to read as words though they look like numbers; NULL: none */
    uint32_t unknown;      /* CSV: refuse|zeros */
    bool unlabelled_too;   /* not a key: rows for a model may have no label column */
    bool training_file;    /* not a key: mot_dataset_open_as takes its rows even if there are test rows */
    uint64_t size, cols, classes, modes; /* synthetic */
    double noise;
    uint64_t crop;      /* pictures: moved at random by up to this many pixels each way; 0: not moved */
    bool flip;          /* pictures: half of them are mirrored */
    uint64_t data_seed; /* of the order and the synthetic rows; MOT_WORD_UINT: the experiment's */
};
extern const struct mot_option mot_data_options[];

/* A column of words, which became `count` columns of zeros and ones. */
struct mot_word_column {
    char *name;      /* of the column, or NULL */
    uint32_t column; /* of the file's features, from 0 */
    uint32_t first;  /* of its columns in the table */
    uint32_t count;
    char **word; /* [count] */
};
struct mot_word_columns {
    uint32_t count;
    struct mot_word_column *at;
};

struct mot_dataset {
    char *name;
    struct mot_table train, valid, test; /* rows may be 0 in valid and test */
    char **class_names;                  /* [classes]: the labels as the file spells them */
    char **column_names;                 /* [cols], or NULL */
    struct mot_picture picture;          /* what the columns are, if rows are pictures */
    uint32_t crop;                       /* how training changes them: see augment.h */
    bool flip;
    uint32_t scale;        /* as resolved: never AUTO */
    float *shift, *factor; /* [cols]: x = (raw - shift) * factor; NULL where scaling has none */
    float *fill;           /* [cols]: what stands for missing values; NULL: they are refused */
    struct mot_word_columns words;
    /* rows taken from the training file; train is the first of these, once ordered */
    uint32_t file_rows;
    bool file_cut;    /* data.rows limits them: the file may go on */
    bool unused_test; /* the training file has test rows inside, which the experiment does not ask for */
    /* [file_rows]: which row of the file (from 0) a row of train, then valid, test is; NULL: the same */
    uint32_t *file_row;
    uint64_t hash; /* XXH64 of the three tables: tells data sets apart in a checkpoint */
};

/* "3x32x32", and how many columns that is. */
bool mot_picture_parse(const char *text, struct mot_picture *out);
uint64_t mot_picture_cols(const struct mot_picture *);

/* Reads, orders, splits and scales. `seed` is the experiment's. */
enum mot_status mot_dataset_open(const struct mot_data_conf *, uint64_t seed, struct mot_dataset **out);
void mot_dataset_close(struct mot_dataset *);
/* Makes sparse rows dense: every column is stored. */
enum mot_status mot_dataset_fill(struct mot_dataset *);

/* Reads a data set as one table, in the order of the file, into `train`, with the schema's
 * columns, class names and scaling. From a set with test rows of its own (fashion-mnist, or
 * test_path) it takes those, otherwise all rows. train.y is NULL with `label_column: none`.
 * For commands that take a model. */
struct mot_schema { /* stored in a model file: what its input must look like */
    uint32_t cols, classes, scale;
    struct mot_picture picture; /* how the columns form a picture; zeros if they do not */
    char **class_names;
    float *shift, *factor;
    float *fill; /* as in mot_dataset */
    struct mot_word_columns words;
    char **feature; /* [features]: the columns of the file by name, or NULL: not known */
    uint32_t features;
};
enum mot_status mot_dataset_open_as(
    const struct mot_data_conf *, const struct mot_schema *, struct mot_dataset **out);

/* The built-in sets: name, summary, ended by a NULL name. `available` says whether
 * its file is on this machine; `hint` how to get it. */
struct mot_builtin {
    const char *name, *summary, *hint;
    bool (*available)(void);
    const char *const *class_name; /* of label 0, 1, ..., ended by NULL; NULL: classes have no other names */
};
extern const struct mot_builtin mot_builtins[];
/* The set's name for the class with this label in its file; NULL if there is none. */
const char *mot_builtin_class(const char *set, const char *label);

#endif
