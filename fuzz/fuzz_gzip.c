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
        switch (format) {
        case MOT_FORMAT_AUTO: break;
        case MOT_FORMAT_IDX: status = mot_read_idx(s, NULL, &conf, &raw); break;
        case MOT_FORMAT_NPY: status = mot_read_npy(s, NULL, &conf, &raw); break;
        case MOT_FORMAT_LIBSVM: status = mot_read_libsvm(s, &conf, &raw); break;
        case MOT_FORMAT_CSV: status = mot_read_csv(s, &conf, &raw); break;
        }
        fuzz_check(status, &raw);
    }
    mot_source_close(s);
    return 0;
}
