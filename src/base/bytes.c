#include "base/bytes.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

void mot_bytes_put(struct mot_bytes *b, const void *from, size_t n)
{
    if (n == 0) return;
    if (b->n + n > b->room) {
        size_t room = b->room ? b->room : 4096;
        while (room < b->n + n) room *= 2;
        void *more = mot_grow_large(b->at, room, 1);
        if (!more) return;
        b->at = more;
        b->room = room;
    }
    memcpy(b->at + b->n, from, n);
    b->n += n;
}

void mot_bytes_free(struct mot_bytes *b)
{
    free(b->at);
    *b = (struct mot_bytes){ 0 };
}

void mot_reader_get(struct mot_reader *r, void *into, size_t n)
{
    if (n == 0) return; /* `into` may then be NULL */
    if (r->short_of || n > r->n - r->done) {
        r->short_of = true;
        memset(into, 0, n);
        return;
    }
    memcpy(into, r->at + r->done, n);
    r->done += n;
}
