/* coded.c -- gradient coding: workers compute more than their share, so that the sum over all data can be
 * recovered from the answers of some of them.
 *
 * Server:  OPEN(t): MODEL(t) to all --enough answers, or the deadline--> decode, one step --> OPEN(t+1)
 *
 * Worker i has role r(i), a row of the code's matrix B, and answers sum_j B[r,j] g_j(t), where g_j(t) is the
 * gradient over part j's batch t. The server looks for weights a with B'a = 1 over those who answered; then
 * the weighted sum of the answers is the sum over all parts (Tandon, Lei, Dimakis and Karampatziakis,
 * Gradient Coding, ICML 2017). Unfinished jobs are given up when a round closes.
 *
 * On real machines, the same workers straggle again and again, and parts that only they hold are used too
 * little. Shuffling the roles spreads that over all parts (Johri, Yardi and Bodas, Approximate Gradient
 * Coding for Heterogeneous Nodes, arXiv 2105.06124); the rows move between workers, and a job begins when
 * they have arrived.
 *
 * A sequential code (Krishnan, Ebrahimi and Khisti, Sequential Gradient Coding for Straggler Mitigation, ICLR
 * 2023, SR-SGC) does not wait for a task that straggles: task t stays open for `burst` more rounds, and in
 * the last of these some of those who failed repeat it. If even that does not decode it, the round waits for
 * all. */
#include "method/coded_state.h"
#include "method/methods.h"
#include <stddef.h>
#include <stdio.h>

/* ---- Shuffles ---------------------------------------------------------------------------------- */

static bool is_lost(const struct mot_coded *s, mot_node worker)
{
    return mot_hub_seat(&s->hub, worker)->away & MOT_AWAY_LOST;
}

static void tell_role(
    struct mot_coded *s, struct mot_env *env, const struct mot_coded_layout *l, mot_node worker)
{
    struct mot_coded_seat *seat = &mot_coded_seats(s, l)[worker];
    seat->role = mot_coder_role(env->conf, env->world, s->shuffle, worker);
    seat->wants = mot_code_load(env->world->code, seat->role);
    if (is_lost(s, worker)) return;
    s->unsettled += !seat->unsettled;
    seat->unsettled = true;
    bool ask =
        s->shuffle > 0 && is_lost(s, mot_coder_holder(env->conf, env->world, s->shuffle - 1, seat->role));
    mot_send(env, worker, MOT_MSG_SHUFFLE, (struct mot_head){ .round = s->shuffle, .samples = ask },
        (struct mot_slice){ .buf = MOT_NO_BUF });
}

/* Roles change between two rounds, once all rows of the last change have arrived. */
static void shuffle_if_due(struct mot_coded *s, struct mot_env *env, const struct mot_coded_layout *l)
{
    const struct mot_coded_conf *conf = env->conf;
    if (conf->coder.shuffle.kind == MOT_SHUFFLE_NONE || s->rounds < s->next_shuffle) return;
    if (s->unsettled) {
        mot_note(env, "shuffles_delayed", 1);
        return;
    }
    s->next_shuffle = s->rounds + conf->coder.period;
    s->shuffle++;
    mot_note(env, "shuffles", 1);
    for (mot_node i = 0; i < env->world->workers; i++) tell_role(s, env, l, i);
}

static void settled(struct mot_coded *s, const struct mot_coded_layout *l, mot_node worker)
{
    struct mot_coded_seat *seat = &mot_coded_seats(s, l)[worker];
    s->unsettled -= seat->unsettled;
    seat->unsettled = false;
}

/* ---- Rounds -------------------------------------------------------------------------------------- */

static void give(struct mot_coded *s, struct mot_env *env, const struct mot_coded_layout *l, mot_node worker,
    uint64_t number)
{
    mot_coded_seats(s, l)[worker].pieces = 0;
    mot_hub_order(&s->hub, env, worker, (uint32_t)number);
}

/* If the code promises nothing, a round lasts until only stragglers are missing. */
static void arm_deadline(struct mot_coded *s, struct mot_env *env)
{
    const struct mot_coded_conf *conf = env->conf;
    const struct mot_code *code = env->world->code;
    struct mot_deadline_conf deadline = conf->deadline;
    if (code->burst) return; /* the fastest answer sets it */
    if (conf->wait == MOT_WORD_UINT && code->approximate && deadline.rule == MOT_DEADLINE_NONE)
        deadline.rule = MOT_DEADLINE_ADAPTIVE;
    mot_deadline_arm(&s->deadline, env, &deadline, s->hub.present);
}

