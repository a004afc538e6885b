/* words.c -- numbers with units, and the nearest name.
 *
 * Whole quantities (counts, nanoseconds, bytes) are computed from the decimal
 * digits in integers, so that 1.001k is 1001 and not what a product of doubles
 * rounds to. */
#include "base/words.h"

#include "base/memory.h"
#include "base/plain.h"
#include "base/wide.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Numbers ---------------------------------------------------------------- */

#define NUMBER_CHARS_MAX 127

/* digits * 10^exponent; `more`: further digits did not fit and were cut off. */
struct decimal {
    bool negative, more;
    uint64_t digits;
    int exponent;
    char text[NUMBER_CHARS_MAX + 1];
};

static const char *skip_space(const char *p)
{
    while (isspace((unsigned char)*p)) p++;
    return p;
}

static bool at_end(const char *p) { return *skip_space(p) == 0; }

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static void add_digit(struct decimal *d, char c, bool fraction)
{
    uint64_t next;
    unsigned digit = (unsigned)(c - '0');
    if (d->more || __builtin_mul_overflow(d->digits, UINT64_C(10), &next) ||
        __builtin_add_overflow(next, digit, &next)) {
        d->more = d->more || digit != 0;
        d->exponent += !fraction;
        return;
    }
    d->digits = next;
    d->exponent -= fraction;
}

/* [+-] digits [. digits] [e [+-] digits]; returns what follows, or NULL. */
static const char *read_decimal(const char *p, struct decimal *d)
{
    *d = (struct decimal){ 0 };
    const char *begin = p = skip_space(p);
    if (*p == '+' || *p == '-') d->negative = *p++ == '-';
    int seen = 0;
    for (; is_digit(*p); p++, seen++) add_digit(d, *p, false);
    if (*p == '.')
        for (p++; is_digit(*p); p++, seen++) add_digit(d, *p, true);
    if (seen == 0) return NULL;
    const char *e = p;
    if (*e == 'e' || *e == 'E') {
        e++;
        bool minus = *e == '-';
        if (*e == '+' || *e == '-') e++;
        if (is_digit(*e)) {
            int exponent = 0;
            for (; is_digit(*e); e++)
                if (exponent < 100000) exponent = exponent * 10 + (*e - '0');
            d->exponent += minus ? -exponent : exponent;
            p = e;
        }
    }
    size_t n = (size_t)(p - begin);
    if (n > NUMBER_CHARS_MAX) return NULL;
    memcpy(d->text, begin, n);
    return p;
}

/* d * factor, rounded to the nearest integer; `whole` refuses to round. */
static bool to_integer(const struct decimal *d, uint64_t factor, bool whole, uint64_t *out)
{
    if (d->negative && d->digits != 0) return false;
    if (whole && d->more) return false;
    mot_uint128 value = (mot_uint128)d->digits * factor;
    int exponent = d->exponent;
    for (; exponent > 0 && value != 0; exponent--) {
        if (value > UINT64_MAX) return false;
        value *= 10;
    }
    bool half = false; /* the last digit cut off was 5 or more */
    for (; exponent < 0 && (value != 0 || half); exponent++) {
        if (whole && value % 10 != 0) return false;
        half = value % 10 >= 5;
        value /= 10;
    }
    value += half;
    if (value > UINT64_MAX) return false;
    *out = (uint64_t)value;
    return true;
}

static bool to_real(const struct decimal *d, double *out)
{
    double value = mot_plain_double(d->text);
    if (!isfinite(value)) return false;
    *out = value;
    return true;
}

