/* outbox.c -- the functions that methods call. Each appends to the outbox or counts a buffer; none looks
 * at a clock or at another node. */
#include "run/outbox.h"
#include "base/memory.h"
#include "run/pool.h"
#include "math/kernels.h"
#include "math/optim.h"
#include <stdlib.h>
#include <string.h>

/* For notes, advances and credits, which need() does not count. */
#define FREE_EFFECTS 16u

uint32_t mot_outbox_room(const struct mot_need *need)
{
    /* A step may cancel as many jobs as it starts, forget as many parts as a job names, and re-arm each
     * alarm. Every message it sends may come with a credit, a note and an update. */
    return 4 * need->sends + 2 * need->works + need->terms + 2 * need->alarms +
        MOT_COLL_SCOPES * need->colls + FREE_EFFECTS;
}

enum mot_status mot_outbox_open(struct mot_outbox *o, uint32_t effects, uint32_t terms)
{
    *o = (struct mot_outbox){ .max = effects, .terms_max = terms };
    o->effect = mot_new_large(effects, sizeof(*o->effect));
    o->term = mot_new_large(terms ? terms : 1, sizeof(*o->term));
    if (o->effect && o->term) return MOT_OK;
    mot_outbox_close(o);
    return mot_memory_status();
}

static size_t press_bytes(uint32_t dim) { return ((size_t)dim + MOT_PRESS_SLACK) * sizeof(uint32_t); }

enum mot_status mot_outbox_open_press(struct mot_outbox *o, uint32_t dim)
{
    o->press_dim = dim;
    o->press.index = mot_reserve(press_bytes(dim));
    o->press.number = mot_reserve(press_bytes(dim));
    return o->press.index && o->press.number ? MOT_OK : mot_memory_status();
}

void mot_outbox_close(struct mot_outbox *o)
{
    if (o->press.index) mot_release(o->press.index, press_bytes(o->press_dim));
    if (o->press.number) mot_release(o->press.number, press_bytes(o->press_dim));
    free(o->effect);
    free(o->term);
    *o = (struct mot_outbox){ 0 };
}

static struct mot_effect *push(struct mot_env *env, enum mot_effect_kind kind)
{
    struct mot_outbox *o = env->out;
    MOT_ASSERT(o->n < o->max && "a step has more effects than need() declared");
    struct mot_effect *e = &o->effect[o->n++];
    e->kind = kind;
    return e;
}

void mot_send(struct mot_env *env, mot_node to, uint16_t kind, struct mot_head head, struct mot_slice body)
{
    MOT_ASSERT(to < env->world->nodes);
    MOT_ASSERT(to != env->self);
    MOT_ASSERT(body.buf == MOT_NO_BUF || body.off + body.len <= env->world->dim);
    MOT_ASSERT(mot_pool_travels(env->pool, body) && "a packed buffer is sent as it was packed");
    if (body.buf != MOT_NO_BUF) mot_pool_hold(env->pool, body.buf);
    push(env, MOT_FX_SEND)->message = (struct mot_message){
        .from = env->self, .to = to, .kind = kind, .intact = true, .head = head, .body = body
    };
}

void mot_send_rows(struct mot_env *env, mot_node to, uint16_t kind, struct mot_head head, uint32_t part)
{
    MOT_ASSERT(to < env->world->nodes);
    MOT_ASSERT(to != env->self);
    MOT_ASSERT(env->world->part_bytes && "a method that moves rows says who holds them at first");
    MOT_ASSERT(part < env->world->parts);
    push(env, MOT_FX_SEND)->message = (struct mot_message){
        .from = env->self, .to = to, .kind = kind, .intact = true, .head = head, .rows = part + 1
    };
}

void mot_send_samples(
    struct mot_env *env, mot_node to, uint16_t kind, struct mot_head head, uint64_t draw, uint32_t samples)
{
    MOT_ASSERT(to < env->world->workers && to != env->self && samples > 0);
    MOT_ASSERT(env->world->row_bytes && "a method whose workers share samples says so in its traits");
    push(env, MOT_FX_SEND)->message = (struct mot_message){ .from = env->self,
        .to = to,
        .kind = kind,
        .intact = true,
        .head = head,
        .rows = env->self + 1,
        .given = samples,
        .draw = draw };
}

void mot_forget(struct mot_env *env, uint32_t part)
{
    MOT_ASSERT(env->self < env->world->workers && env->world->part_bytes && part < env->world->parts);
    push(env, MOT_FX_FORGET)->part = part;
}

