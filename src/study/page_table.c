/* page_table.c -- the tables and settings of the page, as plain HTML that needs no script. */
#include "study/answer.h"
#include "study/page_parts.h"

#include "base/memory.h"
#include "study/stats.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXT 96

static const char *const columns[] = {
    "time_to_target",
    "test_accuracy",
    "test_loss",
    "train_loss",
    "grad_norm",
    "updates",
    "bytes",
    "utilisation",
    "worst_wait",
};

/* Whether a column stands in the table: somebody must have the
 * figure, and a table must be read at a glance. */
static bool any_has(const json_t *document, const char *figure)
{
    size_t i;
    json_t *cell;
    const char *target = mot_page_word(json_object_get(document, "target"), "kind");
    if (strcmp(figure, "grad_norm") == 0 && strcmp(target, "grad_norm") != 0 &&
        mot_page_judge(document) != mot_page_kind(figure))
        return false;
    if (strcmp(figure, "test_loss") == 0 && any_has(document, "test_accuracy")) return false;
    json_array_foreach(
        mot_page_list(document, "cells"), i, cell) if (mot_page_figure(cell, figure)) return true;
    return false;
}

/* ---- A cell ---------------------------------------------------------------------------------- */

/* "0.60 \u2013 1.00 s": the unit once, where both have the same. */
static void put_between(double low, double high, enum mot_page_unit unit, FILE *out)
{
    char from[TEXT], to[TEXT];
    mot_page_show(low, unit, from, sizeof from);
    mot_page_show(high, unit, to, sizeof to);
    char *unit_from = strchr(from, ' '), *unit_to = strchr(to, ' ');
    if (unit_from && unit_to && strcmp(unit_from, unit_to) == 0) *unit_from = '\0';
    fprintf(out, "<small>%s \u2013 %s</small>", from, isnan(high) ? "never" : to);
}

static void put_figure(const json_t *cell, const struct mot_page_kind *kind, FILE *out)
{
    const json_t *figure = mot_page_figure(cell, kind->figure);
    double median = mot_page_number(figure, "median"), low = mot_page_number(figure, "low"),
           high = mot_page_number(figure, "high");
    double beyond = mot_page_number(figure, "beyond");
    char text[TEXT];
    bool target = strcmp(kind->figure, "time_to_target") == 0;
    if (!figure) {
        fputs("<td class=\"none\">\u2013</td>", out);
        return;
    }
    if (isnan(median)) {
        fputs("<td class=\"num\"><span class=\"bad\">", out);
        if (!isnan(beyond)) fprintf(out, "&gt; %s", mot_page_show(beyond, kind->unit, text, sizeof text));
        else fputs(target ? "not reached" : "\u2013", out);
        fputs("</span>", out);
        if (target && !isnan(beyond)) fputs("<small>not reached</small>", out);
        fputs("</td>", out);
        return;
    }
    fprintf(out, "<td class=\"num\">%s", mot_page_show(median, kind->unit, text, sizeof text));
    if (mot_page_place(figure, "n") > 1 && !isnan(low)) put_between(low, high, kind->unit, out);
    fputs("</td>", out);
}

