/* Works in pieces under every driver: the simulator's bits on threads and over ranks; records replay; a
 * checkpoint between two pieces resumes to the same end. */
#include "base/file.h"
#include "live/record.h"
#include "method/methods.h"
#include "run/pieces.h"
#include "scratch.h"
#include "sim/state.h"
#include "wire/team.h"
#include "sim/taken.h"

#define SMALL                                                                                                \
    "data", "digits", "model", "softmax", "method", "pieces", "workers", "3", "batch", "[100, 60, 90]",      \
        "optimizer.lr", "0.05", "optimizer.momentum", "0.9", "evaluate.train", "end"
#define QUICK                                                                                                \
    "cluster",                                                                                               \
        "{workers: [{count: 2, speed: 200000 samples/s, fixed: 50us}, {job_time: 700us}], network: {"        \
        "bandwidth: 10Gbit, latency: 10us}}"

static const struct mot_method *const with_pieces[] = { &pieces, NULL };

static void begin(struct run *r, const char *const *pairs)
{
    mot_methods_extend(with_pieces);
    RUN_SET(r, SMALL);
    run_set_all(r, pairs);
}

#define PAIRS(...)                                                                                           \
    (const char *const[]) { __VA_ARGS__, NULL }

/* ---- The simulator's bits -------------------------------------------------------------- */

static uint64_t hash_of(const struct mot_driver *driver, bool emulate, const char *const *pairs)
{
    struct run r = { .ways = { .driver = driver, .emulate = emulate } };
    begin(&r, pairs);
    run_go(&r);
    uint64_t hash = r.status == MOT_OK && r.out.status == MOT_OK ? r.out.model_hash : 0;
    run_free(&r);
    return hash;
}

TEST(pieces_on_threads_and_over_ranks_give_the_simulators_model_emulated_or_not)
{
    const char *const *pairs = PAIRS(QUICK, "stop.updates", "30");
    uint64_t sim = hash_of(&mot_driver_sim, false, pairs);
    CHECK(sim != 0);
    for (int emulate = 0; emulate < 2; emulate++) {
        CHECK(hash_of(&mot_driver_threads, emulate, pairs) == sim);
        struct team t = { .emulate = emulate };
        begin(&t.run, pairs);
        CHECK(team_open(&t));
        team_go(&t);
        for (uint32_t r = 0; r < t.ranks; r++) CHECK_INT(t.member[r].left_with, MOT_OK);
        CHECK(t.member[0].out.model_hash == sim);
        CHECK_INT(t.member[0].out.last.samples, 30 * 250);
        team_forget(&t);
        team_close(&t);
    }
}

TEST(the_crew_computes_pieces_ahead_to_the_same_bits)
{
    const char *const *alone = PAIRS(QUICK, "stop.updates", "30", "sim.threads", "1");
    const char *const *many = PAIRS(QUICK, "stop.updates", "30", "sim.threads", "4");
    CHECK(hash_of(&mot_driver_sim, false, alone) == hash_of(&mot_driver_sim, false, many));
}

/* ---- Records ----------------------------------------------------------------------------- */

static char folder[64];

static void fresh_folder(void)
{
    snprintf(folder, sizeof(folder), "/tmp/motley-pieces-XXXXXX");
    if (!mkdtemp(folder)) abort();
}

/* The events of worker 0, by its tape. */
struct tale {
    uint32_t pieces, works, cut; /* cut: works that ended before their last term */
};

static struct tale read_tale(void)
{
    struct tale t = { 0 };
    struct mot_record record;
    struct mot_tape_reader reader;
    struct mot_taped e;
    uint32_t next = 0;
    if (mot_record_read(folder, 0, &record) != MOT_OK) abort();
    mot_tape_rewind(&record.tape[0], &reader);
    while (mot_tape_next(&reader, &e)) {
        if (e.kind == MOT_EV_PIECE && e.piece == next) t.pieces++, next++;
        if (e.kind != MOT_EV_WORK) continue;
        t.works++;
        t.cut += next + 1 < PIECES_TERMS;
        next = 0;
    }
    mot_record_close(&record);
    return t;
}

/* Records a run on threads and replays it. */
static void same_again(bool emulate, const char *const *pairs, struct tale *out)
{
    struct run r = { .ways = { .driver = &mot_driver_threads, .record = true, .emulate = emulate } };
    fresh_folder();
    begin(&r, pairs);
    RUN_SET(&r, "output", folder);
    r.ways.replace = true;
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    uint64_t hash = r.out.model_hash, samples = r.out.node[0].samples;
    run_free(&r);
    r = (struct run){ .ways = { .driver = &mot_driver_replay, .arrivals = folder } };
    begin(&r, pairs);
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK(r.out.model_hash == hash);
    CHECK_INT(r.out.node[0].samples, samples);
    run_free(&r);
    *out = read_tale();
    scratch_remove(folder);
}

TEST(a_recorded_run_in_pieces_replays_to_the_same_model)
{
    struct tale t;
    same_again(false, PAIRS(QUICK, "stop.updates", "20"), &t);
    CHECK_INT(t.works, 20);
    CHECK_INT(t.pieces, 60);
    CHECK_INT(t.cut, 0);
}

