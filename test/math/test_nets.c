/* Networks against a plain forward pass in double: its losses, and its finite differences for the
 * gradients. */
#include "base/memory.h"
#include "base/options.h"
#include "base/rng.h"
#include "math/models.h"
#include "math/network.h"
#include "test.h"

#define SEED 11

static const struct mot_model *find(const char *name)
{
    for (size_t i = 0; mot_models[i]; i++)
        if (strcmp(mot_models[i]->name, name) == 0) return mot_models[i];
    return NULL;
}

struct lab {
    struct mot_arena arena;
    struct mot_net net;
    struct mot_table table;
    float *x, *g, *data, *label;
    void *scratch;
    double smoothing;
};

/* `layers`: of the model `network`, or another model's name. */
static enum mot_status open_net(
    struct lab *lab, const char *layers, const char *smoothing, struct mot_shape shape)
{
    const struct mot_model *m = find(*layers == '[' ? "network" : layers);
    memset(lab, 0, sizeof *lab);
    void *conf = mot_arena_new(&lab->arena, m->conf_bytes);
    enum mot_status status = mot_options_preset(m->options, conf, &lab->arena);
    if (*layers == '[' && !status)
        status = mot_option_set(mot_option_find(m->options, "layers"), conf, layers, &lab->arena);
    if (!status)
        status = mot_option_set(mot_option_find(m->options, "label_smoothing"), conf, smoothing, &lab->arena);
    lab->smoothing = strtod(smoothing, NULL);
    if (!status) status = mot_net_open(m, conf, &shape, &lab->net);
    if (status) mot_arena_free(&lab->arena);
    return status;
}

static uint32_t words; /* columns hold words, so many, instead of normal numbers */

static void fill(struct lab *lab, uint32_t rows)
{
    const struct mot_net *net = &lab->net;
    struct mot_rng rng = mot_rng_at(SEED, MOT_RNG_TEST, net->dim);
    size_t n = (size_t)rows * net->shape.cols;
    lab->data = mot_new(n, sizeof *lab->data), lab->label = mot_new(rows, sizeof *lab->label);
    for (size_t i = 0; i < n; i++)
        lab->data[i] = words ? (float)mot_rng_below(&rng, words) : (float)mot_rng_normal(&rng);
    for (uint32_t r = 0; r < rows; r++)
        lab->label[r] =
            net->shape.classes ? (float)mot_rng_below(&rng, net->shape.classes) : (float)mot_rng_normal(&rng);
    lab->table = (struct mot_table){
        .rows = rows, .cols = net->shape.cols, .classes = net->shape.classes, .x = lab->data, .y = lab->label
    };
    lab->x = mot_aligned(net->dim * sizeof *lab->x), lab->g = mot_aligned(net->dim * sizeof *lab->g);
    lab->scratch = mot_aligned(net->scratch_bytes);
    net->kind->init(net, SEED, lab->x);
    for (uint32_t i = 0; i < net->dim; i++)
        lab->x[i] += (float)(0.05 * fabs(mot_rng_normal(&rng))); /* no 0, no 1 */
}

static void close_lab(struct lab *lab)
{
    free(lab->x), free(lab->g), free(lab->scratch), free(lab->data), free(lab->label);
    mot_net_close(&lab->net);
    mot_arena_free(&lab->arena);
}

/* ---- The reference: [row][channel][pixel] in double --------------------------------- */

#define EACH(i, n) for (uint32_t i = 0; i < (n); i++)

struct plain {
    const struct mot_layer_plan *plan;
    const double *x;
    uint32_t rows;
    bool training;
    double **at; /* [ops]: the results */
};

static double *cell(const struct plain *p, uint32_t op, uint32_t r, uint32_t c, int64_t h, int64_t w)
{
    const struct mot_map *m = &p->plan->op[op].map;
    if (h < 0 || w < 0 || h >= m->height || w >= m->width) return NULL;
    return p->at[op] + (((size_t)r * m->channels + c) * m->height + (size_t)h) * m->width + (size_t)w;
}

static double windowed(const struct plain *p, uint32_t n, uint32_t r, uint32_t c, uint32_t h, uint32_t w)
{
    const struct mot_op *op = &p->plan->op[n];
    const uint32_t k = op->kernel, groups = op->kind == MOT_OP_CONV ? op->groups : 1;
    const uint32_t in = p->plan->op[op->in].map.channels / groups,
                   from = c / (op->map.channels / groups) * in; /* the group's first input */
    double sum = op->kind == MOT_OP_CONV && op->has_bias ? p->x[op->bias + c] : 0, most = -INFINITY;
    EACH(a, k) EACH(b, op->across)
    {
        int64_t i = (int64_t)h * op->stride + a - op->padding, j = (int64_t)w * op->stride + b - op->padding;
        if (op->kind == MOT_OP_CONV) EACH(f, in)
            {
                const double *x = cell(p, op->in, r, from + f, i, j);
                if (x) sum += *x * p->x[op->weight + (((size_t)c * in + f) * k + a) * k + b];
            }
        else {
            const double *x = cell(p, op->in, r, c, i, j);
            if (x) sum += *x / (k * op->across), most = fmax(most, *x);
        }
    }
    return op->kind == MOT_OP_MAX_POOL ? most : sum;
}

