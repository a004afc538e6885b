/* number.c -- most numbers in data files have few digits: those take one exact
 * multiplication or division. The rest go to strtod in the C locale. */
#include "data/number.h"

#include "base/plain.h"
#include "base/shown.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 1024 /* longest text of a number that is not simple */

struct scanned {
    const char *end;
    uint64_t digits;      /* the first 19 significant digits */
    int exponent;         /* value = digits * 10^exponent */
    bool negative, exact; /* exact: no digit was left out */
};

static inline bool is_digit(char c) { return (unsigned char)(c - '0') < 10; }

static const char *scan_exponent(const char *p, int *exponent)
{
    const char *q = p + 1;
    bool negative = *q == '-';
    if (*q == '-' || *q == '+') q++;
    if (!is_digit(*q)) return p;
    int e = 0;
    for (; is_digit(*q); q++)
        if (e < 100000) e = e * 10 + (*q - '0');
    *exponent += negative ? -e : e;
    return q;
}

static inline bool scan(const char *text, char point, struct scanned *out)
{
    const char *p = text;
    uint64_t digits = 0;
    int count = 0, exponent = 0;
    bool exact = true, any = false;
    out->negative = *p == '-';
    if (*p == '-' || *p == '+') p++;
    for (; is_digit(*p); p++, any = true) {
        if (count < 19) {
            digits = digits * 10 + (uint64_t)(*p - '0');
            count += digits != 0;
        } else {
            exact = exact && *p == '0';
            if (exponent < 100000) exponent++;
        }
    }
    if (*p == point) {
        const char *before = p++;
        for (; is_digit(*p); p++, any = true) {
            if (count < 19) {
                digits = digits * 10 + (uint64_t)(*p - '0');
                count += digits != 0;
                if (exponent > -100000) exponent--;
            } else exact = exact && *p == '0';
        }
        if (!any) p = before;
    }
    if (!any) return false;
    if (*p == 'e' || *p == 'E') p = scan_exponent(p, &exponent);
    out->end = p;
    out->digits = digits;
    out->exponent = exponent;
    out->exact = exact;
    return true;
}

static const double power_of_ten[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12,
    1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

/* Both factors are exact in double, so one operation rounds once: to the nearest. */
static inline bool simple(const struct scanned *s, double *out)
{
    if (!s->exact || s->digits > UINT64_C(1) << 53 || s->exponent < -22 || s->exponent > 22) return false;
    double value = (double)s->digits;
    value = s->exponent < 0 ? value / power_of_ten[-s->exponent] : value * power_of_ten[s->exponent];
    *out = s->negative ? -value : value;
    return true;
}

/* The text as strtod wants it. Numbers of absurd length lose digits that could only matter for a tie. */
static void plain_text(const char *text, const struct scanned *s, char point, char copy[NUMBER_MAX])
{
    size_t n = (size_t)(s->end - text);
    if (n >= NUMBER_MAX) {
        snprintf(copy, NUMBER_MAX, "%s%llue%d", s->negative ? "-" : "", (unsigned long long)s->digits,
            s->exponent);
        return;
    }
    memcpy(copy, text, n);
    copy[n] = 0;
    char *comma = point == '.' ? NULL : strchr(copy, point);
    if (comma) *comma = '.';
}

const char *mot_scan_double(const char *text, char point, double *out)
{
    struct scanned s;
    if (!scan(text, point, &s)) return text;
    if (!simple(&s, out)) {
        char copy[NUMBER_MAX];
        plain_text(text, &s, point, copy);
        *out = mot_plain_double(copy);
    }
    return s.end;
}

const char *mot_scan_float(const char *text, char point, float *out)
{
    struct scanned s;
    if (!scan(text, point, &s)) return text;
    double value;
    if (simple(&s, &value)) {
        /* Rounding twice goes wrong only where the double lies halfway between two
         * floats, or where floats are subnormal and the halves lie elsewhere. */
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        if ((bits & UINT64_C(0x1fffffff)) != UINT64_C(0x10000000) &&
            (fabs(value) >= 0x1p-126 || value == 0)) {
            *out = (float)value;
            return s.end;
        }
    }
    char copy[NUMBER_MAX];
    plain_text(text, &s, point, copy);
    *out = mot_plain_float(copy);
    return s.end;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

bool mot_is_number(const char *text, size_t n, char point, double *out)
{
    const char *end = text + n;
    while (text < end && is_blank(*text)) text++;
    while (end > text && is_blank(end[-1])) end--;
    double value;
    if (text == end || mot_scan_double(text, point, &value) != end || !isfinite(value)) return false;
    *out = value;
    return true;
}

int mot_print_float(char *into, size_t size, float value)
{
    if (value == truncf(value) && fabsf(value) < 1e7f) return snprintf(into, size, "%d", (int)value);
    int n = 0;
    for (int digits = 6; digits <= 9; digits++) {
        n = snprintf(into, size, "%.*g", digits, (double)value);
        char *point = strpbrk(into, ",.");
        if (point) *point = '.'; /* snprintf follows the locale */
        float back = 0;
        if (digits == 9 || (mot_scan_float(into, '.', &back), back == value)) break;
    }
    return n;
}

char *mot_clip(char *into, size_t size, const char *text, size_t n)
{
    into[0] = '\'';
    mot_show_bytes(text, n, into + 1, size - 2);
    size_t end = strlen(into);
    into[end] = '\'';
    into[end + 1] = 0;
    return into;
}
