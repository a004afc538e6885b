/* memory.c -- allocation that ends the program, with a message, when there is no memory. */
#include "base/memory.h"

#include <motley/status.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static _Noreturn void no_memory(size_t count, size_t size)
{
    fprintf(stderr, "motley: out of memory: no room for %zu x %zu bytes\n", count, size);
    exit(MOT_ESYSTEM);
}

void *mot_new(size_t count, size_t size)
{
    bool empty = count == 0 || size == 0;
    void *p = empty ? calloc(1, 1) : calloc(count, size);
    if (!p) no_memory(count, size);
    return p;
}

void *mot_grow(void *old, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) no_memory(count, size);
    void *p = realloc(old, bytes ? bytes : 1);
    if (!p) no_memory(count, size);
    return p;
}

char *mot_text(const char *text)
{
    size_t n = strlen(text) + 1;
    return memcpy(mot_new(n, 1), text, n);
}

char *mot_format(const char *format, ...)
{
    char *text;
    va_list arguments;
    va_start(arguments, format);
    int n = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (n < 0) no_memory(strlen(format), 1);
    return text;
}

void *mot_aligned(size_t bytes)
{
    if (bytes > SIZE_MAX - 128) no_memory(bytes, 1);
    size_t rounded = (bytes + 63) / 64 * 64;
    if (rounded == 0) rounded = 64;
    void *p = aligned_alloc(64, rounded);
    if (!p) no_memory(bytes, 1);
    return memset(p, 0, rounded);
}

void *mot_reserve(size_t bytes)
{
    void *p = mmap(
        NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) no_memory(bytes, 1);
    return p;
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

void *mot_arena_new(struct mot_arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX / 2) no_memory(bytes, 1);
    size_t rounded = bytes ? (bytes + 15) / 16 * 16 : 16;
    struct mot_arena_block *block = arena->last;
    if (!block || block->size - block->used < rounded) {
        size_t size = rounded > ARENA_BLOCK_BYTES ? rounded : ARENA_BLOCK_BYTES;
        block = mot_new(1, sizeof *block + size);
        block->before = arena->last;
        block->size = size;
        arena->last = block;
    }
    void *p = block->bytes + block->used;
    block->used += rounded;
    return p;
}

char *mot_arena_text(struct mot_arena *arena, const char *text)
{
    size_t n = strlen(text) + 1;
    return memcpy(mot_arena_new(arena, n), text, n);
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
