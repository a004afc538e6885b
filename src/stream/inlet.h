/* inlet.h -- where the bytes of a stream come from: a table of operations. */
#ifndef MOT_STREAM_INLET_H
#define MOT_STREAM_INLET_H

#include "stream/intake.h"

enum mot_inlet_got {
    MOT_INLET_BYTES,   /* more of an endless text, which may be cut within a record */
    MOT_INLET_MESSAGE, /* whole records */
    MOT_INLET_NOTHING, /* nothing at the moment */
    MOT_INLET_STALLED, /* nothing, for the reason in `words` */
    MOT_INLET_END,
    MOT_INLET_FAILED /* `words` says why */
};

struct mot_inlet_piece {
    size_t n;      /* bytes; more than the room if a message does not fit, and then none are stored */
    uint64_t at;   /* the place of the first byte, or the number of the message */
    uint64_t next; /* the number of the next message; 0: unknown, so resuming needs this one again */
    uint64_t lag;  /* bytes or messages that are there but not yet read */
    const unsigned char *bytes; /* where the message lies until the next `read`; NULL: in `into` */
    bool along;                 /* it came with the one before, and nothing has changed since */
    char *words;                /* [MOT_INTAKE_WORDS] to fill in */
    enum mot_status failed;
};

struct mot_inlet;
struct mot_inlet_ops {
    /* Reads up to `room` bytes; waits a few milliseconds at most. */
    enum mot_inlet_got (*read)(
        struct mot_inlet *, unsigned char *into, size_t room, struct mot_inlet_piece *out);
    void (*close)(struct mot_inlet *);
};
struct mot_inlet { /* first in each inlet's own */
    const struct mot_inlet_ops *ops;
    uint64_t origin;             /* where it began, if it had to find that out */
    char note[MOT_INTAKE_WORDS]; /* something to tell users once; "": nothing */
};

/* For inlets from brokers. `from` says where to go on, and counts messages, since that is what brokers
 * send. */
struct mot_inlet_setup {
    const struct mot_address *address; /* like the rest, needed only while the inlet is opened */
    const struct mot_intake_conf *conf;
    const char *folder; /* the run folder; NULL: none */
    uint32_t worker;
    size_t longest; /* bytes of the longest message that `read` has room for; others need not be kept */
    struct mot_cursor from; /* at may be MOT_CURSOR_UNKNOWN */
    uint32_t partitions;    /* Kafka: how many of the topic's partitions workers read */
    bool *whole_again;      /* set if nothing was taken of the message at `from`, whatever from.sub says */
};
enum mot_status mot_inlet_mqtt(const struct mot_inlet_setup *, struct mot_inlet **out);
enum mot_status mot_inlet_kafka(const struct mot_inlet_setup *, struct mot_inlet **out);
/* Loads the client library; fails if it is missing, or if motley was built without it. */
enum mot_status mot_kafka_library(void);

/* The password of the address's user, from the file or the environment; malloc'd. NULL if there is none. */
enum mot_status mot_inlet_password(const struct mot_intake_conf *, char **out);

/* `from`: where to go on. */
enum mot_status mot_inlet_file(const char *path, bool ends, uint64_t from, struct mot_inlet **out);
enum mot_status mot_inlet_input(uint64_t from, struct mot_inlet **out);

#endif
