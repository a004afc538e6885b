/* Frames that are intact yet impossible: whoever sends one is lost, by damage, and nothing else happens. */
#include "base/rng.h"
#include "method/methods.h"
#include "run/carousel.h"
#include "run/circles.h"
#include "wire/team.h"
#include <stddef.h>
#include <stdlib.h>

#define TINY                                                                                                 \
    "data", "digits", "model", "softmax", "optimizer.lr", "0.05", "evaluate.train", "end", "workers", "3",   \
        "topology", "ring"
#define AT(member) offsetof(struct mot_envelope, member), sizeof(((struct mot_envelope *)0)->member)

/* ---- One field of one message ------------------------------------------------------------- */

enum how { SET, ADD };
struct lie {
    const char *method; /* its settings are those of `teams` */
    uint32_t from, to;
    uint32_t kind;
    int n; /* which message of that kind and way */
    size_t at, bytes;
    enum how how;
    uint64_t value;
    bool told;
};

static void change(
    struct mot_envelope *e, size_t at, size_t bytes, enum how how, uint64_t value, bool both_kinds)
{
    uint64_t old = 0;
    memcpy(&old, (unsigned char *)e + at, bytes);
    if (how == ADD) value += old;
    memcpy((unsigned char *)e + at, &value, bytes);
    if (both_kinds) e->kind_turned = ~e->kind;
    mot_envelope_seal(e);
}

static enum mot_loop_fate lie_look(void *self, struct mot_loop_frame *f)
{
    struct lie *l = self;
    if (l->told || f->from != l->from || f->to != l->to || f->envelope->kind != l->kind || --l->n > 0)
        return MOT_LOOP_PASS;
    l->told = true;
    change(f->envelope, l->at, l->bytes, l->how, l->value, l->at == offsetof(struct mot_envelope, kind));
    return MOT_LOOP_PASS;
}

#define HELLO MOT_ENVELOPE_HELLO
#define VERDICT MOT_ENVELOPE_VERDICT
#define BEAT MOT_ENVELOPE_BEAT
#define MESSAGE MOT_ENVELOPE_MESSAGE
#define PART MOT_ENVELOPE_PART
#define SUM MOT_ENVELOPE_SUM
#define TOKEN MOT_ENVELOPE_TOKEN
#define END MOT_ENVELOPE_END
#define FINAL MOT_ENVELOPE_FINAL
#define BYE MOT_ENVELOPE_BYE
#define ASK MOT_ENVELOPE_ASK
#define SHOW MOT_ENVELOPE_SHOW
#define ROWS MOT_ENVELOPE_ROWS
#define CHUNK MOT_ENVELOPE_CHUNK
#define HUGE UINT64_MAX

#define LIE(method, from, to, kind, n, at, how, value)                                                       \
    {                                                                                                        \
        method, from, to, kind, n, at, how, value, false                                                     \
    }
