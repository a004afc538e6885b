/* Codes: every pattern of stragglers that an exact code promises to survive gives the whole gradient. */
#include "code/solve.h"
#include "codes.h"
#include "math/kernels.h"

/* The residual of decoding with the coefficients as they were before rounding: what the mathematics
 * promises. */
static double exact_residual(const struct mot_code *c, uint64_t answered)
{
    double *a = mot_new((size_t)c->workers * c->parts, sizeof(*a)),
           *b = mot_new((size_t)c->workers * c->parts, sizeof(*b));
    double *one = mot_new(c->parts, sizeof(*one)), *x = mot_new(c->workers, sizeof(*x));
    double *room = mot_new(mot_least_squares_room(c->parts, c->workers), sizeof(*room)), worst = 0;
    uint32_t cols = 0;
    for (uint32_t r = 0; r < c->workers; r++) {
        if (!mot_role_in(&answered, r)) continue;
        for (uint32_t k = c->at[r]; k < c->at[r + 1]; k++)
            a[(size_t)cols * c->parts + c->share[k].part] = c->exact[k];
        cols++;
    }
    for (uint32_t j = 0; j < c->parts; j++) one[j] = 1;
    memcpy(b, a, (size_t)c->workers * c->parts * sizeof(*a));
    mot_least_squares(c->parts, cols, c->workers - c->stragglers, a, one, x, room);
    for (uint32_t j = 0; j < c->parts; j++) {
        double sum = -1;
        for (uint32_t k = 0; k < cols; k++) sum += x[k] * b[(size_t)k * c->parts + j];
        worst = fmax(worst, fabs(sum));
    }
    free(a), free(b), free(one), free(x), free(room);
    return worst;
}

/* Gradients of this many floats go through the code as a run's do. */
#define DIM 40
static double float_error(const struct mot_code *c, const double *weight, uint64_t answered)
{
    static float part[64][DIM], coded[64][DIM], sum[DIM];
    const float *term[64];
    double use[64], off = 0, size = 0;
    struct mot_rng rng = mot_rng_at(SEED, MOT_RNG_TEST, answered);
    uint32_t terms = 0;
    for (uint32_t j = 0; j < c->parts; j++)
        for (int i = 0; i < DIM; i++) part[j][i] = (float)mot_rng_normal(&rng);
    for (uint32_t r = 0; r < c->workers; r++) {
        if (!mot_role_in(&answered, r)) continue;
        memset(coded[r], 0, sizeof(coded[r]));
        for (uint32_t k = c->at[r]; k < c->at[r + 1]; k++)
            mot_kernels()->axpy(DIM, c->share[k].coef, part[c->share[k].part], coded[r]);
        use[terms] = weight[r];
        term[terms++] = coded[r];
    }
    mot_kernels()->blend(DIM, terms, use, term, true, NULL, sum);
    for (int i = 0; i < DIM; i++) {
        double want = 0;
        for (uint32_t j = 0; j < c->parts; j++) want += (double)part[j][i];
        double got = (double)sum[i];
        off += (got - want) * (got - want);
        size += want * want;
    }
    return sqrt(off / size);
}

struct worst {
    double exact, rounded, gradient, weight;
    uint64_t patterns;
};

/* Over every pattern of exactly the stragglers that the code promises. */
static struct worst look_at_all(const struct mot_code *c)
{
    struct worst w = { 0 };
    struct mot_decoder *d = new_decoder(c);
    for (uint64_t m = first_set(c->stragglers); m < UINT64_C(1) << c->workers; m = next_set(m)) {
        uint64_t answered = all_but(c->workers, m);
        struct mot_decoded out;
        const double *weight = mot_decode(d, c, &answered, &out);
        w.exact = fmax(w.exact, exact_residual(c, answered));
        w.rounded = fmax(w.rounded, sqrt(out.error));
        w.weight = fmax(w.weight, out.weight);
        w.gradient = fmax(w.gradient, float_error(c, weight, answered));
        w.patterns++;
        if (!mot_decoder_exact(d, c, &answered)) w.exact = INFINITY;
    }
    free(d);
    return w;
}

static uint64_t choose(uint32_t n, uint32_t k)
{
    uint64_t c = 1;
    for (uint32_t i = 1; i <= k; i++) c = c * (n - k + i) / i;
    return c;
}

