/* Live nodes whose workers are lost and come back: the same nodes as on threads and over ranks, in one
 * thread, over ports of this test's own, which can lose a node and begin it anew. */
#include "api/job.h"
#include "live/live.h"
#include "live/node.h"
#include "run/run.h"

#define WORKERS 3
#define NODES_MOST 4
#define LETTERS 64

struct house;
struct own_port {
    struct mot_port port;
    struct house *house;
    struct mot_arrival letter[LETTERS];
    uint32_t letters;
    mot_node self;
};
struct house {
    struct run run;
    struct mot_live live;
    struct mot_live_node node[NODES_MOST];
    struct own_port port[NODES_MOST];
    bool lost[NODES_MOST], ended;
    uint64_t samples;
};

static void post(struct house *h, mot_node to, struct mot_arrival a)
{
    struct own_port *p = &h->port[to];
    if (p->letters == LETTERS) abort();
    p->letter[p->letters++] = a;
}

static void port_send(struct mot_port *port, const struct mot_message *m)
{
    struct own_port *own = (struct own_port *)port;
    struct house *h = own->house;
    bool gone = h->lost[m->to];
    for (uint32_t i = 0; i < own->letters; i++) /* meant for a life that is over: word of it waits here */
        gone |= own->letter[i].kind == MOT_ARRIVAL_PEER && own->letter[i].peer.node == m->to;
    if (gone) mot_pool_drop(&h->live.pool, m->body.buf);
    else post(h, m->to, (struct mot_arrival){ .kind = MOT_ARRIVAL_MESSAGE, .message = *m });
}

static bool port_poll(struct mot_port *port, struct mot_arrival *out)
{
    struct own_port *p = (struct own_port *)port;
    if (p->letters == 0) return false;
    *out = p->letter[0];
    memmove(p->letter, p->letter + 1, --p->letters * sizeof p->letter[0]);
    return true;
}

static void port_end(struct mot_port *port) { ((struct own_port *)port)->house->ended = true; }
static bool port_ended(const struct mot_port *port) { return ((const struct own_port *)port)->house->ended; }
static uint64_t port_samples(struct mot_port *port, uint64_t more)
{
    return ((struct own_port *)port)->house->samples += more;
}

static void open_port(struct house *h, mot_node i)
{
    h->port[i] = (struct own_port){ .port = { .send = port_send,
                                        .poll = port_poll,
                                        .end = port_end,
                                        .ended = port_ended,
                                        .samples = port_samples },
        .house = h,
        .self = i };
}

/* The node begins; life: how often it has before. */
static void begin(struct house *h, mot_node i, uint32_t life)
{
    mot_live_node_open(&h->node[i], &h->live, &h->port[i].port, i);
    h->node[i].life = life;
    mot_live_node_init(&h->node[i]);
    h->lost[i] = false;
    mot_live_node_begin(&h->node[i]);
}

static bool house_open(struct house *h, const char *method, const char *elastic)
{
    *h = (struct house){ 0 };
    struct run *r = &h->run;
    RUN_SET(r, "data", "digits", "data.rows", "100", "model", "softmax", "method", method, "batch", "8",
        "workers", "3", "elastic", elastic, "stop.updates", "100000", "evaluate.every", "1000000 updates");
    if (strcmp(method, "dpsgd") == 0) RUN_SET(r, "method.on_loss", "continue", "optimizer.momentum", "0.9");
    if (mot_experiment_open(NULL, r->setting, r->settings, &r->experiment) != MOT_OK ||
        mot_job_open(r->experiment, &r->job) != MOT_OK)
        return false;
    struct mot_driver_options o = {
        .experiment = r->experiment, .problem = &r->job.problem, .optim = &r->job.optim, .x0 = r->job.x0
    };
    if (mot_live_open(&h->live, &o) != MOT_OK) return false;
    mot_live_begin(&h->live, NULL);
    if (mot_live_reserve(&h->live, &o, 400) != MOT_OK) return false;
    h->live.began_ns = mot_live_now(&h->live);
    for (mot_node i = 0; i < h->live.world.nodes; i++) open_port(h, i);
    for (mot_node i = 0; i < h->live.world.nodes; i++) begin(h, i, 0);
    return true;
}

static void house_close(struct house *h)
{
    for (mot_node i = 0; i < h->live.world.nodes; i++)
        if (!h->lost[i]) mot_live_node_close(&h->node[i]);
    mot_live_release(&h->live);
    mot_live_close(&h->live);
    mot_job_close(&h->run.job);
    mot_experiment_close(h->run.experiment);
}

/* Turns of all who are there, until the server, or without one worker 0, has made so many updates, or nobody
 * has anything to do. */
static void go_on(struct house *h, uint64_t updates)
{
    for (bool did = true; did && !h->ended && h->node[h->live.lead].actor.advanced < updates;) {
        mot_time next;
        did = false;
        for (mot_node i = 0; i < h->live.world.nodes; i++)
            did =
                (!h->lost[i] && !mot_live_node_over(&h->node[i]) && mot_live_node_turn(&h->node[i], &next)) ||
                did;
    }
}