/* As many of those who failed in the due task repeat it as it still lacks answers. */
static void open_round(struct mot_coded *s, struct mot_env *env, const struct mot_coded_layout *l)
{
    const struct mot_code *code = env->world->code;
    uint64_t due;
    uint32_t repeat = 0;
    shuffle_if_due(s, env, l);
    if (mot_coded_due(s, env, l, &due)) {
        uint32_t failed = code->workers - mot_coded_task_at(s, l, due)->got;
        if (failed > code->stragglers) repeat = failed - code->stragglers;
    }
    mot_coded_begin_task(s, l);
    s->overdue = s->answers = 0;
    s->opened = env->now;
    for (mot_node i = 0; i < env->world->workers; i++) {
        if (mot_hub_seat(&s->hub, i)->away) continue;
        bool again = repeat > 0 && !mot_coded_has_answered(s, l, due, mot_coded_seats(s, l)[i].role);
        repeat -= again;
        if (again) mot_note(env, "repeated", 1);
        give(s, env, l, i, again ? due : s->task);
    }
    arm_deadline(s, env);
}

static void coded_begin(void *state, struct mot_env *env)
{
    struct mot_coded *s = state;
    const struct mot_coded_conf *conf = env->conf;
    const struct mot_world *w = env->world;
    struct mot_coded_layout l = mot_coded_layout_of(w);
    s->task = s->first = w->kept ? w->kept[env->self].word[MOT_CODER_TASK] : s->hub.params.step;
    s->next_shuffle = w->kept ? w->kept[env->self].word[MOT_CODER_ROUNDS_LEFT] : conf->coder.period;
    s->shuffle = mot_coder_first_shuffle(w);
    mot_decoder_init(mot_coded_decoder(s, &l), w->code);
    for (uint32_t j = 0; j < w->parts; j++) s->samples_full += w->part_batch[j];
    for (uint32_t r = 0; r < w->workers; r++) {
        uint64_t samples = 0;
        for (uint32_t k = w->code->at[r]; k < w->code->at[r + 1]; k++)
            samples += w->part_batch[w->code->share[k].part];
        if (samples > s->samples_most) s->samples_most = (uint32_t)samples;
    }
    for (mot_node i = 0; i < w->workers; i++)
        mot_coded_seats(s, &l)[i].role = mot_coder_role(conf, w, s->shuffle, i);
    open_round(s, env, &l);
}

static void close_round(struct mot_coded *s, struct mot_env *env, const struct mot_coded_layout *l)
{
    uint64_t due;
    mot_alarm(env, 0, MOT_NEVER);
    if (mot_coded_due(s, env, l, &due))
        mot_coded_finish(s, env, l, due); /* nobody is left who could repeat it */
    if (env->world->code->burst == 0 || mot_coded_exact(s, env, l, s->task))
        mot_coded_finish(s, env, l, s->task);
    else mot_note(env, "put_off", 1);
    s->task++;
    s->rounds++;
    open_round(s, env, l);
}

/* Closes the round when its answers suffice, or when nobody is left who could answer. */
static void consider(struct mot_coded *s, struct mot_env *env)
{
    const struct mot_coded_conf *conf = env->conf;
    struct mot_coded_layout l = mot_coded_layout_of(env->world);
    uint64_t due;
    if (s->answers == 0) return;
    bool enough = mot_coded_exact(s, env, &l, s->task) || s->overdue;
    if (env->world->code->burst == 0) enough |= mot_coded_task_at(s, &l, s->task)->got >= conf->wait;
    else if (mot_coded_due(s, env, &l, &due)) enough &= mot_coded_exact(s, env, &l, due);
    if (enough || s->hub.active == 0) close_round(s, env, &l);
}

/* ---- Answers -------------------------------------------------------------------------------------- */

