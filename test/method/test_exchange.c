/* Segments to and from random peers: workers on the stack whose messages are handed over by hand. */
#include "base/memory.h"
#include "base/rng.h"
#include "method/exchange.h"
#include "run/outbox.h"
#include "run/peers.h"
#include "run/pool.h"
#include "test.h"

#define MOST 64u
#define DIM 90u
static const uint32_t sizes[] = { 2, 3, 4, 5, 7, 8, 13, 16, 31, 64 };
static const uint32_t tensor_at[] = { 0, 40, 45, 85, 90 };
static struct mot_pool pool;
static struct mot_outbox outbox;
static struct mot_world world;
static struct mot_env env[MOST];
static struct mot_exchange *exchange[MOST];
static mot_buf x[MOST], moved[MOST];
static uint32_t fields = 1;

static void begin_with(uint32_t n, uint32_t segments, enum mot_peer_draw draw, bool loose)
{
    world = (struct mot_world){
        .workers = n, .nodes = n, .dim = DIM, .tensors = 4, .tensor_at = tensor_at, .seed = n + 17
    };
    world.peers = mot_peer_maps_open(64, n);
    mot_pool_open(&pool, DIM, 40 * n + 400);
    mot_outbox_open(&outbox, 20000, 8);
    struct mot_exchange_plan plan = { .cut = { segments > 4 ? MOT_CUT_EQUAL : MOT_CUT_LAYERS, segments },
        .draw = draw,
        .peers = n,
        .size = 1,
        .fields = fields,
        .window = loose ? 2 : 4,
        .loose = loose };
    struct mot_need need = { .state_bytes = sizeof(struct mot_exchange) };
    mot_exchange_need(&plan, &need);
    for (uint32_t i = 0; i < n; i++) {
        exchange[i] = mot_new(1, need.state_bytes);
        env[i] = (struct mot_env){ .self = i, .world = &world, .pool = &pool, .out = &outbox };
        mot_exchange_init(exchange[i], &plan, 0);
        x[i] = mot_pool_take(&pool);
        moved[i] = mot_pool_take(&pool);
        struct mot_rng rng = mot_rng_at(n, MOT_RNG_TEST, i);
        for (uint32_t k = 0; k < DIM; k++) {
            mot_pool_at(&pool, x[i])[k] = (float)mot_rng_normal(&rng);
            mot_pool_at(&pool, moved[i])[k] = 0;
        }
    }
}

static void begin(uint32_t n, uint32_t segments) { begin_with(n, segments, MOT_PEERS_UNIFORM, false); }

static void end(void)
{
    for (uint32_t i = 0; i < world.workers; i++) free(exchange[i]);
    mot_peer_maps_close(world.peers);
    mot_outbox_close(&outbox);
    mot_pool_close(&pool);
}

/* Hands over what the outbox holds, answers too, but for what `lost` (UINT32_MAX: nobody) has to do with and
 * for one in `drops` segments (0: none), which never arrives. */
static uint32_t deliver(mot_node lost, uint32_t drops, struct mot_rng *rng)
{
    uint32_t messages = 0;
    for (uint32_t e = 0; e < outbox.n; e++) {
        if (outbox.effect[e].kind != MOT_FX_SEND) continue;
        struct mot_message m = outbox.effect[e].message;
        bool dropped = drops && m.kind == MOT_MSG_SEGMENT && mot_rng_below(rng, drops) == 0;
        messages += m.kind == MOT_MSG_SEGMENT;
        if (m.to != lost && m.from != lost && !dropped) mot_exchange_message(exchange[m.to], &env[m.to], &m);
        mot_pool_drop(&pool, m.body.buf);
    }
    mot_outbox_clear(&outbox);
    return messages;
}

/* A round of everyone but `lost`; returns how many segments were sent. */
static uint32_t mix(mot_node lost, uint32_t drops, struct mot_rng *rng)
{
    for (uint32_t i = 0; i < world.workers; i++)
        if (i != lost) mot_exchange_open(exchange[i], &env[i], &x[i]);
    uint32_t messages = deliver(lost, drops, rng);
    for (uint32_t i = 0; i < world.workers; i++) {
        if (i == lost) continue;
        mot_exchange_check(exchange[i], &env[i]);
        if (!drops && !mot_exchange_ready(exchange[i])) abort();
        mot_exchange_close(exchange[i], &env[i], &x[i], &moved[i]);
    }
    mot_outbox_clear(&outbox);
    return messages;
}

