/* outbox.h -- the effects of a step, in the order the method asked for them. */
#ifndef MOT_RUN_OUTBOX_H
#define MOT_RUN_OUTBOX_H

#include <motley/method.h>

enum mot_effect_kind {
    MOT_FX_SEND,
    MOT_FX_START,
    MOT_FX_CANCEL,
    MOT_FX_COLLECT,
    MOT_FX_ALARM,
    MOT_FX_ADVANCE,
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
        } alarm; /* and cancel: tag */
        struct {
            const char *key;
            double value;
        } note;
        mot_node credit;
        enum mot_status stop;
    };
};

/* The buffers that a node's state holds, one entry a hold: what is to be dropped when the node is gone. */
struct mot_ledger {
    mot_buf *held;
    uint32_t n, max;
};

struct mot_outbox {
    struct mot_effect *effect;
    uint32_t n, max;
    struct mot_term *term;
    uint32_t terms, terms_max;
    struct mot_ledger *ledger; /* of the node whose step runs; NULL: nobody wants to know */
};

/* The room that a node with this need can fill in one step. */
uint32_t mot_outbox_room(const struct mot_need *);
void mot_outbox_open(struct mot_outbox *, uint32_t effects, uint32_t terms);
void mot_outbox_close(struct mot_outbox *);
static inline void mot_outbox_clear(struct mot_outbox *o) { o->n = o->terms = 0; }

/* The last optimiser step and what came of it. Where all replicas hold the same
 * model (allreduce), each asks for the same step; the simulator computes it once
 * and gives every node the same buffers. Holds its buffers; flush drops them. */
struct mot_memo {
    bool set;
    struct mot_params in, out;
    struct mot_slice grad;
    double scale, lr_factor;
};
void mot_memo_flush(struct mot_memo *, struct mot_pool *);
#define MOT_MEMO_BUFFERS 7

#endif
