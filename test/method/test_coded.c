/* Gradient coding as a run: the same model whoever answers, whoever straggles, wherever the rows are. */
#include "report/tally.h"
#include "wire/team.h"

#define TINY "data", "digits", "model", "softmax", "optimizer.lr", "0.05", "evaluate.train", "end"
#define TWELVE                                                                                               \
    "{network: none, workers: [{count: 12, speed: 1000 samples/s, jitter: {name: lognormal, sigma: 0.5}}]}"
#define SLOW                                                                                                 \
    "{network: none, workers: [{count: 6, speed: 1000 samples/s, straggle: {name: two-class, slow: 1, "      \
    "p_slow: 0.8, p_fast: 0, factor: 20}}, {count: 6, speed: 1000 samples/s}]}"
#define LINKS                                                                                                \
    "{network: {bandwidth: 100Mbit, latency: 1ms}, workers: [{count: 12, speed: 1000 samples/s, "            \
    "jitter: {name: exponential, mean: 1}}]}"

struct result {
    uint64_t hash;
    uint64_t updates, samples;
    double loss, seconds;
};

static struct result simulate(const char *const *settings)
{
    struct run r = { 0 };
    run_set_all(&r, settings);
    run_go(&r);
    struct result x = { 0 };
    if (r.status == MOT_OK && r.out.status == MOT_OK)
        x = (struct result){ .hash = r.out.model_hash,
            .updates = r.out.last.updates,
            .samples = r.out.last.samples,
            .loss = r.out.last.score.train_loss,
            .seconds = (double)r.out.last.now * 1e-9 };
    if (r.status == MOT_OK && r.out.status != MOT_OK) printf("  ended by %s\n", r.out.ended_by);
    run_free(&r);
    return x;
}
#define SIM(...) simulate((const char *const[]){ __VA_ARGS__, NULL })

static double noted(const struct run *r, const char *key)
{
    const struct mot_note_tally *t = mot_note_find(&r->out, key);
    return t ? t->sum : 0;
}

static const char *trace_path(void)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/motley-test-coded-%d.csv", (int)getpid());
    return path;
}

/* ---- The same gradient ------------------------------------------------------------------------ */

/* One part a worker, everyone waited for: that is the synchronous server, to the bit. */
TEST(without_a_code_it_is_the_server_that_waits_for_all)
{
    struct result server = SIM(TINY, "cluster", TWELVE, "stop.updates", "60", "method", "server");
    struct result coded =
        SIM(TINY, "cluster", TWELVE, "stop.updates", "60", "method", "coded", "code", "uncoded");
    CHECK(server.hash != 0 && coded.hash == server.hash);
    CHECK_INT(coded.samples, server.samples);
}

/* Groups of three: a part's batch is a function of the part and the round, so it does not matter who of a
 * group answers, whether roles rotate, or how long rows are under way. */
TEST_SIMULATED(frc_gives_one_model_whoever_answers_and_wherever_the_rows_are)
{
    static const char *const shuffles[] = { "none", "rotate-worker", "rotate-group", "random", "partial" };
    static const char *const clusters[] = { TWELVE, SLOW, LINKS };
    uint64_t hash = 0;
    for (int c = 0; c < 3; c++)
        for (int k = 0; k < 5; k++) {
            struct result x = SIM(TINY, "cluster", clusters[c], "stop.updates", "40", "code",
                "{name: frc, stragglers: 2}", "method.shuffle", shuffles[k], "method", "coded");
            CHECK(x.hash != 0);
            if (hash == 0) hash = x.hash;
            CHECK(x.hash == hash);
            CHECK_INT(x.updates, 40);
            CHECK_INT(x.samples, 40 * 12 * 32);
        }
}

