/* trace.c -- `motley trace fit`: what a recorded trace of job times says, and a cluster file from it. */
#include "base/file.h"
#include "base/memory.h"
#include "base/shown.h"
#include "base/words.h"
#include "cli.h"
#include "cluster/fit.h"
#include "config/cluster_file.h"
#include "report/json.h"
#include "report/report.h"
#include "trace.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHOW_NODES 40u /* above this, the table leaves out nodes that never straggle */
#define SEED 1         /* of simulated traces: the same trace gives the same answer */

struct fitting {
    const char *path;
    struct mot_fit fit;
    char **name; /* [nodes], printable */
    enum mot_fit_kind written;
    const char *out; /* the cluster file, or NULL */
};

/* As the trace has it, or NULL. */
static const char *name_of(const struct mot_trace *t, uint32_t node)
{
    return t->name && *t->name[node] ? t->name[node] : NULL;
}

/* Six digits: all that a figure is worth, and easy to read. */
static double digits(double x)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", x);
    return mot_read_real(text, &x) ? x : NAN;
}

/* ---- In words --------------------------------------------------------------------------------- */

static const char *seconds_text(double seconds, char into[32])
{
    return mot_show_time((uint64_t)llround(seconds * 1e9), into, 32);
}

static void show_nodes(const struct fitting *g)
{
    const struct mot_fit *f = &g->fit;
    uint32_t nodes = f->trace->cols, quiet = 0;
    bool all = nodes <= SHOW_NODES;
    size_t width = 4;
    for (uint32_t i = 0; i < nodes; i++)
        width = mot_text_width(g->name[i]) > width ? mot_text_width(g->name[i]) : width;
    printf(
        "\n  %-*s  straggles  runs  longest  factor (least to most)  otherwise   pace\n", (int)width, "node");
    for (uint32_t i = 0; i < nodes; i++) {
        const struct mot_fit_node *n = &f->node[i];
        char mean[32], factor[64] = "-";
        if (!all && n->straggles == 0) {
            quiet++;
            continue;
        }
        if (n->straggles)
            snprintf(
                factor, sizeof factor, "%.2f (%.2f to %.2f)", n->factor, n->factor_least, n->factor_most);
        printf("  %s%*s  %7.1f %%  %4u  %7u  %22s  %9s", g->name[i],
            (int)(width - mot_text_width(g->name[i])), "", 100.0 * n->straggles / f->trace->rows, n->runs,
            n->longest, factor, n->straggles == f->trace->rows ? "-" : seconds_text(n->mean, mean));
        if (isnan(n->pace)) puts("      -");
        else printf("  %5.2f\n", n->pace);
    }
    if (quiet)
        printf("  %u node%s that never straggle%s: --json lists all\n", quiet, mot_plural(quiet),
            quiet == 1 ? "s" : "");
    puts("  otherwise: the mean time of a job that does not straggle; pace: the same, over the median");
}

/* Whether nodes differ in how often they straggle: two classes describe them better than one. */
static bool has_slow(const struct mot_fit *f)
{
    return f->total > 0 && f->model[MOT_FIT_TWO_CLASS].bic < f->model[MOT_FIT_IID].bic;
}

static bool is_slow(const struct mot_fit *f, uint32_t node)
{
    return has_slow(f) && f->node[node].slow > 0.5;
}

static void show_slow(const struct fitting *g)
{
    const struct mot_fit *f = &g->fit;
    const char *before = "\nSlow nodes: ";
    if (f->total == 0) {
        puts("\nNo job straggles.");
        return;
    }
    if (!has_slow(f)) puts("\nNo node straggles more than the others.");
    for (uint32_t i = 0; i < f->trace->cols; i++) {
        if (!is_slow(f, i)) continue;
        printf("%s%s", before, g->name[i]);
        before = ", ";
    }
    if (has_slow(f)) puts(".");
}

