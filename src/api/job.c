#include "api/job.h"
#include "base/file.h"
#include "base/memory.h"
#include "live/replay.h"
#include "math/models.h"
#include "report/learned.h"
#include "report/report.h"
#include "report/tensorboard.h"
#include "report/timeline.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

/* ---- Opening -------------------------------------------------------------------------- */

#define UPDATES_MOST 1e15 /* that a schedule may last: as its own option says */

/* How many updates a schedule lasts when the experiment does not say: as many as the run. */
static uint64_t updates_of(const struct mot_experiment *x, const struct mot_parts *parts, uint32_t rows)
{
    if (x->stop.updates != MOT_WORD_UINT) return x->stop.updates;
    if (isnan(x->stop.epochs)) return MOT_WORD_UINT;
    /* One update of a synchronous method takes every worker's batch,
     * of an asynchronous one a single batch. */
    double samples = 0;
    for (uint32_t i = 0; i < x->workers; i++)
        samples += x->batch_full ? (double)(parts->at[i + 1] - parts->at[i]) : (double)x->batch[i];
    if (x->method->asynchronous) samples /= x->workers;
    double updates = ceil(x->stop.epochs * rows / samples);
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
    j->x0 = mot_aligned((size_t)j->net.dim * sizeof(float));
    if (x->from) return mot_model_load_into(x->from, &j->net, j->x0);
    j->net.kind->init(&j->net, x->seed, j->x0);
    return MOT_OK;
}

static enum mot_status open_mixing(struct mot_job *j)
{
    const struct mot_experiment *x = j->experiment;
    if (!x->method->neighbours) return MOT_OK;
    double budget = x->method->budget ? x->method->budget(x->method_conf) : NAN;
    return mot_mixing_open(x->topology, &x->topology_conf, x->workers, x->seed, budget, &j->mixing);
}

/* All that a checkpoint depends on: the experiment, its data, the model that it begins with. */
static uint64_t job_hash(const struct mot_job *j)
{
    uint64_t data = j->data->hash;
    /* What a folder says may change without the experiment's text. */
    if (j->experiment->partitioner == &mot_partition_from)
        data = mot_hash3(data, XXH64(j->parts.at, ((size_t)j->parts.parts + 1) * sizeof *j->parts.at, 0),
            XXH64(j->parts.row, (size_t)j->parts.at[j->parts.parts] * sizeof *j->parts.row, 0));
    uint64_t hash =
        mot_hash3(mot_experiment_hash(j->experiment), data, XXH64(j->x0, j->net.dim * sizeof(float), 0));
    return j->experiment->method->neighbours ? mot_hash3(hash, mot_mixing_hash(&j->mixing), 0) : hash;
}

double *mot_speeds_of(const struct mot_experiment *x)
{
    double *speed = mot_new(x->workers, sizeof *speed), all = 0;
    for (uint32_t i = 0; i < x->workers; i++) {
        uint64_t samples = x->batch_full ? 32 : x->batch[i];
        double mean = mot_job_mean(&x->cluster->machine[i], samples);
        all += mean;
        speed[i] = (double)samples / mean;
    }
    /* where jobs take no time all are alike */
    for (uint32_t i = 0; i < x->workers && all == 0; i++) speed[i] = 1;
    return speed;
}

enum mot_status mot_job_parts(
    const struct mot_experiment *x, const struct mot_dataset *data, struct mot_parts *out)
{
    double *speed = mot_speeds_of(x);
    struct mot_split split = { .table = &data->train,
        .parts = x->workers,
        .speed = speed,
        .seed = x->seed,
        .threads = x->sim.threads,
        .file_rows = data->file_rows,
        .file_row = data->file_row,
        .unpack_max = x->data.unpack_max };
    enum mot_status status = mot_partition(x->partitioner, x->partition_conf, &split, out, NULL);
    free(speed);
    return status;
}

