/* cluster.c -- `motley cluster show` and `motley cluster list`. */
#include "base/file.h"
#include "base/options.h"
#include "base/shown.h"
#include "base/words.h"
#include "cli.h"
#include "config/cluster_file.h"
#include "config/cluster_named.h"
#include "config/stream_file.h"
#include "report/report.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 32
#define DRAWS_MAX 200000 /* jobs drawn to find what a synchronous step waits for */

/* ---- A synchronous step ------------------------------------------------------------------ */

struct waiting {
    double step_s, fastest_s;
    uint32_t last, rounds, times;
};

/* Draws rounds of one job per worker: how long the slowest takes on average, and which it mostly is. */
static struct waiting watch_steps(const struct mot_cluster *c)
{
    struct mot_pace *pace = mot_new(c->workers, sizeof *pace);
    uint32_t *times = mot_new(c->workers, sizeof *times);
    struct waiting w = { .rounds = DRAWS_MAX / c->workers };
    if (w.rounds < 2) w.rounds = 2;
    if (w.rounds > 1000) w.rounds = 1000;
    for (uint32_t round = 0; round < w.rounds; round++) {
        mot_time longest = 0, shortest = MOT_NEVER;
        uint32_t last = 0;
        for (uint32_t i = 0; i < c->workers; i++) {
            mot_time t = mot_job_time(&c->machine[i], 1, i, &pace[i], BATCH);
            if (t > longest) longest = t, last = i;
            if (t < shortest) shortest = t;
        }
        times[last]++;
        w.step_s += (double)longest * 1e-9 / w.rounds;
        w.fastest_s += (double)shortest * 1e-9 / w.rounds;
    }
    for (uint32_t i = 0; i < c->workers; i++)
        if (times[i] > times[w.last]) w.last = i;
    w.times = times[w.last];
    free(times);
    free(pace);
    return w;
}

/* Samples per second of all workers together if none waits. */
static double total_speed(const struct mot_cluster *c)
{
    double total = 0;
    for (uint32_t i = 0; i < c->workers; i++) {
        double mean = mot_job_mean(&c->machine[i], BATCH);
        total += mean > 0 ? BATCH / mean : INFINITY;
    }
    return total;
}

static char *group_name(const struct mot_machine *m, uint32_t first, uint32_t count)
{
    if (m->name) return mot_text(m->name);
    return count > 1 ? mot_format("workers %u-%u", first, first + count - 1) : mot_format("worker %u", first);
}

/* ---- A table -------------------------------------------------------------------------------- */

enum { GROUP, COUNT, SPEED, JOB, JITTER, STRAGGLE, UP, DOWN, LATENCY, COLUMNS };
static const char *const titles[COLUMNS] = { "group", "count", "speed", "job of 32", "jitter", "straggling",
    "up", "down", "latency" };

struct table {
    char *(*row)[COLUMNS];
    size_t rows;
};

static char *shown_time(double seconds)
{
    char text[64];
    return mot_text(mot_show_time((uint64_t)llround(fmin(seconds, 1e9) * 1e9), text, sizeof text));
}

static void add_link(char **row, const struct mot_link *link)
{
    char text[64];
    row[UP] = mot_text(mot_show_bandwidth(link->up, text, sizeof text));
    row[DOWN] = mot_text(mot_show_bandwidth(link->down, text, sizeof text));
    row[LATENCY] = mot_text(mot_show_time(link->latency, text, sizeof text));
}

static void add_row(struct table *t, const struct mot_cluster *c, uint32_t first, uint32_t count)
{
    const struct mot_machine *m = &c->machine[first];
    t->row = mot_grow(t->row, t->rows + 1, sizeof *t->row);
    char **row = t->row[t->rows++], rate[32];
    bool is_server = first >= c->workers;
    bool has_speed = !is_server && !m->has_job_time && m->straggle.kind != MOT_STRAGGLE_TRACE;
    row[GROUP] = is_server ? mot_text("server") : group_name(m, first, count);
    row[COUNT] = mot_format("%u", count);
    row[SPEED] =
        has_speed ? mot_format("%s samples/s", mot_show_rate(m->speed, rate, sizeof rate)) : mot_text("-");
    row[JOB] = is_server ? mot_text("-") : shown_time(mot_job_mean(m, BATCH));
    row[JITTER] = is_server ? mot_text("-") : mot_jitter_text(m);
    row[STRAGGLE] = is_server ? mot_text("-") : mot_straggle_text(m);
    if (!is_server && m->has_job_time) {
        char *law = mot_job_time_text(m), *both = mot_format("%s: %s", row[JOB], law);
        free(row[JOB]);
        free(law);
        row[JOB] = both;
    }
    if (m->price == MOT_PRICE_SAMPLES) {
        char *said = mot_format("%s, per samples", row[JOB]);
        free(row[JOB]);
        row[JOB] = said;
    }
    add_link(row, &m->link);
    for (int i = 0; i < COLUMNS; i++) { /* names and paths come from the file */
        char *cell = mot_shown(row[i]);
        free(row[i]);
        row[i] = cell;
    }
}

