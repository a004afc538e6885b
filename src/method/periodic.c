#include "method/periodic.h"
#include "math/optim.h"
#include "method/advice.h"
#include "method/apart.h"
#include <string.h>

enum weigh { WEIGH_SAMPLES, WEIGH_ROWS, WEIGH_EQUAL };
enum state { STATE_KEEP, STATE_RESET, STATE_AVERAGE };
enum pending { SUM_NONE, SUM_GRADIENTS, SUM_AVERAGE }; /* SUM_AVERAGE + i: what becomes sum[i] */

static bool is_due(const struct mot_periodic_conf *conf, uint64_t updates)
{
    return updates > conf->from && (updates - conf->from) % conf->period == 0;
}

/* ---- Averaging -------------------------------------------------------------------------------------- */

static double weight_of(const struct mot_periodic *s, const struct mot_env *env)
{
    switch (((const struct mot_periodic_conf *)env->conf)->weigh) {
    case WEIGH_SAMPLES: return (double)s->covered;
    case WEIGH_ROWS: return (double)env->world->part_rows[env->self];
    default: return 1;
    }
}

static struct mot_packer *packer_of(const struct mot_periodic *s, uint32_t what)
{
    return (struct mot_packer *)(uintptr_t)&s->packer[what != SUM_GRADIENTS];
}

/* The optimiser's buffers are not packed. */
static void join(struct mot_periodic *s, struct mot_env *env, uint32_t what, mot_buf in, double weight)
{
    bool packs = what <= SUM_AVERAGE;
    struct mot_slice out =
        packs ? mot_pack(env, packer_of(s, what), mot_whole(env, in), weight) : mot_whole(env, in);
    s->pending = what;
    mot_collect(env, &(struct mot_coll){ .tag = s->joined++, .in = out, .scalar = { weight } });
    if (packs) mot_drop(env, out.buf);
}

/* Joins the sum of displacements, or of one of the optimiser's buffers. */
static void join_average(struct mot_periodic *s, struct mot_env *env, uint32_t i)
{
    double weight = weight_of(s, env), both[2] = { weight, -weight };
    const mot_buf in[2] = { i ? s->params.slot[i - 1] : s->params.x, i ? MOT_NO_BUF : s->start };
    mot_buf own = mot_sum_weighted(env, in, both, 2);
    join(s, env, SUM_AVERAGE + i, own, weight);
    mot_drop(env, own);
}

static void hold_packer(struct mot_env *env, const struct mot_packer *p)
{
    if (p->rest) mot_hold(env, p->rest);
    if (p->total) mot_hold(env, p->total);
}

static void begin_averaging(struct mot_periodic *s, struct mot_env *env)
{
    s->averaging = true;
    s->before_packing = s->packer[1];
    hold_packer(env, &s->packer[1]);
    join_average(s, env, 0);
}

static void replace(struct mot_env *env, mot_buf *old, mot_buf new)
{
    mot_drop(env, *old);
    *old = new;
}

/* The factor on the old momentum; *now is the learning rate that the new one is measured in. */
static double momentum_left(const struct mot_periodic *s, const struct mot_env *env, double *now)
{
    const struct mot_optim *o = env->world->optim;
    *now = 1;
    if (!s->outer.in_proportion) return s->outer.momentum;
    *now = mot_schedule_rate(&o->schedule, o->conf.lr, s->params.step - 1); /* of the last step alone */
    return s->pace > 0 ? s->outer.momentum * *now / s->pace : s->outer.momentum;
}

static void outer_step(struct mot_periodic *s, struct mot_env *env)
{
    struct mot_outer outer = s->outer;
    double each = 1 / s->weight, now, left = momentum_left(s, env, &now);
    mot_buf d = s->sum[0], x;
    /* At learning rate 0, momentum measured in it goes nowhere, and stays as it is. */
    if (s->momentum == MOT_NO_BUF || now == 0) {
        x = mot_sum_weighted(
            env, (const mot_buf[]){ s->start, d }, (const double[]){ 1, outer.rate * each }, 2);
    } else {
        replace(env, &s->momentum,
            mot_sum_weighted(env, (const mot_buf[]){ s->momentum, d }, (const double[]){ left, each }, 2));
        s->pace = now;
        const mot_buf in[] = { s->start, outer.nesterov ? d : MOT_NO_BUF, s->momentum };
        double ahead = outer.nesterov ? outer.momentum : 1;
        x = mot_sum_weighted(env, in, (const double[]){ 1, outer.rate * each, outer.rate * ahead }, 3);
    }
    replace(env, &s->params.x, x);
    mot_params_set_statistics(
        env, &s->params, (const mot_buf[]){ s->start, d }, (const double[]){ 1, each }, 2);
    replace(env, &s->start, mot_hold(env, s->params.x));
}

