#include "report/parts.h"

#include "report/json.h"
#include <math.h>
#include <stdio.h>

/* Below this ratio parts do not matter. A gradient's squared error is noise + zeta2, and bounds for workers
 * that take turns by chance (AsGrad, arXiv 2310.20452) have both in the same term: a ratio r costs at most
 * the updates that batches of 1 / (1 + r) the size would. A study of six seeds cannot resolve five per cent
 * more: the ablation in docs/decentralised.md has intervals of 4 % and found nothing at 5. */
#define UNSEEN 0.05
/* Above 1 a gradient says more about whose part it is from than about its rows. No batch changes that. */
#define RULES 1.0

struct mot_parts_differ mot_parts_differ(struct mot_heterogeneity h, double batch_share)
{
    return (struct mot_parts_differ){ h.zeta2, h.sigma2, h.sigma2 * batch_share };
}

double mot_parts_ratio(const struct mot_parts_differ *d)
{
    if (d->noise > 0) return d->zeta2 / d->noise;
    return d->zeta2 > 0 && !isnan(d->noise) ? INFINITY : NAN;
}

char *mot_parts_ratio_text(double ratio, char *into, size_t size)
{
    if (ratio >= 9.95) snprintf(into, size, "%.0f times", ratio);
    else if (ratio >= 1) snprintf(into, size, "%.1f times", ratio);
    else if (ratio >= 0.0995) snprintf(into, size, "%.0f %% of", 100 * ratio);
    else if (ratio >= 0.0005) snprintf(into, size, "%.1f %% of", 100 * ratio);
    else snprintf(into, size, "0 %% of");
    return into;
}

uint32_t mot_batch_of_all(const struct mot_experiment *x)
{
    if (x->batch_full || !x->batch) return 0;
    for (uint32_t i = 1; i < x->workers; i++)
        if (x->batch[i] != x->batch[0]) return 0;
    return x->batch[0];
}

static void say_middle(double ratio, uint32_t batch, char *into, size_t size)
{
    double rows = batch / (1 + ratio);
    if (batch && rows >= 1)
        snprintf(
            into, size, "a gradient is as far off as if its batch had %.0f rows instead of %u", rows, batch);
    else snprintf(into, size, "the cut makes gradients noisier, but less than the choice of rows does");
}

char *mot_parts_words(
    const struct mot_parts_differ *d, const struct mot_parts_cut *cut, bool some, char *into, size_t size)
{
    double ratio = mot_parts_ratio(d);
    char amount[48], means[160];
    into[0] = '\0';
    if (!isfinite(d->zeta2) || !isfinite(d->sigma2)) return into;
    if (cut->parts < 2) {
        snprintf(into, size, "one part holds all rows: there are no parts to differ");
    } else if (isnan(ratio)) {
        snprintf(into, size, "neither parts nor batches differ in their gradients");
    } else if (isinf(ratio)) {
        snprintf(into, size,
            "batches are whole parts and have no noise: gradients differ only in %s part they come from",
            cut->shared ? "which" : "whose");
    } else {
        mot_parts_ratio_text(ratio, amount, sizeof amount);
        if (some && ratio < UNSEEN) snprintf(amount, sizeof amount, "%.0f %% of", 100 * UNSEEN);
        if (ratio < UNSEEN) snprintf(means, sizeof means, "beside it, how rows are cut will not show");
        else if (cut->shared)
            snprintf(
                means, sizeof means, "an update without a part's gradient is drawn to the rows of the rest");
        else if (ratio < RULES) say_middle(ratio, cut->batch, means, sizeof means);
        else
            snprintf(means, sizeof means,
                "a method that ignores who computed a gradient is drawn to the rows of those who compute "
                "most");
        snprintf(into, size, "parts differ by %s %s a batch's noise: %s",
            some && ratio < UNSEEN ? "less than about" : "about", amount, means);
    }
    return into;
}

json_t *mot_parts_json(const struct mot_parts_differ *d)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "zeta2", mot_json_number(d->zeta2), "sigma2",
        mot_json_number(d->sigma2), "batch_noise", mot_json_number(d->noise), "ratio",
        mot_json_number(mot_parts_ratio(d)));
}
