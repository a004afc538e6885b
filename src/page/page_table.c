/* page_table.c -- the tables and settings of the page, as plain HTML that needs no script. */
#include "page/page_parts.h"

#include "base/memory.h"
#include "study/answer.h"
#include "study/stats.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXT 96

static const char *const columns[] = {
    "time_to_target",
    "time",
    "test_accuracy",
    "test_loss",
    "train_loss",
    "grad_norm",
    "updates",
    "bytes",
    "utilisation",
    "worst_wait",
};

/* Whether the table has this column: some arm must have the figure, and the table must stay easy to scan. */
static bool any_has(const json_t *document, const char *figure)
{
    size_t i;
    json_t *cell;
    const char *target = mot_json_get_text(json_object_get(document, "target"), "kind");
    if (strcmp(figure, "grad_norm") == 0 && strcmp(target, "grad_norm") != 0 &&
        mot_document_judge(document) != mot_figure_kind(figure))
        return false;
    if (strcmp(figure, "time") == 0 && mot_study_has_targets(document)) return false;
    if (strcmp(figure, "test_loss") == 0 && any_has(document, "test_accuracy")) return false;
    json_array_foreach(
        mot_json_get_list(document, "cells"), i, cell) if (mot_cell_figure(cell, figure)) return true;
    return false;
}

/* Whether arms are compared: not if there is one, or if runs were made only for tuning. */
static bool compares(const json_t *document)
{
    size_t i;
    json_t *cell;
    json_array_foreach(mot_json_get_list(document, "cells"), i,
        cell) if (json_object_size(json_object_get(cell, "against")) > 0) return true;
    return false;
}

/* Whether the column has another one beside it that compares the arms. Without a target the arms are judged
 * by what they learned, and by time if they learned alike: either may have the verdict. */
static bool is_compared(const struct mot_figure_kind *judge, const char *figure)
{
    return judge && (strcmp(figure, judge->name) == 0 || strcmp(figure, "time") == 0);
}

/* ---- A cell ---------------------------------------------------------------------------------- */

/* "0.60 \u2013 1.00 s": the unit once if both share it; nothing if both look alike. */
static void put_between(double low, double high, enum mot_unit unit, FILE *out)
{
    char from[TEXT], to[TEXT];
    mot_figure_show(low, unit, from, sizeof from);
    mot_figure_show(high, unit, to, sizeof to);
    if (strcmp(from, to) == 0) return;
    char *unit_from = strchr(from, ' '), *unit_to = strchr(to, ' ');
    if (unit_from && unit_to && strcmp(unit_from, unit_to) == 0) *unit_from = '\0';
    fprintf(out, "<small>%s \u2013 %s</small>", from, isnan(high) ? "never" : to);
}

static void put_figure(const json_t *cell, const struct mot_figure_kind *kind, FILE *out)
{
    const json_t *figure = mot_cell_figure(cell, kind->name);
    double median = mot_json_get_number(figure, "median"), low = mot_json_get_number(figure, "low"),
           high = mot_json_get_number(figure, "high");
    double beyond = mot_json_get_number(figure, "beyond");
    char text[TEXT];
    bool target = strcmp(kind->name, "time_to_target") == 0;
    if (!figure) {
        fputs("<td class=\"none\">\u2013</td>", out);
        return;
    }
    if (isnan(median)) {
        fputs("<td class=\"num\"><span class=\"bad\">", out);
        if (!isnan(beyond)) fprintf(out, "&gt; %s", mot_figure_show(beyond, kind->unit, text, sizeof text));
        else fputs(target ? "not reached" : strcmp(kind->name, "time") == 0 ? "never" : "\u2013", out);
        fputs("</span>", out);
        if (target && !isnan(beyond)) fputs("<small>not reached</small>", out);
        fputs("</td>", out);
        return;
    }
    fprintf(out, "<td class=\"num\">%s", mot_figure_show(median, kind->unit, text, sizeof text));
    if (mot_json_get_count(figure, "n") > 1 && !isnan(low)) put_between(low, high, kind->unit, out);
    fputs("</td>", out);
}

/* The verdict is in the column of the figure by which it was given. What the other column compares is worth a
 * word only if what was learned is alike. */
static const char *word_for(
    const json_t *judged, const json_t *comparison, const struct mot_figure_kind *kind)
{
    const char *own = mot_json_get_text(comparison, "verdict");
    if (strcmp(mot_json_get_text(judged, "by"), kind->name) == 0) return mot_json_get_text(judged, "word");
    return kind->unit != MOT_UNIT_SECONDS && strcmp(own, "not distinguishable") == 0 ? own : "";
}

