/* why.c -- why one method is at the target sooner than another, in words that `motley plan` and `motley
 * compare` share. */
#include "base/memory.h"
#include "study/answer.h"
#include "study/figures.h"
#include <math.h>
#include <stdlib.h>

#define TELLING 0.03 /* a smaller difference of shares explains nothing */

/* "120 updates of 5.1 ms each"; NULL where most of its runs did not get there. */
static char *way_text(struct mot_way w)
{
    char each[48], count[48];
    if (!(w.time > 0) || !(w.updates > 0) || !isfinite(w.time) || !isfinite(w.updates)) return NULL;
    return mot_format("%s update%s of %s each",
        mot_figure_show(w.updates, MOT_UNIT_COUNT, count, sizeof(count)), w.updates == 1 ? "" : "s",
        mot_figure_show(w.time / w.updates, MOT_UNIT_SECONDS, each, sizeof(each)));
}

char *mot_why(struct mot_way a, struct mot_way b, const char *name)
{
    char *mine = way_text(a), *other = way_text(b), *first = NULL, *second = NULL;
    if (mine && other) first = mot_format("it gets there in about %s, %s in %s", mine, name, other);
    else if (mine)
        first = mot_format("it gets there in about %s, %s in half of its runs at most", mine, name);
    if (isfinite(a.busy) && isfinite(b.busy) && fabs(a.busy - b.busy) > TELLING)
        second = mot_format(
            "its workers compute %.0f %% of the time, those of %s %.0f %%", 100 * a.busy, name, 100 * b.busy);
    char *all = first && second ? mot_format("%s; %s", first, second)
        : first                 ? mot_text(first)
        : second                ? mot_text(second)
                                : NULL;
    free(first);
    free(second);
    free(mine);
    free(other);
    return all;
}
