/* picture.c -- a study as one picture, to put in a text: its arms' timelines one below another on one time
 * axis, the best first, and their curves below. A plain SVG file, readable on light and dark backgrounds. */
#include "page/page.h"

#include "base/file.h"
#include "base/memory.h"
#include "page/page_parts.h"
#include "report/history.h"
#include "study/answer.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 900
#define LEFT 130
#define RIGHT (WIDTH - 20)
#define ROW 13
#define ARMS_MOST 6
#define NODES_MOST 12
#define JOBS_SHOWN 26 /* of the busiest node: more could not be told apart */
#define CURVE_HIGH 260
#define STEPS 160 /* of a curve */

/* The colours of page.css. */
static const char style[] =
    "svg{font:13px system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif}"
    ".back{fill:#fff}text{fill:#1a1d21}.soft{fill:#5a6270}.name{font-weight:600}.tick{font-size:12px;fill:#"
    "5a6270}"
    ".compute{fill:#0072b2}.cancelled{fill:#d55e00}.collective{fill:#d3d3ea}.send{fill:#b8860b}.receive{fill:"
    "#00876a}"
    ".wait{fill:#dfe3e8}.axis{stroke:#5a6270}.grid{stroke:#e8ebef}.goal{stroke:#1a1d21;stroke-dasharray:2 3}"
    ".line{fill:none;stroke-width:2.2}.drop{stroke-dasharray:3 3}"
    ".k0{--k:#3756bc}.k1{--k:#e35e13}.k2{--k:#06a0a7}.k3{--k:#9b335e}.k4{--k:#b6856b}.k5{--k:#5b4e8f}.k6{--k:"
    "#4578bc}"
    ".k7{--k:#79777c}.stroke{stroke:var(--k)}.fill{fill:var(--k)}"
    "@media(prefers-color-scheme:dark){.back{fill:#14171b}text{fill:#e8ebef}.soft,.tick{fill:#a2abb8}"
    ".compute{fill:#4ca6e8}.cancelled{fill:#f58742}.collective{fill:#3d3f5c}.send{fill:#dcb23c}.receive{fill:"
    "#35c497}"
    ".wait{fill:#2a3038}.axis{stroke:#a2abb8}.grid{stroke:#282e36}.goal{stroke:#e8ebef}"
    ".k0{--k:#5893ff}.k1{--k:#ff9c40}.k2{--k:#35cfff}.k3{--k:#ca56a0}.k4{--k:#a7c789}.k5{--k:#7275d1}.k6{--k:"
    "#d8b2cc}"
    ".k7{--k:#b99ca3}}";

struct picture {
    const json_t *d;
    FILE *out;
    size_t arm[ARMS_MOST], arms; /* the best first */
    json_t *timeline[ARMS_MOST]; /* of a run of each; NULL: it has none */
    double time[ARMS_MOST];      /* how long that run lasted */
    double until;                /* how much of the timelines is drawn, in ns */
    const char *metric;
    double y; /* where the next thing goes */
};

static double place(double value, double most) { return LEFT + value / most * (RIGHT - LEFT); }

/* ---- Choosing ---------- */

static void choose_arms(struct picture *p)
{
    const struct mot_figure_kind *judge = mot_document_judge(p->d);
    size_t all = json_array_size(mot_json_get_list(p->d, "arms")), *order = mot_new(all + 1, sizeof *order);
    for (size_t a = 0; a < all; a++) {
        size_t at = a;
        for (; at > 0 && judge && mot_document_better(p->d, judge, 0, a, order[at - 1]); at--)
            order[at] = order[at - 1];
        order[at] = a;
    }
    p->arms = all < ARMS_MOST ? all : ARMS_MOST;
    for (size_t a = 0; a < p->arms; a++) p->arm[a] = order[a];
    free(order);
}

static bool is_of(const json_t *run, size_t arm)
{
    return mot_json_get_count(run, "arm") == arm && mot_json_get_count(run, "condition") == 0 &&
        *mot_json_get_text(run, "folder");
}

static void load_timelines(struct picture *p)
{
    size_t i;
    json_t *run;
    for (size_t a = 0; a < p->arms; a++) json_array_foreach(mot_json_get_list(p->d, "runs"), i, run)
        {
            if (p->timeline[a] || !is_of(run, p->arm[a])) continue;
            json_t *summary = mot_page_load(mot_json_get_text(run, "folder"), "summary.json");
            p->timeline[a] = mot_page_load(mot_json_get_text(run, "folder"), "timeline.json");
            p->time[a] = mot_json_get_number(summary, "time_s");
            json_decref(summary);
        }
}

