/* fuzz_libsvm.c -- any bytes through the LIBSVM reader. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct mot_read_conf conf = fuzz_conf();
    struct mot_source *s = fuzz_source("x", bytes, n);
    struct mot_raw raw;
    if (s) fuzz_check(mot_read_libsvm(s, &conf, &raw), &raw);
    mot_source_close(s);
    return 0;
}
