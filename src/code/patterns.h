/* patterns.h -- sets of s out of n, one after the other or at random. */
#ifndef MOT_CODE_PATTERNS_H
#define MOT_CODE_PATTERNS_H

#include <stdbool.h>
#include <stdint.h>

void mot_first_set(uint32_t s, uint32_t *set);
bool mot_next_set(uint32_t n, uint32_t s, uint32_t *set); /* in order; false: that was the last */
void mot_random_set(uint32_t n, uint32_t s, uint64_t key, uint32_t *set); /* rising */
/* How many there are, or `most` if that is less. */
uint64_t mot_count_sets(uint32_t n, uint32_t s, uint64_t most);

#endif