/* ---- Units ---------------------------------------------------------------------- */

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit count_units[] = {
    { "", 1 },
    { "k", 1000 },
    { "K", 1000 },
    { "M", 1000000 },
    { "G", 1000000000 },
    { NULL, 0 },
};
static const struct unit time_units[] = {
    { "ns", 1 },
    { "us", 1000 },
    { "\302\265s", 1000 },
    { "\316\274s", 1000 },
    { "ms", 1000000 },
    { "s", UINT64_C(1000000000) },
    { "min", UINT64_C(60000000000) },
    { "h", UINT64_C(3600000000000) },
    { "d", UINT64_C(86400000000000) },
    { NULL, 0 },
};
static const struct unit size_units[] = {
    { "B", 1 },
    { "kB", 1000 },
    { "KB", 1000 },
    { "MB", 1000000 },
    { "GB", 1000000000 },
    { "TB", UINT64_C(1000000000000) },
    { "KiB", UINT64_C(1) << 10 },
    { "MiB", UINT64_C(1) << 20 },
    { "GiB", UINT64_C(1) << 30 },
    { "TiB", UINT64_C(1) << 40 },
    { NULL, 0 },
};
static const struct unit bit_units[] = {
    { "bit", 1 },
    { "kbit", 1000 },
    { "Kbit", 1000 },
    { "Mbit", 1000000 },
    { "Gbit", 1000000000 },
    { "Tbit", UINT64_C(1000000000000) },
    { NULL, 0 },
};
static const struct unit bps_units[] = {
    { "bps", 1 },
    { "kbps", 1000 },
    { "Kbps", 1000 },
    { "Mbps", 1000000 },
    { "Gbps", 1000000000 },
    { "Tbps", UINT64_C(1000000000000) },
    { NULL, 0 },
};

/* The unit whose name is the first n bytes of p, or NULL. */
static const struct unit *find_unit(const struct unit *units, const char *p, size_t n)
{
    for (; units->name; units++)
        if (strlen(units->name) == n && memcmp(units->name, p, n) == 0) return units;
    return NULL;
}

static size_t length_without_space(const char *p)
{
    size_t n = strlen(p);
    while (n && isspace((unsigned char)p[n - 1])) n--;
    return n;
}

/* A number and one of the units; 0 needs no unit. */
static bool read_integer(const char *text, const struct unit *units, bool whole, uint64_t *out)
{
    struct decimal d;
    const char *p = read_decimal(text, &d);
    if (!p) return false;
    p = skip_space(p);
    size_t n = length_without_space(p);
    const struct unit *unit = find_unit(units, p, n);
    if (unit) return to_integer(&d, unit->factor, whole, out);
    return n == 0 && d.digits == 0 && to_integer(&d, 1, whole, out);
}

bool mot_read_uint(const char *text, uint64_t *out) { return read_integer(text, count_units, true, out); }

bool mot_read_time(const char *text, uint64_t *ns_out)
{
    return read_integer(text, time_units, false, ns_out);
}

bool mot_read_size(const char *text, uint64_t *bytes_out)
{
    static const struct unit short_units[] = {
        { "k", 1000 },
        { "K", 1000 },
        { "M", 1000000 },
        { "G", 1000000000 },
        { "T", UINT64_C(1000000000000) },
        { NULL, 0 },
    };
    return read_integer(text, size_units, false, bytes_out) ||
        read_integer(text, short_units, false, bytes_out);
}

/* base^exponent by squaring: plain multiplications, equal everywhere. */
static double power(double base, unsigned exponent)
{
    double result = 1;
    for (; exponent; exponent >>= 1, base *= base)
        if (exponent & 1) result *= base;
    return result;
}

bool mot_read_real(const char *text, double *out)
{
    struct decimal d;
    double value;
    const char *p = read_decimal(text, &d);
    if (!p || !to_real(&d, &value)) return false;
    if (*p == '^') {
        bool minus = *++p == '-';
        if (*p == '-' || *p == '+') p++;
        if (!is_digit(*p)) return false;
        unsigned exponent = 0;
        for (; is_digit(*p); p++)
            if (exponent < 100000) exponent = exponent * 10 + (unsigned)(*p - '0');
        value = minus ? 1 / power(value, exponent) : power(value, exponent);
    } else if (*skip_space(p) == '%') {
        p = skip_space(p) + 1;
        value /= 100;
    }
    if (!at_end(p) || !isfinite(value)) return false;
    *out = value;
    return true;
}

