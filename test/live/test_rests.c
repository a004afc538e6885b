/* What a checkpoint of a live run says that a worker had left to send is what it had left after the last
 * message that the server had taken in: on threads and over ranks, with one server and several, in the middle
 * of a run and at its end, and of those who are still there if a worker is lost. */
#include "base/bytes.h"
#include "base/file.h"
#include "live/node.h"
#include "method/methods.h"
#include "report/tally.h"
#include "run/outbox.h"
#include "scratch.h"
#include "wire/team.h"
#include <signal.h>
#include <stddef.h>
#include <xxhash.h>

#define WORKERS 3u
#define SERVERS 2u
#define MOST 4096u /* messages of a worker to a server; updates of a server */

/* ---- A method that is watched ------------------------------------------------------------------
 * Its workers' gradients, and what leaves of them, say what is left: all gradients so far, minus all that was
 * sent. Each node writes only what is its own. */

static const struct mot_method *real;
static struct {
    double *left[WORKERS], *job[WORKERS]; /* [dim]: now; the gradients of the present job */
    float *after[WORKERS][SERVERS][MOST]; /* [dim]: after so many messages; NULL: not so many */
    uint32_t sent[WORKERS][SERVERS];
    uint32_t count[SERVERS][WORKERS];      /* taken in */
    uint32_t took[SERVERS][MOST][WORKERS]; /* by this update */
    uint32_t updates[SERVERS], servers, dim;
    uint32_t interrupt_at;           /* messages to the first server; 0: never */
    volatile sig_atomic_t interrupt; /* set by the first server, who looks at it */
    _Atomic bool ends;               /* asks it to */
    unsigned char *midway;           /* a checkpoint that was seen during the run */
    size_t midway_bytes;
    uint32_t midway_from; /* then it is looked for, after so many messages, and ends the run; 0: it is not */
} seen;
static char folder[64];

static void watch_worker(struct mot_env *env)
{
    for (uint32_t e = 0; e < env->out->n; e++) {
        const struct mot_effect *fx = &env->out->effect[e];
        if (fx->kind != MOT_FX_SEND) continue;
        struct mot_slice body = fx->message.body;
        if (!body.buf) { /* it gives up a job, whose gradients go nowhere */
            memset(seen.job[env->self], 0, seen.dim * sizeof(double));
            continue;
        }
        uint32_t server = fx->message.to - env->world->workers;
        uint32_t k = ++seen.sent[env->self][server];
        const float *x = mot_read(env, body.buf);
        float *after = calloc(seen.dim, sizeof(*after));
        if (!after || k >= MOST) abort();
        for (uint32_t i = body.off; i < body.off + body.len; i++) {
            after[i] = (float)(seen.left[env->self][i] += seen.job[env->self][i] - (double)x[i]);
            seen.job[env->self][i] = 0;
        }
        seen.after[env->self][server][k] = after;
    }
}

/* Keeps a checkpoint that is there now: one of the middle of the run. */
static void look_midway(void)
{
    char *path = mot_path_join(folder, "checkpoint.bin");
    unsigned char *bytes;
    size_t n;
    if (mot_file_exists(path) && mot_file_read(path, SIZE_MAX, &bytes, &n) == MOT_OK) {
        free(seen.midway);
        seen.midway = bytes;
        seen.midway_bytes = n;
    }
    free(path);
}

static void watch_server(struct mot_env *env, const struct mot_event *event)
{
    uint32_t server = env->self - env->world->workers;
    for (uint32_t e = 0; e < env->out->n; e++) {
        if (env->out->effect[e].kind != MOT_FX_ADVANCE) continue;
        uint32_t u = ++seen.updates[server];
        if (u >= MOST) abort();
        memcpy(seen.took[server][u], seen.count[server], sizeof(seen.took[server][u]));
    }
    if (server != 0 || event->kind != MOT_EV_MESSAGE) return;
    uint32_t all = 0;
    for (uint32_t i = 0; i < WORKERS; i++) all += seen.count[0][i];
    if (seen.midway_from && all >= seen.midway_from && !seen.midway) {
        usleep(1000); /* whoever writes it should get a core in the meantime */
        look_midway();
        if (seen.midway) seen.interrupt = SIGINT;
    }
    if ((seen.interrupt_at && all == seen.interrupt_at) || atomic_load(&seen.ends)) seen.interrupt = SIGINT;
}

