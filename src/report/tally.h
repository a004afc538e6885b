/* tally.h -- figures drawn from the tallies of a run, for the summary, the table and the verdict. */
#ifndef MOT_REPORT_TALLY_H
#define MOT_REPORT_TALLY_H

#include "report/report.h"

/* "worker 7 (edge)", "server", "server 1". Returns `into`. */
char *mot_node_label(
    const struct mot_experiment *, const struct mot_outcome *, mot_node, char *into, size_t size);
/* the group's, or NULL */
const char *mot_machine_name(const struct mot_experiment *, const struct mot_outcome *, mot_node);

/* How jobs were priced ("samples", "job" or "mixed") in a run whose workers compute samples more than once
 * and whose job times the cluster file gives; NULL in other runs, where it makes no difference. */
const char *mot_priced_per(const struct mot_experiment *, const struct mot_outcome *);

/* A worker's jobs, where one cancelled half-way counts only for the samples it had reached. */
double mot_whole_jobs(const struct mot_experiment *, const struct mot_outcome *, mot_node);
/* Seconds per job of this worker; NaN if it finished none. Its computing time includes the job that the
 * end of the run cut short, so the figure is known only within bounds: the cluster's mean is used if it
 * lies within them. */
double mot_job_seconds(const struct mot_experiment *, const struct mot_outcome *, mot_node);

/* The lower median of n values (a copy is sorted), skipping NaNs; NaN if there is none. The lower one, so
 * that with half of the workers slow the fast half is the reference. */
double mot_median(const double *value, size_t n);

const char *mot_target_name(enum mot_target_kind); /* "test_accuracy"; NULL for none */
/* "80 % test accuracy", "a training loss of 0.1", "a gradient norm of 1e-3"; "the target" if the kind is
 * unknown. Returns `into`. */
char *mot_show_target(const char *kind, double value, char *into, size_t size);
double mot_target_figure(enum mot_target_kind, const struct mot_score *); /* the score's value of it */
const struct mot_note_tally *mot_note_find(const struct mot_outcome *, const char *key); /* or NULL */

/* Over all workers: sums of counts, the most that waited at one worker, the longest times. */
struct mot_feed_tally mot_streams_of(const struct mot_outcome *);

#endif
