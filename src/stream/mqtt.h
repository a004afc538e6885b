/* mqtt.h -- a connection to an MQTT broker that is kept up: what inlets and outlets share.
 *
 * A thread of its own connects, again and again with growing pauses, and serves the connection. What a
 * broker refuses for good (a user, a certificate, a topic) is final if it was never reached before; once it
 * was, everything passes, and is tried again. */
#ifndef MOT_STREAM_MQTT_H
#define MOT_STREAM_MQTT_H

#include "stream/intake.h"

struct mot_mqtt_conf {
    const struct mot_address *address;
    const struct mot_intake_conf *conf; /* password, certificates */
    const char *id;                     /* the client's, of its own; */
    bool remembered;                    /* the broker keeps messages for it while it is away */
    bool subscribes;                    /* to the address's topic */
    void *self;
    /* From the connection's thread. A message is the broker's no more: whoever gets it must keep it. */
    void (*message)(void *self, const void *bytes, size_t n);
    void (*acked)(void *self, int message);
    void (*turn)(void *self); /* between messages, at least twenty times a second while connected */
};

struct mot_mqtt;
/* Loads the client library; fails where there is none, and in a motley that was built without. */
enum mot_status mot_mqtt_library(void);
enum mot_status mot_mqtt_open(const struct mot_mqtt_conf *, struct mot_mqtt **out);
void mot_mqtt_close(struct mot_mqtt *);

enum mot_mqtt_is { MOT_MQTT_AWAY, MOT_MQTT_READY, MOT_MQTT_REFUSED };
/* words: why it is away or refused, and what to check. */
enum mot_mqtt_is mot_mqtt_state(struct mot_mqtt *, char words[MOT_INTAKE_WORDS]);

/* QoS 1. *taken: whether the message will be sent and acknowledged; if not, there is no connection now. */
enum mot_status mot_mqtt_publish(struct mot_mqtt *, const void *bytes, size_t n, bool *taken);

#endif
