/* outlet_mqtt.c -- records to a topic of an MQTT broker: QoS 1, with a bounded number in flight. */
#include "base/memory.h"
#include "base/stopwatch.h"
#include "stream/mqtt.h"
#include "stream/outlet.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#define WINDOW 512u /* most messages in flight */
#define NAP_NS 500000L

struct outlet_mqtt {
    struct mot_outlet outlet;
    struct mot_mqtt *mqtt;
    uint64_t given;
    _Atomic uint64_t acked;
};

static void on_acked(void *self, int message)
{
    (void)message;
    atomic_fetch_add(&((struct outlet_mqtt *)self)->acked, 1);
}

/* Waits until there is a connection and at most `most` messages are in flight. */
static enum mot_status wait_for(struct outlet_mqtt *o, uint64_t most)
{
    uint64_t began = 0;
    char words[MOT_INTAKE_WORDS];
    enum mot_status status = MOT_OK;
    for (;;) {
        enum mot_mqtt_is is = mot_mqtt_state(o->mqtt, words);
        if (is == MOT_MQTT_REFUSED) status = mot_fail(MOT_EUSAGE, "%s", words);
        else if (o->outlet.stop && *o->outlet.stop) status = mot_fail(MOT_EINTERRUPTED, "interrupted");
        if (status != MOT_OK || (is == MOT_MQTT_READY && o->given - atomic_load(&o->acked) <= most)) break;
        if (!began) began = mot_wall_ns();
        nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
    }
    if (began) atomic_fetch_add(&o->outlet.pushed_back_ns, mot_wall_ns() - began);
    return status;
}

static enum mot_status send_mqtt(struct mot_outlet *outlet, const void *record, size_t n)
{
    struct outlet_mqtt *o = (struct outlet_mqtt *)outlet;
    enum mot_status status = MOT_OK;
    bool taken = false;
    while (status == MOT_OK && !taken) {
        status = wait_for(o, WINDOW - 1);
        if (status == MOT_OK) status = mot_mqtt_publish(o->mqtt, record, n, &taken);
    }
    o->given += taken;
    return status;
}

static enum mot_status flush_mqtt(struct mot_outlet *outlet)
{
    return wait_for((struct outlet_mqtt *)outlet, 0);
}

static void close_mqtt(struct mot_outlet *outlet)
{
    struct outlet_mqtt *o = (struct outlet_mqtt *)outlet;
    mot_mqtt_close(o->mqtt);
    free(o);
}

static const struct mot_outlet_ops mqtt_ops = { .send = send_mqtt, .flush = flush_mqtt, .close = close_mqtt };

enum mot_status mot_outlet_mqtt(
    const struct mot_address *a, const struct mot_intake_conf *conf, struct mot_outlet **out)
{
    struct outlet_mqtt *o = mot_new(1, sizeof(*o));
    uint64_t random = 0;
    char id[32];
    o->outlet.ops = &mqtt_ops;
    if (getrandom(&random, sizeof(random), 0) != sizeof(random)) random = mot_wall_ns();
    snprintf(id, sizeof(id), "motley-%016llx", (unsigned long long)random);
    struct mot_mqtt_conf c = { .address = a, .conf = conf, .id = id, .self = o, .acked = on_acked };
    enum mot_status status = mot_mqtt_open(&c, &o->mqtt);
    if (status == MOT_OK) *out = &o->outlet;
    else close_mqtt(&o->outlet);
    return status;
}
