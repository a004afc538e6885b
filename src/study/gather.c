/* gather.c -- from run folders to a study.
 *
 * Each run's resolved experiment becomes a list of keys and values, without the seed and without what says
 * nothing about the result (where it was written, how many threads it had). Runs with the same list are one
 * arm. */
#include "study/gather.h"

#include "base/file.h"
#include "base/json_text.h"
#include "config/yaml.h"
#include "run/drivers.h"
#include "study/gather_parts.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- One run ------------------------------------------------------------------------------- */

static bool says_nothing(const char *key)
{
    static const char *const keys[] = { "seed", "output", "trace", "sim.threads", "sim.overcommit",
        "checkpoint.every" };
    for (size_t i = 0; i < MOT_COUNT(keys); i++)
        if (strcmp(keys[i], key) == 0) return true;
    return false;
}

/* A list of plain values as one text. */
static const char *list_text(const struct mot_yaml *list, struct mot_arena *arena)
{
    char *text = mot_text("[");
    for (const struct mot_yaml *each = list->first; each; each = each->next) {
        char *more = mot_format("%s%s%s", text, each == list->first ? "" : ", ", each->text);
        free(text);
        text = more;
    }
    const char *closed = mot_arena_take(arena, mot_format("%s]", text));
    free(text);
    return closed;
}

static void put_entry(struct layout *l, const char *key, const char *value)
{
    if (l->n == l->room)
        l->entry = mot_grow(l->entry, l->room = l->room ? 2 * l->room : 128, sizeof *l->entry);
    l->entry[l->n++] = (struct entry){ key, value };
}

static void lay_out(struct layout *l, const struct mot_yaml *node, const char *key, struct mot_arena *arena)
{
    bool plain = node->kind == MOT_YAML_SCALAR;
    if (node->kind == MOT_YAML_LIST) {
        plain = true;
        for (const struct mot_yaml *each = node->first; each; each = each->next)
            plain &= each->kind == MOT_YAML_SCALAR;
    }
    if (plain) {
        if (says_nothing(key)) return;
        put_entry(l, key, node->kind == MOT_YAML_LIST ? list_text(node, arena) : node->text);
        return;
    }
    size_t place = 0;
    for (const struct mot_yaml *each = node->first; each; each = each->next, place++) {
        char *name = node->kind == MOT_YAML_LIST ? mot_format("%s[%zu]", key, place)
            : *key                               ? mot_format("%s.%s", key, each->key)
                                                 : mot_text(each->key);
        lay_out(l, each, mot_arena_take(arena, name), arena);
    }
}

static enum mot_status read_summary(const char *folder, struct found *f, struct mot_arena *arena)
{
    char *path = mot_path_join(folder, "summary.json");
    json_t *summary;
    enum mot_status status = mot_json_read(path, MOT_EDATA, &summary);
    const json_t *driver = json_object_get(summary, "driver"), *seed = json_object_get(summary, "seed");
    if (status != MOT_OK) {
        free(path);
        return status;
    }
    if (!json_is_string(driver) || !json_is_integer(seed) ||
        !json_is_string(json_object_get(summary, "status")))
        status =
            mot_fail(MOT_EDATA, "%s: damaged: expected a run's summary with driver, seed and status", path);
    else {
        f->seed = (uint64_t)json_integer_value(seed);
        f->driver = mot_arena_text(arena, json_string_value(driver));
    }
    json_decref(summary);
    free(path);
    return status;
}

static bool has(const char *folder, const char *name)
{
    char *path = mot_path_join(folder, name);
    bool there = mot_file_exists(path);
    free(path);
    return there;
}

static bool is_run(const char *folder)
{
    return has(folder, "experiment.yaml") || has(folder, "summary.json") || has(folder, "metrics.jsonl");
}