void mot_start(struct mot_env *env, const struct mot_work *work)
{
    struct mot_outbox *o = env->out;
    MOT_ASSERT(env->self < env->world->workers);
    MOT_ASSERT(work->terms > 0);
    MOT_ASSERT(o->terms + work->terms <= o->terms_max);
    MOT_ASSERT(!work->summed || (work->terms == 1 && !work->pieces && work->deadline == MOT_NEVER));
    struct mot_term *copy = o->term + o->terms;
    memcpy(copy, work->term, work->terms * sizeof(*copy));
    o->terms += work->terms;
    mot_pool_hold(env->pool, work->at);
    struct mot_effect *e = push(env, MOT_FX_START);
    e->work = *work;
    e->work.term = copy;
}

void mot_cancel(struct mot_env *env, uint32_t tag) { push(env, MOT_FX_CANCEL)->alarm.tag = tag; }

/* Whether this worker has floats to give: where they come from the root, only the root has. */
static bool gives_input(const struct mot_env *env, const struct mot_coll *coll)
{
    if (coll->kind != MOT_COLL_FROM_ROOT) return true;
    return coll->scope == MOT_COLL_GROUP ? mot_is_root(env->world, env->self) : env->self == 0;
}

void mot_collect(struct mot_env *env, const struct mot_coll *coll)
{
    MOT_ASSERT(env->self < env->world->workers);
    MOT_ASSERT(coll->in.len <= env->world->dim && coll->in.off <= env->world->dim - coll->in.len);
    MOT_ASSERT(coll->scope == MOT_COLL_ALL || env->world->groups);
    MOT_ASSERT(coll->scope != MOT_COLL_ROOTS || mot_is_root(env->world, env->self));
    MOT_ASSERT(gives_input(env, coll) == (coll->in.buf != MOT_NO_BUF) || coll->in.len == 0);
    MOT_ASSERT(mot_pool_travels(env->pool, coll->in) && "a packed buffer is summed as it was packed");
    MOT_ASSERT(coll->kind == MOT_COLL_SUM || !mot_pool_packed(env->pool, coll->in.buf));
    if (coll->in.buf != MOT_NO_BUF) mot_pool_hold(env->pool, coll->in.buf);
    push(env, MOT_FX_COLLECT)->coll = *coll;
}

void mot_alarm(struct mot_env *env, uint32_t tag, mot_time at)
{
    struct mot_effect *e = push(env, MOT_FX_ALARM);
    e->alarm.tag = tag;
    e->alarm.at = at;
}

void mot_advance(struct mot_env *env) { push(env, MOT_FX_ADVANCE); }

void mot_enter(struct mot_env *env, uint64_t updates) { push(env, MOT_FX_ENTER)->updates = updates; }

void mot_credit(struct mot_env *env, mot_node worker)
{
    MOT_ASSERT(worker < env->world->workers);
    push(env, MOT_FX_CREDIT)->credit = worker;
}

void mot_used(struct mot_env *env, uint64_t samples) { env->out->used += samples; }

void mot_note(struct mot_env *env, const char *key, double value)
{
    struct mot_effect *e = push(env, MOT_FX_NOTE);
    e->note.key = key;
    e->note.value = value;
}

void mot_stop(struct mot_env *env, enum mot_status why) { push(env, MOT_FX_STOP)->stop = why; }

/* ---- Buffers -------------------------------------------------------------- */

/* Nearly always NULL: only the simulator keeps ledgers, and only with faults. */
static struct mot_ledger *ledger_of(const struct mot_env *env) { return env->out ? env->out->ledger : NULL; }

static void enter(struct mot_ledger *l, mot_buf b)
{
    MOT_ASSERT(l->n < l->max && "a node holds more buffers than need() declared");
    l->held[l->n++] = b;
}

static void strike(struct mot_ledger *l, mot_buf b)
{
    uint32_t i = l->n;
    while (i > 0 && l->held[i - 1] != b) i--;
    MOT_ASSERT(i > 0 && "a node drops a buffer that it does not hold");
    l->held[i - 1] = l->held[--l->n];
}

void mot_enter_buffer(struct mot_env *env, mot_buf b)
{
    if (ledger_of(env)) enter(ledger_of(env), b);
}

mot_buf mot_take(struct mot_env *env)
{
    mot_buf b = mot_pool_take(env->pool);
    mot_enter_buffer(env, b);
    return b;
}

mot_buf mot_hold(struct mot_env *env, mot_buf b)
{
    mot_pool_hold(env->pool, b);
    mot_enter_buffer(env, b);
    return b;
}

void mot_drop(struct mot_env *env, mot_buf b)
{
    if (b == MOT_NO_BUF) return;
    mot_pool_drop(env->pool, b);
    if (ledger_of(env)) strike(ledger_of(env), b);
}

const float *mot_read(const struct mot_env *env, mot_buf b)
{
    MOT_ASSERT(mot_pool_count(env->pool, b) > 0);
    return mot_pool_floats(env->pool, b);
}

