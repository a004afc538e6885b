#include "config/cluster_file.h"
#include "config/cluster_named.h"
#include "config/fault_file.h"
#include "config/stream_file.h"
#include "base/file.h"
#include "base/options.h"
#include "base/words.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Links ------------------------------------------------------------------- */

static double free_or(double bandwidth) { return isnan(bandwidth) ? INFINITY : bandwidth; }

/* Overrides `link` with the keys that `node` has; `others` are the node's other keys. */
static enum mot_status read_link(const struct mot_yaml_reader *r, const struct mot_yaml *node,
    const char *key, const char *const *others, struct mot_link *link)
{
    struct mot_link_conf conf = { link->up, link->up, link->down, link->latency };
    enum mot_status status = mot_read_options(r, node, key, mot_link_options, &conf, others, MOT_READ_KEEP);
    if (status != MOT_OK) return status;
    if (mot_yaml_get(node, "bandwidth")) link->up = link->down = free_or(conf.bandwidth);
    if (mot_yaml_get(node, "up")) link->up = free_or(conf.up);
    if (mot_yaml_get(node, "down")) link->down = free_or(conf.down);
    link->latency = conf.latency;
    return MOT_OK;
}

static enum mot_status read_network(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, const char *key, struct mot_link *out)
{
    *out = (struct mot_link){ 125e6, 125e6, 100000 }; /* 1 Gbit/s and 100 us */
    if (!node) return MOT_OK;
    if (node->kind == MOT_YAML_SCALAR) {
        static const char *const words[] = { "none", NULL };
        if (strcmp(node->text, "none") != 0)
            return mot_read_fail(r, node, key,
                "expected 'none' or a map such as {bandwidth: 1Gbit, latency: 100us}; found %s%s",
                mot_yaml_found(node, r->arena), mot_did_you_mean(r, node->text, words));
        *out = (struct mot_link){ INFINITY, INFINITY, 0 };
        return MOT_OK;
    }
    return read_link(r, node, key, NULL, out);
}

/* ---- Laws -------------------------------------------------------------------- */

static double seconds(uint64_t ns) { return (double)ns / 1e9; }

static const char *const name_key[] = { "name", NULL };

static enum mot_status check_law(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, const char *key, const struct mot_law *law)
{
    if (law->kind == MOT_LAW_UNIFORM && law->high < law->low)
        return mot_read_fail(
            r, node, key, "expected low <= high; found low %g and high %g", law->low, law->high);
    if (law->kind == MOT_LAW_POISSON && law->mean > 1e9 * law->unit)
        return mot_read_fail(r, node, key, "expected a mean of at most a billion units");
    return MOT_OK;
}

static enum mot_status read_job_time(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, const char *key, struct mot_machine *m)
{
    if (!node) return MOT_OK;
    m->has_job_time = true;
    uint64_t ns;
    if (node->kind == MOT_YAML_SCALAR && mot_read_time(node->text, &ns)) {
        m->job_time = (struct mot_law){ .kind = MOT_LAW_FIXED, .mean = seconds(ns) };
        if (m->job_time.mean <= MOT_JOB_LONGEST_S) return MOT_OK;
        return mot_read_fail(r, node, key, "expected a time of at most %.0f s; found %s", MOT_JOB_LONGEST_S,
            mot_yaml_found(node, r->arena));
    }
    struct mot_choice choice;
    struct mot_law_conf conf = { 0 };
    enum mot_status status = mot_read_name(r, node, key, &mot_family_job_time, &choice);
    if (status == MOT_OK) status = mot_read_options(r, node, key, choice.options, &conf, name_key, 0);
    if (status != MOT_OK) return status;
    m->job_time = (struct mot_law){
        .kind = (enum mot_law_kind)choice.index,
        .mean = seconds(conf.time.mean),
        .low = seconds(conf.time.low),
        .high = seconds(conf.time.high),
        .sd = seconds(conf.time.sd),
        .unit = seconds(conf.time.unit),
        .plus = seconds(conf.time.plus),
        .sigma = conf.factor.sigma,
        .alpha = conf.factor.alpha,
    };
    return check_law(r, node, key, &m->job_time);
}