/* The group, and the columns from `first` to before `end`. */
static void print_row(char *const *cell, const int *width, int first, int end)
{
    printf("%-*s", width[GROUP], cell[GROUP]);
    for (int i = first; i < end; i++)
        printf("  %*s", i == COUNT ? width[i] : i + 1 < end ? -width[i] : 0, cell[i]);
    putchar('\n');
}

/* As many columns side by side as the window holds; the rest in tables below, which name the groups again. */
static void print_table(const struct table *t)
{
    int width[COLUMNS];
    for (int i = 0; i < COLUMNS; i++) {
        width[i] = (int)strlen(titles[i]);
        for (size_t r = 0; r < t->rows; r++)
            if ((int)strlen(t->row[r][i]) > width[i]) width[i] = (int)strlen(t->row[r][i]);
    }
    for (int first = GROUP + 1, end; first < COLUMNS; first = end) {
        int all = width[GROUP] + 2 + width[first];
        for (end = first + 1; end < COLUMNS && all + 2 + width[end] <= (int)cli_columns(); end++)
            all += 2 + width[end];
        if (first < UP && end > UP && end < COLUMNS) end = UP; /* a link stays in one piece */
        if (first > GROUP + 1) putchar('\n');
        print_row((char *const *)titles, width, first, end);
        for (size_t r = 0; r < t->rows; r++) print_row(t->row[r], width, first, end);
    }
}

/* "Faults: 2 scheduled; at random: drop 1 % of frames, crash 0.01/s per worker." */
static void show_faults(const struct mot_cluster *c)
{
    static const char *const rates[MOT_FAULTS_RANDOM] = { "crash", "stall", "partition", "slow link" };
    const struct mot_faults *f = &c->faults;
    const char *before = "; at random: ";
    if (!f->any) return;
    printf("Faults: %u scheduled", f->scheduled);
    for (int i = 0; i < MOT_FAULTS_CHANCE; i++) {
        if (f->chance[i] <= 0) continue;
        enum mot_fault_kind kind = (enum mot_fault_kind)(MOT_FAULT_DROP + i);
        printf("%s%s %.3g %% of %s", before, mot_fault_name(kind), 100 * f->chance[i],
            kind == MOT_FAULT_POISON ? "gradients" : "frames");
        before = ", ";
    }
    for (int i = 0; i < MOT_FAULTS_RANDOM; i++) {
        if (f->rate[i].per_s <= 0) continue;
        printf("%s%s %.3g/s per worker", before, rates[i], f->rate[i].per_s);
        before = ", ";
    }
    puts(".");
}

/* "Samples arrive at workers 0 to 3: uniform (mean 38 samples/s, sd 24 samples/s)." */
static void show_streams(const struct mot_cluster *c)
{
    for (uint32_t at = 0, n; at < c->workers; at += n) {
        n = mot_cluster_group(c, at);
        if (c->machine[at].stream.kind == MOT_STREAM_NONE) continue;
        char *law = mot_stream_text(&c->machine[at].stream);
        printf("Samples arrive at worker%s %u", n > 1 ? "s" : "", at);
        if (n > 1) printf(" to %u", at + n - 1);
        printf(": %s.\n", law);
        free(law);
    }
}

