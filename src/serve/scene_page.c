/* scene_page.c -- the live page of a run or a study: the report's own parts in another body. */
#include "base/words.h"
#include "page/page_parts.h"
#include "report/json.h"
#include "serve/scene.h"
#include "study/about.h"
#include "study/answer.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXT 96

/* ---- A run's document --------------------------------------------------------------------------------- */

static void add_figure(json_t *list, const char *name, double value, enum mot_unit unit)
{
    char text[TEXT];
    if (isnan(value)) return;
    mot_json_add(list, json_pack("[s, s]", name, mot_figure_show(value, unit, text, sizeof text)));
}

static json_t *figures_of(const struct mot_scene *v)
{
    const struct mot_moment *m = &v->now;
    const struct mot_score *s = &v->score;
    json_t *list = json_array();
    if (!v->known) return list;
    add_figure(list, "Updates", (double)m->updates, MOT_UNIT_COUNT);
    add_figure(list, "Time on its clock", (double)m->now * 1e-9, MOT_UNIT_SECONDS);
    add_figure(list, "Passes over the data", m->epochs, MOT_UNIT_PLAIN);
    add_figure(list, "Test accuracy", s->test_accuracy, MOT_UNIT_SHARE);
    add_figure(list, "Test loss", s->test_loss, MOT_UNIT_PLAIN);
    add_figure(list, "Training loss", s->train_loss, MOT_UNIT_PLAIN);
    add_figure(list, "Gradient norm", s->grad_norm, MOT_UNIT_PLAIN);
    add_figure(list, "Sent", (double)m->bytes_sent, MOT_UNIT_BYTES);
    add_figure(list, "Mean staleness", m->staleness_mean, MOT_UNIT_PLAIN);
    return list;
}

/* The kept lines of the run's metrics, joined. malloc'd. */
static char *lines_of(const struct mot_scene *v)
{
    size_t n = 0;
    bool last = v->evaluations && (v->evaluations - 1) % v->every != 0;
    for (size_t i = 0; i < v->lines; i++) n += strlen(v->line[i]);
    if (last) n += strlen(v->last);
    char *text = mot_new(n + 1, 1), *at = text;
    for (size_t i = 0; i < v->lines; i++) {
        size_t bytes = strlen(v->line[i]);
        memcpy(at, v->line[i], bytes);
        at += bytes;
    }
    if (last) memcpy(at, v->last, strlen(v->last));
    return text;
}

/* What arms or conditions set, which the words on the experiment leave out. */
static json_t *sides_of(const struct mot_study_side *side, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *settings = json_object();
        for (size_t k = 0; k < side[i].settings; k++)
            mot_json_set(settings, side[i].setting[k].key, mot_json_text(side[i].setting[k].value));
        mot_json_add(list, json_pack("{s:o}", "settings", settings));
    }
    return list;
}

/* Of a run, or of a study none of whose runs has ended. */
static json_t *run_document(struct mot_scene *v, uint64_t *version)
{
    pthread_mutex_lock(&v->lock);
    char *lines = lines_of(v), *words = mot_scene_words(v);
    json_t *document = json_object(), *live = json_object(), *run = json_object();
    json_t *sides = json_pack(
        "{s:o, s:o}", "arms", sides_of(v->arm, v->arms), "conditions", sides_of(v->condition, v->conditions));
    mot_json_set(document, "title", mot_json_text(v->title));
    mot_json_set(document, "command", mot_json_text(v->command));
    mot_json_set(document, "experiment", mot_json_text(v->experiment));
    if (v->of == MOT_SCENE_RUN) {
        json_t *target = v->target
            ? json_pack("{s:s, s:o}", "kind", v->target, "value", mot_json_number(v->target_value))
            : json_null();
        mot_json_set(run, "seed", json_integer((json_int_t)v->seed));
        mot_json_set(document, "arms", json_pack("[{s:s, s:{}}]", "name", v->method, "settings"));
        mot_json_set(document, "conditions", json_pack("[{s:s, s:o}]", "name", "", "target", target));
        mot_json_set(live, "figures", figures_of(v));
    }
    mot_json_set(live, "state", json_string(mot_scene_state(v)));
    *version = v->version;
    bool is_run = v->of == MOT_SCENE_RUN;
    pthread_mutex_unlock(&v->lock);
    mot_json_set(live, "words", mot_json_text(words));
    mot_json_set(live, "moment", json_integer((json_int_t)*version));
    mot_json_set(document, "live", live);
    mot_json_set(run, "status", json_string("ok"));
    mot_json_set(run, "metrics", mot_json_text(lines));
    mot_json_set(document, "about", mot_about_words(mot_json_get_text(document, "experiment"), sides));
    json_decref(sides);
    if (is_run) mot_json_set(document, "runs", json_pack("[o]", run));
    else json_decref(run);
    free(words);
    free(lines);
    return document;
}

