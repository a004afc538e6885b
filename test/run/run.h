/* run.h -- for tests: simulate an experiment that is given as settings. */
#ifndef MOT_TEST_RUN_H
#define MOT_TEST_RUN_H

#include "api/job.h"
#include "shared.h"
#include "test.h"
#include <unistd.h>

/* An MLP; a small one where a sanitizer looks at every number of it. */
#define SMALL_MLP "model", SANITIZED ? "{name: mlp, hidden: [16]}" : "mlp"

#define SETTINGS_MAX 40
struct run {
    struct mot_setting setting[SETTINGS_MAX];
    size_t settings;
    struct mot_experiment *experiment;
    struct mot_job job;
    struct mot_outcome out;
    struct mot_job_ways ways;
    enum mot_status status;
};

static inline void run_set(struct run *r, const char *key, const char *value)
{
    r->setting[r->settings++] = (struct mot_setting){ .key = key, .value = value, .origin = "test" };
}

/* Pairs of key and value, ended by NULL. */
#define RUN_SET(r, ...) run_set_all((r), (const char *const[]){ __VA_ARGS__, NULL })
static inline void run_set_all(struct run *r, const char *const *pair)
{
    for (; *pair; pair += 2) run_set(r, pair[0], pair[1]);
}

/* Simulates; r->status and r->out tell. run_free after it. */
static inline void run_go_file(struct run *r, const char *path)
{
    r->status = mot_experiment_open(path, r->setting, r->settings, &r->experiment);
    if (r->status != MOT_OK) {
        printf("  %s\n", mot_error());
        return;
    }
    r->status = mot_job_open(r->experiment, &r->job);
    if (r->status != MOT_OK) {
        printf("  %s\n", mot_error());
        return;
    }
    r->status = mot_job_run(&r->job, &r->ways, &r->out);
    if (r->status != MOT_OK) printf("  %s\n", mot_error());
}

static inline void run_go(struct run *r) { run_go_file(r, NULL); }

static inline void run_free(struct run *r)
{
    mot_outcome_close(&r->out);
    mot_job_close(&r->job);
    mot_experiment_close(r->experiment);
    r->experiment = NULL;
}

#endif
