/* network_plan.c -- from a list of layers to ops: shapes, tensors, and which memory is used for what. */
#include "base/memory.h"
#include "math/network.h"
#include <motley/method.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TENSORS_MOST (2 * MOT_LAYERS_MOST) /* a weight and a bias; a residual is two layers */

struct making {
    struct mot_net *net;
    struct mot_layer_plan *plan;
    uint32_t room; /* for ops */
    struct {
        char name[MOT_LAYER_NAME + 16];
        uint32_t op;
    } norm[MOT_LAYERS_MOST]; /* batch norms, whose statistics come after all trained tensors */
    uint32_t norms;
    double momentum[MOT_LAYERS_MOST];
    const struct mot_layer *layer;   /* the one at hand */
    const char *owner[TENSORS_MOST]; /* the place of each tensor's layer */
};

static enum mot_status refuse(const struct making *m, char *why)
{
    enum mot_status status = mot_fail(
        MOT_EUSAGE, "model.layers: layer %s (%s): %s", m->layer->place, mot_layer_word(m->layer->kind), why);
    free(why);
    return status;
}

static struct mot_op *add_op(struct making *m, enum mot_op_kind kind, uint32_t in, struct mot_map map)
{
    MOT_ASSERT(m->plan->ops < m->room);
    struct mot_op *op = &m->plan->op[m->plan->ops++];
    *op = (struct mot_op){ .kind = kind, .in = in, .map = map };
    return op;
}

static uint32_t last_of(const struct making *m) { return m->plan->ops - 1; }

/* Two tensors of one name would be one tensor in a model file. */
static enum mot_status tensor(
    struct making *m, const char *layer, const char *what, uint32_t rank, const uint32_t *shape, size_t *at)
{
    char name[MOT_LAYER_NAME + 16];
    snprintf(name, sizeof name, "%s%s%s", layer, *layer ? "." : "", what);
    for (uint32_t i = 0; i < m->net->segments; i++)
        if (strcmp(m->net->segment[i].name, name) == 0)
            return refuse(m,
                mot_format("its tensor would be named %s, as one of layer %s is; name it otherwise with `as`",
                    name, m->owner[i]));
    MOT_ASSERT(m->net->segments < TENSORS_MOST);
    m->owner[m->net->segments] = m->layer->place;
    *at = m->net->dim;
    mot_net_add_tensor(m->net, name, rank, shape);
    return MOT_OK;
}

/* The weight and, if the op has one, the bias. */
static enum mot_status tensors(
    struct making *m, const char *layer, struct mot_op *op, uint32_t rank, const uint32_t *shape)
{
    enum mot_status status = tensor(m, layer, "weight", rank, shape, &op->weight);
    if (status != MOT_OK || !op->has_bias) return status;
    return tensor(m, layer, "bias", 1, &op->map.channels, &op->bias);
}

/* Pixels that a window passes, or 0 if it does not fit. */
static uint32_t windows(uint32_t size, uint32_t kernel, uint32_t stride, uint32_t padding)
{
    return size + 2 * padding < kernel ? 0 : (size + 2 * padding - kernel) / stride + 1;
}

static enum mot_status slide(const struct making *m, const struct mot_map *in, uint32_t kernel,
    uint32_t stride, uint32_t padding, struct mot_map *out)
{
    out->height = windows(in->height, kernel, stride, padding);
    out->width = windows(in->width, kernel, stride, padding);
    if (out->height && out->width) return MOT_OK;
    return refuse(m,
        mot_format("its window is %ux%u, but the picture that reaches it is %ux%u with padding %u", kernel,
            kernel, in->height, in->width, padding));
}

struct window {
    uint32_t kernel, stride, padding, groups;
};

