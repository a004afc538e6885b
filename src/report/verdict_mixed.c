/* verdict_mixed.c -- the verdict on mixing: whether it kept the mean of the workers' models.
 *
 * Models from different rounds, as when the clock ends a run, need not add up. So this says nothing unless
 * something is known to have been lost. */
#include "report/verdict.h"

#include "report/tally.h"
#include <inttypes.h>
#include <math.h>

#define MATTERS 1e-3 /* of the mean's norm, and of all weight */

static uint64_t noted(const struct mot_outcome *o, const char *key)
{
    const struct mot_note_tally *t = mot_note_find(o, key);
    return t ? (uint64_t)t->sum : 0;
}

void mot_say_mixed(struct mot_words *w, const struct mot_facts *f)
{
    const struct mot_outcome *o = f->o;
    const struct mot_mixed *m = &o->last.mixed;
    uint64_t dropped = noted(o, "dropped_segments"), lost = noted(o, "neighbours_lost");
    if (m->drift >= MATTERS && dropped + lost) {
        mot_say(w, "Mixing moved the mean of the workers' models by %.2g %% of its norm: ", 100 * m->drift);
        if (dropped)
            mot_say(w, "%" PRIu64 " segment%s came too early or too late and %s dropped%s", dropped,
                dropped == 1 ? "" : "s", dropped == 1 ? "was" : "were", lost ? ", and " : ". ");
        if (lost)
            mot_say(w, "neighbours were given up for lost %" PRIu64 " time%s. ", lost, lost == 1 ? "" : "s");
    }
    if (m->mass <= 1 - MATTERS && (lost || o->faults.crashes || o->faults.given_up))
        mot_say(w,
            "The push-sum weights that are left add up to %.3g %% of those that the workers began with: the "
            "rest, and what was learned with it, went with lost workers. ",
            100 * m->mass);
}
