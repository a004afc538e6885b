/* Every model against a forward pass in double and its finite differences. */
#include "base/memory.h"
#include "base/options.h"
#include "base/rng.h"
#include "math/kernels.h"
#include "math/models.h"
#include "test.h"

#define SEED 7

/* ---- Set-up -------------------------------------------------------------------- */

static const struct mot_model *find(const char *name)
{
    for (size_t i = 0; mot_models[i]; i++)
        if (strcmp(mot_models[i]->name, name) == 0) return mot_models[i];
    return NULL;
}

struct lab {
    struct mot_arena arena;
    struct mot_net net;
    struct mot_table dense, sparse;
    float *x, *g;
    void *scratch;
    uint64_t *row_at;
    uint32_t *col;
    float *data, *val, *y;
};

/* Options are "key=value" separated by spaces. */
static enum mot_status set_options(
    const struct mot_model *m, void *conf, const char *options, struct mot_arena *arena)
{
    enum mot_status status = mot_options_preset(m->options, conf, arena);
    for (const char *at = options; *at && !status; at += strcspn(at, " "), at += strspn(at, " ")) {
        char key[32], value[64];
        if (sscanf(at, "%31[^=]=%63[^ ]", key, value) != 2)
            return mot_fail(MOT_EUSAGE, "test option '%s'", at);
        status = mot_option_set(mot_option_find(m->options, key), conf, value, arena);
    }
    return status;
}

static enum mot_status open_net(
    struct lab *lab, const char *model, const char *options, struct mot_shape shape)
{
    const struct mot_model *m = find(model);
    void *conf = mot_arena_new(&lab->arena, m->conf_bytes);
    enum mot_status status = set_options(m, conf, options, &lab->arena);
    struct mot_segment *before = lab->net.segment;
    if (status == MOT_OK) status = mot_net_open(m, conf, &shape, &lab->net);
    if (status == MOT_OK) free(before);
    return status;
}

/* The same rows, about half of them zeros, as a dense and as a sparse table. */
static void make_data(struct lab *lab, uint32_t rows, uint32_t cols, uint32_t classes)
{
    struct mot_rng rng = mot_rng_at(SEED, MOT_RNG_TEST, cols);
    size_t n = (size_t)rows * cols, entries = 0;
    lab->data = mot_new(n, sizeof *lab->data), lab->val = mot_new(n, sizeof *lab->val);
    lab->col = mot_new(n, sizeof *lab->col), lab->row_at = mot_new(rows + 1, sizeof *lab->row_at);
    lab->y = mot_new(rows, sizeof *lab->y);
    for (uint32_t r = 0; r < rows; r++) {
        for (uint32_t c = 0; c < cols; c++) {
            float v = mot_rng_below(&rng, 2) || r == 1 ? 0 : (float)mot_rng_normal(&rng); /* row 1 is empty */
            lab->data[(size_t)r * cols + c] = v;
            if (v != 0) lab->col[entries] = c, lab->val[entries++] = v;
        }
        lab->row_at[r + 1] = entries;
        lab->y[r] = classes ? (float)mot_rng_below(&rng, classes) : (float)mot_rng_normal(&rng);
    }
    lab->dense =
        (struct mot_table){ .rows = rows, .cols = cols, .classes = classes, .x = lab->data, .y = lab->y };
    lab->sparse = (struct mot_table){ .rows = rows,
        .cols = cols,
        .classes = classes,
        .row_at = lab->row_at,
        .col = lab->col,
        .val = lab->val,
        .y = lab->y };
}

