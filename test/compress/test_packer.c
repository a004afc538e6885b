/* What methods call: error feedback loses nothing, units are means, votes are exact. */
#include "presses.h"
#include "run/outbox.h"
#include "run/pool.h"

#define DIM 3000u
static struct mot_pool pool;
static struct mot_outbox out;
static struct mot_world world;
static struct mot_compress conf;
static struct mot_env env;
static struct mot_packer packer;
static const uint32_t layers[] = { 0, 1000, DIM };

static void begin(const char *name, uint32_t feedback)
{
    conf = press_of(name);
    conf.feedback = feedback;
    conf.corrected = feedback != MOT_FEEDBACK_NONE;
    mot_pool_open(&pool, DIM, 40);
    mot_pool_open_packets(&pool);
    mot_outbox_open(&out, 100000, 1);
    mot_outbox_open_press(&out, DIM);
    world =
        (struct mot_world){ .workers = 4, .dim = DIM, .tensors = 2, .tensor_at = layers, .compress = &conf };
    env = (struct mot_env){ .world = &world, .pool = &pool, .out = &out };
    world.zero = mot_pool_take(&pool);
    memset(mot_pool_at(&pool, world.zero), 0, DIM * sizeof(float));
    packer = (struct mot_packer){ 0 };
}

static void end(void)
{
    mot_drop(&env, packer.rest);
    mot_drop(&env, packer.total);
    mot_drop(&env, world.zero);
    CHECK_INT(pool.used, 0);
    mot_outbox_close(&out);
    mot_pool_close(&pool);
}

static mot_buf gradient(uint64_t seed, float times)
{
    mot_buf b = mot_take(&env);
    press_draw(mot_edit(&env, b), DIM, seed);
    for (uint32_t i = 0; i < DIM; i++) mot_edit(&env, b)[i] *= times;
    return b;
}

static void add(double *sum, mot_buf b, double times)
{
    for (uint32_t i = 0; b && i < DIM; i++) sum[i] += times * (double)mot_read(&env, b)[i];
}

/* The sum of what was sent and of what is left is the sum of the gradients, to rounding. */
static void conserves(const char *name)
{
    double given[DIM] = { 0 }, sent[DIM] = { 0 };
    begin(name, MOT_FEEDBACK_EF);
    for (uint64_t i = 0; i < 200; i++) {
        mot_buf g = gradient(i, 1);
        struct mot_slice packed = mot_pack(&env, &packer, mot_whole(&env, g), 1);
        add(given, g, 1);
        add(sent, packed.buf, 1);
        mot_drop(&env, g);
        mot_drop(&env, packed.buf);
        out.n = 0;
    }
    add(sent, packer.rest, 1);
    for (uint32_t i = 0; i < DIM; i++) CHECK_NEAR(sent[i], given[i], 2e-3 * (1 + fabs(given[i])) / 10);
    end();
}

TEST(feedback_loses_nothing)
{
    for (size_t i = 1; mot_compressors[i]; i++) conserves(mot_compressors[i]->name);
}

/* A batch of 64 and one of 16 with the same mean leave the same behind. */
TEST(what_is_left_counts_in_means_whatever_the_batch)
{
    begin("topk", MOT_FEEDBACK_EF);
    mot_buf g = gradient(1, 64), h = gradient(2, 16);
    mot_drop(&env, mot_pack(&env, &packer, mot_whole(&env, g), 64).buf);
    double left[DIM] = { 0 }, whole[DIM] = { 0 };
    add(left, packer.rest, 1.0 / 64);
    add(whole, h, 1.0 / 16);
    for (uint32_t i = 0; i < DIM; i++) whole[i] += left[i];
    struct mot_slice packed = mot_pack(&env, &packer, mot_whole(&env, h), 16);
    double got[DIM] = { 0 };
    add(got, packed.buf, 1.0 / 16);
    add(got, packer.rest, 1.0 / 16);
    for (uint32_t i = 0; i < DIM; i++) CHECK_NEAR(got[i], whole[i], 1e-5 * (1 + fabs(whole[i])));
    /* without samples nothing is sent and nothing is forgotten */
    mot_buf rest = packer.rest;
    struct mot_slice nothing = mot_pack(&env, &packer, mot_whole(&env, world.zero), 0);
    CHECK(packer.rest == rest);
    CHECK_INT(mot_packet_entries(mot_pool_packet(&pool, nothing.buf), DIM), 0);
    mot_drop(&env, nothing.buf);
    mot_drop(&env, packed.buf);
    mot_drop(&env, g);
    mot_drop(&env, h);
    end();
}

/* What nodes add up in ef21 approaches the gradient if that stays the same. */
TEST(ef21_approaches_a_gradient_that_stays)
{
    begin("topk", MOT_FEEDBACK_EF21);
    mot_buf g = gradient(5, 1);
    double before = press_norm2(mot_read(&env, g), DIM);
    for (int i = 0; i < 10; i++) {
        struct mot_slice packed = mot_pack(&env, &packer, mot_whole(&env, g), 1);
        struct mot_slice total = mot_gathered(&env, &packer, packed);
        double off = press_gap2(mot_read(&env, total.buf), mot_read(&env, g), DIM);
        CHECK(off <= 0.9 * before + 1e-9);
        before = off;
        mot_drop(&env, total.buf);
        mot_drop(&env, packed.buf);
    }
    CHECK(before < 1e-9);
    mot_drop(&env, g);
    end();
}

