/* summary.c -- a run's result as JSON: summary.json, and what --json
 * prints. docs/run-folder.md names every key. */
#include "report/report.h"

#include "base/memory.h"
#include "config/version.h"
#include "math/kernels.h"
#include "report/json.h"
#include "report/learned.h"
#include "report/parts.h"
#include "report/tally.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static void set(json_t *object, const char *key, json_t *value) { mot_json_set(object, key, value); }

static json_t *uint_json(uint64_t value)
{
    return value <= INT64_MAX ? json_integer((json_int_t)value) : json_real((double)value);
}

static void set_uint(json_t *object, const char *key, uint64_t value) { set(object, key, uint_json(value)); }

static void set_time(json_t *object, const char *key, mot_time ns)
{
    set(object, key, json_real((double)ns / 1e9));
}

/* A figure that only few methods have. */
static void set_known(json_t *object, const char *key, double value)
{
    if (!isnan(value)) set(object, key, mot_json_number(value));
}

static void set_text(json_t *object, const char *key, const char *text)
{
    json_t *value = text ? mot_json_string(text) : NULL;
    set(object, key, value ? value : json_null());
}

static void set_score(json_t *object, const struct mot_score *s)
{
    set(object, "train_loss", mot_json_number(s->train_loss));
    set(object, "train_accuracy", mot_json_number(s->train_accuracy));
    set(object, "valid_loss", mot_json_number(s->valid_loss));
    set(object, "valid_accuracy", mot_json_number(s->valid_accuracy));
    set(object, "test_loss", mot_json_number(s->test_loss));
    set(object, "test_accuracy", mot_json_number(s->test_accuracy));
    set(object, "grad_norm", mot_json_number(s->grad_norm));
}

static json_t *target_json(const struct mot_experiment *e, const struct mot_outcome *o)
{
    if (e->stop.target == MOT_TARGET_NONE) return json_null();
    json_t *target = json_object();
    set_text(target, "kind", mot_target_name(e->stop.target));
    set(target, "value", mot_json_number(e->stop.value));
    set(target, "reached", json_boolean(o->target.reached));
    if (o->target.reached) {
        set_time(target, "time_s", o->target.at);
        set_uint(target, "updates", o->target.updates);
    } else {
        set(target, "time_s", json_null());
        set(target, "updates", json_null());
    }
    return target;
}

/* What became of the samples that arrived: at a worker, or at all of them. */
static json_t *stream_json(const struct mot_experiment *e, const struct mot_feed_tally *t, bool from_source)
{
    json_t *stream = json_object();
    set_uint(stream, "arrived", t->arrived);
    set_uint(stream, "used", t->used);
    set_uint(stream, "dropped", t->dropped);
    set_uint(stream, "waiting", t->waiting);
    set_uint(stream, "most_waiting", t->most);
    if (t->spilled) set_uint(stream, "most_in_storage", t->spilled);
    set_time(stream, "starved_s", t->starved);
    set_time(stream, "oldest_s", t->oldest);
    if (from_source) {
        set_uint(stream, "malformed", t->malformed);
        set_uint(stream, "held_out", t->held);
        set_uint(stream, "lag", t->lag);
        set_uint(stream, "stalls", t->stalls);
    }
    if (from_source && e->source.sequence) {
        set_uint(stream, "missing", t->missing);
        set_uint(stream, "repeated", t->repeated);
    }
    return stream;
}

static json_t *nodes_json(
    const struct mot_experiment *e, const struct mot_outcome *o, uint32_t first, uint32_t n)
{
    json_t *list = json_array();
    for (uint32_t i = first; i < first + n; i++) {
        const struct mot_node_tally *t = &o->node[i];
        json_t *node = json_object();
        set_uint(node, "id", i);
        set_text(node, "name", mot_machine_name(e, o, i));
        set_time(node, "compute_s", t->compute);
        set_time(node, "wait_s", t->wait);
        set_time(node, "send_s", t->send);
        set_uint(node, "updates", t->updates);
        set_uint(node, "samples", t->samples);
        set_uint(node, "jobs", t->jobs);
        set_uint(node, "bytes_sent", t->bytes_sent);
        if (t->rows_bytes) set_uint(node, "rows_bytes", t->rows_bytes);
        set_uint(node, "messages", t->messages_sent);
        if (o->last.streams && i < o->workers) set(node, "stream", stream_json(e, &t->feed, o->from_source));
        mot_json_add(list, node);
    }
    return list;
}

/* Over the workers: median and worst seconds, and the worst worker (the first if several tie). */
static json_t *spread_json(const struct mot_outcome *o, size_t field)
{
    json_t *spread = json_object();
    double *seconds = mot_new(o->workers ? o->workers : 1, sizeof *seconds);
    uint32_t worst = 0;
    for (uint32_t i = 0; i < o->workers; i++) {
        seconds[i] = (double)*(const mot_time *)((const char *)&o->node[i] + field) / 1e9;
        if (seconds[i] > seconds[worst]) worst = i;
    }
    set(spread, "median_s", mot_json_number(mot_median(seconds, o->workers)));
    set(spread, "worst_s", o->workers ? json_real(seconds[worst]) : json_null());
    set(spread, "worker", o->workers ? json_integer(worst) : json_null());
    free(seconds);
    return spread;
}

