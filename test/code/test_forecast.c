/* Shuffles and predictions: figures of Johri, Yardi and Bodas, and of our own derivations. */
#include "codes.h"
#include <malloc.h>

static const struct mot_shuffle none = { .kind = MOT_SHUFFLE_NONE },
                                rotate_worker = { .kind = MOT_SHUFFLE_ROTATE_WORKER },
                                rotate_group = { .kind = MOT_SHUFFLE_ROTATE_GROUP },
                                by_lot = { .kind = MOT_SHUFFLE_RANDOM, .seed = SEED };

TEST(every_shuffle_is_a_permutation_and_the_first_leaves_everyone_its_role)
{
    static const uint32_t workers[] = { 2, 6, 7, 24, 100 };
    for (size_t i = 0; i < MOT_COUNT(workers); i++) {
        uint32_t n = workers[i];
        struct mot_code *c = CODE(.name = "auto", .workers = n);
        for (uint32_t kind = 0; kind <= MOT_SHUFFLE_PARTIAL; kind++)
            for (uint64_t number = 0; number < 50; number++) {
                struct mot_shuffle s = { .kind = kind, .fraction = 0.4, .seed = SEED };
                bool taken[100] = { false };
                for (uint32_t w = 0; w < n; w++) {
                    uint32_t role = mot_shuffle_role(&s, c, number, w);
                    CHECK(role < n && !taken[role]);
                    CHECK(number > 0 || role == w);
                    taken[role] = true;
                }
            }
        mot_code_close(c);
    }
}

TEST(roles_rotate_by_one_and_by_a_group)
{
    struct mot_code *c = CODE(.name = "frc", .workers = 12, .stragglers = 2);
    CHECK_INT(mot_shuffle_role(&rotate_worker, c, 5, 9), 2);
    for (uint32_t i = 0; i < 12; i++)
        for (uint32_t t = 0; t < 9; t++)
            CHECK_INT(c->group_of[mot_shuffle_role(&rotate_group, c, t, i)], (i / 3 + t) % 4);
    CHECK_INT(mot_shuffle_role(&rotate_worker, c, UINT64_MAX, 0), UINT64_MAX % 12);
    mot_code_close(c);
}

TEST(a_partial_shuffle_moves_about_its_fraction)
{
    struct mot_code *c = CODE(.name = "frc", .workers = 100);
    struct mot_shuffle s = { .kind = MOT_SHUFFLE_PARTIAL, .fraction = 0.3, .seed = SEED };
    double moved = 0;
    for (uint64_t number = 1; number <= 1000; number++)
        for (uint32_t i = 0; i < 100; i++) moved += mot_shuffle_role(&s, c, number, i) != i;
    CHECK_NEAR(moved / 1e5, 0.3 * 0.99, 0.01); /* one in a hundred meets itself */
    s.fraction = 0;
    CHECK_NEAR(mot_shuffle_traffic(&s, c, 3), 0, 0);
    mot_code_close(c);
}

TEST(a_shuffle_of_groups_moves_1_or_k_or_k_times_1_minus_k_of_n_copies)
{
    static const uint32_t sizes[][2] = { { 12, 3 }, { 72, 2 }, { 40, 5 } };
    for (size_t i = 0; i < MOT_COUNT(sizes); i++) {
        uint32_t n = sizes[i][0], k = sizes[i][1];
        struct mot_code *c = CODE(.name = "frc", .workers = n, .stragglers = k - 1);
        double random = 0;
        for (uint64_t number = 1; number <= 2000; number++) {
            CHECK_NEAR(mot_shuffle_traffic(&none, c, number), 0, 0);
            CHECK_NEAR(mot_shuffle_traffic(&rotate_worker, c, number), 1, 1e-12);
            CHECK_NEAR(mot_shuffle_traffic(&rotate_group, c, number), k, 1e-12);
            random += mot_shuffle_traffic(&by_lot, c, number) / 2000;
        }
        CHECK_NEAR(random, k * (1 - (double)k / n), 0.02);
        mot_code_close(c);
    }
}

/* ---- Coverage
 * ------------------------------------------------------------------------------------------ */

