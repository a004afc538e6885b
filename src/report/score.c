/* score.c -- a saved model on data. */
#include "report/score.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/options.h"
#include "math/models.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Which data ------------------------------------------------------------------ */

static const char *source_of(const struct mot_data_conf *conf)
{
    return conf->path ? conf->path : conf->name ? conf->name : "digits";
}

static bool is_builtin(const char *name)
{
    for (const struct mot_builtin *b = mot_builtins; b->name; b++)
        if (strcmp(b->name, name) == 0) return true;
    return false;
}

/* The same name, or two paths to one file. */
static bool same_source(const struct mot_saved_model *m, const char *source)
{
    if (!m->has_data) return false;
    const char *trained = source_of(&m->data);
    if (strcmp(trained, source) == 0) return true;
    if (is_builtin(trained) || is_builtin(source)) return false;
    char *a = realpath(trained, NULL), *b = realpath(source, NULL);
    bool same = a && b && strcmp(a, b) == 0;
    free(a);
    free(b);
    return same;
}

static enum mot_status apply(
    struct mot_saved_model *m, const struct mot_setting *setting, size_t n, struct mot_data_conf *conf)
{
    for (size_t i = 0; i < n; i++) {
        const struct mot_option *option = mot_option_find(mot_data_options, setting[i].key);
        MOT_ASSERT(option); /* the command's table has only keys of the section */
        if (mot_option_set(option, conf, setting[i].value, &m->arena) != MOT_OK) {
            char *why = mot_text(mot_error());
            enum mot_status status = mot_fail(MOT_EUSAGE, "%s: %s", setting[i].origin, why);
            free(why);
            return status;
        }
    }
    return MOT_OK;
}

/* Reads another file the way the training file was read. */
static void take_reading(const struct mot_saved_model *m, struct mot_data_conf *conf)
{
    if (!m->has_data || is_builtin(source_of(&m->data))) return;
    conf->label_column = m->data.label_column;
    conf->skip = m->data.skip;
    conf->separator = m->data.separator;
    conf->header = m->data.header;
    conf->words = m->data.words;
    conf->unknown = m->data.unknown;
}

static bool was_set(const struct mot_setting *setting, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(setting[i].key, key) == 0) return true;
    return false;
}

/* All rows of the source in the file's order, in the model's units. */
static enum mot_status open_whole(struct mot_subject *s, const char *source, bool same, enum mot_part part,
    const struct mot_setting *setting, size_t n, bool labels)
{
    struct mot_saved_model *m = s->model;
    struct mot_data_conf conf;
    memset(&conf, 0, sizeof conf);
    enum mot_status status = mot_options_preset(mot_data_options, &conf, &m->arena);
    if (status != MOT_OK) return status;
    if (same) {
        conf = m->data;
        conf.test_path = conf.test_labels = NULL; /* the file that was named, not its companion */
        if (part != MOT_PART_FILE) conf.rows = MOT_WORD_UINT;
        if (conf.data_seed == MOT_WORD_UINT) conf.data_seed = m->seed;
    } else {
        take_reading(m, &conf);
    }
    conf.name = source;
    conf.path = NULL;
    conf.training_file = part == MOT_PART_FILE;
    conf.unlabelled_too = !labels && !was_set(setting, n, "label_column");
    status = apply(m, setting, n, &conf);
    if (status != MOT_OK) return status;
    status = mot_dataset_open_as(&conf, &m->schema, &s->data);
    if (status == MOT_EDATA && !labels && !was_set(setting, n, "label_column")) {
        /* Rows to predict often have no labels: here the label file is missing. */
        char *why = mot_text(mot_error());
        conf.label_column = "none";
        if (mot_dataset_open_as(&conf, &m->schema, &s->data) == MOT_OK) status = MOT_OK;
        else mot_fail(MOT_EDATA, "%s", why);
        free(why);
    }
    if (status != MOT_OK) return status;
    if (labels && !s->data->train.y)
        return mot_fail(
            MOT_EUSAGE, "%s: the data was read without labels; they are needed to compare with", source);
    s->table[0] = s->data->train;
    s->tables = 1;
    s->part = "all";
    /* A model may read the labels of what it predicts, but does not use them. */
    if (!s->table[0].y)
        s->table[0].y = mot_arena_new(&m->arena, ((size_t)s->table[0].rows + 1) * sizeof(float));
    return MOT_OK;
}

