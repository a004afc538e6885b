/* codes.h -- what the tests of codes share: codes in a line, sets of answers, and every pattern in turn. */
#ifndef MOT_TEST_CODES_H
#define MOT_TEST_CODES_H

#include "base/memory.h"
#include "base/rng.h"
#include "test.h"
#include <motley/code.h>

#define SEED 20250713

static inline struct mot_code *open_code(const struct mot_code_spec *spec)
{
    struct mot_code *code;
    if (mot_code_open(spec, &code) == MOT_OK) return code;
    printf("  %s\n", mot_error());
    exit(1);
}
#define CODE(...) open_code(&(struct mot_code_spec){ .seed = SEED, __VA_ARGS__ })

static inline struct mot_decoder *new_decoder(const struct mot_code *c)
{
    struct mot_decoder *d = mot_new(1, mot_decoder_bytes(c));
    mot_decoder_init(d, c);
    return d;
}

/* All but those of `missing`; both are bits. Up to 64 workers. */
static inline uint64_t all_but(uint32_t workers, uint64_t missing)
{
    return (workers == 64 ? UINT64_MAX : (UINT64_C(1) << workers) - 1) & ~missing;
}

/* The next larger number with as many bits (Gosper); for (m = first_set(s); m < 1 << n; m =
 * next_set(m)). */
static inline uint64_t first_set(uint32_t bits) { return (UINT64_C(1) << bits) - 1; }
static inline uint64_t next_set(uint64_t m)
{
    if (m == 0) return UINT64_MAX;
    uint64_t low = m & -m, up = m + low;
    return up | ((m ^ up) >> 2) / low;
}

#endif
