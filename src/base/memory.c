/* memory.c -- allocation; memory.h says what happens when memory runs out. */
#include "base/memory.h"

#include <malloc.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- Memory put aside ---------------------------------------------------------------- */

/* Blocks allocated while malloc still could. Once handed out, they are free()d like any other. Most are never
 * touched, so they cost address space, not memory. A phase of a call asks for less than this before it checks
 * whether memory was refused. */
static const struct {
    size_t bytes;
    unsigned blocks;
} classes[] = { { 256, 1024 }, { 5 << 10, 192 }, { (64 << 10) + 512, 24 }, { 1 << 20, 12 } };

struct mot_spare {
    atomic_size_t refused; /* bytes of the first request refused; SIZE_MAX: not known; 0: none was */
    pthread_mutex_t lock;
    unsigned left[MOT_COUNT(classes)];
    void **block[MOT_COUNT(classes)];
};

static _Thread_local struct mot_spare *mine;

struct mot_spare *mot_spare_mine(void) { return mine; }

struct mot_spare *mot_spare_use(struct mot_spare *spare)
{
    struct mot_spare *before = mine;
    mine = spare;
    return before;
}

static enum mot_status refusal(size_t bytes)
{
    if (bytes == SIZE_MAX) return mot_fail(MOT_ESYSTEM, "out of memory");
    return mot_fail(MOT_ESYSTEM, "out of memory: no room for %zu bytes", bytes);
}

