/* verdict_drawn.c -- the verdict on rounds of drawn workers. Most workers rest most of the time, which holds
 * nobody back, so only the time of those that a round asks counts. */
#include "report/tally.h"
#include "report/verdict.h"

#include <math.h>

/* Late workers compute during rounds that did not ask them, so their time cannot be assigned to rounds. */
static void say_rounds(struct mot_words *w, const struct mot_facts *f)
{
    const struct mot_note_tally *deadlines = mot_note_find(f->o, "deadlines");
    mot_say(w, "A round asks %u of %u workers, and %.0f of %.0f rounds reached their deadline. ",
        f->e->traits.round, f->n, deadlines ? (double)deadlines->count : 0, (double)f->o->last.updates);
}

void mot_say_drawn(struct mot_words *w, const struct mot_facts *f)
{
    if (f->late > 0) {
        say_rounds(w, f);
        return;
    }
    uint32_t drawn = f->e->traits.round;
    double each = (double)f->n / drawn; /* shares are of all workers' time */
    double compute = fmin(1, f->compute * each), send = fmin(1 - compute, f->send * each);
    double wait = 1 - compute - send;
    bool waits = wait >= WAIT_SHARE && wait >= send, network = !waits && send >= SEND_SHARE;
    mot_say(w,
        "%s: a round asks %u of %u workers, and of their time %.0f %% was computing, %.0f %% messages in "
        "flight "
        "and %.0f %% waiting for the last of them. ",
        waits         ? "Held back by waiting"
            : network ? "Held back by the network"
                      : "Bound by computing",
        drawn, f->n, mot_percent(compute), mot_percent(send), mot_percent(wait));
    char advice[MOT_ADVICE];
    if (!waits && !network) return;
    if (*mot_advice(f, waits ? MOT_WHEN_WAITING : MOT_WHEN_CROWDED, 0, advice))
        mot_say(w, "Try %s. ", advice);
}
