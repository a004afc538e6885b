/* The library's interface: opening, simulating, inspecting and closing runs, and what it refuses. */
#include <motley/motley.h>
#include <motley/random.h>
#include "test.h"
#include <ftw.h>
#include <jansson.h>
#include <unistd.h>

TEST(a_run_is_opened_simulated_and_looked_at)
{
    const char *set[] = { "model=softmax", "workers=3", "stop.updates=30" };
    struct mot_run_options o = { .size = sizeof(o), .set = set, .sets = 3 };
    struct mot_run *run = NULL;
    size_t n;
    CHECK_INT(mot_run_open(&o, &run), MOT_OK);
    CHECK_TEXT(mot_run_summary(run), "");
    CHECK(isnan(mot_run_number(run, "updates")));
    CHECK_INT(mot_run_simulate(run), MOT_OK);
    CHECK_INT(mot_run_number(run, "updates"), 30);
    CHECK(mot_run_number(run, "time_s") > 0.9);
    CHECK(isnan(mot_run_number(run, "no_such_key")));
    CHECK_HAS(mot_run_summary(run), "\"method\": \"allreduce\"");
    CHECK(mot_run_model(run, &n) != NULL);
    CHECK(n > 0 && mot_run_model(run, NULL) == mot_run_model(run, &n));
    CHECK_INT(n, 650); /* 64 pixels and a bias, for 10 classes */
    CHECK_INT(mot_run_simulate(run), MOT_EUSAGE);
    mot_run_close(run);
    mot_run_close(NULL);
}

TEST(a_size_that_fits_no_version_is_refused)
{
    struct mot_run_options o = { .size = 8 };
    struct mot_run *run = NULL;
    CHECK_INT(mot_run_open(&o, &run), MOT_EUSAGE);
    o.size = sizeof(o) + 8;
    CHECK_INT(mot_run_open(&o, &run), MOT_EUSAGE);
    CHECK(run == NULL);
}

TEST(wrong_settings_are_named)
{
    const char *set[] = { "modle=softmax" };
    struct mot_run_options o = { .size = sizeof(o), .set = set, .sets = 1 };
    struct mot_run *run = NULL;
    CHECK_INT(mot_run_open(&o, &run), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "modle");
    CHECK_HAS(mot_error(), "model");
    set[0] = "model";
    CHECK_INT(mot_run_open(&o, &run), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "key=value");
}

TEST(a_run_that_diverges_says_so_by_its_status)
{
    const char *set[] = { "data=synthetic", "data.kind=regression", "model=least-squares",
        "optimizer.lr=1000", "stop.updates=500" };
    struct mot_run_options o = { .size = sizeof(o), .set = set, .sets = 5 };
    struct mot_run *run = NULL;
    CHECK_INT(mot_run_open(&o, &run), MOT_OK);
    CHECK_INT(mot_run_simulate(run), MOT_EDIVERGED);
    CHECK_TEXT(mot_error(), "the run diverged");
    mot_run_close(run);
}

/* ---- A model that the caller brings: the mean of what is to be predicted, by gradient descent ---- */

static enum mot_status mean_open(struct mot_net *net)
{
    if (net->shape.classes) return mot_fail(MOT_EUSAGE, "mean: the data has classes; expected values");
    mot_net_add_segment(net, "mean", 1, 1, 0);
    net->parameters = net->outputs = 1;
    net->scratch_bytes = 64;
    return MOT_OK;
}

static void mean_init(const struct mot_net *net, uint64_t seed, float *x)
{
    struct mot_rng rng = mot_rng_at(seed, MOT_RNG_INIT, 0);
    (void)net;
    x[0] = 1000 + (float)mot_rng_unit(&rng);
}

static double mean_grad(
    const struct mot_net *net, const float *x, const struct mot_batch *b, float coef, float *g, void *scratch)
{
    double loss = 0;
    (void)net, (void)scratch;
    for (uint32_t i = 0; i < b->rows; i++) {
        float off = x[0] - b->table->y[mot_batch_row(b, i)];
        g[0] += coef * off;
        loss += coef * off * off / 2;
    }
    return loss;
}

static double mean_loss(
    const struct mot_net *net, const float *x, const struct mot_batch *b, uint32_t *hits, void *scratch)
{
    float g[1] = { 0 };
    *hits = 0;
    return mean_grad(net, x, b, 1, g, scratch);
}

static void mean_predict(
    const struct mot_net *net, const float *x, const struct mot_batch *b, float *out, void *scratch)
{
    (void)net, (void)scratch;
    for (uint32_t i = 0; i < b->rows; i++) out[i] = x[0];
}

static const struct mot_option no_options[] = { { .name = NULL } };
static const struct mot_model mean = { .name = "mean",
    .summary = "the mean of what is to be predicted",
    .options = no_options,
    .computes = true,
    .open = mean_open,
    .init = mean_init,
    .grad = mean_grad,
    .loss = mean_loss,
    .predict = mean_predict };

