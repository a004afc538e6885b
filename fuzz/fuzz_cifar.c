/* fuzz_cifar.c -- a CIFAR file; the first byte says whether it has 100 classes. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct mot_read_conf conf = fuzz_conf();
    if (n < 2) return 0;
    struct mot_source *s = fuzz_source("file", bytes + 1, n - 1);
    struct mot_raw raw;
    if (s) fuzz_check(mot_read_cifar(s, bytes[0] & 1 ? 100 : 10, &conf, &raw), &raw);
    mot_source_close(s);
    return 0;
}
