/* fuzz_cluster.c -- any bytes as a cluster file; what is accepted prints to what reads
 * back the same, and gives times for jobs. */
#include "config/cluster_file.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static char *print(const struct mot_cluster *c, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    MOT_ASSERT(out);
    mot_cluster_print(c, 0, out);
    fclose(out);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct mot_cluster *c, *again;
    size_t size, size_again;
    if (mot_cluster_parse("fuzz.yaml", (const char *)bytes, n, &c)) {
        MOT_ASSERT(*mot_error());
        return 0;
    }
    char *text = print(c, &size);
    MOT_ASSERT(mot_cluster_parse("again.yaml", text, size, &again) == MOT_OK);
    char *text_again = print(again, &size_again);
    MOT_ASSERT(size == size_again && memcmp(text, text_again, size) == 0);
    for (uint32_t i = 0; i < c->workers && i < 100; i++) {
        struct mot_pace pace = { 0 }, same = { 0 };
        for (int job = 0; job < 3; job++) {
            mot_time t = mot_job_time(&c->machine[i], 1, i, &pace, 32);
            MOT_ASSERT(t <= UINT64_C(1000000000000000000));
            MOT_ASSERT(t == mot_job_time(&again->machine[i], 1, i, &same, 32));
            MOT_ASSERT(mot_job_done(&c->machine[i], t, t / 2, 32) <= 32);
        }
    }
    free(text_again);
    free(text);
    mot_cluster_close(again);
    mot_cluster_close(c);
    return 0;
}
