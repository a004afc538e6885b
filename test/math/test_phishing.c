/* The published experiment on asynchronous SGD: float parameters
 * follow the float64 reference to its digits. */
#include "base/memory.h"
#include "base/options.h"
#include "math/models.h"
#include "math/optim.h"
#include "shared.h"
#include "test.h"
#include <zlib.h>

#define ROWS 11000u
#define COLS 68u
#define WORKERS 10u

static uint64_t row_at[ROWS + 1];
static uint32_t col[ROWS * COLS];
static float val[ROWS * COLS], y[ROWS];
static const struct mot_table table = {
    .rows = ROWS, .cols = COLS, .classes = 2, .row_at = row_at, .col = col, .val = val, .y = y
};

/* A few lines are enough for a file known to be right. */
static bool read_phishing(void)
{
    char path[512], line[4096];
    gzFile file = shared_file("phishing/phishing.gz", path, sizeof path) ? gzopen(path, "rb") : NULL;
    if (!file) return false;
    uint32_t rows = 0;
    for (; rows < ROWS && gzgets(file, line, sizeof line); rows++) {
        char *at = line;
        uint64_t entries = row_at[rows];
        y[rows] = strtof(at, &at) > 0 ? 1 : 0;
        for (;;) {
            char *end;
            unsigned long c = strtoul(at, &end, 10);
            if (end == at || *end != ':') break;
            col[entries] = (uint32_t)c - 1;
            val[entries++] = strtof(end + 1, &at);
        }
        row_at[rows + 1] = entries;
    }
    gzclose(file);
    return rows == ROWS;
}

static struct mot_net net;
static void *scratch;

/* g = the gradient sum of rows first .. first+n-1 in slices; returns the loss sum. */
static double gradient(const float *x, uint32_t first, uint32_t n, float *g)
{
    double loss = 0;
    memset(g, 0, net.dim * sizeof *g);
    for (uint32_t done = 0; done < n;) {
        uint32_t rows = n - done < MOT_SLICE_ROWS ? n - done : MOT_SLICE_ROWS;
        loss += net.kind->grad(&net, x,
            &(struct mot_batch){ .table = &table, .first = first + done, .rows = rows }, 1, g, scratch);
        done += rows;
    }
    return loss;
}

/* Over all rows the slices are added in double, as an evaluation does. */
static double whole_norm(const float *x, double *loss)
{
    float g[COLS];
    double sum[COLS] = { 0 }, square = 0;
    *loss = 0;
    for (uint32_t first = 0; first < ROWS; first += 1000) {
        *loss += gradient(x, first, 1000, g) / ROWS;
        for (uint32_t c = 0; c < COLS; c++) sum[c] += (double)g[c] / ROWS;
    }
    for (uint32_t c = 0; c < COLS; c++) square += sum[c] * sum[c];
    return sqrt(square);
}

/* Worker i's job takes i + 1 seconds; ties go to the lowest index; the sender gets the next job. */
static void run_pure(float *x, const struct mot_optim *optim, uint32_t updates)
{
    float at[WORKERS][COLS], g[COLS];
    uint64_t ready[WORKERS];
    for (uint32_t i = 0; i < WORKERS; i++) memcpy(at[i], x, sizeof at[i]), ready[i] = i + 1;
    for (uint32_t t = 0; t < updates; t++) {
        uint32_t i = 0;
        for (uint32_t j = 1; j < WORKERS; j++)
            if (ready[j] < ready[i]) i = j;
        gradient(at[i], i * ROWS / WORKERS, ROWS / WORKERS, g);
        mot_optim_step(optim, t, 1, g, 1.0 / (ROWS / WORKERS), x, x, NULL, NULL);
        memcpy(at[i], x, sizeof at[i]);
        ready[i] += i + 1;
    }
}

TEST(pure_asynchronous_sgd_on_phishing_gives_the_reference_digits)
{
    if (!read_phishing()) SKIP(NOT_SHARED);
    struct mot_arena arena = { 0 };
    const struct mot_model *logistic = mot_models[0];
    void *conf = mot_arena_new(&arena, logistic->conf_bytes);
    CHECK_INT(mot_options_preset(logistic->options, conf, &arena), MOT_OK);
    static const char *const set[][2] = { { "reg", "nonconvex" }, { "lambda", "0.1" }, { "bias", "false" },
        { "init", "ones" } };
    for (size_t i = 0; i < MOT_COUNT(set); i++)
        CHECK_INT(
            mot_option_set(mot_option_find(logistic->options, set[i][0]), conf, set[i][1], &arena), MOT_OK);
    CHECK_INT(mot_net_open(logistic, conf, &(struct mot_shape){ COLS, 2, true, { 0 } }, &net), MOT_OK);
    CHECK_INT(net.dim, COLS);
    scratch = mot_aligned(net.scratch_bytes);
    float x[COLS];
    double loss;
    net.kind->init(&net, 1, x);
    CHECK_NEAR(whole_norm(x, &loss), 0.732643, 3e-7);
    CHECK_NEAR(loss, 5.829532, 5e-7);

    struct mot_optim optim;
    struct mot_optim_conf sgd = { .lr = 0.125 };
    CHECK_INT(
        mot_optim_open(mot_optimizers[0], &sgd, &(struct mot_schedule_conf){ 0 }, &net, &optim), MOT_OK);
    run_pure(x, &optim, 500);
    CHECK_NEAR(whole_norm(x, &loss), 0.0125512, 5e-8);
    CHECK_NEAR(loss, 0.677267, 5e-7);
    free(scratch);
    mot_net_close(&net);
    mot_arena_free(&arena);
}

TEST_MAIN()
