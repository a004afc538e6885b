/* partition.c -- `motley partition`: who is to hold which rows, how
 * good that is, and the files that say so. */
#include "api/job.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/shown.h"
#include "base/stopwatch.h"
#include "base/words.h"
#include "cli.h"
#include "config/version.h"
#include "interrupt.h"
#include "partition/folder.h"
#include "partition/quality.h"
#include "partition/classwise.h"
#include "report/json.h"
#include "report/report.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- Progress -------------------------------------------------------------------------------- */

#define REDRAW_S 0.2
#define LINE_S 5.0

struct progress {
    const char *doing;
    double began, shown;
    bool terminal, drawn;
};

static void on_progress(void *self, double done)
{
    struct progress *p = self;
    double now = mot_wall_s(), passed = now - p->began;
    char left[48] = "";
    if (now - p->shown < (p->terminal ? REDRAW_S : LINE_S)) return;
    p->shown = now;
    if (done > 1) done = 1;
    if (done > 0.01 && passed > 0.5)
        mot_show_time((uint64_t)(passed * (1 - done) / done * 1e9), left, sizeof left);
    fprintf(stderr, "%s%s %3.0f %%%s%s%s%s", p->terminal ? "\r" : "", p->doing, floor(100 * done),
        *left ? "  " : "", left, *left ? " left" : "", p->terminal ? "\x1b[K" : "\n");
    fflush(stderr);
    p->drawn = p->terminal;
}

static void progress_begin(struct progress *p, const char *doing)
{
    p->doing = doing;
    p->began = mot_wall_s();
    p->shown = p->began - (p->terminal ? 0 : LINE_S - 2);
}

static void progress_clear(struct progress *p)
{
    if (p->drawn) fputs("\r\x1b[K", stderr);
    p->drawn = false;
}

/* ---- From flags to an experiment ----------------------------------------------------------------- */

/* Flags that are options of the partition under their own name. */
static const char *const option_flags[] = { "objective", "rule", "features", "bandwidth", "algorithm",
    "memory", "neighbours", "epsilon", "sizes", "alpha", "labels", "from" };

struct wish {
    struct mot_setting setting[64];
    size_t settings;
    struct mot_arena arena;
    double *ratio;
    uint32_t ratios;
};

static void wish_for(struct wish *w, const char *key, const char *value, const char *origin)
{
    if (w->settings < MOT_COUNT(w->setting))
        w->setting[w->settings++] = (struct mot_setting){ key, value, origin };
}

/* "2,1,1,1" */
static enum mot_status read_ratios(const char *text, struct wish *w)
{
    for (const char *p = text;; p++) {
        char number[64];
        size_t n = strcspn(p, ",");
        double value;
        snprintf(number, sizeof number, "%.*s", (int)(n < 63 ? n : 63), p);
        if (n == 0 || n > 63 || !mot_read_real(number, &value) || !(value > 0) || value > 1e300)
            return mot_fail(MOT_EUSAGE,
                "--ratios: expected numbers above 0 with commas between, such as 2,1,1; found '%s' for "
                "worker %u",
                number, w->ratios);
        w->ratio = mot_grow(w->ratio, w->ratios + 1, sizeof *w->ratio);
        w->ratio[w->ratios++] = value;
        p += n;
        if (!*p) return MOT_OK;
    }
}

static bool ends_in_yaml(const char *word)
{
    size_t n = strlen(word);
    return n > 5 && strcmp(word + n - 5, ".yaml") == 0;
}

/* Its own options name it. */
static bool wants_submodular(const struct cli_args *args)
{
    return cli_value(args, "objective") || cli_value(args, "rule") || cli_value(args, "neighbours") ||
        cli_value(args, "epsilon");
}