static void show_laws(const struct fitting *g)
{
    const struct mot_fit *f = &g->fit;
    if (f->constant == f->trace->cols) {
        puts("\nJobs that do not straggle take the same time on each node: law fixed.");
        return;
    }
    struct mot_choice choice;
    puts("\n  law of other jobs  log-likelihood  distance");
    for (uint32_t k = 0; k < MOT_FIT_LAWS; k++) {
        mot_family_job_time.get(f->law[k].kind, &choice);
        if (isinf(f->law[k].log_likelihood)) printf("  %-17s  cannot have these times\n", choice.name);
        else
            printf("  %-17s  %14.1f  %8.3f%s\n", choice.name, f->law[k].log_likelihood, f->law[k].distance,
                k == f->best_law ? "  best" : "");
    }
    puts("  two parameters for each node; distance: the largest error in a share of times");
    /* Kolmogorov's bound at 1 %; fitted parameters make it generous. */
    const struct mot_fit_law *best = &f->law[f->best_law];
    double bound = 1.63 / sqrt((double)f->timed);
    mot_family_job_time.get(best->kind, &choice);
    if (best->distance > bound)
        printf("\nThe best law, %s, is not right: a true one would be within %.2g.\n", choice.name, bound);
}

/* "2.1 to 3.4", with a star if the trace's own is not among them. */
static const char *range_text(double own, double least, double most, const char *format, char into[64])
{
    char low[24], high[24];
    snprintf(low, sizeof low, format, least);
    snprintf(high, sizeof high, format, most);
    bool outside = own < least - 1e-9 || own > most + 1e-9;
    snprintf(into, 64, "%s to %s%s", low, high, outside ? " *" : "");
    return into;
}

static char *parameters_text(const struct mot_fit *f, enum mot_fit_kind kind)
{
    const struct mot_straggle *s = &f->model[kind].straggle;
    switch (kind) {
    case MOT_FIT_IID: return mot_format("p %.4g", s->p);
    case MOT_FIT_TWO_CLASS:
        return mot_format("slow %.3g, p_slow %.3g, p_fast %.3g", s->slow, s->p_slow, s->p_fast);
    case MOT_FIT_MARKOV: return mot_format("stay_slow %.4g, stay_fast %.4g", s->stay_slow, s->stay_fast);
    default: return mot_format("%u, by node", f->model[kind].parameters);
    }
}

static void show_models(const struct fitting *g)
{
    const struct mot_fit *f = &g->fit;
    if (f->total == 0) return;
    const struct mot_fit_looks *own = &f->looks;
    char run[64], longest[64], busiest[64];
    printf("\n  %-11s  %14s  %9s  %-16s  %-14s  %-17s  %s\n", "model", "log-likelihood", "BIC", "mean run",
        "longest run", "busiest node, %", "parameters");
    printf("  %-11s  %14s  %9s  %-16.2f  %-14.0f  %.1f\n", "(the trace)", "", "", own->mean_run,
        own->longest_run, 100 * own->busiest);
    for (int k = 0; k < MOT_FIT_MODELS; k++) {
        const struct mot_fit_model *m = &f->model[k];
        char *parameters = parameters_text(f, (enum mot_fit_kind)k);
        printf("  %-11s  %14.1f  %9.1f  %-16s  %-14s  %-17s  %s\n", mot_fit_name((enum mot_fit_kind)k),
            m->log_likelihood, m->bic,
            range_text(own->mean_run, m->least.mean_run, m->most.mean_run, "%.2f", run),
            range_text(own->longest_run, m->least.longest_run, m->most.longest_run, "%.0f", longest),
            range_text(100 * own->busiest, 100 * m->least.busiest, 100 * m->most.busiest, "%.1f", busiest),
            parameters);
        free(parameters);
    }
    printf(
        "  runs and nodes: the range of %u traces simulated from the model; *: the trace's own is outside\n",
        f->simulated);
}

