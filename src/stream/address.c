/* address.c -- the `source:` section: its table, and what `from` means for a worker. */
#include "base/memory.h"
#include "stream/intake.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(struct mot_intake_conf, field)

const struct mot_option mot_intake_options[] = {
    { "from", MOT_OPT_TEXT, AT(from), "none",
        "where the workers' records come from in a live run: a file that grows, - for standard input, "
        "mqtt://HOST/TOPIC, kafka://HOST/TOPIC (mqtts and kafkas: with TLS), or rate: for rows of `data` at "
        "the cluster's rates; {worker} stands for the worker's number; none: from `data`",
        .word = "none" },
    { "records", MOT_OPT_CHOICE, AT(records), "auto",
        "what a record is: a line of CSV, LIBSVM or JSON, or a row of 32-bit floats; auto: by the ending of "
        "`from` (.csv, .libsvm, .jsonl, .f32), or else csv",
        .choices = "auto|csv|libsvm|json|raw" },
    { "label", MOT_OPT_TEXT, AT(label), "auto",
        "CSV: which field is the label: first, last or a number from 0; JSON: its key; auto: last, y",
        .word = "auto" },
    { "features", MOT_OPT_TEXT, AT(features), "x",
        "JSON: the key of a list with all features; columns can also be given by their names", .min = 0 },
    { "sequence", MOT_OPT_TEXT, AT(sequence), "none",
        "JSON: the key of a number with which a device counts its records, to detect those that never came "
        "or came twice",
        .word = "none" },
    { "separator", MOT_OPT_TEXT, AT(separator), "auto",
        "CSV: what separates fields: a character, tab or space; auto: a comma", .word = "auto" },
    { "buffer", MOT_OPT_CHOICE, AT(buffer), "persist",
        "which samples to keep if they come faster than they are used: persist keeps all, where they came "
        "from; truncate those of the last second; bounded at most `bound`. The oldest are dropped",
        .choices = "persist|truncate|bounded" },
    { "bound", MOT_OPT_UINT, AT(bound), "auto",
        "bounded: samples that may wait at a worker; auto: as many as `memory` holds", .min = 1,
        .word = "auto" },
    { "memory", MOT_OPT_SIZE, AT(memory), "64MiB", "memory of a worker for rows that wait to be used",
        .min = 4096, .max = 1e13 },
    { "longest", MOT_OPT_SIZE, AT(longest), "1MiB", "the longest record; longer ones are malformed",
        .min = 64, .max = 1e9 },
    { "ends", MOT_OPT_BOOL, AT(ends), "false",
        "files are complete: the run ends when a worker has used all of its own", .min = 0 },
    { "holdout", MOT_OPT_REAL, AT(holdout), "0",
        "the share of the records, drawn by the seed, that are never trained on: they evaluate the model in "
        "place of `data`'s test rows",
        .min = 0, .max = 0.9 },
    { "reservoir", MOT_OPT_UINT, AT(reservoir), "1000",
        "holdout: how many of these records to keep over all workers, each with the same chance", .min = 10,
        .max = 1e7 },
    { "begin", MOT_OPT_CHOICE, AT(begin), "oldest",
        "Kafka: where a new run begins: with the oldest record that the broker has, or with those that come "
        "after it began",
        .choices = "oldest|newest" },
    { "password_file", MOT_OPT_TEXT, AT(password_file), "none",
        "brokers: a file with the user's password in its first line; none: use the environment variable "
        "MOTLEY_PASSWORD",
        .word = "none" },
    { "ca", MOT_OPT_TEXT, AT(ca), "auto",
        "TLS: a file of CA certificates, one of which must have signed the broker's; auto: the system's",
        .word = "auto" },
    { "cert", MOT_OPT_TEXT, AT(cert), "none",
        "TLS: a file with a client certificate, for brokers that ask for one", .word = "none" },
    { "key", MOT_OPT_TEXT, AT(key), "none", "TLS: a file with the key of `cert`", .word = "none" },
    { "spool", MOT_OPT_TEXT, AT(spool), "auto",
        "MQTT: a folder for spools, files that keep what the broker has sent; auto: the run folder",
        .word = "auto" },
    { "sync", MOT_OPT_CHOICE, AT(sync), "interval",
        "MQTT: when to bring spools to the disk, so that they outlive a power cut: none leaves it to the "
        "system; interval does so once a second; each after every message",
        .choices = "none|interval|each" },
    { 0 },
};

