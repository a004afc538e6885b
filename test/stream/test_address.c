/* Where a worker's samples come from, as users write it. */
#include "base/memory.h"
#include "stream/intake.h"
#include "test.h"

struct read {
    struct mot_address a;
    char *wrong;
};
static struct read read_as(const char *from, uint32_t worker, uint32_t workers)
{
    struct read r = { .wrong = NULL };
    r.wrong = mot_address_of(from, worker, workers, &r.a);
    return r;
}
static void done(struct read *r)
{
    free(r->wrong);
    mot_address_free(&r->a);
}

TEST(an_address_of_a_broker_has_host_port_user_and_topic)
{
    static const struct {
        const char *from, *hosts, *user, *topic;
        uint32_t kind, partition;
        bool tls;
    } want[] = {
        { "mqtt://edge/sensors/a", "edge:1883", NULL, "sensors/a", MOT_INLET_MQTT, 0, false },
        { "mqtts://ann@10.0.0.1:99/t", "10.0.0.1:99", "ann", "t", MOT_INLET_MQTT, 0, true },
        { "mqtts://x/t?q=1", "x:8883", NULL, "t?q=1", MOT_INLET_MQTT, 0, true },
        { "mqtt://[::1]/t", "[::1]:1883", NULL, "t", MOT_INLET_MQTT, 0, false },
        { "mqtt://a@b@[fe80::1%eth0]:5/t", "[fe80::1%eth0]:5", "a@b", "t", MOT_INLET_MQTT, 0, false },
        { "kafka://a,b:7,[::1]/t.x", "a:9092,b:7,[::1]:9092", NULL, "t.x", MOT_INLET_KAFKA, 0, false },
        { "kafkas://me@a/t?partition=12", "a:9092", "me", "t", MOT_INLET_KAFKA, 12, true },
    };
    for (size_t i = 0; i < MOT_COUNT(want); i++) {
        struct read r = read_as(want[i].from, 0, 1);
        CHECK(!r.wrong);
        CHECK_INT(r.a.kind, want[i].kind);
        CHECK_TEXT(r.a.hosts, want[i].hosts);
        CHECK(!r.a.user == !want[i].user && (!r.a.user || strcmp(r.a.user, want[i].user) == 0));
        CHECK_TEXT(r.a.topic, want[i].topic);
        CHECK_INT(r.a.partition, want[i].partition);
        CHECK_INT(r.a.tls, want[i].tls);
        done(&r);
    }
}

TEST(several_workers_have_topics_or_partitions_of_their_own)
{
    struct read appended = read_as("mqtt://h/t", 3, 4), placed = read_as("mqtt://h/dev/{worker}/t", 3, 4);
    struct read part = read_as("kafka://h/t?partition={worker}", 3, 4), one = read_as("kafka://h/t", 0, 1);
    CHECK(!appended.wrong && !placed.wrong && !part.wrong && !one.wrong);
    CHECK_TEXT(appended.a.topic, "t-3");
    CHECK_TEXT(placed.a.topic, "dev/3/t");
    CHECK_TEXT(part.a.topic, "t");
    CHECK_INT(part.a.partition, 3);
    CHECK_TEXT(one.a.topic, "t");
    done(&appended), done(&placed), done(&part), done(&one);
}

TEST(what_is_no_address_is_refused_with_the_reason)
{
    static const struct {
        const char *from, *says;
    } want[] = {
        { "mqtt://h", "a topic after the host" },
        { "mqtt://h/", "a topic after the host" },
        { "mqtt:///t", "the name or address of a host" },
        { "mqtt://h:0/t", "a port from 1 to 65535" },
        { "mqtt://h:65536/t", "a port from 1 to 65535" },
        { "mqtt://h:/t", "a port from 1 to 65535" },
        { "mqtt://h:99999999999999999999/t", "a port from 1 to 65535" },
        { "mqtt://[::1/t", "IPv6" },
        { "mqtt://[::1]x/t", "a port from 1 to 65535" },
        { "mqtt://::1/t", "a host" },
        { "mqtt://a,b/t", "one host" },
        { "mqtt://@h/t", "a user before @" },
        { "mqtt://h/a/+/b", "wildcards" },
        { "mqtt://h/#", "wildcards" },
        { "kafka://a,,b/t", "the name or address of a host" },
        { "kafka://h/a b", "letters, digits" },
        { "kafka://h/t?partition=x", "?partition=NUMBER" },
        { "kafka://h/t?partition=3000000000", "?partition=NUMBER" },
        { "kafka://h/t?offset=3", "?partition=NUMBER" },
        { "ftp://h/t", "mqtt://" },
        { "", "path of a file" },
        { "file://", "path of a file" },
    };
    for (size_t i = 0; i < MOT_COUNT(want); i++) {
        struct read r = read_as(want[i].from, 0, 1);
        CHECK_HAS(r.wrong, want[i].says);
        done(&r);
    }
}

TEST(a_password_in_an_address_is_refused_and_not_repeated)
{
    static const char *const from[] = { "mqtt://ann:secret@h/t", "mqtt://ann:sec/ret@h/t",
        "mqtt://ann:12/secret@h/t" };
    for (size_t i = 0; i < MOT_COUNT(from); i++) {
        struct read r = read_as(from[i], 0, 1);
        CHECK(r.wrong);
        CHECK_HAS(r.wrong, "MOTLEY_PASSWORD");
        CHECK(!strstr(r.wrong, "sec"));
        done(&r);
    }
}

