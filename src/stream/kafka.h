/* kafka.h -- what the inlet and the outlet of Kafka share: a client, and its troubles in words. */
#ifndef MOT_STREAM_KAFKA_H
#define MOT_STREAM_KAFKA_H

#include "stream/intake.h"
#include <librdkafka/rdkafka.h>

struct mot_kafka {
    rd_kafka_t *client;
    rd_kafka_topic_t *topic;
    char *hosts, *topic_name, *user; /* user NULL: nobody in particular */
    int32_t partition;
    bool tls;
    bool met;    /* a broker has answered: what it refuses from now on may pass */
    bool away;   /* no broker answers, for the reason in `words` */
    bool failed; /* waiting would not help */
    char words[MOT_INTAKE_WORDS];
};

#define MOT_KAFKA_ASK_MS 500 /* how long a question to a broker may take before it is asked again */

/* Connects in its own time: fails only if the settings cannot be right. `writes`: else it reads. */
enum mot_status mot_kafka_open(
    const struct mot_address *, const struct mot_intake_conf *, bool writes, struct mot_kafka *);
void mot_kafka_close(struct mot_kafka *);
/* Puts an error into words and says what it means: away, failed or neither. */
void mot_kafka_note(struct mot_kafka *, rd_kafka_resp_err_t, const char *reason);

#endif
