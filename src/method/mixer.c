#include "method/mixer.h"
#include <stddef.h>

#define AHEAD_MOST (UINT64_C(1) << 22) /* rounds searched for the next that uses a link */

static uint32_t degree(const struct mot_world *w, mot_node self)
{
    return w->mixing->at[self + 1] - w->mixing->at[self];
}

void mot_mixer_need(const struct mot_world *world, mot_node self, bool readmits, struct mot_need *need)
{
    uint32_t n = degree(world, self);
    need->state_bytes +=
        n * sizeof(struct mot_mixer_seat) + (n + 1) * (sizeof(double) + sizeof(mot_buf)); /* parts, inputs */
    need->sends += 2 * n;
    /* two models per seat, two of its own in flight to each neighbour, and the mean */
    need->buffers += 4 * n + 1;
    if (!readmits) return;
    need->sends += 4 * n; /* a hello, the optimiser's state and an offer */
    need->buffers += 3 * n;
}

void mot_mixer_init(struct mot_mixer *m, const struct mot_env *env)
{
    m->seats = degree(env->world, env->self);
    m->empty = env->life > 0;
    for (uint32_t k = 0; k < m->seats; k++)
        mot_mixer_seats(m)[k].phase = m->empty ? MOT_SEAT_UNKNOWN : MOT_SEAT_IN;
}

void mot_mixer_open(struct mot_mixer *m, struct mot_env *env, uint64_t round, mot_buf x, mot_uses *uses)
{
    const struct mot_near *near = mot_mixer_near(env);
    MOT_ASSERT(!m->open);
    m->open = true;
    m->round = round;
    m->missing = 0;
    for (uint32_t k = 0; k < m->seats; k++) {
        struct mot_mixer_seat *seat = &mot_mixer_seats(m)[k];
        seat->used = (seat->phase == MOT_SEAT_IN || seat->phase == MOT_SEAT_OFFERED) && round >= seat->from &&
            (!uses || uses(env, round, near[k].matching));
        if (!seat->used) continue;
        m->missing += seat->models == 0;
        if (seat->phase == MOT_SEAT_IN) mot_mixer_send(m, env, near[k].node, x);
    }
}

void mot_mixer_send(const struct mot_mixer *m, struct mot_env *env, mot_node to, mot_buf x)
{
    mot_send(env, to, MOT_MSG_PEER_MODEL, (struct mot_head){ .round = m->round }, mot_whole(env, x));
}

struct mot_mixer_seat *mot_mixer_seat_of(const struct mot_mixer *m, const struct mot_env *env, mot_node node)
{
    const struct mot_near *near = mot_mixer_near(env);
    uint32_t low = 0, high = m->seats;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (near[middle].node < node) low = middle + 1;
        else high = middle;
    }
    return low < m->seats && near[low].node == node ? &mot_mixer_seats(m)[low] : NULL;
}

void mot_mixer_message(struct mot_mixer *m, struct mot_env *env, const struct mot_message *message)
{
    struct mot_mixer_seat *seat = mot_mixer_seat_of(m, env, message->from);
    MOT_ASSERT(message->kind == MOT_MSG_PEER_MODEL && seat);
    if (seat->phase == MOT_SEAT_LOST) return;
    MOT_ASSERT(seat->phase == MOT_SEAT_IN && seat->models < 2);
    if (m->open && seat->used && seat->models == 0) m->missing--;
    seat->round[seat->models] = message->head.round;
    seat->model[seat->models++] = mot_hold(env, message->body.buf);
}

/* Whether `round` is the first, starting at `from`, that uses the link. */
static bool is_next(const struct mot_env *env, uint64_t from, uint64_t round, uint64_t period,
    uint32_t matching, mot_uses *uses)
{
    if (round < from || round % period || (round - from) / period > AHEAD_MOST) return false;
    if (!uses) return round - from < period;
    for (uint64_t r = round; r >= from; r -= period) {
        if (uses(env, r, matching) != (r == round)) return false;
        if (r < period) break;
    }
    return true;
}

