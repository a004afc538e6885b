/* page_partition.c -- partition.html: partition.json, drawn. */
#include "base/memory.h"
#include "base/words.h"
#include "page/page.h"
#include "page/page_parts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WORKERS_DRAWN 120u
#define CLASSES_DRAWN 60u
#define WORKERS_LISTED 40u

static const json_t *quality_of(const json_t *d) { return json_object_get(d, "quality"); }
static double quality(const json_t *d, const char *key) { return mot_json_get_number(quality_of(d), key); }
static bool is_measured(const json_t *d) { return !isnan(quality(d, "mmd2_mean")); }

/* True if there is something to compare with: several workers, and some class shared among them. */
static bool has_random(const json_t *d) { return is_measured(d) && quality(d, "mmd2_random") > 0; }

static double at(const json_t *worker, const char *key, size_t class)
{
    const json_t *value = json_array_get(mot_json_get_list(worker, key), class);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* ---- The worst block -------------------------------------------------------------------------------- */

struct worst {
    size_t worker, class;
    double ratio;
};

static void look(const json_t *worker, size_t j, struct worst *w)
{
    for (size_t l = 0; l < json_array_size(mot_json_get_list(worker, "mmd2_ratio")); l++)
        if (at(worker, "mmd2_ratio", l) > w->ratio) *w = (struct worst){ j, l, at(worker, "mmd2_ratio", l) };
}

static struct worst worst_of(const json_t *d)
{
    struct worst w = { 0, 0, -1 };
    size_t j;
    json_t *worker;
    json_array_foreach(mot_json_get_list(d, "workers"), j, worker) look(worker, j, &w);
    return w;
}

static void put_class(const json_t *d, size_t class, const char *before, FILE *out)
{
    const json_t *name = json_array_get(mot_json_get_list(d, "classes"), class);
    if (!name) return; /* labels are values */
    fprintf(out, "%sclass ", before);
    mot_page_text(json_string_value(name), out);
}

/* ---- The answer ---------------------------------------------------------------------------------------- */

static void put_fallback(const json_t *d, FILE *out)
{
    const json_t *fallback = json_object_get(d, "fallback");
    size_t i, taken = 0;
    json_t *each;
    json_array_foreach(mot_json_get_list(fallback, "classes"), i, each) taken +=
        json_is_true(json_object_get(each, "taken"));
    if (taken == 0) return;
    const char *by = mot_json_get_text(fallback, "by");
    fprintf(out,
        " %zu class%s partitioned again %s, because some worker’s rows represented it worse than random rows "
        "would.",
        taken, taken == 1 ? " was" : "es were", strcmp(by, "random") == 0 ? "at random" : "by herding");
}

static void put_ratios(const json_t *d, FILE *out)
{
    struct worst w = worst_of(d);
    size_t classes = json_array_size(mot_json_get_list(d, "classes")),
           blocks = json_array_size(mot_json_get_list(d, "workers")) * (classes ? classes : 1);
    const char *whole = classes ? "their class" : "the whole";
    double mean = quality(d, "mmd2_mean") / quality(d, "mmd2_random"),
           worse = quality(d, "worse_than_random");
    if (worse > 0 && classes)
        fprintf(out,
            "<span class=\"bad\">%.0f of %zu blocks</span> (a worker’s rows of a class) represent their "
            "class worse than random rows would",
            worse, blocks);
    else if (worse > 0)
        fprintf(out,
            "The rows of <span class=\"bad\">%.0f of %zu workers</span> represent the whole worse than "
            "random rows would",
            worse, blocks);
    else if (w.ratio <= 1)
        fprintf(out, "Every worker’s rows represent %s better than random rows would", whole);
    else
        fprintf(out, "As far as measured, no worker’s rows represent %s worse than random rows would", whole);
    fprintf(out,
        ": their distance (MMD²) is <span class=\"num\">%.2f</span> times that of random rows on average, "
        "and <span class=\"num\">%.2f</span> at worst, worker %zu",
        mean, w.ratio, w.worker);
    put_class(d, w.class, ", ", out);
    fputc('.', out);
    put_fallback(d, out);
    if (worse > 0 && strcmp(mot_json_get_text(json_object_get(d, "partition"), "name"), "submodular") == 0 &&
        !json_object_get(d, "fallback"))
        fputs(" <code>--fallback herding</code> partitions their classes again.", out);
}

/* True if no class is shared among workers. */
static bool are_whole(const json_t *d)
{
    const json_t *workers = mot_json_get_list(d, "workers");
    size_t classes = json_array_size(mot_json_get_list(json_array_get(workers, 0), "count"));
    for (size_t l = 0; l < classes; l++) {
        size_t j, holders = 0;
        json_t *worker;
        json_array_foreach(workers, j, worker) holders += at(worker, "count", l) > 0;
        if (holders > 1) return false;
    }
    return true;
}

static void put_headline(const json_t *d, FILE *out)
{
    fputs("<p class=\"answer\">", out);
    if (!is_measured(d)) fputs("How well the workers’ rows represent the whole was not measured.", out);
    else if (json_array_size(mot_json_get_list(d, "workers")) == 1) fputs("One worker has all rows.", out);
    else if (!has_random(d))
        fputs(are_whole(d) ? "Each class is held by a single worker: random rows could not represent it "
                             "better."
                           : "By these features all rows of a class are equal, and so are the workers’.",
            out);
    else put_ratios(d, out);
    fputs("</p>\n", out);
}

static void put_count(double n, const char *one, const char *many, FILE *out)
{
    char text[64];
    mot_figure_show(n, MOT_UNIT_COUNT, text, sizeof text);
    fprintf(out, "<li>%s %s</li>", text, n == 1 ? one : many);
}

static void put_facts(const json_t *d, FILE *out)
{
    put_count(mot_json_get_number(d, "rows"), "training row", "training rows", out);
    if (json_array_size(mot_json_get_list(d, "classes")))
        put_count((double)json_array_size(mot_json_get_list(d, "classes")), "class", "classes", out);
    put_count((double)json_array_size(mot_json_get_list(d, "workers")), "worker", "workers", out);
    fputs("<li>by ", out);
    mot_page_text(mot_json_get_text(json_object_get(d, "partition"), "name"), out);
    fprintf(out, "</li><li>seed %.0f</li>", mot_json_get_number(d, "seed"));
}

/* ---- Workers ------------------------------------------------------------------------------------------- */

static void put_worker(const json_t *d, const json_t *worker, size_t j, FILE *out)
{
    char text[64];
    double mmd2 = 0, random = 0, blocks = 0;
    struct worst w = { 0, 0, -1 };
    mot_figure_show(mot_json_get_number(worker, "rows"), MOT_UNIT_COUNT, text, sizeof text);
    fprintf(out, "<tr><th scope=\"row\">%zu</th><td class=\"num\">%.4g</td><td class=\"num\">%s</td>", j,
        mot_json_get_number(worker, "speed"), text);
    for (size_t l = 0; l < json_array_size(mot_json_get_list(worker, "mmd2")); l++) {
        if (isnan(at(worker, "mmd2", l))) continue;
        mmd2 += at(worker, "mmd2", l);
        random += at(worker, "mmd2_random", l);
        blocks++;
    }
    if (has_random(d) && blocks > 0 && random > 0) {
        look(worker, j, &w);
        fprintf(out, "<td class=\"num\">%.2e</td><td class=\"num\">%.2f</td><td class=\"num%s\">%.2f</td>",
            mmd2 / blocks, mmd2 / random, w.ratio > 1 ? " bad" : "", w.ratio);
        fputs("<td><span class=\"num\">", out);
        put_class(d, w.class, "", out);
        fputs("</span></td>", out);
    }
    fputs("</tr>\n", out);
}

static void put_workers(const json_t *d, FILE *out)
{
    const json_t *workers = mot_json_get_list(d, "workers");
    size_t n = json_array_size(workers);
    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
          "aria-label=\"Workers\"><table><thead><tr><th>worker</th><th class=\"num\">speed</th><th "
          "class=\"num\">rows</th>",
        out);
    if (has_random(d))
        fputs("<th class=\"num\">MMD²</th><th class=\"num\">of random</th><th class=\"num\">at "
              "worst</th><th></th>",
            out);
    fputs("</tr></thead><tbody>\n", out);
    for (size_t j = 0; j < n && j < WORKERS_LISTED; j++) put_worker(d, json_array_get(workers, j), j, out);
    fputs("</tbody></table></div>\n", out);
    if (n > WORKERS_LISTED)
        fprintf(out, "<p class=\"about\">And %zu more, in partition.json.</p>\n", n - WORKERS_LISTED);
}

