/* capacity.c -- reads device capacities from JSON and CSV, with what all readers share. */
#include "cluster/capacity.h"
#include "base/json_text.h"
#include "base/words.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MS_MAX 1e9    /* a sample in eleven days */
#define KBIT_MAX 1e12 /* a petabit a second */

static const char computation[] = "computation", communication[] = "communication";

enum mot_status mot_capacity_add(struct mot_capacity_list *l, const char *name, double ms, double kbit)
{
    const bool slow = !(ms > 0) || ms > MS_MAX, thin = !(kbit > 0) || kbit > KBIT_MAX;
    const double wrong = slow ? ms : kbit;
    if (slow || thin) {
        char found[40];
        if (isnan(wrong)) snprintf(found, sizeof found, "nothing");
        else snprintf(found, sizeof found, "%.6g", wrong);
        return mot_fail(MOT_EUSAGE, "%s: client %.60s: %s: expected %s; found %s", l->path, name,
            slow ? computation : communication,
            slow ? "the milliseconds that a sample takes, above 0 and up to 1e9"
                 : "a bandwidth in kbit/s, above 0 and up to 1e12",
            found);
    }
    if (l->all.n == MOT_CAPACITIES_MAX)
        return mot_fail(MOT_EUSAGE, "%s: more than %u clients", l->path, MOT_CAPACITIES_MAX);
    if (l->all.n == l->room) {
        l->room = l->room ? 2 * l->room : 256;
        l->all.device = mot_grow(l->all.device, l->room, sizeof *l->all.device);
    }
    l->all.device[l->all.n++] = (struct mot_capacity){ mot_arena_text(l->arena, name), ms, kbit };
    return MOT_OK;
}

/* ---- JSON --------------------------------------------------------------------------------------- */

/* A number, or text that spells one, as in some exports; else NaN. */
static double json_figure(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    double x = NAN;
    if (json_is_number(value)) return json_number_value(value);
    if (json_is_string(value)) mot_read_real(json_string_value(value), &x);
    return x;
}

static enum mot_status add_json(struct mot_capacity_list *l, const char *name, const json_t *object)
{
    if (!json_is_object(object))
        return mot_fail(MOT_EUSAGE, "%s: client %.60s: expected {\"%s\": ..., \"%s\": ...}", l->path, name,
            computation, communication);
    return mot_capacity_add(l, name, json_figure(object, computation), json_figure(object, communication));
}

static enum mot_status parse_json(struct mot_capacity_list *l, const char *text, size_t n)
{
    const struct mot_json_text t = { .name = l->path, .text = text, .n = n, .line = 1, .bad = MOT_EUSAGE };
    json_t *all, *one;
    enum mot_status status = mot_json_parse(&t, &all);
    if (status != MOT_OK) return status;
    const char *name;
    size_t i;
    json_object_foreach(all, name, one) if (status == MOT_OK) status = add_json(l, name, one);
    json_array_foreach(all, i, one)
    {
        char number[24];
        snprintf(number, sizeof number, "%zu", i);
        if (status == MOT_OK) status = add_json(l, number, one);
    }
    json_decref(all);
    return status;
}

/* ---- CSV ---------------------------------------------------------------------------------------- */

/* A cell without surrounding blanks and quotes. */
struct cell {
    const char *at;
    int n;
};

static const char *next_cell(const char *at, struct cell *out)
{
    const char *end = at + strcspn(at, ",\n"), *next = *end == ',' ? end + 1 : end;
    while (at < end && isspace((unsigned char)*at)) at++;
    while (end > at && isspace((unsigned char)end[-1])) end--;
    if (end - at >= 2 && *at == '"' && end[-1] == '"') at++, end--;
    *out = (struct cell){ at, end - at < 4096 ? (int)(end - at) : 4096 };
    return next;
}

static bool is(struct cell cell, const char *word)
{
    return cell.n == (int)strlen(word) && strncasecmp(cell.at, word, (size_t)cell.n) == 0;
}

/* The columns of both figures in the header, and of a name before them. */
struct columns {
    uint32_t all, computation, communication;
    bool named;
};

