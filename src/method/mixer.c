#include "method/mixer.h"
#include <stddef.h>

#define RANGE 512u /* floats that are summed up at a time: they stay in the first cache */

static uint32_t degree(const struct mot_world *w, mot_node self)
{
    return w->mixing->at[self + 1] - w->mixing->at[self];
}

static struct mot_mixer_seat *seats_of(const struct mot_mixer *m) { return (struct mot_mixer_seat *)(m + 1); }

static const struct mot_near *near_of(const struct mot_env *env)
{
    return env->world->mixing->near + env->world->mixing->at[env->self];
}

void mot_mixer_need(const struct mot_world *world, mot_node self, struct mot_need *need)
{
    uint32_t n = degree(world, self);
    need->state_bytes += n * sizeof(struct mot_mixer_seat);
    need->sends += 2 * n;
    /* two models in each seat, two of its own on the way to each neighbour, and the mean */
    need->buffers += 4 * n + 1;
}

void mot_mixer_init(struct mot_mixer *m, const struct mot_env *env)
{
    m->seats = degree(env->world, env->self);
}

void mot_mixer_open(struct mot_mixer *m, struct mot_env *env, uint64_t round, mot_buf x, mot_uses *uses)
{
    const struct mot_near *near = near_of(env);
    MOT_ASSERT(!m->open);
    m->open = true;
    m->round = round;
    m->missing = 0;
    for (uint32_t k = 0; k < m->seats; k++) {
        struct mot_mixer_seat *seat = &seats_of(m)[k];
        seat->used = !seat->lost && (!uses || uses(env, round, near[k].matching));
        if (!seat->used) continue;
        m->missing += seat->models == 0;
        mot_send(
            env, near[k].node, MOT_MSG_PEER_MODEL, (struct mot_head){ .round = round }, mot_whole(env, x));
    }
}

static struct mot_mixer_seat *seat_of(struct mot_mixer *m, const struct mot_env *env, mot_node node)
{
    const struct mot_near *near = near_of(env);
    uint32_t low = 0, high = m->seats;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (near[middle].node < node) low = middle + 1;
        else high = middle;
    }
    return low < m->seats && near[low].node == node ? &seats_of(m)[low] : NULL;
}

void mot_mixer_message(struct mot_mixer *m, struct mot_env *env, const struct mot_message *message)
{
    struct mot_mixer_seat *seat = seat_of(m, env, message->from);
    MOT_ASSERT(message->kind == MOT_MSG_PEER_MODEL && seat);
    if (seat->lost) return;
    MOT_ASSERT(seat->models < 2);
    if (m->open && seat->used && seat->models == 0) m->missing--;
    seat->round[seat->models] = message->head.round;
    seat->model[seat->models++] = mot_hold(env, message->body.buf);
}

bool mot_mixer_ready(const struct mot_mixer *m) { return m->open && m->missing == 0; }

static void add(double *sum, double weight, const float *x, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) sum[i] += weight * (double)x[i];
}

static void mean_range(const struct mot_mixer *m, const struct mot_env *env, mot_buf x, double own,
    uint32_t at, uint32_t n, double *sum)
{
    const struct mot_near *near = near_of(env);
    const struct mot_mixer_seat *seat = seats_of(m);
    uint32_t k = 0;
    for (; k < m->seats && near[k].node < env->self; k++)
        if (seat[k].used) add(sum, near[k].weight, mot_read(env, seat[k].model[0]) + at, n);
    add(sum, own, mot_read(env, x) + at, n);
    for (; k < m->seats; k++)
        if (seat[k].used) add(sum, near[k].weight, mot_read(env, seat[k].model[0]) + at, n);
}

mot_buf mot_mixer_close(struct mot_mixer *m, struct mot_env *env, mot_buf x)
{
    const struct mot_near *near = near_of(env);
    uint32_t dim = env->world->dim, used = 0;
    double own = 1;
    MOT_ASSERT(mot_mixer_ready(m));
    m->open = false;
    for (uint32_t k = 0; k < m->seats; k++) {
        if (!seats_of(m)[k].used) continue;
        MOT_ASSERT(seats_of(m)[k].round[0] == m->round);
        own -= near[k].weight;
        used++;
    }
    if (used == 0) return mot_hold(env, x);
    mot_buf out = mot_take(env);
    float *mean = mot_edit(env, out);
    for (uint32_t at = 0, n; at < dim; at += n) {
        double sum[RANGE] = { 0 };
        n = dim - at < RANGE ? dim - at : RANGE;
        mean_range(m, env, x, own, at, n, sum);
        for (uint32_t i = 0; i < n; i++) mean[at + i] = (float)sum[i];
    }
    for (uint32_t k = 0; k < m->seats; k++) {
        struct mot_mixer_seat *seat = &seats_of(m)[k];
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
    struct mot_mixer_seat *seat = seat_of(m, env, node);
    if (!seat) return false;
    if (m->open && seat->used && seat->models == 0) m->missing--;
    for (uint32_t i = 0; i < seat->models; i++) mot_drop(env, seat->model[i]);
    *seat = (struct mot_mixer_seat){ .lost = true };
    return true;
}

void mot_mixer_check(const struct mot_mixer *m, const struct mot_env *env)
{
    uint32_t missing = 0;
    MOT_ASSERT(m->seats == degree(env->world, env->self));
    for (uint32_t k = 0; k < m->seats; k++) {
        const struct mot_mixer_seat *seat = &seats_of(m)[k];
        MOT_ASSERT(seat->models <= 2 && !(seat->lost && (seat->models || seat->used)));
        for (uint32_t i = 0; i < 2; i++) MOT_ASSERT((seat->model[i] != MOT_NO_BUF) == (i < seat->models));
        missing += m->open && seat->used && seat->models == 0;
    }
    MOT_ASSERT(!m->open || missing == m->missing);
}
