/* exact.c -- exp and log that give the same bits everywhere.
 *
 * Both reduce the argument to a short interval and sum a Taylor series there:
 * more terms than a minimax polynomial, but every coefficient is a quotient of
 * small integers that anyone can check. Needs -ffp-contract=off. */
#include "base/exact.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* ln 2 in two parts; the high one ends in 21 zero bits, so k * high is exact for |k| < 2^21. */
static const double ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;
static const double log2_e = 0x1.71547652b82fep+0;

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* 2^k for a normal result. */
static double power_of_two(int k) { return from_bits((uint64_t)(k + 1023) << 52); }

/* y * 2^k, rounded once even where the result is subnormal; y in (1/2, 2). */
static double scale(double y, int k)
{
    if (k > 1023) return y * 0x1p1023 * power_of_two(k - 1023);
    if (k < -1022) return y * power_of_two(k + 200) * 0x1p-200;
    return y * power_of_two(k);
}

double mot_exp(double x)
{
    if (x != x) return x;
    if (x > 709.782712893384) return HUGE_VAL;
    if (x < -745.1332191019412) return 0;
    int k = (int)(x * log2_e + (x < 0 ? -0.5 : 0.5));
    double high = x - k * ln2_high, low = k * ln2_low;
    double r = high - low, lost = (high - r) - low; /* r + lost is the reduced argument, |r| < 0.347 */

    /* e^r = 1 + r + r^2 (1/2! + r/3! + ... + r^12/14!) */
    static const double inverse_factorial[] = {
        1.0 / 2,
        1.0 / 6,
        1.0 / 24,
        1.0 / 120,
        1.0 / 720,
        1.0 / 5040,
        1.0 / 40320,
        1.0 / 362880,
        1.0 / 3628800,
        1.0 / 39916800,
        1.0 / 479001600,
        1.0 / 6227020800,
        1.0 / 87178291200,
    };
    double sum = 0;
    for (int i = (int)(sizeof inverse_factorial / sizeof *inverse_factorial) - 1; i >= 0; i--)
        sum = sum * r + inverse_factorial[i];
    return scale(1 + (r + (r * r * sum + lost)), k);
}

double mot_log(double x)
{
    if (x != x || x == HUGE_VAL) return x;
    if (x == 0) return -HUGE_VAL;
    if (x < 0) return NAN;
    int k = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        k = -54;
    }
    uint64_t bits = bits_of(x);
    k += (int)(bits >> 52) - 1023;
    double m = from_bits((bits & UINT64_C(0xfffffffffffff)) | UINT64_C(0x3ff0000000000000));
    if (m > 1.4142135623730951) {
        m *= 0.5;
        k++;
    }

    /* With f = m - 1 and s = f / (2 + f): log m = 2 atanh s = 2s + s R, where
     * R = 2/3 s^2 + 2/5 s^4 + ...; 2s = f - s f keeps f, which is exact, out of the rounding. */
    double f = m - 1, s = f / (2 + f), z = s * s, sum = 0;
    for (int i = 12; i >= 1; i--) sum = (sum + 2.0 / (2 * i + 1)) * z;
    double half_square = 0.5 * f * f;
    return k * ln2_high - ((half_square - (s * (half_square + sum) + k * ln2_low)) - f);
}