/* Everything but the data, and the parts if they are there. */
static enum mot_status open_rest(const struct mot_experiment *x, struct mot_job *j)
{
    const struct mot_table *train = &j->data->train;
    struct mot_shape shape = { .cols = train->cols, .classes = train->classes, .sparse = train->x == NULL };
    enum mot_status status = mot_net_open(x->model, x->model_conf, &shape, &j->net);
    if (status == MOT_OK && !j->parts.at) status = mot_job_parts(x, j->data, &j->parts);
    if (status == MOT_OK) status = open_optim(j);
    if (status == MOT_OK) status = open_start(j);
    if (status == MOT_OK) status = open_mixing(j);
    if (status != MOT_OK) {
        mot_job_close(j);
        return status;
    }
    j->problem = (struct mot_problem){ .data = j->data,
        .net = &j->net,
        .sampler = { .seed = x->seed, .conf = x->sampler, .parts = &j->parts },
        .mixing = x->method->neighbours ? &j->mixing.mixing : NULL };
    j->hash = job_hash(j);
    return MOT_OK;
}

enum mot_status mot_job_open(const struct mot_experiment *x, struct mot_job *j)
{
    *j = (struct mot_job){ .experiment = x };
    enum mot_status status = mot_dataset_open(&x->data, x->seed, &j->data);
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
    mot_mixing_close(&j->mixing);
    mot_parts_free(&j->parts);
    if (!j->lent) mot_dataset_close(j->data);
    *j = (struct mot_job){ 0 };
}

const char *mot_driver_name(enum mot_driver driver)
{
    switch (driver) {
    case MOT_DRIVER_SIM: return "sim";
    case MOT_DRIVER_THREADS: return "threads";
    case MOT_DRIVER_MPI: return "mpi";
    case MOT_DRIVER_REPLAY: return "replay";
    }
    return "";
}

/* ---- The run's folder --------------------------------------------------------------------- */

struct folder {
    char *experiment, *metrics, *summary, *trace, *timeline, *events, *model, *best, *checkpoint, *record;
};

static void folder_names(const char *path, struct folder *f)
{
    f->experiment = mot_path_join(path, "experiment.yaml");
    f->metrics = mot_path_join(path, "metrics.jsonl");
    f->summary = mot_path_join(path, "summary.json");
    f->trace = mot_path_join(path, "trace.json");
    f->timeline = mot_path_join(path, "timeline.json");
    f->events = mot_path_join(path, MOT_TENSORBOARD_NAME);
    f->model = mot_path_join(path, "model.safetensors");
    f->best = mot_path_join(path, "best.safetensors");
    f->checkpoint = mot_path_join(path, "checkpoint.bin");
    f->record = mot_path_join(path, "record.bin");
}

static void folder_free(struct folder *f)
{
    free(f->experiment);
    free(f->metrics);
    free(f->summary);
    free(f->trace);
    free(f->timeline);
    free(f->events);
    free(f->model);
    free(f->best);
    free(f->checkpoint);
    free(f->record);
}

static bool all_digits(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (text[i] < '0' || text[i] > '9') return false;
    return n > 0;
}

/* A file that is being replaced is called NAME.PID-NUMBER.tmp meanwhile (base/file.c). Gives the length of
 * NAME, or 0. */
static size_t temporary_of(const char *name)
{
    size_t n = strlen(name);
    if (n < 4 || strcmp(name + n - 4, ".tmp") != 0) return 0;
    const char *dash = name + n - 4, *dot;
    while (dash > name && *dash != '-') dash--;
    dot = dash;
    while (dot > name && *dot != '.') dot--;
    bool fits = dot > name && all_digits(dot + 1, (size_t)(dash - dot - 1)) &&
        all_digits(dash + 1, (size_t)(name + n - 4 - dash - 1));
    return fits ? (size_t)(dot - name) : 0;
}

/* Whether a run writes a file of that name into its folder. */
static bool is_a_runs(const char *name, size_t n)
{
    static const char *const names[] = { "experiment.yaml", "metrics.jsonl", "summary.json", "trace.json",
        "timeline.json", MOT_TENSORBOARD_NAME, "model.safetensors", "best.safetensors", "checkpoint.bin",
        "record.bin" };
    for (size_t i = 0; i < MOT_COUNT(names); i++)
        if (strlen(names[i]) == n && memcmp(name, names[i], n) == 0) return true;
    return n > 11 && memcmp(name, "record.", 7) == 0 && memcmp(name + n - 4, ".bin", 4) == 0 &&
        all_digits(name + 7, n - 11);
}

