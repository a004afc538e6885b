#include "api/job.h"
#include "base/file.h"
#include "base/memory.h"
#include "live/record.h"
#include "math/models.h"
#include "report/json.h"
#include "report/learned.h"
#include "report/report.h"
#include "report/tensorboard.h"
#include "report/timeline.h"
#include "run/world.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct mot_driver *driver_of(const struct mot_job_ways *ways)
{
    return ways->driver ? ways->driver : &mot_driver_sim;
}

/* ---- The run folder ----------------------------------------------------------------------- */

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

/* While a file is being replaced, it is called NAME.PID-NUMBER.tmp (base/file.c). Returns the length of
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

/* spool-WORKER.bin: what a source delivered; a resumed run needs it. */
static bool is_a_spool(const char *name, size_t n)
{
    return n > 10 && memcmp(name, "spool-", 6) == 0 && memcmp(name + n - 4, ".bin", 4) == 0 &&
        all_digits(name + 6, n - 10);
}

/* Whether runs write a file of that name. */
static bool is_a_runs(const char *name, size_t n)
{
    static const char *const names[] = { "experiment.yaml", "metrics.jsonl", "summary.json", "trace.json",
        "timeline.json", MOT_TENSORBOARD_NAME, "model.safetensors", "best.safetensors", "checkpoint.bin",
        "record.bin", "shared.csv" };
    for (size_t i = 0; i < MOT_COUNT(names); i++)
        if (strlen(names[i]) == n && memcmp(name, names[i], n) == 0) return true;
    if (n > 14 && memcmp(name, "malformed-", 10) == 0 && memcmp(name + n - 4, ".log", 4) == 0)
        return all_digits(name + 10, n - 14);
    /* record.RANK.bin, shared.RANK.csv */
    return n > 11 &&
        ((memcmp(name, "record.", 7) == 0 && memcmp(name + n - 4, ".bin", 4) == 0) ||
            (memcmp(name, "shared.", 7) == 0 && memcmp(name + n - 4, ".csv", 4) == 0)) &&
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

/* Locks the folder for this run, if it exists. The lock ends with the process, whatever happens. */
static enum mot_status folder_lock(const char *path, int *lock)
{
    if (*lock >= 0) return MOT_OK;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return MOT_OK; /* whoever creates it or writes there reports the error */
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) { /* some file systems have no locks */
        *lock = fd;
        return MOT_OK;
    }
    close(fd);
    return mot_fail(MOT_EUSAGE,
        "%s: another run is writing to this folder; wait until it ends, or choose another folder with --out",
        path);
}

/* A run killed before its first checkpoint: nothing to resume from, and nothing to lose. */
static bool is_stillborn(const struct folder *f)
{
    return mot_file_exists(f->metrics) && !mot_file_exists(f->summary) && !mot_file_exists(f->checkpoint);
}

/* Refuses to overwrite a run unless asked to. Touches nothing. */
static enum mot_status folder_check(
    const struct mot_job *j, const struct mot_job_ways *ways, const struct folder *f)
{
    const char *path = j->experiment->output;
    if (ways->arrivals && same_folder(ways->arrivals, path))
        return mot_fail(
            MOT_EUSAGE, "%s: the recorded run is in this folder; choose another one with --out", path);
    if (is_stillborn(f)) return MOT_OK;
    if (ways->resume) {
        if (mot_file_exists(f->checkpoint)) return MOT_OK;
        return mot_fail(MOT_EUSAGE,
            "%s: no checkpoint to resume from; expected a run that ended, was interrupted, or ran with "
            "checkpoint.every",
            f->checkpoint);
    }
    if ((mot_file_exists(f->checkpoint) || mot_file_exists(f->summary)) && !ways->replace)
        return mot_fail(MOT_EUSAGE,
            "%s: there is a run in this folder; --resume continues it, --replace overwrites it", path);
    return MOT_OK;
}

/* Removes half-written files of killed runs and, with `all`, anything that could be taken for this run's;
 * with `spools`, also what its sources delivered. Other files stay. */
