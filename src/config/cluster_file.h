/* cluster_file.h -- clusters from YAML and back. */
#ifndef MOT_CONFIG_CLUSTER_FILE_H
#define MOT_CONFIG_CLUSTER_FILE_H

#include "cluster/cluster.h"
#include "config/read.h"
#include <stdio.h>

/* The tables fill these; cluster_tables.c. */
struct mot_cluster_conf {
    double slow;
    uint64_t slow_count;
    uint32_t per; /* enum mot_price */
    double links;
};
struct mot_host_conf {
    uint64_t cores, workers;
};
struct mot_link_conf {
    double bandwidth, up, down;
    uint64_t latency;
}; /* NaN: free */
struct mot_group_conf {
    const char *name;
    uint64_t count;
    double speed;
    uint64_t fixed;
    uint32_t per; /* enum mot_price */
    struct mot_room room;
};
struct mot_law_conf {
    struct {
        uint64_t mean, low, high, sd, unit, plus;
    } time; /* a job_time's, ns */
    /* a jitter's; sigma and alpha serve both */
    struct {
        double mean, low, high, sd, unit, plus, sigma, alpha;
    } factor;
};
struct mot_straggle_conf {
    double factor, p, slow, p_slow, p_fast, stay_slow, stay_fast;
    const char *path;
    uint64_t column;
};
extern const struct mot_option mot_cluster_options[], mot_link_options[], mot_group_options[],
    mot_host_options[], mot_costs_options[]; /* costs: of struct mot_costs, NaN: none */

/* Reads the cluster under `node` (NULL: the default one), with one server. `workers`: how many the
 * experiment asks for at `asked_by` (0: it does not say). */
enum mot_status mot_cluster_build(const struct mot_yaml_reader *, const struct mot_yaml *node,
    const char *key, uint32_t workers, const struct mot_yaml *asked_by, struct mot_cluster **out);

/* Gives it that many servers, all like the one it was built with. */
void mot_cluster_serve(struct mot_cluster *, uint32_t servers);

/* A cluster file on its own, with one server. */
enum mot_status mot_cluster_open(const char *path, struct mot_cluster **out);
/* opens no other files */
enum mot_status mot_cluster_parse(const char *name, const char *text, size_t n, struct mot_cluster **out);

/* As YAML, indented by `indent`: groups of identical workers, all links spelled out. */
void mot_cluster_print(const struct mot_cluster *, int indent, FILE *);

/* How many workers from `at` on are identical. */
uint32_t mot_cluster_group(const struct mot_cluster *, uint32_t at);

/* "lognormal (mean 1, sigma 0.2)": a law or straggling in words. malloc'd. */
char *mot_job_time_text(const struct mot_machine *);
char *mot_jitter_text(const struct mot_machine *);
char *mot_straggle_text(const struct mot_machine *);
/* "name (option value, ...)"; presets are left out. malloc'd. */
char *mot_choice_text(const char *name, const struct mot_option *, const void *conf);

#endif
