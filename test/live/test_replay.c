/* A recorded live run replays to the same model; anything that differs from it is refused. */
#include "base/file.h"
#include "live/replay.h"
#include "run/run.h"
#include <ftw.h>
#include <sys/stat.h>

#define SMALL                                                                                                \
    "data", "digits", SMALL_MLP, "workers", "4", "stop.updates", "300", "evaluate.train", "end",             \
        "optimizer.lr", "0.03"

static const char *folder(void)
{
    static char path[64];
    if (!*path) {
        snprintf(path, sizeof(path), "/tmp/motley-replay-XXXXXX");
        if (!mkdtemp(path)) abort();
    }
    return path;
}

static char *record_path(void) { return mot_path_join(folder(), "record.bin"); }

/* Pairs of settings beside SMALL, ended by NULL. */
static uint64_t record(const char *const *pairs, bool emulate)
{
    struct run r = {
        .ways = { .driver = &mot_driver_threads, .record = true, .replace = true, .emulate = emulate }
    };
    RUN_SET(&r, SMALL, "output", folder());
    run_set_all(&r, pairs);
    run_go(&r);
    uint64_t hash = r.status == MOT_OK && r.out.status == MOT_OK ? r.out.model_hash : 0;
    run_free(&r);
    return hash;
}

static enum mot_status replay(const char *const *pairs, struct run *r)
{
    *r = (struct run){ .ways = { .driver = &mot_driver_replay, .arrivals = folder() } };
    RUN_SET(r, SMALL);
    run_set_all(r, pairs);
    run_go(r);
    return r->status;
}

#define PAIRS(...)                                                                                           \
    (const char *const[]) { __VA_ARGS__, NULL }

static void same_again(const char *const *pairs, bool emulate)
{
    struct run r;
    uint64_t hash = record(pairs, emulate);
    CHECK(hash != 0);
    CHECK_INT(replay(pairs, &r), MOT_OK);
    CHECK(r.out.model_hash == hash);
    CHECK_INT(r.out.last.updates, r.experiment->stop.updates);
    run_free(&r);
}

TEST(every_other_method_with_a_server_recorded_live_and_replayed_gives_the_same_model)
{
    static const char *const methods[] = { "rennala", "malenia", "ringleader", "ia2sgd", "ca2fl", "fedavg",
        "mindflayer" };
    for (size_t i = 0; i < MOT_COUNT(methods); i++)
        same_again(
            PAIRS("method", methods[i], "model", "softmax", "batch", "8", "stop.updates", "100"), false);
    same_again(PAIRS("method", "ringmaster", "method.r", "2", "model", "softmax", "batch", "[8, 8, 8, 100]",
                   "stop.updates", "100"),
        false);
    same_again(PAIRS("method", "fedbuff", "model", "softmax", "batch", "8", "method.steps", "3",
                   "method.assign", "random", "stop.updates", "100"),
        false);
}

TEST(async_recorded_live_and_replayed_gives_the_same_model) { same_again(PAIRS("method", "async"), false); }
TEST(async_with_queues_waits_and_cancelled_jobs_replayed_gives_the_same_model)
{
    same_again(PAIRS("method", "async", "method.assign", "shuffled"), false);
    same_again(PAIRS("method", "async", "method.assign", "random", "method.wait", "2", "method.jobs", "7",
                   "method.step", "compensated"),
        false);
    same_again(PAIRS("method", "async", "method.step", "compensated", "method.lambda_decay", "0.95"), false);
    same_again(PAIRS("method", "async", "method.max_staleness", "2", "method.on_stale", "cancel", "batch",
                   "[8, 8, 8, 300]"),
        false);
    same_again(PAIRS("method", "async", "method.max_staleness", "3", "method.step", "rescaled"), false);
}
TEST(allreduce_replayed_gives_the_same_model)
{
    same_again(PAIRS("method", "allreduce", "optimizer", "adamw"), false);
    same_again(PAIRS("method", "allreduce", "method.bucket", "1B"), false);
}
TEST(a_server_that_takes_the_first_k_replayed_gives_the_same_model)
{
    same_again(PAIRS("method", "server", "method.k", "2"), false);
}
TEST(a_server_with_a_deadline_replayed_gives_the_same_model)
{
    same_again(PAIRS("method", "server", "method.deadline", "fixed", "method.after", "300us"), false);
    same_again(PAIRS("method", "server", "method.deadline", "adaptive", "optimizer", "adamw"), false);
}

