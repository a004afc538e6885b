#include "run/buckets.h"
#include "base/memory.h"
#include <stdlib.h>

/* A layer's backward pass takes two products where its forward pass took one. */
#define WAY_BACK (2.0 / 3.0)

/* Where a layer begins, and what the backward pass through the layers before it costs. */
struct cut {
    uint32_t at;
    double before;
};

/* Finds where to cut, in ascending order; the first place is 0. Returns how many there are. */
static uint32_t find_cuts(const struct mot_net *net, struct cut *cut, double *all_out)
{
    uint32_t n = 0;
    double all = 0;
    if (!net->kind->computes) { /* all of its floats are alike */
        for (; n < net->dim; n++) cut[n] = (struct cut){ n, n };
        *all_out = net->dim;
        return n;
    }
    for (uint32_t s = 0; s < net->segments; s++) {
        const struct mot_segment *at = &net->segment[s];
        if (at->work > 0) {
            cut[n] = (struct cut){ n ? at->off : 0, all };
            n++;
        }
        all += at->work;
    }
    *all_out = all;
    return n;
}

/* Cuts from the end on; the first bucket takes whatever is left. */
static void fill(struct mot_world *w, const struct mot_net *net, const struct cut *cut, uint32_t cuts,
    double all, double least)
{
    uint32_t *at = mot_new(MOT_BUCKETS_MOST + 2, sizeof(*at)), end = net->dim, n = 0;
    double *left = mot_new(MOT_BUCKETS_MOST + 1, sizeof(*left));
    for (uint32_t i = cuts; i-- > 0;) {
        if (i > 0 && end - cut[i].at < least) continue;
        at[n] = end = cut[i].at;
        left[n++] = WAY_BACK * (cut[i].before / all);
    }
    for (uint32_t i = 0; i < n / 2; i++) { /* into the order of the floats */
        uint32_t a = at[i];
        double l = left[i];
        at[i] = at[n - 1 - i], left[i] = left[n - 1 - i];
        at[n - 1 - i] = a, left[n - 1 - i] = l;
    }
    at[n] = net->dim;
    w->buckets = n;
    w->bucket_at = at;
    w->bucket_left = left;
}

void mot_buckets_open(struct mot_world *w, const struct mot_net *net, uint64_t bytes)
{
    if (bytes == 0) return;
    struct cut *cut = mot_new(net->kind->computes ? net->segments : net->dim, sizeof(*cut));
    double all, least = (double)bytes / (4 * net->parameters / net->dim),
                few = net->dim / (double)MOT_BUCKETS_MOST;
    uint32_t cuts = find_cuts(net, cut, &all);
    if (cuts > 1) fill(w, net, cut, cuts, all, least > few ? least : few);
    free(cut);
}

void mot_buckets_close(struct mot_world *w)
{
    free((void *)(uintptr_t)w->bucket_at);
    free((void *)(uintptr_t)w->bucket_left);
    w->bucket_at = NULL;
    w->bucket_left = NULL;
    w->buckets = 0;
}

uint32_t mot_buckets_longest(const struct mot_world *w)
{
    uint32_t most = 0;
    for (uint32_t b = 0; b < w->buckets; b++)
        if (mot_bucket_len(w, b) > most) most = mot_bucket_len(w, b);
    return most;
}

/* Samples in the job's last slice. A phantom, which stands for any machine, goes over all of them at once. */
static uint64_t last_slice(const struct mot_slot *s, const struct mot_problem *p)
{
    if (!p->net->kind->computes) return s->asked;
    if (s->asked <= MOT_SLICE_ROWS) return s->asked;
    uint64_t two = MOT_SLICE_ROWS + 1 + (s->asked - 1) % MOT_SLICE_ROWS; /* rows of the last two */
    return two - mot_slice_rows(p->net, two);
}

mot_time mot_slot_leaves_after(const struct mot_slot *s, const struct mot_world *w,
    const struct mot_problem *p, const struct mot_machine *machine, mot_time whole)
{
    double left = w->bucket_left[mot_slot_bucket(s, w)] * (double)last_slice(s, p) / (double)s->asked;
    return mot_job_until(machine, whole, s->asked, left);
}
