#include "test.h"

#include "report/fixture.h"
#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <time.h>

TEST(a_terminal_line_fits_the_width_and_is_cleared_at_the_end)
{
    int lead, follow;
    struct winsize narrow = { .ws_row = 10, .ws_col = 40 };
    if (openpty(&lead, &follow, NULL, NULL, &narrow) != 0) SKIP("no pseudo terminal here");
    struct run r;
    run_make(&r, &method_async, 2, 10);
    r.e.stop.updates = 100;
    FILE *err = fdopen(follow, "w");
    struct mot_progress *p = mot_progress_open(&r.e, err, true);
    struct mot_moment m = r.o.last;
    m.updates = 50, m.score.test_accuracy = 0.5, m.score.train_loss = 1.25;
    mot_progress_evaluated(p, &m);
    mot_progress_close(p);
    fclose(err);
    char text[512] = "";
    ssize_t n = 0, got; /* a terminal hands over what it has so far: read to the end */
    while ((got = read(lead, text + n, sizeof text - 1 - (size_t)n)) > 0) n += got;
    close(lead);
    CHECK(n > 0);
    CHECK_HAS(text, "\r[#####.....]  50 %  50 upd");
    const char *end = strstr(text, "\x1b[K");
    CHECK(end && end - text - 1 <= 39);
    CHECK_TEXT(text + n - 4, "\r\x1b[K");
}

TEST(elsewhere_a_short_run_prints_nothing)
{
    char *text = NULL;
    size_t n;
    FILE *err = open_memstream(&text, &n);
    struct run r;
    run_make(&r, &method_async, 2, 10);
    struct mot_progress *p = mot_progress_open(&r.e, err, false);
    for (int i = 0; i < 1000; i++) mot_progress_tick(p, &r.o.last), mot_progress_evaluated(p, &r.o.last);
    mot_progress_close(p);
    fclose(err);
    CHECK_TEXT(text, "");
    free(text);
}

TEST(a_terminal_is_not_redrawn_faster_than_one_can_see)
{
    char *text = NULL;
    size_t n, redraws = 0;
    FILE *err = open_memstream(&text, &n);
    struct run r;
    run_make(&r, &method_async, 2, 10);
    struct mot_progress *p = mot_progress_open(&r.e, err, true);
    clock_t began = clock();
    for (int i = 0; i < 10000; i++) mot_progress_tick(p, &r.o.last);
    double passed = (double)(clock() - began) / CLOCKS_PER_SEC;
    mot_progress_close(p);
    fclose(err);
    for (const char *c = text; *c; c++) redraws += *c == '\r';
    CHECK(passed > 1 || redraws <= 20); /* ten a second, and the one that clears */
    CHECK(redraws >= 2);
    CHECK(!strstr(text, "%")); /* no stop is a count: no share to show */
    free(text);
}

TEST_MAIN()