static enum mot_status read_jitter(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, const char *key, struct mot_machine *m)
{
    struct mot_choice choice;
    struct mot_law_conf conf = { .factor.mean = 1 };
    enum mot_status status = mot_read_name(r, node, key, &mot_family_jitter, &choice);
    if (status == MOT_OK) status = mot_read_options(r, node, key, choice.options, &conf, name_key, 0);
    if (status != MOT_OK) return status;
    m->jitter = (struct mot_law){
        .kind = (enum mot_law_kind)choice.index,
        .mean = conf.factor.mean,
        .low = conf.factor.low,
        .high = conf.factor.high,
        .sd = conf.factor.sd,
        .unit = conf.factor.unit,
        .plus = conf.factor.plus,
        .sigma = conf.factor.sigma,
        .alpha = conf.factor.alpha,
    };
    if (choice.index == MOT_LAW_UNIFORM) m->jitter.mean = 0;
    return node ? check_law(r, node, key, &m->jitter) : MOT_OK;
}

/* ---- Straggling ---------------------------------------------------------------- */

/* What the groups of a cluster share while being read. */
struct gathering {
    const struct mot_yaml_reader *reader;
    struct mot_arena *arena; /* the cluster's */
    struct mot_link network;
    struct mot_stream stream; /* for groups that give no stream */
    uint32_t price;           /* for groups that give no `per` */
    struct known_trace {
        const char *path;
        const struct mot_trace *trace;
        struct known_trace *next;
    } * traces;
    struct mot_machine *machine;
    uint32_t workers, room;
    struct mot_faults faults;
    struct mot_host host;
    struct mot_costs costs;
};

/* A trace that several groups use is read once. */
static enum mot_status find_trace(struct gathering *g, const struct mot_yaml *node, const char *key,
    const char *path, const struct mot_trace **out)
{
    for (struct known_trace *t = g->traces; t; t = t->next)
        if (strcmp(t->path, path) == 0) {
            *out = t->trace;
            return MOT_OK;
        }
    struct known_trace *known = mot_arena_new(g->arena, sizeof *known);
    if (g->reader->alone) {
        static const double second[] = { 1 };
        static const struct mot_trace no_file = { 1, 1, second, NULL };
        known->trace = &no_file;
    } else {
        if (!mot_file_exists(path)) return mot_read_fail(g->reader, node, key, "there is no file '%s'", path);
        enum mot_status status = mot_trace_read(path, g->arena, &known->trace);
        if (status != MOT_OK) return status;
    }
    known->path = mot_arena_text(g->arena, path);
    known->next = g->traces;
    g->traces = known;
    *out = known->trace;
    return MOT_OK;
}

static enum mot_status read_trace(struct gathering *g, const struct mot_yaml *node, const char *key,
    const struct mot_straggle_conf *conf, struct mot_straggle *s)
{
    const struct mot_yaml_reader *r = g->reader;
    const struct mot_yaml *path = mot_yaml_get(node, "path"), *column = mot_yaml_get(node, "column");
    s->path = mot_arena_text(g->arena, mot_read_path(r, path, conf->path));
    enum mot_status status = find_trace(g, path, mot_key_join(r, key, "path"), s->path, &s->trace);
    if (status != MOT_OK) return status;
    if (conf->column != MOT_WORD_UINT && conf->column >= s->trace->cols && !r->alone)
        return mot_read_fail(r, column, mot_key_join(r, key, "column"),
            "expected a column from 0 to %u of '%s'; found %s", s->trace->cols - 1, s->path,
            mot_yaml_found(column, r->arena));
    return MOT_OK;
}

