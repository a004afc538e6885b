/* dataset.c -- rows, then order, then split, then scaling: the four steps from a file to tables. */
#include "base/memory.h"
#include "base/rng.h"
#include "data/formats.h"
#include "data/missing.h"
#include "data/scale.h"
#include "data/words.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* The tables are windows into `rows` and `test`: splitting copies nothing. */
struct owner {
    struct mot_dataset set; /* first, since callers see it */
    uint32_t classes;
    struct mot_raw rows, test;
    float *y, *test_y;
};

static struct owner *owner_of(struct mot_dataset *set) { return (struct owner *)(void *)set; }

void mot_dataset_close(struct mot_dataset *set)
{
    if (!set) return;
    struct owner *o = owner_of(set);
    for (uint32_t c = 0; set->class_names && c < o->classes; c++) free(set->class_names[c]);
    free(set->class_names);
    free(set->shift);
    free(set->factor);
    free(set->fill);
    mot_word_columns_free(&set->words);
    free(set->name);
    free(set->file_row);
    mot_raw_free(&o->rows);
    mot_raw_free(&o->test);
    free(o->y);
    free(o->test_y);
    free(o);
}

static const char *name_of(const struct mot_data_conf *conf)
{
    return conf->path ? conf->path : conf->name ? conf->name : "digits";
}

bool mot_picture_parse(const char *text, struct mot_picture *out)
{
    uint32_t n[3];
    for (int i = 0; i < 3; i++) {
        char *end;
        unsigned long long value = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
        if (value == 0 || value > 1 << 20 || *end != (i < 2 ? 'x' : '\0')) return false;
        n[i] = (uint32_t)value;
        text = end + 1;
    }
    *out = (struct mot_picture){ n[0], n[1], n[2] };
    return true;
}

uint64_t mot_picture_cols(const struct mot_picture *p)
{
    return (uint64_t)p->channels * p->height * p->width;
}

/* Two shapes of pictures may have as many columns. A file of plain rows does not say what they are. */
static enum mot_status check_picture(const char *name, const struct mot_picture *found,
    const struct mot_picture *expected, const char *as_in, const char *whose)
{
    if (!found->channels || !expected->channels || memcmp(found, expected, sizeof *found) == 0) return MOT_OK;
    return mot_fail(MOT_EDATA,
        "%s: pictures of %ux%ux%u (channels, height, width), expected %ux%ux%u as %s%s", name,
        found->channels, found->height, found->width, expected->channels, expected->height, expected->width,
        as_in, whose);
}

/* ---- labels ------------------------------------------------------------------------ */

/* NULL if memory runs out. */
static float *label_values(const struct mot_labels *l, const uint32_t *class_of)
{
    float *y = mot_new_large((size_t)l->rows + 1, sizeof *y);
    for (uint32_t r = 0; y && r < l->rows; r++)
        y[r] = class_of ? (float)class_of[l->id[r]] : (float)l->value[r];
    return y;
}

static enum mot_status match_classes(
    const struct mot_labels *l, const char *file, char *const *names, uint32_t count, uint32_t **class_of_out)
{
    return mot_labels_match(
        l, &(struct mot_known){ file, "label", "known classes", names, count, false }, class_of_out);
}

/* "0" of fashion-mnist is a T-shirt. */
static void name_class(const char *set, char **label)
{
    const char *name = mot_builtin_class(set, *label);
    if (!name) return;
    free(*label);
    *label = mot_text(name);
}

/* Gives a set's numeric labels the class names that the model knows. */
static void name_labels(struct mot_labels *l, const char *set, const struct mot_schema *schema)
{
    for (uint32_t i = 0; i < l->count; i++) {
        const char *name = mot_builtin_class(set, l->seen[i].text);
        bool known = false;
        for (uint32_t c = 0; name && c < schema->classes; c++)
            known |= strcmp(schema->class_names[c], name) == 0;
        if (!known) continue;
        name_class(set, &l->seen[i].text);
        l->seen[i].number = false;
    }
}

