/* bench_mqtt.c -- how fast messages become rows, beside a subscriber that only counts them.
 *
 *   bench_mqtt PORT [MESSAGES] [REPEATS]
 *
 * A broker on that port of this machine (bench/mqtt starts one) holds the messages for a client that was
 * there before; then the client comes back, and the clock runs until it has them all. Bare, and with spool,
 * parser and ring, in turn; medians, with the least and the most. */
#include "broker.h"
#include "stream/mqtt.h"
#include <unistd.h>

static const char *port;
static char from[64];

/* A topic that nobody has listened to: the broker keeps messages for all who have. */
static void next_topic(void)
{
    static unsigned number;
    mot_address_free(&address);
    snprintf(from, sizeof(from), "mqtt://127.0.0.1:%s/bench%u", port, number++);
    conf.from = from;
    must(!mot_address_of(from, 0, 1, &address), "the port");
}

/* ---- A subscriber that counts --------------------------------------------------------------------- */

static void count(void *self, const void *bytes, size_t n)
{
    (void)bytes;
    (void)n;
    atomic_fetch_add((_Atomic uint64_t *)self, 1);
}

static double bare(const struct kind *k)
{
    _Atomic uint64_t came = 0;
    static unsigned number;
    char id[32];
    snprintf(id, sizeof(id), "motley-bare-%u", number++);
    struct mot_mqtt_conf c = { .address = &address,
        .conf = &conf,
        .id = id,
        .remembered = true,
        .subscribes = true,
        .self = &came,
        .message = count };
    char words[MOT_INTAKE_WORDS];
    struct mot_mqtt *m;
    next_topic();
    must(mot_mqtt_open(&c, &m) == MOT_OK, "a subscriber");
    while (mot_mqtt_state(m, words) != MOT_MQTT_READY) nap();
    mot_mqtt_close(m);
    publish(k);
    must(mot_mqtt_open(&c, &m) == MOT_OK, "a subscriber");
    while (atomic_load(&came) == 0) nap();
    uint64_t first = atomic_load(&came);
    begin_clock();
    while (atomic_load(&came) < messages) nap();
    double rate = end_clock(messages - first);
    mot_mqtt_close(m);
    return rate;
}

static double intake(const struct kind *k)
{
    char folder[] = "/tmp/bench_mqtt.XXXXXX", words[64];
    struct rows r;
    must(mkdtemp(folder) != NULL, "a folder");
    next_topic();
    rows_open(&r, k);
    open_intake(k, folder, &r);
    sleep(1); /* until it has subscribed */
    mot_intake_close(r.intake);
    publish(k);
    open_intake(k, folder, &r);
    double rate = rows_per_second(&r);
    rows_close(&r);
    snprintf(words, sizeof(words), "%s/spool-0.bin", folder);
    unlink(words);
    rmdir(folder);
    return rate;
}

int main(int count_of, char **arguments)
{
    unsigned repeats = count_of > 3 ? (unsigned)strtoul(arguments[3], NULL, 10) : 5;
    if (count_of < 2) return fprintf(stderr, "usage: bench_mqtt PORT [MESSAGES] [REPEATS]\n"), 2;
    if (count_of > 2) messages = strtoull(arguments[2], NULL, 10);
    port = arguments[1];
    must(mot_mqtt_library() == MOT_OK, "MQTT");
    for (size_t k = 0; k < MOT_COUNT(kinds); k++)
        compare(&kinds[k], repeats, bare, intake, "spool, parser, ring");
    mot_address_free(&address);
    return 0;
}