static enum mot_status open_lab(struct lab *lab, const char *model, const char *options, uint32_t rows,
    uint32_t cols, uint32_t classes, bool sparse)
{
    memset(lab, 0, sizeof *lab);
    enum mot_status status =
        open_net(lab, model, options, (struct mot_shape){ cols, classes, sparse, { 0 } });
    if (status) return status;
    make_data(lab, rows, cols, classes);
    struct mot_rng rng = mot_rng_at(SEED, MOT_RNG_TEST, 99);
    lab->x = mot_aligned(lab->net.dim * sizeof *lab->x);
    lab->g = mot_aligned(lab->net.dim * sizeof *lab->g);
    lab->scratch = mot_aligned(lab->net.scratch_bytes);
    for (uint32_t i = 0; i < lab->net.dim; i++) lab->x[i] = (float)(0.4 * mot_rng_normal(&rng));
    return MOT_OK;
}

static void close_lab(struct lab *lab)
{
    free(lab->x), free(lab->g), free(lab->scratch), free(lab->data), free(lab->val), free(lab->col),
        free(lab->row_at);
    mot_net_close(&lab->net);
    free(lab->y);
    mot_arena_free(&lab->arena);
}

/* ---- The reference: a forward pass in double, from the segments alone ---------------- */

struct wish {
    double lambda, smoothing;
    bool nonconvex;
};

static double outputs_loss(const struct lab *lab, const double *z, uint32_t n, double label, double smoothing)
{
    if (strcmp(lab->net.kind->name, "logistic") == 0) {
        double t = label > 0.5 ? z[0] : -z[0];
        return t > 0 ? log1p(exp(-t)) : -t + log1p(exp(t));
    }
    if (strcmp(lab->net.kind->name, "least-squares") == 0) return (z[0] - label) * (z[0] - label) / 2;
    double most = z[0], sum = 0, mean = 0;
    for (uint32_t i = 1; i < n; i++) most = fmax(most, z[i]);
    for (uint32_t i = 0; i < n; i++) sum += exp(z[i] - most), mean += z[i] / n;
    return most + log(sum) - (1 - smoothing) * z[(int)label] - smoothing * mean;
}

static double row_loss(const struct lab *lab, const double *x, uint32_t r, double smoothing)
{
    const struct mot_net *net = &lab->net;
    double a[300] = { 0 }, b[300];
    for (uint32_t c = 0; c < net->shape.cols; c++) a[c] = (double)lab->data[(size_t)r * net->shape.cols + c];
    uint32_t out = 0;
    for (uint32_t s = 0; s < net->segments; s++) {
        const struct mot_segment *w = &net->segment[s];
        const struct mot_segment *bias = s + 1 < net->segments && w[1].rank == 1 ? w + 1 : NULL;
        out = w->shape[0];
        for (uint32_t o = 0; o < out; o++) {
            b[o] = bias ? x[bias->off + o] : 0;
            for (uint32_t i = 0; i < w->shape[1]; i++) b[o] += x[w->off + o * w->shape[1] + i] * a[i];
        }
        s += bias != NULL;
        bool last = s + 1 >= net->segments;
        for (uint32_t o = 0; o < out; o++) a[o] = last || b[o] > 0 ? b[o] : 0;
    }
    return outputs_loss(lab, a, out, (double)lab->y[r], smoothing);
}

static double reference(const struct lab *lab, const double *x, const uint32_t *row, uint32_t first,
    uint32_t rows, const struct wish *w)
{
    double sum = 0, penalty = 0;
    for (uint32_t i = 0; i < rows; i++) sum += row_loss(lab, x, row ? row[i] : first + i, w->smoothing);
    for (uint32_t s = 0; s < lab->net.segments; s++)
        for (uint32_t i = 0; i < lab->net.segment[s].len && lab->net.segment[s].rank == 2; i++) {
            double v = x[lab->net.segment[s].off + i];
            penalty += w->nonconvex ? v * v / (1 + v * v) : v * v / 2;
        }
    return sum + rows * w->lambda * penalty;
}