static enum mot_status folder_clear(const char *path, bool all, bool spools)
{
    enum mot_status status = MOT_OK;
    DIR *d = opendir(path);
    if (!d) return mot_fail(MOT_ESYSTEM, "%s: cannot be read: %s", path, strerror(errno));
    for (struct dirent *e; status == MOT_OK && (e = readdir(d));) {
        size_t n = strlen(e->d_name), whole = temporary_of(e->d_name);
        bool goes = whole ? is_a_runs(e->d_name, whole)
                          : (all && is_a_runs(e->d_name, n)) || (spools && is_a_spool(e->d_name, n));
        if (!goes) continue;
        char *name = mot_path_join(path, e->d_name);
        status = remove_old(name);
        free(name);
    }
    closedir(d);
    return status;
}

/* Results are written last, and resuming removes them first: if they exist, the run in the folder is
 * complete. */
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
    again.output = NULL; /* a rerun must name its own folder, not overwrite this one */
    status = mot_experiment_print(&again, file.out);
    if (status == MOT_OK) return mot_replace_commit(&file);
    mot_replace_abandon(&file);
    return status;
}

bool mot_job_foresee(const struct mot_job *j, struct mot_foresight *out)
{
    struct mot_world world;
    if (!j->code || mot_world_open(j->experiment, &j->problem, &j->optim, &world) != MOT_OK) return false;
    bool any = mot_foresee(j->experiment, &world, out);
    mot_world_close(&world);
    return any;
}

json_t *mot_job_summary(
    const struct mot_job *j, const struct mot_driver *driver, const struct mot_outcome *out)
{
    json_t *summary = mot_summary_json(j->experiment, out, driver->name, j->experiment->output);
    struct mot_world world;
    if (mot_world_open(j->experiment, &j->problem, &j->optim, &world) == MOT_OK) {
        mot_summary_rows(summary, j->experiment, &j->problem, &world);
        mot_summary_code(summary, &world);
        mot_world_close(&world);
    }
    struct mot_foresight foresight;
    if (mot_job_foresee(j, &foresight)) {
        mot_json_set(summary, "prediction", mot_foresight_json(&foresight));
        mot_foresight_close(&foresight);
    }
    return summary;
}

static enum mot_status write_summary(const struct mot_job *j, const struct mot_job_ways *ways,
    const struct folder *f, const struct mot_outcome *out)
{
    json_t *summary = mot_job_summary(j, driver_of(ways), out);
    if (ways->moves_to) json_object_set_new(summary, "folder", mot_json_text(ways->moves_to));
    enum mot_status status = mot_json_write(summary, f->summary);
    json_decref(summary);
    return status;
}

static enum mot_status write_models(const struct mot_job *j, const struct mot_job_ways *ways,
    const struct folder *f, const struct mot_outcome *out)
{
    const struct mot_experiment *x = j->experiment;
    if (out->model_lost) return remove_old(f->model); /* the resumed run's */
    if (!j->net.kind->computes || ways->lean) return MOT_OK;
    enum mot_status status = mot_model_save(f->model, x, &j->net, j->data, out->x);
    if (status == MOT_OK && out->best) status = mot_model_save(f->best, x, &j->net, j->data, out->best);
    return status;
}

/* If a trace or the metrics could not be written, the model is still saved, but not the summary, which says
 * that everything is there. */
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
    const struct folder *folder; /* NULL: write nothing */
    int *lock;                   /* of the folder, once it exists */
    const struct mot_job_ways *ways;
    struct mot_metrics *metrics;
    struct mot_tensorboard *events;
    struct mot_trace_file *trace;
    struct mot_timeline *timeline;
    struct mot_progress *progress;
    struct mot_shared_rows *shared;
    struct mot_heterogeneity start; /* from the evaluation before the first update, if any */
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

static void on_worked(void *self, mot_node worker, mot_time compute)
{
    const struct mot_job_ways *ways = ((struct watcher *)self)->ways;
    ways->worked(ways->told, worker, compute);
}

