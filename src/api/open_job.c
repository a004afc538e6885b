/* open_job.c -- from an experiment to all that a run needs: data, parts, model, optimiser, graph, code. */
#include "api/job.h"
#include "base/memory.h"
#include "math/models.h"
#include "report/report.h"
#include "run/world.h"
#include <math.h>
#include <stdlib.h>
#include <xxhash.h>

#define UPDATES_MOST 1e15 /* the longest schedule, as its own option allows */

/* The length of the run, for a schedule whose length the experiment does not set. */
static uint64_t updates_of(const struct mot_experiment *x, const struct mot_parts *parts, uint32_t rows)
{
    if (x->stop.updates != MOT_WORD_UINT) return x->stop.updates;
    if (isnan(x->stop.epochs)) return MOT_WORD_UINT;
    double samples = 0, updates = ceil(x->stop.epochs / x->traits.passes);
    uint32_t *batch = mot_new(parts->parts, sizeof *batch);
    mot_part_batches(x, parts, batch);
    for (uint32_t i = 0; i < parts->parts; i++) samples += batch[i];
    free(batch);
    samples = samples * x->traits.batches / x->workers;
    if (x->traits.passes == 0) updates = ceil(x->stop.epochs * rows / samples);
    return updates < UPDATES_MOST ? (uint64_t)updates : (uint64_t)UPDATES_MOST;
}

static enum mot_status open_optim(struct mot_job *j)
{
    const struct mot_experiment *x = j->experiment;
    struct mot_schedule_conf schedule = x->schedule;
    if (schedule.total == MOT_WORD_UINT) schedule.total = updates_of(x, &j->parts, j->data->train.rows);
    return mot_optim_open(x->optimizer, &x->optim, &schedule, &j->net, &j->optim);
}

static enum mot_status open_start(struct mot_job *j)
{
    const struct mot_experiment *x = j->experiment;
    j->x0 = mot_aligned_large((size_t)j->net.dim * sizeof(float));
    if (!j->x0) return mot_memory_status();
    if (x->from) {
        char *path = mot_model_path(x->from);
        enum mot_status status = mot_model_load_into(path, &j->net, j->x0);
        free(path);
        return status;
    }
    mot_net_init(&j->net, x->seed, j->x0);
    return MOT_OK;
}

static enum mot_status open_mixing(struct mot_job *j)
{
    const struct mot_experiment *x = j->experiment;
    if (!x->traits.mixes) return MOT_OK;
    return mot_mixing_open(x->topology, &x->topology_conf, x->workers, x->seed, x->traits.budget, &j->mixing);
}

static enum mot_status open_code(struct mot_job *j)
{
    const struct mot_experiment *x = j->experiment;
    if (!x->traits.codes) return MOT_OK;
    struct mot_code_spec spec = mot_code_of(x);
    enum mot_status status = mot_code_open(&spec, &j->code);
    MOT_ASSERT(status != MOT_OK || j->code->parts == x->traits.parts);
    return status;
}

/* Hashes all that a checkpoint depends on: the experiment, its data and the initial model. */
static uint64_t job_hash(const struct mot_job *j)
{
    uint64_t data = j->data->hash;
    /* A partition folder may change while the experiment's text stays the same. */
    if (j->experiment->partitioner == &mot_partition_from)
        data = mot_hash3(data, XXH64(j->parts.at, ((size_t)j->parts.parts + 1) * sizeof *j->parts.at, 0),
            XXH64(j->parts.row, (size_t)j->parts.at[j->parts.parts] * sizeof *j->parts.row, 0));
    uint64_t hash =
        mot_hash3(mot_experiment_hash(j->experiment), data, XXH64(j->x0, j->net.dim * sizeof(float), 0));
    if (j->code) return mot_hash3(hash, mot_code_hash(j->code), 1);
    return j->experiment->traits.mixes ? mot_hash3(hash, mot_mixing_hash(&j->mixing), 0) : hash;
}

enum mot_status mot_job_parts(
    const struct mot_experiment *x, const struct mot_dataset *data, struct mot_parts *out)
{
    double *speed = x->shared_parts ? NULL : mot_speeds_of(x); /* shared parts are nobody's: alike */
    struct mot_split split = { .table = &data->train,
        .parts = x->traits.parts,
        .speed = speed,
        .shared = x->shared_parts,
        .seed = x->seed,
        .threads = x->sim.threads,
        .file_rows = data->file_rows,
        .file_cut = data->file_cut,
        .file_row = data->file_row,
        .unpack_max = x->data.unpack_max };
    enum mot_status status = mot_partition(x->partitioner, x->partition_conf, &split, out, NULL);
    free(speed);
    return status;
}

