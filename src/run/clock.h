/* clock.h -- the end of virtual time: 292 years, which leaves headroom for additions. */
#ifndef MOT_RUN_CLOCK_H
#define MOT_RUN_CLOCK_H

#include <motley/method.h>

#define MOT_CLOCK_END (UINT64_C(1) << 63)

/* at + by, but never past the end. Both must be at most the end. */
static inline mot_time mot_after(mot_time at, mot_time by)
{
    return by < MOT_CLOCK_END - at ? at + by : MOT_CLOCK_END;
}

#endif