static const struct lie lies[] = {
    /* what every message has */
    LIE("server", 2, 0, MESSAGE, 3, AT(magic), ADD, 1),
    LIE("server", 2, 0, MESSAGE, 3, AT(kind), SET, 0),
    LIE("server", 2, 0, MESSAGE, 3, AT(kind), SET, MOT_ENVELOPE_KINDS),
    LIE("server", 2, 0, MESSAGE, 3, AT(kind), SET, HUGE),
    LIE("server", 2, 0, MESSAGE, 3, AT(kind), SET, VERDICT),
    LIE("server", 2, 0, MESSAGE, 3, AT(kind), SET, BEAT),
    LIE("server", 2, 0, MESSAGE, 3, AT(kind), SET, SHOW),
    LIE("server", 2, 0, MESSAGE, 3, AT(kind), SET, HELLO),
    LIE("server", 2, 0, MESSAGE, 3, AT(kind), SET, FINAL),
    LIE("server", 2, 0, MESSAGE, 3, AT(kind), SET, PART),
    LIE("server", 2, 0, MESSAGE, 3, AT(life), SET, 0),
    LIE("server", 2, 0, MESSAGE, 3, AT(life), SET, 7),
    LIE("server", 2, 0, MESSAGE, 3, AT(kind_turned), ADD, 1),
    LIE("server", 2, 0, MESSAGE, 3, AT(seq), ADD, 1),
    LIE("server", 2, 0, MESSAGE, 3, AT(seq), SET, 1),
    LIE("server", 2, 0, MESSAGE, 3, AT(bytes), ADD, 4),
    LIE("server", 2, 0, MESSAGE, 3, AT(bytes), SET, 0),
    LIE("server", 2, 0, MESSAGE, 3, AT(bytes), SET, HUGE),
    LIE("server", 2, 0, MESSAGE, 3, AT(body_sum), SET, 1),
    /* messages of methods: those that no method could send, and those that this one does not admit */
    LIE("server", 2, 0, MESSAGE, 3, AT(message.from), SET, 1),
    LIE("server", 2, 0, MESSAGE, 3, AT(message.from), SET, HUGE),
    LIE("server", 2, 0, MESSAGE, 3, AT(message.to), SET, 1),
    LIE("server", 2, 0, MESSAGE, 3, AT(message.to), SET, HUGE),
    LIE("server", 2, 0, MESSAGE, 3, AT(message.kind), SET, 77),
    LIE("server", 2, 0, MESSAGE, 3, AT(message.kind), SET, 65536),
    LIE("server", 2, 0, MESSAGE, 3, AT(message.off), SET, 1),
    LIE("server", 2, 0, MESSAGE, 3, AT(message.off), SET, HUGE),
    LIE("server", 2, 0, MESSAGE, 3, AT(message.len), ADD, 1),
    LIE("server", 2, 0, MESSAGE, 3, AT(message.len), SET, HUGE),
    LIE("server", 2, 0, MESSAGE, 3, AT(message.round), SET, HUGE),
    LIE("async", 2, 0, MESSAGE, 2, AT(message.kind), SET, 77),
    LIE("async", 2, 0, MESSAGE, 2, AT(message.round), SET, HUGE),
    LIE("dpsgd", 2, 0, MESSAGE, 3, AT(message.round), SET, HUGE),
    LIE("dpsgd", 2, 1, MESSAGE, 3, AT(message.round), SET, HUGE),
    LIE("dpsgd", 2, 1, MESSAGE, 3, AT(message.kind), SET, 77),
    /* ranges of sums, to rank 0 and to another */
    LIE("allreduce", 2, 0, PART, 3, AT(range.from), SET, 1),
    LIE("allreduce", 2, 0, PART, 3, AT(range.from), SET, HUGE),
    LIE("allreduce", 2, 0, PART, 3, AT(range.to), SET, 1),
    LIE("allreduce", 2, 0, PART, 3, AT(range.owner), SET, 2),
    LIE("allreduce", 2, 0, PART, 3, AT(range.owner), SET, HUGE),
    LIE("allreduce", 2, 0, PART, 3, AT(range.tag), ADD, 1),
    LIE("allreduce", 2, 1, PART, 3, AT(range.tag), ADD, 1),
    LIE("allreduce", 2, 0, PART, 3, AT(range.len), ADD, 1),
    LIE("allreduce", 2, 1, PART, 3, AT(range.len), SET, 0),
    LIE("allreduce", 2, 0, PART, 3, AT(range.len), SET, HUGE),
    LIE("allreduce", 2, 0, PART, 3, AT(range.last), SET, 1),
    LIE("allreduce", 2, 0, PART, 3, AT(range.number), ADD, 1),
    LIE("allreduce", 2, 1, PART, 3, AT(range.number), ADD, 1000),
    LIE("allreduce", 2, 0, PART, 3, AT(range.number), SET, 0),
    LIE("allreduce", 2, 1, PART, 3, AT(range.number), SET, HUGE),
    LIE("allreduce", 2, 0, PART, 3, AT(kind), SET, SUM),
    LIE("allreduce", 2, 1, SUM, 3, AT(kind), SET, PART),
    LIE("allreduce", 2, 0, SUM, 3, AT(range.owner), SET, 1),
    LIE("allreduce", 2, 1, SUM, 3, AT(range.from), SET, 0),
    LIE("allreduce", 2, 0, SUM, 3, AT(range.number), ADD, HUGE),
    LIE("allreduce", 2, 1, SUM, 3, AT(range.last), SET, 1),
    LIE("allreduce", 2, 1, SUM, 3, AT(bytes), ADD, 4),
    LIE("emulated", 2, 0, TOKEN, 3, AT(token.from), SET, 1),
    LIE("emulated", 2, 0, TOKEN, 3, AT(token.to), SET, HUGE),
    LIE("emulated", 2, 0, TOKEN, 3, AT(token.step), ADD, 1),
    LIE("emulated", 2, 0, TOKEN, 3, AT(token.step), SET, HUGE),
    LIE("emulated", 2, 0, TOKEN, 3, AT(token.number), ADD, 1000),
    LIE("emulated", 2, 0, TOKEN, 3, AT(token.scope), SET, MOT_COLL_GROUP),
    LIE("emulated", 2, 0, TOKEN, 3, AT(token.scope), SET, HUGE),
    LIE("emulated", 2, 0, TOKEN, 3, AT(token.coll), SET, MOT_COLL_TO_ROOT),
    LIE("emulated", 2, 0, TOKEN, 3, AT(token.coll), SET, HUGE),
    /* collectives of a group, to its root and to another; worker 2 is no root */
    LIE("circles", 2, 0, PART, 9, AT(range.scope), SET, MOT_COLL_ROOTS),
    LIE("circles", 2, 1, PART, 9, AT(range.scope), SET, MOT_COLL_ROOTS),
    LIE("circles", 2, 1, PART, 9, AT(range.scope), SET, MOT_COLL_SCOPES),
    LIE("circles", 2, 0, PART, 9, AT(range.scope), SET, HUGE),
    LIE("circles", 2, 0, PART, 9, AT(range.coll), ADD, 1),
    LIE("circles", 2, 0, PART, 10, AT(range.coll), ADD, 1),
    LIE("circles", 2, 0, PART, 11, AT(range.coll), ADD, 1),
    LIE("circles", 2, 1, PART, 9, AT(range.coll), ADD, 1),
    LIE("circles", 2, 1, PART, 10, AT(range.coll), SET, MOT_COLL_FROM_ROOT),
    LIE("circles", 2, 0, PART, 9, AT(range.coll), SET, HUGE),
    LIE("circles", 2, 0, PART, 9, AT(range.off), ADD, 1),
    LIE("circles", 2, 1, PART, 9, AT(range.off), ADD, 1),
    LIE("circles", 2, 1, PART, 9, AT(range.off), SET, HUGE),
    LIE("circles", 2, 0, PART, 9, AT(range.len), SET, HUGE),
    LIE("circles", 2, 0, PART, 9, AT(range.tag), ADD, 1),
    LIE("circles", 2, 1, PART, 9, AT(range.tag), ADD, 1),
    LIE("circles", 2, 0, PART, 9, AT(range.number), ADD, 1),
    LIE("circles", 2, 1, PART, 9, AT(range.number), ADD, 1),
    LIE("circles", 2, 1, PART, 9, AT(range.number), ADD, 2),
    LIE("circles", 2, 1, PART, 9, AT(range.number), SET, 0),
    LIE("circles", 2, 0, PART, 9, AT(range.last), SET, 1),
    LIE("circles", 2, 1, PART, 9, AT(kind), SET, SUM),
    LIE("circles", 2, 0, SUM, 3, AT(range.owner), SET, 0),
    LIE("circles", 2, 0, SUM, 3, AT(range.coll), SET, MOT_COLL_FROM_ROOT),
    LIE("circles", 2, 1, SUM, 3, AT(range.coll), SET, MOT_COLL_FROM_ROOT),
    LIE("circles", 2, 1, SUM, 3, AT(range.coll), SET, MOT_COLL_TO_ROOT),
    LIE("circles", 2, 1, SUM, 3, AT(range.number), ADD, 1),
    LIE("circles", 2, 0, SUM, 3, AT(kind), SET, PART),
    LIE("circles", 2, 1, SUM, 3, AT(bytes), ADD, 4),
    /* models that are shown */
    LIE("dpsgd", 2, 0, SHOW, 1, AT(show.node), SET, 1),
    LIE("dpsgd", 2, 0, SHOW, 1, AT(show.node), SET, HUGE),
    LIE("dpsgd", 2, 0, SHOW, 1, AT(show.buffer), SET, 1),
    LIE("dpsgd", 2, 0, SHOW, 1, AT(show.buffers), SET, HUGE),
    LIE("dpsgd", 2, 0, SHOW, 1, AT(show.off), SET, 1),
    LIE("dpsgd", 2, 0, SHOW, 1, AT(show.len), SET, 0),
    LIE("dpsgd", 2, 0, SHOW, 1, AT(show.len), SET, HUGE),
    LIE("dpsgd", 2, 0, SHOW, 1, AT(show.flags), SET, MOT_SHOW_FLAGS),
    LIE("dpsgd", 2, 0, SHOW, 1, AT(show.flags), SET, MOT_SHOW_MOVED), /* and no buffer for it */
    LIE("dpsgd", 2, 0, SHOW, 1, AT(show.unused), SET, 1),
    LIE("dpsgd", 2, 0, SHOW, 1, AT(show.at), SET, 0),
    /* rows of data, where rows move and where they do not */
    LIE("carousel", 2, 0, ROWS, 3, AT(message.from), SET, 1),
    LIE("carousel", 2, 0, ROWS, 3, AT(message.from), SET, HUGE),
    LIE("carousel", 2, 0, ROWS, 3, AT(message.to), SET, 1),
    LIE("carousel", 2, 0, ROWS, 3, AT(message.to), SET, HUGE),
    LIE("carousel", 2, 0, ROWS, 3, AT(message.kind), SET, 77),
    LIE("carousel", 2, 0, ROWS, 3, AT(message.kind), SET, 65536 + CAROUSEL_ROWS),
    LIE("carousel", 2, 0, ROWS, 3, AT(message.off), ADD, 2), /* another part */
    LIE("carousel", 2, 0, ROWS, 3, AT(message.off), SET, HUGE),
    LIE("carousel", 2, 0, ROWS, 3, AT(message.len), ADD, 1),
    LIE("carousel", 2, 0, ROWS, 3, AT(message.len), SET, 0),
    LIE("carousel", 2, 0, ROWS, 3, AT(message.round), ADD, 1),
    LIE("carousel", 2, 0, ROWS, 3, AT(message.round), SET, HUGE),
    LIE("carousel", 2, 0, ROWS, 3, AT(bytes), SET, 4),
    LIE("carousel", 2, 0, ROWS, 3, AT(body_sum), SET, 1),
    LIE("carousel", 2, 0, ROWS, 3, AT(kind), SET, MESSAGE),
    LIE("carousel", 2, 0, ROWS, 3, AT(kind), SET, CHUNK),
    LIE("carousel", 2, 0, CHUNK, 3, AT(chunk.from), SET, 1),
    LIE("carousel", 2, 0, CHUNK, 3, AT(chunk.from), SET, HUGE),
    LIE("carousel", 2, 0, CHUNK, 3, AT(chunk.to), SET, 1),
    LIE("carousel", 2, 0, CHUNK, 3, AT(chunk.to), SET, 3), /* the server, who is sent none */
    LIE("carousel", 2, 0, CHUNK, 3, AT(chunk.to), SET, HUGE),
    LIE("carousel", 2, 0, CHUNK, 3, AT(chunk.part), ADD, 1),
    LIE("carousel", 2, 0, CHUNK, 3, AT(chunk.part), SET, HUGE),
    LIE("carousel", 2, 0, CHUNK, 3, AT(chunk.first), ADD, 1),
    LIE("carousel", 2, 0, CHUNK, 3, AT(chunk.first), SET, HUGE),
    LIE("carousel", 2, 0, CHUNK, 3, AT(chunk.rows), ADD, HUGE),
    LIE("carousel", 2, 0, CHUNK, 3, AT(chunk.rows), SET, 0),
    LIE("carousel", 2, 0, CHUNK, 3, AT(chunk.rows), SET, HUGE),
    LIE("carousel", 2, 0, CHUNK, 3, AT(chunk.unused), SET, 1),
    LIE("carousel", 2, 0, CHUNK, 3, AT(bytes), ADD, 4),
    LIE("carousel", 2, 0, CHUNK, 3, AT(bytes), SET, 0),
    LIE("carousel", 2, 0, CHUNK, 3, AT(kind), SET, ROWS),
    LIE("carousel", 2, 0, CHUNK, 3, AT(kind), SET, MESSAGE),
    LIE("carousel", 2, 0, MESSAGE, 3, AT(kind), SET, ROWS),
    LIE("server", 2, 0, MESSAGE, 3, AT(kind), SET, ROWS),
    LIE("server", 2, 0, MESSAGE, 3, AT(kind), SET, CHUNK),
};