/* The parts that the training run had. */
static enum mot_status open_parts(struct mot_subject *s, const char *source, enum mot_part part,
    const struct mot_setting *setting, size_t n)
{
    struct mot_saved_model *m = s->model;
    struct mot_data_conf conf = m->data;
    if (!is_builtin(source)) conf.path = source; /* the same file, perhaps seen from another folder */
    enum mot_status status = apply(m, setting, n, &conf);
    if (status == MOT_OK) status = mot_dataset_open(&conf, m->seed, &s->data);
    if (status != MOT_OK) return status;
    struct mot_dataset *d = s->data;
    if (d->hash != m->data_hash)
        return mot_fail(MOT_EDATA,
            "%s: as read now, this is not the data the model was trained on, so its test "
            "and training parts cannot be told apart; `--part all` takes all rows",
            source);
    if (part == MOT_PART_TRAIN || part == MOT_PART_ALL) s->table[s->tables++] = d->train;
    if (part == MOT_PART_VALID || part == MOT_PART_ALL) s->table[s->tables++] = d->valid;
    if (part == MOT_PART_TEST || part == MOT_PART_ALL) s->table[s->tables++] = d->test;
    static const char *const name[] = { [MOT_PART_TEST] = "test",
        [MOT_PART_TRAIN] = "train",
        [MOT_PART_VALID] = "valid",
        [MOT_PART_ALL] = "all" };
    s->part = name[part];
    return MOT_OK;
}

static enum mot_status open_data(struct mot_subject *s, const char *source, enum mot_part part,
    const struct mot_setting *setting, size_t n, bool labels)
{
    bool same = same_source(s->model, source);
    if (!same && (part == MOT_PART_TEST || part == MOT_PART_TRAIN || part == MOT_PART_VALID))
        return mot_fail(MOT_EUSAGE,
            "--part: %s is not what the model was trained on (%s), so it "
            "has no such parts; leave --part out, or use all",
            source, s->model->has_data ? source_of(&s->model->data) : "unknown");
    if (part == MOT_PART_AUTO) part = same ? MOT_PART_TEST : MOT_PART_ALL;
    if (same && part != MOT_PART_ALL && part != MOT_PART_FILE) return open_parts(s, source, part, setting, n);
    return open_whole(s, source, same, part, setting, n, labels);
}

/* Without a source: the run's own data. */
static enum mot_status own_source(const struct mot_subject *s, const char *model, const char **out)
{
    if (!s->model->has_data)
        return mot_fail(MOT_EUSAGE, "%s does not say what it was trained on: name the data", model);
    *out = source_of(&s->model->data);
    return MOT_OK;
}

/* Refuses rows that the model cannot take. */
static enum mot_status check_rows(const struct mot_subject *s, const struct mot_table *t)
{
    const struct mot_dataset *d = s->data;
    size_t file = (size_t)d->file_rows * t->cols;
    bool inside = t->x && d->train.x && t->x >= d->train.x && t->x < d->train.x + file;
    uint32_t first = inside ? (uint32_t)((size_t)(t->x - d->train.x) / t->cols) : 0;
    return mot_net_check(&s->net, t, d->name, inside ? d->file_row : NULL, first);
}

enum mot_status mot_subject_open(const char *model, const char *source, enum mot_part part,
    const struct mot_setting *setting, size_t n, bool labels, struct mot_subject *out)
{
    struct mot_subject s = { 0 };
    char *path = mot_model_path(model);
    enum mot_status status = mot_model_load(path, &s.model);
    free(path);
    if (status != MOT_OK) return status;
    if (!source) {
        status = own_source(&s, model, &source);
        if (part == MOT_PART_ALL && !labels) part = MOT_PART_AUTO; /* predictions, of rows it has not seen */
    }
    const struct mot_model *kind = s.model->net.kind;
    if (!kind->computes)
        status =
            mot_fail(MOT_EUSAGE, "%s: a %s computes nothing, so it has no predictions", model, kind->name);
    if (status == MOT_OK) status = open_data(&s, source, part, setting, n, labels);
    s.source = source;
    for (size_t i = 0; i < s.tables; i++) s.rows += s.table[i].rows;
    if (status == MOT_OK && s.rows == 0)
        status =
            mot_fail(MOT_EUSAGE, "%s: its %s part has no rows; choose another with --part", source, s.part);
    if (status == MOT_OK) {
        /* A net's scratch depends on whether rows are sparse; its parameters do not. */
        struct mot_shape shape = s.model->net.shape;
        shape.sparse = s.data->train.row_at != NULL;
        status = mot_net_open(kind, s.model->net.conf, &shape, &s.net);
        if (status == MOT_OK) MOT_ASSERT(s.net.dim == s.model->net.dim);
        for (size_t i = 0; i < s.tables && status == MOT_OK && kind->check; i++)
            status = check_rows(&s, &s.table[i]);
    }
    if (status != MOT_OK) {
        mot_subject_close(&s);
        return status;
    }
    *out = s;
    return MOT_OK;
}