static enum mot_status open_experiment(
    const struct cli_args *args, struct wish *w, struct mot_experiment **out)
{
    bool file = ends_in_yaml(args->word[0]);
    const char *ratios = cli_value(args, "ratios"), *by = cli_value(args, "by");
    enum mot_status status = ratios ? read_ratios(ratios, w) : MOT_OK;
    if (status != MOT_OK) return status;
    if (!file) wish_for(w, "data", args->word[0], "DATA");
    if (!by && !file)
        by = cli_value(args, "from") ? "from" : wants_submodular(args) ? "submodular" : "herding";
    if (by) wish_for(w, "partition", by, "--by");
    for (size_t i = 0; i < MOT_COUNT(option_flags); i++) {
        const char *value = cli_value(args, option_flags[i]);
        char key[64], origin[64];
        snprintf(key, sizeof key, "partition.%s", option_flags[i]);
        snprintf(origin, sizeof origin, "--%s", option_flags[i]);
        if (value) wish_for(w, mot_arena_text(&w->arena, key), value, mot_arena_text(&w->arena, origin));
    }
    bool sized = false;
    for (size_t i = 0; i < args->settings; i++) {
        const struct mot_setting *s = &args->setting[i];
        sized |= strcmp(s->key, "workers") == 0;
        if (ratios && strncmp(s->key, "cluster", 7) == 0)
            return mot_fail(MOT_EUSAGE,
                "--ratios and %s: expected one of them, both say how fast the workers are", s->origin);
        if (w->settings == MOT_COUNT(w->setting))
            return mot_fail(MOT_EUSAGE, "more than %zu flags", MOT_COUNT(w->setting));
        wish_for(w, s->key, s->value, s->origin);
    }
    char workers[16];
    snprintf(workers, sizeof workers, "%u", w->ratios);
    if (ratios && !sized) wish_for(w, "workers", mot_arena_text(&w->arena, workers), "--ratios");
    status = mot_experiment_open(file ? args->word[0] : NULL, w->setting, w->settings, out);
    if (status == MOT_OK && ratios && (*out)->workers != w->ratios) {
        status = mot_fail(MOT_EUSAGE, "--ratios: %u numbers, expected one for each of the %u workers",
            w->ratios, (*out)->workers);
        mot_experiment_close(*out);
    }
    return status;
}

/* ---- What came out ---------------------------------------------------------------------------------- */

struct result {
    const struct mot_experiment *x;
    const struct mot_dataset *data;
    struct mot_split split;
    struct mot_parts parts;
    struct mot_split_cost cost;
    struct mot_quality q;
    const char *features;
    double split_s, split_cpu_s, measure_s, measure_cpu_s;
};

static const struct mot_classwise_conf *classwise_of(const struct result *r)
{
    return mot_is_classwise(r->x->partitioner) ? r->x->partition_conf : NULL;
}

static double peak_bytes(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return 1024.0 * (double)u.ru_maxrss;
}

static json_t *counts_json(const struct result *r, uint32_t worker)
{
    json_t *counts = json_array();
    for (uint32_t l = 0; l < r->q.classes; l++)
        json_array_append_new(counts, json_integer(r->q.count[(size_t)l * r->q.parts + worker]));
    return counts;
}

/* One figure of a worker for each class, from a table [classes][parts]. */
static json_t *by_class_json(const struct result *r, const double *table, uint32_t worker)
{
    json_t *list = json_array();
    for (uint32_t l = 0; l < r->q.classes; l++)
        json_array_append_new(list, mot_json_number(table[(size_t)l * r->q.parts + worker]));
    return list;
}

static json_t *partition_json(const struct result *r)
{
    const struct mot_option *o = r->x->partitioner->options;
    json_t *p = json_pack("{s:s}", "name", r->x->partitioner->name);
    for (; o && o->name; o++) {
        char *text = mot_option_text(o, r->x->partition_conf);
        json_t *value = json_string(text);
        json_object_set_new(p, o->name, value ? value : json_null());
        free(text);
    }
    return p;
}

