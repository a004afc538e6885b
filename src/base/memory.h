/* memory.h -- allocation, and what happens when memory runs out.
 *
 * mot_new and its like never return NULL, so small requests need no check. A library call (and the command
 * line, for as long as it runs) opens a `struct mot_spare`: some memory put aside. A small request that
 * malloc refuses is served from it, and the call is marked; its phases check the mark and end with
 * MOT_ESYSTEM. A request that grows with the input asks for `large` memory: it may get NULL, and then the
 * call is marked, too. Without a spare, or once it is used up, the program ends with a message.
 *
 * Step functions and the simulator's loop never allocate: what they use was reserved before the run. Sizes
 * taken from input are checked against limits before they get here. */
#ifndef MOT_BASE_MEMORY_H
#define MOT_BASE_MEMORY_H

#include <motley/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *mot_new(size_t count, size_t size);                                        /* zeroed; free() it */
void *mot_grow(void *old, size_t count, size_t size);                            /* realloc, not zeroed */
char *mot_text(const char *);                                                    /* strdup */
char *mot_format(const char *format, ...) __attribute__((format(printf, 1, 2))); /* malloc'd */
void *mot_aligned(size_t bytes); /* 64-byte aligned, zeroed; free() it */

/* The same, or NULL if memory runs out: then mot_memory_refused() is true, and `old` is as it was. */
void *mot_new_large(size_t count, size_t size);
void *mot_grow_large(void *old, size_t count, size_t size);
void *mot_aligned_large(size_t bytes);

/* Address space that costs memory only where it is touched; NULL likewise. */
void *mot_reserve(size_t bytes);
void mot_release(void *, size_t bytes);
void mot_huge_pages(void *reserved, size_t bytes, bool wanted); /* for memory touched in long stretches */

uint64_t mot_machine_memory(void); /* bytes of RAM */

/* ---- Memory put aside ------------------------------------------------------------ */

struct mot_spare;
enum mot_status mot_spare_open(struct mot_spare **out);
void mot_spare_close(struct mot_spare *); /* NULL is fine; blocks handed out stay valid */
/* Makes it this thread's spare; returns the previous one. NULL is none. A thread uses the spare of the thread
 * that starts it, so that concurrent library calls do not see each other's. */
struct mot_spare *mot_spare_use(struct mot_spare *);
struct mot_spare *mot_spare_mine(void);

/* Whether memory was refused since this thread's spare was opened. */
bool mot_memory_refused(void);
/* The same as a status: MOT_OK, or the failure. */
enum mot_status mot_memory_status(void);
/* Reports a refusal from elsewhere, such as inside another library; 0: size not known. */
void mot_memory_refuse(size_t bytes);

#define MOT_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* An arena: many small things freed together. */
struct mot_arena {
    struct mot_arena_block *last;
};
void *mot_arena_new(struct mot_arena *, size_t bytes);       /* zeroed, 16-byte aligned */
void *mot_arena_new_large(struct mot_arena *, size_t bytes); /* or NULL, as above */
char *mot_arena_text(struct mot_arena *, const char *);
char *mot_arena_take(struct mot_arena *, char *text); /* the same; frees the text */
void mot_arena_free(struct mot_arena *);

#endif