/* Keeps a part's gradient if it is the first. All holders compute the same bits. */
static void take_part(struct mot_coded *s, struct mot_env *env, const struct mot_coded_layout *l,
    uint64_t number, mot_node from, mot_buf grad)
{
    const struct mot_code *code = env->world->code;
    struct mot_coded_seat *seat = &mot_coded_seats(s, l)[from];
    uint32_t part = code->share[code->at[seat->role] + seat->pieces++].part;
    mot_buf *place = &mot_coded_grads(s, l, number)[part];
    if (*place != MOT_NO_BUF) return;
    *place = mot_hold(env, grad);
    mot_coded_task_at(s, l, number)->parts++;
}

static void coded_gradient(void *state, struct mot_env *env, const struct mot_answer *a)
{
    struct mot_coded *s = state;
    const struct mot_code *code = env->world->code;
    struct mot_coded_layout l = mot_coded_layout_of(env->world);
    const struct mot_coded_seat *seat = &mot_coded_seats(s, &l)[a->from];
    uint64_t number = s->task - (uint32_t)((uint32_t)s->task - a->task);
    MOT_ASSERT(mot_coded_open(s, &l, number) && !mot_coded_has_answered(s, &l, number, seat->role));
    mot_deadline_saw(&s->deadline, a->took);
    if (code->partials) take_part(s, env, &l, number, a->from, a->grad.buf);
    else mot_coded_grads(s, &l, number)[seat->role] = mot_hold(env, a->grad.buf);
    mot_role_add(mot_coded_answered(s, &l, number), seat->role);
    mot_coded_task_at(s, &l, number)->got++;
    /* With a sequential code, a straggler takes `slack` times longer than the fastest worker. */
    if (s->answers++ == 0 && code->burst)
        mot_alarm(env, 0, env->now + (mot_time)(code->slack * (double)(env->now - s->opened)));
    consider(s, env);
}

static void piece_came(struct mot_coded *s, struct mot_env *env, const struct mot_message *m)
{
    struct mot_coded_layout l = mot_coded_layout_of(env->world);
    uint32_t task;
    if (!mot_hub_expects(&s->hub, env, m->from, &task)) { /* it was replaced meanwhile */
        mot_note(env, "wasted_samples", m->head.samples);
        return;
    }
    if (m->head.samples == 0) { /* the data has run out */
        mot_stop(env, MOT_OK);
        return;
    }
    if (!mot_hub_sound(&s->hub, env, m)) {
        mot_note(env, "guarded", 1);
        mot_coded_seats(s, &l)[m->from].pieces++;
        if (((const struct mot_hub_conf *)env->conf)->guard != MOT_GUARD_DROP) mot_stop(env, MOT_EDIVERGED);
        return;
    }
    take_part(s, env, &l, s->task, m->from, m->body.buf);
    s->answers++;
    consider(s, env);
}

static void coded_message(void *state, struct mot_env *env, const struct mot_message *m)
{
    struct mot_coded *s = state;
    struct mot_coded_layout l = mot_coded_layout_of(env->world);
    if (m->kind == MOT_MSG_PIECE) {
        piece_came(s, env, m);
    } else if (m->kind == MOT_MSG_SETTLED) {
        settled(s, &l, m->from);
    } else {
        MOT_ASSERT(m->kind == MOT_MSG_WANT);
        mot_coded_seats(s, &l)[m->from].wants--;
        mot_send_rows(env, m->from, MOT_MSG_ROWS, (struct mot_head){ .round = s->shuffle }, m->head.samples);
    }
}

static bool coded_message_admits(const void *state, const struct mot_env *env, const struct mot_message *m)
{
    const struct mot_coded *s = state;
    const struct mot_code *code = env->world->code;
    struct mot_coded_layout l = mot_coded_layout_of(env->world);
    const struct mot_coded_seat *seat = &mot_coded_seats(s, &l)[m->from];
    uint32_t task;
    switch (m->kind) {
    case MOT_MSG_PIECE:
        return code->partials && m->head.samples <= s->samples_most &&
            mot_hub_seat(&s->hub, m->from)->there &&
            (!mot_hub_expects(&s->hub, env, m->from, &task) ||
                seat->pieces + 1 < mot_code_load(code, seat->role)) &&
            mot_body_is(m, mot_whole(env, m->body.buf));
    case MOT_MSG_SETTLED:
        return seat->unsettled && m->head.round == s->shuffle && m->head.samples == 0 && m->head.value == 0 &&
            m->body.buf == MOT_NO_BUF;
    case MOT_MSG_WANT:
        return seat->unsettled && seat->wants && m->head.round == s->shuffle &&
            m->head.samples < code->parts && m->head.value == 0 && m->body.buf == MOT_NO_BUF;
    default: return false;
    }
}

