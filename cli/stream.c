/* stream.c -- `motley stream`: a data set, sent record by record as devices would. */
#include "stream.h"

#include "base/memory.h"
#include "base/shown.h"
#include "base/stopwatch.h"
#include "base/ticker.h"
#include "base/words.h"
#include "cli.h"
#include "config/stream_file.h"
#include "data/number.h"
#include "interrupt.h"
#include "raw_data.h"
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define DEVICES_MOST 4096u
#define LOOK_NS 50000000L
#define PARTING_NS UINT64_C(3000000000) /* after Ctrl-C, for records under way to arrive */

/* ---- What to send, where and how fast ------------------------------------------------------- */

/* --rates: "12, 40, 64", one for each device, or a law as in cluster.stream. */
static enum mot_status read_law(const struct cli_args *args, struct mot_arena *arena, struct stream_plan *p)
{
    const char *rates = cli_value(args, "rates");
    struct mot_yaml_reader reader = { .arena = arena };
    struct mot_yaml *node;
    p->law = (struct mot_stream){ .kind = MOT_STREAM_NONE };
    if (!rates) return MOT_OK;
    bool list = strspn(rates, " ,0123456789[]") == strlen(rates);
    const char *first = rates + strspn(rates, " [");
    char *law =
        list ? mot_format("{name: list, rates: [%.*s]}", (int)strcspn(first, "]"), first) : mot_text(rates);
    law = mot_arena_take(arena, law);
    enum mot_status status = mot_yaml_parse("--rates", true, law, strlen(law), arena, &node);
    if (status == MOT_OK) status = mot_stream_read(&reader, node, "rates", &p->law);
    return status;
}

static enum mot_status read_limits(const struct cli_args *args, struct stream_plan *p)
{
    const char *devices = cli_value(args, "devices"), *count = cli_value(args, "count"),
               *time = cli_value(args, "time"), *speed = cli_value(args, "speed"),
               *seed = cli_value(args, "seed");
    uint64_t n = p->law.kind == MOT_STREAM_LIST ? p->law.rates.n : 1;
    if (devices && (!mot_read_uint(devices, &n) || n < 1 || n > DEVICES_MOST))
        return mot_fail(MOT_EUSAGE, "--devices %s: expected a number from 1 to %u", devices, DEVICES_MOST);
    p->devices = (uint32_t)n;
    p->count = UINT64_MAX;
    if (count && !mot_read_uint(count, &p->count))
        return mot_fail(MOT_EUSAGE, "--count %s: expected a number of records", count);
    p->time = MOT_NEVER;
    if (time && !mot_read_time(time, &p->time))
        return mot_fail(MOT_EUSAGE, "--time %s: expected a time such as 30s", time);
    p->seed = 1;
    if (seed && !mot_read_uint(seed, &p->seed))
        return mot_fail(MOT_EUSAGE, "--seed %s: expected a number", seed);
    p->speed = 1;
    if (speed && strcmp(speed, "max") == 0) p->law.kind = MOT_STREAM_NONE;
    else if (speed && (!mot_read_real(speed, &p->speed) || !(p->speed > 0 && p->speed <= 1e6)))
        return mot_fail(MOT_EUSAGE, "--speed %s: expected a factor such as 10, or max", speed);
    p->once = !count && !time;
    return MOT_OK;
}

static enum mot_status read_format(const struct cli_args *args, struct stream_plan *p)
{
    static const char *const words[] = { "csv", "libsvm", "json", "raw" };
    struct mot_intake_conf conf = { .from = cli_value(args, "to") };
    const char *records = cli_value(args, "records");
    p->format = mot_records_format(&conf);
    if (!records) return MOT_OK;
    for (uint32_t i = 0; i < MOT_COUNT(words); i++)
        if (strcmp(records, words[i]) == 0) {
            p->format = (enum mot_record_format)i;
            return MOT_OK;
        }
    return mot_fail(MOT_EUSAGE, "--records %s: expected csv, libsvm, json or raw", records);
}

/* ---- Labels, as a reader knows them ------------------------------------------------------------ */

