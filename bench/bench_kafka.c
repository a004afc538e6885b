/* bench_kafka.c -- how fast messages of Kafka become rows, beside a consumer that only counts them and does
 * not look at them.
 *
 *   bench_kafka [MESSAGES] [REPEATS]
 *
 * The cluster is librdkafka's own, in this process; it speaks the real protocol and keeps about 5 MB of a
 * partition, so a topic is filled and then read, bare and with parser and ring, in turn. The clock runs from
 * the first message to the last: the rest are fetched, or wait in librdkafka's memory. So this is the most
 * that a consumer can take. Feeding the topic meanwhile would say less: whoever has read all of it hears
 * from this cluster again only after half a second. */
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

#define KEPT_BYTES 4000000u /* of a topic, well below what the cluster keeps */

static rd_kafka_mock_cluster_t *cluster;
static char from[256];

static void next_topic(const struct kind *k)
{
    static unsigned number;
    char topic[32];
    snprintf(topic, sizeof(topic), "bench%u", number++);
    snprintf(from, sizeof(from), "kafka://%.160s/%s", rd_kafka_mock_cluster_bootstraps(cluster), topic);
    rd_kafka_mock_topic_create(cluster, topic, 1, 1);
    mot_address_free(&address);
    conf.from = from;
    must(!mot_address_of(from, 0, 1, &address), "the address");
    publish(k);
}

static double bare(const struct kind *k)
{
    struct mot_kafka client;
    uint64_t came = 0;
    next_topic(k);
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
    }
    double rate = end_clock(messages - 1);
    mot_kafka_close(&client);
    return rate;
}

static double intake(const struct kind *k)
{
    struct rows r;
    next_topic(k);
    rows_open(&r, k);
    open_intake(k, NULL, &r);
    double rate = rows_per_second(&r);
    rows_close(&r);
    return rate;
}

int main(int count, char **argument)
{
    uint64_t most = count > 1 ? strtoull(argument[1], NULL, 10) : 50000;
    unsigned repeats = count > 2 ? (unsigned)strtoul(argument[2], NULL, 10) : 7;
    char why[256];
    rd_kafka_conf_t *quiet = rd_kafka_conf_new();
    rd_kafka_conf_set(quiet, "log_level", "0", why, sizeof(why));
    rd_kafka_t *host = rd_kafka_new(RD_KAFKA_PRODUCER, quiet, why, sizeof(why));
    must(host != NULL, "a cluster");
    cluster = rd_kafka_mock_cluster_new(host, 1);
    must(cluster != NULL, "a cluster");
    conf.memory = 64u << 20;
    for (size_t k = 0; k < MOT_COUNT(kinds); k++) {
        static unsigned char record[1 << 16];
        uint64_t fit = KEPT_BYTES / record_of(&kinds[k], record, sizeof(record));
        messages = fit < most ? fit : most;
        compare(&kinds[k], repeats, bare, intake, "parser, ring");
    }
    mot_address_free(&address);
    rd_kafka_mock_cluster_destroy(cluster);
    rd_kafka_destroy(host);
    return 0;
}
#endif
