/* verdict_stream.c -- the verdict on samples that arrive over time: who waited for them, who dropped
 * them, and who has more of them than it uses. */
#include "base/words.h"
#include "report/tally.h"
#include "report/verdict.h"

#include <inttypes.h>
#include <stdlib.h>

#define DROPPED_SHARE 0.01 /* of what arrived: the least that is worth a sentence */
#define BEHIND_SHARE 0.10

static double starved_share(const struct mot_facts *f, uint32_t i)
{
    return (double)f->o->node[i].feed.starved / 1e9 / f->time;
}

static double rate_of(const struct mot_facts *f, uint32_t i)
{
    return (double)f->o->node[i].feed.arrived / f->time;
}

static const char *called(const struct mot_facts *f, uint32_t i, char label[static 64])
{
    mot_node_label(f->e, f->o, i, label, 64);
    return label;
}

static uint32_t most_of(const struct mot_facts *f, double (*of)(const struct mot_facts *, uint32_t))
{
    uint32_t most = 0;
    for (uint32_t i = 1; i < f->n; i++)
        if (of(f, i) > of(f, most)) most = i;
    return most;
}

/* In rounds one worker without samples keeps all waiting; otherwise the mean over the workers counts. */
bool mot_say_starved(struct mot_words *w, const struct mot_facts *f)
{
    double mean = 0;
    char label[64];
    if (!f->o->last.streams) return false;
    uint32_t worst = most_of(f, starved_share);
    for (uint32_t i = 0; i < f->n; i++) mean += starved_share(f, i) / f->n;
    bool rounds = f->e->traits.round >= f->n && f->n > 1;
    double share = rounds ? starved_share(f, worst) : mean;
    if (share < WAIT_SHARE) return false;
    mot_say(w,
        "Held back by the data: %s waited %.0f %% of the time for samples, of which %.3g arrive there per "
        "second",
        called(f, worst, label), mot_percent(starved_share(f, worst)), rate_of(f, worst));
    if (rounds) mot_say(w, ", and the others waited for it. ");
    else mot_say(w, "; on average workers waited for them %.0f %% of the time. ", mot_percent(mean));
    if (f->e->traits.varies) mot_say(w, "Try batches that wait for less (`--method-least`). ");
    else
        mot_say(w,
            "Try a smaller batch (`--batch`), or `--method scadles`, whose batches are what has arrived. ");
    return true;
}

static double dropped_share(const struct mot_facts *f, uint32_t i)
{
    const struct mot_feed_tally *t = &f->o->node[i].feed;
    return t->arrived ? (double)t->dropped / (double)t->arrived : 0;
}

static double waiting_share(const struct mot_facts *f, uint32_t i)
{
    const struct mot_feed_tally *t = &f->o->node[i].feed;
    return t->arrived ? (double)t->waiting / (double)t->arrived : 0;
}

void mot_say_streams(struct mot_words *w, const struct mot_facts *f)
{
    if (!f->o->last.streams) return;
    struct mot_feed_tally all = mot_streams_of(f->o);
    double arrived = all.arrived ? (double)all.arrived : 1;
    char label[64], time[48];
    uint32_t most = most_of(f, dropped_share);
    if ((double)all.dropped / arrived >= DROPPED_SHARE)
        mot_say(w,
            "%" PRIu64
            " samples (%.0f %% of those that arrived) were dropped unused; %s dropped the largest share "
            "of its own, %.0f %%. ",
            all.dropped, mot_percent((double)all.dropped / arrived), called(f, most, label),
            mot_percent(dropped_share(f, most)));
    if ((double)all.malformed / arrived >= DROPPED_SHARE)
        mot_say(w,
            "%" PRIu64
            " records (%.0f %%) were malformed%s: check that `source.records`, `label` and `separator` "
            "describe them, and that they have the columns and classes of `data`. ",
            all.malformed, mot_percent((double)all.malformed / arrived),
            f->e->output ? " (malformed-*.log in the run folder says which and why)" : "");
    most = most_of(f, waiting_share);
    if ((double)all.waiting / arrived >= BEHIND_SHARE)
        mot_say(w,
            "%" PRIu64 " samples (%.0f %%) still wait, the oldest for %s: more arrives than is used, above "
            "all at %s. ",
            all.waiting, mot_percent((double)all.waiting / arrived),
            mot_show_time(all.oldest, time, sizeof time), called(f, most, label));
}
