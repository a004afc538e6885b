/* Units, and suggestions for misspelt names. */
#include "base/memory.h"
#include "base/words.h"
#include "test.h"
#include <locale.h>

struct whole {
    const char *text;
    uint64_t value;
};
struct real {
    const char *text;
    double value;
};

static void check_whole(
    const char *kind, bool (*read)(const char *, uint64_t *), const struct whole *good, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t value = 12345;
        if (!read(good[i].text, &value)) FAIL("%s '%s' is refused", kind, good[i].text);
        if (value != good[i].value)
            FAIL("%s '%s' is %llu, expected %llu", kind, good[i].text, (unsigned long long)value,
                (unsigned long long)good[i].value);
    }
}

static void check_whole_refused(
    const char *kind, bool (*read)(const char *, uint64_t *), const char *const *bad, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t value = 12345;
        if (read(bad[i], &value)) FAIL("%s '%s' is taken as %llu", kind, bad[i], (unsigned long long)value);
        if (value != 12345) FAIL("%s '%s' is refused but written", kind, bad[i]);
    }
}

static void check_real(
    const char *kind, bool (*read)(const char *, double *), const struct real *good, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double value = 12345;
        if (!read(good[i].text, &value)) FAIL("%s '%s' is refused", kind, good[i].text);
        if (value != good[i].value)
            FAIL("%s '%s' is %.17g, expected %.17g", kind, good[i].text, value, good[i].value);
    }
}

static void check_real_refused(
    const char *kind, bool (*read)(const char *, double *), const char *const *bad, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double value = 12345;
        if (read(bad[i], &value)) FAIL("%s '%s' is taken as %g", kind, bad[i], value);
        if (value != 12345) FAIL("%s '%s' is refused but written", kind, bad[i]);
    }
}

TEST(whole_numbers)
{
    static const struct whole good[] = {
        { "8", 8 },
        { "0", 0 },
        { "-0", 0 },
        { "25e6", 25000000 },
        { "10k", 10000 },
        { "10K", 10000 },
        { "2M", 2000000 },
        { "3G", 3000000000 },
        { "1.5k", 1500 },
        { "1.001k", 1001 },
        { "0.1e1", 1 },
        { "1e19", UINT64_C(10000000000000000000) },
        { " 7 ", 7 },
        { "+5", 5 },
        { "18446744073709551615", UINT64_MAX },
        { "1000e-3", 1 },
        { "0e99999", 0 },
        { "2.50e1", 25 },
    };
    static const char *const bad[] = {
        "",
        " ",
        "x",
        "-1",
        "1.5",
        "1e-1",
        "1.0001k",
        "18446744073709551616",
        "1e20",
        "1e99999",
        "8x",
        "8 8",
        "0x10",
        "1,000",
        "inf",
        "nan",
        "1e",
        ".",
        "-",
        "k",
        "1kk",
        "10 percent",
        "99999999999999999999999",
        "1e-99999",
    };
    check_whole("uint", mot_read_uint, good, MOT_COUNT(good));
    check_whole_refused("uint", mot_read_uint, bad, MOT_COUNT(bad));
}

TEST(real_numbers)
{
    static const struct real good[] = {
        { "0.1", 0.1 },
        { "1e-4", 1e-4 },
        { "2^-3", 0.125 },
        { "2^10", 1024 },
        { "20%", 0.2 },
        { "20 %", 0.2 },
        { "-3.5", -3.5 },
        { "3^-2", 1.0 / 9 },
        { ".5", 0.5 },
        { "5.", 5 },
        { "1e308", 1e308 },
        { "0", 0 },
        { "2^0", 1 },
        { "+1", 1 },
        { "12.5%", 0.125 },
        { "5e-324", 5e-324 },
        { "0.30000000000000004", 0.30000000000000004 },
    };
    static const char *const bad[] = {
        "",
        "nan",
        "inf",
        "-inf",
        "infinity",
        "1e999",
        "2^",
        "2^x",
        "2^-3%",
        "2^9999",
        "0^-1",
        "0x1p3",
        "1,5",
        "1 2",
        "%",
        "--1",
        "1e5x",
        "10k",
        "2^1.5",
    };
    check_real("real", mot_read_real, good, MOT_COUNT(good));
    check_real_refused("real", mot_read_real, bad, MOT_COUNT(bad));
}

