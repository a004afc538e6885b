/* Push-sum by itself: workers on the heap whose shares are handed over by hand, in step or in any order that
 * keeps what a pair of workers sends in order. */
#include "method/pushsum.h"
#include "base/leaps.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/rng.h"
#include "run/outbox.h"
#include "run/pool.h"
#include "test.h"
#include "topology/mixing.h"
#include <math.h>
#include <stdlib.h>

#define MOST 64u
#define DIM 5u
#define BUFFERS 40000u
#define STRIDE(ordinary, sanitized) (SANITIZED ? (sanitized) : (ordinary)) /* between numbers of workers */

static struct mot_pool pool;
static struct mot_outbox outbox;
static struct mot_mixing_plan mixing;
static struct mot_world world;
static struct mot_push_plan plan;
static struct node {
    struct mot_env env;
    struct mot_need need;
    struct mot_push *push;
    mot_buf z;
    uint64_t round;
    bool sent, dead; /* sent: it waits for shares of the round */
    uint32_t in_flight, in_flight_most;
} node[MOST];
static struct mot_message flight[BUFFERS]; /* in the order sent */
static uint32_t flights;
static double mean[DIM];

static void link_up(const char *topology, const char *list, uint32_t workers)
{
    struct mot_arena arena = { 0 };
    struct mot_topology_conf conf = { 0 };
    const struct mot_topology *kind = NULL;
    for (size_t i = 0; mot_topologies[i]; i++)
        if (strcmp(mot_topologies[i]->name, topology) == 0) kind = mot_topologies[i];
    mot_options_preset(kind->options, &conf, &arena);
    if (list) conf.list = list;
    if (mot_mixing_open(kind, &conf, workers, 1, NAN, &mixing) != MOT_OK) abort();
    mot_arena_free(&arena);
}

/* topology NULL: the exponential graph */
static void begin(const char *topology, const char *list, uint32_t workers, uint32_t peers, uint32_t lag,
    bool goes_on, uint64_t seed)
{
    plan = (struct mot_push_plan){ topology ? MOT_PUSH_TOPOLOGY : MOT_PUSH_EXPONENTIAL, peers, lag, goes_on };
    if (topology) link_up(topology, list, workers);
    world = (struct mot_world){
        .workers = workers, .nodes = workers, .dim = DIM, .mixing = topology ? &mixing.mixing : NULL
    };
    mot_pool_open(&pool, DIM, BUFFERS);
    mot_outbox_open(&outbox, 200, 8);
    flights = 0;
    memset(mean, 0, sizeof mean);
    for (uint32_t i = 0; i < workers; i++) {
        struct node *n = &node[i];
        struct mot_rng rng = mot_rng_at(seed, MOT_RNG_TEST, i);
        *n = (struct node){ .need = { .state_bytes = sizeof(struct mot_push) } };
        mot_push_need(&plan, &world, i, &n->need);
        n->push = mot_new(1, n->need.state_bytes);
        n->env = (struct mot_env){ .self = i, .world = &world, .pool = &pool, .out = &outbox };
        mot_push_init(n->push, &n->env, &plan, 0, 1);
        n->z = mot_pool_take(&pool);
        for (uint32_t k = 0; k < DIM; k++) {
            mot_pool_at(&pool, n->z)[k] = (float)mot_rng_normal(&rng);
            mean[k] += (double)mot_pool_at(&pool, n->z)[k] / workers;
        }
    }
}

static void end(void)
{
    for (uint32_t i = 0; i < world.workers; i++) free(node[i].push);
    mot_outbox_close(&outbox);
    mot_pool_close(&pool);
    if (world.mixing) mot_mixing_close(&mixing);
}

/* ---- Moving ---------------------------------- */

static void send(struct node *n)
{
    mot_push_send(n->push, &n->env, n->round, n->z);
    n->sent = true;
    for (uint32_t e = 0; e < outbox.n; e++) {
        flight[flights++] = outbox.effect[e].message;
        n->in_flight++;
    }
    if (n->in_flight > n->in_flight_most) n->in_flight_most = n->in_flight;
    mot_outbox_clear(&outbox);
}

