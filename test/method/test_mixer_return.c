/* Workers that are lost and come back, over links that deliver when they like: each pair of nodes has a
 * queue of its own, in which word of a loss or a return takes its turn like any message, so nodes hear of
 * them at different times. Random orders; MOTLEY_SEED=N for one. */
#include "base/memory.h"
#include "base/options.h"
#include "base/rng.h"
#include "math/optim.h"
#include "method/mixer.h"
#include "run/outbox.h"
#include "run/pool.h"
#include "test.h"
#include "topology/mixing.h"
#include <stdlib.h>

#define WORKERS 6u
#define DIM 8u
#define ROUNDS 400u
#define LIVES 8u
#define QUEUE 64u

#if SANITIZED
#define SEEDS 100u
#else
#define SEEDS 1000u
#endif

enum entry_kind { ENTRY_MESSAGE, ENTRY_LOST, ENTRY_BACK };
struct entry {
    enum entry_kind kind;
    struct mot_message message;
    uint32_t life; /* message: of the receiver it was meant for; else: the new one of the sender */
};
struct queue {
    struct entry entry[QUEUE];
    uint32_t n;
};
struct node {
    struct mot_env env;
    struct mot_mixer *mixer;
    size_t bytes;
    struct mot_params params;
    struct mot_ledger ledger;
    uint64_t round;
    uint32_t life, known[WORKERS]; /* known: the others' lives, as far as it has heard */
    bool begun, dead;
};

static struct mot_pool pool;
static struct mot_outbox outbox;
static struct mot_mixing_plan plan;
static struct mot_optim optim;
static struct mot_world world;
static struct node node[WORKERS];
static struct queue queue[WORKERS][WORKERS];
static uint8_t used[WORKERS][LIVES][ROUNDS][WORKERS]; /* 1 + the life of the neighbour whose model it took */
static bool ended[WORKERS][LIVES][ROUNDS];
static uint64_t period, rounds; /* rounds: nobody begins this one */
static unsigned entered;

static bool every_other(const struct mot_env *env, uint64_t round, uint32_t matching)
{
    struct mot_rng rng = mot_rng_at(env->world->seed, MOT_RNG_METHOD, round);
    rng.count = matching;
    return mot_rng_unit(&rng) < 0.5;
}

static mot_uses *uses(void) { return plan.mixing.matchings ? every_other : NULL; }

/* ---- Queues ---------------------------------------------------------------------------------------- */

static void put(mot_node from, mot_node to, struct entry e)
{
    struct queue *q = &queue[from][to];
    if (q->n == QUEUE) abort();
    q->entry[q->n++] = e;
}

static struct entry pop(struct queue *q)
{
    struct entry e = q->entry[0];
    memmove(q->entry, q->entry + 1, --q->n * sizeof(e));
    return e;
}

static void clear(struct queue *q)
{
    while (q->n) {
        struct entry e = pop(q);
        if (e.kind == ENTRY_MESSAGE) mot_pool_drop(&pool, e.message.body.buf);
    }
}

static void flush(struct node *n)
{
    for (uint32_t i = 0; i < outbox.n; i++) {
        const struct mot_message *m = &outbox.effect[i].message;
        if (node[m->to].dead) mot_pool_drop(&pool, m->body.buf);
        else put(n->env.self, m->to, (struct entry){ .message = *m, .life = n->known[m->to] });
    }
    mot_outbox_clear(&outbox);
    mot_mixer_check(n->mixer, &n->env);
    outbox.ledger = NULL;
}

/* ---- What a node does ------------------------------------------------------------------------------- */

static uint64_t next_of(const struct node *n) { return n->round + n->begun; }

static struct node *turn(mot_node i)
{
    outbox.ledger = &node[i].ledger;
    return &node[i];
}

static void begin_round(mot_node i)
{
    struct node *n = turn(i);
    n->begun = true;
    if (n->round % period == 0) mot_mixer_open(n->mixer, &n->env, n->round, n->params.x, uses());
    flush(n);
}