#define CHECK_EXACT(c)                                                                                       \
    do {                                                                                                     \
        struct worst w_ = look_at_all(c);                                                                    \
        if (!(w_.exact < 1e-9 && w_.gradient <= 1e-4))                                                       \
            FAIL("%s of %u, %u stragglers: residual %g, gradients %g, weights up to %g", (c)->name,          \
                (c)->workers, (c)->stragglers, w_.exact, w_.gradient, w_.weight);                            \
        CHECK_INT(w_.patterns, choose((c)->workers, (c)->stragglers));                                       \
    } while (0)

TEST(cyclic_repetition_survives_every_pattern_of_up_to_12_workers)
{
    for (uint32_t n = 2; n <= 12; n++)
        for (uint32_t s = 1; s < n; s++) {
            if (SANITIZED && n != 7) continue;
            struct mot_code *c = CODE(.name = "crc", .workers = n, .stragglers = s);
            CHECK_INT(c->stragglers, s);
            CHECK_INT(c->at[n], n * (s + 1));
            CHECK_EXACT(c);
            mot_code_close(c);
        }
}

/* Nothing is lost where weights are large, only digits; and who uses it is told. */
TEST(larger_cyclic_codes_keep_their_promise_and_warn)
{
    static const uint32_t size[][2] = { { 20, 5 }, { 36, 2 }, { 72, 2 }, { 100, 1 } };
    for (size_t i = 0; i < MOT_COUNT(size); i++) {
        if (SANITIZED && i > 0) continue;
        static struct mot_code_quality q;
        struct mot_code *c = CODE(.name = "crc", .workers = size[i][0], .stragglers = size[i][1]);
        CHECK_INT(mot_code_measure(c, size[i][1], SANITIZED ? 100 : 3000, SEED, &q), MOT_OK);
        if (!(q.worst_error < 1e-3))
            FAIL("%u, %u: worst error %g, weights up to %g", size[i][0], size[i][1], q.worst_error, q.weight);
        CHECK(q.random_error < 1e-6);
        CHECK_HAS(c->warning, "multiplies the rounding errors of gradients");
        mot_code_close(c);
    }
}

TEST(fractional_repetition_survives_every_pattern_of_up_to_12_workers)
{
    for (uint32_t n = 2; n <= 12; n++)
        for (uint32_t s = 1; s < n; s++) {
            if (n % (s + 1) != 0) continue;
            struct mot_code *c = CODE(.name = "frc", .workers = n, .stragglers = s);
            CHECK_EXACT(c);
            CHECK_NEAR(look_at_all(c).rounded, 0, 0);
            mot_code_close(c);
        }
}

/* Wang et al.'s example. */
TEST(fast_workers_hold_more_parts)
{
    struct mot_code *c = CODE(.name = "hetero", .workers = 5, .parts = 7, .speeds = "1, 2, 3, 4, 4");
    static const uint32_t want[5] = { 1, 2, 3, 4, 4 };
    for (uint32_t r = 0; r < 5; r++) CHECK_INT(c->at[r + 1] - c->at[r], want[r]);
    for (uint32_t j = 0; j < 7; j++) CHECK_INT(c->held[j + 1] - c->held[j], 2);
    CHECK_EXACT(c);
    mot_code_close(c);
    /* Nobody holds more than there is, or nothing. */
    static const double speed[4] = { 1000, 1, 1, 1 };
    c = CODE(.name = "hetero", .workers = 4, .parts = 6, .stragglers = 1, .speed = speed);
    CHECK_INT(c->at[1], 6);
    for (uint32_t r = 1; r < 4; r++) CHECK_INT(c->at[r + 1] - c->at[r], 2);
    CHECK_EXACT(c);
    mot_code_close(c);
}

TEST(heterogeneous_codes_survive_every_pattern_of_up_to_12_workers)
{
    struct mot_rng rng = mot_rng_at(SEED, MOT_RNG_TEST, 2);
    for (uint32_t n = 2; n <= 12; n++)
        for (uint32_t s = 1; s < n; s++)
            for (int groups = 0; groups < 2; groups++) {
                double speed[12];
                if (SANITIZED && n != 6) continue;
                for (uint32_t i = 0; i < n; i++) speed[i] = 1 + (double)mot_rng_below(&rng, 4);
                struct mot_code *c = CODE(.name = groups ? "hetero-groups" : "hetero", .workers = n,
                    .stragglers = s, .speed = speed, .parts = n + mot_rng_below(&rng, 2 * n));
                CHECK_INT(c->stragglers, s);
                CHECK_INT(c->at[n], c->parts * (s + 1));
                CHECK_EXACT(c);
                mot_code_close(c);
            }
}

