/* raw.h -- what a reader gets from a file: the numbers as written, the labels as spelt. */
#ifndef MOT_DATA_RAW_H
#define MOT_DATA_RAW_H

#include "data/data.h"
#include "data/source.h"

#define MOT_ROWS_MAX (UINT32_MAX - 1)
#define MOT_COLS_MAX (UINT32_C(1) << 27)
#define MOT_CLASSES_MAX UINT32_C(65536) /* distinct labels that can be classes */
#define MOT_AUTO_CLASSES_MAX 100 /* with more distinct whole numbers than this: regression by default */
_Static_assert(MOT_CLASSES_MAX < 1 << 24, "class numbers are exact in float");

/* line (or row) of its first use */
struct mot_label {
    char *text;
    double value;
    bool number;
    uint64_t line;
};

struct mot_labels {
    uint32_t rows;
    double *value;          /* [rows]; undefined for words */
    uint32_t *id;           /* [rows]: which of `seen`; undefined if `many` */
    struct mot_label *seen; /* each distinct label once, in order of appearance */
    uint32_t count;
    uint32_t *slot; /* hash table over `seen`, entry + 1 */
    uint32_t slots;
    bool many;      /* more than MOT_CLASSES_MAX distinct ones: only values are kept */
    bool fractions; /* some label is a number that is not whole */
    uint32_t words; /* entry + 1 of the first label that is not a number */
    size_t value_room, id_room, seen_room;
};

struct mot_raw {
    uint32_t rows, cols;
    bool sparse, labelled;
    bool picture;                /* bytes of an image: one range for all columns */
    struct mot_picture geometry; /* of a row, if the file says so; zeros otherwise */
    bool from_zero;              /* sparse: the file counts columns from 0 */
    bool has_test;               /* the file has test rows besides these */
    uint32_t format;             /* enum mot_format */
    float *x;                    /* dense [rows][cols]; NaN: missing, which only a CSV file may have */
    uint64_t *row_at;            /* sparse [rows + 1] */
    uint32_t *col;
    float *val;
    struct mot_labels labels;      /* rows of them if labelled */
    char **column_names;           /* [cols], or NULL */
    char *label_name;              /* or NULL */
    struct mot_word_columns words; /* column numbers are those of x */
    size_t x_room, row_at_room, col_room, val_room;
};

void mot_raw_free(struct mot_raw *);              /* and zeroes it */
uint64_t mot_raw_entries(const struct mot_raw *); /* stored numbers */

/* Row r as `cols` numbers: where it lies, or in `scratch` if the table is sparse. */
const float *mot_raw_row(const struct mot_raw *, uint32_t r, float *scratch);
/* Its label as spelt in the file, if spellings were kept. */
const char *mot_raw_label(const struct mot_raw *, uint32_t r, char into[40]);

/* Room for `need` items of `size` bytes in *array, doubling; an error beyond `most` bytes. */
enum mot_status mot_raw_room(
    const struct mot_source *, void **array, size_t *room, uint64_t need, size_t size, uint64_t most);

/* Adds the next row's label: from text, which is a number or a word, or as a number. Fails only if there are
 * words and too many labels for classes. */
enum mot_status mot_labels_add(
    struct mot_labels *, const struct mot_source *, const char *text, size_t n, char point, uint64_t line);
enum mot_status mot_labels_add_number(
    struct mot_labels *, const struct mot_source *, double value, uint64_t line);
void mot_labels_free(struct mot_labels *);

/* Classes or regression, for `name`'s labels; AUTO decides. */
enum mot_status mot_labels_task(
    const struct mot_labels *, enum mot_task asked, const char *name, enum mot_task *out);
/* The same for a whole table: whole numbers in an IDX file are classes, however many. */
enum mot_status mot_raw_task(
    const struct mot_raw *, enum mot_task asked, const char *name, enum mot_task *out);
/* Class names in order: numbers by value, then words. `class_of[id]` gives a label's class. Both are
 * malloc'd; if memory was refused they are not filled. */
void mot_labels_classes(
    const struct mot_labels *, uint32_t *count_out, char ***names_out, uint32_t **class_of_out);
/* class_of for given names. Any other label is an error, or UINT32_MAX; so is an empty one. */
struct mot_known {
    const char *file, *what, *among; /* for the error: "FILE:3: WHAT 'x' is not among the AMONG: a, b" */
    char *const *names;
    uint32_t count;
    bool others; /* other labels are no error */
};
enum mot_status mot_labels_match(
    const struct mot_labels *, const struct mot_known *, uint32_t **class_of_out);

#endif
