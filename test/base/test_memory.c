/* Allocation, arenas, reserved address space. */
#include "base/memory.h"
#include "test.h"
#include <sys/wait.h>
#include <unistd.h>

/* AddressSanitizer, too, refuses what no machine can serve, instead of ending the program. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

TEST(an_arena_gives_zeroed_aligned_memory_that_keeps_its_contents)
{
    struct mot_arena arena = { 0 };
    unsigned char *given[500];
    for (size_t i = 0; i < MOT_COUNT(given); i++) {
        size_t bytes = i * i % 9000;
        given[i] = mot_arena_new(&arena, bytes);
        CHECK((uintptr_t)given[i] % 16 == 0);
        for (size_t b = 0; b < bytes; b++) CHECK(given[i][b] == 0);
        memset(given[i], (int)i, bytes);
    }
    for (size_t i = 0; i < MOT_COUNT(given); i++)
        for (size_t b = 0; b < i * i % 9000; b++) CHECK(given[i][b] == (unsigned char)i);
    CHECK_TEXT(mot_arena_text(&arena, "motley"), "motley");
    mot_arena_free(&arena);
    CHECK(arena.last == NULL);
}

TEST(empty_requests_are_fine)
{
    void *a = mot_new(0, 8), *b = mot_new(8, 0), *c = mot_aligned(0), *d = mot_grow(NULL, 0, 4);
    CHECK(a && b && c && d);
    free(a), free(b), free(c), free(d);
    mot_release(mot_reserve(0), 0);
    mot_release(NULL, 100);
    struct mot_arena none = { 0 };
    mot_arena_free(&none);
}

TEST(aligned_memory_is_aligned_and_zero)
{
    unsigned char *p = mot_aligned(1000);
    CHECK((uintptr_t)p % 64 == 0);
    for (int i = 0; i < 1000; i++) CHECK(p[i] == 0);
    free(p);
}

TEST(reserved_space_is_zero_and_costs_nothing_until_touched)
{
    size_t huge = (size_t)1 << 36;
    unsigned char *p = mot_reserve(huge);
    p[huge - 1] = 1;
    p[0] = 2;
    CHECK(p[huge / 2] == 0 && p[huge - 1] == 1);
    mot_release(p, huge);
}

TEST(text_and_format_are_copies)
{
    char *a = mot_text("ab"), *b = mot_format("%s-%d", a, 7);
    CHECK_TEXT(b, "ab-7");
    free(a), free(b);
}

TEST(a_size_that_overflows_ends_the_program_with_status_1)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(9);
        volatile size_t most = SIZE_MAX / 2;
        (void)mot_grow(NULL, most, 4);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 1);
}

/* Asks for more than any machine has, without a constant that the compiler would warn of. */
static size_t too_much(void)
{
    volatile size_t most = SIZE_MAX / 4;
    return most;
}

TEST(a_large_request_that_is_refused_gives_null_and_marks_the_call)
{
    struct mot_spare *spare;
    CHECK_INT(mot_spare_open(&spare), MOT_OK);
    CHECK(mot_spare_use(spare) == NULL);
    CHECK(mot_spare_mine() == spare);
    CHECK(!mot_memory_refused());
    CHECK_INT(mot_memory_status(), MOT_OK);
    char *kept = mot_text("kept");
    struct mot_arena arena = { 0 };
    CHECK(mot_grow_large(kept, too_much(), 1) == NULL);
    CHECK_TEXT(kept, "kept");
    CHECK(mot_memory_refused());
    CHECK(mot_new_large(too_much(), 8) == NULL);
    CHECK(mot_aligned_large(too_much()) == NULL);
    CHECK(mot_reserve(too_much()) == NULL);
    CHECK(mot_arena_new_large(&arena, too_much()) == NULL);
    CHECK(arena.last == NULL);
    CHECK_INT(mot_memory_status(), MOT_ESYSTEM);
    char message[80];
    snprintf(message, sizeof message, "out of memory: no room for %zu bytes", too_much());
    CHECK_TEXT(mot_error(), message); /* of the first that was refused */
    CHECK(mot_spare_use(NULL) == spare);
    CHECK(!mot_memory_refused());
    free(kept);
    mot_spare_close(spare);
}

TEST(two_calls_do_not_see_each_others_mark)
{
    struct mot_spare *one, *other;
    CHECK_INT(mot_spare_open(&one), MOT_OK);
    CHECK_INT(mot_spare_open(&other), MOT_OK);
    mot_spare_use(one);
    mot_memory_refuse(7);
    mot_memory_refuse(8);
    CHECK(mot_spare_use(other) == one);
    CHECK(!mot_memory_refused());
    mot_spare_use(one);
    CHECK_INT(mot_memory_status(), MOT_ESYSTEM);
    CHECK_TEXT(mot_error(), "out of memory: no room for 7 bytes");
    mot_spare_use(other);
    mot_memory_refuse(0);
    CHECK_INT(mot_memory_status(), MOT_ESYSTEM);
    CHECK_TEXT(mot_error(), "out of memory");
    mot_spare_use(NULL);
    mot_spare_close(one);
    mot_spare_close(other);
    mot_spare_close(NULL);
}

TEST(the_machine_has_memory) { CHECK(mot_machine_memory() > (uint64_t)64 << 20); }

TEST_MAIN()