static bool can_end(const struct node *n)
{
    return n->begun && (!n->mixer->open || mot_mixer_ready(n->mixer));
}

static void end_round(mot_node i)
{
    struct node *n = turn(i);
    const struct mot_near *near = mot_mixer_near(&n->env);
    for (uint32_t k = 0; n->mixer->open && k < n->mixer->seats; k++)
        if (mot_mixer_seats(n->mixer)[k].used)
            used[i][n->life][n->round][near[k].node] = (uint8_t)(1 + n->known[near[k].node]);
    if (n->mixer->open) {
        mot_buf mean = mot_mixer_close(n->mixer, &n->env, n->params.x);
        mot_drop(&n->env, n->params.x);
        n->params.x = mean;
    }
    ended[i][n->life][n->round] = true;
    n->params.step = ++n->round;
    n->begun = false;
    flush(n);
}

static void hear_message(struct node *n, const struct mot_message *m)
{
    CHECK(mot_mixer_admits(n->mixer, &n->env, m, next_of(n), period, uses()));
    if (m->kind == MOT_MSG_PEER_MODEL) mot_mixer_message(n->mixer, &n->env, m);
    else if (mot_mixer_greeted(n->mixer, &n->env, m, &n->params, next_of(n)) == MOT_GREETING_ENTERED) {
        n->round = n->params.step;
        entered++;
    }
}

static void hear(mot_node from, mot_node to)
{
    struct entry e = pop(&queue[from][to]);
    struct node *n = turn(to);
    if (e.kind == ENTRY_LOST) mot_mixer_lose(n->mixer, &n->env, from);
    if (e.kind == ENTRY_BACK) {
        n->known[from] = e.life;
        mot_mixer_return(n->mixer, &n->env, from, &n->params, next_of(n));
    }
    if (e.kind == ENTRY_MESSAGE && e.life == n->life) hear_message(n, &e.message);
    flush(n);
    if (e.kind == ENTRY_MESSAGE) mot_pool_drop(&pool, e.message.body.buf);
}

/* ---- Losses ------------------------------------------------------------------------------------------ */

static void lose(mot_node i, bool in_flight)
{
    struct node *n = &node[i];
    n->dead = true;
    for (uint32_t k = 0; k < n->ledger.n; k++) mot_pool_drop(&pool, n->ledger.held[k]);
    n->ledger.n = 0;
    for (mot_node j = 0; j < WORKERS; j++) {
        clear(&queue[j][i]);
        /* what it had sent may still arrive */
        if (!in_flight)
            while (queue[i][j].n && queue[i][j].entry[queue[i][j].n - 1].kind == ENTRY_MESSAGE)
                mot_pool_drop(&pool, queue[i][j].entry[--queue[i][j].n].message.body.buf);
        if (j != i && !node[j].dead) put(i, j, (struct entry){ .kind = ENTRY_LOST });
    }
}

static void bring_back(mot_node i)
{
    struct node *n = &node[i];
    n->dead = n->begun = false;
    n->params = (struct mot_params){ 0 };
    n->round = 0;
    n->env.life = ++n->life;
    memset(n->mixer, 0, n->bytes);
    mot_mixer_init(n->mixer, &n->env);
    for (mot_node j = 0; j < WORKERS; j++) {
        n->known[j] = node[j].life;
        if (j != i && !node[j].dead) put(i, j, (struct entry){ .kind = ENTRY_BACK, .life = n->life });
    }
}

/* Somebody must stay who has a model. */
static bool may_lose(mot_node i)
{
    bool other = false;
    for (mot_node j = 0; j < WORKERS; j++) other |= j != i && !node[j].dead && !node[j].mixer->empty;
    return !node[i].dead && other;
}

/* ---- A run ------------------------------------------------------------------------------------------- */

