/* ranks_rows.c -- rows of data on their way from rank to rank.
 *
 * A message that brings rows is an envelope without a body (ROWS), which takes its place in the inbox at once
 * and so keeps the order of its pair; its rows follow in chunks (CHUNK), and the message is complete when the
 * last one is there. Memory may not hold a part twice, so it is never packed as a whole: chunks are packed as
 * earlier ones to that rank leave.
 *
 * Rows are written into the rank's own table, where jobs will look for them. Those that a node here already
 * holds, and all on rank 0, whose evaluations read the table meanwhile, are only compared with what is there:
 * a difference is damage. */
#include "base/memory.h"
#include "data/rows.h"
#include "wire/ranks_state.h"
#include <stdlib.h>

#define CHUNK_BYTES (UINT64_C(256) << 10) /* a longer row is a chunk of its own */
#define CHUNK_ROWS 1024u                  /* of samples, which have no place of their own in the part */
#define CHUNKS 2u                         /* being sent to one rank: one is packed while another leaves */

struct rows { /* of a part: all of them, or some samples */
    uint32_t part, n;
    bool given;
    uint64_t draw;
};

struct sending { /* rows that have yet to leave */
    struct sending *next;
    mot_node from, to;
    struct rows rows;
    uint32_t done; /* in chunks so far */
};

struct rows_to { /* one rank */
    struct sending *first, **last;
    struct {
        void *at;
        bool busy;
    } chunk[CHUNKS];
};

static const struct mot_table *table_of(const struct mot_ranks *p) { return &p->live.problem->data->train; }

static struct rows rows_of(const struct mot_envelope *e)
{
    return (struct rows){
        .part = e->message.off, .n = e->message.len, .given = e->message.given, .draw = e->message.draw
    };
}

/* The rows from `first` on, as many as make a chunk; `room` takes the row numbers of samples. */
static const uint32_t *chunk_of(const struct mot_ranks *p, const struct rows *r, uint32_t first,
    uint32_t room[CHUNK_ROWS], uint32_t *n_out)
{
    const struct mot_parts *parts = p->live.problem->sampler.parts;
    const uint32_t *row = parts->row + parts->at[r->part] + first;
    uint32_t most = r->n - first, n = 1;
    if (r->given) {
        if (most > CHUNK_ROWS) most = CHUNK_ROWS;
        mot_sample(&p->live.problem->sampler, r->part, r->draw, first, most, room);
        row = room;
    }
    uint64_t bytes = mot_rows_bytes(table_of(p), row, 1);
    while (n < most && (bytes += mot_rows_bytes(table_of(p), row + n, 1)) <= CHUNK_BYTES) n++;
    *n_out = n;
    return row;
}

/* ---- Sending ------------------------------------------------------------------------------- */

/* Tokens of chunks are the highest numbers, which no buffer has. */
static mot_buf token_of(uint32_t rank, uint32_t chunk) { return UINT32_MAX - (rank * CHUNKS + chunk); }

static void send_chunk(struct mot_ranks *p, uint32_t rank, uint32_t chunk)
{
    struct rows_to *to = &p->rows[rank];
    struct sending *s = to->first;
    uint32_t n, room[CHUNK_ROWS];
    const uint32_t *row = chunk_of(p, &s->rows, s->done, room, &n);
    struct mot_envelope e = mot_envelope_of(MOT_ENVELOPE_CHUNK);
    e.samples = atomic_load(&mot_ranks_hosted(p, s->from)->samples);
    e.bytes = mot_rows_bytes(table_of(p), row, n);
    e.chunk.from = s->from;
    e.chunk.to = s->to;
    e.chunk.part = s->rows.part;
    e.chunk.first = s->done;
    e.chunk.rows = n;
    if (!to->chunk[chunk].at) to->chunk[chunk].at = mot_new(1, p->chunk_most);
    mot_rows_pack(table_of(p), row, n, to->chunk[chunk].at);
    if (p->live.experiment->mpi.check_all) e.body_sum = mot_body_sum(to->chunk[chunk].at, e.bytes);
    to->chunk[chunk].busy = true;
    s->done += n;
    if (s->done == s->rows.n) {
        to->first = s->next;
        if (!to->first) to->last = &to->first;
        free(s);
    }
    mot_ranks_post(p, rank, &e, to->chunk[chunk].at, token_of(rank, chunk));
}

static void drop(struct rows_to *to)
{
    while (to->first) {
        struct sending *next = to->first->next;
        free(to->first);
        to->first = next;
    }
    to->last = &to->first;
}

static void send_chunks(struct mot_ranks *p, uint32_t rank)
{
    struct rows_to *to = &p->rows[rank];
    if (p->peer[rank].forgotten) drop(to);
    for (uint32_t k = 0; k < CHUNKS && to->first; k++)
        if (!to->chunk[k].busy) send_chunk(p, rank, k);
}

