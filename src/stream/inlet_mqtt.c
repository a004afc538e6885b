/* inlet_mqtt.c -- samples from an MQTT broker, by way of a spool.
 *
 * The library acknowledges a message before it hands it over, and then the broker forgets it. So the
 * connection's thread writes it to the spool at once. The reader takes it from there at the model's pace,
 * also after a crash. The spool's random bytes name the client, so the broker recognises a resumed run. */
#include "base/memory.h"
#include "base/stopwatch.h"
#include "stream/inlet.h"
#include "stream/mqtt.h"
#include "stream/spool.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NAP_NS 2000000L
#define AWAY_NS UINT64_C(1000000000)   /* how long connecting may take before it counts as a stall, */
#define SILENT_NS UINT64_C(5000000000) /* and how long a connected broker may be silent */

struct inlet_mqtt {
    struct mot_inlet inlet;
    struct mot_spool *spool;
    struct mot_mqtt *mqtt;
    size_t longest;
    char shown[MOT_ADDRESS_SHOWN];
    uint64_t since; /* for the reader: when the broker's absence, or its silence, began */
    bool ready;     /* whether it is silence: the broker has been ready since then */
    _Atomic bool closes;
    _Atomic int refuses; /* the errno with which the disk refuses messages, or 0 */
};

static void nap(long ns) { nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL); }

/* ---- The connection's thread ------------------------------------------------------------------ */

/* While the disk is full, waits, and so holds up the broker. */
static void spool_message(void *self, const void *bytes, size_t n)
{
    struct inlet_mqtt *i = self;
    int error;
    while ((error = mot_spool_add(i->spool, bytes, n, n <= i->longest ? n : 0))) {
        atomic_store(&i->refuses, error);
        if (atomic_load(&i->closes)) return;
        nap(20 * NAP_NS);
    }
    if (atomic_load_explicit(&i->refuses, memory_order_relaxed)) atomic_store(&i->refuses, 0);
}

static void settle(void *self)
{
    struct inlet_mqtt *i = self;
    int error = mot_spool_settle(i->spool);
    if (error || atomic_load_explicit(&i->refuses, memory_order_relaxed)) atomic_store(&i->refuses, error);
}

/* ---- The reader's ------------------------------------------------------------------------------- */

/* Says why there is no message. */
static enum mot_inlet_got nothing(struct inlet_mqtt *i, struct mot_inlet_piece *out)
{
    int error = atomic_load(&i->refuses);
    enum mot_mqtt_is is = mot_mqtt_state(i->mqtt, out->words);
    uint64_t now = mot_wall_ns();
    bool ready = is == MOT_MQTT_READY;
    if (is == MOT_MQTT_REFUSED) {
        out->failed = MOT_EUSAGE;
        return MOT_INLET_FAILED;
    }
    if (ready != i->ready) i->since = now;
    i->ready = ready;
    if (error)
        snprintf(out->words, MOT_INTAKE_WORDS, "%s: %s; it goes on when there is room",
            mot_spool_path(i->spool), strerror(error));
    else if (ready)
        snprintf(out->words, MOT_INTAKE_WORDS,
            "%s: connected, but no message has come for a while; check the topic, and that its publisher "
            "runs",
            i->shown);
    nap(NAP_NS);
    return error || now - i->since > (ready ? SILENT_NS : AWAY_NS) ? MOT_INLET_STALLED : MOT_INLET_NOTHING;
}

static enum mot_inlet_got read_mqtt(
    struct mot_inlet *inlet, unsigned char *into, size_t room, struct mot_inlet_piece *out)
{
    struct inlet_mqtt *i = (struct inlet_mqtt *)inlet;
    struct mot_spooled one;
    bool damaged;
    if (mot_spool_next(i->spool, into, room, &one, &damaged)) {
        out->at = one.at;
        out->next = one.next;
        out->n = one.kept ? one.n : SIZE_MAX; /* too long when it was spooled, so too long still */
        out->lag = one.left;
        i->ready = false; /* silence begins with the first read that finds nothing */
        return MOT_INLET_MESSAGE;
    }
    if (!damaged) return nothing(i, out);
    snprintf(out->words, MOT_INTAKE_WORDS, "%s: it no longer holds what was written; check the disk",
        mot_spool_path(i->spool));
    out->failed = MOT_EDATA;
    return MOT_INLET_FAILED;
}

static void close_mqtt(struct mot_inlet *inlet)
{
    struct inlet_mqtt *i = (struct inlet_mqtt *)inlet;
    atomic_store(&i->closes, true); /* stop waiting for the disk */
    mot_mqtt_close(i->mqtt);
    mot_spool_close(i->spool);
    free(i);
}

static const struct mot_inlet_ops mqtt_ops = { .read = read_mqtt, .close = close_mqtt };

enum mot_status mot_inlet_mqtt(const struct mot_inlet_setup *s, struct mot_inlet **out)
{
    struct inlet_mqtt *i = mot_new(1, sizeof(*i));
    const char *folder = s->conf->spool ? s->conf->spool : s->folder;
    char id[48];
    *i = (struct inlet_mqtt){ .inlet.ops = &mqtt_ops, .longest = s->longest, .since = mot_wall_ns() };
    mot_address_show(s->address, i->shown);
    enum mot_status status = mot_mqtt_library();
    if (status == MOT_OK)
        status = mot_spool_open(folder, s->worker, (enum mot_spool_sync)s->conf->sync, s->from.at, &i->spool);
    if (status == MOT_OK) {
        *s->whole_again = mot_spool_read(i->spool);
        snprintf(id, sizeof(id), "motley-%016llx-%u", (unsigned long long)mot_spool_id(i->spool), s->worker);
        struct mot_mqtt_conf c = { .address = s->address,
            .conf = s->conf,
            .id = id,
            .remembered = folder != NULL,
            .subscribes = true,
            .self = i,
            .message = spool_message,
            .turn = settle };
        status = mot_mqtt_open(&c, &i->mqtt);
    }
    if (status == MOT_OK) *out = &i->inlet;
    else close_mqtt(&i->inlet);
    return status;
}
