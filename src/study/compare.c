#include "study/compare.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/shown.h"
#include "base/words.h"
#include "report/report.h"
#include "study/slug.h"
#include "study/study.h"
#include "study/tuning.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A study in progress. */
struct study {
    const struct mot_compare *o;
    struct mot_study_plan *plan;
    struct mot_store *store;
    struct mot_runner runner;
    struct mot_tuning tuning;
    /* the runs that are judged, seed by seed: cases of one seed share their data */
    struct mot_case *cases;
    size_t n;
};

/* ---- Opening ------------------------------------------------------------------------------------- */

/* An experiment that compares nothing has one arm, its method. */
static enum mot_status name_lone_arm(struct mot_study_plan *plan)
{
    if (plan->arms != 1 || *plan->arm[0].name) return MOT_OK;
    struct mot_experiment *x;
    enum mot_status status = mot_study_plan_run(plan, 0, 0, NULL, 0, NULL, &x);
    if (status != MOT_OK) return status;
    plan->arm[0].name = mot_arena_text(&plan->arena, x->method->name);
    mot_experiment_close(x);
    return MOT_OK;
}

static enum mot_status make_cases(struct study *s)
{
    const struct mot_study_plan *plan = s->plan;
    size_t cells = plan->arms * plan->conditions;
    mot_cases_free(s->cases, s->n);
    s->n = cells * plan->seeds.n;
    s->cases = mot_new(s->n + 1, sizeof(*s->cases));
    for (size_t i = 0; i < s->n; i++) {
        size_t cell = i % cells;
        s->cases[i] = (struct mot_case){
            .arm = cell % plan->arms, .condition = cell / plan->arms, .seed = plan->seeds.seed[i / cells]
        };
        if (!s->tuning.best) continue;
        s->cases[i].more = s->tuning.best[cell].setting;
        s->cases[i].mores = s->tuning.best[cell].settings;
    }
    return mot_cases_resolve(&s->runner, s->cases, s->n, cells);
}

static void close_study(struct study *s)
{
    mot_cases_free(s->cases, s->n);
    mot_tuning_close(&s->tuning);
    mot_store_close(s->store);
    mot_study_plan_close(s->plan);
}

/* If nothing in particular is compared, compares what most people want to know: waiting for all, for most
 * and for nobody. An experiment that is swept, or whose method was set by a flag, keeps its own method. */
static enum mot_status compare_three(struct study *s)
{
    const struct mot_compare *o = s->o;
    bool asked = o->tune_only || s->plan->arms != 1 || *s->plan->arm[0].name || s->plan->conditions > 1;
    for (size_t i = 0; i < o->flags.settings; i++)
        asked |= strncmp(o->flags.setting[i].key, "method", 6) == 0;
    if (asked) return MOT_OK;
    struct mot_experiment *x;
    enum mot_status status = mot_study_plan_run(s->plan, 0, 0, NULL, 0, NULL, &x);
    if (status != MOT_OK) return status;
    uint32_t n = x->workers;
    mot_experiment_close(x);
    char *most = n > 2 ? mot_format("allreduce, server{k: %u}, async", n - n / 8 - 1)
                       : mot_text("allreduce, server, async");
    const char *methods = most;
    struct mot_plan_flags flags = o->flags;
    flags.methods = &methods;
    flags.methods_n = 1;
    mot_study_plan_close(s->plan);
    s->plan = NULL;
    status = mot_study_plan_open(o->experiment, &flags, &s->plan);
    free(most);
    return status;
}

/* Every mistake is found here, before anything runs. */
static enum mot_status open_study(const struct mot_compare *o, struct study *s)
{
    *s = (struct study){ .o = o };
    enum mot_status status = mot_study_plan_open(o->experiment, &o->flags, &s->plan);
    if (status == MOT_OK && o->tune_only && !s->plan->tune.asked)
        status = mot_fail(MOT_EUSAGE,
            "nothing to tune: give --over KEY=VALUES, such as --over "
            "optimizer.lr=2^-1..2^-10, or a section 'tune' in the file");
    if (status == MOT_OK) status = compare_three(s);
    if (status == MOT_OK) status = name_lone_arm(s->plan);
    if (status == MOT_OK) status = mot_store_open(o->store, &s->store);
    s->runner = (struct mot_runner){ .plan = s->plan,
        .store = s->store,
        .jobs = o->jobs,
        .models = o->models,
        .fresh = o->fresh,
        .rereads = true,
        .progress = o->progress,
        .terminal = o->terminal,
        .interrupt = o->interrupt,
        .listener = o->listener };
    if (status == MOT_OK && s->plan->tune.asked) status = mot_tuning_open(&s->runner, &s->tuning);
    if (status == MOT_OK && !o->tune_only) status = make_cases(s);
    return status;
}

/* ---- Running --------------------------------------------------------------------------------------- */

