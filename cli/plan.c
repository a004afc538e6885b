/* plan.c -- `motley plan`: which method to run here, why, and the command that runs it. */
#include "plan.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/shown.h"
#include "base/words.h"
#include "interrupt.h"
#include "page/grid.h"
#include "page/page.h"
#include "report/json.h"
#include "report/report.h"
#include "serve.h"
#include "study.h"
#include "study/answer.h"
#include "study/race.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COLUMNS 80

/* ---- Showing -------------------------------------------------------------------------------------- */

/* The methods that raced, one per line. */
static void print_methods(const json_t *plan)
{
    struct mot_grid g;
    size_t i;
    const json_t *m;
    mot_grid_open(&g, 5);
    static const char *const heads[] = { "method", "rate", "reached", "time to target", "" };
    for (i = 0; i < MOT_COUNT(heads); i++) mot_grid_add(&g, heads[i]);
    const char *chosen = mot_json_get_text(plan, "method");
    json_array_foreach(mot_json_get_list(plan, "methods"), i, m)
    {
        const char *stage = mot_json_get_text(m, "stage"), *name = mot_json_get_text(m, "method");
        if (strcmp(stage, "raced") != 0) continue;
        char rate[32], reached[48], time[48];
        double seconds = mot_json_get_number(m, "time_to_target_s"),
               past = mot_json_get_number(m, "beyond_s");
        mot_figure_show(isnan(seconds) ? past : seconds, MOT_UNIT_SECONDS, time, sizeof(time));
        snprintf(rate, sizeof(rate), "%.3g", mot_json_get_number(m, "lr"));
        snprintf(reached, sizeof(reached), "%zu of %zu", mot_json_get_count(m, "reached"),
            mot_json_get_count(m, "runs"));
        mot_grid_add(&g, name);
        mot_grid_add(&g, rate);
        mot_grid_add(&g, reached);
        if (mot_json_get_count(m, "runs") && isnan(seconds) && isnan(past)) mot_grid_add(&g, "never");
        else mot_grid_addf(&g, "%s%s", isnan(seconds) && !isnan(past) ? "> " : "", time);
        mot_grid_add(&g,
            strcmp(name, chosen) == 0                     ? "recommended"
                : json_is_true(json_object_get(m, "out")) ? "slower"
                                                          : "");
    }
    mot_grid_print(&g, COLUMNS, stdout, false);
    mot_grid_close(&g);
}

/* "Behind after short runs: a, b and c." */
static void print_names(const json_t *plan, const char *stage, const char *head)
{
    const json_t *methods = mot_json_get_list(plan, "methods"), *m;
    const char **name = mot_new(json_array_size(methods) + 1, sizeof(*name));
    size_t i, n = 0;
    json_array_foreach(methods, i, m) if (strcmp(mot_json_get_text(m, "stage"), stage) == 0) name[n++] =
        mot_json_get_text(m, "method");
    if (n) {
        char *names = mot_list_words(name, n), *line = mot_format("%s %s.", head, names);
        mot_text_wrap(line, "", "  ", COLUMNS, stdout);
        free(line);
        free(names);
    }
    free(name);
}

static void say(const char *head, const char *text, bool colour)
{
    char *line = mot_format("%s%s%s %s.", colour ? "\033[1m" : "", head, colour ? "\033[0m" : "", text);
    mot_text_wrap(line, "", "  ", COLUMNS, stdout);
    free(line);
}

/* The bytes of a command up to its next flag, " --set", that is not within quotes. */
static size_t piece_of(const char *command)
{
    bool quoted = false;
    size_t n = 0;
    for (; command[n]; n++) {
        if (!quoted && n > 0 && strncmp(command + n, " --", 3) == 0) break;
        if (!quoted && command[n] == '\\' && command[n + 1]) n++;
        else if (command[n] == '\'') quoted = !quoted;
    }
    return n;
}