/* Exact codes sum the same gradients in other ways: the models differ by rounding only. */
TEST_SIMULATED(exact_codes_give_the_model_of_the_uncoded_run_up_to_rounding)
{
    static const char *const codes[] = { "uncoded", "{name: crc, stragglers: 2}",
        "{name: hetero, stragglers: 2, parts: 12}" };
    double loss = 0;
    for (int k = 0; k < 3; k++) {
        struct result x =
            SIM(TINY, "cluster", SLOW, "stop.updates", "60", "method", "coded", "code", codes[k]);
        CHECK(x.hash != 0);
        if (k == 0) loss = x.loss;
        CHECK_NEAR(x.loss, loss, 1e-4);
    }
}

static void same_everywhere(const char *code, const char *shuffle)
{
    struct team t = { 0 };
    RUN_SET(&t.run, TINY, "workers", "4", "batch", "16", "stop.updates", "30", "method", "coded",
        "method.shuffle", shuffle, "code", code);
    CHECK(team_open(&t));
    struct mot_outcome sim = team_simulate(&t), threads;
    CHECK_INT(
        mot_job_run(&t.run.job, &(struct mot_job_ways){ .driver = &mot_driver_threads }, &threads), MOT_OK);
    CHECK(threads.model_hash == sim.model_hash);
    team_go(&t);
    const struct mot_outcome *ranks = &t.member[0].out;
    for (uint32_t r = 0; r < t.ranks; r++) CHECK_INT(t.member[r].left_with, MOT_OK);
    CHECK(ranks->model_hash == sim.model_hash);
    CHECK_INT(ranks->last.samples, sim.last.samples);
    CHECK_INT(threads.last.samples, 30 * 4 * 16);
    mot_outcome_close(&sim);
    mot_outcome_close(&threads);
    team_forget(&t);
    team_close(&t);
}

/* Where the sum does not depend on who answers, all drivers give one model, and rows that move change
 * nothing. */
TEST(frc_and_parts_from_any_holder_give_one_model_simulated_on_threads_and_over_ranks)
{
    same_everywhere("frc", "none");
    same_everywhere("frc", "rotate-worker");
    same_everywhere("{name: crc, decoder: any-holder}", "random");
    same_everywhere("{name: frc, decoder: any-holder}", "partial");
}

/* ---- Lost workers --------------------------------------------------------------------------------- */

#define CRASH(when)                                                                                          \
    "{workers: [{count: 12, speed: 1000 samples/s}], faults: {detect: 100ms, schedule: [" when "]}}"

/* One of each group of three may die, and one more: nobody notices but the clock. */
TEST(losses_within_the_tolerance_change_nothing)
{
    uint64_t calm = 0;
    static const char *const faults[] = { "", "{kind: crash, at: 500ms, workers: [0, 4, 8, 11]}",
        "{kind: crash, at: 500ms, workers: [1, 2]}, {kind: crash, at: 900ms, workers: [3, 5]}" };
    for (int f = 0; f < 3; f++) {
        char cluster[300];
        snprintf(cluster, sizeof cluster, CRASH("%s"), faults[f]);
        struct result x = SIM(TINY, "cluster", cluster, "stop.updates", "40", "code",
            "{name: frc, stragglers: 2}", "method", "coded");
        if (calm == 0) calm = x.hash;
        CHECK(x.hash != 0 && x.hash == calm);
    }
}

/* With shuffles, roles of lost workers go round, and their rows come from the server. */
TEST(lost_workers_that_come_back_get_their_rows_again)
{
    struct result calm = SIM(TINY, "cluster", CRASH(""), "stop.updates", "60", "method", "coded");
    struct result churn = SIM(TINY, "cluster",
        CRASH("{kind: crash, at: 500ms, for: 1s, workers: [0, 3]}, {kind: crash, at: 2s, for: 1s, workers: "
              "[5]}"),
        "stop.updates", "60", "method", "coded", "method.shuffle", "rotate-worker");
    CHECK(calm.hash != 0 && churn.hash == calm.hash);
}

/* ---- Rounds that do not wait ------------------------------------------------------------------------- */