static void means(mot_node lost, double *mean)
{
    memset(mean, 0, DIM * sizeof *mean);
    uint32_t n = world.workers - (lost < world.workers);
    for (uint32_t i = 0; i < world.workers; i++)
        for (uint32_t k = 0; k < DIM && i != lost; k++) mean[k] += mot_pool_at(&pool, x[i])[k] / (double)n;
}

static double drift(const double *before, const double *after)
{
    double size = 0, way = 0;
    for (uint32_t k = 0; k < DIM; k++) {
        size += before[k] * before[k];
        way += (after[k] - before[k]) * (after[k] - before[k]);
    }
    return sqrt(way / size);
}

static double apart(void)
{
    double mean[DIM], sum = 0;
    means(UINT32_MAX, mean);
    for (uint32_t i = 0; i < world.workers; i++)
        for (uint32_t k = 0; k < DIM; k++) {
            double d = mot_pool_at(&pool, x[i])[k] - mean[k];
            sum += d * d;
        }
    return sum;
}

TEST(mixing_counts_every_float_once_however_many_segments_there_are)
{
    static const uint32_t segments[] = { 1, 3, 4, 30 };
    for (size_t k = 0; k < MOT_COUNT(segments); k++) {
        begin(2, segments[k]);
        for (uint32_t i = 0; i < 2; i++) mot_exchange_open(exchange[i], &env[i], &x[i]);
        deliver(UINT32_MAX, 0, NULL);
        for (uint32_t i = 0; i < 2; i++) {
            outbox.mixed = 0; /* what the simulator charges for */
            mot_exchange_close(exchange[i], &env[i], &x[i], NULL);
            CHECK_INT(outbox.mixed, DIM);
        }
        end();
    }
}

TEST(everyone_sends_and_gets_every_segment_once_and_the_mean_stays_over_100_rounds)
{
    for (int kind = MOT_PEERS_UNIFORM; kind <= MOT_PEERS_AUTHORS; kind++)
        for (size_t t = 0; t < MOT_COUNT(sizes); t++)
            for (uint32_t segments = 1; segments <= 9; segments += 4) {
                double before[DIM], after[DIM];
                begin_with(sizes[t], segments, (enum mot_peer_draw)kind, false);
                means(UINT32_MAX, before);
                for (int round = 0; round < 100; round++)
                    CHECK_INT(mix(UINT32_MAX, 0, NULL), sizes[t] * segments);
                means(UINT32_MAX, after);
                CHECK(drift(before, after) <= 1e-6);
                CHECK(apart() <= 1e-9 * DIM * sizes[t]);
                CHECK_INT(pool.used, 2 * sizes[t]); /* no buffer is left behind */
                end();
            }
}

TEST(two_workers_have_the_exact_mean_after_a_round)
{
    begin(2, 4);
    float mean[DIM];
    for (uint32_t k = 0; k < DIM; k++)
        mean[k] = 0.5f * (mot_pool_at(&pool, x[0])[k] + mot_pool_at(&pool, x[1])[k]);
    mix(UINT32_MAX, 0, NULL);
    for (int i = 0; i < 2; i++) CHECK(memcmp(mean, mot_pool_at(&pool, x[i]), sizeof mean) == 0);
    end();
}

TEST(with_one_segment_the_whole_model_comes_from_one_peer_and_with_several_from_several)
{
    for (uint32_t segments = 1; segments <= 4; segments += 3) {
        float old[8][DIM];
        uint32_t sources = 0;
        begin(8, segments);
        for (uint32_t i = 0; i < 8; i++) memcpy(old[i], mot_pool_at(&pool, x[i]), sizeof old[i]);
        mix(UINT32_MAX, 0, NULL);
        for (uint32_t i = 0; i < 8; i++) {
            bool from[8] = { false };
            for (uint32_t k = 0; k < DIM; k++) {
                uint32_t j = 0;
                while (j < 8 && (j == i || mot_pool_at(&pool, x[i])[k] != 0.5f * (old[i][k] + old[j][k])))
                    j++;
                CHECK(j < 8);
                sources += !from[j];
                from[j] = true;
            }
        }
        CHECK(segments == 1 ? sources == 8 : sources > 20);
        end();
    }
}

