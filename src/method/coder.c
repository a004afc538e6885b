#include "method/coder.h"

struct job {
    uint64_t round;
    uint32_t task;
    mot_buf at; /* MOT_NO_BUF: there is none; a running job's is the driver's */
};

struct mot_coder {
    uint64_t shuffle;
    uint32_t role, source; /* source: who had this role before */
    uint32_t missing;      /* parts of its role whose rows are not here */
    uint32_t adrift;       /* it is back from a loss and does not know its role */
    uint32_t asked;        /* has asked the server for what is missing */
    uint32_t tag, busy;
    uint32_t given_up; /* jobs to answer once the cancelled one comes in */
    uint32_t looks;
    struct job running, next;
    uint64_t bits[]; /* parts that it holds; then the terms of a job */
};

#define QUEUE 2u /* one that runs or is being given up, and the next */

static size_t words(uint32_t bits) { return (bits + 63) / 64; }
static struct mot_term *terms_of(struct mot_coder *c, const struct mot_env *env)
{
    return (struct mot_term *)(c->bits + words(env->world->parts));
}
static bool bit(const uint64_t *set, uint32_t i) { return set[i / 64] >> (i % 64) & 1; }
static void put_bit(uint64_t *set, uint32_t i, bool on)
{
    set[i / 64] = (set[i / 64] & ~(UINT64_C(1) << (i % 64))) | (uint64_t)on << (i % 64);
}

/* ---- Roles ----------------------------------------------------------------------------------- */

static struct mot_shuffle shuffle_of(const void *conf, const struct mot_world *w)
{
    struct mot_shuffle how = ((const struct mot_coder_conf *)conf)->shuffle;
    how.seed = w->seed;
    return how;
}

uint64_t mot_coder_first_shuffle(const struct mot_world *w)
{
    return w->kept ? w->kept[w->workers].word[MOT_CODER_SHUFFLE] : 0;
}

uint32_t mot_coder_role(const void *conf, const struct mot_world *w, uint64_t shuffle, mot_node worker)
{
    struct mot_shuffle how = shuffle_of(conf, w);
    return mot_shuffle_role(&how, w->code, shuffle, worker);
}

mot_node mot_coder_holder(const void *conf, const struct mot_world *w, uint64_t shuffle, uint32_t role)
{
    struct mot_shuffle how = shuffle_of(conf, w);
    return mot_shuffle_holder(&how, w->code, shuffle, role);
}

uint32_t mot_code_load(const struct mot_code *c, uint32_t role) { return c->at[role + 1] - c->at[role]; }

bool mot_code_has(const struct mot_code *c, uint32_t role, uint32_t part)
{
    uint32_t low = c->at[role], high = c->at[role + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (c->share[middle].part < part) low = middle + 1;
        else high = middle;
    }
    return low < c->at[role + 1] && c->share[low].part == part;
}

/* ---- Jobs ------------------------------------------------------------------------------------ */

struct mot_need mot_coder_need(const struct mot_world *world, uint32_t queue)
{
    MOT_ASSERT(queue == QUEUE);
    uint32_t load = world->code->load_most;
    /* Answers and pieces of the last two jobs; rows to the next holder; wants and settled. */
    return (struct mot_need){ .state_bytes = sizeof(struct mot_coder) +
            words(world->parts) * sizeof(uint64_t) + load * sizeof(struct mot_term),
        .buffers = QUEUE * (1 + load),
        .sends = QUEUE * (1 + load) + 2 * load + 2,
        .works = 1,
        .terms = load };
}

void mot_coder_init(void *state, struct mot_env *env, uint32_t queue, bool looks)
{
    struct mot_coder *c = state;
    const struct mot_code *code = env->world->code;
    (void)queue;
    c->looks = looks;
    c->adrift = env->life > 0;
    c->shuffle = c->adrift ? 0 : mot_coder_first_shuffle(env->world);
    c->role = mot_coder_role(env->conf, env->world, c->shuffle, env->self);
    c->source = env->self;
    for (uint32_t k = code->at[c->role]; !c->adrift && k < code->at[c->role + 1]; k++)
        put_bit(c->bits, code->share[k].part, true);
}

