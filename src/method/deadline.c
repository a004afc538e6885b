#include "method/deadline.h"

#define LONGEST 1e18 /* ns, 31 years: a longer deadline is none */

static void sort_times(mot_time *t, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        mot_time x = t[i];
        uint32_t j = i;
        for (; j > 0 && t[j - 1] > x; j--) t[j] = t[j - 1];
        t[j] = x;
    }
}

static mot_time median_plus_spread(struct mot_deadline *d, double spread)
{
    uint32_t n = d->n;
    for (uint32_t i = 0; i < n; i++) d->sorted[i] = d->recent[i];
    sort_times(d->sorted, n);
    mot_time median = d->sorted[n / 2];
    for (uint32_t i = 0; i < n; i++)
        d->sorted[i] = d->recent[i] > median ? d->recent[i] - median : median - d->recent[i];
    sort_times(d->sorted, n);
    /* Identical machines have no deviation: a twentieth of the median still gives them some grace. */
    double deviation = (double)d->sorted[n / 2], least = (double)median / 20;
    double grace = spread * (deviation > least ? deviation : least);
    return median + (mot_time)(grace < LONGEST ? grace : LONGEST);
}

void mot_deadline_saw(struct mot_deadline *d, mot_time response)
{
    d->recent[d->next] = response;
    d->next = (d->next + 1) % MOT_DEADLINE_RECENT;
    if (d->n < MOT_DEADLINE_RECENT) d->n++;
}

void mot_deadline_arm(
    struct mot_deadline *d, struct mot_env *env, const struct mot_deadline_conf *conf, uint32_t present)
{
    switch ((enum mot_deadline_rule)conf->rule) {
    case MOT_DEADLINE_NONE: return;
    case MOT_DEADLINE_FIXED: mot_alarm(env, 0, env->now + conf->after); return;
    case MOT_DEADLINE_ADAPTIVE:
        if (d->n > 0 && (d->n >= present || d->n == MOT_DEADLINE_RECENT))
            mot_alarm(env, 0, env->now + median_plus_spread(d, conf->spread));
        return;
    }
}

void mot_deadline_check(const struct mot_deadline *d)
{
    MOT_ASSERT(d->n <= MOT_DEADLINE_RECENT && d->next < MOT_DEADLINE_RECENT);
}
