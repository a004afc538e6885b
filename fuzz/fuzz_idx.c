/* fuzz_idx.c -- a pair of files, features and labels, through the IDX reader. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct fuzz_pair pair = fuzz_pair(bytes, n);
    struct mot_read_conf conf = fuzz_conf();
    conf.unlabelled = pair.y_n == 0;
    struct mot_source *x = fuzz_source("x", pair.x, pair.x_n), *y = fuzz_source("y", pair.y, pair.y_n);
    struct mot_raw raw;
    if (x && y) fuzz_check(mot_read_idx(x, y, &conf, &raw), &raw);
    mot_source_close(x);
    mot_source_close(y);
    return 0;
}