static json_t *quality_json(const struct result *r)
{
    const struct mot_quality *q = &r->q;
    bool has_mmd2 = r->features != NULL;
    json_t *quality = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "mmd2_mean",
        mot_json_number(q->mmd2_mean), "mmd2_max", has_mmd2 ? mot_json_number(q->mmd2_max) : json_null(),
        "mmd2_random", has_mmd2 ? mot_json_number(q->mmd2_random) : json_null(), "mmd2_by",
        has_mmd2 ? json_string(q->mmd2_exact ? "exact" : "random features") : json_null(),
        "label_divergence_mean", mot_json_number(q->divergence_mean), "label_divergence_max",
        mot_json_number(q->divergence_max), "quota_error_class", mot_json_number(q->quota_class),
        "quota_error_worker", mot_json_number(q->quota_worker), "facility_location",
        mot_json_number(q->facility_location), "graph_cut", mot_json_number(q->graph_cut));
    json_object_set_new(
        quality, "mmd2_ratio_worst", has_mmd2 ? mot_json_number(q->ratio_worst) : json_null());
    json_object_set_new(quality, "worse_than_random", has_mmd2 ? json_integer(q->worse) : json_null());
    json_object_set_new(quality, "bandwidth", has_mmd2 ? mot_json_number(q->bandwidth) : json_null());
    json_object_set_new(quality, "features", has_mmd2 ? json_string(r->features) : json_null());
    return quality;
}

static json_t *cost_json(const struct result *r)
{
    const struct mot_split_cost *c = &r->cost;
    json_t *cost = json_pack("{s:f, s:f, s:f, s:f, s:f, s:I}", "seconds", r->split_s, "cpu_seconds",
        r->split_cpu_s, "measure_seconds", r->measure_s, "measure_cpu_seconds", r->measure_cpu_s,
        "peak_bytes", peak_bytes(), "threads", (json_int_t)mot_split_threads(&r->split));
    if (!c->algorithm) return cost;
    json_object_set_new(cost, "algorithm", json_string(c->algorithm));
    json_object_set_new(cost, "exact_greedy", json_boolean(c->exact));
    json_object_set_new(cost, "planned_bytes", json_real(c->bytes));
    json_object_set_new(cost, "pairs", json_integer((json_int_t)c->pairs));
    json_object_set_new(cost, "evaluations", json_integer((json_int_t)c->evaluations));
    if (c->neighbours) json_object_set_new(cost, "neighbours", json_integer(c->neighbours));
    if (c->candidates) json_object_set_new(cost, "candidates", json_integer(c->candidates));
    if (c->epsilon > 0) json_object_set_new(cost, "epsilon", json_real(c->epsilon));
    return cost;
}

static json_t *result_json(const struct result *r)
{
    json_t *all = mot_partition_facts(&r->split, &r->parts), *workers = json_object_get(all, "workers"),
           *classes = json_array();
    for (uint32_t j = 0; j < r->parts.parts; j++) {
        json_t *w = json_array_get(workers, j);
        json_object_set_new(w, "speed", mot_json_number(r->split.speed[j]));
        json_object_set_new(w, "count", counts_json(r, j));
        if (!r->features) continue;
        json_object_set_new(w, "mmd2", by_class_json(r, r->q.mmd2, j));
        json_object_set_new(w, "mmd2_random", by_class_json(r, r->q.random, j));
    }
    for (uint32_t l = 0; l < r->data->train.classes; l++)
        json_array_append_new(classes, mot_json_text(r->data->class_names[l]));
    json_object_set_new(all, "motley", json_string(MOT_VERSION));
    json_object_set_new(all, "data", json_string(r->data->name));
    json_object_set_new(all, "seed",
        json_integer(
            (json_int_t)(r->x->data.data_seed != MOT_WORD_UINT ? r->x->data.data_seed : r->x->seed)));
    json_object_set_new(all, "indexes", json_string("rows of the training file, from 0"));
    json_object_set_new(all, "classes", classes);
    json_object_set_new(all, "partition", partition_json(r));
    json_object_set_new(all, "quality", quality_json(r));
    json_object_set_new(all, "cost", cost_json(r));
    return all;
}

