/* model_file.c -- model.safetensors: the parameters, and whatever else eval and predict need.
 *
 * Metadata values are texts, as the format demands:
 *   motley                 the version that wrote it
 *   model, model.KEY       the model's name and each of its options, as in an experiment
 *   cols, classes, sparse  the shape of its input
 *   picture                3x32x32 if rows are pictures: channels, height, width
 *   class_names            a JSON list, as the data spells them
 *   scale                  none, standard, minmax or unit; the numbers are the
 *                          tensors scale.shift and scale.factor
 *   words                  a JSON list: for each column of words its place among the file's
 *                          features, its first column in the table, its name and its words
 *   (the tensor missing.fill holds what replaces missing values)
 *   seed, data.KEY         where the training data came from, so that eval can
 *   data_hash              cut off the same test part again, and tell whether it did */
#include "report/report.h"

#include "base/file.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/words.h"
#include "config/version.h"
#include "data/words.h"
#include "math/models.h"
#include "report/json.h"
#include "report/safetensors.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SHIFT "scale.shift"
#define FACTOR "scale.factor"
#define FILL "missing.fill"

static const char *const scale_name[] = {
    [MOT_SCALE_AUTO] = NULL,
    [MOT_SCALE_NONE] = "none",
    [MOT_SCALE_STANDARD] = "standard",
    [MOT_SCALE_MINMAX] = "minmax",
    [MOT_SCALE_UNIT] = "unit",
};

#define FEATURES_MOST 10000 /* columns whose names are kept */

/* ---- Writing ---------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static void put(
    json_t *metadata, const char *key, const char *format, ...)
{
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    json_t *text = json_vsprintf(format, list);
    if (!text) text = json_vsprintf(format, again); /* as mot_json_string does */
    va_end(again);
    va_end(list);
    if (text) mot_json_set(metadata, key, text); /* NULL: not UTF-8, which JSON cannot hold */
}

/* "<section>.<key>" for each option with a value. */
static void put_options(
    json_t *metadata, const char *section, const struct mot_option *table, const void *conf)
{
    if (!table || !conf) return;
    for (const struct mot_option *o = table; o->name; o++) {
        const char *value;
        if (o->type == MOT_OPT_TEXT) {
            memcpy(&value, (const char *)conf + o->offset, sizeof value);
            if (!value && !o->word) continue;
        }
        char *key = mot_format("%s.%s", section, o->name), *text = mot_option_text(o, conf);
        put(metadata, key, "%s", text);
        free(key);
        free(text);
    }
}

/* JSON holds UTF-8 only; a label that is not UTF-8 becomes a list of its bytes. */
static json_t *class_name(const char *name)
{
    json_t *value = mot_json_string(name);
    if (value) return value;
    value = json_array();
    for (const char *p = name; *p; p++) mot_json_add(value, json_integer((unsigned char)*p));
    return value;
}

static void put_class_names(json_t *metadata, char *const *names, uint32_t classes)
{
    if (classes == 0) return;
    json_t *list = json_array();
    for (uint32_t i = 0; i < classes; i++) {
        bool named = names && names[i];
        mot_json_add(list, named ? class_name(names[i]) : json_sprintf("%u", i));
    }
    char *text = json_dumps(list, JSON_COMPACT);
    if (text) put(metadata, "class_names", "%s", text);
    else mot_memory_refuse(0);
    free(text);
    json_decref(list);
}

static void put_words(json_t *metadata, const struct mot_word_columns *all)
{
    if (all->count == 0) return;
    json_t *list = json_array();
    for (uint32_t i = 0; i < all->count; i++) {
        const struct mot_word_column *c = &all->at[i];
        json_t *words = json_array(), *column = json_object();
        for (uint32_t w = 0; w < c->count; w++) mot_json_add(words, class_name(c->word[w]));
        mot_json_set(column, "column", json_integer(c->column));
        mot_json_set(column, "first", json_integer(c->first));
        if (c->name) mot_json_set(column, "name", class_name(c->name));
        mot_json_set(column, "words", words);
        mot_json_add(list, column);
    }
    char *text = json_dumps(list, JSON_COMPACT);
    if (text) put(metadata, "words", "%s", text);
    else mot_memory_refuse(0);
    free(text);
    json_decref(list);
}