/* The text with each {worker} replaced; *had: whether there was one. */
static char *for_worker(const char *text, uint32_t worker, bool *had)
{
    char *out = mot_text("");
    *had = false;
    for (const char *mark; (mark = strstr(text, "{worker}")); text = mark + strlen("{worker}")) {
        char *longer = mot_format("%s%.*s%u", out, (int)(mark - text), text, worker);
        free(out);
        out = longer;
        *had = true;
    }
    char *all = mot_format("%s%s", out, text);
    free(out);
    return all;
}

static const char *after(const char *text, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

/* ---- Brokers ------------------------------------------------------------------------------- */

static const struct scheme {
    const char *prefix;
    enum mot_inlet_kind kind;
    bool tls;
    const char *port;
} schemes[] = {
    { "mqtt://", MOT_INLET_MQTT, false, "1883" },
    { "mqtts://", MOT_INLET_MQTT, true, "8883" },
    { "kafka://", MOT_INLET_KAFKA, false, "9092" },
    { "kafkas://", MOT_INLET_KAFKA, true, "9092" },
};

#define TOPIC_MQTT 65535u /* bytes */
#define TOPIC_KAFKA 249u

static bool all_of(const char *text, size_t n, const char *besides)
{
    for (size_t i = 0; i < n; i++)
        if (!text[i] || (!isalnum((unsigned char)text[i]) && !strchr(besides, text[i]))) return false;
    return n > 0;
}

static bool small_number(const char *text, size_t n, uint64_t most, uint64_t *out)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isdigit((unsigned char)text[i]) || value > most / 10) return false;
        value = 10 * value + (uint64_t)(text[i] - '0');
    }
    *out = value;
    return n > 0 && value <= most;
}

/* Appends a host to *hosts, with `port` if it has none: "name", "10.0.0.1:1883", "[::1]:1883". */
static char *add_host(const char *text, size_t n, const char *port, char **hosts)
{
    const char *end = text + n, *host_end;
    uint64_t number;
    if (n && *text == '[') {
        const char *bracket = memchr(text, ']', n);
        if (!bracket || !all_of(text + 1, (size_t)(bracket - text - 1), ":.%"))
            return mot_format("expected an IPv6 address in brackets; found '%.*s'", (int)n, text);
        host_end = bracket + 1;
    } else {
        const char *colon = memchr(text, ':', n);
        host_end = colon ? colon : end;
        if (!all_of(text, (size_t)(host_end - text), ".-_"))
            return mot_format("expected the name or address of a host, with an IPv6 address in brackets; "
                              "found '%.*s'",
                (int)n, text);
    }
    if (host_end < end &&
        (*host_end != ':' || !small_number(host_end + 1, (size_t)(end - host_end - 1), 65535, &number) ||
            number == 0))
        return mot_format("expected a port from 1 to 65535 after the host; found '%.*s'", (int)n, text);
    char *longer = host_end < end ? mot_format("%s%s%.*s", *hosts, **hosts ? "," : "", (int)n, text)
                                  : mot_format("%s%s%.*s:%s", *hosts, **hosts ? "," : "", (int)n, text, port);
    free(*hosts);
    *hosts = longer;
    return NULL;
}

/* Reads USER@HOST,HOST... */
static char *read_authority(const char *text, size_t n, const struct scheme *s, struct mot_address *out)
{
    const char *end = text + n, *at = memrchr(text, '@', n);
    if (at) {
        /* The message must not repeat what may be a password. */
        if (memchr(text, ':', (size_t)(at - text)))
            return mot_format("expected no password in an address, which run folders would keep: write "
                              "USER@HOST, and put the password into a file that source.password_file names, "
                              "or into the environment variable MOTLEY_PASSWORD");
        if (at == text) return mot_format("expected a user before @; found none");
        out->user = mot_format("%.*s", (int)(at - text), text);
        text = at + 1;
    }
    out->hosts = mot_text("");
    for (;;) {
        const char *comma = memchr(text, ',', (size_t)(end - text)), *stop = comma ? comma : end;
        char *wrong = add_host(text, (size_t)(stop - text), s->port, &out->hosts);
        if (wrong || !comma) return wrong;
        if (s->kind == MOT_INLET_MQTT)
            return mot_format("expected one host, since an MQTT broker is one; found '%.80s'", out->hosts);
        text = comma + 1;
    }
}

