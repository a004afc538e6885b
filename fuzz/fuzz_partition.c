/* fuzz_partition.c -- a pair of files, partition.json and a worker's rows, through their readers. */
#include "fuzz.h"
#include "partition/folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct fuzz_pair pair = fuzz_pair(bytes, n);
    struct mot_partition_index x;
    if (mot_partition_parse("partition.json", (const char *)pair.x, pair.x_n, &x) == MOT_OK) {
        uint64_t rows = 0;
        for (uint32_t j = 0; j < x.workers; j++) {
            MOT_ASSERT(x.file[j] != NULL && x.file_n[j] > 0);
            rows += x.file_n[j];
        }
        MOT_ASSERT(rows == x.rows);
        mot_partition_index_close(&x);
    } else {
        MOT_ASSERT(mot_error()[0] != 0);
    }
    struct mot_source *s = fuzz_source("worker-0.npy", pair.y, pair.y_n);
    uint32_t *row, count;
    if (s && mot_read_npy_rows(s, 1 << 16, &row, &count) == MOT_OK) {
        MOT_ASSERT(count <= 1 << 16);
        for (uint32_t i = 0; i < count; i++) MOT_ASSERT(row[i] < MOT_ROWS_MAX);
        free(row);
    }
    mot_source_close(s);
    return 0;
}
