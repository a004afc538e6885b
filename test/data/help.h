/* help.h -- what the tests of the data room share. */
#ifndef MOT_TEST_DATA_HELP_H
#define MOT_TEST_DATA_HELP_H

#include "base/file.h"
#include "base/memory.h"
#include "base/options.h"
#include "data/formats.h"
#include "shared.h"
#include "test.h"
#include <unistd.h>
#include <zlib.h>

/* The presets, with the strings in an arena that lives as long as the program. */
__attribute__((unused)) static struct mot_data_conf preset(void)
{
    static struct mot_arena arena;
    struct mot_data_conf conf = { 0 };
    if (mot_options_preset(mot_data_options, &conf, &arena) != MOT_OK) {
        printf("%s\n", mot_error());
        exit(1);
    }
    return conf;
}

/* A file of the real sets, or NULL; kept in a ring of buffers. */
__attribute__((unused)) static const char *real(const char *name)
{
    static char path[8][512];
    static int next;
    return shared_file(name, path[next++ % 8], sizeof path[0]);
}
#define NEED(path)                                                                                           \
    do {                                                                                                     \
        if (!(path)) SKIP(NOT_SHARED);                                                                       \
    } while (0)

__attribute__((unused)) static unsigned char *packed(const void *bytes, size_t n, size_t *n_out)
{
    z_stream z = { 0 };
    deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    size_t room = deflateBound(&z, n) + 64;
    unsigned char *out = mot_new(room, 1);
    z.next_in = (unsigned char *)(size_t)bytes;
    z.avail_in = (uInt)n;
    z.next_out = out;
    z.avail_out = (uInt)room;
    deflate(&z, Z_FINISH);
    *n_out = z.total_out;
    deflateEnd(&z);
    return out;
}

/* Reads bytes as `format` (AUTO: as detected) under the name "file";
 * NULL labels: unlabelled where a pair is needed. */
__attribute__((unused)) static enum mot_status read_bytes(enum mot_format format, const void *bytes, size_t n,
    const void *labels, size_t labels_n, const struct mot_read_conf *given, struct mot_raw *out)
{
    struct mot_read_conf conf = given ? *given : mot_read_preset();
    struct mot_source *s, *y = NULL;
    enum mot_status status = mot_source_memory("file", bytes, n, 0, &s);
    if (status != MOT_OK) return status;
    if (format == MOT_FORMAT_AUTO) status = mot_detect_format(s, &format);
    if (status == MOT_OK && labels) status = mot_source_memory("labels", labels, labels_n, 0, &y);
    if (!labels && (format == MOT_FORMAT_IDX || format == MOT_FORMAT_NPY)) conf.unlabelled = true;
    if (status == MOT_OK) status = mot_read_format(s, y, format, &conf, out);
    mot_source_close(s);
    mot_source_close(y);
    return status;
}
__attribute__((unused)) static enum mot_status read_text(
    enum mot_format format, const char *text, struct mot_raw *out)
{
    return read_bytes(format, text, strlen(text), NULL, 0, NULL, out);
}

__attribute__((unused)) static const char *label_of(const struct mot_raw *raw, uint32_t r)
{
    return raw->labels.seen[raw->labels.id[r]].text;
}

#define MUST(call)                                                                                           \
    do {                                                                                                     \
        enum mot_status s_ = (call);                                                                         \
        if (s_ != MOT_OK) FAIL("%s: %s", #call, mot_error());                                                \
    } while (0)

#endif
