/* A spool gives back what it was given, once and in order, also to whoever opens it after a crash. */
#include "stream/spool.h"
#include "base/memory.h"
#include "test.h"
#include <fcntl.h>
#include <motley/random.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], path[96];

static struct mot_spool *open_at(uint64_t from)
{
    struct mot_spool *s = NULL;
    return mot_spool_open(folder, 0, MOT_SPOOL_NONE, from, &s) == MOT_OK ? s : NULL;
}

static void begin(void)
{
    snprintf(folder, sizeof(folder), "/tmp/test_spool.XXXXXX");
    if (!mkdtemp(folder)) abort();
    snprintf(path, sizeof(path), "%s/spool-0.bin", folder);
}

static void end_folder(void)
{
    unlink(path);
    rmdir(folder);
}

static void end(struct mot_spool *s)
{
    mot_spool_close(s);
    end_folder();
}

static uint64_t size_now(void)
{
    struct stat is;
    return stat(path, &is) == 0 ? (uint64_t)is.st_size : 0;
}

/* The k-th message: of k % 300 bytes, but now and then longer than what is read at a time. */
static size_t message(uint64_t k, unsigned char *into)
{
    size_t n = k % 50 == 49 ? 200000 : k % 300;
    for (size_t i = 0; i < n; i++) into[i] = (unsigned char)(k * 31 + i);
    return n;
}

#define ROOM 300000u
static unsigned char given[ROOM], got[ROOM];

static bool gives(struct mot_spool *s, uint64_t k, uint64_t *at)
{
    struct mot_spooled one;
    bool damaged;
    size_t n = message(k, given);
    if (!mot_spool_next(s, got, ROOM, &one, &damaged) || one.n != n || memcmp(given, got, n) != 0)
        return false;
    *at = one.at;
    return true;
}

TEST(messages_come_back_in_order_from_any_place)
{
    uint64_t at[200];
    struct mot_spooled one;
    bool damaged;
    begin();
    struct mot_spool *s = open_at(0);
    CHECK(s);
    for (uint64_t k = 0; k < 200; k++) {
        size_t n = message(k, given);
        CHECK_INT(mot_spool_add(s, given, n, n), 0);
        if (k % 3 == 2) /* the reader is at times behind */
            for (uint64_t i = k - 2; i <= k; i++) CHECK(gives(s, i, &at[i]));
    }
    CHECK(gives(s, 198, &at[198]) && gives(s, 199, &at[199]));
    CHECK(!mot_spool_next(s, got, ROOM, &one, &damaged) && !damaged);
    uint64_t id = mot_spool_id(s);
    mot_spool_close(s);
    for (uint64_t k = 0; k < 200; k += 7) {
        s = open_at(at[k]);
        CHECK(s && mot_spool_id(s) == id);
        for (uint64_t i = k; i < 200; i++) CHECK(gives(s, i, &at[i]));
        CHECK(mot_spool_read(s));
        if (k + 7 < 200) mot_spool_close(s);
    }
    end(s);
}

TEST(a_torn_end_is_cut_wherever_it_is_torn)
{
    uint64_t at, sizes[4];
    begin();
    struct mot_spool *s = open_at(0);
    CHECK(s);
    for (uint64_t k = 0; k < 4; k++) {
        size_t n = message(40 + k, given);
        CHECK_INT(mot_spool_add(s, given, n, n), 0);
        sizes[k] = size_now();
    }
    mot_spool_close(s);
    for (uint64_t torn = sizes[3] - 1; torn > sizes[2]; torn--) {
        CHECK_INT(truncate(path, (off_t)torn), 0);
        s = open_at(0);
        CHECK(s);
        CHECK_INT(size_now(), sizes[2]);
        for (uint64_t k = 0; k < 3; k++) CHECK(gives(s, 40 + k, &at));
        CHECK(mot_spool_read(s));
        size_t n = message(43, given); /* what comes next takes the place */
        CHECK_INT(mot_spool_add(s, given, n, n), 0);
        CHECK(gives(s, 43, &at));
        mot_spool_close(s);
    }
    s = open_at(0);
    end(s);
}

