/* fuzz_gzip.c -- gzip'd (or plain) bytes through the detection of formats and the reader it picks. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct mot_read_conf conf = fuzz_conf();
    struct mot_source *s = fuzz_source("x", bytes, n);
    struct mot_raw raw;
    enum mot_format format;
    enum mot_status status = s ? mot_detect_format(s, &format) : MOT_EDATA;
    if (s && status == MOT_OK) {
        conf.unlabelled = format == MOT_FORMAT_IDX || format == MOT_FORMAT_NPY;
        status = mot_read_format(s, NULL, format, &conf, &raw);
        fuzz_check(status, &raw);
    }
    mot_source_close(s);
    return 0;
}
