/* test.h -- a small test harness. A test's name is its claim.
 *
 *   TEST(a_closed_round_ignores_late_gradients) { CHECK(x == 3); CHECK_NEAR(y, 0.5, 1e-6); }
 *   TEST_MAIN()
 *
 * A failed check is counted, printed with its values, and ends its test. The
 * program takes a part of a name as an argument and then runs only what matches. It ends with 1 if a test
 * failed or none matched, with 77 if all were skipped: ctest shows that as skipped, not as passed. */
#ifndef MOT_TEST_H
#define MOT_TEST_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A sanitizer watches what a path does, several times as slowly. So under one a test takes every path once;
 * that it holds for more seeds, sizes and repeats the ordinary build shows. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

struct test {
    const char *name;
    void (*run)(void);
    struct test *next;
};
static struct test *test_first, **test_last = &test_first;
static int test_failures, test_skips;
static const char *test_skipped;

#define TEST(claim)                                                                                          \
    static void claim(void);                                                                                 \
    __attribute__((constructor)) static void claim##_register(void)                                          \
    {                                                                                                        \
        static struct test t = { #claim, claim, NULL };                                                      \
        *test_last = &t;                                                                                     \
        test_last = &t.next;                                                                                 \
    }                                                                                                        \
    static void claim(void)

/* A claim that only simulates, in a program that has others about threads. It shows ThreadSanitizer nothing:
 * the simulator's own threads have their turn in test_sim and test_faults. */
#ifdef __SANITIZE_THREAD__
#define TEST_SIMULATED(claim) __attribute__((unused)) static void claim(void)
#else
#define TEST_SIMULATED(claim) TEST(claim)
#endif

#define FAIL(...)                                                                                            \
    do {                                                                                                     \
        printf("  %s:%d: ", __FILE__, __LINE__);                                                             \
        printf(__VA_ARGS__);                                                                                 \
        putchar('\n');                                                                                       \
        test_failures++;                                                                                     \
        return;                                                                                              \
    } while (0)
#define CHECK(fact)                                                                                          \
    do {                                                                                                     \
        if (!(fact)) FAIL("does not hold: %s", #fact);                                                       \
    } while (0)
#define CHECK_INT(a, b)                                                                                      \
    do {                                                                                                     \
        long long a_ = (long long)(a), b_ = (long long)(b);                                                  \
        if (a_ != b_) FAIL("%s is %lld, expected %lld", #a, a_, b_);                                         \
    } while (0)
#define CHECK_NEAR(a, b, tolerance)                                                                          \
    do {                                                                                                     \
        double a_ = (double)(a), b_ = (double)(b);                                                           \
        if (!(fabs(a_ - b_) <= (tolerance)))                                                                 \
            FAIL("%s is %.12g, expected %.12g within %g", #a, a_, b_, (double)(tolerance));                  \
    } while (0)
#define CHECK_TEXT(a, b)                                                                                     \
    do {                                                                                                     \
        const char *a_ = (a), *b_ = (b);                                                                     \
        if (!a_ || strcmp(a_, b_) != 0) FAIL("%s is \"%s\", expected \"%s\"", #a, a_ ? a_ : "(null)", b_);   \
    } while (0)
#define CHECK_HAS(text, part)                                                                                \
    do {                                                                                                     \
        const char *t_ = (text), *p_ = (part);                                                               \
        if (!t_ || !strstr(t_, p_)) FAIL("\"%s\" does not contain \"%s\"", t_ ? t_ : "(null)", p_);          \
    } while (0)
/* Says why and leaves the test, which then counts as skipped. */
#define SKIP(why)                                                                                            \
    do {                                                                                                     \
        test_skipped = (why);                                                                                \
        return;                                                                                              \
    } while (0)

static int test_main(int count, char **arguments)
{
    int run = 0;
    for (struct test *t = test_first; t; t = t->next) {
        if (count > 1 && !strstr(t->name, arguments[1])) continue;
        int before = test_failures;
        test_skipped = NULL;
        t->run();
        run++;
        if (test_skipped) {
            printf("skip %s: %s\n", t->name, test_skipped);
            test_skips++;
        } else printf("%s %s\n", test_failures == before ? "ok  " : "FAIL", t->name);
        fflush(stdout);
    }
    printf("%d tests, %d failed, %d skipped\n", run, test_failures, test_skips);
    if (test_failures || run == 0) return 1;
    return test_skips == run ? 77 : 0;
}
#define TEST_MAIN()                                                                                          \
    int main(int count, char **arguments) { return test_main(count, arguments); }

#endif
