/* partition.c -- `motley partition`: chooses rows for each worker, measures the result, writes the files. */
#include "base/memory.h"
#include "base/options.h"
#include "base/stopwatch.h"
#include "base/ticker.h"
#include "base/words.h"
#include "cli.h"
#include "interrupt.h"
#include "page/page.h"
#include "partition.h"
#include "partition/folder.h"
#include "partition/glimpse.h"
#include "report/report.h"
#include "study.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Progress -------------------------------------------------------------------------------- */

struct progress {
    const char *doing;
    struct mot_ticker ticker;
};

static void on_progress(void *self, double done)
{
    struct progress *p = self;
    double passed = mot_wall_s() - p->ticker.began;
    char left[48] = "", line[160];
    if (!mot_ticker_due(&p->ticker)) return;
    if (done > 1) done = 1;
    if (done > 0.01 && passed > 0.5)
        mot_show_time((uint64_t)(passed * (1 - done) / done * 1e9), left, sizeof left);
    snprintf(line, sizeof line, "%s %3.0f %%%s%s%s", p->doing, floor(100 * done), *left ? "  " : "", left,
        *left ? " left" : "");
    mot_ticker_show(&p->ticker, line);
}

static void progress_begin(struct progress *p, const char *doing)
{
    p->doing = doing;
    mot_ticker_clear(&p->ticker);
    mot_ticker_open(&p->ticker, stderr, isatty(STDERR_FILENO));
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
                "--ratios: expected positive numbers separated by commas, such as 2,1,1; found '%s' for "
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

/* True if an option that only submodular has was given: it implies submodular. */
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
                "--ratios and %s: expected only one; both say how fast the workers are", s->origin);
        if (w->settings == MOT_COUNT(w->setting))
            return mot_fail(MOT_EUSAGE, "more than %zu flags", MOT_COUNT(w->setting));
        wish_for(w, s->key, s->value, s->origin);
    }
    char workers[16];
    snprintf(workers, sizeof workers, "%u", w->ratios);
    if (ratios && !sized) wish_for(w, "workers", mot_arena_text(&w->arena, workers), "--ratios");
    status = mot_experiment_open(file ? args->word[0] : NULL, w->setting, w->settings, out);
    if (status == MOT_OK && ratios && (*out)->workers != w->ratios) {
        status = mot_fail(MOT_EUSAGE, "--ratios: expected one number for each of the %u workers; found %u",
            (*out)->workers, w->ratios);
        mot_experiment_close(*out);
    }
    return status;
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

static enum mot_status how_to_fall_back(const struct cli_args *args, bool measured, enum mot_fallback_by *by)
{
    const char *word = cli_value(args, "fallback");
    *by = !word                        ? MOT_FALLBACK_NONE
        : strcmp(word, "herding") == 0 ? MOT_FALLBACK_HERDING
                                       : MOT_FALLBACK_RANDOM;
    if (word && *by == MOT_FALLBACK_RANDOM && strcmp(word, "random") != 0)
        return mot_fail(MOT_EUSAGE, "--fallback: expected herding or random; found '%.40s'", word);
    if (word && !measured)
        return mot_fail(MOT_EUSAGE,
            "--fallback and --quality none: expected only one; only a measurement shows what is worse than "
            "random");
    return MOT_OK;
}

/* Classes are partitioned again with the same options, or with those of herding. */
static enum mot_status fall_back(
    struct cli_cut *r, const struct mot_features *f, enum mot_mmd_how how, enum mot_fallback_by by)
{
    struct mot_arena arena = { 0 };
    struct mot_classwise_conf preset = { 0 };
    const struct mot_classwise_conf *conf = cli_cut_classwise(r);
    enum mot_status status =
        conf ? MOT_OK : mot_options_preset(mot_partition_herding.options, &preset, &arena);
    if (status == MOT_OK)
        status = mot_fall_back(by, conf ? conf : &preset, &r->split, f, how, &r->parts, &r->q, &r->fallback);
    mot_arena_free(&arena);
    return status;
}

static enum mot_status measure(struct cli_cut *r, bool any, enum mot_mmd_how how, enum mot_fallback_by by)
{
    const struct mot_classwise_conf *conf = cli_cut_classwise(r);
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
    if (status == MOT_OK && by != MOT_FALLBACK_NONE) status = fall_back(r, &f, how, by);
    if (any) mot_features_close(&f);
    r->measure_s = mot_wall_s() - wall_s;
    r->measure_cpu_s = mot_cpu_s() - cpu_s;
    return status;
}