static void begin(const char *topology, double budget, uint64_t seed, struct mot_rng *rng)
{
    struct mot_arena arena = { 0 };
    struct mot_topology_conf conf = { 0 };
    const struct mot_topology *kind = NULL;
    for (size_t i = 0; mot_topologies[i]; i++)
        if (strcmp(mot_topologies[i]->name, topology) == 0) kind = mot_topologies[i];
    mot_options_preset(kind->options, &conf, &arena);
    mot_arena_free(&arena);
    if (mot_mixing_open(kind, &conf, WORKERS, 1, budget, &plan) != MOT_OK) abort();
    optim.slots = seed % 3;
    world = (struct mot_world){ .workers = WORKERS,
        .nodes = WORKERS,
        .dim = DIM,
        .seed = seed,
        .mixing = &plan.mixing,
        .optim = &optim };
    mot_pool_open(&pool, DIM, 4000);
    mot_outbox_open(&outbox, 400, 8);
    memset(used, 0, sizeof used);
    memset(ended, 0, sizeof ended);
    for (mot_node i = 0; i < WORKERS; i++) {
        struct mot_need need = { .state_bytes = sizeof(struct mot_mixer), .buffers = 7 };
        mot_mixer_need(&world, i, true, &need);
        node[i] = (struct node){ .env = { .self = i, .world = &world, .pool = &pool, .out = &outbox },
            .mixer = mot_new(1, need.state_bytes),
            .bytes = need.state_bytes,
            .ledger = { .held = mot_new(need.buffers, sizeof(mot_buf)), .max = need.buffers } };
        mot_mixer_init(node[i].mixer, &node[i].env);
        turn(i);
        node[i].params.x = mot_take(&node[i].env);
        for (uint32_t k = 0; k < DIM; k++)
            mot_edit(&node[i].env, node[i].params.x)[k] = (float)mot_rng_normal(rng);
        for (uint32_t s = 0; s < optim.slots; s++) node[i].params.slot[s] = mot_take(&node[i].env);
        flush(&node[i]);
    }
}

/* Returns whether nothing is left but what the nodes hold. */
static bool end(void)
{
    uint32_t held = 0;
    for (mot_node i = 0; i < WORKERS; i++) {
        for (mot_node j = 0; j < WORKERS; j++) clear(&queue[i][j]);
        for (uint32_t k = 0; k < node[i].ledger.n; k++) mot_pool_drop(&pool, node[i].ledger.held[k]);
        free(node[i].ledger.held);
        free(node[i].mixer);
    }
    held = pool.used;
    mot_outbox_close(&outbox);
    mot_pool_close(&pool);
    mot_mixing_close(&plan);
    return held == 0;
}

/* One step of whoever comes first from a random place on; false: nobody can do anything. */
static bool act(struct mot_rng *rng)
{
    uint32_t from = (uint32_t)mot_rng_below(rng, WORKERS * (WORKERS + 2));
    for (uint32_t k = 0; k < WORKERS * (WORKERS + 2); k++) {
        uint32_t at = (from + k) % (WORKERS * (WORKERS + 2));
        mot_node i = at / (WORKERS + 2), what = at % (WORKERS + 2);
        struct node *n = &node[i];
        if (n->dead) continue;
        if (what < WORKERS && queue[what][i].n) hear(what, i);
        else if (what == WORKERS && !n->begun && !n->mixer->empty && n->round < rounds) begin_round(i);
        else if (what > WORKERS && can_end(n)) end_round(i);
        else continue;
        return true;
    }
    return false;
}

static void storm(struct mot_rng *rng, uint32_t acts)
{
    for (uint32_t a = 0; a < acts; a++) {
        act(rng);
        if (mot_rng_below(rng, 40)) continue;
        mot_node i = (mot_node)mot_rng_below(rng, WORKERS);
        if (node[i].dead) bring_back(i);
        else if (node[i].life + 1 < LIVES && may_lose(i)) lose(i, mot_rng_below(rng, 2));
    }
    for (mot_node i = 0; i < WORKERS; i++)
        if (node[i].dead) bring_back(i);
}

static bool all_at(uint64_t round)
{
    for (mot_node i = 0; i < WORKERS; i++)
        if (node[i].mixer->empty || node[i].round != round) return false;
    return true;
}

