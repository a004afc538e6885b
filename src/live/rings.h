/* rings.h -- the training data of a run whose samples arrive from a source: a table of rings, one for each
 * worker, and the problem of learning from it.
 *
 * Worker i's part is its ring, taken in order, so position k of the part is row k of the ring: the k-th
 * sample that arrives. Memory is address space until rows arrive, so a rank pays for its own worker only. */
#ifndef MOT_LIVE_RINGS_H
#define MOT_LIVE_RINGS_H

#include "run/gradient.h"
#include "stream/intake.h"

struct mot_rings;
/* For records with the schema of the problem's data: its columns, classes and scaling. */
enum mot_status mot_rings_open(
    const struct mot_experiment *, const struct mot_problem *, struct mot_rings **out);
void mot_rings_close(struct mot_rings *);
const struct mot_problem *mot_rings_problem(const struct mot_rings *);
/* Where held-out records go; NULL: none are held out. */
struct mot_reservoir *mot_rings_reservoir(const struct mot_rings *);
/* Makes the records held out by now the problem's test rows: none while there are too few to judge by.
 * Whoever evaluates calls it; nobody else may evaluate meanwhile. */
void mot_rings_refresh(struct mot_rings *);
const struct mot_table *mot_rings_test(const struct mot_rings *); /* as of then; NULL: nothing is held out */
/* Starts reading for a worker, from row `first` on; `begin`: what was before it. */
enum mot_status mot_rings_intake(const struct mot_rings *, const struct mot_experiment *, uint32_t worker,
    uint64_t first, const struct mot_mark *begin, struct mot_intake **out);

#endif
