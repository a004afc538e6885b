/* mixer_return.c -- how a lost worker gets a model and its links back; mixer.h says when.
 *
 * Every neighbour sends all that a newcomer needs, so it does not matter which of them are there or are
 * lost on the way: the first whole offer counts. That costs a newcomer's links about as much as one round. */
#include "math/optim.h"
#include "method/mixer.h"

#define ROUNDS_MOST (UINT64_C(1) << 40)

/* p: sent along, for a worker that may have no model; NULL: this is an answer. */
static void offer(
    struct mot_mixer_seat *seat, struct mot_env *env, mot_node to, const struct mot_params *p, uint64_t round)
{
    struct mot_slice none = { 0 };
    for (uint32_t i = 0; p && i < env->world->optim->slots; i++)
        mot_send(env, to, MOT_MSG_PEER_STATE, (struct mot_head){ .round = i }, mot_whole(env, p->slot[i]));
    mot_send(
        env, to, MOT_MSG_PEER_OFFER, (struct mot_head){ .round = round }, p ? mot_whole(env, p->x) : none);
    seat->phase = MOT_SEAT_OFFERED;
    seat->from = round;
}

bool mot_mixer_return(
    struct mot_mixer *m, struct mot_env *env, mot_node node, const struct mot_params *p, uint64_t next)
{
    if (!mot_mixer_lose(m, env, node)) return false; /* whatever was known of its last life */
    struct mot_mixer_seat *seat = mot_mixer_seat_of(m, env, node);
    seat->phase = MOT_SEAT_HERE;
    /* It does not know that this worker is here, and may get a model first. */
    if (m->empty) mot_send(env, node, MOT_MSG_PEER_HELLO, (struct mot_head){ 0 }, (struct mot_slice){ 0 });
    else offer(seat, env, node, p, next);
    return true;
}

/* Takes what came with the offer, and offers it to those who wait for a model too. */
static void enter(struct mot_mixer *m, struct mot_env *env, const struct mot_message *message,
    struct mot_mixer_seat *from, struct mot_params *p)
{
    const struct mot_near *near = mot_mixer_near(env);
    *p = (struct mot_params){ .x = mot_hold(env, message->body.buf), .step = message->head.round };
    for (uint32_t i = 0; i < env->world->optim->slots; i++) p->slot[i] = mot_hold(env, from->model[i]);
    m->empty = false;
    for (uint32_t k = 0; k < m->seats; k++) {
        struct mot_mixer_seat *seat = &mot_mixer_seats(m)[k];
        for (uint32_t i = 0; i < seat->models; i++) {
            mot_drop(env, seat->model[i]);
            seat->model[i] = MOT_NO_BUF;
        }
        seat->models = 0;
        if (seat->phase == MOT_SEAT_HERE && seat != from) offer(seat, env, near[k].node, p, p->step);
    }
}

/* Both offers are known. An open exchange may have waited for this. */
static void agree(struct mot_mixer *m, struct mot_env *env, struct mot_mixer_seat *seat,
    const struct mot_message *theirs, mot_buf x)
{
    if (seat->from < theirs->head.round) seat->from = theirs->head.round;
    seat->phase = MOT_SEAT_IN;
    if (!m->open || !seat->used) return;
    if (m->round >= seat->from) mot_mixer_send(m, env, theirs->from, x);
    else {
        seat->used = false;
        m->missing--;
    }
}

enum mot_greeting mot_mixer_greeted(struct mot_mixer *m, struct mot_env *env,
    const struct mot_message *message, struct mot_params *p, uint64_t next)
{
    struct mot_mixer_seat *seat = mot_mixer_seat_of(m, env, message->from);
    if (seat->phase == MOT_SEAT_LOST) return MOT_GREETING_HEARD; /* it was in flight */
    MOT_ASSERT(seat->phase != MOT_SEAT_IN);
    switch (message->kind) {
    case MOT_MSG_PEER_STATE:
        if (m->empty) seat->model[seat->models++] = mot_hold(env, message->body.buf);
        return MOT_GREETING_HEARD;
    case MOT_MSG_PEER_HELLO:
        if (m->empty) seat->phase = MOT_SEAT_HERE;
        else if (seat->phase != MOT_SEAT_OFFERED) offer(seat, env, message->from, p, next);
        return MOT_GREETING_HEARD;
    default: MOT_ASSERT(message->kind == MOT_MSG_PEER_OFFER);
    }
    bool enters = m->empty;
    if (enters) {
        enter(m, env, message, seat, p);
        next = p->step;
    }
    if (seat->phase != MOT_SEAT_OFFERED) offer(seat, env, message->from, NULL, next);
    agree(m, env, seat, message, p->x);
    return enters ? MOT_GREETING_ENTERED : MOT_GREETING_AGREED;
}

bool mot_mixer_admits_return(const struct mot_mixer *m, const struct mot_env *env,
    const struct mot_message *message, const struct mot_mixer_seat *from)
{
    uint64_t round = message->head.round, first = env->world->step0;
    uint32_t states = env->world->optim->slots;
    bool whole = mot_body_is(message, mot_whole(env, message->body.buf)), none = !message->body.buf;
    if (from->phase == MOT_SEAT_IN) return false;
    bool ignored = from->phase == MOT_SEAT_LOST;
    switch (message->kind) {
    case MOT_MSG_PEER_OFFER:
        if (round < first || round - first > ROUNDS_MOST || !(whole || none)) return false;
        return ignored || !m->empty || (whole && from->models == states);
    case MOT_MSG_PEER_STATE:
        return whole && round < states && (ignored || !m->empty || round == from->models);
    case MOT_MSG_PEER_HELLO: return none && round == 0;
    default: return false;
    }
}