static const struct mot_method *const tested[] = { &carousel, &circles, NULL };

/* The experiments: none ends by itself before the lie is told. So async gives out jobs in shuffled order:
 * else two workers could make all updates while a busy machine does not let the third begin. */
static void set_up(struct team *t, const char *method)
{
    bool emulated = strcmp(method, "emulated") == 0;
    mot_methods_extend(tested);
    *t = (struct team){ .look = lie_look, .ranks = 3, .emulate = emulated };
    RUN_SET(&t->run, TINY, "method", emulated ? "allreduce" : method, "stop.updates", "200", "evaluate.every",
        "5 updates");
    if (strcmp(method, "async") == 0) RUN_SET(&t->run, "method.assign", "shuffled");
    if (emulated) RUN_SET(&t->run, "cluster", "{workers: [{count: 3, speed: 200000 samples/s}]}");
    if (!team_open(t)) abort();
}

/* Methods with a server go on without the liar. */
static void lie_to_all(struct team *t, struct lie l)
{
    t->self = &l;
    team_go(t);
    const struct mot_outcome *out = &t->member[0].out;
    CHECK(l.told);
    CHECK_INT(t->member[0].status, MOT_OK);
    CHECK_TEXT(out->peer_by, "damage");
    CHECK_INT(out->peer, 2);
    CHECK_INT(t->member[1].left_with, out->status);
    CHECK_INT(t->member[2].left_with, MOT_EPEER);
    if (strcmp(l.method, "allreduce") == 0 || strcmp(l.method, "emulated") == 0 ||
        strcmp(l.method, "carousel") == 0 || strcmp(l.method, "circles") == 0)
        CHECK_INT(out->status, MOT_EPEER);
}

