/* The exchange of models by itself: workers on the stack whose messages are handed over by hand. */
#include "base/memory.h"
#include "base/options.h"
#include "base/rng.h"
#include "run/outbox.h"
#include "run/pool.h"
#include "method/mixer.h"
#include "test.h"
#include "topology/mixing.h"

#define MOST 8u
#define DIM 700u /* more than one range */
static struct mot_pool pool;
static struct mot_outbox outbox;
static struct mot_mixing_plan plan;
static struct mot_world world;
static struct mot_env env[MOST];
static struct mot_mixer *mixer[MOST];
static mot_buf x[MOST];

static void begin(const char *topology, uint32_t workers)
{
    struct mot_arena arena = { 0 };
    struct mot_topology_conf conf = { 0 };
    const struct mot_topology *kind = NULL;
    for (size_t i = 0; mot_topologies[i]; i++)
        if (strcmp(mot_topologies[i]->name, topology) == 0) kind = mot_topologies[i];
    mot_options_preset(kind->options, &conf, &arena);
    conf.weights = MOT_WEIGHTS_LAPLACIAN;
    mot_arena_free(&arena);
    if (mot_mixing_open(kind, &conf, workers, 1, NAN, &plan) != MOT_OK) abort();
    world = (struct mot_world){ .workers = workers, .nodes = workers, .dim = DIM, .mixing = &plan.mixing };
    mot_pool_open(&pool, DIM, 400);
    mot_outbox_open(&outbox, 400, 8);
    for (uint32_t i = 0; i < workers; i++) {
        struct mot_need need = { .state_bytes = sizeof(struct mot_mixer) };
        mot_mixer_need(&world, i, true, &need);
        mixer[i] = mot_new(1, need.state_bytes);
        env[i] = (struct mot_env){ .self = i, .world = &world, .pool = &pool, .out = &outbox };
        mot_mixer_init(mixer[i], &env[i]);
        x[i] = mot_pool_take(&pool);
    }
}

static void end(void)
{
    for (uint32_t i = 0; i < world.workers; i++) free(mixer[i]);
    mot_outbox_close(&outbox);
    mot_pool_close(&pool);
    mot_mixing_close(&plan);
}

static void fill(uint64_t seed, bool alike)
{
    for (uint32_t i = 0; i < world.workers; i++) {
        struct mot_rng rng = mot_rng_at(seed, MOT_RNG_TEST, alike ? 0 : i);
        for (uint32_t k = 0; k < DIM; k++) mot_pool_at(&pool, x[i])[k] = (float)mot_rng_normal(&rng);
    }
}

/* Hands over all that the outbox holds, but to and from `lost`. */
static void deliver(mot_node lost)
{
    for (uint32_t e = 0; e < outbox.n; e++) {
        const struct mot_message *m = &outbox.effect[e].message;
        if (m->to != lost && m->from != lost) mot_mixer_message(mixer[m->to], &env[m->to], m);
        mot_pool_drop(&pool, m->body.buf);
    }
    mot_outbox_clear(&outbox);
}

static void mix(uint64_t round, mot_node lost)
{
    for (uint32_t i = 0; i < world.workers; i++)
        if (i != lost) mot_mixer_open(mixer[i], &env[i], round, x[i], NULL);
    deliver(lost);
    mot_buf next[MOST];
    for (uint32_t i = 0; i < world.workers; i++) {
        if (i == lost) continue;
        mot_mixer_check(mixer[i], &env[i]);
        if (!mot_mixer_ready(mixer[i])) abort();
        next[i] = mot_mixer_close(mixer[i], &env[i], x[i]);
    }
    for (uint32_t i = 0; i < world.workers; i++) {
        if (i == lost) continue;
        mot_pool_drop(&pool, x[i]);
        x[i] = next[i];
    }
}

static double mean_at(uint32_t k, mot_node lost)
{
    double sum = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < world.workers; i++) {
        if (i == lost) continue;
        sum += mot_pool_at(&pool, x[i])[k];
        n++;
    }
    return sum / n;
}

static double largest(void)
{
    double most = 0;
    for (uint32_t i = 0; i < world.workers; i++)
        for (uint32_t k = 0; k < DIM; k++) most = fmax(most, fabs((double)mot_pool_at(&pool, x[i])[k]));
    return most;
}

/* How far the mean of any parameter moves in a round, in units of 2^-24
 * times the largest parameter: at most 1 is promised. */
static double drift(uint64_t round, mot_node lost)
{
    double before[DIM], moved = 0, most = largest();
    for (uint32_t k = 0; k < DIM; k++) before[k] = mean_at(k, lost);
    mix(round, lost);
    most = fmax(most, largest());
    for (uint32_t k = 0; k < DIM; k++) moved = fmax(moved, fabs(mean_at(k, lost) - before[k]));
    return moved / (most * 0x1p-24);
}

