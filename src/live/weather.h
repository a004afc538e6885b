/* weather.h -- the faults of a cluster for drivers that run for real and emulate it.
 *
 * Such a driver has no wire that could lose a frame: what frames would suffer below the
 * channel becomes the delay that a method would see above it. Stalls, slow links and random
 * faults come at the times of the simulator's. There are no crashes and nobody is given up: a
 * thread cannot die alone, and a partition, however long, is only a delay. */
#ifndef MOT_LIVE_WEATHER_H
#define MOT_LIVE_WEATHER_H

#include "cluster/cluster.h"
#include "sim/network.h"
#include "run/outcome.h"

struct mot_weather;

/* MOT_EUSAGE if the faults have crashes or returns in them; *out is NULL if there are no faults. */
enum mot_status mot_weather_open(const struct mot_cluster *, uint64_t seed, struct mot_weather **out);
void mot_weather_close(struct mot_weather *);

/* Not for several threads at once. A message that is handed over at `now`: when it reaches the
 * receiver's method, no sooner than what the same sender sent it before. */
mot_time mot_weather_send(
    struct mot_weather *, struct mot_nic *, mot_node from, mot_node to, uint64_t bytes, mot_time now);

/* Stalls of the node that began since it last asked: until when it must not move (0: it may),
 * and for how much longer its job takes. */
mot_time mot_weather_stall(struct mot_weather *, mot_node, mot_time now, mot_time *longer);

struct mot_fault_tally mot_weather_tally(const struct mot_weather *);

#endif