bool mot_mixer_admits(const struct mot_mixer *m, const struct mot_env *env, const struct mot_message *message,
    uint64_t next, uint64_t period, mot_uses *uses)
{
    const struct mot_mixer_seat *seat = mot_mixer_seat_of(m, env, message->from);
    if (!seat || message->head.samples != 0 || message->head.value != 0) return false;
    if (message->kind != MOT_MSG_PEER_MODEL) return mot_mixer_admits_return(m, env, message, seat);
    if (!mot_body_is(message, mot_whole(env, message->body.buf))) return false;
    if (seat->phase == MOT_SEAT_LOST) return true; /* it may have been in flight; it is ignored */
    if (seat->phase != MOT_SEAT_IN) return false;
    if (next < seat->from) next = seat->from;
    uint32_t matching = mot_mixer_near(env)[seat - mot_mixer_seats(m)].matching;
    bool exchanging = m->open && seat->used;
    if (seat->models == 0 && exchanging) return message->head.round == m->round;
    if (seat->models == 0) return is_next(env, next, message->head.round, period, matching, uses);
    /* One is here: the sender waits for this worker's model, which it has once the exchange is open. */
    return seat->models == 1 && exchanging &&
        is_next(env, seat->round[0] + 1, message->head.round, period, matching, uses);
}

bool mot_mixer_ready(const struct mot_mixer *m) { return m->open && m->missing == 0; }

/* What goes into a mean: models and their weights in the order of nodes, this worker's own among them. They
 * lie behind the seats. */
static double *parts_of(const struct mot_mixer *m) { return (double *)(mot_mixer_seats(m) + m->seats); }
static mot_buf *inputs_of(const struct mot_mixer *m) { return (mot_buf *)(parts_of(m) + m->seats + 1); }

mot_buf mot_mixer_close(struct mot_mixer *m, struct mot_env *env, mot_buf x)
{
    const struct mot_near *near = mot_mixer_near(env);
    double *part = parts_of(m), own = 1;
    mot_buf *in = inputs_of(m);
    uint32_t used = 0, before = 0; /* before: neighbours whose models come before this worker's own */
    MOT_ASSERT(mot_mixer_ready(m));
    m->open = false;
    for (uint32_t k = 0; k < m->seats; k++) {
        const struct mot_mixer_seat *seat = &mot_mixer_seats(m)[k];
        uint32_t at = near[k].node < env->self ? before++ : k + 1;
        in[at] = seat->used ? seat->model[0] : MOT_NO_BUF;
        part[at] = near[k].weight;
        if (!seat->used) continue;
        MOT_ASSERT(seat->round[0] == m->round);
        own -= near[k].weight;
        used++;
    }
    if (used == 0) return mot_hold(env, x);
    in[before] = x;
    part[before] = own;
    mot_buf out = mot_sum_weighted(env, in, part, m->seats + 1);
    for (uint32_t k = 0; k < m->seats; k++) {
        struct mot_mixer_seat *seat = &mot_mixer_seats(m)[k];
        if (!seat->used) continue;
        mot_drop(env, seat->model[0]);
        seat->model[0] = seat->model[1];
        seat->round[0] = seat->round[1];
        seat->models--;
        seat->model[1] = MOT_NO_BUF;
        seat->used = false;
    }
    return out;
}

bool mot_mixer_lose(struct mot_mixer *m, struct mot_env *env, mot_node node)
{
    struct mot_mixer_seat *seat = mot_mixer_seat_of(m, env, node);
    if (!seat) return false;
    if (m->open && seat->used && seat->models == 0) m->missing--;
    for (uint32_t i = 0; i < seat->models; i++) mot_drop(env, seat->model[i]);
    *seat = (struct mot_mixer_seat){ .phase = MOT_SEAT_LOST };
    return true;
}

void mot_mixer_check(const struct mot_mixer *m, const struct mot_env *env)
{
    uint32_t missing = 0;
    MOT_ASSERT(m->seats == degree(env->world, env->self));
    for (uint32_t k = 0; k < m->seats; k++) {
        const struct mot_mixer_seat *seat = &mot_mixer_seats(m)[k];
        MOT_ASSERT(seat->models <= 2 && !(seat->phase == MOT_SEAT_LOST && seat->models));
        MOT_ASSERT(!seat->used || seat->phase == MOT_SEAT_IN || seat->phase == MOT_SEAT_OFFERED);
        MOT_ASSERT(seat->phase == MOT_SEAT_IN || m->empty || seat->models == 0);
        MOT_ASSERT(!m->empty || (seat->phase != MOT_SEAT_IN && seat->phase != MOT_SEAT_OFFERED));
        for (uint32_t i = 0; i < 2; i++) MOT_ASSERT((seat->model[i] != MOT_NO_BUF) == (i < seat->models));
        missing += m->open && seat->used && seat->models == 0;
    }
    MOT_ASSERT(!m->open || missing == m->missing);
}