TEST(groups_that_tile_the_data_decode_by_themselves)
{
    /* Ranges 0-1, 2-3, 0-1, 2-3 tile the data twice: all are in groups. */
    struct mot_code *c = CODE(.name = "hetero-groups", .workers = 4);
    struct mot_decoder *d = new_decoder(c);
    struct mot_decoded out;
    CHECK_INT(c->groups, 2);
    CHECK(!c->replicas);
    uint64_t answered = 0;
    for (uint32_t r = 0; r < 4; r++)
        if (c->group_of[r] == 1) mot_role_add(&answered, r);
    CHECK(mot_decoder_exact(d, c, &answered));
    const double *weight = mot_decode(d, c, &answered, &out);
    CHECK_NEAR(out.error, 0, 0);
    for (uint32_t r = 0; r < 4; r++) CHECK_NEAR(weight[r], c->group_of[r] == 1, 0);
    answered = 0x1;
    CHECK(!mot_decoder_exact(d, c, &answered));
    free(d);
    mot_code_close(c);
    /* Of 0-2, 3-5, 6-0, 1-3, 4-6, each part three times, at most one set tiles 7 parts, and here none. */
    c = CODE(.name = "hetero-groups", .workers = 7, .stragglers = 2);
    CHECK_INT(c->groups, 0);
    mot_code_close(c);
    /* A group, and others that are coded for what may then still be missing. */
    c = CODE(.name = "hetero-groups", .workers = 5, .stragglers = 2, .parts = 6, .speeds = "3 3 6 3 3");
    CHECK(c->groups >= 1);
    CHECK_EXACT(c);
    mot_code_close(c);
}

TEST(of_a_group_the_lowest_role_that_answered_serves)
{
    struct mot_code *c = CODE(.name = "frc", .workers = 6, .stragglers = 2);
    struct mot_decoder *d = new_decoder(c);
    struct mot_decoded out;
    uint64_t answered = 0x36; /* 1, 2 and 4, 5 */
    static const double want[6] = { 0, 1, 0, 0, 1, 0 };
    CHECK(memcmp(mot_decode(d, c, &answered, &out), want, sizeof(want)) == 0);
    CHECK_NEAR(out.error, 0, 0);
    CHECK(mot_decoder_exact(d, c, &answered));
    answered = 0x06;
    CHECK(!mot_decoder_exact(d, c, &answered));
    mot_decode(d, c, &answered, &out);
    CHECK_NEAR(out.error, 3, 0); /* parts of the silent group */
    CHECK_INT(mot_code_holder(c, &answered, 0), 1);
    CHECK_INT(mot_code_holder(c, &answered, 3), MOT_NO_ROLE);
    answered = 0x26;
    CHECK(mot_decoder_exact(d, c, &answered));
    free(d);
    mot_code_close(c);
}

TEST(parts_need_not_be_workers)
{
    struct mot_code *c = CODE(.name = "frc", .workers = 6, .stragglers = 1, .parts = 3);
    CHECK_INT(c->parts, 3);
    for (uint32_t r = 0; r < 6; r++) {
        CHECK_INT(c->at[r + 1] - c->at[r], 1);
        CHECK_INT(c->share[c->at[r]].part, r / 2);
    }
    mot_code_close(c);
    c = CODE(.name = "frc", .workers = 6, .stragglers = 2, .parts = 8);
    CHECK_INT(c->at[1], 4);
    CHECK_INT(c->held[8], 24);
    mot_code_close(c);
}

TEST(uncoded_is_ignored_or_scaled_up)
{
    struct mot_code *c = CODE(.name = "uncoded", .workers = 5);
    struct mot_decoder *d = new_decoder(c);
    struct mot_decoded out;
    uint64_t answered = 0x17;
    const double *weight = mot_decode(d, c, &answered, &out);
    CHECK(weight[0] == 1 && weight[3] == 0 && weight[4] == 1);
    CHECK_NEAR(out.error, 1, 0);
    CHECK(!mot_decoder_exact(d, c, &answered));
    free(d);
    mot_code_close(c);
    c = CODE(.name = "uncoded", .workers = 5, .decoder = MOT_DECODER_ONE_STEP);
    d = new_decoder(c);
    weight = mot_decode(d, c, &answered, &out);
    CHECK(weight[0] == 1.25 && weight[3] == 0);
    answered = 0x1f;
    CHECK(mot_decoder_exact(d, c, &answered));
    free(d);
    mot_code_close(c);
}