static uint64_t coded_samples_most(
    const struct mot_served *rule, const void *server, const struct mot_env *env, mot_node worker)
{
    (void)rule;
    (void)env;
    (void)worker;
    return ((const struct mot_coded *)server)->samples_most;
}

/* ---- Coming and going ------------------------------------------------------------------------------ */

/* Whoever waits for rows from the lost worker must ask the server. */
static void coded_gone(void *state, struct mot_env *env, mot_node worker)
{
    struct mot_coded *s = state;
    struct mot_coded_layout l = mot_coded_layout_of(env->world);
    settled(s, &l, worker);
    if (s->shuffle == 0) return;
    mot_node heir = mot_coder_holder(
        env->conf, env->world, s->shuffle, mot_coder_role(env->conf, env->world, s->shuffle - 1, worker));
    if (heir == worker || !mot_coded_seats(s, &l)[heir].unsettled) return;
    mot_send(env, heir, MOT_MSG_ASK, (struct mot_head){ .round = s->shuffle },
        (struct mot_slice){ .buf = MOT_NO_BUF });
}

static void coded_lost(void *state, struct mot_env *env, mot_node worker, uint32_t jobs)
{
    struct mot_coded *s = state;
    uint32_t away = mot_hub_seat(&s->hub, worker)->away;
    (void)jobs;
    /* All parts end together: only the longest have any data left. */
    if (away & MOT_AWAY_NO_DATA) mot_stop(env, MOT_OK);
    else consider(s, env);
}

/* Its new life holds nothing: it learns its role, asks for the rows, and joins this round, or the next if its
 * old life contributed to this one. */
static void coded_back(void *state, struct mot_env *env, mot_node worker)
{
    struct mot_coded *s = state;
    struct mot_coded_layout l = mot_coded_layout_of(env->world);
    tell_role(s, env, &l, worker);
    uint32_t role = mot_coded_seats(s, &l)[worker].role;
    if (!mot_coded_has_answered(s, &l, s->task, role)) give(s, env, &l, worker, s->task);
    if (s->hub.present == 1) arm_deadline(s, env); /* nobody was there to keep the last one */
}

/* The current task again: whatever spoilt the answer may be gone. */
static void coded_refused(void *state, struct mot_env *env, mot_node worker)
{
    struct mot_coded *s = state;
    struct mot_coded_layout l = mot_coded_layout_of(env->world);
    give(s, env, &l, worker, s->task);
}

static void coded_timer(void *state, struct mot_env *env, uint32_t tag)
{
    struct mot_coded *s = state;
    (void)tag;
    s->overdue = true;
    mot_note(env, "deadlines", 1);
    consider(s, env);
}

static void coded_check(const void *state, const struct mot_env *env)
{
    const struct mot_coded *s = state;
    struct mot_coded_layout l = mot_coded_layout_of(env->world);
    uint32_t unsettled = 0;
    for (mot_node i = 0; i < env->world->workers; i++) {
        const struct mot_coded_seat *seat = &mot_coded_seats(s, &l)[i];
        MOT_ASSERT(seat->role < env->world->code->workers);
        unsettled += seat->unsettled;
    }
    MOT_ASSERT(unsettled == s->unsettled);
    for (uint32_t k = 0; k < l.tasks; k++) {
        const struct mot_coded_task *task = mot_coded_task_at(s, &l, k);
        const mot_buf *grad = mot_coded_grads(s, &l, k);
        uint32_t here = 0, got = 0;
        for (uint32_t i = 0; i < l.buffers; i++) here += grad[i] != MOT_NO_BUF;
        for (uint32_t i = 0; i < l.words; i++)
            got += (uint32_t)__builtin_popcountll(mot_coded_answered(s, &l, k)[i]);
        MOT_ASSERT(!task->open || here == (env->world->code->partials ? task->parts : task->got));
        MOT_ASSERT(!task->open || got == task->got);
    }
    mot_deadline_check(&s->deadline);
}