TEST(what_cannot_be_loses_its_sender_by_damage_on_threads)
{
    struct team t;
    for (size_t i = 0; i < MOT_COUNT(lies); i++) {
        bool opens = i == 0 || strcmp(lies[i].method, lies[i - 1].method) != 0;
        if (opens && i > 0) team_close(&t);
        if (opens) set_up(&t, lies[i].method);
        if (SANITIZED && i % 3) continue;
        int before = test_failures;
        lie_to_all(&t, lies[i]);
        if (test_failures != before) printf("  that was lie %zu\n", i);
        team_forget(&t);
    }
    team_close(&t);
}

/* ---- Before the run, at its end, and by rank 0 ------------------------------------------------ */

struct end_lie {
    struct lie lie;
    /* what each rank leaves with; of rank 0's lies only the one who hears them can know */
    enum mot_status left[3];
    const char *error;   /* of rank 0; NULL: the run begins */
    const char *by;      /* of the rank that is lost, by rank 0's account, or NULL: none is */
    const char *zero_by; /* rank 2: how rank 0 was lost, or NULL */
};

#define LOST_EARLY "rank 2 was lost before the run began, by damage"
#define ALL_LEAVE                                                                                            \
    {                                                                                                        \
        MOT_EPEER, MOT_EPEER, MOT_EPEER                                                                      \
    }
