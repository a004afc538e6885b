/* Batch norm over a batch of more than MOT_SLICE_ROWS rows: slices are normalised one by one, and the
 * statistics are those of all of them, each weighted by its rows. */
#include "run/run.h"
#include "data/sampler.h"
#include "math/models.h"

#define CHANNELS 2
#define PIXELS 16
#define CLASSES 2

/* A batch in double, from the rows that the sampler names. */
struct expected {
    double loss, mean[CHANNELS], variance[CHANNELS];
};

static const float *tensor(const struct run *r, const float *x, const char *name)
{
    for (uint32_t s = 0; s < r->job.net.segments; s++)
        if (strcmp(r->job.net.segment[s].name, name) == 0) return x + r->job.net.segment[s].off;
    return NULL;
}

static double number(const struct run *r, uint32_t row, uint32_t c, uint32_t i)
{
    const struct mot_table *t = &r->job.data->train;
    return (double)t->x[(size_t)row * t->cols + c * PIXELS + i];
}

/* Adds a slice, whose first row is the batch's row `first`. */
static void add_slice(struct run *r, const float *x, uint32_t first, uint32_t rows, struct expected *e)
{
    uint32_t row[MOT_SLICE_ROWS];
    const float *weight = tensor(r, x, "2.weight"), *bias = tensor(r, x, "2.bias");
    CHECK_INT(mot_sample(&r->job.problem.sampler, 0, 0, first, rows, row), rows);
    double mean[CHANNELS] = { 0 }, square[CHANNELS] = { 0 }, count = (double)rows * PIXELS;
    for (uint32_t c = 0; c < CHANNELS; c++) {
        for (uint32_t i = 0; i < rows * PIXELS; i++)
            mean[c] += number(r, row[i / PIXELS], c, i % PIXELS) / count;
        for (uint32_t i = 0; i < rows * PIXELS; i++) {
            double off = number(r, row[i / PIXELS], c, i % PIXELS) - mean[c];
            square[c] += off * off;
        }
        e->mean[c] += rows * mean[c];
        e->variance[c] += rows * square[c] / (count - 1);
    }
    for (uint32_t k = 0; k < rows; k++) {
        double z[CLASSES], sum = 0;
        for (uint32_t o = 0; o < CLASSES; o++) {
            z[o] = (double)bias[o];
            for (uint32_t i = 0; i < CHANNELS * PIXELS; i++) {
                uint32_t c = i / PIXELS;
                z[o] += (double)weight[o * CHANNELS * PIXELS + i] *
                    (number(r, row[k], c, i % PIXELS) - mean[c]) / sqrt(square[c] / count + 1e-5);
            }
            sum += exp(z[o]);
        }
        e->loss += log(sum) - z[(uint32_t)r->job.data->train.y[row[k]]];
    }
}

/* Pictures whose channels drift from row to row, so that slices have statistics of their own. */
static char *write_pictures(void)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/ghost-%d-X.npy", (int)getpid());
    char labels[64];
    snprintf(labels, sizeof labels, "/tmp/ghost-%d-y.npy", (int)getpid());
    const uint32_t rows = 300;
    FILE *f = fopen(path, "wb"), *y = fopen(labels, "wb");
    char head[118];
    memset(head, ' ', sizeof head), head[117] = '\n';
    char text[118];
    int n = snprintf(text, sizeof text, "{'descr': '<f4', 'fortran_order': False, 'shape': (%u, %d, 4, 4), }",
        rows, CHANNELS);
    memcpy(head, text, (size_t)n);
    fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, f), fwrite(head, 1, sizeof head, f);
    memset(head, ' ', 117);
    n = snprintf(text, sizeof text, "{'descr': '<i8', 'fortran_order': False, 'shape': (%u,), }", rows);
    memcpy(head, text, (size_t)n);
    fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, y), fwrite(head, 1, sizeof head, y);
    for (uint32_t r = 0; r < rows; r++) {
        int64_t label = r % CLASSES;
        fwrite(&label, sizeof label, 1, y);
        for (uint32_t i = 0; i < CHANNELS * PIXELS; i++) {
            float v = (float)((r * 37 + i * 11) % 17) / 17 + (i < PIXELS ? 0.01f : -0.02f) * (float)r;
            fwrite(&v, sizeof v, 1, f);
        }
    }
    fclose(f), fclose(y);
    return path;
}

