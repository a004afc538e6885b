#include "live/rests.h"

#include "base/memory.h"
#include "base/stopwatch.h"
#include "compress/compress.h"
#include "live/judge.h"
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define PATIENCE_NS UINT64_C(30000000000) /* without an answer from anyone who is not lost */
#define LOOK_UP_NS UINT64_C(100000000)
#define NOT_YET UINT64_MAX
#define GATHERS_MOST 5u /* checkpoints for which answers are held or on their way: see MOT_LIVE_HELD */

bool mot_live_has_rests(const struct mot_live *l)
{
    const struct mot_experiment *x = l->experiment;
    return l->world.compress && l->world.servers && x->traits.packs == MOT_PACKS_GRADIENTS &&
        x->method->packer;
}

struct mot_slice mot_live_range(const struct mot_live *l, mot_buf b, uint32_t server)
{
    struct mot_env env = { .world = &l->world };
    return mot_shard(&env, b, server, l->world.servers);
}

/* How many are kept for a server. */
static uint32_t room_of(const struct mot_live *l, mot_node worker)
{
    return l->experiment->method->need(l->experiment->method_conf, &l->world, worker).sends /
        l->world.servers +
        2;
}

uint32_t mot_live_rests_sent(const struct mot_live *l) { return 16 + 2 * l->world.servers; }

/* For each worker and server: the one of a resumed run, those kept, and those held for checkpoints. */
uint32_t mot_live_rests_buffers(const struct mot_live *l)
{
    uint32_t all = l->rests ? mot_live_rests_sent(l) : 0;
    for (mot_node i = 0; l->rests && i < l->world.workers; i++)
        all += l->world.servers * (1 + 2 * room_of(l, i) + GATHERS_MOST);
    return all;
}

/* ---- At a worker ------------------------------------------------------------------------------------ */

struct version {
    uint64_t number; /* messages sent by then */
    struct mot_left left;
};

struct mot_rests {
    pthread_mutex_t lock;
    uint32_t room;
    struct mot_rests_to { /* a server */
        uint64_t sent;
        uint32_t n;
        struct version *version; /* [room]: the first is what the server told of last, or older */
    } to[];
};

static void drop_at(struct mot_live *l, struct mot_rests_to *to, uint32_t i)
{
    mot_pool_drop(&l->pool, to->version[i].left.rest);
    to->n--;
    memmove(&to->version[i], &to->version[i + 1], (to->n - i) * sizeof(*to->version));
}

/* What a resumed run goes on with; init takes it over. */
static void fill_left(struct mot_live *l, mot_node self)
{
    for (uint32_t server = 0; l->left && server < l->world.servers; server++) {
        const struct mot_live_rest *from = &l->from->rest[self * l->world.servers + server];
        struct mot_slice range = mot_live_range(l, MOT_NO_BUF, server);
        if (!from->x) continue;
        mot_buf b = mot_pool_take_range(&l->pool, range.off, range.len);
        memcpy(mot_pool_at(&l->pool, b) + range.off, from->x, range.len * sizeof(float));
        l->left[self * l->world.servers + server].rest = b;
    }
}

void mot_rests_open(struct mot_live_node *n)
{
    struct mot_live *l = n->live;
    mot_node self = n->actor.self;
    if (self >= l->world.workers) {
        if (!l->rests) return;
        n->taken = mot_new_large(l->world.workers, sizeof(*n->taken));
        n->took = mot_new_large(l->world.workers, sizeof(*n->took));
        return;
    }
    fill_left(l, self);
    if (!l->rests) return;
    uint32_t servers = l->world.servers, room = room_of(l, self);
    struct mot_rests *r = mot_new_large(1, sizeof(*r) + servers * sizeof(*r->to));
    struct version *version = mot_new_large((size_t)servers * room, sizeof(*version));
    if (!r || !version) {
        free(r);
        free(version);
        return;
    }
    pthread_mutex_init(&r->lock, NULL);
    r->room = room;
    for (uint32_t server = 0; server < servers; server++) r->to[server].version = version + server * room;
    n->rests = r;
}

void mot_rests_close(struct mot_live_node *n)
{
    free(n->taken);
    free(n->took);
    if (!n->rests) return;
    free(n->rests->to[0].version);
    pthread_mutex_destroy(&n->rests->lock);
    free(n->rests);
}