static void norm_plain(const struct plain *p, uint32_t n)
{
    const struct mot_op *op = &p->plan->op[n];
    const struct mot_map *m = &op->map;
    EACH(c, m->channels)
    {
        double mean = 0, variance = 0, count = (double)p->rows * m->height * m->width;
        EACH(r, p->rows) EACH(h, m->height) EACH(w, m->width) mean += *cell(p, op->in, r, c, h, w) / count;
        EACH(r, p->rows) EACH(h, m->height) EACH(w, m->width)
        {
            double off = *cell(p, op->in, r, c, h, w) - mean;
            variance += off * off / count;
        }
        if (!p->training) mean = p->x[op->mean + c], variance = p->x[op->variance + c];
        EACH(r, p->rows)
        EACH(h, m->height)
        EACH(w, m->width) * cell(p, n, r, c, h, w) = (*cell(p, op->in, r, c, h, w) - mean) /
                sqrt(variance + (double)op->epsilon) * p->x[op->weight + c] +
            p->x[op->bias + c];
    }
}

static void group_norm_plain(const struct plain *p, uint32_t n)
{
    const struct mot_op *op = &p->plan->op[n];
    const uint32_t each = op->map.channels / op->groups;
    const size_t size = mot_map_size(&op->map), part = size / op->groups, pixels = mot_map_pixels(&op->map);
    EACH(r, p->rows) EACH(group, op->groups)
    {
        const double *x = p->at[op->in] + r * size + group * part;
        double mean = 0, variance = 0, *y = p->at[n] + r * size + group * part;
        for (size_t i = 0; i < part; i++) mean += x[i] / (double)part;
        for (size_t i = 0; i < part; i++) variance += (x[i] - mean) * (x[i] - mean) / (double)part;
        for (size_t i = 0; i < part; i++) {
            size_t c = group * each + i / pixels;
            y[i] = (x[i] - mean) / sqrt(variance + (double)op->epsilon) * p->x[op->weight + c] +
                p->x[op->bias + c];
        }
    }
}

/* CHANCE is what the gradient's batch has; its rows begin at draw DRAW. */
#define CHANCE 12345
#define DRAW 77
static double dropped(const struct plain *p, uint32_t n, uint32_t r, uint32_t number, double x)
{
    const struct mot_op *op = &p->plan->op[n];
    if (!p->training) return x;
    bool gone = mot_drop_draw(mot_hash3(CHANCE, DRAW + r, n), number) < (uint32_t)(op->rate * 0x1p24f);
    return gone ? 0 : x / (1 - (double)op->rate);
}

static double one(const struct plain *p, uint32_t n, uint32_t r, uint32_t c, uint32_t h, uint32_t w)
{
    const struct mot_op *op = &p->plan->op[n];
    const struct mot_map *in = &p->plan->op[op->in].map, *also = &p->plan->op[op->also].map;
    double sum = 0;
    switch (op->kind) {
    case MOT_OP_CONV:
    case MOT_OP_MAX_POOL:
    case MOT_OP_MEAN_POOL: return windowed(p, n, r, c, h, w);
    case MOT_OP_LINEAR:
        EACH(f, in->channels)
        sum += *cell(p, op->in, r, f, 0, 0) * p->x[op->weight + (size_t)c * in->channels + f];
        return sum + (op->has_bias ? p->x[op->bias + c] : 0);
    case MOT_OP_RELU: return fmax(0, *cell(p, op->in, r, c, h, w));
    case MOT_OP_DROPOUT:
        return dropped(p, n, r, (c * in->height + h) * in->width + w, *cell(p, op->in, r, c, h, w));
    case MOT_OP_EMBEDDING:
        return p->x[op->weight +
            (size_t)p->at[0][r * mot_map_size(in) + h * op->map.width + w] * op->map.channels + c];
    case MOT_OP_FLATTEN: return p->at[op->in][(size_t)r * mot_map_size(in) + c];
    case MOT_OP_ADD: {
        uint32_t before = (op->map.channels - also->channels) / 2;
        sum = *cell(p, op->in, r, c, h, w);
        if (c < before || c - before >= also->channels) return sum;
        return sum + *cell(p, op->also, r, c - before, h * op->stride, w * op->stride);
    }
    case MOT_OP_INPUT:
    case MOT_OP_GROUP_NORM:
    case MOT_OP_BATCH_NORM: break;
    }
    return NAN;
}

