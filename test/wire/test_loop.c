/* The ranks' protocol in one process: the simulator's models, deaths, stops, late and damaged messages. */
#include "wire/team.h"

#define TINY "data", "digits", "model", "softmax", "optimizer.lr", "0.05", "evaluate.train", "end"
#define THREE TINY, "workers", "3"

/* ---- The simulator's bits ------------------------------------------------------------- */

static void same_as_simulated(bool emulate, const char *const *settings)
{
    struct team t = { .emulate = emulate };
    run_set_all(&t.run, settings);
    CHECK(team_open(&t));
    struct mot_outcome sim = team_simulate(&t);
    team_go(&t);
    const struct mot_outcome *out = &t.member[0].out;
    for (uint32_t r = 0; r < t.ranks; r++) CHECK_INT(t.member[r].left_with, MOT_OK);
    CHECK_TEXT(out->ended_by, sim.ended_by);
    CHECK_INT(out->last.updates, sim.last.updates);
    CHECK_INT(out->last.samples, sim.last.samples);
    CHECK(out->model_hash == sim.model_hash);
    /* Links take their time; ranks that share one agree on who goes first within a few percent of a run. */
    if (emulate && (double)out->last.now < 0.9 * (double)sim.last.now)
        FAIL("emulated %.6f s, simulated %.6f s", (double)out->last.now * 1e-9, (double)sim.last.now * 1e-9);
    mot_outcome_close(&sim);
    team_forget(&t);
    team_close(&t);
}

#define SAME(emulate, ...) same_as_simulated(emulate, (const char *const[]){ __VA_ARGS__, NULL })

TEST(ranks_on_threads_give_the_simulators_model)
{
    SAME(false, THREE, "stop.updates", "40", "method", "allreduce");
    SAME(false, THREE, "stop.updates", "40", "method", "allreduce", "mpi.checksum", "all", "batch",
        "[7, 3, 5]");
    SAME(false, THREE, "stop.updates", "40", "method", "server");
    SAME(false, THREE, "stop.updates", "40", "method", "server", "mpi.place", "own", "optimizer.momentum",
        "0.9");
    SAME(false, THREE, "stop.updates", "40", "method", "{name: async, wait: 3, shards: 2}");
    SAME(false, THREE, "stop.updates", "40", "method", "dpsgd", "topology", "ring", "optimizer.momentum",
        "0.9");
    SAME(false, THREE, "stop.updates", "40", "method", "matcha", "topology", "complete");
    SAME(false, THREE, "stop.updates", "40", "method", "{name: slowmo, period: 3, local_from: 5}", "batch",
        "[7, 3, 5]");
    SAME(false, THREE, "stop.updates", "40", "method", "{name: diloco, period: 4, overlap: true}",
        "optimizer", "adamw");
}

TEST(every_stop_comes_where_the_simulator_has_it)
{
    static const char *const methods[] = { "allreduce", "server", "dpsgd", "localsgd" };
    for (int m = 0; m < 4; m++) {
        SAME(false, THREE, "topology", "ring", "method", methods[m], "stop.epochs", "1.3");
        SAME(false, THREE, "topology", "ring", "method", methods[m], "stop.epochs", "60",
            "stop.target.test_accuracy", "0.7", "evaluate.every", "3 updates");
        SAME(false, THREE, "topology", "ring", "method", methods[m], "stop.epochs", "20", "sampler.passes",
            "1");
    }
}

#define QUICK                                                                                                \
    "cluster", "{workers: [{count: 5, speed: 200000 samples/s}], network: {bandwidth: 10Gbit, latency: 10us}}"

TEST(emulated_collectives_give_the_simulators_model)
{
    static const char *const collectives[] = { "ring", "tree", "doubling" };
    for (int c = 0; c < 3; c++)
        SAME(
            true, TINY, QUICK, "stop.updates", "10", "method", "allreduce", "sim.collective", collectives[c]);
}

/* A model of 2.6 kB takes 2 ms on such a link, and each of its ways a millisecond more. */
#define THIN                                                                                                 \
    "cluster", "{workers: [{count: 3, speed: 200000 samples/s}], network: {bandwidth: 10Mbit, latency: 1ms}}"