/* The columns of the file by name, so that rows to predict may have them in another order. */
static void put_features(json_t *metadata, const struct mot_dataset *data, uint32_t cols)
{
    uint32_t n = 0;
    char **name = mot_feature_names(data->column_names, cols, &data->words, &n);
    if (!name || n > FEATURES_MOST) {
        free(name);
        return;
    }
    json_t *list = json_array();
    for (uint32_t i = 0; i < n; i++) mot_json_add(list, class_name(name[i]));
    char *text = json_dumps(list, JSON_COMPACT);
    if (text) put(metadata, "columns", "%s", text);
    else mot_memory_refuse(0);
    free(text);
    free(name);
    json_decref(list);
}

static json_t *metadata_of(
    const struct mot_experiment *e, const struct mot_net *net, const struct mot_dataset *data)
{
    json_t *m = json_object();
    put(m, "motley", "%s", MOT_VERSION);
    put(m, "model", "%s", net->kind->name);
    put_options(m, "model", net->kind->options, net->conf);
    put(m, "cols", "%u", net->shape.cols);
    put(m, "classes", "%u", net->shape.classes);
    put(m, "sparse", "%s", net->shape.sparse ? "true" : "false");
    const struct mot_picture *picture = &net->shape.picture;
    if (picture->channels) put(m, "picture", "%ux%ux%u", picture->channels, picture->height, picture->width);
    put_class_names(m, data ? data->class_names : NULL, net->shape.classes);
    if (data) {
        MOT_ASSERT(data->scale < MOT_COUNT(scale_name) && data->scale != MOT_SCALE_AUTO);
        put(m, "scale", "%s", scale_name[data->scale]);
        put_words(m, &data->words);
        put_features(m, data, net->shape.cols);
        put(m, "data_hash", "%016" PRIx64, data->hash);
    } else {
        put(m, "scale", "none");
    }
    if (e) {
        put(m, "seed", "%" PRIu64, e->seed);
        put_options(m, "data", mot_data_options, &e->data);
    }
    return m;
}

enum mot_status mot_model_save(const char *path, const struct mot_experiment *e, const struct mot_net *net,
    const struct mot_dataset *data, const float *x)
{
    struct mot_tensor_source *source = mot_new(net->segments + 3, sizeof *source);
    size_t n = 0;
    for (uint32_t i = 0; i < net->segments; i++) {
        const struct mot_segment *s = &net->segment[i];
        if (mot_net_counts(net, i)) continue;
        source[n++] = (struct mot_tensor_source){ s->name, s->rank, s->shape, x + s->off };
    }
    if (data && data->shift)
        source[n++] = (struct mot_tensor_source){ SHIFT, 1, &net->shape.cols, data->shift };
    if (data && data->factor)
        source[n++] = (struct mot_tensor_source){ FACTOR, 1, &net->shape.cols, data->factor };
    if (data && data->fill) source[n++] = (struct mot_tensor_source){ FILL, 1, &net->shape.cols, data->fill };
    json_t *metadata = metadata_of(e, net, data);
    enum mot_status status = mot_tensors_write(path, metadata, source, n);
    json_decref(metadata);
    free(source);
    return status;
}

/* ---- Reading ---------------------------------------------------------------- */

struct reading {
    const char *path;
    const struct mot_tensors *t;
    struct mot_saved_model *m;
};

static const char *text_of(const struct reading *r, const char *key)
{
    return json_string_value(json_object_get(r->t->metadata, key));
}

static enum mot_status read_count(const struct reading *r, const char *key, uint64_t most, uint64_t *out)
{
    const char *text = text_of(r, key);
    uint64_t value;
    if (!text)
        return mot_fail(MOT_EDATA, "%s: __metadata__ has no %s: not a model that motley saved", r->path, key);
    if (!mot_read_uint(text, &value) || value > most)
        return mot_fail(MOT_EDATA, "%s: __metadata__: %s is %.40s, expected a number up to %" PRIu64, r->path,
            key, text, most);
    *out = value;
    return MOT_OK;
}

