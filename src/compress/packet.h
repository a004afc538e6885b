/* packet.h -- compressed floats as bytes.
 *
 * A packet stands for a range of floats, exactly: what it decodes to is what was sent, in every driver. It
 * has one of three forms, each behind a head of 8 bytes:
 *
 *   sparse   n entries that are not 0: n values, then the gaps between their places, 7 bits a byte
 *   levels   for each bucket a scale, then a level for each float: 1 bit (+ or - the scale), or 2, 4 or 8
 *   raw      the floats
 *
 * Before the head there may be floats that go as they are, the last of the range: a 4, how many (3 bytes),
 * and the floats.
 *
 * Zeros are +0 in all of them. So adding a packet entry by entry gives the bits of adding all its floats:
 * x + 0 is x, but for -0, which a sum of such floats never is. */
#ifndef MOT_COMPRESS_PACKET_H
#define MOT_COMPRESS_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOT_PACKET_HEAD 8u
#define MOT_BUCKET_LEAST 64u
#define MOT_BUCKET_MOST 4096u

#define MOT_PACKET_BESIDE 4u /* bytes before floats that go as they are */
#define MOT_BESIDE_MOST ((1u << 24) - 1)

/* Of the raw form, and of no other more. */
static inline size_t mot_packet_plain(uint32_t len) { return MOT_PACKET_HEAD + (size_t)len * sizeof(float); }
/* No packet of so many floats is longer, with some beside it or not. */
static inline size_t mot_packet_most(uint32_t len) { return MOT_PACKET_BESIDE + mot_packet_plain(len); }

/* Puts n floats that go as they are before the packet of the others; returns where that begins. */
size_t mot_packet_beside(uint32_t n, const float *x, unsigned char *to);

/* Each writes a packet for `len` floats and returns its bytes. `to` has room for mot_packet_most(len). */

/* The floats of x at `index`, which increases; none may be 0. Raw, if that is no longer. */
size_t mot_packet_sparse(
    uint32_t len, uint32_t n, const uint32_t *index, const float *value, unsigned char *to);
size_t mot_packet_raw(uint32_t len, const float *x, unsigned char *to);
/* Levels -most .. most in so many bits, in buckets with a scale each: only the head. Every bucket follows by
 * itself, from the float on at which it begins; a level of 1 bit is given as it is in the packet. */
size_t mot_packet_levels(uint32_t len, uint32_t bits, uint32_t bucket, uint32_t most, unsigned char *to);
void mot_packet_bucket(uint32_t len, uint32_t at, float scale, const int8_t *level, unsigned char *packet);
static inline uint32_t mot_buckets(uint32_t len, uint32_t bucket)
{
    return len / bucket + (len % bucket != 0);
}

/* Whether these bytes are a packet of so many floats. The others believe it. */
bool mot_packet_check(const unsigned char *, size_t bytes, uint32_t len);
/* How many floats it brings: the entries of a sparse one, else all. */
uint32_t mot_packet_entries(const unsigned char *, uint32_t len);
void mot_packet_expand(const unsigned char *, uint32_t len, float *out); /* out = what it stands for */
void mot_packet_add(const unsigned char *, uint32_t len, float *sum);    /* sum += it */
/* rest -= it; an entry that a sparse packet has as it is in `rest` becomes +0 */
void mot_packet_subtract(const unsigned char *, uint32_t len, float *rest);
bool mot_packet_finite(const unsigned char *, uint32_t len);
/* the square of its norm, without those that go as they are */
double mot_packet_norm2(const unsigned char *, uint32_t len);

#endif
