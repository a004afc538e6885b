#include "wire/loop.h"
#include "base/memory.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A message in flight. Until it has a place in the queue, its body is the sender's. */
struct frame {
    struct frame *next;
    struct mot_envelope envelope;
    const void *lent; /* the sender's body and token */
    void *token;
    void *body; /* [bytes]: ours */
    size_t bytes;
    enum mot_loop_fate fate;
};

struct list {
    struct frame *first, **tail;
};

/* From one rank to another. */
struct link {
    struct list waiting; /* at the sender: the queue is full */
    struct list queue;
    uint32_t queued;
    struct list bodies; /* whose envelopes have arrived */
    bool cut, ended;    /* ended: the receiver has not been told yet */
};

/* What poll will report, or a body that is wanted. */
struct note {
    struct note *next;
    struct mot_wire_event event;
    void *into;
    size_t bytes;
};

struct end {
    struct mot_transport transport; /* first */
    struct mot_loop *loop;
    struct note *told, **told_tail;
    struct note **wanted; /* [ranks]: lists, oldest first */
    uint32_t sending, next;
    bool open, dead, left, closed;
};

struct mot_loop {
    uint32_t ranks;
    mot_loop_look *look;
    void *look_self;
    struct end *end;   /* [ranks] */
    struct link *link; /* [from * ranks + to] */
    unsigned char *exchanged;
    uint32_t there; /* ranks that have reached exchange */
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

static struct end *end_of(struct mot_transport *t) { return (struct end *)t; }

static struct link *link_of(const struct mot_loop *l, uint32_t from, uint32_t to)
{
    return &l->link[(size_t)from * l->ranks + to];
}

static void put(struct list *list, struct frame *f)
{
    f->next = NULL;
    *list->tail = f;
    list->tail = &f->next;
}

static struct frame *take(struct list *list)
{
    struct frame *f = list->first;
    list->first = f->next;
    if (!list->first) list->tail = &list->first;
    return f;
}

static void free_frame(struct frame *f)
{
    free(f->body);
    free(f);
}

static void tell(struct end *e, enum mot_wire_kind kind, uint32_t from, void *token)
{
    struct note *n = mot_new(1, sizeof(*n));
    n->event.kind = kind;
    n->event.from = from;
    n->event.token = token;
    *e->told_tail = n;
    e->told_tail = &n->next;
}

/* ---- Sending --------------------------------------------------------------------------------- */

/* The sender no longer needs it. */
static void is_sent(struct mot_loop *l, uint32_t from, uint32_t to, struct frame *f)
{
    struct end *e = &l->end[from];
    e->sending--;
    if (f->bytes && e->open) tell(e, MOT_WIRE_SENT, to, f->token);
    f->lent = f->token = NULL;
}

static void drop_list(struct mot_loop *l, uint32_t from, uint32_t to, struct list *list, bool waits)
{
    while (list->first) {
        struct frame *f = take(list);
        if (waits) is_sent(l, from, to, f);
        free_frame(f);
    }
}

/* Moves what waits into the queue, as far as there is room; to a closed end there always is. */
static void fill_queue(struct mot_loop *l, uint32_t from, uint32_t to)
{
    struct link *k = link_of(l, from, to);
    while (k->waiting.first && (k->queued < MOT_LOOP_ROOM || l->end[to].closed)) {
        struct frame *f = take(&k->waiting);
        if (f->bytes) {
            f->body = mot_new(1, f->bytes);
            memcpy(f->body, f->lent, f->bytes);
        }
        is_sent(l, from, to, f);
        struct mot_loop_frame seen = { from, to, &f->envelope, f->body, f->bytes };
        if (l->look && !k->cut) f->fate = l->look(l->look_self, &seen);
        if (f->fate == MOT_LOOP_CUT || f->fate == MOT_LOOP_END) k->cut = true;
        if (f->fate == MOT_LOOP_END) k->ended = true;
        if (f->fate == MOT_LOOP_KILL) {
            l->end[from].dead = true;
            pthread_cond_broadcast(&l->changed);
        }
        if (k->cut || f->fate == MOT_LOOP_DROP || l->end[from].dead || l->end[to].dead || l->end[to].closed) {
            free_frame(f);
            continue;
        }
        put(&k->queue, f);
        k->queued++;
    }
}

static void loop_send(
    struct mot_transport *t, uint32_t to, const struct mot_envelope *e, const void *body, void *token)
{
    struct end *end = end_of(t);
    struct mot_loop *l = end->loop;
    struct frame *f = mot_new(1, sizeof(*f));
    memcpy(&f->envelope, e, sizeof(*e));
    f->lent = body;
    f->token = token;
    f->bytes = e->bytes;
    pthread_mutex_lock(&l->lock);
    end->sending++;
    put(&link_of(l, t->rank, to)->waiting, f);
    fill_queue(l, t->rank, to);
    pthread_mutex_unlock(&l->lock);
}

static uint32_t loop_sending(const struct mot_transport *t)
{
    const struct end *e = (const struct end *)t;
    pthread_mutex_lock(&e->loop->lock);
    uint32_t n = e->sending;
    pthread_mutex_unlock(&e->loop->lock);
    return n;
}

/* ---- Receiving --------------------------------------------------------------------------------- */

/* Matches bodies that are here and wanted, in order. */
static void match_bodies(struct end *e, uint32_t from)
{
    struct link *k = link_of(e->loop, from, e->transport.rank);
    struct note **wanted = &e->wanted[from];
    while (*wanted && k->bodies.first && k->bodies.first->fate != MOT_LOOP_HALF) {
        struct frame *f = take(&k->bodies);
        struct note *n = *wanted;
        bool fits = f->bytes == n->bytes;
        if (fits) memcpy(n->into, f->body, n->bytes);
        *wanted = n->next;
        tell(e, fits ? MOT_WIRE_BODY : MOT_WIRE_VOID, from, n->event.token);
        free(n);
        free_frame(f);
    }
}

static void loop_receive(struct mot_transport *t, uint32_t from, void *into, size_t bytes, void *token)
{
    struct end *e = end_of(t);
    struct note *n = mot_new(1, sizeof(*n)), **at;
    n->into = into;
    n->bytes = bytes;
    n->event.token = token;
    pthread_mutex_lock(&e->loop->lock);
    for (at = &e->wanted[from]; *at;) at = &(*at)->next;
    *at = n;
    match_bodies(e, from);
    pthread_mutex_unlock(&e->loop->lock);
}

/* Whether the rest of that queue has to wait. */
static bool is_held(const struct link *k)
{
    return !k->queue.first || k->queue.first->fate == MOT_LOOP_HOLD ||
        (k->bodies.first && k->bodies.first->fate == MOT_LOOP_HALF);
}

static bool take_envelope(struct end *e, uint32_t from, struct mot_wire_event *out)
{
    struct mot_loop *l = e->loop;
    struct link *k = link_of(l, from, e->transport.rank);
    fill_queue(l, from, e->transport.rank);
    if (!k->queue.first && k->ended) {
        k->ended = false;
        out->kind = MOT_WIRE_BROKEN;
        out->from = from;
        return true;
    }
    if (is_held(k)) return false;
    struct frame *f = take(&k->queue);
    k->queued--;
    out->kind = MOT_WIRE_CAME;
    out->from = from;
    memcpy(&out->envelope, &f->envelope, sizeof(out->envelope));
    /* as with MPI, a body whose envelope announces none goes to the next envelope that announces one */
    if (f->bytes) put(&k->bodies, f);
    else free_frame(f);
    return true;
}

static bool loop_poll(struct mot_transport *t, struct mot_wire_event *out)
{
    struct end *e = end_of(t);
    bool found = false;
    pthread_mutex_lock(&e->loop->lock);
    if (e->told) {
        struct note *n = e->told;
        *out = n->event;
        e->told = n->next;
        if (!e->told) e->told_tail = &e->told;
        free(n);
        found = true;
    }
    for (uint32_t i = 0; i < t->ranks && !found && !e->dead; i++) {
        found = take_envelope(e, e->next, out);
        e->next = (e->next + 1) % t->ranks;
    }
    pthread_mutex_unlock(&e->loop->lock);
    return found;
}

/* ---- Ranks that are gone ----------------------------------------------------------------------- */

static bool loop_near(const struct mot_transport *t, uint32_t rank)
{
    (void)t;
    (void)rank;
    return true;
}

static void loop_watch(struct mot_transport *t, uint32_t rank)
{
    (void)t;
    (void)rank;
}

static bool loop_gone(const struct mot_transport *t, uint32_t rank)
{
    const struct end *e = (const struct end *)t;
    pthread_mutex_lock(&e->loop->lock);
    bool gone = e->dead || e->loop->end[rank].dead || e->loop->end[rank].left;
    pthread_mutex_unlock(&e->loop->lock);
    return gone;
}

static bool loop_end(struct mot_transport *t, uint32_t rank)
{
    struct end *e = end_of(t);
    pthread_mutex_lock(&e->loop->lock);
    bool dead = e->dead;
    pthread_mutex_unlock(&e->loop->lock);
    if (!dead) mot_loop_kill(e->loop, rank);
    return true;
}

static bool loop_forget(struct mot_transport *t, uint32_t rank)
{
    struct end *e = end_of(t);
    struct mot_loop *l = e->loop;
    pthread_mutex_lock(&l->lock);
    struct link *in = link_of(l, rank, t->rank), *out = link_of(l, t->rank, rank);
    drop_list(l, rank, t->rank, &in->queue, false);
    drop_list(l, rank, t->rank, &in->bodies, false);
    in->queued = 0;
    in->cut = true;
    in->ended = false;
    drop_list(l, t->rank, rank, &out->waiting, true);
    while (e->wanted[rank]) {
        struct note *n = e->wanted[rank];
        e->wanted[rank] = n->next;
        tell(e, MOT_WIRE_VOID, rank, n->event.token);
        free(n);
    }
    pthread_mutex_unlock(&l->lock);
    return true;
}

void mot_loop_kill(struct mot_loop *l, uint32_t rank)
{
    pthread_mutex_lock(&l->lock);
    l->end[rank].dead = true;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

static void release_list(struct list *list)
{
    for (struct frame *f = list->first; f; f = f->next) f->fate = MOT_LOOP_PASS;
}

void mot_loop_release(struct mot_loop *l)
{
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < (size_t)l->ranks * l->ranks; i++) {
        release_list(&l->link[i].queue);
        release_list(&l->link[i].bodies);
    }
    for (uint32_t from = 0; from < l->ranks; from++)
        for (uint32_t to = 0; to < l->ranks; to++)
            if (l->end[to].open) match_bodies(&l->end[to], from);
    pthread_mutex_unlock(&l->lock);
}

/* ---- Opening and closing --------------------------------------------------------------------------- */

static void loop_exchange(struct mot_transport *t, const void *mine, void *all, size_t bytes)
{
    struct mot_loop *l = end_of(t)->loop;
    pthread_mutex_lock(&l->lock);
    if (!l->exchanged) l->exchanged = mot_new(l->ranks, bytes);
    memcpy(l->exchanged + t->rank * bytes, mine, bytes);
    l->there++;
    pthread_cond_broadcast(&l->changed);
    while (l->there < l->ranks) pthread_cond_wait(&l->changed, &l->lock);
    memcpy(all, l->exchanged, bytes * l->ranks);
    pthread_mutex_unlock(&l->lock);
}

static uint32_t ranks_left(const struct mot_loop *l)
{
    uint32_t n = 0;
    for (uint32_t r = 0; r < l->ranks; r++) n += l->end[r].open && !l->end[r].dead;
    return n;
}

/* Sends what is still unsent even if there is no room; the memory is then the sender's again. */
static void hand_over(struct end *e)
{
    struct mot_loop *l = e->loop;
    for (uint32_t to = 0; to < l->ranks; to++) {
        struct link *k = link_of(l, e->transport.rank, to);
        while (k->waiting.first) {
            uint32_t queued = k->queued;
            k->queued = 0;
            fill_queue(l, e->transport.rank, to);
            k->queued += queued;
        }
    }
}

static void loop_close(struct mot_transport *t, enum mot_wire_leave leave, int code)
{
    struct end *e = end_of(t);
    struct mot_loop *l = e->loop;
    (void)code;
    pthread_mutex_lock(&l->lock);
    hand_over(e);
    e->open = false;
    e->closed = true;
    for (uint32_t r = 0; r < l->ranks; r++) fill_queue(l, r, t->rank);
    e->left = leave != MOT_WIRE_FINISH;
    for (uint32_t r = 0; r < l->ranks && leave == MOT_WIRE_ABORT; r++) l->end[r].dead = true;
    pthread_cond_broadcast(&l->changed);
    /* like MPI_Finalize: all leave together */
    while (leave == MOT_WIRE_FINISH && ranks_left(l) > 0) pthread_cond_wait(&l->changed, &l->lock);
    for (uint32_t r = 0; r <= l->ranks; r++) {
        struct note **list = r < l->ranks ? &e->wanted[r] : &e->told;
        while (*list) {
            struct note *n = *list;
            *list = n->next;
            free(n);
        }
    }
    e->told_tail = &e->told;
    pthread_mutex_unlock(&l->lock);
}

static const struct mot_transport_ops loop_ops = { .name = "loop",
    .exchange = loop_exchange,
    .send = loop_send,
    .receive = loop_receive,
    .poll = loop_poll,
    .sending = loop_sending,
    .near = loop_near,
    .watch = loop_watch,
    .gone = loop_gone,
    .end = loop_end,
    .forget = loop_forget,
    .close = loop_close };

struct mot_loop *mot_loop_new(uint32_t ranks, mot_loop_look *look, void *self)
{
    struct mot_loop *l = mot_new(1, sizeof(*l));
    l->ranks = ranks;
    l->look = look;
    l->look_self = self;
    l->end = mot_new(ranks, sizeof(*l->end));
    l->link = mot_new((size_t)ranks * ranks, sizeof(*l->link));
    for (size_t i = 0; i < (size_t)ranks * ranks; i++) {
        l->link[i].waiting.tail = &l->link[i].waiting.first;
        l->link[i].queue.tail = &l->link[i].queue.first;
        l->link[i].bodies.tail = &l->link[i].bodies.first;
    }
    for (uint32_t r = 0; r < ranks; r++) {
        struct end *e = &l->end[r];
        e->transport = (struct mot_transport){ .ops = &loop_ops, .rank = r, .ranks = ranks };
        e->loop = l;
        e->told_tail = &e->told;
        e->wanted = mot_new(ranks, sizeof(*e->wanted));
        e->open = true;
    }
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
    return l;
}

enum mot_status mot_loop_open(struct mot_loop *l, uint32_t rank, struct mot_transport **out)
{
    if (rank >= l->ranks) return mot_fail(MOT_EUSAGE, "rank %u of %u", rank, l->ranks);
    *out = &l->end[rank].transport;
    return MOT_OK;
}

void mot_loop_free(struct mot_loop *l)
{
    for (size_t i = 0; i < (size_t)l->ranks * l->ranks; i++) {
        struct list *const lists[] = { &l->link[i].waiting, &l->link[i].queue, &l->link[i].bodies };
        for (int k = 0; k < 3; k++)
            while (lists[k]->first) free_frame(take(lists[k]));
    }
    for (uint32_t r = 0; r < l->ranks; r++) free(l->end[r].wanted);
    free(l->exchanged);
    free(l->end);
    free(l->link);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->changed);
    free(l);
}