static json_t *waits_json(const struct mot_outcome *o)
{
    json_t *waits = json_object();
    set(waits, "compute", spread_json(o, offsetof(struct mot_node_tally, compute)));
    set(waits, "wait", spread_json(o, offsetof(struct mot_node_tally, wait)));
    set(waits, "send", spread_json(o, offsetof(struct mot_node_tally, send)));
    return waits;
}

static json_t *notes_json(const struct mot_outcome *o)
{
    json_t *notes = json_object();
    for (uint32_t i = 0; i < o->notes && i < MOT_NOTES_MAX; i++) {
        const struct mot_note_tally *t = &o->note[i];
        json_t *note = json_object();
        set_uint(note, "count", t->count);
        set(note, "sum", mot_json_number(t->sum));
        set(note, "mean", t->count ? mot_json_number(t->sum / (double)t->count) : json_null());
        set(note, "max", t->count ? mot_json_number(t->max) : json_null());
        set(notes, t->key, note);
    }
    return notes;
}

/* Who sent how much to whom: nodes, or the first of each group of nodes counted together. */
static json_t *traffic_json(const struct mot_traffic *t)
{
    json_t *traffic = json_object(), *list = json_array();
    const struct mot_blocks *b = &t->blocks;
    for (uint32_t from = 0; from < b->in_all; from++)
        for (uint32_t to = 0; to < b->in_all; to++) {
            const struct mot_sent *sent = &t->sent[(size_t)from * b->in_all + to];
            mot_node first[2], last;
            if (sent->messages == 0) continue;
            mot_block_nodes(b, from, &first[0], &last);
            mot_block_nodes(b, to, &first[1], &last);
            json_t *entry = json_array();
            mot_json_add(entry, uint_json(first[0]));
            mot_json_add(entry, uint_json(first[1]));
            mot_json_add(entry, uint_json(sent->bytes));
            mot_json_add(entry, uint_json(sent->messages));
            mot_json_add(list, entry);
        }
    set_uint(traffic, "nodes_together", UINT64_C(1) << b->shift);
    set(traffic, "sent", list);
    return traffic;
}

/* For each part, the updates that missed it. */
static json_t *missed_json(const struct mot_outcome *o)
{
    json_t *list = json_array();
    for (uint32_t j = 0; j < o->parts; j++) mot_json_add(list, uint_json(o->missed[j]));
    return list;
}

/* [[from, to, count], ...]: bounds inclusive, empty bins left out. */
static json_t *histogram_json(const struct mot_histogram *h)
{
    json_t *list = json_array();
    for (uint32_t bin = 0; bin < MOT_HISTOGRAM_BINS; bin++) {
        if (h->count[bin] == 0) continue;
        uint64_t first, last;
        mot_histogram_bounds(bin, &first, &last);
        json_t *entry = json_array();
        mot_json_add(entry, uint_json(first));
        mot_json_add(entry, uint_json(last));
        mot_json_add(entry, uint_json(h->count[bin]));
        mot_json_add(list, entry);
    }
    return list;
}

static json_t *staleness_json(const struct mot_outcome *o)
{
    const struct mot_note_tally *t = mot_note_find(o, "staleness");
    json_t *staleness = json_object();
    set(staleness, "mean", t && t->count ? mot_json_number(t->sum / (double)t->count) : json_null());
    set(staleness, "max", t && t->count ? mot_json_number(t->max) : json_null());
    set(staleness, "histogram", t && t->count ? histogram_json(&o->staleness) : json_null());
    return staleness;
}

/* The model kept in best.safetensors, if there is a validation part to choose it by. */
static json_t *best_json(const struct mot_outcome *o)
{
    if (!o->best) return json_null();
    json_t *best = json_object();
    set_uint(best, "updates", o->best_updates);
    set_score(best, &o->best_score);
    return best;
}

/* Faults, and what the channel did about them; null if none were asked for. */
static json_t *faults_json(const struct mot_outcome *o)
{
    const struct mot_fault_tally *t = &o->faults;
    if (!o->has_faults) return json_null();
    json_t *faults = json_object();
    set_uint(faults, "dropped", t->dropped);
    set_uint(faults, "duplicated", t->duplicated);
    set_uint(faults, "reordered", t->reordered);
    set_uint(faults, "corrupted", t->corrupted);
    set_uint(faults, "cut", t->cut);
    set_uint(faults, "resent", t->resent);
    set_uint(faults, "poisoned", t->poisoned);
    set_uint(faults, "crashes", t->crashes);
    set_uint(faults, "restarts", t->restarts);
    set_uint(faults, "given_up", t->given_up);
    set_uint(faults, "stalls", t->stalls);
    set_uint(faults, "partitions", t->partitions);
    set_uint(faults, "slow_links", t->slow_links);
    return faults;
}