static bool is_one_of(const char *word, const char *const *words)
{
    while (*words && strcmp(*words, word) != 0) words++;
    return *words != NULL;
}
static const char *const good_words[] = { "faster", "better", "better and faster", "better, but slower",
    NULL },
                         *const bad_words[] = { "slower", "worse", "learned nothing", NULL };

static void put_verdict(
    const json_t *judged, const json_t *comparison, const struct mot_figure_kind *kind, FILE *out)
{
    const char *word = word_for(judged, comparison, kind);
    bool good = is_one_of(word, good_words), bad = is_one_of(word, bad_words);
    if (!*word) return;
    fprintf(out, "<span class=\"verdict%s\">", good ? " good" : bad ? " bad" : "");
    mot_page_text(word, out);
    fputs("</span>", out);
    if (!*mot_json_get_text(judged, "reason") || strcmp(mot_json_get_text(judged, "by"), kind->name) != 0)
        return;
    fputs("<small class=\"why\">", out);
    mot_page_text(mot_json_get_text(judged, "reason"), out);
    fputs("</small>", out);
}

/* The speed-up over the first arm, or how much better it is, and whether that could be chance. */
static void put_against(const json_t *cell, const struct mot_figure_kind *kind, size_t arm, FILE *out)
{
    const json_t *comparison = mot_cell_against(cell, kind->name);
    double ratio = mot_json_get_number(comparison, "ratio"), low = mot_json_get_number(comparison, "low"),
           high = mot_json_get_number(comparison, "high");
    if (isnan(mot_json_get_number(mot_cell_figure(cell, kind->name), "median")) && ratio == 1)
        ratio = (double)NAN;             /* a tie: neither reached it */
    if (ratio == 0) ratio = (double)NAN; /* only the first did */
    if (arm == 0) {
        bool known = !isnan(mot_json_get_number(mot_cell_figure(cell, kind->name), "median"));
        fprintf(out, "<td class=\"num soft\">%s<small>the baseline</small></td>", known ? "1" : "\u2013");
        return;
    }
    if (!comparison) {
        fputs("<td class=\"none\">\u2013</td>", out);
        return;
    }
    fputs("<td class=\"num\">", out);
    char text[TEXT], second[TEXT];
    if (isnan(ratio)) fputs("\u2013", out);
    else fprintf(out, "%s\u00d7", mot_figure_show(ratio, MOT_UNIT_RATIO, text, sizeof text));
    if (!isnan(ratio) && !isnan(low) && mot_json_get_count(comparison, "n") > 1)
        fprintf(out, "<small>%s \u2013 %s</small>", mot_figure_show(low, MOT_UNIT_RATIO, text, sizeof text),
            isnan(high) ? "\u221e" : mot_figure_show(high, MOT_UNIT_RATIO, second, sizeof second));
    put_verdict(json_object_get(cell, "verdict"), comparison, kind, out);
    fputs("</td>", out);
}

