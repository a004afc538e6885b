/* worker.c -- the child's side: receives the number of a case, makes the run, replies. */
#include "api/job.h"
#include "base/file.h"
#include "base/memory.h"
#include "study/kept_parts.h"
#include "study/runner.h"
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct worker {
    const struct mot_runner *runner;
    const char *workshop;
    uint32_t threads;
    uint64_t loaded; /* whose data this is; 0: none */
    struct mot_dataset *data;
};

/* Keeps the data of the last case if this one shares it. */
static enum mot_status load(struct worker *w, const struct mot_experiment *x, uint64_t data)
{
    if (w->data && w->loaded == data) return MOT_OK;
    mot_dataset_close(w->data);
    w->data = NULL;
    w->loaded = data;
    return mot_dataset_open(&x->data, x->seed, &w->data);
}

/* Reads the data and partitions it. */
static enum mot_status share_out(
    struct worker *w, const struct mot_case *c, const struct mot_experiment *x, struct mot_parts *out)
{
    enum mot_status status = load(w, x, c->data);
    return status == MOT_OK ? mot_parts_have(w->runner->store, c->parts, w->workshop, x, w->data, out)
                            : status;
}

static enum mot_status simulate(struct worker *w, const struct mot_case *c, struct mot_experiment *x)
{
    struct mot_job job;
    struct mot_outcome out;
    struct mot_parts parts;
    enum mot_status status = share_out(w, c, x, &parts);
    if (status == MOT_OK) status = mot_job_open_with(x, w->data, parts, &job);
    if (status != MOT_OK) return status;
    char *folder = mot_store_folder(w->runner->store, c->key);
    x->output = w->workshop;
    status = mot_job_run(&job,
        &(struct mot_job_ways){ .driver = &mot_driver_sim, .lean = !w->runner->models, .moves_to = folder },
        &out);
    if (status == MOT_OK) mot_outcome_close(&out);
    free(folder);
    mot_job_close(&job);
    if (status == MOT_OK) status = mot_store_publish(w->runner->store, w->workshop, c->key);
    if (status == MOT_OK) mot_store_relate(w->runner->store, c->family, c->key);
    return status;
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
    struct mot_experiment x = *c->experiment;
    x.seed = c->seed;
    x.sim.threads = w->threads;
    x.checkpoint = (struct mot_every){ MOT_EVERY_AUTO, 0 };
    mot_remove_tree(w->workshop);
    enum mot_status status = make(w, c, &x);
    mot_remove_tree(w->workshop);
    return status;
}

/* Another program may be making this very run: then it is there once the wait is over. */
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
    mot_replace_waits(false); /* the store has sums */
    while (recv(socket, &at, sizeof(at), 0) == sizeof(at) && at < n) {
        struct mot_reply reply = { .at = at };
        /* What it prints from here on belongs to this case: if it crashes, these are its last words. */
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