TEST(emulated_messages_take_the_time_of_their_links)
{
    SAME(true, TINY, THIN, "stop.updates", "5", "method", "server");
    SAME(true, TINY, THIN, "stop.updates", "5", "method", "dpsgd", "topology", "ring");
}

/* A worker of crossover does not wait for its last meeting, whose tokens may still go through it. */
TEST(emulated_meetings_give_the_simulators_model)
{
    static const char *const collectives[] = { "ring", "tree" };
    for (int c = 0; c < 2; c++)
        SAME(true, TINY, THIN, "stop.updates", "6", "method",
            "{name: crossover, segments: 1, cut: equal, window: 1}", "topology", "ring", "sim.collective",
            collectives[c]);
}

/* ---- A rank that does something at its n-th message of a kind -------------------------------- */

struct plot {
    uint32_t from, to; /* to: UINT32_MAX: anyone */
    enum mot_envelope_kind kind;
    int n; /* the one that it happens to; those before it pass */
    enum mot_loop_fate fate;
    void (*change)(struct mot_loop_frame *);
    enum mot_loop_fate then; /* of every later message of that rank, once it has happened; 0: they pass */
    bool happened;
};

static enum mot_loop_fate plot_look(void *self, struct mot_loop_frame *f)
{
    struct plot *p = self;
    if (f->from != p->from) return MOT_LOOP_PASS;
    if (p->happened) return p->then;
    if ((p->to != UINT32_MAX && f->to != p->to) || f->envelope->kind != (uint32_t)p->kind || --p->n > 0)
        return MOT_LOOP_PASS;
    p->happened = true;
    if (p->change) p->change(f);
    return p->fate;
}

#define ANYONE UINT32_MAX
/* from, to, kind, n: and what becomes of it */
#define PLOT(FROM, TO, KIND, N, ...)                                                                         \
    (struct plot) { .from = FROM, .to = TO, .kind = KIND, .n = N, __VA_ARGS__ }

static void play(struct team *t, struct plot *p)
{
    t->look = plot_look;
    t->self = p;
    team_go(t);
    CHECK(p->happened);
}

static void lost_for(const struct team *t, uint32_t rank, mot_node peer, const char *by)
{
    const struct member *m = &t->member[rank];
    CHECK_INT(m->status, MOT_OK);
    CHECK_INT(m->out.status, MOT_EPEER);
    CHECK(m->out.has_peer);
    CHECK_INT(m->out.peer, peer);
    CHECK_TEXT(m->out.peer_by, by);
}

static struct team team_of(const char *method, const char *updates)
{
    struct team t = { .ranks = 3 };
    RUN_SET(&t.run, THREE, "method", method, "topology", "ring", "stop.updates", updates);
    return t;
}

TEST(a_rank_that_dies_before_it_says_hello_ends_the_run_before_it_begins)
{
    struct team t = team_of("allreduce", "20");
    CHECK(team_open(&t));
    for (int second = 0; second < 2; second++) {
        play(&t, &PLOT(2, 0, MOT_ENVELOPE_HELLO, 1 + second, .fate = MOT_LOOP_KILL));
        for (uint32_t r = 0; r < 2; r++) {
            CHECK_INT(t.member[r].status, MOT_EPEER);
            CHECK_TEXT(t.member[r].error, "rank 2 was lost before the run began, by death");
        }
        team_forget(&t);
    }
    team_close(&t);
}

TEST(allreduce_ends_when_a_rank_dies_in_mid_run)
{
    struct team t = team_of("allreduce", "1000000");
    CHECK(team_open(&t));
    static const enum mot_envelope_kind kinds[] = { MOT_ENVELOPE_PART, MOT_ENVELOPE_SUM };
    for (int k = 0; k < 2; k++) {
        play(&t, &PLOT(2, ANYONE, kinds[k], 7 + k, .fate = MOT_LOOP_KILL));
        lost_for(&t, 0, 2, "death");
        CHECK_INT(t.member[1].left_with, MOT_EPEER);
        team_forget(&t);
    }
    team_close(&t);
}

