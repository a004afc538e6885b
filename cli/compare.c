/* compare.c -- `motley compare`: the same data, model, cluster and seeds for every method. */
#include "base/file.h"
#include "base/memory.h"
#include "base/shown.h"
#include "base/words.h"
#include "interrupt.h"
#include "page/page.h"
#include "report/report.h"
#include "serve.h"
#include "study.h"
#include "study/compare.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- The command that repeats the study ------------------------------------------------------------ */

/* Flags that change how a study is made, not its result. */
static bool is_manner(const char *word, bool *takes_value)
{
    static const struct {
        const char *flag;
        bool value;
    } manners[] = {
        { "--jobs", true },
        { "--fresh", false },
        { "--quiet", false },
        { "--json", false },
        { "--csv", true },
        { "--svg", true },
        { "--serve", true },
        { "--serve-anyone", false },
        { "--serve-after", true },
    };
    for (size_t i = 0; i < MOT_COUNT(manners); i++) {
        size_t n = strlen(manners[i].flag);
        if (strncmp(word, manners[i].flag, n) != 0 || (word[n] && word[n] != '=')) continue;
        *takes_value = manners[i].value && word[n] != '=';
        return true;
    }
    return false;
}

/* Quoted for a shell. */
void cli_print_word(const char *word, FILE *out)
{
    bool plain = *word &&
        strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=,:^%+@") ==
            strlen(word);
    if (plain) {
        fputs(word, out);
        return;
    }
    putc('\'', out);
    for (; *word; word++) {
        if (*word == '\'') fputs("'\\''", out);
        else putc(*word, out);
    }
    putc('\'', out);
}

char *cli_command_text(
    const struct cli_args *args, bool (*skips)(const char *word, bool *takes_value), const char *more)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    if (!out) return mot_text("");
    fputs("motley", out);
    for (size_t i = 0; i < args->lines; i++) {
        bool takes_value = false;
        if (skips && skips(args->line[i], &takes_value)) {
            i += takes_value;
            continue;
        }
        putc(' ', out);
        cli_print_word(args->line[i], out);
    }
    fputs(more, out);
    fclose(out);
    return text;
}

char *cli_study_command(const struct cli_args *args) { return cli_command_text(args, is_manner, ""); }

/* ---- Flags ------------------------------------------------------------------------------------------- */

/* All values of a flag that may be given several times. malloc'd. */
static const char **all_values(const struct cli_args *args, const char *flag, size_t *n_out)
{
    const char **value = mot_new(args->givens + 1, sizeof(*value));
    size_t n = 0;
    for (size_t i = 0; i < args->givens; i++)
        if (strcmp(args->given[i].flag->name, flag) == 0) value[n++] = args->given[i].value;
    *n_out = n;
    return value;
}

char *cli_study_folder(const struct cli_args *args, const char *kind)
{
    const char *path = args->words ? args->word[0] : "defaults", *slash = strrchr(path, '/'),
               *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    size_t n = dot && dot > name ? (size_t)(dot - name) : strlen(name);
    return mot_format("runs/%s-%.*s", kind, (int)n, name);
}

const char *cli_study_store(const struct cli_args *args)
{
    const char *flag = cli_value(args, "store"), *variable = getenv("MOTLEY_STORE");
    return flag ? flag : variable && *variable ? variable : "runs/store";
}

enum mot_status cli_study_jobs(const struct cli_args *args, unsigned *out)
{
    const char *text = cli_value(args, "jobs");
    uint64_t jobs = 0;
    if (text && (!mot_read_uint(text, &jobs) || jobs < 1 || jobs > 1024))
        return mot_fail(MOT_EUSAGE, "--jobs: expected a whole number from 1 to 1024; found '%.60s'", text);
    *out = (unsigned)jobs;
    return MOT_OK;
}

/* ---- Running -------------------------------------------------------------------------- */