TEST(the_square_of_the_distance_shrinks_by_n_minus_2_over_2_n_minus_2_a_round)
{
    for (uint32_t n = 4; n <= 16; n *= 2) {
        double sum = 0;
        uint32_t rounds = 0;
        for (uint32_t again = 0; again < 400; again++) {
            begin(n, 9);
            world.seed = again;
            double before = apart();
            mix(UINT32_MAX, 0, NULL);
            sum += apart() / before;
            rounds++;
            end();
        }
        double want = (n - 2.0) / (2 * (n - 1.0));
        CHECK_NEAR(sum / rounds / want, 1, 0.03);
    }
}

TEST(segments_that_come_rounds_early_wait_for_theirs)
{
    /* Worker 2 of three is slow: what the others send it of three rounds arrives before it begins. */
    begin(3, 4);
    float old[DIM];
    memcpy(old, mot_pool_at(&pool, x[2]), sizeof old);
    for (uint64_t round = 0; round < 3; round++)
        for (uint32_t s = 0; s < 4; s++) {
            mot_node from = mot_peer_from(&env[2], MOT_PEERS_UNIFORM, 3, round, s, 2);
            struct mot_message m = { .from = from,
                .to = 2,
                .kind = MOT_MSG_SEGMENT,
                .head = { .round = round, .samples = s },
                .body = mot_segment(&world, &exchange[2]->plan.cut, s, x[from]) };
            CHECK(mot_exchange_admits(exchange[2], &env[2], &m, 4));
            CHECK(!mot_exchange_admits(exchange[2], &env[2], &m, round));
            mot_exchange_message(exchange[2], &env[2], &m);
            CHECK(!mot_exchange_admits(exchange[2], &env[2], &m, 4)); /* it is there */
            m.from = 1 - from;
            CHECK(!mot_exchange_admits(exchange[2], &env[2], &m, 4)); /* not from that one */
        }
    for (uint64_t round = 0; round < 3; round++) {
        mot_exchange_open(exchange[2], &env[2], &x[2]);
        CHECK(mot_exchange_ready(exchange[2]));
        for (uint32_t e = 0; e < outbox.n; e++) mot_pool_drop(&pool, outbox.effect[e].message.body.buf);
        mot_outbox_clear(&outbox);
        mot_exchange_close(exchange[2], &env[2], &x[2], NULL);
        for (uint32_t s = 0; s < 4; s++) {
            struct mot_slice slice = mot_segment(&world, &exchange[2]->plan.cut, s, x[2]);
            mot_node from = mot_peer_from(&env[2], MOT_PEERS_UNIFORM, 3, round, s, 2);
            for (uint32_t k = slice.off; k < slice.off + slice.len; k++)
                old[k] = 0.5f * old[k] + 0.5f * mot_pool_at(&pool, x[from])[k];
        }
        CHECK(memcmp(old, mot_pool_at(&pool, x[2]), sizeof old) == 0);
    }
    end();
}

/* ---- Loose ---------------------------------------------------------------------------------- */

TEST(loose_a_segment_is_either_mixed_whole_or_left_as_it_was)
{
    struct mot_rng rng = mot_rng_at(5, MOT_RNG_TEST, 0);
    begin_with(8, 4, MOT_PEERS_UNIFORM, true);
    for (int round = 0; round < 30; round++) {
        float old[8][DIM];
        uint32_t kept = 0;
        for (uint32_t i = 0; i < 8; i++) memcpy(old[i], mot_pool_at(&pool, x[i]), sizeof old[i]);
        mix(UINT32_MAX, 3, &rng);
        for (uint32_t i = 0; i < 8; i++)
            for (uint32_t s = 0; s < 4; s++) {
                struct mot_slice g = mot_segment(&world, &exchange[i]->plan.cut, s, x[i]);
                const float *now = mot_pool_at(&pool, x[i]) + g.off, *own = old[i] + g.off;
                mot_node j = mot_peer_from(&env[i], MOT_PEERS_UNIFORM, 8, (uint64_t)round, s, i);
                bool is_own = memcmp(now, own, g.len * sizeof(float)) == 0;
                kept += is_own;
                for (uint32_t k = 0; k < g.len && !is_own; k++)
                    CHECK(now[k] == 0.5f * own[k] + 0.5f * old[j][g.off + k]);
            }
        CHECK(round > 3 || (kept > 0 && kept < 32));
    }
    end();
}

