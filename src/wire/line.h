/* line.h -- what passes between two processes of a live run, and how one notices that the other is lost.
 *
 * Every message has an envelope: its kind, the sender's life, its number within that life, and a checksum.
 * A line is one end of the channel to one peer. It numbers outgoing messages and lets each incoming one
 * through once, in order. Messages of an old life and duplicates are dropped; a missing or damaged one
 * breaks the link, since a transport that lost one message cannot be trusted with the next.
 *
 * Neither MPI library reports that a rank has died, so silence must. Both sides give a sign of life at
 * least every MOT_BEAT_NS; any message counts. A line learns the mean and the mean deviation of the gaps
 * between signs, as TCP learns its timeout, and declares the peer lost after a gap eight times the usual
 * one (mean + 4 deviations), but never before 2 s nor after 8 s. This is the only deadline, and nobody has
 * to set it. */
#ifndef MOT_WIRE_LINE_H
#define MOT_WIRE_LINE_H

#include <motley/method.h>

#define MOT_BEAT_NS UINT64_C(200000000)
#define MOT_SILENCE_MIN_NS UINT64_C(2000000000)
#define MOT_SILENCE_MAX_NS UINT64_C(8000000000)

/* The comment on each kind begins with its member of the envelope's union. */
enum mot_envelope_kind {
    MOT_ENVELOPE_HELLO = 1, /* hello. To rank 0: hash of what I have read; body: an error's text */
    MOT_ENVELOPE_VERDICT,   /* verdict. From rank 0: whether all have read the same; body: an error's text */
    MOT_ENVELOPE_BEAT,      /* a sign of life */
    MOT_ENVELOPE_MESSAGE,   /* message. From a method */
    MOT_ENVELOPE_PART,      /* range. Part of a sum's input, to the worker that adds that range */
    MOT_ENVELOPE_SUM,       /* range. The sum of a range; or what a root spreads */
    MOT_ENVELOPE_TOKEN,     /* token. Emulating: a step of a collective */
    MOT_ENVELOPE_END,       /* the run is over; to rank 0: end it */
    MOT_ENVELOPE_FINAL,     /* final. To rank 0: what one of my nodes did; body: struct rank_final */
    MOT_ENVELOPE_BYE,       /* verdict. From rank 0: everything is written, leave */
    MOT_ENVELOPE_LOST,      /* lost. From rank 0: that rank is lost; sent to it too, in case it wakes */
    MOT_ENVELOPE_BLAME,     /* lost. To rank 0: why I cannot go on with that rank */
    MOT_ENVELOPE_ASK,       /* ask. From rank 0: show your models */
    MOT_ENVELOPE_SHOW,      /* show. To rank 0: a node's model, or another buffer of its checkpoint */
    MOT_ENVELOPE_ROWS,      /* message. From a method: rows of a part; they follow in chunks */
    MOT_ENVELOPE_CHUNK,     /* chunk. Some of these rows; body: as data/rows.h packs them */
    MOT_ENVELOPE_WANT,      /* want. From a server: what had your worker left for me? (live/rests.h) */
    MOT_ENVELOPE_REST,      /* rest. To rank 0: that; body: the floats of the server's range, or nothing */
    MOT_ENVELOPE_HELD,      /* to rank 0: records held out for evaluations; body: as a reservoir packs them */
    MOT_ENVELOPE_KINDS
};

/* MOVED: its last buffer is what mixing moved it by. */
enum mot_show_flag { MOT_SHOW_LAST = 1, MOT_SHOW_ASKED = 2, MOT_SHOW_MOVED = 4, MOT_SHOW_FLAGS = 8 };

/* All kinds have the same size, and no part has padding: the checksum covers the raw bytes. Start from
 * mot_envelope_of and copy with memcpy, so that unused bytes of the union are 0. */