/* What is done by the cut depends on the machine; the record knows it. */
TEST(so_does_one_whose_works_are_cut_short)
{
    struct tale t;
    same_again(true, PAIRS(QUICK, "stop.updates", "20", "method.cut", "300us"), &t);
    CHECK_INT(t.works, 20);
    CHECK(t.cut > 0);
    same_again(true, PAIRS(QUICK, "stop.updates", "20", "method.deadline", "300us"), &t);
    CHECK(t.cut > 0);
    same_again(false, PAIRS(QUICK, "stop.updates", "20", "method.cut", "100us"), &t);
    CHECK_INT(t.works, 20);
}

/* A sample of worker 0 takes 100 hours there, one of the others a moment. */
#define ENDLESS "cluster", "{workers: [{job_time: 10000h}, {count: 2, job_time: 1us}], network: none}"

TEST(an_emulated_work_that_is_cut_short_keeps_what_its_clock_allows)
{
    static const char *const cut[] = { "method.cut", "method.deadline" };
    static const char *const model[] = { "softmax", "{name: phantom, parameters: 650}" };
    for (int i = 0; i < 4; i++) {
        struct run r = { .ways = { .driver = &mot_driver_threads, .emulate = true } };
        begin(&r, PAIRS(ENDLESS, "stop.updates", "5", cut[i % 2], "20ms", "model", model[i / 2]));
        run_go(&r);
        CHECK_INT(r.status, MOT_OK);
        CHECK_INT(r.out.node[0].jobs, 5);
        CHECK_INT(r.out.node[0].samples, 0);
        CHECK(r.out.node[1].samples > 0);
        run_free(&r);
    }
}

/* Of 400 ms: 10 % are done after 40 ms, 30 % after 120 ms, and 60 % after 240 ms. However late the worker
 * looks at its clock, it then gives what is due before it gives up the rest. */
TEST(emulated_pieces_come_when_their_share_of_the_time_is_over)
{
    struct tale t;
    same_again(true,
        PAIRS("cluster", "{workers: [{job_time: 400ms}, {count: 2, job_time: 1us}], network: none}",
            "stop.updates", "3", "method.deadline", "200ms"),
        &t);
    CHECK_INT(t.works, 3);
    CHECK(t.pieces >= 6);
}

/* A sample takes a second there. The stall takes the first: 0.1 s is left, however late the worker looks. */
TEST(an_emulated_stall_takes_from_what_a_deadline_leaves)
{
    struct run r = { .ways = { .driver = &mot_driver_threads, .emulate = true } };
    begin(&r,
        PAIRS("cluster",
            "{workers: [{job_time: 100s}, {count: 2, job_time: 1us}], network: none, faults: [{kind: stall, "
            "at: "
            "1ms, for: 1s, worker: 0}]}",
            "stop.updates", "1", "method.deadline", "1100ms"));
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.out.node[0].samples, 0);
    run_free(&r);
}

/* A tape of worker 0 whose n-th event of a piece is changed: a byte of its, counted behind its time. */
static enum mot_status replay_changed(
    const char *const *pairs, uint32_t n, uint32_t byte, unsigned char value)
{
    struct mot_record record;
    struct mot_tape_reader reader;
    struct mot_taped e;
    if (mot_record_read(folder, 0, &record) != MOT_OK) abort();
    mot_tape_rewind(&record.tape[0], &reader);
    unsigned char *at;
    do {
        at = record.tape[0].at + (reader.at - record.tape[0].at);
        if (!mot_tape_next(&reader, &e)) abort();
        n -= e.kind == MOT_EV_PIECE;
    } while (n > 0);
    unsigned char *field = at + 1;
    while (*field++ & 128) {}
    field += byte;
    unsigned char was = *field;
    *field = value;
    char *path = mot_path_join(folder, "record.bin");
    if (mot_record_write(&record, path) != MOT_OK) abort();
    struct run r = { .ways = { .driver = &mot_driver_replay, .arrivals = folder } };
    begin(&r, pairs);
    run_go(&r);
    enum mot_status status = r.status;
    run_free(&r);
    *field = was;
    if (mot_record_write(&record, path) != MOT_OK) abort();
    free(path);
    mot_record_close(&record);
    return status;
}

TEST(a_record_whose_pieces_are_not_the_runs_is_refused)
{
    const char *const *pairs = PAIRS(QUICK, "stop.updates", "4");
    struct run r = { .ways = { .driver = &mot_driver_threads, .record = true, .replace = true } };
    fresh_folder();
    begin(&r, pairs);
    RUN_SET(&r, "output", folder);
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    run_free(&r);
    enum { PIECE, TAG, SAMPLES }; /* the second piece: number 1, of work 0, with 20 samples */
    CHECK_INT(replay_changed(pairs, 2, PIECE, 1), MOT_OK);
    CHECK_INT(replay_changed(pairs, 2, PIECE, 0), MOT_EREPRODUCE);
    CHECK_INT(replay_changed(pairs, 2, PIECE, 3), MOT_EREPRODUCE);
    CHECK_INT(replay_changed(pairs, 2, TAG, 1), MOT_EREPRODUCE);
    CHECK_INT(replay_changed(pairs, 2, SAMPLES, 20), MOT_OK);
    CHECK_INT(replay_changed(pairs, 2, SAMPLES, 19), MOT_EREPRODUCE);
    CHECK_INT(replay_changed(pairs, 2, SAMPLES, 21), MOT_EREPRODUCE);
    scratch_remove(folder);
}