TEST(coverage_of_12_workers_in_groups_of_3_half_of_them_slow)
{
    struct mot_code *c = CODE(.name = "frc", .workers = 12, .stragglers = 2);
    double straggles[12], coverage[12];
    for (int i = 0; i < 12; i++) straggles[i] = i < 6 ? 0.8 : 0.01;
    mot_code_coverage(c, &none, straggles, 1, coverage);
    static const double want[4] = { 0.488, 0.488, 1, 1 };
    for (int j = 0; j < 12; j++) CHECK_NEAR(coverage[j], want[j / 3], 1e-5);
    CHECK_NEAR(mot_shuffle_forecast(c, &rotate_group, straggles).mean, 0.744, 0.001);
    CHECK_NEAR(mot_shuffle_forecast(c, &rotate_group, straggles).least, 0.744, 0.001);
    CHECK_NEAR(mot_shuffle_forecast(c, &rotate_worker, straggles).least, 0.828, 0.001);
    CHECK_NEAR(mot_shuffle_forecast(c, &by_lot, straggles).mean, 0.951, 0.0005);
    CHECK_NEAR(mot_shuffle_forecast(c, &by_lot, straggles).traffic, 3 * (1 - 3.0 / 12), 1e-12);
    mot_code_coverage(c, &by_lot, straggles, 20000, coverage); /* what was worked out, drawn */
    for (int j = 0; j < 12; j++) CHECK_NEAR(coverage[j], 0.951, 0.006);
    struct mot_forecast all[MOT_SHUFFLE_PARTIAL];
    CHECK_INT(mot_shuffle_advise(c, straggles, SEED, false, all), MOT_SHUFFLE_RANDOM);
    CHECK_NEAR(all[MOT_SHUFFLE_ROTATE_WORKER].traffic, 1, 1e-12);
    mot_code_close(c);
}

TEST(shuffling_is_not_advised_where_every_group_has_a_fast_worker)
{
    struct mot_code *c = CODE(.name = "frc", .workers = 12, .stragglers = 2);
    double straggles[12];
    struct mot_forecast all[MOT_SHUFFLE_PARTIAL];
    for (int i = 0; i < 12; i++) straggles[i] = i % 3 < 2 ? 0.8 : 0.01; /* two of three are slow */
    CHECK_INT(mot_shuffle_advise(c, straggles, SEED, false, all), MOT_SHUFFLE_NONE);
    CHECK_NEAR(all[MOT_SHUFFLE_NONE].least, 1 - 0.64 * 0.01, 1e-9);
    CHECK(all[MOT_SHUFFLE_RANDOM].least < 0.9);
    mot_code_close(c);
}

TEST(rounds_wait_when_all_of_a_group_or_more_than_the_code_tolerates_straggle)
{
    static const char *const names[] = { "uncoded", "frc", "crc" };
    double straggles[6] = { 0.8, 0.7, 0.01, 0, 0.2, 0.1 }, one = 0, none_late = 1;
    struct mot_forecast f;
    for (int i = 0; i < 6; i++) none_late *= 1 - straggles[i];
    for (int i = 0; i < 6; i++) one += none_late * straggles[i] / (1 - straggles[i]);
    const double want[3] = { 1 - none_late, 1 - (1 - 0.56) * 1 * (1 - 0.02), 1 - none_late - one };
    for (int k = 0; k < 3; k++) {
        struct mot_code *c = CODE(.name = names[k], .workers = 6);
        f = mot_shuffle_forecast(c, &none, straggles);
        CHECK_NEAR(f.waits, want[k], 1e-12);
        f = mot_shuffle_forecast(c, &rotate_worker, straggles);
        if (k != 1) CHECK_NEAR(f.waits, want[k], 1e-12); /* it does not matter who has which role */
        else CHECK(f.waits < want[k] - 0.1);
        mot_code_close(c);
    }
    struct mot_code *c = CODE(.name = "expander", .workers = 6, .load = 3);
    CHECK(isnan(mot_shuffle_forecast(c, &none, straggles).waits)); /* promises no exact sum */
    mot_code_close(c);
}

/* Where parts come by themselves, what counts is that each has a holder that answered. */
TEST(rounds_that_wait_are_drawn_where_no_formula_fits)
{
    struct mot_code *c = CODE(.name = "crc", .workers = 6, .decoder = MOT_DECODER_ANY_HOLDER);
    double straggles[6] = { 0.5, 0, 0.5, 0, 0.5, 0 };
    CHECK_NEAR(mot_shuffle_forecast(c, &none, straggles).waits, 0, 0);
    straggles[1] = 1; /* its part 1 is worker 0's too, and its part 2 worker 2's */
    CHECK_NEAR(mot_shuffle_forecast(c, &none, straggles).waits, 0.75, 0.02);
    mot_code_close(c);
}