/* Compares loss and gradient of a batch; returns the worst error, relative to the gradient's norm. */
static double check_gradient(struct lab *lab, bool sparse, const uint32_t *row, uint32_t first, uint32_t rows,
    const struct wish *w, double *loss_off)
{
    const struct mot_net *net = &lab->net;
    const float coef = 0.5f;
    struct mot_batch batch = {
        .table = sparse ? &lab->sparse : &lab->dense, .row = row, .first = first, .rows = rows
    };
    for (uint32_t i = 0; i < net->dim; i++) lab->g[i] = 0.25f; /* what is there stays */
    double loss = net->kind->grad(net, lab->x, &batch, coef, lab->g, lab->scratch);
    double *x = mot_new(net->dim, sizeof *x), worst = 0, norm = 0;
    for (uint32_t i = 0; i < net->dim; i++) x[i] = (double)lab->x[i];
    *loss_off = fabs(loss - (double)coef * reference(lab, x, row, first, rows, w)) / (1 + fabs(loss));
    for (uint32_t i = 0; i < net->dim; i++) {
        const double h = 1e-6;
        double at = x[i];
        x[i] = at + h;
        double up = reference(lab, x, row, first, rows, w);
        x[i] = at - h;
        double slope = (double)coef * (up - reference(lab, x, row, first, rows, w)) / (2 * h);
        x[i] = at;
        norm += slope * slope;
        worst = fmax(worst, fabs((double)lab->g[i] - 0.25 - slope));
    }
    free(x);
    return worst / (1 + sqrt(norm));
}

static const char *const models[][3] = {
    /* model, options, classes */
    { "logistic", "", "2" },
    { "logistic", "bias=false reg=nonconvex lambda=0.1", "2" },
    { "logistic", "reg=l2 lambda=0.01", "2" },
    { "least-squares", "reg=nonconvex lambda=0.2", "0" },
    { "least-squares", "bias=false reg=l2 lambda=0.2", "0" },
    { "softmax", "", "3" },
    { "softmax", "reg=l2 lambda=0.05", "10" },
    { "softmax", "bias=false reg=nonconvex lambda=0.05", "2" },
    { "mlp", "hidden=[7]", "3" },
    { "mlp", "hidden=[9,5] label_smoothing=0.1 reg=l2 lambda=0.01", "4" },
    { "mlp", "hidden=[5,17,3] label_smoothing=0.3", "2" },
};

static struct wish wish_of(const char *options)
{
    struct wish w = { 0 };
    const char *at = strstr(options, "lambda=");
    if (at) w.lambda = strtod(at + 7, NULL);
    at = strstr(options, "label_smoothing=");
    if (at) w.smoothing = strtod(at + 16, NULL);
    w.nonconvex = strstr(options, "nonconvex") != NULL;
    return w;
}

TEST(every_gradient_agrees_with_finite_differences_dense_and_sparse)
{
    static const uint32_t sizes[] = { 1, 2, 15, 17, 128 };
    for (size_t m = 0; m < MOT_COUNT(models); m++)
        for (int sparse = 0; sparse < 2; sparse++) {
            struct lab lab;
            struct wish w = wish_of(models[m][1]);
            CHECK_INT(open_lab(&lab, models[m][0], models[m][1], 140, 19,
                          (uint32_t)strtoul(models[m][2], NULL, 10), sparse),
                0);
            uint32_t list[128];
            for (uint32_t i = 0; i < 128; i++) list[i] = i * 37 % 140;
            for (size_t s = 0; s < MOT_COUNT(sizes); s++) {
                double loss_off,
                    off = check_gradient(&lab, sparse, s % 2 ? list : NULL, 3, sizes[s], &w, &loss_off);
                if (!(off < 3e-6 && loss_off < 1e-6))
                    FAIL("%s %s, sparse %d, %u rows: gradient off by %g, loss by %g", models[m][0],
                        models[m][1], sparse, sizes[s], off, loss_off);
            }
            close_lab(&lab);
        }
}