static enum mot_status add_conv(
    struct making *m, const char *name, uint32_t in, uint32_t out, struct window w, bool bias)
{
    struct mot_map from = m->plan->op[in].map, to = { .channels = out };
    if (from.channels % w.groups || out % w.groups)
        return refuse(m,
            mot_format("%u channels come in and %u go out, which cannot both be divided into %u groups",
                from.channels, out, w.groups));
    enum mot_status status = slide(m, &from, w.kernel, w.stride, w.padding, &to);
    if (status != MOT_OK) return status;
    struct mot_op *op = add_op(m, MOT_OP_CONV, in, to);
    op->kernel = op->across = w.kernel, op->stride = w.stride, op->padding = w.padding;
    op->groups = w.groups, op->has_bias = bias;
    return tensors(m, name, op, 4, (uint32_t[]){ out, from.channels / w.groups, w.kernel, w.kernel });
}

static enum mot_status add_batch_norm(struct making *m, const char *name, double momentum, double epsilon)
{
    uint32_t in = last_of(m);
    struct mot_map map = m->plan->op[in].map;
    struct mot_op *op = add_op(m, MOT_OP_BATCH_NORM, in, map);
    op->epsilon = (float)epsilon;
    op->has_bias = true;
    if (mot_map_pixels(&map) == 1 && !*m->plan->single)
        memcpy(m->plan->single, m->layer->place, sizeof m->plan->single);
    snprintf(m->norm[m->norms].name, sizeof m->norm[0].name, "%s", name);
    m->momentum[m->norms] = momentum;
    m->norm[m->norms++].op = last_of(m);
    return tensors(m, name, op, 1, &map.channels);
}

static enum mot_status add_group_norm(struct making *m)
{
    const struct mot_layer *l = m->layer;
    struct mot_map map = m->plan->op[last_of(m)].map;
    if (map.channels % l->groups)
        return refuse(
            m, mot_format("%u channels cannot be divided into %u groups", map.channels, (uint32_t)l->groups));
    struct mot_op *op = add_op(m, MOT_OP_GROUP_NORM, last_of(m), map);
    op->epsilon = (float)l->epsilon, op->groups = (uint32_t)l->groups, op->has_bias = true;
    return tensors(m, l->name, op, 1, &map.channels);
}

/* Columns lie side by side, as the pixels of a picture of one row, unless they are a picture's. */
static enum mot_status add_embedding(struct making *m)
{
    const struct mot_layer *l = m->layer;
    struct mot_map map = m->plan->op[0].map;
    const struct mot_picture *p = &m->net->shape.picture;
    if (m->plan->ops > 1) return refuse(m, mot_text("must be the first layer: it reads columns of the data"));
    if (p->channels > 1)
        return refuse(
            m, mot_format("the data has pictures of %u channels; words have one number each", p->channels));
    if (p->channels == 0) map.width = map.channels;
    map.channels = (uint32_t)l->out;
    struct mot_op *op = add_op(m, MOT_OP_EMBEDDING, 0, map);
    op->words = (uint32_t)l->words;
    return tensors(m, l->name, op, 2, (uint32_t[]){ op->words, map.channels });
}

static enum mot_status add_linear(struct making *m)
{
    const struct mot_layer *l = m->layer;
    uint32_t classes = m->net->shape.classes ? m->net->shape.classes : 1, in = last_of(m);
    uint32_t out = l->out == MOT_WORD_UINT ? classes : (uint32_t)l->out;
    const struct mot_map from = m->plan->op[in].map;
    if (mot_map_pixels(&from) != 1)
        return refuse(m,
            mot_format("its input is a picture of %ux%ux%u; put flatten or mean_pool before it",
                from.channels, from.height, from.width));
    struct mot_op *op = add_op(m, MOT_OP_LINEAR, in, (struct mot_map){ out, 1, 1 });
    op->has_bias = l->bias;
    return tensors(m, l->name, op, 2, (uint32_t[]){ out, from.channels });
}