static json_int_t bound(const json_t *span, size_t i) { return json_integer_value(json_array_get(span, i)); }

/* As far as all arms were recorded, but not so far that jobs cannot be told apart. */
static void choose_until(struct picture *p)
{
    p->until = INFINITY;
    for (size_t a = 0; a < p->arms; a++) {
        size_t i;
        json_t *node;
        if (!p->timeline[a]) continue;
        p->until = fmin(p->until, mot_json_get_number(p->timeline[a], "until"));
        json_array_foreach(mot_json_get_list(p->timeline[a], "node"), i, node)
        {
            const json_t *jobs = mot_json_get_list(node, "compute");
            if (json_array_size(jobs) > JOBS_SHOWN)
                p->until = fmin(p->until, (double)bound(json_array_get(jobs, JOBS_SHOWN - 1), 1));
        }
    }
}

/* ---- Timelines ---------- */

/* Spans of a kind as one path. Sends take the upper half of a row, receives the lower. */
static void put_spans(const struct picture *p, const json_t *node, const char *kind, double top)
{
    double high = ROW - 3, half = high / 2;
    bool sends = strcmp(kind, "send") == 0, receives = strcmp(kind, "receive") == 0, any = false;
    size_t i;
    json_t *span;
    json_array_foreach(mot_json_get_list(node, kind), i, span)
    {
        double from = (double)bound(span, 0), to = fmin((double)bound(span, 1), p->until);
        if (from >= p->until) continue;
        if (!any) fprintf(p->out, "<path class=\"%s\" d=\"", kind);
        any = true;
        double x = place(from, p->until), wide = fmax(0.6, place(to, p->until) - x);
        fprintf(p->out, "M%.1f %.1fh%.1fv%.1fh-%.1fz", x, receives ? top + half : top, wide,
            sends || receives ? half : high, wide);
    }
    if (any) fputs("\"/>", p->out);
}

static void put_node(struct picture *p, const json_t *node)
{
    static const char *const kinds[] = { "collective", "receive", "send", "cancelled", "compute" };
    const char *name = mot_json_get_text(node, "name");
    bool server = strcmp(mot_json_get_text(node, "role"), "server") == 0;
    fprintf(
        p->out, "<text class=\"tick\" text-anchor=\"end\" x=\"%d\" y=\"%.1f\">", LEFT - 8, p->y + ROW - 4);
    if (server) fputs("server", p->out);
    else fprintf(p->out, "worker %zu%s", mot_json_get_count(node, "id"), *name ? " (" : "");
    if (!server && *name) mot_page_text(name, p->out), fputc(')', p->out);
    fprintf(p->out, "</text><rect class=\"wait\" x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%d\"/>", LEFT,
        p->y, RIGHT - LEFT, ROW - 3);
    for (size_t k = 0; k < MOT_COUNT(kinds); k++) put_spans(p, node, kinds[k], p->y);
    fputc('\n', p->out);
    p->y += ROW;
}

/* The arm's name and its result: the figure that judges, as in the table. */
static void put_head(struct picture *p, size_t a)
{
    const struct mot_figure_kind *judge = mot_document_judge(p->d);
    const json_t *cell = mot_document_cell(p->d, p->arm[a], 0),
                 *figure = judge ? mot_cell_figure(cell, judge->name) : NULL;
    double busy = mot_json_get_number(mot_cell_figure(cell, "utilisation"), "median");
    char text[96];
    fprintf(p->out, "<rect class=\"k%zu fill\" x=\"20\" y=\"%.1f\" width=\"11\" height=\"11\" rx=\"2\"/>",
        p->arm[a] % 8, p->y + 4);
    fprintf(p->out, "<text x=\"38\" y=\"%.1f\"><tspan class=\"name\">", p->y + 14);
    mot_page_text(mot_document_name(p->d, "arms", p->arm[a]), p->out);
    fputs("</tspan><tspan class=\"soft\" dx=\"10\">", p->out);
    if (figure && !isnan(mot_json_get_number(figure, "median"))) {
        mot_figure_show(mot_json_get_number(figure, "median"), judge->unit, text, sizeof text);
        if (strcmp(judge->name, "time_to_target") == 0) {
            fprintf(p->out, "%s to ", text);
            mot_page_text(mot_answer_target(mot_study_target(p->d, 0), text, sizeof text), p->out);
        } else fprintf(p->out, "%s: %s", judge->title, text);
    } else if (judge && strcmp(judge->name, "time_to_target") == 0) fputs("target not reached", p->out);
    if (!isnan(busy))
        fprintf(p->out, "; workers compute %s of the time",
            mot_figure_show(busy, MOT_UNIT_SHARE, text, sizeof text));
    fputs("</tspan></text>\n", p->out);
    p->y += 22;
}

