/* profile.c -- `motley profile`: measures this machine and writes a cluster file for the simulator. */
#include "api/job.h"
#include "live/threads.h"
#include "wire/ranks.h"
#include "base/crew.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/shown.h"
#include "base/words.h"
#include "cli.h"
#include "config/cluster_file.h"
#include "live/profile.h"
#include "report/report.h"
#include "interrupt.h"
#include "launch.h"
#include "plan.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Showing ------------------------------------------------------------------------------- */

static void on_progress(void *self, double done)
{
    int *shown = self, percent = (int)(100 * done);
    if (percent == *shown) return;
    *shown = percent;
    fprintf(stderr, "\r%s %3d %%", percent < 50 ? "computing" : "links    ", percent);
    fflush(stderr);
}

static const char *time_text(double seconds, char *into, size_t size)
{
    return mot_show_time((uint64_t)(fmax(seconds, 0) * 1e9 + 0.5), into, size);
}

/* More workers than cores on this machine: they take turns, and the file says so. */
static bool crowded(const struct mot_profile *p) { return mot_profile_crowd(p) > 1; }

#define CROWDED                                                                                              \
    "%u workers share %u cores: speeds are those of a worker with a core to itself, and the simulator lets " \
    "them take turns"

/* Warn if other programs took more than this share of the cores. */
#define NOISY 0.05

static void warn(const struct mot_profile *p)
{
    if (crowded(p)) fprintf(stderr, "motley: " CROWDED "\n", p->here, p->cores);
    if (mot_profile_taken(p) > NOISY)
        fprintf(stderr,
            "motley: this machine is busy: other programs took %.0f %% of the time for which the workers "
            "wanted a core. The file describes an idle machine; beside such programs, runs take longer\n",
            100 * mot_profile_taken(p));
}

static void print_costs(const struct mot_profile *p)
{
    char step[32], mix[32];
    printf("\nstep of the optimiser %s, adding a model to another %s, %u core%s\n",
        mot_show_bandwidth(mot_profile_digits(p->step_bytes_per_s), step, sizeof step),
        mot_show_bandwidth(mot_profile_digits(p->mix_bytes_per_s), mix, sizeof mix), p->cores,
        mot_plural(p->cores));
}

static void print_workers(const struct mot_profile *p)
{
    char fixed[32], job[32];
    printf("%6s  %12s  %10s  %12s  %7s  %6s  %8s\n", "worker", "samples/s", "fixed", "its batch", "fastest",
        "sigma", "jobs");
    for (uint32_t i = 0; i < p->workers; i++) {
        const struct mot_profile_worker *m = &p->worker[i];
        double whole = m->fixed_s + m->batch[2] * m->per_sample_s;
        printf("%6u  %12.6g  %10s  %12s  %6.0f%%  %6.3f  %8.0f\n", i, mot_profile_digits(1 / m->per_sample_s),
            time_text(m->fixed_s, fixed, sizeof fixed), time_text(whole, job, sizeof job), 100 * m->least,
            m->sigma, m->jobs);
    }
}

static void print_pairs(const struct mot_profile *p)
{
    char latency[32], there[32], back[32];
    if (p->nodes < 2) return;
    printf("\n%6s  %10s  %12s  %12s\n", "nodes", "latency", "there", "back");
    for (mot_node i = 0; i < p->nodes; i++)
        for (mot_node j = i + 1; j < p->nodes; j++) {
            const struct mot_profile_pair *a = &p->pair[(size_t)i * p->nodes + j],
                                          *b = &p->pair[(size_t)j * p->nodes + i];
            printf("%2u - %2u  %10s  %12s  %12s\n", i, j, time_text(a->latency_s, latency, sizeof latency),
                mot_show_bandwidth(a->bytes_per_s, there, sizeof there),
                mot_show_bandwidth(b->bytes_per_s, back, sizeof back));
        }
}

static json_t *figure(double x) { return json_real(mot_profile_digits(x)); }

