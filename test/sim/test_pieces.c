/* Works in pieces, under a probe method: what each piece is, when it comes, and what a cancel, a deadline, a
 * stall or a lost worker leaves of them. */
#include "base/rng.h"
#include "method/methods.h"
#include "run/run.h"
#include "test.h"

#define MS UINT64_C(1000000)
#define TERMS 6
#define ASKS 3
#define LOG 32
#define DIM 700

/* What the probe asks for when it starts; tag i is ask i. */
struct ask {
    uint32_t terms, samples[TERMS];
    uint64_t draw; /* of the first term; the others follow it */
    mot_time deadline;
    bool whole; /* not in pieces */
};
static struct {
    struct ask ask[ASKS];
    uint32_t asks;
    mot_time cancel_at;    /* 0: never */
    uint32_t cancel_tag;   /* this ask is cancelled then, */
    uint32_t cancel_after; /* or in the step of so many pieces; 0: not */
    const char *machine, *faults, *model, *more[5];
} plan;

static struct seen {
    enum mot_event_kind kind;
    uint32_t tag, piece, samples;
    mot_time at;
    double loss;
    float grad[DIM];
} seen[LOG];
static uint32_t seen_n, pieces_n;
static uint64_t poisoned, rows;
static struct mot_node_tally tally;

/* ---- The probe ---------------------------------------------------------------------------- */

struct probe {
    uint32_t mark;
};

static struct mot_need probe_need(const void *conf, const struct mot_world *world, mot_node self)
{
    (void)conf, (void)world, (void)self;
    return (struct mot_need){
        .state_bytes = sizeof(struct probe), .buffers = 1, .works = ASKS, .terms = TERMS, .alarms = 2
    };
}

static void probe_init(void *p, struct mot_env *env) { (void)p, (void)env; }

static void start(struct mot_env *env, uint32_t tag)
{
    const struct ask *a = &plan.ask[tag];
    struct mot_term term[TERMS];
    uint64_t draw = a->draw;
    for (uint32_t t = 0; t < a->terms; draw += a->samples[t++])
        term[t] = (struct mot_term){ .draw = draw, .samples = a->samples[t], .coef = 1 };
    mot_start(env,
        &(struct mot_work){ .tag = tag,
            .terms = a->terms,
            .term = term,
            .deadline = a->deadline ? a->deadline : MOT_NEVER,
            .at = env->world->x0,
            .pieces = !a->whole });
}

static void note_down(struct mot_env *env, const struct mot_event *event)
{
    const struct mot_result *w = event->work;
    if (seen_n == LOG || env->world->dim > DIM) abort();
    struct seen *s = &seen[seen_n++];
    *s = (struct seen){ .kind = event->kind,
        .tag = w->tag,
        .piece = w->piece,
        .samples = w->samples,
        .at = env->now,
        .loss = w->loss };
    memcpy(s->grad, mot_read(env, w->grad), env->world->dim * sizeof(float));
}

static void probe_step(void *p, struct mot_env *env, const struct mot_event *event)
{
    (void)p;
    switch (event->kind) {
    case MOT_EV_START:
        rows = env->world->part_rows[0];
        for (uint32_t i = 0; i < plan.asks; i++) start(env, i);
        if (plan.cancel_at) mot_alarm(env, 0, plan.cancel_at);
        mot_alarm(env, 1, 100000 * MS);
        return;
    case MOT_EV_PIECE:
        note_down(env, event);
        if (++pieces_n == plan.cancel_after) mot_cancel(env, event->work->tag);
        return;
    case MOT_EV_WORK: note_down(env, event); return;
    case MOT_EV_TIMER:
        if (event->timer == 1) mot_stop(env, MOT_OK);
        else mot_cancel(env, plan.cancel_tag);
        return;
    case MOT_EV_MESSAGE:
    case MOT_EV_COLL:
    case MOT_EV_PEER: return;
    }
}

