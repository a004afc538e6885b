/* source.c -- a window of decompressed bytes that slides over a file. */
#include "data/source.h"

#include "base/memory.h"
#include "base/words.h"
#include <errno.h>
#include <fcntl.h>
#include <motley/option.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define WINDOW_BYTES (UINT32_C(1) << 18)
#define PACKED_BYTES (UINT32_C(1) << 16)
/* What a file may unpack to by default: real data shrinks by 3 to 15 times, a bomb by a thousand. */
#define UNPACKED_BYTES UINT64_C(1000000000)
#define UNPACKED_RATIO UINT64_C(20)
#define DEFLATE_RATIO_MAX UINT64_C(1032) /* the limit of deflate: 258 bytes take at least 2 bits */

struct mot_source {
    char *name;
    int fd;                      /* -1: memory */
    const unsigned char *memory; /* what is left of it */
    size_t memory_left;
    uint64_t file_bytes; /* UINT64_MAX: not known (a pipe) */
    bool packed, ended;  /* gzip; nothing more will come into the window */
    bool in_member;      /* inside a gzip stream that has not ended */
    z_stream z;
    unsigned char *input;  /* compressed bytes read from fd */
    uint64_t input_offset; /* of the end of what was read */
    uint64_t most, produced;
    unsigned char *window; /* [room + 1] */
    size_t room, begin, end;
    uint64_t offset, line; /* of window[begin]; where what was taken last begins */
    uint64_t more_lines;   /* of that, after its first */
};

/* Raw bytes of the file, at most n; *got is 0 at its end. */
static enum mot_status raw_read(struct mot_source *s, unsigned char *into, size_t n, size_t *got)
{
    if (s->fd < 0) {
        *got = n < s->memory_left ? n : s->memory_left;
        if (*got) memcpy(into, s->memory, *got);
        s->memory += *got;
        s->memory_left -= *got;
        return MOT_OK;
    }
    ssize_t r;
    do r = read(s->fd, into, n);
    while (r < 0 && errno == EINTR);
    if (r < 0)
        return mot_fail(
            errno == EISDIR ? MOT_EDATA : MOT_ESYSTEM, "%s: cannot read: %s", s->name, strerror(errno));
    *got = (size_t)r;
    return MOT_OK;
}

static enum mot_status refill_input(struct mot_source *s)
{
    size_t got;
    enum mot_status status = raw_read(s, s->input, PACKED_BYTES, &got);
    if (status != MOT_OK) return status;
    s->z.next_in = s->input;
    s->z.avail_in = (uInt)got;
    s->input_offset += got;
    return MOT_OK;
}

static unsigned long long packed_offset(const struct mot_source *s)
{
    return s->input_offset - s->z.avail_in;
}

/* Between gzip members: another may follow, or zero bytes of padding, or the end. */
static enum mot_status next_member(struct mot_source *s)
{
    for (;;) {
        if (s->z.avail_in == 0) {
            enum mot_status status = refill_input(s);
            if (status != MOT_OK) return status;
            if (s->z.avail_in == 0) {
                s->ended = true;
                return MOT_OK;
            }
        }
        if (*s->z.next_in == 0x1f) break;
        if (*s->z.next_in != 0)
            return mot_fail(MOT_EDATA,
                "%s: compressed offset %llu: byte 0x%02x after the end of the gzip data, expected nothing "
                "more",
                s->name, packed_offset(s), *s->z.next_in);
        s->z.next_in++;
        s->z.avail_in--;
    }
    inflateReset(&s->z);
    s->in_member = true;
    return MOT_OK;
}

/* Decompresses at least one byte into `into`, unless the file ends. */
static enum mot_status unpack(struct mot_source *s, unsigned char *into, size_t n, size_t *got)
{
    *got = 0;
    while (*got == 0 && !s->ended) {
        enum mot_status status = s->in_member ? MOT_OK : next_member(s);
        if (status != MOT_OK || s->ended) return status;
        if (s->z.avail_in == 0) {
            status = refill_input(s);
            if (status != MOT_OK) return status;
            if (s->z.avail_in == 0)
                return mot_fail(MOT_EDATA,
                    "%s: compressed offset %llu: the gzip data ends here, expected more: the file is "
                    "truncated",
                    s->name, packed_offset(s));
        }
        s->z.next_out = into;
        s->z.avail_out = (uInt)n;
        int said = inflate(&s->z, Z_NO_FLUSH);
        *got = n - s->z.avail_out;
        if (said == Z_STREAM_END) s->in_member = false;
        else if (said == Z_MEM_ERROR)
            return mot_fail(MOT_ESYSTEM, "%s: out of memory while unpacking", s->name);
        else if (said == Z_NEED_DICT || (said != Z_OK && said != Z_BUF_ERROR))
            return mot_fail(MOT_EDATA, "%s: compressed offset %llu: damaged gzip data: %s", s->name,
                packed_offset(s), s->z.msg ? s->z.msg : "unexpected contents");
    }
    return MOT_OK;
}

