/* kafka_mock.c -- a Kafka cluster for tests, in a process of its own: librdkafka's, with the real protocol.
 *
 *   kafka_mock [BROKERS]
 *
 * Prints the addresses of its brokers, on one line, and obeys lines on standard input, each answered by "ok":
 *   topic NAME PARTITIONS    make a topic
 *   send NAME LINES FILE     send a file to partition 0 of it, in messages of so many lines
 *   dump NAME FILE           write all messages of partition 0 to a file, one after the other
 *   hide NAME, show NAME     clients hear that there is no such topic; or do again
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

static rd_kafka_t *open_client(rd_kafka_type_t type, const char *brokers)
{
    char why[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    if (type == RD_KAFKA_CONSUMER) rd_kafka_conf_set(conf, "enable.partition.eof", "true", why, sizeof(why));
    rd_kafka_conf_set_log_cb(conf, swallow);
    if (brokers) rd_kafka_conf_set(conf, "bootstrap.servers", brokers, why, sizeof(why));
    rd_kafka_t *client = rd_kafka_new(type, conf, why, sizeof(why));
    if (client) return client;
    fprintf(stderr, "kafka_mock: %s\n", why);
    exit(1);
}

static rd_kafka_resp_err_t send_file(const char *brokers, const char *name, int lines, const char *path)
{
    static char message[1 << 21];
    size_t n = 0;
    int have = 0;
    FILE *file = fopen(path, "r");
    if (!file) return RD_KAFKA_RESP_ERR__INVALID_ARG;
    rd_kafka_t *client = open_client(RD_KAFKA_PRODUCER, brokers);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(client, name, NULL);
    rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
    while (!error) {
        bool more = fgets(message + n, (int)(sizeof(message) - n), file) != NULL;
        if (more) n += strlen(message + n);
        if (!more && !have) break;
        if (more && ++have < lines) continue;
        while (rd_kafka_produce(topic, 0, RD_KAFKA_MSG_F_COPY, message, n, NULL, 0, NULL) != 0 && !error)
            if ((error = rd_kafka_last_error()) == RD_KAFKA_RESP_ERR__QUEUE_FULL)
                error = RD_KAFKA_RESP_ERR_NO_ERROR, rd_kafka_poll(client, 10);
        n = 0;
        have = 0;
        if (!more) break;
    }
    fclose(file);
    if (!error) error = rd_kafka_flush(client, 20000);
    rd_kafka_topic_destroy(topic);
    rd_kafka_destroy(client);
    return error;
}

static rd_kafka_resp_err_t dump_topic(const char *brokers, const char *name, const char *path)
{
    rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR__TIMED_OUT;
    FILE *file = fopen(path, "w");
    if (!file) return RD_KAFKA_RESP_ERR__INVALID_ARG;
    rd_kafka_t *client = open_client(RD_KAFKA_CONSUMER, brokers);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(client, name, NULL);
    rd_kafka_consume_start(topic, 0, RD_KAFKA_OFFSET_BEGINNING);
    rd_kafka_message_t *m;
    while (error != RD_KAFKA_RESP_ERR__PARTITION_EOF && (m = rd_kafka_consume(topic, 0, 20000))) {
        error = m->err;
        if (!error) fwrite(m->payload, 1, m->len, file);
        rd_kafka_message_destroy(m);
    }
    rd_kafka_consume_stop(topic, 0);
    rd_kafka_topic_destroy(topic);
    rd_kafka_destroy(client);
    fclose(file);
    return error == RD_KAFKA_RESP_ERR__PARTITION_EOF ? RD_KAFKA_RESP_ERR_NO_ERROR : error;
}

static rd_kafka_resp_err_t obey(rd_kafka_mock_cluster_t *cluster, int brokers, const char *line)
{
    char name[200], path[200];
    int partitions, lines;
    if (sscanf(line, "send %199s %d %199s", name, &lines, path) == 3)
        return send_file(rd_kafka_mock_cluster_bootstraps(cluster), name, lines, path);
    if (sscanf(line, "dump %199s %199s", name, path) == 2)
        return dump_topic(rd_kafka_mock_cluster_bootstraps(cluster), name, path);
    rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
    if (sscanf(line, "topic %199s %d", name, &partitions) == 2)
        return rd_kafka_mock_topic_create(cluster, name, partitions, 1);
    if (sscanf(line, "hide %199s", name) == 1 || sscanf(line, "show %199s", name) == 1) {
        rd_kafka_mock_topic_set_error(cluster, name,
            *line == 'h' ? RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART : RD_KAFKA_RESP_ERR_NO_ERROR);
        return RD_KAFKA_RESP_ERR_NO_ERROR;
    }
    bool down = strcmp(line, "down\n") == 0;
    if (!down && strcmp(line, "up\n") != 0) return RD_KAFKA_RESP_ERR__INVALID_ARG;
    for (int b = 1; b <= brokers && !error; b++)
        error = down ? rd_kafka_mock_broker_set_down(cluster, b) : rd_kafka_mock_broker_set_up(cluster, b);
    return error;
}

int main(int count, char **arguments)
{
    char line[512];
    int brokers = count > 1 ? (int)strtol(arguments[1], NULL, 10) : 1;
    rd_kafka_t *client = open_client(RD_KAFKA_PRODUCER, NULL);
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
