#include "interrupt.h"
#include <unistd.h>

static volatile sig_atomic_t interrupted;

static void on_signal(int signal_number)
{
    if (interrupted) _exit(128 + signal_number); /* the second time the user means it */
    interrupted = signal_number;
}

const volatile sig_atomic_t *cli_catch_interrupts(void)
{
    struct sigaction action = { .sa_handler = on_signal };
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    return &interrupted;
}