static bool read_header(const char *at, struct columns *out)
{
    struct columns c = { 0, UINT32_MAX, UINT32_MAX, true };
    struct cell cell;
    for (bool more = true; more; c.all++) {
        const char *next = next_cell(at, &cell);
        if (is(cell, computation)) c.computation = c.all;
        if (is(cell, communication)) c.communication = c.all;
        more = next > at && next[-1] == ',';
        at = next;
    }
    c.named = c.computation != 0 && c.communication != 0;
    *out = c;
    return c.computation != UINT32_MAX && c.communication != UINT32_MAX;
}

static double cell_figure(struct cell cell)
{
    char text[64];
    double x = NAN;
    if (cell.n == 0 || cell.n >= (int)sizeof text) return x;
    snprintf(text, sizeof text, "%.*s", cell.n, cell.at);
    return mot_read_real(text, &x) ? x : (double)NAN;
}

static enum mot_status parse_line(
    struct mot_capacity_list *l, const char *at, uint32_t line, const struct columns *c)
{
    char name[80];
    double ms = NAN, kbit = NAN;
    uint32_t i = 0;
    snprintf(name, sizeof name, "%u", l->all.n);
    for (bool more = true; more; i++) {
        struct cell cell;
        const char *next = next_cell(at, &cell);
        if (i == 0 && c->named && cell.n)
            snprintf(name, sizeof name, "%.*s", cell.n < 79 ? cell.n : 79, cell.at);
        bool figure = i == c->computation || i == c->communication;
        double x = figure ? cell_figure(cell) : 0;
        if (isnan(x))
            return mot_fail(MOT_EUSAGE, "%s:%u: column %u: found '%.*s', expected a number", l->path, line,
                i + 1, cell.n < 40 ? cell.n : 40, cell.at);
        if (i == c->computation) ms = x;
        if (i == c->communication) kbit = x;
        more = next > at && next[-1] == ',';
        at = next;
    }
    if (i != c->all)
        return mot_fail(MOT_EUSAGE, "%s:%u: found %u columns, expected %u as in the first line", l->path,
            line, i, c->all);
    return mot_capacity_add(l, name, ms, kbit);
}

static enum mot_status parse_csv(struct mot_capacity_list *l, const char *text)
{
    struct columns c;
    if (!read_header(text, &c))
        return mot_fail(MOT_EUSAGE,
            "%s: expected JSON, a pickle, or CSV whose first line names the columns %s and %s", l->path,
            computation, communication);
    uint32_t line = 1;
    for (const char *at = text; (at = strchr(at, '\n'));) {
        at++, line++;
        size_t n = strcspn(at, "\n");
        if (strspn(at, " \t\r") >= n) continue;
        enum mot_status status = parse_line(l, at, line, &c);
        if (status != MOT_OK) return status;
    }
    return MOT_OK;
}

/* ---- Any of them -------------------------------------------------------------------------------- */

static const char *past_blanks(const char *text)
{
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0) text += 3; /* the mark with which spreadsheets begin a file */
    return text + strspn(text, " \t\r\n");
}

bool mot_capacities_are(const unsigned char *bytes, size_t n)
{
    struct columns c;
    const char *text = past_blanks((const char *)bytes);
    if (n && bytes[0] == 0x80) return true;
    return *text == '{' || *text == '[' || read_header(text, &c);
}

enum mot_status mot_capacities_parse(const char *path, const unsigned char *bytes, size_t n,
    struct mot_arena *arena, struct mot_capacities *out)
{
    struct mot_capacity_list l = { .path = path, .arena = arena };
    const char *text = (const char *)bytes, *start = past_blanks(text);
    enum mot_status status;
    if (n && bytes[0] == 0x80) status = mot_capacities_unpickle(&l, bytes, n);
    else if (memchr(bytes, 0, n)) status = mot_fail(MOT_EUSAGE, "%s: found a zero byte, expected text", path);
    else if (*start == '{' || *start == '[') status = parse_json(&l, start, n - (size_t)(start - text));
    else status = parse_csv(&l, start);
    if (status == MOT_OK && l.all.n == 0) status = mot_fail(MOT_EUSAGE, "%s: it has no clients", path);
    if (status != MOT_OK) free(l.all.device);
    else *out = l.all;
    return status;
}
