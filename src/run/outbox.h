/* outbox.h -- the effects of a step, in the order the method asked for them. */
#ifndef MOT_RUN_OUTBOX_H
#define MOT_RUN_OUTBOX_H

#include "compress/compress.h"
#include <motley/method.h>

enum mot_effect_kind {
    MOT_FX_SEND,
    MOT_FX_FORGET,
    MOT_FX_START,
    MOT_FX_CANCEL,
    MOT_FX_COLLECT,
    MOT_FX_ALARM,
    MOT_FX_ADVANCE,
    MOT_FX_ENTER,
    MOT_FX_CREDIT,
    MOT_FX_NOTE,
    MOT_FX_STOP,
};

struct mot_effect {
    enum mot_effect_kind kind;
    union {
        struct mot_message message;
        struct mot_work work; /* term points into the outbox */
        struct mot_coll coll;
        struct {
            uint32_t tag;
            mot_time at;
        } alarm; /* MOT_FX_CANCEL uses its tag */
        struct {
            const char *key;
            double value;
        } note;
        mot_node credit;
        uint64_t updates; /* MOT_FX_ENTER */
        uint32_t part;    /* MOT_FX_FORGET */
        enum mot_status stop;
    };
};

/* The buffers that a node's state holds, one entry per hold: these are dropped when the node is lost. */
struct mot_ledger {
    mot_buf *held;
    uint32_t n, max;
};

struct mot_outbox {
    struct mot_effect *effect;
    uint32_t n, max;
    struct mot_term *term;
    uint32_t terms, terms_max;
    uint64_t used;             /* added by mot_used: known before the step's updates are */
    uint64_t mixed, stepped;   /* floats summed or edited, and stepped by the optimiser: they may cost time */
    struct mot_ledger *ledger; /* of the node being stepped; NULL: not kept */
    struct mot_press press;    /* room for compressors, of so many floats; NULL: none */
    uint32_t press_dim;
};

/* The most effects that a node with this need can have in one step. */
uint32_t mot_outbox_room(const struct mot_need *);
enum mot_status mot_outbox_open(struct mot_outbox *, uint32_t effects, uint32_t terms);
/* Room for compressors, in runs that have one. */
enum mot_status mot_outbox_open_press(struct mot_outbox *, uint32_t dim);
void mot_outbox_close(struct mot_outbox *);
static inline void mot_outbox_clear(struct mot_outbox *o)
{
    o->n = o->terms = 0;
    o->used = o->mixed = o->stepped = 0;
}

/* Enters a buffer that the node holds from now on into its ledger, if there is one. */
void mot_enter_buffer(struct mot_env *, mot_buf);

/* The last optimiser step and its result. Where all replicas hold the same model (allreduce), each asks
 * for the same step: the simulator computes it once and gives every node the same buffers. Holds its
 * buffers; flush drops them. */
struct mot_memo {
    bool set;
    struct mot_params in, out;
    struct mot_slice grad;
    double scale, lr_factor;
};
void mot_memo_flush(struct mot_memo *, struct mot_pool *);
#define MOT_MEMO_BUFFERS 7

#endif
