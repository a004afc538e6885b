/* fuzz_records.c -- any bytes as records of a stream, cut in two anywhere: rows are finite and of a known
 * class, and everything is taken but an end that may go on. The first two bytes choose format and cut. */
#include "fuzz.h"
#include "stream/records.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static char *classes[] = { "cat", "1", "-2.5" }, *columns[] = { "a", "b" };
    if (n < 2) return 0;
    struct mot_record_form form = { .format = bytes[0] & 3,
        .label = bytes[0] & 4 ? 0 : UINT32_MAX,
        .separator = bytes[0] & 8 ? '\t' : ',',
        .label_key = "y",
        .feature_key = "x",
        .number_key = "n",
        .schema = { .cols = 2,
            .classes = bytes[0] & 16 ? 3 : 0,
            .scale = bytes[0] & 32 ? MOT_SCALE_UNIT : MOT_SCALE_NONE,
            .class_names = classes },
        .column_names = bytes[0] & 64 ? columns : NULL };
    struct mot_records *r = mot_records_open(&form);
    size_t cut = 2 + bytes[1], known = cut < n ? cut : n, at = 2;
    /* a copy that ends where the known bytes end, so that reading on is noticed */
    unsigned char *copy = malloc(n);
    while (copy && at <= known) {
        size_t took = 0;
        float x[2] = { 0 }, y = 0;
        memcpy(copy + n - known, bytes, known);
        enum mot_parsed is = mot_records_next(r, copy + n - known + at, known - at, &took, x, &y);
        MOT_ASSERT(is < MOT_RECORD_KINDS && mot_record_why(is));
        if (is == MOT_RECORD_PARTIAL) {
            if (known == n) break;
            known = n;
            continue;
        }
        MOT_ASSERT(took > 0 && took <= known - at);
        at += took;
        if (is != MOT_RECORD_ROW) continue;
        MOT_ASSERT(isfinite(x[0]) && isfinite(x[1]) && isfinite(y));
        MOT_ASSERT(form.schema.classes == 0 || (y >= 0 && y < 3 && y == floorf(y)));
    }
    free(copy);
    mot_records_close(r);
    return 0;
}