/* Half a message must not keep the next ones of others waiting, nor leave anything behind. */
TEST(a_rank_that_dies_in_the_middle_of_a_message_is_lost_like_any_other)
{
    struct team t = team_of("allreduce", "1000000");
    CHECK(team_open(&t));
    for (uint32_t to = 0; to < 2; to++) {
        play(&t, &PLOT(2, to, MOT_ENVELOPE_PART, 5, .fate = MOT_LOOP_HALF, .then = MOT_LOOP_KILL));
        lost_for(&t, 0, 2, "death");
        team_forget(&t);
    }
    team_close(&t);
}

/* async gives out jobs in turn: else the run could be over before a busy machine lets rank 2 begin. */
TEST(methods_with_a_server_go_on_without_a_rank_that_dies)
{
    static const char *const methods[] = { "server", "{name: async, assign: shuffled}" };
    for (int m = 0; m < 2; m++) {
        struct team t = team_of(methods[m], "60");
        CHECK(team_open(&t));
        for (int half = 0; half < 2; half++) {
            struct plot p = PLOT(2, 0, MOT_ENVELOPE_MESSAGE, 2, .fate = half ? MOT_LOOP_HALF : MOT_LOOP_KILL,
                .then = MOT_LOOP_KILL);
            play(&t, &p);
            CHECK_INT(t.member[0].left_with, MOT_OK);
            CHECK_INT(t.member[0].out.last.updates, 60);
            CHECK_INT(t.member[1].left_with, MOT_OK);
            CHECK_INT(t.member[2].left_with, MOT_EPEER);
            team_forget(&t);
        }
        team_close(&t);
    }
}

TEST(a_rank_that_dies_when_all_is_done_takes_nothing_with_it)
{
    static const char *const methods[] = { "allreduce", "server" };
    for (int m = 0; m < 2; m++) {
        struct team t = team_of(methods[m], "20");
        CHECK(team_open(&t));
        struct mot_outcome sim = team_simulate(&t);
        play(&t, &PLOT(2, 0, MOT_ENVELOPE_FINAL, 1, .fate = MOT_LOOP_KILL));
        CHECK_INT(t.member[0].left_with, MOT_OK);
        CHECK(t.member[0].out.model_hash == sim.model_hash);
        CHECK_INT(t.member[1].left_with, MOT_OK);
        mot_outcome_close(&sim);
        team_forget(&t);
        team_close(&t);
    }
}

TEST(without_rank_0_the_others_say_that_it_is_gone)
{
    static const struct {
        const char *method;
        enum mot_envelope_kind kind;
        mot_node peer;
    } cases[] = { { "allreduce", MOT_ENVELOPE_SUM, 0 }, { "server", MOT_ENVELOPE_MESSAGE, 3 },
        { "dpsgd", MOT_ENVELOPE_MESSAGE, 0 }, { "allreduce", MOT_ENVELOPE_BYE, 0 } };
    for (size_t c = 0; c < MOT_COUNT(cases); c++) {
        bool at_end = cases[c].kind == MOT_ENVELOPE_BYE;
        struct team t = team_of(cases[c].method, at_end ? "20" : "2000");
        CHECK(team_open(&t));
        play(&t, &PLOT(0, ANYONE, cases[c].kind, at_end ? 1 : 9, .fate = MOT_LOOP_KILL));
        for (uint32_t r = 1; r < 3; r++) lost_for(&t, r, cases[c].peer, "death");
        team_forget(&t);
        team_close(&t);
    }
}

/* Rank 2 is there, and hears, but nothing that it says arrives. */
TEST(a_rank_that_falls_silent_is_lost_and_told_so)
{
    struct team t = team_of("allreduce", "1000000");
    CHECK(team_open(&t));
    play(&t, &PLOT(2, 0, MOT_ENVELOPE_PART, 3, .fate = MOT_LOOP_CUT));
    lost_for(&t, 0, 2, "silence");
    CHECK_INT(t.member[2].left_with, MOT_EPEER);
    team_forget(&t);
    team_close(&t);
}