/* ---- Figures ------------------------------------------------------------------------------------------- */

static void put_seconds(const char *name, double s, FILE *out)
{
    char text[32];
    if (isnan(s)) return;
    mot_figure_show(s, MOT_UNIT_SECONDS, text, sizeof text);
    fprintf(out, "<dt>%s</dt><dd>%s</dd>\n", name, text);
}

/* How far the gradients of the parts differ, if a model was named. */
static void put_gradients(const json_t *d, FILE *out)
{
    const json_t *is = json_object_get(d, "heterogeneity");
    if (isnan(mot_json_get_number(is, "zeta2"))) return;
    fprintf(out,
        "<dt>gradients</dt><dd>ζ² %.4g between parts, σ² %.4g between a part’s rows, at the initial ",
        mot_json_get_number(is, "zeta2"), mot_json_get_number(is, "sigma2"));
    mot_page_text(mot_json_get_text(is, "model"), out);
    const char *words = mot_json_get_text(is, "words");
    if (*words) fputs(": ", out), mot_page_text(words, out);
    fputs("</dd>\n", out);
}

static void put_figures(const json_t *d, FILE *out)
{
    const json_t *q = quality_of(d), *cost = json_object_get(d, "cost");
    const char *algorithm = mot_json_get_text(cost, "algorithm");
    char text[32];
    fputs("<dl class=\"sides\">\n", out);
    if (is_measured(d)) {
        const char *by = mot_json_get_text(q, "objectives_by");
        bool exact = strcmp(by, "exact") == 0;
        fprintf(out, "<dt>MMD²</dt><dd>mean %.3g, worst %.3g; of random rows %.3g; ", quality(d, "mmd2_mean"),
            quality(d, "mmd2_max"), quality(d, "mmd2_random"));
        mot_page_text(
            strcmp(mot_json_get_text(q, "mmd2_by"), "exact") == 0 ? "over all pairs" : "by random features",
            out);
        fputs(", features ", out);
        mot_page_text(mot_json_get_text(q, "features"), out);
        fprintf(out, ", bandwidth %.4g</dd>\n", quality(d, "bandwidth"));
        fprintf(out, "<dt>facility location</dt><dd>%.*g", exact ? 8 : 3, quality(d, "facility_location"));
        fprintf(out, "%s</dd>\n<dt>graph cut</dt><dd>%.*g", exact ? "" : ", estimated from a sample",
            exact ? 8 : 3, quality(d, "graph_cut"));
        fprintf(out, "%s</dd>\n", exact ? "" : ", estimated from a sample");
    }
    if (!isnan(quality(d, "label_divergence_mean")))
        fprintf(out,
            "<dt>labels</dt><dd>divergence from the overall distribution: mean %.3g, worst %.3g nats</dd>\n",
            quality(d, "label_divergence_mean"), quality(d, "label_divergence_max"));
    fprintf(out,
        "<dt>distance from shares by speed</dt><dd>at most %.3g rows per class, %.3g in a worker’s "
        "total</dd>\n",
        quality(d, "quota_error_class"), quality(d, "quota_error_worker"));
    put_gradients(d, out);
    if (*algorithm)
        fputs("<dt>algorithm</dt><dd>", out), mot_page_text(algorithm, out), fputs("</dd>\n", out);
    put_seconds("time to partition", mot_json_get_number(cost, "seconds"), out);
    put_seconds("time to measure", mot_json_get_number(cost, "measure_seconds"), out);
    mot_figure_show(mot_json_get_number(cost, "peak_bytes"), MOT_UNIT_BYTES, text, sizeof text);
    fprintf(out, "<dt>peak memory</dt><dd>%s</dd>\n</dl>\n", text);
}

