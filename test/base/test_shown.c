/* test_shown.c -- what reaches a terminal of text that came from outside. */
#include "base/memory.h"
#include "base/rng.h"
#include "base/shown.h"
#include "test.h"
#include <stdbool.h>

TEST(text_stays_and_commands_are_spelt_out)
{
    static const struct {
        const char *text, *shown;
    } cases[] = { { "", "" }, { "plain text, 100 %", "plain text, 100 %" },
        { "caf\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac", "caf\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac" },
        { "\xf0\x9f\x90\x8d", "\xf0\x9f\x90\x8d" }, { "a\nb\r\tc", "a\\nb\\r\\tc" },
        { "\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m" }, { "\x7f\x08\x01", "\\x7f\\x08\\x01" },
        { "\xc2\x9b"
          "2J",
            "\\u009b2J" },
        { "\xe2\x80\xaeright", "\\u202eright" }, { "caf\xe9", "caf\\xe9" }, { "\xff\xfe", "\\xff\\xfe" },
        { "\xc0\x8a", "\\xc0\\x8a" }, /* an end of line, spelt too long */
        { "\xed\xa0\x80", "\\xed\\xa0\\x80" }, { "\xe6\x97", "\\xe6\\x97" }, { "\\n", "\\n" } };
    for (size_t i = 0; i < MOT_COUNT(cases); i++) {
        char *all = mot_shown(cases[i].text), into[64];
        CHECK_TEXT(all, cases[i].shown);
        CHECK_TEXT(mot_show_text(cases[i].text, into, sizeof into), cases[i].shown);
        free(all);
    }
}

/* The code as UTF-8. */
static const char *utf8(uint32_t code)
{
    static char text[5];
    int n = 0;
    if (code < 0x80) text[n++] = (char)code;
    else if (code < 0x800) text[n++] = (char)(0xc0 | code >> 6);
    else if (code < 0x10000)
        text[n++] = (char)(0xe0 | code >> 12), text[n++] = (char)(0x80 | (code >> 6 & 0x3f));
    else {
        text[n++] = (char)(0xf0 | code >> 18);
        text[n++] = (char)(0x80 | (code >> 12 & 0x3f));
        text[n++] = (char)(0x80 | (code >> 6 & 0x3f));
    }
    if (code >= 0x80) text[n++] = (char)(0x80 | (code & 0x3f));
    text[n] = 0;
    return text;
}

TEST(just_these_characters_are_spelt_out)
{
    static const uint32_t range[][2] = { { 0x01, 0x1f }, { 0x7f, 0x9f }, { 0x61c, 0x61c }, { 0x200e, 0x200f },
        { 0x2028, 0x202e }, { 0x2066, 0x2069 } };
    char into[16];
    for (uint32_t code = 1; code <= 0x10ffff; code++) {
        if (code >= 0xd800 && code < 0xe000) continue; /* no characters */
        bool spelt = false;
        for (size_t i = 0; i < MOT_COUNT(range); i++) spelt |= code >= range[i][0] && code <= range[i][1];
        const char *plain = utf8(code);
        bool kept = strcmp(mot_show_text(plain, into, sizeof into), plain) == 0;
        if (kept == spelt) FAIL("U+%04x is %s", code, kept ? "kept" : into);
    }
    CHECK_TEXT(mot_show_text(utf8(0x1b), into, sizeof into), "\\x1b");
    CHECK_TEXT(mot_show_text(utf8(0x9b), into, sizeof into), "\\u009b");
    CHECK_TEXT(mot_show_text("\n\r\t", into, sizeof into), "\\n\\r\\t");
    /* surrogates, what is beyond Unicode, what is longer than it need be, and what is cut off */
    CHECK_TEXT(mot_show_text("\xed\xa0\x80", into, sizeof into), "\\xed\\xa0\\x80");
    CHECK_TEXT(mot_show_text("\xf4\x90\x80", into, sizeof into), "\\xf4\\x90\\x80");
    CHECK_TEXT(mot_show_text("\xc0\xaf", into, sizeof into), "\\xc0\\xaf");
    CHECK_TEXT(mot_show_text("\xe2\x82", into, sizeof into), "\\xe2\\x82");
    CHECK_TEXT(mot_show_text("\xf8", into, sizeof into), "\\xf8");
}

TEST(text_is_cut_between_characters)
{
    char into[8];
    CHECK_TEXT(mot_show_text("1234567", into, sizeof into), "1234567");
    CHECK_TEXT(mot_show_text("12345678", into, sizeof into), "1234...");
    CHECK_TEXT(mot_show_text("123\xc3\xa9xyz", into, sizeof into), "123...");
    CHECK_TEXT(mot_show_text("ab\x1b[2J", into, sizeof into), "ab...");
    CHECK_TEXT(mot_show_bytes("a\0b", 3, into, sizeof into), "a\\x00b");
}

TEST(no_bytes_whatever_become_a_command)
{
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        struct mot_rng rng = mot_rng_at(seed, MOT_RNG_TEST, 0);
        char text[40], into[24];
        size_t n = mot_rng_below(&rng, sizeof text - 1);
        for (size_t i = 0; i < n; i++) text[i] = (char)(1 + mot_rng_below(&rng, 255));
        text[n] = 0;
        char *all = mot_shown(text);
        mot_show_text(text, into, sizeof into);
        for (int both = 0; both < 2; both++)
            for (const unsigned char *p = (unsigned char *)(both ? into : all); *p; p++)
                if (*p < 0x20 || *p == 0x7f || (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0))
                    FAIL("seed %llu: byte %02x", (unsigned long long)seed, *p);
        CHECK(strlen(into) < sizeof into);
        char *twice = mot_shown(all);
        CHECK_TEXT(twice, all);
        free(twice);
        free(all);
    }
}

TEST_MAIN()
