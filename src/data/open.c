/* open.c -- from a name or a path to a table: which format, which label file. */
#include "base/file.h"
#include "base/memory.h"
#include "base/words.h"
#include "data/formats.h"
#include "data/number.h"
#include <stdlib.h>
#include <string.h>

struct mot_read_conf mot_read_preset(void)
{
    return (struct mot_read_conf){
        .rows = UINT64_MAX, .memory = mot_machine_memory(), .unpack_max = MOT_WORD_UINT
    };
}

struct mot_read_conf mot_read_as(const struct mot_data_conf *conf)
{
    struct mot_read_conf read = mot_read_preset();
    read.rows = conf->rows ? conf->rows : UINT64_MAX; /* MOT_WORD_UINT: all */
    read.unpack_max = conf->unpack_max;
    read.label_column = conf->label_column;
    read.unlabelled = conf->label_column && strcmp(conf->label_column, "none") == 0;
    read.separator = conf->separator;
    read.skip = conf->skip;
    read.header = conf->header;
    read.keep_missing = conf->missing && strcmp(conf->missing, "refuse") != 0;
    read.words = conf->words;
    read.unknown_zeros = conf->unknown != 0;
    return read;
}

const char *mot_format_name(enum mot_format format)
{
    static const char *const names[] = { "auto", "IDX", "LIBSVM", "CSV", "NPY", "NPZ", "CIFAR-10",
        "CIFAR-100" };
    return (size_t)format < MOT_COUNT(names) ? names[format] : "?";
}

/* ---- the format ------------------------------------------------------------------ */

static bool name_has(const char *path, const char *part)
{
    const char *slash = strrchr(path, '/');
    return strstr(slash ? slash + 1 : path, part) != NULL;
}

/* Whether a line reads "number index:value". */
static bool looks_sparse(const char *line)
{
    double label;
    float value;
    const char *p = line + strspn(line, " \t"), *after = mot_scan_double(p, '.', &label);
    if (after == p || (*after != ' ' && *after != '\t')) return false;
    p = after + strspn(after, " \t");
    if (strncmp(p, "qid:", 4) == 0) return true; /* the LIBSVM reader has the best message */
    size_t digits = strspn(p, "0123456789");
    if (digits == 0 || p[digits] != ':') return false;
    after = mot_scan_float(p + digits + 1, '.', &value);
    return after != p + digits + 1 && strchr(" \t\r\n#", *after) != NULL;
}

enum mot_status mot_detect_format(struct mot_source *s, enum mot_format *out)
{
    const unsigned char *at;
    size_t n;
    enum mot_status status = mot_source_peek(s, 65536, &at, &n);
    if (status != MOT_OK) return status;
    const char *name = mot_source_name(s);
    if (n == 0) return mot_fail(MOT_EDATA, "%s: the file is empty", name);
    if (name_has(name, ".bin") && (name_has(name, "cifar") || name_has(name, "_batch"))) {
        bool hundred = strstr(name, "cifar-100") || strstr(name, "cifar100");
        *out = hundred ? MOT_FORMAT_CIFAR100 : MOT_FORMAT_CIFAR10;
        return MOT_OK;
    }
    if ((n >= 4 && memcmp(at, "PK\3\4", 4) == 0) || name_has(name, ".npz")) {
        *out = MOT_FORMAT_NPZ;
        return MOT_OK;
    }
    if (n >= 6 && memcmp(at, "\x93NUMPY", 6) == 0) {
        *out = MOT_FORMAT_NPY;
        return MOT_OK;
    }
    if (n >= 4 && at[0] == 0 && at[1] == 0 && at[2] >= 0x08 && at[2] <= 0x0E && at[3] >= 1 && at[3] <= 8) {
        *out = MOT_FORMAT_IDX;
        return MOT_OK;
    }
    if (name_has(name, ".npy")) {
        *out = MOT_FORMAT_NPY;
        return MOT_OK;
    }
    if (name_has(name, "-ubyte") || name_has(name, "-idx1") || name_has(name, "-idx3") ||
        name_has(name, ".idx")) {
        *out = MOT_FORMAT_IDX;
        return MOT_OK;
    }
    const unsigned char *zero = memchr(at, 0, n);
    if (zero)
        return mot_fail_at(s, (uint64_t)(zero - at),
            "a zero byte, so this is not text; and the file begins with neither the magic of IDX (00 00 08 "
            "03) nor of NPY (93 4e 55 4d) nor of NPZ (50 4b 03 04); for CIFAR, set `format`");
    char *text = mot_new(n + 1, 1);
    memcpy(text, at, n);
    bool sparse = name_has(name, ".libsvm") || name_has(name, ".svm");
    for (char *line = text; line && !sparse; line = strchr(line, '\n')) {
        if (*line == '\n') line++;
        sparse = looks_sparse(line);
    }
    free(text);
    *out = sparse ? MOT_FORMAT_LIBSVM : MOT_FORMAT_CSV;
    return MOT_OK;
}