struct told {
    unsigned evaluated;
    double first, last;
    uint64_t updates;
};

static void on_evaluated(void *self, const struct mot_run_moment *m)
{
    struct told *t = self;
    if (t->evaluated++ == 0) t->first = m->train_loss;
    t->last = m->train_loss;
    t->updates = m->updates;
}

/* Makes the run the given way; *x is the model's only number. */
static void mean_by(
    enum mot_status (*make)(struct mot_run *), const char **set, size_t sets, struct told *t, float *x)
{
    static const struct mot_model *const models[] = { &mean, NULL };
    struct mot_run_options o = {
        .size = sizeof(o), .set = set, .sets = sets, .models = models, .evaluated = on_evaluated, .self = t
    };
    struct mot_run *run = NULL;
    size_t n;
    CHECK_INT(mot_run_open(&o, &run), MOT_OK);
    CHECK_INT(make(run), MOT_OK);
    *x = mot_run_model(run, &n)[0];
    CHECK_INT(n, 1);
    mot_run_close(run);
}

TEST(a_model_of_ones_own_learns_simulated_and_on_threads_alike_and_evaluations_are_told)
{
    const char *set[] = { "data=synthetic", "data.kind=regression", "model=mean", "workers=3", "batch=full",
        "optimizer.lr=0.5", "stop.updates=60", "evaluate.every=10 updates" };
    struct told sim = { 0 }, live = { 0 };
    float x, y;
    mean_by(mot_run_simulate, set, 8, &sim, &x);
    mean_by(mot_run_train, set, 8, &live, &y);
    CHECK(x == y);
    CHECK(fabs(x) < 10); /* from 1,000 */
    CHECK_INT(sim.evaluated, 7);
    CHECK_INT(sim.updates, 60);
    CHECK_INT(live.updates, 60);
    CHECK(sim.first > 400000 && sim.last < 1000);
    CHECK(live.last == sim.last);
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info, (void)kind, (void)place;
    return remove(path);
}

