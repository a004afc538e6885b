/* bench_mqtt.c -- how fast messages become rows, beside a subscriber that only counts them.
 *
 *   bench_mqtt PORT [MESSAGES] [REPEATS]
 *
 * A broker on that port of this machine (bench/mqtt starts one) holds the messages for a client that was
 * there before; then the client comes back, and the clock runs until it has them all. Bare, and with spool,
 * parser and ring, in turn; medians, with the least and the most. */
#include "base/file.h"
#include "base/memory.h"
#include "base/stopwatch.h"
#include "rig.h"
#include "stream/mqtt.h"
#include "stream/outlet.h"
#include <time.h>
#include <unistd.h>

#define MOST_REPEATS 21u

struct kind {
    const char *name;
    uint32_t cols, format;
};
static const struct kind kinds[] = {
    { "CSV, 10 columns", 10, MOT_RECORDS_CSV },
    { "raw, 784 columns", 784, MOT_RECORDS_RAW },
};

static struct mot_address address;
static struct mot_intake_conf conf = { .bound = MOT_WORD_UINT, .longest = 1 << 20, .sync = 1 };
static uint64_t messages = 50000;
static const char *port;
static char from[64];

static void nap(void) { nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL); }
static void must(bool holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "bench_mqtt: %s: %s\n", what, mot_error());
    exit(1);
}

/* A topic that nobody has listened to: the broker keeps messages for all who have. */
static void next_topic(void)
{
    static unsigned number;
    mot_address_free(&address);
    snprintf(from, sizeof(from), "mqtt://127.0.0.1:%s/bench%u", port, number++);
    conf.from = from;
    must(!mot_address_of(from, 0, 1, &address), "the port");
}

static size_t record_of(const struct kind *k, unsigned char *into, size_t room)
{
    size_t n = 0;
    if (k->format == MOT_RECORDS_RAW) {
        mot_raw_header(into, k->cols, 1);
        memset(into + MOT_RAW_HEADER, 0, MOT_RAW_ROW(k->cols));
        return MOT_RAW_HEADER + MOT_RAW_ROW(k->cols);
    }
    for (uint32_t c = 0; c < k->cols; c++) n += (size_t)snprintf((char *)into + n, room - n, "%u.25,", c);
    return n + (size_t)snprintf((char *)into + n, room - n, "1");
}

static void publish(const struct kind *k)
{
    static unsigned char record[1 << 16];
    struct mot_outlet *out;
    size_t n = record_of(k, record, sizeof(record));
    must(mot_outlet_mqtt(&address, &conf, &out) == MOT_OK, "a publisher");
    for (uint64_t i = 0; i < messages; i++) must(out->ops->send(out, record, n) == MOT_OK, "publishing");
    must(out->ops->flush(out) == MOT_OK, "publishing");
    out->ops->close(out);
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
    uint64_t began = mot_wall_ns(), first = atomic_load(&came);
    while (atomic_load(&came) < messages) nap();
    double rate = (double)(messages - first) / ((double)(mot_wall_ns() - began) * 1e-9);
    mot_mqtt_close(m);
    return rate;
}

/* ---- An intake -------------------------------------------------------------------------------------- */

struct rows {
    struct mot_intake *intake;
    uint32_t rows;
    float *x, *y;
};

static void open_intake(const struct kind *k, const char *folder, struct rows *r)
{
    static char *classes[] = { "0", "1" };
    static struct mot_record_form form;
    form = (struct mot_record_form){ .format = k->format,
        .label = UINT32_MAX,
        .separator = ',',
        .schema = { .cols = k->cols, .classes = 2, .class_names = classes, .scale = MOT_SCALE_NONE } };
    struct mot_intake_setup setup = {
        .conf = &conf, .form = &form, .workers = 1, .rows = r->rows, .x = r->x, .y = r->y, .folder = folder
    };
    must(mot_intake_open(&setup, &r->intake) == MOT_OK, "an intake");
}

static double intake(const struct kind *k)
{
    char folder[] = "/tmp/bench_mqtt.XXXXXX", words[64];
    struct rows r = { .rows = 4096 };
    must(mkdtemp(folder) != NULL, "a folder");
    next_topic();
    r.x = mot_new((size_t)r.rows * k->cols, sizeof(float));
    r.y = mot_new(r.rows, sizeof(float));
    open_intake(k, folder, &r);
    sleep(1); /* until it has subscribed */
    mot_intake_close(r.intake);
    publish(k);
    open_intake(k, folder, &r);
    struct mot_ring *ring = mot_intake_ring(r.intake);
    uint64_t came, first, began;
    while ((came = atomic_load(&ring->tail)) == 0) nap();
    began = mot_wall_ns(), first = came;
    while ((came = atomic_load(&ring->tail)) < messages) {
        mot_ring_hold(ring, came);
        mot_ring_release(ring, came);
        nap();
    }
    double rate = (double)(messages - first) / ((double)(mot_wall_ns() - began) * 1e-9);
    mot_intake_close(r.intake);
    snprintf(words, sizeof(words), "%s/spool-0.bin", folder);
    unlink(words);
    rmdir(folder);
    free(r.x);
    free(r.y);
    return rate;
}

static double print(const char *what, unsigned n, double *each)
{
    qsort(each, n, sizeof(*each), rig_by_size);
    printf("  %-28s %8.0f messages/s (%.0f to %.0f)\n", what, each[n / 2], each[0], each[n - 1]);
    return each[n / 2];
}

int main(int count_of, char **arguments)
{
    unsigned repeats = count_of > 3 ? (unsigned)strtoul(arguments[3], NULL, 10) : 5;
    double plain[MOST_REPEATS], whole[MOST_REPEATS];
    if (count_of < 2) return fprintf(stderr, "usage: bench_mqtt PORT [MESSAGES] [REPEATS]\n"), 2;
    if (count_of > 2) messages = strtoull(arguments[2], NULL, 10);
    if (repeats > MOST_REPEATS) repeats = MOST_REPEATS;
    port = arguments[1];
    must(mot_mqtt_library() == MOT_OK, "MQTT");
    for (size_t k = 0; k < MOT_COUNT(kinds); k++) {
        for (unsigned i = 0; i < repeats; i++) {
            plain[i] = bare(&kinds[k]);
            whole[i] = intake(&kinds[k]);
        }
        printf("%s, %llu messages of QoS 1\n", kinds[k].name, (unsigned long long)messages);
        double a = print("a subscriber that counts", repeats, plain),
               b = print("spool, parser, ring", repeats, whole);
        printf("  %-28s %8.0f %%\n", "share", 100 * b / a);
    }
    mot_address_free(&address);
    return 0;
}
