#include "study/race.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/stopwatch.h"
#include "base/words.h"
#include "cluster/cluster.h"
#include "method/methods.h"
#include "report/json.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TUNE_SEED 1001u /* of the steps before the race */
#define SCREENED_KEPT 8u
/* Shares of the budget after which a step begins no more runs. */
#define SCREENED_BY 0.45
#define TUNED_BY 0.65
#define RACED_BY 0.9
#define CLEARLY 1.5 /* times later in every pair: out, even with too few pairs for a verdict */
#define CANDIDATES_MAX 64u

const struct mot_race_change mot_race_changes[MOT_RACE_CHANGES] = {
    { "one worker 4 times slower", "cluster.slow", "4" },
    { "half the bandwidth", "cluster.links", "0.5" },
    { "skewed labels (Dirichlet, alpha 0.3)", "partition", "{name: dirichlet, alpha: 0.3}" },
};

/* One run of a step. */
struct trial {
    struct mot_racer *racer;
    int rate;
    double share; /* of the horizon; 0: as the file says */
    uint64_t seed;
    size_t change; /* + 1; 0: none */
    struct mot_run_figures figures;
    char *folder; /* malloc'd; NULL: it was not made */
};

struct race {
    struct mot_race *o;
    struct mot_store *store;
    struct mot_runner runner;
    double began_s;
    bool whole;   /* all of the last tries were made */
    char *failed; /* why the last of the tries that could not be made was not; malloc'd, or NULL */
};

/* ---- Who takes part -------------------------------------------------------------------------------- */

/* Methods that suit most clusters come first: the budget may run out before all are tried. */
static const char *const first[] = { "allreduce", "server", "async", "localsgd", "ringmaster", "rennala",
    "adpsgd", "dpsgd" };

static bool listed(char *const *name, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name[i], text) == 0) return true;
    return false;
}

/* How many workers answer within twice the median time of a job: a server may wait for these alone. */
static uint32_t prompt_workers(const struct mot_experiment *x)
{
    const struct mot_cluster *c = x->cluster;
    double *job = mot_new(c->workers, sizeof(*job)), *sorted = mot_new(c->workers, sizeof(*sorted));
    for (uint32_t i = 0; i < c->workers; i++)
        job[i] = sorted[i] = mot_job_mean(&c->machine[i], x->batch_full ? 32 : x->batch[i]);
    double limit = 2 * mot_stats_median(sorted, c->workers);
    uint32_t prompt = 0;
    for (uint32_t i = 0; i < c->workers; i++) prompt += job[i] <= limit;
    free(job);
    free(sorted);
    return prompt < c->workers ? prompt : c->workers >= 4 ? c->workers - c->workers / 8 - 1 : c->workers;
}

static size_t list_candidates(const struct mot_experiment *x, char **name)
{
    size_t n = 0;
    for (size_t i = 0; i < MOT_COUNT(first); i++) {
        name[n++] = mot_text(first[i]);
        uint32_t k = i == 1 ? prompt_workers(x) : 0;
        if (k > 0 && k < x->workers) name[n++] = mot_format("server{k: %u}", k);
    }
    const struct mot_method *m;
    for (size_t i = 0; (m = mot_method_at(i)) && n < CANDIDATES_MAX; i++)
        if (!listed(name, n, m->name)) name[n++] = mot_text(m->name);
    return n;
}

static enum mot_status open_plan(struct mot_race *o, const char *methods, struct mot_study_plan **out)
{
    struct mot_plan_flags flags = { .methods = &methods,
        .methods_n = methods ? 1 : 0,
        .seeds = "1",
        .setting = o->setting,
        .settings = o->settings };
    return mot_study_plan_open(o->experiment, &flags, out);
}

/* The experiment with the file's own method, for what does not depend on the method. */
static enum mot_status open_base(struct mot_race *o, struct mot_experiment **x_out)
{
    struct mot_study_plan *plan;
    enum mot_status status = open_plan(o, NULL, &plan);
    if (status != MOT_OK) return status;
    if (plan->conditions > 1)
        status = mot_fail(MOT_EUSAGE,
            "motley plan takes one experiment; this file sweeps over %zu conditions: use motley compare",
            plan->conditions);
    if (status == MOT_OK) status = mot_study_plan_run(plan, 0, 0, NULL, 0, NULL, x_out);
    mot_study_plan_close(plan);
    return status;
}