static enum mot_status read_straggle(struct gathering *g, const struct mot_yaml *node, const char *key,
    struct mot_machine *m, uint64_t *column)
{
    const struct mot_yaml_reader *r = g->reader;
    struct mot_choice choice;
    struct mot_straggle_conf conf = { .factor = 1, .column = MOT_WORD_UINT };
    enum mot_status status = mot_read_name(r, node, key, &mot_family_straggle, &choice);
    if (status == MOT_OK) status = mot_read_options(r, node, key, choice.options, &conf, name_key, 0);
    if (status != MOT_OK) return status;
    m->straggle = (struct mot_straggle){
        .kind = (enum mot_straggle_kind)choice.index,
        .factor = conf.factor,
        .p = conf.p,
        .slow = conf.slow,
        .p_slow = conf.p_slow,
        .p_fast = conf.p_fast,
        .stay_slow = conf.stay_slow,
        .stay_fast = conf.stay_fast,
    };
    *column = conf.column;
    return m->straggle.kind == MOT_STRAGGLE_TRACE ? read_trace(g, node, key, &conf, &m->straggle) : MOT_OK;
}

/* ---- Groups of workers ----------------------------------------------------------- */

static enum mot_status add_workers(struct gathering *g, const struct mot_yaml *node, const char *key,
    const struct mot_machine *m, uint64_t count, uint64_t column)
{
    if (count > MOT_WORKERS_MAX - g->workers)
        return mot_read_fail(
            g->reader, node, key, "expected at most %d workers; found more", MOT_WORKERS_MAX);
    if (g->workers + count > g->room) {
        g->room = g->workers + (uint32_t)count + g->room;
        g->machine = mot_grow(g->machine, g->room, sizeof *g->machine);
    }
    for (uint64_t i = 0; i < count; i++) {
        struct mot_machine *mine = &g->machine[g->workers];
        *mine = *m;
        if (m->straggle.trace) {
            uint32_t cols = m->straggle.trace->cols;
            mine->straggle.column = column == MOT_WORD_UINT ? g->workers % cols : (uint32_t)(column % cols);
        }
        g->workers++;
    }
    return MOT_OK;
}

static enum mot_status read_group(struct gathering *g, const struct mot_yaml *node, const char *key)
{
    static const char *const link_and_laws[] = { "bandwidth", "up", "down", "latency", "job_time", "jitter",
        "straggle", "stream", NULL };
    static const char *const group_and_laws[] = { "name", "count", "speed", "fixed", "per", "job_time",
        "jitter", "straggle", "stream", "memory", "storage", NULL };
    const struct mot_yaml_reader *r = g->reader;
    struct mot_group_conf conf = { 0 };
    struct mot_machine m = { .link = g->network, .stream = g->stream };
    const struct mot_yaml *job_time = mot_yaml_get(node, "job_time"), *speed = mot_yaml_get(node, "speed");
    if (!speed) speed = mot_yaml_get(node, "fixed");
    uint64_t column;
    enum mot_status status = mot_read_map(r, node, key, "{count: 4, speed: 500 samples/s}");
    if (status == MOT_OK) status = mot_read_options(r, node, key, mot_group_options, &conf, link_and_laws, 0);
    if (status == MOT_OK) status = read_link(r, node, key, group_and_laws, &m.link);
    if (status == MOT_OK) status = read_job_time(r, job_time, mot_key_join(r, key, "job_time"), &m);
    if (status == MOT_OK)
        status = read_jitter(r, mot_yaml_get(node, "jitter"), mot_key_join(r, key, "jitter"), &m);
    if (status == MOT_OK)
        status =
            read_straggle(g, mot_yaml_get(node, "straggle"), mot_key_join(r, key, "straggle"), &m, &column);
    if (status == MOT_OK)
        status = mot_stream_read(r, mot_yaml_get(node, "stream"), mot_key_join(r, key, "stream"), &m.stream);
    if (status != MOT_OK) return status;
    if (job_time && speed)
        return mot_read_fail_key(r, speed, mot_key_join(r, key, speed->key),
            "has no meaning beside job_time, which is the time of a whole job");
    m.name = conf.name ? mot_arena_text(g->arena, conf.name) : NULL;
    m.speed = conf.speed;
    m.fixed = conf.fixed;
    m.room = conf.room;
    if (m.room.memory == MOT_WORD_UINT) m.room.memory = 0;
    if (m.room.storage && m.room.memory == 0)
        return mot_read_fail_key(r, mot_yaml_get(node, "storage"), mot_key_join(r, key, "storage"),
            "has no meaning without a limit on memory");
    if (conf.per == MOT_PRICE_JOB && !mot_machine_timed(&m))
        return mot_read_fail(r, mot_yaml_get(node, "per"), mot_key_join(r, key, "per"),
            "expected workers with a job_time or a trace; those with a speed take longer the more samples a "
            "job has");
    if (mot_machine_timed(&m)) m.price = conf.per == MOT_PRICE_AUTO ? g->price : conf.per;
    return add_workers(g, node, key, &m, conf.count, column);
}

