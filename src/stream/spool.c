#include "stream/spool.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/stopwatch.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xxhash.h>

#define MAGIC "MOTSPOL1"
#define HEAD 16u
#define WINDOW (1u << 17) /* bytes read at a time */
#define SYNC_NS UINT64_C(1000000000)

struct frame {
    uint32_t n, kept;
    uint64_t sum;
};
_Static_assert(sizeof(struct frame) == 16, "as in the file");

struct mot_spool {
    int file;
    char *path;
    uint64_t id;
    enum mot_spool_sync sync;
    _Atomic uint64_t end; /* of the last whole message */
    uint64_t synced, synced_ns;
    uint64_t at;           /* where the reader is */
    unsigned char *window; /* bytes of the file from window_at on */
    uint64_t window_at;
    size_t window_n;
};

/* The checksum depends on the place, so a frame from another place or an older file does not pass. */
static uint64_t sum_of(uint64_t at, uint32_t n, const void *bytes, size_t kept)
{
    return XXH64(bytes, kept, at ^ (uint64_t)n << 32);
}

static uint64_t size_of(const struct mot_spool *s)
{
    struct stat is;
    return fstat(s->file, &is) == 0 ? (uint64_t)is.st_size : 0;
}

static bool read_all(int file, void *into, size_t n, uint64_t at)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(file, (char *)into + done, n - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        done += (size_t)got;
    }
    return true;
}

/* ---- Reading ----------------------------------------------------------------------------------- */

/* The n bytes of the file at `at`, which end before `end`. */
static const unsigned char *look(struct mot_spool *s, uint64_t at, size_t n, uint64_t end)
{
    if (at < s->window_at || at + n > s->window_at + s->window_n) {
        size_t take = end - at < WINDOW ? (size_t)(end - at) : WINDOW;
        if (n > WINDOW || !read_all(s->file, s->window, take, at)) return NULL;
        s->window_at = at;
        s->window_n = take;
    }
    return s->window + (at - s->window_at);
}

/* Whether bytes for which the reader has no room are those that were written. */
static bool sum_holds(struct mot_spool *s, const struct frame *f, uint64_t at)
{
    XXH64_state_t *sum = XXH64_createState();
    bool read = sum && XXH64_reset(sum, s->at ^ (uint64_t)f->n << 32) == XXH_OK;
    s->window_n = 0;
    for (size_t done = 0, take; read && done < f->kept; done += take) {
        take = f->kept - done < WINDOW ? f->kept - done : WINDOW;
        read = read_all(s->file, s->window, take, at + done);
        if (read) XXH64_update(sum, s->window, take);
    }
    bool holds = read && XXH64_digest(sum) == f->sum;
    XXH64_freeState(sum);
    return holds;
}

bool mot_spool_next(
    struct mot_spool *s, unsigned char *into, size_t room, struct mot_spooled *out, bool *damaged)
{
    uint64_t end = atomic_load_explicit(&s->end, memory_order_acquire);
    struct frame f = { 0 };
    *damaged = false;
    if (s->at >= end) return false;
    *damaged = true;
    const unsigned char *head = end - s->at < sizeof(f) ? NULL : look(s, s->at, sizeof(f), end);
    if (!head) return false;
    memcpy(&f, head, sizeof(f));
    uint64_t bytes_at = s->at + sizeof(f);
    if (f.kept > end - bytes_at || (f.kept && f.kept != f.n)) return false;
    if (f.kept && f.kept <= room) {
        const unsigned char *bytes = look(s, bytes_at, f.kept, end);
        if (bytes) memcpy(into, bytes, f.kept);
        else if (!read_all(s->file, into, f.kept, bytes_at)) return false;
        if (sum_of(s->at, f.n, into, f.kept) != f.sum) return false;
    } else if (f.kept ? !sum_holds(s, &f, bytes_at) : sum_of(s->at, f.n, NULL, 0) != f.sum) return false;
    *damaged = false;
    uint64_t next = bytes_at + f.kept;
    *out = (struct mot_spooled){
        .at = s->at, .next = next, .n = f.n, .kept = f.kept == f.n, .left = end - next
    };
    s->at = next;
    return true;
}

/* ---- Adding ------------------------------------------------------------------------------------ */

int mot_spool_add(struct mot_spool *s, const void *bytes, size_t n, size_t kept)
{
    uint64_t at = atomic_load_explicit(&s->end, memory_order_relaxed);
    struct frame f = { (uint32_t)n, (uint32_t)kept, sum_of(at, (uint32_t)n, bytes, kept) };
    struct iovec part[] = { { &f, sizeof(f) }, { (void *)(uintptr_t)bytes, kept } };
    ssize_t wrote;
    while ((wrote = pwritev(s->file, part, kept ? 2 : 1, (off_t)at)) < 0 && errno == EINTR) {}
    if (wrote < 0) return errno;
    if ((size_t)wrote < sizeof(f) + kept) return ENOSPC; /* the next attempt overwrites it */
    if (s->sync == MOT_SPOOL_EACH && fdatasync(s->file) != 0) return errno;
    atomic_store_explicit(&s->end, at + sizeof(f) + kept, memory_order_release);
    return 0;
}

