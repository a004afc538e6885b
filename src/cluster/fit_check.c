/* fit_check.c -- simulates traces from a fitted model, to see whether the recorded one could be one of them.
 *
 * A likelihood says which model is better, not whether any is good. */
#include "cluster/fit.h"
#include <math.h>
#include <stdlib.h>

/* With 199 simulated traces, each figure of a true model's trace lies outside their range about once in a
 * hundred times; with 19, about once in ten. */
#define TRACES 199
#define TRACES_FEW 19
#define CELLS_MANY 100000u

struct mot_fit_looks mot_fit_look(const uint8_t *straggles, uint32_t rows, uint32_t cols)
{
    uint64_t total = 0, runs = 0;
    uint32_t longest = 0, busiest = 0;
    for (uint32_t c = 0; c < cols; c++) {
        uint32_t hits = 0, run = 0;
        for (uint32_t r = 0; r < rows; r++) {
            bool hit = straggles[(size_t)r * cols + c];
            hits += hit;
            runs += hit && run == 0;
            run = hit ? run + 1 : 0;
            if (run > longest) longest = run;
        }
        total += hits;
        if (hits > busiest) busiest = hits;
    }
    return (struct mot_fit_looks){ runs ? (double)total / (double)runs : 0, longest, (double)busiest / rows };
}

static void simulate(const struct mot_fit *f, enum mot_fit_kind kind, uint64_t seed, uint8_t *straggles)
{
    uint32_t rows = f->trace->rows, cols = f->trace->cols;
    for (uint32_t c = 0; c < cols; c++) {
        const struct mot_law one = { .kind = MOT_LAW_FIXED, .mean = 1 };
        const struct mot_machine m = {
            .has_job_time = true, .job_time = one, .jitter = one, .straggle = mot_fit_straggle(f, kind, c)
        };
        struct mot_pace pace = { 0 };
        for (uint32_t r = 0; r < rows; r++) {
            mot_job_time(&m, seed, c, &pace, 1);
            straggles[(size_t)r * cols + c] = pace.straggling != 0;
        }
    }
}

static void widen(const struct mot_fit_looks *seen, struct mot_fit_looks *least, struct mot_fit_looks *most)
{
    least->mean_run = fmin(least->mean_run, seen->mean_run);
    least->longest_run = fmin(least->longest_run, seen->longest_run);
    least->busiest = fmin(least->busiest, seen->busiest);
    most->mean_run = fmax(most->mean_run, seen->mean_run);
    most->longest_run = fmax(most->longest_run, seen->longest_run);
    most->busiest = fmax(most->busiest, seen->busiest);
}

void mot_fit_simulate(struct mot_fit *f, uint64_t seed)
{
    size_t cells = (size_t)f->trace->rows * f->trace->cols;
    if (f->total == 0) return; /* nothing straggles, nor would it in simulated traces */
    uint8_t *straggles = mot_new_large(cells, 1);
    if (!straggles) return;
    f->simulated = cells > CELLS_MANY ? TRACES_FEW : TRACES;
    for (int kind = 0; kind < MOT_FIT_MODELS; kind++) {
        struct mot_fit_model *m = &f->model[kind];
        for (uint32_t s = 0; s < f->simulated; s++) {
            simulate(f, (enum mot_fit_kind)kind, mot_hash3(seed, (uint64_t)kind, s), straggles);
            struct mot_fit_looks seen = mot_fit_look(straggles, f->trace->rows, f->trace->cols);
            if (s == 0) m->least = m->most = seen;
            else widen(&seen, &m->least, &m->most);
        }
    }
    free(straggles);
}

static bool within(double x, double least, double most)
{
    const double rounding = 1e-9;
    return x >= least - rounding && x <= most + rounding;
}

bool mot_fit_agrees(const struct mot_fit *f, enum mot_fit_kind kind)
{
    const struct mot_fit_looks *a = &f->model[kind].least, *b = &f->model[kind].most;
    return within(f->looks.mean_run, a->mean_run, b->mean_run) &&
        within(f->looks.longest_run, a->longest_run, b->longest_run) &&
        within(f->looks.busiest, a->busiest, b->busiest);
}
