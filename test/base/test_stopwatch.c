/* Waits that end by themselves: by the clock that nobody can set. */
#include "base/stopwatch.h"
#include "test.h"
#include <errno.h>
#include <stdint.h>

static uint64_t ns_of(const struct timespec *t)
{
    return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

TEST(a_moment_to_come_is_that_much_later_on_the_monotonic_clock)
{
    const uint64_t in[] = { 0, 1, 999999999, 1000000000, 59999999999 };
    for (size_t i = 0; i < sizeof in / sizeof *in; i++) {
        uint64_t before = mot_wall_ns();
        struct timespec t = mot_wall_in(in[i]);
        uint64_t after = mot_wall_ns();
        CHECK(t.tv_nsec >= 0 && t.tv_nsec < 1000000000);
        CHECK(ns_of(&t) >= before + in[i] && ns_of(&t) <= after + in[i]);
    }
}

/* With the wall clock's idea of such a moment, it would return at once, again and again. */
TEST(a_timed_wait_lasts_until_its_moment)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t never;
    mot_timed_cond_init(&never);
    pthread_mutex_lock(&lock);
    uint64_t began = mot_wall_ns();
    struct timespec until = mot_wall_in(20000000);
    int error = 0;
    unsigned woken = 0;
    while (error == 0 && woken++ < 100) error = pthread_cond_timedwait(&never, &lock, &until);
    uint64_t took = mot_wall_ns() - began;
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&never);
    CHECK_INT(error, ETIMEDOUT);
    CHECK(took >= 20000000);
}

TEST_MAIN()
