/* show.c -- the evaluated model: the mean over the nodes that have one.
 *
 * Nodes whose models differ do not make their updates at the same time, and may be many ahead of the
 * slowest. What is evaluated at an update, and what the run ends with, is what each had after just that one,
 * as on real machines. So a node that comes to an update at which something is due leaves a copy of its model
 * in the set of that update; the set is looked at when the last node has come there. */
#include "base/memory.h"
#include "sim/channel.h"
#include "run/views.h"
#include <stdlib.h>
#include <string.h>

static bool view_of(const struct sim *s, mot_node node, struct mot_view *out)
{
    struct mot_env env = { .self = node, .now = s->now, .world = &s->world, .conf = s->x->method_conf };
    /* What a crashed server had last is still looked at; a worker's replica is gone. */
    if (s->node[node].dead && node < s->world.workers) return false;
    if (!s->method->model(s->node[node].state, &env, out)) return false;
    if (out->len == 0) out->len = s->world.dim;
    return true;
}

/* ---- Sets ------------------------------------------------------------------------------------------ */

/* The update after this one at which the nodes show their models. */
static uint64_t due_after(const struct sim *s, uint64_t update)
{
    uint64_t at = mot_course_due(&s->course, &s->every, update);
    return s->stop_at > update && s->stop_at < at ? s->stop_at : at;
}

struct sim_set *mot_sim_set(struct sim *s, uint64_t at)
{
    struct sim_set **place = &s->sets;
    while (*place && (*place)->at < at) place = &(*place)->next;
    if (*place && (*place)->at == at) return *place;
    struct sim_set *set = mot_new(1, sizeof(*set));
    set->at = at;
    set->then = due_after(s, at);
    set->piece = mot_new(s->world.nodes, sizeof(*set->piece));
    set->next = *place;
    *place = set;
    return set;
}

static void free_first(struct sim *s)
{
    struct sim_set *set = s->sets;
    s->sets = set->next;
    for (mot_node i = 0; i < s->world.nodes; i++) free((float *)(uintptr_t)set->piece[i].x);
    free(set->piece);
    free(set);
}

void mot_sim_forget(struct sim *s, uint64_t before)
{
    while (s->sets && s->sets->at < before) free_first(s);
}

void mot_sim_show_begin(struct sim *s)
{
    uint64_t from = UINT64_MAX, next = 0;
    if (s->showing < 2) return;
    s->stop_at = mot_course_update(&s->course, s->x->stop.epochs);
    if (s->x->stop.updates < s->stop_at) s->stop_at = s->x->stop.updates;
    for (mot_node i = 0; i < s->world.nodes; i++) {
        if (s->node[i].advanced != from) next = due_after(s, from = s->node[i].advanced);
        s->node[i].next_show = next;
    }
}

void mot_sim_show(struct sim *s, mot_node node)
{
    struct sim_node *n = &s->node[node];
    struct mot_view v;
    if (n->advanced < n->next_show) return;
    struct sim_set *set = mot_sim_set(s, n->next_show);
    n->next_show = set->then;
    if (set->piece[node].x || !view_of(s, node, &v)) return;
    float *copy = mot_new(v.len, sizeof(*copy));
    memcpy(copy, mot_pool_at(&s->pool, v.x) + v.off, v.len * sizeof(*copy));
    set->piece[node] = (struct mot_piece){ .x = copy, .scale = v.scale, .off = v.off, .len = v.len };
}

/* ---- The mean ---------------------------------------------------------------------------------------- */

/* Of those who have come to an update, and to nothing since. */
static const float *mean_at_update(struct sim *s, const struct sim_set *set, double *consensus)
{
    uint32_t n = 0;
    struct mot_view v;
    for (mot_node i = 0; i < s->world.nodes; i++) {
        if (!view_of(s, i, &v)) continue;
        const float *x = mot_pool_at(&s->pool, v.x) + v.off;
        struct mot_piece now = { .x = x, .scale = v.scale, .off = v.off, .len = v.len };
        /* one that came here before it was known that this is due, as the run was resumed to another end */
        s->piece[n++] = set->piece[i].x ? set->piece[i] : now;
    }
    mot_pieces_mean(s->world.dim, s->piece, n, mot_pool_at(&s->pool, s->world.x0), s->mean);
    if (consensus) *consensus = mot_pieces_spread(s->world.dim, s->piece, n, s->mean);
    return s->mean;
}

const float *mot_sim_model(struct sim *s, double *consensus)
{
    uint32_t n = 0;
    if (!s->method->decentralised) consensus = NULL;
    for (const struct sim_set *set = s->sets; s->at_update && set; set = set->next)
        if (set->at == s->updates) return mean_at_update(s, set, consensus);
    for (mot_node i = 0; i < s->world.nodes; i++) n += view_of(s, i, &s->view[n]);
    const float *x0 = mot_pool_at(&s->pool, s->world.x0);
    const float *x = n ? mot_views_mean(&s->pool, s->view, n, NULL, s->mean)
                       : x0; /* only a damaged checkpoint leaves nobody */
    if (consensus) *consensus = mot_views_spread(&s->pool, s->view, n, x);
    return x;
}
