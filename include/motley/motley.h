/* motley.h -- run experiments from C.
 *
 *   struct mot_run_options o = { .size = sizeof(o), .experiment = "exp.yaml" };
 *   struct mot_run *run;
 *   if (mot_run_open(&o, &run) != MOT_OK) die(mot_error());
 *   if (mot_run_simulate(run) != MOT_OK) warn(mot_error());
 *   puts(mot_run_summary(run));
 *   mot_run_close(run);
 *
 * Handles are opaque; a struct that the caller fills begins with its size, so
 * that fields can be added without breaking old callers. There is no global
 * state: runs in several threads do not see each other. */
#ifndef MOTLEY_MOTLEY_H
#define MOTLEY_MOTLEY_H

#include <motley/method.h>
#include <motley/model.h>
#include <motley/status.h>
#include <signal.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

MOT_API const char *mot_version(void); /* "0.1.0" */

struct mot_run;

/* How far a run is; figures that were not evaluated are NaN. */
struct mot_run_moment {
    size_t size; /* of this struct, as the library knows it: what is added later comes at its end */
    uint64_t updates, samples;
    double time_s, epochs; /* time_s: of the run's clock, which is virtual in a simulation */
    double train_loss, train_accuracy, valid_loss, valid_accuracy, test_loss, test_accuracy, grad_norm;
};

struct mot_run_options {
    size_t size;            /* sizeof(struct mot_run_options) */
    const char *experiment; /* a file; NULL: the defaults */
    const char *const *set; /* "key=value", applied in order after the file */
    size_t sets;
    const struct mot_method *const *methods; /* methods of your own, ended by NULL; may be NULL */
    const volatile sig_atomic_t *interrupt;  /* when it becomes nonzero the run ends cleanly; may be NULL */
    int resume;                              /* go on from the checkpoint in the experiment's `output` */
    int replace;                             /* write over a run that is in `output` */
    /* since 0.1; a caller whose `size` ends above is served as before */
    const struct mot_model *const *models; /* models of your own, ended by NULL; may be NULL */
    int emulate;                           /* mot_run_train: workers and links as slow as the cluster says */
    /* Called at every evaluation, and about ten times a second. May be NULL; not necessarily on the thread
     * that runs, but never two at a time. They only look: the run waits for them. */
    void (*evaluated)(void *self, const struct mot_run_moment *);
    void (*progress)(void *self, const struct mot_run_moment *);
    void *self;
};

/* Reads the experiment and its data. On failure mot_error() says why, and *out is untouched. */
MOT_API enum mot_status mot_run_open(const struct mot_run_options *, struct mot_run **out);

/* Makes the run, once: on a simulated cluster, or for real on this machine's threads. MOT_OK, or how it
 * ended: MOT_EDIVERGED, MOT_EINTERRUPTED, ... */
MOT_API enum mot_status mot_run_simulate(struct mot_run *);
MOT_API enum mot_status mot_run_train(struct mot_run *);

/* After it. The summary is the JSON text of summary.json; a number of
 * it is named by its key ("time_s", "test_accuracy"), NaN where there is none. */
MOT_API const char *mot_run_summary(const struct mot_run *);
MOT_API double mot_run_number(const struct mot_run *, const char *key);
MOT_API const float *mot_run_model(const struct mot_run *, size_t *floats_out);

MOT_API void mot_run_close(struct mot_run *); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