static enum mot_status remove_old(const char *path)
{
    if (unlink(path) == 0 || errno == ENOENT) return MOT_OK;
    return mot_fail(MOT_ESYSTEM, "%s: cannot be removed: %s", path, strerror(errno));
}

static bool same_folder(const char *a, const char *b)
{
    struct stat sa, sb;
    return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

/* Locks the folder for this run, if it is there; the lock goes with the process, however that ends. */
static enum mot_status folder_lock(const char *path, int *lock)
{
    if (*lock >= 0) return MOT_OK;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return MOT_OK; /* who makes it or writes there says what is wrong */
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) { /* some file systems have no locks */
        *lock = fd;
        return MOT_OK;
    }
    close(fd);
    return mot_fail(MOT_EUSAGE,
        "%s: another run is writing into this folder; wait for its end, or name another folder with --out",
        path);
}

/* A run that was killed before it had a checkpoint: there is nothing to go on from, and nothing to lose. */
static bool is_stillborn(const struct folder *f)
{
    return mot_file_exists(f->metrics) && !mot_file_exists(f->summary) && !mot_file_exists(f->checkpoint);
}

/* A folder with a run in it is not written over unless that was asked for. Nothing is touched here. */
static enum mot_status folder_check(
    const struct mot_job *j, const struct mot_job_ways *ways, const struct folder *f)
{
    const char *path = j->experiment->output;
    if (ways->arrivals && same_folder(ways->arrivals, path))
        return mot_fail(
            MOT_EUSAGE, "%s: the recorded run is in this folder; name another one with --out", path);
    if (is_stillborn(f)) return MOT_OK;
    if (ways->resume) {
        if (mot_file_exists(f->checkpoint)) return MOT_OK;
        return mot_fail(MOT_EUSAGE,
            "%s: no checkpoint to resume from; expected a run that was interrupted, ended, or ran with "
            "checkpoint.every",
            f->checkpoint);
    }
    if ((mot_file_exists(f->checkpoint) || mot_file_exists(f->summary)) && !ways->replace)
        return mot_fail(MOT_EUSAGE,
            "%s: there is a run in this folder; --resume goes on with it, --replace writes over it", path);
    return MOT_OK;
}

/* Removes what killed runs have left half written, and, with `all`, what would be taken for this run's. What
 * no run writes stays. */
static enum mot_status folder_clear(const char *path, bool all)
{
    enum mot_status status = MOT_OK;
    DIR *d = opendir(path);
    if (!d) return mot_fail(MOT_ESYSTEM, "%s: cannot be read: %s", path, strerror(errno));
    for (struct dirent *e; status == MOT_OK && (e = readdir(d));) {
        size_t whole = temporary_of(e->d_name);
        if (whole ? !is_a_runs(e->d_name, whole) : !all || !is_a_runs(e->d_name, strlen(e->d_name))) continue;
        char *name = mot_path_join(path, e->d_name);
        status = remove_old(name);
        free(name);
    }
    closedir(d);
    return status;
}

/* Results are written last, and those of a run that goes on are removed as it begins: where they are, the
 * run in the folder has written all it had to. */
static bool is_settled(const struct mot_job_ways *ways, const struct folder *f)
{
    return ways->resume && f && mot_file_exists(f->summary);
}

static enum mot_status write_experiment(const struct mot_experiment *x, const char *path)
{
    struct mot_replace file;
    enum mot_status status = mot_replace_begin(path, &file);
    if (status != MOT_OK) return status;
    struct mot_experiment again = *x;
    again.output = NULL; /* whoever runs the file says where to: not over this run */
    status = mot_experiment_print(&again, file.out);
    if (status == MOT_OK) return mot_replace_commit(&file);
    mot_replace_abandon(&file);
    return status;
}

