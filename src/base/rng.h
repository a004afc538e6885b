/* rng.h -- random streams: those of the public header, under the name that the rooms know them by. */
#ifndef MOT_BASE_RNG_H
#define MOT_BASE_RNG_H

#include <motley/random.h>

#endif