enum mot_status mot_spare_open(struct mot_spare **out)
{
    struct mot_spare *s = calloc(1, sizeof *s);
    if (!s) return refusal(sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    for (size_t c = 0; c < MOT_COUNT(classes); c++) {
        s->block[c] = malloc(classes[c].blocks * sizeof *s->block[c]);
        for (unsigned i = 0; s->block[c] && i < classes[c].blocks; i++) {
            void *p = c ? aligned_alloc(64, classes[c].bytes) : malloc(classes[c].bytes);
            if (!p) break;
            s->block[c][s->left[c]++] = p;
        }
        if (s->left[c] < classes[c].blocks) {
            mot_spare_close(s);
            return refusal(classes[c].bytes);
        }
    }
    *out = s;
    return MOT_OK;
}

void mot_spare_close(struct mot_spare *s)
{
    if (!s) return;
    for (size_t c = 0; c < MOT_COUNT(classes); c++) {
        for (unsigned i = 0; i < s->left[c]; i++) free(s->block[c][i]);
        free(s->block[c]);
    }
    pthread_mutex_destroy(&s->lock);
    free(s);
}

void mot_memory_refuse(size_t bytes)
{
    size_t none = 0;
    if (mine) atomic_compare_exchange_strong(&mine->refused, &none, bytes ? bytes : SIZE_MAX);
}

bool mot_memory_refused(void) { return mine && atomic_load_explicit(&mine->refused, memory_order_relaxed); }

enum mot_status mot_memory_status(void) { return mot_memory_refused() ? refusal(mine->refused) : MOT_OK; }

static _Noreturn void no_memory(size_t bytes)
{
    fprintf(stderr, "motley: out of memory: no room for %zu bytes\n", bytes);
    exit(MOT_ESYSTEM);
}

static void *take_spare(size_t bytes)
{
    void *p = NULL;
    pthread_mutex_lock(&mine->lock);
    for (size_t c = 0; c < MOT_COUNT(classes) && !p; c++)
        if (bytes <= classes[c].bytes && mine->left[c]) p = mine->block[c][--mine->left[c]];
    pthread_mutex_unlock(&mine->lock);
    return p;
}

/* Spare memory instead of what malloc refused; 64-byte aligned, except for the smallest blocks. */
static void *stand_in(size_t bytes)
{
    mot_memory_refuse(bytes);
    void *p = mine ? take_spare(bytes) : NULL;
    if (!p) no_memory(bytes);
    return p;
}

/* For large requests: NULL, if there is a call to mark. */
static void *refuse_large(size_t bytes)
{
    if (!mine) no_memory(bytes);
    mot_memory_refuse(bytes);
    return NULL;
}

/* ---- Allocation ---------------------------------------------------------------------- */

static size_t bytes_of(size_t count, size_t size)
{
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes ? bytes : 1;
}

void *mot_new(size_t count, size_t size)
{
    size_t bytes = bytes_of(count, size);
    void *p = calloc(bytes, 1);
    return p ? p : memset(stand_in(bytes), 0, bytes);
}

void *mot_new_large(size_t count, size_t size)
{
    size_t bytes = bytes_of(count, size);
    void *p = calloc(bytes, 1);
    return p ? p : refuse_large(bytes);
}

void *mot_grow(void *old, size_t count, size_t size)
{
    size_t bytes = bytes_of(count, size);
    void *p = realloc(old, bytes);
    if (p) return p;
    p = stand_in(bytes);
    size_t had = old ? malloc_usable_size(old) : 0;
    if (old) memcpy(p, old, had < bytes ? had : bytes);
    free(old);
    return p;
}

void *mot_grow_large(void *old, size_t count, size_t size)
{
    size_t bytes = bytes_of(count, size);
    void *p = realloc(old, bytes);
    return p ? p : refuse_large(bytes);
}

char *mot_text(const char *text)
{
    size_t n = strlen(text) + 1;
    return memcpy(mot_new(n, 1), text, n);
}

char *mot_format(const char *format, ...)
{
    char *text;
    va_list arguments, measured, again;
    va_start(arguments, format);
    va_copy(measured, arguments);
    va_copy(again, arguments);
    if (vasprintf(&text, format, arguments) < 0) {
        int n = vsnprintf(NULL, 0, format, measured);
        size_t most = n >= 0 && n < 64 << 10 ? (size_t)n + 1 : 64 << 10; /* the rest nobody will read */
        text = stand_in(most);
        vsnprintf(text, most, format, again);
    }
    va_end(again);
    va_end(measured);
    va_end(arguments);
    return text;
}

static size_t rounded_up(size_t bytes)
{
    if (bytes > SIZE_MAX - 128) return SIZE_MAX / 64 * 64; /* which is refused */
    return bytes ? (bytes + 63) / 64 * 64 : 64;
}

void *mot_aligned(size_t bytes)
{
    size_t rounded = rounded_up(bytes);
    void *p = aligned_alloc(64, rounded);
    if (!p) p = stand_in(rounded > classes[0].bytes ? rounded : classes[0].bytes + 1);
    return memset(p, 0, rounded);
}

void *mot_aligned_large(size_t bytes)
{
    size_t rounded = rounded_up(bytes);
    void *p = aligned_alloc(64, rounded);
    return p ? memset(p, 0, rounded) : refuse_large(rounded);
}

void *mot_reserve(size_t bytes)
{
    void *p = mmap(
        NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? refuse_large(bytes) : p;
}

void mot_huge_pages(void *p, size_t bytes, bool wanted)
{
#ifdef MADV_HUGEPAGE
    if (p) madvise(p, bytes, wanted ? MADV_HUGEPAGE : MADV_NOHUGEPAGE); /* a hint: nothing depends on it */
#else
    (void)p, (void)bytes, (void)wanted;
#endif
}

void mot_release(void *p, size_t bytes)
{
    if (p) munmap(p, bytes ? bytes : 1);
}

uint64_t mot_machine_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

/* ---- Arena ----------------------------------------------------------------- */

#define ARENA_BLOCK_BYTES 4096

struct mot_arena_block {
    struct mot_arena_block *before;
    size_t used, size;
    alignas(16) unsigned char bytes[];
};

static void *arena_take(struct mot_arena *arena, size_t bytes, void *(*new)(size_t, size_t))
{
    size_t rounded = bytes > SIZE_MAX / 2 ? SIZE_MAX / 2 : bytes ? (bytes + 15) / 16 * 16 : 16;
    struct mot_arena_block *block = arena->last;
    if (!block || block->size - block->used < rounded) {
        size_t size = rounded > ARENA_BLOCK_BYTES ? rounded : ARENA_BLOCK_BYTES;
        block = new (1, sizeof *block + size);
        if (!block) return NULL;
        block->before = arena->last;
        block->size = size;
        arena->last = block;
    }
    void *p = block->bytes + block->used;
    block->used += rounded;
    return p;
}

void *mot_arena_new(struct mot_arena *arena, size_t bytes) { return arena_take(arena, bytes, mot_new); }

void *mot_arena_new_large(struct mot_arena *arena, size_t bytes)
{
    return arena_take(arena, bytes, mot_new_large);
}

char *mot_arena_text(struct mot_arena *arena, const char *text)
{
    size_t n = strlen(text) + 1;
    return memcpy(mot_arena_new(arena, n), text, n);
}

char *mot_arena_take(struct mot_arena *arena, char *text)
{
    char *kept = mot_arena_text(arena, text);
    free(text);
    return kept;
}

void mot_arena_free(struct mot_arena *arena)
{
    for (struct mot_arena_block *block = arena->last; block;) {
        struct mot_arena_block *before = block->before;
        free(block);
        block = before;
    }
    arena->last = NULL;
}