/* ---- The method --------------------------------------------------------------------------------------- */

static struct mot_hub_need coded_need(const void *conf, const struct mot_world *world)
{
    struct mot_coded_layout l = mot_coded_layout_of(world);
    (void)conf;
    /* Answers of all open tasks, and their sum. A shuffle goes to everyone, and everyone may ask the server
     * for all its rows. A round may note every part. */
    return (struct mot_hub_need){ .state_bytes = l.bytes,
        .buffers = l.tasks * l.buffers + 1,
        .queue = 2,
        .backlog = world->workers,
        .alarms = 1,
        .sends = world->workers * (3 + world->code->load_most) + world->parts };
}

static const struct mot_worker_side coder_side = { .need = mot_coder_need,
    .init = mot_coder_init,
    .step = mot_coder_step,
    .check = mot_coder_check,
    .admits = mot_coder_admits,
    .samples_most = coded_samples_most,
    .message = coded_message,
    .message_admits = coded_message_admits };

static const struct mot_served coded = { .need = coded_need,
    .begin = coded_begin,
    .gradient = coded_gradient,
    .gone = coded_gone,
    .lost = coded_lost,
    .back = coded_back,
    .refused = coded_refused,
    .timer = coded_timer,
    .check = coded_check,
    .side = &coder_side };
MOT_SERVED(coded)

static bool coded_holds(const void *conf, const struct mot_world *world, mot_node worker, uint32_t part)
{
    return mot_code_has(
        world->code, mot_coder_role(conf, world, mot_coder_first_shuffle(world), worker), part);
}

/* A resumed run begins again with the oldest open task, so that none is left out. */
static void coded_keep(const void *state, const struct mot_env *env, struct mot_kept *out)
{
    const struct mot_coded *s = state;
    struct mot_coded_layout l = mot_coded_layout_of(env->world);
    uint64_t task = s->task;
    for (uint32_t back = 1; back < l.tasks && back <= s->task - s->first; back++)
        if (mot_coded_open(s, &l, s->task - back)) task = s->task - back;
    out->word[MOT_CODER_SHUFFLE] = s->shuffle;
    out->word[MOT_CODER_ROUNDS_LEFT] = s->next_shuffle > s->rounds ? s->next_shuffle - s->rounds : 0;
    out->word[MOT_CODER_TASK] = task;
}

static uint64_t coded_missed(const void *state, const struct mot_world *world, uint32_t part)
{
    struct mot_coded_layout l = mot_coded_layout_of(world);
    return ((const uint64_t *)mot_coded_at(state, l.missed))[part] / 2;
}

static enum mot_status coded_validate(const void *p, const struct mot_world *world)
{
    const struct mot_coded_conf *conf = p;
    const struct mot_code *code = world->code;
    if (conf->wait != MOT_WORD_UINT && conf->wait > world->workers)
        return mot_fail(MOT_EUSAGE,
            "method.wait: %llu answers, but there are %u workers; expected 1 to %u, or 'auto'",
            (unsigned long long)conf->wait, world->workers, world->workers);
    if (conf->rescale && code->decoder != MOT_DECODER_ANY_HOLDER)
        return mot_fail(MOT_EUSAGE,
            "method.rescale: the decoder of code %s weighs answers so that they make up for missing ones; "
            "expected no, or code.decoder: any-holder",
            code->name);
    if (code->burst && conf->coder.shuffle.kind != MOT_SHUFFLE_NONE)
        return mot_fail(MOT_EUSAGE,
            "method.shuffle: code %s repeats a task in a later round, with the roles of the first; "
            "expected none",
            code->name);
    if (code->burst && (conf->wait != MOT_WORD_UINT || conf->deadline.rule != MOT_DEADLINE_NONE))
        return mot_fail(MOT_EUSAGE,
            "method.%s: code %s decides by itself when a round ends (code.slack); leave it out",
            conf->wait != MOT_WORD_UINT ? "wait" : "deadline", code->name);
    return MOT_OK;
}