static void begin_next(struct mot_coder *c, struct mot_env *env)
{
    const struct mot_code *code = env->world->code;
    if (c->busy || c->next.at == MOT_NO_BUF || c->missing || c->adrift) return;
    struct mot_term *term = terms_of(c, env);
    uint32_t first = code->at[c->role], load = mot_code_load(code, c->role);
    for (uint32_t k = 0; k < load; k++) {
        const struct mot_share *share = &code->share[first + k];
        uint32_t samples = env->world->part_batch[share->part];
        term[k] = (struct mot_term){ .part = share->part,
            .draw = (uint64_t)c->next.task * samples,
            .samples = samples,
            .coef = code->partials ? 1 : share->coef };
    }
    c->running = c->next;
    c->next = (struct job){ 0 };
    c->busy = true;
    c->tag++;
    mot_start(env,
        &(struct mot_work){ .tag = c->tag,
            .terms = load,
            .term = term,
            .deadline = MOT_NEVER,
            .at = c->running.at,
            .pieces = code->partials });
    mot_drop(env, c->running.at);
    c->running.at = MOT_NO_BUF;
}

static void say_given_up(struct mot_env *env, uint64_t round, uint32_t samples, uint32_t jobs)
{
    mot_send(env, env->world->workers, MOT_MSG_GAVE_UP,
        (struct mot_head){ .round = round, .samples = samples, .value = jobs },
        (struct mot_slice){ .buf = MOT_NO_BUF });
}

/* The running job's answer will count all of them. */
static void give_up_all(struct mot_coder *c, struct mot_env *env)
{
    if (c->busy && c->given_up == 0) {
        mot_cancel(env, c->tag);
        c->given_up = 1;
    }
    if (c->next.at == MOT_NO_BUF) return;
    if (c->busy) c->given_up++;
    else say_given_up(env, c->next.round, 0, 1);
    mot_drop(env, c->next.at);
    c->next = (struct job){ 0 };
}

static void model_came(struct mot_coder *c, struct mot_env *env, const struct mot_message *m)
{
    if (m->kind == MOT_MSG_REPLACE) give_up_all(c, env);
    MOT_ASSERT(c->next.at == MOT_NO_BUF && "the server sends no more than the queue holds");
    c->next =
        (struct job){ .round = m->head.round, .task = m->head.samples, .at = mot_hold(env, m->body.buf) };
    begin_next(c, env);
}

static struct mot_head head_of(
    const struct mot_coder *c, const struct mot_env *env, const struct mot_result *w)
{
    uint32_t role_first = env->world->code->at[c->role];
    struct mot_head head = { .round = c->running.round, .samples = w->samples, .value = w->loss };
    uint64_t asked = 0;
    for (uint32_t k = 0; k < mot_code_load(env->world->code, c->role); k++)
        if (!env->world->code->partials || k == w->piece)
            asked += env->world->part_batch[env->world->code->share[role_first + k].part];
    /* A combination over fewer samples than the others took cannot be decoded: the data has run out. */
    if (w->samples < asked) head.samples = 0;
    if (c->looks) head.value = mot_told_loss(env, w->grad, w->samples, w->loss);
    return head;
}

static void piece_came(struct mot_coder *c, struct mot_env *env, const struct mot_result *w)
{
    MOT_ASSERT(c->busy && w->tag == c->tag);
    if (c->given_up) return;
    mot_send(env, env->world->workers, MOT_MSG_PIECE, head_of(c, env, w), mot_whole(env, w->grad));
}

static void work_came(struct mot_coder *c, struct mot_env *env, const struct mot_result *w)
{
    MOT_ASSERT(c->busy && w->tag == c->tag);
    c->busy = false;
    if (c->given_up) say_given_up(env, c->running.round, w->samples, c->given_up);
    else mot_send(env, env->world->workers, MOT_MSG_GRAD, head_of(c, env, w), mot_whole(env, w->grad));
    c->given_up = 0;
    begin_next(c, env);
}