/* Refuses rows that the model cannot take. */
static enum mot_status check_rows(const struct mot_job *j)
{
    const struct mot_data_conf *conf = &j->experiment->data;
    const struct mot_dataset *d = j->data;
    const uint32_t taken = d->train.rows + d->valid.rows;
    const bool apart = d->test.rows && taken == d->file_rows; /* test rows come from a file of their own */
    const char *test = apart && conf->test_path ? conf->test_path : d->name;
    enum mot_status status = mot_net_check(&j->net, &d->train, d->name, d->file_row, 0);
    if (status == MOT_OK) status = mot_net_check(&j->net, &d->valid, d->name, d->file_row, d->train.rows);
    if (status != MOT_OK) return status;
    return mot_net_check(&j->net, &d->test, test, apart ? NULL : d->file_row, apart ? 0 : taken);
}

/* Refuses batches that are too small for the model's statistics. */
static enum mot_status check_batches(const struct mot_job *j)
{
    enum mot_status status = MOT_OK;
    uint32_t *batch = mot_new(j->parts.parts, sizeof *batch);
    mot_part_batches(j->experiment, &j->parts, batch);
    for (uint32_t i = 0; i < j->parts.parts && status == MOT_OK; i++)
        status = mot_net_check_batch(&j->net, batch[i]);
    free(batch);
    return status;
}

/* Everything but the data, and the parts if they exist. */
static enum mot_status open_rest(const struct mot_experiment *x, struct mot_job *j)
{
    const struct mot_table *train = &j->data->train;
    struct mot_shape shape = { .cols = train->cols,
        .classes = train->classes,
        .sparse = train->x == NULL,
        .picture = j->data->picture };
    enum mot_status status = mot_net_open(x->model, x->model_conf, &shape, &j->net);
    if (status == MOT_OK) status = check_rows(j);
    if (status == MOT_OK && !j->parts.at) status = mot_job_parts(x, j->data, &j->parts);
    if (status == MOT_OK) status = check_batches(j);
    if (status == MOT_OK) status = open_optim(j);
    if (status == MOT_OK) status = open_start(j);
    if (status == MOT_OK) status = open_mixing(j);
    if (status == MOT_OK) status = open_code(j);
    if (status == MOT_OK) status = mot_memory_status();
    if (status != MOT_OK) {
        mot_job_close(j);
        return status;
    }
    j->problem = (struct mot_problem){ .data = j->data,
        .net = &j->net,
        .sampler = { .seed = x->seed, .conf = x->sampler, .parts = &j->parts },
        .mixing = x->traits.mixes ? &j->mixing.mixing : NULL,
        .code = j->code };
    j->hash = job_hash(j);
    status = mot_memory_status();
    if (status != MOT_OK) mot_job_close(j);
    return status;
}

enum mot_status mot_job_open(const struct mot_experiment *x, struct mot_job *j)
{
    *j = (struct mot_job){ .experiment = x };
    enum mot_status status = mot_dataset_open(&x->data, x->seed, &j->data);
    /* rows from a source are dense, and a model takes one kind of rows only */
    if (status == MOT_OK && mot_intake_outside(&x->source)) status = mot_dataset_fill(j->data);
    if (status != MOT_OK && j->data) mot_dataset_close(j->data);
    return status == MOT_OK ? open_rest(x, j) : status;
}

enum mot_status mot_job_open_with(
    const struct mot_experiment *x, struct mot_dataset *data, struct mot_parts parts, struct mot_job *j)
{
    *j = (struct mot_job){ .experiment = x, .data = data, .lent = true, .parts = parts };
    return open_rest(x, j);
}

void mot_job_close(struct mot_job *j)
{
    free(j->x0);
    mot_net_close(&j->net);
    mot_mixing_close(&j->mixing);
    mot_code_close(j->code);
    mot_parts_free(&j->parts);
    if (!j->lent) mot_dataset_close(j->data);
    *j = (struct mot_job){ 0 };
}
