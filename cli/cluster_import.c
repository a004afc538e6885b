/* cluster_import.c -- `motley cluster import`: a cluster file from other people's measurements. */
#include "base/file.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/shown.h"
#include "base/words.h"
#include "cli.h"
#include "cluster/capacity.h"
#include "config/cluster_file.h"
#include "report/json.h"
#include "trace.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX (512u << 20)
#define TRAINING 3.0 /* forward once, backward twice as long: FedScale's own factor */

struct import {
    const char *path;
    struct mot_capacities all;
    uint32_t *taken; /* those that become workers, in the order of the file */
    uint32_t workers;
    double factor;
    uint64_t seed;
};

static double speed(const struct import *m, uint32_t i)
{
    return 1000 / (m->factor * m->all.device[m->taken[i]].ms_per_sample);
}

static double bytes_per_s(const struct import *m, uint32_t i)
{
    return m->all.device[m->taken[i]].kbit_per_s * 125;
}

/* Picks `workers` of the devices at random, in the order of the file. */
static void draw(struct import *m)
{
    struct mot_rng rng = mot_rng_at(m->seed, MOT_RNG_IMPORT, 0);
    m->taken = mot_new(m->workers, sizeof *m->taken);
    /* Each of the devices left is equally likely to be among those still wanted. */
    for (uint32_t i = 0, n = 0; n < m->workers; i++)
        if (mot_rng_below(&rng, m->all.n - i) < m->workers - n) m->taken[n++] = i;
}

/* ---- The cluster file --------------------------------------------------------------------------- */

/* Whether YAML needs no quotes for the name; other names are left out. */
static bool is_plain(const char *name)
{
    size_t n = strlen(name);
    if (n == 0 || n > 60) return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && *name != '-' && *name != '_') return false;
    return true;
}

static void write_text(const struct import *m, FILE *out)
{
    char path[512];
    fprintf(out, "# Imported by motley cluster import from %s", mot_show_text(m->path, path, sizeof path));
    if (m->workers < m->all.n)
        fprintf(out, ": %u of its %u clients, drawn with seed %llu.\n", m->workers, m->all.n,
            (unsigned long long)m->seed);
    else fprintf(out, ": all of its %u clients.\n", m->workers);
    fprintf(out,
        "# A sample takes %g times what the file says for an inference. As in FedScale, only the clients' "
        "links take time.\n",
        m->factor);
    fputs("network: {latency: 0s}\nserver: {bandwidth: none, latency: 0s}\nworkers:\n", out);
    for (uint32_t i = 0; i < m->workers; i++) {
        const char *name = m->all.device[m->taken[i]].name;
        fputs("  - {", out);
        if (is_plain(name)) fprintf(out, "name: client-%s, ", name);
        fprintf(out, "speed: %.6g/s, bandwidth: %.6gkbit}\n", speed(m, i), bytes_per_s(m, i) / 125);
    }
}

/* Parses the text first, to be sure that it is valid. */
static enum mot_status write_cluster(const struct import *m, const char *path)
{
    struct mot_cluster *back;
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    if (!out) return mot_fail(MOT_ESYSTEM, "no memory for the cluster's text");
    write_text(m, out);
    if (fclose(out) != 0) return mot_fail(MOT_ESYSTEM, "no memory for the cluster's text");
    enum mot_status status = mot_cluster_parse("the imported cluster", text, n, &back);
    if (status == MOT_OK) mot_cluster_close(back);
    if (status == MOT_OK && path) status = mot_file_replace(path, text, n);
    else if (status == MOT_OK) fputs(text, stdout);
    free(text);
    return status;
}

/* ---- What it says ------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Least, median and most. */
struct spread {
    double least, median, most;
};

static struct spread spread_of(const struct import *m, double (*of)(const struct import *, uint32_t))
{
    double *x = mot_new(m->workers, sizeof *x);
    for (uint32_t i = 0; i < m->workers; i++) x[i] = of(m, i);
    qsort(x, m->workers, sizeof *x, compare);
    const struct spread s = { x[0], x[m->workers / 2], x[m->workers - 1] };
    free(x);
    return s;
}

static json_t *spread_json(struct spread s)
{
    return json_pack("{s:f, s:f, s:f}", "least", s.least, "median", s.median, "most", s.most);
}

static void say(const struct import *m, const char *out, bool json)
{
    const struct spread fast = spread_of(m, speed), wide = spread_of(m, bytes_per_s);
    if (json) {
        json_t *all = json_pack("{s:o, s:i, s:i, s:o, s:o}", "file", mot_json_text(m->path), "clients",
            (int)m->all.n, "workers", (int)m->workers, "samples_per_s", spread_json(fast), "bytes_per_s",
            spread_json(wide));
        if (out) mot_json_set(all, "cluster", mot_json_text(out));
        json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
        putchar('\n');
        json_decref(all);
        return;
    }
    char least[32], median[32], most[32], path[512];
    fprintf(stderr,
        "%u of %u clients: %.3g to %.3g samples/s (median %.3g), %s to %s (median %s); written to %s\n",
        m->workers, m->all.n, fast.least, fast.most, fast.median,
        mot_show_bandwidth(wide.least, least, sizeof least), mot_show_bandwidth(wide.most, most, sizeof most),
        mot_show_bandwidth(wide.median, median, sizeof median), mot_show_text(out, path, sizeof path));
}