static enum mot_status add_pool(struct making *m)
{
    const struct mot_layer *l = m->layer;
    const struct mot_map from = m->plan->op[last_of(m)].map;
    bool whole = l->kernel == MOT_WORD_UINT;
    uint32_t kernel = whole ? from.height : (uint32_t)l->kernel, padding = (uint32_t)l->padding;
    uint32_t stride = l->stride == MOT_WORD_UINT ? kernel : (uint32_t)l->stride;
    if (whole && (padding || l->stride != MOT_WORD_UINT))
        return refuse(m, mot_text("takes the whole picture; set its kernel to move a window over it"));
    if (2 * padding > kernel)
        return refuse(m, mot_format("padding %u is more than half of its window of %u", padding, kernel));
    struct mot_map to = { .channels = from.channels };
    enum mot_status status = MOT_OK;
    if (whole) to.height = to.width = 1;
    else status = slide(m, &from, kernel, stride, padding, &to);
    if (status != MOT_OK) return status;
    enum mot_op_kind kind = l->kind == MOT_LAYER_MAX_POOL ? MOT_OP_MAX_POOL : MOT_OP_MEAN_POOL;
    struct mot_op *op = add_op(m, kind, last_of(m), to);
    op->kernel = kernel, op->stride = stride, op->padding = padding;
    op->across = whole ? from.width : kernel;
    return MOT_OK;
}

/* The end of a residual that began with what op `from` gave. */
static enum mot_status add_shortcut(struct making *m, uint32_t from)
{
    const struct mot_layer *l = m->layer;
    uint32_t main = last_of(m);
    const struct mot_map in = m->plan->op[from].map, out = m->plan->op[main].map;
    uint32_t stride = out.height ? (in.height + out.height - 1) / out.height : 1;
    bool same = in.channels == out.channels && in.height == out.height && in.width == out.width;
    bool fits = stride >= 1 && (in.height + stride - 1) / stride == out.height &&
        (in.width + stride - 1) / stride == out.width && in.channels <= out.channels;
    if (main == from) return refuse(m, mot_text("has no layers between its ends"));
    if (!same && l->shortcut == MOT_SHORTCUT_IDENTITY)
        return refuse(m,
            mot_format("%ux%ux%u goes in and %ux%ux%u comes out, which cannot be added; set shortcut to "
                       "pad or conv",
                in.channels, in.height, in.width, out.channels, out.height, out.width));
    if (l->shortcut == MOT_SHORTCUT_PAD && !fits)
        return refuse(m,
            mot_format("%ux%ux%u cannot be reduced to %ux%ux%u: a padded shortcut may only drop pixels and "
                       "add channels",
                in.channels, in.height, in.width, out.channels, out.height, out.width));
    uint32_t also = from;
    if (l->shortcut == MOT_SHORTCUT_CONV && !same) {
        enum mot_status status =
            add_conv(m, l->shortcut_conv, from, out.channels, (struct window){ 1, stride, 0, 1 }, false);
        if (status != MOT_OK) return status;
        status = add_batch_norm(m, l->shortcut_norm, 0.1, 1e-5);
        if (status != MOT_OK) return status;
        also = last_of(m);
        const struct mot_map got = m->plan->op[also].map;
        if (got.height != out.height || got.width != out.width)
            return refuse(m,
                mot_format("a 1x1 convolution makes %ux%u of %ux%u, not %ux%u", got.height, got.width,
                    in.height, in.width, out.height, out.width));
    }
    struct mot_op *op = add_op(m, MOT_OP_ADD, main, out);
    op->also = also;
    const struct mot_map short_map = m->plan->op[also].map;
    op->stride = short_map.height == out.height ? 1 : stride;
    return MOT_OK;
}

/* Convolutions and pools would take each column of a plain row for a channel of one pixel. */
static enum mot_status check_pictures(const struct making *m)
{
    bool words = m->plan->ops > 1 && m->plan->op[1].kind == MOT_OP_EMBEDDING;
    if (m->net->shape.picture.channels || words) return MOT_OK;
    return refuse(m,
        mot_format("needs pictures, but the data does not say that its %u columns are one: " MOT_HAS_PICTURES
                   "; a network over other rows begins with linear",
            m->net->shape.cols));
}

