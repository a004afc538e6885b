/* bench_step.c -- how many samples a second one thread trains: gradient and optimiser step.
 *
 * A step is what a worker does: zero the gradient, add the batch's gradient, take an SGD step along the
 * mean. Alone it prints a table. With the argument "-" it reads lines "MODEL BATCH SECONDS" (model: mlp =
 * 784-256-128-10, softmax = 784-10) and answers each with samples a second: bench_step_torch.py asks,
 * in turn with PyTorch. */
#include "base/memory.h"
#include "base/options.h"
#include "base/rng.h"
#include "math/kernels.h"
#include "math/models.h"
#include "math/optim.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROWS 2048
#define COLS 784
#define CLASSES 10

/* CPU time: on a quiet machine the same as the wall clock, on a busy one free of what others take. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const struct mot_model *find(const char *name)
{
    for (size_t i = 0; mot_models[i]; i++)
        if (strcmp(mot_models[i]->name, name) == 0) return mot_models[i];
    return NULL;
}

struct bench {
    struct mot_arena arena;
    struct mot_net net;
    struct mot_optim optim;
    float *x, *g;
    void *scratch;
};

static enum mot_status open_bench(struct bench *b, const char *name)
{
    const struct mot_model *model = find(name);
    if (!model) return mot_fail(MOT_EUSAGE, "no model '%s'; mlp and softmax are measured", name);
    void *conf = mot_arena_new(&b->arena, model->conf_bytes);
    enum mot_status status = mot_options_preset(model->options, conf, &b->arena);
    const struct mot_option *hidden = mot_option_find(model->options, "hidden");
    if (!status && hidden) status = mot_option_set(hidden, conf, "[256, 128]", &b->arena);
    if (!status) status = mot_net_open(model, conf, &(struct mot_shape){ COLS, CLASSES, false }, &b->net);
    struct mot_optim_conf sgd = { .lr = 0.01 };
    struct mot_schedule_conf constant = { .name = MOT_SCHEDULE_CONSTANT };
    if (!status) status = mot_optim_open(mot_optimizers[0], &sgd, &constant, &b->net, &b->optim);
    if (status) return status;
    b->x = mot_aligned(b->net.dim * sizeof *b->x);
    b->g = mot_aligned(b->net.dim * sizeof *b->g);
    b->scratch = mot_aligned(b->net.scratch_bytes);
    model->init(&b->net, 1, b->x);
    return MOT_OK;
}

static void close_bench(struct bench *b)
{
    free(b->x), free(b->g), free(b->scratch);
    mot_arena_free(&b->arena);
}

static void step(struct bench *b, const struct mot_table *table, uint32_t batch, uint32_t *first)
{
    struct mot_batch rows = { table, NULL, *first, batch };
    *first = *first + 2 * batch <= ROWS ? *first + batch : 0;
    memset(b->g, 0, b->net.dim * sizeof *b->g);
    b->net.kind->grad(&b->net, b->x, &rows, 1, b->g, b->scratch);
    mot_optim_step(&b->optim, 0, 1, b->g, 1.0 / batch, b->x, b->x, NULL, NULL);
}

static enum mot_status measure(
    const struct mot_table *table, const char *name, uint32_t batch, double seconds, double *speed_out)
{
    struct bench b = { 0 };
    enum mot_status status = open_bench(&b, name);
    if (!status) {
        uint32_t first = 0;
        uint64_t steps = 0;
        for (int i = 0; i < 20; i++) step(&b, table, batch, &first);
        double begin = now(), end = begin;
        while (end - begin < seconds) {
            for (int i = 0; i < 10; i++) step(&b, table, batch, &first);
            steps += 10;
            end = now();
        }
        *speed_out = (double)(steps * batch) / (end - begin);
    }
    close_bench(&b);
    return status;
}

static enum mot_status answer_lines(const struct mot_table *table)
{
    char line[128], name[32];
    unsigned batch;
    double seconds, speed;
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "%31s %u %lf", name, &batch, &seconds) != 3 || batch < 1 || batch > MOT_SLICE_ROWS)
            return mot_fail(MOT_EUSAGE, "expected \"MODEL BATCH SECONDS\", batch 1 to %d", MOT_SLICE_ROWS);
        enum mot_status status = measure(table, name, batch, seconds, &speed);
        if (status) return status;
        printf("%.0f\n", speed);
        fflush(stdout);
    }
    return MOT_OK;
}

static int by_speed(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Each figure is the median of seven windows; the spread tells how quiet the machine was. */
static enum mot_status print_table(const struct mot_table *table)
{
    static const char *const names[] = { "mlp", "softmax" };
    static const uint32_t batches[] = { 1, 32, 128 };
    printf("kernels: %s, 1 thread\n%-8s %5s %12s   (least .. most)\n", mot_kernels_name(), "model", "batch",
        "samples/s");
    for (size_t n = 0; n < MOT_COUNT(names); n++)
        for (size_t b = 0; b < MOT_COUNT(batches); b++) {
            double speed[7];
            for (size_t i = 0; i < MOT_COUNT(speed); i++) {
                enum mot_status status = measure(table, names[n], batches[b], 0.1, &speed[i]);
                if (status) return status;
            }
            qsort(speed, MOT_COUNT(speed), sizeof *speed, by_speed);
            printf("%-8s %5u %12.0f   (%.0f .. %.0f)\n", names[n], batches[b], speed[3], speed[0], speed[6]);
        }
    return MOT_OK;
}

int main(int count, char **arguments)
{
    struct mot_rng rng = mot_rng_at(1, MOT_RNG_TEST, 0);
    float *x = mot_aligned((size_t)ROWS * COLS * sizeof *x), *y = mot_new(ROWS, sizeof *y);
    for (size_t i = 0; i < (size_t)ROWS * COLS; i++) x[i] = (float)mot_rng_unit(&rng);
    for (size_t i = 0; i < ROWS; i++) y[i] = (float)mot_rng_below(&rng, CLASSES);
    struct mot_table table = { .rows = ROWS, .cols = COLS, .classes = CLASSES, .x = x, .y = y };

    bool asked = count > 1 && strcmp(arguments[1], "-") == 0;
    enum mot_status status = asked ? answer_lines(&table) : print_table(&table);
    if (status) fprintf(stderr, "bench_step: %s\n", mot_error());
    free(x), free(y);
    return status;
}
