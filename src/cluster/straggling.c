/* straggling.c -- how often each worker of a described cluster is late, for whatever reason. */
#include "base/memory.h"
#include "cluster/cluster.h"
#include <stdlib.h>

#define ROUNDS_MOST 1000u
#define JOBS_MOST 2000000u /* about the most drawn in all */
#define LATE 2.0           /* times the median */

static int by_size(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static bool is_trace(const struct mot_machine *m) { return m->straggle.kind == MOT_STRAGGLE_TRACE; }

/* How many rounds to examine: one is enough if times do not change. */
static uint32_t rounds_of(const struct mot_cluster *c)
{
    uint32_t rounds = 1, most = JOBS_MOST / c->workers + 1;
    for (uint32_t i = 0; i < c->workers; i++) {
        const struct mot_machine *m = &c->machine[i];
        const struct mot_law *law = m->has_job_time ? &m->job_time : &m->jitter;
        if (is_trace(m) && m->straggle.trace->rows > rounds) rounds = m->straggle.trace->rows;
        if (!is_trace(m) && (law->kind != MOT_LAW_FIXED || m->jitter.kind != MOT_LAW_FIXED) &&
            rounds < ROUNDS_MOST)
            rounds = ROUNDS_MOST;
    }
    return rounds < most ? rounds : most;
}

void mot_straggle_chances(const struct mot_cluster *c, uint64_t seed, const uint32_t *batch,
    const uint32_t *samples, double *chance)
{
    uint32_t n = c->workers, rounds = rounds_of(c);
    struct mot_pace *pace = mot_new(n, sizeof(*pace));
    double *took = mot_new(n, sizeof(*took)), *sorted = mot_new(n, sizeof(*sorted));
    for (uint32_t i = 0; i < n; i++) {
        pace[i] = mot_pace_of(&c->machine[i], batch[i]);
        chance[i] = 0;
    }
    for (uint32_t k = 0; k < rounds; k++) {
        for (uint32_t i = 0; i < n; i++) {
            /* Do not draw who straggles, since the share is known; a trace's times include it. */
            struct mot_machine m = c->machine[i];
            if (!is_trace(&m)) m.straggle.kind = MOT_STRAGGLE_NONE;
            sorted[i] = took[i] = (double)mot_job_time(&m, seed, i, &pace[i], samples[i]);
        }
        qsort(sorted, n, sizeof(*sorted), by_size);
        double late = LATE * sorted[(n - 1) / 2];
        for (uint32_t i = 0; i < n; i++) {
            const struct mot_machine *m = &c->machine[i];
            double share = mot_straggling_share(m, seed, i);
            if (took[i] > late) chance[i] += 1.0 / rounds;
            else if (took[i] * m->straggle.factor > late) chance[i] += share / rounds;
        }
    }
    free(pace);
    free(took);
    free(sorted);
}
