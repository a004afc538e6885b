/* text_table.c -- a study's document as text for a terminal: under each condition who is faster and at what
 * cost, then whatever went wrong. Nothing is left out silently. */
#include "base/memory.h"
#include "base/shown.h"
#include "base/words.h"
#include "page/grid.h"
#include "page/page.h"
#include "report/json.h"
#include "study/answer.h"
#include "study/document.h"
#include "study/stats.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIM "\x1b[2m"
#define BOLD "\x1b[1m"
#define PLAIN "\x1b[0m"

struct table {
    const json_t *d;
    FILE *out;
    size_t columns;
    bool colour;
    bool target; /* there is one; otherwise times are to the end */
    bool judged; /* arms are compared */
};

static const char *shade(const struct table *p, const char *code) { return p->colour ? code : ""; }

/* ---- Reading the document --------------------------------------------------------------------- */

static const json_t *get(const json_t *object, const char *a, const char *b)
{
    return json_object_get(json_object_get(object, a), b);
}

static const char *name_of(const struct table *p, const char *side, size_t at)
{
    return mot_document_name(p->d, side, at);
}

/* ---- Figures as text ------------------------------------------------------------------------------ */

struct unit {
    const char *name;
    double factor;
};

static struct unit unit_of(double seconds)
{
    static const struct unit units[] = { { "h", 3600 }, { "min", 60 }, { "s", 1 }, { "ms", 1e-3 },
        { "us", 1e-6 } };
    static const double least[] = { 2 * 3600, 300, 1, 1e-3, 0 };
    for (size_t i = 0; i < MOT_COUNT(units); i++)
        if (fabs(seconds) >= least[i]) return units[i];
    return units[2];
}

/* Three significant digits; whole numbers in full. */
static void print_short(double value, char *into, size_t size)
{
    double a = fabs(value);
    int places = a >= 100 || a == 0 ? 0 : a >= 10 ? 1 : a >= 1 ? 2 : a >= 0.1 ? 3 : -1;
    if (places < 0) snprintf(into, size, "%.3g", value);
    else snprintf(into, size, "%.*f", places, value);
}

/* A time and its interval: "7.75 s" and "[7.50, 8.00]"; if it was not reached, "> 120 s" or "never". */
static void time_cells(const json_t *figure, struct mot_grid *g)
{
    double median = mot_json_get_number(figure, "median"), low = mot_json_get_number(figure, "low"),
           high = mot_json_get_number(figure, "high"), past = mot_json_get_number(figure, "beyond");
    char one[32], two[32];
    if (mot_json_get_count(figure, "n") == 0) {
        mot_grid_add(g, "-");
        mot_grid_add(g, "");
        return;
    }
    struct unit u = unit_of(isnan(median) ? isnan(past) ? low : past : median);
    print_short((isnan(median) ? past : median) / u.factor, one, sizeof(one));
    if (isnan(median) && isnan(past)) mot_grid_add(g, "never");
    else mot_grid_addf(g, "%s%s %s", isnan(median) ? "> " : "", one, u.name);
    if (isnan(low) || mot_json_get_count(figure, "n") == 1) {
        mot_grid_add(g, "");
        return;
    }
    print_short(low / u.factor, one, sizeof(one));
    print_short(high / u.factor, two, sizeof(two));
    mot_grid_addf(g, "[%s, %s]", one, isnan(high) ? "never" : two);
}

static void ratio_text(double ratio, char *into, size_t size)
{
    if (isnan(ratio)) snprintf(into, size, "inf");
    else snprintf(into, size, ratio >= 100 ? "%.0f" : ratio >= 10 ? "%.1f" : "%.2f", ratio);
}