static void show_verdict(const struct fitting *g)
{
    const struct mot_fit *f = &g->fit;
    if (f->total == 0) return;
    const char *best = mot_fit_name(f->best);
    if (mot_fit_agrees(f, f->best))
        printf("\nBest by BIC: %s. Runs and nodes of the trace look like those of its simulated traces.\n",
            best);
    else
        printf(
            "\nBest by BIC: %s, and yet it is not right: the trace does not look like its simulated traces. "
            "--model trace replays the trace itself.\n",
            best);
    if (f->best == MOT_FIT_TWO_CLASS)
        puts("two-class draws anew which workers are slow; --model classes keeps those of the trace.");
    if (f->best == MOT_FIT_MARKOV && has_slow(f))
        puts("Slow nodes may only have been slow for a while: one chain for all describes them better than "
             "two "
             "classes.");
    double least = INFINITY, most = 0;
    for (uint32_t i = 0; i < f->trace->cols; i++)
        if (f->node[i].straggles) {
            least = fmin(least, f->node[i].factor_least);
            most = fmax(most, f->node[i].factor_most);
        }
    if (most > 2 * least)
        printf("Straggling jobs take %.2g to %.2g times as long as other jobs of their node; the models give "
               "%s.\n",
            least, most,
            f->best == MOT_FIT_IID_EACH || f->best == MOT_FIT_MARKOV_EACH ? "every node one factor, its mean"
                                                                          : "all of them one factor");
}

static void show_text(const struct fitting *g)
{
    const struct mot_fit *f = &g->fit;
    char path[512], out[512];
    printf("%s: %u iteration%s, %u node%s. A job straggles if it takes more than %g times the median of its "
           "%s.\n",
        mot_show_text(g->path, path, sizeof path), f->trace->rows, mot_plural(f->trace->rows), f->trace->cols,
        mot_plural(f->trace->cols), f->threshold,
        f->of_own ? "node (too few nodes for that of its iteration)" : "iteration");
    show_nodes(g);
    show_slow(g);
    show_laws(g);
    show_models(g);
    show_verdict(g);
    if (!g->out) return;
    mot_show_text(g->out, out, sizeof out);
    printf("\nWrote %s with model %s; use it with motley sim --cluster %s\n", out, mot_fit_name(g->written),
        out);
}

/* ---- For programs ------------------------------------------------------------------------------- */

static json_t *looks_json(const struct mot_fit_looks *l)
{
    return json_pack("{s:o, s:o, s:o}", "mean_run", mot_json_number(l->mean_run), "longest_run",
        mot_json_number(l->longest_run), "busiest_share", mot_json_number(l->busiest));
}

static json_t *nodes_json(const struct fitting *g)
{
    const struct mot_fit *f = &g->fit;
    json_t *list = json_array();
    for (uint32_t i = 0; i < f->trace->cols; i++) {
        const struct mot_fit_node *n = &f->node[i];
        const struct mot_machine m = { .has_job_time = true, .job_time = n->law };
        char *law = mot_job_time_text(&m);
        json_array_append_new(list,
            json_pack("{s:o, s:b, s:i, s:o, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
                mot_json_text(name_of(f->trace, i) ? name_of(f->trace, i) : g->name[i]), "slow",
                is_slow(f, i), "straggles", (int)n->straggles, "share",
                mot_json_number((double)n->straggles / f->trace->rows), "runs", (int)n->runs, "longest_run",
                (int)n->longest, "factor", mot_json_number(n->factor), "factor_least",
                mot_json_number(n->factor_least), "factor_most", mot_json_number(n->factor_most), "mean_s",
                mot_json_number(n->straggles == f->trace->rows ? NAN : n->mean), "pace",
                mot_json_number(n->pace), "job_time", mot_json_text(law)));
        free(law);
    }
    return list;
}

