/* inlet_kafka.c -- a partition of a Kafka topic, from the offset that a checkpoint names.
 *
 * Before reading, it checks that the topic exists, has the partition and still has the offset. There is no
 * consumer group and nothing is committed: only motley's checkpoint says where to go on, as of the same
 * update as the model. */
#include "stream/inlet.h"

#ifdef MOTLEY_KAFKA
#include "base/memory.h"
#include "base/stopwatch.h"
#include "base/words.h"
#include "stream/kafka.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLL_MS 20
#define BATCH 256u                  /* messages taken from librdkafka at a time */
#define SOON_NS UINT64_C(100000000) /* the first pause between attempts to meet the topic; it doubles */
#define LATE_NS UINT64_C(2000000000)
#define LOOK_NS UINT64_C(100000000) /* between two checks of how much there is */

struct inlet_kafka {
    struct mot_inlet inlet;
    struct mot_kafka kafka;
    bool reading;        /* it has met the topic */
    bool newest;         /* a new run begins with what comes from now on */
    uint64_t next;       /* the offset of the next message; MOT_CURSOR_UNKNOWN: at the beginning */
    uint64_t high;       /* the offset after the last message, as last heard */
    uint32_t partitions; /* how many workers read */
    uint64_t again_ns, pause_ns, looked_ns;
    rd_kafka_queue_t *queue; /* only the partition's messages */
    rd_kafka_message_t *batch[BATCH];
    size_t batched, taken; /* taken: how many of the batch; the caller of `read` may still use the last */
};

static enum mot_inlet_got fail(struct mot_inlet_piece *out, enum mot_status status)
{
    out->failed = status;
    return MOT_INLET_FAILED;
}

/* Reports why there is no message. */
static enum mot_inlet_got state_of(const struct inlet_kafka *k, struct mot_inlet_piece *out)
{
    if (!k->kafka.away) return MOT_INLET_NOTHING;
    memcpy(out->words, k->kafka.words, MOT_INTAKE_WORDS);
    return k->kafka.failed ? fail(out, MOT_EUSAGE) : MOT_INLET_STALLED;
}

/* Gives the batch back to librdkafka. */
static void drop_batch(struct inlet_kafka *k)
{
    size_t held = k->taken ? k->taken - 1 : 0; /* earlier ones were given back when the next was read */
    for (size_t i = held; i < k->batched; i++) mot_rdkafka.message_destroy(k->batch[i]);
    k->batched = k->taken = 0;
}

/* Lets librdkafka report what happened to brokers. Messages have a queue of their own, so only errors can
 * come here. */
static void serve(struct inlet_kafka *k, int wait_ms)
{
    rd_kafka_message_t *m = mot_rdkafka.consumer_poll(k->kafka.client, wait_ms);
    if (!m) return;
    if (m->err) mot_kafka_note(&k->kafka, m->err, mot_rdkafka.message_errstr(m));
    mot_rdkafka.message_destroy(m);
}

/* ---- Meeting the topic ---------------------------------------------------------------------- */

static rd_kafka_resp_err_t count_partitions(struct inlet_kafka *k, uint32_t *count)
{
    const struct rd_kafka_metadata *about;
    rd_kafka_resp_err_t error =
        mot_rdkafka.metadata(k->kafka.client, 0, k->kafka.topic, &about, MOT_KAFKA_ASK_MS);
    if (error) return error;
    if (about->topic_cnt != 1) error = RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC;
    else error = about->topics[0].err;
    if (!error) *count = (uint32_t)about->topics[0].partition_cnt;
    for (int i = 0; !error && i < about->topics[0].partition_cnt; i++)
        if (about->topics[0].partitions[i].id == k->kafka.partition)
            error = about->topics[0].partitions[i].err;
    mot_rdkafka.metadata_destroy(about);
    return error;
}

/* Whether the partition still has the message to go on with; if not, says how many are gone. */
static bool still_there(struct inlet_kafka *k, uint64_t low, uint64_t high, struct mot_inlet_piece *out)
{
    const struct mot_kafka *is = &k->kafka;
    if (k->next < low)
        snprintf(out->words, MOT_INTAKE_WORDS,
            "topic %.48s, partition %d: the broker no longer has %" PRIu64 " message%s from offset %" PRIu64
            " on, as it keeps none before %" PRIu64 "; check its retention, or start a new run",
            is->topic_name, is->partition, low - k->next, mot_plural(low - k->next), k->next, low);
    else if (k->next > high)
        snprintf(out->words, MOT_INTAKE_WORDS,
            "topic %.48s, partition %d ends at offset %" PRIu64 ", but %" PRIu64
            " were read: it was created anew, or a broker lost messages; start a new run",
            is->topic_name, is->partition, high, k->next);
    return k->next >= low && k->next <= high;
}

