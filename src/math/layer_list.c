/* layer_list.c -- from the text of a list of layers to layers.
 *
 *     list:   [ item, item, ... ]
 *     item:   word  |  { key: value, key: value, ... }
 *     value:  anything without , : [ ] { }, or a list where the key is `layers`            */
#include "math/layer_list.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/words.h"
#include <stdio.h>
#include <string.h>

#define FIELD(f) offsetof(struct mot_layer, f)
#define KERNEL(doc_)                                                                                         \
    {                                                                                                        \
        .name = "kernel", .type = MOT_OPT_UINT, .offset = FIELD(kernel), .min = 1, .max = 16, .doc = doc_    \
    }
#define PADDING                                                                                              \
    {                                                                                                        \
        .name = "padding", .type = MOT_OPT_UINT, .offset = FIELD(padding), .preset = "0", .max = 15,         \
        .doc = "pixels of padding around the picture: zeros, or for max_pool pixels that never win"          \
    }
#define OUT(doc_, word_)                                                                                     \
    {                                                                                                        \
        .name = "out", .type = MOT_OPT_UINT, .offset = FIELD(out), .min = 1, .max = 1 << 20, .doc = doc_,    \
        .word = word_                                                                                        \
    }
#define EPSILON                                                                                              \
    {                                                                                                        \
        .name = "epsilon", .type = MOT_OPT_REAL, .offset = FIELD(epsilon), .preset = "1e-5", .min = 1e-300,  \
        .max = 1, .doc = "added to the variance"                                                             \
    }
#define BIAS                                                                                                 \
    {                                                                                                        \
        .name = "bias", .type = MOT_OPT_BOOL, .offset = FIELD(bias), .preset = "true",                       \
        .doc = "whether each output has a bias"                                                              \
    }

static const struct mot_option conv_options[] = {
    OUT("output channels", NULL),
    KERNEL("height and width of the window"),
    { .name = "stride",
        .type = MOT_OPT_UINT,
        .offset = FIELD(stride),
        .preset = "1",
        .min = 1,
        .max = 16,
        .doc = "pixels from one window to the next" },
    PADDING,
    { .name = "groups",
        .type = MOT_OPT_UINT,
        .offset = FIELD(groups),
        .preset = "1",
        .min = 1,
        .max = 1 << 20,
        .doc = "independent groups of channels; as many as channels: depthwise" },
    BIAS,
    { .name = NULL },
};
static const struct mot_option linear_options[] = {
    OUT("outputs; classes: as many as the data has, or 1 if its labels are values", "classes"),
    BIAS,
    { .name = NULL },
};
static const struct mot_option pool_options[] = {
    KERNEL("height and width of the window"),
    { .name = "stride",
        .type = MOT_OPT_UINT,
        .offset = FIELD(stride),
        .preset = "kernel",
        .min = 1,
        .max = 16,
        .word = "kernel",
        .doc = "pixels from one window to the next; kernel: windows side by side" },
    PADDING,
    { .name = NULL },
};
static const struct mot_option mean_options[] = {
    { .name = "kernel",
        .type = MOT_OPT_UINT,
        .offset = FIELD(kernel),
        .preset = "all",
        .min = 1,
        .max = 16,
        .word = "all",
        .doc = "height and width of the window; all: the whole picture, one number a channel" },
    { .name = "stride",
        .type = MOT_OPT_UINT,
        .offset = FIELD(stride),
        .preset = "kernel",
        .min = 1,
        .max = 16,
        .word = "kernel",
        .doc = "pixels from one window to the next; kernel: windows side by side" },
    PADDING,
    { .name = NULL },
};
static const struct mot_option batch_norm_options[] = {
    { .name = "momentum",
        .type = MOT_OPT_REAL,
        .offset = FIELD(momentum),
        .preset = "0.1",
        .min = 1e-300,
        .max = 1,
        .doc = "how far a step moves the running statistics towards those of the batch" },
    EPSILON,
    { .name = NULL },
};
static const struct mot_option group_norm_options[] = {
    { .name = "groups",
        .type = MOT_OPT_UINT,
        .offset = FIELD(groups),
        .min = 1,
        .max = 1 << 20,
        .doc = "groups of channels that are normalised together; 1: all of them" },
    EPSILON,
    { .name = NULL },
};
static const struct mot_option dropout_options[] = {
    { .name = "rate",
        .type = MOT_OPT_REAL,
        .offset = FIELD(rate),
        .preset = "0.5",
        .max = 0.999,
        .doc = "how likely a number is to be dropped" },
    { .name = NULL },
};
static const struct mot_option embedding_options[] = {
    { .name = "words",
        .type = MOT_OPT_UINT,
        .offset = FIELD(words),
        .min = 1,
        .max = 1 << 24,
        .doc = "how many words there are; the columns of the data hold their numbers, from 0" },
    OUT("numbers that represent a word", NULL),
    { .name = NULL },
};
static const struct mot_option no_options[] = { { .name = NULL } };
static const struct mot_option residual_options[] = {
    { .name = "shortcut",
        .type = MOT_OPT_CHOICE,
        .offset = FIELD(shortcut),
        .preset = "identity",
        .choices = "identity|pad|conv",
        .doc = "how the input reaches the end: as it is; every second pixel, with channels of zeros before "
               "and after; or through a 1x1 convolution and batch norm" },
    { .name = NULL },
};