static void print_json(const struct mot_profile *p, const char *path)
{
    json_t *workers = json_array(), *pairs = json_array();
    for (uint32_t i = 0; i < p->workers; i++) {
        const struct mot_profile_worker *m = &p->worker[i];
        json_array_append_new(workers,
            json_pack("{s:i, s:o, s:o, s:o, s:o, s:f}", "id", (int)i, "samples_per_s",
                figure(1 / m->per_sample_s), "fixed_s", figure(m->fixed_s), "least", figure(m->least),
                "sigma", figure(m->sigma), "jobs", m->jobs));
    }
    for (mot_node i = 0; i < p->nodes; i++)
        for (mot_node j = 0; j < p->nodes; j++) {
            const struct mot_profile_pair *a = &p->pair[(size_t)i * p->nodes + j];
            if (i == j) continue;
            json_array_append_new(pairs,
                json_pack("{s:i, s:i, s:o, s:o}", "from", (int)i, "to", (int)j, "latency_s",
                    figure(a->latency_s), "bytes_per_s", figure(a->bytes_per_s)));
        }
    json_t *all = json_pack("{s:o, s:o, s:o, s:o, s:i, s:o, s:b, s:s?}", "worker", workers, "pair", pairs,
        "step_bytes_per_s", figure(p->step_bytes_per_s), "mix_bytes_per_s", figure(p->mix_bytes_per_s),
        "cores", (int)p->cores, "taken", figure(mot_profile_taken(p)), "crowded", crowded(p), "cluster",
        path);
    mot_json_print(all, stdout);
    json_decref(all);
}

/* ---- The cluster file --------------------------------------------------------------------------- */

/* The text of the cluster file, parsed again to be sure that it is valid. */
static enum mot_status cluster_text(const struct mot_job *j, const struct mot_profile *p,
    const struct mot_ranks *ranks, char **text_out, size_t *n_out)
{
    struct mot_cluster *back, c = { .workers = p->workers, .servers = 1 };
    c.machine = mot_new(p->workers + 1, sizeof(*c.machine));
    FILE *out = open_memstream(text_out, n_out);
    if (!out) return mot_fail(MOT_ESYSTEM, "no memory for the cluster's text");
    mot_profile_apply(p, &c);
    fprintf(out, "# Measured by motley profile: model %s, %.0f parameters, %u workers at once%s, %.3g s.\n",
        j->experiment->model->name, j->net.parameters, p->workers, ranks ? " over MPI" : "",
        (double)p->seconds * 1e-9);
    if (crowded(p)) fprintf(out, "# " CROWDED ".\n", p->here, p->cores);
    if (mot_profile_taken(p) > NOISY)
        fprintf(out,
            "# Other programs took %.0f %% of the cores meanwhile; this is the machine without them.\n",
            100 * mot_profile_taken(p));
    mot_cluster_print(&c, 0, out);
    free(c.machine);
    if (fclose(out) != 0) return mot_fail(MOT_ESYSTEM, "no memory for the cluster's text");
    enum mot_status status = mot_cluster_parse("the measured cluster", *text_out, *n_out, &back);
    if (status == MOT_OK) mot_cluster_close(back);
    else free(*text_out);
    return status;
}

static enum mot_status write_cluster(
    const struct mot_job *j, const struct mot_profile *p, const struct mot_ranks *ranks, const char *path)
{
    char *text;
    size_t n;
    enum mot_status status = cluster_text(j, p, ranks, &text, &n);
    if (status != MOT_OK) return status;
    status = mot_file_replace(path, text, n);
    free(text);
    return status;
}

/* ---- The command --------------------------------------------------------------------------------- */

static enum mot_status seconds_of(const struct cli_args *args, mot_time *out)
{
    double seconds;
    const char *text = cli_value(args, "seconds");
    *out = 3000000000u;
    if (!text) return MOT_OK;
    if (!mot_read_real(text, &seconds) || !(seconds > 0) || seconds > 3600)
        return mot_fail(MOT_EUSAGE, "--seconds: expected a number above 0, up to 3600; found '%.40s'", text);
    *out = (mot_time)(seconds * 1e9);
    return MOT_OK;
}

static void show(const struct cli_args *args, const struct mot_profile *p, const char *path)
{
    if (args->json) {
        print_json(p, path);
    } else if (!args->quiet || !path) {
        print_workers(p);
        print_pairs(p);
        print_costs(p);
        char shown[512];
        if (path) mot_show_text(path, shown, sizeof shown);
        if (path) printf("\nWrote %s; use it with motley sim --cluster %s\n", shown, shown);
    }
}

