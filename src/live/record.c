#include "live/record.h"
#include "base/bytes.h"
#include "base/file.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define MAGIC "MOTLEYRC"
#define VERSION 2u
/* Stored with an event's kind. ROWS: a message brings rows, and their part follows; of a job: where it was in
 * a stream follows. SCOPE: of a collective. */
#define SPOILT 0x80u
#define ROWS 0x40u
#define SCOPE 0x30u
#define SCOPE_SHIFT 4
#define NODES_MAX (1u << 20)
#define FILE_MAX ((size_t)1 << 36)
#define LEAST_EVENT 2u /* bytes: kind and time */

/* ---- Packing: seven bits a byte, the last one without its top bit ------------------------- */

static void put_number(struct mot_bytes *b, uint64_t x)
{
    unsigned char packed[10];
    size_t n = 0;
    for (; x >= 128; x >>= 7) packed[n++] = (unsigned char)(x | 128);
    packed[n++] = (unsigned char)x;
    mot_bytes_put(b, packed, n);
}

static bool get_number(struct mot_tape_reader *r, uint64_t *out)
{
    uint64_t x = 0;
    for (unsigned shift = 0; shift < 64 && r->at < r->end; shift += 7) {
        unsigned char c = *r->at++;
        if (shift == 63 && c > 1) return false;
        x |= (uint64_t)(c & 127) << shift;
        if (c < 128) {
            *out = x;
            return true;
        }
    }
    return false;
}

static bool get_small(struct mot_tape_reader *r, uint32_t *out)
{
    uint64_t x;
    if (!get_number(r, &x) || x > UINT32_MAX) return false;
    *out = (uint32_t)x;
    return true;
}

static bool get_bits(struct mot_tape_reader *r, uint64_t *out)
{
    if (r->end - r->at < 8) return false;
    memcpy(out, r->at, 8);
    r->at += 8;
    return true;
}

uint64_t mot_scalars_check(const double *scalar)
{
    return XXH64(scalar, MOT_SCALARS * sizeof(*scalar), 0) & UINT32_MAX; /* four bytes suffice */
}

/* ---- Tapes ----------------------------------------------------------------------------------- */

static void put_event(struct mot_bytes *b, const struct mot_event *e, bool streams)
{
    switch (e->kind) {
    case MOT_EV_START: return;
    case MOT_EV_MESSAGE:
        put_number(b, e->message->from);
        put_number(b, e->message->kind);
        put_number(b, e->message->head.round);
        put_number(b, e->message->head.samples);
        MOT_PUT(b, e->message->head.value);
        if (e->message->rows) put_number(b, e->message->rows - 1);
        return;
    case MOT_EV_PIECE: put_number(b, e->work->piece); /* fall through */
    case MOT_EV_WORK:
        put_number(b, e->work->tag);
        put_number(b, e->work->samples);
        MOT_PUT(b, e->work->loss);
        if (streams) put_number(b, e->work->draw);
        return;
    case MOT_EV_COLL:
        put_number(b, e->coll->tag);
        put_number(b, mot_scalars_check(e->coll->scalar));
        return;
    case MOT_EV_TIMER: put_number(b, e->timer); return;
    case MOT_EV_PEER:
        put_number(b, e->peer.node);
        put_number(b, (uint64_t)e->peer.life << 1 | e->peer.up);
        return;
    }
}

void mot_tape_put(struct mot_tape *t, mot_time now, const struct mot_event *e, bool streams)
{
    struct mot_bytes bytes = { t->at, t->n, t->room };
    streams = streams && (e->kind == MOT_EV_WORK || e->kind == MOT_EV_PIECE);
    bool rows = (e->kind == MOT_EV_MESSAGE && e->message->rows) || streams;
    unsigned scope = e->kind == MOT_EV_COLL ? (unsigned)e->coll->scope : 0;
    unsigned char kind =
        (unsigned char)(e->kind | scope << SCOPE_SHIFT | (t->spoilt ? SPOILT : 0) | (rows ? ROWS : 0));
    t->spoilt = false;
    mot_bytes_put(&bytes, &kind, 1);
    put_number(&bytes, now - t->last);
    put_event(&bytes, e, streams);
    t->at = bytes.at;
    t->n = bytes.n;
    t->room = bytes.room;
    t->last = now;
    t->events++;
}

void mot_tape_rewind(const struct mot_tape *t, struct mot_tape_reader *r)
{
    *r = (struct mot_tape_reader){ .at = t->at, .end = t->at ? t->at + t->n : NULL };
}

