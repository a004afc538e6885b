/* ranks_held.c -- records held out for evaluations, on their way to rank 0, which evaluates.
 *
 * A rank sends those that its own reservoir keeps before it says where its worker is in its stream. So what
 * comes before a checkpoint's place is on its way, and nearly always there, when the checkpoint is written.
 * Until the reservoir is full, these are all records that are held out; later they are ever fewer. */
#include "base/bytes.h"
#include "base/memory.h"
#include "live/rings.h"
#include "wire/ranks_state.h"
#include <stdlib.h>
#include <string.h>

#define BODY_BYTES (UINT64_C(256) << 10) /* of rows sent at once; a longer row is sent alone */

static struct mot_reservoir *reservoir_of(const struct mot_ranks *p)
{
    return p->live.rings ? mot_rings_reservoir(p->live.rings) : NULL;
}

/* The most bytes of a body: whole rows, at least one. */
static uint64_t body_most(const struct mot_ranks *p)
{
    uint64_t each = mot_reservoir_row_bytes(reservoir_of(p));
    return BODY_BYTES > each ? BODY_BYTES / each * each : each;
}

/* Tokens are numbers that no buffer has, nor any chunk of rows: chunks have the highest. */
#define FIRST_TOKEN (UINT32_MAX / 4 * 3)
static mot_buf token_of(uint32_t slot) { return FIRST_TOKEN - slot; }

static uint32_t free_slot(struct mot_ranks *p)
{
    uint32_t slot = 0;
    while (slot < p->held_slots && p->held[slot]) slot++;
    if (slot < p->held_slots) return slot;
    p->held = mot_grow(p->held, p->held_slots + 1, sizeof(*p->held));
    return p->held_slots++;
}

static void send_body(struct mot_ranks *p, const unsigned char *rows, uint64_t bytes)
{
    uint32_t slot = free_slot(p);
    struct mot_envelope e = mot_envelope_of(MOT_ENVELOPE_HELD);
    p->held[slot] = mot_new(bytes, 1);
    memcpy(p->held[slot], rows, bytes);
    e.samples = atomic_load(&p->hosted[0].samples);
    e.bytes = bytes;
    e.body_sum = mot_body_sum(p->held[slot], bytes);
    mot_ranks_post(p, 0, &e, p->held[slot], token_of(slot));
}

void mot_ranks_send_held(struct mot_port *port)
{
    struct mot_ranks *p = ((struct hosted *)port)->ranks;
    struct mot_bytes rows;
    if (!reservoir_of(p) || p->transport->rank == 0) return;
    mot_reservoir_waiting(reservoir_of(p), &rows);
    for (uint64_t at = 0, most = body_most(p); at < rows.n; at += most)
        send_body(p, rows.at + at, rows.n - at < most ? rows.n - at : most);
    mot_bytes_free(&rows);
}

void mot_ranks_held_open(struct mot_ranks *p)
{
    if (!reservoir_of(p) || p->transport->rank == 0 || p->profiles) return;
    mot_reservoir_forward(reservoir_of(p));
}

bool mot_ranks_held_sent(struct mot_ranks *p, mot_buf token)
{
    uint32_t slot = FIRST_TOKEN - token;
    if (slot >= p->held_slots) return false;
    free(p->held[slot]);
    p->held[slot] = NULL;
    return true;
}

void mot_ranks_held_close(struct mot_ranks *p)
{
    for (uint32_t i = 0; i < p->held_slots; i++) free(p->held[i]);
    free(p->held);
    p->held = NULL;
    p->held_slots = 0;
}

bool mot_ranks_expect_held(struct mot_ranks *p, struct letter *l)
{
    const struct mot_envelope *e = &l->envelope;
    l->stale = p->phase == PHASE_AFTER;
    if (p->phase == PHASE_BEFORE || !reservoir_of(p) || e->body_sum == 0 || e->bytes == 0 ||
        e->bytes > body_most(p))
        return false;
    l->body = mot_new(1, e->bytes);
    l->owned = true;
    return true;
}

bool mot_ranks_held_came(struct mot_ranks *p, const struct letter *l)
{
    struct mot_reservoir *r = reservoir_of(p);
    if (!mot_reservoir_fits(r, l->body, l->envelope.bytes)) return false;
    mot_reservoir_add(r, l->body, l->envelope.bytes);
    return true;
}