static enum mot_status read_run(const char *folder, struct found *f, struct mot_arena *arena)
{
    if (!has(folder, "summary.json"))
        return mot_fail(MOT_EDATA, "%s: this run has not ended: there is no summary.json%s", folder,
            has(folder, "checkpoint.bin") ? "; --resume continues it" : "");
    if (!has(folder, "experiment.yaml"))
        return mot_fail(MOT_EDATA, "%s: this run has no experiment.yaml, which says what was run", folder);
    *f = (struct found){ .folder = mot_arena_text(arena, folder) };
    enum mot_status status = read_summary(folder, f, arena);
    if (status != MOT_OK) return status;
    char *path = mot_path_join(folder, "experiment.yaml");
    status = mot_yaml_read(path, arena, &f->experiment);
    free(path);
    if (status != MOT_OK) return status;
    lay_out(&f->layout, f->experiment, "", arena);
    put_entry(&f->layout, "driver", f->driver);
    return MOT_OK;
}

/* ---- All runs ------------------------------------------------------------------------------- */

static enum mot_status add_run(struct finds *all, const char *folder)
{
    struct stat info = { 0 };
    (void)stat(folder, &info);
    for (size_t i = 0; i < all->n; i++)
        if (all->found[i].device == info.st_dev && all->found[i].number == info.st_ino)
            return mot_fail(MOT_EUSAGE, "%s: named twice", folder);
    if (all->n == all->room)
        all->found = mot_grow(all->found, all->room = all->room ? 2 * all->room : 32, sizeof *all->found);
    all->found[all->n] = (struct found){ 0 };
    enum mot_status status = read_run(folder, &all->found[all->n], all->arena);
    all->found[all->n].device = info.st_dev;
    all->found[all->n].number = info.st_ino;
    all->n++;
    return status;
}

static int is_named(const struct dirent *entry) { return entry->d_name[0] != '.'; }

/* The runs in a folder, in the order of their names: run-2 before run-10. */
static enum mot_status add_folder(struct finds *all, const char *folder)
{
    struct dirent **entry;
    int n = scandir(folder, &entry, is_named, versionsort);
    if (n < 0)
        return mot_fail(errno == ENOENT || errno == ENOTDIR ? MOT_EUSAGE : MOT_ESYSTEM,
            "%s: %s; expected a run's folder", folder, strerror(errno));
    enum mot_status status = MOT_OK;
    size_t before = all->n;
    for (int i = 0; i < n; i++) {
        char *path = mot_path_join(folder, entry[i]->d_name);
        if (status == MOT_OK && is_run(path)) status = add_run(all, path);
        free(path);
        free(entry[i]);
    }
    free(entry);
    if (status == MOT_OK && all->n == before)
        return mot_fail(MOT_EUSAGE,
            "%s: not a run: expected a folder with experiment.yaml, "
            "metrics.jsonl and summary.json, or a folder of such folders",
            folder);
    return status;
}

bool mot_holds_runs(const char *folder)
{
    if (is_run(folder)) return true;
    struct dirent **entry;
    bool found = false;
    int n = scandir(folder, &entry, is_named, NULL);
    for (int i = 0; i < n; i++) {
        char *path = mot_path_join(folder, entry[i]->d_name);
        found = found || is_run(path);
        free(path);
        free(entry[i]);
    }
    if (n >= 0) free(entry);
    return found;
}

static bool same_arm(const struct layout *a, const struct layout *b)
{
    if (a->n != b->n) return false;
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->entry[i].key, b->entry[i].key) != 0 ||
            strcmp(a->entry[i].value, b->entry[i].value) != 0)
            return false;
    return true;
}

static void group_arms(struct finds *all)
{
    all->arms = 0;
    for (size_t i = 0; i < all->n; i++) {
        struct found *f = &all->found[i];
        size_t arm = 0;
        while (arm < all->arms && !same_arm(&all->found[all->arm[arm]].layout, &f->layout)) arm++;
        if (arm == all->arms) all->arm[all->arms++] = i;
        f->arm = (uint32_t)arm;
    }
}

