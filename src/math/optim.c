/* optim.c -- SGD with momentum, AdamW, LARS: a rate, a scale, and one pass over the parameters. */
#include "math/optim.h"
#include "math/kernels.h"
#include <motley/method.h>
#include <string.h>

#define DELAY_FREE 4.0 /* how many updates old a gradient may be, without momentum, at the full rate */

#define LR(undelayed)                                                                                        \
    {                                                                                                        \
        .name = "lr", .type = MOT_OPT_REAL, .offset = offsetof(struct mot_optim_conf, lr), .preset = "auto", \
        .word = "auto", .max = 1e6, .also = "learning_rate",                                                 \
        .doc = "learning rate: how far a step goes along the mean gradient; auto: " undelayed                \
               ", less for methods with old gradients, and even less with momentum"                          \
    }
#define MOMENTUM(preset_text)                                                                                \
    {                                                                                                        \
        .name = "momentum", .type = MOT_OPT_REAL, .offset = offsetof(struct mot_optim_conf, momentum),       \
        .preset = preset_text, .max = 0.9999,                                                                \
        .doc = "the fraction of the previous step's direction that is kept"                                  \
    }
#define NESTEROV                                                                                             \
    {                                                                                                        \
        .name = "nesterov", .type = MOT_OPT_BOOL, .offset = offsetof(struct mot_optim_conf, nesterov),       \
        .preset = "false", .doc = "look ahead along the momentum; needs momentum above 0"                    \
    }
#define DECAY(preset_text, how)                                                                              \
    {                                                                                                        \
        .name = "weight_decay", .type = MOT_OPT_REAL,                                                        \
        .offset = offsetof(struct mot_optim_conf, weight_decay), .preset = preset_text, .max = 1e3,          \
        .doc = how                                                                                           \
    }
#define CLIP                                                                                                 \
    {                                                                                                        \
        .name = "clip", .type = MOT_OPT_REAL, .offset = offsetof(struct mot_optim_conf, clip),               \
        .preset = "none", .word = "none", .min = 1e-9, .max = 1e9,                                           \
        .doc = "scale longer gradients down to this norm before the step"                                    \
    }
#define END                                                                                                  \
    {                                                                                                        \
        .name = NULL                                                                                         \
    }

/* ---- The kinds ---------------------------------------------------------------- */

static const struct mot_option sgd_options[] = {
    LR("0.1"),
    MOMENTUM("0"),
    NESTEROV,
    DECAY("0", "adds this fraction of each parameter to its gradient"),
    CLIP,
    END,
};

static uint32_t sgd_slots(const struct mot_optim_conf *conf) { return conf->momentum > 0; }

static const struct mot_optimizer sgd = {
    .name = "sgd",
    .summary = "stochastic gradient descent, with momentum if asked",
    .options = sgd_options,
    .rate = 0.1,
    .slots = sgd_slots,
};

static const struct mot_option adamw_options[] = {
    LR("1e-3"),
    { .name = "beta1",
        .type = MOT_OPT_REAL,
        .offset = offsetof(struct mot_optim_conf, beta1),
        .preset = "0.9",
        .max = 0.999999,
        .doc = "decay of the mean of past gradients" },
    { .name = "beta2",
        .type = MOT_OPT_REAL,
        .offset = offsetof(struct mot_optim_conf, beta2),
        .preset = "0.999",
        .max = 0.999999,
        .doc = "decay of the mean of past squared gradients" },
    { .name = "epsilon",
        .type = MOT_OPT_REAL,
        .offset = offsetof(struct mot_optim_conf, epsilon),
        .preset = "1e-8",
        .min = 1e-30,
        .max = 1,
        .also = "eps",
        .doc = "added to the root mean square, to avoid division by 0" },
    DECAY("0.01",
        "shrinks each parameter by this fraction of the learning rate, apart from the gradient's step"),
    CLIP,
    END,
};

static uint32_t adamw_slots(const struct mot_optim_conf *conf)
{
    (void)conf;
    return 2;
}

static const struct mot_optimizer adamw = {
    .name = "adamw",
    .summary = "Adam with decoupled weight decay: one step size per parameter",
    .options = adamw_options,
    .rate = 1e-3,
    .slots = adamw_slots,
};

static const struct mot_option lars_options[] = {
    LR("1"),
    MOMENTUM("0.9"),
    DECAY("5e-5", "adds this fraction of each parameter to its gradient, except for biases"),
    { .name = "trust",
        .type = MOT_OPT_REAL,
        .offset = offsetof(struct mot_optim_conf, trust),
        .preset = "0.0025",
        .min = 1e-9,
        .max = 1,
        .also = "eta",
        .doc = "a layer's step is about this fraction of its weights' norm, times lr" },
    CLIP,
    END,
};

static const struct mot_optimizer lars = {
    .name = "lars",
    .summary = "SGD with a step scaled per layer, for very large batches",
    .options = lars_options,
    .rate = 1,
    .slots = sgd_slots,
};

