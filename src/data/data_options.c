/* data_options.c -- the `data:` section as a table. */
#include "data/data.h"
#include "data/sampler.h"

#define AT(field) offsetof(struct mot_data_conf, field)

const struct mot_option mot_data_options[] = {
    { "name", MOT_OPT_TEXT, AT(name), "auto",
        "a built-in set (digits, fashion-mnist, synthetic) or a file; auto: `path`, or else digits",
        .word = "auto" },
    { "path", MOT_OPT_TEXT, AT(path), "none",
        "the file to train on: IDX, LIBSVM, CSV, NPY, NPZ or CIFAR, plain or .gz", .word = "none",
        .also = "file" },
    { "labels", MOT_OPT_TEXT, AT(labels), "auto",
        "IDX and NPY: the label file; auto: found by its usual name (images-idx3 -> labels-idx1, X.npy -> "
        "y.npy)",
        .word = "auto" },
    { "test_path", MOT_OPT_TEXT, AT(test_path), "none",
        "a file of test rows, which may be the same NPZ file if it has x_test and y_test; without it, `test` "
        "sets some rows aside",
        .word = "none" },
    { "test_labels", MOT_OPT_TEXT, AT(test_labels), "auto", "IDX and NPY: the labels of test_path",
        .word = "auto" },
    { "format", MOT_OPT_CHOICE, AT(format), "auto",
        "the format of the files; auto: by their first bytes, or else by name; cifar10 and cifar100 are "
        "their "
        "binary versions, by names such as data_batch_1.bin",
        .choices = "auto|idx|libsvm|csv|npy|npz|cifar10|cifar100" },
    { "unpack_max", MOT_OPT_SIZE, AT(unpack_max), "auto",
        "the largest size that a .gz file may unpack to, so that a small file cannot fill the memory; auto: "
        "1 GB, or 20 times the file's size if that is more",
        .min = 1, .max = 1e18, .word = "auto" },
    { "scale", MOT_OPT_CHOICE, AT(scale), "auto",
        "scaling, fitted to the training rows: standard (mean 0, deviation 1), minmax (0 to 1), unit (rows "
        "of length 1); sparse rows stay sparse: standard divides by the deviation and minmax by the largest "
        "absolute value, without a shift; auto: images to 0..1 with one factor, CSV and NPY standard, LIBSVM "
        "and synthetic none",
        .choices = "auto|none|standard|minmax|unit" },
    { "order", MOT_OPT_CHOICE, AT(order), "shuffled",
        "the order of the rows before the split: shuffled by the seed, as in the file, or sorted by label",
        .choices = "shuffled|file|sorted" },
    { "task", MOT_OPT_CHOICE, AT(task), "auto",
        "whether labels are classes or values; auto: words, or at most 100 different whole numbers, are "
        "classes",
        .choices = "auto|classes|regression" },
    { "kind", MOT_OPT_CHOICE, AT(kind), "blobs",
        "synthetic: clouds of points for each class, classes separated by planes, or a linear value with "
        "noise",
        .choices = "blobs|linear|regression" },
    { "rows", MOT_OPT_UINT, AT(rows), "all", "use only this many rows from the start of the training file",
        .min = 1, .max = 4294967294.0, .word = "all" },
    { "test", MOT_OPT_REAL, AT(test), "auto",
        "the fraction of rows, from the end, kept for testing; auto: 0.2, or the test rows that come with "
        "the set",
        .min = 0, .max = 0.99, .word = "auto" },
    { "valid", MOT_OPT_REAL, AT(valid), "0",
        "the fraction of rows, before the test rows, kept for validation", .min = 0, .max = 0.99 },
    { "label_column", MOT_OPT_TEXT, AT(label_column), "last",
        "CSV: the label column: its name, its number from 0, first, last, or none (for predictions)",
        .also = "label" },
    { "skip", MOT_OPT_TEXT, AT(skip), "none",
        "CSV: columns to leave out: names or numbers from 0, separated by commas", .word = "none" },
    { "separator", MOT_OPT_TEXT, AT(separator), "auto",
        "CSV: the column separator: a character, tab or space; auto: comma, semicolon, tab or space",
        .word = "auto" },
    { "header", MOT_OPT_CHOICE, AT(header), "auto",
        "CSV: whether the first line names the columns; auto: yes if it has words and no number; a line that "
        "could be either (words among numbers) is an error",
        .choices = "auto|yes|no" },
    { "missing", MOT_OPT_TEXT, AT(missing), "refuse",
        "CSV: what to do about missing values (empty, NA, NaN, null or ?): refuse them, saying how many and "
        "where; or fill them with the column's mean, median or most frequent value (`frequent`) in the "
        "training rows, or with a number; in columns of words with the most frequent word, or with none if "
        "a number is given",
        .word = NULL },
    { "words", MOT_OPT_TEXT, AT(words), "none",
        "CSV: columns whose numbers are only names, such as place codes: names or numbers from 0, separated "
        "by commas; a column that has words needs no entry; each word becomes a column of 0 and 1",
        .word = "none" },
    { "unknown", MOT_OPT_CHOICE, AT(unknown), "refuse",
        "CSV: words that the training file does not have: refuse them, or read them as none of its words",
        .choices = "refuse|zeros" },
    { "size", MOT_OPT_UINT, AT(size), "1000", "synthetic: rows", .min = 1, .max = 4294967294.0 },
    { "cols", MOT_OPT_UINT, AT(cols), "20", "synthetic: columns", .min = 1, .max = 134217728.0 },
    { "classes", MOT_OPT_UINT, AT(classes), "2", "synthetic: classes", .min = 2, .max = 65536 },
    { "modes", MOT_OPT_UINT, AT(modes), "1",
        "synthetic blobs: clouds per class, each with half the rows of the one before; the last two are "
        "equal",
        .min = 1, .max = 32 },
    { "noise", MOT_OPT_REAL, AT(noise), "0.2",
        "synthetic: the standard deviation of the noise; the signal has size 1", .min = 0, .max = 1000 },
    { "crop", MOT_OPT_UINT, AT(crop), "0",
        "pictures: move each training picture at random by up to this many pixels each way; pixels that move "
        "in are 0. A function of seed, part and position: the same for whoever computes a sample",
        .max = 1000, .also = "random_crop" },
    { "flip", MOT_OPT_BOOL, AT(flip), "false", "pictures: mirror half of the training pictures, at random",
        .also = "horizontal_flip" },
    { "data_seed", MOT_OPT_UINT, AT(data_seed), "auto",
        "the seed for the order of rows and for synthetic rows; auto: the experiment's seed",
        .word = "auto" },
    { 0 },
};

#undef AT
#define AT(field) offsetof(struct mot_sampler_conf, field)

const struct mot_option mot_sampler_options[] = {
    { "name", MOT_OPT_CHOICE, AT(name), "reshuffle",
        "how to draw a batch: reshuffle (every row once per epoch, in a new order), once (shuffled once), "
        "replace (uniform with replacement), choice (no row twice in a batch, batches independent), "
        "sequential (in order)",
        .choices = "reshuffle|once|replace|choice|sequential" },
    { "passes", MOT_OPT_UINT, AT(passes), "endless",
        "how often a worker goes through its rows before its data runs out", .min = 1, .max = 1e15,
        .word = "endless" },
    { 0 },
};
