/* models.c -- the table of models, and phantom, which has a size but no mathematics. */
#include "math/models.h"
#include "base/memory.h"
#include "math/kernels.h"
#include "math/linear.h"
#include "math/network.h"
#include <motley/method.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Phantom ---------------------------------------------------------------------- */

#define PHANTOM_STORED 1024 /* floats kept, whatever it stands for */
#define NONE __builtin_nan("")

struct phantom_conf {
    uint64_t parameters;
};

static const struct mot_option phantom_options[] = {
    { .name = "parameters",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct phantom_conf, parameters),
        .preset = "1e6",
        .min = 1,
        .max = 1e12,
        .doc = "how many parameters its messages stand for" },
    { .name = NULL },
};

static enum mot_status phantom_open(struct mot_net *net)
{
    const struct phantom_conf *conf = net->conf;
    uint64_t stored = conf->parameters < PHANTOM_STORED ? conf->parameters : PHANTOM_STORED;
    mot_net_add_segment(net, "phantom", 1, (uint32_t)stored, 0);
    net->parameters = (double)conf->parameters;
    net->outputs = net->shape.classes ? net->shape.classes : 1;
    net->scratch_bytes = 64;
    return MOT_OK;
}

static void phantom_init(const struct mot_net *net, uint64_t seed, float *x)
{
    (void)seed;
    memset(x, 0, net->dim * sizeof *x);
}

static double phantom_grad(const struct mot_net *net, const float *x, const struct mot_batch *batch,
    float coef, float *g, void *scratch)
{
    (void)net, (void)x, (void)batch, (void)coef, (void)g, (void)scratch;
    return NONE;
}

static double phantom_loss(
    const struct mot_net *net, const float *x, const struct mot_batch *batch, uint32_t *hits, void *scratch)
{
    (void)net, (void)x, (void)batch, (void)scratch;
    *hits = 0;
    return NONE;
}

static void phantom_predict(
    const struct mot_net *net, const float *x, const struct mot_batch *batch, float *out, void *scratch)
{
    (void)x, (void)scratch;
    for (size_t i = 0; i < (size_t)batch->rows * net->outputs; i++) out[i] = (float)NONE;
}

static const struct mot_model phantom = {
    .name = "phantom",
    .summary = "a size and a cost without mathematics, for studying time alone",
    .about = "Messages cost as much as for a model of that many parameters, and jobs take the time that the "
             "cluster says; nothing is computed and there is no loss. For large models and large clusters, "
             "if only time matters.",
    .options = phantom_options,
    .conf_bytes = sizeof(struct phantom_conf),
    .computes = false,
    .open = phantom_open,
    .init = phantom_init,
    .grad = phantom_grad,
    .loss = phantom_loss,
    .predict = phantom_predict,
};

/* ---- All of them --------------------------------------------------------------------- */

const struct mot_model *const mot_models[] = {
    &mot_model_logistic,
    &mot_model_least_squares,
    &mot_model_softmax,
    &mot_model_mlp,
    &mot_model_network,
    &mot_model_lenet,
    &mot_model_resnet8,
    &mot_model_resnet20,
    &mot_model_vgg8,
    &phantom,
    NULL,
};
#define BUILT_IN (sizeof(mot_models) / sizeof(mot_models[0]) - 1)

/* Set only while an experiment is read: a run itself holds the model it uses. */
static _Thread_local const struct mot_model *const *brought;

const struct mot_model *mot_model_at(size_t i)
{
    if (i < BUILT_IN) return mot_models[i];
    for (size_t k = 0; brought && brought[k]; k++)
        if (k == i - BUILT_IN) return brought[k];
    return NULL;
}

const struct mot_model *const *mot_models_extend(const struct mot_model *const *more)
{
    const struct mot_model *const *before = brought;
    brought = more;
    return before;
}

/* ---- Nets ---------------------------------------------------------------------------- */

static void add(struct mot_net *net, const char *name, uint32_t rank, const uint32_t *shape, float rate)
{
    MOT_ASSERT(rank >= 1 && rank <= MOT_RANK_MAX && strlen(name) < sizeof net->segment->name);
    if ((net->segments & (net->segments - 1)) == 0) /* full whenever it is a power of two */
        net->segment = mot_grow(net->segment, net->segments ? 2 * net->segments : 1, sizeof *net->segment);
    struct mot_segment *s = &net->segment[net->segments++];
    *s = (struct mot_segment){ .off = net->dim, .rank = rank, .rate = rate };
    snprintf(s->name, sizeof s->name, "%s", name);
    memcpy(s->shape, shape, rank * sizeof *shape);
    double len = 1;
    for (uint32_t d = 0; d < rank; d++) len *= shape[d];
    net->parameters += len; /* mot_net_open refuses what is too large to count */
    s->len = len <= INT32_MAX ? (uint32_t)len : 0;
    net->dim = net->parameters <= INT32_MAX ? net->dim + s->len : INT32_MAX;
    if (rate == 0) net->trained = net->dim;
}

void mot_net_add_tensor(struct mot_net *net, const char *name, uint32_t rank, const uint32_t *shape)
{
    MOT_ASSERT(net->trained == net->dim);
    add(net, name, rank, shape, 0);
}