#define GOES_ON                                                                                              \
    {                                                                                                        \
        MOT_OK, MOT_OK, MOT_EPEER                                                                            \
    }
static const struct end_lie end_lies[] = {
    { LIE("server", 2, 0, HELLO, 1, AT(hello.status), SET, 99), ALL_LEAVE, LOST_EARLY, NULL, NULL },
    { LIE("server", 2, 0, HELLO, 2, AT(hello.status), SET, HUGE), ALL_LEAVE, LOST_EARLY, NULL, NULL },
    { LIE("server", 2, 0, HELLO, 1, AT(raw[87]), SET, 1), ALL_LEAVE, LOST_EARLY, NULL, NULL },
    { LIE("server", 2, 0, HELLO, 1, AT(bytes), SET, 8), ALL_LEAVE, LOST_EARLY, NULL, NULL },
    { LIE("server", 2, 0, HELLO, 1, AT(bytes), SET, HUGE), ALL_LEAVE, LOST_EARLY, NULL, NULL },
    { LIE("server", 2, 0, HELLO, 1, AT(kind), SET, MESSAGE), ALL_LEAVE, LOST_EARLY, NULL, NULL },
    { LIE("server", 0, 2, VERDICT, 1, AT(verdict.status), SET, MOT_EDATA),
        { MOT_EPEER, MOT_EPEER, MOT_EDATA }, LOST_EARLY, NULL, NULL },
    { LIE("server", 0, 2, VERDICT, 2, AT(verdict.status), SET, MOT_EDATA), { MOT_OK, MOT_OK, MOT_EDATA },
        NULL, "damage", NULL },
    { LIE("server", 2, 0, FINAL, 1, AT(final.node), SET, 1), GOES_ON, NULL, "damage", NULL },
    { LIE("server", 2, 0, FINAL, 1, AT(final.node), SET, HUGE), GOES_ON, NULL, "damage", NULL },
    { LIE("server", 2, 0, FINAL, 1, AT(body_sum), SET, 0), GOES_ON, NULL, "damage", NULL },
    { LIE("server", 2, 0, FINAL, 1, AT(bytes), ADD, 8), GOES_ON, NULL, "damage", NULL },
    { LIE("server", 0, 2, END, 1, AT(bytes), SET, 8), GOES_ON, NULL, "death", "damage" },
    { LIE("server", 0, 2, END, 1, AT(kind), SET, ASK), GOES_ON, NULL, "death", "damage" },
    { LIE("server", 0, 2, END, 1, AT(kind), SET, BYE), GOES_ON, NULL, "death", "damage" },
    { LIE("server", 0, 2, MESSAGE, 3, AT(message.kind), SET, 77), GOES_ON, NULL, "death", "damage" },
    { LIE("server", 0, 2, MESSAGE, 3, AT(message.round), SET, HUGE), GOES_ON, NULL, "damage", NULL },
    { LIE("server", 0, 2, MESSAGE, 3, AT(message.from), SET, 1), GOES_ON, NULL, "death", "damage" },
};

