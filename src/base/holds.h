/* holds.h -- assertions about what came from a file: reported if they fail, instead of being fatal. */
#ifndef MOT_BASE_HOLDS_H
#define MOT_BASE_HOLDS_H

#include <stdbool.h>

/* Calls facts(self), which only looks, and takes nothing that would have to be given back. False: a
 * MOT_ASSERT in it failed, and the rest was skipped. */
bool mot_holds(void (*facts)(void *self), void *self);

#endif
