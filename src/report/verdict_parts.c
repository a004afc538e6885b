/* verdict_parts.c -- the verdict on parts that differ: whose rows the model has learned from. */
#include "report/verdict.h"

#include "base/memory.h"
#include "report/parts.h"
#include <math.h>
#include <stdlib.h>

#define UNEVEN 1.5 /* times the share of gradients that a worker's rows would give it */
#define APART 1.0  /* times a batch's noise: see parts.c */

void mot_say_parts(struct mot_words *w, const struct mot_facts *f)
{
    const struct mot_outcome *o = f->o;
    struct mot_parts_differ d =
        mot_parts_differ((struct mot_heterogeneity){ o->start.zeta2, o->start.sigma2 }, o->start.batch_share);
    double ratio = mot_parts_ratio(&d), updates = 0;
    if (!o->start.known || !(ratio >= APART) || !isfinite(ratio) || !f->e->traits.by_speed) return;
    for (uint32_t i = 0; i < f->n; i++) updates += (double)o->node[i].updates;
    bool *chosen = mot_new(f->n, sizeof *chosen);
    uint32_t count = 0;
    double theirs = 0, rows = 0;
    for (uint32_t i = 0; i < f->n && updates > 0 && o->start.share; i++) {
        double share = (double)o->node[i].updates / updates;
        chosen[i] = share >= UNEVEN * o->start.share[i];
        if (chosen[i]) count++, theirs += share, rows += o->start.share[i];
    }
    if (count) {
        char amount[48], advice[MOT_ADVICE];
        mot_say(w, "Of the gradients used %.0f %% came from ", mot_percent(theirs));
        mot_say_workers(w, f, chosen, count);
        mot_say(w,
            ", which %s %.0f %% of the rows; parts differ by %s a batch's noise, so the model leans "
            "towards these. ",
            count == 1 ? "holds" : "hold", mot_percent(rows),
            mot_parts_ratio_text(ratio, amount, sizeof amount));
        if (*mot_advice(f, MOT_WHEN_LEANING, 0, advice)) mot_say(w, "%s. ", advice);
    }
    free(chosen);
}