TEST(a_model_of_ones_own_is_saved_and_goes_on)
{
    char folder[] = "/tmp/motley-library-XXXXXX", output[64], path[96];
    CHECK(mkdtemp(folder) != NULL);
    snprintf(output, sizeof output, "output=%s/run", folder);
    snprintf(path, sizeof path, "%s/run/model.safetensors", folder);
    const char *half[] = { "data=synthetic", "data.kind=regression", "model=mean", "workers=3",
        "optimizer.lr=0.1", "stop.updates=20", output },
               *whole[] = { "data=synthetic", "data.kind=regression", "model=mean", "workers=3",
                   "optimizer.lr=0.1", "stop.updates=40", output };
    static const struct mot_model *const models[] = { &mean, NULL };
    struct mot_run_options o = { .size = sizeof(o), .set = half, .sets = 7, .models = models };
    struct mot_run *run = NULL;
    struct told t = { 0 };
    float x;
    size_t n;
    CHECK_INT(mot_run_open(&o, &run), MOT_OK);
    CHECK_INT(mot_run_simulate(run), MOT_OK);
    mot_run_close(run);
    CHECK_INT(access(path, F_OK), 0);
    o.set = whole;
    o.resume = 1;
    CHECK_INT(mot_run_open(&o, &run), MOT_OK);
    CHECK_INT(mot_run_simulate(run), MOT_OK);
    mean_by(mot_run_simulate, whole, 6, &t, &x); /* in one go, without a folder */
    CHECK(mot_run_model(run, &n)[0] == x);
    mot_run_close(run);
    CHECK_INT(nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

TEST(a_model_of_ones_own_is_known_only_to_its_run)
{
    const char *set[] = { "model=mean" };
    struct mot_run_options o = { .size = sizeof(o), .set = set, .sets = 1 };
    struct mot_run *run = NULL;
    CHECK_INT(mot_run_open(&o, &run), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "mean");
}

TEST(a_caller_built_against_the_first_header_is_served)
{
    const char *set[] = { "model=softmax", "workers=2", "stop.updates=5" };
    struct mot_run_options o = { .size = offsetof(struct mot_run_options, models), .set = set, .sets = 3 };
    struct mot_run *run = NULL;
    o.evaluated = (void (*)(void *, const struct mot_run_moment *))(uintptr_t)1; /* beyond what it knows */
    CHECK_INT(mot_run_open(&o, &run), MOT_OK);
    CHECK_INT(mot_run_simulate(run), MOT_OK);
    mot_run_close(run);
}

static void keep_moment(void *self, const struct mot_run_moment *m) { *(struct mot_run_moment *)self = *m; }

TEST(the_last_evaluation_that_is_told_has_the_figures_of_the_summary)
{
    const char *set[] = { "model=softmax", "workers=2", "stop.updates=12", "data.valid=0.1",
        "evaluate.grad_norm=true" };
    struct mot_run_moment m = { 0 };
    struct mot_run_options o = {
        .size = sizeof(o), .set = set, .sets = 5, .evaluated = keep_moment, .self = &m
    };
    struct mot_run *run = NULL;
    CHECK_INT(mot_run_open(&o, &run), MOT_OK);
    CHECK_INT(mot_run_simulate(run), MOT_OK);
    CHECK_INT(m.size, sizeof m);
    CHECK_INT(m.updates, 12);
    CHECK_INT(m.samples, mot_run_number(run, "samples"));
    CHECK_NEAR(m.time_s, mot_run_number(run, "time_s"), 1e-9);
    CHECK_NEAR(m.epochs, mot_run_number(run, "epochs"), 0);
    CHECK(m.train_loss == mot_run_number(run, "train_loss") && m.train_loss > 0);
    CHECK(m.train_accuracy == mot_run_number(run, "train_accuracy") && m.train_accuracy > 0);
    CHECK(m.valid_loss == mot_run_number(run, "valid_loss") && m.valid_loss > 0);
    CHECK(m.valid_accuracy == mot_run_number(run, "valid_accuracy") && m.valid_accuracy > 0);
    CHECK(m.test_loss == mot_run_number(run, "test_loss") && m.test_loss > 0);
    CHECK(m.test_accuracy == mot_run_number(run, "test_accuracy") && m.test_accuracy > 0);
    CHECK(m.grad_norm == mot_run_number(run, "grad_norm") && m.grad_norm > 0);
    mot_run_close(run);
}

TEST(a_run_that_is_interrupted_says_so_by_its_status)
{
    const char *set[] = { "model=softmax", "workers=2", "stop.updates=50" };
    volatile sig_atomic_t stop = 1;
    struct mot_run_options o = { .size = sizeof(o), .set = set, .sets = 3, .interrupt = &stop };
    struct mot_run *run = NULL;
    size_t n;
    CHECK_INT(mot_run_open(&o, &run), MOT_OK);
    CHECK(mot_run_model(run, &n) == NULL && n == 0);
    CHECK_INT(mot_run_simulate(run), MOT_EINTERRUPTED);
    CHECK_TEXT(mot_error(), "the run was interrupted");
    CHECK_HAS(mot_run_summary(run), "\"ended_by\": \"interrupted\"");
    mot_run_close(run);
}

TEST(a_run_that_a_lost_worker_ends_says_so_by_its_status)
{
    const char *set[] = { "model=softmax", "method=allreduce", "stop.updates=500",
        "cluster={workers: 3, faults: {schedule: [{kind: crash, worker: 1, at: 1ms}]}}" };
    struct mot_run_options o = { .size = sizeof(o), .set = set, .sets = 4 };
    struct mot_run *run = NULL;
    CHECK_INT(mot_run_open(&o, &run), MOT_OK);
    CHECK_INT(mot_run_simulate(run), MOT_EPEER);
    CHECK_TEXT(mot_error(), "the run ended because node 1 was lost");
    CHECK_HAS(mot_run_summary(run), "\"status\": \"peer_lost\"");
    mot_run_close(run);
}

TEST(a_summary_says_what_its_file_says)
{
    char folder[] = "/tmp/motley-library-XXXXXX", output[64], path[96];
    CHECK(mkdtemp(folder) != NULL);
    snprintf(output, sizeof output, "output=%s/run", folder);
    snprintf(path, sizeof path, "%s/run/summary.json", folder);
    const char *set[] = { "model=softmax", "workers=2", "stop.updates=5", output };
    struct mot_run_options o = { .size = sizeof(o), .set = set, .sets = 4 };
    struct mot_run *run = NULL;
    CHECK_INT(mot_run_open(&o, &run), MOT_OK);
    CHECK_TEXT(mot_run_summary(run), "");
    CHECK(isnan(mot_run_number(run, "updates")));
    CHECK_INT(mot_run_simulate(run), MOT_OK);
    json_error_t error;
    json_t *told = json_loads(mot_run_summary(run), 0, &error), *written = json_load_file(path, 0, &error);
    CHECK(told && written);
    json_object_del(told, "wall_s");
    json_object_del(written, "wall_s");
    CHECK(json_equal(told, written));
    json_decref(told);
    json_decref(written);
    mot_run_close(run);
    CHECK_INT(nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void count_ticks(void *self, const struct mot_run_moment *m)
{
    CHECK(isnan(m->train_loss));
    (*(unsigned *)self)++;
}

TEST(progress_is_told_while_the_run_lasts)
{
    const char *set[] = { "model=softmax", "workers=2", "stop.time=0.6s" };
    unsigned ticks = 0;
    struct mot_run_options o = {
        .size = sizeof(o), .set = set, .sets = 3, .progress = count_ticks, .self = &ticks
    };
    struct mot_run *run = NULL;
    CHECK_INT(mot_run_open(&o, &run), MOT_OK);
    CHECK_INT(mot_run_train(run), MOT_OK);
    CHECK(ticks >= 1);
    mot_run_close(run);
}

TEST_MAIN()
