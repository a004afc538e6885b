/* interrupt.h -- Ctrl-C as a request to stop. */
#ifndef MOT_CLI_INTERRUPT_H
#define MOT_CLI_INTERRUPT_H

#include <signal.h>

/* From now on the first signal to stop (SIGINT, SIGTERM, and SIGUSR1, which launchers of ranks forward if
 * Ctrl-C would end them) sets the returned flag; the second ends the program. */
const volatile sig_atomic_t *cli_catch_interrupts(void);

#endif