static struct mot_machine plain_machine(const struct gathering *g)
{
    return (struct mot_machine){
        .speed = 1000,
        .jitter = { .kind = MOT_LAW_FIXED, .mean = 1 },
        .straggle.factor = 1,
        .link = g->network,
        .stream = g->stream,
    };
}

static enum mot_status read_workers(struct gathering *g, const struct mot_yaml *node, const char *key)
{
    const struct mot_yaml_reader *r = g->reader;
    if (node->kind == MOT_YAML_SCALAR) {
        static const struct mot_option count = {
            .name = "workers", .type = MOT_OPT_UINT, .min = 1, .max = MOT_WORKERS_MAX
        };
        uint64_t n;
        struct mot_machine m = plain_machine(g);
        enum mot_status status = mot_read_value(r, node, key, &count, &n);
        return status == MOT_OK ? add_workers(g, node, key, &m, n, MOT_WORD_UINT) : status;
    }
    if (node->kind == MOT_YAML_MAP)
        return mot_read_fail(r, node, key,
            "expected a number or a list of groups ('- count: 4'); found a map of keys%s",
            node->flag || mot_yaml_get(node, "name") ? "; only the groups of a list can be set one by one"
                                                     : "");
    if (node->count == 0)
        return mot_read_fail(r, node, key, "expected at least one group of workers; found an empty list");
    uint32_t i = 0;
    for (const struct mot_yaml *group = node->first; group; group = group->next) {
        char at[64];
        snprintf(at, sizeof at, "%s[%u]", key, i++);
        enum mot_status status = read_group(g, group, mot_arena_text(r->arena, at));
        if (status != MOT_OK) return status;
    }
    return MOT_OK;
}

/* ---- Hosts and costs ------------------------------------------------------------------ */

static enum mot_status read_host(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, const char *key, struct mot_host *out)
{
    struct mot_host_conf conf = { MOT_WORD_UINT, MOT_WORD_UINT };
    enum mot_status status = mot_read_map(r, node, key, "{cores: 4}");
    if (status == MOT_OK) status = mot_read_options(r, node, key, mot_host_options, &conf, NULL, 0);
    if (status != MOT_OK) return status;
    *out = (struct mot_host){ conf.cores == MOT_WORD_UINT ? 0 : (uint32_t)conf.cores,
        conf.workers == MOT_WORD_UINT ? 0 : (uint32_t)conf.workers };
    return MOT_OK;
}

