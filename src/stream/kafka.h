/* kafka.h -- what Kafka's inlet and outlet share: a client, and words for its troubles. */
#ifndef MOT_STREAM_KAFKA_H
#define MOT_STREAM_KAFKA_H

#include "base/ondemand.h"
#include "stream/intake.h"
#include <librdkafka/rdkafka.h>

/* The functions we call in librdkafka, which mot_kafka_open loads: mot_rdkafka.poll is rd_kafka_poll. */
#define MOT_RDKAFKA_CALLS(CALL)                                                                              \
    CALL(rd_kafka_, assign)                                                                                  \
    CALL(rd_kafka_, conf_destroy)                                                                            \
    CALL(rd_kafka_, conf_new)                                                                                \
    CALL(rd_kafka_, conf_set)                                                                                \
    CALL(rd_kafka_, conf_set_dr_msg_cb)                                                                      \
    CALL(rd_kafka_, conf_set_error_cb)                                                                       \
    CALL(rd_kafka_, conf_set_log_cb)                                                                         \
    CALL(rd_kafka_, conf_set_opaque)                                                                         \
    CALL(rd_kafka_, consume_batch_queue)                                                                     \
    CALL(rd_kafka_, consume_queue)                                                                           \
    CALL(rd_kafka_, queue_destroy)                                                                           \
    CALL(rd_kafka_, queue_forward)                                                                           \
    CALL(rd_kafka_, queue_get_partition)                                                                     \
    CALL(rd_kafka_, consumer_poll)                                                                           \
    CALL(rd_kafka_, destroy_flags)                                                                           \
    CALL(rd_kafka_, err2name)                                                                                \
    CALL(rd_kafka_, err2str)                                                                                 \
    CALL(rd_kafka_, fatal_error)                                                                             \
    CALL(rd_kafka_, get_watermark_offsets)                                                                   \
    CALL(rd_kafka_, last_error)                                                                              \
    CALL(rd_kafka_, message_destroy)                                                                         \
    CALL(rd_kafka_, message_errstr)                                                                          \
    CALL(rd_kafka_, metadata)                                                                                \
    CALL(rd_kafka_, metadata_destroy)                                                                        \
    CALL(rd_kafka_, new)                                                                                     \
    CALL(rd_kafka_, outq_len)                                                                                \
    CALL(rd_kafka_, poll)                                                                                    \
    CALL(rd_kafka_, poll_set_consumer)                                                                       \
    CALL(rd_kafka_, produce)                                                                                 \
    CALL(rd_kafka_, purge)                                                                                   \
    CALL(rd_kafka_, query_watermark_offsets)                                                                 \
    CALL(rd_kafka_, topic_destroy)                                                                           \
    CALL(rd_kafka_, topic_new)                                                                               \
    CALL(rd_kafka_, topic_partition_list_add)                                                                \
    CALL(rd_kafka_, topic_partition_list_destroy)                                                            \
    CALL(rd_kafka_, topic_partition_list_new)
struct mot_rdkafka {
    MOT_RDKAFKA_CALLS(MOT_ONDEMAND_POINTER)
};
extern struct mot_rdkafka mot_rdkafka;

struct mot_kafka {
    rd_kafka_t *client;
    rd_kafka_topic_t *topic;
    char *hosts, *topic_name, *user; /* user NULL: anonymous */
    int32_t partition;
    bool tls;
    bool met;    /* a broker has answered, so later refusals may be temporary */
    bool away;   /* no broker answers, for the reason in `words` */
    bool failed; /* waiting would not help */
    char words[MOT_INTAKE_WORDS];
};

#define MOT_KAFKA_ASK_MS 500 /* how long a broker may take to answer before we ask again */

/* Connects in the background, so it fails only if the settings cannot be right. writes: else it reads. */
enum mot_status mot_kafka_open(
    const struct mot_address *, const struct mot_intake_conf *, bool writes, struct mot_kafka *);
void mot_kafka_close(struct mot_kafka *);
/* Puts an error into words and sets what it means: away, failed or neither. */
void mot_kafka_note(struct mot_kafka *, rd_kafka_resp_err_t, const char *reason);

#endif