const struct mot_optimizer *const mot_optimizers[] = { &sgd, &adamw, &lars, NULL };

/* If gradients are d updates old, d more steps go the same way before the effect of the first one shows, and
 * momentum makes each of them 1 / (1 - momentum) times as long: together they must not overshoot. */
double mot_optim_rate(const struct mot_optimizer *kind, const struct mot_optim_conf *conf, double delay)
{
    double most = DELAY_FREE * (1 - conf->momentum);
    return delay > most ? kind->rate * most / delay : kind->rate;
}

/* ---- Opening ---------------------------------------------------------------------- */

static enum mot_status check_schedule(const struct mot_schedule_conf *s)
{
    static const char *const names[] = { "constant", "step", "cosine", "polynomial" };
    bool needs_total = s->name == MOT_SCHEDULE_COSINE || s->name == MOT_SCHEDULE_POLYNOMIAL;
    if (needs_total && s->total == MOT_WORD_UINT)
        return mot_fail(MOT_EUSAGE,
            "the %s schedule needs to know how many updates the run makes: set stop.updates, or "
            "optimizer.schedule.total",
            names[s->name]);
    if (needs_total && s->total <= s->warmup)
        return mot_fail(MOT_EUSAGE, "the %s schedule's warm-up of %llu updates uses up its total of %llu",
            names[s->name], (unsigned long long)s->warmup, (unsigned long long)s->total);
    if (s->name == MOT_SCHEDULE_STEP && s->every == 0)
        return mot_fail(
            MOT_EUSAGE, "the step schedule drops every 0 updates; set optimizer.schedule.every to 1 or more");
    return MOT_OK;
}

enum mot_status mot_optim_open(const struct mot_optimizer *kind, const struct mot_optim_conf *conf,
    const struct mot_schedule_conf *schedule, const struct mot_net *net, struct mot_optim *out)
{
    enum mot_status status = mot_kernels_open();
    if (status == MOT_OK) status = check_schedule(schedule);
    if (status != MOT_OK) return status;
    if (conf->nesterov && !(conf->momentum > 0))
        return mot_fail(MOT_EUSAGE, "nesterov needs a momentum above 0; set optimizer.momentum, such as 0.9");
    *out = (struct mot_optim){
        .kind = kind, .conf = *conf, .schedule = *schedule, .net = net, .slots = kind->slots(conf)
    };
    return MOT_OK;
}

/* ---- Stepping ---------------------------------------------------------------------- */

struct step { /* what a step of any kind reads and writes */
    const struct mot_optim *optim;
    uint32_t off, len;
    uint64_t number;
    double lr, scale; /* scale: of the gradient, clipping included */
    const float *grad, *x;
    float *x_out;
    const float *slot[2];
    float *slot_out[2];
};

static bool run_sgd(const struct step *s, const struct mot_sgd *how, size_t off, size_t len)
{
    const struct mot_kernels *k = mot_kernels();
    if (!s->optim->slots) return k->sgd(len, how, s->grad + off, s->x + off, s->x_out + off);
    k->momentum(len, how, s->grad + off, s->x + off, s->x_out + off, s->slot[0] + off, s->slot_out[0] + off);
    return true;
}

static bool step_sgd(const struct step *s)
{
    const struct mot_optim_conf *conf = &s->optim->conf;
    return run_sgd(s,
        &(struct mot_sgd){
            (float)s->scale, (float)conf->weight_decay, (float)conf->momentum, (float)s->lr, conf->nesterov },
        s->off, s->len);
}

/* Loshchilov and Hutter, ICLR 2019, algorithm 2; beta^t by squaring, not by libm. */
static double one_less_power(double base, uint64_t n)
{
    double result = 1;
    for (; n && result > 0; n >>= 1, base *= base)
        if (n & 1) result *= base;
    return 1 - result;
}

static void step_adamw(const struct step *s)
{
    const struct mot_optim_conf *conf = &s->optim->conf;
    const struct mot_adamw how = {
        .grad = (float)s->scale,
        .beta1 = (float)conf->beta1,
        .new1 = (float)(1 - conf->beta1),
        .beta2 = (float)conf->beta2,
        .new2 = (float)(1 - conf->beta2),
        .decay = (float)(s->lr * conf->weight_decay),
        .rate = (float)(s->lr / one_less_power(conf->beta1, s->number + 1)),
        .root = (float)(1 / __builtin_sqrt(one_less_power(conf->beta2, s->number + 1))),
        .epsilon = (float)conf->epsilon,
    };
    uint32_t at = s->off;
    mot_kernels()->adamw(s->len, &how, s->grad + at, s->x + at, s->x_out + at, s->slot[0] + at,
        s->slot_out[0] + at, s->slot[1] + at, s->slot_out[1] + at);
}

