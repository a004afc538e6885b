/* about.c -- from a resolved experiment to the words at the head of its page. */
#include "study/about.h"

#include "base/memory.h"
#include "base/words.h"
#include "config/experiment.h"
#include "config/print.h"
#include "config/yaml.h"
#include "report/json.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME 64

/* ---- Reading the experiment --------------------------------------------------------------------------- */

static const char *text_at(const struct mot_yaml *map, const char *key)
{
    const struct mot_yaml *value = mot_yaml_get(map, key);
    return value && value->kind == MOT_YAML_SCALAR ? value->text : "";
}

/* Whether an arm or a condition sets the key, or a part of it if `parts`. */
static bool is_set(const json_t *document, const char *key, bool parts)
{
    static const char *const sides[] = { "arms", "conditions" };
    size_t n = strlen(key), i;
    for (size_t s = 0; s < MOT_COUNT(sides); s++) {
        const json_t *side;
        const char *set;
        json_t *value;
        json_array_foreach(mot_json_get_list(document, sides[s]), i, side)
            json_object_foreach(json_object_get(side, "settings"), set,
                value) if (strncmp(set, key, n) == 0 && (!set[n] || (parts && set[n] == '.'))) return true;
    }
    return false;
}

/* ---- Data, model, cluster ---------- */

/* "Fashion-MNIST", "digits", "sales.csv". */
static void put_data(const struct mot_yaml *data, FILE *out)
{
    const char *name = text_at(data, "name"), *path = text_at(data, "path"), *slash = strrchr(path, '/');
    if (*path && strcmp(path, "none") != 0) fputs(slash ? slash + 1 : path, out);
    else if (strcmp(name, "fashion-mnist") == 0) fputs("Fashion-MNIST", out);
    else if (strcmp(name, "mnist") == 0) fputs("MNIST", out);
    else if (strncmp(name, "cifar", 5) == 0) fprintf(out, "CIFAR%s", name + 5);
    else if (strcmp(name, "synthetic") == 0)
        fprintf(out, "synthetic %s, %s rows", text_at(data, "kind"), text_at(data, "size"));
    else fputs(name, out);
}

/* "MLP 128-64", "softmax regression", "resnet8". */
static void put_model(const struct mot_yaml *model, FILE *out)
{
    const char *name = text_at(model, "name");
    const struct mot_yaml *hidden = mot_yaml_get(model, "hidden");
    if (strcmp(name, "softmax") == 0 || strcmp(name, "logistic") == 0) fprintf(out, "%s regression", name);
    else if (strcmp(name, "mlp") == 0) fputs("MLP", out);
    else fputs(name, out);
    if (!hidden) return;
    if (hidden->kind == MOT_YAML_SCALAR) fprintf(out, " %s", hidden->text);
    for (const struct mot_yaml *h = hidden->first; h; h = h->next)
        fprintf(out, "%s%s", h == hidden->first ? " " : "-", h->text ? h->text : "");
}

/* "8 workers (6 fast, 2 slow)": a name need not be an adjective. Groups of one name count together. */
static void put_workers(const struct mot_yaml *cluster, const char *workers, FILE *out)
{
    struct {
        const char *name;
        unsigned long count;
    } group[8];
    size_t groups = 0;
    bool named = true;
    const struct mot_yaml *list = mot_yaml_get(cluster, "workers");
    for (const struct mot_yaml *w = list && list->kind == MOT_YAML_LIST ? list->first : NULL; w;
         w = w->next) {
        size_t g = 0;
        const char *name = text_at(w, "name");
        named &= *name && strcmp(name, "none") != 0;
        while (g < groups && strcmp(group[g].name, name) != 0) g++;
        if (g == MOT_COUNT(group)) groups = g, named = false;
        if (!named) break;
        if (g == groups) group[groups++].name = name, group[g].count = 0;
        group[g].count += strtoul(text_at(w, "count"), NULL, 10);
    }
    fprintf(out, "%s worker%s", workers, strcmp(workers, "1") == 0 ? "" : "s");
    for (size_t g = 0; named && g < groups; g++)
        if (groups > 1) fprintf(out, "%s%lu %s", g ? ", " : " (", group[g].count, group[g].name);
        else fprintf(out, " (%s", group[g].name);
    if (named && groups) fputc(')', out);
}

/* "1,000/s", "20 Mbit/s", "100 us": a value of the experiment as people write it, or as it is. */
static void put_value(const char *key, const char *text, FILE *out)
{
    char shown[NAME];
    double value;
    uint64_t ns;
    bool is_speed = strcmp(key, "speed") == 0, is_latency = strcmp(key, "latency") == 0;
    if (is_speed && mot_read_rate(text, &value)) {
        fprintf(out, "%s/s", mot_show_rate(value, shown, sizeof shown));
    } else if (is_latency && mot_read_time(text, &ns) && ns > 0) {
        double us = (double)ns / 1000;
        if (us >= 1e6) fprintf(out, "%.6g s", us / 1e6);
        else if (us >= 1e3) fprintf(out, "%.6g ms", us / 1e3);
        else fprintf(out, "%.6g us", us);
    } else if (!is_speed && !is_latency && mot_read_bandwidth(text, &value)) {
        fputs(mot_show_bandwidth(value, shown, sizeof shown), out);
    } else {
        fputs(text, out);
    }
}