/* In lines that fit the terminal, broken before a flag in the way that a shell reads as one line. */
static void print_command(const char *command)
{
    size_t column = 2, n;
    fputs("  ", stdout);
    for (const char *c = command; *c; c += n) {
        n = piece_of(c);
        if (c != command && column + n + strlen(" \\") > COLUMNS) {
            fputs(" \\\n     ", stdout);
            column = 5;
        }
        fwrite(c, 1, n, stdout);
        column += n;
    }
    putchar('\n');
}

static void print_answer(const json_t *plan, const char *command, const char *out, bool colour)
{
    bool recommends = *mot_json_get_text(plan, "method");
    const char *margin = mot_json_get_text(plan, "margin"), *undecided = mot_json_get_text(plan, "undecided"),
               *reason = mot_json_get_text(plan, "reason");
    size_t i;
    const json_t *c;
    bool changes = json_array_size(mot_json_get_list(plan, "changes")) > 0;
    if (changes || json_is_false(json_object_get(plan, "complete"))) puts("");
    if (changes) puts("What would change that:");
    json_array_foreach(mot_json_get_list(plan, "changes"), i, c)
        mot_text_wrap(mot_json_get_text(c, "text"), "  - ", "    ", COLUMNS, stdout);
    if (json_is_false(json_object_get(plan, "complete"))) say("Not complete:", mot_race_incomplete, false);
    puts("");
    say(recommends ? "Run" : "Nothing to recommend:", mot_json_get_text(plan, "answer"), colour);
    if (*undecided) say("It", undecided, false);
    if (*margin) say("It is", margin, false);
    if (*reason) say("Why:", reason, false);
    puts("");
    if (recommends) print_command(command), puts("");
    char shown[512];
    printf("%s/report.html\n", mot_show_text(out, shown, sizeof shown));
}

/* ---- The command that runs it ---------------------------------------------------------------------- */

static void put_setting(const char *key, const char *value, FILE *out)
{
    char *word = mot_format("%s=%s", key, value);
    fputs(" --set ", out);
    cli_print_word(word, out);
    free(word);
}

/* Whether the file names a folder for its run. */
static bool file_has_output(const struct cli_args *args)
{
    struct mot_setting *setting = mot_new(args->settings + 1, sizeof(*setting));
    struct mot_experiment *x;
    size_t n = 0;
    for (size_t i = 0; i < args->settings; i++)
        if (strcmp(args->setting[i].key, "output") != 0) setting[n++] = args->setting[i];
    bool has = false;
    if (args->words && mot_experiment_open(args->word[0], setting, n, &x) == MOT_OK) {
        has = x->output != NULL;
        mot_experiment_close(x);
    }
    free(setting);
    return has;
}

/* `motley train` with the recommendation and the user's own settings. It names no folder: `train --auto` has
 * left its own run there, and a second one would be refused. malloc'd. */
static char *train_command(const struct cli_args *args, const json_t *plan, const char *cluster)
{
    char *text = NULL, rate[32];
    size_t n;
    FILE *out = open_memstream(&text, &n);
    if (!out) return mot_text("");
    fputs("motley train", out);
    if (args->words) putc(' ', out), cli_print_word(args->word[0], out);
    for (size_t i = 0; i < args->settings; i++)
        if (strcmp(args->setting[i].key, "output") != 0)
            put_setting(args->setting[i].key, args->setting[i].value, out);
    if (args->command != &cli_plan && file_has_output(args)) put_setting("output", "none", out);
    if (cluster) put_setting("cluster", cluster, out);
    fputs(" --method ", out);
    cli_print_word(mot_json_get_text(plan, "setting"), out);
    snprintf(rate, sizeof(rate), "%.6g", mot_json_get_number(plan, "lr"));
    fprintf(out, " --optimizer-lr %s", rate);
    if (cli_given(args, "emulate")) fputs(" --emulate", out);
    fclose(out);
    return text;
}

/* ---- The whole ---------------------------------------------------------------------------------------- */

static enum mot_status budget_of(const struct cli_args *args, double *out)
{
    const char *text = cli_value(args, "budget");
    uint64_t ns = 120000000000u;
    if (text && (!mot_read_time(text, &ns) || ns < 1000000))
        return mot_fail(MOT_EUSAGE, "--budget: expected a time such as 20s or 2min; found '%.60s'", text);
    *out = (double)ns * 1e-9;
    return MOT_OK;
}

