/* Option tables: text to value, value to text, in words. */
#include "base/options.h"
#include "base/rng.h"
#include "test.h"
#include <float.h>
#include <stdbool.h>

struct conf {
    uint64_t count, wait, memory;
    double ratio, bandwidth, rate, lr;
    bool fast;
    uint32_t late;
    const char *name;
    struct mot_uints hidden;
};

#define AT(member) offsetof(struct conf, member)
static const struct mot_option table[] = {
    { .name = "count",
        .type = MOT_OPT_UINT,
        .offset = AT(count),
        .preset = "8",
        .doc = "How many",
        .min = 1,
        .max = 1000,
        .word = "all" },
    { .name = "ratio",
        .type = MOT_OPT_REAL,
        .offset = AT(ratio),
        .preset = "none",
        .doc = "What part",
        .min = 0,
        .max = 1,
        .word = "none" },
    { .name = "fast", .type = MOT_OPT_BOOL, .offset = AT(fast), .preset = "yes", .doc = "Whether to hurry" },
    { .name = "late",
        .type = MOT_OPT_CHOICE,
        .offset = AT(late),
        .preset = "wait",
        .doc = "What to do",
        .choices = "drop|wait|repeat" },
    { .name = "wait",
        .type = MOT_OPT_TIME,
        .offset = AT(wait),
        .preset = "3ms",
        .doc = "How long",
        .min = 0,
        .max = INFINITY },
    { .name = "memory", .type = MOT_OPT_SIZE, .offset = AT(memory), .preset = "64MiB", .doc = "How much" },
    { .name = "bandwidth",
        .type = MOT_OPT_BANDWIDTH,
        .offset = AT(bandwidth),
        .preset = "1Gbit",
        .doc = "How fast",
        .word = "unlimited" },
    { .name = "rate",
        .type = MOT_OPT_RATE,
        .offset = AT(rate),
        .preset = "500 samples/s",
        .doc = "How often",
        .min = 1 },
    { .name = "name",
        .type = MOT_OPT_TEXT,
        .offset = AT(name),
        .preset = "x",
        .doc = "What it is called",
        .word = "auto" },
    { .name = "hidden",
        .type = MOT_OPT_UINTS,
        .offset = AT(hidden),
        .preset = "[256, 128]",
        .doc = "Widths",
        .min = 1,
        .max = 65536,
        .also = "layers" },
    { .name = "lr",
        .type = MOT_OPT_REAL,
        .offset = AT(lr),
        .doc = "The rate",
        .min = DBL_MIN,
        .max = INFINITY,
        .also = "learning_rate" },
    { .name = NULL },
};

static struct mot_arena arena;
static struct conf conf;

static enum mot_status set(const char *name, const char *text)
{
    return mot_option_set(mot_option_find(table, name), &conf, text, &arena);
}

static void begin(void)
{
    mot_arena_free(&arena);
    conf = (struct conf){ 0 };
    if (mot_options_preset(table, &conf, &arena)) abort();
}

__attribute__((destructor)) static void end(void) { mot_arena_free(&arena); }

TEST(presets_fill_the_configuration)
{
    begin();
    CHECK_INT(conf.count, 8);
    CHECK(isnan(conf.ratio));
    CHECK(conf.fast);
    CHECK_INT(conf.late, 1);
    CHECK_INT(conf.wait, 3000000);
    CHECK_INT(conf.memory, 64 << 20);
    CHECK(conf.bandwidth == 1.25e8);
    CHECK(conf.rate == 500);
    CHECK_TEXT(conf.name, "x");
    CHECK_INT(conf.hidden.n, 2);
    CHECK_INT(conf.hidden.v[0], 256);
    CHECK_INT(conf.hidden.v[1], 128);
    CHECK(conf.lr == 0);
}

TEST(a_wrong_preset_is_reported_with_its_name)
{
    static const struct mot_option wrong[] = { { .name = "bad", .type = MOT_OPT_TIME, .preset = "3" },
        { .name = NULL } };
    uint64_t value;
    CHECK_INT(mot_options_preset(wrong, &value, &arena), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "bad");
    CHECK_INT(mot_options_preset(NULL, &value, &arena), MOT_OK);
}

TEST(options_are_found_by_name_and_synonym)
{
    CHECK(mot_option_find(table, "lr") == mot_option_find(table, "learning_rate"));
    CHECK_TEXT(mot_option_find(table, "layers")->name, "hidden");
    CHECK(mot_option_find(table, "nothing") == NULL);
    CHECK(mot_option_find(NULL, "nothing") == NULL);
}

