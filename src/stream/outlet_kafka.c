/* outlet_kafka.c -- records into a partition of a Kafka topic, each once and in order. */
#include "stream/inlet.h"
#include "stream/outlet.h"

#ifdef MOTLEY_KAFKA
#include "base/memory.h"
#include "base/stopwatch.h"
#include "stream/kafka.h"
#include <stdlib.h>

#define WAIT_MS 50

struct outlet_kafka {
    struct mot_outlet outlet;
    struct mot_kafka kafka;
};

static bool stopped(const struct outlet_kafka *k) { return k->outlet.stop && *k->outlet.stop; }

static enum mot_status failure(const struct outlet_kafka *k)
{
    return mot_fail(k->kafka.met ? MOT_EPEER : MOT_EUSAGE, "%s", k->kafka.words);
}

/* Waits a little for the broker. */
static enum mot_status wait_a_little(struct outlet_kafka *k)
{
    uint64_t began = mot_wall_ns();
    mot_rdkafka.poll(k->kafka.client, WAIT_MS);
    k->outlet.pushed_back_ns += mot_wall_ns() - began;
    if (k->kafka.failed) return failure(k);
    if (!stopped(k)) return MOT_OK;
    return mot_fail(MOT_EINTERRUPTED, "interrupted while %s",
        k->kafka.away ? k->kafka.words : "the broker had yet to take what was sent");
}

static enum mot_status send_kafka(struct mot_outlet *outlet, const void *record, size_t n)
{
    struct outlet_kafka *k = (struct outlet_kafka *)outlet;
    for (;;) {
        /* librdkafka copies the record, so the cast is safe. */
        int sent = mot_rdkafka.produce(
            k->kafka.topic, k->kafka.partition, RD_KAFKA_MSG_F_COPY, (void *)record, n, NULL, 0, NULL);
        rd_kafka_resp_err_t error = sent == 0 ? RD_KAFKA_RESP_ERR_NO_ERROR : mot_rdkafka.last_error();
        mot_rdkafka.poll(k->kafka.client, 0);
        if (k->kafka.failed) return failure(k);
        if (sent == 0) return MOT_OK;
        if (error != RD_KAFKA_RESP_ERR__QUEUE_FULL)
            return mot_fail(MOT_EDATA, "topic %s refuses a record of %zu bytes: %s", k->kafka.topic_name, n,
                mot_rdkafka.err2str(error));
        enum mot_status status = wait_a_little(k);
        if (status != MOT_OK) return status;
    }
}

static enum mot_status flush_kafka(struct mot_outlet *outlet)
{
    struct outlet_kafka *k = (struct outlet_kafka *)outlet;
    enum mot_status status = MOT_OK;
    while (status == MOT_OK && mot_rdkafka.outq_len(k->kafka.client) > 0) status = wait_a_little(k);
    return status;
}

static void close_kafka(struct mot_outlet *outlet)
{
    struct outlet_kafka *k = (struct outlet_kafka *)outlet;
    mot_rdkafka.purge(k->kafka.client, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    mot_kafka_close(&k->kafka);
    free(k);
}

static const struct mot_outlet_ops kafka_ops = { send_kafka, flush_kafka, close_kafka };

enum mot_status mot_outlet_kafka(
    const struct mot_address *a, const struct mot_intake_conf *conf, struct mot_outlet **out)
{
    struct outlet_kafka *k = mot_new(1, sizeof(*k));
    enum mot_status status = mot_kafka_open(a, conf, true, &k->kafka);
    k->outlet.ops = &kafka_ops;
    if (status == MOT_OK) *out = &k->outlet;
    else free(k);
    return status;
}

#else

enum mot_status mot_outlet_kafka(
    const struct mot_address *a, const struct mot_intake_conf *conf, struct mot_outlet **out)
{
    (void)a, (void)conf, (void)out;
    return mot_kafka_library();
}

#endif
