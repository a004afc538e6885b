/* schedule.c -- the learning rate as a function of the update's number.
 *
 * No libm: rates are part of what a seed repeats bit for bit. */
#include "base/exact.h"
#include "math/optim.h"

const struct mot_option mot_schedule_options[] = {
    { .name = "name",
        .type = MOT_OPT_CHOICE,
        .offset = offsetof(struct mot_schedule_conf, name),
        .preset = "constant",
        .choices = "constant|step|cosine|polynomial",
        .doc = "how the learning rate changes over the run" },
    { .name = "warmup",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct mot_schedule_conf, warmup),
        .preset = "0",
        .max = 1e15,
        .doc = "updates over which the learning rate first rises linearly to lr; for every schedule" },
    { .name = "total",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct mot_schedule_conf, total),
        .preset = "auto",
        .word = "auto",
        .min = 1,
        .max = 1e15,
        .doc = "cosine and polynomial: the update at which the learning rate reaches its final value; auto: "
               "from stop" },
    { .name = "every",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct mot_schedule_conf, every),
        .preset = "1000",
        .min = 1,
        .max = 1e15,
        .doc = "step: updates between two drops" },
    { .name = "factor",
        .type = MOT_OPT_REAL,
        .offset = offsetof(struct mot_schedule_conf, factor),
        .preset = "0.1",
        .max = 1,
        .doc = "step: the factor of each drop" },
    { .name = "power",
        .type = MOT_OPT_REAL,
        .offset = offsetof(struct mot_schedule_conf, power),
        .preset = "2",
        .min = 1e-3,
        .max = 100,
        .doc = "polynomial: the exponent of the remaining fraction of the run" },
    { .name = "end",
        .type = MOT_OPT_REAL,
        .offset = offsetof(struct mot_schedule_conf, end),
        .preset = "0",
        .max = 1,
        .doc = "cosine and polynomial: the final learning rate as a fraction of lr" },
    { .name = NULL },
};

/* cos(pi t) for 0 <= t <= 1, by Taylor's series on a quarter turn; exact at 0, 1/2 and 1. */
static double cos_pi(double t)
{
    if (t == 0.5) return 0;
    if (t > 0.5) return -cos_pi(1 - t);
    const double pi = 3.14159265358979323846;
    double z = pi * t * (pi * t), sum = 1;
    for (int k = 22; k >= 2; k -= 2) sum = 1 - z / (k * (k - 1)) * sum;
    return sum;
}

static double power(double base, uint64_t n)
{
    double result = 1;
    for (; n && result != 0; n >>= 1, base *= base)
        if (n & 1) result *= base;
    return result;
}

double mot_schedule_rate(const struct mot_schedule_conf *s, double lr, uint64_t step)
{
    double rate = lr;
    double left = 1; /* the part of the way from the warm-up's end to the total */
    if (step > s->warmup && s->total > s->warmup)
        left = step >= s->total ? 0 : (double)(s->total - step) / (double)(s->total - s->warmup);
    switch ((enum mot_schedule)s->name) {
    case MOT_SCHEDULE_CONSTANT: break;
    case MOT_SCHEDULE_STEP: rate *= power(s->factor, step / s->every); break;
    case MOT_SCHEDULE_COSINE: rate *= s->end + (1 - s->end) * (1 + cos_pi(1 - left)) / 2; break;
    case MOT_SCHEDULE_POLYNOMIAL:
        rate *= s->end + (1 - s->end) * (left <= 0 ? 0 : left == 1 ? 1 : mot_exp(s->power * mot_log(left)));
        break;
    }
    if (step < s->warmup) rate *= (double)(step + 1) / (double)s->warmup;
    return rate;
}