static enum mot_status name_classes(const struct mot_data_conf *conf, struct mot_arena *arena,
    const struct mot_raw *raw, struct stream_plan *p)
{
    uint32_t classes, *class_of;
    char **names;
    double any;
    mot_labels_classes(&raw->labels, &classes, &names, &class_of);
    for (uint32_t i = 0; i < raw->labels.count; i++) {
        const char *text = names[class_of[i]], *known = mot_builtin_class(conf->name, text);
        p->label[i].text = mot_arena_text(arena, known ? known : text);
        p->label[i].number = mot_is_number(p->label[i].text, strlen(p->label[i].text), '.', &any);
        p->label[i].value = (float)class_of[i];
    }
    for (uint32_t c = 0; c < classes; c++) free(names[c]);
    free(names);
    free(class_of);
    return mot_memory_status();
}

static void name_values(struct mot_arena *arena, const struct mot_raw *raw, struct stream_plan *p)
{
    char text[40];
    for (uint32_t r = 0; r < raw->rows; r++) {
        p->label[r] = (struct mot_record_label){ .number = true, .value = (float)raw->labels.value[r] };
        mot_print_float(text, sizeof text, p->label[r].value);
        p->label[r].text = mot_arena_text(arena, text);
    }
}

static enum mot_status name_labels(const struct mot_data_conf *conf, struct mot_arena *arena,
    const struct mot_raw *raw, struct stream_plan *p)
{
    enum mot_task task;
    if (!raw->labelled || raw->rows == 0)
        return mot_fail(MOT_EDATA, "%s: %s; a record needs a label", conf->name,
            raw->rows ? "its rows have no labels" : "it has no rows");
    enum mot_status status = mot_raw_task(raw, (enum mot_task)conf->task, conf->name, &task);
    if (status != MOT_OK) return status;
    p->label_each = task != MOT_TASK_CLASSES;
    uint32_t n = p->label_each ? raw->rows : raw->labels.count;
    p->label = mot_arena_new(arena, n * sizeof *p->label);
    if (p->label_each) name_values(arena, raw, p);
    else status = name_classes(conf, arena, raw, p);
    for (uint32_t i = 0; i < n && status == MOT_OK; i++) {
        const char *unfit = mot_record_label_unfit(p->format, &p->label[i]);
        char shown[64];
        if (unfit)
            status = mot_fail(MOT_EDATA, "%s: the label '%s' %s; try --records json or raw", conf->name,
                mot_show_text(p->label[i].text, shown, sizeof shown), unfit);
    }
    return status;
}

/* ---- Devices ------------------------------------------------------------------------------- */

/* Each device has a connection, which needs files: a socket, and what wakes its threads. Most systems let a
 * process open 1024, and more if it asks. */
static enum mot_status allow_files(const struct stream_plan *p, enum mot_inlet_kind kind)
{
    static const unsigned each[MOT_INLET_KINDS] = {
        [MOT_INLET_FILE] = 1, [MOT_INLET_MQTT] = 5, [MOT_INLET_KAFKA] = 12
    };
    struct rlimit limit;
    rlim_t want = 64 + (rlim_t)p->devices * each[kind];
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= want) return MOT_OK;
    if (limit.rlim_max < want)
        return mot_fail(MOT_EUSAGE,
            "--devices %u: they need up to %llu open files, and this process may have %llu; expected fewer "
            "devices, or a higher limit (ulimit -Hn)",
            p->devices, (unsigned long long)want, (unsigned long long)limit.rlim_max);
    limit.rlim_cur = want;
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0) return MOT_OK;
    return mot_fail(MOT_ESYSTEM, "cannot open %llu files: %s", (unsigned long long)want, strerror(errno));
}

