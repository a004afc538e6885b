/* Mixing alone, without gradients, over every driver: workers whose models begin far apart. Ranks are threads
 * of this process (team.h). */
#include "wire/team.h"
#include "base/rng.h"
#include "method/methods.h"
#include <math.h>

#define STILL                                                                                                \
    "data", "digits", "data.rows", "200", "model", "softmax", "batch", "1", "evaluate.train", "end",         \
        "evaluate.every", "1000000 updates", "optimizer.lr", "1e-30"

/* ---- A method whose models differ at the start ------------------------------------------------------- */

static const struct mot_method *plain; /* its state begins with the parameters, as that of all of these */
static uint32_t members;               /* of a group, who have one model */

static float first_value(uint64_t seed, mot_node worker, uint32_t i)
{
    struct mot_rng rng = mot_rng_at(seed, MOT_RNG_TEST, (uint64_t)(worker / members) << 32 | i);
    return (float)(1 + mot_rng_unit(&rng) + worker / members);
}

static void init_apart(void *state, struct mot_env *env)
{
    struct mot_params *p = state;
    plain->init(state, env);
    mot_buf x = mot_take(env);
    for (uint32_t i = 0; i < env->world->dim; i++)
        mot_edit(env, x)[i] = first_value(env->world->seed, env->self, i);
    mot_drop(env, p->x);
    p->x = x;
}

/* ---- Modes that take no more from anybody than they give ---------------------------------------------- */

struct mode {
    const char *method, *options, *topology;
    uint32_t groups; /* workers: a multiple of it; 0: none */
};
static const struct mode modes[] = {
    { "crossover", "", "ring", 0 },
    { "crossover", ", segments: 18, cut: equal, window: 1", "ring", 0 },
    { "crossover", ", segments: 7, cut: equal, peers: authors", "ring", 0 },
    { "crossover", ", groups: 2", "ring", 2 },
    { "crossover", ", groups: 3, segments: 5, cut: equal", "ring", 3 },
    { "sgp", "", "ring", 0 },
    { "sgp", ", peers: 2", "ring", 0 },
    { "dpsgd", "", "ring", 0 },
    { "dpsgd", "", "star", 0 },
    { "dpsgd", ", period: 3", "{name: exponential, weights: laplacian}", 0 },
    { "matcha", "", "complete", 0 },
};

static const uint32_t sizes[] = { 2, 3, 4, 5, 7, 8, 13, 16, 31, 64 };

struct result {
    double drift, spread; /* of the mean; of the models from it: relative to the mean's length, to the first
                             one's square */
    uint64_t hash;
    bool fine;
};

static struct result judge(
    const struct mot_outcome *o, uint32_t dim, uint32_t workers, uint64_t seed, enum mot_status status)
{
    struct result r = { .fine = status == MOT_OK && o->status == MOT_OK && o->last.updates == 100 };
    double off = 0, all = 0, spread = 0;
    for (uint32_t i = 0; r.fine && i < dim; i++) {
        double mean = 0;
        for (mot_node w = 0; w < workers; w++) mean += (double)first_value(seed, w, i) / workers;
        for (mot_node w = 0; w < workers; w++) spread += pow((double)first_value(seed, w, i) - mean, 2);
        off += pow((double)o->x[i] - mean, 2);
        all += mean * mean;
    }
    if (!r.fine) return r;
    r.drift = sqrt(off / all);
    r.spread = o->last.mixed.consensus / (spread / workers);
    r.hash = o->model_hash;
    return r;
}

enum driver { SIM, THREADS, RANKS };

