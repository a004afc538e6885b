/* file.c -- reads and writes whole files. */
#include "base/file.h"

#include "base/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* A wrong name is the user's mistake; anything else is the system's. */
static enum mot_status refuse(const char *verb, const char *path, int error)
{
    bool named_wrong = error == ENOENT || error == ENOTDIR || error == EISDIR || error == ENAMETOOLONG;
    return mot_fail(named_wrong ? MOT_EUSAGE : MOT_ESYSTEM, "cannot %s %s: %s", verb, path, strerror(error));
}

/* ---- Replacing ---------------------------------------------------------------- */

/* A new file beside the target: rename() is atomic only within a file system. The umask decides the mode,
 * as for any file of the user (mkstemp would keep others from reading it). */
static int open_beside(const char *path, char **temporary_out)
{
    static atomic_uint number;
    for (int attempt = 0; attempt < 100; attempt++) {
        char *name = mot_format("%s.%ld-%u.tmp", path, (long)getpid(), atomic_fetch_add(&number, 1));
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) {
            *temporary_out = name;
            return fd;
        }
        free(name);
        if (errno != EEXIST) return -1;
    }
    return -1;
}

enum mot_status mot_replace_begin(const char *path, struct mot_replace *r)
{
    *r = (struct mot_replace){ 0 };
    struct stat info;
    bool there = stat(path, &info) == 0;
    if (there && S_ISDIR(info.st_mode)) return refuse("write", path, EISDIR);
    int fd;
    if (there && !S_ISREG(info.st_mode)) {
        /* A device or a pipe (/dev/null, /dev/stdout) is written to, never replaced. */
        r->path = mot_text(path);
        fd = open(path, O_WRONLY | O_CLOEXEC);
    } else {
        /* A symbolic link stays; the file it points to is replaced. */
        char *real = there ? realpath(path, NULL) : NULL;
        r->path = real ? real : mot_text(path);
        fd = open_beside(r->path, &r->temporary);
    }
    if (fd < 0) {
        int error = errno;
        mot_replace_abandon(r);
        return refuse("write", path, error);
    }
    r->out = fdopen(fd, "w");
    if (!r->out) {
        int error = errno;
        close(fd);
        mot_replace_abandon(r);
        return refuse("write", path, error);
    }
    return MOT_OK;
}

static _Thread_local bool skips_disk;

bool mot_replace_waits(bool waits)
{
    bool before = !skips_disk;
    skips_disk = !waits;
    return before;
}

/* Makes the rename itself survive a power failure. Some file systems cannot do this; trying costs nothing. */
static void sync_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = !slash ? mot_text(".")
        : slash == path   ? mot_text("/")
                          : mot_format("%.*s", (int)(slash - path), path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    if (fd < 0) return;
    (void)fsync(fd);
    close(fd);
}

/* A stream remembers that a write failed but not why: usually a full disk. */
static bool is_full(int file)
{
    struct statvfs disk;
    return fstatvfs(file, &disk) == 0 && disk.f_bavail == 0;
}

enum mot_status mot_replace_commit(struct mot_replace *r)
{
    if (mot_memory_refused()) { /* what was written may be incomplete */
        mot_replace_abandon(r);
        return mot_memory_status();
    }
    errno = 0;
    bool good = fflush(r->out) == 0 && !ferror(r->out);
    if (good && r->temporary && !skips_disk) good = fsync(fileno(r->out)) == 0;
    int error = good ? 0 : errno ? errno : is_full(fileno(r->out)) ? ENOSPC : EIO;
    if (fclose(r->out) != 0 && error == 0) error = errno;
    r->out = NULL;
    if (error == 0 && r->temporary && rename(r->temporary, r->path) != 0) error = errno;
    if (error) {
        enum mot_status status = refuse("write", r->path, error);
        mot_replace_abandon(r);
        return status;
    }
    if (r->temporary && !skips_disk) sync_folder_of(r->path);
    free(r->temporary);
    r->temporary = NULL; /* it is the file itself now */
    mot_replace_abandon(r);
    return MOT_OK;
}

void mot_replace_abandon(struct mot_replace *r)
{
    if (r->out) fclose(r->out);
    if (r->temporary) unlink(r->temporary);
    free(r->temporary);
    free(r->path);
    *r = (struct mot_replace){ 0 };
}

enum mot_status mot_file_replace(const char *path, const void *bytes, size_t n)
{
    struct mot_replace r;
    enum mot_status status = mot_replace_begin(path, &r);
    if (status != MOT_OK) return status;
    if (n && fwrite(bytes, 1, n, r.out) != n) { /* commit would notice, too, but not know why */
        int error = errno;
        mot_replace_abandon(&r);
        return refuse("write", path, error);
    }
    return mot_replace_commit(&r);
}

/* ---- Reading -------------------------------------------------------------------- */

enum mot_status mot_file_read(const char *path, size_t most, unsigned char **bytes_out, size_t *n_out)
{
    FILE *in = fopen(path, "rbe");
    if (!in) return refuse("read", path, errno);
    struct stat info;
    size_t room = 1 << 16;
    if (fstat(fileno(in), &info) == 0 && S_ISREG(info.st_mode)) {
        if ((uintmax_t)info.st_size > most) {
            fclose(in);
            return mot_fail(
                MOT_EDATA, "%s: found %jd bytes, expected at most %zu", path, (intmax_t)info.st_size, most);
        }
        room = (size_t)info.st_size + 2; /* one more than the file, to see its end; one for the zero */
    }
    unsigned char *bytes = mot_new_large(room, 1);
    size_t n = 0;
    while (bytes) {
        size_t got = fread(bytes + n, 1, room - 1 - n, in);
        n += got;
        if (got == 0 || n > most) break;
        if (n < room - 1) continue;
        unsigned char *more = mot_grow_large(bytes, room *= 2, 1);
        if (!more) free(bytes);
        bytes = more;
    }
    int error = ferror(in) ? errno : 0;
    fclose(in);
    if (!bytes) return mot_memory_status();
    if (error || n > most) {
        free(bytes);
        if (error) return refuse("read", path, error);
        return mot_fail(MOT_EDATA, "%s: found more than %zu bytes, expected no more", path, most);
    }
    bytes[n] = 0;
    *bytes_out = bytes;
    *n_out = n;
    return MOT_OK;
}

/* ---- Folders and names ------------------------------------------------------------ */

bool mot_is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

enum mot_status mot_make_folder(const char *path)
{
    char *partial = mot_text(path);
    enum mot_status status = MOT_OK;
    for (char *end = partial; status == MOT_OK; end++) {
        if (*end != '/' && *end != 0) continue;
        char kept = *end;
        *end = 0;
        if (*partial && mkdir(partial, 0777) != 0) {
            /* on a read-only file system an existing folder may give EROFS, not EEXIST */
            int error = errno;
            if (!mot_is_folder(partial))
                status = refuse("make folder", partial, error == EEXIST ? ENOTDIR : error);
        }
        *end = kept;
        if (kept == 0) break;
    }
    if (status == MOT_OK && *path == 0) status = mot_fail(MOT_EUSAGE, "cannot make a folder without a name");
    free(partial);
    return status;
}

bool mot_file_exists(const char *path) { return access(path, F_OK) == 0; }

char *mot_path_join(const char *folder, const char *name)
{
    size_t n = strlen(folder);
    if (n == 0 || name[0] == '/') return mot_text(name);
    return mot_format("%s%s%s", folder, folder[n - 1] == '/' ? "" : "/", name);
}
