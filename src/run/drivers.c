#include "run/drivers.h"
#include "base/memory.h"
#include <string.h>

static const struct mot_driver *const drivers[] = { &mot_driver_sim, &mot_driver_threads, &mot_driver_mpi,
    &mot_driver_replay };

const struct mot_driver *mot_driver_named(const char *name)
{
    for (size_t i = 0; i < MOT_COUNT(drivers); i++)
        if (strcmp(drivers[i]->name, name) == 0) return drivers[i];
    return NULL;
}
