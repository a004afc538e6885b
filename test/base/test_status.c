/* Failure messages: one per thread, and words for every status. */
#include "test.h"
#include <motley/method.h>
#include <motley/status.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(fail_records_the_message_and_returns_the_status)
{
    CHECK_INT(mot_fail(MOT_EDATA, "%s:%d: bad", "file", 3), MOT_EDATA);
    CHECK_TEXT(mot_error(), "file:3: bad");
}

TEST(a_message_can_be_wrapped_in_another)
{
    mot_fail(MOT_EUSAGE, "inner");
    mot_fail(MOT_EUSAGE, "outer: %s", mot_error());
    CHECK_TEXT(mot_error(), "outer: inner");
}

TEST(a_very_long_message_is_cut_not_overrun)
{
    static char text[100000];
    memset(text, 'x', sizeof text - 1);
    mot_fail(MOT_EUSAGE, "%s", text);
    CHECK(strlen(mot_error()) == 4095);
}

static void *fail_elsewhere(void *unused)
{
    (void)unused;
    mot_fail(MOT_EPEER, "other thread");
    return NULL;
}

TEST(each_thread_has_its_own_message)
{
    mot_fail(MOT_EDATA, "mine");
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, fail_elsewhere, NULL) == 0);
    pthread_join(thread, NULL);
    CHECK_TEXT(mot_error(), "mine");
}

TEST(every_status_has_the_word_that_the_summary_uses)
{
    CHECK_TEXT(mot_status_name(MOT_OK), "ok");
    CHECK_TEXT(mot_status_name(MOT_ESYSTEM), "system_error");
    CHECK_TEXT(mot_status_name(MOT_EUSAGE), "bad_usage");
    CHECK_TEXT(mot_status_name(MOT_EDATA), "bad_data");
    CHECK_TEXT(mot_status_name(MOT_EPEER), "peer_lost");
    CHECK_TEXT(mot_status_name(MOT_EDEADLINE), "deadline");
    CHECK_TEXT(mot_status_name(MOT_EDIVERGED), "diverged");
    CHECK_TEXT(mot_status_name(MOT_EREPRODUCE), "not_reproducible");
    CHECK_TEXT(mot_status_name(MOT_EINTERRUPTED), "interrupted");
    CHECK_TEXT(mot_status_name((enum mot_status)77), "unknown");
}

TEST(a_failed_assert_says_which_fact_where_and_aborts)
{
    int ends[2];
    CHECK(pipe(ends) == 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        mot_assert_failed("x > 0", "file.c", 12);
    }
    close(ends[1]);
    char text[256] = "";
    ssize_t n = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    int status;
    waitpid(child, &status, 0);
    CHECK(n > 0);
    CHECK_HAS(text, "file.c:12");
    CHECK_HAS(text, "x > 0");
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

TEST_MAIN()