static bool fold(struct node *n)
{
    if (!n->sent || !mot_push_ready(n->push, n->round)) return false;
    n->z = mot_push_fold(n->push, &n->env, n->round, n->z);
    n->sent = false;
    n->round++;
    mot_push_check(n->push, &n->env);
    return true;
}

static bool deliver(uint32_t f)
{
    struct mot_message m = flight[f];
    memmove(&flight[f], &flight[f + 1], (--flights - f) * sizeof m);
    struct node *to = &node[m.to];
    node[m.from].in_flight--;
    bool admitted = to->dead || mot_push_admits(to->push, &to->env, &m);
    if (!to->dead && admitted) {
        mot_push_message(to->push, &to->env, &m);
        mot_push_check(to->push, &to->env);
    }
    mot_pool_drop(&pool, m.body.buf);
    return admitted;
}

/* A round of all, in step. */
static bool all_round(void)
{
    bool fine = true;
    for (uint32_t i = 0; i < world.workers; i++)
        if (!node[i].dead) send(&node[i]);
    while (flights) fine &= deliver(0);
    for (uint32_t i = 0; i < world.workers; i++)
        if (!node[i].dead) fine &= fold(&node[i]);
    return fine;
}

static double mass(void)
{
    double sum = 0;
    for (uint32_t i = 0; i < world.workers; i++)
        if (!node[i].dead) sum += mot_push_mass(node[i].push);
    return sum;
}

/* The largest distance of any model from the mean of all at the start. */
static double error(void)
{
    double most = 0;
    for (uint32_t i = 0; i < world.workers; i++)
        for (uint32_t k = 0; k < DIM && !node[i].dead; k++)
            most = fmax(most, fabs((double)mot_pool_at(&pool, node[i].z)[k] - mean[k]));
    return most;
}

/* ---- Must hold ---------------------------------- */

TEST(with_a_power_of_2_of_workers_all_have_the_mean_after_just_log2_rounds_and_with_others_they_do_not)
{
    for (uint32_t n = 2; n <= MOST; n += STRIDE(1u, 7u)) { /* 16, too */
        uint32_t leaps = mot_leaps(n);
        bool power = (n & (n - 1)) == 0;
        begin(NULL, NULL, n, 1, 0, false, n);
        for (uint32_t t = 0; t < leaps; t++) {
            CHECK(error() > 1e-3);
            CHECK(all_round());
        }
        CHECK(power ? error() <= 1e-6 : error() > 1e-3);
        /* the matrix is doubly stochastic: no weight ever differs from 1 */
        for (uint32_t i = 0; i < n; i++) CHECK_NEAR(node[i].push->weight, 1, 1e-12);
        for (uint32_t t = 0; t < 200; t++) CHECK(all_round());
        CHECK(error() <= 1e-6);
        end();
    }
}

/* What push-sum would be without weights: each takes the mean of what it has and gets. */
static double plain_error(uint32_t rounds)
{
    double x[MOST][DIM], next[MOST][DIM], most = 0;
    uint32_t n = world.workers;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < DIM; k++) x[i][k] = (double)mot_pool_at(&pool, node[i].z)[k];
    for (uint32_t t = 0; t < rounds; t++) {
        for (uint32_t i = 0; i < n; i++) {
            uint32_t from = world.mixing->at[i], to = world.mixing->at[i + 1];
            for (uint32_t k = 0; k < DIM; k++) {
                double sum = x[i][k];
                for (uint32_t e = from; e < to; e++) sum += x[world.mixing->near[e].node][k];
                next[i][k] = sum / (to - from + 1);
            }
        }
        memcpy(x, next, sizeof x);
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < DIM; k++) most = fmax(most, fabs(x[i][k] - mean[k]));
    return most;
}