void mot_subject_close(struct mot_subject *s)
{
    mot_dataset_close(s->data);
    mot_net_close(&s->net);
    mot_saved_model_close(s->model);
    *s = (struct mot_subject){ 0 };
}

/* ---- Judging ---------------------------------------------------------------------- */

/* The likeliest class; the first if several tie, as in the models' own accuracy. */
static uint32_t best_of(const float *outputs, uint32_t n)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++)
        if (outputs[i] > outputs[best]) best = i;
    return best;
}

struct judged {
    const struct mot_subject *s;
    struct mot_marks *marks;
    void (*row)(void *self, const float *outputs, uint32_t best);
    void *self;
    void *scratch;
    float *outputs;
    double squares;
};

static void judge_rows(struct judged *j, const struct mot_batch *batch)
{
    const struct mot_net *net = &j->s->net;
    net->kind->predict(net, j->s->model->x, batch, j->outputs, j->scratch);
    for (uint32_t i = 0; i < batch->rows; i++) {
        const float *outputs = j->outputs + (size_t)i * net->outputs;
        uint32_t best = best_of(outputs, net->outputs);
        if (j->row) j->row(j->self, outputs, best);
        if (!j->marks) continue;
        float y = batch->table->y[batch->first + i];
        if (j->marks->confusion) j->marks->confusion[(uint32_t)y * j->marks->classes + best]++;
        if (net->shape.classes == 0) j->squares += (outputs[0] - (double)y) * (outputs[0] - (double)y);
    }
}

static void judge(struct judged *j)
{
    const struct mot_net *net = &j->s->net;
    j->scratch = mot_aligned(net->scratch_bytes ? net->scratch_bytes : 64);
    j->outputs = mot_aligned((size_t)MOT_SLICE_ROWS * net->outputs * sizeof(float));
    for (size_t t = 0; t < j->s->tables; t++) {
        const struct mot_table *table = &j->s->table[t];
        for (uint32_t first = 0; first < table->rows; first += MOT_SLICE_ROWS) {
            uint32_t left = table->rows - first, hits = 0;
            struct mot_batch batch = {
                .table = table, .first = first, .rows = left < MOT_SLICE_ROWS ? left : MOT_SLICE_ROWS
            };
            if (j->marks) {
                j->marks->loss += net->kind->loss(net, j->s->model->x, &batch, &hits, j->scratch);
                j->marks->right += hits;
            }
            judge_rows(j, &batch);
        }
    }
    free(j->scratch);
    free(j->outputs);
}

void mot_score_subject(const struct mot_subject *s, struct mot_marks *out)
{
    uint32_t classes = s->net.shape.classes;
    *out = (struct mot_marks){ .rows = s->rows, .accuracy = NAN, .rmse = NAN };
    if (classes > 0 && classes <= MOT_CONFUSION_MOST && s->net.outputs == classes) {
        out->classes = classes;
        out->confusion = mot_new((size_t)classes * classes, sizeof *out->confusion);
    }
    struct judged j = { .s = s, .marks = out };
    judge(&j);
    out->loss /= (double)s->rows;
    if (classes) out->accuracy = (double)out->right / (double)s->rows;
    else out->rmse = sqrt(j.squares / (double)s->rows);
}

void mot_marks_free(struct mot_marks *m)
{
    free(m->confusion);
    *m = (struct mot_marks){ 0 };
}

void mot_predict_subject(
    const struct mot_subject *s, void (*row)(void *self, const float *outputs, uint32_t best), void *self)
{
    struct judged j = { .s = s, .row = row, .self = self };
    judge(&j);
}

void mot_features_subject(const struct mot_subject *s, float *out)
{
    const struct mot_net *net = &s->net;
    void *scratch = mot_aligned(net->scratch_bytes ? net->scratch_bytes : 64);
    for (size_t t = 0; t < s->tables; t++) {
        const uint32_t rows = s->table[t].rows;
        for (uint32_t first = 0; first < rows; first += MOT_SLICE_ROWS) {
            uint32_t n = rows - first < MOT_SLICE_ROWS ? rows - first : MOT_SLICE_ROWS;
            struct mot_batch batch = { .table = &s->table[t], .first = first, .rows = n };
            net->kind->features(net, s->model->x, &batch, out, scratch);
            out += (size_t)n * net->features;
        }
    }
    free(scratch);
}