/* A large code is judged by some of its rotations, spread over the whole turn. */
TEST(few_rotations_stand_for_all_of_a_large_code)
{
    enum { N = 6000 };
    struct mot_code *c = CODE(.name = "frc", .workers = N, .stragglers = 2);
    static double straggles[N], some[N], all[N];
    for (int i = 0; i < N; i++) straggles[i] = i < N / 2 ? 0.8 : 0.01;
    mot_code_coverage(c, &rotate_worker, straggles, N, all);
    mot_code_coverage(c, &rotate_worker, straggles, 200, some);
    for (int j = 0; j < N; j += 97) CHECK_NEAR(some[j], all[j], 0.01);
    struct mot_forecast f = mot_shuffle_forecast(c, &rotate_worker, straggles);
    CHECK_NEAR(f.least, all[0], 0.01);
    CHECK_NEAR(f.most, all[0], 0.01);
    CHECK_NEAR(f.traffic, 1, 1e-9);
    mot_code_close(c);
}

/* With rounds that last until the sum is exact, only those that wait matter. */
TEST(advice_for_exact_rounds_looks_at_those_that_wait)
{
    double straggles[6] = { 0.8, 0.8, 0.01, 0.01, 0.01, 0.01 };
    struct mot_forecast all[MOT_SHUFFLE_PARTIAL];
    struct mot_code *c = CODE(.name = "crc", .workers = 6);
    CHECK_INT(mot_shuffle_advise(c, straggles, SEED, true, all), MOT_SHUFFLE_NONE);
    CHECK(mot_shuffle_advise(c, straggles, SEED, false, all) != MOT_SHUFFLE_NONE);
    mot_code_close(c);
    c = CODE(.name = "frc", .workers = 6);
    CHECK_INT(mot_shuffle_advise(c, straggles, SEED, true, all), MOT_SHUFFLE_RANDOM);
    CHECK(all[MOT_SHUFFLE_RANDOM].waits < 0.2);
    CHECK_NEAR(all[MOT_SHUFFLE_NONE].waits, 1 - 0.36 * 0.9999 * 0.9999, 1e-12);
    mot_code_close(c);
}

/* n = 72, k = 2, 36 slow ones, 1,000 iterations, drawn. */
TEST(coverage_of_72_workers_is_uneven_and_shuffling_evens_it_out)
{
    struct mot_code *c = CODE(.name = "frc", .workers = 72);
    struct mot_rng rng = mot_rng_at(SEED, MOT_RNG_TEST, 6);
    bool slow[72];
    for (uint32_t i = 0; i < 72; i++) slow[mot_permute(SEED, 72, i)] = i < 36;
    for (int shuffled = 0; shuffled < 2; shuffled++) {
        double used[36] = { 0 }, mean = 0, variance = 0;
        for (uint64_t t = 0; t < 1000; t++) {
            uint64_t answered[2] = { 0, 0 };
            for (uint32_t i = 0; i < 72; i++)
                if (mot_rng_unit(&rng) >= (slow[i] ? 0.8 : 0.01))
                    mot_role_add(answered, mot_shuffle_role(shuffled ? &by_lot : &none, c, t, i));
            for (uint32_t g = 0; g < 36; g++) used[g] += mot_code_holder(c, answered, 2 * g) != MOT_NO_ROLE;
        }
        for (uint32_t g = 0; g < 36; g++) {
            int slows = slow[2 * g] + slow[2 * g + 1];
            static const double want[3] = { 1000, 992, 360 };
            if (!shuffled) CHECK_NEAR(used[g], want[slows], 65);
            mean += used[g] / 36;
        }
        for (uint32_t g = 0; g < 36; g++) variance += (used[g] - mean) * (used[g] - mean) / 36;
        if (shuffled) CHECK(sqrt(variance) < 15);
        else CHECK(sqrt(variance) > 150);
    }
    mot_code_close(c);
}

/* ---- Missed rounds
 * --------------------------------------------------------------------------------------- */

static const struct mot_straggling two_kinds = {
    .slow = 0.33, .slow_straggles = 0.8, .straggles = 0.01, .holders = 2
};