/* The speed-up over the first arm, or how much better, and whether that can be told from chance. */
static void put_against(const json_t *cell, const struct mot_page_kind *kind, size_t arm, FILE *out)
{
    const json_t *comparison = mot_page_against(cell, kind->figure);
    const json_t *judged = json_object_get(cell, "verdict");
    const char *verdict = mot_page_word(judged, "word");
    double ratio = mot_page_number(comparison, "ratio"), low = mot_page_number(comparison, "low"),
           high = mot_page_number(comparison, "high");
    if (isnan(mot_page_number(mot_page_figure(cell, kind->figure), "median")) && ratio == 1)
        ratio = (double)NAN; /* a tie of two that never came there */
    if (arm == 0) {
        fputs("<td class=\"num soft\">1<small>the baseline</small></td>", out);
        return;
    }
    if (!comparison) {
        fputs("<td class=\"none\">\u2013</td>", out);
        return;
    }
    bool good = strcmp(verdict, "faster") == 0 || strncmp(verdict, "better", 6) == 0;
    bool bad = strcmp(verdict, "slower") == 0 || strcmp(verdict, "worse") == 0 ||
        strcmp(verdict, "learned nothing") == 0;
    fputs("<td class=\"num\">", out);
    char text[TEXT], second[TEXT];
    if (!isnan(ratio)) fprintf(out, "%s\u00d7", mot_page_show(ratio, MOT_PAGE_RATIO, text, sizeof text));
    if (!isnan(ratio) && !isnan(low) && mot_page_place(comparison, "n") > 1)
        fprintf(out, "<small>%s \u2013 %s</small>", mot_page_show(low, MOT_PAGE_RATIO, text, sizeof text),
            isnan(high) ? "\u221e" : mot_page_show(high, MOT_PAGE_RATIO, second, sizeof second));
    fprintf(out, "<span class=\"verdict%s\">", good ? " good" : bad ? " bad" : "");
    mot_page_text(verdict, out);
    fputs("</span>", out);
    if (*mot_page_word(judged, "reason")) {
        fputs("<small class=\"why\">", out);
        mot_page_text(mot_page_word(judged, "reason"), out);
        fputs("</small>", out);
    }
    fputs("</td>", out);
}

/* "10 of 10 reached", and every way in which runs failed. */
static void put_runs(const json_t *document, const json_t *cell, FILE *out)
{
    size_t arm = mot_page_place(cell, "arm"), condition = mot_page_place(cell, "condition"),
           runs = mot_page_place(cell, "runs");
    bool target = json_is_object(mot_study_target(document, condition));
    const char *seen[8];
    size_t count[8] = { 0 }, kinds = 0, i, unreached = 0;
    json_t *run;
    json_array_foreach(mot_page_list(document, "runs"), i, run)
    {
        if (mot_page_place(run, "arm") != arm || mot_page_place(run, "condition") != condition) continue;
        const char *status = mot_page_word(run, "status");
        if (strcmp(status, "ok") == 0) {
            unreached += target && !json_is_true(json_object_get(run, "reached"));
            continue;
        }
        size_t k = 0;
        while (k < kinds && strcmp(seen[k], status) != 0) k++;
        if (k == kinds && kinds < MOT_COUNT(seen)) seen[kinds++] = status;
        if (k < kinds) count[k]++;
    }
    fputs("<td>", out);
    if (target) fprintf(out, "%zu of %zu", mot_page_place(cell, "reached"), runs);
    else fprintf(out, "%zu", runs);
    if (unreached) fprintf(out, "<span class=\"bad\">%zu ended without</span>", unreached);
    for (size_t k = 0; k < kinds; k++) {
        fprintf(out, "<span class=\"bad\">%zu ", count[k]);
        for (const char *c = seen[k]; *c; c++)
            fputc(*c == '_' ? ' ' : *c == '<' || *c == '&' ? '?' : *c, out);
        fputs("</span>", out);
    }
    fputs("</td>", out);
}

static void put_wait(const json_t *cell, const struct mot_page_kind *kind, FILE *out)
{
    const json_t *figure = mot_page_figure(cell, kind->figure),
                 *worst = json_object_get(cell, "worst_worker");
    char text[TEXT];
    if (!figure) {
        fputs("<td class=\"none\">\u2013</td>", out);
        return;
    }
    fprintf(out, "<td class=\"num\">%s",
        mot_page_show(mot_page_number(figure, "median"), kind->unit, text, sizeof text));
    if (json_is_object(worst) && mot_page_number(figure, "median") > 0) {
        fprintf(out, "<small>worker %zu ", mot_page_place(worst, "id"));
        mot_page_text(mot_page_word(worst, "name"), out);
        fputs("</small>", out);
    }
    fputs("</td>", out);
}

