/* inlet_mqtt.c -- samples from an MQTT broker. */
#include "stream/inlet.h"

#ifndef MOTLEY_MQTT

enum mot_status mot_inlet_mqtt(const struct mot_inlet_setup *s, struct mot_inlet **out)
{
    (void)s;
    (void)out;
    return mot_fail(MOT_EUSAGE, "this motley was built without MQTT; install libmosquitto-dev and rebuild");
}

#endif