static bool probe_model(const void *p, const struct mot_env *env, struct mot_view *view)
{
    (void)p;
    *view = (struct mot_view){ .x = env->world->x0, .scale = 1 };
    return true;
}

static const struct mot_option no_options[] = { { .name = NULL } };
static const struct mot_method probe = { .name = "probe",
    .summary = "asks for works in pieces",
    .options = no_options,
    .need = probe_need,
    .init = probe_init,
    .step = probe_step,
    .model = probe_model };

static enum mot_status play(void)
{
    char cluster[400];
    const struct mot_method *more[] = { &probe, NULL };
    struct run r = { 0 };
    snprintf(cluster, sizeof cluster, "{network: none, workers: [{count: 1, %s}], faults: %s}",
        plan.machine ? plan.machine : "speed: 1000 samples/s", plan.faults ? plan.faults : "[]");
    seen_n = pieces_n = 0;
    RUN_SET(&r, "data", "digits", "model", plan.model ? plan.model : "softmax", "method", "probe", "cluster",
        cluster);
    run_set_all(&r, plan.more);
    mot_methods_extend(more);
    run_go(&r);
    mot_methods_extend(NULL);
    enum mot_status status = r.status == MOT_OK ? r.out.status : r.status;
    if (r.status == MOT_OK) {
        tally = r.out.node[0];
        poisoned = r.out.faults.poisoned;
    }
    run_free(&r);
    return status;
}

/* Tag, piece, samples and moment of the n-th event, which is the work's last if `last`. */
#define SEEN(N, LAST, TAG, PIECE, SAMPLES, AT)                                                               \
    do {                                                                                                     \
        CHECK(seen_n > (N));                                                                                 \
        CHECK_INT(seen[N].kind, (LAST) ? MOT_EV_WORK : MOT_EV_PIECE);                                        \
        CHECK_INT(seen[N].tag, TAG);                                                                         \
        CHECK_INT(seen[N].piece, PIECE);                                                                     \
        CHECK_INT(seen[N].samples, SAMPLES);                                                                 \
        CHECK_INT(seen[N].at, AT);                                                                           \
    } while (0)

/* ---- What they are ------------------------------------------------------------------------- */

static void ask_for(uint32_t a, uint32_t b, uint32_t c)
{
    memset(&plan, 0, sizeof plan);
    plan.asks = 1;
    plan.ask[0] = (struct ask){ .terms = 3, .samples = { a, b, c } };
}

TEST(pieces_come_in_order_as_their_samples_are_done_and_the_last_is_the_work)
{
    ask_for(20, 30, 50);
    CHECK_INT(play(), MOT_OK);
    CHECK_INT(seen_n, 3);
    SEEN(0, false, 0, 0, 20, 20 * MS);
    SEEN(1, false, 0, 1, 30, 50 * MS);
    SEEN(2, true, 0, 2, 50, 100 * MS);
    CHECK_INT(tally.jobs, 1);
    CHECK_INT(tally.samples, 100);
    CHECK_INT(tally.compute, 100 * MS);
}

TEST(the_fixed_cost_comes_before_the_first_piece_and_a_job_time_is_shared_by_samples)
{
    ask_for(20, 30, 50);
    plan.machine = "speed: 1000 samples/s, fixed: 10ms";
    CHECK_INT(play(), MOT_OK);
    SEEN(0, false, 0, 0, 20, 30 * MS);
    SEEN(1, false, 0, 1, 30, 60 * MS);
    SEEN(2, true, 0, 2, 50, 110 * MS);
    plan.machine = "job_time: 1s";
    CHECK_INT(play(), MOT_OK);
    SEEN(0, false, 0, 0, 20, 200 * MS);
    SEEN(1, false, 0, 1, 30, 500 * MS);
    SEEN(2, true, 0, 2, 50, 1000 * MS);
}

