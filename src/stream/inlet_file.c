/* inlet_file.c -- a file that grows, and standard input. */
#include "base/memory.h"
#include "base/stopwatch.h"
#include "stream/inlet.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAP_NS 2000000L              /* between two reads of a file that has not grown */
#define WATCH_NS UINT64_C(500000000) /* between two checks that it is still the same file */

struct inlet_file {
    struct mot_inlet inlet;
    char *path;
    int file; /* -1: not open yet */
    bool ends;
    uint64_t at, watched_ns;
    dev_t device;
    ino_t inode;
};

static void nap(void) { nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL); }

static enum mot_inlet_got fail(struct mot_inlet_piece *out, enum mot_status status)
{
    out->failed = status;
    return MOT_INLET_FAILED;
}

static bool open_file(struct inlet_file *f)
{
    struct stat is;
    f->file = open(f->path, O_RDONLY | O_CLOEXEC);
    if (f->file < 0 || fstat(f->file, &is) != 0) return false;
    f->device = is.st_dev;
    f->inode = is.st_ino;
    return true;
}

/* At the end of the file: whether it can still be the one that was read. */
static bool same_file(struct inlet_file *f, struct mot_inlet_piece *out)
{
    struct stat open_is, named;
    uint64_t now = mot_wall_ns();
    if (now - f->watched_ns < WATCH_NS) return true;
    f->watched_ns = now;
    if (fstat(f->file, &open_is) == 0 && (uint64_t)open_is.st_size < f->at) {
        snprintf(out->words, MOT_INTAKE_WORDS,
            "%s has %llu bytes, fewer than the %llu that were read: a file that is a stream may only grow",
            f->path, (unsigned long long)open_is.st_size, (unsigned long long)f->at);
        return false;
    }
    if (stat(f->path, &named) == 0 && (named.st_dev != f->device || named.st_ino != f->inode)) {
        snprintf(out->words, MOT_INTAKE_WORDS,
            "%s is another file now: a file that is a stream may only grow, and its place in it is lost",
            f->path);
        return false;
    }
    return true;
}

static enum mot_inlet_got read_file(
    struct mot_inlet *inlet, unsigned char *into, size_t room, struct mot_inlet_piece *out)
{
    struct inlet_file *f = (struct inlet_file *)inlet;
    struct stat is;
    if (f->file < 0 && !open_file(f)) {
        bool missing = errno == ENOENT; /* a signal that ends the nap changes errno */
        snprintf(out->words, MOT_INTAKE_WORDS, "%s: %s; check the path, and that its writer runs", f->path,
            strerror(errno));
        nap();
        return f->ends || !missing ? fail(out, MOT_EDATA) : MOT_INLET_STALLED;
    }
    ssize_t n = pread(f->file, into, room, (off_t)f->at);
    if (n < 0 && errno == EINTR) return MOT_INLET_NOTHING;
    if (n < 0) {
        snprintf(out->words, MOT_INTAKE_WORDS, "%s: %s", f->path, strerror(errno));
        return fail(out, MOT_ESYSTEM);
    }
    if (n == 0) {
        if (f->ends) return MOT_INLET_END;
        if (!same_file(f, out)) return fail(out, MOT_EDATA);
        nap();
        return MOT_INLET_NOTHING;
    }
    out->n = (size_t)n;
    out->at = f->at;
    f->at += (uint64_t)n;
    if (fstat(f->file, &is) == 0 && (uint64_t)is.st_size > f->at) out->lag = (uint64_t)is.st_size - f->at;
    return MOT_INLET_BYTES;
}

static void close_file(struct mot_inlet *inlet)
{
    struct inlet_file *f = (struct inlet_file *)inlet;
    if (f->file > STDERR_FILENO) close(f->file);
    free(f->path);
    free(f);
}

static const struct mot_inlet_ops file_ops = { .read = read_file, .close = close_file };

enum mot_status mot_inlet_file(const char *path, bool ends, uint64_t from, struct mot_inlet **out)
{
    struct inlet_file *f = mot_new(1, sizeof(*f));
    *f = (struct inlet_file){
        .inlet.ops = &file_ops, .path = mot_text(path), .file = -1, .ends = ends, .at = from
    };
    *out = &f->inlet;
    return MOT_OK;
}

/* Standard input cannot go back, so a resumed run only continues to count its bytes. */
static enum mot_inlet_got read_input(
    struct mot_inlet *inlet, unsigned char *into, size_t room, struct mot_inlet_piece *out)
{
    struct inlet_file *f = (struct inlet_file *)inlet;
    struct pollfd wait = { .fd = STDIN_FILENO, .events = POLLIN };
    if (poll(&wait, 1, 20) <= 0) return MOT_INLET_NOTHING;
    ssize_t n = read(STDIN_FILENO, into, room);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return MOT_INLET_NOTHING;
    if (n < 0) {
        snprintf(out->words, MOT_INTAKE_WORDS, "standard input: %s", strerror(errno));
        return fail(out, MOT_ESYSTEM);
    }
    if (n == 0) return MOT_INLET_END;
    out->n = (size_t)n;
    out->at = f->at;
    f->at += (uint64_t)n;
    return MOT_INLET_BYTES;
}

static const struct mot_inlet_ops input_ops = { .read = read_input, .close = close_file };

enum mot_status mot_inlet_input(uint64_t from, struct mot_inlet **out)
{
    struct inlet_file *f = mot_new(1, sizeof(*f));
    *f = (struct inlet_file){ .inlet.ops = &input_ops, .file = -1, .at = from };
    *out = &f->inlet;
    return MOT_OK;
}