static enum mot_status settle_labels(struct owner *o, const struct mot_data_conf *conf)
{
    enum mot_task task;
    const struct mot_labels *labels = &o->rows.labels;
    uint32_t *class_of = NULL;
    enum mot_status status = mot_raw_task(&o->rows, (enum mot_task)conf->task, name_of(conf), &task);
    if (status != MOT_OK) return status;
    if (task == MOT_TASK_CLASSES) mot_labels_classes(labels, &o->classes, &o->set.class_names, &class_of);
    o->y = label_values(labels, class_of);
    free(class_of);
    class_of = NULL;
    status = mot_memory_status();
    if (status == MOT_OK && o->test.rows) {
        const char *name = conf->test_path ? conf->test_path : name_of(conf);
        if (task == MOT_TASK_CLASSES)
            status = match_classes(&o->test.labels, name, o->set.class_names, o->classes, &class_of);
        else status = mot_labels_task(&o->test.labels, MOT_TASK_REGRESSION, name, &task);
        if (status == MOT_OK) o->test_y = label_values(&o->test.labels, class_of);
        free(class_of);
    }
    mot_labels_free(&o->rows.labels);
    mot_labels_free(&o->test.labels);
    if (status == MOT_OK) status = mot_memory_status();
    for (uint32_t c = 0; c < o->classes && status == MOT_OK && !conf->path; c++)
        name_class(name_of(conf), &o->set.class_names[c]);
    return status == MOT_OK ? mot_memory_status() : status;
}

/* ---- order -------------------------------------------------------------------------- */

struct keyed {
    float y;
    uint32_t row;
};

static int by_label(const void *a, const void *b)
{
    const struct keyed *p = a, *q = b;
    if (p->y != q->y) return p->y < q->y ? -1 : 1;
    return (p->row > q->row) - (p->row < q->row);
}

static uint32_t *make_order(const struct owner *o, enum mot_order order, uint64_t seed)
{
    uint32_t rows = o->rows.rows, *from = mot_new_large(rows, sizeof *from);
    if (!from) return NULL;
    if (order == MOT_ORDER_SORTED) {
        struct keyed *keyed = mot_new_large(rows, sizeof *keyed);
        if (!keyed) return from; /* and the call is marked */
        for (uint32_t r = 0; r < rows; r++) keyed[r] = (struct keyed){ o->y[r], r };
        qsort(keyed, rows, sizeof *keyed, by_label);
        for (uint32_t r = 0; r < rows; r++) from[r] = keyed[r].row;
        free(keyed);
    } else {
        uint64_t key = mot_hash3(seed, MOT_RNG_DATA_ORDER, 0);
        for (uint32_t r = 0; r < rows; r++) from[r] = (uint32_t)mot_permute(key, rows, r);
    }
    return from;
}

/* Row r becomes what row from[r] was, cycle by cycle, so that a large table is not held twice. */
static void reorder_dense(struct mot_raw *raw, const uint32_t *from)
{
    size_t bytes = (size_t)raw->cols * sizeof *raw->x;
    float *held = mot_new_large(raw->cols, sizeof *held);
    unsigned char *done = mot_new_large(raw->rows, 1);
    for (uint32_t start = 0; held && done && start < raw->rows; start++) {
        if (done[start] || from[start] == start) continue;
        memcpy(held, raw->x + (size_t)start * raw->cols, bytes);
        uint32_t r = start;
        for (; from[r] != start; r = from[r]) {
            memcpy(raw->x + (size_t)r * raw->cols, raw->x + (size_t)from[r] * raw->cols, bytes);
            done[r] = 1;
        }
        memcpy(raw->x + (size_t)r * raw->cols, held, bytes);
        done[r] = 1;
    }
    free(held);
    free(done);
}

static void reorder_sparse(struct mot_raw *raw, const uint32_t *from)
{
    uint64_t entries = raw->row_at[raw->rows], at = 0;
    uint64_t *row_at = mot_new_large((size_t)raw->rows + 1, sizeof *row_at);
    uint32_t *col = mot_new_large((size_t)entries + 1, sizeof *col);
    float *val = mot_new_large((size_t)entries + 1, sizeof *val);
    if (!row_at || !col || !val) {
        free(row_at);
        free(col);
        free(val);
        return;
    }
    for (uint32_t r = 0; r < raw->rows; r++) {
        uint64_t begin = raw->row_at[from[r]], n = raw->row_at[from[r] + 1] - begin;
        if (n) {
            memcpy(col + at, raw->col + begin, (size_t)n * sizeof *col);
            memcpy(val + at, raw->val + begin, (size_t)n * sizeof *val);
        }
        row_at[r + 1] = at += n;
    }
    free(raw->row_at);
    free(raw->col);
    free(raw->val);
    raw->row_at = row_at;
    raw->col = col;
    raw->val = val;
}