/* The sum of the losses. */
static double loss_plain(const struct lab *lab, const double *x, bool training)
{
    const struct mot_layer_plan *plan = lab->net.plan;
    struct plain p = { plan, x, lab->table.rows, training, mot_new(plan->ops, sizeof(double *)) };
    double loss = 0;
    EACH(n, plan->ops)
    {
        const struct mot_map *m = &plan->op[n].map;
        p.at[n] = mot_new(p.rows * mot_map_size(m), sizeof(double));
        if (n == 0)
            for (size_t i = 0; i < p.rows * mot_map_size(m); i++) p.at[0][i] = (double)lab->data[i];
        else if (plan->op[n].kind == MOT_OP_BATCH_NORM) norm_plain(&p, n);
        else if (plan->op[n].kind == MOT_OP_GROUP_NORM) group_norm_plain(&p, n);
        else EACH(r, p.rows)
        EACH(c, m->channels)
        EACH(h, m->height) EACH(w, m->width) * cell(&p, n, r, c, h, w) = one(&p, n, r, c, h, w);
    }
    const uint32_t classes = lab->net.shape.classes;
    EACH(r, p.rows)
    {
        const double *z = p.at[plan->ops - 1] + (size_t)r * lab->net.outputs;
        double most = -INFINITY, sum = 0, mean = 0, y = (double)lab->label[r];
        if (!classes) loss += (z[0] - y) * (z[0] - y) / 2;
        else {
            EACH(c, classes) most = fmax(most, z[c]);
            EACH(c, classes) sum += exp(z[c] - most), mean += z[c] / classes;
            loss += log(sum) + most - (1 - lab->smoothing) * z[(uint32_t)y] - lab->smoothing * mean;
        }
    }
    EACH(n, plan->ops) free(p.at[n]);
    free(p.at);
    return loss;
}

/* Central differences of some numbers of each tensor, in double. */
static void check_gradient(struct lab *lab, uint32_t rows, const char *what)
{
    fill(lab, rows);
    const struct mot_net *net = &lab->net;
    struct mot_batch batch = { .table = &lab->table, .rows = rows, .chance = CHANCE, .draw = DRAW };
    double *x = mot_new(net->dim, sizeof *x), worst = 0, scale = 0;
    for (uint32_t i = 0; i < net->dim; i++) x[i] = (double)lab->x[i];
    double loss = mot_net_grad(net, lab->x, &batch, 0.5f, true, lab->g, lab->scratch);
    CHECK_NEAR(loss, 0.5 * loss_plain(lab, x, true), 1e-5 * fabs(loss));
    uint32_t hits;
    double evaluated = net->kind->loss(net, lab->x, &batch, &hits, lab->scratch), smoothing = lab->smoothing;
    lab->smoothing = 0;
    CHECK_NEAR(evaluated, loss_plain(lab, x, false), 1e-5 * fabs(evaluated));
    lab->smoothing = smoothing;
    for (uint32_t i = 0; i < net->trained; i++) scale = fmax(scale, fabs((double)lab->g[i]));
    struct mot_rng rng = mot_rng_at(SEED, MOT_RNG_TEST, 1);
    for (uint32_t s = 0; s < net->segments; s++) {
        const struct mot_segment *at = &net->segment[s];
        if (at->rate > 0 || (net->segments > 90 && s % 5 != 0)) continue;
        for (int trial = 0; trial < (SANITIZED || net->segments > 20 ? 1 : 4); trial++) {
            uint32_t i = at->off + mot_rng_below(&rng, at->len);
            double keep = x[i], step = 1e-5, up, down;
            x[i] = keep + step, up = loss_plain(lab, x, true);
            x[i] = keep - step, down = loss_plain(lab, x, true);
            x[i] = keep;
            double off = fabs((double)lab->g[i] - 0.5 * (up - down) / (2 * step)) / scale;
            if (off > 2e-5) printf("%s: %s off by %g of the greatest\n", what, at->name, off);
            worst = fmax(worst, off);
        }
    }
    CHECK(worst <= 2e-5);
    free(x);
    close_lab(lab);
}