TEST(wide_rows_with_tails_agree_too)
{
    struct lab lab;
    struct wish w = { 0 };
    double loss_off;
    CHECK_INT(open_lab(&lab, "mlp", "hidden=[6]", 40, 131, 3, false), MOT_OK);
    CHECK_NEAR(check_gradient(&lab, false, NULL, 0, 33, &w, &loss_off), 0, 3e-6);
    close_lab(&lab);
    CHECK_INT(open_lab(&lab, "logistic", "", 40, 259, 2, true), MOT_OK);
    /* fewer entries than columns */
    CHECK_NEAR(check_gradient(&lab, true, NULL, 0, 1, &w, &loss_off), 0, 1e-6);
    CHECK_NEAR(check_gradient(&lab, true, NULL, 0, 40, &w, &loss_off), 0, 1e-6);
    close_lab(&lab);
}

TEST(linear_gradients_are_as_good_as_float_can_be)
{
    struct lab lab;
    CHECK_INT(open_lab(&lab, "logistic", "bias=false", 128, 68, 2, true), MOT_OK);
    struct mot_batch batch = { .table = &lab.sparse, .rows = 128 };
    memset(lab.g, 0, lab.net.dim * sizeof *lab.g);
    lab.net.kind->grad(&lab.net, lab.x, &batch, 1, lab.g, lab.scratch);
    for (uint32_t c = 0; c < 68; c++) {
        double sum = 0;
        for (uint32_t r = 0; r < 128; r++) {
            double z = 0, s = lab.y[r] > 0.5f ? 1 : -1;
            for (uint32_t i = 0; i < 68; i++) z += (double)lab.data[r * 68 + i] * (double)lab.x[i];
            sum += -s / (1 + exp(s * z)) * (double)lab.data[r * 68 + c];
        }
        CHECK_NEAR((double)lab.g[c], sum, fabs(sum) * 6e-8 + 1e-14);
    }
    close_lab(&lab);
}

TEST(the_gradient_of_a_batch_is_the_sum_over_its_rows)
{
    for (size_t m = 0; m < MOT_COUNT(models); m++)
        for (int sparse = 0; sparse < 2; sparse++) {
            struct lab lab;
            CHECK_INT(open_lab(&lab, models[m][0], models[m][1], 50, 19,
                          (uint32_t)strtoul(models[m][2], NULL, 10), sparse),
                0);
            const struct mot_table *t = sparse ? &lab.sparse : &lab.dense;
            struct mot_batch all = { .table = t, .rows = 50 };
            float *sum = mot_new(lab.net.dim, sizeof *sum);
            memset(lab.g, 0, lab.net.dim * sizeof *lab.g);
            double loss = lab.net.kind->grad(&lab.net, lab.x, &all, 1, lab.g, lab.scratch), parts = 0;
            for (uint32_t r = 0; r < 50; r++) {
                struct mot_batch one = { .table = t, .first = r, .rows = 1 };
                parts += lab.net.kind->grad(&lab.net, lab.x, &one, 1, sum, lab.scratch);
            }
            for (uint32_t i = 0; i < lab.net.dim; i++)
                CHECK_NEAR((double)sum[i], (double)lab.g[i], 1e-5 * (1 + fabs((double)lab.g[i])));
            CHECK_NEAR(parts, loss, 1e-6 * (1 + loss));
            free(sum);
            close_lab(&lab);
        }
}

TEST(a_row_list_and_a_range_give_the_same_bits)
{
    for (size_t m = 0; m < MOT_COUNT(models); m++) {
        struct lab lab;
        CHECK_INT(open_lab(&lab, models[m][0], models[m][1], 140, 19,
                      (uint32_t)strtoul(models[m][2], NULL, 10), false),
            0);
        uint32_t list[77];
        for (uint32_t i = 0; i < 77; i++) list[i] = i + 11;
        size_t bytes = lab.net.dim * sizeof(float);
        float *again = mot_new(lab.net.dim, sizeof *again);
        memset(lab.g, 0, bytes);
        struct mot_batch range = { .table = &lab.dense, .first = 11, .rows = 77 },
                         rows = { .table = &lab.dense, .row = list, .rows = 77 };
        double a = lab.net.kind->grad(&lab.net, lab.x, &range, 1, lab.g, lab.scratch);
        memset(lab.scratch, 0xff, lab.net.scratch_bytes); /* what was in the scratch does not matter */
        double b = lab.net.kind->grad(&lab.net, lab.x, &rows, 1, again, lab.scratch);
        CHECK(a == b && memcmp(again, lab.g, bytes) == 0);
        free(again);
        close_lab(&lab);
    }
}