static enum mot_status put_in_order(struct owner *o, enum mot_order order, uint64_t seed)
{
    if (order == MOT_ORDER_FILE) return MOT_OK;
    uint32_t *from = o->set.file_row = make_order(o, order, seed);
    float *y = mot_new_large((size_t)o->rows.rows + 1, sizeof *y);
    if (!from || !y || mot_memory_refused()) {
        free(y);
        return mot_memory_status();
    }
    for (uint32_t r = 0; r < o->rows.rows; r++) y[r] = o->y[from[r]];
    free(o->y);
    o->y = y;
    if (o->rows.sparse) reorder_sparse(&o->rows, from);
    else reorder_dense(&o->rows, from);
    return mot_memory_status();
}

/* ---- split and hash -------------------------------------------------------------------- */

static struct mot_table window(
    const struct mot_raw *raw, const float *y, uint32_t classes, uint32_t first, uint32_t rows)
{
    struct mot_table t = { .rows = rows, .cols = raw->cols, .classes = classes, .y = y ? y + first : NULL };
    if (raw->sparse) {
        t.row_at = raw->row_at + first;
        t.col = raw->col;
        t.val = raw->val;
    } else if (raw->x) t.x = raw->x + (size_t)first * raw->cols;
    return t;
}

static enum mot_status split(struct owner *o, const struct mot_data_conf *conf)
{
    uint32_t rows = o->rows.rows, test = 0;
    if (o->test.rows == 0) test = (uint32_t)((isnan(conf->test) ? 0.2 : conf->test) * rows + 0.5);
    uint32_t valid = (uint32_t)(conf->valid * rows + 0.5);
    if ((uint64_t)test + valid >= rows)
        return mot_fail(MOT_EUSAGE,
            "%s: of %u rows, %u are for testing and %u for validation, expected some for training",
            name_of(conf), rows, test, valid);
    uint32_t train = rows - test - valid;
    o->set.train = window(&o->rows, o->y, o->classes, 0, train);
    o->set.valid = window(&o->rows, o->y, o->classes, train, valid);
    if (o->test.rows) o->set.test = window(&o->test, o->test_y, o->classes, 0, o->test.rows);
    else o->set.test = window(&o->rows, o->y, o->classes, train + valid, test);
    return MOT_OK;
}

static void hash_table(XXH64_state_t *state, const struct mot_table *t)
{
    uint32_t shape[4] = { t->rows, t->cols, t->classes, t->row_at != NULL };
    XXH64_update(state, shape, sizeof shape);
    if (t->y) XXH64_update(state, t->y, (size_t)t->rows * sizeof *t->y);
    if (t->x) XXH64_update(state, t->x, (size_t)t->rows * t->cols * sizeof *t->x);
    if (!t->row_at || t->rows == 0) return;
    for (uint32_t r = 0; r < t->rows; r++) {
        uint64_t n = t->row_at[r + 1] - t->row_at[r]; /* not the offset: a window begins anywhere */
        XXH64_update(state, &n, sizeof n);
    }
    uint64_t begin = t->row_at[0], n = t->row_at[t->rows] - begin;
    if (n) XXH64_update(state, t->col + begin, (size_t)n * sizeof *t->col);
    if (n) XXH64_update(state, t->val + begin, (size_t)n * sizeof *t->val);
}

static uint64_t hash_of(const struct mot_dataset *set)
{
    XXH64_state_t *state = XXH64_createState();
    if (!state) {
        mot_memory_refuse(0);
        return 0;
    }
    XXH64_reset(state, 0);
    hash_table(state, &set->train);
    hash_table(state, &set->valid);
    hash_table(state, &set->test);
    uint64_t hash = XXH64_digest(state);
    XXH64_freeState(state);
    return hash;
}