TEST(compressed_runs_replayed_give_the_same_model)
{
    const char *topk = "{name: topk, ratio: 10%}";
    same_again(PAIRS("method", "async", "compress", topk, "stop.updates", "100"), false);
    same_again(PAIRS("method", "ringleader", "compress", "qsgd", "stop.updates", "60"), false);
    same_again(
        PAIRS("method", "fedbuff", "compress", topk, "method.steps", "3", "stop.updates", "60"), false);
    same_again(PAIRS("method", "gasync", "compress", "sign", "stop.updates", "60"), false);
    same_again(
        PAIRS("method", "allreduce", "compress", "{name: topk, delta: 0.3}", "stop.updates", "60"), false);
    same_again(PAIRS("method", "choco", "compress", topk, "stop.updates", "60"), false);
}

/* So the recorded run did the same as one without would have done with these arrivals. */
TEST(a_run_with_a_ratio_of_1_replayed_without_a_compressor_gives_the_same_model)
{
    static const char *const methods[] = { "async", "rennala", "malenia", "ringmaster", "ringleader",
        "ia2sgd", "fedbuff", "ca2fl", "mindflayer", "gasync" };
    for (size_t i = 0; i < MOT_COUNT(methods); i++) {
        struct run r;
        uint64_t hash = record(PAIRS("method", methods[i], "stop.updates", "60", "model", "softmax",
                                   "compress", "{name: topk, ratio: 1}"),
            false);
        printf("  %s\n", methods[i]);
        CHECK(hash != 0);
        CHECK_INT(replay(PAIRS("method", methods[i], "stop.updates", "60", "model", "softmax"), &r), MOT_OK);
        CHECK(r.out.model_hash == hash);
        run_free(&r);
    }
    uint64_t packed =
        record(PAIRS("method", "async", "stop.updates", "60", "compress", "{name: topk, ratio: 50%}"), false);
    struct run r;
    CHECK(packed != 0);
    CHECK_INT(replay(PAIRS("method", "async", "stop.updates", "60"), &r), MOT_EREPRODUCE); /* another run */
    run_free(&r);
}

TEST(an_emulated_mixed_cluster_replayed_gives_the_same_model)
{
    const char *cluster = "{network: {bandwidth: 1Gbit, latency: 100us}, workers: [{count: 3, speed: 100000 "
                          "samples/s}, {speed: 20000 samples/s}]}";
    same_again(PAIRS("method", "async", "cluster", cluster, "stop.updates", "120"), true);
    same_again(PAIRS("method", "allreduce", "cluster", cluster, "stop.updates", "60"), true);
    same_again(
        PAIRS("method", "allreduce", "method.bucket", "1B", "cluster", cluster, "stop.updates", "60"), true);
}

/* Nodes run ahead of the evaluation that ends the run: it ends with the model that was evaluated. */
TEST(a_run_that_its_target_ended_replayed_gives_the_model_that_met_it)
{
    static const char *const methods[] = { "allreduce", "dpsgd" };
    for (size_t i = 0; i < MOT_COUNT(methods); i++) {
        struct run r;
        const char *const *pairs =
            PAIRS("method", methods[i], "stop.target.test_accuracy", "0.6", "evaluate.every", "2 updates");
        uint64_t hash = record(pairs, false);
        CHECK(hash != 0);
        CHECK_INT(replay(pairs, &r), MOT_OK);
        CHECK(r.out.model_hash == hash);
        CHECK(r.out.last.updates < 300 && r.out.last.updates % 2 == 0);
        run_free(&r);
    }
}

TEST(a_replay_tells_how_far_it_is)
{
    struct run r = { .ways = { .driver = &mot_driver_replay, .arrivals = folder() } };
    const char *const *pairs = PAIRS("method", "allreduce", "evaluate.every", "50 updates");
    char *text = NULL;
    size_t n;
    CHECK(record(pairs, false) != 0);
    r.ways.progress = open_memstream(&text, &n);
    r.ways.terminal = true;
    RUN_SET(&r, SMALL);
    run_set_all(&r, pairs);
    run_go(&r);
    fclose(r.ways.progress);
    CHECK_INT(r.status, MOT_OK);
    CHECK_HAS(text, "update");
    free(text);
    run_free(&r);
}

