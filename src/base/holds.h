/* holds.h -- assertions about data from a file: a failure is reported, not fatal. */
#ifndef MOT_BASE_HOLDS_H
#define MOT_BASE_HOLDS_H

#include <stdbool.h>

/* Calls facts(self), which must only look and acquire nothing: a MOT_ASSERT that fails there skips the rest,
 * and mot_holds returns false. */
bool mot_holds(void (*facts)(void *self), void *self);

#endif