TEST(loose_what_mixing_moved_accounts_for_the_drift_of_the_mean)
{
    struct mot_rng rng = mot_rng_at(6, MOT_RNG_TEST, 0);
    double before[DIM], after[DIM];
    begin_with(7, 4, MOT_PEERS_UNIFORM, true);
    means(UINT32_MAX, before);
    for (int round = 0; round < 10; round++) mix(UINT32_MAX, 3, &rng);
    means(UINT32_MAX, after);
    CHECK(drift(before, after) > 0.01);
    for (uint32_t k = 0; k < DIM; k++) {
        double sum = 0;
        for (uint32_t i = 0; i < 7; i++) sum += mot_pool_at(&pool, moved[i])[k];
        CHECK_NEAR(before[k] + sum / 7, after[k], 1e-6);
    }
    end();
}

TEST(loose_a_lost_peer_is_left_out_of_its_cycle_and_the_others_keep_their_mean)
{
    for (size_t t = 1; t < MOT_COUNT(sizes); t++) {
        double before[DIM], after[DIM];
        mot_node gone = sizes[t] / 2;
        begin_with(sizes[t], 4, MOT_PEERS_UNIFORM, true);
        for (uint32_t i = 0; i < sizes[t]; i++)
            if (i != gone) mot_exchange_lose(exchange[i], &env[i], gone);
        means(gone, before);
        for (int round = 0; round < 60; round++) mix(gone, 0, NULL);
        means(gone, after);
        CHECK(drift(before, after) <= 1e-6);
        end();
    }
}

TEST(loose_nobody_waits_for_a_peer_that_is_lost_in_the_middle_of_a_round)
{
    begin_with(5, 4, MOT_PEERS_UNIFORM, true);
    for (uint32_t i = 0; i < 5; i++)
        if (i != 3) mot_exchange_open(exchange[i], &env[i], &x[i]);
    deliver(3, 0, NULL);
    uint32_t waiting = 0;
    for (uint32_t i = 0; i < 5; i++) waiting += i != 3 && !mot_exchange_ready(exchange[i]);
    CHECK(waiting > 0);
    for (uint32_t i = 0; i < 5; i++) {
        if (i == 3) continue;
        mot_exchange_lose(exchange[i], &env[i], 3);
        CHECK(mot_exchange_ready(exchange[i]));
        mot_exchange_check(exchange[i], &env[i]);
    }
    end();
}

/* Segment 0 of that round from worker 1 to worker 0; `field` 0 is the model. */
static void hand_over_field(uint64_t round, uint32_t field)
{
    struct mot_message m = { .from = 1,
        .to = 0,
        .kind = MOT_MSG_SEGMENT,
        .head = { .round = round, .samples = field },
        .body = mot_segment(&world, &exchange[0]->plan.cut, 0, field ? moved[1] : x[1]) };
    CHECK(mot_exchange_admits(exchange[0], &env[0], &m, 0));
    mot_exchange_message(exchange[0], &env[0], &m);
}

static void hand_over(uint64_t round) { hand_over_field(round, 0); }

static uint32_t notes(const char *key)
{
    uint32_t n = 0;
    for (uint32_t e = 0; e < outbox.n; e++)
        n += outbox.effect[e].kind == MOT_FX_NOTE && strcmp(outbox.effect[e].note.key, key) == 0;
    return n;
}

TEST(loose_late_segments_are_used_within_the_window_and_dropped_and_counted_outside)
{
    begin_with(2, 1, MOT_PEERS_UNIFORM, true); /* a window of 2 rounds */
    exchange[0]->round = 10;
    hand_over(7);
    hand_over(13);
    CHECK_INT(notes("dropped_segments"), 2);
    hand_over(8);
    hand_over(9);
    hand_over(12);
    CHECK_INT(notes("dropped_segments"), 2);
    mot_exchange_open(exchange[0], &env[0], &x[0]);
    CHECK(!mot_exchange_ready(exchange[0]));
    float want[DIM];
    for (uint32_t k = 0; k < DIM; k++)
        want[k] = 0.5f * mot_pool_at(&pool, x[0])[k] + 0.5f * mot_pool_at(&pool, x[1])[k];
    mot_exchange_close(exchange[0], &env[0], &x[0], NULL);
    CHECK(memcmp(want, mot_pool_at(&pool, x[0]), sizeof want) == 0);
    CHECK_INT(notes("rounds_behind"), 1);    /* that of round 9 */
    CHECK_INT(notes("dropped_segments"), 3); /* that of round 8, which is older */
    mot_outbox_clear(&outbox);
    mot_exchange_open(exchange[0], &env[0], &x[0]);
    mot_exchange_close(exchange[0], &env[0], &x[0], NULL);
    CHECK_INT(notes("rounds_behind"), 0);
    mot_exchange_open(exchange[0], &env[0], &x[0]);
    CHECK(mot_exchange_ready(exchange[0])); /* that of round 12 */
    end();
}

