/* Sequential codes: how little redundancy a pattern of bursts needs, and that roles have one holder. */
#include "base/memory.h"
#include "test.h"
#include <motley/code.h>

static const struct mot_code *sequential(uint32_t workers, uint64_t burst, uint64_t window, uint64_t distinct)
{
    static struct mot_code *c;
    mot_code_close(c);
    c = NULL;
    struct mot_code_spec spec = { .name = "sr-sgc",
        .workers = workers,
        .burst = burst,
        .window = window,
        .distinct = distinct,
        .slack = 1 };
    return mot_code_open(&spec, &c) == MOT_OK ? c : NULL;
}

/* s = ceil(B lambda / (W - 1 + B)). */
TEST(a_burst_that_is_repeated_later_needs_fewer_copies)
{
    const struct mot_code *c = sequential(12, 1, 2, 4);
    CHECK(c);
    CHECK_INT(c->stragglers, 2);
    CHECK_INT(c->burst, 1);
    CHECK_TEXT(c->name, "sr-sgc");
    CHECK_INT(c->load_most, 3);
    c = sequential(10, 2, 5, 7);
    CHECK(c);
    CHECK_INT(c->stragglers, 3);
    CHECK_INT(c->load_most, 4); /* 4 does not divide 10: cyclic repetition */
    c = sequential(12, 1, 0, 2);
    CHECK(c);
    CHECK_INT(c->stragglers, 1);
}

TEST(patterns_that_do_not_fit_are_refused)
{
    CHECK(!sequential(12, 2, 4, 4));
    CHECK_HAS(mot_error(), "code.window: found 4; expected 1 more than a multiple of burst (2)");
    CHECK(!sequential(12, 1, 2, 12));
    CHECK_HAS(mot_error(), "code.distinct: found 12; expected fewer than there are workers (12)");
}

TEST(after_every_shuffle_a_role_has_the_holder_whose_role_it_is)
{
    const struct mot_code *c = sequential(12, 1, 2, 4);
    for (uint32_t kind = MOT_SHUFFLE_NONE; kind <= MOT_SHUFFLE_PARTIAL; kind++)
        for (uint64_t number = 0; number < 40; number++)
            for (uint32_t worker = 0; worker < 12; worker++) {
                struct mot_shuffle how = { .kind = kind, .fraction = 0.5, .seed = 3 };
                uint32_t role = mot_shuffle_role(&how, c, number, worker);
                CHECK(role < 12);
                CHECK_INT(mot_shuffle_holder(&how, c, number, role), worker);
            }
}

TEST_MAIN()