float *mot_edit_slice(struct mot_env *env, struct mot_slice s)
{
    MOT_ASSERT(mot_pool_count(env->pool, s.buf) == 1 && "a shared buffer is frozen");
    if (mot_pool_packed(env->pool, s.buf)) mot_pool_unpack(env->pool, s.buf);
    env->out->mixed += s.len;
    return mot_pool_at(env->pool, s.buf) + s.off;
}

float *mot_edit(struct mot_env *env, mot_buf b) { return mot_edit_slice(env, mot_whole(env, b)); }

struct mot_slice mot_whole(const struct mot_env *env, mot_buf b)
{
    return (struct mot_slice){ .buf = b, .off = 0, .len = env->world->dim };
}

struct mot_slice mot_shard(const struct mot_env *env, mot_buf b, uint32_t shard, uint32_t shards)
{
    uint64_t trained = mot_trained(env->world);
    MOT_ASSERT(shard < shards);
    if (shards == 1) return mot_whole(env, b);
    uint32_t first = (uint32_t)(trained * shard / shards), end = (uint32_t)(trained * (shard + 1) / shards);
    if (shard == shards - 1) end = env->world->dim;
    return (struct mot_slice){ .buf = b, .off = first, .len = end - first };
}

mot_buf mot_sum(struct mot_env *env, const mot_buf *in, uint32_t n)
{
    return mot_sum_range(env, in, n, 0, env->world->dim);
}

#define TERMS_AT_ONCE 8 /* buffers read side by side before the sum is written */

mot_buf mot_sum_range(struct mot_env *env, const mot_buf *in, uint32_t n, uint32_t off, uint32_t len)
{
    MOT_ASSERT(off <= env->world->dim && len <= env->world->dim - off);
    const struct mot_kernels *k = mot_kernels();
    mot_buf out = mot_take(env);
    float *sum = mot_pool_at(env->pool, out) + off;
    const float *term[TERMS_AT_ONCE];
    uint32_t terms = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (in[i] == MOT_NO_BUF) continue;
        if (terms == TERMS_AT_ONCE) {
            k->add(len, terms, term, sum);
            term[0] = sum, terms = 1;
        }
        term[terms++] = mot_read(env, in[i]) + off;
        env->out->mixed += len;
    }
    MOT_ASSERT(terms > 0);
    k->add(len, terms, term, sum);
    return out;
}

/* Machines do not fetch ahead more streams than these. With more, the sums of a block stay in the nearest
 * cache while STREAMS buffers at a time run through it, a long stretch of each. */
#define STREAMS 8u
#define BLOCK 1024u

mot_buf mot_sum_weighted(struct mot_env *env, const mot_buf *in, const double *weight, uint32_t n)
{
    const struct mot_kernels *k = mot_kernels();
    mot_buf out = mot_take(env);
    float *to = mot_pool_at(env->pool, out);
    uint32_t dim = env->world->dim, used = 0, block = dim;
    for (uint32_t i = 0; i < n; i++) used += in[i] != MOT_NO_BUF && weight[i] != 0;
    if (used > STREAMS) block = BLOCK;
    env->out->mixed += (uint64_t)used * dim;
    for (uint32_t at = 0; at < dim; at += block) {
        uint32_t len = dim - at < block ? dim - at : block, terms = 0, done = 0;
        double sum[BLOCK], a[STREAMS];
        const float *term[STREAMS];
        for (uint32_t i = 0; i < n && done + terms < used; i++) {
            if (in[i] == MOT_NO_BUF || weight[i] == 0) continue;
            if (terms == STREAMS) {
                k->blend(len, terms, a, term, done == 0, sum, NULL);
                done += terms;
                terms = 0;
            }
            a[terms] = weight[i];
            term[terms++] = mot_read(env, in[i]) + at;
        }
        k->blend(len, terms, a, term, done == 0, sum, to + at);
    }
    return out;
}

/* ---- Parameters ------------------------------------------------------------ */

void mot_params_init(struct mot_env *env, struct mot_params *p)
{
    const struct mot_world *w = env->world;
    *p = (struct mot_params){ .x = mot_hold(env, w->x0), .step = w->step0 };
    for (uint32_t s = 0; s < w->optim->slots; s++)
        p->slot[s] = mot_hold(env, w->slot0[s] ? w->slot0[s] : w->zero);
}

uint64_t mot_first_draw(const struct mot_env *env)
{
    return env->world->draw0 ? env->world->draw0[env->self] : 0;
}

static void hold_params(struct mot_pool *pool, const struct mot_params *p)
{
    mot_pool_hold(pool, p->x);
    for (int s = 0; s < 2; s++)
        if (p->slot[s]) mot_pool_hold(pool, p->slot[s]);
}

static void drop_params(struct mot_pool *pool, const struct mot_params *p)
{
    mot_pool_drop(pool, p->x);
    for (int s = 0; s < 2; s++) mot_pool_drop(pool, p->slot[s]);
}

