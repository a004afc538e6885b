/* played.h -- a whole run of an experiment given by keys and values, and what tests ask about it. */
#ifndef MOT_TEST_PLAYED_H
#define MOT_TEST_PLAYED_H

#include "../run/run.h"
#include "report/tally.h"
#include "run/traffic.h"

/* A problem small enough to be run many times, and workers of two speeds. */
#define TINY_MLP                                                                                             \
    "data", "digits", "model", "mlp", "model.hidden", "[16]", "evaluate.train", "end", "evaluate.every",     \
        "1000000 updates"
#define TWO_SPEEDS                                                                                           \
    "cluster",                                                                                               \
        "{workers: [{count: 5, speed: 20000 samples/s}, {count: 3, speed: 4000 samples/s}], network: "       \
        "{latency: 10us}}"

#define PLAYED_MOST 64u /* workers whose own figures are kept */

struct result {
    enum mot_status status;
    uint64_t hash, updates, steps, messages, bytes, samples, parameters;
    mot_time now;
    double loss, drift, consensus, mass;
    double lost, dropped; /* notes: neighbours_lost, dropped_segments */
    char ended_by[16];
    bool has_peer;
    mot_node peer;
    uint64_t jobs[PLAYED_MOST], sent[PLAYED_MOST],
        got[PLAYED_MOST]; /* by worker, if there are no more; bytes */
};

__attribute__((unused)) static double noted(const struct run *r, const char *key)
{
    const struct mot_note_tally *t = mot_note_find(&r->out, key);
    return t ? t->sum : 0;
}

__attribute__((unused)) static struct result play(
    const struct mot_driver *driver, bool emulate, const char *const *settings)
{
    struct run r = { .ways = { .driver = driver, .emulate = emulate } };
    run_set_all(&r, settings);
    run_go(&r);
    struct result x = { .status = r.status };
    if (r.status == MOT_OK) {
        const struct mot_outcome *o = &r.out;
        const struct mot_moment *m = &o->last;
        x = (struct result){ .status = o->status,
            .hash = o->model_hash,
            .updates = m->updates,
            .steps = m->steps,
            .messages = m->messages,
            .bytes = m->bytes_sent,
            .samples = m->samples,
            .parameters = r.job.net.parameters,
            .now = m->now,
            .loss = m->score.train_loss,
            .drift = m->mixed.drift,
            .consensus = m->mixed.consensus,
            .mass = m->mixed.mass,
            .lost = noted(&r, "neighbours_lost"),
            .dropped = noted(&r, "dropped_segments"),
            .has_peer = o->has_peer,
            .peer = o->peer };
        snprintf(x.ended_by, sizeof(x.ended_by), "%s", o->ended_by);
        for (mot_node i = 0; i < o->workers && o->workers <= PLAYED_MOST; i++) {
            x.jobs[i] = o->node[i].jobs;
            x.sent[i] = o->node[i].bytes_sent;
            for (mot_node to = 0; to < o->workers; to++)
                x.got[to] += mot_traffic_row(&o->traffic, i)[to].bytes;
        }
    }
    run_free(&r);
    return x;
}

#define SIM(...) play(&mot_driver_sim, false, (const char *const[]){ __VA_ARGS__, NULL })
#define THREADS(...) play(&mot_driver_threads, false, (const char *const[]){ __VA_ARGS__, NULL })

/* A number as a value of an experiment; four at a time. */
__attribute__((unused)) static const char *text_of(uint32_t n)
{
    static char text[4][16];
    static int next;
    char *t = text[next++ % 4];
    snprintf(t, sizeof text[0], "%u", n);
    return t;
}

#endif