static json_t *model_json(const struct mot_fit *f, enum mot_fit_kind kind)
{
    const struct mot_fit_model *m = &f->model[kind];
    const struct mot_straggle *s = &m->straggle;
    json_t *all = json_pack("{s:s, s:i, s:o, s:o, s:o, s:o, s:b}", "name", mot_fit_name(kind), "parameters",
        (int)m->parameters, "log_likelihood", mot_json_number(m->log_likelihood), "bic",
        mot_json_number(m->bic), "simulated_least", looks_json(&m->least), "simulated_most",
        looks_json(&m->most), "agrees", mot_fit_agrees(f, kind));
    switch (kind) {
    case MOT_FIT_IID: mot_json_set(all, "p", mot_json_number(s->p)); break;
    case MOT_FIT_TWO_CLASS:
        mot_json_set(all, "slow", mot_json_number(s->slow));
        mot_json_set(all, "p_slow", mot_json_number(s->p_slow));
        mot_json_set(all, "p_fast", mot_json_number(s->p_fast));
        break;
    case MOT_FIT_MARKOV:
        mot_json_set(all, "stay_slow", mot_json_number(s->stay_slow));
        mot_json_set(all, "stay_fast", mot_json_number(s->stay_fast));
        break;
    default: break;
    }
    return all;
}

static void show_json(const struct fitting *g)
{
    const struct mot_fit *f = &g->fit;
    json_t *models = json_array(), *laws = json_array();
    struct mot_choice choice;
    for (int k = 0; f->total && k < MOT_FIT_MODELS; k++)
        json_array_append_new(models, model_json(f, (enum mot_fit_kind)k));
    for (uint32_t k = 0; f->timed && k < MOT_FIT_LAWS; k++) {
        mot_family_job_time.get(f->law[k].kind, &choice);
        json_array_append_new(laws,
            json_pack("{s:s, s:o, s:o}", "name", choice.name, "log_likelihood",
                mot_json_number(f->law[k].log_likelihood), "distance",
                mot_json_number(digits(f->law[k].distance))));
    }
    mot_family_job_time.get(
        f->constant == f->trace->cols ? MOT_LAW_FIXED : f->law[f->best_law].kind, &choice);
    json_t *all = json_pack("{s:o, s:i, s:i, s:o, s:s, s:I, s:o, s:o, s:o, s:o, s:s, s:o, s:s, s:i}", "trace",
        mot_json_text(g->path), "iterations", (int)f->trace->rows, "nodes", (int)f->trace->cols, "threshold",
        mot_json_number(f->threshold), "compared_with", f->of_own ? "node" : "iteration", "straggles",
        (json_int_t)f->total, "factor", mot_json_number(f->factor), "looks", looks_json(&f->looks), "node",
        nodes_json(g), "laws", laws, "law", choice.name, "models", models, "best", mot_fit_name(f->best),
        "simulated", (int)f->simulated);
    if (g->out) {
        mot_json_set(all, "cluster", mot_json_text(g->out));
        mot_json_set(all, "written", json_string(mot_fit_name(g->written)));
    }
    mot_json_print(all, stdout);
    json_decref(all);
}

/* ---- The cluster file ----------------------------------------------------------------------------- */

/* The trace as the cluster file names it: by name in the same folder, by absolute path elsewhere. */
static char *path_from(const char *out, const char *trace)
{
    char here[PATH_MAX], there[PATH_MAX];
    const char *slash = strrchr(out, '/');
    char *folder = slash ? mot_format("%.*s", (int)(slash - out + 1), out) : mot_text(".");
    bool known = realpath(folder, here) && realpath(trace, there);
    free(folder);
    if (!known) return mot_text(trace);
    size_t n = strlen(here);
    bool beside = strncmp(here, there, n) == 0 && there[n] == '/' && !strchr(there + n + 1, '/');
    return mot_text(beside ? there + n + 1 : there);
}

static void round_figures(struct mot_machine *m)
{
    double *figure[] = { &m->job_time.mean, &m->job_time.low, &m->job_time.high, &m->job_time.sd,
        &m->job_time.sigma, &m->job_time.alpha, &m->job_time.plus, &m->straggle.factor, &m->straggle.p,
        &m->straggle.slow, &m->straggle.p_slow, &m->straggle.p_fast, &m->straggle.stay_slow,
        &m->straggle.stay_fast };
    for (size_t i = 0; i < MOT_COUNT(figure); i++) *figure[i] = digits(*figure[i]);
}