/* Whether the method can run here; if not, *why_out says why. */
static bool admits(struct mot_race *o, const char *name, const char **why_out)
{
    struct mot_study_plan *plan;
    struct mot_experiment *x = NULL;
    enum mot_status status = open_plan(o, name, &plan);
    if (status == MOT_OK) {
        status = mot_study_plan_run(plan, 0, 0, NULL, 0, NULL, &x);
        mot_study_plan_close(plan);
    }
    if (status == MOT_OK) mot_experiment_close(x);
    else *why_out = mot_arena_text(&o->arena, mot_error());
    return status == MOT_OK;
}

static enum mot_status open_racers(struct mot_race *o, const struct mot_experiment *x)
{
    char *name[CANDIDATES_MAX + MOT_COUNT(first) + 2], *all = mot_text("");
    size_t n = list_candidates(x, name), arm = 0;
    o->racer = mot_new(n, sizeof(*o->racer));
    o->racers = n;
    for (size_t i = 0; i < n; i++) {
        struct mot_racer *r = &o->racer[i];
        r->name = mot_arena_text(&o->arena, name[i]);
        if (!admits(o, name[i], &r->why)) continue;
        r->arm = arm++;
        r->stage = MOT_RACE_SCREENED;
        char *longer = mot_format("%s%s%s", all, *all ? ", " : "", name[i]);
        free(all);
        all = longer;
    }
    for (size_t i = 0; i < n; i++) free(name[i]);
    enum mot_status status = arm
        ? open_plan(o, all, &o->plan)
        : mot_fail(MOT_EUSAGE, "no method can run this experiment: %s", o->racer[0].why);
    free(all);
    for (size_t i = 0; i < n && status == MOT_OK; i++)
        if (o->racer[i].stage) o->racer[i].setting = o->plan->arm[o->racer[i].arm].setting[0].value;
    return status;
}

/* ---- Running ----------------------------------------------------------------------------------------- */

static struct mot_study_setting *settings_of(struct mot_race *o, const struct trial *t, size_t *n_out)
{
    static const char *const kinds[] = { [MOT_TARGET_TRAIN_LOSS] = "train_loss",
        [MOT_TARGET_TEST_ACCURACY] = "test_accuracy",
        [MOT_TARGET_GRAD_NORM] = "grad_norm" };
    struct mot_study_setting *s = mot_arena_new(&o->arena, 8 * sizeof(*s));
    size_t n = 0;
    if (t->change)
        s[n++] = (struct mot_study_setting){ mot_race_changes[t->change - 1].key,
            mot_race_changes[t->change - 1].value, "plan" };
    s[n++] = (struct mot_study_setting){ "optimizer.lr",
        mot_arena_take(&o->arena, mot_format("%.6g", o->lr * ldexp(1, t->rate))), "plan" };
    if (t->share > 0) {
        s[n++] = (struct mot_study_setting){ "stop.time",
            mot_arena_take(&o->arena, mot_format("%.0fns", ceil(1e9 * o->horizon_s * t->share))), "plan" };
        s[n++] = (struct mot_study_setting){ "stop.updates", "none", "plan" };
        s[n++] = (struct mot_study_setting){ "stop.epochs", "none", "plan" };
        if (isfinite(o->target_value))
            s[n++] = (struct mot_study_setting){ "stop.target",
                mot_arena_take(&o->arena, mot_format("{%s: %.6g}", kinds[o->target], o->target_value)),
                "plan" };
    }
    *n_out = n;
    return s;
}

