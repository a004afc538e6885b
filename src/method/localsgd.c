/* localsgd.c -- local SGD: every worker trains alone, and now and then all take the mean of the models.
 *
 *   x[i] = x[i] - rate * g(x[i])           `period` times
 *   x = sum over i of w[i] x[i] / sum w[i]
 *
 * Stich, Local SGD Converges Fast and Communicates Little, 2019. Post-local SGD (Lin, Stich, Patel and Jaggi,
 * Don't Use Large Mini-Batches, Use Local SGD, 2020) begins like allreduce. periodic.c does the work. */
#include "method/advice.h"
#include "method/methods.h"
#include "method/periodic.h"

static void localsgd_init(void *state, struct mot_env *env)
{
    mot_periodic_init(state, env, (struct mot_outer){ .rate = 1, .keeps = 1 });
}

static const struct mot_option localsgd_options[] = {
    MOT_PERIODIC_OPTIONS("8"),
    { .name = NULL },
};

const struct mot_method mot_method_localsgd = {
    .name = "localsgd",
    .summary = "local SGD: every worker trains alone, and every few steps all take the mean of the models",
    .about =
        "Every worker trains a model of its own on its own part. Every `period` steps the models are "
        "averaged "
        "over all workers, so there is one sum where allreduce has `period` of them. With period: 1 it is "
        "allreduce, but for rounding, if the optimiser is plain SGD.\n"
        "Use it when the network holds allreduce back. The longer the period, the further the models drift "
        "apart before they meet, above all if the workers' data differ: `consensus` in the metrics tells how "
        "far. local_from: N makes the first N updates like allreduce (post-local SGD). The slowest worker "
        "still sets the pace, but chance evens out over a period. Between two averagings the plain mean of "
        "the models is evaluated.\n"
        "Papers: Stich, Local SGD Converges Fast and Communicates Little, 2019; Lin, Stich, Patel, Jaggi, "
        "Don't Use Large Mini-Batches, Use Local SGD, 2020.",
    .options = localsgd_options,
    .conf_bytes = sizeof(struct mot_periodic_conf),
    .traits = mot_periodic_traits,
    .advise = mot_advise_summing,
    .validate = mot_periodic_validate,
    .need = mot_periodic_need,
    .init = localsgd_init,
    .step = mot_periodic_step,
    .check = mot_periodic_check,
    .model = mot_periodic_model,
    .keep = mot_periodic_keep,
};