/* There is no ratio to show if one of two arms, or both, mostly never got there. */
static void ratio_cells(
    const json_t *against, double median, const json_t *judged, bool noted, struct mot_grid *g)
{
    char one[32], two[32];
    const char *verdict = mot_json_get_text(judged, "word"),
               *reason = noted ? mot_json_get_text(judged, "reason") : "";
    double ratio = mot_json_get_number(against, "ratio");
    bool both = !isnan(ratio) && ratio > 0 && !(isnan(median) && ratio == 1);
    if (mot_json_get_count(against, "n") == 0 || !both) {
        mot_grid_add(g, "\u2013"), mot_grid_add(g, "");
        mot_grid_addf(g, "%s%s", verdict, *reason && mot_json_get_count(against, "n") ? " *" : "");
        return;
    }
    ratio_text(ratio, one, sizeof(one));
    mot_grid_add(g, one);
    ratio_text(mot_json_get_number(against, "low"), one, sizeof(one));
    ratio_text(mot_json_get_number(against, "high"), two, sizeof(two));
    if (mot_json_get_count(against, "n") > 1) mot_grid_addf(g, "[%s, %s]", one, two);
    else mot_grid_add(g, "");
    mot_grid_addf(g, "%s%s", verdict, *reason ? " *" : "");
}

/* "0.512 +- 0.010": the median and half the interquartile range. */
static void spread_cell(const json_t *figure, double factor, const char *unit, struct mot_grid *g)
{
    double median = mot_json_get_number(figure, "median"),
           spread = (mot_json_get_number(figure, "q3") - mot_json_get_number(figure, "q1")) / 2;
    char one[32], two[32];
    if (isnan(median)) {
        mot_grid_add(g, "-");
        return;
    }
    if (*unit) snprintf(one, sizeof(one), "%.2f", factor * median);
    else snprintf(one, sizeof(one), "%.4g", factor * median);
    snprintf(two, sizeof(two), "%.2g", factor * spread);
    if (mot_json_get_count(figure, "n") > 1)
        mot_grid_addf(g, "%s%s +- %s", one, unit, isnan(spread) ? "-" : two);
    else mot_grid_addf(g, "%s%s", one, unit);
}

static void share_cell(double share, struct mot_grid *g)
{
    if (isnan(share)) mot_grid_add(g, "-");
    else mot_grid_addf(g, "%.0f %%", 100 * share);
}

/* ---- One condition ---------------------------------------------------------------------------------- */

static void arm_cell(const struct table *p, const json_t *cell, struct mot_grid *g)
{
    mot_grid_add(g, name_of(p, "arms", mot_json_get_count(cell, "arm")));
}

/* Whether there is a target and no run reached it: the answer says so, once for all. */
static bool nobody_reached(const struct table *p, const json_t *const *cell, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (mot_json_get_count(cell[i], "reached") > 0) return false;
    return p->target;
}

static void print_times(const struct table *p, const json_t *const *cell, size_t n)
{
    const char *figure = p->target ? "time_to_target" : "time";
    struct mot_grid g;
    mot_grid_open(&g, (p->judged ? 6 : 3) + p->target);
    g.fold = p->judged ? 3 + p->target : 0;
    mot_grid_add(&g, "");
    mot_grid_add(&g, p->target ? "to target" : "time");
    mot_grid_add(&g, "95 %");
    if (p->target) mot_grid_add(&g, "reached");
    for (size_t i = 0; i < 3 && p->judged; i++)
        mot_grid_add(&g, (const char *const[]){ "speed-up", "95 %", "verdict" }[i]);
    for (size_t i = 0; i < n; i++) {
        const json_t *against = get(cell[i], "against", figure);
        arm_cell(p, cell[i], &g);
        const json_t *time = get(cell[i], "figures", figure);
        time_cells(time, &g);
        if (p->target)
            mot_grid_addf(&g, "%zu of %zu", mot_json_get_count(cell[i], "reached"),
                mot_json_get_count(cell[i], "runs"));
        if (against)
            ratio_cells(against, mot_json_get_number(time, "median"), json_object_get(cell[i], "verdict"),
                !nobody_reached(p, cell, n), &g);
        else
            for (int k = 0; k < 3 && p->judged; k++)
                mot_grid_add(&g, k > 0 ? "" : isnan(mot_json_get_number(time, "median")) ? "\u2013" : "1");
    }
    mot_grid_print(&g, p->columns, p->out, p->colour);
    mot_grid_close(&g);
}