/* ---- the label file ----------------------------------------------------------------- */

static char *with_name(const char *path, const char *base, const char *at, const char *from, const char *to)
{
    return mot_format(
        "%.*s%.*s%s%s", (int)(base - path), path, (int)(at - base), base, to, at + strlen(from));
}

char *mot_labels_path(const char *path, enum mot_format format)
{
    static const struct {
        enum mot_format format;
        const char *from, *to;
    } usual[] = {
        { MOT_FORMAT_IDX, "images-idx3", "labels-idx1" },
        { MOT_FORMAT_IDX, "images.idx3", "labels.idx1" },
        { MOT_FORMAT_IDX, "images-idx4", "labels-idx1" },
        { MOT_FORMAT_IDX, "images-idx2", "labels-idx1" },
        { MOT_FORMAT_IDX, "images", "labels" },
        { MOT_FORMAT_IDX, "features", "labels" },
        { MOT_FORMAT_NPY, "images", "labels" },
        { MOT_FORMAT_NPY, "features", "labels" },
        { MOT_FORMAT_NPY, "data", "labels" },
    };
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    for (size_t i = 0; i < MOT_COUNT(usual); i++) {
        const char *at = usual[i].format == format ? strstr(base, usual[i].from) : NULL;
        if (at) return with_name(path, base, at, usual[i].from, usual[i].to);
    }
    /* X.npy goes with y.npy, x_train.npy with y_train.npy, train_X.npy with
     * train_y.npy; else NAME.npy with NAME-labels.npy. */
    for (const char *x = base; format == MOT_FORMAT_NPY && *x; x++) {
        bool begins = x == base || x[-1] == '_' || x[-1] == '-',
             ends = x[1] == '.' || x[1] == '_' || x[1] == '-';
        if ((*x == 'x' || *x == 'X') && begins && ends) return with_name(path, base, x, "x", "y");
    }
    const char *dot = strchr(base, '.');
    if (!dot || dot == base) dot = base + strlen(base);
    return with_name(path, base, dot, "", "-labels");
}

/* With or without .gz, whichever exists. */
static char *existing(char *path)
{
    if (mot_file_exists(path)) return path;
    size_t n = strlen(path);
    bool packed = n > 3 && strcmp(path + n - 3, ".gz") == 0;
    char *other = packed ? mot_format("%.*s", (int)n - 3, path) : mot_format("%s.gz", path);
    bool there = mot_file_exists(other);
    free(there ? path : other);
    return there ? other : path;
}

char *mot_labels_beside(const char *path, enum mot_format format)
{
    return existing(mot_labels_path(path, format));
}

static enum mot_status open_labels(
    const char *path, const char *labels, enum mot_format format, uint64_t most, struct mot_source **out)
{
    if (labels) return mot_source_open(labels, most, out);
    char *found = mot_labels_beside(path, format);
    enum mot_status status;
    if (!mot_file_exists(found))
        status = mot_fail(
            MOT_EDATA, "%s: expected its labels in %s, which does not exist; set `labels`", path, found);
    else status = mot_source_open(found, most, out);
    free(found);
    return status;
}