static void lie_at_end(struct team *t, struct end_lie e)
{
    t->self = &e.lie;
    team_go(t);
    CHECK(e.lie.told);
    for (uint32_t r = 0; r < 3; r++) CHECK_INT(t->member[r].left_with, e.left[r]);
    if (e.error) {
        CHECK_TEXT(t->member[0].error, e.error);
        return;
    }
    CHECK_INT(t->member[0].out.last.updates, 200);
    if (e.by) CHECK_TEXT(t->member[0].out.peer_by, e.by);
    if (e.zero_by) CHECK_TEXT(t->member[2].out.peer_by, e.zero_by);
}

TEST(so_it_is_before_the_run_and_at_its_end_and_with_rank_0)
{
    struct team t;
    set_up(&t, "server");
    for (size_t i = 0; i < MOT_COUNT(end_lies); i++) {
        int before = test_failures;
        lie_at_end(&t, end_lies[i]);
        if (test_failures != before) printf("  that was lie %zu\n", i);
        team_forget(&t);
    }
    team_close(&t);
}

/* Worker 0's wish to end comes to one rank only: that rank leaves, and those who wait for it find out. */
TEST(a_rank_that_leaves_a_sum_alone_is_lost)
{
    struct team t;
    set_up(&t, "allreduce");
    struct lie l = LIE("allreduce", 0, 2, PART, 5, AT(range.last), SET, 1);
    t.self = &l;
    team_go(&t);
    CHECK_INT(t.member[0].out.status, MOT_EPEER);
    CHECK_INT(t.member[0].out.peer, 2);
    CHECK_TEXT(t.member[0].out.peer_by, "damage");
    team_forget(&t);
    team_close(&t);
}

