/* What is foreseen of a coded run, and what comes: the figures, the advice, and the run itself. */
#include "report/foresight.h"
#include "report/tally.h"
#include "run/run.h"

#define TINY "data", "digits", "model", "softmax", "evaluate.train", "end", "method", "coded"
#define LINKS "network: {bandwidth: 100Mbit, latency: 100us}, "
#define SPEED "speed: 1000 samples/s"
#define SLOW SPEED ", straggle: {name: iid, p: 0.8, factor: 5}"
#define FAST SPEED ", straggle: {name: iid, p: 0.01, factor: 5}"
#define HALF "{" LINKS "workers: [{count: 6, " SLOW "}, {count: 6, " FAST "}]}"
#define SPREAD                                                                                               \
    "{" LINKS "workers: [{count: 2, " SLOW "}, {count: 1, " FAST "}, {count: 2, " SLOW "}, {count: 1, " FAST \
    "}]}"

#define ROUNDS (SANITIZED ? 100 : 1000)

struct seen {
    struct run run;
    struct mot_foresight f;
    bool any;
    char *words;
};

/* Foresees the run, and lets it happen. */
static void see(struct seen *s, unsigned rounds, const char *const *settings)
{
    static char updates[16];
    snprintf(updates, sizeof updates, "%u", rounds);
    *s = (struct seen){ 0 };
    run_set_all(&s->run, settings);
    run_set(&s->run, "stop.updates", updates);
    run_go(&s->run);
    CHECK_INT(s->run.status, MOT_OK);
    s->any = mot_job_foresee(&s->run.job, &s->f);
    s->words = s->any ? mot_foresight_words(&s->f) : NULL;
    if (s->words) printf("  %s\n", s->words);
}
#define SEE(S, ROUNDS, ...) see(S, ROUNDS, (const char *const[]){ __VA_ARGS__, NULL })

static bool says(const struct seen *s, const char *words) { return s->words && strstr(s->words, words); }

static void seen_free(struct seen *s)
{
    if (s->any) mot_foresight_close(&s->f);
    free(s->words);
    run_free(&s->run);
}

static const struct mot_note_tally *noted(const struct seen *s, const char *key)
{
    return mot_note_find(&s->run.out, key);
}

TEST(twelve_workers_in_groups_of_three_six_slow_have_the_papers_coverage)
{
    struct seen s;
    SEE(&s, 2, TINY, "cluster", HALF, "code", "{name: frc, stragglers: 2}");
    CHECK(s.any);
    CHECK_NEAR(s.f.of[MOT_SHUFFLE_NONE].least, 0.488, 1e-9);
    CHECK_NEAR(s.f.of[MOT_SHUFFLE_NONE].most, 1, 1e-5);
    CHECK_NEAR(s.f.of[MOT_SHUFFLE_ROTATE_GROUP].least, 0.744, 0.001);
    CHECK_NEAR(s.f.of[MOT_SHUFFLE_ROTATE_WORKER].least, 0.828, 0.001);
    CHECK_NEAR(s.f.of[MOT_SHUFFLE_RANDOM].least, 0.951, 0.001);
    CHECK_NEAR(s.f.of[MOT_SHUFFLE_NONE].waits, 1 - 0.488 * 0.488, 1e-5);
    CHECK_INT(s.f.late, 6);
    CHECK_INT(s.f.advised, MOT_SHUFFLE_RANDOM);
    CHECK(says(&s, "6 of 12 workers straggle in 80 % of the rounds, the others less often."));
    CHECK(says(&s, "In 76 % of the rounds all holders of some part straggle, and the round waits for one."));
    CHECK(says(&s, "Try `--method-shuffle random`: then 20 % of the rounds wait."));
    seen_free(&s);
}

/* Two of each group of three are slow: that is as well spread as it can be. */
TEST(shuffling_is_advised_against_where_it_would_hurt)
{
    struct seen s;
    SEE(&s, 2, TINY, "cluster", SPREAD, "code", "{name: frc, stragglers: 2}");
    CHECK_INT(s.f.advised, MOT_SHUFFLE_NONE);
    CHECK_NEAR(s.f.of[MOT_SHUFFLE_NONE].least, 1 - 0.64 * 0.01, 1e-9);
    CHECK(s.f.of[MOT_SHUFFLE_RANDOM].least < 0.9);
    CHECK(says(&s, "Do not shuffle"));
    seen_free(&s);
    SEE(&s, 2, TINY, "cluster", SPREAD, "code", "{name: frc, stragglers: 2}", "method.shuffle", "random");
    CHECK(says(&s, "Better not to shuffle (`--method-shuffle none`): then 1 % of the rounds wait."));
    seen_free(&s);
}

/* A cyclic code needs all but one, whoever that is. */
TEST(shuffling_changes_nothing_for_a_code_that_counts_answers)
{
    struct seen s;
    SEE(&s, 2, TINY, "cluster", HALF, "code", "{name: crc, stragglers: 3}");
    CHECK_INT(s.f.advised, MOT_SHUFFLE_NONE);
    CHECK(says(&s, "more workers straggle than the 3 that the code tolerates"));
    CHECK(says(&s, "Shuffling would not change that."));
    seen_free(&s);
}