TEST(zeros_that_a_power_cut_left_are_cut_and_other_damage_is_refused)
{
    uint64_t at;
    begin();
    struct mot_spool *s = open_at(0);
    CHECK(s);
    for (uint64_t k = 0; k < 3; k++) CHECK_INT(mot_spool_add(s, given, message(100 + k, given), 100 + k), 0);
    uint64_t size = size_now();
    mot_spool_close(s);
    CHECK_INT(truncate(path, (off_t)size + 5000), 0);
    s = open_at(0);
    CHECK(s);
    CHECK_INT(size_now(), size);
    for (uint64_t k = 0; k < 3; k++) CHECK(gives(s, 100 + k, &at));
    mot_spool_close(s);
    int file = open(path, O_WRONLY);
    CHECK(file >= 0 && pwrite(file, "?", 1, 16 + 16 + 50) == 1);
    close(file);
    CHECK(!open_at(0));
    CHECK_HAS(mot_error(), "damaged at byte 16");
    end(NULL);
}

TEST(a_message_too_long_to_keep_leaves_its_length)
{
    struct mot_spooled one;
    bool damaged;
    uint64_t at;
    begin();
    struct mot_spool *s = open_at(0);
    CHECK(s);
    CHECK_INT(mot_spool_add(s, given, 250000, 0), 0);
    CHECK_INT(mot_spool_add(s, given, message(5, given), 5), 0);
    CHECK(size_now() < 100);
    CHECK(mot_spool_next(s, got, ROOM, &one, &damaged));
    CHECK_INT(one.n, 250000);
    CHECK(!one.kept); /* whatever room there is for it now */
    CHECK(gives(s, 5, &at));
    end(s);
}

TEST(what_was_used_and_lost_in_a_power_cut_leaves_its_place)
{
    uint64_t at;
    begin();
    struct mot_spool *s = open_at(1000);
    CHECK(s && mot_spool_read(s));
    CHECK_INT(mot_spool_add(s, given, message(7, given), 7), 0);
    CHECK(gives(s, 7, &at));
    CHECK_INT(at, 1000);
    mot_spool_close(s);
    s = open_at(1000);
    CHECK(s && gives(s, 7, &at));
    end(s);
}

TEST(a_spool_is_one_runs)
{
    begin();
    struct mot_spool *s = open_at(0);
    CHECK(s && !open_at(0));
    CHECK_HAS(mot_error(), "another run uses this spool");
    end(s);
}

TEST(without_a_folder_nothing_is_left)
{
    uint64_t at;
    struct mot_spool *s = NULL;
    CHECK_INT(mot_spool_open(NULL, 0, MOT_SPOOL_EACH, 0, &s), MOT_OK);
    CHECK_INT(mot_spool_add(s, given, message(9, given), 9), 0);
    CHECK(gives(s, 9, &at));
    mot_spool_close(s);
}

TEST(a_long_message_that_was_damaged_is_found_when_a_spool_is_opened)
{
    begin();
    struct mot_spool *s = open_at(0);
    CHECK(s);
    for (uint64_t k = 48; k < 51; k++) { /* the second is longer than what is read at a time */
        size_t n = message(k, given);
        CHECK_INT(mot_spool_add(s, given, n, n), 0);
    }
    mot_spool_close(s);
    uint64_t whole = size_now();
    CHECK((s = open_at(0)) != NULL);
    mot_spool_close(s);
    CHECK_INT(size_now(), whole);
    int file = open(path, O_RDWR);
    unsigned char byte;
    CHECK(pread(file, &byte, 1, 150000) == 1);
    byte ^= 4;
    CHECK(pwrite(file, &byte, 1, 150000) == 1);
    close(file);
    CHECK(open_at(0) == NULL);
    CHECK_INT(size_now(), whole); /* nothing is cut */
    end_folder();
}

TEST_MAIN()
