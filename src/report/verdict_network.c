/* verdict_network.c -- when it was the network: incast at a server, a thin link, a far worker, latency. */
#include "base/words.h"
#include "report/verdict.h"
#include "report/tally.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BUSY_LINK 0.60  /* a link in use this much holds others up */
#define THIN_LINK 0.50  /* of the median's bandwidth */
#define FAR_LATENCY 4.0 /* times the median's latency */

/* How much of the run a link was in use, from the bytes and the bandwidth; 0 if sending takes no time. */
static double use_of(double bytes, double bandwidth, double time)
{
    double use = bytes / bandwidth / time;
    return isfinite(use) && use > 0 ? use : 0;
}

static bool has_links(const struct mot_facts *f)
{
    return f->e->cluster && f->e->cluster->workers + f->e->cluster->servers >= f->n + f->o->servers;
}

/* What a worker sent to the servers, which get no rows: those go to other workers. */
static double to_servers(const struct mot_node_tally *t) { return (double)(t->bytes_sent - t->rows_bytes); }

/* The server's link, where all workers' messages meet. */
bool mot_say_incast(struct mot_words *w, const struct mot_facts *f)
{
    if (f->o->servers == 0 || !has_links(f)) return false;
    double in = 0, out = 0;
    for (uint32_t i = 0; i < f->n; i++) in += to_servers(&f->o->node[i]);
    for (uint32_t s = f->n; s < f->n + f->o->servers; s++) out += (double)f->o->node[s].bytes_sent;
    in /= f->o->servers, out /= f->o->servers;
    const struct mot_link *link = &f->e->cluster->machine[f->n].link;
    double down_use = use_of(in, link->down, f->time), up_use = use_of(out, link->up, f->time);
    bool down = down_use >= up_use;
    double use = down ? down_use : up_use;
    if (use < BUSY_LINK) return false;
    char speed[32], label[160];
    mot_say(w,
        "Held back by the network: messages were in flight %.0f %% of the workers' time, and the link %s "
        "%s%s (%s) was in use %.0f %% of the run. ",
        mot_percent(f->send), down ? "into" : "out of", f->o->servers == 1 ? "the " : "",
        mot_node_label(f->e, f->o, f->n, label, sizeof label),
        mot_show_bandwidth(down ? link->down : link->up, speed, sizeof speed),
        mot_percent(use < 1 ? use : 1));
    char advice[MOT_ADVICE];
    bool grow = mot_batches_can_grow(f), around = *mot_advice(f, MOT_WHEN_CROWDED, 0, advice);
    mot_say(w, "Try more bandwidth for the server%s (a `server:` section in the cluster file)",
        mot_plural(f->o->servers));
    if (grow) mot_say(w, ", %slarger batches (fewer messages per sample)", around ? "" : "or ");
    if (around) mot_say(w, ", or %s", advice);
    mot_say(w, ". ");
    return true;
}

/* How much more of the time the others waited than those chosen. */
static double waited_for(const struct mot_facts *f, const bool *chosen)
{
    double wait[2] = { 0, 0 }, count[2] = { 0, 0 };
    for (uint32_t i = 0; i < f->n; i++) {
        wait[chosen[i]] += mot_share_of(f->o->node[i].wait, &f->o->node[i]);
        count[chosen[i]]++;
    }
    return count[0] > 0 && count[1] > 0 ? wait[0] / count[0] - wait[1] / count[1] : 0;
}

/* A worker whose link is far thinner than the others'. */
bool mot_say_thin(struct mot_words *w, const struct mot_facts *f)
{
    if (!has_links(f) || f->n < 2) return false;
    double *width = mot_new(f->n, sizeof *width);
    bool *thin = mot_new(f->n, sizeof *thin);
    uint32_t count = 0, thinnest = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        const struct mot_link *link = &f->e->cluster->machine[i].link;
        width[i] = link->up < link->down ? link->up : link->down;
        if (width[i] < width[thinnest]) thinnest = i;
    }
    double median = mot_median(width, f->n);
    for (uint32_t i = 0; i < f->n; i++)
        if ((thin[i] = width[i] < THIN_LINK * median)) count++;
    if (count) {
        char one[32], other[32];
        mot_say(w,
            "Held back by the network: messages were in flight %.0f %% of the workers' time, and the link "
            "of ",
            mot_percent(f->send));
        mot_say_workers(w, f, thin, count);
        mot_say(w, " is thin (%s against a median of %s)",
            mot_show_bandwidth(width[thinnest], one, sizeof one),
            mot_show_bandwidth(median, other, sizeof other));
        double waited = waited_for(f, thin);
        const char *it = count == 1 ? "it" : "them";
        if (waited >= WAIT_SHARE)
            mot_say(w, "; the other%s waited %.0f %% of the time for %s", f->n - count == 1 ? "" : "s",
                mot_percent(waited), it);
        mot_say(w, ". ");
        const char *grow = mot_batches_can_grow(f) ? ", or larger batches" : "";
        char way[MOT_ADVICE];
        if (f->o->servers == 0) {
            if (!f->e->traits.own_pace)
                mot_say(w, "%s %s. ",
                    f->e->traits.mixes           ? "Neighbours wait for"
                        : f->e->traits.peer_maps ? "Peers wait for"
                                                 : "Every collective passes through",
                    it);
            if (*mot_advice(f, MOT_WHEN_THIN, f->n - count, way))
                mot_say(w, "Try %s, where only %s own messages are slow%s. ", way,
                    count == 1 ? "its" : "their", grow);
            else if (*grow) mot_say(w, "Try larger batches. ");
        } else if (f->n - count < f->e->traits.round && *mot_advice(f, MOT_WHEN_WAITING, f->n - count, way)) {
            mot_say(w, "Try not to wait for %s (%s)%s. ", it, way, grow);
        } else if (*grow) mot_say(w, "Try larger batches (fewer messages per sample). ");
    }
    free(width);
    free(thin);
    return count > 0;
}

