/* ranks.h -- the driver over ranks: a process hosts a worker, rank 0 the server besides.
 *
 * Rank 0 leads: it judges, writes and prints, and it alone says who is lost. The others watch
 * only rank 0; when it is gone there is nothing to go on with. Each process works on one thread; a
 * second one, the keeper, gives signs of life while the first computes, reads data or writes. */
#ifndef MOT_WIRE_RANKS_H
#define MOT_WIRE_RANKS_H

#include "live/threads.h"

bool mot_ranks_built(void);

/* Joins the other ranks, and settles on kernels that all of them have. */
enum mot_status mot_ranks_open(void);
uint32_t mot_ranks_rank(void); /* 0 where mot_ranks_open was not called */
uint32_t mot_ranks_count(void);
uint32_t mot_ranks_here(void); /* on this machine */

/* Whether so many ranks can run the experiment; 0: those that there are. */
enum mot_status mot_ranks_fit(const struct mot_experiment *, uint32_t ranks);
/* The same for a profile, which has a rank for each worker and none for a server. */
enum mot_status mot_ranks_fit_profile(const struct mot_experiment *, uint32_t ranks);

/* Every rank says how its preparations went and what it has read. The same status comes back on
 * all of them; the message names the first rank that failed or differs from rank 0. */
enum mot_status mot_ranks_agree(enum mot_status mine, uint64_t hash);

/* As mot_threads_run. Rank 0 gets the outcome; the others its status only. */
enum mot_status mot_ranks_run(const struct mot_live_options *, struct mot_outcome *out);

/* As mot_threads_profile, but for workers only: *out has no node for a server. On rank 0 *out
 * is open if MOT_OK comes back; the others get rank 0's status when it leaves, and nothing to close. A rank
 * that is lost is an error. */
enum mot_status mot_ranks_profile(const struct mot_live_options *, struct mot_profile *out);

/* Rank 0 is done with its files: all leave. Does not return. */
MOT_NORETURN void mot_ranks_leave(enum mot_status);

#endif
