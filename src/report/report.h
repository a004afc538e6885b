/* report.h -- a run's folder: experiment.yaml, metrics.jsonl, summary.json, trace.json, model.safetensors. */
#ifndef MOT_REPORT_REPORT_H
#define MOT_REPORT_REPORT_H

#include "run/world.h"
#include <jansson.h>

/* ---- metrics.jsonl: a line per evaluation, appended and flushed ------------ */
struct mot_metrics;
/* keep: bytes of an existing file to keep (a resumed run); the rest is cut off. 0: start afresh. */
enum mot_status mot_metrics_open(const char *path, uint64_t keep, struct mot_metrics **out);
void mot_metrics_add(struct mot_metrics *, const struct mot_moment *);
char *mot_metrics_line(const struct mot_moment *);       /* what it adds, with its line end; malloc'd */
uint64_t mot_metrics_bytes(const struct mot_metrics *);  /* written so far, flushed */
enum mot_status mot_metrics_close(struct mot_metrics *); /* says if a write failed */

/* shared.csv in a run folder (shared.RANK.csv of other processes): who sent which rows to whom. The first
 * such message creates the file. */
struct mot_problem;
struct mot_shared_rows;
struct mot_shared_rows *mot_shared_rows_open(
    const char *folder, uint32_t rank, const struct mot_problem *, bool resume);
void mot_shared_rows_add(struct mot_shared_rows *, const struct mot_message *, mot_time now);
enum mot_status mot_shared_rows_close(struct mot_shared_rows *); /* says if a write failed */

/* ---- trace.json: Chrome trace events for Perfetto ---------------------------- */
struct mot_trace_file;
/* goes_on: appends to what is in the file. */
enum mot_status mot_trace_open(
    const char *path, const struct mot_experiment *, bool goes_on, struct mot_trace_file **out);
void mot_trace_phase(struct mot_trace_file *, mot_node, enum mot_phase, uint32_t tag, uint32_t samples,
    mot_time from, mot_time to);
void mot_trace_flight(struct mot_trace_file *, const struct mot_flight *);
void mot_trace_update(struct mot_trace_file *, mot_node, uint64_t updates, mot_time);
/* 2 million by default; beyond that the trace is cut and says so */
void mot_trace_limit(struct mot_trace_file *, uint64_t events);
/* writes the end; only then is the file complete */
enum mot_status mot_trace_close(struct mot_trace_file *);
void mot_trace_abandon(struct mot_trace_file *); /* leaves what was there before */

/* ---- summary ----------------------------------------------------------------- */
json_t *mot_summary_json(
    const struct mot_experiment *, const struct mot_outcome *, const char *driver, const char *folder);
/* Adds to each worker of a summary the rows that it holds when the run begins and, if there are classes, how
 * many of each. */
void mot_summary_rows(
    json_t *summary, const struct mot_experiment *, const struct mot_problem *, const struct mot_world *);
/* Adds the run's code, if it has one, with a picture of its matrix. */
void mot_summary_code(json_t *summary, const struct mot_world *);
/* Any JSON value, indented, with the shortest exact numbers, and a newline. */
void mot_json_print(const json_t *, FILE *out);
/* The same into a file, which appears whole or not at all. */
enum mot_status mot_json_write(const json_t *, const char *path);
/* "it crashed": what became of a node, from the outcome's peer_by */
const char *mot_lost_how(const char *lost_by);
/* why a run stopped making progress, without a full stop */
void mot_stuck_how(const struct mot_outcome *, char *into, size_t size);
/* In words: what held the run back (which worker; compute, wait or
 * network; by how much), and what to try. malloc'd. */
char *mot_verdict(const struct mot_experiment *, const struct mot_outcome *);
/* Why a run learned nothing, probably, and what to try; NULL if it did learn, or nothing is known.
 * malloc'd. */
char *mot_remedy(const struct mot_experiment *, const struct mot_outcome *);
/* The result for people, on `out`, in colour if asked. */
void mot_summary_print(const struct mot_experiment *, const struct mot_outcome *, FILE *out, bool colour);
/* The same in one line. */
void mot_summary_line(const struct mot_experiment *, const struct mot_outcome *, FILE *out);
/* Wraps words to the columns of a terminal, each line after `lead`; `like this` stays together if it fits. */
void mot_print_wrapped(const char *text, const char *lead, FILE *out);

/* ---- progress on a terminal; plain lines elsewhere ------------------------------ */
/* How much of the run is done, by the nearest stop: 0 to 1; NaN if none can be counted. */
double mot_progress_share(const struct mot_experiment *, const struct mot_moment *);
struct mot_progress;
struct mot_progress *mot_progress_open(const struct mot_experiment *, FILE *err, bool terminal);
void mot_progress_tick(struct mot_progress *, const struct mot_moment *);
void mot_progress_evaluated(struct mot_progress *, const struct mot_moment *);
void mot_progress_close(struct mot_progress *);

/* ---- model.safetensors ------------------------------------------------------------ */
/* Tensors are the net's segments by name and shape; metadata holds the model's name and
 * options and the schema (columns, classes, scaling), so that eval needs no experiment. */
enum mot_status mot_model_save(const char *path, const struct mot_experiment *, const struct mot_net *,
    const struct mot_dataset *, const float *x);
struct mot_saved_model {
    struct mot_arena arena; /* owns what is pointed to below */
    struct mot_net net;
    struct mot_schema schema;
    float *x;      /* [net.dim] */
    bool has_data; /* whether the file says what data it was trained on, as below */
    struct mot_data_conf data;
    uint64_t seed, data_hash; /* the experiment's seed, which decides the split; the tables' hash */
};
enum mot_status mot_model_load(const char *path, struct mot_saved_model **out);
void mot_saved_model_close(struct mot_saved_model *);
/* The file of a model; of a run, if that is the name of its folder. malloc'd */
char *mot_model_path(const char *name);
/* Only the numbers, into x[net->dim]; names and shapes must match the net's. For `from: FILE`. */
enum mot_status mot_model_load_into(const char *path, const struct mot_net *, float *x);

#endif
