/* What all drivers derive alike before and during a run. */
#include "run/world.h"
#include "test.h"

static struct mot_every resolved(uint64_t updates, double epochs, mot_time time, struct mot_every given)
{
    struct mot_experiment x = { .stop = { .updates = updates, .epochs = epochs, .time = time } };
    x.evaluate.every = given;
    return mot_every_resolve(&x);
}

TEST(a_run_has_about_fifty_evaluations_whatever_ends_it)
{
    const struct mot_every automatic = { .unit = MOT_EVERY_AUTO };
    static const struct {
        uint64_t stop;
        double every;
    } updates[] = { { 1, 1 }, { 49, 1 }, { 50, 1 }, { 99, 1 }, { 100, 2 }, { 1000, 20 }, { 1049, 20 } };
    for (size_t i = 0; i < sizeof updates / sizeof *updates; i++) {
        struct mot_every e = resolved(updates[i].stop, 3, MOT_NEVER, automatic);
        CHECK_INT(e.unit, MOT_EVERY_UPDATES);
        CHECK_NEAR(e.value, updates[i].every, 0);
    }
    struct mot_every e = resolved(MOT_WORD_UINT, 10, 1000, automatic);
    CHECK(e.unit == MOT_EVERY_EPOCHS && e.value == 0.2);
    e = resolved(MOT_WORD_UINT, NAN, 100 * 1000000000LL, automatic);
    CHECK(e.unit == MOT_EVERY_TIME && e.value == 2e9);
    e = resolved(MOT_WORD_UINT, NAN, 7, automatic); /* time goes on by whole nanoseconds */
    CHECK(e.unit == MOT_EVERY_TIME && e.value == 1);
    e = resolved(MOT_WORD_UINT, NAN, MOT_NEVER, automatic);
    CHECK(e.unit == MOT_EVERY_EPOCHS && e.value == 0.25);
    e = resolved(1000, 10, 1000, (struct mot_every){ MOT_EVERY_EPOCHS, 3 });
    CHECK(e.unit == MOT_EVERY_EPOCHS && e.value == 3);
}

TEST(progress_names_the_worker_whose_jobs_take_longest_beside_the_mean)
{
    struct mot_pick p = { 0 };
    struct mot_moment m = { .slowest_factor = 0 };
    mot_pick_worker(&p, 0, 2);
    mot_pick_slowest(&p, &m);
    CHECK_NEAR(m.slowest_factor, 0, 0); /* beside nobody, nobody is slow */
    mot_pick_worker(&p, 1, 0);          /* it has done no job yet */
    mot_pick_worker(&p, 2, 9);
    mot_pick_worker(&p, 3, 1);
    mot_pick_worker(&p, 4, 9);
    mot_pick_worker(&p, 5, 4);
    mot_pick_slowest(&p, &m);
    CHECK_NEAR(m.slowest, 2, 0);
    CHECK_NEAR(m.slowest_factor, 9 / 5.0, 1e-12); /* the mean of five is 5 */
}

TEST(the_lead_is_the_server_or_else_worker_0)
{
    CHECK_INT(mot_world_lead(&(struct mot_world){ .workers = 5, .servers = 2, .nodes = 7 }), 5);
    CHECK_INT(mot_world_lead(&(struct mot_world){ .workers = 5, .nodes = 5 }), 0);
}

TEST_MAIN()
