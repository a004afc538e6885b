/* outlet.h -- where records go: a file that grows, or a broker's topic. The other end of an inlet. */
#ifndef MOT_STREAM_OUTLET_H
#define MOT_STREAM_OUTLET_H

#include "stream/intake.h"
#include <signal.h>
#include <stdatomic.h>

struct mot_outlet;
struct mot_outlet_ops {
    /* Hands over one record: a line with its end, or a raw block. Waits while the other side pushes back or
     * is away; gives up with MOT_EINTERRUPTED once *stop is set. */
    enum mot_status (*send)(struct mot_outlet *, const void *record, size_t n);
    /* Waits until the other side has all that was sent; gives up as send does. */
    enum mot_status (*flush)(struct mot_outlet *);
    void (*close)(struct mot_outlet *); /* what was not flushed may be lost */
};
struct mot_outlet { /* first in each outlet's own */
    const struct mot_outlet_ops *ops;
    const volatile sig_atomic_t *stop; /* NULL: never interrupted */
    _Atomic uint64_t sent, bytes;      /* records and bytes; mot_outlet_send counts them */
    _Atomic uint64_t pushed_back_ns;   /* time that send and flush have waited; each outlet counts it */
};
enum mot_status mot_outlet_send(struct mot_outlet *, const void *record, size_t n);

/* One for each device. From `conf` it uses only what says who we are: password_file, ca, cert and key. */
enum mot_status mot_outlet_open(const struct mot_address *, const struct mot_intake_conf *conf,
    const volatile sig_atomic_t *stop, struct mot_outlet **out);

/* These set `ops` and their own fields; mot_outlet_open does the rest. */
enum mot_status mot_outlet_file(const char *path, struct mot_outlet **out);
enum mot_status mot_outlet_kafka(
    const struct mot_address *, const struct mot_intake_conf *conf, struct mot_outlet **out);
enum mot_status mot_outlet_mqtt(
    const struct mot_address *, const struct mot_intake_conf *conf, struct mot_outlet **out);

#endif