static char *read_topic(const char *text, struct mot_address *out)
{
    const char *query = out->kind == MOT_INLET_KAFKA ? strchr(text, '?') : NULL;
    size_t n = query ? (size_t)(query - text) : strlen(text);
    uint64_t partition = 0;
    if (n == 0) return mot_format("expected a topic after the host, as in mqtt://HOST/TOPIC; found none");
    if (out->kind == MOT_INLET_KAFKA && (n > TOPIC_KAFKA || !all_of(text, n, "._-")))
        return mot_format("expected a topic of letters, digits, '.', '_' and '-'; found '%.*s'",
            (int)(n < 80 ? n : 80), text);
    if (out->kind == MOT_INLET_MQTT && (n > TOPIC_MQTT || strpbrk(text, "+#")))
        return mot_format("expected one topic, without the wildcards + and #; found '%.80s'", text);
    if (query) {
        const char *number = after(query, "?partition=");
        if (!number || !small_number(number, strlen(number), INT32_MAX, &partition))
            return mot_format("expected ?partition=NUMBER after the topic; found '%.80s'", query);
    }
    out->topic = mot_format("%.*s", (int)n, text);
    out->partition = (uint32_t)partition;
    return NULL;
}

static char *read_broker(const char *text, const struct scheme *s, struct mot_address *out)
{
    const char *rest = text + strlen(s->prefix), *slash = strchr(rest, '/'), *at = strrchr(rest, '@');
    size_t n = slash ? (size_t)(slash - rest) : strlen(rest);
    /* a password may contain slashes: better refuse a topic that looks like one than show part of it */
    if (slash && at > slash && memchr(rest, ':', n)) n = (size_t)(at - rest) + 1;
    out->kind = s->kind;
    out->tls = s->tls;
    char *wrong = read_authority(rest, n, s, out);
    return wrong ? wrong : read_topic(slash ? slash + 1 : "", out);
}

/* Workers without topics or partitions of their own get topics with their numbers. */
static void own_topic(struct mot_address *a, uint32_t worker)
{
    char *own = mot_format("%s-%u", a->topic, worker);
    free(a->topic);
    a->topic = own;
}

/* ---- Addresses ------------------------------------------------------------------------------ */

static char *read_input(uint32_t workers, struct mot_address *out)
{
    out->kind = MOT_INLET_INPUT;
    if (workers == 1) return NULL;
    return mot_format("expected an address with {worker} in it; found -, but standard input can feed one "
                      "worker, and there are %u",
        workers);
}

static char *read_path(const char *path, bool own, uint32_t workers, struct mot_address *out)
{
    const char *named = after(path, "file://");
    if (!named && strstr(path, "://"))
        return mot_format(
            "expected a path, file://, mqtt://, mqtts://, kafka://, kafkas://, rate: or -; found '%.80s'",
            path);
    if (named) path = named;
    if (!*path) return mot_format("expected the path of a file; found ''");
    if (workers > 1 && !own)
        return mot_format("expected {worker} in the path, since each of the %u workers reads a file of its "
                          "own; found '%.80s'",
            workers, path);
    out->path = mot_text(path);
    return NULL;
}

char *mot_address_of(const char *from, uint32_t worker, uint32_t workers, struct mot_address *out)
{
    struct mot_address a = { .kind = MOT_INLET_FILE };
    const struct scheme *s = NULL;
    bool own;
    char *text = for_worker(from, worker, &own), *wrong = NULL;
    for (size_t i = 0; i < MOT_COUNT(schemes); i++)
        if (after(text, schemes[i].prefix)) s = &schemes[i];
    if (strcmp(text, "-") == 0) wrong = read_input(workers, &a);
    else if (strcmp(text, "rate:") == 0) a.kind = MOT_INLET_RATE;
    else if (s) wrong = read_broker(text, s, &a);
    else wrong = read_path(text, own, workers, &a);
    if (!wrong && s && workers > 1 && !own) own_topic(&a, worker);
    free(text);
    if (wrong) mot_address_free(&a);
    else *out = a;
    return wrong;
}