TEST(moments_of_missed_rounds_are_those_of_the_distribution)
{
    struct mot_missed m = mot_missed_moments(&two_kinds, 100);
    CHECK_NEAR(m.mean, 7.33, 0.005);
    CHECK_NEAR(m.variance, 395.5, 0.05);
    CHECK_NEAR(m.variance_shuffled, 6.79, 0.005);
    for (int shuffled = 0; shuffled < 2; shuffled++) {
        double all = 0, mean = 0, square = 0;
        for (uint64_t k = 0; k <= 100; k++) {
            double p = mot_missed_chance(&two_kinds, 100, k, shuffled);
            all += p, mean += p * (double)k, square += p * (double)(k * k);
        }
        CHECK_NEAR(all, 1, 1e-12);
        CHECK_NEAR(mean, m.mean, 1e-9);
        CHECK_NEAR(square - mean * mean, shuffled ? m.variance_shuffled : m.variance, 1e-8);
    }
    CHECK_NEAR(mot_missed_chance(&two_kinds, 10, 11, true), 0, 0);
    CHECK_NEAR(mot_missed_chance(
                   &(struct mot_straggling){ .slow = 0.5, .slow_straggles = 1, .holders = 1 }, 9, 9, false),
        0.5, 0);
}

TEST(a_simulation_of_200000_trials_has_these_moments)
{
    enum { TRIALS = SANITIZED ? 20000 : 200000, ROUNDS = 100 };
    struct mot_rng rng = mot_rng_at(SEED, MOT_RNG_TEST, 7);
    double variance[2], mean[2];
    for (int shuffled = 0; shuffled < 2; shuffled++) {
        double sum = 0, square = 0;
        for (int trial = 0; trial < TRIALS; trial++) {
            int missed = 0;
            double p[2];
            for (int t = 0; t < ROUNDS; t++) {
                if (t == 0 || shuffled)
                    for (int h = 0; h < 2; h++) p[h] = mot_rng_unit(&rng) < 0.33 ? 0.8 : 0.01;
                missed += mot_rng_unit(&rng) < p[0] * p[1];
            }
            sum += missed, square += (double)missed * missed;
        }
        mean[shuffled] = sum / TRIALS;
        variance[shuffled] = square / TRIALS - mean[shuffled] * mean[shuffled];
    }
    struct mot_missed m = mot_missed_moments(&two_kinds, ROUNDS);
    for (int k = 0; k < 2; k++) CHECK_NEAR(mean[k] / m.mean, 1, 0.03);
    CHECK_NEAR(variance[0] / variance[1], 58.2, SANITIZED ? 4 : 2);
}

/* ---- Errors
 * -------------------------------------------------------------------------------------------- */

/* K tasks, s copies, r survivors: K C(K - s, r) / C(K, r). */
TEST(the_mean_error_of_fractional_repetition_is_the_formulas)
{
    struct mot_code *c = CODE(.name = "frc", .workers = 12, .stragglers = 2);
    struct mot_code_quality q;
    CHECK_INT(mot_code_measure(c, 6, 10000, SEED, &q), MOT_OK);
    CHECK(q.all);
    CHECK_INT(q.patterns, 924);
    CHECK_NEAR(q.random_error, 12 * 84.0 / 924, 1e-9);
    CHECK_NEAR(q.worst_error, 6, 0); /* two groups of three gone */
    CHECK_INT(q.worst[0], 0x3f);
    CHECK_NEAR(q.load_mean, 3, 0);
    /* Too many patterns to look at: the mean is an estimate, and the worst is found all the same. */
    CHECK_INT(mot_code_measure(c, 6, 300, SEED, &q), MOT_OK);
    CHECK(!q.all);
    CHECK_NEAR(q.random_error, 12 * 84.0 / 924, 0.3);
    CHECK_NEAR(q.worst_error, 6, 0);
    mot_code_close(c);
}

TEST(exact_codes_have_no_error_up_to_their_promise_and_some_beyond)
{
    struct mot_code *c = CODE(.name = "crc", .workers = 10, .stragglers = 3);
    struct mot_code_quality q;
    CHECK_INT(mot_code_measure(c, 3, 1000, SEED, &q), MOT_OK);
    CHECK(q.all && q.worst_error < 1e-9);
    CHECK_NEAR(c->load_most, 4, 0);
    CHECK_INT(mot_code_measure(c, 4, 1000, SEED, &q), MOT_OK);
    CHECK(q.worst_error > 0.5 && q.random_error > 1e-3 && q.random_error < q.worst_error);
    CHECK_INT(mot_code_measure(c, 10, 1000, SEED, &q), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "expected fewer than there are (10)");
    mot_code_close(c);
}

