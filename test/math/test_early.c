/* Gradients that leave early: the bits of those that do not, and what is told to be final is final. */
#include "base/memory.h"
#include "base/options.h"
#include "base/rng.h"
#include "math/models.h"
#include "test.h"

#define LEFT_MOST 200

/* What has left: copies of the floats when they were told to be final. */
struct witness {
    const struct mot_net *net;
    const float *g;
    float *then;
    uint32_t off[LEFT_MOST], left;
};

static void see(void *witness, uint32_t off)
{
    struct witness *w = witness;
    uint32_t end = w->left ? w->off[w->left - 1] : w->net->dim;
    if (w->left == LEFT_MOST || off >= end) FAIL("%u comes after %u", off, end);
    memcpy(w->then + off, w->g + off, (end - off) * sizeof(float));
    w->off[w->left++] = off;
}

static const struct mot_model *find(const char *name)
{
    for (size_t i = 0; mot_models[i]; i++)
        if (strcmp(mot_models[i]->name, name) == 0) return mot_models[i];
    return NULL;
}

/* Options come as pairs of name and value, ended by NULL. */
static void open_net(
    struct mot_arena *arena, struct mot_net *net, const char *const *option, struct mot_shape shape)
{
    const struct mot_model *m = find(option[0]);
    void *conf = mot_arena_new(arena, m->conf_bytes);
    CHECK_INT(mot_options_preset(m->options, conf, arena), MOT_OK);
    for (option++; *option; option += 2)
        CHECK_INT(mot_option_set(mot_option_find(m->options, option[0]), conf, option[1], arena), MOT_OK);
    CHECK_INT(mot_net_open(m, conf, &shape, net), MOT_OK);
}

static float *random_floats(size_t n, uint64_t at)
{
    float *x = mot_aligned((n + 16) * sizeof *x);
    struct mot_rng rng = mot_rng_at(3, MOT_RNG_TEST, at);
    for (size_t i = 0; i < n; i++) x[i] = (float)mot_rng_normal(&rng);
    return x;
}

static void compare(const struct mot_net *net, const struct mot_table *table, uint32_t rows, bool first)
{
    float *x = mot_aligned(net->dim * sizeof *x), *plain = random_floats(net->dim, 1),
          *early = random_floats(net->dim, 1), *then = mot_aligned(net->dim * sizeof *x);
    void *scratch = mot_aligned(net->scratch_bytes + 64);
    const struct mot_batch batch = { .table = table, .rows = rows };
    struct witness w = { .net = net, .g = early, .then = then };
    mot_net_init(net, 5, x);
    double a = mot_net_grad(net, x, &batch, 0.7f, first, plain, scratch),
           b = mot_net_grad_early(
               net, x, &batch, 0.7f, first, early, scratch, &(struct mot_leaving){ see, &w });
    CHECK(memcmp(&a, &b, sizeof a) == 0);
    CHECK(memcmp(plain, early, net->dim * sizeof *plain) == 0);
    CHECK(w.left > 1 && w.off[w.left - 1] == 0);
    CHECK(memcmp(then, early, net->dim * sizeof *then) == 0);
    /* each place is the first tensor of a layer that says what it costs */
    for (uint32_t i = 0, s = net->segments; i < w.left; i++) {
        while (s-- > 0 && net->segment[s].work == 0) {}
        CHECK_INT(net->segment[s].off, w.off[i]);
    }
    free(x), free(plain), free(early), free(then), free(scratch);
}

TEST(a_gradient_that_leaves_early_has_the_same_bits_and_what_has_left_changes_no_more)
{
    static const char *const nets[][6] = {
        { "mlp", "hidden", "[9, 7, 5]", NULL },
        { "mlp", "reg", "l2", "lambda", "0.01", NULL },
        { "network", "layers",
            "[{name: conv, out: 3, kernel: 3}, relu, {name: batch_norm}, flatten, {name: linear, out: "
            "classes}]",
            NULL },
        { "resnet8", "reg", "l2", "lambda", "0.01", NULL },
        { "vgg8", NULL },
        { "lenet", NULL },
    };
    static const uint32_t rows[] = { 1, 5, 16, 33, 128 };
    for (size_t i = 0; i < MOT_COUNT(nets); i++) {
        struct mot_arena arena = { 0 };
        struct mot_net net;
        const uint32_t side = 20, cols = side * side;
        open_net(&arena, &net, nets[i],
            (struct mot_shape){ .cols = cols, .classes = 4, .picture = { 1, side, side } });
        float *data = random_floats((size_t)128 * cols, 2), *label = mot_new(128, sizeof *label);
        for (uint32_t r = 0; r < 128; r++) label[r] = (float)(r % 4);
        struct mot_table table = { .rows = 128, .cols = cols, .classes = 4, .x = data, .y = label };
        for (size_t k = 0; k < (SANITIZED ? 2 : MOT_COUNT(rows)); k++)
            for (int first = 0; first < 2; first++) compare(&net, &table, rows[k], first);
        free(data), free(label);
        mot_net_close(&net);
        mot_arena_free(&arena);
    }
}

TEST(sparse_rows_leave_early_too)
{
    static const char *const mlp[] = { "mlp", "hidden", "[6, 5]", NULL };
    struct mot_arena arena = { 0 };
    struct mot_net net;
    open_net(&arena, &net, mlp, (struct mot_shape){ .cols = 30, .classes = 3, .sparse = true });
    uint64_t at[41];
    uint32_t col[80];
    float *val = random_floats(80, 4), label[40];
    for (uint32_t r = 0; r <= 40; r++) at[r] = 2 * r;
    for (uint32_t r = 0; r < 40; r++)
        col[2 * r] = r % 15, col[2 * r + 1] = 15 + r % 15, label[r] = (float)(r % 3);
    struct mot_table table = {
        .rows = 40, .cols = 30, .classes = 3, .row_at = at, .col = col, .val = val, .y = label
    };
    compare(&net, &table, 40, true);
    compare(&net, &table, 3, false);
    free(val);
    mot_net_close(&net);
    mot_arena_free(&arena);
}

TEST_MAIN()