static enum mot_status cut(struct cli_cut *r)
{
    double wall_s = mot_wall_s(), cpu_s = mot_cpu_s();
    enum mot_status status =
        mot_partition(r->x->partitioner, r->x->partition_conf, &r->split, &r->parts, &r->cost);
    r->split_s = mot_wall_s() - wall_s;
    r->split_cpu_s = mot_cpu_s() - cpu_s;
    return status;
}

static bool is_fallback(const char *word, bool *takes_value)
{
    if (strncmp(word, "--fallback", 10) != 0) return false;
    *takes_value = word[10] != '=';
    return true;
}

/* The command that would mend what was found: as typed, but with --fallback herding. malloc'd. */
static char *mending_command(const struct cli_args *args)
{
    bool replaces = cli_value(args, "out") && !cli_given(args, "replace");
    return cli_command_text(
        args, is_fallback, replaces ? " --fallback herding --replace" : " --fallback herding");
}

static enum mot_status write_folder(
    const struct cli_args *args, const struct cli_cut *r, const json_t *all, const char *json)
{
    char *page = NULL, *command = cli_command_text(args, NULL, "");
    size_t n;
    FILE *file = open_memstream(&page, &n);
    enum mot_status status = file ? mot_partition_page(all, command, file)
                                  : mot_fail(MOT_ESYSTEM, "out of memory for partition.html");
    if (file) fclose(file);
    if (status == MOT_OK)
        status = mot_partition_write(
            cli_value(args, "out"), cli_given(args, "replace"), &r->split, &r->parts, json, page);
    free(page);
    free(command);
    return status;
}

static enum mot_status deliver(const struct cli_args *args, const struct cli_cut *r, const char *out)
{
    char *text = NULL;
    size_t n = 0;
    json_t *all = cli_cut_json(r);
    FILE *file = open_memstream(&text, &n);
    if (!file) return mot_fail(MOT_ESYSTEM, "out of memory for partition.json");
    mot_json_print(all, file);
    fclose(file);
    enum mot_status status = out ? write_folder(args, r, all, text) : MOT_OK;
    if (status == MOT_OK && args->json) fputs(text, stdout);
    json_decref(all);
    free(text);
    if (status != MOT_OK || args->json || (args->quiet && out)) return status;
    char *command = mending_command(args);
    cli_cut_print(r, command, out, args->quiet);
    free(command);
    return MOT_OK;
}

static enum mot_status with_data(const struct cli_args *args, struct cli_cut *r)
{
    bool any;
    enum mot_mmd_how how;
    enum mot_fallback_by by;
    struct mot_glimpse glimpse;
    const char *out = cli_value(args, "out");
    struct progress progress = { 0 };
    r->split.table = &r->data->train;
    r->split.file_rows = r->data->file_rows;
    r->split.file_cut = r->data->file_cut;
    r->split.file_row = r->data->file_row;
    r->split.unpack_max = r->x->data.unpack_max;
    if (!args->quiet) r->split.progress = on_progress, r->split.progress_self = &progress;
    mot_glimpse_open(&glimpse, r->split.table->classes ? r->split.table->classes : 1, r->split.parts);
    enum mot_status status = how_to_measure(args, &any, &how);
    if (status == MOT_OK) status = how_to_fall_back(args, any, &by);
    if (status == MOT_OK && any && how != MOT_MMD_RANDOM) r->split.glimpse = &glimpse;
    if (status == MOT_OK && out) status = mot_partition_writable(out, cli_given(args, "replace"));
    progress_begin(&progress, "partitioning");
    if (status == MOT_OK) status = cut(r);
    progress_begin(&progress, "measuring");
    if (status == MOT_OK) status = measure(r, any, how, by);
    if (status == MOT_OK && cli_differ_is_asked(args))
        status = cli_differ_measure(r->x, r->data, &r->parts, mot_split_threads(&r->split), &r->differ);
    mot_ticker_clear(&progress.ticker);
    if (status == MOT_OK) status = deliver(args, r, out);
    if (status == MOT_EINTERRUPTED) mot_fail(status, "interrupted; nothing was written");
    mot_glimpse_close(&glimpse);
    mot_fallback_close(&r->fallback);
    mot_quality_close(&r->q);
    mot_parts_free(&r->parts);
    return status;
}