json_t *mot_job_summary(const struct mot_job *j, enum mot_driver driver, const struct mot_outcome *out)
{
    json_t *summary = mot_summary_json(j->experiment, out, mot_driver_name(driver), j->experiment->output);
    mot_summary_rows(summary, &j->data->train, &j->parts);
    return summary;
}

static enum mot_status write_summary(const struct mot_job *j, const struct mot_job_ways *ways,
    const struct folder *f, const struct mot_outcome *out)
{
    json_t *summary = mot_job_summary(j, ways->driver, out);
    struct mot_replace file;
    enum mot_status status = mot_replace_begin(f->summary, &file);
    if (status == MOT_OK) {
        mot_json_print(summary, file.out);
        status = mot_replace_commit(&file);
    }
    json_decref(summary);
    return status;
}

static enum mot_status write_models(const struct mot_job *j, const struct mot_job_ways *ways,
    const struct folder *f, const struct mot_outcome *out)
{
    const struct mot_experiment *x = j->experiment;
    if (out->model_lost) return remove_old(f->model); /* of the run that this one goes on from */
    if (!j->net.kind->computes || ways->lean) return MOT_OK;
    enum mot_status status = mot_model_save(f->model, x, &j->net, j->data, out->x);
    if (status == MOT_OK && out->best) status = mot_model_save(f->best, x, &j->net, j->data, out->best);
    return status;
}

/* A model is not given up because a trace or the metrics could not be written; the summary, which says that
 * all is there, is. */
static enum mot_status write_results(const struct mot_job *j, const struct mot_job_ways *ways,
    const struct folder *f, const struct mot_outcome *out, enum mot_status watched)
{
    enum mot_status status = write_models(j, ways, f, out);
    if (status == MOT_OK) status = watched;
    return status == MOT_OK ? write_summary(j, ways, f, out) : status;
}

/* ---- Watching the run ---------------------------------------------------------------------- */

struct watcher {
    const struct mot_experiment *experiment;
    const struct folder *folder; /* NULL: nothing is written */
    int *lock;                   /* of the folder, once it is there */
    const struct mot_job_ways *ways;
    struct mot_metrics *metrics;
    struct mot_tensorboard *events;
    struct mot_trace_file *trace;
    struct mot_timeline *timeline;
    struct mot_progress *progress;
    struct mot_heterogeneity start; /* of the evaluation before the first update, if there was one */
};

static void on_phase(void *self, mot_node node, enum mot_phase phase, uint32_t tag, uint32_t samples,
    mot_time from, mot_time to)
{
    struct watcher *w = self;
    if (w->timeline) mot_timeline_phase(w->timeline, node, phase, from, to);
    if (w->trace) mot_trace_phase(w->trace, node, phase, tag, samples, from, to);
}

static void on_flight(void *self, const struct mot_flight *flight)
{
    struct watcher *w = self;
    if (w->timeline) mot_timeline_flight(w->timeline, flight);
    if (w->trace) mot_trace_flight(w->trace, flight);
}

static void on_update(void *self, mot_node node, uint64_t updates, mot_time now)
{
    mot_trace_update(((struct watcher *)self)->trace, node, updates, now);
}

static void on_evaluated(void *self, const struct mot_moment *m)
{
    struct watcher *w = self;
    if (m->updates == 0 && m->now == 0)
        w->start = (struct mot_heterogeneity){ m->score.zeta2, m->score.sigma2 };
    if (w->metrics) mot_metrics_add(w->metrics, m);
    if (w->events) mot_tensorboard_add(w->events, m);
    if (w->timeline) mot_timeline_save(w->timeline);
    if (w->progress) mot_progress_evaluated(w->progress, m);
    if (w->ways->evaluated) w->ways->evaluated(w->ways->told, m);
}

static void on_tick(void *self, const struct mot_moment *m)
{
    struct watcher *w = self;
    if (w->progress) mot_progress_tick(w->progress, m);
    if (w->ways->tick) w->ways->tick(w->ways->told, m);
}

