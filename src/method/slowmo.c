/* slowmo.c -- SlowMo: local SGD with a slow momentum over the averagings.
 *
 *   u = beta u + (x - mean of x[i]) / rate       after `period` steps alone, from x
 *   x = x - alpha rate u
 *
 * Wang, Tantia, Ballas and Rabbat, SlowMo: Improving Communication-Efficient Distributed SGD with Slow
 * Momentum, 2020, Algorithm 1. u is kept as rate * u, a displacement: with beta = 0 and alpha = 1 this is
 * local SGD bit for bit. */
#include "method/advice.h"
#include "method/methods.h"
#include "method/periodic.h"

static void slowmo_init(void *state, struct mot_env *env)
{
    const struct mot_periodic_conf *conf = env->conf;
    mot_periodic_init(state, env,
        (struct mot_outer){
            .momentum = conf->momentum, .rate = conf->rate, .in_proportion = true, .keeps = 2 });
}

static const struct mot_option slowmo_options[] = {
    MOT_PERIODIC_OPTIONS("12"),
    { .name = "beta",
        .type = MOT_OPT_REAL,
        .offset = MOT_PERIODIC_FIELD(momentum),
        .preset = "0.7",
        .max = 0.9999,
        .doc = "the slow momentum: the fraction of the previous outer step that is kept; 0 with alpha: 1 is "
               "localsgd" },
    { .name = "alpha",
        .type = MOT_OPT_REAL,
        .offset = MOT_PERIODIC_FIELD(rate),
        .preset = "1",
        .min = 1e-9,
        .max = 1e3,
        .doc = "the slow learning rate: how far the outer step goes, in learning rates" },
    { .name = NULL },
};

const struct mot_method mot_method_slowmo = {
    .name = "slowmo",
    .summary =
        "local SGD with a slow momentum: each averaging is a step of its own, and momentum carries it on",
    .about =
        "Workers train alone for `period` steps, as in localsgd. The way from their common starting model "
        "to the mean of their models then serves as a gradient: a slow momentum builds up over the "
        "averagings, and everyone makes the same outer step with it. It sends no more than localsgd.\n"
        "Momentum makes steps longer: with beta: 0.7 try a smaller optimizer.lr than for localsgd. The paper "
        "uses alpha: 1 throughout, and compares ways to treat the optimiser's own momentum (`state`).\n"
        "Paper: Wang, Tantia, Ballas, Rabbat, SlowMo: Improving Communication-Efficient Distributed SGD with "
        "Slow Momentum, 2020.",
    .options = slowmo_options,
    .conf_bytes = sizeof(struct mot_periodic_conf),
    .traits = mot_periodic_traits_momentum,
    .advise = mot_advise_summing,
    .validate = mot_periodic_validate,
    .need = mot_periodic_need,
    .init = slowmo_init,
    .step = mot_periodic_step,
    .check = mot_periodic_check,
    .model = mot_periodic_model,
    .keep = mot_periodic_keep,
};
