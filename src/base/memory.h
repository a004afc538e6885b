/* memory.h -- allocation that cannot be forgotten to be checked.
 *
 * Set-up code allocates with these; they end the program with a message when
 * the machine has no memory left. Step functions and the simulator's loop never
 * allocate: what they use was reserved before the run. Sizes that come from
 * input are checked against limits before they get here. */
#ifndef MOT_BASE_MEMORY_H
#define MOT_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

void *mot_new(size_t count, size_t size);                                        /* zeroed; free() it */
void *mot_grow(void *old, size_t count, size_t size);                            /* realloc, not zeroed */
char *mot_text(const char *);                                                    /* strdup */
char *mot_format(const char *format, ...) __attribute__((format(printf, 1, 2))); /* malloc'd */
void *mot_aligned(size_t bytes); /* 64-byte aligned, zeroed; free() it */

/* Address space that costs memory only where it is touched. */
void *mot_reserve(size_t bytes);
void mot_release(void *, size_t bytes);

uint64_t mot_machine_memory(void); /* bytes of RAM */

#define MOT_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* An arena: many small things with one end. */
struct mot_arena {
    struct mot_arena_block *last;
};
void *mot_arena_new(struct mot_arena *, size_t bytes); /* zeroed, 16-byte aligned */
char *mot_arena_text(struct mot_arena *, const char *);
void mot_arena_free(struct mot_arena *);

#endif