/* The gradient and loss of so many samples from this position on, asked for alone. */
static struct seen alone(uint64_t draw, uint32_t samples)
{
    memset(&plan, 0, sizeof plan);
    plan.asks = 1;
    plan.ask[0] = (struct ask){ .terms = 1, .samples = { samples }, .draw = draw, .whole = true };
    if (play() != MOT_OK || seen_n != 1) abort();
    return seen[0];
}

static bool same_bits(const struct seen *a, const struct seen *b)
{
    return a->samples == b->samples && a->loss == b->loss && memcmp(a->grad, b->grad, sizeof a->grad) == 0;
}

TEST(a_piece_has_the_bits_of_its_term_alone_and_together_they_are_the_whole)
{
    struct seen part[3], whole;
    ask_for(20, 100, 33);
    CHECK_INT(play(), MOT_OK);
    CHECK_INT(seen_n, 3);
    memcpy(part, seen, sizeof part);
    plan.ask[0].whole = true;
    CHECK_INT(play(), MOT_OK);
    CHECK_INT(seen_n, 1);
    SEEN(0, true, 0, 0, 153, 153 * MS);
    whole = seen[0];
    double loss = 0;
    for (int i = 0; i < 3; i++) loss += part[i].loss;
    CHECK_NEAR(loss, whole.loss, 1e-9 * whole.loss);
    for (int j = 0; j < DIM; j++)
        CHECK_NEAR(part[0].grad[j] + part[1].grad[j] + part[2].grad[j], whole.grad[j], 1e-4);
    uint64_t draw = 0;
    for (int i = 0; i < 3; i++) {
        struct seen one = alone(draw, part[i].samples);
        CHECK(one.loss > 0);
        CHECK(same_bits(&part[i], &one));
        draw += part[i].samples;
    }
}

TEST(one_term_in_pieces_is_a_work_without_them)
{
    memset(&plan, 0, sizeof plan);
    plan.asks = 1;
    plan.ask[0] = (struct ask){ .terms = 1, .samples = { 40 } };
    CHECK_INT(play(), MOT_OK);
    CHECK_INT(seen_n, 1);
    SEEN(0, true, 0, 0, 40, 40 * MS);
    struct seen piece = seen[0], one = alone(0, 40);
    CHECK(same_bits(&piece, &one));
}

TEST(a_term_without_data_gives_an_empty_piece_at_once)
{
    ask_for(20, 30, 50);
    plan.more[0] = "sampler.passes";
    plan.more[1] = "1";
    CHECK_INT(play(), MOT_OK);
    plan.ask[0].draw = rows - 20 - 10; /* 10 are left for the second term */
    CHECK_INT(play(), MOT_OK);
    CHECK_INT(seen_n, 3);
    SEEN(0, false, 0, 0, 20, 20 * MS);
    SEEN(1, false, 0, 1, 10, 30 * MS);
    SEEN(2, true, 0, 2, 0, 30 * MS);
    for (int j = 0; j < DIM; j++) CHECK(seen[2].grad[j] == 0);
    plan.ask[0].draw = rows;
    CHECK_INT(play(), MOT_OK);
    CHECK_INT(seen_n, 3);
    SEEN(2, true, 0, 2, 0, 0);
}

TEST(a_phantom_gives_its_pieces_at_their_times_too)
{
    ask_for(20, 30, 50);
    plan.model = "{name: phantom, parameters: 700}";
    CHECK_INT(play(), MOT_OK);
    CHECK_INT(seen_n, 3);
    SEEN(0, false, 0, 0, 20, 20 * MS);
    SEEN(2, true, 0, 2, 50, 100 * MS);
}

/* ---- What is left of them -------------------------------------------------------------------- */

