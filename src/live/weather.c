#include "live/weather.h"
#include "base/memory.h"
#include "run/clock.h"
#include <stdlib.h>

#define LEAST_TIMEOUT UINT64_C(10000000) /* as in the simulator's channel */
#define HOLD_UP UINT64_C(1000000)
#define KEPT 256u /* faults remembered; older ones are over */

struct mot_weather {
    const struct mot_cluster *cluster;
    const struct mot_faults *conf;
    uint64_t seed, frames;
    uint32_t nodes;
    struct mot_fault *begun; /* [KEPT]: the k-th to begin is begun[k % KEPT] */
    uint64_t begins;
    bool *scheduled; /* [conf->scheduled]: has begun */
    struct mot_rng arrivals[MOT_FAULTS_RANDOM];
    mot_time next[MOT_FAULTS_RANDOM]; /* next random fault of each kind */
    mot_time *last;                   /* [nodes * nodes]: last arrival of each pair */
    uint64_t *seen;                   /* [nodes]: faults already seen */
    mot_time *stalled;                /* [nodes]: until when */
    struct mot_fault_tally tally;
};

static const enum mot_fault_kind random_kind[MOT_FAULTS_RANDOM] = { MOT_FAULT_CRASH, MOT_FAULT_STALL,
    MOT_FAULT_PARTITION, MOT_FAULT_SLOW_LINK };

static void expect_next(struct mot_weather *w, int kind, mot_time after)
{
    double rate = w->conf->rate[kind].per_s * w->cluster->workers;
    w->next[kind] = MOT_NEVER;
    if (rate <= 0) return;
    double at = (double)after + mot_rng_exponential(&w->arrivals[kind]) / rate * 1e9;
    if (at < (double)w->conf->until && at < 9e18) w->next[kind] = (mot_time)at;
}

static enum mot_status refuse_crashes(const struct mot_faults *f)
{
    bool crashes = f->rate[MOT_FAULT_CRASH].per_s > 0;
    for (uint32_t i = 0; i < f->scheduled; i++)
        crashes |= f->fault[i].kind == MOT_FAULT_CRASH || f->fault[i].kind == MOT_FAULT_RESTART;
    if (!crashes) return MOT_OK;
    return mot_fail(MOT_EUSAGE,
        "cluster.faults: crashes and restarts can be simulated (motley sim) but not emulated; expected "
        "only stall, partition, slow-link, drop, duplicate, reorder, corrupt and poison");
}

enum mot_status mot_weather_open(const struct mot_cluster *cluster, uint64_t seed, struct mot_weather **out)
{
    *out = NULL;
    if (!cluster->faults.any) return MOT_OK;
    enum mot_status status = refuse_crashes(&cluster->faults);
    if (status != MOT_OK) return status;
    struct mot_weather *w = *out = mot_new(1, sizeof(*w));
    w->cluster = cluster;
    w->conf = &cluster->faults;
    w->seed = seed;
    w->nodes = cluster->workers + cluster->servers;
    w->begun = mot_new(KEPT, sizeof(*w->begun));
    w->scheduled = mot_new(w->conf->scheduled + 1, sizeof(*w->scheduled));
    w->last = mot_new_large((size_t)w->nodes * w->nodes, sizeof(*w->last));
    w->seen = mot_new(w->nodes, sizeof(*w->seen));
    w->stalled = mot_new(w->nodes, sizeof(*w->stalled));
    for (int k = 0; k < MOT_FAULTS_RANDOM; k++) {
        w->arrivals[k] = mot_rng_at(seed, MOT_RNG_FAULT, (uint64_t)k);
        expect_next(w, k, 0);
    }
    return mot_memory_status();
}

void mot_weather_close(struct mot_weather *w)
{
    if (!w) return;
    free(w->begun);
    free(w->scheduled);
    free(w->last);
    free(w->seen);
    free(w->stalled);
    free(w);
}

/* ---- Current faults ------------------------------------------------------------------------------- */

static void begin(struct mot_weather *w, const struct mot_fault *f)
{
    w->begun[w->begins++ % KEPT] = *f;
    w->tally.stalls += f->kind == MOT_FAULT_STALL;
    w->tally.partitions += f->kind == MOT_FAULT_PARTITION;
    w->tally.slow_links += f->kind == MOT_FAULT_SLOW_LINK;
}

static void bring_up_to(struct mot_weather *w, mot_time now)
{
    for (uint32_t i = 0; i < w->conf->scheduled; i++) {
        if (w->scheduled[i] || w->conf->fault[i].at > now) continue;
        w->scheduled[i] = true;
        begin(w, &w->conf->fault[i]);
    }
    for (int k = 0; k < MOT_FAULTS_RANDOM; k++) {
        while (w->next[k] <= now) {
            mot_node victim = (mot_node)mot_rng_below(&w->arrivals[k], w->cluster->workers);
            double lasts = mot_rng_exponential(&w->arrivals[k]) * (double)w->conf->rate[k].lasts;
            begin(w,
                &(struct mot_fault){ .kind = random_kind[k],
                    .at = w->next[k],
                    .lasts = lasts < 1 ? 1 : (mot_time)lasts,
                    .amount = w->conf->slow_factor,
                    .workers = { .n = 1, .v = { victim } } });
            expect_next(w, k, w->next[k]);
        }
    }
}

