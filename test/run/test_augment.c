/* Pictures changed at random, and dropout: which ones, how, and that every driver sees the same. */
#include "data/augment.h"
#include "run/run.h"
#include "wire/team.h"

static void draw_digits(struct run *r, const char *crop, const char *flip)
{
    RUN_SET(r, "data", "digits", "data.crop", crop, "data.flip", flip, "data.order", "file", "model",
        "softmax", "workers", "3", "batch", "16", "stop.updates", "12", "evaluate.train", "end");
    r->status = mot_experiment_open(NULL, r->setting, r->settings, &r->experiment);
    if (r->status == MOT_OK) r->status = mot_job_open(r->experiment, &r->job);
    if (r->status != MOT_OK) abort();
}

/* Whether `to` is the picture moved by (down, right) and maybe mirrored. */
static bool is(const float *from, const float *to, int down, int right, bool flip)
{
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++) {
            int h = y + down, w = x + right;
            float value = h >= 0 && h < 8 && w >= 0 && w < 8 ? from[8 * h + w] : 0;
            if (to[8 * y + (flip ? 7 - x : x)] != value) return false;
        }
    return true;
}

TEST(a_picture_is_moved_and_mirrored_each_way_equally_often)
{
    struct run r = { 0 };
    draw_digits(&r, "1", "true");
    const struct mot_dataset *d = r.job.data;
    float *room = mot_aligned(mot_augment_bytes(d));
    unsigned seen[18] = { 0 }, drawn = 0;
    for (uint64_t draw = 0; draw < 4000; draw += 100) {
        uint32_t row[100];
        for (uint32_t i = 0; i < 100; i++) row[i] = (uint32_t)(draw + i) % 1000;
        struct mot_table t = mot_augment(d, 7, 2, draw, row, 100, room);
        for (uint32_t i = 0; i < 100; i++) {
            const float *from = d->train.x + (size_t)row[i] * 64, *to = t.x + (size_t)i * 64;
            int found = -1;
            for (int way = 0; way < 18 && found < 0; way++)
                if (is(from, to, way / 2 % 3 - 1, way / 6 - 1, way % 2)) found = way;
            CHECK(found >= 0);
            CHECK(t.y[i] == d->train.y[row[i]]);
            seen[found]++, drawn++;
        }
    }
    CHECK_INT(drawn, 4000);
    for (int way = 0; way < 18; way++) CHECK(seen[way] > 222 - 75 && seen[way] < 222 + 75); /* 5 deviations */
    free(room);
    run_free(&r);
}

TEST(the_picture_depends_on_seed_part_and_position_alone)
{
    struct run r = { 0 };
    draw_digits(&r, "2", "true");
    const struct mot_dataset *d = r.job.data;
    size_t bytes = mot_augment_bytes(d);
    float *a = mot_aligned(bytes), *b = mot_aligned(bytes);
    const uint32_t row[8] = { 3, 1, 4, 1, 5, 9, 2, 6 };
    mot_augment(d, 1, 0, 1000, row, 8, a);
    mot_augment(d, 1, 0, 1003, row + 3, 5, b); /* the same positions in another slice */
    CHECK(memcmp(a + 3 * 64, b, 5 * 64 * sizeof *a) == 0);
    CHECK(memcmp(a + 64, a + 3 * 64, 64 * sizeof *a) != 0); /* the same row at two positions */
    static const struct {
        uint64_t seed, draw;
        uint32_t part;
    } others[] = { { 2, 1000, 0 }, { 1, 1000, 1 }, { 1, 2797, 0 } };
    for (size_t i = 0; i < 3; i++) {
        mot_augment(d, others[i].seed, others[i].part, others[i].draw, row, 8, b);
        CHECK(memcmp(a, b, 8 * 64 * sizeof *a) != 0);
    }
    free(a), free(b);
    run_free(&r);
}