static enum mot_status add_layers(struct making *m, const struct mot_layer_list *list)
{
    uint32_t entered[MOT_LAYER_DEPTH + 1], depth = 0;
    enum mot_status status = MOT_OK;
    for (uint32_t n = 0; n < list->n && status == MOT_OK; n++) {
        const struct mot_layer *l = m->layer = &list->layer[n];
        struct mot_map map = m->plan->op[last_of(m)].map;
        if (l->kind == MOT_LAYER_CONV || l->kind == MOT_LAYER_MAX_POOL || l->kind == MOT_LAYER_MEAN_POOL)
            status = check_pictures(m);
        if (status != MOT_OK) break;
        switch (l->kind) {
        case MOT_LAYER_CONV:
            status = add_conv(m, l->name, last_of(m), (uint32_t)l->out,
                (struct window){
                    (uint32_t)l->kernel, (uint32_t)l->stride, (uint32_t)l->padding, (uint32_t)l->groups },
                l->bias);
            break;
        case MOT_LAYER_LINEAR: status = add_linear(m); break;
        case MOT_LAYER_RELU: add_op(m, MOT_OP_RELU, last_of(m), map); break;
        case MOT_LAYER_MAX_POOL:
        case MOT_LAYER_MEAN_POOL: status = add_pool(m); break;
        case MOT_LAYER_BATCH_NORM: status = add_batch_norm(m, l->name, l->momentum, l->epsilon); break;
        case MOT_LAYER_GROUP_NORM: status = add_group_norm(m); break;
        case MOT_LAYER_DROPOUT: add_op(m, MOT_OP_DROPOUT, last_of(m), map)->rate = (float)l->rate; break;
        case MOT_LAYER_EMBEDDING: status = add_embedding(m); break;
        case MOT_LAYER_FLATTEN:
            if (mot_map_pixels(&map) > 1)
                add_op(m, MOT_OP_FLATTEN, last_of(m), (struct mot_map){ (uint32_t)mot_map_size(&map), 1, 1 });
            break;
        case MOT_LAYER_RESIDUAL: entered[depth++] = last_of(m); break;
        case MOT_LAYER_RESIDUAL_END: status = add_shortcut(m, entered[--depth]); break;
        }
        const size_t size = mot_map_size(&m->plan->op[last_of(m)].map);
        if (status == MOT_OK && size > INT32_MAX)
            status = refuse(m,
                mot_format("gives %.3g numbers for each row; at most %.3g are possible", (double)size,
                    (double)INT32_MAX));
        if (status == MOT_OK && m->net->parameters > INT32_MAX)
            status = refuse(m,
                mot_format("the network has %.3g parameters by then; at most %.3g are possible",
                    m->net->parameters, (double)INT32_MAX));
    }
    return status;
}

static enum mot_status check_outputs(struct making *m)
{
    const struct mot_map out = m->plan->op[last_of(m)].map;
    uint32_t expected = m->net->shape.classes ? m->net->shape.classes : 1;
    if (out.channels == expected && mot_map_pixels(&out) == 1) return MOT_OK;
    return refuse(m,
        mot_format("gives %ux%ux%u numbers, but the data has %s; end with {name: linear, out: classes}",
            out.channels, out.height, out.width,
            m->net->shape.classes
                ? m->net->shape.classes == out.channels ? "one row of classes" : "another number of classes"
                : "one value a row"));
}

static void add_statistics(struct making *m)
{
    for (uint32_t n = 0; n < m->norms; n++) {
        struct mot_op *op = &m->plan->op[m->norm[n].op];
        static const char *const what[] = { "running_mean", "running_var" };
        for (int i = 0; i < 2; i++) {
            char name[MOT_LAYER_NAME + 32];
            snprintf(name, sizeof name, "%s%s%s", m->norm[n].name, *m->norm[n].name ? "." : "", what[i]);
            *(i ? &op->variance : &op->mean) = m->net->dim;
            mot_net_add_statistic(m->net, name, op->map.channels, (float)m->momentum[n]);
        }
    }
}

/* ---- Memory ------------------------------------------------------------------------ */

static bool is_norm(const struct mot_op *op)
{
    return op->kind == MOT_OP_BATCH_NORM || op->kind == MOT_OP_GROUP_NORM;
}

