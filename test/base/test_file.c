/* Files are replaced atomically: a reader sees the old or the new one, never half of either. */
#include "base/file.h"
#include "base/memory.h"
#include "test.h"
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/motley-test-XXXXXX";

__attribute__((constructor)) static void make_folder(void)
{
    if (!mkdtemp(folder)) abort();
}

static void empty_folder(const char *path)
{
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        char *name = mot_path_join(path, e->d_name);
        if (unlink(name) != 0) empty_folder(name);
        free(name);
    }
    if (d) closedir(d);
    rmdir(path);
}

__attribute__((destructor)) static void remove_folder(void) { empty_folder(folder); }

static int entries(const char *path)
{
    int n = 0;
    DIR *d = opendir(path);
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return n - 2;
}

static char *content(const char *path)
{
    static char text[256];
    unsigned char *bytes;
    size_t n;
    if (mot_file_read(path, 255, &bytes, &n)) return NULL;
    memcpy(text, bytes, n + 1);
    free(bytes);
    return text;
}

TEST(replace_writes_and_replaces_whole_files)
{
    char *path = mot_path_join(folder, "whole");
    CHECK_INT(mot_file_replace(path, "first", 5), MOT_OK);
    CHECK_TEXT(content(path), "first");
    CHECK_INT(mot_file_replace(path, "2", 1), MOT_OK);
    CHECK_TEXT(content(path), "2");
    CHECK_INT(mot_file_replace(path, NULL, 0), MOT_OK);
    CHECK_TEXT(content(path), "");
    CHECK_INT(entries(folder), 1);
    unlink(path);
    free(path);
}

TEST(the_old_file_stays_until_commit_and_after_abandon)
{
    char *path = mot_path_join(folder, "old");
    CHECK_INT(mot_file_replace(path, "old", 3), MOT_OK);
    struct mot_replace r;
    CHECK_INT(mot_replace_begin(path, &r), MOT_OK);
    fputs("half of the new", r.out);
    fflush(r.out);
    CHECK_TEXT(content(path), "old");
    CHECK_INT(entries(folder), 2);
    mot_replace_abandon(&r);
    CHECK_TEXT(content(path), "old");
    CHECK_INT(entries(folder), 1);
    CHECK_INT(mot_replace_begin(path, &r), MOT_OK);
    fputs("new", r.out);
    CHECK_INT(mot_replace_commit(&r), MOT_OK);
    CHECK_TEXT(content(path), "new");
    CHECK_INT(entries(folder), 1);
    mot_replace_abandon(&r); /* harmless after commit */
    unlink(path);
    free(path);
}

TEST(a_write_that_fails_leaves_the_old_file_and_says_so)
{
    if (access("/dev/full", W_OK) != 0) SKIP("no /dev/full here");
    char *path = mot_path_join(folder, "keep");
    CHECK_INT(mot_file_replace(path, "keep", 4), MOT_OK);
    struct mot_replace r;
    CHECK_INT(mot_replace_begin(path, &r), MOT_OK);
    CHECK(freopen("/dev/full", "w", r.out) != NULL);
    fputs("does not fit", r.out);
    CHECK_INT(mot_replace_commit(&r), MOT_ESYSTEM);
    CHECK_HAS(mot_error(), "No space left");
    CHECK_HAS(mot_error(), path);
    CHECK_TEXT(content(path), "keep");
    CHECK_INT(entries(folder), 1);
    unlink(path);
    free(path);
}

/* This program's own, as the library calls it, to count who waits for the disk. */
static atomic_uint synced;
__attribute__((visibility("default"))) int fsync(int file)
{
    atomic_fetch_add(&synced, 1);
    return fdatasync(file);
}

static void *replace_without_waiting(void *path)
{
    bool waited = mot_replace_waits(false);
    if (!waited || mot_file_replace(path, "x", 1) != MOT_OK || mot_replace_waits(true)) return NULL;
    return path;
}

