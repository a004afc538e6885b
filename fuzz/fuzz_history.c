/* fuzz_history.c -- any bytes through the reader of metrics.jsonl. */
#include "report/history.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* What it lets through has a time and a number of updates in every row. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct mot_history h;
    if (mot_history_parse("x", (const char *)bytes, n, &h) != MOT_OK) return 0;
    for (size_t i = 0; i < h.n; i++)
        if (isnan(h.value[MOT_COL_TIME][i]) || isnan(h.value[MOT_COL_UPDATES][i])) abort();
    mot_history_free(&h);
    return 0;
}
