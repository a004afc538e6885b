/* fuzz_experiment.c -- any bytes as an experiment; what is accepted prints to what reads back the same. */
#include "config/experiment.h"
#include "config/parse.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static char *print(const struct mot_experiment *e, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    MOT_ASSERT(out);
    MOT_ASSERT(mot_experiment_print(e, out) == MOT_OK);
    fclose(out);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct mot_experiment *e, *again;
    size_t size, size_again;
    if (mot_experiment_parse("fuzz.yaml", (const char *)bytes, n, &e)) {
        MOT_ASSERT(*mot_error());
        return 0;
    }
    char *text = print(e, &size);
    MOT_ASSERT(mot_experiment_parse("again.yaml", text, size, &again) == MOT_OK);
    char *text_again = print(again, &size_again);
    MOT_ASSERT(size == size_again && memcmp(text, text_again, size) == 0);
    MOT_ASSERT(mot_experiment_hash(e) == mot_experiment_hash(again));
    free(text_again);
    free(text);
    mot_experiment_close(again);
    mot_experiment_close(e);
    return 0;
}