/* With {0, 1}, {2, 3}, {4, 5} as groups: whoever is missing, a group with both members counts for more. */
TEST(answers_that_all_weigh_the_same_are_exact_only_if_all_are_there)
{
    struct mot_code *c = CODE(.name = "frc", .workers = 6, .stragglers = 1, .decoder = MOT_DECODER_ONE_STEP);
    struct mot_decoder *d = new_decoder(c);
    struct mot_decoded out;
    CHECK_INT(c->stragglers, 0);
    CHECK(c->approximate);
    for (uint32_t r = 0; r < 6; r++) {
        uint64_t answered = all_but(6, UINT64_C(1) << r);
        CHECK(!mot_decoder_exact(d, c, &answered));
        mot_decode(d, c, &answered, &out);
        CHECK_NEAR(out.error, 2 * 0.4 * 0.4 + 4 * 0.2 * 0.2, 1e-12); /* 0.6 of one group, 1.2 of the others */
    }
    uint64_t all = all_but(6, 0);
    CHECK(mot_decoder_exact(d, c, &all));
    mot_decode(d, c, &all, &out);
    CHECK_NEAR(out.error, 0, 1e-12);
    free(d);
    mot_code_close(c);
}

TEST(codes_of_coefficients_refuse_a_decoder_that_cannot_decode_them)
{
    static const char *const names[] = { "crc", "hetero", "hetero-groups", "sr-sgc" };
    for (int i = 0; i < 4; i++) {
        struct mot_code *c;
        const struct mot_code_spec spec = { .name = names[i], .workers = 6, .decoder = MOT_DECODER_ONE_STEP };
        CHECK_INT(mot_code_open(&spec, &c), MOT_EUSAGE);
        CHECK_HAS(mot_error(), "one-step");
        CHECK_HAS(mot_error(), names[i]);
    }
}

TEST(a_code_too_large_for_memory_is_refused_at_once)
{
    static const struct mot_code_spec spec[] = {
        { .name = "frc", .workers = 100000, .stragglers = 49999 },
        { .name = "expander", .workers = 100000, .load = 2000 },
        { .name = "bernoulli", .workers = 100000, .load = 2000 },
    };
    for (size_t i = 0; i < MOT_COUNT(spec); i++) {
        struct mot_code *c;
        CHECK_INT(mot_code_open(&spec[i], &c), MOT_EUSAGE);
        CHECK_HAS(mot_error(), "expected at most 100000000");
    }
}

TEST(the_default_repeats_in_groups_where_groups_fit)
{
    struct mot_code *c = CODE(.name = "auto", .workers = 8);
    CHECK_TEXT(c->name, "frc");
    CHECK_INT(c->stragglers, 1);
    mot_code_close(c);
    c = CODE(.name = "auto", .workers = 7);
    CHECK_TEXT(c->name, "crc");
    mot_code_close(c);
}

/* Any holder of a part will do where answers come part by part: coefficients are 1, whatever the code. */
TEST(partials_need_no_coefficients)
{
    struct mot_code *c =
        CODE(.name = "crc", .workers = 6, .stragglers = 2, .decoder = MOT_DECODER_ANY_HOLDER);
    struct mot_decoder *d = new_decoder(c);
    CHECK(c->partials);
    for (uint32_t k = 0; k < c->at[6]; k++) CHECK(c->share[k].coef == 1);
    uint64_t answered = 0x09; /* roles 0 and 3 hold 0-2 and 3-5 */
    CHECK(mot_decoder_exact(d, c, &answered));
    answered = 0x11;
    CHECK(!mot_decoder_exact(d, c, &answered));
    struct mot_decoded out;
    mot_decode(d, c, &answered, &out);
    CHECK_NEAR(out.error, 1, 0); /* part 3 */
    CHECK_INT(mot_code_holder(c, &answered, 0), 0);
    CHECK_INT(mot_code_holder(c, &answered, 4), 4);
    free(d);
    mot_code_close(c);
}

TEST(a_decoder_remembers_64_sets_and_gives_the_same_weights_again)
{
    struct mot_code *c = CODE(.name = "crc", .workers = 12, .stragglers = 2);
    struct mot_decoder *d = new_decoder(c), *fresh = new_decoder(c);
    struct mot_rng rng = mot_rng_at(SEED, MOT_RNG_TEST, 1);
    for (int round = 0; round < 2000; round++) {
        uint64_t answered =
            all_but(12, UINT64_C(1) << mot_rng_below(&rng, 12) | UINT64_C(1) << mot_rng_below(&rng, 12));
        struct mot_decoded out, want;
        const double *weight = mot_decode(d, c, &answered, &out);
        mot_decoder_init(fresh, c);
        CHECK(memcmp(weight, mot_decode(fresh, c, &answered, &want), 12 * sizeof(*weight)) == 0);
        CHECK(out.error == want.error && out.weight == want.weight);
    }
    free(d), free(fresh);
    mot_code_close(c);
}

