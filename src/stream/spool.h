/* spool.h -- messages on disk, between a broker that forgets what it sent and a model that takes its time.
 *
 *   "MOTSPOL1", 8 random bytes; then for each message: its length, the bytes kept, their checksum; the bytes
 *
 * Once written, a message stays in the spool even if the process is killed. Its place, a byte of the file,
 * also serves as the cursor. One thread adds, one reads. What a crash left of the last message is cut off. */
#ifndef MOT_STREAM_SPOOL_H
#define MOT_STREAM_SPOOL_H

#include <motley/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* When messages must be on the disk. */
enum mot_spool_sync { MOT_SPOOL_NONE, MOT_SPOOL_INTERVAL, MOT_SPOOL_EACH };

struct mot_spool;
/* Opens or creates FOLDER/spool-WORKER.bin; folder NULL: a file that vanishes with the process. Reading goes
 * on at `from`, or begins with the first message. */
enum mot_status mot_spool_open(
    const char *folder, uint32_t worker, enum mot_spool_sync, uint64_t from, struct mot_spool **out);
void mot_spool_close(struct mot_spool *);
uint64_t mot_spool_id(const struct mot_spool *); /* its random bytes, which identify it */
const char *mot_spool_path(const struct mot_spool *);
bool mot_spool_read(const struct mot_spool *); /* whether all has been read */

/* Adds a message of `n` bytes and keeps `kept` of them: all or none. Returns 0, or an errno if it was not
 * added. */
int mot_spool_add(struct mot_spool *, const void *bytes, size_t n, size_t kept);
int mot_spool_settle(struct mot_spool *); /* call it often: brings to disk what must be there */

struct mot_spooled {
    uint64_t at;   /* its place */
    uint64_t next; /* the place of the message after it */
    size_t n;      /* its length; the bytes are in into[n] if they were kept and fit */
    bool kept;     /* its bytes were kept; true if it has none */
    uint64_t left; /* bytes of the spool after it */
};
/* False if there is no message. *damaged: the file no longer holds what was written, so there never will
 * be. */
bool mot_spool_next(
    struct mot_spool *, unsigned char *into, size_t room, struct mot_spooled *out, bool *damaged);

#endif