static enum mot_status fail_unpacked(const struct mot_source *s)
{
    char size[32];
    return mot_fail(MOT_EDATA,
        "%s: unpacks to more than %s, the limit against small files that fill the memory; `unpack_max` "
        "raises it",
        s->name, mot_show_size((double)s->most, size, sizeof size));
}

/* Reads more bytes into the window; sets `ended` at the end of the file. */
static enum mot_status refill(struct mot_source *s)
{
    if (s->begin > 0) {
        memmove(s->window, s->window + s->begin, s->end - s->begin);
        s->end -= s->begin;
        s->begin = 0;
    }
    if (s->end == s->room) {
        unsigned char *more = mot_grow_large(s->window, 2 * s->room + 1, 1);
        if (!more) return mot_memory_status();
        s->window = more;
        s->room *= 2;
    }
    size_t got;
    enum mot_status status = s->packed ? unpack(s, s->window + s->end, s->room - s->end, &got)
                                       : raw_read(s, s->window + s->end, s->room - s->end, &got);
    if (status != MOT_OK) return status;
    if (got == 0) s->ended = true;
    s->end += got;
    s->produced += got;
    if (s->packed && s->produced > s->most) return fail_unpacked(s);
    return MOT_OK;
}

/* The first bytes tell whether it is gzip. */
static enum mot_status begin(struct mot_source *s)
{
    s->room = WINDOW_BYTES;
    /* grows where it must */
    if (s->fd < 0 && s->file_bytes < s->room) s->room = s->file_bytes < 64 ? 64 : (size_t)s->file_bytes;
    s->window = mot_new(s->room + 1, 1);
    size_t have = 0, got = 0;
    do {
        enum mot_status status = raw_read(s, s->window + have, 2 - have, &got);
        if (status != MOT_OK) return status;
        have += got;
    } while (got > 0 && have < 2);
    if (have < 2 || s->window[0] != 0x1f || s->window[1] != 0x8b) {
        s->end = have;
        s->produced = have;
        return MOT_OK;
    }
    s->packed = s->in_member = true;
    s->input = mot_new(PACKED_BYTES, 1);
    memcpy(s->input, s->window, 2);
    s->input_offset = 2;
    if (inflateInit2(&s->z, 15 + 16) != Z_OK) return mot_fail(MOT_ESYSTEM, "%s: cannot start zlib", s->name);
    s->z.next_in = s->input;
    s->z.avail_in = 2;
    return MOT_OK;
}

static enum mot_status finish_open(struct mot_source *s, struct mot_source **out)
{
    enum mot_status status = begin(s);
    if (status != MOT_OK) {
        mot_source_close(s);
        return status;
    }
    *out = s;
    return MOT_OK;
}

static struct mot_source *source_new(const char *name, uint64_t file_bytes, uint64_t most)
{
    struct mot_source *s = mot_new(1, sizeof *s);
    s->name = mot_text(name);
    s->fd = -1;
    s->file_bytes = file_bytes;
    s->most = most;
    if (most == 0 || most == MOT_WORD_UINT) {
        s->most = UNPACKED_BYTES;
        if (file_bytes != UINT64_MAX && file_bytes > UNPACKED_BYTES / UNPACKED_RATIO)
            s->most = file_bytes < UINT64_MAX / UNPACKED_RATIO ? file_bytes * UNPACKED_RATIO : UINT64_MAX;
    }
    return s;
}

enum mot_status mot_source_open(const char *path, uint64_t most, struct mot_source **out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return mot_fail(MOT_EDATA, "%s: cannot open: %s", path, strerror(errno));
    struct stat about;
    if (fstat(fd, &about) != 0 || S_ISDIR(about.st_mode)) {
        close(fd);
        return mot_fail(MOT_EDATA, "%s: is a folder, expected a file", path);
    }
    bool known = S_ISREG(about.st_mode);
    struct mot_source *s = source_new(path, known ? (uint64_t)about.st_size : UINT64_MAX, most);
    s->fd = fd;
    return finish_open(s, out);
}

enum mot_status mot_source_memory(
    const char *name, const void *bytes, size_t n, uint64_t most, struct mot_source **out)
{
    struct mot_source *s = source_new(name, n, most);
    s->memory = bytes;
    s->memory_left = n;
    return finish_open(s, out);
}