enum mot_status mot_read_format(struct mot_source *s, struct mot_source *labels, enum mot_format format,
    const struct mot_read_conf *conf, struct mot_raw *out)
{
    switch (format) {
    case MOT_FORMAT_AUTO: break;
    case MOT_FORMAT_IDX: return mot_read_idx(s, labels, conf, out);
    case MOT_FORMAT_NPY: return mot_read_npy(s, labels, conf, out);
    case MOT_FORMAT_LIBSVM: return mot_read_libsvm(s, conf, out);
    case MOT_FORMAT_CSV: return mot_read_csv(s, conf, out);
    case MOT_FORMAT_NPZ: return mot_read_npz(s, conf, out);
    case MOT_FORMAT_CIFAR10: return mot_read_cifar(s, 10, conf, out);
    case MOT_FORMAT_CIFAR100: return mot_read_cifar(s, 100, conf, out);
    }
    return MOT_OK;
}

enum mot_status mot_raw_open_file(const char *path, const char *labels, enum mot_format format,
    const struct mot_read_conf *conf, struct mot_raw *out)
{
    struct mot_source *s, *y = NULL;
    enum mot_status status = mot_source_open(path, conf->unpack_max, &s);
    if (status != MOT_OK) return status;
    if (format == MOT_FORMAT_AUTO) status = mot_detect_format(s, &format);
    bool pair = format == MOT_FORMAT_IDX || format == MOT_FORMAT_NPY;
    if (status == MOT_OK && labels && !pair)
        status = mot_fail(MOT_EUSAGE, "%s: `labels` is for IDX and NPY; a %s file has its labels inside",
            path, mot_format_name(format));
    bool inside =
        format == MOT_FORMAT_LIBSVM || format == MOT_FORMAT_CIFAR10 || format == MOT_FORMAT_CIFAR100;
    if (status == MOT_OK && conf->unlabelled && inside)
        status = mot_fail(MOT_EUSAGE, "%s: a %s file has a label in every row: label_column cannot be none",
            path, mot_format_name(format));
    if (status == MOT_OK && pair && !conf->unlabelled)
        status = open_labels(path, labels, format, conf->unpack_max, &y);
    if (status == MOT_OK) status = mot_read_format(s, y, format, conf, out);
    mot_source_close(y);
    mot_source_close(s);
    return status;
}

/* ---- names --------------------------------------------------------------------------- */

static enum mot_status fail_name(const char *name)
{
    const char *names[8];
    size_t n = 0;
    char *list = mot_text("");
    for (const struct mot_builtin *b = mot_builtins; b->name && n < MOT_COUNT(names); b++) {
        char *longer = mot_format("%s%s%s", list, n ? ", " : "", b->name);
        names[n++] = b->name;
        free(list);
        list = longer;
    }
    const char *nearest = mot_nearest(name, names, n);
    enum mot_status status = mot_fail(MOT_EUSAGE, "data '%s' is neither a built-in set (%s) nor a file%s%s%s",
        name, list, nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
    free(list);
    return status;
}

enum mot_status mot_raw_open(const struct mot_data_conf *conf, uint64_t seed, int part,
    const struct mot_read_conf *read, struct mot_raw *out)
{
    struct mot_raw none = { 0 };
    if (part == 1 && conf->test_path) {
        struct mot_read_conf test = *read;
        test.test = true;
        return mot_raw_open_file(
            conf->test_path, conf->test_labels, (enum mot_format)conf->format, &test, out);
    }
    const char *path = conf->path;
    if (!path) {
        const char *name = conf->name ? conf->name : "digits";
        if (strcmp(name, "fashion-mnist") == 0) return mot_read_fashion(part, read, out);
        bool digits = strcmp(name, "digits") == 0, synthetic = strcmp(name, "synthetic") == 0;
        if (part == 0 && digits) return mot_read_digits(read->rows, out);
        if (part == 0 && synthetic) return mot_make_synthetic(conf, seed, read, out);
        if (!digits && !synthetic && !mot_file_exists(name)) return fail_name(name);
        path = digits || synthetic ? NULL : name;
    }
    if (part == 0) return mot_raw_open_file(path, conf->labels, (enum mot_format)conf->format, read, out);
    *out = none;
    return MOT_OK;
}
