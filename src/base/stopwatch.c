#include "base/stopwatch.h"
#include <sys/resource.h>
#include <time.h>

uint64_t mot_wall_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

double mot_wall_s(void) { return 1e-9 * (double)mot_wall_ns(); }

double mot_cpu_s(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
        1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}
