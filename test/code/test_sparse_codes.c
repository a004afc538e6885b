/* Approximate codes: what they hold, and that their decoders leave no more error than they must. */
#include "codes.h"

/* What each part gets: B'a. It is unique where the weights are not. */
static double *parts_of(const struct mot_code *c, const double *weight)
{
    double *sum = mot_new(c->parts, sizeof(*sum));
    for (uint32_t r = 0; r < c->workers; r++)
        for (uint32_t k = c->at[r]; k < c->at[r + 1]; k++)
            sum[c->share[k].part] += weight[r] * (double)c->share[k].coef;
    return sum;
}

static void draw_answers(const struct mot_code *c, double chance, struct mot_rng *rng, uint64_t *answered)
{
    memset(answered, 0, MOT_ROLE_WORDS(c->workers) * sizeof(*answered));
    mot_role_add(answered, (uint32_t)mot_rng_below(rng, c->workers));
    for (uint32_t r = 0; r < c->workers; r++)
        if (mot_rng_unit(rng) < chance) mot_role_add(answered, r);
}

/* 600 workers go through LSQR, fewer through QR. */
TEST(the_component_decoder_is_least_squares_to_1e_6)
{
    static const struct {
        uint32_t workers, degree;
    } size[] = { { 12, 3 }, { 12, 4 }, { 30, 3 }, { 60, 5 }, { 100, 4 }, { 600, 4 } };
    struct mot_rng rng = mot_rng_at(SEED, MOT_RNG_TEST, 3);
    for (size_t i = 0; i < MOT_COUNT(size); i++) {
        struct mot_code *fast = CODE(.name = "graph", .workers = size[i].workers, .degree = size[i].degree);
        struct mot_code *best = CODE(.name = "graph", .workers = size[i].workers, .degree = size[i].degree,
            .decoder = MOT_DECODER_OPTIMAL);
        struct mot_decoder *d = new_decoder(fast), *e = new_decoder(best);
        CHECK_INT(fast->decoder, MOT_DECODER_COMPONENT);
        CHECK_INT(fast->parts, 2 * size[i].workers / size[i].degree);
        for (int trial = 0; trial < (SANITIZED ? 10 : size[i].workers > 100 ? 30 : 300); trial++) {
            uint64_t answered[10];
            struct mot_decoded x, y;
            draw_answers(fast, (trial % 10) / 10.0, &rng, answered);
            double *a = parts_of(fast, mot_decode(d, fast, answered, &x));
            double *b = parts_of(best, mot_decode(e, best, answered, &y)), off = 0;
            for (uint32_t j = 0; j < fast->parts; j++) off = fmax(off, fabs(a[j] - b[j]));
            CHECK_NEAR(off, 0, 1e-6);
            CHECK_NEAR(x.error, y.error, 1e-6);
            free(a), free(b);
        }
        free(d), free(e);
        mot_code_close(fast);
        mot_code_close(best);
    }
}

/* The tree carries what differs from 1 / degree only, or weights would grow with the subtrees: 10,000
 * edges of which a tenth is missing. */
TEST(component_weights_stay_small)
{
    struct mot_code *c = CODE(.name = "graph", .workers = 10000, .degree = 4);
    struct mot_decoder *d = new_decoder(c);
    struct mot_rng rng = mot_rng_at(SEED, MOT_RNG_TEST, 4);
    uint64_t answered[MOT_ROLE_WORDS(10000)];
    struct mot_decoded out;
    draw_answers(c, 0.9, &rng, answered);
    mot_decode(d, c, answered, &out);
    CHECK(out.weight < 200);
    CHECK(out.error < 0.01 * c->parts);
    free(d);
    mot_code_close(c);
}

TEST(an_expander_gives_everyone_its_load_and_no_part_twice)
{
    struct mot_code *c = CODE(.name = "expander", .workers = 100, .load = 11);
    for (uint32_t r = 0; r < 100; r++) {
        CHECK_INT(c->at[r + 1] - c->at[r], 11);
        CHECK_INT(c->held[r + 1] - c->held[r], 11);
        for (uint32_t k = c->at[r]; k < c->at[r + 1]; k++) {
            CHECK(c->share[k].coef == (float)(1.0 / 11));
            CHECK(k == c->at[r] || c->share[k].part > c->share[k - 1].part);
        }
    }
    mot_code_close(c);
}