/* ---- Any field, any value ----------------------------------------------------------------------- */

/* Many lies can be: other numbers of a method, another count of samples. Then the run goes its way, or stalls
 * until its time is over. What must not be: that a rank aborts, waits for ever, or leaves memory behind. */
struct fuzz {
    struct mot_rng rng;
    uint64_t seed;
    uint32_t from, to;
    int n;
    bool told;
};

static enum mot_loop_fate fuzz_look(void *self, struct mot_loop_frame *f)
{
    struct fuzz *z = self;
    if (z->told || f->from != z->from || f->to != z->to || f->envelope->kind == BEAT || --z->n > 0)
        return MOT_LOOP_PASS;
    z->told = true;
    size_t at = mot_rng_below(&z->rng, offsetof(struct mot_envelope, sum) / 4) * 4;
    uint32_t old, bit = 1u << mot_rng_below(&z->rng, 32);
    memcpy(&old, (unsigned char *)f->envelope + at, sizeof old);
    const uint32_t values[] = { 0, 1, UINT32_MAX, old + 1, old - 1, old ^ bit,
        (uint32_t)mot_rng_next(&z->rng), (uint32_t)mot_rng_below(&z->rng, 16) };
    uint32_t value = values[mot_rng_below(&z->rng, MOT_COUNT(values))];
    if (getenv("MOTLEY_FUZZ_SEED"))
        printf("  %u to %u, kind %u, at %zu: %u becomes %u\n", f->from, f->to, f->envelope->kind, at, old,
            value);
    change(f->envelope, at, sizeof value, SET, value, false);
    return MOT_LOOP_PASS;
}

/* MOTLEY_FUZZ_SEED=N MOTLEY_FUZZ_ROUNDS=5 plays one seed with each method, and says what was changed. */
static uint64_t fuzz_rounds(void)
{
    const char *rounds = getenv("MOTLEY_FUZZ_ROUNDS");
    if (rounds) return strtoull(rounds, NULL, 10);
    return getenv("MOTLEY_LONG") ? 20000 : SANITIZED ? 75 : 500;
}