TEST(on_irregular_graphs_weights_sum_to_n_and_all_get_the_mean_where_plain_averaging_misses_it)
{
    static const struct {
        const char *topology, *list;
        uint32_t workers, rounds;
    } graphs[] = { { "star", NULL, 3, 200 }, { "star", NULL, 13, 400 }, { "star", NULL, 64, 2000 },
        { "edges", "0-1, 1-2, 2-3, 3-4, 4-0, 0-2, 0-3", 5, 400 },
        { "edges", "0-1, 1-2, 2-3, 3-4, 4-5, 5-6, 0-3, 2-5", 7, 800 } };
    for (size_t g = 0; g < MOT_COUNT(graphs); g++)
        for (uint32_t lag = 0; lag <= 3; lag++) {
            uint32_t n = graphs[g].workers, rounds = graphs[g].rounds * (lag + 1);
            if (SANITIZED && n == 64) continue; /* as a star of 13, a hundred times as long */
            begin(graphs[g].topology, graphs[g].list, n, 1, lag, false, 7);
            double plain = plain_error(rounds);
            for (uint32_t t = 0; t < rounds; t++) {
                CHECK(all_round());
                CHECK_NEAR(mass() / n, 1, 1e-12);
            }
            CHECK(error() <= 2e-6 && plain > 1e-2);
            end();
        }
}

TEST(late_shares_and_several_peers_bring_the_mean_too_and_no_weight_is_lost)
{
    for (uint32_t n = 1; n <= 23; n += STRIDE(1u, 5u))
        for (uint32_t peers = 1; peers <= (n > 1 ? mot_leaps(n) : 1); peers++)
            for (uint32_t lag = 0; lag <= 5; lag += 1 + lag / 2) {
                begin(NULL, NULL, n, peers, lag, false, 100 * n + lag);
                for (uint32_t t = 0; t < 60 * (lag + 2); t++) {
                    CHECK(all_round());
                    CHECK_NEAR(mass() / n, 1, 1e-12);
                }
                CHECK(error() <= 1e-6);
                if (peers == 1 && lag && n > 1) /* as the text of osgp says */
                    CHECK_NEAR(node[0].push->weight, 2.0 / (2 + lag), 1e-6);
                end();
            }
}

/* ---- Order ---------------------------------- */

/* Lets workers go as far as they can while one of them, or one link, stands still; now and then it moves. All
 * shares must be admitted, and no seat may need more room than it has: with less, two would be joined and the
 * sum of weights in seats would be right, but a run would depend on who was fast. */
static bool race(uint64_t seed, uint32_t rounds)
{
    struct mot_rng rng = mot_rng_at(seed, MOT_RNG_TEST, 999);
    uint32_t n = world.workers;
    for (uint32_t moves = 0; moves < rounds * n; moves++) {
        mot_node slow = (mot_node)mot_rng_below(&rng, n);
        bool link = mot_rng_below(&rng, 2), moved = true;
        mot_node other = (mot_node)mot_rng_below(&rng, n);
        for (uint32_t turns = 0; moved && turns < 100;
             turns++) { /* nothing stands still if there is no link */
            moved = false;
            for (uint32_t i = 0; i < n; i++) {
                if ((!link && i == slow) || node[i].dead) continue;
                if (!node[i].sent) send(&node[i]), moved = true;
                moved |= fold(&node[i]);
            }
            for (uint32_t f = 0; f < flights;) {
                bool held = link ? flight[f].from == slow && flight[f].to == other : flight[f].to == slow;
                if (held) f++;
                else if (!deliver(f)) return false;
                else moved = true;
            }
        }
        if (!node[slow].dead && !node[slow].sent) send(&node[slow]);
        fold(&node[slow]);
        while (flights)
            if (!deliver(0)) return false;
    }
    return true;
}

/* All come to the same round: what they then have depends on nothing but the rounds. */
static uint64_t settle(void)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < world.workers; i++)
        if (node[i].round > last) last = node[i].round;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < world.workers; i++) {
            if (node[i].round < last && !node[i].sent) send(&node[i]), moved = true;
            while (flights) deliver(0);
            if (node[i].round < last) moved |= fold(&node[i]);
        }
    }
    return last;
}