/* Makes the tries that can begin before `by`, a share of the budget; the others are left without figures. */
static enum mot_status run_tries(struct race *r, const char *doing, struct trial *t, size_t n, double by)
{
    struct mot_case *c = mot_new(n + 1, sizeof(*c));
    for (size_t i = 0; i < n; i++) {
        c[i] = (struct mot_case){ .arm = t[i].racer->arm, .seed = t[i].seed };
        c[i].more = settings_of(r->o, &t[i], &c[i].mores);
    }
    r->runner.doing = doing;
    r->whole = true;
    r->runner.until_s = r->began_s + by * r->o->budget_s;
    enum mot_status status = mot_cases_resolve(&r->runner, c, n, n);
    if (status == MOT_OK) status = mot_runner_run(&r->runner, c, n);
    for (size_t i = 0; i < n && status == MOT_OK; i++) {
        status = mot_figures_read(c[i].folder, NULL, &t[i].figures);
        t[i].folder = c[i].folder ? mot_text(c[i].folder) : NULL;
        if (!c[i].folder && !c[i].failed) r->o->complete = r->whole = false;
        if (!c[i].failed) continue;
        free(r->failed);
        r->failed = mot_text(c[i].failed);
    }
    mot_cases_free(c, n);
    return status;
}

static bool is_good(const struct mot_run_figures *f) { return f->known && strcmp(f->status, "ok") == 0; }

/* Smaller is nearer to the target. */
static double nearness(const struct mot_race *o, const struct mot_run_figures *f)
{
    double value = o->target == MOT_TARGET_TEST_ACCURACY ? -f->value[MOT_FIGURE_TEST_ACCURACY]
        : o->target == MOT_TARGET_GRAD_NORM              ? f->value[MOT_FIGURE_GRAD_NORM]
                                                         : f->value[MOT_FIGURE_TRAIN_LOSS];
    return is_good(f) && isfinite(value) ? value : INFINITY;
}

static double time_to(const struct mot_run_figures *f)
{
    return is_good(f) && f->reached ? f->value[MOT_FIGURE_TIME_TO_TARGET] : INFINITY;
}

static bool beats(const struct mot_race *o, const struct mot_run_figures *a, const struct mot_run_figures *b)
{
    double mine = time_to(a), other = time_to(b);
    return mine != other ? mine < other : nearness(o, a) < nearness(o, b);
}

/* Keeps the best run of each method in this step. A step that gave a method no run leaves it as it was. */
static void take_best(struct race *r, const struct trial *t, size_t n, enum mot_race_stage stage)
{
    for (size_t i = 0; i < n; i++) {
        struct mot_racer *racer = t[i].racer;
        if (!t[i].figures.known) continue;
        bool anew = !racer->tried || racer->stage < stage;
        if (!anew && !beats(r->o, &t[i].figures, &racer->best)) continue;
        racer->best = t[i].figures;
        racer->rate = t[i].rate;
        racer->tried = true;
        racer->stage = stage;
    }
}

static void free_tries(struct trial *t, size_t n)
{
    for (size_t i = 0; i < n; i++) free(t[i].folder);
    free(t);
}

/* ---- Steps --------------------------------------------------------------------------------------------- */

/* Finds how long a run of this experiment is, on the virtual clock and on the wall: tries the first method
 * with the file's rate, and with lower ones if that diverges. */
static enum mot_status pilot(struct race *r, double *wall_out)
{
    struct mot_race *o = r->o;
    struct mot_racer *lead = NULL;
    for (size_t i = 0; i < o->racers && !lead; i++)
        if (o->racer[i].stage) lead = &o->racer[i];
    for (int rate = 0; rate >= -6; rate -= 2) {
        struct trial t = { .racer = lead, .rate = rate, .seed = TUNE_SEED };
        enum mot_status status = run_tries(r, "pilot", &t, 1, INFINITY);
        if (status != MOT_OK) return status;
        if (r->failed) {
            bool refused = strncmp(r->failed, "refused", 7) == 0;
            return mot_fail(refused ? MOT_EUSAGE : MOT_ESYSTEM, "the first run, of %s, %s%s", lead->name,
                refused ? "was " : "", r->failed);
        }
        bool good = is_good(&t.figures);
        if (good) { /* the store keeps it: the same command finds the same figure */
            char *path = mot_path_join(t.folder, "summary.json");
            json_t *summary = json_load_file(path, 0, NULL);
            *wall_out = mot_json_get_number(summary, "wall_s");
            json_decref(summary);
            free(path);
        }
        free(t.folder);
        if (!good) continue;
        o->lr *= ldexp(1, rate);
        double whole = t.figures.value[MOT_FIGURE_TIME];
        o->horizon_s = t.figures.reached ? 2 * time_to(&t.figures) : whole;
        bool tested = isfinite(t.figures.value[MOT_FIGURE_TEST_ACCURACY]);
        if (o->target == MOT_TARGET_NONE)
            o->target = tested ? MOT_TARGET_TEST_ACCURACY : MOT_TARGET_TRAIN_LOSS;
        return MOT_OK;
    }
    return mot_fail(MOT_EDIVERGED,
        "%s diverges with learning rates of %g to %g; choose a smaller optimizer.lr, or scale the data",
        lead->name, o->lr, o->lr / 64);
}

