/* mqtt.h -- a lasting connection to an MQTT broker, shared by inlets and outlets.
 *
 * A thread of its own serves the connection and reconnects with growing pauses. If a broker refuses a user, a
 * certificate or a topic, that is final unless the broker accepted us before; then every failure counts as
 * temporary, and the thread tries again. */
#ifndef MOT_STREAM_MQTT_H
#define MOT_STREAM_MQTT_H

#include "stream/intake.h"

struct mot_mqtt_conf {
    const struct mot_address *address;
    const struct mot_intake_conf *conf; /* password, certificates */
    const char *id;                     /* the client's unique name */
    bool remembered;                    /* the broker keeps messages for the client while it is away */
    bool subscribes;                    /* to the address's topic */
    void *self;
    /* Called by the connection's thread. The broker has forgotten the message, so its receiver must keep
     * it. */
    void (*message)(void *self, const void *bytes, size_t n);
    void (*acked)(void *self, int message);
    void (*turn)(void *self); /* between messages, at least twenty times a second while connected */
};

struct mot_mqtt;
/* Loads the client library; fails if it is missing, or if motley was built without it. */
enum mot_status mot_mqtt_library(void);
enum mot_status mot_mqtt_open(const struct mot_mqtt_conf *, struct mot_mqtt **out);
void mot_mqtt_close(struct mot_mqtt *);

enum mot_mqtt_is { MOT_MQTT_AWAY, MOT_MQTT_READY, MOT_MQTT_REFUSED };
/* words: why the broker is away or refuses us, and what to check. */
enum mot_mqtt_is mot_mqtt_state(struct mot_mqtt *, char words[MOT_INTAKE_WORDS]);

/* Publishes with QoS 1. *taken: whether the message will be delivered; if not, there is no connection now. */
enum mot_status mot_mqtt_publish(struct mot_mqtt *, const void *bytes, size_t n, bool *taken);

#endif