static void on_shared(void *self, const struct mot_message *m, mot_time now)
{
    mot_shared_rows_add(((struct watcher *)self)->shared, m, now);
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

/* Touches the folder only now that the run is sure to begin. A resumed run's metrics are cut back to what
 * the checkpoint knows, and its event file is rebuilt from them. */
static enum mot_status on_begin(void *self, uint64_t mark)
{
    struct watcher *w = self;
    const struct mot_experiment *x = w->experiment;
    if (!w->folder) return MOT_OK;
    enum mot_status status = mot_make_folder(x->output);
    if (status == MOT_OK) status = folder_lock(x->output, w->lock);
    if (status == MOT_OK)
        status = folder_clear(x->output, !w->ways->resume, !w->ways->resume && !w->ways->reborn);
    if (status == MOT_OK && w->ways->resume) status = remove_old(w->folder->summary);
    if (status == MOT_OK) status = mot_metrics_open(w->folder->metrics, mark, &w->metrics);
    /* a resumed run continues its event file */
    bool events = w->ways->tensorboard || mot_file_exists(w->folder->events);
    if (status == MOT_OK && events)
        status = mot_tensorboard_open(w->folder->events, w->folder->metrics, &w->events);
    if (status == MOT_OK) status = write_experiment(x, w->folder->experiment);
    if (status == MOT_OK && x->trace)
        status = mot_trace_open(w->folder->trace, x, w->ways->resume, &w->trace);
    return status;
}

/* A folder that has vanished is not the user's mistake. */
static enum mot_status of_the_machine(enum mot_status status)
{
    return status == MOT_EUSAGE ? MOT_ESYSTEM : status;
}

static uint32_t rank_of(const struct mot_job_ways *ways)
{
    return mot_driver_rank(driver_of(ways), ways->ranks);
}

/* Rank 0 writes record.bin, the others record.RANK.bin. */
static enum mot_status write_record(const struct mot_job *j, uint32_t rank, struct mot_record *record,
    const struct folder *f, const struct mot_outcome *out)
{
    record->model_hash = out->model_hash;
    record->status = out->status;
    if (out->ends_at) memcpy(record->ends_at, out->ends_at, record->nodes * sizeof(*record->ends_at));
    if (rank == 0) return mot_record_write(record, f->record);
    char name[32];
    snprintf(name, sizeof(name), "record.%u.bin", rank);
    char *path = mot_path_join(j->experiment->output, name);
    enum mot_status status = mot_record_write(record, path);
    free(path);
    return status;
}

/* Opens the record: empty for a live run, read from its folder for a replay. */
static enum mot_status open_record(const struct mot_job *j, const struct mot_job_ways *ways,
    const struct folder *f, struct mot_record *record)
{
    if (driver_of(ways)->replays) {
        if (ways->resume)
            return mot_fail(MOT_EUSAGE,
                "--arrivals: a replay starts where the recorded run started; it cannot be combined with "
                "--resume");
        return mot_record_read(ways->arrivals, j->hash, record);
    }
    if (!ways->record) return MOT_OK;
    if (!f) return mot_fail(MOT_EUSAGE, "--record needs a run folder: name one with --out");
    if (ways->resume)
        return mot_fail(
            MOT_EUSAGE, "--record: a run is recorded from its start; it cannot be combined with --resume");
    mot_record_open(record, j->experiment->workers + j->experiment->servers, j->hash);
    return MOT_OK;
}

/* Only the first of several processes has a watcher. */
static enum mot_status drive(const struct mot_job *j, const struct mot_job_ways *ways, const struct folder *f,
    const struct mot_watch *watch, struct mot_outcome *out)
{
    const struct mot_driver *driver = driver_of(ways);
    struct mot_record record = { 0 };
    enum mot_status status = open_record(j, ways, f, &record);
    if (status != MOT_OK) return status;
    bool keeps = f && !ways->lean && !driver->replays;
    status = driver->run(&(struct mot_driver_options){ .experiment = j->experiment,
                             .problem = &j->problem,
                             .optim = &j->optim,
                             .x0 = j->x0,
                             .hash = j->hash,
                             .watch = watch,
                             .interrupt = ways->interrupt,
                             .checkpoint = keeps ? f->checkpoint : NULL,
                             .resume = ways->resume,
                             .settled = is_settled(ways, f),
                             .begins = on_begin,
                             .begins_self = watch ? watch->self : NULL,
                             .emulate = ways->emulate,
                             .record = record.nodes ? &record : NULL,
                             .ranks = ways->ranks,
                             .own_rows = ways->own_rows },
        out);
    if (status == MOT_OK) out->priced = (!driver->live && !driver->replays) || ways->emulate;
    if (ways->record && status == MOT_OK) {
        status = of_the_machine(write_record(j, rank_of(ways), &record, f, out));
        if (status != MOT_OK) mot_outcome_close(out);
    }
    mot_record_close(&record);
    return status;
}

/* Closes what the watcher wrote; a run that never began leaves no trace. */
static enum mot_status watch_end(struct watcher *w, enum mot_status status, const struct mot_outcome *out)
{
    enum mot_status worst = MOT_OK;
    bool ran = status == MOT_OK && !out->was_over;
    if (w->progress) mot_progress_close(w->progress);
    const enum mot_status closed[] = { w->metrics ? mot_metrics_close(w->metrics) : MOT_OK,
        mot_tensorboard_close(w->events), ran ? mot_trace_close(w->trace) : MOT_OK,
        ran ? mot_timeline_close(w->timeline, out->last.now) : MOT_OK, mot_shared_rows_close(w->shared) };
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
    struct mot_heterogeneity h = { NAN, NAN };
    if (evaluator) h = mot_evaluate_parts(evaluator, look, j->x0);
    mot_evaluator_close(evaluator);
    mot_crew_close(crew);
    return h;
}

/* How far parts differed before the first update; a resumed run did not measure it. */
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
    if (j->experiment->shared_parts) return; /* no part belongs to one worker */
    out->start.share = mot_new(p->parts, sizeof *out->start.share);
    for (uint32_t i = 0; i < p->parts; i++)
        out->start.share[i] = (double)(p->at[i + 1] - p->at[i]) / (double)p->at[p->parts];
}