void mot_ranks_send_rows(struct mot_ranks *p, const struct mot_envelope *e)
{
    uint32_t rank = mot_ranks_of(p, e->message.to);
    struct rows_to *to = &p->rows[rank];
    if (e->message.len == 0) return; /* an empty part: the envelope says it all */
    struct sending *s = mot_new(1, sizeof(*s));
    *s = (struct sending){ .from = e->message.from, .to = e->message.to, .rows = rows_of(e) };
    *to->last = s;
    to->last = &s->next;
    send_chunks(p, rank);
}

bool mot_ranks_rows_sent(struct mot_ranks *p, mot_buf token)
{
    uint32_t index = UINT32_MAX - token, rank = index / CHUNKS;
    if (!p->rows || rank >= p->transport->ranks) return false;
    p->rows[rank].chunk[index % CHUNKS].busy = false;
    send_chunks(p, rank);
    return true;
}

void mot_ranks_rows_drop(struct mot_ranks *p)
{
    for (uint32_t r = 0; p->rows && r < p->transport->ranks; r++) drop(&p->rows[r]);
}

/* ---- Receiving ----------------------------------------------------------------------------- */

/* The first message of that pair that still lacks rows: announced, or here. */
static struct letter *unfinished(struct mot_ranks *p, const struct mot_envelope *e, bool announced)
{
    struct hosted *b = mot_ranks_hosted(p, e->chunk.to);
    for (struct letter *l = b ? b->first : NULL; l; l = l->next) {
        uint32_t have = announced ? l->rows_announced : l->rows_here;
        if (l->envelope.kind == MOT_ENVELOPE_ROWS && l->rank != p->transport->rank &&
            l->from == e->chunk.from && have < l->envelope.message.len)
            return l;
    }
    return NULL;
}

bool mot_ranks_expect_chunk(struct mot_ranks *p, struct letter *l)
{
    const struct mot_envelope *e = &l->envelope;
    struct letter *message = mot_ranks_is_of(p, e->chunk.from, l->rank) ? unfinished(p, e, true) : NULL;
    if (!message || e->chunk.part != message->envelope.message.off ||
        e->chunk.first != message->rows_announced || e->chunk.unused != 0)
        return false;
    struct rows rows = rows_of(&message->envelope);
    uint32_t n, room[CHUNK_ROWS];
    const uint32_t *row = chunk_of(p, &rows, e->chunk.first, room, &n);
    if (e->chunk.rows != n || e->bytes != mot_rows_bytes(table_of(p), row, n)) return false;
    message->rows_announced += e->chunk.rows;
    l->body = mot_new(1, e->bytes);
    l->owned = true;
    return true;
}

static bool held_here(const struct mot_ranks *p, uint32_t part)
{
    for (uint32_t i = 0; i < p->hosts; i++) {
        const struct mot_actor *a = &p->hosted[i].node.actor;
        if (a->self >= p->live.world.workers || mot_actor_holds(a, part)) return true;
    }
    return false;
}

bool mot_ranks_chunk_came(struct mot_ranks *p, const struct letter *l)
{
    const struct mot_envelope *e = &l->envelope;
    struct letter *message = unfinished(p, e, false);
    if (!message) return true; /* its sender is lost */
    struct rows rows = rows_of(&message->envelope);
    uint32_t n, room[CHUNK_ROWS];
    const uint32_t *row = chunk_of(p, &rows, e->chunk.first, room, &n);
    bool held = rows.given ? mot_ranks_hosted(p, rows.part) != NULL : held_here(p, e->chunk.part);
    bool fresh = p->options->own_rows && p->transport->rank != 0 && !held;
    /* The table is ours alone: see mot_driver_options.own_rows. */
    struct mot_table *table = (struct mot_table *)(uintptr_t)table_of(p);
    if (fresh ? !mot_rows_unpack(table, row, e->chunk.rows, l->body)
              : !mot_rows_same(table, row, e->chunk.rows, l->body))
        return false;
    message->rows_here += e->chunk.rows;
    message->here = message->rows_here == message->envelope.message.len;
    return true;
}

/* ---- Setting up and taking down ------------------------------------------------------------ */

void mot_ranks_rows_open(struct mot_ranks *p)
{
    const struct mot_table *t = table_of(p);
    if ((!p->live.world.part_bytes && !p->live.experiment->traits.shares) || p->profiles) return;
    p->rows = mot_new(p->transport->ranks, sizeof(*p->rows));
    for (uint32_t r = 0; r < p->transport->ranks; r++) p->rows[r].last = &p->rows[r].first;
    p->chunk_most = CHUNK_BYTES;
    for (uint32_t row = 0; row < t->rows; row++) {
        uint64_t bytes = mot_rows_bytes(t, &row, 1);
        if (bytes > p->chunk_most) p->chunk_most = bytes;
    }
    if (p->body_most < p->chunk_most) p->body_most = p->chunk_most;
}

void mot_ranks_rows_close(struct mot_ranks *p)
{
    for (uint32_t r = 0; p->rows && r < p->transport->ranks; r++) {
        drop(&p->rows[r]);
        for (uint32_t k = 0; k < CHUNKS; k++) free(p->rows[r].chunk[k].at);
    }
    free(p->rows);
    p->rows = NULL;
}