/* Ignoring stragglers: nine of twelve parts a round. Scaled down, or as the mean over what is there. */
TEST(without_redundancy_whoever_is_missing_is_missing)
{
    const char *even = "{network: none, workers: [{count: 9, speed: 1000 samples/s}, "
                       "{count: 3, speed: 999 samples/s}]}";
    struct result ignore = SIM(TINY, "cluster", even, "stop.updates", "30", "code", "uncoded", "method",
        "coded", "method.wait", "9", "method.rescale", "true");
    struct result server =
        SIM(TINY, "cluster", even, "stop.updates", "30", "method", "server", "method.k", "9");
    CHECK_INT(ignore.samples, 30 * 9 * 32);
    CHECK(ignore.hash != 0);
    struct result shorter = SIM(TINY, "cluster", even, "stop.updates", "30", "code", "uncoded", "method",
        "coded", "method.wait", "9");
    CHECK(shorter.hash != 0 && shorter.hash != ignore.hash);
    CHECK(server.hash == ignore.hash); /* the same nine answer first in both */
}

TEST(what_a_decoder_has_scaled_is_not_scaled_again)
{
    struct run r = { 0 };
    RUN_SET(&r, TINY, "workers", "12", "method", "coded", "method.rescale", "true", "code", "expander");
    run_go(&r);
    CHECK_INT(r.status, MOT_EUSAGE);
    CHECK_HAS(mot_error(), "method.rescale: the decoder of code expander weighs answers");
    run_free(&r);
}

/* An approximate code closes its rounds without the two that take fifty times as long. */
TEST(an_approximate_code_does_not_wait_for_stragglers)
{
    struct run r = { 0 };
    RUN_SET(&r, TINY, "cluster",
        "{network: none, workers: [{count: 10, speed: 1000 samples/s}, {count: 2, speed: 20 samples/s}]}",
        "stop.updates", "100", "method", "coded", "code", "{name: expander, load: 3}");
    run_go(&r);
    CHECK_INT(r.out.status, MOT_OK);
    /* the first round has nothing to go by; later ones last 0.096 s, and a little for grace */
    double first = 96 / 20.0, rounds = (double)r.out.last.now * 1e-9 - first;
    CHECK(rounds >= 99 * 0.096 && rounds < 99 * 0.096 * 1.3);
    CHECK(noted(&r, "inexact") >= 98);
    CHECK(noted(&r, "decode_error") / 100 < 1); /* of twelve parts */
    double whole = SIM(TINY, "workers", "12", "stop.updates", "100", "method", "coded").loss;
    CHECK_NEAR(r.out.last.score.train_loss, whole, 0.05 * whole);
    run_free(&r);
}

/* ---- Sequential codes --------------------------------------------------------------------------------- */

/* Four of twelve straggle at once, for one round in ten. A code for two suffices: what the other two owe is
 * repeated in the next round, so no round waits for a straggler, and no task is lost. */
TEST(a_sequential_code_puts_a_task_off_and_finishes_it_a_round_later)
{
    struct run r = { 0 };
    FILE *f = fopen(trace_path(), "w");
    CHECK(f);
    for (int row = 0; row < 10; row++)
        for (int col = 0; col < 12; col++)
            fprintf(f, "%s%c", row == 5 && col < 4 ? "60" : "1", col < 11 ? ',' : '\n');
    fclose(f);
    char cluster[300];
    snprintf(cluster, sizeof cluster,
        "{network: none, per: job, workers: [{count: 12, straggle: {name: trace, path: %s}}]}", trace_path());
    RUN_SET(&r, TINY, "cluster", cluster, "stop.updates", "100", "method", "coded", "code",
        "{name: sr-sgc, distinct: 4, window: 2, slack: 1}");
    run_go(&r);
    remove(trace_path());
    CHECK_INT(r.out.status, MOT_OK);
    CHECK_NEAR(noted(&r, "put_off"), 10, 0);
    CHECK_NEAR(noted(&r, "repeated"), 20, 0);
    CHECK_NEAR(noted(&r, "inexact"), 0, 0);
    /* rounds take a second, and two if they have stragglers, who would take sixty */
    CHECK_NEAR((double)r.out.last.now * 1e-9, 100 + 10, 1e-6);
    run_free(&r);
}