static enum mot_status open_devices(const struct cli_args *args, const struct stream_plan *p,
    const volatile sig_atomic_t *give_up, struct stream_device *device)
{
    const char *to = cli_value(args, "to");
    struct mot_intake_conf conf = { .from = to,
        .password_file = cli_value(args, "password-file"),
        .ca = cli_value(args, "ca"),
        .cert = cli_value(args, "cert"),
        .key = cli_value(args, "key") };
    enum mot_status status = MOT_OK;
    for (uint32_t i = 0; i < p->devices && status == MOT_OK; i++) {
        struct stream_device *d = &device[i];
        char *wrong = mot_address_of(to, i, p->devices, &d->address);
        if (wrong) {
            status = mot_fail(MOT_EUSAGE, "--to: %s", wrong);
            free(wrong);
            return status;
        }
        d->plan = p;
        d->number = i;
        if (i == 0) status = allow_files(p, d->address.kind);
        if (status == MOT_OK) status = mot_outlet_open(&d->address, &conf, give_up, &d->outlet);
    }
    return status;
}

static void close_devices(struct stream_device *device, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (device[i].outlet) device[i].outlet->ops->close(device[i].outlet);
        mot_address_free(&device[i].address);
        free(device[i].trouble);
    }
    free(device);
}

static uint64_t sent_by(const struct stream_device *d) { return atomic_load(&d->outlet->sent); }

struct standing {
    uint64_t sent, bytes, behind, pushed_back_ns;
    uint32_t done;
};

static struct standing standing_of(const struct stream_plan *p, struct stream_device *device,
    struct mot_arrivals *arrivals, uint64_t since_ns)
{
    struct standing s = { 0 };
    for (uint32_t i = 0; i < p->devices; i++) {
        uint64_t due = stream_due(&arrivals[i], p, since_ns), sent = sent_by(&device[i]);
        uint64_t share = stream_share(&device[i]);
        s.sent += sent;
        s.bytes += atomic_load(&device[i].outlet->bytes);
        s.pushed_back_ns += atomic_load(&device[i].outlet->pushed_back_ns);
        if (due != UINT64_MAX && due > share) due = share;
        if (due != UINT64_MAX && due > sent) s.behind += due - sent;
        s.done += atomic_load(&device[i].done);
    }
    return s;
}

static void show(struct mot_ticker *t, const struct standing *s, uint64_t since_ns)
{
    char line[256], time[48];
    double passed = (double)since_ns * 1e-9;
    snprintf(line, sizeof line, "%" PRIu64 " records (%.3g/s)  %" PRIu64 " behind  clock %s", s->sent,
        passed > 0 ? (double)s->sent / passed : 0, s->behind, mot_show_time(since_ns, time, sizeof time));
    mot_ticker_show(t, line);
}

/* Waits until all devices are done, one has failed, or Ctrl-C. */
static void watch(const struct cli_args *args, const struct stream_plan *p, struct stream_device *device,
    uint64_t began_ns, volatile sig_atomic_t *give_up)
{
    struct mot_ticker ticker;
    uint64_t asked_ns = 0;
    struct mot_arrivals *arrivals = mot_new(p->devices, sizeof *arrivals);
    for (uint32_t i = 0; i < p->devices && p->law.kind != MOT_STREAM_NONE; i++)
        mot_arrivals_open(&arrivals[i], &p->law, p->seed, i);
    mot_ticker_open(&ticker, stderr, isatty(STDERR_FILENO));
    for (;;) {
        uint64_t now = mot_wall_ns();
        struct standing s = standing_of(p, device, arrivals, now - began_ns);
        bool failed = false;
        for (uint32_t i = 0; i < p->devices; i++)
            failed |= atomic_load(&device[i].done) && device[i].status != MOT_OK;
        if (s.done == p->devices) break;
        if (!asked_ns && (*p->interrupted || failed)) asked_ns = now;
        if (asked_ns && (failed || now - asked_ns > PARTING_NS)) *give_up = 1;
        if (!args->quiet && !args->json && mot_ticker_due(&ticker)) show(&ticker, &s, now - began_ns);
        nanosleep(&(struct timespec){ .tv_nsec = LOOK_NS }, NULL);
    }
    mot_ticker_clear(&ticker);
    free(arrivals);
}

/* ---- What was sent ---------------------------------------------------------------------------- */

static double seconds_of(const struct stream_device *d)
{
    return d->ended_ns > d->began_ns ? (double)(d->ended_ns - d->began_ns) * 1e-9 : 1e-9;
}

