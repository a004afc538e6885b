/* reservoir.h -- records of a stream that are never trained on, but evaluate the model.
 *
 * Whether a record is held out, and whether it stays, both follow from one number, its key: a hash of the
 * seed, the worker and the number of the record at that worker. It is held out if its key is below the share
 * that was asked for, and the reservoir keeps the records with the smallest keys of all workers. So each
 * record that was held out is as likely to be there as any other, whoever got it; which ones are there does
 * not depend on the order in which they came; and one that is read again after a crash changes nothing. */
#ifndef MOT_STREAM_RESERVOIR_H
#define MOT_STREAM_RESERVOIR_H

#include <motley/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mot_bytes;
struct mot_reservoir;

/* For so many rows. Any thread may call. */
enum mot_status mot_reservoir_open(uint32_t rows, uint32_t cols, struct mot_reservoir **out);
void mot_reservoir_close(struct mot_reservoir *);

/* number: of the record among those of its worker that are no nonsense, from 0. */
uint64_t mot_reservoir_key(uint64_t seed, uint32_t worker, uint64_t number);
uint64_t mot_reservoir_below(double share); /* keys below this one are held out */

void mot_reservoir_offer(struct mot_reservoir *, uint64_t key, const float *x, float y);
/* Copies the rows in the order of their keys into x and y, which have room for all; returns how many. */
uint32_t mot_reservoir_rows(struct mot_reservoir *, float *x, float *y);

/* As bytes, for checkpoints and other processes: each row's key, label and features. */
size_t mot_reservoir_row_bytes(const struct mot_reservoir *);
void mot_reservoir_pack(struct mot_reservoir *, struct mot_bytes *into); /* in the order of their keys */
bool mot_reservoir_fits(const struct mot_reservoir *, const void *packed, size_t n);
void mot_reservoir_add(struct mot_reservoir *, const void *packed, size_t n); /* what fits */

/* From now on, rows that are kept wait for another process, too. */
void mot_reservoir_forward(struct mot_reservoir *);
void mot_reservoir_waiting(struct mot_reservoir *, struct mot_bytes *into); /* takes them */

#endif
