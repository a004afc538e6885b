/* interrupt.h -- Ctrl-C as a wish, not as an axe. */
#ifndef MOT_CLI_INTERRUPT_H
#define MOT_CLI_INTERRUPT_H

#include <signal.h>

/* From now on the first signal that asks for the end (SIGINT, SIGTERM, and SIGUSR1, which launchers of
 * ranks forward where Ctrl-C would end them) sets the flag that is returned; the second ends the program. */
const volatile sig_atomic_t *cli_catch_interrupts(void);

#endif
