/* Networks beside PyTorch in double: the gradient of a batch, and the losses of 100 steps from the same
 * weights on the same batches. torch_nets.py, beside this file, is the other half.
 *
 * Where a number that ReLU looks at is so near 0 that float and double differ in its sign, gradients
 * differ at once by what that unit contributes, and two runs part from there on: PyTorch's own floats part
 * from its doubles by 5e-4 (LeNet) and 9e-2 (ResNet-20) in these 100 steps, motley's by 2e-1 in VGG-8's. So
 * the loss and the gradient of every step are also compared at the same weights, whatever came before; the
 * whole curve where no such step is met. */
#include "base/memory.h"
#include "base/options.h"
#include "base/rng.h"
#include "math/models.h"
#include "math/network.h"
#include "scratch.h"
#include "test.h"
#include <unistd.h>

#define ROWS 64u
#define BATCH 16u
#define CLASSES 5u
#define STEPS (SANITIZED ? 5u : 100u)
#define RATE 0.01
#define CHANCE 99 /* of dropout; step s is at draw s BATCH */

/* A network: by name, or as `layers` that torch_nets.py has by that name. */
struct subject {
    const char *name, *layers, *smoothing;
    struct mot_picture picture; /* or, without channels, words: */
    uint32_t cols, words;
    bool quick, parts; /* parts: its two curves part, see above */
};

static void keep(const char *folder, const char *name, const char *part, const float *x, size_t n)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s.%s", folder, name, part);
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(x, sizeof *x, n, out) != n || fclose(out) != 0) abort();
}

static void describe(const char *folder, const char *name, const struct mot_net *net, const char *smoothing)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s.json", folder, name);
    FILE *out = fopen(path, "w");
    if (!out) abort();
    fprintf(out,
        "{\"side\": %u, \"channels\": %u, \"cols\": %u, \"classes\": %u, \"batch\": %u, \"lr\": %g, "
        "\"smoothing\": %s, \"tensors\": [",
        net->shape.picture.height, net->shape.picture.channels, net->shape.cols, CLASSES, BATCH, RATE,
        smoothing ? smoothing : "0");
    for (uint32_t s = 0; s < net->segments; s++) {
        const struct mot_segment *at = &net->segment[s];
        if (mot_net_counts(net, s)) continue;
        fprintf(out, "%s[\"%s\", %u, [", s ? ", " : "", at->name, at->off);
        for (uint32_t d = 0; d < at->rank; d++) fprintf(out, "%s%u", d ? ", " : "", at->shape[d]);
        fputs("]]", out);
    }
    fputs("]}\n", out);
    if (fclose(out) != 0) abort();
}

/* What dropout multiplies by: [step][row][number], for the one such layer that a network here may have. */
static void keep_mask(const char *folder, const char *name, const struct mot_net *net)
{
    const struct mot_layer_plan *plan = net->plan;
    uint32_t n = 1;
    while (n < plan->ops && plan->op[n].kind != MOT_OP_DROPOUT) n++;
    if (n == plan->ops) return;
    const uint32_t size = (uint32_t)mot_map_size(&plan->op[n].map);
    const float rate = plan->op[n].rate;
    float *mask = mot_new((size_t)STEPS * BATCH * size, sizeof *mask);
    for (uint32_t row = 0; row < STEPS * BATCH; row++)
        for (uint32_t i = 0; i < size; i++) {
            bool gone = mot_drop_draw(mot_hash3(CHANCE, row, n), i) < (uint32_t)(rate * 0x1p24f);
            mask[(size_t)row * size + i] = gone ? 0 : 1 / (1 - rate);
        }
    keep(folder, name, "mask", mask, (size_t)STEPS * BATCH * size);
    free(mask);
}

/* SGD with momentum 0.9, and statistics as model.h says; the mean loss of each step. */
static void train(const struct mot_net *net, const struct mot_table *table, float *x, float *g, void *scratch,
    float *curve, float *path, float *slopes)
{
    float *v = mot_new(net->dim, sizeof *v);
    for (uint32_t step = 0; step < STEPS; step++) {
        memcpy(path + (size_t)step * net->dim, x, net->dim * sizeof *x);
        struct mot_batch batch = { .table = table,
            .first = step * BATCH % ROWS,
            .rows = BATCH,
            .chance = CHANCE,
            .draw = (uint64_t)step * BATCH };
        curve[step] = (float)(mot_net_grad(net, x, &batch, 1, true, g, scratch) / BATCH);
        memcpy(slopes + (size_t)step * net->dim, g, net->dim * sizeof *g);
        for (uint32_t i = 0; i < net->trained; i++) {
            v[i] = 0.9f * v[i] + g[i] / BATCH;
            x[i] -= (float)RATE * v[i];
        }
        for (uint32_t i = net->trained; i < net->dim; i++) x[i] += 0.1f * (g[i] / BATCH - x[i]);
    }
    free(v);
}

