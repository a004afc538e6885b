/* fuzz_capacity.c -- any bytes as a file of device capacities: JSON, a pickle or CSV. */
#include "cluster/capacity.h"
#include "fuzz.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct mot_arena arena = { NULL };
    struct mot_capacities all;
    unsigned char *copy = malloc(n + 1);
    memcpy(copy, bytes, n);
    copy[n] = '\0';
    bool is = mot_capacities_are(copy, n);
    if (mot_capacities_parse("x", copy, n, &arena, &all) == MOT_OK) {
        MOT_ASSERT(is && all.n > 0);
        for (uint32_t i = 0; i < all.n; i++) {
            const struct mot_capacity *c = &all.device[i];
            MOT_ASSERT(strlen(c->name) <= n + 20);
            MOT_ASSERT(c->ms_per_sample > 0 && c->ms_per_sample <= 1e9);
            MOT_ASSERT(c->kbit_per_s > 0 && c->kbit_per_s <= 1e12);
        }
        free(all.device);
    } else MOT_ASSERT(*mot_error());
    mot_arena_free(&arena);
    free(copy);
    return 0;
}
