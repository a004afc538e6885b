/* builtin.c -- the named data sets: in the library, from a Debian package, or generated. */
#include "base/file.h"
#include "base/memory.h"
#include "data/formats.h"
#include <stdlib.h>
#include <string.h>

#define PACKAGE_FOLDER "/usr/share/datasets"

static bool always(void) { return true; }
static char *fashion_path(int part, const char *what);

static bool fashion_available(void)
{
    char *path = fashion_path(0, "images-idx3");
    bool there = path != NULL;
    free(path);
    return there;
}

static const char *const fashion_classes[] = { "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
    "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot", NULL };

const struct mot_builtin mot_builtins[] = {
    { "digits", "1,797 handwritten digits of 8 x 8 pixels, 10 classes (UCI, CC BY 4.0)", "part of motley",
        always, NULL },
    { "fashion-mnist", "60,000 + 10,000 images of clothes of 28 x 28 pixels, 10 classes (Zalando, MIT)",
        "apt-get install dataset-fashion-mnist (or set MOTLEY_DATA to a folder that has fashion-mnist/)",
        fashion_available, fashion_classes },
    { "synthetic", "generated rows: blobs, linear or regression, of any size", "part of motley", always,
        NULL },
    { 0 },
};

const char *mot_builtin_class(const char *set, const char *label)
{
    const struct mot_builtin *b = mot_builtins;
    while (b->name && strcmp(b->name, set) != 0) b++;
    bool digit = label[0] >= '0' && label[0] <= '9' && label[1] == 0;
    for (int i = 0; digit && b->class_name && b->class_name[i]; i++)
        if (label[0] == '0' + i) return b->class_name[i];
    return NULL;
}

/* ---- digits ------------------------------------------------------------------- */

#define DIGITS 1797
static const char digits[DIGITS][66] = {
#include "data/digits.inc"
};

enum mot_status mot_read_digits(uint64_t rows, struct mot_raw *out)
{
    struct mot_raw raw = { .rows = (uint32_t)(rows < DIGITS ? rows : DIGITS),
        .cols = 64,
        .picture = true,
        .geometry = { 1, 8, 8 },
        .labelled = true,
        .format = MOT_FORMAT_IDX };
    raw.x = mot_new_large((size_t)raw.rows * raw.cols, sizeof *raw.x);
    raw.x_room = (size_t)raw.rows * raw.cols;
    enum mot_status status = raw.x ? MOT_OK : mot_memory_status();
    for (uint32_t r = 0; r < raw.rows && status == MOT_OK; r++) {
        for (uint32_t c = 0; c < 64; c++) {
            char pixel = digits[r][c + 1];
            raw.x[(size_t)r * 64 + c] = (float)(pixel <= '9' ? pixel - '0' : pixel - 'A' + 10);
        }
        status = mot_labels_add_number(&raw.labels, NULL, digits[r][0] - '0', r);
    }
    if (status == MOT_OK) *out = raw;
    else mot_raw_free(&raw);
    return status;
}

/* ---- fashion-mnist -------------------------------------------------------------- */

/* MOTLEY_DATA says where the sets are; without it they are where the package puts them. */
static const char *sets_folder(void)
{
    const char *other = getenv("MOTLEY_DATA");
    return other && *other ? other : PACKAGE_FOLDER;
}

/* The file of a part, gzip'd or plain; NULL if it is not there. */
static char *fashion_path(int part, const char *what)
{
    for (int packed = 1; packed >= 0; packed--) {
        char *path = mot_format("%s/fashion-mnist/%s-%s-ubyte%s", sets_folder(), part ? "t10k" : "train",
            what, packed ? ".gz" : "");
        if (mot_file_exists(path)) return path;
        free(path);
    }
    return NULL;
}

char *mot_builtin_file(const char *set, int part, bool labels)
{
    if (strcmp(set, "fashion-mnist") != 0) return NULL;
    return fashion_path(part, labels ? "labels-idx1" : "images-idx3");
}

enum mot_status mot_read_fashion(int part, const struct mot_read_conf *conf, struct mot_raw *out)
{
    char *images = fashion_path(part, "images-idx3"), *labels = fashion_path(part, "labels-idx1");
    enum mot_status status;
    if (images && labels) status = mot_raw_open_file(images, labels, MOT_FORMAT_IDX, conf, out);
    else
        status = mot_fail(MOT_EDATA,
            "fashion-mnist: no %s-%s-ubyte.gz in %s/fashion-mnist; get it with: apt-get install "
            "dataset-fashion-mnist%s",
            part ? "t10k" : "train", images ? "labels-idx1" : "images-idx3", sets_folder(),
            getenv("MOTLEY_DATA") ? " (and unset MOTLEY_DATA)" : "");
    free(images);
    free(labels);
    return status;
}