TEST(a_thread_that_does_not_wait_for_the_disk_decides_for_itself_only)
{
    char *path = mot_path_join(folder, "waits");
    pthread_t thread;
    void *good = NULL;
    atomic_store(&synced, 0);
    CHECK_INT(pthread_create(&thread, NULL, replace_without_waiting, path), 0);
    pthread_join(thread, &good);
    CHECK(good == path);
    CHECK_INT(atomic_load(&synced), 0);
    CHECK_INT(mot_file_replace(path, "y", 1), MOT_OK);
    CHECK(atomic_load(&synced) > 0);
    CHECK(mot_replace_waits(true));
    unlink(path);
    free(path);
}

TEST(a_device_is_written_to_and_not_replaced)
{
    CHECK_INT(mot_file_replace("/dev/null", "x", 1), MOT_OK);
    struct stat info;
    CHECK(stat("/dev/null", &info) == 0 && S_ISCHR(info.st_mode));
}

TEST(a_symbolic_link_stays_a_link)
{
    char *real = mot_path_join(folder, "real"), *link = mot_path_join(folder, "link");
    CHECK_INT(mot_file_replace(real, "a", 1), MOT_OK);
    CHECK(symlink("real", link) == 0);
    CHECK_INT(mot_file_replace(link, "b", 1), MOT_OK);
    struct stat info;
    CHECK(lstat(link, &info) == 0 && S_ISLNK(info.st_mode));
    CHECK_TEXT(content(real), "b");
    unlink(link), unlink(real);
    free(link), free(real);
}

TEST(reading_names_the_file_and_what_is_wrong)
{
    unsigned char *bytes = NULL;
    size_t n = 0;
    CHECK_INT(mot_file_read("/nowhere/at/all", 10, &bytes, &n), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "/nowhere/at/all");
    CHECK_HAS(mot_error(), "No such file");
    CHECK_INT(mot_file_read(folder, 10, &bytes, &n), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "directory");
    CHECK(bytes == NULL);
    CHECK_INT(mot_file_replace(folder, "x", 1), MOT_EUSAGE);
    CHECK_INT(mot_file_replace("/nowhere/x", "x", 1), MOT_EUSAGE);
}

TEST(a_file_over_the_limit_is_refused_with_both_sizes)
{
    char *path = mot_path_join(folder, "long");
    CHECK_INT(mot_file_replace(path, "0123456789", 10), MOT_OK);
    unsigned char *bytes;
    size_t n;
    CHECK_INT(mot_file_read(path, 9, &bytes, &n), MOT_EDATA);
    CHECK_HAS(mot_error(), "10 bytes");
    CHECK_HAS(mot_error(), "at most 9");
    CHECK_INT(mot_file_read(path, 10, &bytes, &n), MOT_OK);
    CHECK_INT(n, 10);
    CHECK_INT(bytes[10], 0);
    free(bytes);
    CHECK_INT(mot_file_read("/dev/zero", 100000, &bytes, &n), MOT_EDATA); /* has no size to look at */
    unlink(path);
    free(path);
}

TEST(folders_are_made_with_their_parents)
{
    char *deep = mot_format("%s/a//b/c/", folder), *file = mot_path_join(folder, "file");
    CHECK_INT(mot_make_folder(deep), MOT_OK);
    CHECK_INT(mot_make_folder(deep), MOT_OK);
    CHECK(mot_file_exists(deep));
    CHECK_INT(mot_file_replace(file, "", 0), MOT_OK);
    char *under = mot_path_join(file, "x");
    CHECK_INT(mot_make_folder(under), MOT_EUSAGE);
    CHECK_HAS(mot_error(), file);
    CHECK_INT(mot_make_folder(""), MOT_EUSAGE);
    CHECK(!mot_file_exists(under));
    free(deep), free(file), free(under);
}

TEST(paths_join_with_one_slash)
{
    static const char *const cases[][3] = {
        { "a", "b", "a/b" },
        { "a/", "b", "a/b" },
        { "", "b", "b" },
        { "a", "/b", "/b" },
        { "/", "b", "/b" },
    };
    for (size_t i = 0; i < MOT_COUNT(cases); i++) {
        char *path = mot_path_join(cases[i][0], cases[i][1]);
        int same = strcmp(path, cases[i][2]) == 0;
        free(path);
        CHECK(same);
    }
}

TEST_MAIN()