/* A section's options: their presets, overridden by the metadata. */
static enum mot_status read_options(
    const struct reading *r, const char *section, const struct mot_option *table, void *conf)
{
    if (!table) return MOT_OK;
    enum mot_status status = mot_options_preset(table, conf, &r->m->arena);
    size_t length = strlen(section);
    const char *key;
    json_t *value;
    json_object_foreach(r->t->metadata, key, value)
    {
        if (status != MOT_OK) break;
        if (strncmp(key, section, length) != 0 || key[length] != '.') continue;
        const struct mot_option *option = mot_option_find(table, key + length + 1);
        if (!option) {
            status = mot_fail(MOT_EDATA, "%s: __metadata__: this version has no option %.80s", r->path, key);
        } else if (mot_option_set(option, conf, json_string_value(value), &r->m->arena) != MOT_OK) {
            char *why = mot_text(mot_error());
            status = mot_fail(MOT_EDATA, "%s: __metadata__: %.80s: %s", r->path, key, why);
            free(why);
        }
    }
    return status;
}

/* NULL: neither a text nor a list of bytes. */
static char *read_class_name(const json_t *value, struct mot_arena *arena)
{
    if (json_is_string(value)) return mot_arena_text(arena, json_string_value(value));
    size_t n = json_array_size(value);
    char *name = n ? mot_arena_new(arena, n + 1) : NULL;
    for (size_t i = 0; i < n; i++) {
        json_int_t byte = json_integer_value(json_array_get(value, i));
        if (byte < 1 || byte > 255) return NULL;
        name[i] = (char)byte;
    }
    return name;
}

/* A list that __metadata__ has as a text. *out is NULL if the text is no JSON: whoever reads it says what was
 * expected. */
static enum mot_status read_list(const struct reading *r, const char *text, json_t **out)
{
    const struct mot_json_text t = { .name = r->path, .text = text, .n = strlen(text), .bad = MOT_EDATA };
    enum mot_status status = mot_json_parse(&t, out);
    return status == MOT_EDATA ? MOT_OK : status;
}

static enum mot_status read_class_names(const struct reading *r)
{
    struct mot_schema *schema = &r->m->schema;
    const char *text = text_of(r, "class_names");
    if (schema->classes == 0) return MOT_OK;
    if (!text)
        return mot_fail(
            MOT_EDATA, "%s: __metadata__ has no class_names for its %u classes", r->path, schema->classes);
    json_t *list;
    enum mot_status status = read_list(r, text, &list);
    if (status != MOT_OK) return status;
    if (!json_is_array(list) || json_array_size(list) != schema->classes) {
        status = mot_fail(
            MOT_EDATA, "%s: __metadata__: class_names is not a list of %u texts", r->path, schema->classes);
    } else {
        schema->class_names = mot_arena_new(&r->m->arena, schema->classes * sizeof *schema->class_names);
        for (uint32_t i = 0; i < schema->classes && status == MOT_OK && !mot_memory_refused(); i++) {
            schema->class_names[i] = read_class_name(json_array_get(list, i), &r->m->arena);
            if (!schema->class_names[i])
                status = mot_fail(MOT_EDATA,
                    "%s: __metadata__: class_names[%u] is neither a text nor a list of bytes", r->path, i);
        }
    }
    json_decref(list);
    return status == MOT_OK ? mot_memory_status() : status;
}

/* Reads one column of words; false if it is malformed or out of order. */
static bool read_word_column(const struct reading *r, const json_t *value, struct mot_word_column *c)
{
    const struct mot_schema *schema = &r->m->schema;
    const json_t *words = json_object_get(value, "words"), *name = json_object_get(value, "name");
    json_int_t column = json_integer_value(json_object_get(value, "column")),
               first = json_integer_value(json_object_get(value, "first"));
    size_t count = json_array_size(words);
    const struct mot_word_column *before = schema->words.count ? c - 1 : NULL;
    if (column < (before ? (json_int_t)before->column + 1 : 0) || column >= schema->cols ||
        first < (before ? (json_int_t)before->first + before->count : 0) || count == 0 ||
        first > schema->cols || count > schema->cols - (uint32_t)first)
        return false;
    *c = (struct mot_word_column){ .column = (uint32_t)column, .first = (uint32_t)first };
    if (name) c->name = read_class_name(name, &r->m->arena);
    c->word = mot_arena_new(&r->m->arena, count * sizeof *c->word);
    for (; c->count < count && !mot_memory_refused(); c->count++) {
        c->word[c->count] = read_class_name(json_array_get(words, c->count), &r->m->arena);
        if (!c->word[c->count]) return false;
    }
    return true;
}

