#include "study/plan.h"
#include "base/file.h"
#include "base/words.h"
#include "config/read.h"
#include "study/values.h"
#include <stdlib.h>
#include <string.h>

#define SEEDS_PRESET "10"
#define TUNE_SEEDS_PRESET "3"
#define TUNE_SEED_FIRST 1001
#define TOGETHER "together"

const char *const mot_tune_by_names[] = { "time_to_target", "test_accuracy", "train_loss", "grad_norm",
    NULL };

struct planner {
    struct mot_study_plan *plan;
    const struct mot_plan_flags *flags;
    struct mot_arena *arena;
    struct mot_yaml_reader reader;
    const struct mot_yaml *compare, *sweep, *tune; /* NULL where the file has none */
    uint64_t seed;                                 /* the experiment's own, from which seeds are counted */
};

/* ---- Sides ------------------------------------------------------------------------------------ */

static void add_setting(
    struct planner *p, struct mot_study_side *side, const char *key, const char *value, const char *origin)
{
    struct mot_study_setting *more = mot_arena_new(p->arena, (side->settings + 1) * sizeof(*more));
    if (side->settings) memcpy(more, side->setting, side->settings * sizeof(*more));
    more[side->settings++] = (struct mot_study_setting){ key, value, origin };
    side->setting = more;
}

static enum mot_status add_arm(struct planner *p, const struct mot_study_side *arm, const char *origin)
{
    struct mot_study_plan *plan = p->plan;
    for (size_t i = 0; i < plan->arms; i++)
        if (strcmp(plan->arm[i].name, arm->name) == 0)
            return mot_fail(MOT_EUSAGE,
                "%s: expected each arm to have its own name; found '%.60s' twice: give one a label", origin,
                arm->name);
    if (plan->arms == MOT_ARMS_MAX)
        return mot_fail(MOT_EUSAGE, "%s: expected at most %d arms; found more", origin, MOT_ARMS_MAX);
    plan->arm[plan->arms++] = *arm;
    return MOT_OK;
}

static enum mot_status add_method(struct planner *p, const struct mot_yaml *node)
{
    const char *origin = mot_yaml_where(node, p->arena);
    if (node->kind == MOT_YAML_LIST || (node->kind == MOT_YAML_SCALAR && !*node->text) ||
        (node->kind == MOT_YAML_MAP && !mot_yaml_get(node, "name")))
        return mot_fail(MOT_EUSAGE,
            "%s: method: expected a name or a map such as {name: server, k: 6}; found %s", origin,
            mot_yaml_found(node, p->arena));
    struct mot_study_side arm = { .name = mot_value_label(node, p->arena) };
    add_setting(p, &arm, "method", mot_value_text(node, p->arena), origin);
    return add_arm(p, &arm, origin);
}

static enum mot_status add_methods(struct planner *p, const struct mot_yaml *list, const char *key)
{
    const char *where = mot_yaml_where(list, p->arena);
    if (list->kind != MOT_YAML_LIST)
        return mot_fail(MOT_EUSAGE, "%s: %s: expected a list of methods; found %s", where, key,
            mot_yaml_found(list, p->arena));
    if (list->count == 0)
        return mot_fail(MOT_EUSAGE, "%s: %s: expected at least one method; found an empty list", where, key);
    enum mot_status status = MOT_OK;
    for (const struct mot_yaml *child = list->first; child && status == MOT_OK; child = child->next)
        status = add_method(p, child);
    return status;
}

/* The label of a map of keys: "server k=6, optimizer.lr=0.2". */
static const char *label_of(struct planner *p, const struct mot_yaml *map)
{
    const char *label = "";
    for (const struct mot_yaml *child = map->first; child; child = child->next) {
        if (strcmp(child->key, "label") == 0) continue;
        const char *value = mot_value_label(child, p->arena), *between = *label ? ", " : "";
        bool method = strcmp(child->key, "method") == 0;
        label = mot_arena_take(p->arena,
            method ? mot_format("%s%s%s", label, between, value)
                   : mot_format("%s%s%s=%s", label, between, child->key, value));
    }
    return label;
}

/* Whether a dotted key is this one or inside it. */
static bool is_below(const char *key, const char *section)
{
    size_t n = strlen(section);
    return strncmp(key, section, n) == 0 && (key[n] == 0 || key[n] == '.');
}