/* You, Gitman and Ginsburg, arXiv 1708.03888: each layer's gradient is scaled to its weights.
 * Vectors (biases) take plain SGD without decay, and so does a layer of zeros, which could
 * never leave 0 otherwise. */
static void step_lars(const struct step *s)
{
    const struct mot_optim_conf *conf = &s->optim->conf;
    const struct mot_net *net = s->optim->net;
    for (uint32_t i = 0; i < net->segments; i++) {
        const struct mot_segment *at = &net->segment[i];
        uint32_t first = at->off > s->off ? at->off : s->off, end = at->off + at->len, last = s->off + s->len;
        if (last < end) end = last;
        if (first >= end) continue;
        double trust = 1, decay = 0;
        if (at->rank > 1) {
            double w = __builtin_sqrt(mot_kernels()->norm2(end - first, s->x + first));
            double g =
                __builtin_fabs(s->scale) * __builtin_sqrt(mot_kernels()->norm2(end - first, s->grad + first));
            decay = conf->weight_decay;
            if (w > 0) trust = conf->trust * w / (g + decay * w + 1e-9);
        }
        run_sgd(s,
            &(struct mot_sgd){ (float)(trust * s->scale), (float)(trust * decay), (float)conf->momentum,
                (float)s->lr, conf->nesterov },
            first, end - first);
    }
}

bool mot_statistics_step(const struct mot_net *net, uint32_t off, uint32_t len, const float *grad,
    double scale, const float *x, float *x_out)
{
    const struct mot_kernels *k = mot_kernels();
    uint32_t first = off > net->trained ? off : net->trained, last = off + len;
    if (first >= last) return true;
    MOT_ASSERT(last == net->dim && "the statistics' rows are in the same range");
    double rows = (double)grad[net->dim - 1];
    for (uint32_t i = net->segments; i-- > 0 && net->segment[i].rate > 0;) {
        const struct mot_segment *at = &net->segment[i];
        uint32_t from = at->off > first ? at->off : first, n = at->off + at->len - from;
        double rate = (double)at->rate * scale * rows;
        if (!(rate > 0)) rate = 0; /* nothing is known of any rows */
        if (rate > 1) rate = 1;
        const float weight[2] = { (float)(1 - rate), rate > 0 ? (float)(rate / rows) : 0 };
        const float *const in[2] = { x + from, grad + from };
        k->sum(n, rate > 0 ? 2 : 1, weight, in, x_out + from);
    }
    x_out[net->dim - 1] = x[net->dim - 1];
    return k->finite(last - first, x_out + first);
}

bool mot_optim_splits(const struct mot_optim *optim)
{
    return !(optim->conf.clip > 0) && optim->kind != &lars;
}

bool mot_optim_looks(const struct mot_optim *optim)
{
    return optim->kind == &sgd && optim->slots == 0 && !(optim->conf.clip > 0);
}

void mot_optim_step(const struct mot_optim *optim, uint64_t step, double lr_factor, const float *grad,
    double scale, const float *x, float *x_out, const float *const slot[2], float *const slot_out[2])
{
    mot_optim_step_range(optim, 0, optim->net->dim, step, lr_factor, grad, scale, x, x_out, slot, slot_out);
}

bool mot_optim_step_range(const struct mot_optim *optim, uint32_t off, uint32_t len, uint64_t step,
    double lr_factor, const float *grad, double scale, const float *x, float *x_out,
    const float *const slot[2], float *const slot_out[2])
{
    const struct mot_optim_conf *conf = &optim->conf;
    const struct mot_net *net = optim->net;
    bool finite = mot_statistics_step(net, off, len, grad, scale, x, x_out);
    if (off + len > net->trained) {
        uint32_t end = off + len, first = off > net->trained ? off : net->trained;
        for (uint32_t i = 0; i < optim->slots; i++)
            if (slot_out[i] != slot[i])
                memcpy(slot_out[i] + first, slot[i] + first, (end - first) * sizeof(float));
        len = first - off;
    }
    if (conf->clip > 0) { /* false for NaN: no clipping */
        double norm = __builtin_fabs(scale) * __builtin_sqrt(mot_kernels()->norm2(len, grad + off));
        if (norm > conf->clip) scale *= conf->clip / norm;
    }
    struct step s = {
        .optim = optim,
        .off = off,
        .len = len,
        .number = step,
        .lr = lr_factor * mot_schedule_rate(&optim->schedule, conf->lr, step),
        .scale = scale,
        .grad = grad,
        .x = x,
        .x_out = x_out,
    };
    for (uint32_t i = 0; i < optim->slots; i++) {
        s.slot[i] = slot[i];
        s.slot_out[i] = slot_out[i];
    }
    if (optim->kind == &sgd) return step_sgd(&s) && finite;
    if (optim->kind == &adamw) step_adamw(&s);
    else step_lars(&s);
    return true;
}