/* ---- open ------------------------------------------------------------------------------- */

static bool has_test_part(const struct mot_data_conf *conf)
{
    return conf->test_path || (!conf->path && conf->name && strcmp(conf->name, "fashion-mnist") == 0);
}

static bool is_synthetic(const struct mot_data_conf *conf)
{
    return !conf->path && conf->name && strcmp(conf->name, "synthetic") == 0;
}

static enum mot_status read_test(struct owner *o, const struct mot_data_conf *conf, uint64_t seed)
{
    if (!has_test_part(conf) || conf->test == 0) return MOT_OK;
    if (!isnan(conf->test))
        return mot_fail(MOT_EUSAGE, "%s has test rows of its own: `test` is %g, expected auto, or 0 for none",
            name_of(conf), conf->test);
    struct mot_read_conf read = mot_read_as(conf);
    read.rows = UINT64_MAX;
    read.like = &o->rows.words;
    char **name_of_column =
        mot_feature_names(o->rows.column_names, o->rows.cols, &o->rows.words, &read.columns);
    read.column = name_of_column;
    if (o->rows.sparse) read.base = o->rows.from_zero ? MOT_INDEX_ZERO : MOT_INDEX_ONE;
    enum mot_status status = mot_raw_open(conf, seed, 1, &read, &o->test);
    free(name_of_column);
    if (status != MOT_OK) return status;
    const char *name = conf->test_path ? conf->test_path : name_of(conf);
    if (o->test.sparse != o->rows.sparse)
        return mot_fail(MOT_EDATA, "%s: %s rows, expected %s rows as in %s", name,
            o->test.sparse ? "sparse" : "dense", o->rows.sparse ? "sparse" : "dense", name_of(conf));
    if (!o->rows.sparse && o->test.cols != o->rows.cols)
        return mot_fail(MOT_EDATA, "%s: %u columns, expected %u as in %s", name, o->test.cols, o->rows.cols,
            name_of(conf));
    if (o->test.cols > o->rows.cols) o->rows.cols = o->test.cols;
    o->test.cols = o->rows.cols;
    return check_picture(name, &o->test.geometry, &o->rows.geometry, "in ", name_of(conf));
}

static enum mot_status settle_augmenting(struct owner *o, const struct mot_data_conf *conf)
{
    const struct mot_picture *p = &o->rows.geometry;
    const char *key = conf->crop ? "crop" : "flip";
    if (conf->crop == 0 && !conf->flip) return MOT_OK;
    if (p->channels == 0)
        return mot_fail(MOT_EUSAGE,
            "%s: `%s` is for pictures, but its rows have no height and width: CIFAR files have them, and "
            "IDX, NPY and NPZ arrays of 3 or 4 dimensions",
            name_of(conf), key);
    if (conf->crop >= p->height || conf->crop >= p->width)
        return mot_fail(MOT_EUSAGE, "%s: `crop` is %llu, expected less than the %u x %u pixels of a picture",
            name_of(conf), (unsigned long long)conf->crop, p->height, p->width);
    o->set.crop = (uint32_t)conf->crop;
    o->set.flip = conf->flip;
    return MOT_OK;
}

/* Fills gaps with what the training rows have there. */
static enum mot_status fill_gaps(struct owner *o, const struct mot_data_conf *conf)
{
    enum mot_missing how;
    float value = 0;
    enum mot_status status = mot_missing_read(conf->missing, &how, &value);
    if (status != MOT_OK || how == MOT_MISSING_REFUSE || o->rows.sparse) return status;
    status = mot_missing_fit(&o->rows, name_of(conf), o->set.train.rows, how, value, &o->set.fill);
    if (status == MOT_OK) mot_missing_fill(&o->rows, o->set.fill);
    if (status == MOT_OK && o->test.rows) mot_missing_fill(&o->test, o->set.fill);
    return status;
}