static void end_averaging(struct mot_periodic *s, struct mot_env *env)
{
    const struct mot_periodic_conf *conf = env->conf;
    bool any = s->weight > 0; /* else nobody had samples: all are where they started */
    if (any) outer_step(s, env);
    for (uint32_t i = 0; i < env->world->optim->slots; i++) {
        mot_buf *slot = &s->params.slot[i];
        if (conf->state == STATE_RESET) replace(env, slot, mot_hold(env, env->world->zero));
        if (conf->state == STATE_AVERAGE && any)
            replace(env, slot, mot_sum_weighted(env, &s->sum[1 + i], (const double[]){ 1 / s->weight }, 1));
    }
    for (uint32_t i = 0; i < 3; i++) replace(env, &s->sum[i], MOT_NO_BUF);
    mot_drop(env, s->before_packing.rest);
    mot_drop(env, s->before_packing.total);
    s->before_packing = (struct mot_packer){ 0 };
    s->averaging = false;
    s->covered = 0;
}

/* ---- Rounds ----------------------------------------------------------------------------------------- */

static void begin_round(struct mot_periodic *s, struct mot_env *env)
{
    const struct mot_periodic_conf *conf = env->conf;
    if (s->round >= s->last) {
        mot_stop(env, MOT_OK);
        return;
    }
    s->computing = true;
    mot_start_own(env, (uint32_t)s->round, s->draw, env->world->batch[env->self], s->params.x, MOT_NEVER);
    if (conf->overlap && is_due(conf, s->round)) begin_averaging(s, env);
}

static void end_round(struct mot_periodic *s, struct mot_env *env)
{
    s->round++;
    mot_advance(env);
    begin_round(s, env);
}

static void hold_before(struct mot_periodic *s, struct mot_env *env)
{
    s->before = s->params;
    mot_hold(env, s->params.x);
    for (uint32_t i = 0; i < env->world->optim->slots; i++) mot_hold(env, s->params.slot[i]);
}

static void drop_before(struct mot_periodic *s, struct mot_env *env)
{
    mot_drop(env, s->before.x);
    for (uint32_t i = 0; i < env->world->optim->slots; i++) mot_drop(env, s->before.slot[i]);
    s->before = (struct mot_params){ 0 };
}

/* A step alone; the update counts once the averaging that belongs to it is over. */
static void step_alone(struct mot_periodic *s, struct mot_env *env, mot_buf grad)
{
    const struct mot_periodic_conf *conf = env->conf;
    bool due = s->round + 1 == s->last || (!conf->overlap && is_due(conf, s->round + 1));
    if (due) hold_before(s, env);
    if (s->samples) mot_params_step(env, &s->params, mot_whole(env, grad), 1.0 / s->samples, 1.0);
    else s->params.step++; /* out of data: it only averages */
    s->covered += s->samples;
    if (due) begin_averaging(s, env);
    else end_round(s, env);
}

/* Ends the averaging once its sums are here and, overlapped, the gradient that was taken meanwhile. */
static void consider(struct mot_periodic *s, struct mot_env *env)
{
    if (s->pending || s->computing) return;
    end_averaging(s, env);
    if (s->before.x != MOT_NO_BUF) {
        drop_before(s, env);
        end_round(s, env);
    } else {
        mot_buf grad = s->grad;
        s->grad = MOT_NO_BUF;
        step_alone(s, env, grad);
        mot_drop(env, grad);
    }
}

static void work_came(struct mot_periodic *s, struct mot_env *env, const struct mot_result *w)
{
    const struct mot_periodic_conf *conf = env->conf;
    MOT_ASSERT(s->computing && w->tag == (uint32_t)s->round);
    s->computing = false;
    s->draw += w->samples;
    s->samples = w->samples;
    if (s->round < conf->from) join(s, env, SUM_GRADIENTS, w->grad, w->samples);
    else if (!s->averaging) step_alone(s, env, w->grad);
    else {
        s->grad = mot_hold(env, w->grad);
        consider(s, env);
    }
}

/* A step of all together, as in allreduce. */
static void gradients_came(struct mot_periodic *s, struct mot_env *env, const struct mot_coll_result *sum)
{
    const struct mot_periodic_conf *conf = env->conf;
    struct mot_slice grad = mot_gathered(env, packer_of(s, SUM_GRADIENTS), sum->out);
    if (sum->scalar[0] > 0) mot_params_step(env, &s->params, grad, 1.0 / sum->scalar[0], 1.0);
    else s->params.step++;
    mot_drop(env, grad.buf);
    if (s->round + 1 == conf->from) s->start = mot_hold(env, s->params.x);
    end_round(s, env);
}

static void sum_came(struct mot_periodic *s, struct mot_env *env, const struct mot_coll_result *sum)
{
    const struct mot_periodic_conf *conf = env->conf;
    uint32_t what = s->pending, i = what - SUM_AVERAGE;
    MOT_ASSERT(sum->tag + 1 == s->joined && what != SUM_NONE);
    s->pending = SUM_NONE;
    if (what == SUM_GRADIENTS) {
        gradients_came(s, env, sum);
        return;
    }
    s->sum[i] = i ? mot_hold(env, sum->out.buf) : mot_gathered(env, packer_of(s, what), sum->out).buf;
    s->weight = sum->scalar[0];
    if (conf->state == STATE_AVERAGE && i < env->world->optim->slots) join_average(s, env, i + 1);
    else consider(s, env);
}

