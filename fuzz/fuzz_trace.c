/* fuzz_trace.c -- any bytes as a trace of job times; what is read is fitted, and the fit makes sense. */
#include "cluster/fit.h"
#include "fuzz.h"
#include <string.h>

#define CELLS_MAX 2000 /* for a fit: it simulates traces of the same size */

static bool is_chance(double p) { return p >= 0 && p <= 1; }

static void check_fit(const struct mot_trace *t)
{
    struct mot_fit f;
    if (mot_fit_open("x", t, 2, 1, &f)) {
        MOT_ASSERT(*mot_error());
        return;
    }
    for (int kind = 0; kind < MOT_FIT_MODELS; kind++) {
        MOT_ASSERT(isfinite(f.model[kind].log_likelihood) && f.model[kind].log_likelihood < 1e-6);
        for (uint32_t i = 0; i < t->cols; i++) {
            struct mot_straggle s = mot_fit_straggle(&f, (enum mot_fit_kind)kind, i);
            MOT_ASSERT(s.factor > 0 && s.factor <= 1e6);
            MOT_ASSERT(is_chance(s.p) && is_chance(s.slow) && is_chance(s.p_slow) && is_chance(s.p_fast));
            MOT_ASSERT(is_chance(s.stay_slow) && is_chance(s.stay_fast));
        }
    }
    /* More parameters of the same kind describe no worse. */
    const double slack = 1e-6;
    MOT_ASSERT(f.model[MOT_FIT_IID_EACH].log_likelihood >= f.model[MOT_FIT_IID].log_likelihood - slack);
    MOT_ASSERT(f.model[MOT_FIT_TWO_CLASS].log_likelihood >= f.model[MOT_FIT_IID].log_likelihood - slack);
    for (uint32_t i = 0; i < t->cols; i++) {
        const struct mot_law *law = &f.node[i].law;
        double mean = mot_law_mean(law);
        MOT_ASSERT(mean > 0 && mean <= 2 * MOT_JOB_LONGEST_S);
    }
    mot_fit_close(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct mot_arena arena = { NULL };
    const struct mot_trace *t;
    char *text = malloc(n + 1);
    memcpy(text, bytes, n);
    text[n] = '\0';
    if (mot_trace_parse("x", text, n, &arena, &t) == MOT_OK) {
        MOT_ASSERT(t->rows > 0 && t->cols > 0);
        for (size_t i = 0; i < (size_t)t->rows * t->cols; i++)
            MOT_ASSERT(isfinite(t->seconds[i]) && t->seconds[i] >= 0);
        for (uint32_t c = 0; t->name && c < t->cols; c++) MOT_ASSERT(strlen(t->name[c]) < n);
        if ((size_t)t->rows * t->cols <= CELLS_MAX) check_fit(t);
    } else MOT_ASSERT(*mot_error());
    mot_arena_free(&arena);
    free(text);
    return 0;
}
