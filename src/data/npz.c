/* npz.c -- NumPy's savez: a zip archive of .npy files, each stored or deflated (APPNOTE.TXT of PKWARE, 4.3).
 *
 * Features and labels are found by the usual pairs of names: x_train and y_train, x and y, data and labels,
 * and so on; for test rows, x_test and y_test come first. */
#include "base/memory.h"
#include "data/formats.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#define END_BYTES 22u
#define COMMENT_MOST 65535u
#define ENTRY_BYTES 46u
#define LOCAL_BYTES 30u
#define STORED 0
#define DEFLATED 8

struct archive {
    struct mot_source *source;
    const unsigned char *bytes;
    uint64_t n, unpack_max;
};

struct member {
    uint64_t packed, size, local; /* bytes in the archive, bytes unpacked, where its own header is */
    uint32_t crc;
    uint16_t method, flags;
};

static uint64_t number(const unsigned char *p, int bytes)
{
    uint64_t v = 0;
    while (bytes-- > 0) v = v << 8 | p[bytes];
    return v;
}

/* ---- The directory ------------------------------------------------------------------------------------ */

/* Where the directory is, and how many members it has. The end record comes last, before a comment. */
static enum mot_status find_directory(const struct archive *a, uint64_t *at, uint64_t *members)
{
    uint64_t least = a->n < END_BYTES + COMMENT_MOST ? 0 : a->n - END_BYTES - COMMENT_MOST;
    for (uint64_t end = a->n >= END_BYTES ? a->n - END_BYTES + 1 : 0; end-- > least;) {
        const unsigned char *p = a->bytes + end;
        if (memcmp(p, "PK\5\6", 4) != 0) continue;
        *members = number(p + 10, 2);
        *at = number(p + 16, 4);
        if (*members == 0xffff || *at == 0xffffffff) /* ZIP64: a record of 56 bytes and a locator of 20 */
            return mot_fail_at(a->source, end, "an archive of over 4 GB, expected less: save .npy files");
        if (*at > end) return mot_fail_at(a->source, end + 16, "the directory begins past its end: damaged");
        return MOT_OK;
    }
    return mot_fail_at(a->source, a->n, "no zip directory at the end, expected one: truncated, or not NPZ");
}

/* The member of this name, with or without .npy; not found: method is UINT16_MAX. */
static enum mot_status find(const struct archive *a, const char *name, struct member *out)
{
    uint64_t at, members;
    enum mot_status status = find_directory(a, &at, &members);
    *out = (struct member){ .method = UINT16_MAX };
    for (uint64_t i = 0; i < members && status == MOT_OK; i++) {
        const unsigned char *p = a->bytes + at;
        if (a->n - at < ENTRY_BYTES || memcmp(p, "PK\1\2", 4) != 0)
            return mot_fail_at(a->source, at, "the zip directory ends after %llu of %llu members: damaged",
                (unsigned long long)i, (unsigned long long)members);
        uint64_t length = number(p + 28, 2), more = number(p + 30, 2) + number(p + 32, 2);
        if (a->n - at - ENTRY_BYTES < length + more)
            return mot_fail_at(a->source, at, "a member's name ends past the file: damaged");
        const char *is = (const char *)p + ENTRY_BYTES;
        size_t n = strlen(name);
        bool named = (length == n || (length == n + 4 && memcmp(is + n, ".npy", 4) == 0)) &&
            strncasecmp(is, name, n) == 0;
        if (named) {
            *out = (struct member){ .packed = number(p + 20, 4),
                .size = number(p + 24, 4),
                .local = number(p + 42, 4),
                .crc = (uint32_t)number(p + 16, 4),
                .method = (uint16_t)number(p + 10, 2),
                .flags = (uint16_t)number(p + 8, 2) };
            return MOT_OK;
        }
        at += ENTRY_BYTES + length + more;
    }
    return status;
}

/* ---- A member ------------------------------------------------------------------------ */

static enum mot_status check_member(const struct archive *a, const char *name, const struct member *m)
{
    if (m->flags & 1)
        return mot_fail_at(a->source, m->local, "%s is encrypted, expected it unencrypted", name);
    if (m->method != STORED && m->method != DEFLATED)
        return mot_fail_at(
            a->source, m->local, "%s has zip method %u, expected 0 or 8: use savez", name, m->method);
    if (m->packed == 0xffffffff || m->size == 0xffffffff || m->local == 0xffffffff)
        return mot_fail_at(a->source, 0, "%s has over 4 GB, expected less: save .npy files", name);
    if (m->method == STORED && m->packed != m->size)
        return mot_fail_at(a->source, m->local, "%s is stored and has two sizes: damaged", name);
    return MOT_OK;
}

static enum mot_status unpack(
    const struct archive *a, const char *name, const struct member *m, const unsigned char *from, void *to)
{
    z_stream z = { .next_in = (unsigned char *)(uintptr_t)from,
        .avail_in = (uInt)m->packed,
        .next_out = to,
        .avail_out = (uInt)m->size };
    if (inflateInit2(&z, -15) != Z_OK)
        return mot_fail(MOT_ESYSTEM, "%s: cannot start zlib", mot_source_name(a->source));
    int said = inflate(&z, Z_FINISH);
    uint64_t got = z.total_out;
    inflateEnd(&z);
    if (said != Z_STREAM_END || got != m->size)
        return mot_fail_at(a->source, m->local, "%s does not unpack to %llu bytes: damaged", name,
            (unsigned long long)m->size);
    return MOT_OK;
}

