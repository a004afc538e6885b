/* Progress of a study: what the line says, when it is written, and that it is cleared. */
#include "study/watch.h"
#include "test.h"
#include <time.h>

static char *said;
static size_t bytes;
static struct mot_study_side arm[] = { { .name = "a" }, { .name = "server" } },
                             condition[] = { { .name = "" }, { .name = "x=4" } };
static struct mot_study_plan plan = { .arm = arm, .arms = 2, .condition = condition, .conditions = 2 };
static struct mot_runner runner;

static struct mot_watcher *begin_with(bool terminal, unsigned slots, size_t runs, bool partitions)
{
    if (runner.progress) fclose(runner.progress);
    free(said);
    said = NULL;
    runner = (struct mot_runner){
        .plan = &plan, .doing = "tuning", .progress = open_memstream(&said, &bytes), .terminal = terminal
    };
    return mot_watcher_open(&runner, slots, runs, partitions);
}

static struct mot_watcher *begin(bool terminal, unsigned slots, size_t runs)
{
    return begin_with(terminal, slots, runs, false);
}

static void pass(long ms) { nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL); }

TEST(a_terminal_sees_at_once_how_far_it_is_and_what_runs)
{
    const struct mot_study_setting tuned = { .key = "lr", .value = "0.5" };
    const struct mot_case one = { .arm = 0, .condition = 0, .seed = 7 },
                          two = { .arm = 1, .condition = 1, .seed = 8, .more = &tuned, .mores = 1 };
    struct mot_watcher *w = begin(true, 3, 10);
    mot_watcher_began(w, &one, 0);
    mot_watcher_began(w, &two, 2);
    mot_watcher_tick(w);
    /* 79 columns: the last stays free */
    CHECK_TEXT(
        said, "\r[..........] tuning: 0 of 10 runs; now a seed 7, server under x=4 lr=0.5 seed 8\x1b[K");
    size_t before = bytes;
    mot_watcher_ended(w, 2);
    mot_watcher_began(w, &one, 2);
    mot_watcher_ended(w, 2);
    mot_watcher_ended(w, 0);
    pass(110);
    mot_watcher_tick(w);
    CHECK_HAS(said + before, "\r[###.......] tuning: 3 of 10 runs");
    before = bytes;
    mot_watcher_close(w);
    CHECK_TEXT(said + before, "\r\x1b[K");
}

TEST(the_time_left_goes_by_the_runs_that_are_done)
{
    struct mot_watcher *w = begin(true, 1, 1000000);
    mot_watcher_ended(w, 0);
    pass(600);
    mot_watcher_tick(w);
    unsigned days = 0;
    const char *at = strstr(said, "1 of 1000000 runs, ");
    CHECK(at != NULL);
    /* 999999 times 0.6 s and more */
    CHECK(sscanf(at, "1 of 1000000 runs, %ud ", &days) == 1);
    CHECK(days >= 6);
    CHECK_HAS(said, " left\x1b[K");
    mot_watcher_close(w);
}

TEST(a_file_sees_a_line_after_two_seconds)
{
    const struct mot_case one = { .arm = 1, .condition = 0, .seed = 3 };
    struct mot_watcher *w = begin(false, 1, 4);
    mot_watcher_began(w, &one, 0);
    mot_watcher_tick(w);
    fflush(runner.progress);
    CHECK_INT(bytes, 0);
    pass(2050);
    mot_watcher_tick(w);
    CHECK_TEXT(said, "tuning: 0 of 4 runs; now server seed 3\n");
    mot_watcher_tick(w);
    mot_watcher_close(w);
    fflush(runner.progress);
    CHECK_TEXT(said, "tuning: 0 of 4 runs; now server seed 3\n");
}

TEST(the_line_fits_the_terminal_and_names_four_runs_at_most)
{
    struct mot_case c[6];
    arm[1].name = "s";
    struct mot_watcher *w = begin(true, 6, 6);
    for (unsigned i = 0; i < 6; i++) {
        c[i] = (struct mot_case){ .arm = 1, .seed = i };
        mot_watcher_began(w, &c[i], i);
    }
    mot_watcher_tick(w);
    CHECK_TEXT(said, "\r[..........] tuning: 0 of 6 runs; now s seed 0, s seed 1, s seed 2, s seed 3\x1b[K");
    mot_watcher_close(w);
    arm[1].name = "an arm whose name has a line\nbreak, and more words than there are columns in a terminal";
    w = begin(true, 1, 6);
    mot_watcher_began(w, &c[0], 0);
    mot_watcher_tick(w);
    const char *end = strstr(said, "\x1b[K");
    CHECK(end != NULL);
    CHECK_INT(end - said, 80); /* the return and 79 columns */
    CHECK(strchr(said, '\n') == NULL);
    mot_watcher_close(w);
}

TEST(partitions_that_are_made_before_the_runs_are_called_so)
{
    struct mot_watcher *w = begin_with(true, 1, 4, true);
    mot_watcher_tick(w);
    CHECK_TEXT(said, "\r[..........] tuning: 0 of 4 partitions\x1b[K");
    mot_watcher_close(w);
}

TEST(nothing_is_said_when_all_is_done_or_nobody_listens)
{
    struct mot_watcher *w = begin(true, 1, 1);
    mot_watcher_ended(w, 0);
    mot_watcher_tick(w);
    mot_watcher_close(w);
    fflush(runner.progress);
    CHECK_INT(bytes, 0);
    w = begin(true, 1, 1);
    fclose(runner.progress);
    runner.progress = NULL;
    mot_watcher_tick(w);
    mot_watcher_close(w);
    free(said);
    said = NULL;
}

TEST_MAIN()