/* A round step, of which at most ten fit. */
static double step_of(double most)
{
    double power = pow(10, floor(log10(most / 8))), lead = most / 8 / power;
    return power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
}

static void put_time_axis(struct picture *p, double seconds, double from)
{
    double step = step_of(seconds), unit = seconds >= 2 ? 1 : 1e-3;
    for (double t = 0; t <= seconds * 1.0001; t += step) {
        double x = place(t, seconds);
        fprintf(p->out,
            "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/><text class=\"tick\" text-anchor=\"middle\" "
            "x=\"%.1f\" "
            "y=\"%.1f\">%.4g</text>",
            x, from, p->y, x, p->y + 16, t / unit);
    }
    fprintf(p->out, "<path class=\"axis\" d=\"M%d %.1fH%d\"/>", LEFT, p->y, RIGHT);
    fprintf(p->out, "<text class=\"tick\" text-anchor=\"end\" x=\"%d\" y=\"%.1f\">time (%s)</text>\n", RIGHT,
        p->y + 32, unit == 1 ? "s" : "ms");
    p->y += 44;
}

static void put_timelines(struct picture *p)
{
    char *rows = NULL, text[96], other[96];
    size_t n;
    double from = p->y, least = INFINITY, most = 0;
    FILE *page = p->out;
    p->out = open_memstream(&rows, &n); /* the grid comes first, below the rows */
    for (size_t a = 0; a < p->arms; a++) {
        size_t i;
        json_t *node;
        put_head(p, a);
        json_array_foreach(mot_json_get_list(p->timeline[a], "node"), i, node) if (i < NODES_MOST)
            put_node(p, node);
        if (!isnan(p->time[a])) least = fmin(least, p->time[a]), most = fmax(most, p->time[a]);
        p->y += 6;
    }
    fclose(p->out);
    p->out = page;
    put_time_axis(p, p->until / 1e9, from + 22);
    fwrite(rows, 1, n, p->out);
    free(rows);
    if (!(most > 0)) return;
    mot_figure_show(least, MOT_UNIT_SECONDS, text, sizeof text);
    mot_figure_show(most, MOT_UNIT_SECONDS, other, sizeof other);
    fprintf(p->out, "<text class=\"soft\" x=\"20\" y=\"%.1f\">The first ", p->y - 12);
    char window[96];
    fprintf(p->out, "%s of runs that last %s",
        mot_figure_show(p->until / 1e9, MOT_UNIT_SECONDS, window, sizeof window), text);
    if (strcmp(text, other) != 0) fprintf(p->out, " to %s", other);
    fputs("</text>\n", p->out);
    p->y += 14;
}

static void put_legend(struct picture *p)
{
    static const struct {
        const char *kind, *words;
        double x;
    } items[] = { { "compute", "computes", 20 }, { "wait", "waits", 120 },
        { "collective", "waits in a collective", 200 }, { "send", "sends", 370 },
        { "receive", "receives", 450 } };
    for (size_t i = 0; i < MOT_COUNT(items); i++)
        fprintf(p->out,
            "<rect class=\"%s\" x=\"%.0f\" y=\"%.1f\" width=\"14\" height=\"11\"/><text class=\"soft\" "
            "x=\"%.0f\" "
            "y=\"%.1f\">%s</text>",
            items[i].kind, items[i].x, p->y, items[i].x + 20, p->y + 10, items[i].words);
    fputc('\n', p->out);
    p->y += 24;
}

/* ---- Curves ---------- */

struct curve {
    struct mot_history *run;
    size_t runs;
    double median[STEPS + 1];
};

static double value_at(const struct mot_history *h, enum mot_column column, double time)
{
    const double *t = h->value[MOT_COL_TIME], *y = h->value[column];
    size_t i = 0;
    if (h->n == 0 || time < t[0] || time > t[h->n - 1]) return NAN;
    while (i + 1 < h->n && t[i + 1] < time) i++;
    if (i + 1 == h->n || t[i + 1] <= t[i]) return y[i];
    return y[i] + (y[i + 1] - y[i]) * (time - t[i]) / (t[i + 1] - t[i]);
}