static bool is_an_end(enum mot_status status) { return strcmp(mot_status_name(status), "unknown") != 0; }

TEST(no_field_of_an_envelope_can_hurt_a_rank)
{
    static const char *const methods[] = { "allreduce", "server", "async", "dpsgd", "carousel", "circles" };
    static const char *const updates[] = { "12", "12", "40", "12", "12", "12" };
    const char *from = getenv("MOTLEY_FUZZ_SEED");
    uint64_t first = from ? strtoull(from, NULL, 10) : 1, rounds = fuzz_rounds();
    mot_methods_extend(tested);
    for (size_t m = 0; m < MOT_COUNT(methods); m++) {
        struct team t = { .ranks = 3, .look = fuzz_look };
        RUN_SET(&t.run, TINY, "method", methods[m], "stop.updates", updates[m], "stop.time", "300ms",
            "evaluate.every", "4 updates", "checkpoint.every", "4 updates");
        CHECK(team_open(&t));
        uint64_t seed = first;
        for (; seed < first + rounds / MOT_COUNT(methods); seed++) {
            struct fuzz z = { .rng = mot_rng_at(seed, MOT_RNG_TEST, m), .seed = seed };
            z.from = (uint32_t)mot_rng_below(&z.rng, 3);
            z.to = (z.from + 1 + (uint32_t)mot_rng_below(&z.rng, 2)) % 3;
            z.n = 1 + (int)mot_rng_below(&z.rng, 30);
            t.self = &z;
            printf("  %s, seed %llu\r", methods[m], (unsigned long long)seed);
            fflush(stdout);
            team_go(&t);
            for (uint32_t r = 0; r < 3; r++) CHECK(is_an_end(t.member[r].left_with));
            team_forget(&t);
        }
        printf("  %s: seeds %llu to %llu\n", methods[m], (unsigned long long)first,
            (unsigned long long)seed - 1);
        team_close(&t);
    }
}

/* What a rank says it did comes as a body: its checksum fits, and its words may be anything. */
static enum mot_loop_fate account_look(void *self, struct mot_loop_frame *f)
{
    struct fuzz *z = self;
    if (f->envelope->kind != FINAL || f->from != 2) return MOT_LOOP_PASS;
    for (uint64_t words = 1 + mot_rng_below(&z->rng, 4); words > 0; words--) {
        uint32_t word = mot_rng_below(&z->rng, 2) ? (uint32_t)mot_rng_next(&z->rng) : UINT32_MAX;
        memcpy((unsigned char *)f->body + mot_rng_below(&z->rng, f->bytes / 4) * 4, &word, sizeof word);
    }
    f->envelope->body_sum = mot_body_sum(f->body, f->bytes);
    mot_envelope_seal(f->envelope);
    z->told = true;
    return MOT_LOOP_PASS;
}

TEST(no_word_of_what_a_rank_did_can_hurt_rank_0)
{
    struct team t = { .ranks = 3, .look = account_look };
    RUN_SET(&t.run, TINY, "method", "async", "stop.updates", "10");
    CHECK(team_open(&t));
    uint64_t seed = 1;
    for (; seed <= fuzz_rounds() / 4; seed++) {
        struct fuzz z = { .rng = mot_rng_at(seed, MOT_RNG_TEST, 99), .seed = seed };
        t.self = &z;
        printf("  seed %llu\r", (unsigned long long)seed);
        fflush(stdout);
        team_go(&t);
        CHECK(z.told);
        CHECK_INT(t.member[0].status, MOT_OK);
        CHECK_INT(t.member[0].out.last.updates, 10);
        for (uint32_t r = 0; r < 3; r++) CHECK(is_an_end(t.member[r].left_with));
        team_forget(&t);
    }
    printf("  seeds 1 to %llu\n", (unsigned long long)seed - 1);
    team_close(&t);
}

TEST_MAIN()