/* The node whose loss ended the run. */
static json_t *peer_json(const struct mot_experiment *e, const struct mot_outcome *o)
{
    if (!o->has_peer) return json_null();
    json_t *peer = json_object();
    set_uint(peer, "id", o->peer);
    set_text(peer, "name", mot_machine_name(e, o, o->peer));
    set_text(peer, "role", o->peer < o->workers ? "worker" : "server");
    set_text(peer, "lost_by", o->peer_by);
    if (o->peer_by) set_time(peer, "time_s", o->peer_at);
    else set(peer, "time_s", json_null());
    return peer;
}

/* How far parts differ at the start and at the end, and what the start meant for the run. */
static json_t *heterogeneity_json(const struct mot_experiment *e, const struct mot_outcome *o)
{
    const struct mot_score *last = &o->last.score;
    double share = o->start.known ? o->start.batch_share : NAN;
    struct mot_heterogeneity first = { NAN, NAN };
    if (o->start.known) first = (struct mot_heterogeneity){ o->start.zeta2, o->start.sigma2 };
    struct mot_parts_differ start = mot_parts_differ(first, share),
                            end = mot_parts_differ(
                                (struct mot_heterogeneity){ last->zeta2, last->sigma2 }, share);
    char words[256];
    struct mot_parts_cut cut = { o->workers, mot_batch_of_all(e), e->shared_parts };
    if (e->shared_parts) cut.parts = e->traits.parts;
    mot_parts_words(&start, &cut, true, words, sizeof words);
    json_t *all = json_object();
    set(all, "start", mot_parts_json(&start));
    set(all, "end", mot_parts_json(&end));
    set_text(all, "words", *words ? words : NULL);
    return all;
}

json_t *mot_summary_json(
    const struct mot_experiment *e, const struct mot_outcome *o, const char *driver, const char *folder)
{
    const struct mot_moment *last = &o->last;
    char hash[17];
    snprintf(hash, sizeof hash, "%016" PRIx64, o->model_hash);
    json_t *s = json_object();
    set_text(s, "method", e->method ? e->method->name : NULL);
    set_text(s, "driver", driver);
    set_text(s, "version", MOT_VERSION);
    set_text(s, "kernels", mot_kernels_name());
    set_uint(s, "workers", o->workers);
    set_uint(s, "servers", o->servers);
    if (e->shared_parts) set_uint(s, "parts", e->traits.parts);
    set_uint(s, "seed", e->seed);
    set_text(s, "status", mot_status_name(o->status));
    set_text(s, "ended_by", o->ended_by);
    set_uint(s, "updates", last->updates);
    set_uint(s, "steps", last->steps);
    set_uint(s, "samples", last->samples);
    if (last->computed) set_uint(s, "computed_samples", last->computed);
    set(s, "epochs", mot_json_number(last->epochs));
    set_time(s, "time_s", last->now);
    if (mot_priced_per(e, o)) set_text(s, "per", mot_priced_per(e, o));
    set(s, "wall_s", mot_json_number(o->wall_s));
    set_score(s, &last->score);
    set(s, "chance_accuracy", o->chance.rows ? mot_json_number(o->chance.accuracy) : json_null());
    enum mot_learned learned = mot_learned(e, o);
    set(s, "learned", learned == MOT_LEARNED_UNKNOWN ? json_null() : json_boolean(learned == MOT_LEARNED));
    char *remedy = mot_remedy(e, o);
    if (remedy) set_text(s, "remedy", remedy);
    free(remedy);
    set_uint(s, "bytes_sent", last->bytes_sent);
    if (last->rows_bytes) set_uint(s, "rows_bytes", last->rows_bytes);
    set_uint(s, "messages", last->messages);
    set_uint(s, "events", last->events);
    if (last->streams) {
        struct mot_feed_tally all = mot_streams_of(o);
        json_t *stream = stream_json(e, &all, o->from_source);
        if (o->held.judges) set_uint(stream, "test_rows", o->held.rows);
        if (o->trouble) {
            set_uint(stream, "troubled", o->troubled);
            set_text(stream, "trouble", o->trouble);
        }
        set(s, "stream", stream);
    }
    set_known(s, "consensus", last->mixed.consensus);
    set_known(s, "drift", last->mixed.drift);
    set_known(s, "mass", last->mixed.mass);
    set_text(s, "model_hash", hash);
    set(s, "target", target_json(e, o));
    set(s, "best", best_json(o));
    set(s, "peer", peer_json(e, o));
    set(s, "faults", faults_json(o));
    set(s, "staleness", staleness_json(o));
    set(s, "heterogeneity", heterogeneity_json(e, o));
    set(s, "waits", waits_json(o));
    set(s, "notes", notes_json(o));
    if (o->missed) set(s, "missed_by_part", missed_json(o));
    set(s, "worker", nodes_json(e, o, 0, o->workers));
    set(s, "server", nodes_json(e, o, o->workers, o->servers));
    if (o->traffic.sent && last->messages) set(s, "traffic", traffic_json(&o->traffic));
    char *verdict = mot_verdict(e, o);
    set_text(s, "verdict", verdict);
    free(verdict);
    set_text(s, "folder", folder);
    return s;
}