TEST(a_dense_step_sends_what_was_left_and_leaves_nothing)
{
    begin("topk", MOT_FEEDBACK_EF);
    conf.delta = 0.5;
    double given[DIM] = { 0 }, sent[DIM] = { 0 };
    mot_buf g = gradient(1, 1), h = gradient(2, 1);
    mot_weigh(&env, &packer, mot_whole(&env, g), 1);
    struct mot_slice a = mot_settle(&env, &packer, true);
    CHECK(mot_pool_packed(&pool, a.buf) > 0 && packer.rest != MOT_NO_BUF);
    mot_weigh(&env, &packer, mot_whole(&env, h), 1);
    struct mot_slice b = mot_settle(&env, &packer, false);
    CHECK(mot_pool_packed(&pool, b.buf) == 0 && packer.rest == MOT_NO_BUF);
    add(given, g, 1);
    add(given, h, 1);
    add(sent, a.buf, 1);
    add(sent, b.buf, 1);
    for (uint32_t i = 0; i < DIM; i++) CHECK_NEAR(sent[i], given[i], 1e-5 * (1 + fabs(given[i])));
    mot_drop(&env, a.buf);
    mot_drop(&env, b.buf);
    mot_drop(&env, g);
    mot_drop(&env, h);
    end();
}

/* The share of compressed steps on a fixed sequence of gradients without feedback, and the floats sent. */
static double share(double delta, double ratio, uint64_t *floats)
{
    unsigned compressed = 0;
    begin("topk", MOT_FEEDBACK_NONE);
    conf.delta = delta;
    conf.ratio = ratio;
    conf.smoothing = 0.5;
    *floats = 0;
    for (uint64_t i = 0; i < 60; i++) {
        mot_buf g = mot_take(&env);
        press_draw(mot_edit(&env, g), DIM, i);
        for (uint32_t k = 0; k < DIM; k++) /* ever flatter */
            if (i)
                mot_edit(&env, g)[k] =
                    copysignf(powf(fabsf(mot_edit(&env, g)[k]), 3.0f / (float)i), mot_edit(&env, g)[k]);
        struct mot_slice packed = mot_pack(&env, &packer, mot_whole(&env, g), 1);
        bool is = mot_pool_packed(&pool, packed.buf) > 0;
        compressed += is;
        *floats += is ? mot_packet_entries(mot_pool_packet(&pool, packed.buf), DIM) : DIM;
        mot_drop(&env, packed.buf);
        mot_drop(&env, g);
        out.n = 0;
    }
    end();
    return compressed / 60.0;
}

TEST(compressed_steps_grow_with_delta_and_ratio_and_floats_obey_their_formula)
{
    static const double deltas[] = { 0, 0.1, 0.2, 0.3, 0.4, 0.7, 1 }, ratios[] = { 0.01, 0.1, 0.3 };
    double before[MOT_COUNT(deltas)] = { 0 };
    for (size_t r = 0; r < MOT_COUNT(ratios); r++) {
        double last = 0;
        for (size_t d = 0; d < MOT_COUNT(deltas); d++) {
            uint64_t floats;
            double cnc = share(deltas[d], ratios[r], &floats);
            CHECK(cnc >= last && cnc >= before[d]);
            CHECK_NEAR((double)floats, DIM * 60.0 * ((1 - cnc) + cnc * ratios[r]), 1e-6);
            last = before[d] = cnc;
        }
        CHECK(last == 1);
    }
    CHECK(before[0] < before[3] && before[3] <= 1); /* it was not all or nothing */
}

TEST(half_of_the_workers_decide_and_one_fewer_do_not)
{
    static const struct {
        uint32_t workers, enough;
    } cases[] = { { 1, 1 }, { 2, 1 }, { 3, 1 }, { 4, 2 }, { 5, 2 }, { 16, 8 }, { 17, 8 } };
    for (size_t i = 0; i < MOT_COUNT(cases); i++) {
        struct mot_world w = { .workers = cases[i].workers };
        CHECK(mot_vote_passes(&w, cases[i].enough));
        CHECK(!mot_vote_passes(&w, cases[i].enough - 1));
    }
}

TEST(without_a_compressor_a_buffer_goes_as_it_is)
{
    begin("topk", MOT_FEEDBACK_EF);
    world.compress = NULL;
    mot_buf g = gradient(1, 1);
    struct mot_slice same = mot_pack(&env, &packer, mot_whole(&env, g), 1);
    CHECK(same.buf == g && same.off == 0 && same.len == DIM && mot_pool_count(&pool, g) == 2);
    CHECK(!mot_votes(&world));
    mot_drop(&env, g);
    mot_drop(&env, same.buf);
    end();
}

/* One bad gradient must not spoil all that follow. */
TEST(what_is_not_finite_is_sent_and_leaves_nothing_behind)
{
    for (size_t i = 1; mot_compressors[i]; i++) {
        if (strcmp(mot_compressors[i]->name, "randomk") == 0) continue; /* it may draw it later */
        begin(mot_compressors[i]->name, MOT_FEEDBACK_EF);
        mot_buf g = gradient(1, 1);
        mot_edit(&env, g)[1234] = NAN;
        struct mot_slice packed = mot_pack(&env, &packer, mot_whole(&env, g), 1);
        CHECK(isnan(mot_read(&env, packed.buf)[1234]));
        CHECK(packer.rest == MOT_NO_BUF);
        mot_drop(&env, packed.buf);
        mot_drop(&env, g);
        end();
    }
}

TEST_MAIN()
