#include "run/judge.h"
#include <math.h>

double mot_reached_in(const struct mot_reached *at, enum mot_every_unit unit)
{
    switch (unit) {
    case MOT_EVERY_UPDATES: return (double)at->updates;
    case MOT_EVERY_EPOCHS: return at->epochs;
    case MOT_EVERY_TIME: return (double)at->now;
    case MOT_EVERY_AUTO: return 0;
    }
    return 0;
}

double mot_multiple_after(double done, double every)
{
    double next = (floor(done / every) + 1) * every;
    return next > done && isfinite(next) ? next : nextafter(done, INFINITY);
}

bool mot_every_due(const struct mot_every *every, const struct mot_reached *at, double *next)
{
    double done = mot_reached_in(at, every->unit);
    if (every->unit == MOT_EVERY_AUTO || done < *next) return false;
    *next = mot_multiple_after(done, every->value);
    return true;
}

bool mot_score_diverged(const struct mot_net *net, const struct mot_score *score, unsigned what)
{
    if (!net->kind->computes) return false;
    return isinf(score->test_loss) || isinf(score->train_loss) ||
        ((what & MOT_EVALUATE_TRAIN) && isnan(score->train_loss));
}