static bool get_event(struct mot_tape_reader *r, struct mot_taped *e)
{
    uint64_t number;
    uint32_t small;
    switch (e->kind) {
    case MOT_EV_START: return true;
    case MOT_EV_MESSAGE:
        if (!get_small(r, &e->from) || !get_small(r, &small) || small > UINT16_MAX) return false;
        e->message = (uint16_t)small;
        if (!get_number(r, &e->head.round) || !get_small(r, &e->head.samples) || !get_bits(r, &number))
            return false;
        memcpy(&e->head.value, &number, sizeof(number));
        if (e->rows == 0) return true;
        if (!get_small(r, &small) || small == UINT32_MAX) return false;
        e->rows = small + 1;
        return true;
    case MOT_EV_PIECE:
        if (!get_small(r, &e->piece)) return false; /* fall through */
    case MOT_EV_WORK:
        if (!get_small(r, &e->tag) || !get_small(r, &e->samples) || !get_bits(r, &e->check)) return false;
        return !e->streams || get_number(r, &e->draw);
    case MOT_EV_COLL: return get_small(r, &e->tag) && get_number(r, &e->check);
    case MOT_EV_TIMER: return get_small(r, &e->tag);
    case MOT_EV_PEER:
        if (!get_small(r, &e->peer.node) || !get_number(r, &number) || number >> 33) return false;
        e->peer.life = (uint32_t)(number >> 1);
        e->peer.up = number & 1;
        return true;
    }
    return false;
}

bool mot_tape_next(struct mot_tape_reader *r, struct mot_taped *out)
{
    uint64_t later;
    if (r->at == r->end) return false;
    unsigned kind = *r->at & ~(SPOILT | ROWS | SCOPE), spoilt = *r->at & SPOILT, rows = *r->at & ROWS,
             scope = (*r->at & SCOPE) >> SCOPE_SHIFT;
    if (kind > MOT_EV_PIECE || (spoilt && kind != MOT_EV_WORK && kind != MOT_EV_PIECE) ||
        (rows && kind != MOT_EV_MESSAGE && kind != MOT_EV_WORK && kind != MOT_EV_PIECE) ||
        scope >= (kind == MOT_EV_COLL ? MOT_COLL_SCOPES : 1))
        return false;
    r->at++;
    *out = (struct mot_taped){ .kind = (enum mot_event_kind)kind,
        .scope = (enum mot_coll_scope)scope,
        .spoilt = spoilt,
        .rows = rows && kind == MOT_EV_MESSAGE,
        .streams = rows && kind != MOT_EV_MESSAGE };
    if (!get_number(r, &later) || later > UINT64_MAX / 2 - r->now) return false;
    r->now += later;
    out->now = r->now;
    return get_event(r, out);
}

/* ---- Files ------------------------------------------------------------------------------------- */

struct head {
    char magic[8];
    uint32_t version, nodes;
    uint64_t hash, model_hash;
    uint32_t status, tapes;
};
struct tape_head {
    uint32_t node, spare;
    uint64_t events, bytes;
};
_Static_assert(
    sizeof(struct head) == 40 && sizeof(struct tape_head) == 24, "no padding: they are written as they lie");

void mot_record_open(struct mot_record *r, uint32_t nodes, uint64_t hash)
{
    *r = (struct mot_record){ .nodes = nodes,
        .hash = hash,
        .ends_at = mot_new(nodes, sizeof(*r->ends_at)),
        .tape = mot_new(nodes, sizeof(*r->tape)) };
}

void mot_record_close(struct mot_record *r)
{
    for (uint32_t i = 0; i < r->nodes; i++) free(r->tape[i].at);
    free(r->tape);
    free(r->ends_at);
    *r = (struct mot_record){ 0 };
}

enum mot_status mot_record_write(const struct mot_record *r, const char *path)
{
    struct mot_bytes out = { 0 };
    struct head head = { .version = VERSION,
        .nodes = r->nodes,
        .hash = r->hash,
        .model_hash = r->model_hash,
        .status = r->status };
    memcpy(head.magic, MAGIC, sizeof(head.magic));
    for (uint32_t i = 0; i < r->nodes; i++) head.tapes += r->tape[i].events > 0;
    MOT_PUT(&out, head);
    if (head.model_hash) mot_bytes_put(&out, r->ends_at, r->nodes * sizeof(*r->ends_at));
    for (uint32_t i = 0; i < r->nodes; i++) {
        const struct mot_tape *t = &r->tape[i];
        struct tape_head h = { .node = i, .events = t->events, .bytes = t->n };
        if (t->events == 0) continue;
        MOT_PUT(&out, h);
        mot_bytes_put(&out, t->at, t->n);
    }
    uint64_t sum = XXH64(out.at, out.n, 0);
    MOT_PUT(&out, sum);
    enum mot_status status = mot_file_replace(path, out.at, out.n);
    mot_bytes_free(&out);
    return status;
}