/* Whether a second run of the same experiment and seed is worth having: on real machines no two are
 * alike. */
static bool is_live(const struct found *f)
{
    const struct mot_driver *driver = mot_driver_named(f->driver);
    return driver && driver->live;
}

/* Numbers the runs of each experiment and seed, in the order they were named. */
static enum mot_status number_repeats(struct finds *all, bool *repeated)
{
    for (size_t i = 0; i < all->n; i++) {
        struct found *f = &all->found[i];
        f->repeat = 1;
        for (size_t k = 0; k < i; k++) {
            if (all->found[k].arm != f->arm || all->found[k].seed != f->seed) continue;
            if (!is_live(f))
                return mot_fail(MOT_EUSAGE,
                    "%s and %s: the same experiment with the same seed %llu; expected each seed once",
                    all->found[k].folder, f->folder, (unsigned long long)f->seed);
            f->repeat++;
            repeated[f->arm] = true;
        }
    }
    return MOT_OK;
}

/* Runs are paired by seed, so an arm has each seed once and repeats are arms of their own. */
static enum mot_status find_arms(struct finds *all)
{
    all->arm = mot_arena_new(all->arena, (all->n + 1) * sizeof *all->arm);
    bool *repeated = mot_arena_new(all->arena, (all->n + 1) * sizeof *repeated);
    group_arms(all);
    enum mot_status status = number_repeats(all, repeated);
    for (size_t i = 0; i < all->n && status == MOT_OK; i++) {
        struct found *f = &all->found[i];
        if (!repeated[f->arm]) continue;
        put_entry(&f->layout, "repeat", mot_arena_take(all->arena, mot_format("%u", f->repeat)));
    }
    group_arms(all);
    return status;
}

static void fill_study(struct finds *all, const char *command, struct mot_study *s)
{
    struct mot_study_side *arm = mot_arena_new(all->arena, all->arms * sizeof *arm),
                          *condition = mot_arena_new(all->arena, sizeof *condition);
    struct mot_study_run *run = mot_arena_new(all->arena, all->n * sizeof *run);
    mot_name_arms(all, arm);
    condition->name = "";
    for (size_t i = 0; i < all->n; i++)
        run[i] = (struct mot_study_run){
            .arm = all->found[i].arm, .seed = all->found[i].seed, .folder = all->found[i].folder
        };
    *s = (struct mot_study){ .command = mot_arena_text(all->arena, command),
        .experiment = mot_shared_yaml(all),
        .arm = arm,
        .arms = all->arms,
        .condition = condition,
        .conditions = 1,
        .run = run,
        .runs = all->n };
    const char *slash = strrchr(all->found[0].folder, '/');
    char *title = all->n == 1 ? mot_text(slash && slash[1] ? slash + 1 : all->found[0].folder)
                              : mot_format("%zu runs", all->n);
    s->title = mot_arena_take(all->arena, title);
}

enum mot_status mot_gather(
    const char *const *folder, size_t folders, const char *command, struct mot_gathered **out)
{
    struct mot_gathered *g = mot_new(1, sizeof *g);
    struct finds all = { .arena = &g->arena };
    enum mot_status status = MOT_OK;
    for (size_t i = 0; i < folders && status == MOT_OK; i++)
        status = is_run(folder[i]) ? add_run(&all, folder[i]) : add_folder(&all, folder[i]);
    if (status == MOT_OK) status = find_arms(&all);
    if (status == MOT_OK) fill_study(&all, command, &g->study);
    for (size_t i = 0; i < all.n; i++) free(all.found[i].layout.entry);
    free(all.found);
    if (status == MOT_OK) *out = g;
    else mot_gathered_close(g);
    return status;
}

void mot_gathered_close(struct mot_gathered *g)
{
    if (!g) return;
    mot_arena_free(&g->arena);
    free(g);
}
