/* peers.h -- draws who receives from whom in a round of random peers, for methods' peer maps (run/peers.h)
 * and for what is said about them beforehand. */
#ifndef MOT_BASE_PEERS_H
#define MOT_BASE_PEERS_H

#include <motley/method.h>

/* from[i]: the source of node i, of n >= 2 nodes. A function of the arguments. */
void mot_peers_draw(
    enum mot_peer_draw, uint32_t n, uint64_t seed, uint64_t round, uint32_t segment, mot_node *from);

#endif