TEST(lists_are_read_in_all_their_forms)
{
    static const struct {
        const char *text;
        uint32_t n, first, last;
    } good[] = {
        { "[256, 128]", 2, 256, 128 },
        { "256,128", 2, 256, 128 },
        { "256", 1, 256, 256 },
        { " [ 1k , 2 ] ", 2, 1000, 2 },
        { "[]", 0, 0, 0 },
        { "[ ]", 0, 0, 0 },
        { "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", 16, 1, 16 },
    };
    for (size_t i = 0; i < MOT_COUNT(good); i++) {
        begin();
        if (set("hidden", good[i].text)) FAIL("'%s': %s", good[i].text, mot_error());
        CHECK_INT(conf.hidden.n, good[i].n);
        if (good[i].n) CHECK_INT(conf.hidden.v[0], good[i].first);
        if (good[i].n) CHECK_INT(conf.hidden.v[good[i].n - 1], good[i].last);
    }
    static const char *const bad[] = {
        "",
        "[",
        "]",
        "[1",
        "1]",
        "[1,]",
        ",",
        "1,,2",
        "[1 2]",
        "0",
        "[65537]",
        "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]",
        "[1.5]",
        "x",
        "[[1]]",
        "-1",
        "5000000000",
    };
    for (size_t i = 0; i < MOT_COUNT(bad); i++) {
        begin();
        if (set("hidden", bad[i]) != MOT_EUSAGE) FAIL("'%s' is taken", bad[i]);
        CHECK_INT(conf.hidden.n, 2);
    }
}

TEST(values_out_of_range_or_malformed_are_refused_and_leave_the_field)
{
    static const char *const bad[][2] = {
        { "count", "0" },
        { "count", "1001" },
        { "count", "1.5" },
        { "count", "-3" },
        { "count", "18446744073709551615" },
        { "ratio", "1.01" },
        { "ratio", "-0.1" },
        { "ratio", "nan" },
        { "ratio", "inf" },
        { "ratio", "" },
        { "fast", "maybe" },
        { "fast", "1" },
        { "late", "Drop" },
        { "late", "" },
        { "late", "drop|wait" },
        { "wait", "3" },
        { "wait", "-3ms" },
        { "memory", "3" },
        { "memory", "1Mbit" },
        { "bandwidth", "20" },
        { "rate", "0.5/s" },
        { "rate", "500" },
        { "lr", "0" },
        { "lr", "-1" },
        { "lr", "1e999" },
    };
    for (size_t i = 0; i < MOT_COUNT(bad); i++) {
        begin();
        struct conf before;
        memcpy(&before, &conf, sizeof conf);
        if (set(bad[i][0], bad[i][1]) != MOT_EUSAGE) FAIL("%s: '%s' is taken", bad[i][0], bad[i][1]);
        CHECK(memcmp(&before, &conf, sizeof conf) == 0);
    }
}

TEST(messages_say_what_was_expected_found_and_meant)
{
    begin();
    static const struct {
        const char *name, *text, *says;
    } cases[] = {
        { "wait", "3", "expected a time such as 3ms, 0 or more; found '3'" },
        { "late", "drp", "expected one of drop, wait, repeat; found 'drp': did you mean 'drop'?" },
        { "late", "zzz", "expected one of drop, wait, repeat; found 'zzz'" },
        { "ratio", "2", "expected a number from 0 to 1, or 'none'; found '2'" },
        { "ratio", "non", "expected a number from 0 to 1, or 'none'; found 'non': did you mean 'none'?" },
        { "count", "0", "expected a whole number from 1 to 1000, or 'all'; found '0'" },
        { "lr", "0", "expected a number, more than 0; found '0'" },
        { "bandwidth", "20", "expected a bandwidth such as 20Mbit, or 'unlimited'; found '20'" },
        { "rate", "500", "expected a rate such as 500 samples/s, 1 /s or more; found '500'" },
        { "memory", "3", "expected a size such as 64MB; found '3'" },
        { "hidden", "0",
            "expected a list of whole numbers such as [256, 128], each from 1 to 65536; found '0'" },
        { "fast", "maybe", "expected true or false; found 'maybe'" },
    };
    for (size_t i = 0; i < MOT_COUNT(cases); i++) {
        CHECK_INT(set(cases[i].name, cases[i].text), MOT_EUSAGE);
        CHECK_TEXT(mot_error(), cases[i].says);
    }
}