/* ---- On the terminal --------------------------------------------------------------------------------- */

#define CLASSES_SHOWN 12u
#define WORKERS_SHOWN 40u

static void print_table(const struct result *r)
{
    uint32_t parts = r->parts.parts, classes = r->q.classes,
             shown = r->data->train.classes && classes <= CLASSES_SHOWN ? classes : 0;
    printf("%6s  %10s  %8s", "worker", "speed", "rows");
    for (uint32_t l = 0; l < shown; l++) {
        char name[7];
        printf("  %6s", mot_show_text(r->data->class_names[l], name, sizeof name));
    }
    if (!shown && r->data->train.classes) printf("  %8s  %13s", "classes", "rows of each");
    if (r->features) printf("  %9s  %9s", "MMD^2", "of random");
    putchar('\n');
    for (uint32_t j = 0; j < parts && j < WORKERS_SHOWN; j++) {
        uint32_t least = UINT32_MAX, most = 0, present = 0, blocks = 0;
        double mmd2 = 0, random = 0;
        printf("%6u  %10.4g  %8llu", j, r->split.speed[j],
            (unsigned long long)(r->parts.at[j + 1] - r->parts.at[j]));
        for (uint32_t l = 0; l < classes; l++) {
            uint32_t n = r->q.count[(size_t)l * parts + j];
            double m = r->q.mmd2[(size_t)l * parts + j];
            if (l < shown) printf("  %6u", n);
            present += n > 0;
            if (n < least) least = n;
            if (n > most) most = n;
            if (!isnan(m)) mmd2 += m, random += r->q.random[(size_t)l * parts + j], blocks++;
        }
        if (!shown && r->data->train.classes) printf("  %8u  %6u-%-6u", present, least, most);
        if (r->features)
            printf("  %9.2e  %9.2g", blocks ? mmd2 / blocks : NAN, random > 0 ? mmd2 / random : 0);
        putchar('\n');
    }
    if (parts > WORKERS_SHOWN) printf("... and %u more workers\n", parts - WORKERS_SHOWN);
}

static void print_algorithm(const struct result *r)
{
    const struct mot_split_cost *c = &r->cost;
    char size[32];
    if (!c->algorithm) return;
    printf("%-12s %s: ", "algorithm", c->algorithm);
    if (c->neighbours) printf("the %u largest similarities of each row; ", c->neighbours);
    else if (c->candidates)
        printf("the best of up to %u samples a pick, at an expected loss of up to %.3g %% of the value; ",
            c->candidates, 100 * c->epsilon);
    else if (c->exact) printf("the greedy choice, exactly; ");
    else printf("the greedy choice within chunks of rows, the rest by random features; ");
    printf("%.4g pairs compared, %.4g gains, %s planned\n", (double)c->pairs, (double)c->evaluations,
        mot_show_size(c->bytes, size, sizeof size));
}

/* How far the parts are from what chance would give, and where that is worst. */
static void print_ratio(const struct result *r)
{
    const struct mot_quality *q = &r->q;
    char name[64] = "";
    if (q->mmd2_random <= 0) return; /* one worker has everything */
    if (r->data->train.classes) mot_show_text(r->data->class_names[q->worst_class], name, sizeof name);
    printf("%-12s %.2g of the MMD^2 that random rows would have; at worst %.2g, worker %u%s%s\n", "ratio",
        q->mmd2_mean / q->mmd2_random, q->ratio_worst, q->worst_part, *name ? ", class " : "", name);
    if (!classwise_of(r) || q->worse == 0) return;
    printf("%-12s %u of %u blocks (a class at a worker) are less like their class than random rows would be",
        "warning", q->worse, q->classes * q->parts);
    printf("; try %s\n",
        r->x->partitioner == &mot_partition_herding ? "`--by proportional`, which takes random rows"
                                                    : "`--by herding`");
}