/* Whether op n's result lies where a max pool left its own, which the pool still needs on the way back. */
static bool is_pooled(const struct mot_layer_plan *p, uint32_t n)
{
    while (p->op[n].in_place) n = p->op[n].in;
    return p->op[n].kind == MOT_OP_MAX_POOL;
}

/* May an op overwrite its input's result? Not if another op reads it, nor if the input needs it on the way
 * back. ReLU looks for numbers above 0 and max pooling for the greatest, which neither ReLU nor a later 0
 * changes where a slope is left; dropout keeps signs, but not sizes. */
static bool may_replace(const struct mot_layer_plan *p, const struct mot_op *op, const uint32_t *readers)
{
    const struct mot_op *in = &p->op[op->in];
    if (readers[op->in] != 1 || in->kind == MOT_OP_INPUT) return false;
    if (op->kind == MOT_OP_RELU) return true;
    if (op->kind == MOT_OP_DROPOUT) return !is_pooled(p, op->in);
    if (op->kind != MOT_OP_ADD) return false;
    return in->kind == MOT_OP_CONV || is_norm(in) || in->kind == MOT_OP_LINEAR;
}

static void place_results(struct mot_layer_plan *p, const uint32_t *readers)
{
    for (uint32_t n = 0; n < p->ops; n++) {
        struct mot_op *op = &p->op[n];
        op->in_place = n > 0 && may_replace(p, op, readers);
        op->fused = op->in_place && op->kind == MOT_OP_RELU && is_norm(&p->op[op->in]);
        op->at = op->in_place ? p->op[op->in].at : p->results;
        if (!op->in_place) p->results += mot_map_size(&op->map);
        op->kept = p->kept;
        if (op->kind == MOT_OP_BATCH_NORM) p->kept += 2 * (size_t)op->map.channels;
        if (op->kind == MOT_OP_GROUP_NORM) p->kept += 2 * (size_t)op->groups * MOT_SLICE_ROWS;
        if (op->map.channels > p->channels) p->channels = op->map.channels;
        bool turns = op->kind == MOT_OP_LINEAR || op->kind == MOT_OP_FLATTEN || n == 0;
        size_t turned = (mot_map_size(&p->op[op->in].map) + MOT_PANEL - 1) / MOT_PANEL * MOT_PANEL;
        if (turns && turned > p->turned) p->turned = turned;
        if (op->kind != MOT_OP_CONV) continue;
        const struct mot_map *in = &p->op[op->in].map;
        const uint32_t outs = op->map.channels / op->groups, ins = in->channels / op->groups;
        size_t weights = (size_t)outs * ins * op->kernel * op->kernel;
        size_t sums = mot_conv_sums(outs, ins, op->kernel);
        size_t apart = (mot_map_size(in) + mot_map_size(&op->map)) / op->groups;
        if (op->groups > 1 && apart > p->apart) p->apart = apart;
        if (weights > p->packed) p->packed = weights;
        if (sums > p->sums) p->sums = sums;
    }
}

/* A slope lives from when an op that reads the result makes it until it has gone through the op itself. An op
 * that works number by number puts the slope at its input in the place of the one at its output. */
static bool slope_stays(const struct mot_layer_plan *p, const struct mot_op *op, const uint32_t *readers)
{
    bool by_number =
        op->kind == MOT_OP_RELU || is_norm(op) || op->kind == MOT_OP_DROPOUT || op->kind == MOT_OP_ADD;
    return by_number && readers[op->in] == 1 && p->op[op->in].kind != MOT_OP_INPUT;
}