static void on_trouble(void *self, const char *what)
{
    (void)self;
    fprintf(stderr, "motley: %s; the run goes on\n", what);
}

static uint64_t on_mark(void *self)
{
    struct watcher *w = self;
    return w->metrics ? mot_metrics_bytes(w->metrics) : 0;
}

/* Only now that the run is sure to begin is its folder touched. The metrics of a resumed run
 * are cut back to what the checkpoint knows; a file of events is made of them anew. */
static enum mot_status on_begin(void *self, uint64_t mark)
{
    struct watcher *w = self;
    const struct mot_experiment *x = w->experiment;
    if (!w->folder) return MOT_OK;
    enum mot_status status = mot_make_folder(x->output);
    if (status == MOT_OK) status = folder_lock(x->output, w->lock);
    if (status == MOT_OK) status = folder_clear(x->output, !w->ways->resume);
    if (status == MOT_OK && w->ways->resume) status = remove_old(w->folder->summary);
    if (status == MOT_OK) status = mot_metrics_open(w->folder->metrics, mark, &w->metrics);
    /* of a resumed run: it goes on with it */
    bool events = w->ways->tensorboard || mot_file_exists(w->folder->events);
    if (status == MOT_OK && events)
        status = mot_tensorboard_open(w->folder->events, w->folder->metrics, &w->events);
    if (status == MOT_OK) status = write_experiment(x, w->folder->experiment);
    if (status == MOT_OK && x->trace)
        status = mot_trace_open(w->folder->trace, x, w->ways->resume, &w->trace);
    return status;
}

static enum mot_status simulate(const struct mot_job *j, const struct mot_job_ways *ways,
    const struct folder *f, const struct mot_watch *watch, struct mot_outcome *out)
{
    return mot_sim_run(&(struct mot_sim_options){ .experiment = j->experiment,
                           .problem = &j->problem,
                           .optim = &j->optim,
                           .x0 = j->x0,
                           .hash = j->hash,
                           .watch = watch,
                           .interrupt = ways->interrupt,
                           .checkpoint = f && !ways->lean ? f->checkpoint : NULL,
                           .resume = ways->resume,
                           .settled = is_settled(ways, f),
                           .begins = on_begin,
                           .begins_self = watch->self },
        out);
}

/* A folder that is not there any more is no mistake of who named it. */
static enum mot_status of_the_machine(enum mot_status status)
{
    return status == MOT_EUSAGE ? MOT_ESYSTEM : status;
}

/* record.bin; ranks but the first write record.RANK.bin. */
static enum mot_status write_record(
    const struct mot_job *j, const struct mot_record *record, const struct folder *f)
{
    uint32_t rank = mot_ranks_rank();
    if (rank == 0) return mot_record_write(record, f->record);
    char name[32];
    snprintf(name, sizeof(name), "record.%u.bin", rank);
    char *path = mot_path_join(j->experiment->output, name);
    enum mot_status status = mot_record_write(record, path);
    free(path);
    return status;
}

/* For real, on threads or over MPI. There only rank 0 has a folder to write and somebody who watches. */
static enum mot_status run_live(const struct mot_job *j, const struct mot_job_ways *ways,
    const struct folder *f, const struct mot_watch *watch, struct mot_outcome *out)
{
    struct mot_record record = { 0 };
    if (ways->record && !f)
        return mot_fail(MOT_EUSAGE, "--record: where to? Name the run's folder with --out");
    if (ways->record && ways->resume)
        return mot_fail(
            MOT_EUSAGE, "--record: a run is recorded from its beginning; it cannot be added with --resume");
    if (ways->record) mot_record_open(&record, j->experiment->workers + j->experiment->servers, j->hash);
    struct mot_live_options o = { .experiment = j->experiment,
        .problem = &j->problem,
        .optim = &j->optim,
        .x0 = j->x0,
        .hash = j->hash,
        .watch = watch,
        .interrupt = ways->interrupt,
        .emulate = ways->emulate,
        .checkpoint = f ? f->checkpoint : NULL,
        .resume = ways->resume,
        .settled = is_settled(ways, f),
        .begins = on_begin,
        .begins_self = watch ? watch->self : NULL,
        .record = ways->record ? &record : NULL };
    enum mot_status status =
        ways->driver == MOT_DRIVER_MPI ? mot_ranks_run(&o, out) : mot_threads_run(&o, out);
    if (ways->record && status == MOT_OK) {
        record.model_hash = out->model_hash;
        record.status = out->status;
        if (out->ends_at) memcpy(record.ends_at, out->ends_at, record.nodes * sizeof(*record.ends_at));
        status = of_the_machine(write_record(j, &record, f));
        if (status != MOT_OK) mot_outcome_close(out);
    }
    mot_record_close(&record);
    return status;
}

