/* reached.c -- notes which functions of the library run, for tools/mutate: a byte for each in the file
 * that MOTLEY_REACHED names, at the function's place in the library. The file is mapped, so what a killed
 * process did is there too. */
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 1 << 24 };

static unsigned char *reached;
static ElfW(Addr) start;

static int find(struct dl_phdr_info *object, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        ElfW(Addr) at = (uintptr_t)find - object->dlpi_addr;
        if (part->p_type != PT_LOAD || at < part->p_vaddr || at >= part->p_vaddr + part->p_memsz) continue;
        start = object->dlpi_addr;
        return 1;
    }
    return 0;
}

__attribute__((constructor)) static void map(void)
{
    const char *path = getenv("MOTLEY_REACHED");
    int file = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
    if (file < 0) return;
    if (dl_iterate_phdr(find, NULL) && ftruncate(file, SIZE) == 0) {
        void *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (at != MAP_FAILED) reached = at;
    }
    close(file);
}

__attribute__((visibility("default"))) void __cyg_profile_func_enter(void *function, void *site)
{
    (void)site;
    ElfW(Addr) at = (uintptr_t)function - start;
    if (reached && at < SIZE && !reached[at]) reached[at] = 1;
}

__attribute__((visibility("default"))) void __cyg_profile_func_exit(void *function, void *site)
{
    (void)function;
    (void)site;
}