static enum mot_status tune(struct study *s)
{
    s->runner.doing = "tuning";
    return mot_tuning_run(&s->tuning);
}

static enum mot_status judge(struct study *s)
{
    enum mot_status status = s->tuning.best ? make_cases(s) : MOT_OK;
    s->runner.doing = "comparing";
    return status == MOT_OK ? mot_runner_run(&s->runner, s->cases, s->n) : status;
}

static enum mot_status say_interrupted(const struct study *s)
{
    return mot_fail(MOT_EINTERRUPTED,
        "interrupted after %zu run%s, kept in %s; the same command continues from there", s->runner.made,
        mot_plural(s->runner.made), s->o->store);
}

/* ---- The document ------------------------------------------------------------------------------------- */

char *mot_study_shared(const struct mot_study_plan *plan)
{
    struct mot_setting *setting = mot_new(plan->flags + 2, sizeof(*setting));
    for (size_t i = 0; i < plan->flags; i++) setting[i] = plan->flag[i];
    setting[plan->flags] = (struct mot_setting){ "output", "none", "--out" };
    /* not this machine's cores */
    setting[plan->flags + 1] = (struct mot_setting){ "sim.threads", "1", "--jobs" };
    struct mot_experiment *x;
    char *text = NULL;
    size_t n;
    if (mot_experiment_open_run(plan->path, plan->text, plan->n, setting, plan->flags + 2, &x) == MOT_OK) {
        FILE *out = open_memstream(&text, &n);
        if (out) mot_experiment_print(x, out);
        if (out) fclose(out);
        mot_experiment_close(x);
    }
    free(setting);
    return text ? text : mot_text(plan->text ? plan->text : "");
}

static struct mot_study_run *judged_runs(const struct study *s)
{
    struct mot_study_run *run = mot_new(s->n + 1, sizeof(*run));
    for (size_t i = 0; i < s->n; i++)
        run[i] = (struct mot_study_run){ .arm = (uint32_t)s->cases[i].arm,
            .condition = (uint32_t)s->cases[i].condition,
            .seed = s->cases[i].seed,
            .folder = s->cases[i].folder,
            .failed = s->cases[i].failed,
            .goal = &s->cases[i].goal };
    qsort(run, s->n, sizeof(*run), mot_study_run_order);
    return run;
}

static enum mot_status make_document(const struct study *s, json_t **out)
{
    const struct mot_study_plan *plan = s->plan;
    const char *slash = plan->path ? strrchr(plan->path, '/') : NULL;
    struct mot_study_run *run = s->o->tune_only ? NULL : judged_runs(s);
    char *shared = mot_study_shared(plan);
    struct mot_study study = { .title = slash ? slash + 1
            : plan->path                      ? plan->path
                                              : "defaults",
        .command = s->o->command,
        .experiment = shared,
        .arm = plan->arm,
        .condition = plan->condition,
        .arms = plan->arms,
        .conditions = plan->conditions,
        .run = run ? run : s->tuning.run,
        .runs = run ? s->n : s->tuning.runs,
        .tuning = s->tuning.json,
        .unjudged = s->o->tune_only };
    enum mot_status status = mot_study_document(&study, out);
    free(shared);
    free(run);
    return status;
}

/* ---- The folder ----------------------------------------------------------------------- */

/* The side's name as part of a file name, distinct from those of the sides before it. malloc'd. */
static char *file_part(const struct mot_study_side *side, size_t at)
{
    const char **name = mot_new(at + 1, sizeof(*name));
    for (size_t i = 0; i <= at; i++) name[i] = side[i].name;
    char *part = mot_slug(name, at);
    free(name);
    return part;
}

/* The experiment with its best values, for `motley sim`. */
static enum mot_status write_best(const struct study *s, size_t cell)
{
    const struct mot_study_plan *plan = s->plan;
    size_t arm = cell % plan->arms, condition = cell / plan->arms;
    const struct mot_best *best = &s->tuning.best[cell];
    struct mot_experiment *x;
    enum mot_status status =
        mot_study_plan_run(plan, arm, condition, best->setting, best->settings, NULL, &x);
    if (status != MOT_OK) return status;
    char *a = file_part(plan->arm, arm),
         *c = *plan->condition[condition].name ? file_part(plan->condition, condition) : mot_text("");
    char *name = mot_format("best-%s%s%s.yaml", a, *c ? "-" : "", c), *path = mot_path_join(s->o->out, name);
    struct mot_replace file;
    status = mot_replace_begin(path, &file);
    if (status == MOT_OK) {
        status = mot_experiment_print(x, file.out);
        if (status == MOT_OK) status = mot_replace_commit(&file);
        else mot_replace_abandon(&file);
    }
    free(path);
    free(name);
    free(c);
    free(a);
    mot_experiment_close(x);
    return status;
}

