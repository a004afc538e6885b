/* source.h -- bytes from a file or from memory, plain or compressed: the reader cannot tell.
 *
 * gzip is known by its first two bytes. All positions are in the decompressed bytes, where someone reading
 * the error would look. */
#ifndef MOT_DATA_SOURCE_H
#define MOT_DATA_SOURCE_H

#include <motley/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOT_LINE_MAX (UINT32_C(1) << 26) /* bytes in a line of text */

struct mot_source;

/* `most`: decompressed bytes after which a gzip file is refused as a bomb; 0 or MOT_WORD_UINT: 1 GB, or 20
 * times the file where that is more. Memory is not copied and must outlive the source. */
enum mot_status mot_source_open(const char *path, uint64_t most, struct mot_source **out);
enum mot_status mot_source_memory(
    const char *name, const void *bytes, size_t n, uint64_t most, struct mot_source **out);
void mot_source_close(struct mot_source *);

const char *mot_source_name(const struct mot_source *);
uint64_t mot_source_offset(const struct mot_source *); /* of the next byte */
/* Where the last line or record taken begins, from 1. */
uint64_t mot_source_line_number(const struct mot_source *);
/* An upper bound of the bytes to come, so that nobody allocates more than a file can hold. */
uint64_t mot_source_left(const struct mot_source *);
/* Fails if that many bytes may still come but exceed what may be unpacked. */
enum mot_status mot_source_promised(const struct mot_source *, uint64_t bytes);

/* Looks at up to `want` bytes ahead without taking them; fewer only at the end. */
enum mot_status mot_source_peek(
    struct mot_source *, size_t want, const unsigned char **at_out, size_t *n_out);
/* Takes up to `want` bytes; fewer only at the end. */
enum mot_status mot_source_read(struct mot_source *, void *into, size_t want, size_t *n_out);
/* Takes a line, without its end (LF or CRLF), a zero byte after it; the caller may write
 * into it until the next call. *line_out is NULL at the end of the file. */
enum mot_status mot_source_line(struct mot_source *, char **line_out, size_t *n_out);
/* The same for a record that may span lines: it continues after a line if goes_on(self, line, n) says so, and
 * keeps the ends of its inner lines. */
typedef bool mot_goes_on(void *self, const char *line, size_t n);
enum mot_status mot_source_record(
    struct mot_source *, mot_goes_on *, void *self, char **record_out, size_t *n_out);

/* MOT_EDATA with "name:line: " or "name: offset N: " before the message. */
enum mot_status mot_fail_line(const struct mot_source *, const char *format, ...) MOT_PRINTF(2, 3);
enum mot_status mot_fail_at(const struct mot_source *, uint64_t offset, const char *format, ...)
    MOT_PRINTF(3, 4);

#endif