/* With a tiny coef, products round to -0, which 0 + -0 is not. */
TEST(the_first_slice_of_a_gradient_is_written_with_the_bits_of_adding_to_zeros)
{
    static const uint32_t sizes[] = { 0, 1, 2, 5, 8, 9, 17, 128 };
    for (size_t m = 0; m < 2 * MOT_COUNT(models); m++) {
        const char *const *model = models[m / 2];
        bool sparse = m % 2;
        struct lab lab;
        CHECK_INT(
            open_lab(&lab, model[0], model[1], 140, 19, (uint32_t)strtoul(model[2], NULL, 10), sparse), 0);
        size_t bytes = lab.net.dim * sizeof(float);
        float *zeros = mot_new(lab.net.dim, sizeof *zeros);
        for (size_t s = 0; s < MOT_COUNT(sizes); s++) {
            struct mot_batch batch = {
                .table = sparse ? &lab.sparse : &lab.dense, .first = 3, .rows = sizes[s]
            };
            float coef = sizes[s] % 2 ? 1e-45f : 0.7f;
            memset(zeros, 0, bytes);
            memset(lab.g, 0xff, bytes); /* NaN */
            double a = lab.net.kind->grad(&lab.net, lab.x, &batch, coef, zeros, lab.scratch);
            double b = mot_net_grad(&lab.net, lab.x, &batch, coef, true, lab.g, lab.scratch);
            CHECK(a == b && memcmp(zeros, lab.g, bytes) == 0);
        }
        free(zeros);
        close_lab(&lab);
    }
}

/* Loss and gradient of one batch, as one number. */
static uint64_t bits_of_batch(struct lab *lab, uint32_t rows, uint64_t hash)
{
    uint32_t list[128], hits = 0, word;
    for (uint32_t i = 0; i < rows; i++) list[i] = (i * 37 + rows) % 140;
    struct mot_batch batch = { .table = &lab->dense, .row = list, .rows = rows };
    for (uint32_t i = 0; i < lab->net.dim; i++) lab->g[i] = (float)i / 1024;
    double loss = lab->net.kind->grad(&lab->net, lab->x, &batch, 0.7f, lab->g, lab->scratch);
    loss += lab->net.kind->loss(&lab->net, lab->x, &batch, &hits, lab->scratch);
    uint64_t part;
    memcpy(&part, &loss, sizeof part);
    hash = mot_hash3(hash, part, hits);
    for (uint32_t i = 0; i < lab->net.dim; i++) {
        memcpy(&word, &lab->g[i], sizeof word);
        hash = mot_hash3(hash, i, word);
    }
    return hash;
}