/* Model hashes of a simulated run, on threads and over ranks are the same, and that of `plain` is another. */
static void check_drivers(struct team t, struct run plain)
{
    t.ranks = 3;
    struct mot_outcome simulated = team_simulate(&t), threads = { 0 };
    CHECK_INT(
        mot_job_run(&t.run.job, &(struct mot_job_ways){ .driver = &mot_driver_threads }, &threads), MOT_OK);
    team_go(&t);
    CHECK(threads.model_hash == simulated.model_hash);
    CHECK(t.member[0].out.model_hash == simulated.model_hash);
    CHECK_INT(mot_job_run(&plain.job, &plain.ways, &plain.out), MOT_OK);
    CHECK(plain.out.model_hash != simulated.model_hash);
    run_free(&plain);
    mot_outcome_close(&simulated);
    mot_outcome_close(&threads);
    team_forget(&t);
    team_close(&t);
}

TEST(every_driver_learns_from_the_same_pictures)
{
    struct team t = { 0 };
    struct run plain = { 0 };
    draw_digits(&t.run, "2", "true");
    draw_digits(&plain, "0", "false");
    check_drivers(t, plain);
}

static void drop_digits(struct run *r, const char *rate)
{
    char model[256];
    snprintf(model, sizeof model,
        "{name: network, layers: [{name: conv, out: 4, kernel: 3}, {name: group_norm, groups: 2}, relu, "
        "{name: "
        "dropout, rate: %s}, flatten, {name: linear, out: classes}]}",
        rate);
    RUN_SET(r, "data", "digits", "model", model, "workers", "3", "batch", "16", "stop.updates", "12",
        "evaluate.train", "end");
    r->status = mot_experiment_open(NULL, r->setting, r->settings, &r->experiment);
    if (r->status == MOT_OK) r->status = mot_job_open(r->experiment, &r->job);
    if (r->status != MOT_OK) abort();
}

TEST(every_driver_drops_the_same_numbers)
{
    struct team t = { 0 };
    struct run plain = { 0 };
    drop_digits(&t.run, "0.5");
    drop_digits(&plain, "0");
    check_drivers(t, plain);
}

/* Every part has two holders whose gradients must be the same bits, whoever answers first. */
TEST(all_holders_of_a_coded_part_drop_the_same_numbers)
{
    uint64_t hash[2];
    for (int slow = 0; slow < 2; slow++) {
        struct run r = { 0 };
        RUN_SET(&r, "data", "digits", "model",
            "{name: network, layers: [flatten, {name: linear, out: 20}, relu, dropout, {name: linear, out: "
            "classes}]}",
            "method", "coded", "code", "{name: frc, stragglers: 1}", "workers", "4", "batch", "16",
            "stop.updates", "12", "cluster",
            slow ? "{workers: [{count: 3, speed: 1000 samples/s}, {count: 1, speed: 100 samples/s}]}"
                 : "{workers: [{count: 1, speed: 100 samples/s}, {count: 3, speed: 1000 samples/s}]}");
        run_go(&r);
        CHECK_INT(r.status, MOT_OK);
        hash[slow] = r.out.model_hash;
        run_free(&r);
    }
    CHECK(hash[0] == hash[1]);
}

TEST(what_cannot_be_augmented_is_refused)
{
    static const char *const wrong[][5] = {
        { "data", "synthetic", "data.flip", "true", "`flip` is for pictures" },
        { "data", "synthetic", "data.crop", "2", "`crop` is for pictures" },
        { "data", "digits", "data.crop", "8", "expected less than the 8 x 8 pixels" },
    };
    for (size_t i = 0; i < MOT_COUNT(wrong); i++) {
        struct run r = { 0 };
        RUN_SET(&r, wrong[i][0], wrong[i][1], wrong[i][2], wrong[i][3]);
        run_go(&r);
        CHECK_INT(r.status, MOT_EUSAGE);
        CHECK_HAS(mot_error(), wrong[i][4]);
        run_free(&r);
    }
}

TEST_MAIN()