/* Every method with the file's rate, a quarter of it and four times it. */
static enum mot_status screen(struct race *r, double share)
{
    static const int rates[] = { 0, -2, 2 };
    struct mot_race *o = r->o;
    struct trial *t = mot_new(MOT_COUNT(rates) * o->racers, sizeof(*t));
    size_t n = 0;
    for (size_t k = 0; k < MOT_COUNT(rates); k++)
        for (size_t i = 0; i < o->racers; i++)
            if (o->racer[i].stage)
                t[n++] = (struct trial){
                    .racer = &o->racer[i], .rate = rates[k], .share = share, .seed = TUNE_SEED
                };
    enum mot_status status = run_tries(r, "screening", t, n, SCREENED_BY);
    if (status == MOT_OK) take_best(r, t, n, MOT_RACE_SCREENED);
    free_tries(t, n);
    return status;
}

static int by_rank(const void *a, const void *b, void *race)
{
    const struct mot_racer *p = *(struct mot_racer *const *)a, *q = *(struct mot_racer *const *)b;
    if (p->stage != q->stage) return p->stage > q->stage ? -1 : 1;
    if (beats(race, &p->best, &q->best)) return -1;
    if (beats(race, &q->best, &p->best)) return 1;
    return (p > q) - (p < q);
}

/* The best `most` of those that were tried; returns how many. */
static size_t best_of(const struct mot_race *o, struct mot_racer **out, size_t most)
{
    struct mot_racer **all = mot_new(o->racers, sizeof(*all));
    size_t n = 0;
    for (size_t i = 0; i < o->racers; i++)
        if (o->racer[i].tried) all[n++] = &o->racer[i];
    qsort_r(all, n, sizeof(*all), by_rank, (void *)(uintptr_t)o);
    if (n > most) n = most;
    memcpy(out, all, n * sizeof(*all));
    free(all);
    return n;
}

/* If some method reached the target while screening, runs of three times its time are long enough for all
 * that could be recommended: cuts the horizon to that, and returns true. */
static bool draw_in(struct mot_race *o)
{
    double soonest = INFINITY;
    for (size_t i = 0; i < o->racers; i++)
        if (o->racer[i].tried) soonest = fmin(soonest, time_to(&o->racer[i].best));
    if (3 * soonest < o->horizon_s) o->horizon_s = 3 * soonest;
    return isfinite(soonest);
}

#define TUNE_SEEDS 2u

/* The better ones for longer, with rates next to their best. A rate is as good as the worse of its two
 * runs. */
static enum mot_status refine(struct race *r, double share)
{
    struct mot_racer *kept[SCREENED_KEPT];
    size_t keeps = best_of(r->o, kept, SCREENED_KEPT), n = 0;
    struct trial *t = mot_new(4 * keeps * TUNE_SEEDS + 1, sizeof(*t));
    for (int k = 0; k < 4; k++)
        for (size_t i = 0; i < keeps; i++) {
            static const int beside[] = { 0, -1, 1 };
            int edge = kept[i]->rate > 0 ? 2 : -2;
            if (k == 3 && kept[i]->rate == 0) continue; /* not at the edge of what was screened */
            for (uint64_t seed = 1; seed <= TUNE_SEEDS; seed++)
                t[n++] = (struct trial){ .racer = kept[i],
                    .rate = kept[i]->rate + (k < 3 ? beside[k] : edge),
                    .share = share,
                    .seed = TUNE_SEED + seed };
        }
    enum mot_status status = run_tries(r, "tuning", t, n, TUNED_BY);
    for (size_t i = 0; i < n; i += TUNE_SEEDS) {
        bool both = t[i].figures.known && t[i + 1].figures.known;
        if (both && beats(r->o, &t[i].figures, &t[i + 1].figures)) t[i].figures = t[i + 1].figures;
        if (!both) t[i].figures.known = false;
        t[i + 1].figures.known = false;
    }
    if (status == MOT_OK) take_best(r, t, n, MOT_RACE_TUNED);
    free_tries(t, n);
    return status;
}

