/* What is said about parts that differ more or less than a batch's noise, and about whose rows a model
 * leans to. */
#include "test.h"

#include "report/fixture.h"
#include "report/parts.h"

static char said[256];
static const struct mot_parts_cut eight = { 8, 32, false };
static const char *words(double zeta2, double sigma2, double share, uint32_t parts, uint32_t batch)
{
    struct mot_parts_differ d = mot_parts_differ((struct mot_heterogeneity){ zeta2, sigma2 }, share);
    return mot_parts_words(&d, &(struct mot_parts_cut){ parts, batch, false }, false, said, sizeof said);
}

TEST(words_follow_the_ratio_of_what_parts_and_batches_differ_by)
{
    CHECK_TEXT(words(0.02, 32, 1.0 / 32, 8, 32),
        "parts differ by about 2.0 % of a batch's noise: beside it, how rows are cut will not show");
    CHECK_TEXT(words(0, 32, 1.0 / 32, 8, 32),
        "parts differ by about 0 % of a batch's noise: beside it, how rows are cut will not show");
    CHECK_HAS(words(0.049, 32, 1.0 / 32, 8, 32), "will not show");
    CHECK_TEXT(words(0.05, 32, 1.0 / 32, 8, 32),
        "parts differ by about 5.0 % of a batch's noise: a gradient is as far off as if its batch had 30 "
        "rows "
        "instead of 32");
    CHECK_TEXT(words(0.6, 32, 1.0 / 32, 8, 32),
        "parts differ by about 60 % of a batch's noise: a gradient is as far off as if its batch had 20 rows "
        "instead of 32");
    CHECK_TEXT(words(1, 32, 1.0 / 32, 8, 32),
        "parts differ by about 1.0 times a batch's noise: a method that ignores who computed a gradient is "
        "drawn to the rows of those who compute most");
    CHECK_HAS(words(40.4, 32, 1.0 / 32, 8, 32), "about 40 times a batch's noise: a method that ignores");
}

TEST(a_small_share_of_some_rows_is_not_told_from_none)
{
    struct mot_parts_differ d = { 0.02, 32, 1 };
    CHECK_TEXT(mot_parts_words(&d, &eight, true, said, sizeof said),
        "parts differ by less than about 5 % of a batch's noise: beside it, how rows are cut will not show");
    d.zeta2 = 0.2;
    CHECK_HAS(mot_parts_words(&d, &eight, true, said, sizeof said), "parts differ by about 20 % of");
}

TEST(parts_that_are_shared_matter_where_an_update_lacks_one)
{
    const struct mot_parts_cut shared = { 8, 32, true };
    struct mot_parts_differ d = { 0.6, 32, 1 };
    CHECK_TEXT(mot_parts_words(&d, &shared, false, said, sizeof said),
        "parts differ by about 60 % of a batch's noise: an update without a part's gradient is drawn to the "
        "rows of the rest");
    d.noise = 0;
    CHECK_HAS(
        mot_parts_words(&d, &shared, false, said, sizeof said), "differ only in which part they come from");
}

TEST(words_name_no_batch_where_there_are_several_or_less_than_a_row_would_do)
{
    const char *noisier = "the cut makes gradients noisier, but less than the choice of rows does";
    CHECK_HAS(words(0.6, 32, 1.0 / 32, 8, 0), noisier);
    CHECK_HAS(words(0.6, 1, 1, 8, 1), noisier);
}

TEST(words_are_true_where_nothing_differs_or_batches_have_no_noise)
{
    CHECK_HAS(words(0, 5, 0.1, 1, 32), "one part holds all rows");
    CHECK_HAS(words(0, 0, 0.1, 8, 32), "neither parts nor batches differ");
    CHECK_HAS(words(3, 5, 0, 8, 0), "batches are whole parts and have no noise");
    CHECK_HAS(words(0, 5, 0, 8, 0), "neither parts nor batches differ");
    CHECK_TEXT(words(NAN, NAN, 0.1, 8, 32), "");
    CHECK_TEXT(words(INFINITY, INFINITY, 0.1, 8, 32), "");
}

/* Four workers of which the first gives 7 of 10 gradients. */
static void make_uneven(struct run *r, const struct mot_method *method, double ratio)
{
    static double share[] = { 0.25, 0.25, 0.25, 0.25 };
    run_make(r, method, 4, 100);
    for (uint32_t i = 0; i < 4; i++) r->node[i].updates = i ? 10 : 70;
    r->o.start.known = true, r->o.start.sigma2 = 32, r->o.start.batch_share = 1.0 / 32;
    r->o.start.zeta2 = ratio;
    r->o.start.share = share;
}

static bool leans(const struct run *r)
{
    char *verdict = mot_verdict(&r->e, &r->o);
    bool says = strstr(verdict, "the model leans towards these") != NULL;
    if (says)
        says = strstr(verdict,
                   "Of the gradients used 70 % came from worker 0, which holds 25 % of the rows; parts "
                   "differ by 12 "
                   "times a batch's noise") != NULL;
    free(verdict);
    return says;
}

TEST(a_verdict_says_whose_rows_a_model_leans_to)
{
    struct run r;
    make_uneven(&r, &method_async, 12);
    CHECK(leans(&r));
    make_uneven(&r, &method_async, 0.9); /* parts are alike */
    CHECK(!leans(&r));
    make_uneven(&r, &method_allreduce, 12); /* weighs workers equally, whatever they gave */
    CHECK(!leans(&r));
    make_uneven(&r, &method_async, 12);
    for (uint32_t i = 0; i < 4; i++) r.node[i].updates = 25;
    CHECK(!leans(&r));
    make_uneven(&r, &method_async, 12);
    r.o.start.known = false;
    CHECK(!leans(&r));
}

TEST_MAIN()