/* ---- Tables ------------------------------------------------------------------------------------ */

static void put_head(const json_t *document, const struct mot_page_kind *judge, FILE *out)
{
    fputs("<thead><tr><th scope=\"col\">Arm</th>", out);
    for (size_t i = 0; i < MOT_COUNT(columns); i++) {
        if (!any_has(document, columns[i])) continue;
        fprintf(out, "<th scope=\"col\" class=\"num\">%s</th>", mot_page_kind(columns[i])->title);
        if (judge && strcmp(columns[i], judge->figure) == 0 &&
            json_array_size(mot_page_list(document, "arms")) > 1)
            fprintf(out, "<th scope=\"col\" class=\"num\">%s</th>",
                judge->unit == MOT_PAGE_SECONDS ? "Speed-up" : "Against the first");
    }
    fprintf(out, "<th scope=\"col\">%s</th></tr></thead>\n",
        mot_study_has_targets(document) ? "Reached it" : "Runs");
}

static void put_row(
    const json_t *document, const struct mot_page_kind *judge, size_t arm, size_t condition, FILE *out)
{
    const json_t *cell = mot_page_cell(document, arm, condition);
    fprintf(out, "<tr><th scope=\"row\"><span class=\"key k%zu\"></span>", arm % 8);
    mot_page_text(mot_page_name(document, "arms", arm), out);
    fputs("</th>", out);
    for (size_t i = 0; i < MOT_COUNT(columns); i++) {
        if (!any_has(document, columns[i])) continue;
        const struct mot_page_kind *kind = mot_page_kind(columns[i]);
        if (strcmp(columns[i], "worst_wait") == 0) put_wait(cell, kind, out);
        else put_figure(cell, kind, out);
        if (judge && kind == judge && json_array_size(mot_page_list(document, "arms")) > 1)
            put_against(cell, kind, arm, out);
    }
    put_runs(document, cell, out);
    fputs("</tr>\n", out);
}

void mot_page_about(const json_t *document, FILE *out)
{
    size_t seeds = json_array_size(mot_page_list(document, "seeds"));
    fputs(seeds >= MOT_PAIRS_LEAST ? "Medians over seeds; below them their 95 % intervals."
            : seeds > 1 ? "Medians over seeds; below them the least and the greatest: there is no 95 % "
                          "interval of fewer than six."
                        : "Figures of one seed, so without intervals.",
        out);
    if (json_array_size(mot_page_list(document, "arms")) > 1)
        fputs(" A comparison is with the first arm, seed by seed; more than 1 is better.", out);
}

void mot_page_tables(const json_t *document, FILE *out)
{
    size_t arms = json_array_size(mot_page_list(document, "arms")),
           conditions = json_array_size(mot_page_list(document, "conditions"));
    const struct mot_page_kind *judge = mot_page_judge(document);
    for (size_t c = 0; c < conditions; c++) {
        fprintf(out,
            "<div class=\"scroll\" data-condition=\"%zu\" tabindex=\"0\" role=\"region\" "
            "aria-label=\"Results\"><table>\n",
            c);
        if (conditions > 1) {
            fputs("<caption>", out);
            mot_page_text(mot_page_name(document, "conditions", c), out);
            fputs("</caption>\n", out);
        }
        put_head(document, judge, out);
        fputs("<tbody>\n", out);
        for (size_t a = 0; a < arms; a++) put_row(document, judge, a, c, out);
        fputs("</tbody></table></div>\n", out);
    }
}

#define FAILURES_MOST 200