static void print_json(const struct stream_plan *p, const struct stream_device *device)
{
    json_t *all = json_array();
    for (uint32_t i = 0; i < p->devices; i++) {
        const struct stream_device *d = &device[i];
        uint64_t sent = sent_by(d);
        json_array_append_new(all,
            json_pack("{s:I, s:I, s:I, s:f, s:f, s:f}", "device", (json_int_t)i, "records", (json_int_t)sent,
                "bytes", (json_int_t)atomic_load(&d->outlet->bytes), "time_s", seconds_of(d), "rate",
                (double)sent / seconds_of(d), "pushed_back_s",
                (double)atomic_load(&d->outlet->pushed_back_ns) * 1e-9));
    }
    json_t *top = json_pack("{s:o}", "devices", all);
    json_dumpf(top, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(top);
}

static void print_text(const struct stream_plan *p, const struct stream_device *device)
{
    char time[48], size[32];
    uint64_t sent = 0, bytes = 0;
    double longest = 1e-9;
    for (uint32_t i = 0; i < p->devices; i++) {
        const struct stream_device *d = &device[i];
        double s = seconds_of(d);
        uint64_t back = atomic_load(&d->outlet->pushed_back_ns);
        printf("device %-4u %10" PRIu64 " records %10.4g/s", i, sent_by(d), (double)sent_by(d) / s);
        if (p->law.kind != MOT_STREAM_NONE)
            printf(", asked for %.4g/s", p->speed * mot_stream_rate(&p->law, p->seed, i, 0));
        if (back > 100000000) printf(", pushed back for %s", mot_show_time(back, time, sizeof time));
        putchar('\n');
        sent += sent_by(d);
        bytes += atomic_load(&d->outlet->bytes);
        if (s > longest) longest = s;
    }
    printf("%-11s %10" PRIu64 " records %10.4g/s, %s in %s\n", "all", sent, (double)sent / longest,
        mot_show_size((double)bytes, size, sizeof size),
        mot_show_time((uint64_t)(longest * 1e9), time, sizeof time));
}

/* The error of the first device that failed, by number; else whether it was interrupted. */
static enum mot_status outcome_of(const struct stream_plan *p, const struct stream_device *device)
{
    for (int interrupted = 0; interrupted < 2; interrupted++)
        for (uint32_t i = 0; i < p->devices; i++)
            if (device[i].status != MOT_OK && (device[i].status == MOT_EINTERRUPTED) == interrupted)
                return mot_fail(device[i].status, "device %u: %s", i, device[i].trouble);
    if (*p->interrupted) return mot_fail(MOT_EINTERRUPTED, "interrupted; all that was sent has arrived");
    return MOT_OK;
}

static enum mot_status send_from(const struct cli_args *args, struct stream_plan *p)
{
    static volatile sig_atomic_t give_up;
    struct stream_device *device = mot_new(p->devices, sizeof *device);
    p->interrupted = cli_catch_interrupts();
    enum mot_status status = open_devices(args, p, &give_up, device);
    uint64_t began_ns = mot_wall_ns();
    uint32_t started = 0;
    for (; started < p->devices && status == MOT_OK; started++) {
        device[started].began_ns = began_ns;
        if (pthread_create(&device[started].thread, NULL, stream_main, &device[started]) != 0) {
            status = mot_fail(MOT_ESYSTEM, "cannot start a thread for device %u", started);
            break;
        }
    }
    if (status == MOT_OK) watch(args, p, device, began_ns, &give_up);
    else give_up = 1;
    for (uint32_t i = 0; i < started; i++) pthread_join(device[i].thread, NULL);
    if (status == MOT_OK) {
        if (args->json) print_json(p, device);
        else if (!args->quiet) print_text(p, device);
        status = outcome_of(p, device);
    }
    close_devices(device, p->devices);
    return status;
}

static enum mot_status run(const struct cli_args *args)
{
    struct mot_arena arena = { 0 };
    struct mot_data_conf conf;
    struct mot_raw raw = { 0 };
    struct stream_plan plan = { .raw = &raw };
    enum mot_status status = cli_value(args, "to")
        ? MOT_OK
        : mot_fail(MOT_EUSAGE, "expected --to kafka://..., mqtt://... or a file");
    if (status == MOT_OK) status = read_law(args, &arena, &plan);
    if (status == MOT_OK) status = read_limits(args, &plan);
    if (status == MOT_OK) status = read_format(args, &plan);
    if (status == MOT_OK) status = cli_raw_conf(args, args->word[0], &arena, &conf);
    if (status == MOT_OK) status = cli_raw_open(&conf, false, &raw);
    if (status == MOT_OK) status = cli_raw_fill(&conf, &raw);
    if (status == MOT_OK) status = name_labels(&conf, &arena, &raw, &plan);
    if (status == MOT_OK) status = send_from(args, &plan);
    mot_raw_free(&raw);
    mot_arena_free(&arena);
    return status;
}

static const struct cli_flag flags[] = {
    { "to", "ADDRESS",
        "where to send: kafka://HOST/TOPIC, mqtt://HOST/TOPIC (kafkas, mqtts: over TLS) or a file, which "
        "grows; {worker} stands for the device's number" },
    { "rates", "RATES",
        "samples a second: a list, one for each device, or a law as in cluster.stream, such as '{name: "
        "uniform, mean: 38/s, sd: 24/s}'; default: as fast as the other side takes them" },
    { "devices", "N", "how many send; default: as many as --rates lists, or 1" },
    { "records", "csv|libsvm|json|raw", "what a record is; default: by the ending of --to, or csv" },
    { "count", "N", "stop after this many records from each device" },
    { "time", "TIME", "stop after this long" },
    { "speed", "FACTOR", "send this many times as fast as --rates says; max: as fast as possible" },
    { "seed", "N", "the seed of the law's rates and bursts, as in a run with this seed; default: 1" },
    { "password-file", "FILE", "the password of the address's user; default: from MOTLEY_PASSWORD" },
    { "ca", "FILE", "TLS: the certificates to trust; default: the machine's" },
    { "cert", "FILE", "TLS: our certificate, if the broker wants one" },
    { "key", "FILE", "TLS: the key of that certificate" },
    { "format", "FORMAT", "DATA's format: auto, idx, libsvm, csv, npy, npz, cifar10 or cifar100" },
    { "label-column", "COLUMN", "CSV: the label column: its name, its number from 0, first or last" },
    { "separator", "CHARACTER", "CSV: the column separator: a character, tab or space" },
    { "missing", "HOW", "CSV: fill missing values with mean, median, frequent or a number" },
    { "rows", "N", "only the first N rows" },
    { NULL, NULL, NULL },
};

const struct cli_command cli_stream = {
    .name = "stream",
    .synopsis = "DATA --to ADDRESS [--rates RATES] [flags]",
    .summary = "send a data set to a broker or to files, as devices do",
    .about = "Each device sends rows of DATA, one record at a time, to a topic or file of its own, at its "
             "own rate, for `motley train --source-from ADDRESS` to learn from. Values are as DATA has them, "
             "before any scaling. Device i of n sends rows i, i + n, and so on, each once; with --count or "
             "--time it begins again when there are no more. If a broker takes records more slowly than they "
             "are due, or cannot be reached, devices wait and catch up. With the law and the seed of an "
             "experiment's cluster.stream, records go out when `motley sim` has them arrive.\n"
             "At the end it says what each device sent, and how fast. Ctrl-C ends it; what is under way "
             "still arrives if the broker takes it within three seconds.",
    .examples = "motley stream digits --to 'device-{worker}.csv' --rates '12, 40, 64, 100' --time 10s\n"
                "motley stream digits --to kafka://localhost/sensors --rates '{name: normal, mean: 64/s, sd: "
                "24/s}' --devices 4\n"
                "motley stream rows.csv --to mqtt://localhost/sensors --records json --speed max\n",
    .flags = flags,
    .words_min = 1,
    .words_max = 1,
    .prints_only = true,
    .run = run,
};