/* ---- What is drawn ---------------------------------------------------------------------------- */

/* Picks up to `most` of n, evenly spaced, `must` among them; returns how many. */
static size_t choose(size_t n, size_t most, size_t must, size_t *chosen)
{
    size_t count = n < most ? n : most;
    for (size_t i = 0; i < count; i++) chosen[i] = i * n / count;
    for (size_t i = 0; i < count && n > most; i++) {
        bool last = i + 1 == count || chosen[i + 1] > must;
        if (last && chosen[i] <= must) chosen[i] = must;
        if (last) break;
    }
    return count;
}

static json_t *chosen_of(const json_t *worker, const char *key, const size_t *class, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *value = json_array_get(mot_json_get_list(worker, key), class[i]);
        json_array_append_new(list, value ? json_incref(value) : json_null());
    }
    return list;
}

/* Judged as in partition.json: worse by more than the error of random features. */
static json_t *worse_of(const json_t *d, const json_t *worker, const size_t *class, size_t n)
{
    json_t *list = json_array();
    double above = strcmp(mot_json_get_text(quality_of(d), "mmd2_by"), "exact") == 0 ? 1 : 1.1;
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_boolean(at(worker, "mmd2_ratio", class[i]) > above));
    return list;
}

static enum mot_status put_data(const json_t *d, FILE *out)
{
    struct worst w = worst_of(d);
    size_t worker[WORKERS_DRAWN], class[CLASSES_DRAWN];
    const json_t *workers = mot_json_get_list(d, "workers"), *classes = mot_json_get_list(d, "classes");
    size_t all = json_array_size(workers), kinds = json_array_size(classes) ? json_array_size(classes) : 1,
           workers_n = choose(all, WORKERS_DRAWN, w.worker, worker),
           classes_n = choose(kinds, CLASSES_DRAWN, w.class, class);
    json_t *list = json_array(), *names = json_array();
    for (size_t i = 0; i < classes_n && json_array_size(classes); i++)
        json_array_append(names, json_array_get(classes, class[i]));
    for (size_t j = 0; j < workers_n; j++) {
        const json_t *each = json_array_get(workers, worker[j]);
        json_t *drawn = json_pack("{s:I, s:o, s:o}", "id", (json_int_t)worker[j], "rows",
            json_integer((json_int_t)mot_json_get_count(each, "rows")), "speed",
            mot_json_number(mot_json_get_number(each, "speed")));
        json_object_set_new(drawn, "count", chosen_of(each, "count", class, classes_n));
        json_object_set_new(drawn, "mmd2", chosen_of(each, "mmd2", class, classes_n));
        json_object_set_new(drawn, "random", chosen_of(each, "mmd2_random", class, classes_n));
        json_object_set_new(drawn, "ratio", chosen_of(each, "mmd2_ratio", class, classes_n));
        json_object_set_new(drawn, "worse", worse_of(d, each, class, classes_n));
        json_array_append_new(list, drawn);
    }
    json_t *data =
        json_pack("{s:b, s:I, s:I, s:o, s:o}", "measured", has_random(d), "all_workers", (json_int_t)all,
            "all_classes", (json_int_t)json_array_size(classes), "classes", names, "workers", list);
    mot_page_json(data, out);
    json_decref(data);
    return MOT_OK;
}

/* ---- The page --------------------------------------------------------------------------------- */

static const struct mot_page_blank blanks[] = {
    { "headline", put_headline },
    { "facts", put_facts },
    { "workers", put_workers },
    { "figures", put_figures },
    { NULL, NULL },
};
static const struct mot_page of_a_partition = {
    .body = mot_page_partition, .script = mot_page_partition_js, .blank = blanks, .data = put_data
};

enum mot_status mot_partition_page(const json_t *partition, const char *command, FILE *out)
{
    json_t *d = json_copy((json_t *)(size_t)partition);
    size_t n = json_array_size(mot_json_get_list(d, "workers"));
    const char *data = mot_json_get_text(d, "data"), *slash = strrchr(data, '/');
    char *title = mot_format("%s over %zu worker%s", slash ? slash + 1 : data, n, n == 1 ? "" : "s");
    json_object_set_new(d, "title", mot_json_text(title));
    json_object_set_new(d, "command", mot_json_text(command));
    enum mot_status status = mot_page_print(&of_a_partition, d, out);
    json_decref(d);
    free(title);
    return status;
}