static enum mot_status read_words(const struct reading *r)
{
    struct mot_word_columns *all = &r->m->schema.words;
    const char *text = text_of(r, "words");
    if (!text) return MOT_OK;
    json_t *list;
    enum mot_status status = read_list(r, text, &list);
    if (status != MOT_OK) return status;
    size_t n = json_array_size(list);
    bool good = json_is_array(list) && n <= r->m->schema.cols;
    if (good && n) all->at = mot_arena_new(&r->m->arena, n * sizeof *all->at);
    for (size_t i = 0; good && i < n && !mot_memory_refused(); i++) {
        good = read_word_column(r, json_array_get(list, i), &all->at[i]);
        if (good) all->count++;
    }
    json_decref(list);
    if (!good)
        return mot_fail(
            MOT_EDATA, "%s: __metadata__: words is not a list of columns and their words", r->path);
    return mot_memory_status();
}

/* One name per column of the file, in which a column of words counts once, not once per word. */
static enum mot_status read_features(const struct reading *r)
{
    struct mot_schema *schema = &r->m->schema;
    const char *text = text_of(r, "columns");
    if (!text) return MOT_OK;
    uint64_t expected = schema->cols + (uint64_t)schema->words.count;
    for (uint32_t i = 0; i < schema->words.count; i++) expected -= schema->words.at[i].count;
    json_t *list;
    enum mot_status status = read_list(r, text, &list);
    if (status != MOT_OK) return status;
    bool good = json_is_array(list) && json_array_size(list) == expected && expected > 0;
    if (good) schema->feature = mot_arena_new(&r->m->arena, expected * sizeof *schema->feature);
    for (uint32_t i = 0; good && i < expected && !mot_memory_refused(); i++) {
        schema->feature[i] = read_class_name(json_array_get(list, i), &r->m->arena);
        good = schema->feature[i] && *schema->feature[i];
    }
    if (good) schema->features = (uint32_t)expected;
    json_decref(list);
    if (!good)
        return mot_fail(MOT_EDATA, "%s: __metadata__: columns is not a list of %llu names", r->path,
            (unsigned long long)expected);
    return mot_memory_status();
}

static enum mot_status read_columns(const struct reading *r, const char *name, float **out)
{
    const struct mot_tensor *t = mot_tensors_find(r->t, name);
    if (!t) return MOT_OK;
    if (t->rank != 1 || t->shape[0] != r->m->schema.cols)
        return mot_fail(MOT_EDATA, "%s: tensor %s: expected the shape [%u], one number per column", r->path,
            name, r->m->schema.cols);
    *out = mot_arena_new_large(&r->m->arena, t->floats * sizeof(float));
    if (!*out) return mot_memory_status();
    mot_tensor_copy(t, *out);
    return MOT_OK;
}

static enum mot_status read_scaling(const struct reading *r)
{
    struct mot_schema *schema = &r->m->schema;
    const char *scale = text_of(r, "scale");
    for (uint32_t i = 0; scale && i < MOT_COUNT(scale_name); i++)
        if (scale_name[i] && strcmp(scale, scale_name[i]) == 0) schema->scale = i;
    if (schema->scale == MOT_SCALE_AUTO)
        return mot_fail(MOT_EDATA,
            "%s: __metadata__: scale is %.40s, expected none, standard, minmax or unit", r->path,
            scale ? scale : "missing");
    enum mot_status status = read_columns(r, SHIFT, &schema->shift);
    return status == MOT_OK ? read_columns(r, FACTOR, &schema->factor) : status;
}

