/* patience.h -- for tests of many runs: one that asserts or does not end prints the command that repeats it.
 *
 * What is limited is the processor's time of each run, so neither the number of runs nor what else the
 * machine does decides. A run takes some milliseconds of it. */
#ifndef MOT_TEST_PATIENCE_H
#define MOT_TEST_PATIENCE_H

#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define PATIENCE_S 30

static char patience_command[2600];

static inline void patience_repeat(int signal_number)
{
    static const char asserts[] = "  an assertion; this repeats it:\n  ",
                      hangs[] = "  it does not end; this repeats it:\n  ";
    ssize_t n = signal_number == SIGABRT ? write(STDOUT_FILENO, asserts, sizeof asserts - 1)
                                         : write(STDOUT_FILENO, hangs, sizeof hangs - 1);
    n = write(STDOUT_FILENO, patience_command, strlen(patience_command));
    n = write(STDOUT_FILENO, "\n", 1);
    (void)n;
    _exit(128 + signal_number);
}

/* Begins a run; 0: the last one is over. */
static inline void patience_for(int seconds)
{
    signal(SIGABRT, seconds ? patience_repeat : SIG_DFL);
    signal(SIGPROF, seconds ? patience_repeat : SIG_IGN);
    setitimer(ITIMER_PROF, &(struct itimerval){ .it_value = { .tv_sec = seconds } }, NULL);
}

#endif
