/* diloco.c -- DiLoCo: long periods alone, then a Nesterov step along the mean displacement.
 *
 *   d = mean of x[i] - x                         after `period` steps alone, from x
 *   u = momentum u + d
 *   x = x + rate (d + momentum u)
 *
 * Douillard, Feng, Rusu, Chhaparia, Donchev, Kuncoro, Ranzato, Szlam and Shen, DiLoCo: Distributed Low-
 * Communication Training of Language Models, 2023, Algorithm 1. The inner optimiser is the experiment's,
 * AdamW in the paper; its state stays with the worker. */
#include "method/advice.h"
#include "method/methods.h"
#include "method/periodic.h"

static void diloco_init(void *state, struct mot_env *env)
{
    const struct mot_periodic_conf *conf = env->conf;
    mot_periodic_init(state, env,
        (struct mot_outer){ .momentum = conf->momentum, .rate = conf->rate, .nesterov = true, .keeps = 2 });
}

static const struct mot_option diloco_options[] = {
    MOT_PERIODIC_OPTIONS("50"),
    { .name = "outer_rate",
        .type = MOT_OPT_REAL,
        .offset = MOT_PERIODIC_FIELD(rate),
        .preset = "0.7",
        .min = 1e-9,
        .max = 1e3,
        .doc = "the learning rate of the outer step" },
    { .name = "outer_momentum",
        .type = MOT_OPT_REAL,
        .offset = MOT_PERIODIC_FIELD(momentum),
        .preset = "0.9",
        .max = 0.9999,
        .doc = "the Nesterov momentum of the outer step; 0 with outer_rate: 1 is localsgd" },
    { .name = NULL },
};

const struct mot_method mot_method_diloco = {
    .name = "diloco",
    .summary =
        "local training for long periods, then a Nesterov step along the mean of what the workers learned",
    .about =
        "For workers that are far apart. Each trains alone for a long period, with the experiment's "
        "optimiser "
        "(optimizer: adamw in the paper). The mean of how far they came is then an outer gradient, along "
        "which everyone makes the same step with Nesterov momentum. There is one sum every `period` steps.\n"
        "The paper has periods of 500 steps, outer_rate: 0.7 and outer_momentum: 0.9, and starts from a "
        "model "
        "that was trained for a while (here local_from: N does that). The outer momentum takes some ten "
        "periods to build up, so short runs want short periods.\n"
        "Paper: Douillard, Feng, Rusu, Chhaparia, Donchev, Kuncoro, Ranzato, Szlam, Shen, DiLoCo: "
        "Distributed "
        "Low-Communication Training of Language Models, 2023.",
    .options = diloco_options,
    .conf_bytes = sizeof(struct mot_periodic_conf),
    .traits = mot_periodic_traits_momentum,
    .advise = mot_advise_summing,
    .validate = mot_periodic_validate,
    .need = mot_periodic_need,
    .init = diloco_init,
    .step = mot_periodic_step,
    .check = mot_periodic_check,
    .model = mot_periodic_model,
    .keep = mot_periodic_keep,
};
