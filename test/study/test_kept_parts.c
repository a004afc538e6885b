/* Partitions kept in the store: which runs share one, that the kept one is used, and that a damaged one is
 * not. */
#include "base/file.h"
#include "base/memory.h"
#include "study/kept_parts.h"
#include "test.h"
#include <unistd.h>

static char here[64];
static struct mot_store *store;
static struct mot_experiment *x;
static struct mot_dataset *data;
static char key[MOT_KEY_SIZE], *workshop;

static void open_all(void)
{
    static const struct mot_setting settings[] = { { "partition", "herding", "test" },
        { "workers", "4", "test" }, { "seed", "3", "test" } };
    snprintf(here, sizeof here, "/tmp/motley-parts-XXXXXX");
    if (!mkdtemp(here) || mot_store_open(here, &store) != MOT_OK) abort();
    if (mot_experiment_open(NULL, settings, MOT_COUNT(settings), &x) != MOT_OK) abort();
    if (mot_dataset_open(&x->data, x->seed, &data) != MOT_OK) abort();
    struct mot_stem stem;
    if (mot_store_parts_stem(store, x, &stem) != MOT_OK) abort();
    mot_store_key(&stem, x->seed, key);
    workshop = mot_store_workshop(store, 1, 0);
}

static void close_all(void)
{
    free(workshop);
    mot_dataset_close(data);
    mot_experiment_close(x);
    mot_store_close(store);
    mot_remove_tree(here);
}

static struct mot_parts have(void)
{
    struct mot_parts p = { 0 };
    if (mot_parts_have(store, key, workshop, x, data, &p) != MOT_OK) abort();
    return p;
}

static bool same(const struct mot_parts *a, const struct mot_parts *b)
{
    return a->parts == b->parts && memcmp(a->at, b->at, (a->parts + 1) * sizeof *a->at) == 0 &&
        memcmp(a->row, b->row, a->at[a->parts] * sizeof *a->row) == 0;
}

static char *kept_path(void)
{
    char *folder = mot_store_folder(store, key), *path = mot_path_join(folder, "parts.bin");
    free(folder);
    return path;
}

struct bytes {
    unsigned char *at;
    size_t n;
};

static struct bytes kept(void)
{
    struct bytes b;
    char *path = kept_path();
    if (mot_file_read(path, 1u << 20, &b.at, &b.n) != MOT_OK) abort();
    free(path);
    return b;
}

/* Puts these bytes into the store as if they had been made so: with sums that agree. */
static void keep(struct bytes b)
{
    char *path = mot_path_join(workshop, "parts.bin");
    mot_store_remove(store, key);
    if (mot_make_folder(workshop) != MOT_OK || mot_file_replace(path, b.at, b.n) != MOT_OK) abort();
    if (mot_store_publish(store, workshop, key) != MOT_OK) abort();
    free(path);
}

static uint32_t *first_row(struct bytes b) { return (uint32_t *)(void *)(b.at + 4 + 5 * 8); }

TEST(parts_that_are_kept_are_those_that_are_made_and_are_not_made_again)
{
    struct mot_parts made, first, again;
    open_all();
    CHECK_INT(mot_job_parts(x, data, &made), MOT_OK);
    first = have();
    CHECK(same(&made, &first));
    /* Two rows of the file change places: what comes out tells that it was read. */
    struct bytes b = kept();
    uint32_t row = first_row(b)[0];
    first_row(b)[0] = first_row(b)[1];
    first_row(b)[1] = row;
    keep(b);
    again = have();
    CHECK_INT(again.row[0], made.row[1]);
    CHECK_INT(again.row[1], made.row[0]);
    free(b.at);
    mot_parts_free(&made);
    mot_parts_free(&first);
    mot_parts_free(&again);
    close_all();
}

TEST(parts_that_are_damaged_are_made_again_and_then_whole)
{
    static const char *const how[] = { "a byte", "cut", "empty", "a row that is not there", "a worker less",
        "rows of two workers moved", "longer" };
    open_all();
    struct mot_parts good = have();
    struct bytes whole = kept();
    for (size_t i = 0; i < MOT_COUNT(how); i++) {
        struct bytes b = { mot_new(whole.n + 8, 1), whole.n };
        memcpy(b.at, whole.at, whole.n);
        char *path = kept_path();
        printf("  %s\n", how[i]);
        if (i == 0) b.at[b.n / 2] ^= 4;
        if (i == 1) b.n = b.n / 2;
        if (i == 2) b.n = 0;
        if (i == 3) first_row(b)[7] = data->train.rows;
        if (i == 4) b.at[0] = 3;
        if (i == 5) memcpy(b.at + 4 + 8, b.at + 4 + 16, 8); /* worker 1 has none */
        if (i == 6) b.n += 8;
        /* the first three disagree with their sums */
        if (i < 3) CHECK_INT(mot_file_replace(path, b.at, b.n), MOT_OK);
        else keep(b);
        struct mot_parts again = have();
        CHECK(same(&good, &again));
        struct bytes now = kept();
        CHECK(now.n == whole.n && memcmp(now.at, whole.at, whole.n) == 0);
        free(now.at);
        mot_parts_free(&again);
        free(path);
        free(b.at);
    }
    free(whole.at);
    mot_parts_free(&good);
    close_all();
}

static void key_with(const char *name, const char *value, char out[MOT_KEY_SIZE])
{
    struct mot_experiment *other;
    struct mot_stem stem;
    struct mot_setting settings[] = { { "partition", "herding", "test" }, { "workers", "4", "test" },
        { "seed", "3", "test" }, { name, value, "test" } };
    if (mot_experiment_open(NULL, settings, MOT_COUNT(settings), &other) != MOT_OK ||
        mot_store_parts_stem(store, other, &stem) != MOT_OK) {
        printf("  %s\n", mot_error());
        abort();
    }
    mot_store_key(&stem, other->seed, out);
    mot_experiment_close(other);
}

TEST(runs_share_parts_when_all_that_decides_them_is_the_same)
{
    static const char *const shared[][2] = { { "method", "async" }, { "model", "softmax" },
        { "optimizer.lr", "0.3" }, { "stop.updates", "7" }, { "cluster.network.bandwidth", "20Mbit" },
        { "sim.threads", "1" } };
    static const char *const apart[][2] = { { "seed", "4" }, { "workers", "5" }, { "data.rows", "500" },
        { "data.order", "file" }, { "data.data_seed", "9" }, { "data.scale", "standard" },
        { "partition", "submodular" }, { "partition", "{name: herding, algorithm: chunks}" },
        { "partition", "{name: herding, bandwidth: 2}" },
        { "cluster.workers", "[{count: 1, speed: 9/s}, {count: 3}]" } };
    char other[MOT_KEY_SIZE];
    open_all();
    for (size_t i = 0; i < MOT_COUNT(shared); i++) {
        key_with(shared[i][0], shared[i][1], other);
        if (strcmp(key, other) != 0) FAIL("%s: %s changes the key", shared[i][0], shared[i][1]);
    }
    for (size_t i = 0; i < MOT_COUNT(apart); i++) {
        key_with(apart[i][0], apart[i][1], other);
        if (strcmp(key, other) == 0) FAIL("%s: %s does not change the key", apart[i][0], apart[i][1]);
    }
    key_with("partition", "proportional", other);
    CHECK_TEXT(other, ""); /* is found as fast as it is read */
    close_all();
}

TEST_MAIN()