static const struct {
    const char *layers;
    struct mot_shape shape;
    uint32_t rows;
} nets[] = {
    { "[{name: linear, out: 7}, relu, {name: linear, out: classes, bias: false}]", { 9, 3, false, { 0 } },
        19 },
    { "[{name: conv, out: 5, kernel: 3, padding: 1}, relu, {name: max_pool, kernel: 2}, flatten, {name: "
      "linear, out: "
      "classes}]",
        { 36, 4, false, { 1, 6, 6 } }, 17 },
    { "[{name: conv, out: 6, kernel: 3, stride: 2, padding: 2}, relu, {name: conv, out: 9, kernel: 2, "
      "stride: 3, bias: "
      "false}, {name: mean_pool, kernel: 2, stride: 1, padding: 1}, flatten, {name: linear, out: classes}]",
        { 5 * 8 * 7, 3, false, { 5, 8, 7 } }, 16 },
    { "[{name: conv, out: 6, kernel: 3}, {name: batch_norm}, relu, {name: max_pool, kernel: 3, stride: 2, "
      "padding: "
      "1}, {name: conv, out: 4, kernel: 1}, mean_pool, flatten, {name: linear, out: classes}]",
        { 3 * 49, 3, false, { 3, 7, 7 } }, 21 },
    { "[{name: conv, out: 4, kernel: 3, padding: 1}, {name: residual, layers: [batch_norm, relu, {name: "
      "conv, out: 4, "
      "kernel: 3, padding: 1}]}, {name: residual, shortcut: conv, layers: [{name: conv, out: 6, kernel: 3, "
      "stride: 2, "
      "padding: 1}, {name: residual, layers: [relu, {name: conv, out: 6, kernel: 1}]}]}, {name: residual, "
      "shortcut: "
      "pad, layers: [{name: conv, out: 9, kernel: 3, stride: 2, padding: 1}, relu]}, flatten, {name: linear, "
      "out: "
      "classes}]",
        { 2 * 64, 3, false, { 2, 8, 8 } }, 12 },
    /* groups, depthwise, and groups that share blocks of four channels */
    { "[{name: conv, out: 8, kernel: 3, groups: 2, padding: 1}, relu, {name: conv, out: 8, kernel: 3, "
      "groups: 8, stride: 2, bias: false}, {name: conv, out: 6, kernel: 1, groups: 2}, flatten, {name: "
      "linear, out: classes}]",
        { 6 * 49, 3, false, { 6, 7, 7 } }, 18 },
    { "[{name: residual, layers: [{name: conv, out: 6, kernel: 3, groups: 3, padding: 1}, {name: group_norm, "
      "groups: 2}, relu, {name: conv, out: 6, kernel: 3, groups: 6, padding: 1}]}, flatten, {name: linear, "
      "out: classes}]",
        { 6 * 20, 3, false, { 6, 4, 5 } }, 35 },
    { "[{name: conv, out: 6, kernel: 3}, {name: residual, layers: [{name: group_norm, groups: 3}, {name: "
      "conv, out: 6, kernel: 1}, {name: group_norm, groups: 1, epsilon: 0.01}]}, relu, {name: group_norm, "
      "groups: 6}, mean_pool, flatten, {name: linear, out: classes}]",
        { 2 * 42, 3, false, { 2, 7, 6 } }, 21 },
    { "[{name: linear, out: 8}, {name: group_norm, groups: 2}, relu, dropout, {name: linear, out: classes}]",
        { 9, 3, false, { 0 } }, 17 },
    { "[{name: conv, out: 5, kernel: 3}, {name: dropout, rate: 0.2}, {name: max_pool, kernel: 2}, {name: "
      "dropout, rate: 0.3}, {name: residual, layers: [relu, dropout, {name: conv, out: 5, kernel: 1}]}, "
      "dropout, flatten, {name: linear, out: classes}]",
        { 3 * 64, 3, false, { 3, 8, 8 } }, 33 },
    { "[{name: dropout, rate: 0.3}, {name: max_pool, kernel: 2}, relu, dropout, flatten, {name: linear, out: "
      "classes}]",
        { 3 * 36, 4, false, { 3, 6, 6 } }, 20 },
    { "[{name: conv, out: 3, kernel: 3}, relu, flatten, {name: linear, out: 1}]",
        { 25, 0, false, { 1, 5, 5 } }, 33 },
};

TEST(gradients_are_those_of_a_forward_pass_in_double)
{
    for (size_t i = 0; i < MOT_COUNT(nets); i++) {
        struct lab lab;
        CHECK_INT(open_net(&lab, nets[i].layers, "0", nets[i].shape), MOT_OK);
        check_gradient(&lab, nets[i].rows, nets[i].layers);
    }
}

TEST(gradients_of_words_are_those_of_a_forward_pass_in_double)
{
    static const char *const layers[] = {
        "[{name: embedding, words: 11, out: 6}, mean_pool, flatten, {name: linear, out: classes}]",
        "[{name: embedding, words: 11, out: 5}, {name: conv, out: 7, kernel: 3, padding: 1}, relu, dropout, "
        "flatten, {name: linear, out: classes}]",
    };
    for (size_t i = 0; i < 2 * MOT_COUNT(layers); i++) {
        struct lab lab;
        words = 11;
        CHECK_INT(open_net(&lab, layers[i / 2], "0.1",
                      (struct mot_shape){ 12, 3, false,
                          i % 2 ? (struct mot_picture){ 1, 3, 4 } : (struct mot_picture){ 0 } }),
            MOT_OK);
        check_gradient(&lab, 19, layers[i / 2]);
        words = 0;
    }
}

