/* Rows that move between ranks: they really travel, in bounded pieces, and damaged ones lose their sender. */
#include "method/methods.h"
#include "run/carousel.h"
#include "wire/blank.h"
#include "wire/team.h"
#include <stdlib.h>

/* Parts of some 390 kB: two chunks each. */
#define LARGE                                                                                                \
    "data", "{name: synthetic, size: 12000, cols: 60}", "model", "softmax", "optimizer.lr", "0.1", "method", \
        "carousel", "evaluate.train", "end", "workers", "3", "batch", "16"

static void set_up(struct team *t, const char *const *more)
{
    static const struct mot_method *const methods[] = { &carousel, NULL };
    mot_methods_extend(methods);
    RUN_SET(&t->run, LARGE, "stop.updates", "7");
    run_set_all(&t->run, more);
    if (!team_open(t)) abort();
}

static void tear_down(struct team *t)
{
    team_forget(t);
    team_close(t);
    mot_methods_extend(NULL);
}

static _Atomic uint32_t blanked;
static void blank(struct mot_job *j, uint32_t rank) { atomic_fetch_add(&blanked, blank_foreign(j, rank)); }
static void leave_alone(struct mot_job *j, uint32_t rank) { (void)j, (void)rank; }

/* What passes, and how long its bodies are. */
struct counts {
    uint64_t chunks, bytes, longest;
};
static enum mot_loop_fate count(void *self, struct mot_loop_frame *f)
{
    struct counts *c = self;
    if (f->envelope->kind != MOT_ENVELOPE_CHUNK) return MOT_LOOP_PASS;
    c->chunks++;
    c->bytes += f->bytes;
    if (f->bytes > c->longest) c->longest = f->bytes;
    return MOT_LOOP_PASS;
}

/* Worker 0's rank has the server too and gets its rows from worker 2. Those of the last round may stay where
 * they are; and before word of the end arrives, a fast worker may pass on those of one round more. */
static void has_the_bits(const char *const *more, bool emulate, void (*own)(struct mot_job *, uint32_t))
{
    struct counts c = { 0 };
    struct team t = { .look = count, .self = &c, .emulate = emulate, .own = own };
    set_up(&t, more);
    struct mot_outcome simulated = team_simulate(&t);
    CHECK_INT(simulated.last.updates, 7);
    team_go(&t);
    for (uint32_t r = 0; r < 3; r++) CHECK_INT(t.member[r].left_with, MOT_OK);
    const struct mot_outcome *out = &t.member[0].out;
    CHECK_INT(out->last.updates, 7);
    CHECK(out->model_hash == simulated.model_hash);
    uint64_t turn = simulated.last.rows_bytes / (7 * 3); /* what a worker passes on in a round */
    CHECK_INT(simulated.last.rows_bytes, turn * 7 * 3);
    CHECK(out->last.rows_bytes >= turn * 7 * 3 && out->last.rows_bytes <= turn * 8 * 3);
    CHECK_INT(out->last.rows_bytes % turn, 0);
    CHECK(c.bytes >= turn * 6 * 3 && c.bytes <= out->last.rows_bytes);
    CHECK(c.longest > 200 << 10 && c.longest <= 256 << 10);
    CHECK(c.chunks >= 6 * 6 * 2);
    mot_outcome_close(&simulated);
    tear_down(&t);
}

TEST(over_ranks_on_threads_rows_go_round_to_the_simulated_bits)
{
    has_the_bits((const char *const[]){ NULL }, false, NULL);
    if (!SANITIZED) has_the_bits((const char *const[]){ "mpi.checksum", "all", NULL }, false, NULL);
}

TEST(so_they_do_if_a_rank_can_see_only_what_it_holds)
{
    atomic_store(&blanked, 0);
    has_the_bits((const char *const[]){ "mpi.checksum", "all", NULL }, false, blank);
    CHECK(atomic_load(&blanked) >= 12000 * 4 / 5); /* two thirds on each of two ranks */
    if (!SANITIZED) has_the_bits((const char *const[]){ NULL }, false, blank);
}

TEST(and_over_emulated_links_they_take_their_time)
{
    static const char *const wire[] = { "cluster",
        "{workers: [{count: 3, speed: 200000 samples/s}], network: {bandwidth: 400 Mbit/s, latency: 100us}}",
        NULL };
    if (!SANITIZED) has_the_bits(wire, true, blank);
    struct team t = { .emulate = true };
    set_up(&t, wire);
    team_go(&t);
    /* 780 kB for each worker in every round but the first, at 50 MB/s */
    uint64_t bytes = t.member[0].out.last.rows_bytes / 7 / 3;
    CHECK(bytes > 750000);
    CHECK(t.member[0].out.last.now > 6 * (bytes - bytes / 10) * 20);
    tear_down(&t);
}

/* ---- Damage ---------------------------------------------------------------------------------- */

struct damage {
    uint32_t from, to, word; /* of the body */
    float value;
    int n; /* which chunk */
    bool done;
};
static enum mot_loop_fate spoil(void *self, struct mot_loop_frame *f)
{
    struct damage *d = self;
    if (d->done || f->envelope->kind != MOT_ENVELOPE_CHUNK || f->from != d->from || f->to != d->to ||
        --d->n > 0)
        return MOT_LOOP_PASS;
    d->done = true;
    memcpy((unsigned char *)f->body + (size_t)d->word * 4, &d->value, sizeof d->value);
    return MOT_LOOP_PASS;
}

