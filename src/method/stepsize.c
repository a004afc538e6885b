#include "method/stepsize.h"
#include "math/kernels.h"
#include <math.h>

enum mot_status mot_stepsize_validate(const struct mot_stepsize_conf *conf, const struct mot_world *world)
{
    if (conf->times.n > 0 && conf->times.n != world->workers)
        return mot_fail(MOT_EUSAGE,
            "method.times: %u times for %u workers; expected one each, or none to have them measured",
            conf->times.n, world->workers);
    return MOT_OK;
}

/* A worker's mean job time. Without an answer yet, it has taken at least all of the time so far. */
static double job_time(
    const struct mot_stepsize_conf *conf, const struct mot_hub *h, const struct mot_env *env, mot_node worker)
{
    if (conf->times.n) return conf->times.v[worker];
    const struct mot_seat *seat = mot_hub_seat(h, worker);
    double time = seat->answers ? (double)seat->busy / seat->answers : (double)env->now;
    return time > 1 ? time : 1;
}

/* Rescaled asynchronous SGD: worker i answers at a rate proportional to 1/time(i), so a step proportional
 * to time(i) gives every worker's data the same weight. Normalised to keep the mean step: time(i) *
 * sum(1/time(j)) / n. */
static double rescaled(
    const struct mot_stepsize_conf *conf, const struct mot_hub *h, const struct mot_env *env, mot_node worker)
{
    double rates = 0;
    for (mot_node j = 0; j < env->world->workers; j++)
        if (!mot_hub_seat(h, j)->away) rates += 1 / job_time(conf, h, env, j);
    return job_time(conf, h, env, worker) * rates / h->present;
}

double mot_stepsize(const struct mot_stepsize_conf *conf, const struct mot_hub *h, const struct mot_env *env,
    const struct mot_answer *a, double concurrency)
{
    double delay = (double)a->delay, limit;
    switch ((enum mot_step_rule)conf->rule) {
    case MOT_STEP_ADAPTIVE: /* Mishchenko, Bach, Even and Woodworth, 2022 */
        return delay > concurrency ? concurrency / delay : 1;
    case MOT_STEP_CUTOFF: /* Koloskova, Stich and Jaggi, 2022 */
        limit = conf->cutoff == MOT_WORD_UINT ? concurrency : (double)conf->cutoff;
        if (delay <= limit) return 1;
        return conf->beyond == MOT_BEYOND_DROP ? 0 : limit / delay;
    case MOT_STEP_RESCALED: return rescaled(conf, h, env, a->from);
    case MOT_STEP_CLIPPED:
        limit = conf->clip * a->samples;
        double norm = __builtin_sqrt(mot_kernels()->norm2(
            mot_trained_in(env->world, a->grad), mot_read(env, a->grad.buf) + a->grad.off));
        return norm > limit ? limit / norm : 1;
    case MOT_STEP_CONSTANT:
    case MOT_STEP_COMPENSATED: return 1;
    }
    return 1;
}

bool mot_compensate_adapts(const struct mot_stepsize_conf *conf)
{
    return conf->rule == MOT_STEP_COMPENSATED && !isnan(conf->lambda_decay);
}

/* The paper's epsilon: keeps lambda finite while gradients are tiny. */
#define MEAN_SQUARE_LEAST 1e-7f

void mot_compensate(const struct mot_stepsize_conf *conf, uint32_t dim, const float *grad, uint32_t samples,
    const float *x, const float *at, float *mean_square, float *out)
{
    double given = conf->lambda;
    if (!mean_square) {
        float lambda = (float)((isnan(given) ? 0.04 : given) / samples);
        for (uint32_t i = 0; i < dim; i++) out[i] = grad[i] + lambda * grad[i] * grad[i] * (x[i] - at[i]);
        return;
    }
    float lambda = (float)((isnan(given) ? 2 : given) / samples), mean = (float)(1.0 / samples),
          keep = (float)conf->lambda_decay, add = (float)(1 - conf->lambda_decay);
    for (uint32_t i = 0; i < dim; i++) {
        float g = grad[i] * mean;
        mean_square[i] = keep * mean_square[i] + add * g * g;
        float by = lambda / __builtin_sqrtf(mean_square[i] + MEAN_SQUARE_LEAST);
        out[i] = grad[i] + by * grad[i] * grad[i] * (x[i] - at[i]);
    }
}