static void watched_step(void *state, struct mot_env *env, const struct mot_event *event)
{
    bool works = env->self < env->world->workers;
    if (works && event->kind == MOT_EV_WORK) {
        const float *g = mot_read(env, event->work->grad);
        for (uint32_t i = 0; i < seen.dim; i++) seen.job[env->self][i] += (double)g[i];
    }
    if (!works && event->kind == MOT_EV_MESSAGE && event->message->body.buf) /* else it gave up a job */
        seen.count[env->self - env->world->workers][event->message->from]++;
    real->step(state, env, event);
    if (works) watch_worker(env);
    else watch_server(env, event);
}

static struct mot_method watched;
static const struct mot_method *const more[] = { &watched, NULL };

static void watch(const char *method, uint32_t servers)
{
    real = NULL;
    for (size_t i = 0; mot_method_at(i); i++)
        if (strcmp(mot_method_at(i)->name, method) == 0) real = mot_method_at(i);
    if (!real) abort();
    watched = *real;
    watched.name = "watched";
    watched.step = watched_step;
    mot_methods_extend(more);
    memset(&seen, 0, sizeof(seen));
    seen.servers = servers;
    snprintf(folder, sizeof(folder), "/tmp/motley-rests-XXXXXX");
    if (!mkdtemp(folder)) abort();
}

static void unwatch(void)
{
    for (uint32_t i = 0; i < WORKERS; i++) {
        free(seen.left[i]);
        free(seen.job[i]);
        for (uint32_t s = 0; s < SERVERS; s++)
            for (uint32_t k = 0; k < MOST; k++) free(seen.after[i][s][k]);
    }
    free(seen.midway);
    mot_methods_extend(NULL);
    scratch_remove(folder);
}

/* ---- Runs of it ------------------------------------------------------------------------------------ */

static void settle(struct run *r, const char *options, const char *compress)
{
    RUN_SET(r, "data", "digits", "model", "softmax", "workers", "3", "batch", "8", "optimizer.lr", "0.01",
        "method", options, "compress", compress, "stop.updates", "3000", "evaluate.train", "end",
        "evaluate.heterogeneity", "never", "checkpoint.every", "4 updates", "output", folder);
}

static void get_ready(uint32_t dim)
{
    seen.dim = dim;
    for (uint32_t i = 0; i < WORKERS; i++) {
        seen.left[i] = calloc(dim, sizeof(double));
        seen.job[i] = calloc(dim, sizeof(double));
    }
}

static enum mot_status unpack(const struct run *r, const unsigned char *bytes, size_t n,
    struct mot_live *live, struct mot_live_checkpoint *out)
{
    const struct mot_driver_options o = {
        .experiment = r->experiment, .problem = &r->job.problem, .optim = &r->job.optim, .hash = r->job.hash
    };
    if (mot_live_open(live, &o) != MOT_OK) abort();
    enum mot_status status = mot_live_unpack("checkpoint", bytes, n, live, out);
    mot_live_close(live);
    return status;
}

/* Each server's is of its last update, or of the same as that of all. lost: a worker of whom nothing may be
 * there; or WORKERS. */
static void check_rests(const struct run *r, const unsigned char *bytes, size_t n, bool last, uint32_t lost)
{
    struct mot_live live;
    struct mot_live_checkpoint c;
    CHECK_INT(unpack(r, bytes, n, &live, &c), MOT_OK);
    CHECK(c.rest && c.rests == WORKERS * seen.servers && c.updates <= seen.updates[0]);
    uint32_t floats = 0;
    for (uint32_t s = 0; s < seen.servers; s++) {
        uint32_t first = s * seen.dim / seen.servers, end = (s + 1) * seen.dim / seen.servers;
        for (uint32_t i = 0; i < WORKERS; i++) {
            const struct mot_live_rest *is = &c.rest[i * seen.servers + s];
            uint32_t k = seen.took[s][last ? seen.updates[s] : c.updates][i];
            if (i == lost) {
                CHECK(is->packs == 0 && !is->x);
                continue;
            }
            CHECK_INT(is->packs, k);
            CHECK((is->x != NULL) == (k > 0) && is->weight == (k ? 8 : 0));
            double most = 0, off = 0;
            for (uint32_t p = first; is->x && p < end; p++) {
                double want = (double)seen.after[i][s][k][p], d = fabs(want - (double)is->x[p - first]);
                if (fabs(want) > most) most = fabs(want);
                if (d > off) off = d;
            }
            floats += most > 0;
            CHECK_NEAR(off, 0, 1e-4 * most + 1e-5);
        }
    }
    CHECK(floats > 0);
    mot_live_checkpoint_free(&c);
}