void mot_memo_flush(struct mot_memo *m, struct mot_pool *pool)
{
    if (!m->set) return;
    drop_params(pool, &m->in);
    drop_params(pool, &m->out);
    mot_pool_drop(pool, m->grad.buf);
    m->set = false;
}

static bool same_params(const struct mot_params *a, const struct mot_params *b)
{
    return a->x == b->x && a->slot[0] == b->slot[0] && a->slot[1] == b->slot[1] && a->step == b->step;
}

static bool same_slice(struct mot_slice a, struct mot_slice b)
{
    return a.buf == b.buf && a.off == b.off && a.len == b.len;
}

/* The buffer itself if nobody else holds it, else a new one. */
static mot_buf writable(struct mot_env *env, mot_buf b)
{
    return mot_pool_count(env->pool, b) == 1 ? b : mot_take(env);
}

void mot_params_set_statistics(
    struct mot_env *env, struct mot_params *p, const mot_buf *in, const double *weight, uint32_t n)
{
    uint32_t first = mot_trained(env->world);
    if (env->world->statistics == 0) return;
    const float *old = mot_read(env, p->x);
    mot_buf to = writable(env, p->x);
    float *x = mot_pool_at(env->pool, to);
    for (uint32_t j = first; j < env->world->dim; j++) {
        double sum = 0;
        for (uint32_t i = 0; i < n; i++) sum += weight[i] * (double)mot_read(env, in[i])[j];
        x[j] = (float)sum;
    }
    if (to == p->x) return;
    memcpy(x, old, first * sizeof(*x));
    mot_drop(env, p->x);
    p->x = to;
}

static void compute_step(
    struct mot_env *env, struct mot_params *p, struct mot_slice grad, double scale, double lr_factor)
{
    const struct mot_optim *optim = env->world->optim;
    struct mot_params old = *p;
    const float *in[2] = { NULL, NULL };
    float *out[2] = { NULL, NULL };
    p->x = writable(env, old.x);
    for (uint32_t s = 0; s < optim->slots; s++) {
        p->slot[s] = writable(env, old.slot[s]);
        in[s] = mot_pool_at(env->pool, old.slot[s]);
        out[s] = mot_pool_at(env->pool, p->slot[s]);
    }
    mot_optim_step_range(optim, grad.off, grad.len, old.step, lr_factor, mot_pool_floats(env->pool, grad.buf),
        scale, mot_pool_at(env->pool, old.x), mot_pool_at(env->pool, p->x), in, out);
    p->step = old.step + 1;
    if (p->x != old.x) mot_drop(env, old.x);
    for (uint32_t s = 0; s < optim->slots; s++)
        if (p->slot[s] != old.slot[s]) mot_drop(env, old.slot[s]);
}

void mot_params_step(
    struct mot_env *env, struct mot_params *p, struct mot_slice grad, double scale, double lr_factor)
{
    MOT_ASSERT(grad.off <= env->world->dim && grad.len <= env->world->dim - grad.off);
    struct mot_memo *m = env->memo;
    env->out->stepped += grad.len;
    if (!m) {
        compute_step(env, p, grad, scale, lr_factor);
        return;
    }
    if (m->set && same_params(&m->in, p) && same_slice(m->grad, grad) && m->scale == scale &&
        m->lr_factor == lr_factor) {
        mot_buf held[3] = { m->out.x, m->out.slot[0], m->out.slot[1] },
                old[3] = { p->x, p->slot[0], p->slot[1] };
        for (int i = 0; i < 3; i++)
            if (held[i]) mot_hold(env, held[i]);
        for (int i = 0; i < 3; i++) mot_drop(env, old[i]);
        *p = m->out;
        return;
    }
    mot_memo_flush(m, env->pool);
    m->in = *p;
    m->grad = grad;
    m->scale = scale;
    m->lr_factor = lr_factor;
    hold_params(env->pool, p);
    mot_pool_hold(env->pool, grad.buf);
    compute_step(env, p, grad, scale, lr_factor);
    m->out = *p;
    hold_params(env->pool, p);
    m->set = true;
}

bool mot_params_try(
    struct mot_env *env, struct mot_params *p, struct mot_slice grad, double scale, double lr_factor)
{
    mot_buf next = mot_take(env); /* never in place: the result may have to be discarded */
    env->out->stepped += grad.len;
    bool finite = mot_optim_step_range(env->world->optim, grad.off, grad.len, p->step, lr_factor,
        mot_read(env, grad.buf), scale, mot_read(env, p->x), mot_pool_at(env->pool, next), NULL, NULL);
    if (!finite) {
        mot_drop(env, next);
        return false;
    }
    mot_drop(env, p->x);
    p->x = next;
    p->step++;
    return true;
}