static enum mot_status open_steps(struct owner *o, const struct mot_data_conf *conf, uint64_t seed)
{
    struct mot_read_conf read = mot_read_as(conf);
    if (read.unlabelled)
        return mot_fail(MOT_EUSAGE, "%s: label_column is none, but training needs labels", name_of(conf));
    if (conf->data_seed != MOT_WORD_UINT) seed = conf->data_seed;
    enum mot_status status = mot_raw_open(conf, seed, 0, &read, &o->rows);
    if (status != MOT_OK) return status;
    o->set.file_cut = conf->rows && conf->rows != MOT_WORD_UINT;
    if (o->set.file_cut && o->rows.rows < conf->rows)
        return mot_fail(MOT_EUSAGE, "%s: `rows` asks for the first %llu, but there are %u%s", name_of(conf),
            (unsigned long long)conf->rows, o->rows.rows,
            is_synthetic(conf) ? "; `size` says how many to generate" : "");
    status = read_test(o, conf, seed);
    if (status == MOT_OK) status = settle_augmenting(o, conf);
    if (status == MOT_OK) status = settle_labels(o, conf);
    if (status == MOT_OK) status = put_in_order(o, (enum mot_order)conf->order, seed);
    if (status == MOT_OK) status = split(o, conf);
    if (status == MOT_OK) status = fill_gaps(o, conf);
    if (status != MOT_OK) return status;
    struct mot_dataset *set = &o->set;
    bool chosen = conf->scale != MOT_SCALE_AUTO;
    enum mot_scale scale = chosen ? (enum mot_scale)conf->scale : mot_scale_auto(&o->rows);
    mot_scale_fit(&o->rows, set->train.rows, scale, !chosen && o->rows.picture, &set->shift, &set->factor);
    set->scale = scale;
    status = mot_memory_status();
    if (status == MOT_OK) status = mot_scale_apply(&o->rows, name_of(conf), scale, set->shift, set->factor);
    if (status == MOT_OK && o->test.rows)
        status = mot_scale_apply(
            &o->test, conf->test_path ? conf->test_path : name_of(conf), scale, set->shift, set->factor);
    return status;
}

static enum mot_status finish(
    struct owner *o, enum mot_status status, const char *name, struct mot_dataset **out)
{
    o->set.name = mot_text(name);
    if (status == MOT_OK) o->set.hash = hash_of(&o->set);
    if (status == MOT_OK) status = mot_memory_status();
    if (status != MOT_OK) {
        mot_dataset_close(&o->set);
        return status;
    }
    o->set.column_names = o->rows.column_names;
    o->set.picture = o->rows.geometry;
    o->set.unused_test = o->rows.has_test && o->test.rows == 0;
    o->set.words = o->rows.words;
    o->rows.words = (struct mot_word_columns){ 0 };
    o->set.file_rows = o->rows.rows;
    *out = &o->set;
    return MOT_OK;
}

enum mot_status mot_dataset_open(const struct mot_data_conf *conf, uint64_t seed, struct mot_dataset **out)
{
    struct owner *o = mot_new(1, sizeof *o);
    return finish(o, open_steps(o, conf, seed), name_of(conf), out);
}

/* ---- dense rows ------------------------------------------------------------------------- */

static enum mot_status make_dense(struct mot_raw *raw)
{
    if (!raw->sparse || raw->rows == 0) return MOT_OK;
    float *x = mot_new_large((size_t)raw->rows * raw->cols, sizeof *x);
    if (!x) return mot_memory_status();
    for (uint32_t r = 0; r < raw->rows; r++)
        for (uint64_t i = raw->row_at[r]; i < raw->row_at[r + 1]; i++)
            x[(size_t)r * raw->cols + raw->col[i]] = raw->val[i];
    free(raw->row_at);
    free(raw->col);
    free(raw->val);
    raw->row_at = NULL;
    raw->col = NULL;
    raw->val = NULL;
    raw->x = x;
    raw->sparse = false;
    return MOT_OK;
}

enum mot_status mot_dataset_fill(struct mot_dataset *set)
{
    struct owner *o = owner_of(set);
    uint32_t train = set->train.rows, valid = set->valid.rows;
    if (!o->rows.sparse) return MOT_OK;
    enum mot_status status = make_dense(&o->rows);
    if (status == MOT_OK) status = make_dense(&o->test);
    if (status != MOT_OK) return status;
    set->train = window(&o->rows, o->y, o->classes, 0, train);
    set->valid = window(&o->rows, o->y, o->classes, train, valid);
    set->test = o->test.rows ? window(&o->test, o->test_y, o->classes, 0, set->test.rows)
                             : window(&o->rows, o->y, o->classes, train + valid, set->test.rows);
    return MOT_OK;
}

