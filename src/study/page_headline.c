/* page_headline.c -- the answer in a sentence: who wins and by how
 * much, or that nothing can be told apart. */
#include "study/page_parts.h"

#include "base/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXT 96
#define SENTENCES_MOST 12 /* conditions of which the answer speaks; the tables have all */

/* What a sentence is made of: the arms under one condition, by the figure that judges them. */
struct contest {
    const json_t *document;
    const struct mot_page_kind *kind;
    size_t condition, arms;
    size_t best; /* arms: none has the figure */
    FILE *out;
};

static const json_t *cell_of(const struct contest *c, size_t arm)
{
    return mot_page_cell(c->document, arm, c->condition);
}

static double median_of(const struct contest *c, size_t arm)
{
    return mot_page_number(mot_page_figure(cell_of(c, arm), c->kind->figure), "median");
}

static void put_arm(const struct contest *c, size_t arm)
{
    fprintf(c->out, "<b class=\"k%zu\">", arm % 8);
    mot_page_text(mot_page_name(c->document, "arms", arm), c->out);
    fputs("</b>", c->out);
}

static void put_median(const struct contest *c, size_t arm)
{
    const json_t *figure = mot_page_figure(cell_of(c, arm), c->kind->figure);
    char median[TEXT], low[TEXT], high[TEXT];
    size_t n = mot_page_place(figure, "n");
    fprintf(c->out, "<span class=\"num\">%s</span>",
        mot_page_show(mot_page_number(figure, "median"), c->kind->unit, median, sizeof median));
    if (n > 1 && !isnan(mot_page_number(figure, "low")) && !isnan(mot_page_number(figure, "high")))
        fprintf(c->out,
            " <span class=\"soft\">(median of %zu, <span class=\"num\">%s</span> to <span "
            "class=\"num\">%s</span>)</span>",
            n, mot_page_show(mot_page_number(figure, "low"), c->kind->unit, low, sizeof low),
            mot_page_show(mot_page_number(figure, "high"), c->kind->unit, high, sizeof high));
}

/* "test accuracy 0.92" */
static void put_target(const json_t *document, FILE *out)
{
    const json_t *target = json_object_get(document, "target");
    const char *kind = mot_page_word(target, "kind");
    const struct mot_page_kind *known = mot_page_kind(kind);
    double value = mot_page_number(target, "value");
    char text[TEXT];
    if (strcmp(kind, "test_accuracy") == 0)
        fprintf(out, "<span class=\"num\">%g %%</span> test accuracy", 100 * value);
    else if (known)
        fprintf(out, "a %s of %s", strcmp(kind, "grad_norm") == 0 ? "gradient norm" : "training loss",
            mot_page_show(value, MOT_PAGE_PLAIN, text, sizeof text));
    else fputs("the target", out);
}

/* "is fastest: it reaches 92 % test accuracy in 0.60 s" */
static void put_claim(const struct contest *c, size_t arm)
{
    if (strcmp(c->kind->figure, "time_to_target") == 0) {
        fputs("reaches ", c->out);
        put_target(c->document, c->out);
        fputs(" in ", c->out);
    } else {
        char title[TEXT];
        snprintf(title, sizeof title, "%s", c->kind->title);
        for (char *t = title; *t; t++) *t = (char)(*t >= 'A' && *t <= 'Z' ? *t + 32 : *t);
        fprintf(c->out, "ends with a %s of ", title);
    }
    put_median(c, arm);
}

static bool is_time(const struct contest *c) { return c->kind->unit == MOT_PAGE_SECONDS; }

static void put_ratio(const struct contest *c, const json_t *comparison, bool turned)
{
    double ratio = mot_page_number(comparison, "ratio"), low = mot_page_number(comparison, "low"),
           high = mot_page_number(comparison, "high");
    if (turned) {
        double swap = 1 / low;
        ratio = 1 / ratio, low = 1 / high, high = swap;
    }
    char text[TEXT], second[TEXT];
    fprintf(c->out, "<span class=\"num\">%s</span> times",
        mot_page_show(ratio, MOT_PAGE_RATIO, text, sizeof text));
    if (isfinite(low) && isfinite(high))
        fprintf(c->out, " <span class=\"soft\">(%s to %s)</span>",
            mot_page_show(low, MOT_PAGE_RATIO, text, sizeof text),
            mot_page_show(high, MOT_PAGE_RATIO, second, sizeof second));
}