static bool has_figure(const json_t *const *cell, size_t n, const char *figure)
{
    for (size_t i = 0; i < n; i++)
        if (!isnan(
                mot_json_get_number(json_object_get(json_object_get(cell[i], "figures"), figure), "median")))
            return true;
    return false;
}

static void print_costs(const struct table *p, const json_t *const *cell, size_t n)
{
    /* Data without a test part has no accuracy; the gradient norm takes the column if it was measured. */
    bool accuracy = has_figure(cell, n, "test_accuracy") || !has_figure(cell, n, "grad_norm");
    const char *const head[] = { "", "train loss", accuracy ? "test accuracy" : "gradient norm", "sent",
        "busy", "longest wait" };
    struct mot_grid g;
    mot_grid_open(&g, MOT_COUNT(head));
    g.fold = 3;
    for (size_t i = 0; i < MOT_COUNT(head); i++) mot_grid_add(&g, head[i]);
    for (size_t i = 0; i < n; i++) {
        const json_t *f = json_object_get(cell[i], "figures"),
                     *worst = json_object_get(cell[i], "worst_worker");
        double bytes = mot_json_get_number(json_object_get(f, "bytes"), "median"),
               wait = mot_json_get_number(json_object_get(f, "worst_wait"), "median");
        char size[48];
        arm_cell(p, cell[i], &g);
        spread_cell(json_object_get(f, "train_loss"), 1, "", &g);
        if (accuracy) spread_cell(json_object_get(f, "test_accuracy"), 100, " %", &g);
        else spread_cell(json_object_get(f, "grad_norm"), 1, "", &g);
        mot_grid_add(&g, isnan(bytes) ? "-" : mot_show_size(bytes, size, sizeof(size)));
        share_cell(mot_json_get_number(json_object_get(f, "utilisation"), "median"), &g);
        const char *group = mot_json_get_text(worst, "name");
        if (isnan(wait)) mot_grid_add(&g, "-");
        else if (wait < 0.005) mot_grid_add(&g, "none");
        else
            mot_grid_addf(&g, "%.0f %%, worker %zu%s%s%s", 100 * wait, mot_json_get_count(worst, "id"),
                *group ? " (" : "", group, *group ? ")" : "");
    }
    mot_grid_print(&g, p->columns, p->out, p->colour);
    mot_grid_close(&g);
}

/* ---- Notes ---------------------------------------------------------------------------- */