/* Whether every event of the tape can be read, and their number is as stated. */
static bool sound(const struct mot_tape *t, uint32_t nodes)
{
    struct mot_tape_reader r;
    struct mot_taped e;
    uint64_t n = 0;
    mot_tape_rewind(t, &r);
    while (mot_tape_next(&r, &e)) {
        if (e.kind == MOT_EV_MESSAGE && e.from >= nodes) return false;
        if (e.kind == MOT_EV_PEER && e.peer.node >= nodes) return false;
        n++;
    }
    return r.at == r.end && n == t->events;
}

static enum mot_status damaged(const char *name, const char *how)
{
    return mot_fail(MOT_EDATA, "%s: the record is damaged: %s", name, how);
}

static enum mot_status parse_tape(const char *name, struct mot_reader *in, struct mot_record *into)
{
    struct tape_head h;
    MOT_GET(in, h);
    if (in->short_of || h.node >= into->nodes || h.bytes > in->n - in->done ||
        h.events > h.bytes / LEAST_EVENT)
        return damaged(name, "a tape of the wrong size");
    struct mot_tape *t = &into->tape[h.node];
    if (t->events) return damaged(name, "two tapes for one node");
    t->at = mot_new(h.bytes + 1, 1);
    memcpy(t->at, in->at + in->done, h.bytes);
    t->n = t->room = h.bytes;
    in->done += h.bytes;
    t->events = h.events;
    return sound(t, into->nodes) ? MOT_OK : damaged(name, "an event that cannot be read");
}

enum mot_status mot_record_parse(
    const char *name, const unsigned char *bytes, size_t n, struct mot_record *into)
{
    struct head head;
    uint64_t sum;
    if (n < sizeof(head) + sizeof(sum) || memcmp(bytes, MAGIC, sizeof(head.magic)) != 0)
        return mot_fail(MOT_EDATA,
            "%s: not a record, or truncated; expected a record.bin from `motley train --record`", name);
    memcpy(&sum, bytes + n - sizeof(sum), sizeof(sum));
    if (XXH64(bytes, n - sizeof(sum), 0) != sum) return damaged(name, "its checksum does not match");
    struct mot_reader in = { .at = bytes, .n = n - sizeof(sum) };
    MOT_GET(&in, head);
    if (head.version != VERSION)
        return mot_fail(MOT_EDATA, "%s: record format %u; this motley reads %u", name, head.version, VERSION);
    if (head.nodes == 0 || head.nodes > NODES_MAX || head.tapes > head.nodes)
        return damaged(name, "an impossible number of nodes");
    if (!into->tape) mot_record_open(into, head.nodes, head.hash);
    if (head.nodes != into->nodes || head.hash != into->hash)
        return mot_fail(MOT_EDATA, "%s: belongs to a different run from the record's other files", name);
    if (head.model_hash) {
        into->model_hash = head.model_hash;
        into->status = head.status;
        mot_reader_get(&in, into->ends_at, into->nodes * sizeof(*into->ends_at));
        if (in.short_of) return damaged(name, "truncated");
    }
    enum mot_status status = MOT_OK;
    for (uint32_t i = 0; i < head.tapes && status == MOT_OK; i++) status = parse_tape(name, &in, into);
    if (status == MOT_OK && in.done != in.n) status = damaged(name, "it is longer than it says");
    return status;
}

static enum mot_status read_file(const char *path, struct mot_record *into)
{
    unsigned char *bytes;
    size_t n;
    enum mot_status status = mot_file_read(path, FILE_MAX, &bytes, &n);
    if (status != MOT_OK) return status;
    status = mot_record_parse(path, bytes, n, into);
    free(bytes);
    return status;
}

enum mot_status mot_record_read(const char *folder, uint64_t hash, struct mot_record *out)
{
    char *path = mot_path_join(folder, "record.bin");
    *out = (struct mot_record){ 0 };
    enum mot_status status = mot_file_exists(path)
        ? read_file(path, out)
        : mot_fail(MOT_EUSAGE,
              "%s: no such file; expected the folder of a run made with `motley train --record`", path);
    free(path);
    for (uint32_t i = 1; status == MOT_OK && i < out->nodes; i++) {
        char *name = mot_format("record.%u.bin", i);
        path = mot_path_join(folder, name);
        if (mot_file_exists(path)) status = read_file(path, out);
        free(path);
        free(name);
    }
    if (status == MOT_OK && hash && out->hash != hash)
        status = mot_fail(MOT_EREPRODUCE,
            "%s: recorded with a different experiment, data or initial model; its own experiment is "
            "experiment.yaml beside it",
            folder);
    if (status != MOT_OK) mot_record_close(out);
    return status;
}
