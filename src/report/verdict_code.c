/* verdict_code.c -- the verdict on a code: whether the run had the exact gradient, which parts it missed, and
 * shuffles that came late. */
#include "report/verdict.h"

#include "base/words.h"
#include "report/tally.h"
#include <inttypes.h>
#include <math.h>
#include <motley/code.h>

#define SEEN 0.02   /* of the rounds: from here on, what happened is worth a sentence */
#define UNEVEN 0.10 /* a part used this much less than the mean is used unevenly */

static uint64_t noted(const struct mot_outcome *o, const char *key)
{
    const struct mot_note_tally *t = mot_note_find(o, key);
    return t ? t->count : 0;
}

/* The share of updates that parts are in: the least-used one, and on average. */
struct use {
    double least, mean;
};
static struct use use_of(const struct mot_outcome *o)
{
    struct use use = { 1, 1 };
    double updates = (double)o->last.updates;
    for (uint32_t j = 0; o->missed && j < o->parts && updates > 0; j++) {
        double used = 1 - (double)o->missed[j] / updates;
        use.least = fmin(use.least, used);
        use.mean -= (1 - used) / o->parts;
    }
    return use;
}

/* A round that nobody is left to complete closes as it is; with a code that promises the exact sum, and no
 * deadline, only lost workers can cause that. */
static void say_lost_exactness(struct mot_words *w, const struct mot_facts *f, uint64_t inexact)
{
    const struct mot_outcome *o = f->o;
    uint32_t tolerated = f->e->traits.stragglers;
    uint64_t most = 0;
    for (uint32_t j = 0; o->missed && j < o->parts; j++) most = o->missed[j] > most ? o->missed[j] : most;
    mot_say(w,
        "%" PRIu64 " of %" PRIu64
        " updates %s not the exact gradient, which code %s promises: too few workers "
        "were left to answer, ",
        inexact, o->last.updates, inexact == 1 ? "is" : "are", f->e->code.name);
    if (tolerated == 0) mot_say(w, "and it needs all of them. ");
    else mot_say(w, "and it tolerates any %u missing, not more. ", tolerated);
    if (most) mot_say(w, "The part missed most is not in %s. ", mot_updates_text(most).text);
}

static void say_cut_rounds(struct mot_words *w, const struct mot_facts *f, uint64_t inexact)
{
    const struct mot_outcome *o = f->o;
    const struct mot_note_tally *error = mot_note_find(o, "decode_error");
    struct use use = use_of(o);
    mot_say(w, "In %" PRIu64 " of %" PRIu64 " rounds the answers did not give the exact gradient", inexact,
        o->last.updates);
    if (error)
        mot_say(w, "; the error was what leaving out %.2g of %u parts would give",
            error->sum / (double)inexact, f->e->traits.parts);
    if (use.mean < 1)
        mot_say(w, ". A part is in %.0f %% of the updates on average, the one used least in %.0f %%",
            mot_percent(use.mean), mot_percent(use.least));
    mot_say(w, ". ");
    if (use.least <= 0)
        mot_say(w,
            "A part is in no update at all: either nobody holds it (`motley code` tells), or its holders "
            "never answered in time. ");
    else if (use.least < use.mean - UNEVEN && f->e->traits.shuffle == MOT_SHUFFLE_NONE)
        mot_say(w,
            "The same workers straggle again and again, and the parts they hold count for less: try "
            "shuffling roles (`--method-shuffle random`). ");
}

static void say_shuffles(struct mot_words *w, const struct mot_facts *f)
{
    uint64_t shuffles = noted(f->o, "shuffles"), delayed = noted(f->o, "shuffles_delayed"),
             rounds = f->o->last.updates;
    if (!shuffles || (double)delayed < SEEN * (double)rounds) return;
    double each = ceil((double)rounds / (double)shuffles);
    mot_say(w,
        "Shuffles came late: in %" PRIu64 " of %" PRIu64 " rounds one was due while rows of the last were "
        "still on their way. Only one shuffle fitted into every %.0f rounds, so `--method-period %.0f` loses "
        "nothing. ",
        delayed, rounds, each, each);
}

void mot_say_code(struct mot_words *w, const struct mot_facts *f)
{
    uint64_t inexact = noted(f->o, "inexact");
    if (!f->e->traits.codes) return;
    if (inexact && !f->e->traits.cuts) say_lost_exactness(w, f, inexact);
    /* An approximate code is not meant to be exact: only parts that are left out are news. */
    else if (inexact && (double)inexact >= SEEN * (double)f->o->last.updates &&
        (f->e->traits.stragglers || use_of(f->o).mean < 1 - SEEN))
        say_cut_rounds(w, f, inexact);
    say_shuffles(w, f);
}

void mot_print_code(const struct mot_experiment *e, const struct mot_outcome *o, FILE *out)
{
    uint64_t inexact = noted(o, "inexact"), updates = o->last.updates, repeated = noted(o, "repeated");
    struct use use = use_of(o);
    fprintf(out, "%s: ", e->code.name);
    if (!inexact) fprintf(out, "every update exact");
    else
        fprintf(out, "%" PRIu64 " of %" PRIu64 " updates exact", updates > inexact ? updates - inexact : 0,
            updates);
    if (use.mean < 1)
        fprintf(out, "; parts used in %.1f %% on average, %.1f %% at least", 100 * use.mean, 100 * use.least);
    if (repeated) fprintf(out, "; %" PRIu64 " task%s repeated", repeated, mot_plural(repeated));
    fputc('\n', out);
}

void mot_print_shuffles(const struct mot_outcome *o, FILE *out)
{
    uint64_t delayed = noted(o, "shuffles_delayed");
    fprintf(out, "%" PRIu64, noted(o, "shuffles"));
    if (delayed) fprintf(out, ", put off in %" PRIu64 " round%s", delayed, mot_plural(delayed));
    fputc('\n', out);
}