static void compare(struct subject s)
{
    const char *name = s.name;
    const struct mot_picture picture = s.picture;
    if (!s.quick && !getenv("MOTLEY_LONG")) SKIP("it takes long: MOTLEY_LONG=1 runs it");
    if (pclose(popen("/usr/bin/python3 -c 'import importlib.util, sys; sys.exit(not "
                     "importlib.util.find_spec(\"torch\"))' 2>&1",
            "r")) != 0)
        SKIP("PyTorch is missing; install python3-torch");
    char folder[] = "/tmp/motley_torch_XXXXXX", command[512], line[256];
    CHECK(mkdtemp(folder) != NULL);
    const struct mot_model *const *m = mot_models;
    while (strcmp((*m)->name, s.layers ? "network" : name) != 0) m++;
    struct mot_arena arena = { 0 };
    struct mot_net net;
    void *conf = mot_arena_new(&arena, (*m)->conf_bytes);
    const uint32_t cols = picture.channels ? picture.channels * picture.height * picture.width : s.cols;
    CHECK_INT(mot_options_preset((*m)->options, conf, &arena), MOT_OK);
    if (s.layers)
        CHECK_INT(mot_option_set(mot_option_find((*m)->options, "layers"), conf, s.layers, &arena), MOT_OK);
    if (s.smoothing)
        CHECK_INT(
            mot_option_set(mot_option_find((*m)->options, "label_smoothing"), conf, s.smoothing, &arena),
            MOT_OK);
    CHECK_INT(mot_net_open(*m, conf, &(struct mot_shape){ cols, CLASSES, false, picture }, &net), MOT_OK);
    struct mot_rng rng = mot_rng_at(5, MOT_RNG_TEST, 0);
    float *rows = mot_new((size_t)ROWS * cols, sizeof *rows), *label = mot_new(ROWS, sizeof *label);
    for (size_t i = 0; i < (size_t)ROWS * cols; i++)
        rows[i] = s.words ? (float)mot_rng_below(&rng, s.words) : (float)mot_rng_normal(&rng);
    for (uint32_t i = 0; i < ROWS; i++) label[i] = (float)mot_rng_below(&rng, CLASSES);
    struct mot_table table = { .rows = ROWS, .cols = cols, .classes = CLASSES, .x = rows, .y = label };
    float *x = mot_aligned(net.dim * sizeof *x), *g = mot_aligned(net.dim * sizeof *g), curve[100] = { 0 };
    void *scratch = mot_aligned(net.scratch_bytes);
    mot_net_init(&net, 3, x);
    describe(folder, name, &net, s.smoothing);
    keep_mask(folder, name, &net);
    keep(folder, name, "x", x, net.dim);
    keep(folder, name, "rows", rows, (size_t)ROWS * cols);
    keep(folder, name, "labels", label, ROWS);
    mot_net_grad(&net, x, &(struct mot_batch){ .table = &table, .rows = BATCH, .chance = CHANCE }, 1, true, g,
        scratch);
    keep(folder, name, "g", g, net.dim);
    const size_t all = (size_t)STEPS * net.dim;
    float *path = mot_new(all, sizeof *path), *slopes = mot_new(all, sizeof *slopes);
    train(&net, &table, x, g, scratch, curve, path, slopes);
    keep(folder, name, "path", path, all);
    keep(folder, name, "slopes", slopes, all);
    free(path), free(slopes);
    keep(folder, name, "curve", curve, STEPS);
    keep(folder, name, "end", x, net.dim);
    free(x), free(g), free(scratch), free(rows), free(label);
    mot_net_close(&net);
    mot_arena_free(&arena);

    snprintf(command, sizeof command, "/usr/bin/python3 test/math/torch_nets.py %s %s", folder, name);
    FILE *from = popen(command, "r");
    CHECK(from != NULL);
    double gradient = INFINITY, apart = INFINITY, forced = INFINITY, slope = INFINITY, theirs = 0;
    while (fgets(line, sizeof line, from)) {
        printf("  %s: %s", name, line);
        (void)sscanf(line, "gradient %lf", &gradient);
        (void)sscanf(line, "curve %lf", &apart);
        (void)sscanf(line, "forced %lf", &forced);
        (void)sscanf(line, "slopes %lf and PyTorch's in float32 %lf", &slope, &theirs);
    }
    CHECK_INT(pclose(from), 0);
    scratch_remove(folder);
    CHECK(gradient <= 1e-5);
    CHECK(forced <= 1e-6);
    /* The median of the steps. As losses fall, rounding is a greater share of a small gradient. */
    CHECK(slope <= 2 * theirs + 1e-6);
    if (!s.parts) CHECK(apart <= 1e-3);
}

TEST(lenet_learns_as_in_pytorch)
{
    compare((struct subject){ "lenet", .picture = { 1, 16, 16 }, .quick = true });
}
TEST(resnet8_learns_as_in_pytorch)
{
    compare((struct subject){ "resnet8", .picture = { 3, 8, 8 }, .quick = true });
}
TEST(resnet20_learns_as_in_pytorch) { compare((struct subject){ "resnet20", .picture = { 3, 8, 8 } }); }
TEST(vgg8_learns_as_in_pytorch)
{
    compare((struct subject){ "vgg8", .picture = { 3, 8, 8 }, .parts = true });
}

TEST(groups_group_norm_dropout_mean_pools_and_smooth_labels_learn_as_in_pytorch)
{
    compare((struct subject){ "layers",
        "[{name: conv, out: 6, kernel: 3, padding: 1, groups: 3}, {name: group_norm, groups: 2}, relu, "
        "{name: "
        "mean_pool, kernel: 3, stride: 2, padding: 1}, {name: conv, out: 12, kernel: 3, groups: 6}, {name: "
        "group_norm, groups: 1}, relu, {name: dropout, rate: 0.3}, flatten, {name: linear, out: 20}, relu, "
        "{name: linear, out: classes}]",
        "0.1", .picture = { 3, 8, 8 }, .quick = true });
}

TEST(embeddings_learn_as_in_pytorch)
{
    compare((struct subject){ "words",
        "[{name: embedding, words: 30, out: 6}, {name: conv, out: 8, kernel: 3, padding: 1}, relu, "
        "mean_pool, "
        "flatten, {name: linear, out: classes}]",
        .cols = 9, .words = 30, .quick = true });
}

TEST_MAIN()
