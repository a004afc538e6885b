/* Compressors: what they keep, how far they are off, and that the same floats give the same packet. */
#include "presses.h"
#include "math/kernels.h"

static float x[PRESS_MOST], y[PRESS_MOST];

static int by_size(const void *a, const void *b)
{
    float p = fabsf(x[*(const uint32_t *)a]), q = fabsf(x[*(const uint32_t *)b]);
    if (p != q) return p > q ? -1 : 1;
    return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

/* What sorting says, against what is found. */
static void compare_with_sorting(uint32_t n, uint32_t k)
{
    static uint32_t order[PRESS_MOST], index[PRESS_MOST + 64], number[PRESS_MOST + 64];
    static bool chosen[PRESS_MOST];
    uint32_t expected = 0;
    for (uint32_t i = 0; i < n; i++) order[i] = i, chosen[i] = false;
    qsort(order, n, sizeof(*order), by_size);
    for (uint32_t i = 0; i < k && i < n; i++)
        if (x[order[i]] != 0) chosen[order[i]] = true, expected++;
    uint32_t found = mot_largest(x, n, k, 100, index, number);
    CHECK_INT(found, expected);
    for (uint32_t i = 0; i < found; i++) {
        CHECK(chosen[index[i] - 100]);
        CHECK(i == 0 || index[i] > index[i - 1]);
    }
}

TEST(topk_finds_what_sorting_finds_and_among_equals_the_first)
{
    static const uint32_t sizes[] = { 1, 2, 31, 32, 33, 1000, 16383, 16384, 50000 };
    for (size_t s = 0; s < MOT_COUNT(sizes); s++) {
        uint32_t n = sizes[s], ks[] = { 1, n / 1000 + 1, n / 100 + 1, n / 10 + 1, n / 2 + 1, n };
        for (size_t i = 0; i < MOT_COUNT(ks); i++) {
            press_draw(x, n, s * 10 + i);
            compare_with_sorting(n, ks[i]);
            for (uint32_t j = 0; j < n; j++) x[j] = (float)((int)(j * 7919u % 5) - 2); /* many equals */
            compare_with_sorting(n, ks[i]);
        }
    }
}

/* What the sample of a large vector never sees must not be missed. */
TEST(topk_is_exact_where_a_sample_misleads)
{
    uint32_t n = 60000;
    for (uint32_t i = 0; i < n; i++) x[i] = 1e-20f * (float)(i + 1);
    for (uint32_t i = 0; i < 100; i++) x[17 + i * 599] = 1 + (float)i;
    compare_with_sorting(n, 600);
    for (uint32_t i = 0; i < n; i++) x[i] = 0;
    compare_with_sorting(n, 600);
    x[59999] = -3;
    compare_with_sorting(n, 600);
    for (uint32_t i = 0; i < n; i++) x[i] = 2;
    compare_with_sorting(n, 600);
    for (uint32_t i = 0; i < n; i++) x[i] = (float)(n - i); /* sorted */
    compare_with_sorting(n, 6);
}

TEST(a_ratio_keeps_its_floor_and_at_least_one)
{
    CHECK_INT(mot_kept_of(0.1, 5), 1);
    CHECK_INT(mot_kept_of(0.1, 19), 1);
    CHECK_INT(mot_kept_of(0.1, 20), 2);
    CHECK_INT(mot_kept_of(1, 20), 20);
    CHECK_INT(mot_kept_of(0.01, 0), 0);
}

TEST(topk_by_layer_keeps_something_of_every_layer)
{
    uint32_t at[] = { 0, 100, 103, 1000 }, kept[3] = { 0 };
    static uint32_t index[1100], number[1100];
    struct mot_compress c = press_of("topk");
    c.per = MOT_PER_LAYER;
    for (uint32_t i = 0; i < 1000; i++) x[i] = i < 103 ? 1e-3f : 1;
    struct mot_pressing p = {
        .len = 1000, .x = x, .at = at, .layers = 3, .weight = 1, .room = { index, number }
    };
    c.kind->pack(&c, &p, press_packet);
    mot_packet_expand(press_packet, 1000, y);
    for (uint32_t i = 0; i < 1000; i++) kept[i < 100 ? 0 : i < 103 ? 1 : 2] += y[i] != 0;
    CHECK_INT(kept[0], 10);
    CHECK_INT(kept[1], 1);
    CHECK_INT(kept[2], 89);
    /* of a range that begins and ends within layers, only what lies in it */
    p.off = 50;
    p.len = 52;
    c.kind->pack(&c, &p, press_packet);
    mot_packet_expand(press_packet, 52, y);
    uint32_t first = 0, second = 0;
    for (uint32_t i = 0; i < 52; i++) (i < 50 ? (first += y[i] != 0) : (second += y[i] != 0));
    CHECK_INT(first, 5);
    CHECK_INT(second, 1);
}

/* |C(x) - x|^2 <= (1 - k/d) |x|^2 */
TEST(topk_is_a_contraction_always)
{
    struct mot_compress c = press_of("topk");
    for (uint64_t seed = 1; seed <= 50; seed++) {
        uint32_t n = (uint32_t)(seed * 997);
        c.ratio = 0.02 * (double)seed;
        press_draw(x, n, seed);
        press(&c, x, n, 0);
        mot_packet_expand(press_packet, n, y);
        double k = mot_kept_of(c.ratio, n);
        CHECK(press_gap2(x, y, n) <= (1 - k / n) * press_norm2(x, n) * (1 + 1e-12));
    }
}

/* Means over many draws, which agree to a few standard errors. */
TEST(randomk_is_a_contraction_in_expectation_or_right_on_average)
{
    enum { N = 400, DRAWS = 4000 };
    struct mot_compress c = press_of("randomk");
    double off = 0, mean[N] = { 0 };
    press_draw(x, N, 3);
    c.corrected = true;
    for (uint64_t i = 0; i < DRAWS; i++) {
        press(&c, x, N, i * 77);
        mot_packet_expand(press_packet, N, y);
        off += press_gap2(x, y, N) / DRAWS;
    }
    CHECK_NEAR(off / press_norm2(x, N), 0.9, 0.01);
    c.corrected = false;
    for (uint64_t i = 0; i < DRAWS; i++) {
        press(&c, x, N, i * 77);
        mot_packet_expand(press_packet, N, y);
        for (int j = 0; j < N; j++) mean[j] += (double)y[j] / DRAWS;
    }
    for (int j = 0; j < N; j++) CHECK_NEAR(mean[j], x[j], 5 * 3 * fabs((double)x[j]) / sqrt(DRAWS));
}

/* E Q(x) = x and E |Q(x) - x|^2 <= min(d/s^2, sqrt(d)/s) |x|^2 */
TEST(qsgd_is_right_on_average_and_within_its_variance)
{
    enum { N = 512, DRAWS = 4000 };
    for (uint64_t levels = 1; levels <= 127; levels = levels * 4 + 3) {
        struct mot_compress c = press_of("qsgd");
        double off = 0, mean[N] = { 0 }, s = (double)levels, bound = fmin(N / (s * s), sqrt(N) / s);
        c.levels = levels;
        press_draw(x, N, levels);
        double norm2 = press_norm2(x, N), step = sqrt(norm2) / (double)levels;
        for (uint64_t i = 0; i < DRAWS; i++) {
            press(&c, x, N, i * 131);
            mot_packet_expand(press_packet, N, y);
            off += press_gap2(x, y, N) / DRAWS;
            for (int j = 0; j < N; j++) mean[j] += (double)y[j] / DRAWS;
        }
        CHECK(off <= bound * norm2);
        for (int j = 0; j < N; j++) CHECK_NEAR(mean[j], x[j], 5 * step / 2 / sqrt(DRAWS) + 1e-6);
        /* divided by 1 + that bound it is a contraction, as feedback needs it */
        c.corrected = true;
        double again = 0;
        for (uint64_t i = 0; i < DRAWS; i++) {
            press(&c, x, N, i * 131);
            mot_packet_expand(press_packet, N, y);
            again += press_gap2(x, y, N) / DRAWS;
        }
        CHECK(again <= (1 - 1 / (1 + bound)) * norm2 * (1 + 1e-6));
    }
}

/* |C(x) - x|^2 = |x|^2 - |x|_1^2 / d in every bucket */
TEST(sign_is_off_by_what_its_bound_says)
{
    struct mot_compress c = press_of("sign");
    uint32_t n = 1000;
    press_draw(x, n, 9);
    press(&c, x, n, 0);
    mot_packet_expand(press_packet, n, y);
    for (uint32_t at = 0; at < n; at += 512) {
        uint32_t m = n - at < 512 ? n - at : 512;
        double one = 0, norm2 = press_norm2(x + at, m);
        for (uint32_t i = 0; i < m; i++) one += fabs((double)x[at + i]);
        CHECK_NEAR(press_gap2(x + at, y + at, m), norm2 - one * one / m, 1e-5 * norm2);
        for (uint32_t i = 0; i < m; i++) CHECK(x[at + i] == 0 || signbit(x[at + i]) == signbit(y[at + i]));
    }
}

TEST(threshold_keeps_mean_entries_from_its_size_on)
{
    struct mot_compress c = press_of("threshold");
    static uint32_t index[2000], number[2000];
    uint32_t at[2] = { 0, 1000 };
    press_draw(x, 1000, 4);
    for (int i = 0; i < 1000; i++) x[i] *= 32;
    struct mot_pressing p = {
        .len = 1000, .x = x, .at = at, .layers = 1, .weight = 32, .room = { index, number }
    };
    c.kind->pack(&c, &p, press_packet);
    mot_packet_expand(press_packet, 1000, y);
    for (int i = 0; i < 1000; i++) CHECK(y[i] == (fabsf(x[i]) >= 16 ? x[i] : 0));
}

/* Numbers that are not finite are sent, not spread over a bucket or hidden. */
TEST(what_is_not_finite_arrives)
{
    for (size_t i = 1; mot_compressors[i]; i++) {
        struct mot_compress c = press_of(mot_compressors[i]->name);
        c.ratio = strcmp(c.kind->name, "randomk") == 0 ? 0.99 : 0.01;
        press_draw(x, 2000, i);
        x[777] = i % 2 ? NAN : INFINITY;
        press(&c, x, 2000, 5);
        mot_packet_expand(press_packet, 2000, y);
        CHECK(!isfinite(y[777]));
        CHECK(!mot_packet_finite(press_packet, 2000));
        x[777] = 0;
        press(&c, x, 2000, 5);
        CHECK(mot_packet_finite(press_packet, 2000));
    }
}

TEST(every_kernel_set_makes_the_packet_of_the_plain_twin)
{
    static uint32_t a[3000], b[3000], is[3000], of[3000];
    static const uint32_t least[] = { 1, 0x3f000000, 0x41000000, INT32_MAX }; /* all but 0, many, few, none */
    static int8_t p[3000], q[3000];
    static unsigned char s[400], t[400];
    for (uint32_t n = 0; n < 300; n += n < 40 ? 1 : 37) {
        press_draw(x, n, n);
        for (const struct mot_kernels *const *k = mot_kernels_all(); *k; k++) {
            for (size_t l = 0; l < MOT_COUNT(least); l++) {
                size_t found = mot_kernels_ref.above(n, x, least[l], 7, a, is);
                CHECK_INT((*k)->above(n, x, least[l], 7, b, of), found);
                CHECK(memcmp(a, b, found * sizeof(*a)) == 0 && memcmp(is, of, found * sizeof(*is)) == 0);
            }
            mot_kernels_ref.levels(n, x, 3.7f, 7, UINT64_C(0x123456789abcdef) * n, p);
            (*k)->levels(n, x, 3.7f, 7, UINT64_C(0x123456789abcdef) * n, q);
            CHECK(memcmp(p, q, n) == 0);
            mot_kernels_ref.signs(n, x, s);
            (*k)->signs(n, x, t);
            CHECK(memcmp(s, t, (n + 7) / 8) == 0);
            CHECK_NEAR(
                (*k)->norm1(n, x), mot_kernels_ref.norm1(n, x), 1e-12 * (1 + mot_kernels_ref.norm1(n, x)));
        }
    }
}

TEST_MAIN()