TEST(a_cancel_leaves_the_finished_pieces_and_the_part_that_is_done_of_the_next)
{
    ask_for(20, 30, 50);
    plan.cancel_at = 35 * MS;
    CHECK_INT(play(), MOT_OK);
    CHECK_INT(seen_n, 2);
    SEEN(0, false, 0, 0, 20, 20 * MS);
    SEEN(1, true, 0, 1, 15, 35 * MS);
    CHECK_INT(tally.samples, 35);
    struct seen part = seen[1], one = alone(20, 15);
    CHECK(same_bits(&part, &one));
}

TEST(a_deadline_does_the_same)
{
    ask_for(20, 30, 50);
    plan.ask[0].deadline = 60 * MS;
    CHECK_INT(play(), MOT_OK);
    CHECK_INT(seen_n, 3);
    SEEN(1, false, 0, 1, 30, 50 * MS);
    SEEN(2, true, 0, 2, 10, 60 * MS);
    struct seen part = seen[2], one = alone(50, 10);
    CHECK(same_bits(&part, &one));
    ask_for(20, 30, 50);
    plan.ask[0].deadline = 1; /* before anything is done */
    CHECK_INT(play(), MOT_OK);
    CHECK_INT(seen_n, 1);
    SEEN(0, true, 0, 0, 0, 1);
}

/* When a term is finished, nothing of the next is done; that is the work's last all the same. */
TEST(an_end_between_two_pieces_gives_the_first_and_nothing_of_the_second)
{
    ask_for(20, 30, 50);
    plan.cancel_at = 50 * MS;
    CHECK_INT(play(), MOT_OK);
    CHECK_INT(seen_n, 3);
    SEEN(0, false, 0, 0, 20, 20 * MS);
    SEEN(1, false, 0, 1, 30, 50 * MS);
    SEEN(2, true, 0, 2, 0, 50 * MS);
    ask_for(20, 30, 50);
    plan.ask[0].deadline = 50 * MS;
    CHECK_INT(play(), MOT_OK);
    CHECK_INT(seen_n, 3);
    SEEN(1, false, 0, 1, 30, 50 * MS);
    SEEN(2, true, 0, 2, 0, 50 * MS);
}

TEST(a_work_cancelled_in_the_step_of_its_piece_ends_there)
{
    ask_for(20, 30, 50);
    plan.cancel_after = 1;
    CHECK_INT(play(), MOT_OK);
    CHECK_INT(seen_n, 2);
    SEEN(0, false, 0, 0, 20, 20 * MS);
    SEEN(1, true, 0, 1, 0, 20 * MS);
    for (int j = 0; j < DIM; j++) CHECK(seen[1].grad[j] == 0);
}

TEST(a_work_cancelled_before_its_turn_has_no_pieces)
{
    ask_for(20, 30, 50);
    plan.asks = 2;
    plan.ask[1] = (struct ask){ .terms = 2, .samples = { 10, 10 } };
    plan.cancel_at = 30 * MS;
    plan.cancel_tag = 1;
    CHECK_INT(play(), MOT_OK);
    CHECK_INT(seen_n, 4);
    SEEN(0, false, 0, 0, 20, 20 * MS);
    SEEN(1, true, 1, 0, 0, 30 * MS);
    SEEN(2, false, 0, 1, 30, 50 * MS);
    SEEN(3, true, 0, 2, 50, 100 * MS);
    plan.more[0] = "sampler.passes";
    plan.more[1] = "1";
    plan.ask[1].draw = rows; /* nor one that would be empty */
    CHECK_INT(play(), MOT_OK);
    CHECK_INT(seen_n, 4);
    SEEN(1, true, 1, 0, 0, 30 * MS);
}

/* All is done when the first piece comes; the crew gets the next only when there is room for it. */
TEST(a_work_that_takes_no_time_is_whole_although_it_is_cancelled)
{
    ask_for(90, 91, 92);
    plan.machine = "job_time: 0s";
    plan.more[0] = "sim.threads";
    plan.more[1] = "4";
    plan.cancel_after = 1;
    CHECK_INT(play(), MOT_OK);
    CHECK_INT(seen_n, 3);
    SEEN(0, false, 0, 0, 90, 0);
    SEEN(1, false, 0, 1, 91, 0);
    SEEN(2, true, 0, 2, 92, 0);
}

