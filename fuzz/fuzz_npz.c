/* fuzz_npz.c -- an NPZ file: damaged archives are refused, and whatever is in them is checked like NPY. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct mot_read_conf conf = fuzz_conf();
    if (n < 2) return 0;
    conf.unpack_max = FUZZ_UNPACKED;
    struct mot_source *s = fuzz_source("file", bytes + 0, n - 0);
    struct mot_raw raw;
    if (s) fuzz_check(mot_read_npz(s, &conf, &raw), &raw);
    mot_source_close(s);
    return 0;
}
