/* tally.h -- figures drawn from the tallies of a run, for the summary, the table and the verdict. */
#ifndef MOT_REPORT_TALLY_H
#define MOT_REPORT_TALLY_H

#include "report/report.h"

/* "worker 7 (edge)", "server", "server 1". Returns `into`. */
char *mot_node_label(
    const struct mot_experiment *, const struct mot_outcome *, mot_node, char *into, size_t size);
/* the group's, or NULL */
const char *mot_machine_name(const struct mot_experiment *, const struct mot_outcome *, mot_node);

/* The jobs of a worker as whole ones: those that its method cancels half way count for the samples they had
 * come to. */
double mot_whole_jobs(const struct mot_experiment *, const struct mot_outcome *, mot_node);
/* Seconds a job of this worker; NaN if it finished none. The time it computed includes the job that the end
 * of the run cut short, so the figure is known only within bounds: the cluster's mean is taken
 * where it fits. */
double mot_job_seconds(const struct mot_experiment *, const struct mot_outcome *, mot_node);

/* The lower middle of n values (a copy is sorted); NaN where there is none. The lower, so that
 * with half of the workers slow the fast half is the measure. NaNs are skipped. */
double mot_median(const double *value, size_t n);

const char *mot_target_name(enum mot_target_kind);                        /* "test_accuracy"; NULL for none */
double mot_target_figure(enum mot_target_kind, const struct mot_score *); /* where the score stands on it */
const struct mot_note_tally *mot_note_find(const struct mot_outcome *, const char *key); /* or NULL */

#endif