TEST(columns_that_are_no_words_are_refused)
{
    static const struct {
        float column;
        const char *says;
    } wrong[] = { { 0.5f, "column 1 holds 0.5, expected the number of a word, 0 to 10; `data.scale" },
        { 11, "column 1 holds 11, expected" }, { -1, "column 1 holds -1" }, { NAN, "column 1 holds" },
        { 10, NULL } };
    for (size_t i = 0; i < MOT_COUNT(wrong); i++) {
        struct lab lab;
        float row[6] = { 0, 1, 2, 3, wrong[i].column, 5 }, label[2] = { 0, 1 }, out[4];
        struct mot_table t = { .rows = 2, .cols = 3, .classes = 2, .x = row, .y = label };
        CHECK_INT(
            open_net(&lab, "[{name: embedding, words: 11, out: 2}, flatten, {name: linear, out: classes}]",
                "0", (struct mot_shape){ 3, 2, false, { 0 } }),
            MOT_OK);
        CHECK_INT(lab.net.kind->check(&lab.net, &t), wrong[i].says ? MOT_EDATA : MOT_OK);
        if (wrong[i].says) CHECK_HAS(mot_error(), wrong[i].says);
        static const uint32_t file_row[] = { 70, 71, 72 };
        CHECK_INT(mot_net_check(&lab.net, &t, "words.csv", file_row, 1), wrong[i].says ? MOT_EDATA : MOT_OK);
        if (wrong[i].says)
            CHECK_HAS(mot_error(), "words.csv: row 72: model.layers: layer 1 (embedding): column 1");
        lab.x = mot_aligned(lab.net.dim * sizeof *lab.x), lab.scratch = mot_aligned(lab.net.scratch_bytes);
        mot_net_init(&lab.net, SEED, lab.x);
        /* a row of a stream, which nobody could check before, has no prediction; others have theirs */
        lab.net.kind->predict(
            &lab.net, lab.x, &(struct mot_batch){ .table = &t, .rows = 2 }, out, lab.scratch);
        CHECK(isfinite(out[0]) && isfinite(out[2]) == !wrong[i].says);
        close_lab(&lab);
    }
}

TEST(gradients_of_named_networks_are_those_of_a_forward_pass_in_double)
{
    static const struct {
        const char *name;
        struct mot_picture picture;
    } named[] = { { "lenet", { 1, 12, 12 } }, { "resnet8", { 3, 8, 8 } }, { "resnet20", { 3, 4, 4 } },
        { "vgg8", { 3, 8, 8 } } };
    for (size_t i = 0; i < MOT_COUNT(named); i++) {
        struct lab lab;
        const struct mot_picture *p = &named[i].picture;
        if (SANITIZED && i > 1) break;
        CHECK_INT(open_net(&lab, named[i].name, "0.1",
                      (struct mot_shape){ p->channels * p->height * p->width, 5, false, *p }),
            MOT_OK);
        check_gradient(&lab, 6, named[i].name);
    }
}

TEST(statistics_of_a_slice_are_its_mean_and_variance_times_its_rows)
{
    struct lab lab;
    CHECK_INT(open_net(&lab, "[batch_norm, flatten, {name: linear, out: classes}]", "0",
                  (struct mot_shape){ 12, 2, false, { 3, 2, 2 } }),
        MOT_OK);
    fill(&lab, 18);
    const struct mot_segment *mean = &lab.net.segment[lab.net.segments - 3], *variance = mean + 1;
    CHECK_TEXT(mean->name, "0.running_mean");
    CHECK_TEXT(variance->name, "0.running_var");
    CHECK_NEAR((double)mean->rate, 0.1, 1e-7);
    struct mot_batch batch = { .table = &lab.table, .rows = 18 };
    mot_net_grad(&lab.net, lab.x, &batch, 2, true, lab.g, lab.scratch);
    for (uint32_t c = 0; c < 3; c++) {
        double sum = 0, square = 0;
        for (uint32_t r = 0; r < 18; r++)
            for (uint32_t i = 0; i < 4; i++) {
                double v = (double)lab.data[r * 12 + c * 4 + i];
                sum += v, square += v * v;
            }
        double m = sum / 72, unbiased = (square - 72 * m * m) / 71;
        CHECK_NEAR((double)lab.g[mean->off + c], 2 * 18 * m, 1e-5);
        CHECK_NEAR((double)lab.g[variance->off + c], 2 * 18 * unbiased, 1e-4);
    }
    close_lab(&lab);
}

static void check_scratch(const char *layers)
{
    struct lab lab;
    CHECK_INT(open_net(&lab, layers, "0", (struct mot_shape){ 192, 5, false, { 3, 8, 8 } }), MOT_OK);
    fill(&lab, 21);
    struct mot_batch batch = { .table = &lab.table, .rows = 21 };
    float *again = mot_new(lab.net.dim, sizeof *again);
    memset(lab.scratch, 0, lab.net.scratch_bytes);
    mot_net_grad(&lab.net, lab.x, &batch, 1, true, lab.g, lab.scratch);
    memset(lab.scratch, 0x3f, lab.net.scratch_bytes);
    mot_net_grad(&lab.net, lab.x, &batch, 1, true, again, lab.scratch);
    CHECK(memcmp(lab.g, again, lab.net.dim * sizeof *again) == 0);
    free(again);
    close_lab(&lab);
}