void mot_page_failures(const json_t *document, FILE *out)
{
    size_t i, shown = 0, all = 0;
    json_t *run;
    bool conditions = json_array_size(mot_page_list(document, "conditions")) > 1;
    json_array_foreach(mot_page_list(document, "runs"), i, run) all +=
        strcmp(mot_page_word(run, "status"), "ok") != 0;
    if (!all) return;
    fprintf(out,
        "<details id=\"failures\"%s><summary>%zu run%s failed</summary><div class=\"scroll\" tabindex=\"0\" "
        "role=\"region\" aria-label=\"Failed runs\"><table>"
        "<thead><tr><th scope=\"col\">Arm</th>%s<th scope=\"col\" class=\"num\">Seed</th><th "
        "scope=\"col\">Status</th>"
        "<th scope=\"col\">Why</th></tr></thead><tbody>\n",
        all <= 10 ? " open" : "", all, all == 1 ? "" : "s",
        conditions ? "<th scope=\"col\">Condition</th>" : "");
    json_array_foreach(mot_page_list(document, "runs"), i, run)
    {
        if (strcmp(mot_page_word(run, "status"), "ok") == 0 || shown++ >= FAILURES_MOST) continue;
        size_t arm = mot_page_place(run, "arm");
        fprintf(out, "<tr><th scope=\"row\"><span class=\"key k%zu\"></span>", arm % 8);
        mot_page_text(mot_page_name(document, "arms", arm), out);
        fputs("</th>", out);
        if (conditions) {
            fputs("<td>", out);
            mot_page_text(mot_page_name(document, "conditions", mot_page_place(run, "condition")), out);
            fputs("</td>", out);
        }
        fprintf(out, "<td class=\"num\">%" JSON_INTEGER_FORMAT "</td><td class=\"bad\">",
            json_integer_value(json_object_get(run, "seed")));
        mot_page_text(mot_page_word(run, "status"), out);
        fputs("</td><td>", out);
        mot_page_text(mot_page_word(run, "failed"), out);
        fputs("</td></tr>\n", out);
    }
    fputs("</tbody></table></div>", out);
    if (all > FAILURES_MOST)
        fprintf(out, "<p class=\"soft\">The first %d of them are listed.</p>", FAILURES_MOST);
    fputs("</details>\n", out);
}

/* ---- Settings ------------------------------------------------------------------------------------ */

static void put_sides(const json_t *document, const char *list, const char *title, bool keyed, FILE *out)
{
    size_t i;
    json_t *side, *value;
    const char *key;
    fprintf(out, "<h3>%s</h3>\n<dl class=\"sides\">\n", title);
    json_array_foreach(mot_page_list(document, list), i, side)
    {
        fputs("<dt>", out);
        if (keyed) fprintf(out, "<span class=\"key k%zu\"></span>", i % 8);
        mot_page_text(mot_page_word(side, "name"), out);
        fputs("</dt><dd>", out);
        json_object_foreach(json_object_get(side, "settings"), key, value)
        {
            fputs("<code>", out);
            mot_page_text(key, out);
            fputs(": ", out);
            char *text =
                json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
            mot_page_text(text ? text : mot_page_word(json_object_get(side, "settings"), key), out);
            free(text);
            fputs("</code> ", out);
        }
        if (json_object_size(json_object_get(side, "settings")) == 0)
            fputs("<span class=\"soft\">as the experiment says</span>", out);
        fputs("</dd>\n", out);
    }
    fputs("</dl>\n", out);
}

void mot_page_settings(const json_t *document, FILE *out)
{
    put_sides(document, "arms", "Arms", true, out);
    if (json_array_size(mot_page_list(document, "conditions")) > 1)
        put_sides(document, "conditions", "Conditions", false, out);
    fputs("<h3>Seeds</h3>\n<p>", out);
    size_t i, n = json_array_size(mot_page_list(document, "seeds"));
    json_t *seed;
    json_array_foreach(mot_page_list(document, "seeds"), i, seed) if (i < 60)
        fprintf(out, "%s%" JSON_INTEGER_FORMAT, i ? ", " : "", json_integer_value(seed));
    fputs(n > 60 ? ", \u2026</p>\n" : "</p>\n", out);
}