/* A key that decides which runs there are cannot be set inside a run. */
static enum mot_status check_key(const struct mot_yaml *node, const char *where)
{
    if (strcmp(node->key, "seed") == 0)
        return mot_fail(
            MOT_EUSAGE, "%s: seed: all arms share the same seeds: set them in sweep, or with --seeds", where);
    if (strcmp(node->key, "output") == 0)
        return mot_fail(
            MOT_EUSAGE, "%s: output: the runs of a study go into its store: see --store and --out", where);
    static const char *const sections[] = { "compare", "sweep", "tune" };
    for (size_t i = 0; i < MOT_COUNT(sections); i++)
        if (is_below(node->key, sections[i]))
            return mot_fail(
                MOT_EUSAGE, "%s: %s: expected a key of a run; found one of the study", where, node->key);
    return MOT_OK;
}

/* {label: twin, method: async, optimizer.lr: 0.2} */
static enum mot_status add_by_hand(struct planner *p, const struct mot_yaml *node)
{
    const char *origin = mot_yaml_where(node, p->arena);
    const struct mot_yaml *label = mot_yaml_get(node, "label");
    if (node->kind == MOT_YAML_SCALAR) return add_method(p, node);
    if (node->kind != MOT_YAML_MAP || node->count == 0)
        return mot_fail(MOT_EUSAGE,
            "%s: compare: expected a method's name, or a map such as {label: six, method: {name: server, k: "
            "6}}; found %s",
            origin, mot_yaml_found(node, p->arena));
    if (mot_yaml_get(node, "name"))
        return mot_fail(MOT_EUSAGE,
            "%s: compare: expected keys of an experiment; found 'name': write {method: %s}", origin,
            mot_value_text(node, p->arena));
    if (label && (label->kind != MOT_YAML_SCALAR || !*label->text))
        return mot_read_fail(
            &p->reader, label, "compare.label", "expected a name; found %s", mot_yaml_found(label, p->arena));
    for (const char *c = label ? label->text : ""; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            return mot_read_fail(
                &p->reader, label, "compare.label", "expected a name on one line; found a control character");
    struct mot_study_side arm = { .name = label ? label->text : label_of(p, node) };
    for (const struct mot_yaml *child = node->first; child; child = child->next) {
        const char *where = mot_yaml_where(child, p->arena);
        if (child == label) continue;
        enum mot_status status = check_key(child, where);
        if (status != MOT_OK) return status;
        add_setting(p, &arm, child->key, mot_value_text(child, p->arena), where);
    }
    return add_arm(p, &arm, origin);
}

/* ---- Arms ---------------------------------------------------------------------------------------- */

static enum mot_status arms_from_flags(struct planner *p)
{
    enum mot_status status = MOT_OK;
    for (size_t i = 0; i < p->flags->methods_n && status == MOT_OK; i++) {
        struct mot_yaml *list;
        status = mot_methods_read("--methods", p->flags->methods[i], p->arena, &list);
        if (status == MOT_OK) status = add_methods(p, list, "methods");
    }
    return status;
}

static enum mot_status arms_by_hand(struct planner *p)
{
    const struct mot_yaml *list = p->compare;
    if (list->kind != MOT_YAML_LIST || list->count == 0)
        return mot_read_fail(&p->reader, list, "compare", "expected a list of arms to compare; found %s",
            list->kind == MOT_YAML_LIST ? "an empty list" : mot_yaml_found(list, p->arena));
    enum mot_status status = MOT_OK;
    for (const struct mot_yaml *child = list->first; child && status == MOT_OK; child = child->next)
        status = add_by_hand(p, child);
    return status;
}

/* --methods overrides the file; without either, the experiment's own method is the only arm. */
static enum mot_status read_arms(struct planner *p)
{
    const struct mot_yaml *swept = mot_yaml_get(p->sweep, "method");
    p->plan->arm = mot_arena_new(p->arena, MOT_ARMS_MAX * sizeof(*p->plan->arm));
    if (p->flags->methods_n) return arms_from_flags(p);
    if (p->compare && swept)
        return mot_read_fail_key(&p->reader, swept, "sweep.method",
            "expected the arms in one place; found them here and under compare");
    if (p->compare) return arms_by_hand(p);
    if (swept) return add_methods(p, swept, "sweep.method");
    /* named once the experiment is known */
    p->plan->arm[p->plan->arms++] = (struct mot_study_side){ .name = "" };
    return MOT_OK;
}

/* The arm that --against names goes first: the others are compared with the first. */
static enum mot_status put_baseline_first(struct planner *p)
{
    struct mot_study_plan *plan = p->plan;
    const char *wanted = p->flags->against, *names[MOT_ARMS_MAX];
    if (!wanted) return MOT_OK;
    for (size_t i = 0; i < plan->arms; i++) {
        names[i] = plan->arm[i].name;
        if (strcmp(names[i], wanted) != 0) continue;
        struct mot_study_side first = plan->arm[i];
        memmove(plan->arm + 1, plan->arm, i * sizeof(first));
        plan->arm[0] = first;
        return MOT_OK;
    }
    const char *near = mot_nearest(wanted, names, plan->arms);
    return mot_fail(MOT_EUSAGE, "--against: expected the name of an arm; found '%.60s'%s%s%s", wanted,
        near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* ---- Conditions ------------------------------------------------------------------------------------ */

/* What one entry of the sweep changes: a key, or under `together` several at once. */
struct swept {
    struct mot_axis axis;
    const struct mot_yaml *map; /* together: the first of the maps; NULL: a single key */
};

static void add_swept(
    struct planner *p, struct mot_study_side *side, const char *key, const char *value, const char *place)
{
    add_setting(p, side, key, value, place);
    side->name =
        mot_arena_take(p->arena, mot_format("%s%s%s=%s", side->name, *side->name ? ", " : "", key, value));
}

/* Every combination; the last key changes fastest. */
static enum mot_status combine(struct planner *p, const struct swept *swept, size_t axes)
{
    struct mot_study_plan *plan = p->plan;
    size_t all = 1;
    for (size_t i = 0; i < axes; i++) {
        all *= swept[i].axis.values;
        if (all > MOT_CONDITIONS_MAX)
            return mot_fail(MOT_EUSAGE, "%s: sweep: expected at most %d combinations; found %zu or more",
                swept[i].axis.origin, MOT_CONDITIONS_MAX, all);
    }
    plan->condition = mot_arena_new(p->arena, all * sizeof(*plan->condition));
    plan->conditions = all;
    for (size_t c = 0; c < all; c++) {
        struct mot_study_side *side = &plan->condition[c];
        size_t stride = all;
        side->name = "";
        for (size_t i = 0; i < axes; i++) {
            const struct mot_axis *axis = &swept[i].axis;
            stride /= axis->values;
            size_t at = c / stride % axis->values;
            const struct mot_yaml *map = swept[i].map;
            if (!map) add_swept(p, side, axis->key, axis->value[at], axis->place[at]);
            for (size_t k = 0; map && k < at; k++) map = map->next;
            for (const struct mot_yaml *child = map ? map->first : NULL; child; child = child->next)
                add_swept(
                    p, side, child->key, mot_value_text(child, p->arena), mot_yaml_where(child, p->arena));
        }
    }
    return MOT_OK;
}

/* Whether some map of `together` sets the key. */
static bool is_together(const struct planner *p, const char *key)
{
    const struct mot_yaml *list = mot_yaml_get(p->sweep, TOGETHER);
    for (const struct mot_yaml *map = list ? list->first : NULL; map; map = map->next)
        if (mot_yaml_get(map, key)) return true;
    return false;
}

static enum mot_status check_together(struct planner *p, const struct mot_yaml *list)
{
    if (list->kind != MOT_YAML_LIST)
        return mot_read_fail(&p->reader, list, "sweep." TOGETHER, "expected a list of maps; found %s",
            mot_yaml_found(list, p->arena));
    for (const struct mot_yaml *map = list->first; map; map = map->next) {
        if (map->kind != MOT_YAML_MAP || map->count == 0)
            return mot_read_fail(&p->reader, map, "sweep." TOGETHER,
                "expected maps of keys that change together, such as {workers: 4, batch: 64}; found %s",
                map->kind == MOT_YAML_MAP ? "an empty one" : mot_yaml_found(map, p->arena));
        for (const struct mot_yaml *child = map->first; child; child = child->next) {
            const char *where = mot_yaml_where_key(child, p->arena);
            enum mot_status status = check_key(child, where);
            if (status == MOT_OK && mot_yaml_get(p->sweep, child->key))
                status = mot_fail(MOT_EUSAGE, "%s: expected a key once; found '%s' twice", where, child->key);
            if (status != MOT_OK) return status;
        }
    }
    return MOT_OK;
}

static enum mot_status read_conditions(struct planner *p)
{
    struct swept *swept = mot_arena_new(p->arena, (p->sweep ? p->sweep->count + 1 : 1) * sizeof(*swept));
    size_t axes = 0;
    for (const struct mot_yaml *child = p->sweep ? p->sweep->first : NULL; child; child = child->next) {
        if (strcmp(child->key, "method") == 0 || strcmp(child->key, "seed") == 0) continue;
        bool together = strcmp(child->key, TOGETHER) == 0;
        enum mot_status status = check_key(child, mot_yaml_where_key(child, p->arena));
        if (status == MOT_OK)
            status = mot_values_read(child, mot_arena_take(p->arena, mot_format("sweep.%s", child->key)),
                p->arena, &swept[axes].axis);
        if (status == MOT_OK && together) status = check_together(p, child);
        if (status != MOT_OK) return status;
        swept[axes].axis.key = child->key;
        swept[axes].map = together ? child->first : NULL;
        axes++;
    }
    return combine(p, swept, axes);
}

/* ---- Seeds ------------------------------------------------------------------------------------------ */

static enum mot_status seeds_text(
    struct planner *p, const char *origin, const char *text, uint64_t first, struct mot_seeds *out)
{
    struct mot_yaml *node;
    bool list = *text == '[' || !strchr(text, ',');
    const char *wrapped = list ? text : mot_arena_take(p->arena, mot_format("[%s]", text));
    enum mot_status status = mot_yaml_parse(origin, true, wrapped, strlen(wrapped), p->arena, &node);
    return status == MOT_OK ? mot_seeds_read(node, "seeds", first, p->arena, out) : status;
}

static enum mot_status read_seeds(struct planner *p)
{
    const struct mot_yaml *swept = mot_yaml_get(p->sweep, "seed");
    const char *flag = p->flags->tunes ? NULL : p->flags->seeds;
    if (flag) return seeds_text(p, "--seeds", flag, p->seed, &p->plan->seeds);
    if (!swept) return seeds_text(p, "--seeds", SEEDS_PRESET, p->seed, &p->plan->seeds);
    struct mot_axis axis;
    /* a single number here is a mistake, not a count */
    enum mot_status status = mot_values_read(swept, "sweep.seed", p->arena, &axis);
    return status == MOT_OK ? mot_seeds_read(swept, "sweep.seed", p->seed, p->arena, &p->plan->seeds)
                            : status;
}

/* ---- Tuning ------------------------------------------------------------------------------------------- */

static enum mot_status read_by(struct planner *p, const char *where, const char *text)
{
    for (size_t i = 0; mot_tune_by_names[i]; i++) {
        if (strcmp(text, mot_tune_by_names[i]) != 0) continue;
        p->plan->tune.by = (enum mot_tune_by)i;
        return MOT_OK;
    }
    return mot_fail(MOT_EUSAGE,
        "%s: expected one of time_to_target, test_accuracy, train_loss, grad_norm; found '%.60s'%s", where,
        text, mot_did_you_mean(&p->reader, text, mot_tune_by_names));
}

static enum mot_status add_over(struct planner *p, const struct mot_axis *axis)
{
    struct mot_tune_plan *tune = &p->plan->tune;
    static const char *const never[] = { "seed", "output", "stop", "evaluate", "compare", "sweep", "tune",
        NULL };
    bool refused = strcmp(axis->key, "method") == 0;
    for (size_t i = 0; never[i]; i++) refused |= is_below(axis->key, never[i]);
    if (refused)
        return mot_fail(MOT_EUSAGE,
            "%s: '%s' cannot be tuned: it decides what is compared, not how well it does", axis->origin,
            axis->key);
    for (size_t i = 0; i < tune->overs; i++)
        if (strcmp(tune->over[i].key, axis->key) == 0)
            return mot_fail(MOT_EUSAGE, "%s: expected a key once; found '%s' twice", axis->origin, axis->key);
    struct mot_axis *more = mot_arena_new(p->arena, (tune->overs + 1) * sizeof(*more));
    if (tune->overs) memcpy(more, tune->over, tune->overs * sizeof(*more));
    more[tune->overs++] = *axis;
    tune->over = more;
    return MOT_OK;
}

static enum mot_status over_from_file(struct planner *p)
{
    const struct mot_yaml *over = mot_yaml_get(p->tune, "over");
    if (!over || over->kind != MOT_YAML_MAP || over->count == 0)
        return mot_read_fail(&p->reader, over ? over : p->tune, "tune.over",
            "expected a map such as {optimizer.lr: 2^-1..2^-10}; found %s",
            !over                            ? "none"
                : over->kind == MOT_YAML_MAP ? "an empty one"
                                             : mot_yaml_found(over, p->arena));
    for (const struct mot_yaml *child = over->first; child; child = child->next) {
        struct mot_axis axis;
        enum mot_status status = mot_values_read(
            child, mot_arena_take(p->arena, mot_format("tune.over.%s", child->key)), p->arena, &axis);
        axis.key = child->key;
        if (status == MOT_OK) status = add_over(p, &axis);
        if (status != MOT_OK) return status;
    }
    return MOT_OK;
}

static enum mot_status tune_from_file(struct planner *p)
{
    struct conf {
        const char *over, *by, *seeds;
        bool halving;
    } conf;
    static const struct mot_option options[] = {
        { .name = "by",
            .type = MOT_OPT_TEXT,
            .offset = offsetof(struct conf, by),
            .preset = "time_to_target" },
        { .name = "halving",
            .type = MOT_OPT_BOOL,
            .offset = offsetof(struct conf, halving),
            .preset = "false" },
        { .name = NULL },
    };
    static const char *const others[] = { "over", "seeds", NULL };
    enum mot_status status = mot_read_map(&p->reader, p->tune, "tune", "{over: {optimizer.lr: 2^-1..2^-10}}");
    if (status == MOT_OK) status = mot_read_options(&p->reader, p->tune, "tune", options, &conf, others, 0);
    if (status == MOT_OK && !p->flags->overs) status = over_from_file(p);
    if (status != MOT_OK) return status;
    p->plan->tune.halving = conf.halving;
    const struct mot_yaml *by = mot_yaml_get(p->tune, "by"), *seeds = mot_yaml_get(p->tune, "seeds");
    if (by)
        status = read_by(
            p, mot_arena_take(p->arena, mot_format("%s: tune.by", mot_yaml_where(by, p->arena))), conf.by);
    if (status == MOT_OK && seeds)
        status = mot_seeds_read(seeds, "tune.seeds", TUNE_SEED_FIRST, p->arena, &p->plan->tune.seeds);
    return status;
}

static enum mot_status read_tune(struct planner *p)
{
    struct mot_tune_plan *tune = &p->plan->tune;
    const struct mot_plan_flags *f = p->flags;
    enum mot_status status = MOT_OK;
    tune->asked = p->tune || f->overs;
    if (p->tune) status = tune_from_file(p);
    for (size_t i = 0; i < f->overs && status == MOT_OK; i++) {
        struct mot_axis axis;
        status = mot_values_flag("--over", f->over[i], p->arena, &axis);
        if (status == MOT_OK) status = add_over(p, &axis);
    }
    if (status == MOT_OK && f->by) status = read_by(p, "--by", f->by);
    if (f->halving) tune->halving = true;
    if (status == MOT_OK && f->tunes && f->seeds)
        status = seeds_text(p, "--seeds", f->seeds, TUNE_SEED_FIRST, &tune->seeds);
    if (status == MOT_OK && !tune->seeds.n)
        status = seeds_text(p, "tune.seeds", TUNE_SEEDS_PRESET, TUNE_SEED_FIRST, &tune->seeds);
    return status;
}

/* Values chosen on a seed look better on it than they are. */
static enum mot_status check_apart(const struct mot_study_plan *plan)
{
    for (size_t i = 0; i < plan->tune.seeds.n; i++)
        for (size_t k = 0; k < plan->seeds.n; k++)
            if (plan->tune.seeds.seed[i] == plan->seeds.seed[k])
                return mot_fail(MOT_EUSAGE,
                    "%s: tune.seeds: expected seeds that no arm is judged on; found %llu in both",
                    plan->tune.seeds.origin, (unsigned long long)plan->seeds.seed[k]);
    return MOT_OK;
}

static enum mot_status check_size(const struct mot_study_plan *plan, bool tunes)
{
    size_t cells = plan->arms * plan->conditions, points = plan->tune.asked ? 1 : 0;
    for (size_t i = 0; i < plan->tune.overs && points <= MOT_RUNS_MAX; i++)
        points *= plan->tune.over[i].values;
    size_t runs = points > MOT_RUNS_MAX ? SIZE_MAX
                                        : cells * ((tunes ? 0 : plan->seeds.n) + points * plan->tune.seeds.n);
    if (runs > MOT_RUNS_MAX)
        return mot_fail(MOT_EUSAGE, "expected a study of at most %d runs; this one has %s%zu", MOT_RUNS_MAX,
            runs == SIZE_MAX ? "more than " : "", runs == SIZE_MAX ? (size_t)MOT_RUNS_MAX : runs);
    return MOT_OK;
}

/* A key cannot be both swept and tuned. */
static enum mot_status check_overlap(const struct planner *p)
{
    const struct mot_tune_plan *tune = &p->plan->tune;
    for (size_t i = 0; i < tune->overs; i++)
        if (mot_yaml_get(p->sweep, tune->over[i].key) || is_together(p, tune->over[i].key))
            return mot_fail(MOT_EUSAGE, "%s: '%s' is both tuned and swept; expected only one",
                tune->over[i].origin, tune->over[i].key);
    return MOT_OK;
}

/* ---- The whole ------------------------------------------------------------------------ */

/* Flags that arms or seeds would override. */
static enum mot_status check_flags(const struct mot_plan_flags *f)
{
    for (size_t i = 0; i < f->settings; i++) {
        const char *key = f->setting[i].key, *origin = f->setting[i].origin;
        if (strcmp(key, "seed") == 0)
            return mot_fail(
                MOT_EUSAGE, "%s: a study has several seeds: say --seeds 10, or --seeds 3..12", origin);
        if (strcmp(key, "output") == 0)
            return mot_fail(MOT_EUSAGE, "%s: say --out DIR for the study, --store DIR for its runs", origin);
        if (strcmp(key, "method") == 0 && f->methods_n)
            return mot_fail(MOT_EUSAGE, "%s: --methods already says which methods", origin);
    }
    return MOT_OK;
}

static enum mot_status check_method_flag(const struct planner *p)
{
    for (size_t i = 0; i < p->flags->settings; i++)
        if (strcmp(p->flags->setting[i].key, "method") == 0 &&
            (p->compare || mot_yaml_get(p->sweep, "method")))
            return mot_fail(MOT_EUSAGE,
                "%s: the file already lists what to compare; override it with --methods",
                p->flags->setting[i].origin);
    return MOT_OK;
}

static enum mot_status read_sections(struct planner *p)
{
    struct mot_yaml *root = NULL;
    if (!p->plan->path) return MOT_OK;
    enum mot_status status = mot_yaml_parse(p->plan->path, false, p->plan->text, p->plan->n, p->arena, &root);
    if (status == MOT_OK) status = mot_read_map(&p->reader, root, "", "'data: digits'");
    if (status != MOT_OK) return status;
    p->compare = mot_yaml_get(root, "compare");
    p->sweep = mot_yaml_get(root, "sweep");
    p->tune = mot_yaml_get(root, "tune");
    if (p->sweep && (p->sweep->kind != MOT_YAML_MAP || p->sweep->count == 0))
        return mot_read_fail(&p->reader, p->sweep, "sweep",
            "expected a map such as {method: [allreduce, async]}; found %s",
            p->sweep->kind == MOT_YAML_MAP ? "an empty one" : mot_yaml_found(p->sweep, p->arena));
    const struct mot_yaml *seed = mot_yaml_get(root, "seed");
    /* the experiment's reader will complain */
    if (seed && seed->kind == MOT_YAML_SCALAR && !mot_read_uint(seed->text, &p->seed)) p->seed = 1;
    return MOT_OK;
}

static enum mot_status make(struct planner *p)
{
    enum mot_status status = check_flags(p->flags);
    if (status == MOT_OK) status = read_sections(p);
    if (status == MOT_OK) status = check_method_flag(p);
    if (status == MOT_OK) status = read_arms(p);
    if (status == MOT_OK) status = put_baseline_first(p);
    if (status == MOT_OK) status = read_conditions(p);
    if (status == MOT_OK) status = read_seeds(p);
    if (status == MOT_OK) status = read_tune(p);
    if (status == MOT_OK && p->plan->tune.asked) status = check_overlap(p);
    if (status == MOT_OK && p->plan->tune.asked && !p->flags->tunes) status = check_apart(p->plan);
    if (status == MOT_OK) status = check_size(p->plan, p->flags->tunes);
    return status;
}

static void copy_flags(struct mot_study_plan *plan, const struct mot_plan_flags *f)
{
    plan->flag = mot_arena_new(&plan->arena, (f->settings + 1) * sizeof(*plan->flag));
    for (size_t i = 0; i < f->settings; i++)
        plan->flag[plan->flags++] = (struct mot_setting){ mot_arena_text(&plan->arena, f->setting[i].key),
            mot_arena_text(&plan->arena, f->setting[i].value),
            mot_arena_text(&plan->arena, f->setting[i].origin) };
}

enum mot_status mot_study_plan_parse(const char *name, const char *text, size_t n,
    const struct mot_plan_flags *flags, struct mot_study_plan **out)
{
    struct mot_study_plan *plan = mot_new(1, sizeof(*plan));
    if (name) {
        char *copy = mot_arena_new(&plan->arena, n + 1);
        if (n) memcpy(copy, text, n);
        plan->path = mot_arena_text(&plan->arena, name);
        plan->text = copy;
        plan->n = n;
    }
    copy_flags(plan, flags);
    struct planner p = {
        .plan = plan, .flags = flags, .arena = &plan->arena, .reader = { .arena = &plan->arena }, .seed = 1
    };
    enum mot_status status = make(&p);
    if (status != MOT_OK) {
        mot_study_plan_close(plan);
        return status;
    }
    *out = plan;
    return MOT_OK;
}

enum mot_status mot_study_plan_open(
    const char *path, const struct mot_plan_flags *flags, struct mot_study_plan **out)
{
    unsigned char *bytes = NULL;
    size_t n = 0;
    enum mot_status status = path ? mot_experiment_found(path) : MOT_OK;
    if (status == MOT_OK && path) status = mot_yaml_load(path, &bytes, &n);
    if (status == MOT_OK) status = mot_study_plan_parse(path, (const char *)bytes, n, flags, out);
    free(bytes);
    return status;
}

void mot_study_plan_close(struct mot_study_plan *plan)
{
    if (!plan) return;
    mot_arena_free(&plan->arena);
    free(plan);
}

/* ---- One run -------------------------------------------------------------------------- */

static size_t append(struct mot_setting *to, size_t at, const struct mot_study_setting *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[at++] = (struct mot_setting){ from[i].key, from[i].value, from[i].origin };
    return at;
}

enum mot_status mot_study_plan_run(const struct mot_study_plan *plan, size_t arm, size_t condition,
    const struct mot_study_setting *more, size_t mores, const uint64_t *seed, struct mot_experiment **out)
{
    const struct mot_study_side *a = &plan->arm[arm], *c = &plan->condition[condition];
    struct mot_setting *setting =
        mot_new(plan->flags + a->settings + c->settings + mores + 2, sizeof(*setting));
    size_t n = plan->flags;
    if (n) memcpy(setting, plan->flag, n * sizeof(*setting));
    n = append(setting, n, c->setting, c->settings);
    n = append(setting, n, a->setting, a->settings);
    n = append(setting, n, more, mores);
    char text[24];
    snprintf(text, sizeof(text), "%llu", seed ? (unsigned long long)*seed : 0);
    if (seed) setting[n++] = (struct mot_setting){ "seed", text, "--seeds" };
    setting[n++] = (struct mot_setting){ "output", "none", "--out" };
    enum mot_status status = mot_experiment_open_run(plan->path, plan->text, plan->n, setting, n, out);
    free(setting);
    return status;
}