struct mot_envelope {
    /* The kind is stored twice, once inverted: a message mistaken for another kind would go missing
     * unnoticed. */
    uint32_t magic, kind, life, kind_turned;
    uint64_t seq;
    uint64_t samples; /* computed so far by the node concerned, or by the sender's worker */
    /* where that worker is in its stream, as a struct mot_place; 0 without one */
    uint64_t arrived, used, dropped, malformed, held, cursor, sub, number;
    uint64_t paced;           /* how far that worker is at its own pace, as in live.h; else 0 */
    uint64_t bytes, body_sum; /* of the body; its XXH64, or 0: not checked */
    union {
        unsigned char raw[128];
        struct {
            uint64_t hash;
            uint32_t status, unused;
        } hello;
        struct {
            uint32_t status, unused;
        } verdict;
        struct {
            mot_node from, to;
            uint32_t kind, samples; /* the method's kind; from the head */
            uint64_t round;         /* of the head */
            double value;           /* of the head */
            uint32_t off, len;      /* the body: floats of a buffer; ROWS: the part, and its rows */
            mot_time sent;          /* on the sender's run clock */
            mot_time lag, took; /* emulating: how long it waits for the sender's up link, and occupies it */
            uint64_t draw;      /* ROWS: only len samples of the part, from there on; else 0 */
            uint32_t given, packed; /* 1: such samples; the body is a packet of these floats. Else 0 */
            uint64_t taken;         /* from a server: `took` of struct mot_arrival; else 0 */
        } message;
        struct {
            mot_node from, to;
            uint32_t part, first, rows, unused; /* first: among the part's rows */
        } chunk;
        struct {
            mot_node from, to, owner; /* owner: who adds the range */
            uint32_t tag, len, last;  /* len: floats of the whole; last: all leave after this collective */
            uint64_t number;
            double scalar[MOT_SCALARS];
            uint32_t off;            /* of the whole, in a buffer */
            uint16_t scope, coll;    /* coll: enum mot_coll_kind */
            uint32_t packed, unused; /* packed: 1, the body is a packet of the whole; else 0 */
        } range;
        struct {
            mot_node from, to;
            uint32_t tag, len, step;
            uint16_t scope, coll;
            uint64_t number, bytes; /* bytes: what the step would send */
            mot_time lag, took;
        } token;
        struct {
            mot_node node;
            uint32_t unused;
        } final;
        struct {
            uint32_t rank, by; /* by: enum mot_lost_by */
        } lost;
        struct {
            uint64_t number, at; /* at: the first update after which to show */
        } ask;
        struct {
            mot_node worker, server;
            uint32_t flags, unused; /* of enum mot_show_flag: LAST, ASKED */
            uint64_t number, at;    /* after so many messages; for models shown at this update */
        } want;
        struct {
            mot_node worker, server;
            uint32_t flags, none; /* as in `want`; 1: it is not known */
            uint64_t at, packs;
            double weight, lost;
        } rest;
        struct {
            mot_node node;
            uint32_t off, len;
            uint8_t buffer, buffers; /* 0: the model; how many in all */
            uint8_t flags, unused;   /* of enum mot_show_flag */
            uint64_t updates, step, at, events;
            double scale, mass;
            uint64_t word[MOT_KEPT_WORDS]; /* of struct mot_kept */
        } show;
    };
    uint64_t sum; /* XXH64 of all above */
};
_Static_assert(sizeof(struct mot_envelope) == 256, "an envelope has no padding");

/* LINK: the transport says that nothing more can come from it */
enum mot_lost_by { MOT_LOST_DEATH, MOT_LOST_SILENCE, MOT_LOST_DAMAGE, MOT_LOST_LINK, MOT_LOST_WAYS };

struct mot_envelope mot_envelope_of(enum mot_envelope_kind);
void mot_envelope_seal(struct mot_envelope *); /* sets the checksum of its present contents */

struct mot_line {
    uint32_t life, peer_life;       /* ours; the peer's, 0 until known */
    uint64_t sent, received;        /* numbers of the last messages */
    bool broken;                    /* lost: nothing passes any more */
    mot_time heard, spoken;         /* last sign of the peer; our last */
    double gap_mean, gap_deviation; /* between signs of the peer, ns */
};

void mot_line_open(struct mot_line *, uint32_t life, mot_time now);

/* Numbers and seals an outgoing envelope. */
void mot_line_seal(struct mot_line *, struct mot_envelope *, mot_time now);

enum mot_line_verdict { MOT_LINE_ACCEPT, MOT_LINE_OLD, MOT_LINE_DUPLICATE, MOT_LINE_GAP, MOT_LINE_DAMAGED };
/* What to do with an incoming envelope. GAP and DAMAGED break the channel. */
enum mot_line_verdict mot_line_receive(struct mot_line *, const struct mot_envelope *, mot_time now);

mot_time mot_line_patience(const struct mot_line *);         /* the longest silence tolerated */
bool mot_line_silent(const struct mot_line *, mot_time now); /* it has been silent for longer */
/* We were away for this long (stopped, swapped out) and could not have heard anything. */
void mot_line_excuse(struct mot_line *, mot_time away);

uint64_t mot_body_sum(const void *body, size_t bytes); /* never 0 */

#endif