/* Recorded before small batches had ways of their own: a faster way may not show. */
TEST(a_batch_of_any_size_gives_the_recorded_bits)
{
    static const uint32_t sizes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 16, 17, 24, 32, 33, 100, 128 };
    static const struct {
        const char *set, *model, *options;
        uint32_t cols, classes;
        uint64_t bits;
    } recorded[] = {
        { "generic", "softmax", "", 397, 10, 0xd8f71f1f662305b3 },
        { "generic", "softmax", "bias=false", 19, 3, 0x3f47fd7acf0934b8 },
        { "generic", "softmax", "", 784, 17, 0xfc24f6f12cf9946d },
        { "generic", "mlp", "hidden=[40,9]", 397, 10, 0x81cbd96877d7f2f4 },
        { "generic", "mlp", "hidden=[400,33]", 48, 12, 0x43e6a271285bc38a },
        { "generic", "mlp", "hidden=[5] label_smoothing=0.1 reg=l2 lambda=0.01", 21, 2, 0x14eaa0d40142fd03 },
        { "avx2", "softmax", "", 397, 10, 0x656b994115bec9f4 },
        { "avx2", "softmax", "bias=false", 19, 3, 0x9fe3a81ab61f3fc2 },
        { "avx2", "softmax", "", 784, 17, 0xf124185daf8c7925 },
        { "avx2", "mlp", "hidden=[40,9]", 397, 10, 0x347d541941e06155 },
        { "avx2", "mlp", "hidden=[400,33]", 48, 12, 0x0a3a320588e135b0 },
        { "avx2", "mlp", "hidden=[5] label_smoothing=0.1 reg=l2 lambda=0.01", 21, 2, 0x970622d40af45b9b },
    };
    const char *before = mot_kernels_name();
    for (size_t t = 0; t < MOT_COUNT(recorded); t++) {
        if (!mot_kernels_use(recorded[t].set)) continue;
        struct lab lab;
        CHECK_INT(open_lab(&lab, recorded[t].model, recorded[t].options, 140, recorded[t].cols,
                      recorded[t].classes, false),
            MOT_OK);
        uint64_t bits = 0;
        for (size_t s = 0; s < MOT_COUNT(sizes); s++) bits = bits_of_batch(&lab, sizes[s], bits);
        close_lab(&lab);
        mot_kernels_use(before);
        if (bits != recorded[t].bits)
            FAIL("%s %s %s, %u columns: 0x%016llx", recorded[t].set, recorded[t].model, recorded[t].options,
                recorded[t].cols, (unsigned long long)bits);
    }
}

TEST(loss_hits_and_predictions_agree_with_each_other)
{
    for (size_t m = 0; m < MOT_COUNT(models); m++) {
        struct lab lab;
        uint32_t classes = (uint32_t)strtoul(models[m][2], NULL, 10), hits = 0, expected = 0;
        CHECK_INT(open_lab(&lab, models[m][0], models[m][1], 100, 19, classes, true), 0);
        struct mot_batch batch = { .table = &lab.sparse, .first = 5, .rows = 91 };
        uint32_t n = lab.net.outputs;
        CHECK_INT(n, classes ? classes : 1);
        float *out = mot_new((size_t)91 * n, sizeof *out);
        lab.net.kind->predict(&lab.net, lab.x, &batch, out, lab.scratch);
        double loss = lab.net.kind->loss(&lab.net, lab.x, &batch, &hits, lab.scratch), sum = 0;
        for (uint32_t i = 0; i < 91; i++) {
            const float *p = out + (size_t)i * n;
            double y = (double)lab.y[5 + i], total = 0;
            uint32_t best = 0;
            if (!classes) {
                sum += ((double)p[0] - y) * ((double)p[0] - y) / 2;
                continue;
            }
            for (uint32_t c = 0; c < n; c++) {
                total += (double)p[c];
                if (p[c] > p[best]) best = c;
            }
            CHECK_NEAR(total, 1, 1e-6);
            sum -= log((double)p[(int)y]);
            expected += best == (uint32_t)y;
        }
        CHECK_NEAR(loss, sum, 1e-5 * (1 + loss));
        CHECK_INT(hits, expected);
        free(out);
        close_lab(&lab);
    }
}

