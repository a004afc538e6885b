/* motley.h -- run experiments from C.
 *
 *   struct mot_run_options o = { .size = sizeof(o), .experiment = "exp.yaml" };
 *   struct mot_run *run;
 *   if (mot_run_open(&o, &run) != MOT_OK) die(mot_error());
 *   if (mot_run_simulate(run) != MOT_OK) warn(mot_error());
 *   puts(mot_run_summary(run));
 *   mot_run_close(run);
 *
 * Handles are opaque. A struct that the caller fills begins with its size, so that fields can be added
 * without breaking old callers. Runs in different threads are independent: they share only the kernels, which
 * a process chooses once, and mot_error() is per thread. Only one thread at a time may use a run.
 *
 * A call that runs out of memory returns MOT_ESYSTEM. Its run can then only be closed; what it had written
 * stays as if the run had been killed, with no file half-written. */
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

/* How far a run has got. Figures that were not evaluated are NaN. */
struct mot_run_moment {
    size_t size; /* of this struct, as the library knows it: new fields come at its end */
    uint64_t updates, samples;
    double time_s, epochs; /* time_s: by the run's clock, which is virtual in a simulation */
    double train_loss, train_accuracy, valid_loss, valid_accuracy, test_loss, test_accuracy, grad_norm;
    /* methods with redundant work: samples computed, of which `samples` count once; else 0 */
    uint64_t computed_samples;
};

struct mot_run_options {
    size_t size;            /* sizeof(struct mot_run_options) */
    const char *experiment; /* a YAML file; NULL: the defaults */
    const char *const *set; /* "key=value", applied in order on top of it; copied, as are all strings here */
    size_t sets;
    /* Your own methods, ended by NULL; they must outlive the run. May be NULL. */
    const struct mot_method *const *methods;
    const volatile sig_atomic_t *interrupt; /* once it is nonzero the run ends cleanly; may be NULL */
    int resume;                             /* continue from the checkpoint in the experiment's `output` */
    int replace;                            /* overwrite the run in `output` */
    /* A caller whose `size` ends here is served as before. */
    const struct mot_model *const *models; /* your own models, likewise */
    int emulate; /* mot_run_train: workers and links are as slow as the cluster file says */
    /* Called at every evaluation, and up to ten times a second while the run lasts. Either may be NULL. They
     * may be called on another thread than the caller's, but never two at a time, and the run waits for
     * them: they should only take notes. */
    void (*evaluated)(void *self, const struct mot_run_moment *);
    void (*progress)(void *self, const struct mot_run_moment *);
    void *self;
};

/* Reads the experiment and its data, and partitions it. On failure mot_error() says why, and *out is left
 * alone. */
MOT_API enum mot_status mot_run_open(const struct mot_run_options *, struct mot_run **out);

/* Carries out the run, once: on a simulated cluster, or for real on this machine's threads. Returns MOT_OK,
 * or how else it ended: MOT_EDIVERGED, MOT_EINTERRUPTED, MOT_EPEER, ...; mot_error() says more. */
MOT_API enum mot_status mot_run_simulate(struct mot_run *);
MOT_API enum mot_status mot_run_train(struct mot_run *);

/* After the run, until it is closed. */
/* What summary.json contains, as JSON; "" before the run. */
MOT_API const char *mot_run_summary(const struct mot_run *);
/* A number at the summary's top level by its key ("time_s", "test_accuracy"); NaN if there is none. */
MOT_API double mot_run_number(const struct mot_run *, const char *key);
/* The parameters the run ended with; NULL and 0 floats before the run. floats_out may be NULL. */
MOT_API const float *mot_run_model(const struct mot_run *, size_t *floats_out);

MOT_API void mot_run_close(struct mot_run *); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