/* Whether workers send each other rows and the run writes that down. */
static bool shares_rows(const struct mot_job *j, const struct mot_job_ways *ways)
{
    return j->experiment->traits.shares && !ways->lean && !driver_of(ways)->replays;
}

/* Ranks other than the first write only what their workers shared. */
static enum mot_status drive_rank(const struct mot_job *j, const struct mot_job_ways *ways,
    const struct folder *f, uint32_t rank, struct mot_outcome *out)
{
    struct watcher w = { .experiment = j->experiment };
    struct mot_watch watch = { .self = &w, .shared = on_shared };
    if (!shares_rows(j, ways)) return drive(j, ways, f, NULL, out);
    w.shared = mot_shared_rows_open(j->experiment->output, rank, &j->problem, ways->resume);
    enum mot_status status = drive(j, ways, f, &watch, out), written = mot_shared_rows_close(w.shared);
    if (status != MOT_OK || written == MOT_OK) return status;
    mot_outcome_close(out);
    return written;
}

/* Says which records evaluate the model. */
static void say_holdout(const struct mot_intake_conf *c, const struct mot_driver *driver, FILE *out)
{
    if (driver && driver->live)
        fprintf(out, "%.3g %% of them are held out: they are used only to evaluate the model\n",
            100 * c->holdout);
    else
        fputs("source.holdout is not simulated: all samples that arrive are trained on, and `data`'s test "
              "rows evaluate the model\n",
            out);
}