/* ---- Blanks ------------------------------------------------------------------------------------------- */

static const json_t *live_of(const json_t *document) { return json_object_get(document, "live"); }

static void put_state(const json_t *document, FILE *out)
{
    fputs(mot_json_get_text(live_of(document), "state"), out);
}

static void put_words(const json_t *document, FILE *out)
{
    mot_page_text(mot_json_get_text(live_of(document), "words"), out);
}

static void put_moment(const json_t *document, FILE *out)
{
    fprintf(out, "%zu", mot_json_get_count(live_of(document), "moment"));
}

static bool has_ended(const json_t *document)
{
    return strcmp(mot_json_get_text(live_of(document), "state"), "ended") == 0;
}

/* The experiment's file, where the head has said what was run. */
static void put_file(const json_t *document, FILE *out)
{
    if (*mot_json_get_text(json_object_get(document, "about"), "head"))
        mot_page_text(mot_json_get_text(document, "title"), out);
}

static void put_so_far(const json_t *document, FILE *out)
{
    fputs(has_ended(document) ? "Results" : "So far", out);
}

/* For a study that compares arms: what the runs that have ended say so far. */
static void put_headline(const json_t *document, FILE *out)
{
    const json_t *live = live_of(document);
    size_t left_out = mot_json_get_count(live, "left_out");
    if (json_is_true(json_object_get(live, "judged"))) {
        size_t runs = json_array_size(mot_json_get_list(document, "runs"));
        bool all = runs == mot_json_get_count(live, "planned");
        if (!all || !has_ended(document))
            fprintf(out, "<p class=\"about\">By the %zu run%s that ended%s:</p>\n", runs, mot_plural(runs),
                has_ended(document) ? "" : " so far");
        mot_page_headline(document, out);
    }
    if (left_out)
        fprintf(out,
            "<p class=\"about\">The first %d sets of values that were tried are shown; %zu run%s with other "
            "values %s not.</p>\n",
            MOT_SCENE_ARMS, left_out, mot_plural(left_out), left_out == 1 ? "is" : "are");
}

static void put_figures(const json_t *list, FILE *out)
{
    size_t i;
    const json_t *figure;
    if (json_array_size(list) == 0) {
        fputs("<p class=\"about\">There are no figures yet.</p>\n", out);
        return;
    }
    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Figures so far\">"
          "<table class=\"figures\"><tbody>\n",
        out);
    json_array_foreach(list, i, figure)
    {
        fputs("<tr><th scope=\"row\">", out);
        mot_page_text(json_string_value(json_array_get(figure, 0)), out);
        fputs("</th><td class=\"num\">", out);
        mot_page_text(json_string_value(json_array_get(figure, 1)), out);
        fputs("</td></tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
}

static void put_tables(const json_t *document, FILE *out)
{
    if (!json_object_get(document, "cells")) {
        put_figures(mot_json_get_list(live_of(document), "figures"), out);
        return;
    }
    bool apart = json_is_true(json_object_get(live_of(document), "apart"));
    fputs("<p class=\"about\">", out);
    if (apart)
        fputs("Medians of each arm with each set of values that is tried; they are not compared.", out);
    else mot_page_about(document, out);
    fputs("</p>\n", out);
    mot_page_tables(document, out);
    mot_page_failures(document, out);
}

static const struct mot_page_blank blanks[] = {
    { "head", mot_page_head },
    { "file", put_file },
    { "so_far", put_so_far },
    { "state", put_state },
    { "words", put_words },
    { "moment", put_moment },
    { "headline", put_headline },
    { "tables", put_tables },
    { NULL, NULL },
};
static const struct mot_page of_what_goes_on = { .body = mot_page_live,
    .script = mot_page_live_js,
    .blank = blanks,
    .data = mot_page_curves,
    .policy = "; connect-src 'self'",
    .foot = "It contacts nothing but the motley that it came from." };

enum mot_status mot_scene_page(struct mot_scene *v, FILE *out, uint64_t *version)
{
    json_t *document;
    enum mot_status status = mot_scene_study(v, &document, version);
    if (status == MOT_OK && !document) document = run_document(v, version);
    if (status == MOT_OK) status = mot_page_print(&of_what_goes_on, document, out);
    json_decref(document);
    return status;
}