TEST(a_gradient_does_not_depend_on_what_scratch_held)
{
    check_scratch("resnet8");
    check_scratch(
        "[{name: conv, out: 6, groups: 3, kernel: 3}, {name: group_norm, groups: 2}, relu, dropout, "
        "flatten, {name: linear, out: classes}]");
}

/* Two halves of a batch, each at its own place in the part, and the other way round. */
TEST(dropout_is_a_function_of_a_rows_place_in_its_part_and_of_nothing_else)
{
    struct lab lab;
    CHECK_INT(open_net(&lab, "[{name: linear, out: 40}, relu, dropout, {name: linear, out: classes}]", "0",
                  (struct mot_shape){ 9, 3, false, { 0 } }),
        MOT_OK);
    fill(&lab, 30);
    float *other = mot_new(lab.net.dim, sizeof *other);
    struct mot_batch all = { .table = &lab.table, .rows = 30, .chance = 5, .draw = 1000 }, part = all;
    const double whole = mot_net_grad(&lab.net, lab.x, &all, 1, true, lab.g, lab.scratch);
    part.first = 13, part.rows = 17, part.draw = 1013;
    double halves = mot_net_grad(&lab.net, lab.x, &part, 1, true, other, lab.scratch);
    part.first = 0, part.rows = 13, part.draw = 1000;
    halves += mot_net_grad(&lab.net, lab.x, &part, 1, false, other, lab.scratch);
    CHECK_NEAR(halves, whole, 1e-5 * whole);
    for (uint32_t i = 0; i < lab.net.dim; i++) CHECK_NEAR((double)other[i], (double)lab.g[i], 1e-4);
    for (int what = 0; what < 3; what++) { /* another place, another part, no dropout: another loss */
        struct mot_batch changed = all;
        if (what == 0) changed.draw++;
        if (what == 1) changed.chance += 2;
        if (what == 2) changed.chance = 0;
        CHECK(fabs(mot_net_grad(&lab.net, lab.x, &changed, 1, true, other, lab.scratch) - whole) > 1e-3);
    }
    free(other);
    close_lab(&lab);
}

TEST(dropout_drops_its_share_and_two_layers_drop_different_numbers)
{
    uint32_t gone = 0, both = 0, n = 1u << 18;
    for (uint32_t i = 0; i < n; i++) {
        bool one = mot_drop_draw(mot_hash3(9, i / 512, 1), i % 512) < (uint32_t)(0.25f * 0x1p24f);
        bool two = mot_drop_draw(mot_hash3(9, i / 512, 2), i % 512) < (uint32_t)(0.25f * 0x1p24f);
        gone += one, both += one && two;
    }
    CHECK_NEAR(gone / (double)n, 0.25, 5 * sqrt(0.25 * 0.75 / n));
    CHECK_NEAR(both / (double)n, 0.0625, 5 * sqrt(0.0625 * 0.9375 / n));
}

TEST(features_are_what_the_last_layer_sees)
{
    static const struct {
        const char *layers;
        uint32_t features;
    } cases[] = {
        { "[{name: conv, out: 5, kernel: 3}, relu, dropout, flatten, {name: linear, as: last, out: classes}]",
            5 * 16 },
        { "[flatten, {name: linear, out: 7}, relu, {name: linear, as: last, out: classes}]", 7 },
        { "[flatten, {name: linear, as: last, out: classes}]", 0 },
    };
    for (size_t i = 0; i < MOT_COUNT(cases); i++) {
        struct lab lab;
        CHECK_INT(
            open_net(&lab, cases[i].layers, "0", (struct mot_shape){ 72, 3, false, { 2, 6, 6 } }), MOT_OK);
        CHECK_INT(lab.net.features, cases[i].features);
        fill(&lab, 21);
        if (cases[i].features == 0) {
            close_lab(&lab);
            continue;
        }
        const uint32_t width = lab.net.features;
        float *seen = mot_new((size_t)21 * width, sizeof *seen), out[21 * 3];
        struct mot_batch batch = { .table = &lab.table, .rows = 21 };
        lab.net.kind->features(&lab.net, lab.x, &batch, seen, lab.scratch);
        lab.net.kind->predict(&lab.net, lab.x, &batch, out, lab.scratch);
        const struct mot_segment *w = &lab.net.segment[lab.net.segments - 2], *b = w + 1;
        CHECK_TEXT(w->name, "last.weight");
        for (uint32_t r = 0; r < 21; r++) { /* the last layer again, by hand: the same odds */
            double z[3];
            EACH(c, 3)
            {
                z[c] = (double)lab.x[b->off + c];
                EACH(f, width)
                z[c] += (double)lab.x[w->off + c * width + f] * (double)seen[(size_t)r * width + f];
            }
            CHECK_NEAR(log((double)out[3 * r + 1] / (double)out[3 * r]), z[1] - z[0], 1e-4);
            CHECK_NEAR(log((double)out[3 * r + 2] / (double)out[3 * r]), z[2] - z[0], 1e-4);
        }
        free(seen);
        close_lab(&lab);
    }
}