TEST(averaging_keeps_the_mean_to_half_a_unit_in_the_last_place_of_the_largest)
{
    static const char *const names[] = { "ring", "star", "rcd", "exponential", "complete" };
    for (size_t t = 0; t < MOT_COUNT(names); t++) {
        begin(names[t], 8);
        fill(t + 1, false);
        for (uint64_t round = 0; round < 50; round++) {
            double moved = drift(round, MOST);
            if (moved > 1.0001) FAIL("%s, round %d: %g", names[t], (int)round, moved);
        }
        end();
    }
}

TEST(models_come_together_as_fast_as_the_norm_says)
{
    begin("rcd", 8);
    fill(3, false);
    double first = 0, last = 0;
    for (int after = 0; after < 2; after++) {
        double *apart = after ? &last : &first;
        for (uint32_t i = 0; i < 8; i++)
            for (uint32_t k = 0; k < DIM; k++) {
                double d = mot_pool_at(&pool, x[i])[k] - mean_at(k, MOST);
                *apart += d * d;
            }
        for (uint64_t round = 0; round < 10 && !after; round++) mix(round, MOST);
    }
    double bound = first;
    for (int k = 0; k < 20; k++) bound *= plan.norm;
    CHECK(last <= bound * 1.0001 && last > 0.01 * bound);
    end();
}

TEST(equal_models_stay_what_they_are_bit_for_bit)
{
    begin("rcd", 8);
    fill(1, true);
    float before[DIM];
    memcpy(before, mot_pool_at(&pool, x[0]), sizeof(before));
    for (uint64_t round = 0; round < 100; round++) mix(round, MOST);
    for (uint32_t i = 0; i < 8; i++) CHECK(memcmp(before, mot_pool_at(&pool, x[i]), sizeof(before)) == 0);
    end();
}

TEST(in_a_complete_graph_all_have_the_same_mean_after_one_round)
{
    begin("complete", 8);
    fill(1, false);
    mix(0, MOST);
    for (uint32_t i = 1; i < 8; i++)
        CHECK(memcmp(mot_pool_at(&pool, x[0]), mot_pool_at(&pool, x[i]), DIM * sizeof(float)) == 0);
    end();
}

TEST(without_a_lost_neighbour_the_others_keep_their_mean)
{
    begin("exponential", 8);
    fill(2, false);
    mix(0, MOST);
    uint32_t neighbours = 0;
    for (uint32_t i = 0; i < 8; i++) neighbours += i != 3 && mot_mixer_lose(mixer[i], &env[i], 3);
    CHECK_INT(neighbours, 5); /* 1 and 2 away on both sides, and 4 */
    for (uint64_t round = 1; round < 30; round++) CHECK(drift(round, 3) <= 1.0001);
    end();
}

TEST(a_model_of_the_next_round_waits_for_its_turn)
{
    begin("ring", 4);
    fill(5, false);
    mot_mixer_open(mixer[0], &env[0], 0, x[0], NULL);
    for (uint32_t e = 0; e < outbox.n; e++) mot_pool_drop(&pool, outbox.effect[e].message.body.buf);
    mot_outbox_clear(&outbox);
    for (uint64_t round = 0; round < 2; round++) { /* worker 1 is one round ahead of worker 3 */
        struct mot_message m = { .from = 1,
            .to = 0,
            .kind = MOT_MSG_PEER_MODEL,
            .head = { .round = round },
            .body = { x[round ? 2 : 1], 0, DIM } };
        mot_mixer_message(mixer[0], &env[0], &m);
    }
    CHECK(!mot_mixer_ready(mixer[0]));
    struct mot_message m = {
        .from = 3, .to = 0, .kind = MOT_MSG_PEER_MODEL, .head = { .round = 0 }, .body = { x[3], 0, DIM }
    };
    mot_mixer_message(mixer[0], &env[0], &m);
    CHECK(mot_mixer_ready(mixer[0]));
    double a = plan.alpha;
    mot_buf y = mot_mixer_close(mixer[0], &env[0], x[0]);
    for (uint32_t k = 0; k < DIM; k++)
        CHECK_NEAR(mot_pool_at(&pool, y)[k],
            (1 - 2 * a) * mot_pool_at(&pool, x[0])[k] + a * mot_pool_at(&pool, x[1])[k] +
                a * mot_pool_at(&pool, x[3])[k],
            1e-6);
    mot_mixer_check(mixer[0], &env[0]);
    mot_mixer_open(mixer[0], &env[0], 1, y, NULL);
    CHECK_INT(mixer[0]->missing, 1); /* worker 1's is here */
    end();
}

TEST(no_buffer_is_leaked)
{
    begin("rcd", 8);
    fill(1, false);
    mix(0, MOST);
    uint32_t used = pool.used;
    for (uint64_t round = 1; round < 20; round++) mix(round, MOST);
    CHECK_INT(pool.used, used);
    end();
}

TEST_MAIN()
