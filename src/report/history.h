/* history.h -- metrics.jsonl read back: a run's evaluations as columns of numbers. */
#ifndef MOT_REPORT_HISTORY_H
#define MOT_REPORT_HISTORY_H

#include <motley/status.h>
#include <stddef.h>

enum mot_column {
    MOT_COL_TIME,
    MOT_COL_UPDATES,
    MOT_COL_STEPS,
    MOT_COL_SAMPLES,
    MOT_COL_EPOCHS,
    MOT_COL_TRAIN_LOSS,
    MOT_COL_TRAIN_ACCURACY,
    MOT_COL_VALID_LOSS,
    MOT_COL_VALID_ACCURACY,
    MOT_COL_TEST_LOSS,
    MOT_COL_TEST_ACCURACY,
    MOT_COL_GRAD_NORM,
    MOT_COL_BYTES,
    MOT_COL_MESSAGES,
    MOT_COL_EVENTS,
    MOT_COL_STALENESS_MEAN,
    MOT_COL_STALENESS_MAX,
    MOT_COL_ACTIVE_JOBS,
    MOT_COL_CONSENSUS,
    MOT_COL_ZETA2,
    MOT_COL_SIGMA2,
    MOT_COL_DRIFT,
    MOT_COL_MASS,
    MOT_COL_ARRIVED,
    MOT_COL_USED,
    MOT_COL_DROPPED,
    MOT_COL_WAITING,
    MOT_COL_OLDEST,
    MOT_COLUMNS,
};
/* "time_s", "updates", ...: the keys of metrics.jsonl */
extern const char *const mot_column_name[MOT_COLUMNS];

/* [n] each; NaN where the file says null or nothing */
struct mot_history {
    size_t n;
    double *value[MOT_COLUMNS];
};

/* Skips a last line without a newline, which a killed run leaves behind. Any other damage is an error that
 * names the line. */
enum mot_status mot_history_read(const char *path, struct mot_history *out);
enum mot_status mot_history_parse(const char *name, const char *text, size_t n, struct mot_history *out);
void mot_history_free(struct mot_history *);

#endif
