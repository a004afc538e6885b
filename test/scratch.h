/* scratch.h -- for tests: folders that are gone when the test has passed. */
#ifndef MOT_TEST_SCRATCH_H
#define MOT_TEST_SCRATCH_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

static inline int scratch_remove_entry(const char *path, const struct stat *s, int kind, struct FTW *at)
{
    (void)s, (void)kind, (void)at;
    return remove(path);
}

/* The folder and all that is in it. */
static inline void scratch_remove(const char *folder)
{
    if (nftw(folder, scratch_remove_entry, 16, FTW_DEPTH | FTW_PHYS) != 0) {
        perror(folder);
        abort();
    }
}

#endif