/* Keeps what is left for the server after its last message. */
static void keep(struct mot_live_node *n, uint32_t server)
{
    struct mot_live *l = n->live;
    const struct mot_experiment *x = l->experiment;
    struct mot_env env = mot_env_of(x, &n->world, n->actor.self, 0, &l->pool, &n->outbox);
    const struct mot_packer *p = x->method->packer(n->actor.state, &env, server);
    struct mot_rests_to *to = &n->rests->to[server];
    struct mot_left left = { 0 };
    if (p) {
        left = (struct mot_left){ .lost = p->lost, .packs = p->packs };
        MOT_ASSERT(p->whole == MOT_NO_BUF && "a worker sends what it has weighed at once");
    }
    if (p && p->rest != MOT_NO_BUF) {
        left.rest = p->rest;
        left.weight = p->weight;
        mot_pool_hold(&l->pool, left.rest);
    }
    if (to->n == n->rests->room) drop_at(l, to, 1);
    to->version[to->n++] = (struct version){ .number = to->sent, .left = left };
}

void mot_rests_begin(struct mot_live_node *n)
{
    struct mot_live *l = n->live;
    mot_node self = n->actor.self;
    if (self >= l->world.workers) return;
    for (uint32_t server = 0; l->left && server < l->world.servers; server++) {
        struct mot_left *left = &l->left[self * l->world.servers + server];
        mot_pool_drop(&l->pool, left->rest); /* the node has it, if it wants it */
        left->rest = MOT_NO_BUF;
    }
    for (uint32_t server = 0; n->rests && server < l->world.servers; server++) keep(n, server);
}

void mot_rests_sent(struct mot_live_node *n, uint32_t server)
{
    pthread_mutex_lock(&n->rests->lock);
    n->rests->to[server].sent++;
    keep(n, server);
    pthread_mutex_unlock(&n->rests->lock);
}

static uint32_t place_of(const struct mot_rests_to *to, uint64_t number)
{
    uint32_t i = 0;
    while (i < to->n && to->version[i].number != number) i++;
    return i;
}

void mot_rests_told(struct mot_live_node *n, uint32_t server, uint64_t took)
{
    struct mot_rests_to *to = &n->rests->to[server];
    pthread_mutex_lock(&n->rests->lock);
    uint32_t older = place_of(to, took);
    if (older < to->n) /* else a peer talks nonsense, which costs only memory */
        while (older-- > 0) drop_at(n->live, to, 0);
    pthread_mutex_unlock(&n->rests->lock);
}

bool mot_rests_after(struct mot_live_node *n, uint32_t server, uint64_t number, struct mot_left *out)
{
    struct mot_rests_to *to = &n->rests->to[server];
    pthread_mutex_lock(&n->rests->lock);
    uint32_t i = place_of(to, number);
    bool found = i < to->n;
    if (found) {
        *out = to->version[i].left;
        if (out->rest != MOT_NO_BUF) mot_pool_hold(&n->live->pool, out->rest);
    }
    pthread_mutex_unlock(&n->rests->lock);
    return found;
}

uint64_t mot_live_rests_hash(const struct mot_live *l, const struct mot_live_checkpoint *c)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < c->rests; i++) {
        const struct mot_live_rest *r = &c->rest[i];
        uint32_t floats = mot_live_range(l, MOT_NO_BUF, i % l->world.servers).len;
        hash = XXH64(&r->packs, sizeof(r->packs), hash);
        hash = XXH64(&r->weight, sizeof(r->weight), hash);
        hash = XXH64(&r->lost, sizeof(r->lost), hash);
        if (r->x) hash = XXH64(r->x, floats * sizeof(*r->x), hash);
    }
    return hash;
}

/* ---- At a server ------------------------------------------------------------------------------------ */

bool mot_live_wants_rests(const struct mot_live *l, const struct mot_shown *s)
{
    const struct mot_experiment *x = l->experiment;
    if (!l->rests) return false;
    if (s->last || s->asked || x->stop.target != MOT_TARGET_NONE) return true;
    return mot_course_due(&l->course, &x->checkpoint, s->at - 1) == s->at;
}

void mot_live_ask_rests(struct mot_live_node *n, const struct mot_shown *s)
{
    const struct mot_world *w = &n->live->world;
    for (mot_node i = 0; i < w->workers; i++)
        n->port->want(n->port,
            &(struct mot_want){ .worker = i,
                .server = n->actor.self - w->workers,
                .number = n->took[i],
                .at = s->at,
                .asked = s->asked,
                .last = s->last });
}

