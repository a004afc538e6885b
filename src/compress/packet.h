/* packet.h -- compressed floats as bytes.
 *
 * A packet stands for a range of floats exactly: what it decodes to is what was sent, in every driver. It has
 * one of three forms, each after a head of 8 bytes:
 *
 *   sparse   n nonzero entries: n values, then the gaps between their places, 7 bits a byte
 *   levels   for each bucket a scale, then a level for each float: 1 bit (+ or - the scale), or 2, 4 or 8
 *   raw      the floats
 *
 * The last floats of the range may be stored as they are before the head: a 4, how many (3 bytes), and the
 * floats.
 *
 * Every zero is +0. So adding only a packet's entries gives the same bits as adding all its floats: x + 0 is
 * x except for -0, which a sum of such floats never is. */
#ifndef MOT_COMPRESS_PACKET_H
#define MOT_COMPRESS_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOT_PACKET_HEAD 8u
#define MOT_BUCKET_LEAST 64u
#define MOT_BUCKET_MOST 4096u

#define MOT_PACKET_BESIDE 4u /* bytes before floats that are stored as they are */
#define MOT_BESIDE_MOST ((1u << 24) - 1)

/* Bytes of the raw form; no other form takes more. */
static inline size_t mot_packet_plain(uint32_t len) { return MOT_PACKET_HEAD + (size_t)len * sizeof(float); }
/* No packet of so many floats is longer, with or without floats beside it. */
static inline size_t mot_packet_most(uint32_t len) { return MOT_PACKET_BESIDE + mot_packet_plain(len); }

/* Stores n floats as they are, before the packet of the others; returns the offset at which that begins. */
size_t mot_packet_beside(uint32_t n, const float *x, unsigned char *to);

/* Each writes a packet for `len` floats and returns its bytes. `to` has room for mot_packet_most(len). */

/* The n values at the places `index`, which increase; none may be 0. Raw if that takes no more bytes. */
size_t mot_packet_sparse(
    uint32_t len, uint32_t n, const uint32_t *index, const float *value, unsigned char *to);
size_t mot_packet_raw(uint32_t len, const float *x, unsigned char *to);
/* Writes only the head for levels -most .. most of so many bits, in buckets with a scale each.
 * mot_packet_bucket adds each bucket, given the float at which it begins; 1-bit levels are passed packed. */
size_t mot_packet_levels(uint32_t len, uint32_t bits, uint32_t bucket, uint32_t most, unsigned char *to);
void mot_packet_bucket(uint32_t len, uint32_t at, float scale, const int8_t *level, unsigned char *packet);
static inline uint32_t mot_buckets(uint32_t len, uint32_t bucket)
{
    return len / bucket + (len % bucket != 0);
}

/* Whether these bytes are a valid packet of `len` floats, as the functions below assume. */
bool mot_packet_check(const unsigned char *, size_t bytes, uint32_t len);
/* How many floats it carries: the entries of a sparse packet, else all. */
uint32_t mot_packet_entries(const unsigned char *, uint32_t len);
void mot_packet_expand(const unsigned char *, uint32_t len, float *out); /* out = what it stands for */
void mot_packet_add(const unsigned char *, uint32_t len, float *sum);    /* sum += it */
/* rest -= it; where a sparse packet holds the very bits of `rest`, the entry becomes +0 */
void mot_packet_subtract(const unsigned char *, uint32_t len, float *rest);
bool mot_packet_finite(const unsigned char *, uint32_t len);
/* the square of its norm, without the floats beside it */
double mot_packet_norm2(const unsigned char *, uint32_t len);

#endif