/* The member's bytes, behind a source; *unpacked (NULL if it was stored) must outlive it. */
static enum mot_status open_member(const struct archive *a, const char *name, const struct member *m,
    struct mot_source **out, unsigned char **unpacked)
{
    enum mot_status status = check_member(a, name, m);
    if (status != MOT_OK) return status;
    const unsigned char *local = a->bytes + m->local;
    if (m->local > a->n || a->n - m->local < LOCAL_BYTES || memcmp(local, "PK\3\4", 4) != 0)
        return mot_fail_at(a->source, m->local, "no header for %s here: damaged", name);
    uint64_t skip = LOCAL_BYTES + number(local + 26, 2) + number(local + 28, 2);
    if (a->n - m->local < skip || a->n - m->local - skip < m->packed)
        return mot_fail_at(a->source, m->local, "%s ends past the file: truncated", name);
    const unsigned char *bytes = local + skip;
    if (m->method == DEFLATED) {
        uint64_t usual = 20 * a->n > 1000000000 ? 20 * a->n : 1000000000;
        if (m->size > (a->unpack_max && a->unpack_max != MOT_WORD_UINT ? a->unpack_max : usual))
            return mot_fail_at(a->source, m->local,
                "%s unpacks to %llu bytes; raise data.unpack_max if that is right", name,
                (unsigned long long)m->size);
        *unpacked = mot_new_large((size_t)m->size + 1, 1);
        if (!*unpacked) return mot_memory_status();
        status = unpack(a, name, m, bytes, *unpacked);
        bytes = *unpacked;
    }
    if (status == MOT_OK && crc32(0, bytes, (uInt)m->size) != m->crc)
        status =
            mot_fail_at(a->source, m->local, "%s does not match the checksum of its entry: damaged", name);
    char *shown = mot_format("%s: %s", mot_source_name(a->source), name);
    if (status == MOT_OK) status = mot_source_memory(shown, bytes, (size_t)m->size, a->unpack_max, out);
    free(shown);
    return status;
}

/* ---- Features and labels ------------------------------------------------------------ */

static const char *const usual[][2] = { { "x_test", "y_test" }, { "test_images", "test_labels" },
    { "x_train", "y_train" }, { "train_images", "train_labels" }, { "x", "y" }, { "data", "labels" },
    { "images", "labels" }, { "features", "labels" }, { "data", "target" }, { "arr_0", "arr_1" } };
#define TEST_NAMES 2u /* of these, for test rows only */

static enum mot_status find_pair(const struct archive *a, const struct mot_read_conf *conf,
    const char *const **name, struct member pair[2])
{
    for (uint32_t i = conf->test ? 0 : TEST_NAMES; i < MOT_COUNT(usual); i++) {
        enum mot_status status = find(a, usual[i][0], &pair[0]);
        if (status == MOT_OK && !conf->unlabelled) status = find(a, usual[i][1], &pair[1]);
        if (status != MOT_OK) return status;
        if (pair[0].method == UINT16_MAX || (!conf->unlabelled && pair[1].method == UINT16_MAX)) continue;
        *name = usual[i];
        return MOT_OK;
    }
    return mot_fail_at(a->source, 0,
        "no arrays that could be features and labels, expected x_train and y_train, x and y, data and "
        "labels, "
        "images and labels, or arr_0 and arr_1");
}

static enum mot_status find_test(const struct archive *a, bool *out)
{
    enum mot_status status = MOT_OK;
    for (uint32_t i = 0; i < TEST_NAMES && status == MOT_OK; i++) {
        struct member m;
        status = find(a, usual[i][0], &m);
        *out |= status == MOT_OK && m.method != UINT16_MAX;
    }
    return status;
}

static enum mot_status read_pair(
    const struct archive *a, const struct mot_read_conf *conf, struct mot_raw *out)
{
    const char *const *name = NULL;
    struct member pair[2];
    struct mot_source *part[2] = { NULL, NULL };
    unsigned char *unpacked[2] = { NULL, NULL };
    bool has_test = false;
    enum mot_status status = find_test(a, &has_test);
    if (status == MOT_OK) status = find_pair(a, conf, &name, pair);
    for (int i = 0; i < (conf->unlabelled ? 1 : 2) && status == MOT_OK; i++)
        status = open_member(a, name[i], &pair[i], &part[i], &unpacked[i]);
    if (status == MOT_OK) status = mot_read_npy(part[0], part[1], conf, out);
    if (status == MOT_OK) out->format = MOT_FORMAT_NPZ, out->has_test = has_test && !conf->test;
    for (int i = 0; i < 2; i++) {
        mot_source_close(part[i]);
        free(unpacked[i]);
    }
    return status;
}

enum mot_status mot_read_npz(struct mot_source *s, const struct mot_read_conf *conf, struct mot_raw *out)
{
    unsigned char *bytes = NULL;
    size_t room = 0, got = 1;
    uint64_t n = 0;
    enum mot_status status = MOT_OK;
    while (status == MOT_OK && got > 0) {
        status = mot_raw_room(s, (void **)&bytes, &room, n + 65536, 1, conf->memory);
        if (status == MOT_OK) status = mot_source_read(s, bytes + n, 65536, &got);
        if (status == MOT_OK) n += got;
    }
    if (status == MOT_OK)
        status = read_pair(
            &(struct archive){ .source = s, .bytes = bytes, .n = n, .unpack_max = conf->unpack_max }, conf,
            out);
    free(bytes);
    return status;
}