static void check_all(const struct run *r, uint32_t lost)
{
    char *path = mot_path_join(folder, "checkpoint.bin");
    unsigned char *bytes;
    size_t n;
    CHECK_INT(mot_file_read(path, SIZE_MAX, &bytes, &n), MOT_OK);
    check_rests(r, bytes, n, true, lost);
    if (seen.midway) check_rests(r, seen.midway, seen.midway_bytes, false, WORKERS);
    free(bytes);
    free(path);
}

/* How far a worker was beyond what the server had taken in at its last update, at most. */
static uint32_t ahead(void)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < WORKERS; i++) {
        uint32_t by = seen.sent[i][0] - seen.took[0][seen.updates[0]][i];
        if (by > most) most = by;
    }
    return most;
}

#define DIGITS 650u
static void on_threads(const char *options)
{
    struct run r = { .ways = { .driver = &mot_driver_threads, .interrupt = &seen.interrupt } };
    settle(&r, options, "{name: topk, ratio: 5%}");
    get_ready(DIGITS);
    run_go(&r);
    CHECK(r.status == MOT_OK && (r.out.status == MOT_OK || r.out.status == MOT_EINTERRUPTED));
    CHECK(!mot_note_find(&r.out, "residuals_lost"));
    check_all(&r, WORKERS);
    run_free(&r);
}

static void over_ranks(const char *options)
{
    struct team t = { .interrupt = &seen.interrupt };
    settle(&t.run, options, "{name: topk, ratio: 5%}");
    if (!team_open(&t)) abort();
    get_ready(DIGITS);
    team_go(&t);
    CHECK(t.member[0].left_with == MOT_OK || t.member[0].left_with == MOT_EINTERRUPTED);
    CHECK(!mot_note_find(&t.member[0].out, "residuals_lost"));
    check_all(&t.run, WORKERS);
    team_forget(&t);
    team_close(&t);
}

static void each_way(const char *method, uint32_t servers, const char *options)
{
    for (int ranks = 0; ranks < 2; ranks++) {
        watch(method, servers);
        seen.midway_from = 24;
        (ranks ? over_ranks : on_threads)(options);
        CHECK(seen.midway);
        printf("  %s %s: up to %u ahead\n", options, ranks ? "over ranks" : "on threads", ahead());
        unwatch();
    }
}

TEST(a_checkpoint_has_what_each_worker_had_left_when_the_server_made_its_update)
{
    each_way("server", 1, "watched");
    each_way("async", 1, "watched");
    each_way("async", 1, "{name: watched, jobs: 9}"); /* jobs queue at workers */
    each_way("rennala", 1, "{name: watched, s: 5}");
    each_way("fedavg", 1, "{name: watched, steps: 3}");
    each_way("fedbuff", 1, "{name: watched, steps: 2, k: 4}");
}

TEST(of_several_servers_each_has_what_was_left_for_its_range)
{
    each_way("async", 2, "{name: watched, shards: 2}");
    each_way("async", 2, "{name: watched, shards: 2, jobs: 9}");
}

/* Workers send many messages between two updates; the end comes in the middle of that. */
TEST(a_run_that_is_interrupted_far_from_an_update_has_what_was_left_at_the_last_one)
{
    for (int ranks = 0; ranks < 2; ranks++) {
        watch("fedbuff", 1);
        seen.interrupt_at = 230;
        (ranks ? over_ranks : on_threads)("{name: watched, steps: 1, k: 200}");
        CHECK_INT(seen.updates[0], 1);
        CHECK(ahead() >= 10);
        unwatch();
    }
}

/* ---- Who is lost ----------------------------------------------------------------------------------- */

/* Rank 2 dies as it sends this, and the run is interrupted. */
struct plot {
    uint32_t kind;
    int n; /* which of its */
};

static enum mot_loop_fate plot_look(void *self, struct mot_loop_frame *f)
{
    struct plot *p = self;
    if (f->from != 2 || f->envelope->kind != p->kind || --p->n != 0) return MOT_LOOP_PASS;
    atomic_store(&seen.ends, true);
    return MOT_LOOP_KILL;
}

