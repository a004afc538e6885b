/* worker.c -- the child's side: takes the number of a case, makes the run, answers. */
#include "api/job.h"
#include "base/file.h"
#include "base/memory.h"
#include "report/report.h"
#include "study/parts.h"
#include "study/runner.h"
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct worker {
    const struct mot_runner *runner;
    const char *workshop;
    uint32_t threads;
    uint64_t loaded; /* whose data this is; 0: none */
    struct mot_dataset *data;
};

/* The data of the last case, if it is this one's too. */
static enum mot_status load(struct worker *w, const struct mot_experiment *x, uint64_t data)
{
    if (w->data && w->loaded == data) return MOT_OK;
    mot_dataset_close(w->data);
    w->data = NULL;
    w->loaded = data;
    return mot_dataset_open(&x->data, x->seed, &w->data);
}

/* Reads the data, and says who holds which rows of it. */
static enum mot_status share_out(
    struct worker *w, const struct mot_case *c, const struct mot_experiment *x, struct mot_parts *out)
{
    enum mot_status status = load(w, x, c->data);
    return status == MOT_OK ? mot_parts_have(w->runner->store, c->parts, w->workshop, x, w->data, out)
                            : status;
}

/* In its final place the run is called by its final name, and running
 * its experiment again does not write there. */
static enum mot_status rename_inside(const char *workshop, const struct mot_job *job,
    struct mot_experiment *x, const struct mot_outcome *out, const char *folder)
{
    char *experiment = mot_path_join(workshop, "experiment.yaml"),
         *summary = mot_path_join(workshop, "summary.json");
    x->output = folder;
    json_t *json = mot_job_summary(job, MOT_DRIVER_SIM, out);
    FILE *file = fopen(experiment, "we");
    bool good = file != NULL;
    x->output = NULL;
    if (file) good = mot_experiment_print(x, file) == MOT_OK;
    if (file) good = fclose(file) == 0 && good;
    file = good ? fopen(summary, "we") : NULL;
    good = file != NULL;
    if (file) mot_json_print(json, file);
    if (file) good = fclose(file) == 0;
    json_decref(json);
    free(summary);
    free(experiment);
    return good ? MOT_OK : mot_fail(MOT_ESYSTEM, "%s: cannot be written", workshop);
}

static enum mot_status simulate(struct worker *w, const struct mot_case *c, struct mot_experiment *x)
{
    struct mot_job job;
    struct mot_outcome out;
    struct mot_parts parts;
    enum mot_status status = share_out(w, c, x, &parts);
    if (status == MOT_OK) status = mot_job_open_with(x, w->data, parts, &job);
    if (status != MOT_OK) return status;
    x->output = w->workshop;
    status = mot_job_run(
        &job, &(struct mot_job_ways){ .driver = MOT_DRIVER_SIM, .lean = !w->runner->models }, &out);
    if (status == MOT_OK) {
        char *folder = mot_store_folder(w->runner->store, c->key);
        status = rename_inside(w->workshop, &job, x, &out, folder);
        free(folder);
        mot_outcome_close(&out);
    }
    mot_job_close(&job);
    return status == MOT_OK ? mot_store_publish(w->runner->store, w->workshop, c->key) : status;
}

static enum mot_status share_out_only(struct worker *w, const struct mot_case *c, struct mot_experiment *x)
{
    struct mot_parts parts;
    if (w->runner->fresh) mot_store_remove(w->runner->store, c->parts);
    enum mot_status status = share_out(w, c, x, &parts);
    if (status == MOT_OK) mot_parts_free(&parts);
    return status;
}

static enum mot_status with_experiment(struct worker *w, const struct mot_case *c,
    enum mot_status (*make)(struct worker *, const struct mot_case *, struct mot_experiment *))
{
    struct mot_experiment *x;
    char key[MOT_KEY_SIZE];
    enum mot_status status =
        mot_study_plan_run(w->runner->plan, c->arm, c->condition, c->more, c->mores, &c->seed, &x);
    if (status != MOT_OK) return status;
    status = mot_store_key(w->runner->store, x, w->runner->models, key);
    if (status == MOT_OK && strcmp(key, c->key) != 0)
        status = mot_fail(MOT_EUSAGE, "the experiment, or a file that it names, changed while the study ran");
    x->sim.threads = w->threads;
    x->checkpoint = (struct mot_every){ MOT_EVERY_AUTO, 0 };
    mot_remove_tree(w->workshop);
    if (status == MOT_OK) status = make(w, c, x);
    mot_remove_tree(w->workshop);
    mot_experiment_close(x);
    return status;
}

/* Somebody else may be making this very run: then it is there when the wait is over. */
static enum mot_status have_run(struct worker *w, const struct mot_case *c)
{
    struct mot_store_claim claim;
    if (!mot_store_claim(w->runner->store, c->key, &claim)) return mot_fail(MOT_EINTERRUPTED, "interrupted");
    enum mot_status status = MOT_OK;
    if (w->runner->fresh) mot_store_remove(w->runner->store, c->key);
    if (!mot_store_has(w->runner->store, c->key)) status = with_experiment(w, c, simulate);
    mot_store_release(&claim);
    return status;
}

void mot_worker(const struct mot_runner *runner, const struct mot_case *cases, size_t n, bool partitions,
    int socket, const char *workshop, uint32_t threads)
{
    struct worker w = { .runner = runner, .workshop = workshop, .threads = threads };
    uint32_t at;
    mot_replace_without_waiting(); /* the store has sums */
    while (recv(socket, &at, sizeof(at), 0) == sizeof(at) && at < n) {
        struct mot_reply reply = { .at = at };
        /* What it says on its way belongs to this case: should it fall, these are its last words. */
        if (ftruncate(STDERR_FILENO, 0) == 0) lseek(STDERR_FILENO, 0, SEEK_SET);
        enum mot_status status =
            partitions ? with_experiment(&w, &cases[at], share_out_only) : have_run(&w, &cases[at]);
        if (status != MOT_OK) {
            reply.kind = MOT_REPLY_FAILED;
            snprintf(reply.text, sizeof(reply.text), "%s", mot_error());
        }
        if (send(socket, &reply, sizeof(reply), MSG_NOSIGNAL) != sizeof(reply)) break;
    }
    mot_dataset_close(w.data);
    _exit(0);
}