static void notices(struct damage d, const char *checksum, void (*own)(struct mot_job *, uint32_t))
{
    struct team t = { .look = spoil, .self = &d, .own = own };
    set_up(&t, (const char *const[]){ "mpi.checksum", checksum, NULL });
    team_go(&t);
    CHECK(d.done);
    CHECK_INT(t.member[0].out.status, MOT_EPEER);
    CHECK_TEXT(t.member[0].out.peer_by, "damage");
    CHECK_INT(t.member[0].out.peer, d.from);
    tear_down(&t);
}

TEST(rows_that_are_not_those_of_the_part_lose_their_sender)
{
    /* compared with the rows that are there: by rank 0, and by all if they share them */
    notices((struct damage){ .from = 2, .to = 0, .word = 7, .value = 0.5f, .n = 3 }, "control", leave_alone);
    notices((struct damage){ .from = 1, .to = 2, .word = 7, .value = 0.5f, .n = 2 }, "control", NULL);
    /* labels that are no class, and what is no number: refused unseen */
    notices((struct damage){ .from = 1, .to = 2, .word = 0, .value = 77.0f, .n = 3 }, "control", blank);
    if (SANITIZED) return;
    notices((struct damage){ .from = 1, .to = 2, .word = 61, .value = 0.5f, .n = 1 }, "control", blank);
    notices((struct damage){ .from = 1, .to = 2, .word = 61, .value = NAN, .n = 2 }, "control", blank);
    /* and whatever it is, with checksums */
    notices((struct damage){ .from = 1, .to = 2, .word = 7, .value = 0.5f, .n = 3 }, "all", blank);
}

/* Rank 2 holds parts 4 and 5, and the model for its first job is held back. Rank 1 sends it others in their
 * place. */
struct intruder {
    bool held;
    _Atomic bool blamed;
};
static enum mot_loop_fate intrude(void *self, struct mot_loop_frame *f)
{
    struct intruder *i = self;
    struct mot_envelope *e = f->envelope;
    if (e->kind == MOT_ENVELOPE_BLAME) atomic_store(&i->blamed, true);
    if (f->from == 0 && f->to == 2 && e->kind == MOT_ENVELOPE_MESSAGE && !i->held) {
        i->held = true;
        return MOT_LOOP_HOLD;
    }
    if (f->from != 1 || f->to != 2) return MOT_LOOP_PASS;
    if (e->kind == MOT_ENVELOPE_ROWS) e->message.off += 2;
    if (e->kind == MOT_ENVELOPE_CHUNK) {
        e->chunk.part += 2;
        for (size_t word = 1; word < f->bytes / 4; word++)
            if (word % 61) memcpy((unsigned char *)f->body + word * 4, &(float){ 123 }, 4);
    }
    mot_envelope_seal(e);
    return MOT_LOOP_PASS;
}

static void await_blame(struct team *t)
{
    while (!atomic_load(&((struct intruder *)t->self)->blamed)) usleep(1000);
    mot_loop_release(t->loop);
}

static uint32_t changed;
static void look_at_rows(struct mot_job *j, uint32_t rank)
{
    const struct mot_parts *parts = j->problem.sampler.parts;
    const struct mot_table *t = &j->data->train;
    for (uint64_t i = parts->at[4]; rank == 2 && i < parts->at[6]; i++)
        for (uint32_t c = 0; c < t->cols; c++) changed += t->x[(size_t)parts->row[i] * t->cols + c] == 123;
}

TEST(no_peer_can_change_rows_that_a_worker_holds)
{
    struct intruder i = { 0 };
    struct team t = {
        .look = intrude, .self = &i, .own = leave_alone, .after = look_at_rows, .meanwhile = await_blame
    };
    set_up(&t, (const char *const[]){ NULL });
    changed = 0;
    team_go(&t);
    CHECK(i.held);
    CHECK_INT(changed, 0);
    CHECK_INT(t.member[0].out.status, MOT_EPEER);
    CHECK_INT(t.member[0].out.peer, 1);
    CHECK_TEXT(t.member[0].out.peer_by, "damage");
    tear_down(&t);
}

/* ---- Losses ------------------------------------------------------------------------------------ */

struct loss {
    uint32_t from, to;
    int n;
    enum mot_loop_fate fate;
    bool done;
};
static enum mot_loop_fate lose(void *self, struct mot_loop_frame *f)
{
    struct loss *l = self;
    if (l->done || f->envelope->kind != MOT_ENVELOPE_CHUNK || f->from != l->from || f->to != l->to ||
        --l->n > 0)
        return MOT_LOOP_PASS;
    l->done = true;
    return l->fate;
}

/* Half of a message is in the inbox, chunks are on their way from and to the lost rank: all memory comes
 * back. */
TEST(a_rank_that_is_lost_among_its_rows_takes_nobody_along)
{
    static const struct loss losses[] = { { 2, 0, 2, MOT_LOOP_KILL, false },
        { 1, 2, 3, MOT_LOOP_KILL, false }, { 1, 2, 5, MOT_LOOP_KILL, false },
        { 2, 0, 4, MOT_LOOP_END, false } };
    for (size_t i = 0; i < MOT_COUNT(losses); i += 1 + SANITIZED) {
        struct loss l = losses[i];
        struct team t = { .look = lose, .self = &l, .own = blank };
        set_up(&t, (const char *const[]){ NULL });
        team_go(&t);
        CHECK(l.done);
        CHECK_INT(t.member[0].out.status, MOT_EPEER);
        CHECK_INT(t.member[0].out.peer, l.from);
        CHECK_TEXT(t.member[0].out.peer_by, l.fate == MOT_LOOP_KILL ? "death" : "link");
        tear_down(&t);
    }
}

TEST_MAIN()