static enum mot_status replay(const struct mot_job *j, const struct mot_job_ways *ways,
    const struct mot_watch *watch, struct mot_outcome *out)
{
    struct mot_record record;
    if (ways->resume)
        return mot_fail(MOT_EUSAGE,
            "--arrivals: a replay begins where the recorded run began; it cannot go on with --resume");
    enum mot_status status = mot_record_read(ways->arrivals, j->hash, &record);
    if (status != MOT_OK) return status;
    status = mot_replay_run(&(struct mot_replay_options){ .experiment = j->experiment,
                                .problem = &j->problem,
                                .optim = &j->optim,
                                .x0 = j->x0,
                                .record = &record,
                                .watch = watch,
                                .interrupt = ways->interrupt,
                                .evaluates = true,
                                .begins = on_begin,
                                .begins_self = watch->self },
        out);
    mot_record_close(&record);
    return status;
}

/* Closes what the watcher wrote; of a run that came to nothing no trace is left. */
static enum mot_status watch_end(struct watcher *w, enum mot_status status, const struct mot_outcome *out)
{
    enum mot_status worst = MOT_OK;
    bool ran = status == MOT_OK && !out->was_over;
    if (w->progress) mot_progress_close(w->progress);
    const enum mot_status closed[] = { w->metrics ? mot_metrics_close(w->metrics) : MOT_OK,
        mot_tensorboard_close(w->events), ran ? mot_trace_close(w->trace) : MOT_OK,
        ran ? mot_timeline_close(w->timeline, out->last.now) : MOT_OK };
    if (!ran) {
        mot_trace_abandon(w->trace);
        mot_timeline_abandon(w->timeline);
    }
    for (size_t i = 0; i < MOT_COUNT(closed) && worst == MOT_OK; i++) worst = of_the_machine(closed[i]);
    return worst;
}

struct mot_heterogeneity mot_job_differs(
    const struct mot_job *j, const struct mot_look *look, unsigned threads)
{
    struct mot_crew *crew = mot_crew_open(threads);
    struct mot_evaluator *evaluator = mot_evaluator_open(&j->problem, crew);
    struct mot_heterogeneity h = mot_evaluate_parts(evaluator, look, j->x0);
    mot_evaluator_close(evaluator);
    mot_crew_close(crew);
    return h;
}

/* How far parts differed before the first update; a run that goes on did not look there. */
static void fill_start(const struct mot_job *j, struct mot_heterogeneity seen, struct mot_outcome *out)
{
    const struct mot_parts *p = &j->parts;
    if (isnan(seen.sigma2) && j->experiment->evaluate.heterogeneity != MOT_HETEROGENEITY_NEVER) {
        struct mot_look look = mot_look_of_run(&j->problem);
        seen = mot_job_differs(j, &look, 1);
    }
    out->start.known = !isnan(seen.sigma2);
    out->start.zeta2 = seen.zeta2;
    out->start.sigma2 = seen.sigma2;
    out->start.batch_share = mot_batch_share(j->experiment, p);
    out->start.share = mot_new(p->parts, sizeof *out->start.share);
    for (uint32_t i = 0; i < p->parts; i++)
        out->start.share[i] = (double)(p->at[i + 1] - p->at[i]) / (double)p->at[p->parts];
}

