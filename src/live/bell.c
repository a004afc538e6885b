#include "live/bell.h"
#include "base/stopwatch.h"
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPINS 2000u
#define LEAST_SPINS 32u
#define YIELDS 100
#define SOON_NS UINT64_C(200000)

static void pause_a_little(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

void mot_bell_ring(struct mot_bell *b)
{
    atomic_fetch_add(&b->rung, 1);
    if (atomic_load(&b->asleep)) syscall(SYS_futex, &b->rung, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

void mot_bell_wait(struct mot_bell *b, uint32_t heard, uint64_t ns, bool crowded)
{
    struct timespec end = mot_wall_in(ns);
    bool soon = ns < SOON_NS; /* spinning and yielding could overshoot it */
    uint32_t spins = crowded || soon ? 0 : b->spins + LEAST_SPINS;
    for (uint32_t i = 0; i < spins; i++) {
        if (mot_bell_heard(b) != heard) {
            b->spins = 2 * spins < SPINS ? 2 * spins : SPINS;
            return;
        }
        pause_a_little();
    }
    if (spins) b->spins /= 2;
    for (int i = 0; i < YIELDS && !soon; i++) {
        if (mot_bell_heard(b) != heard) return;
        if (!mot_turn_yield(&b->turn)) break;
    }
    atomic_fetch_add(&b->asleep, 1);
    /* The kernel rechecks `rung` before it puts us to sleep, so no ring is missed. */
    if (mot_bell_heard(b) == heard)
        syscall(SYS_futex, &b->rung, FUTEX_WAIT_BITSET_PRIVATE, heard, &end, NULL, FUTEX_BITSET_MATCH_ANY);
    atomic_fetch_sub(&b->asleep, 1);
}
