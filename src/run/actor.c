#include "run/actor.h"
#include "base/memory.h"
#include "run/world.h"
#include <stdlib.h>
#include <string.h>

void mot_actor_open(struct mot_actor *a, struct mot_outbox *out, const struct mot_experiment *x,
    const struct mot_world *w, mot_node self, size_t slot_bytes)
{
    struct mot_need need = mot_need_of(x, w, self);
    *a = (struct mot_actor){ .self = self,
        .works = self < w->workers ? need.works : 0,
        .alarms = need.alarms,
        .slot_bytes = (uint32_t)slot_bytes,
        .state = mot_new_large(1, need.state_bytes) };
    a->slot = mot_new_large(a->works + 1, slot_bytes);
    for (uint32_t i = 0; a->slot && i < a->works; i++)
        mot_actor_slot(a, i)->term = mot_new_large(need.terms, sizeof(struct mot_term));
    a->alarm = mot_new_large(a->alarms + 1, sizeof(*a->alarm));
    for (uint32_t i = 0; a->alarm && i < a->alarms; i++) a->alarm[i] = MOT_NEVER;
    if (x->shared_parts && self < w->workers) a->held = mot_new_large(mot_held_words(w), sizeof(*a->held));
    need.works = a->works;
    mot_outbox_open(out, mot_outbox_room(&need), need.terms * (need.works ? need.works : 1));
    if (w->compress) mot_outbox_open_press(out, w->dim);
}

static void find_end(struct mot_slot *s, const struct mot_problem *p)
{
    const struct mot_term *t = &s->term[s->piece];
    s->until = s->pieces ? s->before + mot_sample_count(&p->sampler, t->part, t->draw, t->samples) : s->asked;
}

void mot_slot_begin(struct mot_slot *s, const struct mot_problem *p)
{
    s->asked = mot_terms_samples(p, s->term, s->terms);
    s->piece = 0;
    s->before = 0;
    find_end(s, p);
}

void mot_slot_next_piece(struct mot_slot *s, const struct mot_problem *p)
{
    MOT_ASSERT(mot_slot_has_next(s));
    s->piece++;
    s->before = s->until;
    find_end(s, p);
}

void mot_actor_close(struct mot_actor *a, struct mot_outbox *out)
{
    for (uint32_t i = 0; a->slot && i < a->works; i++) free(mot_actor_slot(a, i)->term);
    free(a->slot);
    free(a->alarm);
    free(a->held);
    free(a->state);
    mot_outbox_close(out);
}

void mot_actor_hold_first(
    struct mot_actor *a, const struct mot_experiment *x, const struct mot_world *w, uint32_t life)
{
    if (!a->held) return;
    memset(a->held, 0, mot_held_words(w) * sizeof(*a->held));
    for (uint32_t part = 0; life == 0 && part < w->parts; part++)
        if (mot_world_holds(x, w, a->self, part)) a->held[part / 64] |= UINT64_C(1) << part % 64;
}