/* If the file sets no target: what the better half of the tuned methods reached. */
static void choose_target(struct mot_race *o)
{
    double value[SCREENED_KEPT];
    struct mot_racer *kept[SCREENED_KEPT];
    size_t n = best_of(o, kept, SCREENED_KEPT), known = 0;
    for (size_t i = 0; i < n; i++) {
        double near = nearness(o, &kept[i]->best);
        if (isfinite(near)) value[known++] = near;
    }
    if (known == 0) return;
    double middle = mot_stats_median(value, known);
    o->target_value =
        o->target == MOT_TARGET_TEST_ACCURACY ? floor(-middle * 1000) / 1000 : ceil(middle * 1000) / 1000;
}

struct mot_comparison mot_race_compare(const struct mot_racer *a, const struct mot_racer *b)
{
    double first_s[MOT_RACE_SEEDS], second_s[MOT_RACE_SEEDS];
    size_t n = 0;
    for (size_t s = 0; s < MOT_RACE_SEEDS; s++) {
        if (!a->run[s].known || !b->run[s].known) continue;
        first_s[n] = time_to(&a->run[s]);
        second_s[n++] = time_to(&b->run[s]);
    }
    return mot_stats_compare(first_s, second_s, n, true);
}

static double median_time(const struct mot_racer *r)
{
    double median = mot_race_median(r, MOT_FIGURE_TIME_TO_TARGET);
    return isnan(median) ? INFINITY : median;
}

/* Where medians are infinite, those who get there in more of their runs are better. */
static double share_reached(const struct mot_racer *r)
{
    size_t runs, reached = mot_race_reached(r, &runs);
    return runs ? (double)reached / (double)runs : 0;
}

static int by_time(const void *a, const void *b, void *race)
{
    const struct mot_racer *p = *(const struct mot_racer *const *)a, *q = *(const struct mot_racer *const *)b;
    if (p->out != q->out) return p->out ? 1 : -1;
    double mine = median_time(p), other = median_time(q);
    if (mine != other) return mine < other ? -1 : 1;
    mine = share_reached(p), other = share_reached(q);
    if (mine != other) return mine > other ? -1 : 1;
    if (beats(race, &p->best, &q->best)) return -1;
    return beats(race, &q->best, &p->best) ? 1 : (p > q) - (p < q);
}

size_t mot_race_order(const struct mot_race *o, const struct mot_racer **order, size_t max)
{
    size_t n = 0;
    for (size_t i = 0; i < o->racers && n < max; i++)
        if (o->racer[i].stage == MOT_RACE_RACED) order[n++] = &o->racer[i];
    qsort_r(order, n, sizeof(*order), by_time, (void *)(uintptr_t)o);
    return n;
}

bool mot_race_clearly_later(const struct mot_racer *r, const struct mot_racer *leader)
{
    bool clearly = true;
    size_t pairs = 0;
    for (size_t s = 0; s < MOT_RACE_SEEDS; s++) {
        if (!r->run[s].known || !leader->run[s].known) continue;
        clearly &= time_to(&r->run[s]) > CLEARLY * time_to(&leader->run[s]);
        pairs++;
    }
    return pairs >= 3 && clearly;
}

/* Whether `r` was clearly later than the leader in every pair so far, or all pairs together tell it apart. */
static bool falls_out(const struct mot_racer *r, const struct mot_racer *leader)
{
    return mot_race_clearly_later(r, leader) || mot_race_compare(r, leader).verdict == MOT_BETTER;
}

