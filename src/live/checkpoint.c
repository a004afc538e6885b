#include "base/bytes.h"
#include "base/file.h"
#include "base/memory.h"
#include "compress/compress.h"
#include "live/node.h"
#include "live/rings.h"
#include "math/optim.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define MAGIC "MOTLEYLV"
#define VERSION 10u

struct fit { /* MOT_LIVE_HEAD bytes */
    char magic[8];
    uint32_t version, nodes, workers, dim, slots, keeps;
    uint64_t hash;
};

_Static_assert(sizeof(struct fit) == MOT_LIVE_HEAD, "a fit has no padding");

static struct fit fit_of(const struct mot_live *l)
{
    const struct mot_world *w = &l->world;
    struct fit f = { .version = VERSION,
        .nodes = w->nodes,
        .workers = w->workers,
        .dim = w->dim,
        .slots = l->slots,
        .keeps = l->experiment->method->keep != NULL,
        .hash = l->hash };
    memcpy(f.magic, MAGIC, sizeof(f.magic));
    return f;
}

static bool leaves_floats(const struct mot_live *l)
{
    return mot_live_has_rests(l) && l->world.compress->feedback == MOT_FEEDBACK_EF;
}

/* Of each worker, for each server; the floats are those of the server's range. */
static void put_rests(struct mot_bytes *b, const struct mot_live *l, const struct mot_live_rest *rest)
{
    for (uint32_t i = 0; i < l->world.workers * l->world.servers; i++) {
        struct mot_live_rest r = rest ? rest[i] : (struct mot_live_rest){ 0 };
        MOT_PUT(b, r.packs);
        MOT_PUT(b, r.lost);
        MOT_PUT(b, r.weight);
        uint32_t floats = mot_live_range(l, MOT_NO_BUF, i % l->world.servers).len;
        if (r.weight > 0) mot_bytes_put(b, r.x, floats * sizeof(float));
    }
}

struct mot_bytes mot_live_pack(const struct mot_live *l, const struct mot_live_checkpoint *c)
{
    const struct mot_world *w = &l->world;
    struct mot_bytes b = { 0 };
    struct fit f = fit_of(l);
    MOT_PUT(&b, f);
    MOT_PUT(&b, c->updates);
    MOT_PUT(&b, c->samples);
    MOT_PUT(&b, c->computed);
    MOT_PUT(&b, c->mark);
    MOT_PUT(&b, c->now);
    MOT_PUT(&b, c->step);
    MOT_PUT(&b, c->out_of_data);
    MOT_PUT(&b, c->target.met);
    MOT_PUT(&b, c->target.score);
    MOT_PUT(&b, c->target.at);
    MOT_PUT(&b, c->target.updates);
    uint32_t has_best = c->best.x != NULL;
    MOT_PUT(&b, has_best);
    if (has_best) {
        MOT_PUT(&b, c->best.score);
        MOT_PUT(&b, c->best.updates);
        mot_bytes_put(&b, c->best.x, w->dim * sizeof(float));
    }
    mot_bytes_put(&b, c->draw, w->workers * sizeof(*c->draw));
    uint32_t streams = c->cursor != NULL;
    MOT_PUT(&b, streams);
    if (streams) mot_bytes_put(&b, c->cursor, w->workers * sizeof(*c->cursor));
    MOT_PUT(&b, c->held_bytes);
    mot_bytes_put(&b, c->held, c->held_bytes);
    uint32_t kept = c->word != NULL;
    MOT_PUT(&b, kept);
    if (kept) mot_bytes_put(&b, c->word, w->nodes * sizeof(*c->word));
    MOT_PUT(&b, c->models);
    for (uint32_t i = 0; i < c->models; i++) {
        mot_bytes_put(&b, c->model[i].x, w->dim * sizeof(float));
        for (uint32_t s = 0; s < f.slots; s++) mot_bytes_put(&b, c->model[i].slot[s], w->dim * sizeof(float));
    }
    if (mot_live_has_rests(l)) put_rests(&b, l, c->rest);
    uint64_t sum = XXH64(b.at, b.n, 0);
    MOT_PUT(&b, sum);
    return b;
}

enum mot_status mot_live_save(const char *path, const struct mot_live *l, const struct mot_live_checkpoint *c)
{
    struct mot_bytes b = mot_live_pack(l, c);
    enum mot_status status = mot_file_replace(path, b.at, b.n);
    mot_bytes_free(&b);
    return status;
}

static float *read_floats(struct mot_reader *r, uint32_t n)
{
    float *x = mot_new_large(n, sizeof(*x));
    if (x) mot_reader_get(r, x, n * sizeof(*x));
    else r->short_of = true;
    return x;
}

/* False: nobody can have had that left. */
static bool read_rests(struct mot_reader *r, const struct mot_live *l, struct mot_live_rest *rest)
{
    for (uint32_t i = 0; i < l->world.workers * l->world.servers; i++) {
        MOT_GET(r, rest[i].packs);
        MOT_GET(r, rest[i].lost);
        MOT_GET(r, rest[i].weight);
        double weight = rest[i].weight;
        if (r->short_of || !isfinite(weight) || weight < 0 || signbit(weight)) return false;
        if (weight == 0) continue;
        if (!leaves_floats(l)) return false;
        rest[i].x = read_floats(r, mot_live_range(l, MOT_NO_BUF, i % l->world.servers).len);
    }
    return true;
}

