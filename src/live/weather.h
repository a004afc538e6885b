/* weather.h -- the faults of an emulated cluster.
 *
 * A live driver has no wire that could lose a frame, so what would happen to frames below the channel becomes
 * the delay that a method would see above it. Stalls, slow links and random faults come at the simulator's
 * times. There are no crashes, and no peer is given up: a thread cannot die alone, and a network partition,
 * however long, is only a delay. */
#ifndef MOT_LIVE_WEATHER_H
#define MOT_LIVE_WEATHER_H

#include "cluster/cluster.h"
#include "sim/network.h"
#include "run/outcome.h"

struct mot_weather;

/* MOT_EUSAGE if there are crashes or returns among the faults; *out is NULL without faults. */
enum mot_status mot_weather_open(const struct mot_cluster *, uint64_t seed, struct mot_weather **out);
void mot_weather_close(struct mot_weather *);

/* Not thread-safe. When a message handed over at `now` reaches the receiver's method; never before what
 * the same sender sent it earlier. */
mot_time mot_weather_send(
    struct mot_weather *, struct mot_nic *, mot_node from, mot_node to, uint64_t bytes, mot_time now);

/* Stalls of the node that began since it last asked: until when it must stand still (0: not at all), and
 * by how much its job is prolonged. */
mot_time mot_weather_stall(struct mot_weather *, mot_node, mot_time now, mot_time *longer);

struct mot_fault_tally mot_weather_tally(const struct mot_weather *);

#endif