/* Two seeds at a time, until one is left or all seeds are run. */
static enum mot_status race(struct race *r)
{
    struct mot_race *o = r->o;
    struct mot_racer *kept[MOT_RACE_ARMS];
    size_t keeps = best_of(o, kept, MOT_RACE_ARMS);
    for (size_t i = 0; i < keeps; i++) kept[i]->stage = MOT_RACE_RACED;
    for (size_t seed = 0, left = keeps; seed < MOT_RACE_SEEDS && (left > 1 || seed == 0); seed += 2) {
        struct trial t[2 * MOT_RACE_ARMS];
        size_t n = 0;
        for (size_t s = seed; s < seed + 2; s++)
            for (size_t i = 0; i < keeps; i++)
                if (!kept[i]->out)
                    t[n++] =
                        (struct trial){ .racer = kept[i], .rate = kept[i]->rate, .share = 1, .seed = s + 1 };
        enum mot_status status = run_tries(r, "racing", t, n, RACED_BY);
        for (size_t i = 0; i < n; i++) {
            size_t at = t[i].seed - 1;
            t[i].racer->run[at] = t[i].figures;
            free(t[i].racer->folder[at]);
            t[i].racer->folder[at] = t[i].folder;
        }
        if (status != MOT_OK) return status;
        const struct mot_racer *order[MOT_RACE_ARMS];
        mot_race_order(o, order, MOT_RACE_ARMS);
        left = 0;
        for (size_t i = 0; i < keeps; i++) {
            if (kept[i] != order[0] && falls_out(kept[i], order[0])) kept[i]->out = true;
            left += !kept[i]->out;
        }
        o->seeds = seed + 2;
        if (!r->whole) break;
    }
    return MOT_OK;
}

/* Tries the best of the race with one thing changed at a time. */
static enum mot_status change(struct race *r)
{
    struct mot_race *o = r->o;
    const struct mot_racer *order[MOT_RACE_ARMS];
    size_t racers = mot_race_order(o, order, MOT_RACE_ARMS), n = 0;
    struct trial t[MOT_RACE_CHANGES * MOT_RACE_CHANGED * MOT_RACE_ARMS];
    for (size_t c = 0; c < MOT_RACE_CHANGES; c++) {
        if (o->pointless[c]) continue;
        struct trial probe = { .racer = (struct mot_racer *)order[0], .change = c + 1, .share = 1 };
        size_t settings;
        struct mot_study_setting *s = settings_of(o, &probe, &settings);
        struct mot_experiment *x;
        o->refuses[c] = mot_study_plan_run(o->plan, order[0]->arm, 0, s, settings, NULL, &x) != MOT_OK;
        if (o->refuses[c]) continue;
        mot_experiment_close(x);
        for (uint64_t seed = 0; seed < MOT_RACE_CHANGED; seed++)
            for (size_t i = 0; i < racers; i++)
                t[n++] = (struct trial){ .racer = (struct mot_racer *)order[i],
                    .rate = order[i]->rate,
                    .share = 1,
                    .seed = seed + 1,
                    .change = c + 1 };
    }
    enum mot_status status = n ? run_tries(r, "changing the cluster", t, n, 1) : MOT_OK;
    for (size_t i = 0; i < n; i++) {
        if (status == MOT_OK) t[i].racer->changed[t[i].change - 1][t[i].seed - 1] = t[i].figures;
        free(t[i].folder);
    }
    o->changes = status == MOT_OK;
    return status;
}

/* ---- The whole -------------------------------------------------------------------------------------- */

/* The first runs are as short as the budget demands: a quarter, a sixteenth or a 64th of the whole. */
static double first_share(const struct mot_race *o, double wall_s)
{
    double runs = 0;
    for (size_t i = 0; i < o->racers; i++) runs += 3 * (o->racer[i].stage > MOT_RACE_REFUSED);
    double affordable = SCREENED_BY * o->budget_s / (runs * fmax(wall_s, 0.01));
    return affordable > 0.25 ? 0.25 : affordable > 1.0 / 16 ? 1.0 / 16 : 1.0 / 64;
}

static bool has_raced(const struct mot_race *o)
{
    for (size_t i = 0; i < o->racers; i++)
        for (size_t s = 0; s < MOT_RACE_SEEDS; s++)
            if (o->racer[i].run[s].known) return true;
    return false;
}

