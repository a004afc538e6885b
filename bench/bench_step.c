/* bench_step.c -- how many samples a second one thread trains: gradient and optimiser step.
 *
 * A step is what a worker does: make the gradient of rows that lie here and there, slice by slice, and
 * take an SGD step along the mean. Alone it prints a table of that, and what an evaluation takes beside
 * one read of the same rows ("evaluation": only that). With the argument "-" it reads lines "MODEL BATCH
 * SECONDS" (model: mlp = 784-256-128-10, softmax = 784-10, lenet on 1x28x28, resnet20 on 3x32x32) and
  * answers each with samples a second: bench_step_torch.py asks, in turn with PyTorch. With "count MODEL
  * BATCH STEPS" it makes just so many steps, for tools that count instructions. */
#include "base/crew.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/rng.h"
#include "run/gradient.h"
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

/* What a model sees: rows of COLS numbers, or a picture. */
static struct mot_shape shape_of(const char *name)
{
    if (strcmp(name, "lenet") == 0) return (struct mot_shape){ COLS, CLASSES, false, { 1, 28, 28 } };
    if (strcmp(name, "resnet20") == 0) return (struct mot_shape){ 3072, CLASSES, false, { 3, 32, 32 } };
    return (struct mot_shape){ COLS, CLASSES, false, { 0 } };
}

/* CPU time: on a quiet machine the same as wall time, on a busy one not affected by other processes. */
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
    if (!model)
        return mot_fail(MOT_EUSAGE, "unknown model '%s'; expected mlp, softmax, lenet or resnet20", name);
    void *conf = mot_arena_new(&b->arena, model->conf_bytes);
    enum mot_status status = mot_options_preset(model->options, conf, &b->arena);
    const struct mot_option *hidden = mot_option_find(model->options, "hidden");
    if (!status && hidden) status = mot_option_set(hidden, conf, "[256, 128]", &b->arena);
    const struct mot_shape shape = shape_of(name);
    if (!status) status = mot_net_open(model, conf, &shape, &b->net);
    struct mot_optim_conf sgd = { .lr = 0.01 };
    struct mot_schedule_conf constant = { .name = MOT_SCHEDULE_CONSTANT };
    if (!status) status = mot_optim_open(mot_optimizers[0], &sgd, &constant, &b->net, &b->optim);
    if (status) return status;
    b->x = mot_aligned(b->net.dim * sizeof *b->x);
    b->g = mot_aligned(b->net.dim * sizeof *b->g);
    b->scratch = mot_aligned(b->net.scratch_bytes);
    mot_net_init(&b->net, 1, b->x);
    return MOT_OK;
}

static void close_bench(struct bench *b)
{
    free(b->x), free(b->g), free(b->scratch);
    mot_net_close(&b->net);
    mot_arena_free(&b->arena);
}

static uint32_t order[ROWS]; /* in which the rows are taken */

static void step(struct bench *b, const struct mot_table *table, uint32_t batch, uint32_t *first)
{
    for (uint32_t done = 0; done < batch; done += MOT_SLICE_ROWS) {
        uint32_t rows = batch - done < MOT_SLICE_ROWS ? batch - done : MOT_SLICE_ROWS;
        struct mot_batch slice = { .table = table, .row = order + *first + done, .rows = rows };
        mot_net_grad(&b->net, b->x, &slice, 1, done == 0, b->g, b->scratch);
    }
    *first = *first + 2 * batch <= ROWS ? *first + batch : 0;
    mot_optim_step(&b->optim, 0, 1, b->g, 1.0 / batch, b->x, b->x, NULL, NULL);
}

/* The same numbers over and over, if a model's rows are longer; free() its x. */
static struct mot_table widened(const struct mot_table *table, uint32_t cols)
{
    struct mot_table wide = *table;
    size_t have = (size_t)ROWS * COLS, want = (size_t)ROWS * cols;
    float *x = mot_aligned(want * sizeof *x);
    for (size_t i = 0; i < want; i++) x[i] = table->x[i % have];
    wide.cols = cols, wide.x = x;
    return wide;
}

static enum mot_status measure(
    const struct mot_table *narrow, const char *name, uint32_t batch, double seconds, double *speed_out)
{
    struct bench b = { 0 };
    enum mot_status status = open_bench(&b, name);
    if (!status) {
        struct mot_table table = widened(narrow, b.net.shape.cols);
        const int at_once = b.net.shape.cols == COLS ? 10 : 1;
        uint32_t first = 0;
        uint64_t steps = 0;
        for (int i = 0; i < 2 * at_once; i++) step(&b, &table, batch, &first);
        double begin = now(), end = begin;
        while (end - begin < seconds) {
            for (int i = 0; i < at_once; i++) step(&b, &table, batch, &first);
            steps += (uint64_t)at_once;
            end = now();
        }
        free((void *)(uintptr_t)table.x);
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
        if (sscanf(line, "%31s %u %lf", name, &batch, &seconds) != 3 || batch < 1 || batch > ROWS)
            return mot_fail(MOT_EUSAGE, "expected \"MODEL BATCH SECONDS\", batch 1 to %d", ROWS);
        enum mot_status status = measure(table, name, batch, seconds, &speed);
        if (status) return status;
        printf("%.0f\n", speed);
        fflush(stdout);
    }
    return MOT_OK;
}