void mot_address_free(struct mot_address *a)
{
    free(a->path);
    free(a->hosts);
    free(a->user);
    free(a->topic);
}

const char *mot_address_show(const struct mot_address *a, char into[MOT_ADDRESS_SHOWN])
{
    const char *scheme = "";
    for (size_t i = 0; i < MOT_COUNT(schemes); i++)
        if (schemes[i].kind == a->kind && schemes[i].tls == a->tls) scheme = schemes[i].prefix;
    if (a->hosts) snprintf(into, MOT_ADDRESS_SHOWN, "%s%s/%s", scheme, a->hosts, a->topic);
    else
        snprintf(into, MOT_ADDRESS_SHOWN, "%s",
            a->path                         ? a->path
                : a->kind == MOT_INLET_RATE ? "rate:"
                                            : "standard input");
    return into;
}

bool mot_intake_outside(const struct mot_intake_conf *c) { return c->from && strcmp(c->from, "rate:") != 0; }

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

enum mot_record_format mot_records_format(const struct mot_intake_conf *c)
{
    if (c->records) return (enum mot_record_format)(c->records - 1);
    if (ends_with(c->from, ".libsvm") || ends_with(c->from, ".svm")) return MOT_RECORDS_LIBSVM;
    if (ends_with(c->from, ".jsonl") || ends_with(c->from, ".json")) return MOT_RECORDS_JSON;
    return ends_with(c->from, ".f32") ? MOT_RECORDS_RAW : MOT_RECORDS_CSV;
}

static bool separator_of(const char *text, char *out)
{
    *out = ',';
    if (!text) return true;
    if (strcmp(text, "tab") == 0) *out = '\t';
    else if (strcmp(text, "space") == 0) *out = ' ';
    else if (strlen(text) == 1 && !strchr("0123456789.+-eE\"\n", *text)) *out = *text;
    else return false;
    return true;
}

const char *mot_intake_form(const struct mot_intake_conf *c, const struct mot_schema *schema,
    char *const *column_names, struct mot_record_form *out)
{
    struct mot_record_form f = { .format = mot_records_format(c),
        .label = UINT32_MAX,
        .label_key = c->label ? c->label : "y",
        .feature_key = c->features,
        .number_key = c->sequence,
        .schema = *schema,
        .column_names = column_names };
    if (!separator_of(c->separator, &f.separator))
        return "source.separator: expected a character that is in no number, tab or space";
    if (f.format == MOT_RECORDS_CSV && c->label) {
        char *end;
        unsigned long field = strtoul(c->label, &end, 10);
        if (strcmp(c->label, "first") == 0) f.label = 0;
        else if (strcmp(c->label, "last") != 0) {
            if (end == c->label || *end || field > schema->cols)
                return "source.label: expected first, last, or the number of a field, from 0 to the number "
                       "of "
                       "features";
            f.label = (uint32_t)field;
        }
    }
    *out = f;
    return NULL;
}

const char *mot_intake_promise(const struct mot_intake_conf *c, bool kept)
{
    struct mot_address a;
    char *wrong = mot_address_of(c->from, 0, 1, &a);
    static const char *const promise[MOT_INLET_KINDS] = {
        [MOT_INLET_FILE] = "every record of the file counts exactly once, also after a crash and --resume",
        [MOT_INLET_INPUT] =
            "every record counts at most once; what was read and not yet in a checkpoint is lost "
            "in a crash",
        [MOT_INLET_MQTT] =
            "what has reached the spool counts exactly once, also after a crash and --resume; a "
            "crash loses at most the message that was being received, and after a broken "
            "connection the broker may send messages again",
        [MOT_INLET_KAFKA] =
            "every record of the partition counts exactly once, also after a crash and --resume",
        [MOT_INLET_RATE] = "rows again and again, at the rates of the cluster",
    };
    free(wrong);
    if (wrong) return "";
    mot_address_free(&a);
    if (a.kind == MOT_INLET_MQTT && !kept && !c->spool)
        return "every message that arrives counts once; without a run folder (--out) a crash loses all";
    return promise[a.kind];
}