static bool has_rivals(const struct mot_race *o)
{
    const struct mot_racer *order[MOT_RACE_ARMS];
    return mot_race_order(o, order, MOT_RACE_ARMS) > 1;
}

/* Changes that cannot have an effect: a single worker has all labels, and half of a bandwidth without limit
 * has no limit either. The server's link counts whatever the file's method: others race, too. */
static void find_pointless(struct mot_race *o, const struct mot_experiment *x)
{
    const struct mot_cluster *cluster = x->cluster;
    bool limited = false;
    for (uint32_t i = 0; i <= cluster->workers; i++)
        limited |= isfinite(cluster->machine[i].link.up) || isfinite(cluster->machine[i].link.down);
    for (size_t c = 0; c < MOT_RACE_CHANGES; c++) {
        bool links = strcmp(mot_race_changes[c].key, "cluster.links") == 0,
             labels = strcmp(mot_race_changes[c].key, "partition") == 0;
        o->pointless[c] = (labels && x->workers == 1) || (links && !limited);
    }
}

static enum mot_status all_steps(struct race *r)
{
    struct mot_race *o = r->o;
    double wall_s = 0;
    enum mot_status status = pilot(r, &wall_s);
    if (status != MOT_OK) return status;
    double share = first_share(o, wall_s);
    status = screen(r, share);
    bool there = status == MOT_OK && draw_in(o);
    if (status == MOT_OK) status = refine(r, there ? 1 : share * 4 < 0.5 ? share * 4 : 0.5);
    if (status == MOT_OK && !o->target_given) choose_target(o);
    if (status == MOT_OK) status = race(r);
    size_t made = r->runner.made + r->runner.found;
    if (status == MOT_OK && !has_raced(o))
        status = mot_fail(MOT_EDEADLINE,
            "the budget ran out before methods could race, after %zu run%s, kept in %s; the same command "
            "continues from there, or give a longer --budget",
            made, mot_plural(made), o->store);
    /* Where nothing is recommended, nothing can change that; nor where nobody else raced. */
    if (status == MOT_OK && mot_race_arrived(o) && has_rivals(o)) status = change(r);
    return status;
}

enum mot_status mot_race_run(struct mot_race *o)
{
    struct race r = { .o = o, .began_s = mot_wall_s() };
    struct mot_experiment *x = NULL;
    for (size_t i = 0; i < o->settings; i++)
        if (strcmp(o->setting[i].key, "method") == 0)
            return mot_fail(MOT_EUSAGE,
                "%s: a plan chooses the method; leave this out, or use motley compare --methods",
                o->setting[i].origin);
    enum mot_status status = open_base(o, &x);
    if (status != MOT_OK) return status;
    o->complete = true;
    o->lr = isnan(x->optim.lr) ? x->optimizer->rate : x->optim.lr;
    o->target = x->stop.target;
    o->target_given = o->target != MOT_TARGET_NONE;
    o->target_value = o->target_given ? x->stop.value : (double)NAN;
    find_pointless(o, x);
    status = open_racers(o, x);
    if (status != MOT_OK || o->dry_run) {
        mot_experiment_close(x);
        return status;
    }
    if (status == MOT_OK) status = mot_store_open(o->store, &r.store);
    r.runner = (struct mot_runner){ .plan = o->plan,
        .store = r.store,
        .jobs = o->jobs,
        .fresh = o->fresh,
        .progress = o->progress,
        .terminal = o->terminal,
        .interrupt = o->interrupt,
        .listener = o->listener };
    if (status == MOT_OK) status = all_steps(&r);
    if (status == MOT_EINTERRUPTED)
        status =
            mot_fail(status, "interrupted after %zu run%s, kept in %s; the same command continues from there",
                r.runner.made, mot_plural(r.runner.made), o->store);
    o->made = r.runner.made;
    o->found = r.runner.found;
    free(r.failed);
    mot_store_close(r.store);
    mot_experiment_close(x);
    return status;
}

void mot_race_close(struct mot_race *o)
{
    for (size_t i = 0; i < o->racers; i++)
        for (size_t s = 0; s < MOT_RACE_SEEDS; s++) free(o->racer[i].folder[s]);
    free(o->racer);
    mot_study_plan_close(o->plan);
    mot_arena_free(&o->arena);
}
