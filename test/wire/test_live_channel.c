/* The channel between two processes: each message once and in order, and silence that lasts too long. */
#include "wire/line.h"
#include "test.h"

#define SECOND UINT64_C(1000000000)

static struct mot_envelope next_of(struct mot_line *c, mot_time now)
{
    struct mot_envelope e = mot_envelope_of(MOT_ENVELOPE_BEAT);
    mot_line_seal(c, &e, now);
    return e;
}

TEST(what_was_sent_once_comes_through_once)
{
    struct mot_line a, b;
    mot_line_open(&a, 1, 0);
    mot_line_open(&b, 1, 0);
    struct mot_envelope first = next_of(&a, 1), second = next_of(&a, 2);
    CHECK_INT(mot_line_receive(&b, &first, 1), MOT_LINE_ACCEPT);
    CHECK_INT(mot_line_receive(&b, &first, 2), MOT_LINE_DUPLICATE);
    CHECK_INT(mot_line_receive(&b, &second, 3), MOT_LINE_ACCEPT);
    CHECK_INT(mot_line_receive(&b, &first, 4), MOT_LINE_DUPLICATE);
}

TEST(a_missing_message_breaks_the_channel)
{
    struct mot_line a, b;
    mot_line_open(&a, 1, 0);
    mot_line_open(&b, 1, 0);
    next_of(&a, 1);
    struct mot_envelope second = next_of(&a, 2), third = next_of(&a, 3);
    CHECK_INT(mot_line_receive(&b, &second, 2), MOT_LINE_GAP);
    CHECK(b.broken);
    CHECK_INT(mot_line_receive(&b, &third, 3), MOT_LINE_OLD);
}

TEST(every_flipped_bit_of_an_envelope_is_noticed)
{
    struct mot_line a;
    mot_line_open(&a, 1, 0);
    struct mot_envelope good = next_of(&a, 1);
    for (size_t bit = 0; bit < sizeof(good) * 8; bit++) {
        struct mot_line b;
        mot_line_open(&b, 1, 0);
        struct mot_envelope bad = good;
        ((unsigned char *)&bad)[bit / 8] ^= (unsigned char)(1u << bit % 8);
        CHECK_INT(mot_line_receive(&b, &bad, 1), MOT_LINE_DAMAGED);
    }
}

TEST(a_new_life_counts_from_one_and_the_old_is_ignored)
{
    struct mot_line old, new, b;
    mot_line_open(&old, 1, 0);
    mot_line_open(&new, 2, 0);
    mot_line_open(&b, 1, 0);
    struct mot_envelope o1 = next_of(&old, 1), o2 = next_of(&old, 2), n1 = next_of(&new, 3);
    CHECK_INT(mot_line_receive(&b, &o1, 1), MOT_LINE_ACCEPT);
    CHECK_INT(mot_line_receive(&b, &n1, 2), MOT_LINE_ACCEPT);
    CHECK_INT(mot_line_receive(&b, &o2, 3), MOT_LINE_OLD);
    CHECK(!b.broken);
}

TEST(silence_is_judged_by_what_is_usual_between_two_and_eight_seconds)
{
    struct mot_line steady, unsteady, source;
    mot_line_open(&steady, 1, 0);
    mot_line_open(&unsteady, 1, 0);
    mot_line_open(&source, 1, 0);
    mot_time now = 0, late = 0;
    for (int i = 0; i < 100; i++) {
        struct mot_envelope e = next_of(&source, now);
        now += SECOND / 5;
        late += i % 2 ? SECOND / 10 : SECOND * 3 / 2;
        mot_line_receive(&steady, &e, now);
        mot_line_receive(&unsteady, &e, late);
    }
    CHECK_INT(mot_line_patience(&steady), MOT_SILENCE_MIN_NS);
    CHECK_INT(mot_line_patience(&unsteady), MOT_SILENCE_MAX_NS);
    CHECK(!mot_line_silent(&steady, now + 2 * SECOND));
    CHECK(mot_line_silent(&steady, now + 2 * SECOND + 1));
    CHECK(!mot_line_silent(&unsteady, late + 8 * SECOND));
    CHECK(mot_line_silent(&unsteady, late + 8 * SECOND + 1));
}

TEST(a_rank_that_was_away_does_not_blame_the_others)
{
    struct mot_line c;
    mot_line_open(&c, 1, 0);
    CHECK(mot_line_silent(&c, 20 * SECOND));
    mot_line_excuse(&c, 19 * SECOND);
    CHECK(!mot_line_silent(&c, 20 * SECOND));
}

TEST_MAIN()
