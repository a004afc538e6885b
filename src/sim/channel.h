/* channel.h -- the network of a simulated run with faults.
 *
 * A channel sits between methods and links: what a method sends arrives exactly once and in order for each
 * pair and life, or the peer is given up. Below it, frames are dropped, duplicated, delayed, damaged and
 * cut off. A run without faults has no channel: sim->channel is NULL and messages go straight over the
 * links. */
#ifndef MOT_SIM_CHANNEL_H
#define MOT_SIM_CHANNEL_H

#include "sim/state.h"

/* Something sent and not yet settled; index 0 means none. */
struct sim_item {
    struct mot_message m; /* for a step of a collective only from and to are set */
    uint64_t seq, bytes;
    mot_time left;                   /* when its last frame has left the sender */
    uint32_t conn, next, queue_next; /* connection; next item on it; next among those held back */
    uint32_t generation;             /* of its timeout */
    uint32_t frames, tries;          /* copies in flight; transmissions so far */
    uint32_t step;
    uint16_t instance; /* of the collective */
    bool collective, used, held, arrived, delivered, acked, gone;
};

/* One direction of a pair, between two lives. Its items form a list in order of their numbers. */
struct sim_conn {
    /* next number; how many arrived in order; what the acknowledgement in flight says */
    uint64_t seq, arrived, ack;
    /* items: oldest unacknowledged; next to arrive, to deliver; newest */
    uint32_t first, arrive, deliver, last;
    /* the item whose frame the acknowledgement in flight answers; 0: several */
    uint32_t echo;
    uint32_t generation; /* events of a closed connection are void */
    bool known, acking, ack_again, delivering;
    mot_time srtt, rttvar; /* smoothed round trips, as in TCP (Jacobson, 1988) */
};

struct sim_health {       /* of a node */
    uint32_t life, joins; /* joins: generation of its return event */
    /* told: peers know of its loss; cut: given up, not crashed; wants_join: waits for a way back */
    bool told, cut, wants_join;
    /* in a later life. entered: it has a model again; counts: and has made as many updates as the run */
    bool entered, counts;
    enum mot_fault_kind lost_by;
    mot_time lost_at;
    struct mot_ledger ledger; /* buffers its state holds */
};

enum fault_phase { FAULT_BEGIN, FAULT_END, FAULT_CUT, FAULT_ARRIVAL };
enum fault_state { FAULT_IDLE, FAULT_PENDING, FAULT_ACTIVE };
struct sim_fault {
    struct mot_fault f;
    uint32_t state, generation;
};
#define RANDOM_SLOTS 16u /* random faults of one kind that can overlap */

struct sim_channel {
    const struct mot_faults *conf;
    struct sim_item *item; /* [items + 1] */
    /* free: head of a list; out: transmitted and not settled, at most `limit` */
    uint32_t items, free, limit, out;
    uint32_t held_first, held_last; /* queue of items held back by `limit` */
    /* [nodes * nodes]: from * nodes + to; only those used are touched */
    struct sim_conn *conn;
    uint32_t *known, knowns;           /* connections in use */
    struct sim_health *health;         /* [nodes] */
    struct sim_fault *fault;           /* the listed ones, then RANDOM_SLOTS of each random kind */
    uint32_t faults, *active, actives; /* active: indices of the current ones */
    struct mot_rng arrivals[MOT_FAULTS_RANDOM];
    uint64_t misses; /* random faults that found nobody to hit */
    uint64_t frames; /* sent so far; seeds each frame's fate */
    struct mot_fault_tally tally;
};

/* channel.c */
uint64_t mot_channel_items(const struct mot_needs *, const struct mot_experiment *, const struct mot_world *);
uint64_t mot_channel_events(
    const struct mot_needs *, const struct mot_experiment *, const struct mot_world *);
uint64_t mot_channel_bytes(const struct mot_needs *, const struct mot_experiment *, const struct mot_world *);
enum mot_status mot_channel_open(struct sim *, const struct mot_needs *);
void mot_channel_close(struct sim *);
void mot_channel_frame(struct sim *, const struct mot_pending *);
void mot_channel_ack(struct sim *, const struct mot_pending *);
void mot_channel_deliver(struct sim *, uint32_t conn);
void mot_channel_resend(struct sim *, uint32_t item);
void mot_channel_forget(struct sim *, mot_node); /* closes its connections, both ways */
bool mot_channel_live(const struct sim *, const struct mot_pending *);

/* faults.c */
bool mot_faults_blocked(const struct sim *, mot_node, mot_node);
double mot_faults_chance(const struct sim *, enum mot_fault_kind, mot_node from, mot_node to);
double mot_faults_slow(const struct sim *, mot_node);
void mot_faults_give_up(struct sim *, mot_node from, mot_node to); /* all resends to a peer have failed */

#endif
