/* spool.h -- messages on disk, between a broker that forgets what it gave and a model that takes its time.
 *
 *   "MOTSPOL1", 8 random bytes; then for each message: its length, the bytes kept, their checksum; the bytes
 *
 * A message is in the spool once it was written: then also for a process that is killed. Its place is a byte
 * of the file, so it is the cursor, too. One thread adds, one reads. What a crash left of the last message is
 * cut off. */
#ifndef MOT_STREAM_SPOOL_H
#define MOT_STREAM_SPOOL_H

#include <motley/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* When messages must be on the disk. */
enum mot_spool_sync { MOT_SPOOL_NONE, MOT_SPOOL_INTERVAL, MOT_SPOOL_EACH };

struct mot_spool;
/* Opens FOLDER/spool-WORKER.bin, or makes it; NULL: a file that is gone with the process. Reads go on at
 * `from`, or with the first message. */
enum mot_status mot_spool_open(
    const char *folder, uint32_t worker, enum mot_spool_sync, uint64_t from, struct mot_spool **out);
void mot_spool_close(struct mot_spool *);
uint64_t mot_spool_id(const struct mot_spool *); /* its random bytes: whose it is */
const char *mot_spool_path(const struct mot_spool *);
bool mot_spool_read(const struct mot_spool *); /* there is nothing to be read */

/* Of a message of `n` bytes `kept` are kept: all or none. 0, or an errno: then it is not there. */
int mot_spool_add(struct mot_spool *, const void *bytes, size_t n, size_t kept);
int mot_spool_settle(struct mot_spool *); /* to be called often: brings to the disk what must be there */

struct mot_spooled {
    uint64_t at;   /* its place */
    uint64_t next; /* and that of the one after it */
    size_t n;      /* bytes it had; into[n] if they were kept and there is room */
    bool kept;     /* they were: a message without bytes is */
    uint64_t left; /* bytes of the spool after it */
};
/* False: there is none. *damaged: nor can there be, for what was written is not what is there. */
bool mot_spool_next(
    struct mot_spool *, unsigned char *into, size_t room, struct mot_spooled *out, bool *damaged);

#endif