static enum mot_status partition(const struct cli_args *args)
{
    struct wish wish = { .settings = 0 };
    struct mot_experiment *x = NULL;
    struct mot_dataset *data = NULL;
    /* caught while the data is read too, so that nothing is left behind */
    const volatile sig_atomic_t *interrupt = cli_catch_interrupts();
    enum mot_status status = open_experiment(args, &wish, &x);
    if (status != MOT_OK) goto out_wish;
    double *speed = mot_speeds_of(x);
    for (uint32_t i = 0; i < wish.ratios; i++) speed[i] = wish.ratio[i];
    status = mot_dataset_open(&x->data, x->seed, &data);
    if (status == MOT_OK) {
        struct cli_cut r = { .x = x,
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
        "the partitioner: herding, submodular, equal, stratified, proportional, ... (see motley help "
        "partition); default: herding, or submodular if one of its own options is given" },
    { "objective", "NAME", "submodular: facility-location or graph-cut" },
    { "rule", "NAME", "submodular: fill, literal or round-robin" },
    { "features", "WHAT",
        "herding, submodular: raw, pca:K or FILE.npy with one row per row of the data file" },
    { "bandwidth", "NUMBER",
        "herding, submodular: the width of the similarity kernel; default: the median distance in a sample" },
    { "algorithm", "NAME", "auto, dense, blocked; herding: chunks; submodular: knn, stochastic" },
    { "memory", "SIZE", "herding, submodular: memory to use besides the data, such as 2G" },
    { "neighbours", "K", "submodular, knn: similarities kept per sample" },
    { "epsilon", "NUMBER", "submodular, stochastic: the fraction of the value that may be lost" },
    { "sizes", "speed|equal", "herding, submodular: parts in proportion to speed, or of equal size" },
    { "alpha", "NUMBER", "dirichlet, quantity: how even; 0.1 is very skewed" },
    { "labels", "K", "shards: labels per worker" },
    { "from", "DIR", "measure the partition in this folder" },
    { "ratios", "R,R,...",
        "the workers' relative speeds; or give a cluster, such as one measured by motley profile, with "
        "--cluster" },
    { "quality", "auto|exact|random|none",
        "how to measure MMD^2: over all pairs, with random features, or not at all; auto: pairs for classes "
        "of up to 20000 rows" },
    { "fallback", "herding|random",
        "partition a class again, with the same counts, if some worker's rows represent it worse than random "
        "rows would; the better result is kept" },
    { "out", "DIR",
        "write worker-0.npy, ..., partition.json and the page partition.html there; without it only the "
        "tables are printed" },
    { "replace", NULL, "overwrite the partition in --out" },
    { NULL, NULL, NULL },
};

const struct cli_command cli_partition = {
    .name = "partition",
    .synopsis =
        "DATA|EXPERIMENT.yaml [--workers N | --cluster FILE | --ratios R,R,...] [--by NAME] [--out DIR]",
    .summary = "partition a data set by speed and features",
    .about =
        "Chooses the rows that each worker holds. `herding` gives every worker a share of each class in "
        "proportion to its speed, chosen so that its mean in feature space matches that of the class; "
        "`submodular` follows RCD-SGD (arXiv 2211.00839); the other partitioners are those of an "
        "experiment's `partition:` section.\n"
        "With --out DIR it writes one file of row numbers per worker (worker-0.npy, int64), partition.json "
        "with quality and cost, and the page partition.html. Rows are numbered from 0 as in the training "
        "file, whatever order they are trained in; test rows (data.test, by default a fifth if the set has "
        "no test rows of its own) are in no file. `motley sim` and `motley train` use the folder with "
        "`partition: {from: DIR}` or --partition-from DIR; NumPy and PyTorch index the same file with it: "
        "Subset(data, numpy.load('DIR/worker-0.npy')).\n"
        "The tables show each worker's rows by class, and for each class and worker MMD^2, the distance of "
        "the worker's rows from all rows of the class, relative to random rows: above 1 is worse than "
        "chance. Herding stays below 1 unless a worker has only one or two rows of a class; others may not, "
        "and --fallback herding partitions just those classes again. --memory decides the algorithm: dense "
        "is exact; chunks, knn and stochastic are close; a graph cut is exact in any memory. With --model, "
        "or with an EXPERIMENT.yaml and its model, it also measures at the initial model how far the "
        "gradients of the parts are from that of all rows (zeta^2) compared with the noise of a batch "
        "(sigma^2 / b), and says whether the partition can matter in a run. The result depends on the seed, "
        "not on the number of threads. Every experiment key is a flag here too (--data-test 0, --seed 2, "
        "--sim-threads 1).",
    .examples = "motley partition fashion-mnist --workers 8 --out parts\n"
                "motley partition digits --ratios 2,1,1,1 --objective graph-cut\n"
                "motley partition a9a.gz --cluster measured.yaml --features pca:32 --memory 500M\n"
                "motley partition digits --ratios 8,1,1 --by submodular --fallback herding\n"
                "motley partition digits --workers 10 --by dirichlet --alpha 0.3\n"
                "motley partition digits --workers 8 --by sorted --model mlp --model-hidden 32\n"
                "motley sim --data fashion-mnist --workers 8 --partition-from parts\n",
    .flags = flags,
    .words_min = 1,
    .words_max = 1,
    .experiment_flags = true,
    .run = partition,
};
