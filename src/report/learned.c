#include "report/learned.h"
#include "base/exact.h"
#include "base/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOISE 2.0 /* standard deviations above chance accuracy */
#define GAIN 0.98 /* times the loss of chance: below that, something was learned */

/* The commonest class, and the entropy of the classes. */
static void chance_of_classes(const struct mot_table *t, struct mot_chance *c)
{
    uint64_t *count = mot_new(t->classes, sizeof *count), most = 0;
    for (uint32_t i = 0; i < t->rows; i++)
        if (t->y[i] >= 0 && t->y[i] < (float)t->classes) count[(uint32_t)t->y[i]]++;
    c->loss = 0;
    for (uint32_t k = 0; k < t->classes; k++) {
        double share = (double)count[k] / t->rows;
        if (count[k] > most) most = count[k];
        if (count[k]) c->loss -= share * mot_log(share);
    }
    c->accuracy = (double)most / t->rows;
    free(count);
}

/* Half the variance: the loss of the best constant. */
static void chance_of_values(const struct mot_table *t, struct mot_chance *c)
{
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < t->rows; i++) sum += (double)t->y[i];
    double mean = sum / t->rows;
    for (uint32_t i = 0; i < t->rows; i++) squares += ((double)t->y[i] - mean) * ((double)t->y[i] - mean);
    c->loss = squares / t->rows / 2;
    c->accuracy = NAN;
}

static struct mot_chance chance_of(const struct mot_table *t, bool tested)
{
    struct mot_chance c = { .tested = tested };
    if (t->rows == 0 || !t->y) return c;
    c.rows = t->rows;
    if (t->classes) chance_of_classes(t, &c);
    else chance_of_values(t, &c);
    return c;
}

struct mot_chance mot_chance_of(const struct mot_dataset *d)
{
    bool tested = d->test.rows > 0;
    return chance_of(tested ? &d->test : &d->train, tested);
}

struct mot_chance mot_chance_of_test(const struct mot_table *t) { return chance_of(t, true); }

enum mot_learned mot_learned(const struct mot_experiment *e, const struct mot_outcome *o)
{
    const struct mot_chance *c = &o->chance;
    const struct mot_score *s = &o->last.score;
    double accuracy = c->tested ? s->test_accuracy : s->train_accuracy,
           loss = c->tested ? s->test_loss : s->train_loss;
    if (c->rows == 0 || (isnan(accuracy) && isnan(loss))) return MOT_LEARNED_UNKNOWN;
    if (isnan(c->accuracy)) {
        /* Only this model's loss has a known meaning. */
        if (!e->model || strcmp(e->model->name, "least-squares") != 0) return MOT_LEARNED_UNKNOWN;
        return loss < GAIN * c->loss ? MOT_LEARNED : MOT_LEARNED_NOTHING;
    }
    double noise = NOISE * sqrt(c->accuracy * (1 - c->accuracy) / (double)c->rows);
    if (accuracy > c->accuracy + noise || loss < GAIN * c->loss) return MOT_LEARNED;
    return MOT_LEARNED_NOTHING;
}