void mot_source_close(struct mot_source *s)
{
    if (!s) return;
    if (s->input) inflateEnd(&s->z);
    if (s->fd >= 0) close(s->fd);
    free(s->input);
    free(s->window);
    free(s->name);
    free(s);
}

const char *mot_source_name(const struct mot_source *s) { return s->name; }
uint64_t mot_source_offset(const struct mot_source *s) { return s->offset; }
uint64_t mot_source_line_number(const struct mot_source *s) { return s->line; }

/* The most that the file can unpack to. */
static uint64_t whole_of(const struct mot_source *s)
{
    if (!s->packed) return s->file_bytes;
    return s->file_bytes < UINT64_MAX / DEFLATE_RATIO_MAX ? s->file_bytes * DEFLATE_RATIO_MAX : UINT64_MAX;
}

uint64_t mot_source_left(const struct mot_source *s)
{
    uint64_t whole = whole_of(s);
    if (s->packed && whole > s->most) whole = s->most;
    return whole > s->offset ? whole - s->offset : 0;
}

enum mot_status mot_source_promised(const struct mot_source *s, uint64_t bytes)
{
    uint64_t whole = whole_of(s), could = whole > s->offset ? whole - s->offset : 0;
    return bytes > mot_source_left(s) && bytes <= could ? fail_unpacked(s) : MOT_OK;
}

static void take(struct mot_source *s, size_t n)
{
    s->begin += n;
    s->offset += n;
}

enum mot_status mot_source_peek(
    struct mot_source *s, size_t want, const unsigned char **at_out, size_t *n_out)
{
    while (s->end - s->begin < want && !s->ended) {
        enum mot_status status = refill(s);
        if (status != MOT_OK) return status;
    }
    *at_out = s->window + s->begin;
    *n_out = s->end - s->begin < want ? s->end - s->begin : want;
    return MOT_OK;
}

enum mot_status mot_source_read(struct mot_source *s, void *into, size_t want, size_t *n_out)
{
    size_t done = 0;
    while (done < want) {
        if (s->begin == s->end) {
            if (s->ended) break;
            enum mot_status status = refill(s);
            if (status != MOT_OK) return status;
        }
        size_t n = s->end - s->begin < want - done ? s->end - s->begin : want - done;
        if (n) memcpy((unsigned char *)into + done, s->window + s->begin, n);
        take(s, n);
        done += n;
    }
    *n_out = done;
    return MOT_OK;
}

/* Finds where the line that begins `from` bytes ahead ends, in bytes ahead; the file's end ends it, too. */
static enum mot_status find_line_end(struct mot_source *s, size_t from, size_t *end_out)
{
    for (size_t seen = from;;) {
        const unsigned char *at = s->window + s->begin, *newline = NULL;
        size_t have = s->end - s->begin;
        if (have > seen) newline = memchr(at + seen, '\n', have - seen);
        *end_out = newline ? (size_t)(newline - at) : have;
        if (newline || s->ended) return MOT_OK;
        if (have > MOT_LINE_MAX) {
            s->line++;
            return mot_fail_line(s, "the line is longer than %u bytes%s", MOT_LINE_MAX,
                from ? ", including those that an open quote joins to it" : "");
        }
        seen = have;
        enum mot_status status = refill(s);
        if (status != MOT_OK) return status;
    }
}

enum mot_status mot_source_record(
    struct mot_source *s, mot_goes_on *goes_on, void *self, char **record_out, size_t *n_out)
{
    size_t from = 0, n;
    s->line += s->more_lines;
    s->more_lines = 0;
    for (;; from = n + 1, s->more_lines++) {
        enum mot_status status = find_line_end(s, from, &n);
        if (status != MOT_OK) return status;
        bool last = s->begin + n == s->end;
        if (last || !goes_on || !goes_on(self, (char *)s->window + s->begin + from, n - from)) break;
    }
    if (s->begin == s->end) {
        *record_out = NULL;
        *n_out = 0;
        return MOT_OK;
    }
    char *record = (char *)s->window + s->begin;
    take(s, n + (s->begin + n < s->end));
    s->line++;
    if (n > 0 && record[n - 1] == '\r') n--;
    record[n] = 0;
    *record_out = record;
    *n_out = n;
    return MOT_OK;
}

enum mot_status mot_source_line(struct mot_source *s, char **line_out, size_t *n_out)
{
    return mot_source_record(s, NULL, NULL, line_out, n_out);
}

enum mot_status mot_fail_line(const struct mot_source *s, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return mot_fail(MOT_EDATA, "%s:%llu: %s", s->name, (unsigned long long)s->line, text);
}

enum mot_status mot_fail_at(const struct mot_source *s, uint64_t offset, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return mot_fail(MOT_EDATA, "%s: offset %llu: %s", s->name, (unsigned long long)offset, text);
}