static void show_text(const struct mot_cluster *c)
{
    struct table t = { NULL, 0 };
    for (uint32_t at = 0, n; at < c->workers; at += n) {
        n = mot_cluster_group(c, at);
        add_row(&t, c, at, n);
    }
    if (c->servers) add_row(&t, c, c->workers, c->servers);
    print_table(&t);
    for (size_t r = 0; r < t.rows; r++)
        for (int i = 0; i < COLUMNS; i++) free(t.row[r][i]);
    free(t.row);

    const struct waiting w = watch_steps(c);
    char *name = c->machine[w.last].name ? mot_shown(c->machine[w.last].name) : NULL;
    char *step = shown_time(w.step_s), *fastest = shown_time(w.fastest_s);
    char total[48];
    printf("\n%u workers, %s samples/s together if none waits (jobs of %d samples).\n", c->workers,
        mot_show_rate(total_speed(c), total, sizeof total), BATCH);
    char *words = w.step_s > w.fastest_s * 1.01
        ? mot_format("A synchronous step computes for %s; the fastest worker alone would need %s. It mostly "
                     "waits for worker %u%s%s%s.",
              step, fastest, w.last, name ? " (" : "", name ? name : "", name ? ")" : "")
        : mot_format("A synchronous step computes for %s; no worker waits for another.", step);
    mot_print_wrapped(words, "", stdout);
    free(words);
    free(fastest);
    free(step);
    free(name);
    show_streams(c);
    show_faults(c);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *bandwidth_json(double bytes_per_s)
{
    return isinf(bytes_per_s) ? json_null() : json_real(bytes_per_s);
}

static json_t *group_json(const struct mot_cluster *c, uint32_t first, uint32_t count)
{
    const struct mot_machine *m = &c->machine[first];
    char *jitter = mot_jitter_text(m), *straggle = mot_straggle_text(m);
    json_t *group = json_pack("{s:s?, s:i, s:f, s:s, s:s, s:o, s:o, s:f}", "name", m->name, "count",
        (int)count, "job_s", mot_job_mean(m, BATCH), "jitter", jitter, "straggle", straggle, "up_bytes_per_s",
        bandwidth_json(m->link.up), "down_bytes_per_s", bandwidth_json(m->link.down), "latency_s",
        (double)m->link.latency * 1e-9);
    json_object_set_new(group, "first", json_integer(first));
    if (m->price != MOT_PRICE_AUTO)
        json_object_set_new(group, "per", json_string(m->price == MOT_PRICE_JOB ? "job" : "samples"));
    if (m->has_job_time) {
        char *law = mot_job_time_text(m);
        json_object_set_new(group, "job_time", json_string(law));
        free(law);
    } else if (m->straggle.kind != MOT_STRAGGLE_TRACE) {
        json_object_set_new(group, "speed", json_real(m->speed));
        json_object_set_new(group, "fixed_s", json_real((double)m->fixed * 1e-9));
    }
    if (m->stream.kind != MOT_STREAM_NONE) {
        char *law = mot_stream_text(&m->stream);
        json_object_set_new(group, "stream", json_string(law));
        free(law);
    }
    free(straggle);
    free(jitter);
    return group;
}

static enum mot_status show_json(const struct mot_cluster *c)
{
    json_t *groups = json_array();
    for (uint32_t at = 0, n; at < c->workers; at += n) {
        n = mot_cluster_group(c, at);
        json_array_append_new(groups, group_json(c, at, n));
    }
    const struct mot_link *server = &c->machine[c->workers].link;
    const struct waiting w = watch_steps(c);
    double total = total_speed(c);
    json_t *root = json_pack("{s:i, s:o, s:o, s:{s:o, s:o, s:f}, s:{s:i, s:f, s:f, s:i}}", "workers",
        (int)c->workers, "samples_per_s", isinf(total) ? json_null() : json_real(total), "groups", groups,
        "server", "up_bytes_per_s", bandwidth_json(server->up), "down_bytes_per_s",
        bandwidth_json(server->down), "latency_s", (double)server->latency * 1e-9, "synchronous_step",
        "samples", BATCH, "compute_s", w.step_s, "fastest_s", w.fastest_s, "waits_for", (int)w.last);
    if (!root) return mot_fail(MOT_ESYSTEM, "out of memory");
    json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    putchar('\n');
    json_decref(root);
    return MOT_OK;
}

static enum mot_status run_show(const struct cli_args *a)
{
    struct mot_cluster *cluster;
    if (!mot_file_exists(a->word[0]) && !mot_named_cluster_find(a->word[0]))
        return mot_fail(
            MOT_EUSAGE, "%s: no such cluster file, and no such name in motley cluster list", a->word[0]);
    enum mot_status status = mot_cluster_open(a->word[0], &cluster);
    if (status != MOT_OK) return status;
    if (a->json) status = show_json(cluster);
    else show_text(cluster);
    mot_cluster_close(cluster);
    return status;
}

const struct cli_command cli_cluster_show = {
    .name = "cluster show",
    .synopsis = "FILE",
    .summary = "print a cluster file as a table",
    .about = "Shows every group of workers: speed, mean time of a job of 32 samples, jitter, straggling and "
             "link. Then says how long a synchronous step computes and which worker it waits for, averaged "
             "over jobs drawn as the simulator draws them.",
    .examples = "motley cluster show cluster.yaml\nmotley cluster show cluster.yaml --json\n",
    .words_min = 1,
    .words_max = 1,
    .run = run_show,
};

/* ---- List ------------------------------------------------------------------------------------------ */

static enum mot_status run_list(const struct cli_args *args)
{
    json_t *all = json_array();
    const struct mot_named_cluster *c;
    for (size_t i = 0; (c = mot_named_cluster_at(i)); i++) {
        json_array_append_new(all,
            json_pack("{s:s, s:s, s:s, s:s}", "name", c->name, "summary", c->summary, "source", c->source,
                "cluster", c->text));
        if (args->json) continue;
        char *head = mot_format("%s: %s", c->name, c->summary);
        if (i) putchar('\n');
        mot_print_wrapped(head, "", stdout);
        free(head);
        mot_print_wrapped(c->source, "  ", stdout);
    }
    if (args->json) mot_json_print(all, stdout);
    json_decref(all);
    return MOT_OK;
}

const struct cli_command cli_cluster_list = {
    .name = "cluster list",
    .summary = "list the named clusters, with their sources",
    .synopsis = "[flags]",
    .about = "`cluster: lab` in an experiment, or --cluster lab, selects one of these; `motley cluster show "
             "lab` prints it as a table. The sources say how machines differ; how many there are, and how "
             "fast, is our choice. A file of that name takes precedence.",
    .examples = "motley cluster list\nmotley sim --cluster lab --method async\n",
    .run = run_list,
};