/* A remark, wrapped. */
static void note(const struct table *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(const struct table *p, const char *format, ...)
{
    va_list rest;
    va_start(rest, format);
    char *line = NULL;
    if (vasprintf(&line, format, rest) < 0) line = NULL;
    va_end(rest);
    if (line) mot_text_wrap(line, "  - ", "    ", p->columns, p->out);
    free(line);
}

/* The seeds of a cell's runs for which `is` holds: "3, 5, 9". malloc'd; NULL if there are none. */
typedef bool run_is(const json_t *run, const char *what);
static char *seeds_of(const struct table *p, const json_t *cell, run_is *is, const char *what, size_t *n_out,
    const json_t **first)
{
    const json_t *runs = json_object_get(p->d, "runs");
    char *list = NULL;
    size_t i, n = 0;
    json_t *run;
    json_array_foreach(runs, i, run)
    {
        if (mot_json_get_count(run, "arm") != mot_json_get_count(cell, "arm") ||
            mot_json_get_count(run, "condition") != mot_json_get_count(cell, "condition") || !is(run, what))
            continue;
        if (n == 0) *first = run;
        char *longer = n < 12
            ? mot_format("%s%s%.0f", list ? list : "", list ? ", " : "", mot_json_get_number(run, "seed"))
            : n == 12 ? mot_format("%s, ...", list)
                      : mot_text(list);
        free(list);
        list = longer;
        n++;
    }
    *n_out = n;
    return list;
}

static bool has_status(const json_t *run, const char *status)
{
    return strcmp(mot_json_get_text(run, "status"), status) == 0;
}

static bool missed(const json_t *run, const char *what)
{
    (void)what;
    return has_status(run, "ok") && !json_is_true(json_object_get(run, "reached"));
}

static void note_runs(
    const struct table *p, const json_t *cell, run_is *is, const char *status, const char *words, bool why)
{
    size_t n;
    const json_t *first = NULL;
    char *seeds = seeds_of(p, cell, is, status, &n, &first);
    if (!seeds) return;
    const char *failed = mot_json_get_text(first, "failed"), *after = strstr(failed, " after ");
    if (!strchr(failed, ':')) failed = after ? after + 1 : ""; /* the words have said the rest */
    note(p, "%s: %zu of %zu runs %s (seed%s %s)%s%s", name_of(p, "arms", mot_json_get_count(cell, "arm")), n,
        mot_json_get_count(cell, "runs"), words, n == 1 ? "" : "s", seeds,
        why && *failed ? "; the first " : "", why ? failed : "");
    free(seeds);
}

/* Without a target, times are to the end of the run and what was learned by then decides: say by how
 * much. */
static void note_quality(const struct table *p, const json_t *cell)
{
    static const struct {
        const char *figure, *words;
    } by[] = { { "test_accuracy", "test accuracy" }, { "test_loss", "test loss" },
        { "train_loss", "training loss" }, { "grad_norm", "gradient norm" } };
    size_t i = 0;
    while (i < MOT_COUNT(by) && strcmp(mot_json_get_text(p->d, "judged_by"), by[i].figure) != 0) i++;
    if (i == MOT_COUNT(by) || mot_json_get_count(get(cell, "against", by[i].figure), "n") == 0) return;
    const json_t *against = get(cell, "against", by[i].figure);
    char ratio[32], low[32], high[32];
    /* A run that diverged has no ratio, and one that learned nothing no meaningful one. */
    bool none = isnan(mot_json_get_number(against, "ratio")) || mot_json_get_number(against, "ratio") == 0 ||
        *mot_json_get_text(json_object_get(cell, "verdict"), "reason");
    if (*mot_json_get_text(against, "reason") || none) return;
    ratio_text(mot_json_get_number(against, "ratio"), ratio, sizeof(ratio));
    ratio_text(mot_json_get_number(against, "low"), low, sizeof(low));
    ratio_text(mot_json_get_number(against, "high"), high, sizeof(high));
    note(p, "%s: final %s %s: %s [%s, %s] (above 1 is better than the first arm)",
        name_of(p, "arms", mot_json_get_count(cell, "arm")), by[i].words,
        mot_json_get_text(against, "verdict"), ratio, low, high);
}

/* `nobody`: no run under this condition reached the target. */
static void note_cell(const struct table *p, const json_t *cell, bool nobody)
{
    const struct {
        const char *status, *words;
        bool why;
    } kinds[] = {
        { "diverged",
            p->target ? "diverged and count as never reaching the target"
                      : "diverged and count as never finishing",
            false },
        { "peer_lost", "lost a peer and ended early", true },
        { "crashed", "crashed and are left out of the figures; the same command tries them again", true },
        { "refused", "could not be run and are left out of the figures", true },
        { "system_error", "ended early", true },
        { "bad_usage", "ended early", true },
        { "deadline", "passed a deadline", true },
        { "interrupted", "were interrupted", true },
    };
    for (size_t i = 0; i < MOT_COUNT(kinds); i++)
        note_runs(p, cell, has_status, kinds[i].status, kinds[i].words, kinds[i].why);
    if (p->target && !nobody)
        note_runs(p, cell, missed, "",
            "ended without reaching the target and count as later than any that did", false);
    if (!p->target) note_quality(p, cell);
    const char *reason = mot_json_get_text(json_object_get(cell, "verdict"), "reason");
    if (*reason && !nobody)
        note(p, "%s: not comparable: %s", name_of(p, "arms", mot_json_get_count(cell, "arm")), reason);
}

static void print_condition(const struct table *p, size_t condition)
{
    const json_t *cells = json_object_get(p->d, "cells");
    const json_t **mine = mot_new(json_array_size(cells) + 1, sizeof(*mine));
    const char *name = name_of(p, "conditions", condition);
    size_t n = 0, i;
    json_t *cell;
    json_array_foreach(cells, i, cell) if (mot_json_get_count(cell, "condition") == condition) mine[n++] =
        cell;
    if (*name) fprintf(p->out, "\n%s%s%s\n", shade(p, BOLD), name, shade(p, PLAIN));
    else fputc('\n', p->out);
    bool nobody = nobody_reached(p, mine, n);
    print_times(p, mine, n);
    fputc('\n', p->out);
    print_costs(p, mine, n);
    for (i = 0; i < n; i++) note_cell(p, mine[i], nobody);
    free(mine);
}

/* ---- Tuning --------------------------------------------------------------------------- */

static char *values_text(const json_t *values)
{
    char *list = mot_text("");
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)values, key, value)
    {
        char *longer = mot_format("%s%s%s=%s", list, *list ? ", " : "", key, json_string_value(value));
        free(list);
        list = longer;
    }
    return list;
}

