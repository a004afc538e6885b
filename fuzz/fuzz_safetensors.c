/* fuzz_safetensors.c -- any bytes through the reader of model files, up to the model that they make. */
#include "report/report.h"
#include "report/safetensors.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct mot_tensors t;
    if (mot_tensors_parse("x", bytes, n, &t) != MOT_OK) return 0;
    for (size_t i = 0; i < t.n; i++) {
        /* What the reader lets through must be there to be read. */
        float *x = malloc(t.tensor[i].floats * sizeof *x + 1);
        if (!x) abort();
        mot_tensor_copy(&t.tensor[i], x);
        free(x);
    }
    struct mot_saved_model *m = NULL;
    if (mot_saved_model_read("x", &t, &m) == MOT_OK) {
        for (uint32_t c = 0; c < m->schema.classes; c++)
            if (!m->schema.class_names[c]) abort();
        mot_saved_model_close(m);
    }
    mot_tensors_free(&t);
    return 0;
}