static void print_quality(const struct result *r)
{
    const struct mot_quality *q = &r->q;
    if (r->x->partitioner == &mot_partition_submodular && !isnan(q->facility_location)) {
        bool cut = classwise_of(r)->objective != 0;
        printf("%-12s %s %.8g over all classes and workers\n", "value",
            cut ? "graph-cut" : "facility-location", cut ? q->graph_cut : q->facility_location);
    }
    char features[256];
    if (r->features)
        printf("%-12s of a worker's rows against their class: mean %.3g, worst %.3g; at random %.3g (%s, "
               "features %s, bandwidth %.4g)\n",
            "MMD^2", q->mmd2_mean, q->mmd2_max, q->mmd2_random,
            q->mmd2_exact ? "exact" : "by random features",
            mot_show_text(r->features, features, sizeof features), q->bandwidth);
    if (r->features) print_ratio(r);
    if (r->data->train.classes)
        printf("%-12s divergence from all labels: mean %.3g, worst %.3g nats\n", "labels", q->divergence_mean,
            q->divergence_max);
    printf("%-12s from shares by speed: a class by %.3g rows at most, a worker's total by %.3g\n", "distance",
        q->quota_class, q->quota_worker);
}

static void print_cost(const struct result *r, const char *out)
{
    char split[32], work[32], measure[32], size[32];
    const struct mot_dataset *d = r->data;
    printf("%-12s %s to partition (%s of CPU), %s to measure; %s at the most\n", "cost",
        mot_show_time((uint64_t)(r->split_s * 1e9), split, sizeof split),
        mot_show_time((uint64_t)(r->split_cpu_s * 1e9), work, sizeof work),
        mot_show_time((uint64_t)(r->measure_s * 1e9), measure, sizeof measure),
        mot_show_size(peak_bytes(), size, sizeof size));
    printf("%-12s %u of the %u in the training file", "rows", d->train.rows, d->file_rows);
    if (d->train.rows < d->file_rows)
        printf("; %u are kept to test or validate on (data.test, data.valid)", d->file_rows - d->train.rows);
    putchar('\n');
    char folder[512];
    if (out) mot_show_text(out, folder, sizeof folder);
    if (out)
        printf(
            "%-12s %s: rows are numbered from 0 as in the file; train on them with `partition: {from: %s}`\n",
            "written", folder, folder);
}

/* ---- The command ---------------------------------------------------------------------- */

static enum mot_status how_to_measure(const struct cli_args *args, bool *any, enum mot_mmd_how *how)
{
    static const char *const words[] = { "auto", "exact", "random", "none" };
    const char *word = cli_value(args, "quality");
    *any = true;
    *how = MOT_MMD_AUTO;
    for (uint32_t i = 0; word && i < MOT_COUNT(words); i++) {
        if (strcmp(word, words[i]) != 0) continue;
        *any = i < 3;
        *how = i < 3 ? (enum mot_mmd_how)i : MOT_MMD_AUTO;
        return MOT_OK;
    }
    return word
        ? mot_fail(MOT_EUSAGE, "--quality: expected one of auto, exact, random, none; found '%.40s'", word)
        : MOT_OK;
}

static enum mot_status measure(struct result *r, bool any, enum mot_mmd_how how)
{
    const struct mot_classwise_conf *conf = classwise_of(r);
    struct mot_features f;
    struct mot_crew *crew = mot_crew_open(mot_split_threads(&r->split));
    double wall_s = mot_wall_s(), cpu_s = mot_cpu_s();
    enum mot_status status = MOT_OK;
    r->features = any ? conf ? conf->features : "raw" : NULL;
    if (any)
        status =
            mot_features_open(r->features, &r->split, conf ? conf->memory : mot_machine_memory(), crew, &f);
    mot_crew_close(crew);
    if (status != MOT_OK) return status;
    status = mot_quality_of(&r->split, &r->parts, any ? &f : NULL, r->cost.bandwidth, how, &r->q);
    if (any) mot_features_close(&f);
    r->measure_s = mot_wall_s() - wall_s;
    r->measure_cpu_s = mot_cpu_s() - cpu_s;
    return status;
}

