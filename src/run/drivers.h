/* drivers.h -- the drivers by their names. */
#ifndef MOT_RUN_DRIVERS_H
#define MOT_RUN_DRIVERS_H

#include "run/driver.h"

/* NULL: there is none of this name. */
const struct mot_driver *mot_driver_named(const char *name);

#endif
