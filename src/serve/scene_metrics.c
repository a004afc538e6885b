/* scene_metrics.c -- figures for Prometheus, in its text format 0.0.4. Unknown figures are left out. */
#include "config/version.h"
#include "report/json.h"
#include "serve/scene.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* The head of a family of metrics: its meaning, and whether it only grows. */
static void put_head(const char *name, const char *type, const char *help, FILE *out)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_number(double value, FILE *out)
{
    char text[MOT_NUMBER_SIZE];
    fprintf(out, "%s\n", isinf(value) ? value > 0 ? "+Inf" : "-Inf" : mot_number_text(value, text));
}

static void put_gauge(const char *name, const char *help, double value, FILE *out)
{
    if (isnan(value)) return;
    put_head(name, "gauge", help, out);
    fprintf(out, "%s ", name);
    put_number(value, out);
}

static void put_counter(const char *name, const char *help, uint64_t value, FILE *out)
{
    put_head(name, "counter", help, out);
    fprintf(out, "%s %" PRIu64 "\n", name, value);
}

/* Names come from files, so text that is not UTF-8 is spelt out and characters that end a label are
 * escaped. */
static void put_label(const char *lead, const char *name, const char *value, FILE *out)
{
    json_t *text = mot_json_text(value ? value : "");
    fprintf(out, "%s%s=\"", lead, name);
    for (const char *c = json_string_value(text); c && *c; c++) {
        if (*c == '\n') fputs("\\n", out);
        else if (*c == '"' || *c == '\\') fprintf(out, "\\%c", *c);
        else fputc(*c, out);
    }
    fputc('"', out);
    json_decref(text);
}

/* ---- A run ------------------------------------------------------------------------------------------ */

static void put_score(const struct mot_score *s, FILE *out)
{
    put_gauge(
        "motley_train_loss", "Mean loss over the training rows, with the regulariser.", s->train_loss, out);
    put_gauge("motley_train_accuracy", "Share of the training rows that are classified correctly, 0 to 1.",
        s->train_accuracy, out);
    put_gauge("motley_validation_loss", "Mean loss over the validation rows.", s->valid_loss, out);
    put_gauge("motley_validation_accuracy",
        "Share of the validation rows that are classified correctly, 0 to 1.", s->valid_accuracy, out);
    put_gauge("motley_test_loss", "Mean loss over the test rows.", s->test_loss, out);
    put_gauge("motley_test_accuracy", "Share of the test rows that are classified correctly, 0 to 1.",
        s->test_accuracy, out);
    put_gauge("motley_gradient_norm", "Norm of the gradient of the whole objective.", s->grad_norm, out);
}

static void put_moment(const struct mot_moment *m, FILE *out)
{
    put_counter("motley_updates_total", "Updates of the global model.", m->updates, out);
    put_counter("motley_steps_total", "Steps of all nodes' models.", m->steps, out);
    put_counter("motley_samples_total", "Samples whose gradients went into the run.", m->samples, out);
    put_counter(
        "motley_sent_bytes_total", "Bytes sent by all nodes, collectives included.", m->bytes_sent, out);
    put_counter("motley_messages_total", "Messages sent by all nodes.", m->messages, out);
    put_gauge("motley_epochs", "Passes over the training rows.", m->epochs, out);
    put_gauge("motley_clock_seconds", "The run's own clock, virtual in a simulated run.",
        (double)m->now * 1e-9, out);
    put_gauge("motley_staleness_mean_updates", "How many updates old gradients were, on average so far.",
        m->staleness_mean, out);
    put_gauge("motley_staleness_max_updates", "How many updates old a gradient was at most so far.",
        m->staleness_max, out);
    put_gauge(
        "motley_active_jobs_mean", "Jobs in flight, averaged over the answers so far.", m->active_jobs, out);
    put_gauge("motley_consensus_distance", "Mean squared distance of the workers' models from their mean.",
        m->mixed.consensus, out);
    if (!m->streams) return;
    put_counter("motley_stream_arrived_samples_total", "Samples that have arrived.", m->flow.arrived, out);
    put_counter("motley_stream_used_samples_total", "Arrived samples that were used.", m->flow.used, out);
    put_counter(
        "motley_stream_dropped_samples_total", "Arrived samples that were dropped.", m->flow.dropped, out);
    put_gauge("motley_stream_waiting_samples", "Arrived samples that wait.", (double)m->flow.waiting, out);
}

static void put_workers(const uint64_t *worked_ns, const char *const *group, uint32_t n, FILE *out)
{
    static const char name[] = "motley_worker_busy_seconds_total";
    bool any = false;
    for (uint32_t i = 0; i < n; i++) {
        char number[16];
        if (!worked_ns[i]) continue;
        if (!any) put_head(name, "counter", "How long a worker has computed, by the run's own clock.", out);
        any = true;
        snprintf(number, sizeof number, "%" PRIu32, i);
        fputs(name, out);
        put_label("{", "worker", number, out);
        if (group[i]) put_label(",", "group", group[i], out);
        fputs("} ", out);
        put_number((double)worked_ns[i] * 1e-9, out);
    }
}

/* ---- All ---------------------------------------------------------------------------------------------- */

static void put_cases(const struct mot_scene *v, FILE *out)
{
    const struct {
        const char *state;
        size_t n;
    } count[] = { { "ended", v->done - v->failed }, { "failed", v->failed },
        { "not_ended", v->runs - v->done } };
    put_head("motley_study_runs", "gauge", "Runs of the study's current step, by what became of them.", out);
    for (size_t i = 0; i < MOT_COUNT(count); i++) {
        fputs("motley_study_runs", out);
        put_label("{", "step", v->doing, out);
        put_label(",", "state", count[i].state, out);
        fprintf(out, "} %zu\n", count[i].n);
    }
}

/* Copies what it needs under the lock, or prints it there if it is short. */
void mot_scene_metrics(struct mot_scene *v, FILE *out)
{
    static const char info[] = "motley_info";
    pthread_mutex_lock(&v->lock);
    bool run = v->of == MOT_SCENE_RUN, known = run && v->known;
    uint32_t told = known ? v->told : 0;
    struct mot_moment now = v->now;
    struct mot_score score = v->score;
    uint64_t evaluations = v->evaluations, *worked_ns = mot_new(told + 1u, sizeof *worked_ns);
    double share = v->share;
    bool ended = v->ended;
    char **group = mot_new(told + 1u, sizeof *group);
    for (uint32_t i = 0; i < told; i++) {
        worked_ns[i] = v->worked_ns[i];
        group[i] = v->group[i] ? mot_text(v->group[i]) : NULL;
    }
    put_head(info, "gauge", "What runs; always 1.", out);
    fputs(info, out);
    put_label("{", "version", MOT_VERSION, out);
    put_label(",", "title", v->title, out);
    if (run) put_label(",", "method", v->method, out), put_label(",", "driver", v->driver, out);
    fputs("} 1\n", out);
    if (v->of == MOT_SCENE_STUDY) put_cases(v, out);
    pthread_mutex_unlock(&v->lock);
    put_gauge("motley_running", "1 while it goes on, 0 when it has ended.", ended ? 0 : 1, out);
    if (known) {
        put_gauge(
            "motley_progress_ratio", "How much of the run is done, by its nearest stop: 0 to 1.", share, out);
        put_counter("motley_evaluations_total", "Evaluations of the model.", evaluations, out);
        put_moment(&now, out);
        put_score(&score, out);
        put_workers(worked_ns, (const char *const *)group, told, out);
    }
    for (uint32_t i = 0; i < told; i++) free(group[i]);
    free(group);
    free(worked_ns);
}
