/* network.h -- links where each NIC carries one message at a time each way.
 *
 * A message of B bytes starts when the sender's up link and the receiver's down
 * link are both free, in the order in which messages are handed over; it keeps
 * the up link for B/up and the down link for B/down, each for its own time, and
 * is delivered when the slower of the two is done, plus both latencies. */
#ifndef MOT_SIM_NETWORK_H
#define MOT_SIM_NETWORK_H

#include "cluster/cluster.h"

struct mot_nic {
    mot_time up_free, down_free;
};
struct mot_transfer {
    mot_time began, delivered;
};

struct mot_transfer mot_network_send(const struct mot_cluster *, struct mot_nic *nic, mot_node from,
    mot_node to, uint64_t bytes, mot_time now);

/* The same over links that are given. */
struct mot_transfer mot_network_pass(const struct mot_link *out, const struct mot_link *in,
    struct mot_nic *from, struct mot_nic *to, uint64_t bytes, mot_time now);

/* The same in two halves, for drivers whose nodes do not share a clock: the sender's NIC says how long the
 * message waits for the up link and keeps it; the receiver's, from when it came, when it is delivered. */
struct mot_departure {
    mot_time lag, took;
};
struct mot_departure mot_network_leave(
    const struct mot_cluster *, struct mot_nic *mine, mot_node from, uint64_t bytes, mot_time now);
mot_time mot_network_arrive(const struct mot_cluster *, struct mot_nic *mine, mot_node from, mot_node to,
    uint64_t bytes, struct mot_departure, mot_time now);

#endif
