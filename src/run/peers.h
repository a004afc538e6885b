/* peers.h -- maps of random peers, kept while they are in use: one serves all nodes of a process, so a round
 * of n nodes costs n draws a segment, not n squared. */
#ifndef MOT_RUN_PEERS_H
#define MOT_RUN_PEERS_H

#include <motley/method.h>

/* Room for `maps` of them among up to `nodes` nodes. NULL if memory is refused. */
struct mot_peer_maps *mot_peer_maps_open(uint32_t maps, uint32_t nodes);
void mot_peer_maps_close(struct mot_peer_maps *);           /* NULL is fine */
uint64_t mot_peer_maps_drawn(const struct mot_peer_maps *); /* so far */

#endif