static void build(const struct fitting *g, const char *trace_path, struct mot_cluster *c)
{
    const struct mot_fit *f = &g->fit;
    const struct mot_law one = { .kind = MOT_LAW_FIXED, .mean = 1 };
    const struct mot_link usual = { 125e6, 125e6, 100000 };
    c->workers = f->trace->cols;
    c->servers = 1;
    c->machine = mot_new(c->workers + 1, sizeof *c->machine);
    c->machine[c->workers] = (struct mot_machine){ .link = usual };
    for (uint32_t i = 0; i < c->workers; i++) {
        struct mot_machine *m = &c->machine[i];
        *m = (struct mot_machine){ .name = g->name[i], .speed = 1000, .jitter = one, .link = usual };
        if (g->written == MOT_FIT_TRACE) {
            m->straggle = (struct mot_straggle){
                .kind = MOT_STRAGGLE_TRACE, .path = trace_path, .column = i, .trace = f->trace
            };
            continue;
        }
        m->has_job_time = true;
        m->job_time = f->node[i].law;
        m->straggle = mot_fit_straggle(f, g->written, i);
        round_figures(m);
    }
}

static void head(const struct fitting *g, FILE *out)
{
    const struct mot_fit *f = &g->fit;
    enum mot_fit_kind fitted = g->written == MOT_FIT_CLASSES ? MOT_FIT_TWO_CLASS : g->written;
    char path[512];
    fprintf(out, "# Fitted by motley trace fit to %s: %u iteration%s, %u node%s, threshold %g.\n",
        mot_show_text(g->path, path, sizeof path), f->trace->rows, mot_plural(f->trace->rows), f->trace->cols,
        mot_plural(f->trace->cols), f->threshold);
    fprintf(out, "# Model %s", mot_fit_name(g->written));
    if (fitted < MOT_FIT_MODELS && f->total > 0)
        fprintf(out, ": log-likelihood %.1f, BIC %.1f; the trace %s traces simulated from %s.\n",
            f->model[fitted].log_likelihood, f->model[fitted].bic,
            mot_fit_agrees(f, fitted) ? "looks like" : "does not look like", mot_fit_name(fitted));
    else fputs(".\n", out);
    fputs("# The trace says nothing about links: these are the defaults.\n", out);
}

/* Parses the text first, to be sure that it is valid. */
static enum mot_status write_cluster(const struct fitting *g)
{
    struct mot_cluster *back, c = { .workers = 0 };
    char *text, *trace_path = path_from(g->out, g->path);
    size_t n;
    FILE *out = open_memstream(&text, &n);
    if (!out) return mot_fail(MOT_ESYSTEM, "no memory for the cluster's text");
    build(g, trace_path, &c);
    head(g, out);
    mot_cluster_print(&c, 0, out);
    free(c.machine);
    free(trace_path);
    if (fclose(out) != 0) return mot_fail(MOT_ESYSTEM, "no memory for the cluster's text");
    enum mot_status status = mot_cluster_parse("the fitted cluster", text, n, &back);
    if (status == MOT_OK) {
        mot_cluster_close(back);
        status = mot_file_replace(g->out, text, n);
    }
    free(text);
    return status;
}

/* ---- The command ---------------------------------------------------------------------------------- */

static enum mot_status threshold_of(const struct cli_args *a, double *out)
{
    const char *text = cli_value(a, "threshold");
    *out = 2;
    if (!text || (mot_read_real(text, out) && *out > 1 && *out <= 1e6)) return MOT_OK;
    return mot_fail(MOT_EUSAGE, "--threshold: expected a number above 1, up to 1e6; found '%.40s'", text);
}