/* *watched: whether all that was written on the way is whole. */
static enum mot_status watch_run(const struct mot_job *j, const struct mot_job_ways *ways,
    const struct folder *f, int *lock, struct mot_outcome *out, enum mot_status *watched)
{
    const struct mot_experiment *x = j->experiment;
    struct watcher w = { .experiment = x, .folder = f, .lock = lock, .ways = ways, .start = { NAN, NAN } };
    if (ways->progress) w.progress = mot_progress_open(x, ways->progress, ways->terminal);
    /* A timeline is of a run's beginning: a resumed run keeps the one that is there. */
    if (f && !(ways->resume && mot_file_exists(f->timeline))) w.timeline = mot_timeline_open(f->timeline, x);
    struct mot_watch watch = {
        .self = &w, .evaluated = on_evaluated, .mark = on_mark, .trouble = on_trouble
    };
    if (w.progress || ways->tick) watch.tick = on_tick;
    if (w.timeline || (f && x->trace)) {
        watch.phase = on_phase;
        watch.flight = on_flight;
    }
    if (f && x->trace) watch.update = on_update;
    else if (w.timeline) watch.enough = mot_timeline_enough(w.timeline);
    enum mot_status status = MOT_OK;
    switch (ways->driver) {
    case MOT_DRIVER_SIM: status = simulate(j, ways, f, &watch, out); break;
    case MOT_DRIVER_THREADS:
    case MOT_DRIVER_MPI: status = run_live(j, ways, f, &watch, out); break;
    case MOT_DRIVER_REPLAY: status = replay(j, ways, &watch, out); break;
    }
    if (status == MOT_OK) {
        out->chance = mot_chance_of(j->data);
        fill_start(j, w.start, out);
    }
    *watched = watch_end(&w, status, out);
    return status;
}

static enum mot_status run_into(const struct mot_job *j, const struct mot_job_ways *asked,
    const struct folder *f, struct mot_outcome *out)
{
    int lock = -1;
    struct mot_job_ways ways = *asked;
    enum mot_status status = folder_lock(j->experiment->output, &lock);
    if (status == MOT_OK) status = folder_check(j, asked, f);
    if (status == MOT_OK && is_stillborn(f)) {
        if (asked->progress)
            fprintf(asked->progress,
                "%s: the run there ended without a checkpoint; this one starts from the beginning\n",
                j->experiment->output);
        ways.resume = false;
    }
    enum mot_status watched;
    if (status == MOT_OK) status = watch_run(j, &ways, f, &lock, out, &watched);
    if (status == MOT_OK) {
        status = out->was_over ? watched : of_the_machine(write_results(j, &ways, f, out, watched));
        if (status != MOT_OK) mot_outcome_close(out);
    }
    if (lock >= 0) close(lock);
    return status;
}

enum mot_status mot_job_run(const struct mot_job *j, const struct mot_job_ways *ways, struct mot_outcome *out)
{
    const struct mot_experiment *x = j->experiment;
    bool follows = ways->driver == MOT_DRIVER_MPI && mot_ranks_rank() != 0;
    if (!x->output) {
        if (ways->tensorboard)
            return mot_fail(MOT_EUSAGE, "--tensorboard: where to? Name the run's folder with --out");
        if (ways->resume) return mot_fail(MOT_EUSAGE, "--resume: which run? Name its folder with --out");
        enum mot_status watched; /* nothing is written */
        return follows ? run_live(j, ways, NULL, NULL, out) : watch_run(j, ways, NULL, NULL, out, &watched);
    }
    struct folder f;
    folder_names(x->output, &f);
    if (follows) {
        struct mot_job_ways own = *ways;
        own.resume &= !is_stillborn(&f); /* as rank 0 sees it */
        enum mot_status status = run_live(j, &own, &f, NULL, out);
        /* Rank 0 is gone: the next one says so in its stead. */
        if (status == MOT_OK && out->has_peer && mot_ranks_rank() == 1)
            status = write_summary(j, ways, &f, out);
        folder_free(&f);
        return status;
    }
    enum mot_status status = run_into(j, ways, &f, out);
    folder_free(&f);
    return status;
}