TEST(loose_a_model_is_never_mixed_without_the_momentum_that_belongs_to_it)
{
    fields = 2;
    begin_with(2, 1, MOT_PEERS_UNIFORM, true); /* a window of 2 rounds */
    mot_buf both[2] = { x[0], moved[0] };
    float model[DIM], half[DIM], momentum[DIM];
    memcpy(model, mot_pool_at(&pool, both[0]), sizeof model);
    for (uint32_t k = 0; k < DIM; k++) {
        mot_pool_at(&pool, moved[1])[k] = (float)k;
        half[k] = 0.5f * model[k] + 0.5f * mot_pool_at(&pool, x[1])[k];
        momentum[k] = 0.5f * (float)k;
    }
    exchange[0]->round = 10;
    hand_over_field(10, 0);
    mot_exchange_open(exchange[0], &env[0], both);
    CHECK(!mot_exchange_ready(exchange[0]));
    mot_exchange_close(exchange[0], &env[0], both, NULL); /* the deadline */
    CHECK(memcmp(model, mot_pool_at(&pool, both[0]), sizeof model) == 0);
    /* Its momentum comes late: now both count, and the one that has only a momentum waits or goes. */
    hand_over_field(10, 1);
    hand_over_field(11, 1);
    mot_exchange_open(exchange[0], &env[0], both);
    mot_exchange_close(exchange[0], &env[0], both, NULL);
    CHECK(memcmp(half, mot_pool_at(&pool, both[0]), sizeof half) == 0);
    CHECK(memcmp(momentum, mot_pool_at(&pool, both[1]), sizeof momentum) == 0);
    CHECK_INT(notes("dropped_segments"), 0);
    for (int round = 0; round < 2; round++) {
        mot_exchange_open(exchange[0], &env[0], both);
        mot_exchange_close(exchange[0], &env[0], both, NULL);
        CHECK_INT(notes("rounds_behind"), 2);
    }
    /* the momentum of round 11, when it left the window; and of four rounds two were not answered */
    CHECK_INT(notes("dropped_segments"), 1 + 2 * 2);
    CHECK(memcmp(half, mot_pool_at(&pool, both[0]), sizeof half) == 0);
    fields = 1;
    end();
}

TEST(loose_a_worker_that_is_left_behind_goes_on_at_the_others_round)
{
    begin_with(2, 1, MOT_PEERS_UNIFORM, true);
    exchange[0]->round = 10;
    hand_over(9);
    hand_over(12);
    mot_exchange_catch_up(exchange[0], &env[0]);
    CHECK_INT(exchange[0]->round, 10); /* within the window */
    hand_over(14);
    CHECK_INT(notes("dropped_segments"), 1);
    mot_exchange_catch_up(exchange[0], &env[0]);
    CHECK_INT(exchange[0]->round, 14);
    CHECK_INT(notes("dropped_segments"), 2); /* that of round 9; that of round 12 is late and of use */
    hand_over(14);
    mot_exchange_open(exchange[0], &env[0], &x[0]);
    CHECK(mot_exchange_ready(exchange[0]));
    mot_exchange_close(exchange[0], &env[0], &x[0], NULL);
    CHECK_INT(notes("dropped_segments"), 3);
    end();
}

TEST(loose_a_peer_that_does_not_answer_gets_two_rounds_worth_and_no_more)
{
    begin_with(2, 4, MOT_PEERS_UNIFORM, true);
    for (int round = 0; round < 6; round++) {
        mot_exchange_open(exchange[0], &env[0], &x[0]);
        mot_exchange_close(exchange[0], &env[0], &x[0], NULL);
    }
    uint32_t sent = 0;
    for (uint32_t e = 0; e < outbox.n; e++) sent += outbox.effect[e].kind == MOT_FX_SEND;
    CHECK_INT(sent, 8);
    CHECK_INT(notes("dropped_segments"), 16);
    struct mot_message taken = { .from = 1, .to = 0, .kind = MOT_MSG_SEGMENT_TAKEN };
    for (int k = 0; k < 8; k++) {
        CHECK(mot_exchange_admits(exchange[0], &env[0], &taken, 0));
        mot_exchange_message(exchange[0], &env[0], &taken);
    }
    CHECK(!mot_exchange_admits(exchange[0], &env[0], &taken, 0)); /* for nothing that was sent */
    end();
}

TEST_MAIN()