static enum mot_status dry_run(const struct cli_args *args, const struct mot_compare *o)
{
    struct mot_compare_size size;
    enum mot_status status = mot_compare_plan(o, &size, args->json ? NULL : stdout);
    if (status != MOT_OK) return status;
    if (args->json) {
        json_t *all = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "arms", (json_int_t)size.arms, "conditions",
            (json_int_t)size.conditions, "seeds", (json_int_t)size.seeds, "runs", (json_int_t)size.runs,
            "runs_there", (json_int_t)size.there, "tuning_runs", (json_int_t)size.tuning);
        mot_json_print(all, stdout);
        json_decref(all);
        return MOT_OK;
    }
    if (size.tuning)
        printf("%zu run%s to tune%s\n", size.tuning, size.tuning == 1 ? "" : "s",
            cli_given(args, "halving") ? ", fewer and shorter by halving" : "");
    if (size.runs) {
        printf("%zu run%s to compare: %zu arm%s, ", size.runs, size.runs == 1 ? "" : "s", size.arms,
            size.arms == 1 ? "" : "s");
        if (size.conditions > 1) printf("%zu conditions, ", size.conditions);
        printf("%zu seed%s", size.seeds, size.seeds == 1 ? "" : "s");
    }
    if (size.runs && !size.tuning) printf("; %zu already in the store", size.there);
    if (size.runs) putchar('\n');
    return MOT_OK;
}

static void print_result(
    const struct cli_args *args, const struct mot_compare *o, const struct mot_compared *done)
{
    if (args->json) {
        mot_json_print(done->document, stdout);
        return;
    }
    mot_study_table(done->document, stdout, cli_columns(), isatty(STDOUT_FILENO) && args->colour);
    if (args->quiet) return;
    fflush(stdout);
    char store[512], out[512];
    fprintf(stderr, "\n%zu run%s made, %zu reused from %s\nPage: %s/report.html\n", done->made,
        done->made == 1 ? "" : "s", done->found, mot_show_text(o->store, store, sizeof store),
        mot_show_text(o->out, out, sizeof out));
}

static enum mot_status run(const struct cli_args *args, const struct mot_compare *o)
{
    struct mot_compared done;
    if (cli_given(args, "dry-run")) return dry_run(args, o);
    enum mot_status status = mot_compare_run(o, &done);
    if (status != MOT_OK) return status;
    status = mot_study_show(done.document, o->out, o->csv);
    if (status == MOT_OK && o->svg) status = mot_picture_write(done.document, o->svg);
    if (status == MOT_OK) print_result(args, o, &done);
    json_decref(done.document);
    if (status == MOT_OK && done.lost)
        return mot_fail(MOT_ESYSTEM,
            "%zu run%s crashed or could not be made, as noted above; the same command tries %s again",
            done.lost, done.lost == 1 ? "" : "s", done.lost == 1 ? "it" : "them");
    return status;
}

enum mot_status cli_study(const struct cli_args *args, bool tune_only)
{
    size_t methods, overs;
    const char **method = all_values(args, "methods", &methods), **over = all_values(args, "over", &overs);
    const char *out = cli_value(args, "out");
    char *folder = out ? mot_text(out) : cli_study_folder(args, args->command->name),
         *command = cli_study_command(args);
    struct mot_compare o = { .experiment = args->words ? args->word[0] : NULL,
        .command = command,
        .store = cli_study_store(args),
        .out = folder,
        .csv = cli_value(args, "csv"),
        .svg = tune_only ? NULL : cli_value(args, "svg"),
        .models = cli_given(args, "models"),
        .fresh = cli_given(args, "fresh"),
        .tune_only = tune_only,
        .progress = args->quiet ? NULL : stderr,
        .terminal = isatty(STDERR_FILENO),
        .interrupt = cli_catch_interrupts(),
        .flags = { .methods = method,
            .methods_n = methods,
            .against = cli_value(args, "against"),
            .seeds = cli_value(args, "seeds"),
            .over = over,
            .overs = overs,
            .by = cli_value(args, "by"),
            .halving = cli_given(args, "halving"),
            .tunes = tune_only,
            .setting = args->setting,
            .settings = args->settings } };
    enum mot_status status = cli_study_jobs(args, &o.jobs);
    struct mot_serve *serve = NULL;
    if (status == MOT_OK && !cli_given(args, "dry-run")) status = cli_serve_open(args, false, &serve);
    if (serve) {
        o.listener = mot_serve_study(serve);
        cli_serve_results(folder);
    }
    if (status == MOT_OK) status = run(args, &o);
    cli_serve_end(args, status);
    free(command);
    free(folder);
    free(over);
    free(method);
    return status;
}

