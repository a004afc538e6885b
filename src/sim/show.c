/* show.c -- the evaluated model: the mean over the nodes that have one.
 *
 * Nodes whose models differ make their updates at different times, and may be many ahead of the slowest.
 * As on real machines, an evaluation and the final model take what each node had right after the update in
 * question. So a node that reaches an update at which something is due leaves a copy of its model in that
 * update's set, and the set is evaluated when the last node gets there. Where nodes go at their own pace,
 * models are taken as they are. */
#include "base/memory.h"
#include "sim/channel.h"
#include "run/views.h"
#include <stdlib.h>
#include <string.h>

static bool view_of(const struct sim *s, mot_node node, struct mot_view *out)
{
    struct mot_env env = mot_env_of(s->x, &s->world, node, s->now, NULL, NULL);
    /* A crashed server's last model is still shown; a crashed worker's replica is gone. */
    if (s->node[node].dead && node < s->world.workers) return false;
    if (!s->method->model(s->node[node].actor.state, &env, out)) return false;
    if (out->len == 0) out->len = s->world.dim;
    return true;
}

/* ---- Sets ------------------------------------------------------------------------------------------ */

/* The next update at which nodes show their models. */
static uint64_t due_after(const struct sim *s, uint64_t update)
{
    uint64_t at = mot_course_due(&s->course, &s->judge.every, update);
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

static void free_piece(struct mot_piece *p)
{
    free((float *)(uintptr_t)p->x);
    free((float *)(uintptr_t)p->moved);
    *p = (struct mot_piece){ 0 };
}

static void free_first(struct sim *s)
{
    struct sim_set *set = s->sets;
    s->sets = set->next;
    for (mot_node i = 0; i < s->world.nodes; i++) free_piece(&set->piece[i]);
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
        if (s->node[i].actor.advanced != from) next = due_after(s, from = s->node[i].actor.advanced);
        s->node[i].next_show = mot_sim_counts(s, i) || s->world.servers ? next : UINT64_MAX;
    }
}

void mot_sim_show_no_more(struct sim *s, mot_node node)
{
    if (s->world.servers) return; /* a lost server's last model is still shown */
    s->node[node].next_show = UINT64_MAX;
    for (struct sim_set *set = s->sets; set; set = set->next) free_piece(&set->piece[node]);
}

void mot_sim_show_again(struct sim *s, mot_node node)
{
    s->node[node].next_show = due_after(s, s->node[node].actor.advanced);
}

static float *copy_of(const float *x, uint32_t n)
{
    float *copy = mot_new_large(n, sizeof(*copy));
    if (copy) memcpy(copy, x, n * sizeof(*copy));
    return copy;
}

void mot_sim_show(struct sim *s, mot_node node)
{
    struct sim_node *n = &s->node[node];
    struct mot_view v;
    if (n->actor.advanced < n->next_show) return;
    struct sim_set *set = mot_sim_set(s, n->next_show);
    n->next_show = set->then;
    if (set->piece[node].x || !view_of(s, node, &v)) return;
    struct mot_piece p = mot_piece_of(&s->pool, &v);
    p.x = copy_of(p.x, p.len);
    if (p.moved) p.moved = copy_of(p.moved, p.len);
    if (!p.x || (v.moved && !p.moved)) {
        free((float *)(uintptr_t)p.x);
        mot_judge_end(&s->judge, MOT_ESYSTEM, "memory");
        return;
    }
    set->piece[node] = p;
}

/* ---- The mean ---------------------------------------------------------------------------------------- */

/* Not a worker that is back but has not caught up, or that got its model only after this update. */
static bool passed(const struct sim *s, mot_node node, const struct sim_set *set)
{
    if (s->world.servers || !s->channel || s->channel->health[node].life == 0) return true;
    return mot_sim_counts(s, node) && (set->piece[node].x || s->node[node].actor.advanced <= set->at);
}

/* The mean over the nodes that have reached an update, as they were then. */
static const float *mean_at_update(struct sim *s, const struct sim_set *set, struct mot_mixed *mixed)
{
    uint32_t n = 0;
    struct mot_view v;
    for (mot_node i = 0; i < s->world.nodes; i++) {
        if (!view_of(s, i, &v) || !passed(s, i, set)) continue;
        /* A node that passed before this became due, as in a run resumed with another end, left no copy. */
        s->piece[n++] = set->piece[i].x ? set->piece[i] : mot_piece_of(&s->pool, &v);
    }
    mot_pieces_mean(s->world.dim, s->piece, n, mot_pool_at(&s->pool, s->world.x0), s->mean);
    if (mixed) *mixed = mot_pieces_mixed(s->piece, n, &s->world, s->mean);
    return s->mean;
}

const float *mot_sim_model(struct sim *s, struct mot_mixed *mixed)
{
    uint32_t n = 0;
    if (s->x->traits.model != MOT_MODEL_OF_EACH) mixed = NULL;
    for (const struct sim_set *set = s->sets; s->at_update && set; set = set->next)
        if (set->at == s->updates) return mean_at_update(s, set, mixed);
    for (mot_node i = 0; i < s->world.nodes; i++) n += view_of(s, i, &s->view[n]);
    const float *x0 = mot_pool_at(&s->pool, s->world.x0);
    const float *x = n ? mot_views_mean(&s->pool, s->view, n, NULL, s->mean)
                       : x0; /* no node: only with a damaged checkpoint */
    for (uint32_t i = 0; mixed && i < n; i++) s->piece[i] = mot_piece_of(&s->pool, &s->view[i]);
    if (mixed) *mixed = mot_pieces_mixed(s->piece, n, &s->world, x);
    return x;
}