/* "6 fast: speed 1,000/s, up 1 Gbit/s, down 1 Gbit/s, latency 100 us": what tells the groups apart. */
static void put_machines(const struct mot_yaml *cluster, FILE *out)
{
    static const char *const keys[] = { "speed", "up", "down", "latency" };
    const struct mot_yaml *list = mot_yaml_get(cluster, "workers");
    size_t shown = 0;
    for (const struct mot_yaml *w = list && list->kind == MOT_YAML_LIST ? list->first : NULL; w;
         w = w->next) {
        if (shown++ == 12) {
            fputs("; \u2026", out);
            return;
        }
        const char *name = text_at(w, "name"), *straggle = text_at(mot_yaml_get(w, "straggle"), "name"),
                   *jitter = text_at(mot_yaml_get(w, "jitter"), "name");
        fprintf(out, "%s%s%s%s:", shown > 1 ? "; " : "", text_at(w, "count"), *name ? " " : "", name);
        for (size_t i = 0; i < MOT_COUNT(keys); i++)
            if (*text_at(w, keys[i])) {
                fprintf(out, "%s %s ", i ? "," : "", keys[i]);
                put_value(keys[i], text_at(w, keys[i]), out);
            }
        if (*jitter && strcmp(jitter, "fixed") != 0) fprintf(out, ", jitter %s", jitter);
        if (*straggle && strcmp(straggle, "none") != 0) fprintf(out, ", straggles (%s)", straggle);
    }
}

/* ---- Settings that are not the defaults ---------- */

struct flat {
    struct {
        char *key, *value;
    } * entry;
    size_t n, room;
};

static void flatten(const struct mot_yaml *node, const char *path, struct flat *out)
{
    char *value = mot_text(node->text ? node->text : "");
    for (const struct mot_yaml *each = node->first; each; each = each->next) {
        if (node->kind == MOT_YAML_MAP) {
            char *deeper = mot_format("%s%s%s", path, *path ? "." : "", each->key);
            flatten(each, deeper, out);
            free(deeper);
        } else if (each->kind == MOT_YAML_SCALAR) {
            char *longer = mot_format("%s%s%s", value, *value ? ", " : "", each->text);
            free(value);
            value = longer;
        }
    }
    if (node->kind == MOT_YAML_MAP || (node->kind == MOT_YAML_LIST && !*value)) {
        free(value);
        return;
    }
    if (out->n == out->room) {
        out->room = out->room ? 2 * out->room : 128;
        out->entry = mot_grow(out->entry, out->room, sizeof(*out->entry));
    }
    out->entry[out->n].key = mot_text(path);
    out->entry[out->n++].value = value;
}

static void flat_free(struct flat *f)
{
    for (size_t i = 0; i < f->n; i++) free(f->entry[i].key), free(f->entry[i].value);
    free(f->entry);
}

static const char *const choices[] = { "data", "model", "method", "optimizer", "partition" };

/* The defaults of an experiment with the same choices as `root`; with a NULL root, what motley chooses. */
static void flatten_defaults(const struct mot_yaml *root, struct mot_arena *arena, struct flat *out)
{
    struct mot_setting setting[MOT_COUNT(choices) + 2];
    size_t n = 0, size;
    for (size_t i = 0; i < MOT_COUNT(choices); i++) {
        const char *name = text_at(mot_yaml_get(root, choices[i]), "name");
        if (*name) setting[n++] = (struct mot_setting){ choices[i], name, "--set" };
    }
    setting[n++] = (struct mot_setting){ "output", "none", "--set" };
    setting[n++] = (struct mot_setting){ "sim.threads", "1", "--set" };
    struct mot_experiment *x;
    struct mot_yaml *defaults = NULL;
    char *text = NULL;
    if (mot_experiment_open_run(NULL, NULL, 0, setting, n, &x) != MOT_OK) return;
    FILE *to = open_memstream(&text, &size);
    if (to) mot_experiment_print(x, to);
    if (to) fclose(to);
    mot_experiment_close(x);
    if (text && mot_yaml_parse("defaults", false, text, strlen(text), arena, &defaults) == MOT_OK)
        flatten(defaults, "", out);
    free(text);
}

static bool has_entry(const struct flat *f, const char *key, const char *value)
{
    size_t k = 0;
    while (k < f->n && strcmp(f->entry[k].key, key) != 0) k++;
    return k < f->n && strcmp(f->entry[k].value, value) == 0;
}