TEST(a_stall_shifts_the_pieces_that_are_still_to_come)
{
    ask_for(20, 30, 50);
    plan.faults = "[{kind: stall, at: 30ms, for: 15ms, worker: 0}]";
    CHECK_INT(play(), MOT_OK);
    CHECK_INT(seen_n, 3);
    SEEN(0, false, 0, 0, 20, 20 * MS);
    SEEN(1, false, 0, 1, 30, 65 * MS);
    SEEN(2, true, 0, 2, 50, 115 * MS);
    plan.ask[0].deadline = 70 * MS;
    CHECK_INT(play(), MOT_OK);
    CHECK_INT(seen_n, 3);
    SEEN(1, false, 0, 1, 30, 65 * MS);
    SEEN(2, true, 0, 2, 5, 70 * MS);
    plan.ask[0].deadline = 40 * MS; /* while it sleeps: 10 of the second are done */
    CHECK_INT(play(), MOT_OK);
    CHECK_INT(seen_n, 2);
    SEEN(1, true, 0, 1, 10, 45 * MS);
    plan.faults = "[{kind: stall, at: 20ms, for: 50ms, worker: 0}]"; /* just as the first is finished */
    plan.ask[0].deadline = 30 * MS;
    CHECK_INT(play(), MOT_OK);
    CHECK_INT(seen_n, 2);
    SEEN(0, false, 0, 0, 20, 70 * MS);
    SEEN(1, true, 0, 1, 0, 70 * MS);
}

/* ---- Gradients that are not numbers -------------------------------------------------------------- */

TEST(a_poisoned_job_spoils_each_of_its_pieces)
{
    ask_for(20, 30, 50);
    plan.faults = "{poison: 100%}";
    CHECK_INT(play(), MOT_OK);
    CHECK_INT(seen_n, 3);
    for (int i = 0; i < 3; i++) CHECK(isnan(seen[i].grad[0]) && isfinite(seen[i].loss));
    CHECK_INT(poisoned, 3);
}

/* ---- Lost workers -------------------------------------------------------------------------------- */

/* Workers that work in pieces, on their own, and tell the server of each work, which counts it as an update.
 * A worker keeps the piece before: what it holds is given back when it is lost. */
struct loner {
    uint32_t tag, next;
    mot_buf kept;
};
static uint64_t pieces_of_loners, lives;

static struct mot_need loner_need(const void *conf, const struct mot_world *world, mot_node self)
{
    (void)conf, (void)self;
    return (struct mot_need){ .state_bytes = sizeof(struct loner),
        .buffers = 2,
        .sends = world->workers,
        .works = 1,
        .terms = 3,
        .alarms = 0 };
}

static void loner_work(struct loner *s, struct mot_env *env)
{
    struct mot_term term[3];
    for (uint32_t t = 0; t < 3; t++)
        term[t] = (struct mot_term){ .part = env->self, .draw = 10 * t, .samples = 10, .coef = 1 };
    s->next = 0;
    mot_start(env,
        &(struct mot_work){ .tag = ++s->tag,
            .terms = 3,
            .term = term,
            .deadline = s->tag % 3 ? MOT_NEVER : env->now + 13 * MS,
            .at = env->world->x0,
            .pieces = true });
}

static void loner_took(struct loner *s, struct mot_env *env, const struct mot_result *w)
{
    MOT_ASSERT(w->tag == s->tag && w->piece == s->next);
    s->next++;
    mot_drop(env, s->kept);
    s->kept = mot_hold(env, w->grad);
}

