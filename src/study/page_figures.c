/* page_figures.c -- the document's figures: finding them, and showing them to people. */
#include "study/page_parts.h"

#include "base/memory.h"
#include "base/words.h"
#include <math.h>
#include <string.h>

/* ---- Reading ------------------------------------------------------------------------------- */

const json_t *mot_page_list(const json_t *object, const char *key)
{
    const json_t *list = json_object_get(object, key);
    return json_is_array(list) ? list : NULL;
}

const char *mot_page_word(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

double mot_page_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

size_t mot_page_place(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));
    return value > 0 ? (size_t)value : 0;
}

const char *mot_page_name(const json_t *document, const char *list, size_t i)
{
    return mot_page_word(json_array_get(mot_page_list(document, list), i), "name");
}

const json_t *mot_page_cell(const json_t *document, size_t arm, size_t condition)
{
    size_t i;
    json_t *cell;
    json_array_foreach(mot_page_list(document, "cells"), i, cell) if (mot_page_place(cell, "arm") == arm &&
        mot_page_place(cell, "condition") == condition) return cell;
    return NULL;
}

const json_t *mot_page_figure(const json_t *cell, const char *figure)
{
    const json_t *interval = json_object_get(json_object_get(cell, "figures"), figure);
    return json_is_object(interval) && mot_page_place(interval, "n") > 0 ? interval : NULL;
}

const json_t *mot_page_against(const json_t *cell, const char *figure)
{
    const json_t *comparison = json_object_get(json_object_get(cell, "against"), figure);
    return json_is_object(comparison) ? comparison : NULL;
}

/* ---- Kinds and units ------------------------------------------------------------------------- */

static const struct mot_page_kind kinds[] = {
    { "time_to_target", "Time to target", MOT_PAGE_SECONDS, false },
    { "updates_to_target", "Updates to target", MOT_PAGE_COUNT, false },
    { "bytes_to_target", "Sent until target", MOT_PAGE_BYTES, false },
    { "time", "Time", MOT_PAGE_SECONDS, false },
    { "updates", "Updates", MOT_PAGE_COUNT, false },
    { "test_accuracy", "Test accuracy", MOT_PAGE_SHARE, true },
    { "test_loss", "Test loss", MOT_PAGE_PLAIN, false },
    { "train_loss", "Training loss", MOT_PAGE_PLAIN, false },
    { "grad_norm", "Gradient norm", MOT_PAGE_PLAIN, false },
    { "bytes", "Sent", MOT_PAGE_BYTES, false },
    { "utilisation", "Utilisation", MOT_PAGE_SHARE, true },
    { "worst_wait", "Worst wait", MOT_PAGE_SHARE, false },
    { "staleness_mean", "Staleness", MOT_PAGE_PLAIN, false },
    { "staleness_max", "Largest staleness", MOT_PAGE_COUNT, false },
};

const struct mot_page_kind *mot_page_kind(const char *figure)
{
    for (size_t i = 0; i < MOT_COUNT(kinds); i++)
        if (strcmp(kinds[i].figure, figure) == 0) return &kinds[i];
    return NULL;
}

/* 1234567 as "1,234,567". */
static char *show_count(double value, char *into, size_t size)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.0f", value);
    size_t n = strlen(digits), used = 0;
    for (size_t i = 0; i < n && used + 2 < size; i++) {
        if (i && (n - i) % 3 == 0) into[used++] = ',';
        into[used++] = digits[i];
    }
    into[used] = '\0';
    return into;
}

/* So many digits that count, zeros among them: figures that stand below each other should look alike. */
static char *show_digits(double value, int digits, char *into, size_t size)
{
    double magnitude = fabs(value), rounds = 1 - 0.5 * pow(10, -digits); /* from there up to the edge */
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
        unit ? show_digits(value, 3, digits, sizeof digits) : show_count(value, digits, sizeof digits),
        units[unit]);
    return into;
}

char *mot_page_show(double value, enum mot_page_unit unit, char *into, size_t size)
{
    if (isnan(value)) {
        snprintf(into, size, "\u2013");
        return into;
    }
    switch (unit) {
    case MOT_PAGE_SECONDS:
        return mot_show_time(value < 0 ? 0
                : value > 9e9          ? UINT64_MAX - 1
                                       : (uint64_t)(value * 1e9 + 0.5),
            into, size);
    case MOT_PAGE_BYTES: return show_bytes(value, into, size);
    case MOT_PAGE_RATIO: return show_digits(value, 3, into, size);
    case MOT_PAGE_SHARE:
        snprintf(into, size,
            value == 0                        ? "%.0f %%"
                : value > 0 && value < 0.0995 ? "%.2f %%"
                                              : "%.1f %%",
            100 * value);
        return into;
    case MOT_PAGE_COUNT:
        if (fabs(value) < 1e15) return show_count(floor(value + 0.5), into, size);
        break;
    case MOT_PAGE_PLAIN: break;
    }
    if (value != 0 && (fabs(value) < 1e-3 || fabs(value) >= 1e5)) snprintf(into, size, "%.2e", value);
    else show_digits(value, 4, into, size);
    return into;
}

const struct mot_page_kind *mot_page_judge(const json_t *document)
{
    return mot_page_kind(mot_page_word(document, "judged_by"));
}
