/* rng.h -- the random streams of the public header, under the name that the rooms use. */
#ifndef MOT_BASE_RNG_H
#define MOT_BASE_RNG_H

#include <motley/random.h>

#endif
