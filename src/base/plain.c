#include "base/plain.h"

#include <locale.h>
#include <pthread.h>
#include <stdlib.h>

static locale_t plain; /* 0: there was no memory for one */

static void make_plain(void) { plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

static locale_t plain_locale(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_plain);
    return plain;
}

double mot_plain_double(const char *text)
{
    locale_t c = plain_locale();
    return c ? strtod_l(text, NULL, c) : strtod(text, NULL);
}

float mot_plain_float(const char *text)
{
    locale_t c = plain_locale();
    return c ? strtof_l(text, NULL, c) : strtof(text, NULL);
}