/* In a run with checkpoints every so often. */
static void lose(struct plot plot, const char *updates, const char *every)
{
    struct team t = { .look = plot_look, .self = &plot, .interrupt = &seen.interrupt };
    watch("async", 1);
    settle(&t.run, "watched", "{name: topk, ratio: 5%}");
    RUN_SET(&t.run, "stop.updates", updates, "checkpoint.every", every);
    if (!team_open(&t)) abort();
    get_ready(DIGITS);
    team_go(&t);
    CHECK_INT(plot.n, 0);
    CHECK(t.member[0].left_with == MOT_OK || t.member[0].left_with == MOT_EINTERRUPTED);
    const struct mot_note_tally *lost = mot_note_find(&t.member[0].out, "residuals_lost");
    CHECK(lost && lost->count >= 1 && lost->sum == (double)lost->count);
    check_all(&t.run, 2);
    team_forget(&t);
    /* all three go on from it */
    uint64_t more_updates = seen.updates[0] + 20;
    atomic_store(&seen.ends, false);
    seen.interrupt = 0;
    t.look = NULL;
    t.resume = true;
    t.run.experiment->stop.updates = more_updates;
    team_go(&t);
    CHECK_INT(t.member[0].left_with, MOT_OK);
    CHECK_INT(t.member[0].out.last.updates, more_updates);
    CHECK(!mot_note_find(&t.member[0].out, "residuals_lost"));
    team_forget(&t);
    team_close(&t);
    unwatch();
}

TEST(a_worker_that_is_lost_takes_with_it_what_it_had_left_and_holds_up_no_checkpoint)
{
    lose((struct plot){ MOT_ENVELOPE_MESSAGE, 3 }, "3000", "4 updates");
    lose((struct plot){ MOT_ENVELOPE_REST, 1 }, "3000", "4 updates");  /* when it is asked */
    lose((struct plot){ MOT_ENVELOPE_REST, 1 }, "50", "3000 updates"); /* at the end */
}

/* Answers as if it had said nothing: only a sign of life comes. */
static enum mot_loop_fate mute_look(void *self, struct mot_loop_frame *f)
{
    struct mot_envelope *e = f->envelope;
    if (f->from != 2 || e->kind != MOT_ENVELOPE_REST) return MOT_LOOP_PASS;
    ++*(int *)self;
    e->kind = MOT_ENVELOPE_BEAT;
    e->kind_turned = ~e->kind;
    memset(e->raw, 0, sizeof(e->raw));
    mot_envelope_seal(e);
    return MOT_LOOP_PASS;
}

TEST(a_worker_that_does_not_answer_holds_up_a_checkpoint_for_half_a_minute_at_most)
{
    if (!getenv("MOTLEY_LONG")) SKIP("it takes half a minute: MOTLEY_LONG=1");
    int muted = 0;
    struct team t = { .look = mute_look, .self = &muted };
    watch("async", 1);
    settle(&t.run, "watched", "qsgd"); /* without a body: a beat has none */
    RUN_SET(&t.run, "stop.updates", "50", "checkpoint.every", "3000 updates");
    if (!team_open(&t)) abort();
    get_ready(DIGITS);
    team_go(&t);
    CHECK_INT(muted, 1);
    CHECK_INT(t.member[0].left_with, MOT_OK);
    const struct mot_note_tally *lost = mot_note_find(&t.member[0].out, "residuals_lost");
    CHECK(lost && lost->sum == 1);
    team_forget(&t);
    team_close(&t);
    unwatch();
}

/* ---- Who lies ---------------------------------------------------------------------------------------- */

struct lie {
    uint32_t from, to, kind;
    size_t at, bytes; /* of the envelope: */
    uint64_t is;      /* what it says instead */
    bool told;
};

static enum mot_loop_fate lie_look(void *self, struct mot_loop_frame *f)
{
    struct lie *l = self;
    if (l->told || f->from != l->from || f->to != l->to || f->envelope->kind != l->kind) return MOT_LOOP_PASS;
    l->told = true;
    memcpy((unsigned char *)f->envelope + l->at, &l->is, l->bytes);
    mot_envelope_seal(f->envelope);
    return MOT_LOOP_PASS;
}