TEST(in_any_order_of_events_rounds_give_the_same_bits_and_what_is_declared_suffices)
{
    uint64_t seed = 5;
    printf("  seed %llu\n", (unsigned long long)seed);
    for (uint32_t n = 2; n <= 17; n += STRIDE(1u, 5u))
        for (uint32_t lag = 0; lag <= 4; lag++) {
            uint32_t peers = 1 + (n + lag) % mot_leaps(n);
            const char *topology = (n + lag) % 3 == 0 ? "star" : NULL;
            begin(topology, NULL, n, topology ? 1 : peers, lag, false, seed);
            CHECK(race(seed, 3));
            uint64_t rounds = settle();
            float after[MOST][DIM];
            for (uint32_t i = 0; i < n; i++) {
                CHECK(node[i].round == rounds && node[i].in_flight_most <= node[i].need.sends);
                memcpy(after[i], mot_pool_at(&pool, node[i].z), sizeof after[i]);
            }
            end();
            begin(topology, NULL, n, topology ? 1 : peers, lag, false, seed);
            for (uint64_t t = 0; t < rounds; t++) CHECK(all_round());
            for (uint32_t i = 0; i < n; i++)
                CHECK(memcmp(after[i], mot_pool_at(&pool, node[i].z), sizeof after[i]) == 0);
            end();
        }
}

TEST(a_sender_gets_as_far_ahead_of_its_receiver_as_there_are_exponents_and_no_farther)
{
    for (uint32_t n = 2; n <= 32; n++) {
        begin(NULL, NULL, n, 1, 0, false, 3);
        CHECK_INT(node[0].push->room, 2);
        for (bool moved = true; moved;) { /* worker 0 stands still */
            moved = false;
            for (uint32_t i = 1; i < n; i++) {
                if (!node[i].sent) send(&node[i]), moved = true;
                moved |= fold(&node[i]);
            }
            while (flights) CHECK(deliver(0));
        }
        uint64_t ahead = 0;
        for (uint32_t i = 1; i < n; i++)
            if (node[i].round > ahead) ahead = node[i].round;
        /* whoever hears of worker 0 last, over all exponents, has sent in rounds 0 to leaps - 1 */
        CHECK(ahead <= mot_leaps(n) && (n & (n - 1) ? ahead + 1 >= mot_leaps(n) : ahead + 1 == mot_leaps(n)));
        end();
    }
}

TEST(shares_out_of_turn_from_strangers_or_without_a_weight_are_refused)
{
    begin(NULL, NULL, 6, 1, 0, false, 1);
    send(&node[5]);
    struct mot_message good = flight[0], m;
    CHECK(good.to == 0 && good.head.round == 0 && mot_push_admits(node[0].push, &node[0].env, &good));
#define REFUSED(change) (m = good, (change), !mot_push_admits(node[0].push, &node[0].env, &m))
    CHECK(REFUSED(m.kind = 1));
    CHECK(REFUSED(m.from = 3));
    CHECK(REFUSED(m.from = 4)); /* its turn is round 1 */
    CHECK(REFUSED(m.head.round = 3));
    CHECK(REFUSED(m.head.round = UINT64_MAX));
    CHECK(REFUSED(m.head.samples = 1));
    CHECK(REFUSED(m.head.value = 0));
    CHECK(REFUSED(m.head.value = -1));
    CHECK(REFUSED(m.head.value = 7));
    CHECK(REFUSED(m.head.value = (double)NAN));
    CHECK(REFUSED(m.body.len = DIM - 1));
    CHECK(REFUSED(m.body.buf = MOT_NO_BUF));
    mot_push_message(node[0].push, &node[0].env, &good);
    CHECK(REFUSED(m.head.round = 0));  /* twice */
    CHECK(!REFUSED(m.head.round = 3)); /* its next turn */
    end();
}

/* ---- Losses ---------------------------------- */

static enum mot_push_loss lose(mot_node lost)
{
    enum mot_push_loss worst = MOT_PUSH_STRANGER;
    node[lost].dead = true;
    for (uint32_t i = 0; i < world.workers; i++) {
        if (node[i].dead) continue;
        enum mot_push_loss how = mot_push_lose(node[i].push, &node[i].env, lost);
        if (how > worst) worst = how;
    }
    return worst;
}