static enum mot_status model_of(const struct cli_args *a, const struct mot_fit *f, enum mot_fit_kind *out)
{
    const char *text = cli_value(a, "model"), *names[MOT_FIT_KINDS];
    *out = f->best == MOT_FIT_TWO_CLASS ? MOT_FIT_CLASSES : f->best;
    if (!text) return MOT_OK;
    for (int k = 0; k < MOT_FIT_KINDS; k++) {
        names[k] = mot_fit_name((enum mot_fit_kind)k);
        if (strcmp(text, names[k]) != 0) continue;
        *out = (enum mot_fit_kind)k;
        return MOT_OK;
    }
    const char *near = mot_nearest(text, names, MOT_FIT_KINDS);
    return mot_fail(MOT_EUSAGE,
        "--model: expected iid, two-class, markov, iid-each, markov-each, classes, trace or none; found "
        "'%.40s'%s%s%s",
        text, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static void name_nodes(struct fitting *g)
{
    const struct mot_trace *t = g->fit.trace;
    g->name = mot_new(t->cols, sizeof *g->name);
    for (uint32_t i = 0; i < t->cols; i++)
        g->name[i] = name_of(t, i) ? mot_shown(name_of(t, i)) : mot_format("node%u", i);
}

static enum mot_status fit_trace(const struct cli_args *a, const struct mot_trace *trace, double threshold)
{
    struct fitting g = { .path = a->word[0], .out = cli_value(a, "out") };
    enum mot_status status = mot_fit_open(g.path, trace, threshold, SEED, &g.fit);
    if (status != MOT_OK) return status;
    name_nodes(&g);
    status = model_of(a, &g.fit, &g.written);
    if (status == MOT_OK && g.out) status = write_cluster(&g);
    if (status == MOT_OK && a->json) show_json(&g);
    else if (status == MOT_OK && !(a->quiet && g.out)) show_text(&g);
    for (uint32_t i = 0; i < trace->cols; i++) free(g.name[i]);
    free(g.name);
    mot_fit_close(&g.fit);
    return status;
}

enum mot_status cli_fit_trace(const struct cli_args *a)
{
    struct mot_arena arena = { NULL };
    const struct mot_trace *trace;
    double threshold;
    enum mot_status status = threshold_of(a, &threshold);
    if (status != MOT_OK) return status;
    if (cli_given(a, "model") && !cli_given(a, "out"))
        return mot_fail(MOT_EUSAGE, "--model chooses what is written: give --out FILE too");
    if (!mot_file_exists(a->word[0])) return mot_fail(MOT_EUSAGE, "%s: no such trace", a->word[0]);
    status = mot_trace_read(a->word[0], &arena, &trace);
    if (status == MOT_OK) status = fit_trace(a, trace, threshold);
    mot_arena_free(&arena);
    return status;
}

static const struct cli_flag flags[] = {
    { "out", "FILE", "write this cluster file; without it only the tables are printed" },
    { "model", "NAME",
        "the model to write: iid, two-class, markov, iid-each, markov-each, classes, trace or none; default: "
        "the best (classes, if that is two-class)" },
    { "threshold", "X", "a job straggles if it takes more than X times the median; default: 2" },
    { NULL, NULL, NULL },
};

const struct cli_command cli_trace_fit = {
    .name = "trace fit",
    .synopsis = "FILE.csv [--out CLUSTER.yaml] [--model NAME] [--threshold X]",
    .summary = "fit stragglers to recorded times; write a cluster file",
    .about = "Reads a trace (CSV: one row per iteration, one column per node, seconds; a header names the "
             "nodes), says how often and for how long each node straggles and which nodes are slow, and fits "
             "the laws and straggler models of the cluster file. A job straggles if it takes more than "
             "--threshold times the median of its iteration; with one or two nodes, the median of its node.\n"
             "The models describe which jobs straggle, with maximum-likelihood parameters; the best has the "
             "lowest BIC. iid-each and markov-each have parameters for each node. For each model, traces of "
             "the same size are simulated: where the runs or nodes of the trace lie outside their range, the "
             "model is not right, and a star says so. The times of other jobs follow one law, with "
             "parameters for each node; straggling multiplies them by the mean factor.\n"
             "--out writes a cluster file for motley sim --cluster. With --model classes, each node "
             "straggles with the probability of the class to which two-class assigned it; with trace, the "
             "recorded times are replayed; with none, nothing straggles.",
    .examples = "motley trace fit times.csv\n"
                "motley trace fit times.csv --out cluster.yaml\n"
                "motley trace fit times.csv --model markov-each --out cluster.yaml --json\n",
    .flags = flags,
    .words_min = 1,
    .words_max = 1,
    .run = cli_fit_trace,
};