#define AT(member) offsetof(struct mot_envelope, member), sizeof(((struct mot_envelope *)0)->member)
#define NEGATIVE UINT64_C(0xc020000000000000) /* -8 as a double */
#define INFINITE UINT64_C(0x7ff0000000000000)

TEST(who_asks_or_answers_nonsense_is_lost_by_damage)
{
    /* nodes 0 to 2 are workers, 3 and 4 servers, the second on rank 1 */
    static const struct lie lies[] = {
        { 2, 0, MOT_ENVELOPE_REST, AT(rest.worker), 1, false },
        { 2, 0, MOT_ENVELOPE_REST, AT(rest.worker), 99, false },
        { 2, 0, MOT_ENVELOPE_REST, AT(rest.server), 2, false },
        { 2, 0, MOT_ENVELOPE_REST, AT(rest.server), 5, false },
        { 2, 0, MOT_ENVELOPE_REST, AT(rest.flags), 4, false },
        { 2, 0, MOT_ENVELOPE_REST, AT(rest.none), 1, false }, /* and yet a body */
        { 2, 0, MOT_ENVELOPE_REST, AT(rest.none), 2, false },
        { 2, 0, MOT_ENVELOPE_REST, AT(rest.weight), NEGATIVE, false },
        { 2, 0, MOT_ENVELOPE_REST, AT(rest.weight), INFINITE, false },
        { 2, 0, MOT_ENVELOPE_REST, AT(bytes), UINT64_C(1) << 40, false },
        { 1, 2, MOT_ENVELOPE_WANT, AT(want.worker), 1, false },
        { 1, 2, MOT_ENVELOPE_WANT, AT(want.worker), 99, false },
        { 1, 2, MOT_ENVELOPE_WANT, AT(want.server), 3, false },
        { 1, 2, MOT_ENVELOPE_WANT, AT(want.flags), 4, false },
        { 1, 2, MOT_ENVELOPE_WANT, AT(want.unused), 1, false },
        { 1, 2, MOT_ENVELOPE_WANT, AT(want.number), 1000000, false },
        { 1, 2, MOT_ENVELOPE_WANT, AT(bytes), 4, false },
    };
    for (size_t i = 0; i < MOT_COUNT(lies); i++) {
        struct lie l = lies[i];
        struct team t = { .look = lie_look, .self = &l };
        snprintf(folder, sizeof(folder), "/tmp/motley-rests-XXXXXX");
        CHECK(mkdtemp(folder));
        settle(&t.run, "{name: async, shards: 2}", "{name: topk, ratio: 5%}");
        RUN_SET(&t.run, "stop.updates", "300");
        if (!team_open(&t)) abort();
        team_go(&t);
        printf("  lie %zu\n", i);
        CHECK(l.told);
        /* it was given up; or, if that was at the end, its answer, or that to it, did not count */
        CHECK(t.member[l.from].left_with == MOT_EPEER || mot_note_find(&t.member[0].out, "residuals_lost"));
        team_forget(&t);
        team_close(&t);
        scratch_remove(folder);
    }
}

/* ---- A run that goes on as if it had not stopped ------------------------------------------------------ */

enum aim { ANYWHERE, TARGET };

/* Over ranks without a driver; the model's hash, or 0 if it did not end where it should. */
static uint64_t go(
    const struct mot_driver *driver, const char *compress, const char *updates, enum aim aim, bool resume)
{
    struct run r = { .ways = { .driver = driver, .resume = resume, .replace = !resume } };
    struct team t = { .resume = resume };
    struct run *of = driver ? &r : &t.run;
    RUN_SET(of, "data", "digits", "model", "softmax", "workers", "3", "batch", "8", "optimizer.lr", "0.01",
        "method", "server", "compress", compress, "stop.updates", updates, "evaluate.every", "3 updates",
        "evaluate.heterogeneity", "never", "output", folder);
    if (aim == TARGET) RUN_SET(of, "stop.target.test_accuracy", "0.5");
    if (driver) {
        run_go(&r);
        if (r.status != MOT_OK) abort();
    } else {
        if (!team_open(&t)) abort();
        team_go(&t);
        if (t.member[0].status != MOT_OK) abort();
    }
    const struct mot_outcome *out = driver ? &r.out : &t.member[0].out;
    const char *by = aim == TARGET ? "target" : "updates";
    uint64_t hash = out->status == MOT_OK && strcmp(out->ended_by, by) == 0 ? out->model_hash : 0;
    if (driver) {
        run_free(&r);
    } else {
        team_forget(&t);
        team_close(&t);
    }
    return hash;
}