bool mot_read_bandwidth(const char *text, double *bytes_per_s_out)
{
    struct decimal d;
    double value, factor;
    const char *p = read_decimal(text, &d);
    if (!p || d.negative || !to_real(&d, &value)) return false;
    p = skip_space(p);
    size_t n = length_without_space(p);
    bool per_second = n > 2 && memcmp(p + n - 2, "/s", 2) == 0;
    const struct unit *unit;
    if ((unit = find_unit(bit_units, p, per_second ? n - 2 : n)) || (unit = find_unit(bps_units, p, n)))
        factor = (double)unit->factor / 8;
    else if (per_second && (unit = find_unit(size_units, p, n - 2))) /* bytes without "a second" are a size */
        factor = (double)unit->factor;
    else if (n == 0 && value == 0) factor = 1;
    else return false;
    if (!isfinite(value * factor)) return false;
    *bytes_per_s_out = value * factor;
    return true;
}

/* NUMBER [k|M|G] [samples] / TIME-UNIT */
bool mot_read_rate(const char *text, double *per_s_out)
{
    struct decimal d;
    double value;
    const char *p = read_decimal(text, &d);
    if (!p || d.negative || !to_real(&d, &value)) return false;
    size_t prefix = strspn(p, "kKMG");
    const struct unit *multiple = find_unit(count_units, p, prefix);
    if (!multiple) return false;
    p = skip_space(p + prefix);
    if (*p == 0 && value == 0 && prefix == 0) {
        *per_s_out = 0;
        return true;
    }
    if (strncmp(p, "samples", 7) == 0) p = skip_space(p + 7);
    else if (strncmp(p, "sample", 6) == 0) p = skip_space(p + 6);
    if (*p++ != '/') return false;
    p = skip_space(p);
    const struct unit *time = find_unit(time_units, p, length_without_space(p));
    if (!time) return false;
    value = value * (double)multiple->factor / ((double)time->factor / 1e9);
    if (!isfinite(value)) return false;
    *per_s_out = value;
    return true;
}

/* ---- For people -------------------------------------------------------------------- */

char *mot_show_time(uint64_t ns, char *into, size_t size)
{
    static const struct {
        const char *name;
        double ns;
    } unit[] = {
        { "h", 3.6e12 },
        { "min", 6e10 },
        { "s", 1e9 },
        { "ms", 1e6 },
        { "us", 1e3 },
    };
    if (ns == UINT64_MAX) {
        snprintf(into, size, "never");
        return into;
    }
    for (size_t i = 0; i < sizeof unit / sizeof *unit; i++) {
        double value = (double)ns / unit[i].ns;
        if (value < (i < 2 ? 2 : 0.9995)) continue; /* 90 s rather than 1.50 min */
        snprintf(into, size, "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, unit[i].name);
        return into;
    }
    snprintf(into, size, "%llu ns", (unsigned long long)ns);
    return into;
}

char *mot_show_count(double whole, char *into, size_t size)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.0f", whole);
    size_t n = strlen(digits), used = 0;
    for (size_t i = 0; i < n && used + 2 < size; i++) {
        if (i && (n - i) % 3 == 0 && digits[i - 1] != '-') into[used++] = ',';
        into[used++] = digits[i];
    }
    into[used] = '\0';
    return into;
}

struct mot_updates_text mot_updates_text(uint64_t n)
{
    struct mot_updates_text t;
    char count[32];
    snprintf(
        t.text, sizeof t.text, "%s update%s", mot_show_count((double)n, count, sizeof count), mot_plural(n));
    return t;
}