static enum mot_status cut(struct result *r)
{
    double wall_s = mot_wall_s(), cpu_s = mot_cpu_s();
    enum mot_status status =
        mot_partition(r->x->partitioner, r->x->partition_conf, &r->split, &r->parts, &r->cost);
    r->split_s = mot_wall_s() - wall_s;
    r->split_cpu_s = mot_cpu_s() - cpu_s;
    return status;
}

static enum mot_status deliver(const struct cli_args *args, const struct result *r, const char *out)
{
    char *text = NULL;
    size_t n = 0;
    json_t *all = result_json(r);
    FILE *file = open_memstream(&text, &n);
    if (!file) return mot_fail(MOT_ESYSTEM, "no memory for partition.json");
    mot_json_print(all, file);
    fclose(file);
    json_decref(all);
    enum mot_status status =
        out ? mot_partition_write(out, cli_given(args, "replace"), &r->split, &r->parts, text, n) : MOT_OK;
    if (status == MOT_OK && args->json) fputs(text, stdout);
    free(text);
    if (status != MOT_OK || args->json || (args->quiet && out)) return status;
    print_table(r);
    if (args->quiet) return MOT_OK;
    putchar('\n');
    print_algorithm(r);
    print_quality(r);
    print_cost(r, out);
    return MOT_OK;
}

static enum mot_status with_data(const struct cli_args *args, struct result *r)
{
    bool any;
    enum mot_mmd_how how;
    const char *out = cli_value(args, "out");
    struct progress progress = { .terminal = isatty(STDERR_FILENO) };
    r->split.table = &r->data->train;
    r->split.file_rows = r->data->file_rows;
    r->split.file_row = r->data->file_row;
    r->split.unpack_max = r->x->data.unpack_max;
    if (!args->quiet) r->split.progress = on_progress, r->split.progress_self = &progress;
    enum mot_status status = how_to_measure(args, &any, &how);
    if (status == MOT_OK && out) status = mot_partition_writable(out, cli_given(args, "replace"));
    progress_begin(&progress, "partitioning");
    if (status == MOT_OK) status = cut(r);
    progress_begin(&progress, "measuring");
    if (status == MOT_OK) status = measure(r, any, how);
    progress_clear(&progress);
    if (status == MOT_OK) status = deliver(args, r, out);
    if (status == MOT_EINTERRUPTED) mot_fail(status, "interrupted; nothing was written");
    mot_quality_close(&r->q);
    mot_parts_free(&r->parts);
    return status;
}

static enum mot_status partition(const struct cli_args *args)
{
    struct wish wish = { .settings = 0 };
    struct mot_experiment *x = NULL;
    struct mot_dataset *data = NULL;
    /* also while the data is read: nothing is to be left behind */
    const volatile sig_atomic_t *interrupt = cli_catch_interrupts();
    enum mot_status status = open_experiment(args, &wish, &x);
    if (status != MOT_OK) goto out_wish;
    double *speed = mot_speeds_of(x);
    for (uint32_t i = 0; i < wish.ratios; i++) speed[i] = wish.ratio[i];
    status = mot_dataset_open(&x->data, x->seed, &data);
    if (status == MOT_OK) {
        struct result r = { .x = x,
            .data = data,
            .split = { .parts = x->workers,
                .speed = speed,
                .seed = x->seed,
                .threads = x->sim.threads,
                .interrupt = interrupt } };
        status = with_data(args, &r);
        mot_dataset_close(data);
    }
    free(speed);
    mot_experiment_close(x);
out_wish:
    mot_arena_free(&wish.arena);
    free(wish.ratio);
    return status;
}