/* "10 of 10 reached", and each way in which runs failed. */
static void put_runs(const json_t *document, const json_t *cell, FILE *out)
{
    size_t arm = mot_json_get_count(cell, "arm"), condition = mot_json_get_count(cell, "condition"),
           runs = mot_json_get_count(cell, "runs");
    bool target = json_is_object(mot_study_target(document, condition));
    const char *seen[8];
    size_t count[8] = { 0 }, kinds = 0, i, unreached = 0;
    json_t *run;
    json_array_foreach(mot_json_get_list(document, "runs"), i, run)
    {
        if (mot_json_get_count(run, "arm") != arm || mot_json_get_count(run, "condition") != condition)
            continue;
        const char *status = mot_json_get_text(run, "status");
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
    if (target) fprintf(out, "%zu of %zu", mot_json_get_count(cell, "reached"), runs);
    else fprintf(out, "%zu", runs);
    if (unreached) fprintf(out, "<span class=\"bad\">%zu fell short</span>", unreached);
    for (size_t k = 0; k < kinds; k++) {
        fprintf(out, "<span class=\"bad\">%zu ", count[k]);
        for (const char *c = seen[k]; *c; c++)
            fputc(*c == '_' ? ' ' : *c == '<' || *c == '&' ? '?' : *c, out);
        fputs("</span>", out);
    }
    fputs("</td>", out);
}

static void put_wait(const json_t *cell, const struct mot_figure_kind *kind, FILE *out)
{
    const json_t *figure = mot_cell_figure(cell, kind->name), *worst = json_object_get(cell, "worst_worker");
    char text[TEXT];
    if (!figure) {
        fputs("<td class=\"none\">\u2013</td>", out);
        return;
    }
    fprintf(out, "<td class=\"num\">%s",
        mot_figure_show(mot_json_get_number(figure, "median"), kind->unit, text, sizeof text));
    if (json_is_object(worst) && mot_json_get_number(figure, "median") > 0) {
        fprintf(out, "<small>worker %zu ", mot_json_get_count(worst, "id"));
        mot_page_text(mot_json_get_text(worst, "name"), out);
        fputs("</small>", out);
    }
    fputs("</td>", out);
}

/* ---- Tables ------------------------------------------------------------------------------------ */

static void put_head(const json_t *document, const struct mot_figure_kind *judge, FILE *out)
{
    fputs("<thead><tr><th scope=\"col\">Arm</th>", out);
    for (size_t i = 0; i < MOT_COUNT(columns); i++) {
        if (!any_has(document, columns[i])) continue;
        fprintf(out, "<th scope=\"col\" class=\"num\">%s</th>", mot_figure_kind(columns[i])->title);
        if (is_compared(judge, columns[i]) && compares(document))
            fprintf(out, "<th scope=\"col\" class=\"num\">%s</th>",
                mot_figure_kind(columns[i])->unit == MOT_UNIT_SECONDS ? "Speed-up" : "Against the first");
    }
    fprintf(out, "<th scope=\"col\">%s</th></tr></thead>\n",
        mot_study_has_targets(document) ? "Reached it" : "Runs");
}

static void put_row(
    const json_t *document, const struct mot_figure_kind *judge, size_t arm, size_t condition, FILE *out)
{
    const json_t *cell = mot_document_cell(document, arm, condition);
    fprintf(out, "<tr><th scope=\"row\"><span class=\"key k%zu\"></span>", arm % 8);
    mot_page_text(mot_document_name(document, "arms", arm), out);
    fputs("</th>", out);
    for (size_t i = 0; i < MOT_COUNT(columns); i++) {
        if (!any_has(document, columns[i])) continue;
        const struct mot_figure_kind *kind = mot_figure_kind(columns[i]);
        if (strcmp(columns[i], "worst_wait") == 0) put_wait(cell, kind, out);
        else put_figure(cell, kind, out);
        if (is_compared(judge, columns[i]) && compares(document)) put_against(cell, kind, arm, out);
    }
    put_runs(document, cell, out);
    fputs("</tr>\n", out);
}

void mot_page_about(const json_t *document, FILE *out)
{
    size_t seeds = json_array_size(mot_json_get_list(document, "seeds"));
    fputs(seeds >= MOT_PAIRS_LEAST
            ? "Medians over seeds, with 95 % intervals below, unless both ends are the same."
            : seeds > 1 ? "Medians over seeds, with the least and the greatest below, unless both ends "
                          "are the same: fewer than six runs give no 95 % interval."
                        : "Figures of one seed, so there are no intervals.",
        out);
    if (compares(document)) fputs(" Arms are compared with the first, seed by seed; above 1 is better.", out);
}

void mot_page_tables(const json_t *document, FILE *out)
{
    size_t arms = json_array_size(mot_json_get_list(document, "arms")),
           conditions = json_array_size(mot_json_get_list(document, "conditions"));
    const struct mot_figure_kind *judge = mot_document_judge(document);
    for (size_t c = 0; c < conditions; c++) {
        fprintf(out,
            "<div class=\"scroll\" data-condition=\"%zu\" tabindex=\"0\" role=\"region\" "
            "aria-label=\"Results\"><table>\n",
            c);
        if (conditions > 1) {
            fputs("<caption>", out);
            mot_page_text(mot_document_name(document, "conditions", c), out);
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
    bool conditions = json_array_size(mot_json_get_list(document, "conditions")) > 1;
    json_array_foreach(mot_json_get_list(document, "runs"), i, run) all +=
        strcmp(mot_json_get_text(run, "status"), "ok") != 0;
    if (!all) return;
    fprintf(out,
        "<details id=\"failures\"%s><summary>%zu run%s failed</summary><div class=\"scroll\" tabindex=\"0\" "
        "role=\"region\" aria-label=\"Failed runs\"><table>"
        "<thead><tr><th scope=\"col\">Arm</th>%s<th scope=\"col\" class=\"num\">Seed</th><th "
        "scope=\"col\">Status</th>"
        "<th scope=\"col\">Why</th></tr></thead><tbody>\n",
        all <= 10 ? " open" : "", all, all == 1 ? "" : "s",
        conditions ? "<th scope=\"col\">Condition</th>" : "");
    json_array_foreach(mot_json_get_list(document, "runs"), i, run)
    {
        if (strcmp(mot_json_get_text(run, "status"), "ok") == 0 || shown++ >= FAILURES_MOST) continue;
        size_t arm = mot_json_get_count(run, "arm");
        fprintf(out, "<tr><th scope=\"row\"><span class=\"key k%zu\"></span>", arm % 8);
        mot_page_text(mot_document_name(document, "arms", arm), out);
        fputs("</th>", out);
        if (conditions) {
            fputs("<td>", out);
            mot_page_text(
                mot_document_name(document, "conditions", mot_json_get_count(run, "condition")), out);
            fputs("</td>", out);
        }
        fprintf(out, "<td class=\"num\">%" JSON_INTEGER_FORMAT "</td><td class=\"bad\">",
            json_integer_value(json_object_get(run, "seed")));
        mot_page_text(mot_json_get_text(run, "status"), out);
        fputs("</td><td>", out);
        mot_page_text(mot_json_get_text(run, "failed"), out);
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
    json_array_foreach(mot_json_get_list(document, list), i, side)
    {
        fputs("<dt>", out);
        if (keyed) fprintf(out, "<span class=\"key k%zu\"></span>", i % 8);
        mot_page_text(mot_json_get_text(side, "name"), out);
        fputs("</dt><dd>", out);
        json_object_foreach(json_object_get(side, "settings"), key, value)
        {
            fputs("<code>", out);
            mot_page_text(key, out);
            fputs(": ", out);
            char *text =
                json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
            mot_page_text(text ? text : mot_json_get_text(json_object_get(side, "settings"), key), out);
            free(text);
            fputs("</code> ", out);
        }
        if (json_object_size(json_object_get(side, "settings")) == 0)
            fputs("<span class=\"soft\">as the experiment says</span>", out);
        fputs("</dd>\n", out);
    }
    fputs("</dl>\n", out);
}

void mot_page_ran(const json_t *document, FILE *out)
{
    static const struct {
        const char *key, *title;
    } parts[] = { { "data", "Data" }, { "model", "Model" }, { "workers", "Workers" },
        { "cluster", "Cluster" } };
    const json_t *about = json_object_get(document, "about"),
                 *settings = mot_json_get_list(about, "settings");
    size_t i;
    json_t *pair;
    fputs("<dl class=\"sides\">\n", out);
    for (i = 0; i < MOT_COUNT(parts); i++) {
        const char *text = mot_json_get_text(about, parts[i].key);
        if (!*text) continue;
        fprintf(out, "<dt>%s</dt><dd>", parts[i].title);
        mot_page_text(text, out);
        fputs("</dd>\n", out);
    }
    fputs("<dt>Settings</dt><dd>", out);
    json_array_foreach(settings, i, pair)
    {
        fputs("<code>", out);
        mot_page_text(json_string_value(json_array_get(pair, 0)), out);
        fputs(": ", out);
        mot_page_text(json_string_value(json_array_get(pair, 1)), out);
        fputs("</code> ", out);
    }
    fputs(json_array_size(settings) ? "<span class=\"soft\">(all others are the defaults)</span>"
                                    : "<span class=\"soft\">all are the defaults</span>",
        out);
    fputs("</dd>\n</dl>\n", out);
}

void mot_page_settings(const json_t *document, FILE *out)
{
    put_sides(document, "arms", "Arms", true, out);
    if (json_array_size(mot_json_get_list(document, "conditions")) > 1)
        put_sides(document, "conditions", "Conditions", false, out);
    fputs("<h3>Seeds</h3>\n<p>", out);
    size_t i, n = json_array_size(mot_json_get_list(document, "seeds"));
    json_t *seed;
    json_array_foreach(mot_json_get_list(document, "seeds"), i, seed) if (i < 60)
        fprintf(out, "%s%" JSON_INTEGER_FORMAT, i ? ", " : "", json_integer_value(seed));
    fputs(n > 60 ? ", \u2026</p>\n" : "</p>\n", out);
}
