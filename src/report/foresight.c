/* foresight.c -- predicts the figures of a coded run before it begins. */
#include "report/foresight.h"

#include "base/memory.h"
#include "code/codes.h"
#include "report/tally.h"
#include <math.h>
#include <stdlib.h>

#define SHUFFLES_LOOKED_AT 16u
#define SELDOM 0.01 /* share of rounds with a straggler: below that, nothing is said */

static uint32_t samples_of(const struct mot_world *w, uint32_t role)
{
    uint64_t samples = 0;
    for (uint32_t k = w->code->at[role]; k < w->code->at[role + 1]; k++)
        samples += w->part_batch[w->code->share[k].part];
    return samples < UINT32_MAX ? (uint32_t)samples : UINT32_MAX;
}

/* Returns the share of rounds in which nobody is late. */
static double find_late(struct mot_foresight *f, const struct mot_experiment *e, const struct mot_world *w)
{
    double nobody = 1;
    uint32_t *samples = mot_new(w->workers, sizeof *samples);
    double *job = mot_new(w->workers, sizeof *job);
    for (uint32_t i = 0; i < w->workers; i++) samples[i] = samples_of(w, i);
    mot_straggle_chances(e->cluster, e->seed, w->batch, samples, f->chance);
    for (uint32_t i = 0; i < w->workers; i++) {
        struct mot_machine m = e->cluster->machine[i];
        uint32_t batch = mot_pace_of(&m, w->batch[i]).batch;
        if (m.straggle.kind != MOT_STRAGGLE_TRACE) m.straggle.kind = MOT_STRAGGLE_NONE;
        job[i] = mot_job_mean(&m, samples[i]) * (batch ? (double)samples[i] / batch : 1);
        if (f->chance[i] > f->chance[f->latest]) f->latest = i;
    }
    f->job_s = mot_median(job, w->workers);
    for (uint32_t i = 0; i < w->workers; i++) {
        bool often = f->chance[i] >= f->chance[f->latest] / 2;
        f->late += often;
        f->others |= !often && f->chance[i] > 0;
        nobody *= 1 - f->chance[i];
    }
    free(job);
    free(samples);
    return nobody;
}

/* The last holder of a role sends its rows to the next one, except those it already has. All links work at
 * once, so the busiest decides. */
static void add_shuffle(const struct mot_cluster *cluster, const struct mot_world *w,
    const struct mot_shuffle *s, uint64_t number, double *busy, double *bytes, double *seconds)
{
    const struct mot_code *c = w->code;
    double longest = 0, latency = 0;
    for (uint32_t i = 0; i < 2 * w->workers; i++) busy[i] = 0;
    for (uint32_t i = 0; i < w->workers; i++) {
        uint32_t old = mot_shuffle_role(s, c, number - 1, i), role = mot_shuffle_role(s, c, number, i),
                 from = mot_shuffle_holder(s, c, number - 1, role), had = c->at[old];
        const struct mot_link *up = &cluster->machine[from].link, *down = &cluster->machine[i].link;
        for (uint32_t k = c->at[role]; k < c->at[role + 1]; k++) {
            uint32_t part = c->share[k].part;
            while (had < c->at[old + 1] && c->share[had].part < part) had++;
            if (had < c->at[old + 1] && c->share[had].part == part) continue;
            double size = (double)w->part_bytes[part];
            *bytes += size;
            busy[2 * from] += size / up->up;
            busy[2 * i + 1] += size / down->down;
            latency = fmax(latency, (double)(up->latency + down->latency) / 1e9);
        }
    }
    for (uint32_t i = 0; i < 2 * w->workers; i++) longest = fmax(longest, busy[i]);
    *seconds += longest + latency;
}

static void cost_shuffles(struct mot_foresight *f, const struct mot_cluster *cluster,
    const struct mot_world *w, const struct mot_shuffle *s)
{
    uint32_t shuffles = s->kind == MOT_SHUFFLE_NONE ? 0 : SHUFFLES_LOOKED_AT;
    double *busy = mot_new(2 * (size_t)w->workers, sizeof *busy), bytes = 0, seconds = 0;
    for (uint32_t k = 1; k <= shuffles; k++) add_shuffle(cluster, w, s, k, busy, &bytes, &seconds);
    f->bytes[s->kind] = shuffles ? bytes / shuffles : 0;
    f->seconds[s->kind] = shuffles ? seconds / shuffles : 0;
    free(busy);
}

static void cover_parts(struct mot_foresight *f, const struct mot_experiment *e, const struct mot_code *code)
{
    struct mot_shuffle s = { .kind = f->used, .fraction = e->traits.shuffle_fraction, .seed = e->seed };
    if (code->parts > MOT_FORESIGHT_LISTED) return;
    f->coverage = mot_new(code->parts, sizeof *f->coverage);
    mot_shuffle_coverage(code, &s, f->chance, f->coverage);
}

bool mot_foresee(const struct mot_experiment *e, const struct mot_world *w, struct mot_foresight *f)
{
    const struct mot_code *code = w->code;
    /* A sequential code repeats what is missing, and keeps its roles. */
    if (!code || code->burst || !e->cluster) return false;
    *f = (struct mot_foresight){ .workers = w->workers,
        .parts = code->parts,
        .tolerated = code->stragglers,
        .chance = mot_new(w->workers, sizeof *f->chance),
        .exact = !e->traits.cuts,
        .by_groups = code->replicas && code->stragglers > 0,
        .used = e->traits.shuffle,
        .period = e->traits.shuffle_period };
    if (find_late(f, e, w) > 1 - SELDOM) {
        mot_foresight_close(f);
        return false;
    }
    f->advised = mot_shuffle_advise(code, f->chance, e->seed, f->exact, f->of);
    for (uint32_t kind = 0; kind < MOT_FORESEEN; kind++) {
        struct mot_shuffle s = { .kind = kind, .fraction = e->traits.shuffle_fraction, .seed = e->seed };
        f->known[kind] = kind != MOT_SHUFFLE_PARTIAL || f->used == kind;
        if (!f->known[kind]) continue;
        if (kind == MOT_SHUFFLE_PARTIAL) f->of[kind] = mot_shuffle_forecast(code, &s, f->chance);
        cost_shuffles(f, e->cluster, w, &s);
    }
    cover_parts(f, e, code);
    return true;
}

void mot_foresight_close(struct mot_foresight *f)
{
    free(f->chance);
    free(f->coverage);
    f->chance = f->coverage = NULL;
}