TEST(a_run_that_is_resumed_under_another_driver_or_after_its_target_ends_as_if_it_had_not_stopped)
{
    static const char *const kinds[] = { "{name: topk, ratio: 5%}", "qsgd" };
    const struct mot_driver *threads = &mot_driver_threads, *ranks = NULL;
    snprintf(folder, sizeof(folder), "/tmp/motley-rests-XXXXXX");
    CHECK(mkdtemp(folder));
    for (int k = 0; k < 2; k++) {
        uint64_t want = go(&mot_driver_sim, kinds[k], "90", ANYWHERE, false);
        CHECK(want != 0);
        CHECK(go(threads, kinds[k], "19", ANYWHERE, false) != 0);
        CHECK(go(ranks, kinds[k], "40", ANYWHERE, true) != 0);
        CHECK(go(threads, kinds[k], "90", ANYWHERE, true) == want);
        CHECK(go(threads, kinds[k], "90", TARGET, false) != 0);
        CHECK(go(ranks, kinds[k], "90", ANYWHERE, true) == want);
        CHECK(go(ranks, kinds[k], "90", TARGET, false) != 0);
        CHECK(go(threads, kinds[k], "90", ANYWHERE, true) == want);
    }
    scratch_remove(folder);
}

/* ---- The file -------------------------------------------------------------------------------------- */

static struct mot_bytes pack(struct run *r, const char *compress)
{
    struct mot_live live;
    static float x[DIGITS];
    uint64_t draw[WORKERS] = { 5, 6, 7 };
    for (uint32_t i = 0; i < DIGITS; i++) x[i] = (float)i / 8;
    RUN_SET(r, "data", "digits", "model", "softmax", "workers", "3", "method", "server", "stop.updates", "1");
    if (compress) RUN_SET(r, "compress", compress);
    if (mot_experiment_open(NULL, r->setting, r->settings, &r->experiment) != MOT_OK ||
        mot_job_open(r->experiment, &r->job) != MOT_OK)
        abort();
    const struct mot_driver_options o = {
        .experiment = r->experiment, .problem = &r->job.problem, .optim = &r->job.optim
    };
    if (mot_live_open(&live, &o) != MOT_OK) abort();
    struct mot_live_params model = { .x = x, .slot = { x, x } };
    struct mot_live_checkpoint c = {
        .updates = 9, .samples = 18, .draw = draw, .models = 1, .model = &model
    };
    struct mot_bytes b = mot_live_pack(&live, &c);
    mot_live_close(&live);
    return b;
}

TEST(without_a_compressor_a_checkpoint_has_no_room_for_what_workers_had_left)
{
    struct run none = { 0 }, topk = { 0 };
    struct mot_bytes without = pack(&none, NULL), with = pack(&topk, "topk");
    CHECK_INT(with.n - without.n, WORKERS * (sizeof(uint64_t) + 2 * sizeof(double)));
    mot_bytes_free(&without), mot_bytes_free(&with);
    mot_job_close(&none.job), mot_job_close(&topk.job);
    mot_experiment_close(none.experiment), mot_experiment_close(topk.experiment);
}

TEST(a_checkpoint_of_an_older_format_is_refused_by_name)
{
    struct run r = { 0 };
    struct mot_bytes b = pack(&r, "topk");
    struct mot_live live;
    struct mot_live_checkpoint c;
    r.job.hash = 0;
    CHECK_INT(unpack(&r, b.at, b.n, &live, &c), MOT_OK);
    mot_live_checkpoint_free(&c);
    uint32_t old = 8;
    memcpy(b.at + 8, &old, sizeof(old));
    uint64_t sum = XXH64(b.at, b.n - sizeof(sum), 0);
    memcpy(b.at + b.n - sizeof(sum), &sum, sizeof(sum));
    CHECK_INT(unpack(&r, b.at, b.n, &live, &c), MOT_EDATA);
    CHECK_HAS(mot_error(), "checkpoint format 8; this motley reads 10");
    mot_bytes_free(&b);
    mot_job_close(&r.job);
    mot_experiment_close(r.experiment);
}

TEST_MAIN()
