/* network.h -- links whose NICs carry one message at a time in each direction.
 *
 * A message of B bytes starts when the sender's up link and the receiver's down link are both free. It
 * occupies the up link for B/up and the down link for B/down, each for its own time, and is delivered when
 * the slower of the two is done, plus both latencies. A sender's messages leave in the order in which they
 * are handed over. A receiver takes them as they come: a message may pass others whose senders are still
 * busy, if it is done before they start. */
#ifndef MOT_SIM_NETWORK_H
#define MOT_SIM_NETWORK_H

#include "cluster/cluster.h"

#define MOT_GAPS 24u /* idle times that a NIC remembers; more would only let some messages go earlier */
struct mot_gap {
    mot_time from, to;
};
struct mot_nic {
    mot_time up_free, down_free; /* when all that was handed over is done */
    uint64_t gaps;
    struct mot_gap gap[MOT_GAPS]; /* of the down link, before down_free; in order */
};
/* Forgets what it was sending and receiving. */
void mot_nic_reset(struct mot_nic *, mot_time now);
struct mot_transfer {
    mot_time began, delivered;
};

struct mot_transfer mot_network_send(const struct mot_cluster *, struct mot_nic *nic, mot_node from,
    mot_node to, uint64_t bytes, mot_time now);

/* The same over the given links. */
struct mot_transfer mot_network_pass(const struct mot_link *out, const struct mot_link *in,
    struct mot_nic *from, struct mot_nic *to, uint64_t bytes, mot_time now);

/* The same in two halves, for drivers whose nodes share no clock. The sender's half reserves the up link and
 * tells how long the message waits for it; the receiver's half, given when the message arrived, tells when it
 * is delivered. */
struct mot_departure {
    mot_time lag, took;
};
struct mot_departure mot_network_leave(
    const struct mot_cluster *, struct mot_nic *mine, mot_node from, uint64_t bytes, mot_time now);
mot_time mot_network_arrive(const struct mot_cluster *, struct mot_nic *mine, mot_node from, mot_node to,
    uint64_t bytes, struct mot_departure, mot_time now);

#endif