static enum mot_status write_folder(const struct study *s, const json_t *document)
{
    char *path = mot_path_join(s->o->out, "study.json");
    enum mot_status status = mot_make_folder(s->o->out); /* it may be gone after hours of runs */
    if (status == MOT_OK) status = mot_json_write(document, path);
    for (size_t i = 0; s->tuning.best && i < s->plan->arms * s->plan->conditions && status == MOT_OK; i++)
        status = write_best(s, i);
    free(path);
    return status;
}

/* Whether a file of that name could be written. */
static enum mot_status check_place(const char *flag, const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    if (!path) return MOT_OK;
    char *folder = !slash ? mot_text(".")
        : slash == path   ? mot_text("/")
                          : mot_format("%.*s", (int)(slash - path), path);
    enum mot_status status = MOT_OK;
    if (access(folder, W_OK | X_OK) != 0)
        status = mot_fail(MOT_EUSAGE, "%s: cannot write into %s: %s", flag, folder, strerror(errno));
    free(folder);
    return status;
}

/* Nobody should wait for runs only to learn that their figures cannot be written. */
static enum mot_status check_outputs(const struct mot_compare *o)
{
    enum mot_status status = mot_make_folder(o->out);
    if (status == MOT_OK) status = check_place("--csv", o->csv);
    return status == MOT_OK ? check_place("--svg", o->svg) : status;
}

enum mot_status mot_compare_run(const struct mot_compare *o, struct mot_compared *out)
{
    struct study s;
    json_t *document = NULL;
    enum mot_status status = open_study(o, &s);
    bool running = status == MOT_OK;
    if (status == MOT_OK) status = check_outputs(o);
    if (status == MOT_OK && s.plan->tune.asked) status = tune(&s);
    if (status == MOT_OK && !o->tune_only) status = judge(&s);
    if (status == MOT_EINTERRUPTED && running) status = say_interrupted(&s);
    if (status == MOT_OK) status = make_document(&s, &document);
    if (status == MOT_OK) status = write_folder(&s, document);
    if (status == MOT_OK)
        *out = (struct mot_compared){ document, s.runner.made, s.runner.found, s.runner.lost };
    else json_decref(document);
    close_study(&s);
    return status;
}

/* ---- Without running ------------------------------------------------------------------ */

static void print_setting(const struct mot_study_setting *s, const char *before, FILE *out)
{
    fputs(before, out);
    mot_put_shown(s->key, out);
    fputs(": ", out);
    mot_put_shown(s->value, out);
}

static void print_arms(const struct mot_study_side *side, size_t n, FILE *out)
{
    size_t widest = 0;
    char **name = mot_new(n + 1, sizeof(*name));
    for (size_t i = 0; i < n; i++) {
        name[i] = mot_shown(side[i].name);
        if (mot_text_width(name[i]) > widest) widest = mot_text_width(name[i]);
    }
    fputs("arms\n", out);
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "  %s%*s", name[i], side[i].settings ? (int)(widest - mot_text_width(name[i])) : 0, "");
        for (size_t k = 0; k < side[i].settings; k++)
            print_setting(&side[i].setting[k], k ? ", " : "    ", out);
        fputc('\n', out);
        free(name[i]);
    }
    free(name);
}

/* Only by name, which says what each sets. */
static void print_conditions(const struct mot_study_plan *plan, FILE *out)
{
    fputs("conditions\n", out);
    for (size_t i = 0; i < plan->conditions; i++) {
        fputs("  ", out);
        mot_put_shown(plan->condition[i].name, out);
        fputc('\n', out);
    }
}

enum mot_status mot_compare_plan(const struct mot_compare *o, struct mot_compare_size *out, FILE *text)
{
    struct study s;
    struct mot_compare_size size = { 0 };
    enum mot_status status = open_study(o, &s);
    if (status == MOT_OK) status = mot_cases_name(&s.runner, s.cases, s.n);
    if (status == MOT_OK) {
        size.tuning = s.tuning.grid;
        size.arms = s.plan->arms;
        size.conditions = s.plan->conditions;
        size.seeds = o->tune_only ? 0 : s.plan->seeds.n;
        size.runs = s.n;
        for (size_t i = 0; i < s.n; i++) {
            char *folder = mot_case_found(&s.runner, &s.cases[i]);
            size.there += folder != NULL;
            free(folder);
        }
        *out = size;
    }
    if (status == MOT_OK && text) {
        print_arms(s.plan->arm, s.plan->arms, text);
        if (s.plan->conditions > 1) print_conditions(s.plan, text);
        for (size_t i = 0; i < s.plan->tune.overs && s.plan->tune.asked; i++)
            fprintf(text, "%s  %s: %zu values\n", i ? "" : "tuned\n", s.plan->tune.over[i].key,
                s.plan->tune.over[i].values);
    }
    close_study(&s);
    return status;
}
