/* shared.h -- real data sets that are not in the repository: their tests are skipped where they are not. */
#ifndef MOT_TEST_SHARED_H
#define MOT_TEST_SHARED_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* What a test without its file says: SKIP(NOT_SHARED). */
#define NOT_SHARED                                                                                           \
    "its data set is not here: MOTLEY_SHARED=DIR names a folder with data/ in it (CONTRIBUTING.md)"

/* A file of $MOTLEY_SHARED/data, or of ../shared/data; NULL: it is not there. */
__attribute__((unused)) static const char *shared_file(const char *name, char *into, size_t size)
{
    const char *folder = getenv("MOTLEY_SHARED");
    snprintf(into, size, "%s/data/%s", folder ? folder : "../shared", name);
    return access(into, R_OK) == 0 ? into : NULL;
}

#endif
