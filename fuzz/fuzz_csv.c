/* fuzz_csv.c -- any bytes through the CSV reader; the first byte chooses its options. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const char *const columns[] = { "last", "first", "1", "y" },
                             *const separators[] = { NULL, ";", "tab", "space" };
    struct mot_read_conf conf = fuzz_conf();
    if (n == 0) return 0;
    conf.label_column = columns[bytes[0] & 3];
    conf.separator = separators[bytes[0] >> 2 & 3];
    conf.header = (uint32_t)(bytes[0] >> 4 & 3) % 3;
    conf.unlabelled = bytes[0] >> 6 & 1;
    conf.skip = bytes[0] >> 7 ? "0, x" : NULL;
    struct mot_source *s = fuzz_source("x", bytes + 1, n - 1);
    struct mot_raw raw;
    if (s) fuzz_check(mot_read_csv(s, &conf, &raw), &raw);
    mot_source_close(s);
    return 0;
}