static rd_kafka_resp_err_t watermarks(struct inlet_kafka *k, uint64_t *low, uint64_t *high)
{
    int64_t from, to;
    rd_kafka_resp_err_t error = mot_rdkafka.query_watermark_offsets(
        k->kafka.client, k->kafka.topic_name, k->kafka.partition, &from, &to, MOT_KAFKA_ASK_MS);
    if (error) return error;
    *low = (uint64_t)from;
    *high = k->high = (uint64_t)to;
    return error;
}

static rd_kafka_resp_err_t begin_reading(struct inlet_kafka *k)
{
    rd_kafka_topic_partition_list_t *one = mot_rdkafka.topic_partition_list_new(1);
    mot_rdkafka.topic_partition_list_add(one, k->kafka.topic_name, k->kafka.partition)->offset =
        (int64_t)k->next;
    rd_kafka_resp_err_t error = mot_rdkafka.assign(k->kafka.client, one);
    mot_rdkafka.topic_partition_list_destroy(one);
    return error;
}

static enum mot_inlet_got ask_again(
    struct inlet_kafka *k, rd_kafka_resp_err_t error, struct mot_inlet_piece *out)
{
    k->pause_ns = k->pause_ns ? 2 * k->pause_ns : SOON_NS;
    if (k->pause_ns > LATE_NS) k->pause_ns = LATE_NS;
    k->again_ns = mot_wall_ns() + k->pause_ns;
    mot_kafka_note(&k->kafka, error, NULL);
    return state_of(k, out);
}

static enum mot_inlet_got meet(struct inlet_kafka *k, struct mot_inlet_piece *out)
{
    uint32_t partitions = 0;
    uint64_t low, high;
    serve(k, mot_wall_ns() < k->again_ns ? POLL_MS : 0);
    if (k->kafka.failed || mot_wall_ns() < k->again_ns) return state_of(k, out);
    rd_kafka_resp_err_t error = count_partitions(k, &partitions);
    if (error) return ask_again(k, error, out);
    k->kafka.met = true;
    if ((uint32_t)k->kafka.partition >= partitions) {
        snprintf(out->words, MOT_INTAKE_WORDS, "topic %.80s has %u partition%s, and none with the number %d",
            k->kafka.topic_name, partitions, mot_plural(partitions), k->kafka.partition);
        return fail(out, MOT_EUSAGE);
    }
    error = watermarks(k, &low, &high);
    if (error) return ask_again(k, error, out);
    if (k->next == MOT_CURSOR_UNKNOWN) k->next = k->newest ? high : low;
    else if (!still_there(k, low, high, out)) return fail(out, MOT_EDATA);
    error = begin_reading(k);
    if (error) return ask_again(k, error, out);
    if (partitions > k->partitions)
        snprintf(k->inlet.note, sizeof(k->inlet.note),
            "topic %.80s has %u partitions, and %u %s read: ?partition={worker} in the address gives each "
            "worker one",
            k->kafka.topic_name, partitions, k->partitions, k->partitions == 1 ? "is" : "are");
    drop_batch(k);
    k->inlet.origin = k->next;
    k->reading = true;
    k->kafka.away = false;
    k->pause_ns = 0;
    return MOT_INLET_NOTHING;
}

/* ---- Reading ----------------------------------------------------------------------------------- */

/* A broker that is back says so only when it has a message, so ask it now and then. */
static enum mot_inlet_got quiet(struct inlet_kafka *k, struct mot_inlet_piece *out)
{
    uint32_t partitions;
    if (!k->kafka.away || k->kafka.failed || mot_wall_ns() < k->again_ns) return state_of(k, out);
    rd_kafka_resp_err_t error = count_partitions(k, &partitions);
    if (error) return ask_again(k, error, out);
    k->kafka.away = false;
    k->pause_ns = 0;
    return MOT_INLET_NOTHING;
}

/* The offset does not exist. While the leader changes that may be temporary; the partition's limits tell. */
static enum mot_inlet_got lost_offset(struct inlet_kafka *k, struct mot_inlet_piece *out)
{
    uint64_t low, high;
    rd_kafka_resp_err_t error = watermarks(k, &low, &high);
    if (!error && !still_there(k, low, high, out)) return fail(out, MOT_EDATA);
    k->reading = false;
    return error ? ask_again(k, error, out) : MOT_INLET_NOTHING;
}