/* ---- Shuffles ---------------------------------------------------------------------------------- */

static void want_missing(struct mot_coder *c, struct mot_env *env)
{
    const struct mot_code *code = env->world->code;
    c->asked = true;
    for (uint32_t k = code->at[c->role]; k < code->at[c->role + 1]; k++) {
        uint32_t part = code->share[k].part;
        if (bit(c->bits, part)) continue;
        mot_send(env, env->world->workers, MOT_MSG_WANT,
            (struct mot_head){ .round = c->shuffle, .samples = part },
            (struct mot_slice){ .buf = MOT_NO_BUF });
    }
}

static void settle(struct mot_coder *c, struct mot_env *env)
{
    mot_send(env, env->world->workers, MOT_MSG_SETTLED, (struct mot_head){ .round = c->shuffle },
        (struct mot_slice){ .buf = MOT_NO_BUF });
    begin_next(c, env);
}

/* Sends what the next holder of the old role lacks. */
static void hand_over(struct mot_coder *c, struct mot_env *env, uint64_t shuffle)
{
    const struct mot_code *code = env->world->code;
    mot_node to = mot_coder_holder(env->conf, env->world, shuffle, c->role);
    if (to == env->self) return;
    uint32_t theirs = mot_coder_role(env->conf, env->world, c->shuffle, to);
    for (uint32_t k = code->at[c->role]; k < code->at[c->role + 1]; k++)
        if (!mot_code_has(code, theirs, code->share[k].part))
            mot_send_rows(env, to, MOT_MSG_ROWS, (struct mot_head){ .round = shuffle }, code->share[k].part);
}

static void shuffled(struct mot_coder *c, struct mot_env *env, const struct mot_message *m)
{
    const struct mot_code *code = env->world->code;
    uint64_t shuffle = m->head.round;
    uint32_t before = c->role;
    give_up_all(c, env);
    if (!c->adrift) hand_over(c, env, shuffle);
    c->role = mot_coder_role(env->conf, env->world, shuffle, env->self);
    c->source = shuffle ? mot_coder_holder(env->conf, env->world, shuffle - 1, c->role) : env->self;
    c->shuffle = shuffle;
    c->missing = 0;
    c->asked = false;
    for (uint32_t k = code->at[before]; k < code->at[before + 1]; k++) {
        uint32_t part = code->share[k].part;
        if (!bit(c->bits, part) || mot_code_has(code, c->role, part)) continue;
        mot_forget(env, part);
        put_bit(c->bits, part, false);
    }
    for (uint32_t k = code->at[c->role]; k < code->at[c->role + 1]; k++)
        c->missing += !bit(c->bits, code->share[k].part);
    bool ask = c->adrift || m->head.samples;
    c->adrift = false;
    if (c->missing == 0) settle(c, env);
    else if (ask) want_missing(c, env);
}

/* The role's last holder is lost. Its rows may be here already. */
static void ask_now(struct mot_coder *c, struct mot_env *env, uint64_t shuffle)
{
    if (shuffle == c->shuffle && c->missing && !c->asked) want_missing(c, env);
}

/* Rows of the next shuffle may come before the shuffle itself, which then counts them. Rows may also come
 * twice, if their sender was lost and is back, or too late to matter. */
static void rows_came(struct mot_coder *c, struct mot_env *env, const struct mot_message *m)
{
    uint32_t part = m->rows - 1;
    bool early = c->adrift || m->head.round > c->shuffle;
    if (!early && !mot_code_has(env->world->code, c->role, part)) {
        mot_forget(env, part);
        put_bit(c->bits, part, false);
        return;
    }
    bool was = bit(c->bits, part);
    put_bit(c->bits, part, true);
    if (!was && !early && --c->missing == 0) settle(c, env);
}

/* ---- The side ------------------------------------------------------------------------------------ */

