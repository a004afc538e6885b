/* Packets: bytes that decode to exactly one vector, or are refused. */
#include "presses.h"
#include <sys/mman.h>
#include <unistd.h>

static float x[PRESS_MOST], y[PRESS_MOST], sum[PRESS_MOST], dense[PRESS_MOST];

static const uint32_t lengths[] = { 1, 7, 8, 9, 63, 64, 65, 511, 512, 513, 1000, 5000 };
#define EACH_PACKET(c, n)                                                                                    \
    for (size_t i_ = 1; mot_compressors[i_]; i_++)                                                           \
        for (struct mot_compress c = press_of(mot_compressors[i_]->name), *once_ = &c; once_; once_ = NULL)  \
            for (size_t l_ = 0; l_ < MOT_COUNT(lengths); l_++)                                               \
                for (uint32_t n = lengths[l_], again_ = 1; again_; again_ = 0)

TEST(packets_are_in_order_and_no_longer_than_the_longest)
{
    EACH_PACKET(c, n)
    {
        press_draw(x, n, n);
        size_t bytes = press(&c, x, n, 1);
        CHECK(bytes <= mot_packet_most(n));
        CHECK(mot_packet_check(press_packet, bytes, n));
        CHECK(!mot_packet_check(press_packet, bytes - 1, n) && !mot_packet_check(press_packet, bytes + 1, n));
    }
}

/* So the simulator may add floats and ranks packets. */
TEST(adding_packets_gives_the_bits_of_adding_floats)
{
    EACH_PACKET(c, n)
    {
        memset(sum, 0, n * sizeof(*sum));
        for (uint32_t i = 0; i < 5; i++) {
            press_draw(x, n, n + 100 * i);
            if (i == 3) /* sums that vanish */
                for (uint32_t j = 0; j < n; j++) x[j] = -sum[j];
            press(&c, x, n, i);
            mot_packet_add(press_packet, n, sum);
            mot_packet_expand(press_packet, n, y);
            for (uint32_t j = 0; j < n; j++) {
                CHECK(y[j] != 0 || !signbit(y[j]));
                dense[j] = i ? dense[j] + y[j] : y[j];
            }
        }
        CHECK(memcmp(sum, dense, n * sizeof(*sum)) == 0);
    }
}

TEST(what_is_subtracted_is_what_was_sent)
{
    EACH_PACKET(c, n)
    {
        press_draw(x, n, 3 * n);
        press(&c, x, n, 9);
        mot_packet_expand(press_packet, n, y);
        memcpy(sum, x, n * sizeof(*sum));
        mot_packet_subtract(press_packet, n, sum);
        for (uint32_t j = 0; j < n; j++) CHECK(sum[j] == x[j] - y[j]);
        CHECK_NEAR(mot_packet_norm2(press_packet, n), press_norm2(y, n), 1e-9 * (1 + press_norm2(y, n)));
    }
}

TEST(floats_beside_a_packet_go_as_they_are)
{
    static unsigned char both[PRESS_MOST * 8];
    EACH_PACKET(c, n)
    {
        for (uint32_t beside = 1; beside <= 5; beside += 4) {
            press_draw(x, n + beside, n);
            x[n] = -0.0f;
            size_t bytes = press(&c, x, n, 1), before = mot_packet_beside(beside, x + n, both);
            memcpy(both + before, press_packet, bytes);
            CHECK(before + bytes <= mot_packet_most(n + beside));
            CHECK(mot_packet_check(both, before + bytes, n + beside));
            CHECK(!mot_packet_check(both, before - 1, n + beside));
            mot_packet_expand(press_packet, n, y);
            mot_packet_expand(both, n + beside, sum);
            CHECK(memcmp(y, sum, n * sizeof(*y)) == 0);
            CHECK(memcmp(x + n + 1, sum + n + 1, (beside - 1) * sizeof(*y)) == 0);
            CHECK(sum[n] == 0 && !signbit(sum[n]));
            CHECK(mot_packet_norm2(both, n + beside) == mot_packet_norm2(press_packet, n));
            CHECK_INT(mot_packet_entries(both, n + beside), mot_packet_entries(press_packet, n) + beside);
            mot_packet_add(both, n + beside, sum);
            if (beside > 1) CHECK(sum[n + 1] == 2 * x[n + 1]);
            mot_packet_subtract(both, n + beside, sum);
            mot_packet_subtract(both, n + beside, sum);
            for (uint32_t j = n; j < n + beside; j++) CHECK(sum[j] == 0);
            CHECK(mot_packet_finite(both, n + beside));
            x[n + beside - 1] = NAN;
            mot_packet_beside(beside, x + n, both);
            CHECK(!mot_packet_finite(both, n + beside));
        }
    }
}

TEST(a_sparse_packet_takes_little_more_than_five_bytes_an_entry)
{
    struct mot_compress c = press_of("topk");
    c.ratio = 0.01;
    press_draw(x, 60000, 8);
    size_t bytes = press(&c, x, 60000, 0);
    CHECK_INT(mot_packet_entries(press_packet, 60000), 600);
    CHECK(bytes > 600 * 5 && bytes < 600 * 5.6 + 8);
    c.ratio = 0.95; /* no longer worth it: as floats, but still without what was left out */
    CHECK_INT(press(&c, x, 60000, 0), mot_packet_plain(60000));
    mot_packet_expand(press_packet, 60000, y);
    uint32_t zeros = 0;
    for (uint32_t i = 0; i < 60000; i++) zeros += y[i] == 0;
    CHECK(zeros >= 3000);
}

/* Whatever is changed: refused, or again a packet that decodes to floats that are in order. */
TEST(damaged_packets_are_refused_or_are_packets)
{
    struct mot_rng rng = mot_rng_at(15, MOT_RNG_TEST, 2);
    static unsigned char bad[8 + 4 * 600];
    uint64_t refused = 0, all = 0;
    EACH_PACKET(c, n)
    {
        if (n > 520) continue;
        press_draw(x, n, n);
        size_t bytes = press(&c, x, n, 1);
        for (int i = 0; i < (SANITIZED ? 50 : 400); i++, all++) {
            memcpy(bad, press_packet, bytes);
            bad[mot_rng_below(&rng, i % 2 ? bytes : 8)] ^= (unsigned char)(1 + mot_rng_below(&rng, 255));
            if (!mot_packet_check(bad, bytes, n)) {
                refused++;
                continue;
            }
            mot_packet_expand(bad, n, y);
            CHECK(mot_packet_entries(bad, n) <= n);
            for (uint32_t j = 0; j < n; j++) CHECK(y[j] != 0 || !signbit(y[j]));
        }
    }
    printf("  %llu of %llu refused\n", (unsigned long long)refused, (unsigned long long)all);
    CHECK(refused * 3 > all);
}

/* The bytes end where memory does: whoever looks further crashes. */
TEST(a_packet_that_is_cut_short_is_refused_without_a_look_past_its_end)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED && mprotect(memory + page, page, PROT_NONE) == 0);
    EACH_PACKET(c, n)
    {
        if (n > 520) continue;
        press_draw(x, n, n);
        size_t bytes = press(&c, x, n, 1);
        CHECK(bytes < page);
        for (size_t kept = 0; kept < bytes; kept++) {
            unsigned char *cut = memory + page - kept;
            memcpy(cut, press_packet, kept);
            CHECK(!mot_packet_check(cut, kept, n));
        }
    }
    munmap(memory, 2 * page);
}

TEST_MAIN()