/* Between two workers nobody else would notice. */
TEST(a_rank_whose_link_to_another_breaks_is_lost)
{
    struct team t = team_of("allreduce", "1000000");
    CHECK(team_open(&t));
    for (uint32_t to = 0; to < 2; to++) {
        play(&t, &PLOT(2, to, MOT_ENVELOPE_PART, 3, .fate = MOT_LOOP_END));
        lost_for(&t, 0, 2, "link");
        CHECK_INT(t.member[1].left_with, MOT_EPEER);
        CHECK_INT(t.member[2].left_with, MOT_EPEER);
        team_forget(&t);
    }
    team_close(&t);
}

/* ---- The end ----------------------------------------------------------------------------- */

static volatile sig_atomic_t wanted_end;

static void end_after_some(void *told, const struct mot_moment *m)
{
    (void)told;
    if (m->updates > 10) wanted_end = SIGINT;
}

TEST(an_interrupt_of_rank_0_ends_all_ranks)
{
    static const char *const methods[] = { "allreduce", "server", "async", "dpsgd" };
    for (int m = 0; m < 4; m++) {
        struct team t = team_of(methods[m], "100000000");
        t.interrupt = &wanted_end;
        t.tick = end_after_some;
        wanted_end = 0;
        CHECK(team_open(&t));
        team_go(&t);
        for (uint32_t r = 0; r < 3; r++) CHECK_INT(t.member[r].left_with, MOT_EINTERRUPTED);
        CHECK(t.member[0].out.last.updates > 10);
        team_forget(&t);
        team_close(&t);
    }
}

/* Two servers with ranks of their own, 0 and 1; what worker 1, on rank 3, says to server 1 is held back until
 * rank 0 has let everybody go. */
struct late {
    enum mot_loop_fate fate;
    int passed;
    atomic_int byes;
};

static enum mot_loop_fate late_look(void *self, struct mot_loop_frame *f)
{
    struct late *l = self;
    if (f->envelope->kind == MOT_ENVELOPE_BYE && f->from == 0) atomic_fetch_add(&l->byes, 1);
    if (f->from != 3 || f->to != 1 || f->envelope->kind != MOT_ENVELOPE_MESSAGE) return MOT_LOOP_PASS;
    return ++l->passed > 2 ? l->fate : MOT_LOOP_PASS;
}

static void release_late(struct team *t)
{
    struct late *l = t->self;
    while (atomic_load(&l->byes) < 3) usleep(1000);
    mot_loop_release(t->loop);
}

TEST(what_comes_after_the_end_is_received_and_thrown_away)
{
    static const enum mot_loop_fate fates[] = { MOT_LOOP_HOLD, MOT_LOOP_HALF };
    static const char *const times[] = { "300ms", "3s", "30s" }; /* as long as it takes to say enough */
    for (int i = 0; i < 2; i++) {
        int passed = 0;
        for (int k = 0; k < 3 && passed <= 2; k++) {
            struct late late = { .fate = fates[i] };
            struct team t = { .look = late_look, .meanwhile = release_late, .self = &late };
            RUN_SET(&t.run, TINY, "workers", "2", "method", "{name: async, shards: 2}", "mpi.place", "own",
                "stop.time", times[k], "stop.updates", "none");
            CHECK(team_open(&t));
            CHECK_INT(t.ranks, 4);
            team_go(&t);
            for (uint32_t r = 0; r < 4; r++) CHECK_INT(t.member[r].left_with, MOT_OK);
            CHECK_TEXT(t.member[0].out.ended_by, "time");
            passed = late.passed;
            team_forget(&t);
            team_close(&t);
        }
        CHECK(passed > 2);
    }
}

/* Crossover's meetings are not waited for at the end. In the last of six rounds one worker gets its segment
 * from rank 0 and is done; what the other says from its last meeting on is held back, so that rank 0 is still
 * at work when it hears that the first one is done, and has no sum from it: there is none yet. */
struct leave {
    uint32_t first; /* who is done early: known once somebody has looked */
    bool holds;
    atomic_int done;
};