TEST(a_decoder_can_be_copied_as_bytes)
{
    struct mot_code *c = CODE(.name = "crc", .workers = 9, .stragglers = 3);
    struct mot_decoder *d = new_decoder(c), *moved = new_decoder(c);
    struct mot_decoded out;
    for (uint64_t m = first_set(3); m < 1 << 9; m = next_set(m)) {
        uint64_t answered = all_but(9, m);
        mot_decode(d, c, &answered, &out);
    }
    memcpy(moved, d, mot_decoder_bytes(c));
    uint64_t answered = all_but(9, 0x7);
    CHECK(memcmp(mot_decode(d, c, &answered, &out), mot_decode(moved, c, &answered, &out),
              9 * sizeof(double)) == 0);
    CHECK(memcmp(moved, d, mot_decoder_bytes(c)) == 0);
    free(d), free(moved);
    mot_code_close(c);
}

TEST(what_cannot_be_is_refused_with_its_reason)
{
    static const struct {
        struct mot_code_spec spec;
        const char *says;
    } bad[] = {
        { { .name = "frc", .workers = 7, .stragglers = 1 },
            "7 workers cannot form groups of 2: expected stragglers + 1 to divide the number of workers" },
        { { .name = "frc", .workers = 6, .stragglers = 6 }, "expected fewer than there are workers (6)" },
        { { .name = "crc", .workers = 6, .stragglers = 9 }, "expected fewer than there are workers (6)" },
        { { .name = "frc", .workers = 6, .stragglers = 1, .parts = 4 },
            "expected a multiple of the 3 groups" },
        { { .name = "crc", .workers = 600 }, "its decoder solves for up to 512" },
        { { .name = "hetero", .workers = 600 }, "its decoder solves for up to 512" },
        { { .name = "hetero", .workers = 6, .parts = 2 }, "not every one of 6 workers would have a part" },
        { { .name = "hetero", .workers = 3, .speeds = "1, 2" },
            "found 2 numbers; expected one for each of 3" },
        { { .name = "hetero", .workers = 3, .speeds = "1, 2, x" }, "found 'x'; expected numbers above 0" },
        { { .name = "hetero", .workers = 3, .speeds = "1, 1e300, 2" },
            "found '1e300'; expected numbers above 0 and below 1e300" },
        { { .name = "hetero", .workers = 3, .speeds = "1, 2, -3" }, "expected numbers above 0" },
        { { .name = "expander", .workers = 7, .load = 3 }, "no graph of 7 workers has 3 neighbours each" },
        { { .name = "expander", .workers = 6, .load = 6 }, "expected a load from 2 to 5" },
        { { .name = "graph", .workers = 7 }, "as many edges as there are workers (7)" },
        { { .name = "graph", .workers = 8 }, "expected another number of workers, such as 9" },
        { { .name = "graph", .workers = 1 }, "expected another number of workers, such as 6" },
        { { .name = "graph", .workers = 12, .degree = 5 },
            "expected a degree from 2 that divides 24 more than 5 times" },
        { { .name = "bernoulli", .workers = 12, .load = 13 }, "expected at most the 12 parts there are" },
        { { .name = "frx", .workers = 6 }, "there is no code 'frx'" },
        { { .name = "frc", .workers = 6, .decoder = MOT_DECODER_COMPONENT },
            "component decodes graph codes only" },
        { { .name = "uncoded", .workers = 200000 }, "expected 1 to 100000 workers" },
    };
    for (size_t i = 0; i < MOT_COUNT(bad); i++) {
        struct mot_code *c = NULL;
        CHECK_INT(mot_code_open(&bad[i].spec, &c), MOT_EUSAGE);
        CHECK_HAS(mot_error(), bad[i].says);
        CHECK(c == NULL);
    }
}

TEST(one_worker_is_a_code_of_its_own)
{
    static const char *const names[] = { "auto", "crc", "uncoded" };
    for (size_t i = 0; i < MOT_COUNT(names); i++) {
        struct mot_code *c = CODE(.name = names[i], .workers = 1);
        struct mot_decoder *d = new_decoder(c);
        uint64_t answered = 1;
        struct mot_decoded out;
        CHECK(mot_decode(d, c, &answered, &out)[0] == 1);
        CHECK(mot_decoder_exact(d, c, &answered));
        free(d);
        mot_code_close(c);
    }
}

TEST_MAIN()