TEST(named_networks_have_the_tensors_and_sizes_of_the_papers)
{
    struct lab lab;
    CHECK_INT(open_net(&lab, "lenet", "0", (struct mot_shape){ 784, 10, false, { 1, 28, 28 } }), MOT_OK);
    CHECK_INT(lab.net.dim, 61706);
    CHECK_TEXT(lab.net.segment[0].name, "conv1.weight");
    close_lab(&lab);
    CHECK_INT(open_net(&lab, "resnet20", "0", (struct mot_shape){ 3072, 10, false, { 3, 32, 32 } }), MOT_OK);
    CHECK_INT(lab.net.segments, 97 + 1); /* and how many rows the statistics are of */
    CHECK_INT(lab.net.trained, 269722);  /* 0.27 million, table 6 of He et al. */
    CHECK_TEXT(lab.net.segment[3].name, "layer1.0.conv1.weight");
    CHECK_INT(lab.net.segment[3].rank, 4);
    close_lab(&lab);
    CHECK_INT(open_net(&lab, "resnet8", "0", (struct mot_shape){ 3072, 10, false, { 3, 32, 32 } }), MOT_OK);
    CHECK_INT(lab.net.trained, 75290);
    close_lab(&lab);
}

TEST(layers_are_named_by_their_place_or_as_the_list_says)
{
    struct lab lab;
    CHECK_INT(
        open_net(&lab,
            "[{name: conv, as: stem, out: 4, kernel: 3}, {name: residual, as: block, layers: [{name: conv, "
            "out: 4, kernel: 1, bias: false}]}, flatten, {name: linear, out: classes}]",
            "0", (struct mot_shape){ 72, 3, false, { 2, 6, 6 } }),
        MOT_OK);
    static const char *const name[] = { "stem.weight", "stem.bias", "block.0.weight", "3.weight", "3.bias" };
    CHECK_INT(lab.net.segments, MOT_COUNT(name));
    for (size_t i = 0; i < MOT_COUNT(name); i++) CHECK_TEXT(lab.net.segment[i].name, name[i]);
    close_lab(&lab);
}

TEST(a_batch_of_one_row_is_refused_where_batch_norm_sees_one_number_a_channel)
{
    static const struct {
        const char *layers, *place;
    } lists[] = {
        { "[batch_norm, flatten, {name: linear, out: classes}]", NULL },
        { "[flatten, {name: linear, out: 4}, batch_norm, {name: linear, out: classes}]",
            "layer 3 (batch_norm)" },
        { "[mean_pool, {name: residual, layers: [relu, batch_norm]}, {name: linear, out: classes}]",
            "layer 2.2 (batch_norm)" },
        { "[flatten, {name: linear, out: 4}, {name: group_norm, groups: 1}, {name: linear, out: classes}]",
            NULL },
    };
    for (size_t i = 0; i < MOT_COUNT(lists); i++) {
        struct lab lab;
        CHECK_INT(
            open_net(&lab, lists[i].layers, "0", (struct mot_shape){ 72, 3, false, { 2, 6, 6 } }), MOT_OK);
        CHECK_INT(mot_net_least(&lab.net), lists[i].place ? 2 : 1);
        CHECK_INT(mot_net_check_batch(&lab.net, 2), MOT_OK);
        CHECK_INT(mot_net_check_batch(&lab.net, 1), lists[i].place ? MOT_EUSAGE : MOT_OK);
        if (lists[i].place) CHECK_HAS(mot_error(), lists[i].place);
        close_lab(&lab);
    }
}

