/* bench_kafka.c -- how fast messages of Kafka become rows, beside a consumer that only counts them and does not
 * look at them.
 *
 *   bench_kafka [MESSAGES] [REPEATS]
 *
 * The cluster is librdkafka's own, in this process, and speaks the real protocol. Bare and with parser and ring,
 * in turn; the clock runs from the first message to the last.
 *
 * Fed: a producer sends as fast as it can while they are received, which is what a consumer of a broker does all
 * its life. It waits where it is ahead by what the cluster keeps of a partition (about 5 MB).
 * Backlog: a topic is filled with as much as the cluster keeps, and then read. Most of that is in librdkafka's
 * memory before the clock runs, so this is how fast messages leave its queue, not how fast they are received. */
#include "broker.h"

#ifndef MOTLEY_KAFKA
int main(void)
{
    printf("skipped: motley was built without Kafka\n");
    return 0;
}
#else
#include "stream/kafka.h"
#include <librdkafka/rdkafka_mock.h>
#include <pthread.h>

#define KEPT_BYTES 4000000u /* of a topic, well below what the cluster keeps */

static rd_kafka_mock_cluster_t *cluster;
static char from[256];

static bool feeds;
static _Atomic uint64_t received;

static void next_topic(void)
{
    static unsigned number;
    char topic[32];
    snprintf(topic, sizeof(topic), "bench%u", number++);
    snprintf(from, sizeof(from), "kafka://%.160s/%s", rd_kafka_mock_cluster_bootstraps(cluster), topic);
    rd_kafka_mock_topic_create(cluster, topic, 1, 1);
    mot_address_free(&address);
    conf.from = from;
    must(!mot_address_of(from, 0, 1, &address), "the address");
    atomic_store(&received, 0);
}

/* ---- The producer ---------------------------------------------------------------------------------- */

static void *feed_main(void *kind)
{
    static unsigned char record[1 << 16];
    size_t n = record_of(kind, record, sizeof(record));
    uint64_t ahead = KEPT_BYTES / n;
    struct mot_outlet *out;
    must(mot_outlet_open(&address, &conf, NULL, &out) == MOT_OK, "a producer");
    for (uint64_t i = 0; i < messages; i++) {
        while (i >= atomic_load(&received) + ahead) nap();
        must(out->ops->send(out, record, n) == MOT_OK, "producing");
    }
    must(out->ops->flush(out) == MOT_OK, "producing");
    out->ops->close(out);
    return NULL;
}

static pthread_t begin_feed(const struct kind *k)
{
    pthread_t thread;
    next_topic();
    if (!feeds) publish(k);
    must(!feeds || pthread_create(&thread, NULL, feed_main, (void *)(uintptr_t)k) == 0, "a thread");
    return thread;
}

static void end_feed(pthread_t thread)
{
    if (feeds) pthread_join(thread, NULL);
}

/* ---- Consumers ------------------------------------------------------------------------------------- */

static double bare(const struct kind *k)
{
    struct mot_kafka client;
    uint64_t came = 0;
    pthread_t producer = begin_feed(k);
    must(mot_kafka_open(&address, &conf, false, &client) == MOT_OK, "a consumer");
    rd_kafka_topic_partition_list_t *one = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(one, address.topic, 0)->offset = 0;
    rd_kafka_assign(client.client, one);
    rd_kafka_topic_partition_list_destroy(one);
    while (came < messages) {
        rd_kafka_message_t *m = rd_kafka_consumer_poll(client.client, 20);
        if (!m) continue;
        if (!m->err && came++ == 0) begin_clock();
        rd_kafka_message_destroy(m);
        atomic_store_explicit(&received, came, memory_order_relaxed);
    }
    double rate = end_clock(messages - 1);
    mot_kafka_close(&client);
    end_feed(producer);
    return rate;
}

static double intake(const struct kind *k)
{
    struct rows r;
    pthread_t producer = begin_feed(k);
    rows_open(&r, k);
    open_intake(k, NULL, &r);
    double rate = rows_per_second(&r, &received);
    rows_close(&r);
    end_feed(producer);
    return rate;
}

int main(int count, char **argument)
{
    uint64_t most = count > 1 ? strtoull(argument[1], NULL, 10) : 300000;
    unsigned repeats = count > 2 ? (unsigned)strtoul(argument[2], NULL, 10) : 7;
    char why[256];
    rd_kafka_conf_t *quiet = rd_kafka_conf_new();
    rd_kafka_conf_set(quiet, "log_level", "0", why, sizeof(why));
    rd_kafka_t *host = rd_kafka_new(RD_KAFKA_PRODUCER, quiet, why, sizeof(why));
    must(host != NULL, "a cluster");
    cluster = rd_kafka_mock_cluster_new(host, 1);
    must(cluster != NULL, "a cluster");
    conf.memory = 64u << 20;
    for (size_t k = 0; k < 2 * MOT_COUNT(kinds); k++) {
        static unsigned char record[1 << 16];
        const struct kind *kind = &kinds[k / 2];
        uint64_t bytes = record_of(kind, record, sizeof(record)), fit = KEPT_BYTES / bytes;
        feeds = k % 2 == 0;
        messages = feeds ? most : fit < most ? fit : most;
        if (feeds && bytes > 1000) messages = most / 10;
        printf("%s: ", feeds ? "fed" : "backlog");
        compare(kind, repeats, bare, intake, "parser, ring");
    }
    mot_address_free(&address);
    rd_kafka_mock_cluster_destroy(cluster);
    rd_kafka_destroy(host);
    return 0;
}
#endif