static enum mot_status read_costs(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, const char *key, struct mot_costs *out)
{
    struct mot_costs conf = { NAN, NAN };
    enum mot_status status = mot_read_map(r, node, key, "{step: 4GB/s, mix: 8GB/s}");
    if (status == MOT_OK) status = mot_read_options(r, node, key, mot_costs_options, &conf, NULL, 0);
    if (status != MOT_OK) return status;
    *out = (struct mot_costs){ isnan(conf.step) ? 0 : conf.step, isnan(conf.mix) ? 0 : conf.mix };
    return MOT_OK;
}

/* ---- The whole ---------------------------------------------------------------------- */

/* Slows down the last workers once all groups are read; printed, they are groups of their own. */
static enum mot_status slow_down(
    struct gathering *g, const struct mot_yaml *node, const char *key, const struct mot_cluster_conf *conf)
{
    const struct mot_yaml_reader *r = g->reader;
    const struct mot_yaml *slow = mot_yaml_get(node, "slow"), *count = mot_yaml_get(node, "slow_count");
    if (conf->slow_count > g->workers)
        return mot_read_fail(r, count, mot_key_join(r, key, "slow_count"),
            "expected at most %u, as many as there are workers; found %s", g->workers,
            mot_yaml_found(count, r->arena));
    for (uint32_t i = g->workers - (uint32_t)conf->slow_count; conf->slow > 1 && i < g->workers; i++) {
        struct mot_machine *m = &g->machine[i];
        if (m->straggle.kind == MOT_STRAGGLE_TRACE)
            return mot_read_fail(r, slow, mot_key_join(r, key, "slow"),
                "has no meaning for worker %u: its job times come from a trace", i);
        mot_machine_slow(m, conf->slow);
        if (!(m->speed > 0) || (double)m->fixed > MOT_JOB_LONGEST_S * 1e9 ||
            (m->has_job_time && mot_job_mean(m, 1) > MOT_JOB_LONGEST_S))
            return mot_read_fail(r, slow, mot_key_join(r, key, "slow"),
                "expected jobs of at most %.0f s; with %s those of worker %u are longer", MOT_JOB_LONGEST_S,
                mot_yaml_found(slow, r->arena), i);
    }
    return MOT_OK;
}

static enum mot_status add_server(struct gathering *g, const struct mot_yaml *node, const char *key)
{
    struct mot_machine server = plain_machine(g);
    server.name = "server";
    server.stream = (struct mot_stream){ 0 };
    enum mot_status status = MOT_OK;
    if (node) status = mot_read_map(g->reader, node, key, "{bandwidth: 10Gbit}");
    if (node && status == MOT_OK) status = read_link(g->reader, node, key, NULL, &server.link);
    if (status != MOT_OK) return status;
    g->machine = mot_grow(g->machine, (size_t)g->workers + 1, sizeof *g->machine);
    g->machine[g->workers] = server;
    return MOT_OK;
}

