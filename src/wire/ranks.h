/* ranks.h -- the driver over ranks: each rank hosts a worker, and rank 0 the server too.
 *
 * Rank 0 leads: it judges, writes and prints, and it alone declares ranks lost. The others watch only rank
 * 0; without it there is nothing to go on with. Each rank works on one thread. A second thread, the
 * keeper, gives signs of life while the first computes, reads data or writes.
 *
 * A transport (transport.h) carries the messages. Handles share nothing. */
#ifndef MOT_WIRE_RANKS_H
#define MOT_WIRE_RANKS_H

#include "live/threads.h"
#include "wire/transport.h"

struct mot_ranks;

/* Joins the other ranks, and settles on kernels that all of them have. *out is open whatever is returned,
 * and owns the transport from now on: mot_ranks_leave tells the others of an error. */
enum mot_status mot_ranks_open(struct mot_transport *, struct mot_ranks **out);
uint32_t mot_ranks_rank(const struct mot_ranks *);  /* of NULL: 0, as for a single process */
uint32_t mot_ranks_count(const struct mot_ranks *); /* of NULL: 0 */
uint32_t mot_ranks_here(const struct mot_ranks *);  /* on this machine */

/* Whether this many ranks can run the experiment. */
enum mot_status mot_ranks_fit(const struct mot_experiment *, uint32_t ranks);
/* The same for a profile, which has one rank per worker and none for a server. */
enum mot_status mot_ranks_fit_profile(const struct mot_experiment *, uint32_t ranks);

/* Every rank reports how its preparations went and what it has read. All get the same status; the message
 * names the first rank that failed or differs from rank 0. */
enum mot_status mot_ranks_agree(struct mot_ranks *, enum mot_status mine, uint64_t hash);

/* Like mot_threads_profile, but for workers only: *out has no server node. On rank 0 *out is open if
 * MOT_OK is returned; the others get rank 0's status when it leaves, and nothing to close. Losing a rank
 * is an error. */
enum mot_status mot_ranks_profile(
    struct mot_ranks *, const struct mot_driver_options *, struct mot_profile *out);

/* Call when rank 0 has written its files: all leave. Frees the handle and the transport. False: ranks were
 * lost, and the transport may still write to memory of ours that was not freed: end the process with
 * _exit. */
bool mot_ranks_leave(struct mot_ranks *, enum mot_status);

#endif