TEST(what_is_shown_of_an_address_names_no_user)
{
    char text[MOT_ADDRESS_SHOWN];
    struct read r = read_as("mqtts://ann@h/t", 0, 1);
    CHECK(!r.wrong);
    CHECK_TEXT(mot_address_show(&r.a, text), "mqtts://h:8883/t");
    done(&r);
}

TEST(rates_are_no_source_from_outside)
{
    struct read r = read_as("rate:", 1, 4);
    CHECK(!r.wrong);
    CHECK_INT(r.a.kind, MOT_INLET_RATE);
    CHECK(!mot_intake_outside(&(struct mot_intake_conf){ .from = "rate:" }));
    CHECK(mot_intake_outside(&(struct mot_intake_conf){ .from = "-" }));
    done(&r);
}

TEST(a_files_ending_names_the_format_of_its_records)
{
    static const struct {
        const char *from;
        enum mot_record_format format;
    } cases[] = { { "a.libsvm", MOT_RECORDS_LIBSVM }, { "a.svm", MOT_RECORDS_LIBSVM },
        { "a.jsonl", MOT_RECORDS_JSON }, { "d/a.json", MOT_RECORDS_JSON }, { "a.f32", MOT_RECORDS_RAW },
        { ".f32", MOT_RECORDS_RAW }, { "a.csv", MOT_RECORDS_CSV }, { "a.svm.csv", MOT_RECORDS_CSV },
        { "f32", MOT_RECORDS_CSV }, { "-", MOT_RECORDS_CSV } };
    for (size_t i = 0; i < MOT_COUNT(cases); i++) {
        struct mot_intake_conf c = { .from = cases[i].from };
        if (mot_records_format(&c) != cases[i].format) FAIL("%s is taken for another", c.from);
        c.records = 1 + MOT_RECORDS_RAW; /* what is said counts more */
        CHECK_INT(mot_records_format(&c), MOT_RECORDS_RAW);
    }
}

TEST(the_label_and_the_separator_of_csv_are_what_was_asked_for)
{
    static const struct {
        const char *label, *separator, *wrong;
        uint32_t field;
        char between;
    } cases[] = { { NULL, NULL, NULL, UINT32_MAX, ',' }, { "last", "tab", NULL, UINT32_MAX, '\t' },
        { "first", "space", NULL, 0, ' ' }, { "1", ";", NULL, 1, ';' }, { "3", "|", NULL, 3, '|' },
        { "4", NULL, "source.label", 0, 0 }, { "1x", NULL, "source.label", 0, 0 },
        { "", NULL, "source.label", 0, 0 }, { NULL, "::", "source.separator", 0, 0 },
        { NULL, "", "source.separator", 0, 0 }, { NULL, "e", "source.separator", 0, 0 } };
    for (size_t i = 0; i < MOT_COUNT(cases); i++) {
        struct mot_intake_conf c = {
            .from = "a.csv", .label = cases[i].label, .separator = cases[i].separator
        };
        struct mot_record_form f;
        const char *wrong = mot_intake_form(&c, &(struct mot_schema){ .cols = 3 }, NULL, &f);
        printf("  %s, %s\n", c.label ? c.label : "-", c.separator ? c.separator : "-");
        CHECK(!wrong == !cases[i].wrong);
        if (wrong) CHECK_HAS(wrong, cases[i].wrong);
        if (wrong) continue;
        CHECK_INT(f.label, cases[i].field);
        CHECK_INT(f.separator, cases[i].between);
        CHECK_TEXT(f.label_key, c.label ? c.label : "y");
    }
    struct mot_intake_conf json = { .from = "a.json", .label = "class", .features = "pixels" };
    struct mot_record_form f;
    CHECK(!mot_intake_form(&json, &(struct mot_schema){ .cols = 3 }, NULL, &f));
    CHECK_TEXT(f.label_key, "class");
    CHECK_TEXT(f.feature_key, "pixels");
}

TEST(each_kind_of_source_promises_what_it_keeps_after_a_crash)
{
    static const struct {
        const char *from, *spool;
        bool kept;
        const char *says;
    } cases[] = { { "a.csv", NULL, true, "every record of the file counts exactly once" },
        { "-", NULL, true, "at most once" }, { "mqtt://h/t", NULL, true, "what has reached the spool" },
        { "mqtt://h/t", "s", false, "what has reached the spool" },
        { "mqtt://h/t", NULL, false, "a crash loses all" },
        { "kafka://h/t", NULL, false, "every record of the partition" },
        { "rate:", NULL, true, "at the rates of the cluster" }, { "mqtt://", NULL, true, "" } };
    for (size_t i = 0; i < MOT_COUNT(cases); i++) {
        struct mot_intake_conf c = { .from = cases[i].from, .spool = cases[i].spool };
        const char *says = mot_intake_promise(&c, cases[i].kept);
        CHECK_HAS(says, cases[i].says);
        CHECK(*cases[i].says || !*says);
    }
}

TEST_MAIN()