/* Whether any point differs from `usual`: a constant column says nothing. */
static bool varies(const json_t *points, const char *key, double usual)
{
    size_t i;
    json_t *point;
    json_array_foreach(points, i, point) if (mot_json_get_number(point, key) != usual) return true;
    return false;
}

/* A figure and, if there are several runs, its interval. */
static void spread_cells(const json_t *score, struct mot_grid *g)
{
    mot_grid_addf(g, "%.4g", mot_json_get_number(score, "median"));
    if (mot_json_get_count(score, "n") > 1)
        mot_grid_addf(
            g, "[%.4g, %.4g]", mot_json_get_number(score, "low"), mot_json_get_number(score, "high"));
    else mot_grid_add(g, "");
}

/* The curve, one row per point if there are few enough to read. */
static void print_points(const struct table *p, const json_t *tuned)
{
    const json_t *points = json_object_get(tuned, "points");
    const char *by = mot_json_get_text(tuned, "by");
    bool time = strcmp(by, "time_to_target") == 0, failed = varies(points, "failed", 0),
         length = varies(points, "budget", 1);
    struct mot_grid g;
    size_t i;
    json_t *point;
    mot_grid_open(&g, 4u + time + failed + length);
    const struct {
        const char *name;
        bool shown;
    } head[] = { { "", true }, { by, true }, { "95 %", true }, { "reached", time }, { "failed", failed },
        { "length", length }, { "", true } };
    for (i = 0; i < MOT_COUNT(head); i++)
        if (head[i].shown) mot_grid_add(&g, head[i].name);
    json_array_foreach(points, i, point)
    {
        const json_t *score = json_object_get(point, "score");
        char *values = values_text(json_object_get(point, "values"));
        bool best = json_is_true(json_object_get(point, "best"));
        if (json_array_size(points) <= 40 || best) {
            mot_grid_add(&g, values);
            if (time) time_cells(score, &g);
            else if (isnan(mot_json_get_number(score, "median"))) mot_grid_add(&g, "-"), mot_grid_add(&g, "");
            else spread_cells(score, &g);
            if (time)
                mot_grid_addf(&g, "%zu of %zu", mot_json_get_count(point, "reached"),
                    mot_json_get_count(point, "runs"));
            if (failed)
                mot_grid_addf(
                    &g, "%zu of %zu", mot_json_get_count(point, "failed"), mot_json_get_count(point, "runs"));
            if (length) share_cell(mot_json_get_number(point, "budget"), &g);
            mot_grid_add(&g, best ? "best" : "");
        }
        free(values);
    }
    mot_grid_print(&g, p->columns, p->out, p->colour);
    mot_grid_close(&g);
}

static char *list_text(const json_t *list)
{
    char *all = mot_text("");
    size_t i;
    json_t *each;
    json_array_foreach(list, i, each)
    {
        char *longer = json_is_string(each)
            ? mot_format("%s%s%s", all, i ? ", " : "", json_string_value(each))
            : mot_format("%s%s%.0f", all, i ? ", " : "", json_number_value(each));
        free(all);
        all = longer;
    }
    return all;
}