static struct result mix(const struct mode *mode, uint32_t workers, enum driver driver)
{
    char n[12], method[120];
    size_t m = 0;
    while (strcmp(mot_method_at(m)->name, mode->method) != 0) m++;
    plain = mot_method_at(m);
    members = mode->groups ? workers / mode->groups : 1;
    struct mot_method apart = *plain;
    apart.name = "apart";
    apart.init = init_apart;
    const struct mot_method *brought[] = { &apart, NULL };
    const struct mot_method *const *before = mot_methods_extend(brought);
    snprintf(n, sizeof n, "%u", workers);
    snprintf(method, sizeof method, "{name: apart%s}", mode->options);
    struct team t = { .run = {
                          .ways = { .driver = driver == SIM ? &mot_driver_sim : &mot_driver_threads } } };
    RUN_SET(&t.run, STILL, "method", method, "topology", mode->topology, "workers", n, "stop.updates", "100");
    struct result r = { 0 };
    if (driver == RANKS) {
        if (team_open(&t)) {
            team_go(&t);
            const struct member *first = &t.member[0];
            r = judge(&first->out, t.run.job.net.dim, workers, t.run.experiment->seed, first->status);
            if (!r.fine && first->status == MOT_OK && first->out.status == MOT_EPEER)
                printf("  worker %u was lost after %.3f s, by %s\n", first->out.peer,
                    (double)first->out.peer_at / 1e9, first->out.peer_by);
            for (uint32_t i = 0; !r.fine && i < t.ranks; i++)
                printf("  rank %u: %d %s\n", i, (int)t.member[i].left_with, t.member[i].error);
            team_forget(&t);
        }
        team_close(&t);
    } else {
        run_go(&t.run);
        r = judge(&t.run.out, t.run.job.net.dim, workers, t.run.experiment->seed, t.run.status);
        run_free(&t.run);
    }
    mot_methods_extend(before);
    return r;
}

static bool can(const struct mode *mode, uint32_t workers)
{
    if (mode->groups && (workers % mode->groups || workers == mode->groups)) return false;
    return !strstr(mode->options, "peers: 2") || workers > 2;
}

/* Runs all modes with that many workers on the driver, and compares with `simulated`, if there are any. */
static void all_keep_the_mean(uint32_t workers, enum driver driver)
{
    for (size_t m = 0; m < MOT_COUNT(modes); m++) {
        if (!can(&modes[m], workers)) continue;
        struct result r = mix(&modes[m], workers, driver);
        if (!r.fine || !(r.drift <= 1e-6) || !(r.spread < 0.9))
            FAIL("%s%s on %s, %u workers: drift %g, %g of the disagreement is left", modes[m].method,
                modes[m].options, modes[m].topology, workers, r.drift, r.spread);
        if (driver == SIM || !r.fine) continue;
        struct result sim = mix(&modes[m], workers, SIM);
        if (sim.hash != r.hash) FAIL("%s%s: not the simulated bits", modes[m].method, modes[m].options);
    }
}

TEST_SIMULATED(the_mean_stays_over_100_rounds_in_every_doubly_stochastic_mode_for_any_n)
{
    for (size_t i = 0; i < MOT_COUNT(sizes); i++)
        if (!SANITIZED || sizes[i] <= 7) all_keep_the_mean(sizes[i], SIM);
    all_keep_the_mean(6, SIM);
}

TEST(it_does_on_threads)
{
    static const uint32_t live[] = { 2, 3, 6, 7, 16 };
    for (size_t i = 0; i < (SANITIZED ? 2 : MOT_COUNT(live)); i++) all_keep_the_mean(live[i], THREADS);
}

TEST(and_over_ranks)
{
    static const uint32_t live[] = { 2, 3, 6, 7, 8 };
    for (size_t i = 0; i < (SANITIZED ? 2 : MOT_COUNT(live)); i++) all_keep_the_mean(live[i], RANKS);
}

/* What unfair peers and lost exchanges do is no accident of rounding. */
TEST(unfair_peers_do_not_keep_it)
{
    static const struct mode unfair = { "crossover", ", peers: unfair", "ring", 0 };
    for (uint32_t n = 3; n <= 13; n += 5) {
        struct result r = mix(&unfair, n, SIM);
        CHECK(r.fine && r.drift > 1e-4);
    }
    CHECK(mix(&unfair, 2, SIM).drift <= 1e-6); /* two have no choice */
}

TEST_MAIN()
