#include "code/patterns.h"
#include "base/rng.h"
#include <stdlib.h>

void mot_first_set(uint32_t s, uint32_t *set)
{
    for (uint32_t k = 0; k < s; k++) set[k] = k;
}

bool mot_next_set(uint32_t n, uint32_t s, uint32_t *set)
{
    for (uint32_t k = s; k-- > 0;) {
        if (set[k] == n - s + k) continue;
        for (set[k]++; k + 1 < s; k++) set[k + 1] = set[k] + 1;
        return true;
    }
    return false;
}

static int rising(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return (a > b) - (a < b);
}

void mot_random_set(uint32_t n, uint32_t s, uint64_t key, uint32_t *set)
{
    for (uint32_t k = 0; k < s; k++) set[k] = (uint32_t)mot_permute(key, n, k);
    if (s) qsort(set, s, sizeof(*set), rising);
}

uint64_t mot_count_sets(uint32_t n, uint32_t s, uint64_t most)
{
    double count = 1;
    for (uint32_t k = 0; k < s && count < 1e18; k++) count = count * (n - k) / (k + 1);
    return count < (double)most ? (uint64_t)(count + 0.5) : most;
}
