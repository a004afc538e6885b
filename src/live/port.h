/* port.h -- what a live node needs from the outside.
 *
 * Each driver, on threads or over MPI, gives its nodes ports; the node itself (node.c) is the same for
 * both. */
#ifndef MOT_LIVE_PORT_H
#define MOT_LIVE_PORT_H

#include "live/place.h"
#include <motley/method.h>

enum mot_arrival_kind { MOT_ARRIVAL_MESSAGE, MOT_ARRIVAL_COLL, MOT_ARRIVAL_PEER };
struct mot_arrival {
    enum mot_arrival_kind kind;
    struct mot_message message;  /* its body is held for the receiver, */
    struct mot_coll_result coll; /* and so is its sum */
    struct mot_peer peer;
    uint64_t sender_samples; /* message: samples its sender had computed by then */
    struct mot_place place;  /* message: where its sender was in its stream */
    uint64_t took; /* message from a server: how many of ours it had taken in at its last update (rests.h) */
    mot_time sent; /* message: when it was sent */
    /* a collective in which someone asked for the end: everyone leaves after it */
    bool last;
};

#define MOT_LIVE_SLOTS (2 + MOT_KEPT_BUFFERS)

/* A node's model after one of its updates. */
struct mot_shown {
    mot_node node;
    bool last, asked;             /* its final one; one that the judge asked for */
    uint64_t at;                  /* the update for which it is shown */
    uint64_t updates, step;       /* of the node; of its optimiser */
    uint64_t events;              /* that the node had had by then */
    struct mot_place place;       /* where it was in its stream */
    struct mot_view view;         /* without params: */
    mot_buf slot[MOT_LIVE_SLOTS]; /* what a checkpoint has besides it: the optimiser's buffers, kept ones */
    uint64_t word[MOT_KEPT_WORDS];
};

/* Asks for what a worker had left after `number` messages to this server, for a checkpoint of the models
 * shown for the update `at`, asked for or not, or of the last models. */
struct mot_want {
    mot_node worker;
    uint32_t server; /* from 0 */
    uint64_t number, at;
    bool asked, last;
};

struct mot_port {
    /* Takes over the hold on the body, or on the collective's input. */
    void (*send)(struct mot_port *, const struct mot_message *);
    void (*join)(struct mot_port *, const struct mot_coll *, bool last);
    /* A bucket of the node's input to its next sum over all workers is final (struct mot_work, `summed`):
     * these floats of the buffer will not change. Buckets are given from the last on; `join` gives those that
     * are left. */
    void (*give)(struct mot_port *, mot_buf, uint32_t bucket);
    bool (*poll)(struct mot_port *, struct mot_arrival *out);
    /* Sleeps until something arrives, the run ends, or the run's clock reaches `until`. */
    void (*idle)(struct mot_port *, mot_time until);
    void (*end)(struct mot_port *); /* ends the run for everyone */
    bool (*ended)(const struct mot_port *);
    /* Counts samples of this node; returns the total over all nodes. */
    uint64_t (*samples)(struct mot_port *, uint64_t more);
    /* For nodes that show models: passes on what the judge asks for, or wakes those who can see it. */
    void (*ask)(struct mot_port *, uint64_t number, uint64_t at);
    /* Workers at their own pace: this one has made a step, or is out of data. */
    void (*paced)(struct mot_port *);
    /* Sends this node's model to the judge of another process, and holds the buffers until they are sent. */
    void (*show)(struct mot_port *, const struct mot_shown *);
    /* Passes on what a server wants of a worker; the answer goes to the judge (mot_live_judge_rest). */
    void (*want)(struct mot_port *, const struct mot_want *);
    /* Sends what has been held out since to the judge, if that is in another process; NULL: it never is. Call
     * before others learn of a place, so that what was held out up to there is on its way. */
    void (*held)(struct mot_port *);
};

#endif