/* ---- Checkpoints ----------------------------------------------------------------------------- */

static void simulate(struct run *r, const char *stop, bool resume, const char *const *more)
{
    *r = (struct run){ .ways = { .resume = resume, .replace = true } };
    begin(r, more);
    RUN_SET(r, QUICK, "output", folder, "stop.time", stop);
    run_go(r);
}

/* A round takes about 0.75 ms; stopped at every 25 us of one, hence before, between and after its pieces. */
TEST(a_run_stopped_between_two_pieces_goes_on_to_the_same_end)
{
    const char *const *ways[] = { PAIRS("sim.threads", "1"), PAIRS("method.cut", "300us"),
        PAIRS("method.deadline", "300us", "sim.threads", "4") };
    for (size_t w = 0; w < MOT_COUNT(ways); w++) {
        struct run r;
        fresh_folder();
        simulate(&r, "4ms", false, ways[w]);
        CHECK_INT(r.status, MOT_OK);
        uint64_t hash = r.out.model_hash, events = r.out.last.events, samples = r.out.node[0].samples;
        run_free(&r);
        for (int us = 2000; us < 2800; us += SANITIZED ? 100 : 25) {
            char stop[24];
            snprintf(stop, sizeof stop, "%dus", us);
            simulate(&r, stop, false, ways[w]);
            CHECK_INT(r.status, MOT_OK);
            run_free(&r);
            simulate(&r, "4ms", true, ways[w]);
            CHECK_INT(r.status, MOT_OK);
            CHECK(r.out.model_hash == hash);
            CHECK_INT(r.out.last.events, events);
            CHECK_INT(r.out.node[0].samples, samples);
            run_free(&r);
        }
        scratch_remove(folder);
    }
}

/* Its checksum may be right all the same. */
TEST(a_checkpoint_of_a_piece_that_cannot_be_is_refused)
{
    struct run r = { 0 };
    struct sim *s;
    begin(&r, PAIRS(QUICK));
    CHECK_INT(mot_experiment_open(NULL, r.setting, r.settings, &r.experiment), MOT_OK);
    CHECK_INT(mot_job_open(r.experiment, &r.job), MOT_OK);
    struct mot_driver_options o = { .experiment = r.experiment,
        .problem = &r.job.problem,
        .optim = &r.job.optim,
        .x0 = r.job.x0,
        .checkpoint = "x" };
    CHECK_INT(mot_sim_open(&o, &s), MOT_OK);
    for (mot_node i = 0; i < s->world.nodes; i++) {
        s->method->init(s->node[i].actor.state, mot_sim_env(s, i));
        mot_sim_step(s, i, &(struct mot_event){ .kind = MOT_EV_START });
    }
    struct sim_work *w = &s->work[1], was = *w; /* 60 samples as 6, 12, 18 and 24 */
    CHECK(is_taken(s, &o));
    mot_slot_next_piece(&w->slot, s->problem);
    CHECK_INT(w->slot.before, 6);
    CHECK_INT(w->slot.until, 18);
    CHECK(is_taken(s, &o));
    w->samples = 5; /* fewer than were given */
    CHECK(!is_taken(s, &o));
    w->samples = 6;
    CHECK(is_taken(s, &o));
    w->samples = 61;
    CHECK(!is_taken(s, &o));
    w->samples = 60;
    w->slot.until = 61;
    CHECK(!is_taken(s, &o));
    w->slot.until = 5;
    CHECK(!is_taken(s, &o));
    w->slot.until = 18;
    w->slot.piece = PIECES_TERMS;
    CHECK(!is_taken(s, &o));
    w->slot.piece = 1;
    w->slot.pieces = false;
    CHECK(!is_taken(s, &o));
    w->slot = was.slot;
    mot_sim_close(s);
    mot_job_close(&r.job);
    mot_experiment_close(r.experiment);
}

/* ---- Losses that are not finite ------------------------------------------------------------------ */

TEST(a_piece_whose_loss_is_not_finite_ends_the_run_as_diverged)
{
    static const struct mot_driver *const driver[] = { &mot_driver_sim, &mot_driver_threads };
    for (int d = 0; d < 2; d++) {
        struct run r = { .ways = { .driver = driver[d] } };
        begin(&r, PAIRS("stop.updates", "1000", "model", "mlp", "optimizer.lr", "1e6"));
        run_go(&r);
        CHECK_INT(r.status, MOT_OK);
        CHECK_INT(r.out.status, MOT_EDIVERGED);
        run_free(&r);
    }
}

TEST_MAIN()