/* ---- The command -------------------------------------------------------------------------------- */

static enum mot_status read_flags(const struct cli_args *a, struct import *m)
{
    const char *workers = cli_value(a, "workers"), *seed = cli_value(a, "seed"),
               *factor = cli_value(a, "factor");
    uint64_t n = m->all.n;
    m->factor = TRAINING;
    m->seed = 1;
    if (workers && (!mot_read_uint(workers, &n) || n < 1))
        return mot_fail(MOT_EUSAGE, "--workers: expected a whole number from 1 on; found '%.40s'", workers);
    if (seed && !mot_read_uint(seed, &m->seed))
        return mot_fail(MOT_EUSAGE, "--seed: expected a whole number; found '%.40s'", seed);
    if (factor && !(mot_read_real(factor, &m->factor) && m->factor >= 0.001 && m->factor <= 1e6))
        return mot_fail(MOT_EUSAGE, "--factor: expected a number from 0.001 to 1e6; found '%.40s'", factor);
    if (n > m->all.n) return mot_fail(MOT_EUSAGE, "--workers: %s has only %u clients", m->path, m->all.n);
    if (n > MOT_WORKERS_MAX)
        return mot_fail(MOT_EUSAGE,
            "%s has %u clients, but a run has at most %d workers: --workers N draws N of them at random",
            m->path, m->all.n, MOT_WORKERS_MAX);
    m->workers = (uint32_t)n;
    return MOT_OK;
}

static enum mot_status import_capacities(const struct cli_args *a, const unsigned char *bytes, size_t n)
{
    struct mot_arena arena = { NULL };
    struct import m = { .path = a->word[0] };
    const char *out = cli_value(a, "out");
    if (cli_given(a, "model") || cli_given(a, "threshold"))
        return mot_fail(MOT_EUSAGE, "--model and --threshold are for traces; %s has devices", m.path);
    enum mot_status status = mot_capacities_parse(m.path, bytes, n, &arena, &m.all);
    if (status != MOT_OK) goto out_arena;
    status = read_flags(a, &m);
    if (status == MOT_OK) {
        draw(&m);
        if (out || !a->json) status = write_cluster(&m, out);
        if (status == MOT_OK && (a->json || (out && !a->quiet))) say(&m, out, a->json);
    }
    free(m.taken);
    free(m.all.device);
out_arena:
    mot_arena_free(&arena);
    return status;
}

static enum mot_status run(const struct cli_args *a)
{
    unsigned char *bytes;
    size_t n;
    if (!mot_file_exists(a->word[0])) return mot_fail(MOT_EUSAGE, "%s: no such file", a->word[0]);
    enum mot_status status = mot_file_read(a->word[0], FILE_MAX, &bytes, &n);
    if (status != MOT_OK) return status;
    bool devices = mot_capacities_are(bytes, n);
    if (devices) status = import_capacities(a, bytes, n);
    free(bytes);
    if (devices) return status;
    if (cli_given(a, "workers") || cli_given(a, "factor") || cli_given(a, "seed"))
        return mot_fail(MOT_EUSAGE,
            "--workers, --seed and --factor are for files of devices; %s is not one: it does not name "
            "'computation' and 'communication'",
            a->word[0]);
    return cli_fit_trace(a);
}

static const struct cli_flag flags[] = {
    { "out", "FILE", "write this cluster file; default: standard output, and for a trace only tables" },
    { "workers", "N", "devices: draw N of them at random; default: all" },
    { "seed", "N", "devices: the seed of that draw; default: 1" },
    { "factor", "X", "devices: a sample takes X times as long as an inference; default: 3" },
    { "model", "NAME", "a trace: the model to write; see motley help trace fit" },
    { "threshold", "X", "a trace: see motley help trace fit" },
    { NULL, NULL, NULL },
};

const struct cli_command cli_cluster_import = {
    .name = "cluster import",
    .synopsis = "FILE [--out CLUSTER.yaml] [--workers N]",
    .summary = "make a cluster file from measured devices",
    .about = "FILE lists devices, like FedScale's client_device_capacity: {CLIENT: {computation: MS, "
             "communication: KBIT}}, the milliseconds that an inference of one sample takes and the "
             "bandwidth in kbit/s. It is a pickle (protocols 2 to 5) of plain dictionaries, from which no "
             "code is run; JSON; or CSV whose first line names the columns computation and communication. "
             "Each device becomes a worker. A sample takes --factor times as long as an inference, and only "
             "the workers' own links take time; both as in FedScale.\n"
             "A pickle with other Python objects (NumPy's numbers, for example) is refused. The last example "
             "converts it to JSON.\n"
             "FILE may also be a trace: CSV with one row per iteration and one column per node, in seconds. "
             "Then the command does what motley trace fit does.",
    .examples =
        "motley cluster import client_device_capacity --workers 100 --out phones.yaml\n"
        "motley cluster import devices.csv --out devices.yaml\n"
        "motley cluster import times.csv --out fitted.yaml\n"
        "python3 -c 'import json,pickle,sys; print(json.dumps({str(k): {n: float(x) for n, x in v.items()} "
        "for k, v in pickle.load(sys.stdin.buffer).items()}))' <client_device_capacity >devices.json\n",
    .flags = flags,
    .words_min = 1,
    .words_max = 1,
    .run = run,
};
