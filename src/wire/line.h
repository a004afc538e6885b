/* line.h -- what passes between two processes of a live run, and how one notices that the other is gone.
 *
 * Every message has an envelope: who sent it, in which of its lives, its number among the
 * messages of that life, and a checksum. A line is one end of the channel to one peer: it
 * numbers what goes out, and of what comes in lets each message through once, in order; what is of an
 * old life or was seen before is dropped, and what is missing or damaged breaks the link: a
 * transport that lost one message cannot be trusted with the next.
 *
 * Neither MPI library says that a rank has died, so silence must. Both sides give a sign of life
 * at least every MOT_BEAT_NS; any message is one. A line learns the mean and the mean deviation of
 * the gaps between signs, as TCP learns its time-out, and takes the peer for lost when a gap is eight times
 * longer than is usual (mean + 4 deviations), yet never before 2 s nor after 8 s. That is the one deadline
 * there is, and nobody has to set it. */
#ifndef MOT_WIRE_LINE_H
#define MOT_WIRE_LINE_H

#include <motley/method.h>

#define MOT_BEAT_NS UINT64_C(200000000)
#define MOT_SILENCE_MIN_NS UINT64_C(2000000000)
#define MOT_SILENCE_MAX_NS UINT64_C(8000000000)

enum mot_envelope_kind {
    MOT_ENVELOPE_HELLO = 1, /* to rank 0: what I have read; body: an error's text */
    MOT_ENVELOPE_VERDICT,   /* rank 0: whether we all have the same; body: an error's text */
    MOT_ENVELOPE_BEAT,      /* a sign of life */
    MOT_ENVELOPE_MESSAGE,   /* of a method */
    MOT_ENVELOPE_PART,      /* a range of an input of a sum, to the one who adds that range */
    MOT_ENVELOPE_SUM,       /* the range, added */
    MOT_ENVELOPE_TOKEN,     /* emulating: a step of the collective's schedule */
    MOT_ENVELOPE_END,       /* the run is over; to rank 0: end it */
    MOT_ENVELOPE_FINAL,     /* to rank 0: what I did; body: struct of ranks.c */
    MOT_ENVELOPE_BYE,       /* rank 0: all is written, leave */
    MOT_ENVELOPE_LOST,      /* rank 0: that rank is lost; told to the lost one too, should it wake */
    MOT_ENVELOPE_ASK,       /* rank 0: show your models, after the update that `sent` names */
    MOT_ENVELOPE_SHOW,      /* to rank 0: a node's model, or a buffer of its optimiser */
};

/* No padding: the checksum is over its bytes. */
struct mot_envelope {
    uint32_t magic;
    uint16_t kind, message; /* message: the method's kind */
    uint32_t life, status;
    uint64_t seq;
    mot_node from, to;          /* nodes; a rank where ranks are spoken of */
    uint64_t samples;           /* that node `from` has computed so far */
    uint64_t round;             /* of the head; of a collective: its number */
    double value;               /* of the head */
    uint32_t head_samples, tag; /* of the head; of a collective */
    uint32_t off, len;          /* the body: floats of a buffer */
    uint32_t last, step;        /* a collective after which all leave; a step of its schedule */
    double scalar[MOT_SCALARS];
    mot_time sent;            /* by the sender's clock of the run */
    mot_time lag, took;       /* emulating: how long it waits for the sender's up link, and keeps it */
    uint64_t bytes, body_sum; /* of the body; its XXH64, or 0 where it is not checked */
    uint64_t sum;             /* XXH64 of all above */
};
_Static_assert(sizeof(struct mot_envelope) == 160, "an envelope has no padding");

struct mot_line {
    uint32_t life, peer_life;       /* ours; the peer's: 0 until it is known */
    uint64_t sent, received;        /* numbers of the last ones */
    bool broken;                    /* lost: nothing goes through any more */
    mot_time heard, spoken;         /* the last sign of the peer; our last */
    double gap_mean, gap_deviation; /* of the peer's signs, ns */
};

void mot_line_open(struct mot_line *, uint32_t life, mot_time now);

/* Numbers and seals an envelope that goes out now. */
void mot_line_seal(struct mot_line *, struct mot_envelope *, mot_time now);

enum mot_line_verdict { MOT_LINE_ACCEPT, MOT_LINE_OLD, MOT_LINE_DUPLICATE, MOT_LINE_GAP, MOT_LINE_DAMAGED };
/* What to do with an envelope that came. GAP and DAMAGED break the channel. */
enum mot_line_verdict mot_line_receive(struct mot_line *, const struct mot_envelope *, mot_time now);

mot_time mot_line_patience(const struct mot_line *);         /* how much silence is too much */
bool mot_line_silent(const struct mot_line *, mot_time now); /* there was too much of it */
/* We were away for so long (stopped, swapped out) and could not have heard anything. */
void mot_line_excuse(struct mot_line *, mot_time away);

uint64_t mot_body_sum(const void *body, size_t bytes); /* never 0 */

#endif