static enum mot_status read_schema(const struct reading *r)
{
    uint64_t cols = 0, classes = 0;
    enum mot_status status = read_count(r, "cols", UINT32_MAX, &cols);
    if (status == MOT_OK) status = read_count(r, "classes", 1 << 20, &classes);
    r->m->schema.cols = (uint32_t)cols;
    r->m->schema.classes = (uint32_t)classes;
    if (status == MOT_OK) status = read_class_names(r);
    if (status == MOT_OK) status = read_scaling(r);
    if (status == MOT_OK) status = read_words(r);
    if (status == MOT_OK) status = read_features(r);
    if (status == MOT_OK) status = read_columns(r, FILL, &r->m->schema.fill);
    return status;
}

/* Where the training data came from; a file written without an experiment does not say. */
static enum mot_status read_source(const struct reading *r)
{
    if (!text_of(r, "seed")) return MOT_OK;
    enum mot_status status = read_count(r, "seed", UINT64_MAX, &r->m->seed);
    if (status == MOT_OK) status = read_options(r, "data", mot_data_options, &r->m->data);
    for (const struct mot_option *o = mot_data_options; o->name; o++) {
        /* An option that was left out had no text, whatever its preset. */
        char *key = mot_format("data.%s", o->name);
        const char *none = NULL;
        if (o->type == MOT_OPT_TEXT && !text_of(r, key))
            memcpy((char *)&r->m->data + o->offset, &none, sizeof none);
        free(key);
    }
    const char *hash = text_of(r, "data_hash");
    if (hash) r->m->data_hash = strtoull(hash, NULL, 16);
    r->m->has_data = status == MOT_OK;
    return status;
}

static enum mot_status read_picture(const struct reading *r, struct mot_picture *out)
{
    const char *text = text_of(r, "picture");
    if (!text) return MOT_OK;
    if (!mot_picture_parse(text, out) || mot_picture_cols(out) != r->m->schema.cols)
        return mot_fail(MOT_EDATA,
            "%s: __metadata__: picture is %.40s, expected a shape such as 3x32x32 whose product is cols",
            r->path, text);
    return MOT_OK;
}

static enum mot_status read_net(const struct reading *r)
{
    const char *name = text_of(r, "model"), *sparse = text_of(r, "sparse");
    if (!name)
        return mot_fail(MOT_EDATA, "%s: __metadata__ names no model: not a model that motley saved", r->path);
    const struct mot_model *kind = mot_model_at(0);
    for (size_t i = 0; kind && strcmp(kind->name, name) != 0;) kind = mot_model_at(++i);
    if (!kind)
        return mot_fail(MOT_EDATA,
            "%s: __metadata__: this version has no model %.80s (--plugin loads models of your own)", r->path,
            name);
    void *conf = mot_arena_new(&r->m->arena, kind->conf_bytes ? kind->conf_bytes : 1);
    enum mot_status status = read_options(r, "model", kind->options, conf);
    if (status != MOT_OK) return status;
    struct mot_shape shape = { r->m->schema.cols, r->m->schema.classes, sparse && strcmp(sparse, "true") == 0,
        { 0 } };
    status = read_picture(r, &shape.picture);
    if (status != MOT_OK) return status;
    r->m->schema.picture = shape.picture;
    if (mot_net_open(kind, conf, &shape, &r->m->net) != MOT_OK) {
        char *why = mot_text(mot_error());
        status = mot_fail(MOT_EDATA, "%s: its metadata do not describe a model: %s", r->path, why);
        free(why);
    }
    return status;
}

static enum mot_status wrong_shape(const char *path, const struct mot_segment *s, const struct mot_tensor *t)
{
    char found[8 * 24] = "", expected[MOT_RANK_MAX * 24] = "";
    for (uint32_t i = 0, n = 0; i < t->rank && n < sizeof found - 24; i++)
        n += (uint32_t)snprintf(found + n, sizeof found - n, i ? ", %" PRIu64 : "%" PRIu64, t->shape[i]);
    for (uint32_t i = 0, n = 0; i < s->rank; i++)
        n += (uint32_t)snprintf(expected + n, sizeof expected - n, i ? ", %u" : "%u", s->shape[i]);
    return mot_fail(
        MOT_EDATA, "%s: tensor %s has the shape [%s], expected [%s]", path, s->name, found, expected);
}