/* Arms, neither the best nor the first, that the intervals do not set apart from the best; named if asked. */
static size_t close_ones(const struct contest *c, bool named)
{
    const json_t *best = mot_page_figure(cell_of(c, c->best), c->kind->figure);
    double low = mot_page_number(best, "low"), high = mot_page_number(best, "high");
    size_t close = 0;
    for (size_t arm = 1; arm < c->arms; arm++) {
        const json_t *other = mot_page_figure(cell_of(c, arm), c->kind->figure);
        double from = mot_page_number(other, "low"), to = mot_page_number(other, "high");
        if (isnan(high)) high = (double)INFINITY;
        if (arm == c->best || !(from <= high && low <= (isnan(to) ? (double)INFINITY : to))) continue;
        if (named && close) fputs(", ", c->out);
        if (named) put_arm(c, arm);
        close++;
    }
    return close;
}

/* The best arm is the first: how the others compare with it. */
static void first_wins(const struct contest *c)
{
    size_t next = c->arms, alike = 0, worse = 0;
    const char *why = "";
    for (size_t arm = 1; arm < c->arms; arm++) {
        const json_t *against = mot_page_against(cell_of(c, arm), c->kind->figure);
        const char *verdict = mot_page_word(against, "verdict");
        if (!*why) why = mot_page_word(against, "reason");
        if (strcmp(verdict, "not distinguishable") == 0) alike++;
        if (strcmp(verdict, is_time(c) ? "slower" : "worse") != 0) continue;
        worse++;
        double gap = median_of(c, arm);
        if (isnan(gap)) continue;
        if (next == c->arms || (c->kind->more ? gap > median_of(c, next) : gap < median_of(c, next)))
            next = arm;
    }
    if (alike == c->arms - 1) {
        fputs("Nothing is distinguishable: ", c->out);
        put_arm(c, 0);
        fputc(' ', c->out);
        put_claim(c, 0);
        fprintf(c->out, ", and %s from it by these seeds.",
            c->arms == 2 ? "the other cannot be told" : "none of the others can be told");
        return;
    }
    put_arm(c, 0);
    fprintf(c->out, worse == c->arms - 1 ? " wins: it " : " has the best median: it ");
    put_claim(c, 0);
    if (next < c->arms) {
        const json_t *comparison = mot_page_against(cell_of(c, next), c->kind->figure);
        fputs("; the next that is clearly behind, ", c->out);
        put_arm(c, next);
        if (is_time(c)) fputs(", takes ", c->out), put_ratio(c, comparison, true), fputs(" as long", c->out);
        else fputs(", has ", c->out), put_median(c, next);
    }
    if (*why && !alike && !worse) {
        fprintf(c->out, "; not compared with the other%s: ", c->arms == 2 ? "" : "s");
        mot_page_text(why, c->out);
    }
    fputc('.', c->out);
    if (alike) fprintf(c->out, " %zu of the others cannot be told from it.", alike);
}

static void another_wins(const struct contest *c)
{
    const json_t *comparison = mot_page_against(cell_of(c, c->best), c->kind->figure);
    const char *verdict = mot_page_word(comparison, "verdict");
    bool wins = strcmp(verdict, is_time(c) ? "faster" : "better") == 0;
    size_t close = close_ones(c, false);
    put_arm(c, c->best);
    fputs(wins && !close ? " wins: it " : " has the best median: it ", c->out);
    put_claim(c, c->best);
    if (wins && is_time(c)) {
        if (isnan(mot_page_number(comparison, "ratio")))
            fputs(", which ", c->out), put_arm(c, 0), fputs(" mostly does not", c->out);
        else
            fputs(", ", c->out), put_ratio(c, comparison, false), fputs(" as fast as ", c->out),
                put_arm(c, 0);
    } else if (wins) {
        fputs(", ", c->out), put_arm(c, 0), fputs(" with ", c->out), put_median(c, 0);
    } else if (strcmp(verdict, "not distinguishable") == 0) {
        fputs(", but that is not distinguishable from ", c->out), put_arm(c, 0),
            fputs(" by these seeds", c->out);
    } else if (comparison) {
        fputs("; not compared with ", c->out), put_arm(c, 0);
        fputs(": ", c->out), mot_page_text(mot_page_word(comparison, "reason"), c->out);
    }
    fputc('.', c->out);
    if (!close) return;
    fputs(" Close to it, with intervals that overlap its own: ", c->out);
    close_ones(c, true);
    fputc('.', c->out);
}

