/* Optimisers against textbook implementations in double, and schedules at exact points. */
#include "base/memory.h"
#include "base/options.h"
#include "base/rng.h"
#include "math/optim.h"
#include <motley/method.h>
#include "test.h"

#define N 37 /* a weight of 5 x 6 and a bias of 7 */

static struct mot_net net = {
    .dim = N,
    .trained = N,
    .segments = 2,
    .segment = (struct mot_segment[]){ { .name = "weight", .len = 30, .rank = 2, .shape = { 5, 6 } },
        { .name = "bias", .off = 30, .len = 7, .rank = 1, .shape = { 7 } } },
};
static const struct mot_schedule_conf constant = { .name = MOT_SCHEDULE_CONSTANT };

static const struct mot_optimizer *find(const char *name)
{
    for (size_t i = 0; mot_optimizers[i]; i++)
        if (strcmp(mot_optimizers[i]->name, name) == 0) return mot_optimizers[i];
    return NULL;
}

static struct mot_optim_conf presets(const char *name)
{
    struct mot_optim_conf conf = { 0 };
    struct mot_arena arena = { 0 };
    mot_options_preset(find(name)->options, &conf, &arena);
    mot_arena_free(&arena);
    conf.lr = mot_optim_rate(find(name), &conf, 0);
    return conf;
}

/* A gradient that depends on where one is, so that errors would build up. */
static void slope(const double *x, float *g)
{
    for (int i = 0; i < N; i++) g[i] = (float)(x[i] - 0.3 * i / N + 0.1 * x[(i + 1) % N]);
}