static void print_tuned(const struct table *p, const json_t *tuned, bool curve)
{
    const char *condition = name_of(p, "conditions", mot_json_get_count(tuned, "condition"));
    const json_t *points = json_object_get(tuned, "points"), *edge = json_object_get(tuned, "edge"),
                 *best = NULL;
    size_t i;
    json_t *point;
    json_array_foreach(points, i, point) if (json_is_true(json_object_get(point, "best"))) best = point;
    char *values = values_text(json_object_get(best, "values")), *edges = list_text(edge);
    bool hit = !isnan(mot_json_get_number(json_object_get(best, "score"), "median"));
    if (curve)
        fprintf(p->out, "\n%s%s%s%s%s\n", shade(p, BOLD),
            name_of(p, "arms", mot_json_get_count(tuned, "arm")), *condition ? " under " : "", condition,
            shade(p, PLAIN));
    if (curve) print_points(p, tuned);
    note(p, "%s%s%s: %s is the best of %zu%s%s%s", name_of(p, "arms", mot_json_get_count(tuned, "arm")),
        *condition ? " under " : "", condition, values, json_array_size(points),
        hit ? ""
            : strcmp(mot_json_get_text(tuned, "by"), "time_to_target") == 0
            ? ", though most of its runs missed the target"
            : ", though its runs failed",
        *edges ? "; it is at the edge of the grid: widen " : "", edges);
    free(edges);
    free(values);
}

static void print_tuning(const struct table *p)
{
    const json_t *tuning = json_object_get(p->d, "tuning"), *first = json_array_get(tuning, 0);
    if (!first) return;
    bool curve = json_array_size(tuning) <= 12;
    char *seeds = list_text(json_object_get(first, "seeds"));
    fprintf(p->out, "\n%sTuned by %s on seed%s %s%s%s\n", shade(p, BOLD), mot_json_get_text(first, "by"),
        json_array_size(json_object_get(first, "seeds")) == 1 ? "" : "s", seeds,
        json_is_true(json_object_get(first, "halving")) ? ", by halving" : "", shade(p, PLAIN));
    free(seeds);
    size_t i;
    json_t *tuned;
    json_array_foreach(tuning, i, tuned) print_tuned(p, tuned, curve);
}

/* ---- The whole ------------------------------------------------------------------------ */

static void print_head(const struct table *p)
{
    const json_t *target = json_object_get(p->d, "target");
    size_t arms = json_array_size(json_object_get(p->d, "arms")),
           conditions = json_array_size(json_object_get(p->d, "conditions"));
    size_t seeds = json_array_size(json_object_get(p->d, "seeds"));
    fprintf(p->out, "%s%s%s: %zu arm%s", shade(p, BOLD), mot_json_get_text(p->d, "title"), shade(p, PLAIN),
        arms, arms == 1 ? "" : "s");
    if (conditions > 1) fprintf(p->out, ", %zu conditions", conditions);
    fprintf(p->out, ", %zu seed%s", seeds, seeds == 1 ? "" : "s");
    char words[64];
    if (json_is_object(target))
        fprintf(p->out, "; target: %s", mot_answer_target(target, words, sizeof words));
    else if (mot_study_has_targets(p->d)) fputs("; a target for each condition", p->out);
    fputc('\n', p->out);
}

/* Whether any run had a target, and whether any arm is compared. */
static void look_over(struct table *p)
{
    size_t i;
    json_t *cell;
    json_array_foreach(json_object_get(p->d, "cells"), i, cell)
    {
        p->target |= mot_json_get_count(get(cell, "figures", "time_to_target"), "n") > 0;
        p->judged |= json_object_size(json_object_get(cell, "against")) > 0;
    }
}