/* Every segment has a tensor, and there are no others. */
static enum mot_status check_tensors(const char *path, const struct mot_tensors *t, const struct mot_net *net)
{
    for (uint32_t i = 0; i < net->segments; i++) {
        const struct mot_segment *s = &net->segment[i];
        const struct mot_tensor *tensor = mot_tensors_find(t, s->name);
        if (mot_net_counts(net, i)) continue;
        if (!tensor)
            return mot_fail(
                MOT_EDATA, "%s: has no tensor %s, which the model %s needs", path, s->name, net->kind->name);
        bool same = tensor->rank == s->rank && tensor->floats == s->len;
        for (uint32_t d = 0; same && d < s->rank; d++) same = tensor->shape[d] == s->shape[d];
        if (!same) return wrong_shape(path, s, tensor);
    }
    for (size_t i = 0; i < t->n; i++) {
        const char *name = t->tensor[i].name;
        bool known = strcmp(name, SHIFT) == 0 || strcmp(name, FACTOR) == 0 || strcmp(name, FILL) == 0;
        for (uint32_t k = 0; !known && k < net->segments; k++)
            known = strcmp(name, net->segment[k].name) == 0;
        if (!known)
            return mot_fail(MOT_EDATA, "%s: has a tensor %.100s, which the model %s does not have", path,
                name, net->kind->name);
    }
    return MOT_OK;
}

static void copy_tensors(const struct mot_tensors *t, const struct mot_net *net, float *x)
{
    for (uint32_t i = 0; i < net->segments; i++) {
        float *to = x + net->segment[i].off;
        if (mot_net_counts(net, i)) *to = 1;
        else mot_tensor_copy(mot_tensors_find(t, net->segment[i].name), to);
    }
}

enum mot_status mot_saved_model_read(
    const char *path, const struct mot_tensors *t, struct mot_saved_model **out)
{
    struct mot_saved_model *m = mot_new(1, sizeof *m);
    const struct reading reading = { path, t, m }, *r = &reading;
    enum mot_status status = t->metadata
        ? read_schema(r)
        : mot_fail(MOT_EDATA, "%s: has no __metadata__: not a model that motley saved", path);
    if (status == MOT_OK) status = read_net(r);
    if (status == MOT_OK) status = check_tensors(path, t, &m->net);
    if (status == MOT_OK) status = read_source(r);
    if (status != MOT_OK) {
        mot_saved_model_close(m);
        return status;
    }
    m->x = mot_aligned_large((m->net.dim ? m->net.dim : 1) * sizeof(float));
    if (!m->x) {
        mot_saved_model_close(m);
        return mot_memory_status();
    }
    copy_tensors(t, &m->net, m->x);
    *out = m;
    return MOT_OK;
}

enum mot_status mot_model_load(const char *path, struct mot_saved_model **out)
{
    struct mot_tensors t;
    enum mot_status status = mot_tensors_read(path, &t);
    if (status != MOT_OK) return status;
    status = mot_saved_model_read(path, &t, out);
    mot_tensors_free(&t);
    return status;
}

void mot_saved_model_close(struct mot_saved_model *m)
{
    if (!m) return;
    mot_net_close(&m->net);
    mot_arena_free(&m->arena);
    free(m->x);
    free(m);
}

char *mot_model_path(const char *name)
{
    struct stat about;
    bool folder = stat(name, &about) == 0 && S_ISDIR(about.st_mode);
    return folder ? mot_path_join(name, "model.safetensors") : mot_text(name);
}

enum mot_status mot_model_load_into(const char *path, const struct mot_net *net, float *x)
{
    struct mot_tensors t;
    enum mot_status status = mot_tensors_read(path, &t);
    if (status != MOT_OK) return status;
    status = check_tensors(path, &t, net);
    if (status == MOT_OK) copy_tensors(&t, net, x);
    mot_tensors_free(&t);
    return status;
}