TEST(a_run_whose_data_runs_out_can_be_replayed)
{
    struct run r;
    const char *const *pairs = PAIRS("method", "async", "sampler.passes", "2", "stop.updates", "100000");
    uint64_t hash = record(pairs, false);
    CHECK_INT(replay(pairs, &r), MOT_OK);
    CHECK(r.out.model_hash == hash);
    CHECK_INT(r.out.last.samples, 2 * r.job.data->train.rows);
    run_free(&r);
}

TEST(another_experiment_is_refused_with_exit_7)
{
    struct run r;
    CHECK(record(PAIRS("method", "async"), false) != 0);
    CHECK_INT(replay(PAIRS("method", "async", "optimizer.lr", "0.02"), &r), MOT_EREPRODUCE);
    run_free(&r);
    CHECK_INT(replay(PAIRS("method", "async", "seed", "7"), &r), MOT_EREPRODUCE);
    run_free(&r);
}

TEST(a_damaged_record_is_refused_with_exit_3)
{
    static const struct {
        size_t at, cut;
    } cases[] = { { 0, 0 }, { 9, 0 }, { 40, 0 }, { 70, 0 }, { 4001, 0 }, { 0, 1 }, { 0, 977 }, { 0, 4000 } };
    const char *const *pairs = PAIRS("method", "async");
    unsigned char *bytes;
    size_t n;
    char *path = record_path();
    CHECK(record(pairs, false) != 0);
    CHECK_INT(mot_file_read(path, 1 << 30, &bytes, &n), MOT_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct run r;
        unsigned char flip = cases[i].cut ? 0 : 4;
        bytes[cases[i].at] ^= flip;
        CHECK_INT(mot_file_replace(path, bytes, n - cases[i].cut), MOT_OK);
        bytes[cases[i].at] ^= flip;
        CHECK_INT(replay(pairs, &r), MOT_EDATA);
        run_free(&r);
    }
    free(bytes);
    free(path);
}

/* The tapes of the record in the folder, with one event changed, under a checksum that fits. */
static void forge(mot_node node, uint64_t number, void (*change)(struct mot_taped *))
{
    struct mot_record in, out;
    char *path = record_path();
    CHECK_INT(mot_record_read(folder(), 0, &in), MOT_OK);
    mot_record_open(&out, in.nodes, in.hash);
    out.model_hash = in.model_hash;
    for (mot_node i = 0; i < in.nodes; i++) {
        struct mot_tape_reader tape;
        struct mot_taped e;
        mot_tape_rewind(&in.tape[i], &tape);
        for (uint64_t n = 1; mot_tape_next(&tape, &e); n++) {
            if (i == node && n == number) change(&e);
            struct mot_message m = { .from = e.from, .kind = e.message, .head = e.head };
            struct mot_result w = { .tag = e.tag, .samples = e.samples };
            memcpy(&w.loss, &e.check, sizeof(w.loss));
            struct mot_event event = { .kind = e.kind };
            if (e.kind == MOT_EV_MESSAGE) event.message = &m;
            else if (e.kind == MOT_EV_WORK) event.work = &w;
            else if (e.kind == MOT_EV_TIMER) event.timer = e.tag;
            else if (e.kind == MOT_EV_PEER) event.peer = e.peer;
            mot_tape_put(&out.tape[i], e.now, &event, e.streams);
        }
    }
    CHECK_INT(mot_record_write(&out, path), MOT_OK);
    mot_record_close(&in);
    mot_record_close(&out);
    free(path);
}

static void lost_sender(struct mot_taped *e)
{
    *e = (struct mot_taped){ .kind = MOT_EV_PEER, .now = e->now, .peer = { .node = e->from } };
}
static void fewer_samples(struct mot_taped *e) { e->samples = 5; }
static void more_samples(struct mot_taped *e) { e->samples = 100000; }
static void other_round(struct mot_taped *e) { e->head.round++; }
static void from_itself(struct mot_taped *e) { e->from = 4; }
static void a_timer(struct mot_taped *e) { *e = (struct mot_taped){ .kind = MOT_EV_TIMER, .now = e->now }; }
static void a_start(struct mot_taped *e) { *e = (struct mot_taped){ .kind = MOT_EV_START, .now = e->now }; }

