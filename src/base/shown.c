/* shown.c -- one character at a time: kept, or spelt out. */
#include "base/shown.h"

#include "base/memory.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define SPELT_MAX 12 /* bytes of one character, its final zero included */

/* How many of the n bytes at p its first UTF-8 character takes; 0: there is none. */
static size_t utf8_length(const unsigned char *p, size_t n, uint32_t *code)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t length = p[0] < 0x80 ? 1
        : (p[0] & 0xe0) == 0xc0 ? 2
        : (p[0] & 0xf0) == 0xe0 ? 3
        : (p[0] & 0xf8) == 0xf0 ? 4
                                : 0;
    if (length == 0 || length > n) return 0;
    *code = length == 1 ? p[0] : p[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xc0) != 0x80) return 0;
        *code = *code << 6 | (p[i] & 0x3f);
    }
    bool surrogate = *code >= 0xd800 && *code < 0xe000;
    return *code < least[length] || surrogate || *code > 0x10ffff ? 0 : length;
}

/* What a terminal obeys rather than shows: controls, line ends, and marks that change text direction. */
static bool is_command(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029 ||
        code == 0x061c || code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
        (code >= 0x2066 && code <= 0x2069);
}

/* Spells the character at p into `spelt`; returns how many bytes it takes in the text. */
static size_t spell(const char *p, size_t n, char spelt[SPELT_MAX])
{
    uint32_t code;
    size_t length = utf8_length((const unsigned char *)p, n, &code);
    if (length == 0) snprintf(spelt, SPELT_MAX, "\\x%02x", (unsigned char)*p);
    else if (!is_command(code)) memcpy(spelt, p, length), spelt[length] = 0;
    else if (code == '\n' || code == '\r' || code == '\t')
        snprintf(spelt, SPELT_MAX, "\\%c", code == '\n' ? 'n' : code == '\r' ? 'r' : 't');
    else snprintf(spelt, SPELT_MAX, code < 0x80 ? "\\x%02x" : "\\u%04x", code);
    return length ? length : 1;
}

char *mot_show_bytes(const char *text, size_t n, char *into, size_t size)
{
    char spelt[SPELT_MAX];
    size_t at = 0, cut = 0; /* cut: the last place that leaves room for "..." */
    for (size_t i = 0; i < n;) {
        i += spell(text + i, n - i, spelt);
        size_t more = strlen(spelt);
        if (at + more >= size) {
            snprintf(into + cut, size - cut, "...");
            return into;
        }
        memcpy(into + at, spelt, more);
        at += more;
        if (at + 4 <= size) cut = at;
    }
    into[at] = 0;
    return into;
}

char *mot_show_text(const char *text, char *into, size_t size)
{
    return mot_show_bytes(text, strlen(text), into, size);
}

char *mot_shown(const char *text)
{
    size_t size = 1, n = strlen(text);
    char spelt[SPELT_MAX];
    for (size_t i = 0; i < n; size += strlen(spelt)) i += spell(text + i, n - i, spelt);
    return mot_show_text(text, mot_new(size, 1), size);
}

void mot_put_shown(const char *text, FILE *out)
{
    char spelt[SPELT_MAX];
    for (size_t i = 0, n = strlen(text); i < n;) {
        i += spell(text + i, n - i, spelt);
        fputs(spelt, out);
    }
}

size_t mot_text_width(const char *text)
{
    size_t n = 0;
    for (; *text; text++) n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

size_t mot_text_cut(const char *text, size_t most)
{
    size_t bytes = 0, n = 0;
    for (; text[bytes]; bytes++) {
        bool begins = ((unsigned char)text[bytes] & 0xC0) != 0x80;
        if (begins && n == most) break;
        n += begins;
    }
    return bytes;
}