/* ---- The time it takes --------------------------------------------------------------------------- */

/* A worker of a code for two stragglers computes three times the samples: coding pays only if stragglers
 * are slower than that. */
/* ---- Parts that come one by one ------------------------------------------------------------------ */

/* A poisoned job spoils all its pieces, and the guard looks at each. */
TEST(the_guard_looks_at_every_piece)
{
    static const char *const guard[] = { "drop", "stop" };
    for (int k = 0; k < 2; k++) {
        struct run r = { 0 };
        RUN_SET(&r, TINY, "method", "coded", "code", "{name: crc, decoder: any-holder}", "stop.updates", "50",
            "method.guard", guard[k], "cluster",
            "{workers: [{count: 6, speed: 20000 samples/s}], faults: [{kind: poison, at: 50ms, worker: 2}]}");
        run_go(&r);
        CHECK_INT(r.status, MOT_OK);
        CHECK_INT(r.out.status, k == 0 ? MOT_OK : MOT_EDIVERGED);
        CHECK(noted(&r, "guarded") >= 1);
        if (k == 1) CHECK_NEAR(noted(&r, "guarded"), 1, 0); /* the first ends the run */
        if (k == 0) CHECK(isfinite(r.out.last.score.train_loss));
        run_free(&r);
    }
}

/* A piece of fewer samples is not taken for a whole one: the end is that of combinations, which need all. */
TEST_SIMULATED(a_run_by_parts_ends_with_the_first_part_that_runs_out)
{
    static const char *const code[] = { "{name: crc, decoder: any-holder}", "crc" };
    for (int seed = 1; seed <= 8; seed++) {
        uint64_t updates[2];
        char text[16];
        snprintf(text, sizeof(text), "%d", seed);
        for (int k = 0; k < 2; k++)
            updates[k] = SIM(TINY, "method", "coded", "workers", "6", "code", code[k], "stop.updates", "1000",
                "sampler.passes", "1", "seed", text, "partition", "{name: dirichlet, alpha: 0.5}", "batch",
                "7")
                             .updates;
        CHECK(updates[1] > 0);
        CHECK_INT(updates[0], updates[1]);
    }
}

/* Whoever draws parts by lot may leave one to nobody. Then no update is exact, though all answer. */
TEST(a_part_that_nobody_holds_makes_every_update_inexact)
{
    struct run r = { 0 };
    RUN_SET(&r, TINY, "method", "coded", "code", "{name: bernoulli, load: 1}", "workers", "6", "stop.updates",
        "20");
    run_go(&r);
    CHECK_INT(r.out.status, MOT_OK);
    CHECK(noted(&r, "missed") >= 20);
    CHECK_NEAR(noted(&r, "inexact"), 20, 0);
    CHECK(noted(&r, "decode_error") >= 20);
    run_free(&r);
}

TEST_SIMULATED(redundant_work_takes_its_time)
{
    const char *even = "{network: none, workers: [{count: 12, speed: 1000 samples/s}]}";
    struct result plain =
        SIM(TINY, "cluster", even, "stop.updates", "20", "method", "coded", "code", "uncoded");
    struct result frc = SIM(
        TINY, "cluster", even, "stop.updates", "20", "method", "coded", "code", "{name: frc, stragglers: 2}");
    CHECK_NEAR(plain.seconds, 20 * 0.032, 1e-6);
    CHECK_NEAR(frc.seconds, 3 * 20 * 0.032, 1e-6);
    struct result waits =
        SIM(TINY, "cluster", SLOW, "stop.updates", "60", "method", "coded", "code", "uncoded");
    struct result coded = SIM(
        TINY, "cluster", SLOW, "stop.updates", "60", "method", "coded", "code", "{name: crc, stragglers: 6}");
    CHECK(coded.hash && waits.hash && coded.seconds < 0.6 * waits.seconds);
}

TEST_MAIN()
