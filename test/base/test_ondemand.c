/* Libraries that are loaded when they are first used (base/ondemand.h). */
#include "base/ondemand.h"
#include "test.h"
#include <pthread.h>
#include <zlib.h>

#define ZLIB_CALLS(CALL)                                                                                     \
    CALL(, crc32)                                                                                            \
    CALL(zlib, Version)

TEST(a_library_that_is_there_fills_its_table)
{
    static struct {
        ZLIB_CALLS(MOT_ONDEMAND_POINTER)
    } zlib;
    static const char *const names[] = { ZLIB_CALLS(MOT_ONDEMAND_NAME) };
    static struct mot_ondemand library = {
        .file = "libz.so.1", .wanted_by = "a test", MOT_ONDEMAND_TABLE(zlib, names)
    };
    CHECK_INT(library.count, MOT_COUNT(names));
    CHECK_INT(mot_ondemand(&library), MOT_OK);
    CHECK_INT(zlib.crc32(0, (const Bytef *)"motley", 6), crc32(0, (const Bytef *)"motley", 6));
    CHECK(strcmp(zlib.Version(), zlibVersion()) == 0);
    zlib.crc32 = NULL;
    CHECK_INT(mot_ondemand(&library), MOT_OK);
    CHECK(!zlib.crc32); /* it is filled once */
}

static void *load(void *library) { return mot_ondemand(library) == MOT_OK ? library : NULL; }

TEST(threads_may_ask_at_once)
{
    static void *pointer[1];
    static const char *const names[] = { "crc32" };
    static struct mot_ondemand library = {
        .file = "libz.so.1", .names = names, .count = 1, .table = pointer
    };
    pthread_t thread[4];
    void *loaded;
    for (size_t i = 0; i < MOT_COUNT(thread); i++)
        CHECK_INT(pthread_create(&thread[i], NULL, load, &library), 0);
    for (size_t i = 0; i < MOT_COUNT(thread); i++) {
        pthread_join(thread[i], &loaded);
        CHECK(loaded == &library);
    }
    CHECK(pointer[0]);
}

static bool says(const char *words) { return strstr(mot_error(), words) != NULL; }

TEST(a_missing_library_is_an_error_that_names_the_package)
{
    static void *pointer[1];
    static const char *const names[] = { "motley_calls" };
    struct mot_ondemand library = { .file = "libmotley-is-not-here.so.7",
        .wanted_by = "tea://",
        .names = names,
        .count = 1,
        .table = pointer };
    CHECK_INT(mot_ondemand(&library), MOT_ESYSTEM);
    CHECK(says("tea:// needs libmotley-is-not-here.so.7, which cannot be loaded: "));
    CHECK(says("; install the Debian package libmotley-is-not-here7"));
    library.package = "teapot";
    CHECK_INT(mot_ondemand(&library), MOT_ESYSTEM); /* asked again, it looks again */
    CHECK(says("; install the Debian package teapot"));
}

TEST(a_library_without_a_symbol_is_an_error_that_names_it)
{
    static void *pointer[2];
    static const char *const names[] = { "crc32", "crc64_of_tea" };
    static struct mot_ondemand library = { .file = "libz.so.1",
        .wanted_by = "tea://",
        .package = "zlib1g",
        .names = names,
        .count = 2,
        .table = pointer };
    CHECK_INT(mot_ondemand(&library), MOT_ESYSTEM);
    CHECK(says("tea:// needs crc64_of_tea of libz.so.1, which the installed version lacks; install a newer "
               "zlib1g"));
}

TEST_MAIN()