/* One update with this batch: what the model has learnt of it, and the loss. */
static void check_batch(const char *path, const char *batch_text, bool live)
{
    struct run r = { 0 };
    uint32_t batch = (uint32_t)strtoul(batch_text, NULL, 10);
    struct expected e = { 0 };
    RUN_SET(&r, "data", path, "data.scale", "none", "data.test", "0", "workers", "1", "batch", batch_text,
        "stop.updates", "1", "optimizer.lr", "0.01", "model",
        "{name: network, layers: [batch_norm, flatten, {name: linear, out: classes}]}");
    r.ways.driver = live ? &mot_driver_threads : &mot_driver_sim;
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    for (uint32_t first = 0; first < batch; first += MOT_SLICE_ROWS)
        add_slice(&r, r.job.x0, first, batch - first < MOT_SLICE_ROWS ? batch - first : MOT_SLICE_ROWS, &e);
    const float *mean = tensor(&r, r.out.x, "0.running_mean"),
                *variance = tensor(&r, r.out.x, "0.running_var");
    for (uint32_t c = 0; c < CHANNELS; c++) {
        CHECK_NEAR((double)mean[c], 0.1 * e.mean[c] / batch, 1e-5);
        CHECK_NEAR((double)variance[c], 0.9 + 0.1 * e.variance[c] / batch, 1e-5);
    }
    struct mot_term term = { .part = 0, .samples = batch, .coef = 1 };
    float *g = aligned_alloc(64, (r.job.net.dim + 16) / 16 * 64);
    void *scratch = aligned_alloc(64, (mot_gradient_scratch(&r.job.problem) + 63) / 64 * 64);
    double loss = mot_gradient(&r.job.problem, &term, 1, batch, r.job.x0, g, scratch);
    CHECK_NEAR(loss, e.loss, 1e-5 * e.loss);
    free(g), free(scratch);
    run_free(&r);
}

TEST(a_batch_of_more_rows_than_a_slice_is_normalised_slice_by_slice_and_its_statistics_are_of_all_rows)
{
    char *path = write_pictures(), labels[64];
    static const char *const batch[] = { "100", "128", "200", "300" };
    for (size_t i = 0; i < 4; i++)
        for (int live = 0; live < 2; live++) check_batch(path, batch[i], live);
    snprintf(labels, sizeof labels, "/tmp/ghost-%d-y.npy", (int)getpid());
    unlink(path), unlink(labels);
}

static const char behind_a_dense_layer[] =
    "{name: network, layers: [{name: linear, out: 4}, batch_norm, {name: linear, out: classes}]}";

static void open_dense(struct run *r, const char *batch)
{
    RUN_SET(r, "data", "synthetic", "workers", "1", "batch", batch, "model", behind_a_dense_layer);
    CHECK_INT(mot_experiment_open(NULL, r->setting, r->settings, &r->experiment), MOT_OK);
    r->status = mot_job_open(r->experiment, &r->job);
}

/* Adds the gradient of so many rows from the batch's row `first`, as one slice. */
static void add_rows(struct run *r, uint32_t first, uint32_t rows, bool begins, float *g, void *scratch)
{
    uint32_t row[MOT_SLICE_ROWS];
    CHECK_INT(mot_sample(&r->job.problem.sampler, 0, 0, first, rows, row), rows);
    struct mot_batch batch = { .table = &r->job.data->train, .row = row, .rows = rows };
    mot_net_grad(&r->job.net, r->job.x0, &batch, 1, begins, g, scratch);
}

TEST(a_single_row_is_not_left_over_where_it_would_have_no_variance)
{
    static const uint32_t batch[] = { 128, 129, 130, 257 };
    static const uint32_t slice[][3] = { { 128 }, { 127, 2 }, { 128, 2 }, { 128, 127, 2 } };
    struct run r = { 0 };
    open_dense(&r, "129");
    CHECK_INT(r.status, MOT_OK);
    const size_t bytes = (r.job.net.dim + 16) / 16 * 64;
    float *g = aligned_alloc(64, bytes), *expected = aligned_alloc(64, bytes);
    void *scratch = aligned_alloc(64, (mot_gradient_scratch(&r.job.problem) + 63) / 64 * 64);
    for (size_t i = 0; i < 4; i++) {
        struct mot_term term = { .part = 0, .samples = batch[i], .coef = 1 };
        mot_gradient(&r.job.problem, &term, 1, batch[i], r.job.x0, g, scratch);
        for (uint32_t k = 0, first = 0; k < 3 && slice[i][k]; first += slice[i][k++])
            add_rows(&r, first, slice[i][k], k == 0, expected, scratch);
        CHECK(memcmp(g, expected, r.job.net.dim * sizeof *g) == 0);
    }
    /* where the data ends with one row, the running variance is what it was */
    struct mot_term term = { .part = 0, .samples = 1, .coef = 1 };
    mot_gradient(&r.job.problem, &term, 1, 1, r.job.x0, g, scratch);
    CHECK_NEAR((double)*tensor(&r, g, "1.running_var"), 1, 1e-7);
    free(g), free(expected), free(scratch);
    run_free(&r);
}

TEST(batches_of_one_row_are_refused_when_an_experiment_with_such_a_norm_is_opened)
{
    struct run r = { 0 };
    open_dense(&r, "1");
    CHECK_INT(r.status, MOT_EUSAGE);
    CHECK_HAS(mot_error(), "model.layers: layer 2 (batch_norm): sees one number of each channel in a row");
    CHECK_HAS(mot_error(), "expected batches of 2 rows or more");
    mot_experiment_close(r.experiment);
}

TEST_MAIN()