/* Whoever takes all edges of a part makes it vanish. */
TEST(a_bad_pattern_is_found_in_a_large_graph)
{
    struct mot_code *c = CODE(.name = "graph", .workers = 200, .degree = 4);
    struct mot_code_quality q;
    CHECK_INT(mot_code_measure(c, 8, 500, SEED, &q), MOT_OK);
    CHECK(!q.all);
    CHECK(q.worst_error >= 2 - 1e-9); /* two parts without holders */
    CHECK(q.random_most < 2);
    mot_code_close(c);
}

/* The chance that those who answer do not give the sum, over all sets. */
static double waits_exactly(const struct mot_code *c, const double *straggles)
{
    struct mot_decoder *d = new_decoder(c);
    double sum = 0;
    for (uint64_t answered = 0; answered < UINT64_C(1) << c->workers; answered++) {
        double chance = 1;
        for (uint32_t i = 0; i < c->workers; i++)
            chance *= answered >> i & 1 ? 1 - straggles[i] : straggles[i];
        if (!mot_decoder_exact(d, c, &answered)) sum += chance;
    }
    free(d);
    return sum;
}

/* By a formula, by groups, and drawn; whatever memory held before. */
TEST(rounds_that_wait_for_a_straggler_are_as_many_as_over_all_sets_of_answers)
{
    static const struct {
        const char *name;
        double within;
    } cases[] = { { "crc", 1e-12 }, { "frc", 1e-12 }, { "hetero", 1e-12 }, { "hetero-groups", 0.02 } };
    static const double straggles[] = { 0.1, 0.3, 0.05, 0.2, 0.4, 0.15 };
    mallopt(M_PERTURB, 170);
    for (size_t i = 0; i < MOT_COUNT(cases); i++) {
        struct mot_code *c = CODE(.name = cases[i].name, .workers = 6, .stragglers = 1);
        double exactly = waits_exactly(c, straggles);
        printf("  %s: %g\n", cases[i].name, exactly);
        CHECK(exactly > 0.01);
        CHECK_NEAR(mot_code_waits(c, &none, straggles, 1), exactly, cases[i].within);
        mot_code_close(c);
    }
    mallopt(M_PERTURB, 0);
}

/* The error when s are missing who were taken one by one, each time the one whose loss hurts most. */
static double climbed(const struct mot_code *c, uint32_t s)
{
    struct mot_decoder *d = new_decoder(c);
    uint64_t missing = 0;
    double most = 0;
    for (uint32_t k = 0; k < s; k++) {
        uint32_t best = 0;
        most = -1;
        for (uint32_t r = 0; r < c->workers; r++) {
            uint64_t answered = all_but(c->workers, missing | UINT64_C(1) << r);
            struct mot_decoded out;
            if (missing >> r & 1) continue;
            mot_decode(d, c, &answered, &out);
            if (out.error > most) most = out.error, best = r;
        }
        missing |= UINT64_C(1) << best;
    }
    free(d);
    return most;
}

TEST(a_bad_pattern_is_at_least_as_bad_as_taking_the_worst_one_by_one)
{
    static const char *const names[] = { "crc", "expander" };
    for (size_t i = 0; i < MOT_COUNT(names); i++)
        for (uint32_t s = 7; s <= 10; s += 3) {
            struct mot_code *c = CODE(.name = names[i], .workers = 24, .stragglers = 2, .degree = 4);
            struct mot_code_quality q;
            CHECK_INT(mot_code_measure(c, s, 24 * s, SEED, &q), MOT_OK);
            double least = climbed(c, s);
            CHECK(!q.all && q.worst_error >= least - 1e-9);
            CHECK(q.random_most < least); /* chance does not find it */
            mot_code_close(c);
        }
}

/* What rounding errors of gradients are multiplied by: coefficients there, weights back. */
TEST(what_a_code_amplifies_is_its_largest_weight_times_its_largest_coefficient)
{
    static const char *const names[] = { "hetero", "crc" };
    for (size_t i = 0; i < MOT_COUNT(names); i++) {
        struct mot_code *c = CODE(.name = names[i], .workers = 7, .stragglers = 2);
        struct mot_code_quality q;
        double most = 0;
        CHECK_INT(mot_code_measure(c, 2, 1000, SEED, &q), MOT_OK);
        CHECK(q.all);
        for (uint32_t e = 0; e < c->at[c->workers]; e++) most = fmax(most, fabs(c->share[e].coef));
        printf("  %s: %g\n", names[i], c->amplifies);
        CHECK_NEAR(q.weight * most / c->amplifies, 1, 1e-5);
        mot_code_close(c);
    }
}

TEST_MAIN()