/* *watched: whether everything written during the run is complete. */
static enum mot_status watch_run(const struct mot_job *j, const struct mot_job_ways *ways,
    const struct folder *f, int *lock, struct mot_outcome *out, enum mot_status *watched)
{
    const struct mot_experiment *x = j->experiment;
    struct watcher w = { .experiment = x, .folder = f, .lock = lock, .ways = ways, .start = { NAN, NAN } };
    if (ways->progress && j->code && j->code->warning)
        fprintf(ways->progress, "code %s: %s\n", j->code->name, j->code->warning);
    if (ways->progress && j->data->unused_test && x->data.test != 0)
        fprintf(ways->progress,
            "%s: has test rows inside (x_test), which are not used; data.test_path: %s would test on them\n",
            j->data->name, j->data->name);
    struct mot_foresight foresight;
    if (ways->progress && !ways->resume && mot_job_foresee(j, &foresight)) {
        mot_foresight_print(&foresight, "", ways->progress);
        mot_foresight_close(&foresight);
    }
    if (ways->progress && x->source.from && ways->driver && ways->driver->live)
        fprintf(ways->progress, "samples from %s: %s\n",
            mot_intake_outside(&x->source) ? x->source.from : "data",
            mot_intake_promise(&x->source, x->output != NULL));
    if (ways->progress && x->source.holdout > 0) say_holdout(&x->source, ways->driver, ways->progress);
    if (ways->progress) w.progress = mot_progress_open(x, ways->progress, ways->terminal);
    /* A timeline shows a run's beginning, so a resumed run keeps the old one. */
    if (f && !(ways->resume && mot_file_exists(f->timeline))) w.timeline = mot_timeline_open(f->timeline, x);
    struct mot_watch watch = {
        .self = &w, .evaluated = on_evaluated, .mark = on_mark, .trouble = on_trouble
    };
    if (w.progress || ways->tick) watch.tick = on_tick;
    if (ways->worked) watch.worked = on_worked;
    if (f && shares_rows(j, ways)) {
        w.shared = mot_shared_rows_open(x->output, 0, &j->problem, ways->resume);
        watch.shared = on_shared;
    }
    if (w.timeline || (f && x->trace)) {
        watch.phase = on_phase;
        watch.flight = on_flight;
    }
    if (f && x->trace) watch.update = on_update;
    else if (w.timeline) watch.enough = mot_timeline_enough(w.timeline);
    enum mot_status status = drive(j, ways, f, &watch, out);
    if (status == MOT_OK) {
        struct mot_table held = {
            .rows = out->held.rows, .classes = j->data->train.classes, .y = out->held.y
        };
        out->chance = out->held.judges ? mot_chance_of_test(&held) : mot_chance_of(j->data);
        fill_start(j, w.start, out);
        status = mot_memory_status();
        if (status != MOT_OK) mot_outcome_close(out);
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
        ways.reborn = ways.resume;
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

static enum mot_status run_job(
    const struct mot_job *j, const struct mot_job_ways *ways, struct mot_outcome *out)
{
    const struct mot_experiment *x = j->experiment;
    uint32_t rank = rank_of(ways);
    /* Notices a missing library before there is a folder. */
    enum mot_status status = driver_of(ways)->live ? mot_intake_library(&x->source) : MOT_OK;
    if (status != MOT_OK) return status;
    if (!x->output) {
        if (ways->tensorboard)
            return mot_fail(MOT_EUSAGE, "--tensorboard needs a run folder: name one with --out");
        if (ways->resume) return mot_fail(MOT_EUSAGE, "--resume needs the run's folder: name it with --out");
        enum mot_status watched; /* nothing is written */
        return rank ? drive(j, ways, NULL, NULL, out) : watch_run(j, ways, NULL, NULL, out, &watched);
    }
    struct folder f;
    folder_names(x->output, &f);
    if (rank != 0) {
        struct mot_job_ways own = *ways;
        own.resume &= !is_stillborn(&f); /* as seen by rank 0 */
        status = drive_rank(j, &own, &f, rank, out);
        /* If rank 0 is lost, rank 1 reports it instead, unless rank 0 had written everything. */
        if (status == MOT_OK && out->has_peer && rank == 1 && !mot_file_exists(f.summary))
            status = write_summary(j, ways, &f, out);
        folder_free(&f);
        return status;
    }
    status = run_into(j, ways, &f, out);
    folder_free(&f);
    return status;
}

enum mot_status mot_job_run(const struct mot_job *j, const struct mot_job_ways *ways, struct mot_outcome *out)
{
    /* A rank without memory ends its process, which the other ranks notice; so does a replay. */
    const struct mot_driver *driver = ways->driver;
    bool insists = driver && (driver->rank || driver->replays);
    struct mot_spare *own = mot_spare_mine();
    if (insists) mot_spare_use(NULL);
    enum mot_status status = run_job(j, ways, out);
    mot_spare_use(own);
    return status;
}