static const struct {
    const char *name, *doc;
    const struct mot_option *options;
} kinds[] = {
    [MOT_LAYER_CONV] = { "conv", "a convolution", conv_options },
    [MOT_LAYER_LINEAR] = { "linear", "a dense layer over numbers without geometry", linear_options },
    [MOT_LAYER_RELU] = { "relu", "numbers below 0 become 0", no_options },
    [MOT_LAYER_MAX_POOL] = { "max_pool", "the greatest number of each window", pool_options },
    [MOT_LAYER_MEAN_POOL] = { "mean_pool", "the mean of each window", mean_options },
    [MOT_LAYER_BATCH_NORM] = { "batch_norm",
        "batch norm: each channel minus its mean over the batch, divided by its deviation, then scaled and "
        "shifted",
        batch_norm_options },
    [MOT_LAYER_GROUP_NORM] = { "group_norm",
        "group norm: each group of channels of a row minus its mean, divided by its deviation, then scaled "
        "and shifted",
        group_norm_options },
    [MOT_LAYER_DROPOUT] = { "dropout",
        "in training, sets random numbers to 0 and scales up the others to make up for them",
        dropout_options },
    [MOT_LAYER_EMBEDDING] = { "embedding", "the first layer: a word's number becomes a list of numbers",
        embedding_options },
    [MOT_LAYER_FLATTEN] = { "flatten", "a picture becomes a row of numbers: channel after channel",
        no_options },
    [MOT_LAYER_RESIDUAL] = { "residual", "adds its input to the output of its layers", residual_options },
};

const char *mot_layer_word(enum mot_layer_kind kind)
{
    return kind == MOT_LAYER_RESIDUAL_END ? "residual" : kinds[kind].name;
}

bool mot_layer_kind_at(size_t i, const char **name, const char **doc, const struct mot_option **options)
{
    if (i >= MOT_COUNT(kinds)) return false;
    *name = kinds[i].name, *doc = kinds[i].doc, *options = kinds[i].options;
    return true;
}

/* ---- Text ------------------------------------------------------------------------- */

struct reading {
    const char *at;
    struct mot_layer_list *list;
    char place[MOT_LAYER_PLACE]; /* of the layer at hand: "2.1" is the first of the second layer's own list */
    struct mot_arena *arena;
};

static void skip(struct reading *r) { r->at += strspn(r->at, " \t\r\n"); }

static bool take(struct reading *r, char c)
{
    skip(r);
    if (*r->at != c) return false;
    r->at++;
    return true;
}

/* A word up to what ends it, without blanks around it; false: none, or longer than there is room. */
static bool word(struct reading *r, char *out, size_t room)
{
    skip(r);
    size_t n = strcspn(r->at, ",:[]{}");
    const char *from = r->at;
    r->at += n;
    while (n && strchr(" \t\r\n", from[n - 1])) n--;
    if (n == 0 || n >= room) return false;
    memcpy(out, from, n);
    out[n] = '\0';
    return true;
}

/* Skips the list that begins here; false: the text ends first. */
static bool pass_list(struct reading *r)
{
    int open = 0;
    for (; *r->at; r->at++) {
        if (*r->at == '[') open++;
        if (*r->at == ']' && --open == 0) {
            r->at++;
            return true;
        }
    }
    return false;
}

static enum mot_status wrong(const struct reading *r, const char *layer, const char *what)
{
    return mot_fail(MOT_EUSAGE, "model.layers: layer %s%s%s%s: %s", r->place, layer ? " (" : "",
        layer ? layer : "", layer ? ")" : "", what);
}

static enum mot_status wrong_word(const struct reading *r, const char *layer, const char *what,
    const char *found, const char *const *known, size_t n)
{
    char all[512] = "";
    for (size_t i = 0, used = 0; i < n && used < sizeof all; i++)
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", known[i]);
    const char *near = mot_nearest(found, known, n);
    char *text = near ? mot_format("%s '%s': did you mean '%s'? (known here: %s)", what, found, near, all)
                      : mot_format("%s '%s' (known here: %s)", what, found, all);
    return wrong(r, layer, mot_arena_take(r->arena, text));
}

static enum mot_status read_list(struct reading *r, const char *prefix, unsigned depth);

