/* stream_send.c -- a device of `motley stream`: rows become records and go out when they are due. */
#include "stream.h"

#include "base/memory.h"
#include "base/stopwatch.h"
#include <stdlib.h>
#include <time.h>

#define NAP_NS UINT64_C(50000000) /* the longest sleep, so that a request to stop is soon seen */
#define SECOND 1e9

uint64_t stream_due(struct mot_arrivals *a, const struct stream_plan *p, uint64_t since_ns)
{
    if (p->law.kind == MOT_STREAM_NONE) return UINT64_MAX;
    if (since_ns > p->time) since_ns = p->time;
    return mot_arrivals_by(a, (mot_time)((double)since_ns * p->speed));
}

/* Sleeps until the next record is due; first flushes a file, so that readers see what is written. */
static enum mot_status sleep_until_due(struct stream_device *d, struct mot_arrivals *a, uint64_t next)
{
    enum mot_status status = d->address.kind == MOT_INLET_FILE ? d->outlet->ops->flush(d->outlet) : MOT_OK;
    mot_time when = mot_arrivals_when(a, next);
    double due = when == MOT_NEVER ? (double)NAP_NS : (double)when / d->plan->speed;
    double left = due - (double)(mot_wall_ns() - d->began_ns);
    if (left > (double)NAP_NS) left = (double)NAP_NS;
    if (left > 0) nanosleep(&(struct timespec){ .tv_nsec = (long)left + 1 }, NULL);
    return status;
}

/* Device i of n sends rows i, i + n, ...; then from the beginning again. */
static uint32_t row_of(const struct stream_device *d, uint64_t k)
{
    return (uint32_t)((d->number + k * d->plan->devices) % d->plan->raw->rows);
}

uint64_t stream_share(const struct stream_device *d)
{
    const struct stream_plan *p = d->plan;
    uint32_t rows = p->raw->rows;
    if (!p->once) return p->count;
    return rows > d->number ? (rows - d->number - 1) / p->devices + 1 : 0;
}

static enum mot_status send_row(struct stream_device *d, uint64_t k, float *scratch, char *into, size_t room)
{
    const struct stream_plan *p = d->plan;
    uint32_t r = row_of(d, k);
    const struct mot_record_label *label = &p->label[p->label_each ? r : p->raw->labels.id[r]];
    size_t n = mot_record_print(p->format, mot_raw_row(p->raw, r, scratch), p->raw->cols, label, into, room);
    return mot_outlet_send(d->outlet, into, n);
}

static size_t room_of(const struct stream_plan *p)
{
    size_t most = 0;
    uint32_t labels = p->label_each ? p->raw->rows : p->raw->labels.count;
    for (uint32_t i = 0; i < labels; i++) {
        size_t room = mot_record_print_room(p->raw->cols, &p->label[i]);
        if (room > most) most = room;
    }
    return most;
}

static enum mot_status send_all(struct stream_device *d)
{
    const struct stream_plan *p = d->plan;
    size_t room = room_of(p);
    char *into = mot_new(room, 1);
    float *scratch = mot_new(p->raw->cols, sizeof(*scratch));
    struct mot_arrivals arrivals;
    uint64_t sent = 0, most = stream_share(d);
    enum mot_status status = MOT_OK;
    if (p->law.kind != MOT_STREAM_NONE) mot_arrivals_open(&arrivals, &p->law, p->seed, d->number);
    const volatile sig_atomic_t *stop = d->outlet->stop; /* others failed */
    while (status == MOT_OK && sent < most && !*p->interrupted && !(stop && *stop)) {
        uint64_t since = mot_wall_ns() - d->began_ns, due = stream_due(&arrivals, p, since);
        if (since >= p->time && (due == UINT64_MAX || sent >= due)) break;
        if (due > most) due = most;
        if (sent >= due) status = sleep_until_due(d, &arrivals, sent + 1);
        /* At most a thousand before looking at the clock and for Ctrl-C again. */
        for (uint64_t n = 0; n < 1000 && sent < due && status == MOT_OK; n++) {
            status = send_row(d, sent, scratch, into, room);
            if (status == MOT_OK) sent++;
        }
    }
    free(into);
    free(scratch);
    enum mot_status flushed = d->outlet->ops->flush(d->outlet);
    return status == MOT_OK ? flushed : status;
}

void *stream_main(void *device)
{
    struct stream_device *d = device;
    d->status = send_all(d);
    if (d->status != MOT_OK) d->trouble = mot_text(mot_error());
    d->ended_ns = mot_wall_ns();
    atomic_store(&d->done, true);
    return NULL;
}