TEST(expectations_read_well)
{
    static const char *const cases[][2] = {
        { "wait", "a time, 0 or more" },
        { "late", "one of drop, wait, repeat" },
        { "ratio", "a number from 0 to 1, or 'none'" },
        { "name", "a text, or 'auto'" },
        { "memory", "a size" },
        { "lr", "a number, more than 0" },
    };
    for (size_t i = 0; i < MOT_COUNT(cases); i++) {
        char *text = mot_option_expects(mot_option_find(table, cases[i][0]));
        bool same = strcmp(text, cases[i][1]) == 0;
        if (!same) printf("  \"%s\", expected \"%s\"\n", text, cases[i][1]);
        free(text);
        CHECK(same);
    }
}

/* Sets, writes, sets again: the written text is `written` and reads back to the same bytes. */
static void check_round_trip(const char *name, const char *text, const char *written)
{
    const struct mot_option *o = mot_option_find(table, name);
    begin();
    if (set(name, text)) FAIL("%s '%s': %s", name, text, mot_error());
    char *once = mot_option_text(o, &conf), *twice = NULL;
    struct mot_uints list = conf.hidden;
    begin();
    bool good = set(name, once) == MOT_OK;
    if (good) twice = mot_option_text(o, &conf);
    bool same = good && strcmp(once, written) == 0 && strcmp(once, twice) == 0 &&
        memcmp(&list, &conf.hidden, sizeof list) == 0;
    if (!same)
        printf("  %s '%s' became '%s', then '%s', expected '%s'\n", name, text, once,
            twice ? twice : mot_error(), written);
    free(once), free(twice);
    CHECK(same);
}

TEST(text_round_trips)
{
    static const char *const cases[][3] = {
        { "count", "25", "25" },
        { "count", "all", "all" },
        { "count", "0.5k", "500" },
        { "ratio", "20%", "0.2" },
        { "ratio", "2^-3", "0.125" },
        { "ratio", "none", "none" },
        { "ratio", "0.30000000000000004", "0.30000000000000004" },
        { "ratio", "1e-7", "1e-07" },
        { "fast", "no", "false" },
        { "fast", "on", "true" },
        { "late", "drop", "drop" },
        { "wait", "3ms", "3ms" },
        { "wait", "1.5s", "1500ms" },
        { "wait", "120s", "2min" },
        { "wait", "0", "0" },
        { "wait", "7ns", "7ns" },
        { "memory", "2GB", "2GB" },
        { "memory", "64MiB", "64MiB" },
        { "memory", "1536KiB", "1536KiB" },
        { "memory", "0", "0" },
        { "bandwidth", "20Mbit", "20Mbit" },
        { "bandwidth", "10MB/s", "80Mbit" },
        { "bandwidth", "unlimited", "unlimited" },
        { "bandwidth", "3B/s", "3B/s" },
        { "rate", "500 samples/s", "500/s" },
        { "rate", "1000/min", "16.666666666666668/s" },
        { "rate", "20k/s", "20k/s" },
        { "name", "a b", "a b" },
        { "name", "auto", "auto" },
        { "name", "", "" },
        { "hidden", "256,128", "[256, 128]" },
        { "hidden", "[]", "[]" },
        { "lr", "0.1", "0.1" },
    };
    for (size_t i = 0; i < MOT_COUNT(cases); i++) check_round_trip(cases[i][0], cases[i][1], cases[i][2]);
}

TEST(random_values_round_trip_to_the_bit)
{
    struct mot_rng r = mot_rng_at(11, MOT_RNG_TEST, 0);
    printf("  seed 11\n");
    static const char *const names[] = { "lr", "rate", "bandwidth", "wait", "memory" };
    for (int i = 0; i < 5000; i++) {
        const struct mot_option *o = mot_option_find(table, names[i % 5]);
        begin();
        if (i % 5 < 3) {
            double value = ldexp(1 + mot_rng_unit(&r), (int)mot_rng_below(&r, 80));
            memcpy((char *)&conf + o->offset, &value, sizeof value);
        } else {
            uint64_t value = mot_rng_next(&r) >> mot_rng_below(&r, 64);
            memcpy((char *)&conf + o->offset, &value, sizeof value);
        }
        uint64_t before, after;
        memcpy(&before, (char *)&conf + o->offset, sizeof before);
        char *text = mot_option_text(o, &conf);
        enum mot_status status = mot_option_set(o, &conf, text, &arena);
        memcpy(&after, (char *)&conf + o->offset, sizeof after);
        if (status || before != after) printf("  %s: '%s'\n", o->name, text);
        free(text);
        CHECK(status == MOT_OK && before == after);
    }
}

TEST_MAIN()
