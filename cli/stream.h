/* stream.h -- devices that send rows: a thread for each, at the rates of a law. */
#ifndef MOT_CLI_STREAM_H
#define MOT_CLI_STREAM_H

#include "cluster/stream.h"
#include "data/raw.h"
#include "stream/outlet.h"
#include "stream/record_write.h"
#include <pthread.h>

struct stream_plan {
    const struct mot_raw *raw;
    struct mot_record_label *label; /* [raw->labels.count], or [rows] if each has its own */
    bool label_each;
    enum mot_record_format format;
    uint32_t devices;
    struct mot_stream law; /* kind NONE: as fast as the other side takes them */
    uint64_t seed;
    double speed;   /* this many times as fast as the law says */
    uint64_t count; /* records per device; UINT64_MAX: any number */
    mot_time time;  /* by the clock; MOT_NEVER: any time */
    bool once;      /* neither was given: each row once */
    const volatile sig_atomic_t *interrupted;
};

struct stream_device {
    const struct stream_plan *plan;
    uint32_t number;
    struct mot_address address;
    struct mot_outlet *outlet;
    uint64_t began_ns, ended_ns;
    pthread_t thread;
    enum mot_status status;
    char *trouble; /* malloc'd; NULL: none */
    _Atomic bool done;
};

/* Records due `since_ns` after the start at the law's rate; UINT64_MAX: no law. */
uint64_t stream_due(struct mot_arrivals *, const struct stream_plan *, uint64_t since_ns);
/* Records that the device is to send in all. */
uint64_t stream_share(const struct stream_device *);
void *stream_main(void *device);

#endif