TEST(the_penalty_is_what_the_gradient_counts)
{
    struct lab lab;
    uint32_t hits;
    CHECK_INT(open_lab(&lab, "logistic", "reg=nonconvex lambda=0.1", 100, 19, 2, false), 0);
    struct mot_batch batch = { .table = &lab.dense, .rows = 100 };
    double with = lab.net.kind->grad(&lab.net, lab.x, &batch, 1, lab.g, lab.scratch);
    double without = lab.net.kind->loss(&lab.net, lab.x, &batch, &hits, lab.scratch);
    CHECK_NEAR(with, without + 100 * lab.net.kind->penalty(&lab.net, lab.x), 1e-9);
    for (uint32_t i = 0; i < lab.net.dim; i++) lab.x[i] = 1;
    CHECK_NEAR(lab.net.kind->penalty(&lab.net, lab.x), 0.1 * 19 / 2, 1e-12); /* the bias is free */
    close_lab(&lab);
}

/* ---- Extremes ------------------------------------------------------------------- */

TEST(large_outputs_do_not_overflow)
{
    static const char *const names[] = { "logistic", "softmax", "mlp" };
    for (int m = 0; m < 3; m++) {
        struct lab lab;
        CHECK_INT(open_lab(&lab, names[m], m == 2 ? "hidden=[4]" : "", 60, 19, 2, false), 0);
        for (uint32_t i = 0; i < lab.net.dim; i++) lab.x[i] *= 1e4f;
        struct mot_batch batch = { .table = &lab.dense, .rows = 60 };
        double loss = lab.net.kind->grad(&lab.net, lab.x, &batch, 1, lab.g, lab.scratch);
        CHECK(isfinite(loss) && loss > 1e3);
        for (uint32_t i = 0; i < lab.net.dim; i++) CHECK(isfinite(lab.g[i]));
        close_lab(&lab);
    }
}

TEST(nan_in_the_parameters_becomes_nan_in_the_loss)
{
    for (size_t m = 0; m < MOT_COUNT(models); m++) {
        struct lab lab;
        uint32_t hits;
        CHECK_INT(open_lab(&lab, models[m][0], models[m][1], 20, 19,
                      (uint32_t)strtoul(models[m][2], NULL, 10), false),
            0);
        struct mot_batch batch = { .table = &lab.dense, .rows = 20 };
        lab.x[3] = NAN;
        CHECK(isnan(lab.net.kind->loss(&lab.net, lab.x, &batch, &hits, lab.scratch)));
        CHECK(isnan(lab.net.kind->grad(&lab.net, lab.x, &batch, 1, lab.g, lab.scratch)));
        close_lab(&lab);
    }
}

TEST(wide_sparse_data_does_not_need_wide_scratch)
{
    struct lab lab = { 0 };
    CHECK_INT(open_net(&lab, "mlp", "", (struct mot_shape){ 62061, 20, true, { 0 } }), MOT_OK);
    CHECK(lab.net.scratch_bytes < 1 << 20);
    CHECK_INT(lab.net.dim, 62061u * 128 + 128 + 128 * 64 + 64 + 64 * 20 + 20);
    close_lab(&lab);
}

/* ---- Shapes, names, refusals ------------------------------------------------------ */

TEST(segments_are_named_and_cover_the_parameters)
{
    struct lab lab = { 0 };
    CHECK_INT(open_net(&lab, "mlp", "hidden=[256,128]", (struct mot_shape){ 784, 10, false, { 0 } }), MOT_OK);
    CHECK_INT(lab.net.dim, 784 * 256 + 256 + 256 * 128 + 128 + 128 * 10 + 10);
    CHECK_INT(lab.net.segments, 6);
    CHECK_TEXT(lab.net.segment[0].name, "layer1.weight");
    CHECK_INT(lab.net.segment[0].shape[0], 256);
    CHECK_INT(lab.net.segment[0].shape[1], 784);
    CHECK_TEXT(lab.net.segment[5].name, "layer3.bias");
    CHECK_INT(lab.net.segment[5].rank, 1);
    uint32_t at = 0;
    for (uint32_t s = 0; s < lab.net.segments; s++) {
        CHECK_INT(lab.net.segment[s].off, at);
        at += lab.net.segment[s].len;
    }
    CHECK_INT(at, lab.net.dim);
    CHECK_INT(open_net(&lab, "softmax", "bias=no", (struct mot_shape){ 64, 10, false, { 0 } }), MOT_OK);
    CHECK_INT(lab.net.dim, 640);
    CHECK_TEXT(lab.net.segment[0].name, "weight");
    close_lab(&lab);
}