TEST(the_others_agree_without_a_lost_worker_and_only_its_weight_is_gone)
{
    for (uint32_t n = 2; n <= 32; n += STRIDE(1u, 10u))
        for (uint32_t lag = 0; lag <= 2; lag++) {
            begin(NULL, NULL, n, 1, lag, true, n);
            for (uint32_t t = 0; t < 3; t++) CHECK(all_round());
            mot_node lost = n / 2;
            CHECK_INT(lose(lost), MOT_PUSH_PEER);
            CHECK(race(n, 1)); /* in any order, and within what is declared */
            for (uint32_t i = 0; i < n; i++) CHECK(node[i].in_flight_most <= node[i].need.sends);
            end();

            begin(NULL, NULL, n, 1, lag, true, n);
            for (uint32_t t = 0; t < 3; t++) CHECK(all_round());
            lose(lost);
            for (uint32_t t = 0; t < 400 * (lag + 1); t++) CHECK(all_round());
            CHECK_NEAR(mass(), n - 1, 1e-9); /* its own and what was under way to it */
            double apart = 0;
            for (uint32_t i = 0; i < n; i++)
                for (uint32_t k = 0; k < DIM && !node[i].dead; k++)
                    apart = fmax(apart,
                        fabs((double)(mot_pool_at(&pool, node[i].z)[k] -
                            mot_pool_at(&pool, node[lost == 0].z)[k])));
            CHECK(apart <= 1e-5);
            end();
        }
}

TEST(who_sends_to_workers_that_can_no_longer_reach_it_learns_that_it_is_cut_off)
{
    /* Of 8 workers 0 sends to 1, 2 and 4, and gets from 7, 6 and 4. Without 1, 2 and 4 it would only get. */
    begin(NULL, NULL, 8, 1, 0, true, 1);
    CHECK_INT(lose(1), MOT_PUSH_PEER);
    CHECK_INT(lose(2), MOT_PUSH_PEER);
    CHECK_INT(lose(4), MOT_PUSH_CUT_OFF);
    end();
    /* Over a topology links have two ends: nobody is cut off, though there may be two camps. */
    begin("ring", NULL, 8, 1, 0, true, 1);
    CHECK_INT(lose(1), MOT_PUSH_PEER);
    CHECK_INT(lose(5), MOT_PUSH_PEER);
    for (uint32_t t = 0; t < 50; t++) CHECK(all_round());
    CHECK_NEAR(mass(), 6, 1e-9);
    end();
}

TEST(a_share_more_than_there_is_room_is_joined_to_the_one_before_and_its_weight_counts)
{
    begin(NULL, NULL, 4, 1, 0, false, 2);
    struct node *from = &node[3], *to = &node[0];
    uint32_t sent = to->push->room + 2;
    double weight = 0;
    for (uint32_t i = 0; i < sent; i++) {
        struct mot_message m = { .from = from->env.self,
            .to = 0,
            .kind = MOT_MSG_SHARE,
            .head = { .round = 2 * i, .value = 0.25 },
            .body = mot_whole(&to->env, from->z) };
        CHECK(mot_push_admits(to->push, &to->env, &m));
        mot_push_message(to->push, &to->env, &m);
        mot_push_check(to->push, &to->env);
        weight += 0.25;
    }
    /* folded in all at once: what worker 3 sent and worker 0's own, by weight */
    double expected =
        (1 * (double)mot_pool_at(&pool, to->z)[0] + weight * (double)mot_pool_at(&pool, from->z)[0]) /
        (1 + weight);
    for (uint64_t t = 0; t < 2 * to->push->room; t++) to->z = mot_push_fold(to->push, &to->env, t, to->z);
    CHECK_NEAR(to->push->weight, 1 + weight, 1e-12);
    CHECK_NEAR((double)mot_pool_at(&pool, to->z)[0], expected, 1e-6);
    end();
}

TEST_MAIN()