static void loner_step(void *p, struct mot_env *env, const struct mot_event *event)
{
    struct loner *s = p;
    switch (event->kind) {
    case MOT_EV_START:
        lives++;
        if (env->self < env->world->workers) loner_work(s, env);
        return;
    case MOT_EV_PIECE:
        pieces_of_loners++;
        loner_took(s, env, event->work);
        return;
    case MOT_EV_WORK:
        loner_took(s, env, event->work);
        mot_send(env, env->world->workers, 0, (struct mot_head){ .round = s->tag }, (struct mot_slice){ 0 });
        return;
    case MOT_EV_MESSAGE:
        if (env->self < env->world->workers) {
            loner_work(s, env);
            return;
        }
        mot_advance(env);
        mot_send(env, event->message->from, 0, event->message->head, (struct mot_slice){ 0 });
        return;
    case MOT_EV_TIMER:
    case MOT_EV_COLL:
    case MOT_EV_PEER: return;
    }
}

static void loner_traits(const void *conf, uint32_t workers, struct mot_traits *t)
{
    (void)conf, (void)workers;
    t->servers = 1;
    t->asynchronous = true;
}

static const struct mot_method loner = { .name = "loner",
    .summary = "works in pieces, alone",
    .options = no_options,
    .traits = loner_traits,
    .need = loner_need,
    .init = probe_init,
    .step = loner_step,
    .model = probe_model };

TEST(workers_lost_between_two_pieces_come_back_and_begin_anew)
{
    const struct mot_method *more[] = { &loner, NULL };
    int seeds = SANITIZED ? 4 : 40;
    printf("  seeds 1 to %d\n", seeds);
    for (int seed = 1; seed <= seeds; seed++) {
        struct run r = { 0 };
        char number[16];
        snprintf(number, sizeof number, "%d", seed);
        RUN_SET(&r, "data", "digits", "model", "softmax", "method", "loner", "seed", number, "stop.updates",
            "300", "cluster",
            "{network: {bandwidth: 1Gbit, latency: 1ms}, workers: [{count: 3, speed: 1000 samples/s}], "
            "faults: {detect: 20ms, schedule: [{kind: poison, at: 0s, probability: 0.2}, "
            "{kind: crash, at: 15ms, for: 50ms, worker: 0}, {kind: crash, at: 100ms, for: 30ms, worker: 1}, "
            "{kind: stall, at: 118ms, for: 40ms, worker: 2}, {kind: crash, at: 300ms, for: 1ms, workers: [0, "
            "2]}, "
            "{kind: drop, at: 0s, for: 2s, probability: 0.1}]}}");
        pieces_of_loners = lives = 0;
        mot_methods_extend(more);
        run_go(&r);
        mot_methods_extend(NULL);
        CHECK_INT(r.status, MOT_OK);
        CHECK_INT(r.out.status, MOT_OK);
        CHECK_INT(r.out.last.updates, 300);
        CHECK_INT(lives, 4 + 4); /* three workers and the server; four returns */
        CHECK(pieces_of_loners > 300);
        run_free(&r);
    }
}

/* ---- Any works, any ends ------------------------------------------------------------------------- */

/* Each work: pieces 0, 1, ... whole and in order, then once its end, with what the clock says is done. */
static void check_works(uint64_t seed)
{
    uint32_t next[ASKS] = { 0 };
    uint64_t done[ASKS] = { 0 };
    bool over[ASKS] = { false };
    mot_time now = 0;
    for (uint32_t i = 0; i < seen_n; i++) {
        const struct seen *s = &seen[i];
        const struct ask *a = &plan.ask[s->tag];
        bool last = s->kind == MOT_EV_WORK;
        if (s->tag >= plan.asks || over[s->tag] || s->piece != next[s->tag] || s->at < now)
            FAIL("seed %llu: event %u comes out of turn", (unsigned long long)seed, i);
        if (s->samples > a->samples[s->piece] || (!last && s->samples < a->samples[s->piece]) ||
            (!last && s->piece + 1 == a->terms))
            FAIL("seed %llu: event %u is not a piece", (unsigned long long)seed, i);
        next[s->tag]++;
        done[s->tag] += s->samples;
        over[s->tag] = last;
        now = s->at;
    }
    for (uint32_t t = 0; t < plan.asks; t++)
        if (!over[t]) FAIL("seed %llu: work %u has no end", (unsigned long long)seed, t);
}