TEST(models_refuse_what_does_not_fit_and_say_what_would)
{
    static const struct {
        const char *model, *options;
        uint32_t classes;
        const char *says;
    } wrong[] = {
        { "logistic", "", 10, "logistic needs 2 classes, the data has 10; use softmax" },
        { "logistic", "", 0, "use least-squares" },
        { "least-squares", "", 10, "the data has 10 classes; use softmax" },
        { "least-squares", "", 2, "use logistic" },
        { "softmax", "", 0, "use least-squares" },
        { "mlp", "", 0, "use least-squares" },
        { "softmax", "", 1, "2 classes or more" },
        { "softmax", "reg=l2", 3, "lambda is 0" },
        { "logistic", "lambda=0.1", 2, "reg is none" },
        { "mlp", "hidden=[1000000,1000000]", 3, "parameters" },
    };
    for (size_t i = 0; i < MOT_COUNT(wrong); i++) {
        struct lab lab = { 0 };
        lab.net.dim = 12345;
        CHECK_INT(open_net(&lab, wrong[i].model, wrong[i].options,
                      (struct mot_shape){ 20, wrong[i].classes, false, { 0 } }),
            MOT_EUSAGE);
        CHECK_HAS(mot_error(), wrong[i].says);
        CHECK_INT(lab.net.dim, 12345); /* written only on success */
        close_lab(&lab);
    }
}

TEST(initial_values_follow_the_seed_and_the_law)
{
    struct lab lab = { 0 };
    CHECK_INT(open_net(&lab, "mlp", "hidden=[100]", (struct mot_shape){ 200, 10, false, { 0 } }), MOT_OK);
    float *a = mot_new(lab.net.dim, sizeof *a), *b = mot_new(lab.net.dim, sizeof *b);
    lab.net.kind->init(&lab.net, 1, a), lab.net.kind->init(&lab.net, 1, b);
    CHECK(memcmp(a, b, lab.net.dim * sizeof *a) == 0);
    lab.net.kind->init(&lab.net, 2, b);
    CHECK(memcmp(a, b, lab.net.dim * sizeof *a) != 0);
    double square = 0;
    for (uint32_t i = 0; i < 20000; i++) square += (double)a[i] * (double)a[i] / 20000;
    CHECK_NEAR(square, 2.0 / 200, 0.0005); /* He: 2 / inputs; 5 standard errors */
    for (uint32_t i = 20000; i < 20100; i++) CHECK(a[i] == 0);
    free(a), free(b);
    CHECK_INT(open_net(&lab, "logistic", "init=ones", (struct mot_shape){ 5, 2, false, { 0 } }), MOT_OK);
    float x[6];
    lab.net.kind->init(&lab.net, 1, x);
    for (int i = 0; i < 6; i++) CHECK(x[i] == 1);
    close_lab(&lab);
}

TEST(phantom_has_a_size_and_no_loss)
{
    struct lab lab = { 0 };
    CHECK_INT(
        open_net(&lab, "phantom", "parameters=25e6", (struct mot_shape){ 20, 0, false, { 0 } }), MOT_OK);
    CHECK_INT(lab.net.dim, 1024);
    CHECK_NEAR(lab.net.parameters, 25e6, 0);
    CHECK(!lab.net.kind->computes);
    CHECK(isnan(lab.net.kind->grad(&lab.net, NULL, NULL, 1, NULL, NULL)));
    CHECK_INT(open_net(&lab, "phantom", "parameters=10", (struct mot_shape){ 20, 0, false, { 0 } }), MOT_OK);
    CHECK_INT(lab.net.dim, 10);
    close_lab(&lab);
}

TEST_MAIN()
