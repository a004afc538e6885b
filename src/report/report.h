/* report.h -- a run's folder: experiment.yaml, metrics.jsonl, summary.json, trace.json, model.safetensors. */
#ifndef MOT_REPORT_REPORT_H
#define MOT_REPORT_REPORT_H

#include "run/outcome.h"
#include <jansson.h>

/* ---- metrics.jsonl: a line an evaluation, appended and flushed ------------- */
struct mot_metrics;
/* keep: bytes of an existing file to keep (a resumed run); what follows is cut off. 0: begin anew. */
enum mot_status mot_metrics_open(const char *path, uint64_t keep, struct mot_metrics **out);
void mot_metrics_add(struct mot_metrics *, const struct mot_moment *);
uint64_t mot_metrics_bytes(const struct mot_metrics *);  /* written so far, flushed */
enum mot_status mot_metrics_close(struct mot_metrics *); /* says if a write failed */

/* ---- trace.json: Chrome trace events for Perfetto ---------------------------- */
struct mot_trace_file;
/* goes_on: what is in the file stays, and this is written behind it. */
enum mot_status mot_trace_open(
    const char *path, const struct mot_experiment *, bool goes_on, struct mot_trace_file **out);
void mot_trace_phase(struct mot_trace_file *, mot_node, enum mot_phase, uint32_t tag, uint32_t samples,
    mot_time from, mot_time to);
void mot_trace_flight(struct mot_trace_file *, const struct mot_flight *);
void mot_trace_update(struct mot_trace_file *, mot_node, uint64_t updates, mot_time);
/* 2 million unless told; then the trace is cut and says so */
void mot_trace_limit(struct mot_trace_file *, uint64_t events);
/* writes the end; the file is whole only after it */
enum mot_status mot_trace_close(struct mot_trace_file *);
void mot_trace_abandon(struct mot_trace_file *); /* leaves what was there before */

/* ---- summary ----------------------------------------------------------------- */
json_t *mot_summary_json(
    const struct mot_experiment *, const struct mot_outcome *, const char *driver, const char *folder);
/* Adds to each worker of a summary the rows of its part, and where there are classes how many of each. */
void mot_summary_rows(json_t *summary, const struct mot_table *train, const struct mot_parts *);
/* Any JSON value, indented, numbers as short as they can be exact, and a newline. */
void mot_json_print(const json_t *, FILE *out);
/* In words: what held the run back (which worker; compute, wait or
 * network; by how much), and what to try. malloc'd. */
/* "it crashed": what became of a node, from the outcome's peer_by */
const char *mot_lost_how(const char *lost_by);
/* why a run stopped making progress, without a full stop */
void mot_stuck_how(const struct mot_outcome *, char *into, size_t size);
char *mot_verdict(const struct mot_experiment *, const struct mot_outcome *);
/* The result as a person reads it, on `out`; colour if asked. */
void mot_summary_print(const struct mot_experiment *, const struct mot_outcome *, FILE *out, bool colour);
/* The same in one line. */
void mot_summary_line(const struct mot_experiment *, const struct mot_outcome *, FILE *out);

/* ---- progress on a terminal; plain lines elsewhere ------------------------------ */
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
    struct mot_arena arena; /* owns what the pointers below name */
    struct mot_net net;
    struct mot_schema schema;
    float *x;      /* [net.dim] */
    bool has_data; /* whether the file says which data it was trained on, as below */
    struct mot_data_conf data;
    uint64_t seed, data_hash; /* the experiment's seed, which decides the split; the tables' hash */
};
enum mot_status mot_model_load(const char *path, struct mot_saved_model **out);
void mot_saved_model_close(struct mot_saved_model *);
/* Only the numbers, into x[net->dim]; names and shapes must be the net's. For `model.init: FILE`. */
enum mot_status mot_model_load_into(const char *path, const struct mot_net *, float *x);

#endif
