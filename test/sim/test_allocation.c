/* Nothing is allocated during a run: a long run calls malloc and its like as often as a short one. */
#include "run/run.h"
#include <stdatomic.h>
#include <sys/resource.h>

#if !SANITIZED /* sanitizers bring a malloc of their own */
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);
static atomic_ulong mallocs;

void *malloc(size_t n)
{
    atomic_fetch_add(&mallocs, 1);
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    atomic_fetch_add(&mallocs, 1);
    return __libc_calloc(n, size);
}

void *realloc(void *old, size_t n)
{
    atomic_fetch_add(&mallocs, 1);
    return __libc_realloc(old, n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
    atomic_fetch_add(&mallocs, 1);
    return __libc_memalign(alignment, n);
}
#endif

static unsigned long mallocs_of(const char *method, const char *updates, const char *faults)
{
#if SANITIZED
    (void)method, (void)updates, (void)faults;
    return 0;
#else
    struct run r = { 0 };
    char cluster[400];
    snprintf(cluster, sizeof cluster,
        "{workers: [{count: 6, jitter: {name: lognormal, sigma: 0.3}}, {count: 2, speed: 200 samples/s}], "
        "faults: %s}",
        faults);
    RUN_SET(&r, "data", "digits", "model", "mlp", "model.hidden", "[16]", "method", method, "stop.updates",
        updates, "sim.threads", "2", "evaluate.every", "1000000 updates", "optimizer.momentum", "0.9",
        "cluster", cluster);
    unsigned long before = atomic_load(&mallocs);
    run_go(&r);
    unsigned long used = atomic_load(&mallocs) - before;
    if (r.status != MOT_OK) used = 0;
    run_free(&r);
    return used;
#endif
}

TEST(a_long_run_allocates_no_more_than_a_short_one)
{
    static const char *const methods[] = { "allreduce", "server", "async" };
    if (SANITIZED) SKIP("a sanitizer brings its own malloc");
    for (int m = 0; m < 3; m++) {
        unsigned long few = mallocs_of(methods[m], "10", "[]"), many = mallocs_of(methods[m], "400", "[]");
        CHECK(few > 0);
        CHECK_INT(many, few);
    }
}

TEST(nor_does_a_long_run_with_faults)
{
    static const char *const methods[] = { "allreduce", "server", "async" };
    static const char *const some = "{drop: 5%, duplicate: 5%, reorder: 5%, corrupt: 5%, stall: 0.1/s, "
                                    "slow_link: 0.1/s, partition: 0.02/s, partition_for: 50ms}";
    static const char *const all = "{drop: 5%, duplicate: 5%, reorder: 5%, corrupt: 5%, stall: 0.1/s, crash: "
                                   "0.1/s, partition: 0.1/s, partition_for: 800ms}";
    if (SANITIZED) SKIP("a sanitizer brings its own malloc");
    for (int m = 0; m < 3; m++) {
        const char *faults = m ? all : some;
        unsigned long few = mallocs_of(methods[m], "10", faults),
                      many = mallocs_of(methods[m], "400", faults);
        CHECK(few > 0);
        CHECK_INT(many, few);
    }
}

TEST(ten_thousand_workers_fit_into_a_gigabyte)
{
    struct run r = { 0 };
    if (SANITIZED) SKIP("a sanitizer takes memory of its own");
    RUN_SET(&r, "data", "synthetic", "data.size", "20000", "model", "softmax", "method", "async", "workers",
        "10000", "batch", "1", "stop.updates", "30000", "evaluate.every", "1000000 updates");
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.out.last.updates, 30000);
    run_free(&r);
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    CHECK(use.ru_maxrss < 1000000);
}

TEST_MAIN()