static enum mot_status read_curve(const struct picture *p, size_t arm, struct curve *c, double *last)
{
    size_t i;
    json_t *run;
    const json_t *runs = mot_json_get_list(p->d, "runs");
    c->run = mot_new(json_array_size(runs) + 1, sizeof *c->run);
    double *ends = mot_new(json_array_size(runs) + 1, sizeof *ends);
    enum mot_status status = MOT_OK;
    json_array_foreach(runs, i, run)
    {
        if (!is_of(run, arm) || status != MOT_OK) continue;
        char *path = mot_path_join(mot_json_get_text(run, "folder"), "metrics.jsonl");
        if (mot_file_exists(path)) status = mot_history_read(path, &c->run[c->runs]);
        else c->run[c->runs] = (struct mot_history){ .n = 0 };
        free(path);
        if (status == MOT_OK && c->run[c->runs].n == 0) mot_history_free(&c->run[c->runs]);
        if (status != MOT_OK || c->run[c->runs].n == 0) continue;
        struct mot_history *h = &c->run[c->runs];
        double met = mot_json_get_number(json_object_get(run, "figures"), "time_to_target");
        while (h->n > 1 && h->value[MOT_COL_TIME][h->n - 1] > met) h->n--;
        ends[c->runs++] = h->value[MOT_COL_TIME][h->n - 1];
    }
    *last = mot_stats_median(ends, c->runs);
    free(ends);
    return status;
}

static void find_medians(struct curve *c, enum mot_column column, double most)
{
    double *value = mot_new(c->runs + 1, sizeof *value);
    for (size_t s = 0; s <= STEPS; s++) {
        size_t n = 0;
        for (size_t i = 0; i < c->runs; i++) {
            double v = value_at(&c->run[i], column, most * (double)s / STEPS);
            if (isfinite(v)) value[n++] = v;
        }
        c->median[s] = n > 0 && 2 * n >= c->runs ? mot_stats_median(value, n) : (double)NAN;
    }
    free(value);
}

static enum mot_column column_of(const char *name)
{
    for (size_t i = 0; i < MOT_COLUMNS; i++)
        if (strcmp(mot_column_name[i], name) == 0) return i;
    return MOT_COLUMNS;
}

struct frame {
    double low, high, top, bottom, most;
    bool share;
};
static double level(const struct frame *f, double v)
{
    v = v < f->low ? f->low : v > f->high ? f->high : v;
    return f->bottom - (v - f->low) / (f->high - f->low) * (f->bottom - f->top);
}

/* Covers the medians after the first steep part, and the target. */
static struct frame frame_of(const struct picture *p, const struct curve *c, double most, double goal)
{
    struct frame f = { INFINITY, -INFINITY, p->y + 18, p->y + 18 + CURVE_HIGH, most,
        strstr(p->metric, "accuracy") != NULL };
    for (size_t a = 0; a < p->arms; a++)
        for (size_t s = STEPS / 12; s <= STEPS; s++) {
            if (isnan(c[a].median[s])) continue;
            f.low = fmin(f.low, c[a].median[s]);
            f.high = fmax(f.high, c[a].median[s]);
        }
    if (!isnan(goal)) f.low = fmin(f.low, goal), f.high = fmax(f.high, goal);
    if (!(f.high > f.low)) f.low = f.low < INFINITY ? f.low - 0.5 : 0, f.high = f.low + 1;
    double pad = 0.06 * (f.high - f.low);
    f.low = f.low - pad < 0 && f.low >= 0 ? 0 : f.low - pad;
    f.high = f.share ? fmin(1, f.high + pad) : f.high + pad;
    return f;
}

static void put_levels(struct picture *p, const struct frame *f)
{
    double scale = f->share ? 100 : 1, step = step_of((f->high - f->low) * scale * 1.5) / scale;
    for (double v = ceil(f->low / step) * step; v <= f->high; v += step)
        fprintf(p->out,
            "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text class=\"tick\" text-anchor=\"end\" x=\"%d\" "
            "y=\"%.1f\">%.4g%s</text>",
            LEFT, level(f, v), RIGHT, LEFT - 8, level(f, v) + 4, v * scale, f->share ? " %" : "");
}

static void put_curve(struct picture *p, const struct frame *f, size_t a, const struct curve *c, double goal)
{
    bool drawing = false;
    fprintf(p->out, "<g class=\"k%zu\"><path class=\"line stroke\" d=\"", p->arm[a] % 8);
    for (size_t s = 0; s <= STEPS; s++) {
        if (!(c->median[s] >= f->low && c->median[s] <= f->high)) continue; /* the first steep part */
        fprintf(
            p->out, "%c%.1f %.1f", drawing ? 'L' : 'M', place((double)s / STEPS, 1), level(f, c->median[s]));
        drawing = true;
    }
    fputs("\"/>", p->out);
    double met = mot_json_get_number(
        mot_cell_figure(mot_document_cell(p->d, p->arm[a], 0), "time_to_target"), "median");
    if (!isnan(goal) && !isnan(met) && met <= f->most * 1.001) {
        char text[96];
        double x = place(met, f->most), y = level(f, goal);
        fprintf(p->out,
            "<path class=\"stroke drop\" d=\"M%.1f %.1fV%.1f\"/><circle class=\"fill\" cx=\"%.1f\" "
            "cy=\"%.1f\" r=\"5\"/>",
            x, y, f->bottom, x, y);
        fprintf(p->out, "<text text-anchor=\"end\" x=\"%.1f\" y=\"%.1f\">", x - 5,
            f->bottom - 8 - 17 * (double)a);
        mot_page_text(mot_document_name(p->d, "arms", p->arm[a]), p->out);
        fprintf(p->out, ": %s</text>", mot_figure_show(met, MOT_UNIT_SECONDS, text, sizeof text));
    }
    fputs("</g>\n", p->out);
}

