#include "driver/bell.h"
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SPINS 2000u
#define LEAST_SPINS 32u
#define YIELDS 100

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
    uint32_t spins = crowded ? 0 : b->spins + LEAST_SPINS;
    for (uint32_t i = 0; i < spins; i++) {
        if (mot_bell_heard(b) != heard) {
            b->spins = 2 * spins < SPINS ? 2 * spins : SPINS;
            return;
        }
        pause_a_little();
    }
    b->spins /= 2;
    for (int i = 0; i < YIELDS; i++) {
        if (mot_bell_heard(b) != heard) return;
        sched_yield();
    }
    struct timespec limit = { .tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u) };
    atomic_fetch_add(&b->asleep, 1);
    /* The kernel looks at `rung` once more before it puts us to sleep: a ring in between is not missed. */
    if (mot_bell_heard(b) == heard) syscall(SYS_futex, &b->rung, FUTEX_WAIT_PRIVATE, heard, &limit, NULL, 0);
    atomic_fetch_sub(&b->asleep, 1);
}
