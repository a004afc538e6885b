/* fixture.h -- runs made by hand: an experiment and an outcome with only what reports read. */
#ifndef MOT_TEST_REPORT_FIXTURE_H
#define MOT_TEST_REPORT_FIXTURE_H

#include "base/options.h"
#include "method/methods.h"
#include "report/report.h"
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NODES_MOST 64

#define method_allreduce mot_method_allreduce
#define method_server mot_method_server
#define method_async mot_method_async
#define method_dpsgd mot_method_dpsgd
#define method_rennala mot_method_rennala

struct run {
    struct mot_experiment e;
    struct mot_outcome o;
    struct mot_cluster cluster;
    struct mot_machine machine[NODES_MOST];
    struct mot_node_tally node[NODES_MOST];
    uint32_t batch[NODES_MOST];
    _Alignas(16) unsigned char conf[512];
    struct mot_arena arena; /* of options that are texts */
};

/* A run of `seconds` in which every worker computes all the time, a job a second, on links of 1 Gbit/s. */
static inline void run_make(struct run *r, const struct mot_method *method, uint32_t workers, double seconds)
{
    *r = (struct run){ 0 };
    const struct mot_score unknown = MOT_SCORE_UNKNOWN;
    if (method->conf_bytes > sizeof r->conf) abort();
    if (mot_options_preset(method->options, r->conf, &r->arena) != MOT_OK) abort();
    const struct mot_traits traits = mot_method_traits(method, r->conf, workers);
    r->cluster = (struct mot_cluster){ .workers = workers, .servers = traits.servers, .machine = r->machine };
    r->e = (struct mot_experiment){ .seed = 7,
        .workers = workers,
        .servers = traits.servers,
        .method = method,
        .method_conf = r->conf,
        .compress = { .kind = mot_compressors[0] }, /* none */
        .traits = traits,
        .batch = r->batch,
        .cluster = &r->cluster,
        .optim = { .lr = 0.1 },
        .stop = { .updates = MOT_WORD_UINT, .epochs = NAN, .time = MOT_NEVER } };
    r->o = (struct mot_outcome){ .status = MOT_OK,
        .ended_by = "updates",
        .wall_s = 0.5,
        .workers = workers,
        .servers = traits.servers,
        .node = r->node,
        .model_hash = 0xabc };
    r->o.last = (struct mot_moment){ .now = (mot_time)(seconds * 1e9),
        .updates = (uint64_t)seconds,
        .epochs = 2,
        .staleness_mean = NAN,
        .staleness_max = NAN,
        .active_jobs = NAN,
        .mixed = MOT_MIXED_UNKNOWN,
        .score = unknown };
    r->o.best_score = unknown;
    for (uint32_t i = 0; i < workers + traits.servers; i++) {
        r->machine[i] = (struct mot_machine){ .speed = 32, .link = { 125e6, 125e6, 100000 } };
        r->batch[i] = 32;
        if (i < workers)
            r->node[i] = (struct mot_node_tally){
                .compute = r->o.last.now, .jobs = (uint64_t)seconds, .updates = (uint64_t)seconds
            };
        else r->node[i] = (struct mot_node_tally){ .wait = r->o.last.now };
    }
}

/* Sets an option of the run's method. */
static inline void run_option(struct run *r, const char *name, const char *value)
{
    const struct mot_option *option = mot_option_find(r->e.method->options, name);
    if (!option || mot_option_set(option, r->conf, value, &r->arena) != MOT_OK) abort();
    r->e.traits = mot_method_traits(r->e.method, r->conf, r->e.workers);
}

/* Splits the node's time into these shares. */
static inline void run_shares(struct run *r, uint32_t node, double compute, double send, double wait)
{
    double now = (double)r->o.last.now;
    r->node[node].compute = (mot_time)(compute * now);
    r->node[node].send = (mot_time)(send * now);
    r->node[node].wait = (mot_time)(wait * now);
}

static inline void run_note(struct run *r, const char *key, uint64_t count, double sum, double most)
{
    r->o.note[r->o.notes++] = (struct mot_note_tally){ key, count, sum, most };
}

/* A folder that the test may fill with files; it goes when the test ends. Returns a malloc'd path in it. */
static char scratch_folder[64];
static inline void scratch_remove(void)
{
    DIR *folder = opendir(scratch_folder);
    if (!folder) return;
    for (struct dirent *entry; (entry = readdir(folder));)
        if (entry->d_name[0] != '.') (void)unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
    (void)rmdir(scratch_folder);
}

static inline char *scratch(const char *name)
{
    if (!scratch_folder[0]) {
        snprintf(scratch_folder, sizeof scratch_folder, "/tmp/motley-test-XXXXXX");
        if (!mkdtemp(scratch_folder)) abort();
        atexit(scratch_remove);
    }
    size_t size = strlen(scratch_folder) + strlen(name) + 2;
    char *path = malloc(size);
    if (!path) abort();
    snprintf(path, size, "%s/%s", scratch_folder, name);
    return path;
}

#endif