/* Whether worker i's use of its link to j in round r was the last of two lives of which one is over: it took
 * the model, and its own may have been lost with it. */
static bool last_of_a_life(mot_node i, uint32_t life, uint32_t r, mot_node j)
{
    uint8_t its = used[i][life][r][j];
    if (life == node[i].life && its == 1 + node[j].life) return false;
    while (++r < ROUNDS)
        if (used[i][life][r][j] == its) return false;
    return true;
}

/* A link was used by both ends in a round, or by neither. */
static bool symmetric(void)
{
    for (mot_node i = 0; i < WORKERS; i++)
        for (uint32_t life = 0; life < LIVES; life++)
            for (uint32_t r = 0; r < ROUNDS; r++)
                for (mot_node j = 0; j < WORKERS; j++) {
                    uint8_t its = used[i][life][r][j];
                    if (its && ended[j][its - 1][r] && used[j][its - 1][r][i] != 1 + life &&
                        !last_of_a_life(i, life, r, j))
                        return false;
                }
    return true;
}

static double mean_of(uint32_t k)
{
    double sum = 0;
    for (mot_node i = 0; i < WORKERS; i++) sum += mot_pool_at(&pool, node[i].params.x)[k];
    return sum / WORKERS;
}

static double apart(void)
{
    double sum = 0;
    for (mot_node i = 0; i < WORKERS; i++)
        for (uint32_t k = 0; k < DIM; k++) {
            double d = mot_pool_at(&pool, node[i].params.x)[k] - mean_of(k);
            sum += d * d;
        }
    return sum;
}

/* From here on nobody is lost: all get back in, keep their mean and come together. */
static bool settles(struct mot_rng *rng)
{
    double before[DIM], spread;
    uint64_t most = 0;
    for (mot_node i = 0; i < WORKERS; i++)
        if (next_of(&node[i]) > most) most = next_of(&node[i]);
    rounds = most + 2 * period;
    while (act(rng)) continue;
    if (!all_at(rounds)) return false;
    for (uint32_t k = 0; k < DIM; k++) before[k] = mean_of(k);
    spread = apart();
    rounds += 60 * period;
    if (rounds > ROUNDS) abort();
    while (act(rng)) continue;
    if (!all_at(rounds)) return false;
    for (uint32_t k = 0; k < DIM; k++)
        if (fabs(mean_of(k) - before[k]) > 60 * 4 * 0x1p-24) return false;
    for (mot_node i = 0; i < WORKERS; i++) /* in the last round of mixing, too, every link was there */
        for (uint32_t k = 0; k < node[i].mixer->seats; k++)
            if (mot_mixer_seats(node[i].mixer)[k].phase != MOT_SEAT_IN) return false;
    return apart() <= 1e-3 * spread + 1e-12;
}

TEST(however_workers_come_and_go_links_have_two_ends_and_all_who_are_back_get_in)
{
    static const char *const names[] = { "ring", "star", "exponential", "complete", "torus" };
    const char *only = getenv("MOTLEY_SEED");
    uint64_t from = only ? strtoull(only, NULL, 10) : 1, to = only ? from : SEEDS;
    for (uint64_t seed = from; seed <= to; seed++) {
        struct mot_rng rng = mot_rng_at(seed, MOT_RNG_TEST, 31);
        period = 1 + seed % 2;
        rounds = 150;
        begin(names[seed % MOT_COUNT(names)], seed % 4 == 1 ? 0.5 : NAN, seed, &rng);
        storm(&rng, 200 + (uint32_t)mot_rng_below(&rng, 2000));
        bool settled = settles(&rng);
        if (!settled || !symmetric())
            FAIL("seed %llu: %s", (unsigned long long)seed, settled ? "not symmetric" : "does not settle");
        CHECK(end());
    }
    if (!only) CHECK(entered > SEEDS);
    printf("  seeds %llu to %llu: %u entered\n", (unsigned long long)from, (unsigned long long)to, entered);
}

TEST_MAIN()
