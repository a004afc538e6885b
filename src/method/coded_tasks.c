#include "method/coded_state.h"

#define ROUNDING 1e-9 /* the error |B'a - 1|^2 that solving in double leaves an exact code */

struct mot_coded_layout mot_coded_layout_of(const struct mot_world *w)
{
    const struct mot_code *code = w->code;
    struct mot_coded_layout l = { .tasks = code->burst + 1,
        .words = (w->workers + 63) / 64,
        .buffers = code->partials ? w->parts : w->workers };
    size_t at = (sizeof(struct mot_coded) + 15) & ~(size_t)15;
    l.seat = at;
    at += w->workers * sizeof(struct mot_coded_seat);
    l.task = at;
    at += l.tasks * sizeof(struct mot_coded_task);
    l.answered = at;
    at += (size_t)l.tasks * l.words * sizeof(uint64_t);
    l.missed = at;
    at += w->parts * sizeof(uint64_t);
    l.weight = at;
    at += l.buffers * sizeof(double);
    l.grad = at;
    at += (size_t)l.tasks * l.buffers * sizeof(mot_buf);
    l.decoder = (at + 63) & ~(size_t)63;
    l.bytes = l.decoder + mot_decoder_bytes(code);
    return l;
}

struct mot_decoder *mot_coded_decoder(const struct mot_coded *s, const struct mot_coded_layout *l)
{
    return mot_coded_at(s, l->decoder);
}

bool mot_coded_exact(
    const struct mot_coded *s, const struct mot_env *env, const struct mot_coded_layout *l, uint64_t number)
{
    const struct mot_code *code = env->world->code;
    if (code->partials) return mot_coded_task_at(s, l, number)->parts == code->parts;
    return mot_decoder_exact(mot_coded_decoder(s, l), code, mot_coded_answered(s, l, number));
}

bool mot_coded_open(const struct mot_coded *s, const struct mot_coded_layout *l, uint64_t number)
{
    const struct mot_coded_task *task = mot_coded_task_at(s, l, number);
    return task->open && task->number == number;
}

bool mot_coded_due(
    const struct mot_coded *s, const struct mot_env *env, const struct mot_coded_layout *l, uint64_t *due)
{
    uint32_t burst = env->world->code->burst;
    *due = s->task - burst;
    return burst > 0 && s->task - s->first >= burst && mot_coded_open(s, l, *due);
}

bool mot_coded_has_answered(
    const struct mot_coded *s, const struct mot_coded_layout *l, uint64_t number, uint32_t role)
{
    return mot_role_in(mot_coded_answered(s, l, number), role);
}

void mot_coded_begin_task(struct mot_coded *s, const struct mot_coded_layout *l)
{
    *mot_coded_task_at(s, l, s->task) = (struct mot_coded_task){ .number = s->task, .open = true };
    for (uint32_t i = 0; i < l->words; i++) mot_coded_answered(s, l, s->task)[i] = 0;
}

/* Samples that went into a step, none counted twice. A part is used if a role with a weight has it. */
static uint64_t count_used(struct mot_coded *s, struct mot_env *env, const struct mot_coded_layout *l,
    uint64_t number, const double *weight)
{
    const struct mot_code *code = env->world->code;
    uint64_t *missed = mot_coded_at(s, l->missed), samples = 0;
    const mot_buf *grad = mot_coded_grads(s, l, number);
    /* missed[j]: twice the rounds that missed part j, plus 1 if this one does not. */
    for (uint32_t i = 0; i < l->buffers; i++) {
        if (grad[i] == MOT_NO_BUF || weight[i] == 0) continue;
        if (code->partials) missed[i] |= 1;
        else
            for (uint32_t k = code->at[i]; k < code->at[i + 1]; k++) missed[code->share[k].part] |= 1;
    }
    uint32_t parts = 0;
    for (uint32_t j = 0; j < code->parts; j++) {
        if (missed[j] & 1) {
            samples += env->world->part_batch[j];
            missed[j] -= 1;
            continue;
        }
        parts++;
        missed[j] += 2;
        mot_note(
            env, "missed_most", (double)(missed[j] / 2)); /* its maximum: of the part missed most often */
    }
    mot_note(env, "missed", parts);
    return samples;
}

static const double *weights_of(struct mot_coded *s, const struct mot_env *env,
    const struct mot_coded_layout *l, uint64_t number, double *error)
{
    const struct mot_code *code = env->world->code;
    double *weight = mot_coded_at(s, l->weight);
    if (!code->partials) {
        struct mot_decoded decoded;
        const double *w =
            mot_decode(mot_coded_decoder(s, l), code, mot_coded_answered(s, l, number), &decoded);
        *error = decoded.error;
        return w;
    }
    for (uint32_t j = 0; j < code->parts; j++) weight[j] = 1;
    *error = code->parts - mot_coded_task_at(s, l, number)->parts;
    return weight;
}

static void credit_all(struct mot_coded *s, struct mot_env *env, const struct mot_coded_layout *l,
    uint64_t number, const double *weight)
{
    const struct mot_coded_seat *seat = mot_coded_seats(s, l);
    const uint64_t *answered = mot_coded_answered(s, l, number);
    uint64_t late = s->task - number;
    for (mot_node i = 0; i < env->world->workers; i++) {
        uint32_t role = seat[i].role;
        if (mot_role_in(answered, role) && (env->world->code->partials || weight[role] != 0))
            mot_hub_credit(env, i, late);
    }
}

/* If weights are 0 or 1, the sum has the bits of a server's without a code. */
static mot_buf sum_of(struct mot_env *env, mot_buf *grad, const double *weight, uint32_t n)
{
    if (env->world->code->decoder != MOT_DECODER_ANY_HOLDER) return mot_sum_weighted(env, grad, weight, n);
    for (uint32_t i = 0; i < n; i++) {
        if (weight[i] != 0) continue;
        mot_drop(env, grad[i]);
        grad[i] = MOT_NO_BUF;
    }
    return mot_sum(env, grad, n);
}

void mot_coded_finish(
    struct mot_coded *s, struct mot_env *env, const struct mot_coded_layout *l, uint64_t number)
{
    const struct mot_coded_conf *conf = env->conf;
    mot_coded_task_at(s, l, number)->open = false;
    if (mot_coded_task_at(s, l, number)->got + mot_coded_task_at(s, l, number)->parts == 0) return;
    double error;
    const double *weight = weights_of(s, env, l, number, &error);
    mot_buf *grad = mot_coded_grads(s, l, number);
    uint64_t used = count_used(s, env, l, number, weight);
    credit_all(s, env, l, number, weight);
    /* Judges what came out, not what the code promises: all may have answered though nobody holds a part. */
    bool exact = error < ROUNDING;
    if (!exact) mot_note(env, "inexact", 1);
    mot_note(env, "decode_error", exact ? 0 : error);
    uint64_t samples = conf->rescale && used ? used : s->samples_full;
    mot_buf sum = sum_of(env, grad, weight, l->buffers);
    mot_params_step(env, &s->hub.params, mot_whole(env, sum), 1.0 / (double)samples, 1.0);
    mot_drop(env, sum);
    for (uint32_t i = 0; i < l->buffers; i++) {
        mot_drop(env, grad[i]);
        grad[i] = MOT_NO_BUF;
    }
    mot_used(env, used);
    mot_advance(env);
}
