/* test_number.c -- the number reader agrees with strtof and strtod on every bit, in any locale. */
#include "base/rng.h"
#include "data/number.h"
#include "test.h"
#include <locale.h>
#include <stdint.h>

static uint32_t float_bits(float v)
{
    uint32_t b;
    memcpy(&b, &v, 4);
    return b;
}
static uint64_t double_bits(double v)
{
    uint64_t b;
    memcpy(&b, &v, 8);
    return b;
}

static bool same_as_strtof(const char *text)
{
    float ours = -7;
    double wide = -7;
    const char *end = mot_scan_float(text, '.', &ours);
    mot_scan_double(text, '.', &wide);
    char *theirs_end;
    float theirs = strtof(text, &theirs_end);
    bool same = end == theirs_end && float_bits(ours) == float_bits(theirs) &&
        double_bits(wide) == double_bits(strtod(text, NULL));
    if (!same) printf("  %s: %.9g (ours) %.9g (strtof)\n", text, (double)ours, (double)theirs);
    return same;
}

TEST(chosen_numbers_round_like_strtof)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "1",
        "+1",
        "-1",
        ".5",
        "2.",
        "0.18257",
        "1e-3",
        "1E+3",
        "16777217",
        "16777219",
        "1.00000005960464477539",
        "1.000000059604644775390625",
        "1.0000000596046447753906251",
        "3.4028235e38",
        "3.4028236e38",
        "1e-45",
        "7e-46",
        "1.4e-45",
        "1.1754943e-38",
        "9007199254740993",
        "0.1234567890123456789012345",
        "123456789012345678901234567890",
        "0.000000000000000000000000000001",
        "1e22",
        "1e23",
        "8.5e-39",
        "00000000000000000000001",
        "1e-400",
        "4.9e-324",
        "1e0000000001",
        "99999999999999999999e-20",
        "0.0000000000000000000000000000000000000000000000000001e52",
        "5e",
        "5e+",
        "5ex",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) CHECK(same_as_strtof(texts[i]));
}

TEST(random_numbers_round_like_strtof)
{
    uint64_t seed = 20240611;
    printf("  seed %llu\n", (unsigned long long)seed);
    struct mot_rng rng = mot_rng_at(seed, MOT_RNG_TEST, 0);
    for (int i = 0; i < 200000; i++) {
        char text[80];
        uint32_t bits = (uint32_t)mot_rng_next(&rng);
        float f;
        memcpy(&f, &bits, 4);
        if (!isfinite(f)) continue;
        switch (i % 4) {
        case 0: snprintf(text, sizeof text, "%.*g", (int)mot_rng_below(&rng, 20) + 1, (double)f); break;
        case 1:
            snprintf(text, sizeof text, "%llu.%llu", (unsigned long long)mot_rng_below(&rng, 100000),
                (unsigned long long)mot_rng_below(&rng, 1000000));
            break;
        case 2:
            snprintf(text, sizeof text, "%lluE%d", (unsigned long long)mot_rng_next(&rng),
                (int)mot_rng_below(&rng, 60) - 50);
            break;
        case 3: { /* halfway between two floats, exactly */
            double half = ((double)f + (double)nextafterf(f, INFINITY)) / 2;
            snprintf(text, sizeof text, "%.40g", half);
            break;
        }
        }
        CHECK(same_as_strtof(text));
    }
}

TEST(what_is_no_number_is_left_alone)
{
    static const char *const texts[] = { "", "-", "+", ".", "-.", "e5", "nan", "inf", "NaN", "x1", ",5",
        "--1" };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        float f = 7;
        CHECK(mot_scan_float(texts[i], '.', &f) == texts[i]);
        CHECK_NEAR(f, 7, 0);
    }
    double d;
    CHECK(!mot_is_number("1 2", 3, '.', &d));
    CHECK(!mot_is_number("0x10", 4, '.', &d));
    CHECK(!mot_is_number("1e999", 5, '.', &d));
    CHECK(mot_is_number(" 1.5 ", 5, '.', &d));
    CHECK_NEAR(d, 1.5, 0);
}

TEST(a_decimal_comma_is_read_where_asked)
{
    float f;
    const char *text = "-2,625;";
    CHECK(mot_scan_float(text, ',', &f) == text + 6);
    CHECK_NEAR(f, -2.625, 0);
    CHECK(mot_scan_float("0,12345678901234567890123;", ',', &f) != text);
    CHECK_NEAR(f, strtof("0.12345678901234567890123", NULL), 0);
}

TEST(the_locale_changes_nothing)
{
    static const char *const locales[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8" };
    for (size_t i = 0; i < 3; i++) {
        if (!setlocale(LC_ALL, locales[i])) continue;
        float f;
        char text[32];
        mot_scan_float("0.1234567890123456789012345", '.', &f);
        mot_print_float(text, sizeof text, 0.1f);
        setlocale(LC_ALL, "C");
        CHECK(float_bits(f) == float_bits(0.123456789f));
        CHECK_TEXT(text, "0.1");
    }
}

TEST(printed_floats_read_back_as_the_same_bits)
{
    struct mot_rng rng = mot_rng_at(7, MOT_RNG_TEST, 1);
    for (int i = 0; i < 50000; i++) {
        uint32_t bits = (uint32_t)mot_rng_next(&rng);
        float f, back = 0;
        char text[40];
        memcpy(&f, &bits, 4);
        if (!isfinite(f)) continue;
        mot_print_float(text, sizeof text, f);
        mot_scan_float(text, '.', &back);
        if (float_bits(back) != bits) FAIL("%s is not %.9g", text, (double)f);
    }
}

TEST(clipped_text_is_short_and_shows_odd_bytes)
{
    char clip[MOT_CLIP];
    CHECK_TEXT(mot_clip(clip, sizeof clip,
                   "a\x01"
                   "b",
                   3),
        "'a\\x01b'");
    char longer[500];
    memset(longer, 'x', sizeof longer);
    mot_clip(clip, sizeof clip, longer, sizeof longer);
    CHECK(strlen(clip) < MOT_CLIP);
    CHECK_HAS(clip, "...'");
}

TEST_MAIN()