/* What the study's page says of the plan. */
static json_t *advice_of(const json_t *plan)
{
    static const char *const texts[] = { "answer", "undecided", "margin", "reason", "command" };
    json_t *all = json_object(), *changes = json_array();
    size_t i;
    const json_t *c;
    for (i = 0; i < MOT_COUNT(texts); i++)
        mot_json_set(all, texts[i], mot_json_text(mot_json_get_text(plan, texts[i])));
    json_array_foreach(mot_json_get_list(plan, "changes"), i, c)
        mot_json_add(changes, mot_json_text(mot_json_get_text(c, "text")));
    mot_json_set(all, "changes", changes);
    mot_json_set(all, "complete", json_boolean(json_is_true(json_object_get(plan, "complete"))));
    return all;
}

static enum mot_status write_folder(const struct mot_race *race, json_t *plan, const char *out)
{
    json_t *document;
    char *path = mot_path_join(out, "plan.json");
    enum mot_status status = mot_make_folder(out); /* it may be gone after all these runs */
    if (status == MOT_OK) status = mot_json_write(plan, path);
    free(path);
    if (status != MOT_OK) return status;
    status = mot_race_document(race, &document);
    if (status != MOT_OK) return status;
    mot_json_set(document, "plan", advice_of(plan));
    status = mot_study_show(document, out, NULL);
    path = mot_path_join(out, "study.json");
    if (status == MOT_OK) status = mot_json_write(document, path);
    free(path);
    json_decref(document);
    return status;
}

/* Who could take part, and why the others could not. */
static void print_candidates(const struct mot_race *race)
{
    size_t can = 0;
    for (size_t i = 0; i < race->racers; i++) can += race->racer[i].stage != MOT_RACE_REFUSED;
    printf("%zu methods can run this experiment\n", can);
    for (size_t i = 0; i < race->racers; i++) {
        const struct mot_racer *r = &race->racer[i];
        char why[512];
        if (r->stage == MOT_RACE_REFUSED)
            printf("%s cannot: %s\n", r->name, mot_show_text(r->why, why, sizeof why));
    }
}

enum mot_status cli_plan_here(const struct cli_args *args, json_t **plan_out, char **cluster_out)
{
    const char *out = cli_value(args, "out");
    char *folder = args->command == &cli_plan && out ? mot_text(out) : cli_study_folder(args, "plan"),
         *command = cli_study_command(args), *cluster = NULL;
    struct mot_setting *setting = mot_new(args->settings + 1, sizeof(*setting));
    struct mot_race race = { .experiment = args->words ? args->word[0] : NULL,
        .setting = setting,
        .command = command,
        .store = cli_study_store(args),
        .out = folder,
        .fresh = cli_given(args, "fresh"),
        .dry_run = args->command == &cli_plan && cli_given(args, "dry-run"),
        .progress = args->quiet ? NULL : stderr,
        .terminal = isatty(STDERR_FILENO),
        .interrupt = cli_catch_interrupts() };
    for (size_t i = 0; i < args->settings; i++)
        if (strcmp(args->setting[i].key, "output") != 0) setting[race.settings++] = args->setting[i];
    enum mot_status status = budget_of(args, &race.budget_s);
    if (status == MOT_OK) status = cli_study_jobs(args, &race.jobs);
    if (status == MOT_OK && !race.dry_run) status = mot_make_folder(folder);
    if (status == MOT_OK && cli_given(args, "profile") && !race.dry_run) {
        cluster = mot_path_join(folder, "cluster.yaml");
        if (!args->quiet) fprintf(stderr, "measuring this machine\n");
        status = cli_profile_to(args, cluster);
        setting[race.settings++] = (struct mot_setting){ "cluster", cluster, "--profile" };
    }
    struct mot_serve *serve = NULL;
    if (status == MOT_OK && !race.dry_run) status = cli_serve_open(args, false, &serve);
    if (serve) {
        race.listener = mot_serve_study(serve);
        cli_serve_results(folder);
    }
    if (status == MOT_OK) status = mot_race_run(&race);
    json_t *plan = NULL;
    if (status == MOT_OK && race.dry_run) {
        print_candidates(&race);
    } else if (status == MOT_OK) {
        plan = mot_race_json(&race);
        bool recommends = *mot_json_get_text(plan, "method");
        char *train = recommends ? train_command(args, plan, cluster) : NULL;
        mot_json_set(plan, "command", train ? mot_json_text(train) : json_null());
        status = write_folder(&race, plan, folder);
        if (status == MOT_OK && args->json && args->command == &cli_plan) mot_json_print(plan, stdout);
        else if (status == MOT_OK) {
            bool colour = isatty(STDOUT_FILENO) && args->colour;
            print_methods(plan);
            print_names(plan, "tuned", "Behind after tuning:");
            print_names(plan, "screened", "Behind after short runs:");
            print_names(plan, "not tried", "Not tried for want of time:");
            print_names(plan, "refused", "Cannot run this experiment:");
            print_answer(plan, train, folder, colour);
        }
        free(train);
        if (status == MOT_OK && !recommends) {
            char *why = mot_race_nothing(&race);
            status = mot_fail(MOT_EDEADLINE, "nothing to recommend: %s", why);
            free(why);
        }
    }
    mot_race_close(&race);
    free(setting);
    free(command);
    free(folder);
    if (status == MOT_OK) *plan_out = plan, *cluster_out = cluster;
    else json_decref(plan), free(cluster);
    return status;
}

