/* inlet.h -- where the bytes of a stream come from: a table of operations. */
#ifndef MOT_STREAM_INLET_H
#define MOT_STREAM_INLET_H

#include "stream/intake.h"

enum mot_inlet_got {
    MOT_INLET_BYTES,   /* more of an endless text: records may be cut anywhere */
    MOT_INLET_MESSAGE, /* whole records */
    MOT_INLET_NOTHING, /* not now */
    MOT_INLET_STALLED, /* nor for a reason that the words say */
    MOT_INLET_END,
    MOT_INLET_FAILED /* the words say why */
};

struct mot_inlet_piece {
    size_t n;      /* bytes; of a message that has no room more than that, and none is there */
    uint64_t at;   /* of the first byte, or the number of the message */
    uint64_t next; /* the number of the message after it; 0: it must be there to go on after it */
    uint64_t lag;  /* what is there besides */
    const unsigned char *bytes; /* of a message that lies elsewhere, until the next `read`; NULL: in `into` */
    bool along;                 /* it came along with the one before: nothing has changed since */
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
    uint64_t origin;             /* where it began, if that was for it to find out */
    char note[MOT_INTAKE_WORDS]; /* what users should know, once; "": nothing */
};

/* What brokers need to know. What they give are messages, so `from` counts those; it is where to go on. */
struct mot_inlet_setup {
    const struct mot_address *address; /* all of it is needed only while the inlet is opened */
    const struct mot_intake_conf *conf;
    const char *folder; /* of the run; NULL: none */
    uint32_t worker;
    size_t longest; /* bytes of a message that `read` has room for; of longer ones only the length counts */
    struct mot_cursor from; /* at may be MOT_CURSOR_UNKNOWN */
    uint32_t partitions;    /* Kafka: of the topic, that workers read */
    bool *whole_again; /* set: of the message at `from` nothing was taken before, whatever from.sub says */
};
enum mot_status mot_inlet_mqtt(const struct mot_inlet_setup *, struct mot_inlet **out);
enum mot_status mot_inlet_kafka(const struct mot_inlet_setup *, struct mot_inlet **out);
/* Loads the client library; fails where there is none, and in a motley that was built without. */
enum mot_status mot_kafka_library(void);

/* The password for the address's user: from the file, or the environment; malloc'd. NULL: there is none. */
enum mot_status mot_inlet_password(const struct mot_intake_conf *, char **out);

/* `from`: where to go on. */
enum mot_status mot_inlet_file(const char *path, bool ends, uint64_t from, struct mot_inlet **out);
enum mot_status mot_inlet_input(uint64_t from, struct mot_inlet **out);

#endif
