/* reservoir.h -- records of a stream that are never trained on but evaluate the model.
 *
 * A record's key, a hash of the seed, the worker and the record's number at that worker, decides both whether
 * it is held out and whether it stays. It is held out if its key is below the requested share, and the
 * reservoir keeps the records with the smallest keys of all workers. So all held-out records are equally
 * likely to be there, whichever worker got them; the order in which they came does not matter; and reading
 * one again after a crash changes nothing. */
#ifndef MOT_STREAM_RESERVOIR_H
#define MOT_STREAM_RESERVOIR_H

#include <motley/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mot_bytes;
struct mot_reservoir;

/* Makes a reservoir of so many rows. Any thread may call these. */
enum mot_status mot_reservoir_open(uint32_t rows, uint32_t cols, struct mot_reservoir **out);
void mot_reservoir_close(struct mot_reservoir *);

/* number: counts the worker's well-formed records, from 0. */
uint64_t mot_reservoir_key(uint64_t seed, uint32_t worker, uint64_t number);
uint64_t mot_reservoir_below(double share); /* keys below this one are held out */

void mot_reservoir_offer(struct mot_reservoir *, uint64_t key, const float *x, float y);
/* Copies the rows, ordered by key, into x and y, which have room for all; returns how many. */
uint32_t mot_reservoir_rows(struct mot_reservoir *, float *x, float *y);

/* The rows as bytes, for checkpoints and other processes: each one's key, label and features. */
size_t mot_reservoir_row_bytes(const struct mot_reservoir *);
void mot_reservoir_pack(struct mot_reservoir *, struct mot_bytes *into); /* ordered by key */
bool mot_reservoir_fits(const struct mot_reservoir *, const void *packed, size_t n);
void mot_reservoir_add(struct mot_reservoir *, const void *packed, size_t n); /* what fits */

/* From now on, rows that are kept also wait to be sent to another process. */
void mot_reservoir_forward(struct mot_reservoir *);
void mot_reservoir_waiting(struct mot_reservoir *, struct mot_bytes *into); /* takes them */

#endif
