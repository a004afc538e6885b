/* port.h -- what a node that runs for real needs of the world outside of it.
 *
 * A driver on threads or over MPI gives each node a port; the node itself
 * (node.c) is the same for both. */
#ifndef MOT_LIVE_PORT_H
#define MOT_LIVE_PORT_H

#include <motley/method.h>

enum mot_arrival_kind { MOT_ARRIVAL_MESSAGE, MOT_ARRIVAL_COLL, MOT_ARRIVAL_PEER };
struct mot_arrival {
    enum mot_arrival_kind kind;
    struct mot_message message;  /* its body is held for the receiver */
    struct mot_coll_result coll; /* its sum too */
    struct mot_peer peer;
    uint64_t sender_samples; /* a message: what its sender had computed when it sent it */
    mot_time sent;           /* and when that was */
    /* a collective in which somebody asked for the end: all leave after it */
    bool last;
};

/* A node's model as it is after one of its updates. */
struct mot_shown {
    mot_node node;
    bool last, asked;       /* the one that it ends with; one that the judge asked for */
    uint64_t at;            /* the update for which it is shown */
    uint64_t updates, step; /* of the node; of its optimiser */
    struct mot_view view;   /* without params: */
    mot_buf slot[2];
};

struct mot_port {
    /* The hold of the body, or of the collective's input, goes with it. */
    void (*send)(struct mot_port *, const struct mot_message *);
    void (*join)(struct mot_port *, const struct mot_coll *, bool last);
    bool (*poll)(struct mot_port *, struct mot_arrival *out);
    /* Sleeps until something arrives, the run ends, or that time of the run's clock. */
    void (*idle)(struct mot_port *, mot_time until);
    void (*end)(struct mot_port *); /* the run is over, for everyone */
    bool (*ended)(const struct mot_port *);
    /* counts samples of this node; returns the total of all */
    uint64_t (*samples)(struct mot_port *, uint64_t more);
    /* Where nodes that show a model are in several processes; else NULL. ask: tells the others
     * what the judge asks for; show: sends the judge what this node has; it holds the buffers until then. */
    void (*ask)(struct mot_port *, uint64_t number, uint64_t at);
    void (*show)(struct mot_port *, const struct mot_shown *);
};

#endif