static enum mot_status compare(const struct cli_args *args) { return cli_study(args, false); }

static const struct cli_flag flags[] = {
    { "methods", "LIST",
        "the methods to compare, instead of the file's: allreduce,async or 'server{k: 6}, async'; the first "
        "is the baseline" },
    { "over", "KEY=VALUES",
        "tune each arm first over these values, such as optimizer.lr=2^0..2^-8; see motley help tune" },
    { "by", "FIGURE",
        "the figure that decides the tuning: time_to_target (default), test_accuracy, train_loss or "
        "grad_norm" },
    { "halving", NULL, "tune by halving" },
    { "against", "ARM", "the baseline, by the arm's name; default: the first arm" },
    { "seeds", "SEEDS", "how many seeds, or which: 3..12 or 1,2,5; default: 10" },
    { "out", "DIR", "where study.json, table.txt and report.html go; default: runs/compare-NAME" },
    { "store", "DIR", "where runs are kept and reused; default: MOTLEY_STORE, or else runs/store" },
    { "jobs", "N", "how many runs at a time; default: one per core" },
    { "csv", "PREFIX", "also write PREFIX-runs.csv and PREFIX-curves.csv" },
    { "svg", "FILE", "also write a picture: timelines of the arms, and their curves" },
    { "models", NULL, "keep the model of every run" },
    { "dry-run", NULL, "check everything, say how many runs there are, then exit" },
    { "fresh", NULL, "repeat all runs, even those in the store" },
    CLI_SERVE_FLAGS,
    { NULL, NULL, NULL },
};

const struct cli_command cli_compare = {
    .name = "compare",
    .synopsis = "[EXPERIMENT.yaml] [--methods A,B,C] [--seeds 10] [--KEY VALUE ...]",
    .summary = "compare methods over seeds, with intervals",
    .about = "Runs the experiment for every method and seed, on all cores, and prints a table: time to "
             "target with its 95 % interval, the speed-up over the baseline with a verdict (faster, slower, "
             "not distinguishable, not comparable), loss and accuracy with their spread, bytes, utilisation, "
             "the longest wait. Runs are paired by seed. The study's folder has the same table in table.txt, "
             "the data in study.json, and a page in report.html.\n"
             "The file may say what to compare and under which conditions. `compare:` lists arms: a method's "
             "name, or {label: TEXT, method: {name: server, k: 6}, optimizer.lr: 0.2}. `sweep:` forms every "
             "combination: `method: [allreduce, async]` gives arms, `seed: 1..10` seeds, and any other key "
             "conditions, such as `cluster.slow: [1, 2, 5, 10]`. `tune:` tunes every arm under every "
             "condition first, on seeds of its own (see motley help tune). Without arms, allreduce, "
             "server{k: K} and async are compared, whatever method the file names; with --method, or if "
             "other keys are swept, the experiment's own method is the only arm.\n"
             "The store keeps each run under a hash of its resolved experiment and of the program, so no run "
             "is made twice. After an interruption, the same command continues. A run that crashed is noted "
             "in the table and tried again next time. The table of a study is the same, byte for byte, "
             "whenever it is made.\n"
             "A run that ends without reaching the target counts as later than any that did; a run that "
             "crashed is left out and noted. Without a target, arms are judged by what they learned (better, "
             "worse), and by time only if they learned equally well. A verdict needs at least six pairs of "
             "runs.",
    .examples = "motley compare examples/compare.yaml\n"
                "motley compare examples/mixed.yaml --methods 'allreduce, server{k: 6}, async' --seeds 5\n"
                "motley compare --methods allreduce,async --stop-updates 200 --model softmax\n",
    .flags = flags,
    .words_max = 1,
    .experiment_flags = true,
    .run = compare,
};