/* The same works whole: how many samples each covers, and when it ends. */
static void check_against_whole(uint64_t seed)
{
    uint64_t done[ASKS] = { 0 };
    mot_time ends[ASKS] = { 0 };
    uint64_t samples = tally.samples;
    for (uint32_t i = 0; i < seen_n; i++) {
        done[seen[i].tag] += seen[i].samples;
        if (seen[i].kind == MOT_EV_WORK) ends[seen[i].tag] = seen[i].at;
    }
    for (uint32_t t = 0; t < plan.asks; t++) plan.ask[t].whole = true;
    CHECK_INT(play(), MOT_OK);
    CHECK_INT(seen_n, plan.asks);
    for (uint32_t i = 0; i < seen_n; i++)
        if (seen[i].samples != done[seen[i].tag] || seen[i].at != ends[seen[i].tag])
            FAIL("seed %llu: work %u covers %llu samples in pieces and %u without", (unsigned long long)seed,
                seen[i].tag, (unsigned long long)done[seen[i].tag], seen[i].samples);
    CHECK_INT(samples, tally.samples);
}

static void draw_plan(struct mot_rng *rng, char *faults, size_t room)
{
    static const char *const machine[] = { "speed: 1000 samples/s", "speed: 777 samples/s, fixed: 13ms",
        "job_time: 333333333ns", "speed: 1000 samples/s, jitter: {name: lognormal, sigma: 0.5}" };
    memset(&plan, 0, sizeof plan);
    plan.machine = machine[mot_rng_below(rng, 4)];
    plan.model = mot_rng_below(rng, 4) ? NULL : "{name: phantom, parameters: 700}";
    plan.asks = 1 + (uint32_t)mot_rng_below(rng, ASKS);
    for (uint32_t i = 0; i < plan.asks; i++) {
        struct ask *a = &plan.ask[i];
        a->terms = 1 + (uint32_t)mot_rng_below(rng, TERMS);
        for (uint32_t t = 0; t < a->terms; t++) a->samples[t] = 1 + (uint32_t)mot_rng_below(rng, 90);
        if (mot_rng_below(rng, 3) == 0) a->deadline = 1 + mot_rng_below(rng, 600) * MS;
    }
    if (mot_rng_below(rng, 2)) plan.cancel_at = 1 + mot_rng_below(rng, 600) * MS;
    plan.cancel_tag = (uint32_t)mot_rng_below(rng, plan.asks);
    snprintf(faults, room,
        "[{kind: stall, at: %ums, for: %ums, worker: 0}, {kind: stall, at: %ums, for: %ums, worker: 0}]",
        (unsigned)mot_rng_below(rng, 300), 1 + (unsigned)mot_rng_below(rng, 200),
        (unsigned)mot_rng_below(rng, 600), 1 + (unsigned)mot_rng_below(rng, 200));
    if (mot_rng_below(rng, 2)) plan.faults = faults;
}

TEST(whatever_ends_a_work_its_pieces_are_whole_and_cover_what_it_covers_without_pieces)
{
    char faults[200];
    uint64_t seeds = SANITIZED ? 30 : 300;
    printf("  seeds 1 to %llu\n", (unsigned long long)seeds);
    for (uint64_t seed = 1; seed <= seeds && !test_failures; seed++) {
        struct mot_rng rng = mot_rng_at(seed, MOT_RNG_METHOD, 0);
        draw_plan(&rng, faults, sizeof faults);
        CHECK_INT(play(), MOT_OK);
        check_works(seed);
        check_against_whole(seed);
    }
}

TEST_MAIN()