char *mot_show_rate(double per_s, char *into, size_t size)
{
    if (fabs(per_s) >= 100) return mot_show_count(floor(per_s + 0.5), into, size);
    snprintf(into, size, "%.4g", per_s);
    return into;
}

/* At most three digits, without zeros at the end: 20, 2.4, 0.125. */
static char *show_scaled(double value, const char *const *units, size_t n, char *into, size_t size)
{
    size_t i = 0;
    while (i + 1 < n && value >= 999.5) {
        value /= 1000;
        i++;
    }
    snprintf(into, size, value >= 999.5 ? "%.0f %s" : "%.3g %s", value, units[i]);
    return into;
}

char *mot_show_size(double bytes, char *into, size_t size)
{
    static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB" };
    return show_scaled(bytes, units, sizeof units / sizeof *units, into, size);
}

char *mot_show_bandwidth(double bytes_per_s, char *into, size_t size)
{
    static const char *const units[] = { "bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s" };
    if (isinf(bytes_per_s)) {
        snprintf(into, size, "unlimited");
        return into;
    }
    return show_scaled(8 * bytes_per_s, units, sizeof units / sizeof *units, into, size);
}

/* ---- The nearest name ----------------------------------------------------------------- */

#define WORD_CHARS_MAX 63

/* Case and the kind of dash do not count as errors. */
static int fold(char c) { return c == '_' ? '-' : tolower((unsigned char)c); }

/* Edits (insert, delete, replace, swap two neighbours) from a to b: the optimal
 * string alignment distance. */
static unsigned distance(const char *a, size_t n, const char *b, size_t m)
{
    unsigned row[3][WORD_CHARS_MAX + 1];
    unsigned *before = row[0], *last = row[1], *now = row[2];
    for (size_t j = 0; j <= m; j++) last[j] = before[j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            bool same = fold(a[i - 1]) == fold(b[j - 1]);
            unsigned best = last[j - 1] + !same;
            if (last[j] + 1 < best) best = last[j] + 1;
            if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
            bool swapped =
                i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) && fold(a[i - 2]) == fold(b[j - 1]);
            if (swapped && before[j - 2] + 1 < best) best = before[j - 2] + 1;
            now[j] = best;
        }
        unsigned *spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[m];
}

static size_t common_prefix(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] && fold(a[n]) == fold(b[n])) n++;
    return n;
}

const char *mot_nearest(const char *wrong, const char *const *words, size_t count)
{
    size_t n = strlen(wrong);
    if (n == 0 || n > WORD_CHARS_MAX) return NULL;
    const char *nearest = NULL;
    unsigned least = 0;
    for (size_t i = 0; i < count; i++) {
        size_t m = words[i] ? strlen(words[i]) : 0;
        if (m == 0 || m > WORD_CHARS_MAX) continue;
        size_t shared = common_prefix(wrong, words[i]), longer = n > m ? n : m, shorter = n < m ? n : m;
        unsigned edits = distance(wrong, n, words[i], m);
        /* Up to a third of the letters may be wrong; an abbreviation may lack more. */
        bool abbreviates = shared == shorter && shared >= 2;
        if (edits > (longer + 2) / 3 && !abbreviates) continue;
        if (edits >= longer) continue; /* nothing in common: "k" is not close to "lr" */
        /* Of equally distant words, the one with the same beginning is meant. */
        unsigned far = 8 * (abbreviates && edits > 2 ? 2 : edits) + 4 - (unsigned)(shared < 4 ? shared : 4);
        if (!nearest || far < least) {
            nearest = words[i];
            least = far;
        }
    }
    return nearest;
}

/* ---- Lists ------------------------------------------------------------------- */

char *mot_list_words(const char *const *word, size_t n)
{
    char *all = mot_text("");
    for (size_t i = 0; i < n; i++) {
        char *longer = mot_format("%s%s%s", all, i == 0 ? "" : i + 1 == n ? " and " : ", ", word[i]);
        free(all);
        all = longer;
    }
    return all;
}