static double norm(const double *x, int from, int to)
{
    double sum = 0;
    for (int i = from; i < to; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

/* One textbook step on (x, m, v), number t from 0, gradient already scaled. */
typedef void (*textbook)(
    const struct mot_optim_conf *, double lr, int t, const double *g, double *x, double *m, double *v);

static void book_sgd(
    const struct mot_optim_conf *c, double lr, int t, const double *g, double *x, double *m, double *v)
{
    (void)v, (void)t;
    for (int i = 0; i < N; i++) {
        double d = g[i] + c->weight_decay * x[i];
        if (c->momentum > 0) {
            m[i] = c->momentum * m[i] + d;
            d = c->nesterov ? d + c->momentum * m[i] : m[i];
        }
        x[i] -= lr * d;
    }
}

static void book_adamw(
    const struct mot_optim_conf *c, double lr, int t, const double *g, double *x, double *m, double *v)
{
    for (int i = 0; i < N; i++) {
        x[i] *= 1 - lr * c->weight_decay;
        m[i] = c->beta1 * m[i] + (1 - c->beta1) * g[i];
        v[i] = c->beta2 * v[i] + (1 - c->beta2) * g[i] * g[i];
        double mean = m[i] / (1 - pow(c->beta1, t + 1)), square = v[i] / (1 - pow(c->beta2, t + 1));
        x[i] -= lr * mean / (sqrt(square) + c->epsilon);
    }
}

static void book_lars(
    const struct mot_optim_conf *c, double lr, int t, const double *g, double *x, double *m, double *v)
{
    (void)v, (void)t;
    for (uint32_t s = 0; s < net.segments; s++) {
        int from = (int)net.segment[s].off, to = from + (int)net.segment[s].len;
        bool matrix = net.segment[s].rank == 2;
        double w = norm(x, from, to), decay = matrix ? c->weight_decay : 0;
        double trust = matrix && w > 0 ? c->trust * w / (norm(g, from, to) + decay * w + 1e-9) : 1;
        for (int i = from; i < to; i++) {
            m[i] = c->momentum * m[i] + trust * (g[i] + decay * x[i]);
            x[i] -= lr * m[i];
        }
    }
}

/* Runs 50 steps both ways; returns the greatest difference. in_place: outs are ins. */
static double compare(
    const char *name, const struct mot_optim_conf *conf, textbook book, double scale, bool in_place)
{
    struct mot_optim optim;
    if (mot_optim_open(find(name), conf, &constant, &net, &optim)) return INFINITY;
    struct mot_rng rng = mot_rng_at(3, MOT_RNG_TEST, 0);
    float x[2][N] = { 0 }, m[2][N] = { 0 }, v[2][N] = { 0 }, g[N];
    double bx[N], bm[N] = { 0 }, bv[N] = { 0 }, bg[N], worst = 0;
    for (int i = 0; i < N; i++) bx[i] = (double)(x[0][i] = (float)mot_rng_normal(&rng));
    for (int t = 0; t < 50; t++) {
        int from = in_place ? 0 : t % 2, to = in_place ? 0 : 1 - from;
        double at[N], factor = t % 3 ? 1 : 0.5, clipped = scale;
        for (int i = 0; i < N; i++) at[i] = (double)x[from][i];
        slope(at, g);
        mot_optim_step(&optim, (uint64_t)t, factor, g, scale, x[from], x[to],
            (const float *const[]){ m[from], v[from] }, (float *const[]){ m[to], v[to] });
        slope(bx, g);
        for (int i = 0; i < N; i++) bg[i] = (double)g[i];
        double length = fabs(scale) * norm(bg, 0, N);
        if (conf->clip > 0 && length > conf->clip) clipped *= conf->clip / length;
        for (int i = 0; i < N; i++) bg[i] *= clipped;
        book(conf, conf->lr * factor, t, bg, bx, bm, bv);
        for (int i = 0; i < N; i++) worst = fmax(worst, fabs((double)x[to][i] - bx[i]));
    }
    return worst;
}

TEST(sgd_follows_the_textbook)
{
    struct mot_optim_conf c = presets("sgd");
    CHECK_NEAR(c.lr, 0.1, 0);
    CHECK(isnan(c.clip) && c.momentum == 0);
    CHECK_NEAR(compare("sgd", &c, book_sgd, 0.5, true), 0, 2e-6);
    CHECK_NEAR(compare("sgd", &c, book_sgd, 0.5, false), 0, 2e-6);
    c.weight_decay = 0.02;
    CHECK_NEAR(compare("sgd", &c, book_sgd, 0.5, true), 0, 2e-6);
    c.momentum = 0.9;
    CHECK_NEAR(compare("sgd", &c, book_sgd, 0.5, true), 0, 5e-6);
    CHECK_NEAR(compare("sgd", &c, book_sgd, 0.5, false), 0, 5e-6);
    c.nesterov = true;
    CHECK_NEAR(compare("sgd", &c, book_sgd, 0.5, false), 0, 5e-6);
}

TEST(clipping_shortens_the_gradient_to_the_norm_and_no_more)
{
    struct mot_optim_conf c = presets("sgd");
    c.clip = 0.5;
    CHECK_NEAR(compare("sgd", &c, book_sgd, 0.5, true), 0, 2e-6);
    struct mot_optim optim;
    CHECK_INT(mot_optim_open(find("sgd"), &c, &constant, &net, &optim), MOT_OK);
    float x[N] = { 0 }, g[N] = { 0 };
    g[0] = 3, g[31] = 4; /* norm 5, times scale 10 */
    mot_optim_step(&optim, 0, 1, g, 10, x, x, NULL, NULL);
    CHECK_NEAR((double)x[0], -0.1 * 0.3, 1e-8);
    CHECK_NEAR((double)x[31], -0.1 * 0.4, 1e-8);
    memset(x, 0, sizeof x);
    mot_optim_step(&optim, 0, 1, g, 0.01, x, x, NULL, NULL); /* norm 0.05: stays */
    CHECK_NEAR((double)x[0], -0.1 * 0.03, 1e-9);
}

TEST(adamw_follows_the_textbook)
{
    struct mot_optim_conf c = presets("adamw");
    CHECK_NEAR(c.lr, 1e-3, 0);
    CHECK_NEAR(c.beta2, 0.999, 0);
    CHECK_NEAR(compare("adamw", &c, book_adamw, 0.5, true), 0, 1e-6);
    c.lr = 0.05, c.weight_decay = 0.1;
    CHECK_NEAR(compare("adamw", &c, book_adamw, 2, false), 0, 2e-5);
}

TEST(adamw_moves_by_the_rate_at_first_whatever_the_gradient)
{
    struct mot_optim_conf c = presets("adamw");
    struct mot_optim optim;
    CHECK_INT(mot_optim_open(find("adamw"), &c, &constant, &net, &optim), MOT_OK);
    CHECK_INT(optim.slots, 2);
    float x[N] = { 0 }, g[N], m[N] = { 0 }, v[N] = { 0 };
    for (int i = 0; i < N; i++) g[i] = (i % 2 ? 1.0f : -1.0f) * (float)(i + 1) * 100;
    mot_optim_step(&optim, 0, 1, g, 1, x, x, (const float *const[]){ m, v }, (float *const[]){ m, v });
    for (int i = 0; i < N; i++) CHECK_NEAR((double)x[i], i % 2 ? -1e-3 : 1e-3, 1e-9);
}

TEST(lars_follows_the_textbook)
{
    struct mot_optim_conf c = presets("lars");
    CHECK_NEAR(c.trust, 0.0025, 0);
    CHECK_NEAR(compare("lars", &c, book_lars, 0.5, true), 0, 1e-5);
    c.lr = 0.1, c.weight_decay = 0.01, c.momentum = 0;
    CHECK_NEAR(compare("lars", &c, book_lars, 0.5, false), 0, 1e-5);
}

TEST(lars_steps_a_fraction_of_the_weights_norm_and_leaves_biases_to_sgd)
{
    struct mot_optim_conf c = presets("lars");
    c.momentum = 0, c.weight_decay = 0, c.lr = 1;
    struct mot_optim optim;
    CHECK_INT(mot_optim_open(find("lars"), &c, &constant, &net, &optim), MOT_OK);
    CHECK_INT(optim.slots, 0);
    float x[N], y[N], g[N];
    for (int i = 0; i < N; i++) x[i] = 2, g[i] = 1000;
    mot_optim_step(&optim, 0, 1, g, 1, x, y, NULL, NULL);
    CHECK_NEAR((double)y[0], 2 - 0.0025 * 2, 1e-6);
    CHECK_NEAR((double)y[30], 2 - 1000, 1e-3);
    memset(x, 0, sizeof x); /* zeros are left, not kept for ever */
    mot_optim_step(&optim, 0, 1, g, 1, x, y, NULL, NULL);
    CHECK_NEAR((double)y[0], -1000, 1e-3);
}

/* ---- Schedules -------------------------------------------------------------------- */

TEST(schedules_are_exact_at_their_corners)
{
    struct mot_schedule_conf s = { .name = MOT_SCHEDULE_CONSTANT, .warmup = 4 };
    CHECK_NEAR(mot_schedule_rate(&s, 0.8, 0), 0.2, 1e-15);
    CHECK_NEAR(mot_schedule_rate(&s, 0.8, 2), 0.6, 1e-15);
    CHECK_NEAR(mot_schedule_rate(&s, 0.8, 3), 0.8, 0);
    CHECK_NEAR(mot_schedule_rate(&s, 0.8, 1000000), 0.8, 0);

    s = (struct mot_schedule_conf){ .name = MOT_SCHEDULE_STEP, .every = 10, .factor = 0.5 };
    CHECK_NEAR(mot_schedule_rate(&s, 1, 9), 1, 0);
    CHECK_NEAR(mot_schedule_rate(&s, 1, 10), 0.5, 0);
    CHECK_NEAR(mot_schedule_rate(&s, 1, 39), 0.125, 0);
    CHECK_NEAR(mot_schedule_rate(&s, 1, 1000000), 0, 1e-300);

    s = (struct mot_schedule_conf){ .name = MOT_SCHEDULE_COSINE, .total = 100 };
    CHECK_NEAR(mot_schedule_rate(&s, 2, 0), 2, 0);
    CHECK_NEAR(mot_schedule_rate(&s, 2, 50), 1, 0);
    CHECK_NEAR(mot_schedule_rate(&s, 2, 100), 0, 0);
    CHECK_NEAR(mot_schedule_rate(&s, 2, 5000), 0, 0);
    for (uint64_t i = 0; i <= 100; i++)
        CHECK_NEAR(mot_schedule_rate(&s, 2, i), 1 + cos(3.14159265358979323846 * (double)i / 100), 1e-14);
    s.warmup = 20, s.end = 0.1;
    CHECK_NEAR(mot_schedule_rate(&s, 1, 19), 1, 0);
    CHECK_NEAR(mot_schedule_rate(&s, 1, 20), 1, 0);
    CHECK_NEAR(mot_schedule_rate(&s, 1, 60), 0.55, 1e-15);
    CHECK_NEAR(mot_schedule_rate(&s, 1, 100), 0.1, 0);

    s = (struct mot_schedule_conf){ .name = MOT_SCHEDULE_POLYNOMIAL, .total = 100, .power = 2.2, .end = 0 };
    CHECK_NEAR(mot_schedule_rate(&s, 1, 0), 1, 0);
    CHECK_NEAR(mot_schedule_rate(&s, 1, 25), pow(0.75, 2.2), 1e-15);
    CHECK_NEAR(mot_schedule_rate(&s, 1, 99), pow(0.01, 2.2), 1e-18);
    CHECK_NEAR(mot_schedule_rate(&s, 1, 100), 0, 0);
    s.power = 1, s.end = 0.5;
    CHECK_NEAR(mot_schedule_rate(&s, 1, 50), 0.75, 1e-15);
}

TEST(opening_refuses_what_cannot_work_and_says_how_it_would)
{
    struct mot_optim_conf c = presets("sgd");
    struct mot_optim optim;
    struct mot_schedule_conf s = { .name = MOT_SCHEDULE_COSINE, .total = MOT_WORD_UINT };
    CHECK_INT(mot_optim_open(find("sgd"), &c, &s, &net, &optim), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "stop.updates");
    CHECK_HAS(mot_error(), "schedule.total");
    s.total = 100, s.warmup = 100;
    CHECK_INT(mot_optim_open(find("sgd"), &c, &s, &net, &optim), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "warm-up of 100 updates");
    s.warmup = 99;
    CHECK_INT(mot_optim_open(find("sgd"), &c, &s, &net, &optim), MOT_OK);
    c.nesterov = true;
    CHECK_INT(mot_optim_open(find("sgd"), &c, &constant, &net, &optim), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "momentum above 0");
}

TEST(option_tables_have_valid_presets_and_the_synonym)
{
    struct mot_schedule_conf s = { 0 };
    struct mot_arena arena = { 0 };
    CHECK_INT(mot_options_preset(mot_schedule_options, &s, &arena), MOT_OK);
    CHECK(s.name == MOT_SCHEDULE_CONSTANT && s.total == MOT_WORD_UINT && s.every == 1000);
    for (size_t i = 0; mot_optimizers[i]; i++) {
        struct mot_optim_conf c = { 0 };
        CHECK_INT(mot_options_preset(mot_optimizers[i]->options, &c, &arena), MOT_OK);
        CHECK(mot_option_find(mot_optimizers[i]->options, "learning_rate") ==
            mot_option_find(mot_optimizers[i]->options, "lr"));
        CHECK(isnan(c.lr) && isnan(c.clip)); /* auto, which the experiment resolves */
        CHECK(mot_optim_rate(mot_optimizers[i], &c, 0) == mot_optimizers[i]->rate);
    }
    CHECK_TEXT(mot_optimizers[0]->name, "sgd");
    mot_arena_free(&arena);
}

TEST(the_rate_that_suits_falls_with_the_delay_and_the_sooner_with_momentum)
{
    const struct mot_optimizer *sgd = find("sgd");
    struct mot_optim_conf plain = presets("sgd"), heavy = plain;
    heavy.momentum = 0.9;
    CHECK_NEAR(mot_optim_rate(sgd, &plain, 3), 0.1, 0); /* a few updates late is no matter */
    CHECK_NEAR(mot_optim_rate(sgd, &plain, 4), 0.1, 0);
    CHECK_NEAR(mot_optim_rate(sgd, &plain, 8), 0.05, 1e-12);
    CHECK_NEAR(mot_optim_rate(sgd, &plain, 40), 0.01, 1e-12);
    CHECK_NEAR(mot_optim_rate(sgd, &heavy, 0), 0.1, 0); /* what is not late needs no care */
    CHECK_NEAR(mot_optim_rate(sgd, &heavy, 4), 0.01, 1e-12);
    CHECK_NEAR(mot_optim_rate(find("adamw"), &plain, 8), 5e-4, 1e-12);
}

/* Whole steps and steps of three ranges, with what lies outside of a range poisoned. */
static void ranges_make_the_whole(const char *name, double momentum)
{
    static const uint32_t cut[] = { 0, 5, 32, N };
    struct mot_optim_conf c = presets(name);
    struct mot_optim optim;
    c.momentum = momentum;
    CHECK_INT(mot_optim_open(find(name), &c, &constant, &net, &optim), MOT_OK);
    CHECK(mot_optim_splits(&optim));
    float x[N], g[N], m[N] = { 0 }, v[N] = { 0 };
    for (int i = 0; i < N; i++) x[i] = 0.1f * (float)i - 1, g[i] = 0.3f - 0.02f * (float)i;
    for (int part = 0; part < 3; part++) {
        float px[N], pm[N], pv[N], wx[N], wm[N], wv[N];
        for (int i = 0; i < N; i++) px[i] = pm[i] = pv[i] = NAN;
        mot_optim_step(&optim, 4, 1, g, 0.5, x, wx, (const float *[]){ m, v }, (float *[]){ wm, wv });
        mot_optim_step_range(&optim, cut[part], cut[part + 1] - cut[part], 4, 1, g, 0.5, x, px,
            (const float *[]){ m, v }, (float *[]){ pm, pv });
        for (uint32_t i = 0; i < N; i++) {
            bool inside = i >= cut[part] && i < cut[part + 1];
            CHECK(inside ? memcmp(&px[i], &wx[i], sizeof px[i]) == 0 : isnan(px[i]));
            if (optim.slots > 0) CHECK(inside ? memcmp(&pm[i], &wm[i], sizeof pm[i]) == 0 : isnan(pm[i]));
        }
    }
}

TEST(steps_of_ranges_make_the_step_of_the_whole_and_touch_nothing_else)
{
    ranges_make_the_whole("sgd", 0);
    ranges_make_the_whole("sgd", 0.9);
    ranges_make_the_whole("adamw", 0);
}

TEST(what_looks_at_norms_does_not_split)
{
    struct mot_optim_conf c = presets("lars"), clipped = presets("sgd");
    struct mot_optim optim;
    CHECK_INT(mot_optim_open(find("lars"), &c, &constant, &net, &optim), MOT_OK);
    CHECK(!mot_optim_splits(&optim));
    clipped.clip = 1;
    CHECK_INT(mot_optim_open(find("sgd"), &clipped, &constant, &net, &optim), MOT_OK);
    CHECK(!mot_optim_splits(&optim));
}

TEST_MAIN()