int mot_spool_settle(struct mot_spool *s)
{
    uint64_t end = atomic_load_explicit(&s->end, memory_order_relaxed);
    if (s->sync != MOT_SPOOL_INTERVAL || end == s->synced) return 0;
    uint64_t now = mot_wall_ns();
    if (now - s->synced_ns < SYNC_NS) return 0;
    s->synced_ns = now;
    if (fdatasync(s->file) != 0) return errno;
    s->synced = end;
    return 0;
}

/* ---- Opening and closing ------------------------------------------------------------------------- */

static enum mot_status failed(const struct mot_spool *s, const char *what)
{
    return mot_fail(MOT_ESYSTEM, "%s: %s: %s", s->path, what, strerror(errno));
}

static enum mot_status make(struct mot_spool *s)
{
    unsigned char head[HEAD] = MAGIC;
    if (getrandom(&s->id, sizeof(s->id), 0) != sizeof(s->id))
        s->id = mot_wall_ns() ^ (uint64_t)getpid() << 32;
    memcpy(head + 8, &s->id, sizeof(s->id));
    if (ftruncate(s->file, 0) != 0 || pwrite(s->file, head, HEAD, 0) != HEAD)
        return failed(s, "cannot be written");
    return MOT_OK;
}

static bool zero_from(struct mot_spool *s, uint64_t at, uint64_t size)
{
    for (; at < size; at++) {
        const unsigned char *byte = look(s, at, 1, size);
        if (!byte || *byte) return false;
    }
    return true;
}

/* Checks all messages from s->at on, and cuts off what a crash left of the last. */
static enum mot_status mend(struct mot_spool *s)
{
    uint64_t from = s->at, size = size_of(s);
    struct mot_spooled one;
    struct frame f = { 0 };
    bool damaged;
    if (size < from) size = from; /* already used, but lost in a power cut: new ones begin there */
    atomic_store(&s->end, size);
    unsigned char *bytes = mot_new_large(WINDOW, 1);
    if (!bytes) return mot_memory_status();
    while (mot_spool_next(s, bytes, WINDOW, &one, &damaged)) {}
    free(bytes);
    uint64_t end = s->at;
    s->at = from;
    s->window_n = 0;
    atomic_store(&s->end, end);
    if (end == size) return MOT_OK;
    bool head = size - end >= sizeof(f) && read_all(s->file, &f, sizeof(f), end);
    bool torn = !head || (f.kept == f.n && f.kept >= size - end - sizeof(f));
    if (!torn && !zero_from(s, end, size))
        return mot_fail(MOT_EDATA,
            "%s: damaged at byte %llu; what comes after it cannot be used. Move the file away to go on "
            "without it",
            s->path, (unsigned long long)end);
    s->window_n = 0;
    return ftruncate(s->file, (off_t)end) == 0 ? MOT_OK : failed(s, "cannot be truncated");
}

static enum mot_status open_there(struct mot_spool *s, const char *folder, uint32_t worker)
{
    unsigned char head[HEAD];
    s->path = mot_format("%s/spool-%u.bin", folder, worker);
    enum mot_status status = mot_make_folder(folder);
    if (status != MOT_OK) return status;
    s->file = open(s->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (s->file < 0) return failed(s, "cannot be opened");
    if (flock(s->file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return mot_fail(MOT_EUSAGE, "%s: another run uses this spool", s->path);
    if (size_of(s) < HEAD) return make(s);
    if (!read_all(s->file, head, HEAD, 0)) return failed(s, "cannot be read");
    if (memcmp(head, MAGIC, 8) != 0) return mot_fail(MOT_EDATA, "%s: not a spool", s->path);
    memcpy(&s->id, head + 8, sizeof(s->id));
    return MOT_OK;
}

static enum mot_status open_nowhere(struct mot_spool *s)
{
    const char *folder = getenv("TMPDIR");
    s->path = mot_text(folder && *folder ? folder : "/tmp");
    s->file = open(s->path, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    return s->file < 0 ? failed(s, "cannot hold a spool") : make(s);
}

enum mot_status mot_spool_open(
    const char *folder, uint32_t worker, enum mot_spool_sync sync, uint64_t from, struct mot_spool **out)
{
    struct mot_spool *s = mot_new(1, sizeof(*s));
    *s = (struct mot_spool){ .file = -1, .sync = sync, .at = from > HEAD ? from : HEAD };
    s->window = mot_new_large(WINDOW, 1);
    enum mot_status status = folder ? open_there(s, folder, worker) : open_nowhere(s);
    if (status == MOT_OK) status = mot_memory_status();
    if (status == MOT_OK) status = mend(s);
    s->synced = s->end;
    if (status == MOT_OK) *out = s;
    else mot_spool_close(s);
    return status;
}

void mot_spool_close(struct mot_spool *s)
{
    if (!s) return;
    if (s->file >= 0) {
        if (s->sync != MOT_SPOOL_NONE) fdatasync(s->file);
        close(s->file);
    }
    free(s->path);
    free(s->window);
    free(s);
}

uint64_t mot_spool_id(const struct mot_spool *s) { return s->id; }
const char *mot_spool_path(const struct mot_spool *s) { return s->path; }
bool mot_spool_read(const struct mot_spool *s) { return s->at >= atomic_load(&s->end); }