/* Tells the server, or without one all workers that are there. Nothing of an earlier life comes after it. */
static void tell(struct house *h, struct mot_peer peer)
{
    const struct mot_world *w = &h->live.world;
    for (mot_node to = w->servers ? w->workers : 0; to < w->nodes; to++) {
        struct own_port *p = &h->port[to];
        uint32_t kept = 0;
        if (h->lost[to] || to == peer.node) continue;
        for (uint32_t i = 0; i < p->letters; i++)
            if (p->letter[i].kind != MOT_ARRIVAL_MESSAGE || p->letter[i].message.from != peer.node)
                p->letter[kept++] = p->letter[i];
        p->letters = kept;
        post(h, to, (struct mot_arrival){ .kind = MOT_ARRIVAL_PEER, .peer = peer });
    }
}

/* What was under way to it is gone; what it held stays in the pool, which has room for it. */
static void lose(struct house *h, mot_node worker)
{
    h->lost[worker] = true;
    mot_live_node_close(&h->node[worker]);
    h->port[worker].letters = 0;
    tell(h, (struct mot_peer){ .node = worker });
}

static void bring_back(struct house *h, mot_node worker)
{
    begin(h, worker, 1);
    tell(h, (struct mot_peer){ .node = worker, .life = 1, .up = true });
}

static const char *const methods[] = { "server", "async", "rennala", "malenia", "ringmaster", "ringleader",
    "ia2sgd", "fedbuff", "ca2fl", "fedavg", "mindflayer", "gasync" };

TEST(a_live_server_waits_for_workers_and_goes_on_when_they_are_back)
{
    for (size_t m = 0; m < MOT_COUNT(methods); m++) {
        struct house h;
        CHECK(house_open(&h, methods[m], "true"));
        struct mot_live_node *server = &h.node[WORKERS];
        go_on(&h, 20);
        CHECK_INT(server->actor.advanced, 20);
        for (mot_node i = 0; i < WORKERS; i++) lose(&h, i);
        go_on(&h, 1000); /* until nothing is left to do */
        CHECK(!server->finished && !h.ended);
        uint64_t waited_at = server->actor.advanced;
        CHECK(waited_at <= 21); /* what was there may have made one more */
        bring_back(&h, 1);
        go_on(&h, waited_at + 10);
        CHECK_INT(server->actor.advanced, waited_at + 10);
        bring_back(&h, 0);
        bring_back(&h, 2);
        go_on(&h, waited_at + 40);
        CHECK_INT(server->actor.advanced, waited_at + 40);
        for (mot_node i = 0; i < WORKERS; i++) CHECK(h.node[i].actor.tally.jobs > 0);
        house_close(&h);
    }
}

TEST(a_live_server_that_is_not_elastic_ends_with_its_last_worker)
{
    for (size_t m = 0; m < MOT_COUNT(methods); m++) {
        struct house h;
        CHECK(house_open(&h, methods[m], "false"));
        go_on(&h, 20);
        for (mot_node i = 0; i < WORKERS; i++) lose(&h, i);
        go_on(&h, 1000);
        CHECK(h.node[WORKERS].finished);
        CHECK_INT(h.node[WORKERS].status, MOT_EPEER);
        house_close(&h);
    }
}

/* D-PSGD's worker looks at it: a new life has no model, and waits for one. */
TEST(a_live_node_is_told_which_life_it_has)
{
    for (uint32_t life = 0; life < 2; life++) {
        struct house h;
        CHECK(house_open(&h, "dpsgd", "false"));
        mot_live_node_close(&h.node[2]);
        begin(&h, 2, life);
        CHECK((mot_actor_next(&h.node[2].actor) || mot_actor_running(&h.node[2].actor)) == (life == 0));
        house_close(&h);
    }
}

TEST(without_a_server_a_live_worker_that_is_back_gets_a_model_from_a_neighbour_and_keeps_pace)
{
    struct house h;
    CHECK(house_open(&h, "dpsgd", "false"));
    go_on(&h, 20);
    lose(&h, 1);
    go_on(&h, 40);
    CHECK_INT(h.node[0].actor.advanced, 40); /* the others went on */
    bring_back(&h, 1);
    go_on(&h, 80);
    uint64_t made = h.node[1].actor.advanced, jobs = h.node[1].actor.tally.jobs;
    CHECK(made >= 79 && made <= 81); /* as many as its neighbours, which wait for it */
    CHECK(jobs >= 35 && jobs <= 41); /* those since it is back */
    /* The last with the model is one that was away itself, and it helps the next. */
    lose(&h, 2);
    lose(&h, 0);
    bring_back(&h, 0);
    go_on(&h, 100);
    CHECK_INT(h.node[0].actor.advanced, 100);
    house_close(&h);
}

TEST_MAIN()
