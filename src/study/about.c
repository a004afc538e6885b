/* about.c -- from a resolved experiment to the words at the head of its page. */
#include "study/about.h"

#include "base/memory.h"
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

/* "6 fast and 2 slow workers"; groups of one name count together. */
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
    if (!named || groups == 0) {
        fprintf(out, "%s worker%s", workers, strcmp(workers, "1") == 0 ? "" : "s");
        return;
    }
    if (groups == 1) {
        fprintf(out, "%lu worker%s (%s)", group[0].count, group[0].count == 1 ? "" : "s", group[0].name);
        return;
    }
    for (size_t g = 0; g < groups; g++)
        fprintf(out, "%s%lu %s",
            g == 0               ? ""
                : g + 1 < groups ? ", "
                                 : " and ",
            group[g].count, group[g].name);
    fprintf(out, " worker%s", strcmp(workers, "1") == 0 ? "" : "s");
}

/* "6 fast: 1k/s, up 1Gbit, down 1Gbit, latency 100us": what tells the groups apart. */
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
            if (*text_at(w, keys[i])) fprintf(out, "%s %s %s", i ? "," : "", keys[i], text_at(w, keys[i]));
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

/* The defaults of an experiment with the same data, model, method, optimizer and partition. */
static char *defaults_of(const struct mot_yaml *root)
{
    static const char *const choices[] = { "data", "model", "method", "optimizer", "partition" };
    struct mot_setting setting[MOT_COUNT(choices) + 2];
    size_t n = 0, size;
    for (size_t i = 0; i < MOT_COUNT(choices); i++) {
        const char *name = text_at(mot_yaml_get(root, choices[i]), "name");
        if (*name) setting[n++] = (struct mot_setting){ choices[i], name, "--set" };
    }
    setting[n++] = (struct mot_setting){ "output", "none", "--set" };
    setting[n++] = (struct mot_setting){ "sim.threads", "1", "--set" };
    struct mot_experiment *x;
    char *text = NULL;
    if (mot_experiment_open_run(NULL, NULL, 0, setting, n, &x) != MOT_OK) return NULL;
    FILE *out = open_memstream(&text, &size);
    if (out) mot_experiment_print(x, out);
    if (out) fclose(out);
    mot_experiment_close(x);
    return text;
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

static json_t *settings_json(const struct mot_yaml *root, const json_t *document, struct mot_arena *arena)
{
    json_t *list = json_array();
    struct flat mine = { 0 }, usual = { 0 };
    struct mot_yaml *other = NULL;
    char *text = defaults_of(root);
    if (text && mot_yaml_parse("defaults", false, text, strlen(text), arena, &other) == MOT_OK)
        flatten(other, "", &usual);
    flatten(root, "", &mine);
    for (size_t i = 0; i < mine.n; i++) {
        const char *key = mine.entry[i].key, *value = mine.entry[i].value;
        size_t k = 0;
        while (k < usual.n && strcmp(usual.entry[k].key, key) != 0) k++;
        bool same = k < usual.n && strcmp(usual.entry[k].value, value) == 0;
        if (same || is_said(key) || is_set(document, key, true)) continue;
        if (strncmp(key, "method.", 7) == 0 && is_set(document, "method", false)) continue;
        json_array_append_new(list, json_pack("[o, o]", mot_json_text(key), mot_json_text(value)));
    }
    flat_free(&mine);
    flat_free(&usual);
    free(text);
    return list;
}

/* ---- The whole ---------- */

static json_t *taken(char *text) /* frees it */
{
    json_t *value = text && *text ? mot_json_text(text) : json_null();
    free(text);
    return value;
}

json_t *mot_about_json(const char *experiment, const json_t *document)
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
    json_object_set_new(about, "settings", root ? settings_json(root, document, &arena) : json_array());
    mot_arena_free(&arena);
    return about;
}
