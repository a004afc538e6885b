/* figure_show.c -- figures as people read them: units, and as many digits as count. */
#include "base/memory.h"
#include "base/words.h"
#include "study/figures.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* That many significant digits, trailing zeros included, so that figures in a column line up. */
static char *show_digits(double value, int digits, char *into, size_t size)
{
    double magnitude = fabs(value),
           rounds = 1 - 0.5 * pow(10, -digits); /* rounds up to the edge from here on */
    int places = digits - 1;
    for (double edge = 10; places > 0 && magnitude >= edge * rounds; edge *= 10) places--;
    for (double edge = 1; places < 8 && magnitude > 0 && magnitude < edge * rounds; edge /= 10) places++;
    snprintf(into, size, "%.*f", places, value);
    return into;
}

static char *show_bytes(double value, char *into, size_t size)
{
    static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB" };
    size_t unit = 0;
    char digits[32];
    while (unit + 1 < MOT_COUNT(units) && value >= 999.5) value /= 1000, unit++;
    snprintf(into, size, "%s %s",
        unit ? show_digits(value, 3, digits, sizeof digits) : mot_show_count(value, digits, sizeof digits),
        units[unit]);
    return into;
}

char *mot_figure_show(double value, enum mot_unit unit, char *into, size_t size)
{
    if (isnan(value)) {
        snprintf(into, size, "\u2013");
        return into;
    }
    switch (unit) {
    case MOT_UNIT_SECONDS:
        return mot_show_time(value < 0 ? 0
                : value > 9e9          ? UINT64_MAX - 1
                                       : (uint64_t)(value * 1e9 + 0.5),
            into, size);
    case MOT_UNIT_BYTES: return show_bytes(value, into, size);
    case MOT_UNIT_RATIO: return show_digits(value, 3, into, size);
    case MOT_UNIT_SHARE:
        snprintf(into, size,
            value == 0                        ? "%.0f %%"
                : value > 0 && value < 0.0995 ? "%.2f %%"
                                              : "%.1f %%",
            100 * value);
        return into;
    case MOT_UNIT_COUNT:
        if (fabs(value) < 1e15) return mot_show_count(floor(value + 0.5), into, size);
        break;
    case MOT_UNIT_PLAIN: break;
    }
    if (value != 0 && (fabs(value) < 1e-3 || fabs(value) >= 1e5)) snprintf(into, size, "%.2e", value);
    else show_digits(value, 4, into, size);
    return into;
}