static enum mot_status read_from(const char *path, const unsigned char *bytes, size_t n,
    const struct mot_live *l, const struct fit *want, struct mot_live_checkpoint *c)
{
    struct fit have;
    uint64_t sum;
    if (n < sizeof(have) + sizeof(sum) || memcmp(bytes, MAGIC, 8) != 0)
        return mot_fail(MOT_EDATA,
            "%s: not a checkpoint of a live run (%zu bytes); motley sim resumes those of simulated runs",
            path, n);
    memcpy(&sum, bytes + n - sizeof(sum), sizeof(sum));
    if (sum != XXH64(bytes, n - sizeof(sum), 0))
        return mot_fail(MOT_EDATA, "%s: damaged: its checksum does not match its %zu bytes", path, n);
    struct mot_reader r = { .at = bytes, .n = n - sizeof(sum) };
    MOT_GET(&r, have);
    if (have.version != want->version)
        return mot_fail(
            MOT_EDATA, "%s: checkpoint format %u; this motley reads %u", path, have.version, want->version);
    if (memcmp(&have, want, sizeof(have)) != 0)
        return mot_world_refuse(&l->world, path, have.workers, have.dim);
    MOT_GET(&r, c->updates);
    MOT_GET(&r, c->samples);
    MOT_GET(&r, c->computed);
    MOT_GET(&r, c->mark);
    MOT_GET(&r, c->now);
    MOT_GET(&r, c->step);
    MOT_GET(&r, c->out_of_data);
    MOT_GET(&r, c->target.met);
    MOT_GET(&r, c->target.score);
    MOT_GET(&r, c->target.at);
    MOT_GET(&r, c->target.updates);
    uint32_t has_best = 0, streams = 0, kept = 0, models = 0;
    MOT_GET(&r, has_best);
    if (has_best) {
        MOT_GET(&r, c->best.score);
        MOT_GET(&r, c->best.updates);
        c->best.x = read_floats(&r, want->dim);
    }
    c->draw = mot_new(want->workers, sizeof(*c->draw));
    mot_reader_get(&r, c->draw, want->workers * sizeof(*c->draw));
    MOT_GET(&r, streams);
    if (streams) {
        c->cursor = mot_new(want->workers, sizeof(*c->cursor));
        mot_reader_get(&r, c->cursor, want->workers * sizeof(*c->cursor));
    }
    MOT_GET(&r, c->held_bytes);
    if (c->held_bytes > r.n - r.done)
        return mot_fail(MOT_EDATA, "%s: not a checkpoint that this motley wrote", path);
    if (c->held_bytes) {
        c->held = mot_new_large(c->held_bytes, 1);
        if (!c->held) return mot_memory_status();
        mot_reader_get(&r, c->held, c->held_bytes);
    }
    MOT_GET(&r, kept);
    if (kept) {
        c->word = mot_new(want->nodes, sizeof(*c->word));
        mot_reader_get(&r, c->word, want->nodes * sizeof(*c->word));
    }
    MOT_GET(&r, models);
    if (has_best > 1 || streams > 1 || kept > want->keeps || (models != 1 && models != want->workers))
        return mot_fail(MOT_EDATA, "%s: not a checkpoint that this motley wrote", path);
    c->models = models;
    c->model = mot_new(models, sizeof(*c->model));
    for (uint32_t i = 0; i < models && !r.short_of; i++) {
        c->model[i].x = read_floats(&r, want->dim);
        for (uint32_t s = 0; s < want->slots; s++) c->model[i].slot[s] = read_floats(&r, want->dim);
    }
    bool rests = mot_live_has_rests(l), good = true;
    if (rests) {
        c->rest = mot_new_large((size_t)l->world.workers * l->world.servers, sizeof(*c->rest));
        if (!c->rest) return mot_memory_status();
        c->rests = l->world.workers * l->world.servers;
    }
    if (rests) good = read_rests(&r, l, c->rest);
    if (!good || r.short_of || r.done != r.n)
        return mot_fail(MOT_EDATA, "%s: not a checkpoint that this motley wrote", path);
    return MOT_OK;
}

enum mot_status mot_live_unpack(const char *path, const unsigned char *bytes, size_t n,
    const struct mot_live *l, struct mot_live_checkpoint *out)
{
    struct fit want = fit_of(l);
    struct mot_live_checkpoint c = { 0 };
    enum mot_status status = read_from(path, bytes, n, l, &want, &c);
    const struct mot_reservoir *held = l->rings ? mot_rings_reservoir(l->rings) : NULL;
    if (status == MOT_OK && held && !mot_reservoir_fits(held, c.held, c.held_bytes))
        status = mot_fail(MOT_EDATA, "%s: not a checkpoint that this motley wrote", path);
    if (mot_memory_refused()) status = mot_memory_status();
    if (status == MOT_OK) *out = c;
    else mot_live_checkpoint_free(&c);
    return status;
}

enum mot_status mot_live_load(const char *path, const struct mot_live *l, struct mot_live_checkpoint *out)
{
    unsigned char *bytes;
    size_t n;
    enum mot_status status = mot_file_read(path, SIZE_MAX, &bytes, &n);
    if (status != MOT_OK) return status;
    status = mot_live_unpack(path, bytes, n, l, out);
    free(bytes);
    return status;
}

void mot_live_checkpoint_free(struct mot_live_checkpoint *c)
{
    free(c->draw);
    free(c->cursor);
    free(c->held);
    free(c->word);
    free((void *)c->best.x);
    for (uint32_t i = 0; c->model && i < c->models; i++) {
        free((void *)c->model[i].x);
        for (int s = 0; s < MOT_LIVE_SLOTS; s++) free((void *)c->model[i].slot[s]);
    }
    free(c->model);
    for (uint32_t i = 0; i < c->rests; i++) free((void *)c->rest[i].x);
    free(c->rest);
    *c = (struct mot_live_checkpoint){ 0 };
}