/* How much of the run the worker's link was in use, in the busier direction. */
static double carried_by(const struct mot_facts *f, uint32_t i)
{
    const struct mot_link *link = &f->e->cluster->machine[i].link;
    /* a collective sends as much as it receives */
    double sent = (double)f->o->node[i].bytes_sent, got = sent;
    if (f->o->servers) got = 0;
    for (uint32_t s = f->n; s < f->n + f->o->servers; s++) got += (double)f->o->node[s].bytes_sent / f->n;
    for (uint32_t k = 0; f->o->servers && k < f->n; k++) got += (double)f->o->node[k].rows_bytes / f->n;
    return fmax(use_of(sent, link->up, f->time), use_of(got, link->down, f->time));
}

/* A worker whose messages take far longer than the others', whatever their size. */
bool mot_say_far(struct mot_words *w, const struct mot_facts *f)
{
    if (!has_links(f) || f->n < 2) return false;
    double *latency = mot_new(f->n, sizeof *latency);
    bool *far = mot_new(f->n, sizeof *far);
    uint32_t count = 0, farthest = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        latency[i] = (double)f->e->cluster->machine[i].link.latency;
        if (latency[i] > latency[farthest]) farthest = i;
    }
    double median = mot_median(latency, f->n);
    for (uint32_t i = 0; i < f->n; i++)
        if ((far[i] = latency[i] > FAR_LATENCY * median)) count++;
    double waited = waited_for(f, far);
    bool named = count && waited >= WAIT_SHARE;
    if (named) {
        char one[48], other[48];
        mot_say(w, "Held back by the network: messages to and from ");
        mot_say_workers(w, f, far, count);
        mot_say(w,
            " have a latency of %s (the median's: %s), and the other%s waited %.0f %% of the time for %s. ",
            mot_show_time((mot_time)latency[farthest], one, sizeof one),
            mot_show_time((mot_time)median, other, sizeof other), f->n - count == 1 ? "" : "s",
            mot_percent(waited), count == 1 ? "it" : "them");
        const char *grow = mot_batches_can_grow(f) ? ", or larger batches" : "";
        char way[MOT_ADVICE];
        if (f->n - count < f->e->traits.round && *mot_advice(f, MOT_WHEN_WAITING, f->n - count, way))
            mot_say(w, "Try not to wait for %s (%s)%s. ", count == 1 ? "it" : "them", way, grow);
        else if (*mot_advice(f, MOT_WHEN_IDLE, 0, way)) mot_say(w, "Try %s%s. ", way, grow);
        else if (*grow) mot_say(w, "Try larger batches. ");
    }
    free(latency);
    free(far);
    return named;
}

#define PACKERS_MOST 40u /* up to this many workers, top-k of 1 % sends at most a quarter of the bytes */

/* Whether top-k of 1 % is sure to save time: the bytes take most of it, the method sums gradients, and there
 * are few enough workers. A packet goes to all n - 1 others, with 5 bytes per entry kept, where a sum takes
 * 8 (n - 1) / n bytes per float. A server sends models back as floats, which leaves little to save
 * (docs/compression.md). */
static bool should_pack(const struct mot_facts *f, double carried)
{
    const struct mot_model *model = f->e->model;
    return model && model->computes && f->e->traits.packs == MOT_PACKS_SUMS && f->e->traits.votes &&
        mot_compress_idle(&f->e->compress) && carried >= f->send / 2 && f->n <= PACKERS_MOST;
}

/* No single end or link: latency if the bytes explain little of the time, else all links. */
void mot_say_links(struct mot_words *w, const struct mot_facts *f)
{
    bool passes = f->e->traits.mixes || f->e->traits.peer_maps || f->e->traits.own_pace;
    bool collective = f->o->servers == 0 && f->n > 2 && !passes,
         ring = f->e->sim.collective == MOT_COLLECTIVE_RING;
    double carried = 0;
    if (has_links(f)) {
        for (uint32_t i = 0; i < f->n; i++) carried += carried_by(f, i);
        carried /= f->n;
    }
    mot_say(w,
        "Held back by the network: messages were in flight %.0f %% of the workers' time (computing: %.0f "
        "%%). ",
        mot_percent(f->send), mot_percent(f->compute));
    const char *ring_way =
                   collective && ring ? "a collective with fewer steps (`--sim-collective doubling`)" : "",
               *wide_way =
                   collective && !ring ? "a collective that sends less (`--sim-collective ring`), " : "";
    bool grow = mot_batches_can_grow(f);
    if (has_links(f) && carried < f->send / 4) {
        mot_say(w, "The bytes alone would take %.0f %%: the rest is latency. ", mot_percent(carried));
        if (grow) mot_say(w, "Try larger batches, so that there are fewer messages per sample");
        if (*ring_way) mot_say(w, grow ? ", or %s" : "Try %s", ring_way);
        if (grow || *ring_way) mot_say(w, ". ");
    } else {
        mot_say(w, "Try %s%smore bandwidth, %sor a smaller model. ",
            grow ? "larger batches (fewer messages per sample), " : "",
            should_pack(f, carried) ? "compressed gradients (`--compress topk --compress-ratio 1%`), " : "",
            wide_way);
    }
}