void mot_coder_step(
    const struct mot_served *rule, void *state, struct mot_env *env, const struct mot_event *event)
{
    struct mot_coder *c = state;
    (void)rule;
    switch (event->kind) {
    case MOT_EV_START: return; /* the server speaks first */
    case MOT_EV_MESSAGE:
        if (event->message->kind == MOT_MSG_SHUFFLE) shuffled(c, env, event->message);
        else if (event->message->kind == MOT_MSG_ROWS) rows_came(c, env, event->message);
        else if (event->message->kind == MOT_MSG_ASK) ask_now(c, env, event->message->head.round);
        else model_came(c, env, event->message);
        return;
    case MOT_EV_PIECE: piece_came(c, env, event->work); return;
    case MOT_EV_WORK: work_came(c, env, event->work); return;
    case MOT_EV_PEER: /* the server says who else matters */
        if (event->peer.node >= env->world->workers && !event->peer.up) mot_stop(env, MOT_EPEER);
        return;
    case MOT_EV_COLL:
    case MOT_EV_TIMER: MOT_ASSERT(!"a coder asked for none of these"); return;
    }
}

static uint32_t unanswered(const struct mot_coder *c)
{
    return (c->given_up ? c->given_up : c->busy) + (c->next.at != MOT_NO_BUF);
}

/* Rows of the next shuffle come only from the role's last holder. Older ones may be doubled or late. */
static bool admits_rows(const struct mot_coder *c, const struct mot_env *env, const struct mot_message *m)
{
    const struct mot_code *code = env->world->code;
    if (m->rows == 0 || m->rows > code->parts || m->head.samples || m->head.value != 0) return false;
    if (m->from >= env->world->workers) return c->asked && m->head.round == c->shuffle;
    if (c->adrift || m->head.round <= c->shuffle) return true;
    if (c->missing) return false; /* no shuffle begins before everyone has settled */
    uint32_t role = mot_coder_role(env->conf, env->world, c->shuffle + 1, env->self);
    return m->head.round == c->shuffle + 1 &&
        m->from == mot_coder_holder(env->conf, env->world, c->shuffle, role) &&
        mot_code_has(code, role, m->rows - 1);
}

bool mot_coder_admits(const void *state, const struct mot_env *env, const struct mot_message *m)
{
    const struct mot_coder *c = state;
    if (m->kind == MOT_MSG_ROWS) return admits_rows(c, env, m);
    if (m->from != env->world->workers) return false;
    if (m->kind == MOT_MSG_SHUFFLE)
        return (c->adrift || (m->head.round == c->shuffle + 1 && c->missing == 0)) && m->head.samples <= 1 &&
            m->head.value == 0 && m->body.buf == MOT_NO_BUF;
    if (m->kind == MOT_MSG_ASK)
        return m->head.round == c->shuffle && m->head.samples == 0 && m->head.value == 0 &&
            m->body.buf == MOT_NO_BUF;
    uint64_t last = c->next.at ? c->next.round : c->running.round;
    bool room = m->kind == MOT_MSG_REPLACE || (m->kind == MOT_MSG_MODEL && c->next.at == MOT_NO_BUF);
    return room && unanswered(c) < QUEUE && m->head.round >= last && m->head.value == 0 &&
        mot_body_is(m, mot_whole(env, m->body.buf));
}

void mot_coder_check(const void *state, const struct mot_env *env, uint32_t queue)
{
    const struct mot_coder *c = state;
    const struct mot_world *world = env->world;
    MOT_ASSERT(queue == QUEUE && c->role < world->code->workers && c->source < world->workers);
    MOT_ASSERT(c->missing <= mot_code_load(world->code, c->role) && c->given_up <= QUEUE);
    MOT_ASSERT(c->busy || c->given_up == 0);
    for (size_t i = 0; env->held && i < words(world->parts); i++)
        MOT_ASSERT((c->bits[i] & ~env->held[i]) == 0 && "it holds what it counts on");
    if (c->adrift) return;
    uint32_t missing = 0;
    for (uint32_t k = world->code->at[c->role]; k < world->code->at[c->role + 1]; k++)
        missing += !bit(c->bits, world->code->share[k].part);
    MOT_ASSERT(missing == c->missing);
}