TEST(times)
{
    static const struct whole good[] = {
        { "3ms", 3000000 },
        { "1.5 s", 1500000000 },
        { "10min", 600000000000 },
        { "2h", 7200000000000 },
        { "1d", 86400000000000 },
        { "0", 0 },
        { "0.0", 0 },
        { "7ns", 7 },
        { "100us", 100000 },
        { "100\302\265s", 100000 },
        { "100\316\274s", 100000 },
        { "1e-3s", 1000000 },
        { "0.1ms", 100000 },
        { "1.6ns", 2 },
        { "0.4ns", 0 },
        { " 3 ms ", 3000000 },
        { "0s", 0 },
    };
    static const char *const bad[] = {
        "3",
        "",
        "ms",
        "-1s",
        "3 mss",
        "3m",
        "3S",
        "3MS",
        "3 m s",
        "1h30min",
        "1e30s",
        "600000000h",
        "nan s",
        "3ms x",
    };
    check_whole("time", mot_read_time, good, MOT_COUNT(good));
    check_whole_refused("time", mot_read_time, bad, MOT_COUNT(bad));
}

TEST(sizes)
{
    static const struct whole good[] = {
        { "2GB", 2000000000 },
        { "64MiB", 64 << 20 },
        { "512B", 512 },
        { "1kB", 1000 },
        { "1KB", 1000 },
        { "1KiB", 1024 },
        { "1.5 MiB", 1572864 },
        { "3TB", 3000000000000 },
        { "1TiB", UINT64_C(1) << 40 },
        { "1GiB", 1 << 30 },
        { "0", 0 },
        { "5MB", 5000000 },
        { "0.1KiB", 102 },
        { "2G", 2000000000 },
        { "1.5M", 1500000 },
    };
    static const char *const bad[] = { "512", "2gb", "2Gbit", "2g", "-1B", "1EB", "99999999TB", "B", "",
        "2GB/s", "64mib" };
    check_whole("size", mot_read_size, good, MOT_COUNT(good));
    check_whole_refused("size", mot_read_size, bad, MOT_COUNT(bad));
}

TEST(bandwidths)
{
    static const struct real good[] = {
        { "20Mbit", 2.5e6 },
        { "1Gbit/s", 1.25e8 },
        { "10MB/s", 1e7 },
        { "8bit", 1 },
        { "8kbit/s", 1000 },
        { "1 Gbps", 1.25e8 },
        { "1MiB/s", 1048576 },
        { "0", 0 },
        { "0.5 Gbit", 6.25e7 },
        { "3B/s", 3 },
        { "1Tbit", 1.25e11 },
        { "100 Mbps", 1.25e7 },
        { " 20 Mbit/s ", 2.5e6 },
    };
    static const char *const bad[] = { "20", "10MB", "20mbit", "20Mbit/min", "20Mb", "-1Mbit", "Mbit", "",
        "1e308Tbit", "20Mbit s", "/s", "5/s", "20Mbps/s" };
    check_real("bandwidth", mot_read_bandwidth, good, MOT_COUNT(good));
    check_real_refused("bandwidth", mot_read_bandwidth, bad, MOT_COUNT(bad));
}

TEST(rates)
{
    static const struct real good[] = {
        { "500 samples/s", 500 },
        { "3/min", 0.05 },
        { "1k/s", 1000 },
        { "1.5k samples/s", 1500 },
        { "1 sample/s", 1 },
        { "0", 0 },
        { "2/ms", 2000 },
        { "7200/h", 2 },
        { "500samples / s", 500 },
        { "2M/s", 2e6 },
    };
    static const char *const bad[] = { "500", "500 samples", "500/", "/s", "-1/s", "500 apples/s", "500/s/s",
        "1kk/s", "", "500 samples/x", "1e308G/ns" };
    check_real("rate", mot_read_rate, good, MOT_COUNT(good));
    check_real_refused("rate", mot_read_rate, bad, MOT_COUNT(bad));
}

TEST(a_locale_with_a_decimal_comma_changes_nothing)
{
    if (!setlocale(LC_ALL, "de_DE.UTF-8")) SKIP("the locale de_DE.UTF-8 is not installed");
    double value = 0;
    bool good = mot_read_real("0.5", &value);
    setlocale(LC_ALL, "C");
    CHECK(good && value == 0.5);
}