static enum mot_status put_curves(struct picture *p)
{
    struct curve c[ARMS_MOST] = { { 0 } };
    const json_t *target = mot_study_target(p->d, 0);
    const struct mot_figure_kind *kind =
        mot_figure_kind(json_is_object(target) ? mot_json_get_text(target, "kind") : p->metric);
    double most = 0, goal = json_is_object(target) ? mot_json_get_number(target, "value") : (double)NAN, last;
    enum mot_status status = MOT_OK;
    if (!kind || column_of(kind->name) == MOT_COLUMNS) return MOT_OK;
    p->metric = kind->name;
    for (size_t a = 0; a < p->arms && status == MOT_OK; a++) {
        status = read_curve(p, p->arm[a], &c[a], &last);
        if (last > most) most = last;
    }
    if (status == MOT_OK && most > 0) {
        for (size_t a = 0; a < p->arms; a++) find_medians(&c[a], column_of(kind->name), most);
        struct frame f = frame_of(p, c, most, goal);
        fprintf(p->out, "<text class=\"soft\" x=\"20\" y=\"%.1f\">%s, median over seeds</text>", p->y + 6,
            kind->title);
        put_levels(p, &f);
        p->y = f.bottom;
        put_time_axis(p, most, f.bottom);
        if (!isnan(goal))
            fprintf(p->out,
                "<path class=\"goal\" d=\"M%d %.1fH%d\"/><text class=\"soft\" text-anchor=\"end\" x=\"%d\" "
                "y=\"%.1f\">target</text>",
                LEFT, level(&f, goal), RIGHT, RIGHT, level(&f, goal) - 6);
        for (size_t a = p->arms; a-- > 0;) put_curve(p, &f, a, &c[a], goal);
    }
    for (size_t a = 0; a < p->arms; a++) {
        for (size_t i = 0; i < c[a].runs; i++) mot_history_free(&c[a].run[i]);
        free(c[a].run);
    }
    return status;
}

/* ---- The whole ---------- */

static enum mot_status put_all(struct picture *p)
{
    const char *head = mot_json_get_text(json_object_get(p->d, "about"), "head");
    fprintf(p->out, "<text class=\"name\" font-size=\"17\" x=\"20\" y=\"%.1f\">", p->y + 20);
    mot_page_text(*head ? head : mot_json_get_text(p->d, "title"), p->out);
    fputs("</text>\n", p->out);
    p->y += 38;
    if (isfinite(p->until) && p->until > 0) {
        put_legend(p);
        put_timelines(p);
    }
    return put_curves(p);
}

enum mot_status mot_picture_write(const json_t *document, const char *path)
{
    struct mot_replace file;
    struct picture p = { .d = document, .y = 8, .metric = mot_json_get_text(document, "judged_by") };
    char *body = NULL;
    size_t n;
    enum mot_status status = mot_replace_begin(path, &file);
    if (status != MOT_OK) return status;
    choose_arms(&p);
    load_timelines(&p);
    choose_until(&p);
    p.out = open_memstream(&body, &n);
    status = p.out ? put_all(&p) : mot_fail(MOT_ESYSTEM, "out of memory");
    if (p.out) fclose(p.out);
    fprintf(file.out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" viewBox=\"0 0 %d %.0f\" "
        "role=\"img\">"
        "<style>%s</style>\n<rect class=\"back\" width=\"100%%\" height=\"100%%\"/>\n",
        WIDTH, p.y + 4, WIDTH, p.y + 4, style);
    if (body) fwrite(body, 1, n, file.out);
    fputs("</svg>\n", file.out);
    free(body);
    for (size_t a = 0; a < p.arms; a++) json_decref(p.timeline[a]);
    if (status == MOT_OK) return mot_replace_commit(&file);
    mot_replace_abandon(&file);
    return status;
}