static void put_sentence(const struct contest *c)
{
    bool target = strcmp(c->kind->figure, "time_to_target") == 0;
    if (c->best == c->arms) {
        fprintf(c->out, c->arms == 1 ? "It does not reach " : "No arm reaches ");
        if (target) put_target(c->document, c->out);
        else fputs("an end with figures to compare", c->out);
        fputs(c->arms == 1 ? " in most runs." : " in at least half of its runs.", c->out);
    } else if (c->arms == 1) {
        put_arm(c, 0);
        fputc(' ', c->out);
        put_claim(c, 0);
        fputc('.', c->out);
    } else if (c->best == 0) {
        first_wins(c);
    } else {
        another_wins(c);
    }
}

void mot_page_headline(const json_t *document, FILE *out)
{
    size_t conditions = json_array_size(mot_page_list(document, "conditions"));
    struct contest c = { .document = document,
        .kind = mot_page_judge(document),
        .arms = json_array_size(mot_page_list(document, "arms")),
        .out = out };
    if (!c.kind || c.arms == 0) {
        fputs("<p class=\"answer\">No run has a figure to judge by.</p>\n", out);
        return;
    }
    if (conditions > 1) fputs("<ul class=\"answer\">\n", out);
    for (; c.condition < conditions && c.condition < SENTENCES_MOST; c.condition++) {
        c.best = c.arms;
        for (size_t arm = 0; arm < c.arms; arm++) {
            double median = median_of(&c, arm);
            if (isnan(median)) continue;
            if (c.best == c.arms ||
                (c.kind->more ? median > median_of(&c, c.best) : median < median_of(&c, c.best)))
                c.best = arm;
        }
        fputs(conditions > 1 ? "<li><span class=\"under\">" : "<p class=\"answer\">", out);
        if (conditions > 1) {
            mot_page_text(mot_page_name(document, "conditions", c.condition), out);
            fputs("</span> ", out);
        }
        put_sentence(&c);
        fputs(conditions > 1 ? "</li>\n" : "</p>\n", out);
    }
    if (conditions > SENTENCES_MOST)
        fprintf(out, "<li class=\"soft\">and %zu more conditions, in the tables below</li>\n",
            conditions - SENTENCES_MOST);
    if (conditions > 1) fputs("</ul>\n", out);
}

void mot_page_facts(const json_t *document, FILE *out)
{
    size_t runs = json_array_size(mot_page_list(document, "runs")),
           arms = json_array_size(mot_page_list(document, "arms"));
    size_t conditions = json_array_size(mot_page_list(document, "conditions")),
           seeds = json_array_size(mot_page_list(document, "seeds"));
    size_t i, failed = 0;
    json_t *run;
    json_array_foreach(mot_page_list(document, "runs"), i, run) failed +=
        strcmp(mot_page_word(run, "status"), "ok") != 0;
    fprintf(out, "<li>%zu %s", arms, arms == 1 ? "arm: " : "arms: ");
    for (i = 0; i < arms && i < 12; i++) {
        fprintf(out, "%s<span class=\"key k%zu\"></span>", i ? ", " : "", i % 8);
        mot_page_text(mot_page_name(document, "arms", i), out);
    }
    fputs(arms > 12 ? ", \u2026</li>" : "</li>", out);
    if (conditions > 1) fprintf(out, "<li>%zu conditions</li>", conditions);
    fprintf(
        out, "<li>%zu seed%s</li><li>%zu run%s", seeds, seeds == 1 ? "" : "s", runs, runs == 1 ? "" : "s");
    if (failed) fprintf(out, ", <a class=\"bad\" href=\"#failures\">%zu failed</a>", failed);
    fputs("</li>", out);
    if (json_is_object(json_object_get(document, "target"))) {
        fputs("<li>target: ", out);
        put_target(document, out);
        fputs("</li>", out);
    } else {
        fputs("<li>no target</li>", out);
    }
}