static void place_slopes(struct mot_layer_plan *p, const uint32_t *readers)
{
    bool busy[MOT_LAYERS_MOST * 2] = { false };
    for (uint32_t n = 0; n < p->ops; n++) p->op[n].slot = UINT32_MAX;
    p->op[p->ops - 1].slot = 0;
    busy[0] = true;
    p->slots = 1;
    for (uint32_t n = p->ops - 1; n > 0; n--) {
        struct mot_op *op = &p->op[n];
        if (mot_map_size(&op->map) > p->slot) p->slot = mot_map_size(&op->map);
        uint32_t to[2] = { op->in, op->kind == MOT_OP_ADD ? op->also : 0 };
        bool stays = slope_stays(p, op, readers);
        for (int i = 0; i < 2; i++) {
            struct mot_op *in = &p->op[to[i]];
            if (to[i] == 0 || in->slot != UINT32_MAX) continue;
            uint32_t slot = op->slot;
            if (i > 0 || !stays)
                for (slot = 0; busy[slot]; slot++) {}
            in->slot = slot;
            busy[slot] = true;
            if (slot >= p->slots) p->slots = slot + 1;
        }
        if (!stays) busy[op->slot] = false;
    }
}

/* The cost of the way back through each layer: every weight once for each pixel that sees it. */
static void weigh_layers(struct mot_net *net, const struct mot_layer_plan *p)
{
    for (uint32_t n = 1, s = 0; n < p->ops; n++) {
        const struct mot_op *op = &p->op[n];
        if (op->kind != MOT_OP_CONV && op->kind != MOT_OP_LINEAR && op->kind != MOT_OP_EMBEDDING &&
            !is_norm(op))
            continue;
        while (net->segment[s].off != op->weight) s++;
        /* a column looks at one word only */
        double touched = op->kind == MOT_OP_EMBEDDING ? op->map.channels : net->segment[s].len;
        net->segment[s].work = touched * (double)mot_map_pixels(&op->map);
    }
}

/* The last layer with weights, and what it takes, if that went through weights too. */
static void find_hidden(struct mot_layer_plan *p)
{
    bool weighted = false;
    for (uint32_t n = 1; n < p->ops; n++) {
        const struct mot_op *op = &p->op[n];
        bool mixes = op->kind == MOT_OP_LINEAR || op->kind == MOT_OP_CONV;
        if (mixes && weighted) p->seen = op->in;
        weighted |= mixes || op->kind == MOT_OP_EMBEDDING;
    }
}

static enum mot_status find_input(const struct mot_net *net, struct mot_map *out)
{
    const struct mot_picture *p = &net->shape.picture;
    if (net->shape.sparse)
        return mot_fail(MOT_EUSAGE, "%s needs dense rows, but the data is sparse; use mlp or a linear model",
            net->kind->name);
    *out = p->channels ? (struct mot_map){ p->channels, p->height, p->width }
                       : (struct mot_map){ net->shape.cols, 1, 1 };
    return MOT_OK;
}

enum mot_status mot_layer_plan_make(struct mot_net *net, const struct mot_layer_list *list)
{
    struct mot_map input;
    enum mot_status status = find_input(net, &input);
    if (status != MOT_OK) return status;
    struct making *m = mot_new(1, sizeof *m);
    m->net = net;
    m->room = 3 * MOT_LAYERS_MOST + 1; /* a residual with a shortcut of its own is three */
    net->plan = m->plan = mot_new(1, sizeof *m->plan + m->room * sizeof *m->plan->op);
    add_op(m, MOT_OP_INPUT, 0, input);
    status = add_layers(m, list);
    if (status == MOT_OK) status = check_outputs(m);
    if (status == MOT_OK) {
        uint32_t *readers = mot_new(m->plan->ops, sizeof *readers);
        for (uint32_t n = 1; n < m->plan->ops; n++) {
            readers[m->plan->op[n].in]++;
            if (m->plan->op[n].kind == MOT_OP_ADD) readers[m->plan->op[n].also]++;
        }
        add_statistics(m);
        weigh_layers(net, m->plan);
        place_results(m->plan, readers);
        place_slopes(m->plan, readers);
        free(readers);
        net->outputs = m->plan->op[last_of(m)].map.channels;
        find_hidden(m->plan);
        if (m->plan->seen) net->features = (uint32_t)mot_map_size(&m->plan->op[m->plan->seen].map);
        net->scratch_bytes = mot_pass_floats(m->plan) * sizeof(float);
    }
    free(m);
    return status;
}