/* Speeds are alike, links cost nothing: a round that waits takes five times as long as one that does not. */
TEST(as_many_rounds_wait_as_was_foreseen)
{
    static const char *const kinds[] = { "none", "rotate-worker", "rotate-group", "random" };
    for (uint32_t kind = 0; kind < 4; kind++) {
        struct seen s;
        SEE(&s, ROUNDS, TINY, "cluster", HALF, "cluster.network", "none", "code",
            "{name: frc, stragglers: 2}", "method.shuffle", kinds[kind]);
        double round = (double)s.run.out.last.now * 1e-9 / ROUNDS, waited = (round / s.f.job_s - 1) / 4;
        printf("  %s: %.3f of the rounds waited, %.3f foreseen\n", kinds[kind], waited, s.f.of[kind].waits);
        CHECK_INT(s.f.used, kind);
        CHECK_NEAR(s.f.job_s, 0.096, 1e-9);
        CHECK_NEAR(waited, s.f.of[kind].waits, SANITIZED ? 0.15 : 0.05);
        seen_free(&s);
    }
}

/* Rounds close while stragglers compute. */
TEST(parts_are_used_as_often_as_was_foreseen)
{
    static const char *const kinds[] = { "none", "rotate-worker", "rotate-group", "random" };
    for (uint32_t kind = 0; kind < 4; kind++) {
        struct seen s;
        SEE(&s, ROUNDS, TINY, "cluster", HALF, "cluster.network", "none", "code",
            "{name: frc, stragglers: 2}", "method.shuffle", kinds[kind], "method.deadline", "fixed",
            "method.after", "200ms");
        double mean = 1 - noted(&s, "missed")->sum / ROUNDS / 12,
               least = 1 - noted(&s, "missed_most")->max / ROUNDS;
        printf("  %s: %.3f and %.3f, foreseen %.3f and %.3f\n", kinds[kind], mean, least, s.f.of[kind].mean,
            s.f.of[kind].least);
        CHECK(!s.f.exact);
        CHECK_NEAR(mean, s.f.of[kind].mean, SANITIZED ? 0.1 : 0.03);
        CHECK_NEAR(least, s.f.of[kind].least, SANITIZED ? 0.15 : 0.05);
        seen_free(&s);
    }
}

/* Parts drawn by lot have few or many holders. A straggler misses the deadline with a single part, and nobody
 * else misses it with all parts: who is late does not depend on the role that a shuffle deals out. */
#define LATE                                                                                                 \
    "{network: none, workers: [{count: 6, " SPEED ", straggle: {name: iid, p: 0.95, factor: 50}}, {count: "  \
    "6, " SPEED ", straggle: {name: iid, p: 0.4, factor: 50}}]}"
TEST(a_part_with_more_holders_is_foreseen_to_be_used_more_often)
{
    static const char *const kinds[] = { "random", "partial" };
    for (uint32_t kind = 0; kind < 2; kind++) {
        struct seen s;
        double least = 1, most = 0, off = 0;
        SEE(&s, ROUNDS, TINY, "cluster", LATE, "code", "{name: bernoulli, load: 6}", "method.shuffle",
            kinds[kind], "method.fraction", "0.5", "method.deadline", "fixed", "method.after", "1.5s");
        for (uint32_t j = 0; j < s.f.parts; j++) {
            double used = 1 - (double)s.run.out.missed[j] / ROUNDS;
            least = fmin(least, s.f.coverage[j]);
            most = fmax(most, s.f.coverage[j]);
            off = fmax(off, fabs(used - s.f.coverage[j]));
        }
        printf("  %s: %.3f to %.3f foreseen, off by %.3f at most\n", kinds[kind], least, most, off);
        CHECK(most - least > 0.2);
        CHECK(off < (SANITIZED ? 0.2 : 0.05));
        seen_free(&s);
    }
}

TEST(a_shuffle_moves_as_many_bytes_as_was_foreseen)
{
    static const char *const kinds[] = { "none", "rotate-worker", "rotate-group", "random", "partial" };
    for (uint32_t kind = 1; kind < 5; kind++) {
        struct seen s;
        SEE(&s, 41, TINY, "cluster", HALF, "code", "{name: frc, stragglers: 2}", "method.shuffle",
            kinds[kind], "method.fraction", "0.5");
        const struct mot_outcome *o = &s.run.out;
        /* the last shuffle comes with the end of the run, before its rows can leave */
        double bytes = (double)o->last.rows_bytes / (double)(noted(&s, "shuffles")->count - 1);
        printf("  %s: %.0f bytes, %.0f foreseen\n", kinds[kind], bytes, s.f.bytes[kind]);
        CHECK_NEAR(bytes / s.f.bytes[kind], 1, kind < MOT_SHUFFLE_RANDOM ? 1e-9 : 0.2);
        CHECK(s.f.seconds[kind] > 0);
        seen_free(&s);
    }
}

TEST(nothing_is_foreseen_where_nobody_straggles_or_nothing_is_coded)
{
    struct seen s;
    SEE(&s, 2, TINY, "cluster", "{workers: [{count: 6, " SPEED "}]}");
    CHECK(!s.any);
    seen_free(&s);
    SEE(&s, 2, TINY, "cluster", HALF, "code", "sr-sgc");
    CHECK(!s.any);
    seen_free(&s);
    SEE(&s, 2, TINY, "cluster", HALF, "method", "server");
    CHECK(!s.any);
    seen_free(&s);
}

TEST_MAIN()