TEST(an_event_that_cannot_happen_is_named_with_its_node)
{
    static const struct {
        mot_node node;
        uint64_t number;
        void (*change)(struct mot_taped *);
        const char *says;
    } cases[] = {
        { 2, 3, fewer_samples, "node 2, event 3" },
        { 1, 3, more_samples, "node 1, event 3" },
        { 4, 20, other_round, "node 4, event 20" },
        { 4, 21, from_itself, "node 4, event 21" },
        { 3, 4, a_timer, "node 3, event 4" },
        { 0, 4, a_start, "node 0, event 4" },
    };
    /* An update takes a gradient of each: every worker has these events, however busy the machine is. */
    const char *const *pairs = PAIRS("method", "async", "method.wait", "4", "stop.updates", "25");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct run r;
        CHECK(record(pairs, false) != 0);
        forge(cases[i].node, cases[i].number, cases[i].change);
        CHECK_INT(replay(pairs, &r), MOT_EREPRODUCE);
        CHECK(strstr(mot_error(), cases[i].says) != NULL);
        run_free(&r);
    }
}

static void count(void *self, const struct mot_replayed *r)
{
    uint64_t *seen = self;
    CHECK_INT(r->node, 4);
    CHECK_INT(r->number, ++*seen);
}

/* Its letter is dropped and those of the others stay; what differs from the record then is named. */
TEST(a_peer_that_is_lost_takes_its_letters_with_it)
{
    const char *const *pairs = PAIRS("method", "async", "method.wait", "4", "stop.updates", "25");
    for (uint64_t number = 20; number < 28; number++) {
        struct run r;
        CHECK(record(pairs, false) != 0);
        forge(4, number, lost_sender);
        CHECK_INT(replay(pairs, &r), MOT_EREPRODUCE);
        CHECK_HAS(mot_error(), "node ");
        run_free(&r);
    }
}

TEST(one_node_can_be_followed_event_by_event_up_to_one)
{
    struct run r;
    struct mot_record tapes;
    struct mot_outcome out;
    uint64_t seen = 0;
    const char *const *pairs = PAIRS("method", "async");
    CHECK(record(pairs, false) != 0);
    CHECK_INT(replay(pairs, &r), MOT_OK);
    CHECK_INT(mot_record_read(folder(), r.job.hash, &tapes), MOT_OK);
    CHECK_INT(tapes.tape[4].events, 301); /* START, and a gradient for each update */
    struct mot_inspection inspection = { .node = 4, .until = 50, .seen = count, .seen_self = &seen };
    struct mot_driver_options o = { .experiment = r.experiment,
        .problem = &r.job.problem,
        .optim = &r.job.optim,
        .x0 = r.job.x0,
        .record = &tapes,
        .inspection = &inspection };
    CHECK_INT(mot_driver_replay.run(&o, &out), MOT_OK);
    CHECK_INT(seen, 50);
    CHECK_INT(out.last.updates, 49);
    mot_outcome_close(&out);
    mot_record_close(&tapes);
    run_free(&r);
}

TEST(a_record_may_lie_in_a_file_for_each_process)
{
    struct run r;
    struct mot_record all;
    const char *const *pairs = PAIRS("method", "async");
    uint64_t hash = record(pairs, false);
    CHECK_INT(mot_record_read(folder(), 0, &all), MOT_OK);
    for (mot_node i = 0; i < all.nodes; i++) {
        struct mot_record one = all;
        one.tape = calloc(all.nodes, sizeof(*one.tape));
        one.tape[i] = all.tape[i];
        one.model_hash = i == 4 ? hash : 0;
        char name[32], *path;
        snprintf(name, sizeof(name), "record.%u.bin", i);
        path = mot_path_join(folder(), i == 0 ? "record.bin" : name);
        CHECK_INT(mot_record_write(&one, path), MOT_OK);
        free(one.tape);
        free(path);
    }
    mot_record_close(&all);
    CHECK_INT(replay(pairs, &r), MOT_OK);
    CHECK(r.out.model_hash == hash);
    run_free(&r);
}

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *at)
{
    (void)s, (void)kind, (void)at;
    return remove(path);
}

__attribute__((destructor)) static void clean_up(void)
{
    nftw(folder(), remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

TEST_MAIN()