/* ---- At the judge ----------------------------------------------------------------------------------- */

struct mot_gather {
    struct mot_gather *next;
    uint64_t at;
    bool asked, last;
    uint32_t missing;
    uint64_t heard_ns; /* when it became due, or an answer came; NOT_YET */
    struct answer {
        bool here, lost;
        struct mot_left left; /* its buffer is held; or x has the floats */
        float *x;
    } answer[]; /* [workers][servers] */
};

/* NULL if memory is refused: what was left is not saved then, nor is anything else. */
static struct mot_gather *new_gather(const struct mot_live *l)
{
    size_t pairs = (size_t)l->world.workers * l->world.servers;
    return mot_new_large(1, sizeof(struct mot_gather) + pairs * sizeof(struct answer));
}

static struct answer *answer_of(
    const struct mot_live *l, struct mot_gather *g, mot_node worker, uint32_t server)
{
    return &g->answer[worker * l->world.servers + server];
}

struct mot_gather *mot_gather_open(struct mot_live_judge *j, const struct mot_shown *s)
{
    const struct mot_world *w = &j->live->world;
    struct mot_gather *g = new_gather(j->live);
    if (!g) return NULL;
    g->at = s->at;
    g->asked = s->asked;
    g->last = s->last;
    g->heard_ns = mot_live_judge_several(j) ? NOT_YET : mot_wall_ns();
    for (mot_node i = 0; i < w->workers; i++)
        for (uint32_t server = 0; server < w->servers; server++) {
            struct answer *a = answer_of(j->live, g, i, server);
            a->lost = j->lost[i] || j->lost[w->workers + server];
            g->missing += !a->lost;
        }
    g->next = j->gathers;
    j->gathers = g;
    return g;
}

struct mot_gather *mot_gather_beginning(struct mot_live_judge *j)
{
    const struct mot_live *l = j->live;
    struct mot_gather *g = new_gather(l);
    for (uint32_t i = 0; g && i < l->world.workers * l->world.servers; i++) {
        struct answer *a = &g->answer[i];
        a->here = true;
        if (!l->from || !l->from->rest) continue;
        const struct mot_live_rest *from = &l->from->rest[i];
        a->left = (struct mot_left){ .weight = from->weight, .lost = from->lost, .packs = from->packs };
        if (from->x) a->x = mot_floats_copy(from->x, mot_live_range(l, MOT_NO_BUF, i % l->world.servers).len);
    }
    return g;
}

void mot_gather_close(struct mot_live_judge *j, struct mot_gather *g)
{
    const struct mot_world *w = &j->live->world;
    if (!g) return;
    struct mot_gather **at = &j->gathers;
    while (*at && *at != g) at = &(*at)->next;
    if (*at) *at = g->next;
    for (uint32_t i = 0; i < w->workers * w->servers; i++) {
        mot_pool_drop(&j->live->pool, g->answer[i].left.rest);
        free(g->answer[i].x);
    }
    free(g);
}

static bool is_for(const struct mot_gather *g, const struct mot_want *w)
{
    return g->last == w->last && (g->last || (g->at == w->at && g->asked == w->asked));
}

struct mot_gather *mot_gather_find(const struct mot_live_judge *j, const struct mot_want *w)
{
    struct mot_gather *g = j->gathers;
    while (g && !is_for(g, w)) g = g->next;
    return g;
}

static bool is_worth_waiting(const struct mot_gather *g)
{
    return g->missing && g->heard_ns != NOT_YET && mot_wall_ns() - g->heard_ns < PATIENCE_NS;
}

void mot_gather_due(struct mot_gather *g)
{
    if (g && g->heard_ns == NOT_YET) g->heard_ns = mot_wall_ns();
}

bool mot_gather_any(const struct mot_live_judge *j)
{
    bool any = false;
    for (const struct mot_gather *g = j->gathers; g; g = g->next) any |= is_worth_waiting(g);
    return any;
}

void mot_gather_await(struct mot_live_judge *j, struct mot_gather *g)
{
    if (!g) return;
    pthread_mutex_lock(&j->lock);
    while (is_worth_waiting(g)) {
        struct timespec until = mot_wall_in(LOOK_UP_NS);
        pthread_cond_timedwait(&j->answered, &j->lock, &until);
    }
    pthread_mutex_unlock(&j->lock);
}

