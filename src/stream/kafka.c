/* kafka.c -- a Kafka client: its settings, and advice made from what librdkafka reports. */
#include "stream/inlet.h"
#ifdef MOTLEY_KAFKA
#include "base/memory.h"
#include "stream/kafka.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mot_rdkafka mot_rdkafka;
static const char *const names[] = { MOT_RDKAFKA_CALLS(MOT_ONDEMAND_NAME) };

enum mot_status mot_kafka_library(void)
{
    static struct mot_ondemand library = { .file = MOTLEY_KAFKA, /* the library's name */
        .wanted_by = "kafka://",
        MOT_ONDEMAND_TABLE(mot_rdkafka, names) };
    return mot_ondemand(&library);
}

#define WHY_MOST 90 /* characters of a reason that librdkafka gives */

/* ---- Words ------------------------------------------------------------------------------- */

/* Reduces "sasl_ssl://host:9092/bootstrap: Connect to ... failed: Connection refused (after 0ms in state
 * CONNECT)" to the part between the broker's name and the history. */
static void shorten(const char *reason, char into[WHY_MOST])
{
    const char *begin = strstr(reason, "bootstrap: ");
    begin = begin ? begin + strlen("bootstrap: ") : reason;
    const char *end = strstr(begin, " (after ");
    int n = (int)(end ? (size_t)(end - begin) : strlen(begin));
    snprintf(into, WHY_MOST, "%.*s", n, begin);
}

void mot_kafka_note(struct mot_kafka *k, rd_kafka_resp_err_t error, const char *reason)
{
    char why[WHY_MOST];
    shorten(reason && *reason ? reason : mot_rdkafka.err2str(error), why);
    switch (error) {
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM:
        snprintf(k->words, sizeof(k->words),
            "%.60s refuses %s%.40s: %s; check the user, and source.password_file or MOTLEY_PASSWORD",
            k->hosts, k->user ? "user " : "us", k->user ? k->user : "", why);
        break;
    case RD_KAFKA_RESP_ERR__SSL:
        snprintf(k->words, sizeof(k->words),
            "no TLS with %.60s: %s; check that the port speaks TLS, and source.ca, cert and key", k->hosts,
            why);
        break;
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
        snprintf(k->words, sizeof(k->words), "%.80s denies %s%.40s access to topic %.80s; check its rights",
            k->hosts, k->user ? "user " : "us", k->user ? k->user : "", k->topic_name);
        break;
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
        snprintf(k->words, sizeof(k->words),
            "%.80s has no topic %.80s with a partition %d; check its name, or create it", k->hosts,
            k->topic_name, k->partition);
        k->away = true;
        return;
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE:
    case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION:
    case RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE:
        /* The first reason says more than those that follow from it, and one that ends the run says most. */
        if (k->failed || (k->away && (!reason || error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN))) return;
        snprintf(k->words, sizeof(k->words),
            "no broker answers at %.60s: %s; check that it runs, its address%s", k->hosts, why,
            k->tls ? ", and that the port speaks TLS" : " and its port");
        k->away = true;
        return;
    default: return; /* librdkafka will retry, and nothing is lost meanwhile */
    }
    k->away = true;
    k->failed = !k->met;
}

static void on_error(rd_kafka_t *client, int error, const char *reason, void *self)
{
    char fatal[256];
    struct mot_kafka *k = self;
    if (error == RD_KAFKA_RESP_ERR__FATAL) {
        rd_kafka_resp_err_t why = mot_rdkafka.fatal_error(client, fatal, sizeof(fatal));
        snprintf(
            k->words, sizeof(k->words), "%.80s: %.120s (%s)", k->hosts, fatal, mot_rdkafka.err2name(why));
        k->away = k->failed = true;
        return;
    }
    mot_kafka_note(k, (rd_kafka_resp_err_t)error, reason);
}

/* What matters also comes as an error; printing the rest would only clutter the terminal. */
static void on_log(const rd_kafka_t *client, int level, const char *facility, const char *line)
{
    (void)client, (void)level, (void)facility, (void)line;
}

static void on_delivery(rd_kafka_t *client, const rd_kafka_message_t *m, void *self)
{
    (void)client;
    struct mot_kafka *k = self;
    if (!m->err) {
        k->met = true;
        k->away = false;
        return;
    }
    k->words[0] = '\0'; /* forget an older reason */
    mot_kafka_note(k, m->err, NULL);
    if (!k->words[0])
        snprintf(k->words, sizeof(k->words), "%.80s refuses a record for topic %.80s: %s", k->hosts,
            k->topic_name, mot_rdkafka.err2str(m->err));
    k->failed = true; /* librdkafka gave up on it: the next record would leave a gap */
}

/* ---- Settings ---------------------------------------------------------------------------- */

struct setting {
    const char *key, *value; /* value NULL: librdkafka's default */
};

static enum mot_status set_all(rd_kafka_conf_t *conf, const struct setting *s, size_t n)
{
    char why[256];
    for (size_t i = 0; i < n; i++)
        if (s[i].value &&
            mot_rdkafka.conf_set(conf, s[i].key, s[i].value, why, sizeof(why)) != RD_KAFKA_CONF_OK)
            return mot_fail(MOT_EUSAGE, "Kafka: %s: %s", s[i].key, why);
    return MOT_OK;
}