static enum mot_status gather(struct gathering *g, const struct mot_yaml *node, const char *key,
    uint32_t workers, const struct mot_yaml *asked_by)
{
    static const char *const keys[] = { "network", "workers", "server", "faults", "stream", "host", "costs",
        NULL };
    const struct mot_yaml_reader *r = g->reader;
    struct mot_cluster_conf conf;
    enum mot_status status = mot_read_map(r, node, key, "{workers: 8, network: {bandwidth: 1Gbit}}");
    if (status == MOT_OK) status = mot_read_options(r, node, key, mot_cluster_options, &conf, keys, 0);
    if (status == MOT_OK)
        status = read_network(r, mot_yaml_get(node, "network"), mot_key_join(r, key, "network"), &g->network);
    if (status == MOT_OK)
        status = mot_stream_read(r, mot_yaml_get(node, "stream"), mot_key_join(r, key, "stream"), &g->stream);
    const struct mot_yaml *host = mot_yaml_get(node, "host"), *costs = mot_yaml_get(node, "costs");
    if (status == MOT_OK && host) status = read_host(r, host, mot_key_join(r, key, "host"), &g->host);
    if (status == MOT_OK && costs) status = read_costs(r, costs, mot_key_join(r, key, "costs"), &g->costs);
    if (status != MOT_OK) return status;
    g->price = conf.per;
    const struct mot_yaml *list = mot_yaml_get(node, "workers");
    const char *list_key = mot_key_join(r, key, "workers");
    if (list) {
        if ((status = read_workers(g, list, list_key))) return status;
    } else if (node && !workers && !node->flag) { /* a flag that sets a key changes the default cluster */
        return mot_read_fail(r, node, list_key,
            "is missing: a cluster needs workers, a number or a list of groups ('- count: 4')");
    } else {
        struct mot_machine m = plain_machine(g);
        if ((status = add_workers(g, node, list_key, &m, workers ? workers : 8, MOT_WORD_UINT)))
            return status;
    }
    if (workers && asked_by && workers != g->workers)
        return mot_read_fail(r, asked_by, "workers",
            "expected %u, as many as the cluster at %s has, or no such key; found %u", g->workers,
            mot_yaml_where(list, r->arena), workers);
    if ((status = slow_down(g, node, key, &conf))) return status;
    status = mot_faults_read(
        r, mot_yaml_get(node, "faults"), mot_key_join(r, key, "faults"), g->workers, g->arena, &g->faults);
    if (status == MOT_OK)
        status = add_server(g, mot_yaml_get(node, "server"), mot_key_join(r, key, "server"));
    for (uint32_t i = 0; status == MOT_OK && i <= g->workers; i++) {
        g->machine[i].link.up *= conf.links;
        g->machine[i].link.down *= conf.links;
    }
    return status;
}

enum mot_status mot_cluster_build(const struct mot_yaml_reader *r, const struct mot_yaml *node,
    const char *key, uint32_t workers, const struct mot_yaml *asked_by, struct mot_cluster **out)
{
    struct mot_arena arena = { NULL };
    struct gathering g = { .reader = r, .arena = &arena };
    enum mot_status status = gather(&g, node, key, workers, asked_by);
    if (status != MOT_OK) {
        free(g.machine);
        mot_arena_free(&arena);
        return status;
    }
    struct mot_cluster *cluster = mot_new(1, sizeof *cluster);
    *cluster = (struct mot_cluster){ g.workers, 1, g.machine, g.faults, arena.last, g.host, g.costs };
    *out = cluster;
    return MOT_OK;
}

void mot_cluster_serve(struct mot_cluster *c, uint32_t servers)
{
    MOT_ASSERT(c->servers == 1);
    c->machine = mot_grow(c->machine, (size_t)c->workers + servers + 1, sizeof *c->machine);
    for (uint32_t i = 1; i < servers; i++) c->machine[c->workers + i] = c->machine[c->workers];
    c->servers = servers;
}

enum mot_status mot_cluster_open(const char *path, struct mot_cluster **out)
{
    struct mot_arena arena = { NULL };
    struct mot_yaml_reader reader = { .arena = &arena };
    struct mot_yaml *root;
    const struct mot_named_cluster *known = mot_file_exists(path) ? NULL : mot_named_cluster_find(path);
    enum mot_status status = known
        ? mot_yaml_parse(known->name, false, known->text, strlen(known->text), &arena, &root)
        : mot_yaml_read(path, &arena, &root);
    if (status == MOT_OK) status = mot_cluster_build(&reader, root, "", 0, NULL, out);
    mot_arena_free(&arena);
    return status;
}

enum mot_status mot_cluster_parse(const char *name, const char *text, size_t n, struct mot_cluster **out)
{
    struct mot_arena arena = { NULL };
    struct mot_yaml_reader reader = { .arena = &arena, .alone = true };
    struct mot_yaml *root;
    enum mot_status status = mot_yaml_parse(name, false, text, n, &arena, &root);
    if (status == MOT_OK) status = mot_cluster_build(&reader, root, "", 0, NULL, out);
    mot_arena_free(&arena);
    return status;
}