static const struct cli_flag flags[] = {
    { "by", "NAME",
        "the partitioner: herding (if not given; submodular if an option of its own is), equal, stratified, "
        "proportional, ... (see "
        "motley help "
        "partition)" },
    { "objective", "NAME", "submodular: facility-location or graph-cut" },
    { "rule", "NAME", "submodular: fill, literal or round-robin" },
    { "features", "WHAT",
        "herding, submodular: raw, pca:K or FILE.npy, with a row for each row of the data's file" },
    { "bandwidth", "NUMBER",
        "herding, submodular: the width of the similarity; by default the median distance in a sample" },
    { "algorithm", "NAME", "auto, dense, blocked; herding: chunks; submodular: knn, stochastic" },
    { "memory", "SIZE", "herding, submodular: what may be taken beside the data, such as 2G" },
    { "neighbours", "K", "submodular, knn: similarities kept for each sample" },
    { "epsilon", "NUMBER", "submodular, stochastic: the share of the value that may be lost" },
    { "sizes", "speed|equal", "herding, submodular: sizes in proportion to speed, or all the same" },
    { "alpha", "NUMBER", "dirichlet, quantity: how even; 0.1 is very skewed" },
    { "labels", "K", "shards: labels of a worker" },
    { "from", "DIR", "measure the partition that is in this folder" },
    { "ratios", "R,R,...",
        "how fast the workers are, as numbers; or name a cluster, perhaps measured by motley profile, with "
        "--cluster" },
    { "quality", "auto|exact|random|none",
        "how MMD^2 is measured: over all pairs, by random features, or not at all; auto: pairs for classes "
        "of up to 20000 rows" },
    { "out", "DIR",
        "write worker-0.npy, ... and partition.json there; without it only the table is printed" },
    { "replace", NULL, "write over a partition that is in --out" },
    { NULL, NULL, NULL },
};

const struct cli_command cli_partition = {
    .name = "partition",
    .synopsis =
        "DATA|EXPERIMENT.yaml [--workers N | --cluster FILE | --ratios R,R,...] [--by NAME] [--out DIR]",
    .summary = "cut a data set over workers, by speed and by features",
    .about =
        "Says which rows each worker is to hold. `herding` gives every worker a share of each class in "
        "proportion to its speed, chosen so that its mean in feature space is the class's; `submodular` "
        "does it as RCD-SGD does (arXiv 2211.00839); the other partitioners are those of an experiment's "
        "`partition:` section.\n"
        "With --out DIR it writes a file of row numbers for each worker (worker-0.npy, int64) and "
        "partition.json with the quality and the cost. Rows are "
        "numbered from 0 as they lie in the training file, whatever the order they are trained in; "
        "those kept to test on (data.test, by default a fifth "
        "where the set has no test part) are in no file. `motley sim` and `motley train` take the "
        "folder as `partition: {from: DIR}` or --partition-from DIR, NumPy and "
        "PyTorch index the same file by it: Subset(data, numpy.load('DIR/worker-0.npy')).\n"
        "The table shows each worker's rows by class, and MMD^2, the distance of its rows from all rows "
        "of their class, beside what shuffled rows would have. "
        "Under --memory the algorithm is chosen that fits: dense is exact; chunks, knn and stochastic are "
        "close; a graph cut is exact in any memory. "
        "The result depends on the seed, not on the threads. Every key of an experiment is a flag here "
        "too (--data-test 0, --seed 2, --sim-threads 1).",
    .examples = "motley partition fashion-mnist --workers 8 --out parts\n"
                "motley partition digits --ratios 2,1,1,1 --objective graph-cut\n"
                "motley partition a9a.gz --cluster measured.yaml --features pca:32 --memory 500M\n"
                "motley partition digits --workers 10 --by dirichlet --alpha 0.3\n"
                "motley sim --data fashion-mnist --workers 8 --partition-from parts\n",
    .flags = flags,
    .words_min = 1,
    .words_max = 1,
    .experiment_flags = true,
    .run = partition,
};