static const char *protocol_of(const struct mot_address *a)
{
    if (a->tls) return a->user ? "sasl_ssl" : "ssl";
    return a->user ? "sasl_plaintext" : "plaintext";
}

static enum mot_status set_access(
    rd_kafka_conf_t *conf, const struct mot_address *a, const struct mot_intake_conf *c)
{
    char *password = NULL;
    enum mot_status status = a->user ? mot_inlet_password(c, &password) : MOT_OK;
    if (status != MOT_OK) return status;
    const struct setting access[] = {
        { "bootstrap.servers", a->hosts },
        { "client.id", "motley" },
        { "security.protocol", protocol_of(a) },
        { "sasl.mechanism", a->user ? "PLAIN" : NULL },
        { "sasl.username", a->user },
        { "sasl.password", a->user ? (password ? password : "") : NULL },
        { "ssl.ca.location", a->tls ? c->ca : NULL },
        { "ssl.certificate.location", a->tls ? c->cert : NULL },
        { "ssl.key.location", a->tls ? c->key : NULL },
        { "reconnect.backoff.max.ms", "2000" },
    };
    status = set_all(conf, access, MOT_COUNT(access));
    free(password);
    return status;
}

/* Only the checkpoint decides where to go on: no group, no commits, and no other place to begin if the wanted
 * one is gone. */
static enum mot_status set_reading(rd_kafka_conf_t *conf, const struct mot_intake_conf *c)
{
    char kbytes[32], most[32];
    uint64_t room = c->memory / 1024 < 16384 ? c->memory / 1024 : 16384;
    snprintf(kbytes, sizeof(kbytes), "%llu", (unsigned long long)(room ? room : 1));
    snprintf(most, sizeof(most), "%llu", (unsigned long long)(c->longest + 60000000));
    const struct setting reading[] = {
        { "group.id", "motley" }, { "enable.auto.commit", "false" }, { "enable.auto.offset.store", "false" },
        { "auto.offset.reset", "error" }, { "allow.auto.create.topics", "false" },
        { "queued.max.messages.kbytes", kbytes },
        { "receive.message.max.bytes", c->longest > 40000000 ? most : NULL },
        { "fetch.error.backoff.ms", "100" },
        { "socket.timeout.ms", "3000" }, /* to stop, we wait for a question to a broker that is away */
    };
    return set_all(conf, reading, MOT_COUNT(reading));
}

/* Every record once and in order, however often the broker goes away, with bounded queues. */
static enum mot_status set_writing(rd_kafka_conf_t *conf)
{
    static const struct setting writing[] = {
        { "enable.idempotence", "true" },
        { "message.timeout.ms", "0" },
        { "queue.buffering.max.messages", "20000" },
        { "queue.buffering.max.kbytes", "16384" },
        { "linger.ms", "5" },
    };
    mot_rdkafka.conf_set_dr_msg_cb(conf, on_delivery);
    return set_all(conf, writing, MOT_COUNT(writing));
}

enum mot_status mot_kafka_open(
    const struct mot_address *a, const struct mot_intake_conf *c, bool writes, struct mot_kafka *out)
{
    char why[512];
    enum mot_status status = mot_kafka_library();
    if (status != MOT_OK) return status;
    rd_kafka_conf_t *conf = mot_rdkafka.conf_new();
    mot_rdkafka.conf_set_opaque(conf, out);
    mot_rdkafka.conf_set_log_cb(conf, on_log);
    mot_rdkafka.conf_set_error_cb(conf, on_error);
    status = set_access(conf, a, c);
    if (status == MOT_OK) status = writes ? set_writing(conf) : set_reading(conf, c);
    if (status != MOT_OK) {
        mot_rdkafka.conf_destroy(conf);
        return status;
    }
    *out = (struct mot_kafka){ .hosts = mot_text(a->hosts),
        .topic_name = mot_text(a->topic),
        .user = a->user ? mot_text(a->user) : NULL,
        .tls = a->tls,
        .partition = (int32_t)a->partition };
    out->client = mot_rdkafka.new(writes ? RD_KAFKA_PRODUCER : RD_KAFKA_CONSUMER, conf, why, sizeof(why));
    if (!out->client) {
        mot_rdkafka.conf_destroy(conf);
        status = mot_fail(MOT_EUSAGE, "Kafka at %s: %s", a->hosts, why);
    } else if (!(out->topic = mot_rdkafka.topic_new(out->client, a->topic, NULL))) {
        status = mot_fail(
            MOT_EUSAGE, "Kafka topic %s: %s", a->topic, mot_rdkafka.err2str(mot_rdkafka.last_error()));
    }
    if (status != MOT_OK) mot_kafka_close(out);
    else if (!writes) mot_rdkafka.poll_set_consumer(out->client);
    return status;
}

void mot_kafka_close(struct mot_kafka *k)
{
    if (k->topic) mot_rdkafka.topic_destroy(k->topic);
    if (k->client) mot_rdkafka.destroy_flags(k->client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    free(k->hosts);
    free(k->topic_name);
    free(k->user);
}

#else

enum mot_status mot_kafka_library(void)
{
    return mot_fail(MOT_EUSAGE, "this motley was built without Kafka; install librdkafka-dev and rebuild");
}

#endif
