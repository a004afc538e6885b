/* kafka_mock.c -- a Kafka cluster for tests, in a process of its own: librdkafka's, with the real protocol.
 *
 *   kafka_mock [BROKERS]
 *
 * Prints the addresses of its brokers, on one line, and obeys lines on standard input, each answered by "ok":
 *   topic NAME PARTITIONS    make a topic
 *   down | up                all brokers refuse connections, or take them again
 * It ends with its standard input. */
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void swallow(const rd_kafka_t *client, int level, const char *facility, const char *line)
{
    (void)client, (void)level, (void)facility, (void)line;
}

static rd_kafka_resp_err_t obey(rd_kafka_mock_cluster_t *cluster, int brokers, const char *line)
{
    char name[200];
    int partitions;
    rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
    if (sscanf(line, "topic %199s %d", name, &partitions) == 2)
        return rd_kafka_mock_topic_create(cluster, name, partitions, 1);
    bool down = strcmp(line, "down\n") == 0;
    if (!down && strcmp(line, "up\n") != 0) return RD_KAFKA_RESP_ERR__INVALID_ARG;
    for (int b = 1; b <= brokers && !error; b++)
        error = down ? rd_kafka_mock_broker_set_down(cluster, b) : rd_kafka_mock_broker_set_up(cluster, b);
    return error;
}

int main(int count, char **arguments)
{
    char why[256], line[256];
    int brokers = count > 1 ? (int)strtol(arguments[1], NULL, 10) : 1;
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set_log_cb(conf, swallow);
    rd_kafka_t *client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof(why));
    if (!client) return fprintf(stderr, "kafka_mock: %s\n", why), 1;
    rd_kafka_mock_cluster_t *cluster = rd_kafka_mock_cluster_new(client, brokers);
    if (!cluster) return fprintf(stderr, "kafka_mock: no cluster\n"), 1;
    puts(rd_kafka_mock_cluster_bootstraps(cluster));
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin)) {
        rd_kafka_resp_err_t error = obey(cluster, brokers, line);
        puts(error ? rd_kafka_err2str(error) : "ok");
        fflush(stdout);
    }
    rd_kafka_mock_cluster_destroy(cluster);
    rd_kafka_destroy(client);
    return 0;
}