static const struct mot_fault *lasting(
    const struct mot_weather *w, enum mot_fault_kind kind, mot_time at, uint64_t *from)
{
    for (; *from < w->begins; (*from)++) {
        const struct mot_fault *f = &w->begun[*from % KEPT];
        if (f->kind == kind && f->at <= at && at - f->at < f->lasts) {
            (*from)++;
            return f;
        }
    }
    return NULL;
}

static uint64_t oldest(const struct mot_weather *w) { return w->begins > KEPT ? w->begins - KEPT : 0; }

static bool hits(const struct mot_weather *w, const struct mot_fault *f, mot_node node)
{
    return mot_fault_hits(f, w->cluster->workers, node);
}

static double chance(
    const struct mot_weather *w, enum mot_fault_kind kind, mot_node from, mot_node to, mot_time at)
{
    double most = at < w->conf->until ? w->conf->chance[kind - MOT_FAULT_DROP] : 0;
    uint64_t i = oldest(w);
    for (const struct mot_fault *f; (f = lasting(w, kind, at, &i));)
        if (f->amount > most && (hits(w, f, from) || hits(w, f, to))) most = f->amount;
    return most;
}

static bool blocked(const struct mot_weather *w, mot_node a, mot_node b, mot_time at)
{
    uint64_t i = oldest(w);
    for (const struct mot_fault *f; (f = lasting(w, MOT_FAULT_PARTITION, at, &i));)
        if (hits(w, f, a) != hits(w, f, b)) return true;
    return false;
}

static struct mot_link link_of(const struct mot_weather *w, mot_node node, mot_time at)
{
    struct mot_link link = w->cluster->machine[node].link;
    double factor = 1;
    uint64_t i = oldest(w);
    for (const struct mot_fault *f; (f = lasting(w, MOT_FAULT_SLOW_LINK, at, &i));)
        if (f->amount > factor && hits(w, f, node)) factor = f->amount;
    link.up /= factor;
    link.down /= factor;
    return link;
}

/* ---- Messages -------------------------------------------------------------------------------------- */

/* One try at `at`: whether the frame gets through, and by how much (*more) it is delayed. */
static bool gets_through(
    struct mot_weather *w, mot_node from, mot_node to, mot_time way, mot_time at, mot_time *more)
{
    struct mot_rng rng = mot_rng_at(w->seed, MOT_RNG_FRAME, w->frames++);
    bool drop = mot_rng_unit(&rng) < chance(w, MOT_FAULT_DROP, from, to, at);
    bool twice = mot_rng_unit(&rng) < chance(w, MOT_FAULT_DUPLICATE, from, to, at);
    bool late = mot_rng_unit(&rng) < chance(w, MOT_FAULT_REORDER, from, to, at);
    bool corrupt = mot_rng_unit(&rng) < chance(w, MOT_FAULT_CORRUPT, from, to, at);
    double by = mot_rng_unit(&rng);
    if (blocked(w, from, to, at)) {
        w->tally.cut++;
        return false;
    }
    w->tally.dropped += drop;
    if (drop) return false;
    w->tally.duplicated += twice; /* the copy is dropped unseen */
    w->tally.reordered += late;
    w->tally.corrupted += corrupt;
    if (corrupt) return false;
    mot_time least = way > HOLD_UP ? way : HOLD_UP;
    *more = late ? least + (mot_time)(3 * by * (double)least) : 0;
    return true;
}

mot_time mot_weather_send(
    struct mot_weather *w, struct mot_nic *nic, mot_node from, mot_node to, uint64_t bytes, mot_time now)
{
    bring_up_to(w, now);
    struct mot_link up = link_of(w, from, now), down = link_of(w, to, now);
    struct mot_transfer t = mot_network_pass(&up, &down, &nic[from], &nic[to], bytes, now);
    mot_time way = up.latency + down.latency, more = 0,
             wait = 6 * way > LEAST_TIMEOUT ? 6 * way : LEAST_TIMEOUT;
    mot_time most = w->conf->detect / 8 > wait ? w->conf->detect / 8 : wait, at = t.delivered;
    while (!gets_through(w, from, to, way, at - way, &more) && at < MOT_CLOCK_END) {
        w->tally.resent++;
        at = mot_after(at, wait);
        wait = 2 * wait < most ? 2 * wait : most;
    }
    at = mot_after(at, more);
    mot_time *last = &w->last[(size_t)from * w->nodes + to];
    if (at < *last) at = *last; /* in order: waits for what was sent earlier */
    return *last = at;
}

/* ---- Stalls ------------------------------------------------------------------------------------------- */

mot_time mot_weather_stall(struct mot_weather *w, mot_node node, mot_time now, mot_time *longer)
{
    bring_up_to(w, now);
    uint64_t i = w->seen[node] > oldest(w) ? w->seen[node] : oldest(w);
    *longer = 0;
    for (; i < w->begins; i++) {
        const struct mot_fault *f = &w->begun[i % KEPT];
        if (f->kind != MOT_FAULT_STALL || !hits(w, f, node)) continue;
        mot_time from = f->at > w->stalled[node] ? f->at : w->stalled[node],
                 until = mot_after(f->at, f->lasts);
        if (until <= from) continue;
        *longer += until - from;
        w->stalled[node] = until;
    }
    w->seen[node] = w->begins;
    return w->stalled[node] > now ? w->stalled[node] : 0;
}

struct mot_fault_tally mot_weather_tally(const struct mot_weather *w)
{
    return w ? w->tally : (struct mot_fault_tally){ 0 };
}
