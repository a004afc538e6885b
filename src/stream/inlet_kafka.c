/* inlet_kafka.c -- samples from Kafka. */
#include "stream/inlet.h"

#ifndef MOTLEY_KAFKA

enum mot_status mot_inlet_kafka(const struct mot_inlet_setup *s, struct mot_inlet **out)
{
    (void)s;
    (void)out;
    return mot_fail(MOT_EUSAGE, "this motley was built without Kafka; install librdkafka-dev and rebuild");
}

#endif