static enum mot_status find_kind(const struct reading *r, const char *name, enum mot_layer_kind *out)
{
    const char *known[MOT_COUNT(kinds)];
    for (size_t i = 0; i < MOT_COUNT(kinds); i++) {
        known[i] = kinds[i].name;
        if (strcmp(name, known[i]) == 0) {
            *out = (enum mot_layer_kind)i;
            return MOT_OK;
        }
    }
    return wrong_word(r, NULL, "there is no layer", name, known, MOT_COUNT(kinds));
}

/* One `key: value` of a map whose layer is known. */
static enum mot_status set(
    struct reading *r, struct mot_layer *l, const char *key, const char *value, unsigned long *given)
{
    const struct mot_option *table = kinds[l->kind].options, *o = mot_option_find(table, key);
    const char *layer = kinds[l->kind].name;
    if (!o) {
        const char *known[16] = { "as" };
        size_t n = 1;
        for (o = table; o->name && n < MOT_COUNT(known) - 1; o++) known[n++] = o->name;
        if (l->kind == MOT_LAYER_RESIDUAL) known[n++] = "layers";
        return wrong_word(r, layer, "unknown key", key, known, n);
    }
    if (*given & 1ul << (o - table))
        return wrong(r, layer, mot_arena_take(r->arena, mot_format("%s is given twice", key)));
    *given |= 1ul << (o - table);
    if (mot_option_set(o, l, value, r->arena) != MOT_OK)
        return wrong(r, layer, mot_arena_take(r->arena, mot_format("%s: %s", key, mot_error())));
    return MOT_OK;
}

static enum mot_status check_given(const struct reading *r, const struct mot_layer *l, unsigned long given)
{
    const struct mot_option *table = kinds[l->kind].options;
    for (const struct mot_option *o = table; o->name; o++)
        if (!o->preset && !(given & 1ul << (o - table)))
            return wrong(r, kinds[l->kind].name,
                mot_arena_take(r->arena,
                    mot_format("%s is missing; expected %s", o->name,
                        mot_arena_take(r->arena, mot_option_expects(o)))));
    return MOT_OK;
}

static enum mot_status join_name(
    const struct reading *r, const char *layer, const char *prefix, const char *name, char *out)
{
    int n = snprintf(out, MOT_LAYER_NAME, "%s%s%s", prefix, *prefix && *name ? "." : "", name);
    if (n >= MOT_LAYER_NAME)
        return wrong(r, layer, "its name is too long (`as`, with those of residuals around it)");
    return MOT_OK;
}

/* What a map says besides options: the layer's name, its tensors' name, a residual's own list. */
struct said {
    char name[MOT_LAYER_NAME], as[MOT_LAYER_NAME];
    const char *layers; /* where the inner list begins */
};

/* Goes through the map once to find those, then back to where it began. */
static enum mot_status survey(struct reading *r, struct said *said)
{
    const char *begin = r->at;
    for (bool more = true; more; more = take(r, ',')) {
        char key[32], value[MOT_LAYER_NAME];
        if (!word(r, key, sizeof key) || !take(r, ':'))
            return wrong(r, NULL, "expected a map such as {name: conv, out: 16, kernel: 3}");
        skip(r);
        if (*r->at == '[') {
            if (strcmp(key, "layers") != 0) return wrong(r, NULL, "only `layers` of a residual is a list");
            said->layers = r->at;
            if (!pass_list(r)) return wrong(r, NULL, "a list is not closed");
        } else if (!word(r, value, sizeof value)) {
            return wrong(r, NULL,
                mot_arena_take(r->arena,
                    mot_format("%s needs a value of at most %d characters", key, MOT_LAYER_NAME - 1)));
        } else if (strcmp(key, "name") == 0) {
            snprintf(said->name, sizeof said->name, "%s", value);
        } else if (strcmp(key, "as") == 0) {
            snprintf(said->as, sizeof said->as, "%s", value);
        }
    }
    if (!take(r, '}')) return wrong(r, NULL, "a map is not closed");
    if (!*said->name)
        return wrong(r, NULL, "its map has no `name`, such as {name: conv, out: 16, kernel: 3}");
    r->at = begin;
    return MOT_OK;
}

static enum mot_status read_options(struct reading *r, struct mot_layer *l)
{
    unsigned long given = 0;
    enum mot_status status = MOT_OK;
    for (bool more = true; more && status == MOT_OK; more = take(r, ',')) {
        char key[32], value[MOT_LAYER_NAME];
        (void)word(r, key, sizeof key), (void)take(r, ':');
        skip(r);
        if (*r->at == '[') {
            if (l->kind != MOT_LAYER_RESIDUAL)
                return wrong(r, kinds[l->kind].name, "has no layers of its own");
            (void)pass_list(r);
            continue;
        }
        (void)word(r, value, sizeof value);
        if (strcmp(key, "name") != 0 && strcmp(key, "as") != 0) status = set(r, l, key, value, &given);
    }
    (void)take(r, '}');
    return status == MOT_OK ? check_given(r, l, given) : status;
}

