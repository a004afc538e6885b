/* How often each part's samples go into the model when some workers nearly always straggle: counted in
 * simulated runs and compared with probabilities, as in Johri, Yardi and Bodas (arXiv 2105.06124). */
#include "report/tally.h"
#include "run/run.h"

#define ROUNDS 1000
#define SLOW "{job_time: 1s, straggle: {name: iid, factor: 1000, p: 0.8}, count: "
#define FAST "{job_time: 1s, straggle: {name: iid, factor: 1000, p: 0.01}, count: "

/* Rounds end when they decode, or at a deadline that only stragglers miss. */
static void cover(struct run *r, const char *cluster, const char *code, const char *shuffle)
{
    RUN_SET(r, "cluster", cluster, "model", "phantom", "model.parameters", "10", "method", "coded",
        "method.deadline", "fixed", "method.after", "10s", "evaluate.train", "end", "stop.updates", "1000",
        "evaluate.every", "1000 updates", "code", code, "method.shuffle", shuffle);
    run_go(r);
    CHECK(r->status == MOT_OK && r->out.status == MOT_OK);
}

/* Rounds that used a part. */
static double used(const struct run *r, uint32_t part) { return ROUNDS - (double)r->out.missed[part]; }

static double mean_of(const struct run *r, uint32_t from, uint32_t to)
{
    double sum = 0;
    for (uint32_t j = from; j < to; j++) sum += used(r, j);
    return sum / (to - from);
}

/* 72 workers in pairs: nine pairs slow, 18 of a slow and a fast one, nine fast. */
#define PAIR SLOW "1}, " FAST "1}, "
#define PAIRS PAIR PAIR PAIR PAIR PAIR PAIR
static const char seventy_two[] = "{network: none, workers: [" SLOW "18}, " PAIRS PAIRS PAIRS FAST "18}]}";

TEST(without_shuffling_a_pair_of_slow_workers_has_a_third_of_the_rounds)
{
    struct run r = { 0 };
    cover(&r, seventy_two, "{name: frc, stragglers: 1}", "none");
    CHECK_INT(r.out.parts, 72);
    for (uint32_t j = 0; j < 72; j++) {
        double expected = j < 18 ? 360 : j < 54 ? 992 : 1000;
        CHECK(fabs(used(&r, j) - expected) <= 65);
    }
    run_free(&r);
}

TEST(shuffled_all_parts_are_used_alike)
{
    struct run r = { 0 };
    cover(&r, seventy_two, "{name: frc, stragglers: 1}", "random");
    double mean = mean_of(&r, 0, 72), squares = 0;
    for (uint32_t j = 0; j < 72; j++) squares += (used(&r, j) - mean) * (used(&r, j) - mean);
    printf("  mean %.1f, standard deviation %.1f\n", mean, sqrt(squares / 72));
    CHECK(sqrt(squares / 72) < 15);
    /* A pair without replacement: both slow, one of them, none. */
    double both = 36.0 * 35 / (72 * 71), one = 2.0 * 36 * 36 / (72 * 71);
    CHECK(fabs(mean - ROUNDS * (1 - both * 0.64 - one * 0.008 - both * 0.0001)) < 5);
    run_free(&r);
}

/* Twelve workers in threes, the first six slow: rotating by groups keeps them together. */
TEST(how_roles_rotate_decides_what_shuffling_is_worth)
{
    static const char cluster[] = "{network: none, workers: [" SLOW "6}, " FAST "6}]}";
    static const struct {
        const char *shuffle;
        double slow, fast, within;
    } expected[] = { { "none", .49, 1, .04 }, { "rotate-group", .745, .745, .04 },
        { "rotate-worker", .828, .828, .03 }, { "random", .951, .951, .02 } };
    for (size_t k = 0; k < 4; k++) {
        struct run r = { 0 };
        cover(&r, cluster, "{name: frc, stragglers: 2}", expected[k].shuffle);
        double slow = mean_of(&r, 0, 6) / ROUNDS, fast = mean_of(&r, 6, 12) / ROUNDS;
        printf("  %s: %.3f %.3f\n", expected[k].shuffle, slow, fast);
        CHECK(fabs(slow - expected[k].slow) < expected[k].within);
        CHECK(fabs(fast - expected[k].fast) < expected[k].within);
        run_free(&r);
    }
}

/* CRC: a part is missed only if both of its holders are. The last evaluation says which was missed most. */
TEST(counts_by_part_agree_with_the_method_s_notes)
{
    struct run r = { 0 };
    cover(&r, "{network: none, workers: [" SLOW "18}, " FAST "18}]}", "{name: crc, stragglers: 1}", "none");
    uint64_t most = 0, sum = 0;
    for (uint32_t j = 0; j < r.out.parts; j++) {
        most = r.out.missed[j] > most ? r.out.missed[j] : most;
        sum += r.out.missed[j];
    }
    const struct mot_note_tally *missed = mot_note_find(&r.out, "missed");
    CHECK(missed && missed->count == ROUNDS && (uint64_t)missed->sum == sum);
    CHECK(most > 0 && r.out.last.missed_most == most);
    CHECK(fabs(mean_of(&r, 1, 18) - 360) < 30);
    run_free(&r);
}

TEST_MAIN()
