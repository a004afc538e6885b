/* node_show.c -- what a live node shows of its model: for evaluations and checkpoints, at updates that all
 * know or that were asked for, and at the end. */
#include "live/node_parts.h"
#include <string.h>

uint64_t mot_live_next_show(const struct mot_live *l, uint64_t u)
{
    if (l->own_pace) return UINT64_MAX;
    uint64_t at = mot_course_due(&l->course, &l->every, u), save = UINT64_MAX;
    if (l->keeps) save = mot_course_due(&l->course, &l->experiment->checkpoint, u);
    if (save < at) at = save;
    return at < l->stop_at ? at : UINT64_MAX;
}

struct mot_kept mot_live_kept(struct mot_live_node *n)
{
    const struct mot_method *m = n->live->experiment->method;
    struct mot_kept kept = { 0 };
    struct mot_env env = mot_live_env(n);
    if (m->keep) m->keep(n->actor.state, &env, &kept);
    return kept;
}

void mot_live_show(struct mot_live_node *n, struct mot_shown s)
{
    struct mot_live *l = n->live;
    struct mot_env env = mot_live_env(n);
    s.node = n->actor.self;
    s.updates = s.step = n->actor.advanced;
    s.events = n->events;
    s.place = mot_live_place(n);
    n->shown_last |= s.last;
    if (!l->experiment->method->model(n->actor.state, &env, &s.view)) return;
    if (s.view.params) {
        s.step = s.view.params->step;
        for (uint32_t k = 0; k < l->world.optim->slots; k++) s.slot[k] = s.view.params->slot[k];
    }
    if (l->keeps) {
        struct mot_kept kept = mot_live_kept(n);
        memcpy(s.word, kept.word, sizeof(s.word));
        for (uint32_t k = l->world.optim->slots; k < l->slots; k++)
            s.slot[k] = kept.buf[k - l->world.optim->slots];
    }
    s.view.params = NULL;
    if (l->judge) mot_live_judge_show(l->judge, &s);
    else n->port->show(n->port, &s);
    if (mot_live_wants_rests(l, &s)) mot_live_ask_rests(n, &s);
}

void mot_live_show_last(struct mot_live_node *n) { mot_live_show(n, (struct mot_shown){ .last = true }); }

bool mot_live_shows(const struct mot_live_node *n)
{
    return n->live->showing > 1 && n->actor.self >= n->live->lead;
}

void mot_live_show_due(struct mot_live_node *n)
{
    struct mot_live *l = n->live;
    if (n->shown_last) return;
    if (mot_live_node_done(n)) {
        mot_live_show_last(n);
        return;
    }
    if (n->actor.advanced >= n->next_show) {
        mot_live_show(n, (struct mot_shown){ .at = n->next_show });
        n->next_show = mot_live_next_show(l, n->next_show);
    }
    uint64_t number = atomic_load(&l->ask.number), at = atomic_load(&l->ask.at);
    if (number != n->answered && n->actor.advanced >= at) {
        n->answered = number;
        mot_live_show(n, (struct mot_shown){ .at = at, .asked = true });
    }
}