static enum mot_status add_layer(
    struct reading *r, const char *prefix, const struct said *said, uint32_t place, struct mot_layer **out)
{
    struct mot_layer_list *list = r->list;
    if (list->n + 2 > MOT_LAYERS_MOST) /* a residual takes two */
        return mot_fail(MOT_EUSAGE, "model.layers: more than %d layers", MOT_LAYERS_MOST - 2);
    struct mot_layer *l = &list->layer[list->n];
    *l = (struct mot_layer){ 0 };
    memcpy(l->place, r->place, sizeof l->place);
    char name[MOT_LAYER_NAME];
    snprintf(name, sizeof name, "%u", place);
    enum mot_status status = find_kind(r, said->name, &l->kind);
    if (status == MOT_OK) status = mot_options_preset(kinds[l->kind].options, l, r->arena);
    if (status == MOT_OK)
        status = join_name(
            r, said->name, prefix, *said->as ? strcmp(said->as, "~") == 0 ? "" : said->as : name, l->name);
    if (status == MOT_OK) list->n++;
    *out = l;
    return status;
}

static enum mot_status end_residual(struct reading *r, struct mot_layer *begin)
{
    struct mot_layer *l = &r->list->layer[r->list->n++];
    *l = *begin;
    l->kind = MOT_LAYER_RESIDUAL_END;
    enum mot_status status = join_name(r, "residual", begin->name, "downsample.0", l->shortcut_conv);
    return status == MOT_OK ? join_name(r, "residual", begin->name, "downsample.1", l->shortcut_norm)
                            : status;
}

static enum mot_status read_item(struct reading *r, const char *prefix, uint32_t place, unsigned depth)
{
    struct said said = { 0 };
    struct mot_layer *l;
    enum mot_status status;
    if (!take(r, '{')) {
        if (!word(r, said.name, sizeof said.name))
            return wrong(r, NULL,
                "expected a layer: a word such as relu, or a map such as {name: conv, out: 16, kernel: 3}");
        status = add_layer(r, prefix, &said, place, &l);
        if (status == MOT_OK) status = check_given(r, l, 0);
        if (status == MOT_OK && l->kind == MOT_LAYER_RESIDUAL)
            status = wrong(r, "residual", "needs `layers`, a list");
        return status;
    }
    status = survey(r, &said);
    if (status == MOT_OK) status = add_layer(r, prefix, &said, place, &l);
    if (status == MOT_OK) status = read_options(r, l);
    if (status != MOT_OK || l->kind != MOT_LAYER_RESIDUAL) return status;
    if (!said.layers) return wrong(r, "residual", "needs `layers`, a list");
    if (depth == MOT_LAYER_DEPTH) return wrong(r, "residual", "residuals are nested too deeply");
    struct reading inner = *r;
    inner.at = said.layers;
    status = read_list(&inner, l->name, depth + 1);
    if (status == MOT_OK && r->list->n + 2 > MOT_LAYERS_MOST)
        status = mot_fail(MOT_EUSAGE, "model.layers: more than %d layers", MOT_LAYERS_MOST - 2);
    return status == MOT_OK ? end_residual(r, l) : status;
}

static enum mot_status read_list(struct reading *r, const char *prefix, unsigned depth)
{
    if (!take(r, '['))
        return mot_fail(MOT_EUSAGE,
            "model.layers: expected a list such as [{name: conv, out: 16, kernel: 3}, relu, flatten, "
            "{name: linear, out: classes}]");
    if (take(r, ']')) return mot_fail(MOT_EUSAGE, "model.layers: a list of layers is empty");
    uint32_t place = 0;
    const size_t outer = strlen(r->place);
    do {
        snprintf(r->place + outer, sizeof r->place - outer, "%s%u", outer ? "." : "", place + 1);
        enum mot_status status = read_item(r, prefix, place++, depth);
        if (status != MOT_OK) return status;
    } while (take(r, ','));
    if (!take(r, ']')) return wrong(r, NULL, "expected , or ] after it");
    return MOT_OK;
}

enum mot_status mot_layer_list_parse(const char *text, struct mot_layer_list *out)
{
    struct mot_arena arena = { 0 };
    struct reading r = { .at = text, .list = out, .arena = &arena };
    out->n = 0;
    enum mot_status status = read_list(&r, "", 0);
    skip(&r);
    if (status == MOT_OK && *r.at)
        status = mot_fail(MOT_EUSAGE, "model.layers: text after the end of the list");
    mot_arena_free(&arena);
    return status;
}