static enum mot_inlet_got trouble(
    struct inlet_kafka *k, const rd_kafka_message_t *m, struct mot_inlet_piece *out)
{
    if (m->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET || m->err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE)
        return lost_offset(k, out);
    mot_kafka_note(&k->kafka, m->err, mot_rdkafka.message_errstr(m));
    if (k->kafka.away || m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) return state_of(k, out);
    snprintf(out->words, MOT_INTAKE_WORDS, "topic %.48s, partition %d: %.120s", k->kafka.topic_name,
        k->kafka.partition, mot_rdkafka.message_errstr(m)); /* librdkafka will retry */
    return MOT_INLET_STALLED;
}

/* Now and then learns what brokers report and how much there is. */
static void look(struct inlet_kafka *k)
{
    int64_t low, high;
    uint64_t now = mot_wall_ns();
    if (now - k->looked_ns < LOOK_NS) return;
    k->looked_ns = now;
    serve(k, 0);
    if (!mot_rdkafka.get_watermark_offsets(
            k->kafka.client, k->kafka.topic_name, k->kafka.partition, &low, &high) &&
        high > 0)
        k->high = (uint64_t)high;
}

/* Takes what librdkafka has ready, else waits for one message, but never for a whole batch. */
static void take_batch(struct inlet_kafka *k)
{
    k->taken = 0;
    ssize_t n = mot_rdkafka.consume_batch_queue(k->queue, 0, k->batch, BATCH);
    if (n <= 0) {
        serve(k, 0);
        k->batch[0] = mot_rdkafka.consume_queue(k->queue, POLL_MS);
        n = k->batch[0] != NULL;
    }
    k->batched = (size_t)n;
}

static enum mot_inlet_got read_kafka(
    struct mot_inlet *inlet, unsigned char *into, size_t room, struct mot_inlet_piece *out)
{
    struct inlet_kafka *k = (struct inlet_kafka *)inlet;
    (void)into, (void)room; /* messages are read where they lie */
    if (!k->reading) return meet(k, out);
    if (k->taken) mot_rdkafka.message_destroy(k->batch[k->taken - 1]);
    out->along = k->taken && k->taken < k->batched;
    if (k->taken == k->batched) take_batch(k);
    if (k->batched == 0) return quiet(k, out);
    const rd_kafka_message_t *m = k->batch[k->taken++];
    enum mot_inlet_got got = MOT_INLET_MESSAGE;
    if (m->err) got = trouble(k, m, out);
    else if ((uint64_t)m->offset < k->next) got = MOT_INLET_NOTHING; /* it was read before */
    else {
        k->kafka.away = false;
        k->next = (uint64_t)m->offset + 1;
        if (!out->along) look(k);
        out->n = m->len;
        out->at = (uint64_t)m->offset;
        out->next = k->next;
        out->bytes = m->payload;
    }
    out->along &= got == MOT_INLET_MESSAGE;
    out->lag = k->high > k->next ? k->high - k->next : 0;
    return got;
}

static void close_kafka(struct mot_inlet *inlet)
{
    struct inlet_kafka *k = (struct inlet_kafka *)inlet;
    drop_batch(k);
    if (k->queue) mot_rdkafka.queue_destroy(k->queue);
    mot_kafka_close(&k->kafka);
    free(k);
}

static const struct mot_inlet_ops kafka_ops = { .read = read_kafka, .close = close_kafka };

enum mot_status mot_inlet_kafka(const struct mot_inlet_setup *s, struct mot_inlet **out)
{
    struct inlet_kafka *k = mot_new(1, sizeof(*k));
    *k = (struct inlet_kafka){ .inlet = { .ops = &kafka_ops, .origin = MOT_CURSOR_UNKNOWN },
        .newest = s->conf->begin == MOT_BEGIN_NEWEST,
        .next = s->from.at,
        .partitions = s->partitions };
    enum mot_status status = mot_kafka_open(s->address, s->conf, false, &k->kafka);
    if (status != MOT_OK) {
        free(k);
        return status;
    }
    k->queue = mot_rdkafka.queue_get_partition(k->kafka.client, k->kafka.topic_name, k->kafka.partition);
    if (k->queue) {
        mot_rdkafka.queue_forward(k->queue, NULL); /* keeps its messages apart from what brokers report */
        *out = &k->inlet;
        return MOT_OK;
    }
    close_kafka(&k->inlet);
    return mot_fail(MOT_ESYSTEM, "Kafka: no queue for partition %u of topic %s", s->address->partition,
        s->address->topic);
}

#else

enum mot_status mot_inlet_kafka(const struct mot_inlet_setup *s, struct mot_inlet **out)
{
    (void)s;
    (void)out;
    return mot_kafka_library();
}

#endif
