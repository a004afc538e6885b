/* recorded.h -- texts that are compared line by line with a file of the tree.
 * With MOTLEY_RECORD=1 in the environment the file is written anew: read what has changed. */
#ifndef MOT_TEST_RECORDED_H
#define MOT_TEST_RECORDED_H

#include "base/file.h"
#include "test.h"

/* Frees the text; false and a sentence at the first line that differs. */
static inline bool as_recorded(const char *path, char *text)
{
    unsigned char *known = NULL;
    size_t bytes;
    bool same = true;
    if (getenv("MOTLEY_RECORD")) (void)mot_file_replace(path, text, strlen(text));
    if (mot_file_read(path, 1 << 22, &known, &bytes) != MOT_OK) {
        printf("  %s\n", mot_error());
        free(text);
        return false;
    }
    const char *a = text, *b = (char *)known;
    for (size_t line = 1; same && (*a || *b); line++) {
        size_t i = strcspn(a, "\n"), k = strcspn(b, "\n");
        same = i == k && memcmp(a, b, i) == 0;
        if (!same) printf("  %s:%zu: \"%.*s\"; expected \"%.*s\"\n", path, line, (int)i, a, (int)k, b);
        a += i + (a[i] != 0);
        b += k + (b[k] != 0);
    }
    free(known);
    free(text);
    return same;
}

#endif