/* ---- for a model that is already there ----------------------------------------------------- */

static enum mot_status open_as_steps(
    struct owner *o, const struct mot_data_conf *conf, const struct mot_schema *schema)
{
    struct mot_read_conf read = mot_read_as(conf);
    const char *name = name_of(conf);
    struct mot_raw *raw = &o->rows;
    uint64_t seed = conf->data_seed != MOT_WORD_UINT ? conf->data_seed : 1;
    read.like = &schema->words;
    read.column = schema->feature;
    read.columns = schema->features;
    if (conf->unlabelled_too) {
        read.features = schema->cols + schema->words.count;
        for (uint32_t i = 0; i < schema->words.count; i++) read.features -= schema->words.at[i].count;
    }
    read.keep_missing = schema->fill != NULL;
    enum mot_status status =
        mot_raw_open(conf, seed, has_test_part(conf) && !conf->training_file, &read, raw);
    if (status != MOT_OK) return status;
    if (raw->cols > schema->cols || (!raw->sparse && raw->cols < schema->cols)) {
        uint32_t found = raw->cols;
        return mot_fail(MOT_EDATA, "%s: %u columns of features, expected %s%u as the model has", name, found,
            raw->sparse ? "at most " : "", schema->cols);
    }
    status = check_picture(name, &raw->geometry, &schema->picture, "the model has", "");
    if (status != MOT_OK) return status;
    raw->cols = schema->cols;
    if (schema->fill && !raw->sparse) mot_missing_fill(raw, schema->fill);
    if (raw->sparse && schema->shift)
        return mot_fail(MOT_EDATA,
            "%s: sparse rows, but the model was trained on dense rows with a shift; convert the file to CSV",
            name);
    uint32_t *class_of = NULL;
    enum mot_task task;
    if (raw->labelled && !conf->path) name_labels(&raw->labels, name, schema);
    if (raw->labelled && schema->classes)
        status = match_classes(&raw->labels, name, schema->class_names, schema->classes, &class_of);
    else if (raw->labelled) status = mot_labels_task(&raw->labels, MOT_TASK_REGRESSION, name, &task);
    if (status == MOT_OK && raw->labelled) o->y = label_values(&raw->labels, class_of);
    free(class_of);
    mot_labels_free(&raw->labels);
    if (status == MOT_OK) status = mot_memory_status();
    if (status != MOT_OK) return status;
    o->classes = schema->classes;
    o->set.scale = schema->scale;
    if (schema->classes) {
        o->set.class_names = mot_new(schema->classes, sizeof *o->set.class_names);
        for (uint32_t c = 0; c < schema->classes && !mot_memory_refused(); c++)
            o->set.class_names[c] = mot_text(schema->class_names[c]);
    }
    size_t bytes = (size_t)schema->cols * sizeof(float);
    if (schema->shift) o->set.shift = mot_new_large(schema->cols, sizeof(float));
    if (schema->factor) o->set.factor = mot_new_large(schema->cols, sizeof(float));
    if (mot_memory_refused()) return mot_memory_status();
    if (schema->shift) memcpy(o->set.shift, schema->shift, bytes);
    if (schema->factor) memcpy(o->set.factor, schema->factor, bytes);
    o->set.train = window(raw, o->y, o->classes, 0, raw->rows);
    o->set.valid = window(raw, o->y, o->classes, 0, 0);
    o->set.test = window(raw, o->y, o->classes, 0, 0);
    return mot_scale_apply(raw, name, (enum mot_scale)schema->scale, schema->shift, schema->factor);
}

enum mot_status mot_dataset_open_as(
    const struct mot_data_conf *conf, const struct mot_schema *schema, struct mot_dataset **out)
{
    struct owner *o = mot_new(1, sizeof *o);
    return finish(o, open_as_steps(o, conf, schema), name_of(conf), out);
}