/* What the head says already, and what the user did not choose. */
static bool is_said(const char *key)
{
    static const char *const said[] = { "seed", "workers", "data.name", "data.path", "model.name",
        "model.hidden", "output", "sim.threads", "cluster" };
    for (size_t i = 0; i < MOT_COUNT(said); i++) {
        size_t n = strlen(said[i]);
        if (strncmp(key, said[i], n) == 0 && (!key[n] || key[n] == '.')) return true;
    }
    return false;
}

/* "method" for "method.name", if that is one of the choices; else NULL. */
static const char *choice_of(const char *key)
{
    for (size_t i = 0; i < MOT_COUNT(choices); i++) {
        size_t n = strlen(choices[i]);
        if (strncmp(key, choices[i], n) == 0 && strcmp(key + n, ".name") == 0) return choices[i];
    }
    return NULL;
}

/* A method has options with defaults of its own: these are compared with the method's, the method with the
 * one that motley chooses. */
static json_t *settings_json(const struct mot_yaml *root, const json_t *document, struct mot_arena *arena)
{
    json_t *list = json_array();
    struct flat mine = { 0 }, usual = { 0 }, chosen = { 0 };
    flatten_defaults(NULL, arena, &chosen);
    flatten_defaults(root, arena, &usual);
    flatten(root, "", &mine);
    for (size_t i = 0; i < mine.n; i++) {
        const char *key = mine.entry[i].key, *value = mine.entry[i].value, *choice = choice_of(key);
        bool same = has_entry(choice ? &chosen : &usual, key, value);
        if (same || is_said(key) || is_set(document, key, true)) continue;
        if (choice && is_set(document, choice, false)) continue;
        if (strncmp(key, "method.", 7) == 0 && is_set(document, "method", false)) continue;
        json_array_append_new(
            list, json_pack("[o, o]", mot_json_text(choice ? choice : key), mot_json_text(value)));
    }
    flat_free(&mine);
    flat_free(&usual);
    flat_free(&chosen);
    return list;
}

/* ---- The whole ---------- */

static json_t *taken(char *text) /* frees it */
{
    json_t *value = text && *text ? mot_json_text(text) : json_null();
    free(text);
    return value;
}

static json_t *about_json(const char *experiment, const json_t *document, bool with_settings)
{
    struct mot_arena arena = { 0 };
    struct mot_yaml *root = NULL;
    json_t *about = json_object();
    if (!experiment ||
        mot_yaml_parse("experiment", false, experiment, strlen(experiment), &arena, &root) != MOT_OK)
        root = NULL;
    const struct mot_yaml *data = mot_yaml_get(root, "data"), *model = mot_yaml_get(root, "model"),
                          *cluster = mot_yaml_get(root, "cluster");
    const char *workers = text_at(root, "workers");
    char *text[4] = { NULL }, *head = NULL;
    size_t n, used = 0;
    FILE *out[4];
    for (size_t i = 0; i < 4; i++) {
        if ((out[i] = open_memstream(&text[i], &n))) continue;
        while (i--) fclose(out[i]), free(text[i]);
        mot_arena_free(&arena);
        return about;
    }
    if (data && !is_set(document, "data", false) && !is_set(document, "data.name", false) &&
        !is_set(document, "data.path", false))
        put_data(data, out[0]);
    if (model && !is_set(document, "model", false) && !is_set(document, "model.name", false) &&
        !is_set(document, "model.hidden", false))
        put_model(model, out[1]);
    if (*workers && !is_set(document, "workers", false) && !is_set(document, "cluster", false) &&
        !is_set(document, "cluster.workers", true))
        put_workers(cluster, workers, out[2]);
    if (!is_set(document, "cluster", true)) put_machines(cluster, out[3]);
    for (size_t i = 0; i < 4; i++) fclose(out[i]);
    FILE *all = open_memstream(&head, &n);
    for (size_t i = 0; all && i < 3; i++)
        if (*text[i]) fprintf(all, "%s%s", used++ ? " \u00b7 " : "", text[i]);
    if (all) fclose(all);
    json_object_set_new(about, "head", taken(all ? head : mot_text("")));
    json_object_set_new(about, "data", taken(text[0]));
    json_object_set_new(about, "model", taken(text[1]));
    json_object_set_new(about, "workers", taken(text[2]));
    json_object_set_new(about, "cluster", taken(text[3]));
    if (with_settings)
        json_object_set_new(about, "settings", root ? settings_json(root, document, &arena) : json_array());
    mot_arena_free(&arena);
    return about;
}

json_t *mot_about_json(const char *experiment, const json_t *document)
{
    return about_json(experiment, document, true);
}

json_t *mot_about_words(const char *experiment, const json_t *document)
{
    return about_json(experiment, document, false);
}
