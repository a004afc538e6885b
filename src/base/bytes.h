/* bytes.h -- a growing run of bytes to write, and a bounded one to read. */
#ifndef MOT_BASE_BYTES_H
#define MOT_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mot_bytes {
    unsigned char *at;
    size_t n, room;
};
void mot_bytes_put(struct mot_bytes *, const void *, size_t n);
void mot_bytes_free(struct mot_bytes *);

/* Reads never pass the end: the first that would sets `short_of`, and it and all later ones give zeros. */
struct mot_reader {
    const unsigned char *at;
    size_t n, done;
    bool short_of;
};
void mot_reader_get(struct mot_reader *, void *, size_t n);

/* Writes or reads one field, by name. */
#define MOT_PUT(bytes, field) mot_bytes_put((bytes), &(field), sizeof(field))
#define MOT_GET(reader, field) mot_reader_get((reader), &(field), sizeof(field))

#endif
