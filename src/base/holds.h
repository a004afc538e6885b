/* holds.h -- facts about what came from a file: told where they do not hold, instead of being fatal. */
#ifndef MOT_BASE_HOLDS_H
#define MOT_BASE_HOLDS_H

#include <stdbool.h>

/* Calls facts(self), which only looks, and takes nothing that would have to be given back. False: a
 * MOT_ASSERT in it did not hold, and the rest was left out. */
bool mot_holds(void (*facts)(void *self), void *self);

#endif
