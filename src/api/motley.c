/* motley.c -- the library's front: handles around experiments, jobs and outcomes. */
#include <motley/motley.h>
#include "api/job.h"
#include "base/memory.h"
#include "math/models.h"
#include "report/json.h"
#include "report/report.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct mot_run {
    struct mot_spare *spare;
    struct mot_experiment *experiment;
    struct mot_job job;
    struct mot_job_ways ways;
    struct mot_outcome outcome;
    struct mot_run_options told; /* whom to tell of progress */
    bool done;
    json_t *summary;
    char *text;
};

const char *mot_version(void) { return MOTLEY_VERSION; }

/* Turns "key=value" texts into settings; *memory owns the copies. */
static enum mot_status read_settings(
    const struct mot_run_options *o, struct mot_arena *memory, struct mot_setting **out)
{
    struct mot_setting *setting = mot_arena_new(memory, (o->sets + 1) * sizeof(*setting));
    for (size_t i = 0; i < o->sets; i++) {
        char *key = mot_arena_text(memory, o->set[i]), *equals = strchr(key, '=');
        if (!equals) return mot_fail(MOT_EUSAGE, "setting '%s': expected key=value", o->set[i]);
        *equals = 0;
        setting[i] = (struct mot_setting){ .key = key, .value = equals + 1, .origin = "setting" };
    }
    *out = setting;
    return MOT_OK;
}

static enum mot_status open_experiment(const struct mot_run_options *o, struct mot_experiment **out)
{
    struct mot_arena memory = { 0 };
    struct mot_setting *setting;
    enum mot_status status = read_settings(o, &memory, &setting);
    if (status == MOT_OK) {
        const struct mot_method *const *methods = mot_methods_extend(o->methods);
        const struct mot_model *const *models = mot_models_extend(o->models);
        status = mot_experiment_open(o->experiment, setting, o->sets, out);
        mot_models_extend(models);
        mot_methods_extend(methods);
    }
    mot_arena_free(&memory);
    return status;
}

/* Options of a caller built against an older header: fields it does not know are zero. */
static enum mot_status known_options(const struct mot_run_options *given, struct mot_run_options *out)
{
    /* the size of the first version */
    size_t least = offsetof(struct mot_run_options, replace) + sizeof(given->replace);
    if (given->size < least || given->size > sizeof(*out))
        return mot_fail(MOT_EUSAGE,
            "mot_run_options.size is %zu, expected %zu to %zu: set it to sizeof, and use a library no older "
            "than its header",
            given->size, least, sizeof(*out));
    *out = (struct mot_run_options){ 0 };
    memcpy(out, given, given->size);
    return MOT_OK;
}

static struct mot_run_moment moment_of(const struct mot_moment *m)
{
    return (struct mot_run_moment){ .size = sizeof(struct mot_run_moment),
        .updates = m->updates,
        .samples = m->samples,
        .time_s = (double)m->now * 1e-9,
        .epochs = m->epochs,
        .train_loss = m->score.train_loss,
        .train_accuracy = m->score.train_accuracy,
        .valid_loss = m->score.valid_loss,
        .valid_accuracy = m->score.valid_accuracy,
        .test_loss = m->score.test_loss,
        .test_accuracy = m->score.test_accuracy,
        .grad_norm = m->score.grad_norm,
        .computed_samples = m->computed };
}

static void tell_evaluated(void *self, const struct mot_moment *m)
{
    const struct mot_run *r = self;
    struct mot_run_moment moment = moment_of(m);
    r->told.evaluated(r->told.self, &moment);
}

static void tell_progress(void *self, const struct mot_moment *m)
{
    const struct mot_run *r = self;
    struct mot_run_moment moment = moment_of(m);
    r->told.progress(r->told.self, &moment);
}

/* How a call ended. If memory was refused, that overrides everything: the result may be incomplete. */
static enum mot_status ended(enum mot_status status)
{
    return mot_memory_refused() ? mot_memory_status() : status;
}

static enum mot_status open_run(const struct mot_run_options *o, struct mot_run *r)
{
    enum mot_status status = open_experiment(o, &r->experiment);
    return status == MOT_OK ? mot_job_open(r->experiment, &r->job) : status;
}

enum mot_status mot_run_open(const struct mot_run_options *given, struct mot_run **out)
{
    struct mot_run_options o;
    struct mot_spare *spare;
    enum mot_status status = known_options(given, &o);
    if (status == MOT_OK) status = mot_spare_open(&spare);
    if (status != MOT_OK) return status;
    struct mot_spare *before = mot_spare_use(spare);
    struct mot_run *r = mot_new(1, sizeof(*r));
    r->spare = spare;
    status = ended(open_run(&o, r));
    mot_spare_use(before);
    if (status != MOT_OK) {
        mot_run_close(r);
        return status;
    }
    r->told = o;
    r->ways = (struct mot_job_ways){ .resume = o.resume,
        .replace = o.replace,
        .emulate = o.emulate,
        .interrupt = o.interrupt,
        .told = r,
        .evaluated = o.evaluated ? tell_evaluated : NULL,
        .tick = o.progress ? tell_progress : NULL };
    *out = r;
    return MOT_OK;
}

static enum mot_status run_job(struct mot_run *r, const struct mot_driver *driver)
{
    r->ways.driver = driver;
    enum mot_status status = mot_job_run(&r->job, &r->ways, &r->outcome);
    if (status != MOT_OK) return status;
    r->done = true;
    r->summary = mot_job_summary(&r->job, driver, &r->outcome);
    r->text = json_dumps(r->summary, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    if (!r->text) mot_memory_refuse(0);
    if (r->outcome.status == MOT_EDIVERGED) mot_fail(MOT_EDIVERGED, "the run diverged");
    if (r->outcome.status == MOT_EINTERRUPTED) mot_fail(MOT_EINTERRUPTED, "the run was interrupted");
    if (r->outcome.has_peer)
        mot_fail(r->outcome.status, "the run ended because node %u was lost", r->outcome.peer);
    return r->outcome.status;
}

static enum mot_status run_once(struct mot_run *r, const struct mot_driver *driver)
{
    if (r->done) return mot_fail(MOT_EUSAGE, "this run is over; open another");
    struct mot_spare *before = mot_spare_use(r->spare);
    enum mot_status status = ended(mot_memory_refused() ? MOT_OK : run_job(r, driver));
    mot_spare_use(before);
    return status;
}

enum mot_status mot_run_simulate(struct mot_run *r) { return run_once(r, &mot_driver_sim); }
enum mot_status mot_run_train(struct mot_run *r) { return run_once(r, &mot_driver_threads); }

const char *mot_run_summary(const struct mot_run *r) { return r->text ? r->text : ""; }

double mot_run_number(const struct mot_run *r, const char *key)
{
    return mot_json_get_number(r->summary, key);
}

const float *mot_run_model(const struct mot_run *r, size_t *floats_out)
{
    if (floats_out) *floats_out = r->outcome.x ? r->job.net.dim : 0;
    return r->outcome.x;
}

void mot_run_close(struct mot_run *r)
{
    if (!r) return;
    json_decref(r->summary);
    free(r->text);
    mot_outcome_close(&r->outcome);
    mot_job_close(&r->job);
    mot_experiment_close(r->experiment);
    mot_spare_close(r->spare);
    free(r);
}