static const struct mot_option coded_options[] = {
    MOT_HUB_OPTIONS,
    { .name = "wait",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct mot_coded_conf, wait),
        .preset = "auto",
        .word = "auto",
        .min = 1,
        .max = 1e6,
        .doc = "answers that close a round, if they do not decode exactly before; auto: a round waits until "
               "they do or, with a code that cannot promise it, until only stragglers are missing (the "
               "adaptive deadline)" },
    MOT_DEADLINE_OPTIONS(struct mot_coded_conf, "its answers suffice"),
    { .name = "rescale",
        .type = MOT_OPT_BOOL,
        .offset = offsetof(struct mot_coded_conf, rescale),
        .preset = "no",
        .doc = "divides a sum by the samples that are in it, not by those of all parts: for `code: uncoded`, "
               "where missing parts make the gradient shorter" },
    { .name = "shuffle",
        .type = MOT_OPT_CHOICE,
        .offset = offsetof(struct mot_coded_conf, coder.shuffle.kind),
        .preset = "none",
        .choices = MOT_SHUFFLES,
        .doc =
            "how workers change roles: never, to the next role, to the next group's, at random, or a random "
            "fraction of them; the rows move with the roles, and take the time that links need" },
    { .name = "period",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct mot_coded_conf, coder.period),
        .preset = "1",
        .min = 1,
        .max = 1e9,
        .doc =
            "rounds from one shuffle to the next; a shuffle that is due waits until all rows have arrived" },
    { .name = "fraction",
        .type = MOT_OPT_REAL,
        .offset = offsetof(struct mot_coded_conf, coder.shuffle.fraction),
        .preset = "0.1",
        .min = 0,
        .max = 1,
        .doc = "`shuffle: partial`: share of the workers that exchange roles" },
    { .name = NULL },
};

static void coded_advise(const void *p, const struct mot_situation *s, char *into, size_t size)
{
    if (s->kind == MOT_WHEN_WAITING)
        snprintf(into, size,
            "a code that tolerates more stragglers, see `motley help code`, or "
            "`--method async`");
    else if (s->kind == MOT_WHEN_OVERDUE)
        snprintf(into, size,
            "a shorter deadline, or a code that tolerates more stragglers, "
            "see `motley help code`");
    else mot_advise_served(p, s, into, size);
}

static void coded_traits(const void *p, uint32_t workers, struct mot_traits *t)
{
    const struct mot_coded_conf *conf = p;
    mot_served_traits(p, workers, t);
    t->packs = MOT_PACKS_NOTHING;
    t->packs_not =
        "the server decodes answers by linear combinations, which are exact only if the answers are";
    t->codes = t->redundant = true;
    if (conf->wait < t->round) t->round = (uint32_t)conf->wait;
    t->cuts = conf->wait != MOT_WORD_UINT || conf->deadline.rule != MOT_DEADLINE_NONE;
    t->shuffle = conf->coder.shuffle.kind;
    t->shuffle_fraction = conf->coder.shuffle.fraction;
    t->shuffle_period = conf->coder.period;
}

const struct mot_method mot_method_coded = {
    .name = "coded",
    .summary = "gradient coding: redundant work, so that stragglers need not answer",
    .about =
        "Workers compute the gradients of several parts of the data and answer with combinations, so that "
        "a server recovers the sum over all parts without waiting for everyone. The code (`code:`, "
        "`motley help code`) says who computes what: exact codes tolerate a number of stragglers, "
        "approximate ones lose a little with each.\n"
        "Use it when some machines are slow now and then and the exact gradient matters. A code for s "
        "stragglers makes every worker compute s + 1 times as much; if nobody straggles, it is s + 1 "
        "times slower than `server`. If the same workers always straggle, `shuffle` moves roles and rows "
        "between workers, so that no part is left out for long; `motley code` predicts whether it helps.\n"
        "Papers: Tandon, Lei, Dimakis, Karampatziakis, Gradient Coding, ICML 2017; Johri, Yardi, Bodas, "
        "Approximate Gradient Coding for Heterogeneous Nodes, 2021 (arXiv 2105.06124).",
    .options = coded_options,
    .conf_bytes = sizeof(struct mot_coded_conf),
    .traits = coded_traits,
    .advise = coded_advise,
    .validate = coded_validate,
    .holds = coded_holds,
    .missed = coded_missed,
    .keep = coded_keep,
    MOT_SERVED_BY(coded),
};