TEST(a_wrong_list_is_refused_by_a_message_that_names_the_layer)
{
    static const struct {
        const char *layers, *says;
    } wrong[] = {
        { "[{name: conv, out: 4, kernel: 9}]",
            "layer 1 (conv): its window is 9x9, but the picture that reaches it is 6x6" },
        { "[relu, {name: conv, out: 4}]", "layer 2 (conv): kernel is missing" },
        { "[relu, {name: conf, out: 4}]", "layer 2: there is no layer 'conf': did you mean 'conv'?" },
        { "[{name: conv, out: 4, kernal: 3}]",
            "layer 1 (conv): unknown key 'kernal': did you mean 'kernel'?" },
        { "[{name: conv, out: 4, kernel: x}]", "layer 1 (conv): kernel: expected a whole number" },
        { "[{name: conv, out: 4, kernel: 3, kernel: 3}]", "layer 1 (conv): kernel is given twice" },
        { "[flatten, relu, {name: conv, out: 4, kernel: 3}]", "layer 3 (conv): its window is 3x3" },
        { "[{name: linear, out: classes}]",
            "layer 1 (linear): its input is a picture of 2x6x6; put flatten" },
        { "[flatten, {name: linear, out: 4}]", "layer 2 (linear): gives 4x1x1 numbers" },
        { "[{name: residual, layers: [{name: conv, out: 4, kernel: 3}]}]",
            "layer 1 (residual): 2x6x6 goes in and 4x4x4" },
        { "[residual]", "layer 1 (residual): needs `layers`" },
        { "[{name: residual, layers: []}]", "a list of layers is empty" },
        { "[{name: max_pool, kernel: 2, padding: 2}]", "layer 1 (max_pool): padding 2 is more than half" },
        { "[]", "a list of layers is empty" },
        { "[relu", "expected , or ]" },
        { "[relu] x", "text after the end" },
        { "[{name: conv, out: 4", "a map is not closed" },
        { "[{name: residual, layers: [relu", "a list is not closed" },
        { "[{out: 4}]", "has no `name`" },
        { "[{name: conv, out: 4, kernel: 3, groups: 3}]",
            "layer 1 (conv): 2 channels come in and 4 go out, which cannot both be divided into 3 groups" },
        { "[{name: conv, out: 3, kernel: 3, groups: 2}]", "layer 1 (conv): 2 channels come in and 3 go out" },
        { "[relu, {name: group_norm, groups: 3}]",
            "layer 2 (group_norm): 2 channels cannot be divided into 3 groups" },
        { "[group_norm]", "layer 1 (group_norm): groups is missing" },
        { "[relu, {name: dropout, rate: 1}]", "layer 2 (dropout): rate: expected" },
        { "[{name: embedding, words: 9, out: 4}]",
            "layer 1 (embedding): the data has pictures of 2 channels" },
        { "[relu, {name: embedding, words: 9, out: 4}]", "layer 2 (embedding): must be the first layer" },
        { "[{name: mean_pool, padding: 1}]", "layer 1 (mean_pool): takes the whole picture" },
        { "[{name: conv, out: 1000000, kernel: 1, padding: 15}, {name: conv, out: 1048576, kernel: 1, "
          "groups: "
          "1000000}]",
            "cannot both be divided" },
        { "[{name: conv, out: 1048576, kernel: 1, padding: 15}, {name: conv, out: 1048576, kernel: 1, "
          "groups: "
          "1048576, padding: 15}]",
            "layer 2 (conv): gives 4.57e+09 numbers for each row" },
        { "[flatten, {name: linear, out: 1000000}, {name: linear, out: 1000000}]",
            "layer 3 (linear): the network has 1e+12" },
        /* a model file has each name once */
        { "[{name: conv, as: a, out: 4, kernel: 1}, relu, flatten, {name: linear, as: a, out: classes}]",
            "layer 4 (linear): its tensor would be named a.weight, as one of layer 1 is; name it otherwise "
            "with `as`" },
        { "[{name: conv, as: 2, out: 4, kernel: 1}, flatten, {name: linear, out: classes}]",
            "layer 3 (linear): its tensor would be named 2.weight, as one of layer 1 is" },
        { "[{name: conv, as: r.1, out: 2, kernel: 1}, {name: residual, as: r, layers: [relu, batch_norm]}]",
            "layer 2.2 (batch_norm): its tensor would be named r.1.weight, as one of layer 1 is" },
        { "[{name: conv, as: r.downsample.1, out: 2, kernel: 1}, {name: residual, as: r, shortcut: conv, "
          "layers: [{name: conv, out: 4, kernel: 1}]}]",
            "layer 2 (residual): its tensor would be named r.downsample.1.weight, as one of layer 1 is" },
        /* a layer of a residual has a number of its own */
        { "[relu, {name: residual, layers: [relu, {name: conv, out: 4}]}]",
            "layer 2.2 (conv): kernel is missing" },
        { "[relu, {name: residual, layers: [relu, {name: conv, out: 4, kernel: 9}]}, relu]",
            "layer 2.2 (conv): its window is 9x9" },
        { "[{name: residual, layers: [{name: residual, layers: [relu, conf]}]}]",
            "layer 1.1.2: there is no layer 'conf'" },
        { "[{name: residual, layers: [relu, relu]}, conf]", "layer 2: there is no layer 'conf'" },
    };
    for (size_t i = 0; i < MOT_COUNT(wrong); i++) {
        struct lab lab;
        CHECK_INT(open_net(&lab, wrong[i].layers, "0", (struct mot_shape){ 72, 3, false, { 2, 6, 6 } }),
            MOT_EUSAGE);
        CHECK(strstr(mot_error(), wrong[i].says) != NULL);
        if (!strstr(mot_error(), wrong[i].says)) printf("%s\n  says %s\n", wrong[i].layers, mot_error());
    }
}

TEST_MAIN()
