#include "study/slug.h"
#include "base/memory.h"
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MOST 100 /* two of them and a seed still fit a file name */

static char *plain_slug(const char *name)
{
    char *text = mot_text(name);
    size_t n = strlen(text) < BYTES_MOST ? strlen(text) : BYTES_MOST;
    while (n && ((unsigned char)text[n] & 0xC0) == 0x80) n--; /* never splits a character */
    text[n] = 0;
    n = 0;
    for (const char *c = text; *c; c++) {
        bool kept = isalnum((unsigned char)*c) || strchr(".=_", *c) || (unsigned char)*c >= 0x80;
        if (kept) text[n++] = *c;
        else if (n && text[n - 1] != '-') text[n++] = '-';
    }
    while (n && text[n - 1] == '-') n--;
    text[n] = 0;
    if (text[0] == '.') text[0] = '_';
    return text;
}

char *mot_slug(const char *const *names, size_t at)
{
    char *mine = plain_slug(names[at]);
    size_t before = 0;
    for (size_t i = 0; i < at; i++) {
        char *other = plain_slug(names[i]);
        before += strcmp(mine, other) == 0;
        free(other);
    }
    char *whole = !*mine ? mot_format("%zu", at + 1)
        : before         ? mot_format("%s-%zu", mine, before + 1)
                         : mot_text(mine);
    free(mine);
    return whole;
}