static enum mot_status run_plan(const struct cli_args *args)
{
    json_t *plan;
    char *cluster;
    enum mot_status status = cli_serve_end(args, cli_plan_here(args, &plan, &cluster));
    if (status != MOT_OK) return status;
    json_decref(plan);
    free(cluster);
    return MOT_OK;
}

static const struct cli_flag flags[] = {
    { "budget", "TIME", "how long planning may take; runs already begun are finished; default: 2min" },
    { "profile", NULL, "measure this machine first, and plan for it" },
    { "out", "DIR", "where plan.json, study.json and report.html go; default: runs/plan-NAME" },
    { "store", "DIR", "where runs are kept and reused; default: MOTLEY_STORE, or else runs/store" },
    { "jobs", "N", "how many runs at a time; default: one per core" },
    { "dry-run", NULL, "say which methods can run the experiment, then exit" },
    { "fresh", NULL, "repeat all runs, even those in the store" },
    CLI_SERVE_FLAGS,
    { NULL, NULL, NULL },
};

const struct cli_command cli_plan = {
    .name = "plan",
    .synopsis = "[EXPERIMENT.yaml] [--cluster FILE | --profile] [--budget 2min] [--KEY VALUE ...]",
    .summary = "find the method that suits a cluster and data, and why",
    .about = "Tries every method that can run the experiment, in the simulator: short runs with three "
             "learning rates each; longer ones of the better eight, with finer rates; then the best four "
             "race over ten fresh seeds, and drop out as soon as they can be told apart from the leader. It "
             "recommends one, with its margin and 95 % interval, the reason, and the command that trains "
             "with it; says which cannot be told apart; and tries the best again with one worker 4 times "
             "slower, half the bandwidth and skewed labels, to say what would change its mind.\n"
             "Methods are judged by the virtual time to stop.target. Without one, the target is the figure "
             "(test accuracy, else training loss) that the better half of the tuned methods had reached "
             "half-way. All runs of a step end at the same virtual time.\n"
             "Once --budget is spent, no further run is started. The answer depends only on the runs that "
             "were made; they are kept, and the same command continues where the last one ended.",
    .examples = "motley plan examples/mixed.yaml --budget 20s\n"
                "motley plan --data digits --model softmax --workers 2 --profile --budget 20s\n",
    .flags = flags,
    .words_max = 1,
    .experiment_flags = true,
    .run = run_plan,
};