TEST(quantities_for_people)
{
    char text[64];
    CHECK_TEXT(mot_show_time(1500000000, text, sizeof text), "1.50 s");
    CHECK_TEXT(mot_show_time(0, text, sizeof text), "0 ns");
    CHECK_TEXT(mot_show_time(999, text, sizeof text), "999 ns");
    CHECK_TEXT(mot_show_time(12345, text, sizeof text), "12.3 us");
    CHECK_TEXT(mot_show_time(999999, text, sizeof text), "1.00 ms");
    CHECK_TEXT(mot_show_time(UINT64_C(90000000000), text, sizeof text), "90.0 s");
    CHECK_TEXT(mot_show_time(UINT64_C(600000000000), text, sizeof text), "10.0 min");
    CHECK_TEXT(mot_show_time(UINT64_C(36000000000000), text, sizeof text), "10.0 h");
    CHECK_TEXT(mot_show_time(UINT64_MAX, text, sizeof text), "never");
    CHECK_TEXT(mot_show_size(2.4e9, text, sizeof text), "2.4 GB");
    CHECK_TEXT(mot_show_size(0, text, sizeof text), "0 B");
    CHECK_TEXT(mot_show_size(999, text, sizeof text), "999 B");
    CHECK_TEXT(mot_show_size(999999, text, sizeof text), "1 MB");
    CHECK_TEXT(mot_show_size(5e18, text, sizeof text), "5000 PB");
    CHECK_TEXT(mot_show_bandwidth(2.5e6, text, sizeof text), "20 Mbit/s");
    CHECK_TEXT(mot_show_bandwidth(1.25e8, text, sizeof text), "1 Gbit/s");
    CHECK_TEXT(mot_show_bandwidth(INFINITY, text, sizeof text), "unlimited");
}

TEST(the_nearest_name_is_what_was_meant)
{
    static const char *const words[] = {
        "seed",
        "workers",
        "data",
        "partition",
        "model",
        "method",
        "optimizer",
        "batch",
        "cluster",
        NULL,
        "evaluate",
        "stop",
        "sim",
        "checkpoint",
        "output",
        "learning_rate",
        "momentum",
        "weight_decay",
        "fashion-mnist",
        "digits",
        "allreduce",
        "async",
        "server",
        "lr",
    };
    static const char *const cases[][2] = {
        { "wrokers", "workers" },
        { "worker", "workers" },
        { "optimiser", "optimizer" },
        { "optim", "optimizer" },
        { "metod", "method" },
        { "Batch", "batch" },
        { "bacth", "batch" },
        { "learning-rate", "learning_rate" },
        { "learnign_rate", "learning_rate" },
        { "weightdecay", "weight_decay" },
        { "fashion", "fashion-mnist" },
        { "fashion_mnist", "fashion-mnist" },
        { "all-reduce", "allreduce" },
        { "asynch", "async" },
        { "asinc", "async" },
        { "sever", "server" },
        { "sed", "seed" },
        { "rl", "lr" },
        { "checkpoints", "checkpoint" },
        { "evaluation", "evaluate" },
    };
    for (size_t i = 0; i < MOT_COUNT(cases); i++) {
        const char *near = mot_nearest(cases[i][0], words, MOT_COUNT(words));
        if (!near || strcmp(near, cases[i][1]) != 0)
            FAIL("nearest to %s is %s, expected %s", cases[i][0], near ? near : "nothing", cases[i][1]);
    }
    static const char *const far[] = { "", "zzz", "k", "banana", "qwertyuiop", "x" };
    for (size_t i = 0; i < MOT_COUNT(far); i++) {
        const char *near = mot_nearest(far[i], words, MOT_COUNT(words));
        if (near) FAIL("nearest to '%s' is %s, expected nothing", far[i], near);
    }
}

TEST(a_very_long_name_is_near_nothing)
{
    static char text[5000];
    memset(text, 'a', sizeof text - 1);
    const char *words[] = { "a", text };
    CHECK(mot_nearest(text, words, 2) == NULL);
    CHECK(mot_nearest("aa", words, 2) == words[0]);
}

TEST(a_list_ends_with_and)
{
    const char *word[] = { "ringmaster", "async", "fedbuff" };
    static const char *const list[] = { "", "ringmaster", "ringmaster and async",
        "ringmaster, async and fedbuff" };
    for (size_t n = 0; n < 4; n++) {
        char *all = mot_list_words(word, n);
        CHECK(strcmp(all, list[n]) == 0);
        free(all);
    }
}

TEST_MAIN()