static enum mot_status measure(const struct cli_args *args, const struct mot_job *j, mot_time seconds,
    struct mot_ranks *ranks, const char *path, bool quiet)
{
    int shown = -1;
    bool leads = mot_ranks_rank(ranks) == 0; /* who prints and writes */
    bool talks = leads && !args->quiet && isatty(STDERR_FILENO);
    struct mot_profile p = { .seconds = seconds,
        .cores = mot_cores(),
        .here = ranks ? mot_ranks_here(ranks) : j->experiment->cluster->workers,
        .interrupt = cli_catch_interrupts(),
        .progress = talks ? on_progress : NULL,
        .progress_self = &shown };
    if (!j->net.kind->computes)
        return mot_fail(MOT_EUSAGE,
            "model %s computes nothing, so there is nothing to measure; give the model that you will train",
            j->net.kind->name);
    struct mot_driver_options o = { .experiment = j->experiment,
        .problem = &j->problem,
        .optim = &j->optim,
        .x0 = j->x0,
        .hash = j->hash,
        .interrupt = p.interrupt };
    enum mot_status status = ranks ? mot_ranks_profile(ranks, &o, &p) : mot_threads_profile(&o, &p);
    if (talks) fprintf(stderr, "\r               \r");
    if (status != MOT_OK || !leads) return status;
    if (!p.whole) status = mot_fail(MOT_EINTERRUPTED, "interrupted; nothing was written");
    if (status == MOT_OK && path) status = write_cluster(j, &p, ranks, path);
    if (status == MOT_OK && !quiet) show(args, &p, path);
    if (status == MOT_OK && !args->quiet) warn(&p);
    mot_profile_close(&p);
    return status;
}

static enum mot_status measure_experiment(
    const struct cli_args *args, mot_time seconds, struct mot_ranks *ranks, const char *path, bool quiet)
{
    struct mot_experiment *x;
    struct mot_job job;
    enum mot_status status =
        mot_experiment_open(args->words ? args->word[0] : NULL, args->setting, args->settings, &x);
    if (status != MOT_OK) return status;
    status = mot_job_open(x, &job);
    if (status == MOT_OK) {
        status = measure(args, &job, seconds, ranks, path, quiet);
        mot_job_close(&job);
    }
    mot_experiment_close(x);
    return status;
}

static enum mot_status profile_here(const struct cli_args *args, struct mot_ranks *ranks)
{
    mot_time seconds;
    enum mot_status status = seconds_of(args, &seconds);
    return status == MOT_OK ? measure_experiment(args, seconds, ranks, cli_value(args, "out"), false)
                            : status;
}

enum mot_status cli_profile_to(const struct cli_args *args, const char *path)
{
    return measure_experiment(args, 2000000000u, NULL, path, true);
}

static enum mot_status profile(const struct cli_args *args)
{
    if (cli_under_mpi()) return cli_be_rank(args, profile_here);
    if (cli_given(args, "ranks"))
        return cli_start_ranks(args, cli_value(args, "ranks"), mot_ranks_fit_profile);
    return profile_here(args, NULL);
}

static const struct cli_flag flags[] = {
    { "out", "FILE", "write this cluster file; without it only the table is printed" },
    { "ranks", "N", "start N ranks over MPI on this machine, one per worker" },
    { "seconds", "N", "how long the workers compute; default: 3" },
    { NULL, NULL, NULL },
};

const struct cli_command cli_profile = {
    .name = "profile",
    .synopsis = "[EXPERIMENT.yaml] [--seconds N] [--ranks N] [--out CLUSTER.yaml]",
    .summary = "measure workers and links; write a cluster file",
    .about =
        "Computes gradients of the experiment's model on all workers at once, one thread each, and fits "
        "`fixed + samples / speed` and its variation to every worker's times. Then measures latency and "
        "bandwidth between each pair of nodes while the others are idle. --out writes a cluster file; "
        "`motley sim --cluster FILE` then predicts how long `motley train` would take. Edit the file to try "
        "slower machines or links.\n"
        "It also times a step of the optimiser and adding one model to another, and counts the cores. With "
        "these (`costs` and `host` in the file) the simulator charges updates and mixing, and lets workers "
        "and a server that share cores take turns. Neighbours that differ by no more than noise become one "
        "group.\n"
        "Other programs that run meanwhile slow the workers down; the figures show it, and a warning says "
        "how much of the cores they took. Between threads a message is handed over, not copied: its latency "
        "is the time to wake a thread, its bandwidth the speed of reading memory. If sending the model takes "
        "less than a tenth longer than an empty message, its bandwidth cannot be measured: the file then has "
        "a lower bound, ten models per round trip. Figures have three digits. With more workers than cores, "
        "speeds are those of a worker that has a core to itself.\n"
        "Started by mpirun or srun, or with --ranks N, it measures over MPI: one rank per worker, whatever "
        "the method. A server is not measured there; the file gives it rank 0's link. Only rank 0 prints and "
        "writes. If a rank is lost, the exit code is 4 (peer_lost) and nothing is written.",
    .examples = "motley profile --workers 2 --out here.yaml\n"
                "motley sim --workers 2 --cluster here.yaml\n"
                "motley profile --workers 2 --ranks 2 --out over-mpi.yaml\n",
    .flags = flags,
    .words_max = 1,
    .experiment_flags = true,
    .run = profile,
};