/* Whether any interval shown has too few runs to be a 95 % one. */
static bool has_few_seeds(const struct table *p)
{
    size_t seeds = json_array_size(json_object_get(p->d, "seeds")), i;
    size_t tuned =
        json_array_size(json_object_get(json_array_get(json_object_get(p->d, "tuning"), 0), "seeds"));
    json_t *cell;
    bool few = (tuned > 1 && tuned < MOT_PAIRS_LEAST) || (seeds > 1 && seeds < MOT_PAIRS_LEAST);
    json_array_foreach(json_object_get(p->d, "cells"), i, cell)
    {
        size_t n = mot_json_get_count(cell, "runs");
        few |= n > 1 && n < MOT_PAIRS_LEAST;
    }
    return few;
}

/* The document with its texts made safe for a terminal: arms, conditions and messages come from files. */
static json_t *shown_copy(const json_t *value)
{
    json_t *copy, *each;
    size_t i;
    const char *key;
    if (json_is_string(value)) {
        char *text = mot_shown(json_string_value(value));
        copy = json_string(text);
        free(text);
    } else if (json_is_array(value)) {
        copy = json_array();
        json_array_foreach((json_t *)(size_t)value, i, each) json_array_append_new(copy, shown_copy(each));
    } else if (json_is_object(value)) {
        copy = json_object();
        json_object_foreach((json_t *)(size_t)value, key, each)
            json_object_set_new(copy, key, shown_copy(each));
    } else copy = json_incref((json_t *)(size_t)value);
    return copy;
}

/* Runs that were made for another target. */
static void note_reread(const struct table *p)
{
    size_t i, n = 0, cut = 0;
    json_t *run;
    json_array_foreach(json_object_get(p->d, "runs"), i, run)
    {
        n += json_is_true(json_object_get(run, "reread"));
        cut += json_is_true(json_object_get(run, "cut"));
    }
    if (!n) return;
    char *text = mot_format("%zu run%s from the store %s made for another target%s", n, mot_plural(n),
        n == 1 ? "was" : "were",
        cut ? " and read up to this one: what is known only of a run's end is a dash." : ".");
    mot_text_wrap(text, "  ", "  ", p->columns, p->out);
    free(text);
}

/* The answers come last, where the reader's eye is when the command is done. */
static void print_answers(const struct table *p)
{
    size_t conditions = json_array_size(json_object_get(p->d, "conditions"));
    for (size_t c = 0; c < conditions; c++) {
        char *answer = mot_answer_text(p->d, c);
        const char *name = name_of(p, "conditions", c);
        if (*answer) {
            if (c == 0 || *name) fputc('\n', p->out);
            if (*name) fprintf(p->out, "%s%s%s\n", shade(p, BOLD), name, shade(p, PLAIN));
            mot_text_wrap(answer, "  ", "  ", p->columns, p->out);
        }
        free(answer);
    }
}

void mot_study_table(const json_t *given, FILE *out, size_t columns, bool colour)
{
    json_t *document = shown_copy(given);
    struct table page = { .d = document, .out = out, .columns = columns, .colour = colour };
    const struct table *p = &page;
    size_t conditions = json_array_size(json_object_get(document, "conditions"));
    look_over(&page);
    print_head(p);
    print_tuning(p);
    for (size_t c = 0; c < conditions; c++) print_condition(p, c);
    fputc('\n', out);
    bool one = json_array_size(json_object_get(document, "seeds")) == 1;
    char *legend = mot_format("%s%s.%s 'busy' is the share of their time that workers spent computing; "
                              "'longest wait' is the share of its time that the worker who waited most spent "
                              "waiting.",
        one ? "Figures of one seed" : "Medians over seeds",
        p->judged ? "; speed-ups are over the first arm, paired by seed: above 1 means less time" : "",
        one ? "" : " +- is half the interquartile range.");
    mot_text_wrap(legend, "  ", "  ", columns, out);
    free(legend);
    if (has_few_seeds(p))
        mot_text_wrap("With fewer than six runs the interval spans the least to "
                      "the greatest: that few give no 95 % interval.",
            "  ", "  ", columns, out);
    note_reread(p);
    print_answers(p);
    json_decref(document);
}
