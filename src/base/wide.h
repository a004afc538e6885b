/* wide.h -- 128 bits: the product of two 64-bit numbers, and keys that hold two of them. */
#ifndef MOT_BASE_WIDE_H
#define MOT_BASE_WIDE_H

__extension__ typedef unsigned __int128 mot_uint128;

#endif