static enum mot_status count_steps(
    const struct mot_table *table, const char *name, const char *batch, const char *steps)
{
    struct bench b = { 0 };
    uint32_t first = 0, rows = (uint32_t)strtoul(batch, NULL, 10);
    if (rows < 1 || rows > ROWS) return mot_fail(MOT_EUSAGE, "batch 1 to %d", ROWS);
    enum mot_status status = open_bench(&b, name);
    for (unsigned long i = strtoul(steps, NULL, 10); i > 0 && !status; i--) step(&b, table, rows, &first);
    close_bench(&b);
    return status;
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
    static const uint32_t batches[] = { 1, 8, 32, 128, 512 };
    printf("kernels: %s, 1 thread\n%-8s %5s %12s   (min .. max)\n", mot_kernels_name(), "model", "batch",
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

/* ---- Evaluation beside one read ---------------------------------------------------------- */

#define MANY_ROWS 60000u
#define READ_ROWS 1000u

struct reading {
    const struct mot_table *table;
    uint64_t sum[MANY_ROWS / READ_ROWS];
};

static void read_rows(void *context, uint32_t part, unsigned who)
{
    struct reading *r = context;
    (void)who;
    size_t n = (size_t)READ_ROWS * COLS / 2;
    const uint64_t *word = (const uint64_t *)(const void *)r->table->x + part * n;
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) sum += word[i];
    r->sum[part] = sum;
}

/* In turn, the same rows and threads; the ratio is taken within each turn. */
static enum mot_status compare_with_read(const struct mot_dataset *data, unsigned threads)
{
    struct bench b = { 0 };
    enum mot_status status = open_bench(&b, "softmax");
    struct mot_crew *crew = status ? NULL : mot_crew_open(threads);
    struct mot_problem problem = { .data = data, .net = &b.net };
    struct mot_evaluator *evaluator = crew ? mot_evaluator_open(&problem, crew) : NULL;
    struct reading reading = { .table = &data->train };
    double evaluated[15], read[15], ratio[15];
    for (size_t i = 0; evaluator && i < MOT_COUNT(ratio); i++) {
        double begin = now();
        mot_crew_each(crew, MANY_ROWS / READ_ROWS, read_rows, &reading);
        double middle = now();
        mot_evaluate(evaluator, b.x, MOT_EVALUATE_TRAIN);
        double end = now();
        read[i] = middle - begin, evaluated[i] = end - middle, ratio[i] = evaluated[i] / read[i];
    }
    if (evaluator) {
        qsort(evaluated, MOT_COUNT(ratio), sizeof *ratio, by_speed);
        qsort(read, MOT_COUNT(ratio), sizeof *ratio, by_speed);
        qsort(ratio, MOT_COUNT(ratio), sizeof *ratio, by_speed);
        printf("%7u %13.1f %9.1f   %.2f (%.2f .. %.2f); min over min %.2f\n", threads, 1e3 * evaluated[7],
            1e3 * read[7], ratio[7], ratio[0], ratio[14], evaluated[0] / read[0]);
    }
    mot_evaluator_close(evaluator);
    if (crew) mot_crew_close(crew);
    close_bench(&b);
    return status;
}

static enum mot_status print_evaluation(const struct mot_table *few)
{
    size_t row_bytes = COLS * sizeof(float);
    float *x = mot_aligned(MANY_ROWS * row_bytes), *y = mot_new(MANY_ROWS, sizeof *y);
    for (uint32_t r = 0; r < MANY_ROWS; r++) {
        memcpy(x + (size_t)r * COLS, few->x + (size_t)(r % ROWS) * COLS, row_bytes);
        y[r] = few->y[r % ROWS];
    }
    struct mot_dataset data = { .train = {
                                    .rows = MANY_ROWS, .cols = COLS, .classes = CLASSES, .x = x, .y = y } };
    printf("softmax over %u x %u, CPU time of all threads\n"
           "threads evaluation ms   read ms   ratio: median (min .. max)\n",
        MANY_ROWS, COLS);
    enum mot_status status = compare_with_read(&data, 1);
    if (!status && mot_cores() > 1) status = compare_with_read(&data, 2);
    free(x), free(y);
    return status;
}

int main(int count, char **arguments)
{
    struct mot_rng rng = mot_rng_at(1, MOT_RNG_TEST, 0);
    float *x = mot_aligned((size_t)ROWS * COLS * sizeof *x), *y = mot_new(ROWS, sizeof *y);
    for (size_t i = 0; i < (size_t)ROWS * COLS; i++) x[i] = (float)mot_rng_unit(&rng);
    for (size_t i = 0; i < ROWS; i++) y[i] = (float)mot_rng_below(&rng, CLASSES);
    struct mot_table table = { .rows = ROWS, .cols = COLS, .classes = CLASSES, .x = x, .y = y };

    for (uint32_t i = 0; i < ROWS; i++) order[i] = (uint32_t)mot_permute(1, ROWS, i);

    enum mot_status status;
    if (count > 1 && strcmp(arguments[1], "-") == 0) status = answer_lines(&table);
    else if (count == 5 && strcmp(arguments[1], "count") == 0)
        status = count_steps(&table, arguments[2], arguments[3], arguments[4]);
    else if (count > 1 && strcmp(arguments[1], "evaluation") == 0) status = print_evaluation(&table);
    else {
        status = print_table(&table);
        if (!status) status = print_evaluation(&table);
    }
    if (status) fprintf(stderr, "bench_step: %s\n", mot_error());
    free(x), free(y);
    return status;
}