bool mot_live_judge_awaits(struct mot_live_judge *j)
{
    pthread_mutex_lock(&j->lock);
    bool any = mot_gather_any(j);
    pthread_mutex_unlock(&j->lock);
    return any;
}

void mot_gather_lost(struct mot_live_judge *j, mot_node node)
{
    const struct mot_world *w = &j->live->world;
    for (struct mot_gather *g = j->gathers; g; g = g->next)
        for (uint32_t i = 0; i < w->workers * w->servers; i++) {
            struct answer *a = &g->answer[i];
            bool its = node == i / w->servers || node == w->workers + i % w->servers;
            if (!its || a->here || a->lost) continue;
            a->lost = true;
            g->missing--;
        }
    pthread_cond_signal(&j->answered);
}

/* Takes over the answer. */
static void put_answer(
    struct mot_live_judge *j, struct mot_gather *g, mot_node worker, uint32_t server, struct answer is)
{
    struct answer *a = g ? answer_of(j->live, g, worker, server) : NULL;
    if (!a || a->here || a->lost) { /* nobody needs it any more */
        mot_pool_drop(&j->live->pool, is.left.rest);
        free(is.x);
        return;
    }
    *a = is;
    a->lost = !a->here;
    g->missing--;
    if (g->heard_ns != NOT_YET) g->heard_ns = mot_wall_ns();
    pthread_cond_signal(&j->answered);
}

static struct answer copy_answer(const struct mot_live_judge *j, const struct answer *a, uint32_t server)
{
    struct answer twin = *a;
    if (a->left.rest != MOT_NO_BUF) mot_pool_hold(&j->live->pool, a->left.rest);
    if (a->x) twin.x = mot_floats_copy(a->x, mot_live_range(j->live, MOT_NO_BUF, server).len);
    return twin;
}

void mot_gather_ended(
    struct mot_live_judge *j, struct mot_gather *g, struct mot_gather *ending, uint32_t server)
{
    for (mot_node i = 0; i < j->live->world.workers; i++) {
        const struct answer *a = answer_of(j->live, ending, i, server);
        if (a->here) put_answer(j, g, i, server, copy_answer(j, a, server));
    }
}

void mot_live_judge_rest(
    struct mot_live_judge *j, const struct mot_want *w, const struct mot_left *left, float *x)
{
    struct answer a = { .here = left != NULL, .x = x };
    if (left) a.left = *left;
    pthread_mutex_lock(&j->lock);
    /* A server that has ended answers no more asks: what goes with its end stands in. */
    for (struct mot_gather *g = w->last ? j->gathers : NULL; g; g = g->next)
        if (g->asked) put_answer(j, g, w->worker, w->server, copy_answer(j, &a, w->server));
    put_answer(j, mot_live_judge_gather(j, w), w->worker, w->server, a);
    pthread_mutex_unlock(&j->lock);
}

struct mot_live_rest *mot_gather_rests(
    struct mot_live_judge *j, const struct mot_gather *g, uint32_t *missing, mot_node *first)
{
    const struct mot_live *l = j->live;
    const struct mot_world *w = &l->world;
    struct mot_live_rest *rest = mot_new_large((size_t)w->workers * w->servers, sizeof(*rest));
    *missing = 0;
    if (!rest) return NULL;
    pthread_mutex_lock(&j->lock);
    for (mot_node i = w->workers; i-- > 0;) {
        bool all = true;
        for (uint32_t server = 0; server < w->servers; server++) {
            uint32_t k = i * w->servers + server;
            const struct answer *a = &g->answer[k];
            all &= a->here;
            rest[k] = (struct mot_live_rest){
                .weight = a->left.weight, .lost = a->left.lost, .packs = a->left.packs, .x = a->x
            };
            if (a->left.rest != MOT_NO_BUF)
                rest[k].x = mot_pool_at(&l->pool, a->left.rest) + mot_live_range(l, MOT_NO_BUF, server).off;
            if (!rest[k].x) rest[k].weight = 0;
        }
        if (all) continue;
        ++*missing;
        *first = i;
    }
    pthread_mutex_unlock(&j->lock);
    return rest;
}