/* Raviv et al.: every answer has the weight n / (n - s). */
TEST(one_step_weights_are_the_papers)
{
    uint64_t answered[2] = { UINT64_MAX, 0x3ffffff }; /* 90 of 100 */
    struct mot_decoded out;
    struct mot_code *c = CODE(.name = "expander", .workers = 100, .load = 4, .decoder = MOT_DECODER_ONE_STEP);
    struct mot_decoder *d = new_decoder(c);
    CHECK_NEAR(mot_decode(d, c, answered, &out)[7], 100.0 / 90, 1e-15);
    free(d);
    mot_code_close(c);
    /* Charles et al.: k / (r s) */
    c = CODE(.name = "bernoulli", .workers = 100, .load = 5, .decoder = MOT_DECODER_ONE_STEP);
    d = new_decoder(c);
    CHECK_NEAR(mot_decode(d, c, answered, &out)[7], 100.0 / (90 * 5), 1e-15);
    free(d);
    mot_code_close(c);
}

TEST(optimal_decoding_leaves_least_and_is_exact_when_all_answer)
{
    struct mot_rng rng = mot_rng_at(SEED, MOT_RNG_TEST, 5);
    static const char *const names[] = { "expander", "bernoulli", "regularised" };
    for (size_t i = 0; i < MOT_COUNT(names); i++)
        for (uint32_t n = 40; n <= 640; n *= 4) { /* 640: LSQR */
            if (SANITIZED && n > 40) continue;
            struct mot_code *c = CODE(.name = names[i], .workers = n, .load = 6);
            struct mot_code *simple =
                CODE(.name = names[i], .workers = n, .load = 6, .decoder = MOT_DECODER_ONE_STEP);
            struct mot_decoder *d = new_decoder(c), *e = new_decoder(simple);
            struct mot_decoded x, y;
            uint64_t answered[10];
            for (int trial = 0; trial < 10; trial++) {
                draw_answers(c, 0.8, &rng, answered);
                double *weight = mot_new(n, sizeof(*weight));
                memcpy(weight, mot_decode(d, c, answered, &x), n * sizeof(*weight));
                mot_decode(e, simple, answered, &y);
                CHECK(x.error < y.error);
                /* At the least error its slope vanishes: B (B'a - 1) = 0 where there is an answer. */
                double *sum = parts_of(c, weight);
                for (uint32_t r = 0; r < n; r++) {
                    double slope = 0;
                    for (uint32_t k = c->at[r]; k < c->at[r + 1]; k++)
                        slope += (double)c->share[k].coef * (sum[c->share[k].part] - 1);
                    if (mot_role_in(answered, r)) CHECK_NEAR(slope, 0, 1e-6);
                    else CHECK_NEAR(weight[r], 0, 0);
                }
                free(weight), free(sum);
            }
            draw_answers(c, 1, &rng, answered);
            mot_decode(d, c, answered, &x);
            if (i == 0) CHECK_NEAR(x.error, 0, 1e-10);
            CHECK(mot_decoder_exact(d, c, answered));
            free(d), free(e);
            mot_code_close(c);
            mot_code_close(simple);
        }
}

TEST(drawn_codes_have_the_load_that_was_asked_for_in_the_mean_and_at_most_twice_it_if_trimmed)
{
    double mean[2] = { 0, 0 };
    uint32_t most[2] = { 0, 0 };
    for (int trims = 0; trims < 2; trims++) {
        struct mot_code *c =
            CODE(.name = trims ? "regularised" : "bernoulli", .workers = 2000, .parts = 1000, .load = 4);
        for (uint32_t r = 0; r < 2000; r++) {
            uint32_t load = c->at[r + 1] - c->at[r];
            CHECK(load >= 1);
            if (load > most[trims]) most[trims] = load;
        }
        mean[trims] = c->at[2000] / 2000.0;
        mot_code_close(c);
    }
    CHECK_NEAR(mean[0], 4 + 0.018, 0.15); /* e^-4 of the workers drew nothing and got one */
    CHECK(most[0] > 8);
    CHECK_INT(most[1], 8);
    CHECK(mean[1] < mean[0]);
}

TEST_MAIN()