static enum mot_loop_fate leave_look(void *self, struct mot_loop_frame *f)
{
    struct leave *l = self;
    const struct mot_envelope *e = f->envelope;
    if (!l->holds && f->from == 0 && e->kind == MOT_ENVELOPE_MESSAGE) l->first = f->to;
    if (e->kind == MOT_ENVELOPE_FINAL && f->from == l->first) atomic_fetch_add(&l->done, 1);
    return l->holds && f->from == 3 - l->first && e->kind == MOT_ENVELOPE_PART && e->range.tag == 5
        ? MOT_LOOP_HOLD
        : MOT_LOOP_PASS;
}

static void release_left(struct team *t)
{
    struct leave *l = t->self;
    if (!l->holds) return;
    while (atomic_load(&l->done) == 0) usleep(1000);
    usleep(50000); /* rank 0 looks around many times */
    mot_loop_release(t->loop);
}

TEST(a_rank_that_is_done_before_the_last_sum_is_still_trusted_to_add_it)
{
    struct team t = { .look = leave_look, .meanwhile = release_left };
    RUN_SET(&t.run, THREE, "method", "{name: crossover, segments: 1, cut: equal, window: 1}", "topology",
        "ring", "stop.updates", "6");
    CHECK(team_open(&t));
    struct mot_outcome sim = team_simulate(&t);
    struct leave leave = { 0 };
    t.self = &leave;
    for (int round = 0; round < 2; round++) {
        leave.holds = round == 1;
        atomic_store(&leave.done, 0);
        team_go(&t);
        for (uint32_t r = 0; r < 3; r++) CHECK_INT(t.member[r].left_with, MOT_OK);
        CHECK(leave.first == 1 || leave.first == 2);
        CHECK(t.member[0].out.model_hash == sim.model_hash);
        team_forget(&t);
    }
    mot_outcome_close(&sim);
    team_close(&t);
}

TEST(sums_of_the_transports_own_are_refused_where_it_has_none)
{
    struct team t = { .ranks = 3 };
    RUN_SET(&t.run, THREE, "method", "allreduce", "mpi.reduction", "fast", "stop.updates", "5");
    CHECK(team_open(&t));
    team_go(&t);
    for (uint32_t r = 0; r < 3; r++) CHECK_INT(t.member[r].status, MOT_EUSAGE);
    CHECK_HAS(t.member[0].error, "mpi.reduction: fast needs MPI");
    team_forget(&t);
    team_close(&t);
}

/* ---- Damage -------------------------------------------------------------------------------- */

static void flip_header(struct mot_loop_frame *f) { ((unsigned char *)f->envelope)[50] ^= 4; }
static void flip_body(struct mot_loop_frame *f)
{
    if (f->bytes) ((unsigned char *)f->body)[f->bytes / 2] ^= 4;
}

/* Whether rank 0 sees it itself or another rank tells it. */
TEST(a_damaged_or_missing_message_loses_its_sender)
{
    struct team t = { .ranks = 3 };
    RUN_SET(&t.run, THREE, "method", "allreduce", "mpi.checksum", "all", "stop.updates", "1000000");
    CHECK(team_open(&t));
    for (uint32_t to = 0; to < 2; to++) {
        const struct plot plots[] = {
            PLOT(2, to, MOT_ENVELOPE_PART, 4, .change = flip_header),
            PLOT(2, to, MOT_ENVELOPE_SUM, 4, .change = flip_body),
            PLOT(2, to, MOT_ENVELOPE_SUM, 4, .fate = MOT_LOOP_DROP),
        };
        for (size_t i = 0; i < MOT_COUNT(plots) - (to != 0); i++) {
            struct plot p = plots[i];
            play(&t, &p);
            lost_for(&t, 0, 2, "damage");
            CHECK_INT(t.member[1].left_with, MOT_EPEER);
            CHECK_INT(t.member[2].left_with, MOT_EPEER);
            team_forget(&t);
        }
    }
    team_close(&t);
}

TEST(a_rank_that_gets_damage_from_rank_0_leaves_and_says_why)
{
    struct team t = team_of("allreduce", "1000000");
    CHECK(team_open(&t));
    play(&t, &PLOT(0, 2, MOT_ENVELOPE_PART, 4, .change = flip_header));
    lost_for(&t, 2, 0, "damage");
    lost_for(&t, 0, 2, "death"); /* it has left */
    team_forget(&t);
    team_close(&t);
}

TEST_MAIN()