void mot_net_add_segment(struct mot_net *net, const char *name, uint32_t rank, uint32_t rows, uint32_t cols)
{
    mot_net_add_tensor(net, name, rank, (uint32_t[]){ rows, cols });
}

void mot_net_add_statistic(struct mot_net *net, const char *name, uint32_t len, float rate)
{
    MOT_ASSERT(rate > 0 && rate <= 1);
    add(net, name, 1, &len, rate);
}

uint32_t mot_net_least(const struct mot_net *net) { return mot_network_single(net) ? 2 : 1; }

enum mot_status mot_net_check_batch(const struct mot_net *net, uint32_t rows)
{
    const char *place = mot_network_single(net);
    if (!place || rows != 1) return MOT_OK;
    return mot_fail(MOT_EUSAGE,
        "model.layers: layer %s (batch_norm): sees one number of each channel in a row, and a batch of 1 row "
        "has no variance; expected batches of 2 rows or more, or group_norm",
        place);
}

enum mot_status mot_net_check(const struct mot_net *net, const struct mot_table *t, const char *name,
    const uint32_t *file_row, uint32_t first)
{
    enum mot_status status = net->kind->check ? net->kind->check(net, t) : MOT_OK;
    for (uint32_t r = 0; status != MOT_OK && t->x && r < t->rows; r++) {
        struct mot_table one = *t;
        one.rows = 1, one.x = t->x + (size_t)r * t->cols;
        if (net->kind->check(net, &one) == MOT_OK) continue;
        char *why = mot_text(mot_error());
        status = mot_fail(status, "%s: row %u: %s", name, file_row ? file_row[first + r] : first + r, why);
        free(why);
        break;
    }
    return status;
}

void mot_net_init(const struct mot_net *net, uint64_t seed, float *x)
{
    net->kind->init(net, seed, x);
    if (net->trained < net->dim) x[net->dim - 1] = 1;
}

bool mot_net_counts(const struct mot_net *net, uint32_t segment)
{
    return net->trained < net->dim && segment == net->segments - 1;
}

void mot_net_close(struct mot_net *net)
{
    free(net->segment);
    free(net->plan);
    *net = (struct mot_net){ 0 };
}

enum mot_status mot_net_open(
    const struct mot_model *kind, const void *conf, const struct mot_shape *shape, struct mot_net *out)
{
    enum mot_status status = mot_kernels_open();
    if (status != MOT_OK) return status;
    if (shape->cols == 0 && kind->computes)
        return mot_fail(MOT_EUSAGE, "%s needs columns, but the data has none", kind->name);
    struct mot_net net = { .kind = kind, .conf = conf, .shape = *shape };
    status = kind->open(&net);
    if (status == MOT_OK && net.trained < net.dim) mot_net_add_statistic(&net, "statistics.rows", 1, 1);
    if (status == MOT_OK && kind->computes && net.parameters > INT32_MAX)
        status =
            mot_fail(MOT_EUSAGE, "%s would have %.3g parameters on %u columns; at most %.3g are possible",
                kind->name, net.parameters, shape->cols, (double)INT32_MAX);
    if (status == MOT_OK) status = mot_memory_status();
    if (status == MOT_OK) *out = net;
    else mot_net_close(&net);
    return status;
}

/* The float that counts the rows. */
static void count_rows(
    const struct mot_net *net, const struct mot_batch *batch, float coef, bool first, float *g)
{
    if (net->trained == net->dim) return;
    float *rows = &g[net->dim - 1], more = coef * (float)batch->rows;
    *rows = first ? more : *rows + more;
}

double mot_net_grad(const struct mot_net *net, const float *x, const struct mot_batch *batch, float coef,
    bool first, float *g, void *scratch)
{
    double loss;
    if (first && net->kind->grad_first) {
        loss = net->kind->grad_first(net, x, batch, coef, g, scratch);
    } else {
        if (first) memset(g, 0, net->dim * sizeof *g);
        loss = net->kind->grad(net, x, batch, coef, g, scratch);
    }
    count_rows(net, batch, coef, first, g);
    return loss;
}

/* Counts the rows before anything leaves: the count is the last float. */
struct counted {
    const struct mot_net *net;
    const struct mot_batch *batch;
    float coef, *g;
    bool first, done;
    const struct mot_leaving *leaving;
};

static void count_and_leave(void *counted, uint32_t off)
{
    struct counted *c = counted;
    if (!c->done) count_rows(c->net, c->batch, c->coef, c->first, c->g);
    c->done = true;
    c->leaving->from(c->leaving->self, off);
}

double mot_net_grad_early(const struct mot_net *net, const float *x, const struct mot_batch *batch,
    float coef, bool first, float *g, void *scratch, const struct mot_leaving *leaving)
{
    if (!net->kind->grad_early) return mot_net_grad(net, x, batch, coef, first, g, scratch);
    struct counted c = {
        .net = net, .batch = batch, .coef = coef, .g = g, .first = first, .leaving = leaving
    };
    double loss = net->kind->grad_early(
        net, x, batch, coef, first, g, scratch, &(struct mot_leaving){ .from = count_and_leave, .self = &c });
    if (!c.done) count_rows(net, batch, coef, first, g);
    return loss;
}