/* ---- The method ------------------------------------------------------------------------------------- */

struct mot_need mot_periodic_need(const void *conf, const struct mot_world *world, mot_node self)
{
    (void)conf;
    (void)world;
    (void)self;
    /* The parameters, the last and the next ones, where they started and the momentum and the next ones, sums
     * and what goes into one, and a gradient. */
    return (struct mot_need){
        .state_bytes = sizeof(struct mot_periodic), .buffers = 18, .works = 1, .terms = 1, .colls = 1
    };
}

enum mot_status mot_periodic_validate(const void *p, const struct mot_world *world)
{
    const struct mot_periodic_conf *conf = p;
    if (conf->state == STATE_RESET && strcmp(world->optim->kind->name, "adamw") == 0)
        return mot_fail(MOT_EUSAGE,
            "method.state: found reset, but adamw corrects its means for the number of steps behind them, "
            "which a reset does not restart; expected keep or average");
    return MOT_OK;
}

void mot_periodic_init(struct mot_periodic *s, struct mot_env *env, struct mot_outer outer)
{
    const struct mot_periodic_conf *conf = env->conf;
    const struct mot_kept *kept = env->world->kept ? &env->world->kept[env->self] : NULL;
    s->outer = outer;
    mot_params_init(env, &s->params);
    s->draw = mot_first_draw(env);
    s->round = s->params.step;
    s->last = mot_apart_end(env->world);
    if (s->round >= conf->from) s->start = mot_hold(env, kept ? kept->buf[0] : s->params.x);
    if (outer.momentum > 0) s->momentum = mot_hold(env, kept ? kept->buf[1] : env->world->zero);
    mot_packer_init(env, &s->packer[s->round >= conf->from], outer.keeps);
    if (!kept) return;
    s->covered = kept->word[0];
    memcpy(&s->pace, &kept->word[1], sizeof(s->pace));
}

void mot_periodic_keep(const void *state, const struct mot_env *env, struct mot_kept *out)
{
    const struct mot_periodic *s = state;
    out->buf[0] = s->start == MOT_NO_BUF ? env->world->zero : s->start;
    out->buf[1] = s->momentum == MOT_NO_BUF ? env->world->zero : s->momentum;
    const struct mot_periodic_conf *conf = env->conf;
    const struct mot_packer *packer = &s->packer[s->round >= conf->from];
    mot_packer_keep(s->averaging ? &s->before_packing : packer, env, out, s->outer.keeps);
    out->word[0] = s->covered - (s->before.x == MOT_NO_BUF ? 0 : s->samples);
    memcpy(&out->word[1], &s->pace, sizeof(s->pace));
}

void mot_periodic_step(void *state, struct mot_env *env, const struct mot_event *event)
{
    struct mot_periodic *s = state;
    switch (event->kind) {
    case MOT_EV_START: begin_round(s, env); return;
    case MOT_EV_WORK: work_came(s, env, event->work); return;
    case MOT_EV_COLL: sum_came(s, env, event->coll); return;
    case MOT_EV_PEER: /* the mean needs everyone */
        if (!event->peer.up) mot_stop(env, MOT_EPEER);
        return;
    case MOT_EV_MESSAGE:
    case MOT_EV_TIMER:
    case MOT_EV_PIECE: MOT_ASSERT(!"workers that average ask for none of these"); return;
    }
}

void mot_periodic_check(const void *state, const struct mot_env *env)
{
    const struct mot_periodic *s = state;
    const struct mot_periodic_conf *conf = env->conf;
    bool stepped = s->before.x != MOT_NO_BUF;
    MOT_ASSERT(s->params.x != MOT_NO_BUF && s->params.step == s->round + stepped && s->round <= s->last);
    MOT_ASSERT((s->start != MOT_NO_BUF) == (s->round >= conf->from));
    MOT_ASSERT(s->pending <= SUM_AVERAGE + env->world->optim->slots);
    MOT_ASSERT(s->pending != SUM_GRADIENTS || (s->round < conf->from && !s->computing));
    MOT_ASSERT(s->averaging ? s->params.step > conf->from : s->pending < SUM_AVERAGE);
    MOT_ASSERT(!stepped || (s->averaging && !s->computing && s->before.step == s->round));
    MOT_ASSERT(s->grad == MOT_NO_BUF || (s->averaging && !stepped && !s->computing));
}

bool mot_periodic_model(const void *state, const struct mot_env *env, struct mot_view *view)
{
    const struct mot_periodic *s = state;
    const struct mot_params *params = s->before.x == MOT_NO_BUF ? &s->params : &s->before;
    (void)env;
    *view = (struct mot_view){ .x = params->x, .scale = 1, .params = params };
    return true;
}

void mot_periodic_traits(const void *conf, uint32_t workers, struct mot_traits *t)
{
    (void)conf;
    (void)workers;
    t->model = MOT_MODEL_OF_EACH;
    t->packs = MOT_PACKS_SUMS;
    t->keeps = 1;
}

void mot_periodic_traits_momentum(const void *conf, uint32_t workers, struct mot_traits *t)
{
    mot_periodic_traits(conf, workers, t);
    t->keeps = 2;
}
