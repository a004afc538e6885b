/* partition.html from a partition.json by hand: what it says, whom it lists, what it draws. */
#include "base/memory.h"
#include "page/page.h"
#include "test.h"

#define QUALITY(mean, random, worse, by)                                                                     \
    "\"quality\": {\"mmd2_mean\": " mean ", \"mmd2_max\": 0.3, \"mmd2_random\": " random                     \
    ", \"worse_than_random\": " worse ", \"mmd2_by\": \"" by "\", \"features\": \"raw\", \"bandwidth\": 2.5" \
    ", \"objectives_by\": \"" by "\", \"facility_location\": 1234.56789, \"graph_cut\": 98.7654321"          \
    ", \"label_divergence_mean\": 0.011, \"label_divergence_max\": 0.022"                                    \
    ", \"quota_error_class\": 0.5, \"quota_error_worker\": 0.75}"
#define HEAD(name)                                                                                           \
    "\"data\": \"d/rows.csv\", \"rows\": 1300, \"seed\": 7, \"partition\": {\"name\": \"" name "\"}, "       \
    "\"cost\": {\"algorithm\": \"lazy greedy\", \"seconds\": 1.5, \"measure_seconds\": 0.25, "               \
    "\"peak_bytes\": 3000000}, "
#define CLASSES "\"classes\": [\"cat\", \"<dog>\"], "
#define FIRST                                                                                                \
    "{\"rows\": 1000, \"speed\": 4, \"count\": [600, 400], \"mmd2\": [0.1, 0.3], "                           \
    "\"mmd2_random\": [0.2, 0.4], \"mmd2_ratio\": [0.5, 0.75]}"
#define SECOND(ratio)                                                                                        \
    "{\"rows\": 300, \"speed\": 1, \"count\": [200, 100], \"mmd2\": [0.02, 0.04], "                          \
    "\"mmd2_random\": [0.1, 0.2], \"mmd2_ratio\": [0.2, " ratio "]}"

static char *page_of(const char *json)
{
    json_error_t error;
    json_t *d = json_loads(json, 0, &error);
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    if (!d) printf("  %s\n", error.text);
    enum mot_status status = mot_partition_page(d, "motley partition d/rows.csv", out);
    fclose(out);
    json_decref(d);
    if (status != MOT_OK) *text = 0;
    char *script = strstr(text, "'use strict'");
    if (script) *script = 0; /* its words are the template's */
    return text;
}

#define SAYS(json, ...)                                                                                      \
    do {                                                                                                     \
        static const char *const says_[] = { __VA_ARGS__ };                                                  \
        char *page_ = page_of(json);                                                                         \
        for (size_t i_ = 0; i_ < MOT_COUNT(says_); i_++)                                                     \
            if (says_[i_][0] == '!' ? strstr(page_, says_[i_] + 1) != NULL : !strstr(page_, says_[i_]))      \
                FAIL("%s: %s", says_[i_], strstr(page_, "<p class=\"answer\">"));                            \
        free(page_);                                                                                         \
    } while (0)

TEST(the_answer_says_how_the_parts_compare_with_random_rows)
{
    SAYS("{" HEAD("submodular") CLASSES QUALITY("0.1", "0.2", "0", "exact") ", \"workers\": [" FIRST
                                                                            ", " SECOND("0.9") "]}",
        "Every worker’s rows represent their class better than random rows would: their distance (MMD²) is "
        "<span class=\"num\">0.50</span> times that of random rows on average, and <span "
        "class=\"num\">0.90</span> "
        "at worst, worker 1, class &lt;dog&gt;.</p>",
        "!--fallback");
    SAYS("{" HEAD("submodular") CLASSES QUALITY("0.1", "0.2", "0", "features") ", \"workers\": [" FIRST
                                                                               ", " SECOND("1.05") "]}",
        "As far as measured, no worker’s rows represent their class worse than random rows would",
        "!--fallback");
    SAYS("{" HEAD("submodular") CLASSES QUALITY("0.1", "0.2", "1", "exact") ", \"workers\": [" FIRST
                                                                            ", " SECOND("1.5") "]}",
        "<span class=\"bad\">1 of 4 blocks</span>", "at worst, worker 1, class",
        "<code>--fallback herding</code> partitions their classes again.");
    SAYS("{" HEAD("random") CLASSES QUALITY("0.1", "0.2", "1", "exact") ", \"workers\": [" FIRST
                                                                        ", " SECOND("1.5") "]}",
        "<span class=\"bad\">1 of 4 blocks</span>", "!--fallback");
    SAYS("{" HEAD("submodular") QUALITY("0.1", "0.2", "1", "exact") ", \"workers\": [" FIRST
                                                                    ", " SECOND("1.5") "]}",
        "The rows of <span class=\"bad\">1 of 2 workers</span> represent the whole worse",
        "at worst, worker 1.");
}

TEST(what_was_partitioned_again_is_said)
{
#define AGAIN(by, classes)                                                                                   \
    "{" HEAD("submodular") CLASSES QUALITY("0.1", "0.2", "1", "exact") ", \"workers\": [" FIRST ", " SECOND( \
        "1.5") "], "                                                                                         \
               "\"fallback\": {\"by\": \"" by "\", \"classes\": [" classes "]}}"
    SAYS(AGAIN("herding", "{\"taken\": true}, {\"taken\": false}"),
        "1 class was partitioned again by herding,", "!--fallback");
    SAYS(AGAIN("random", "{\"taken\": true}, {\"taken\": true}"),
        "2 classes were partitioned again at random,");
    SAYS(AGAIN("random", "{\"taken\": false}"), "!partitioned again");
}

TEST(where_there_is_nothing_to_compare_with_the_answer_says_why)
{
    SAYS("{" HEAD("random") CLASSES "\"quality\": {}, \"workers\": [" FIRST ", " SECOND("1") "]}",
        "was not measured", "!<dt>MMD²</dt>", "!of random</th>");
    SAYS("{" HEAD("random") CLASSES QUALITY("0.1", "0", "0", "exact") ", \"workers\": [" FIRST "]}",
        "One worker has all rows.", "<title>rows.csv over 1 worker ", "<li>1 worker</li>");
    SAYS("{" HEAD("random") CLASSES QUALITY("0", "0", "0", "exact") ", \"workers\": [" FIRST
                                                                    ", " SECOND("1") "]}",
        "By these features all rows of a class are equal");
    SAYS("{" HEAD("random") CLASSES QUALITY(
             "0", "0", "0", "exact") ", \"workers\": ["
                                     "{\"rows\": 9, \"count\": [9, 0]}, {\"rows\": 5, \"count\": [0, 5]}]}",
        "Each class is held by a single worker");
}

TEST(workers_facts_and_figures_are_listed)
{
    SAYS("{" HEAD("submodular") CLASSES QUALITY(
             "0.1", "0.2", "0", "exact") ", \"heterogeneity\": {\"zeta2\": 1.25, "
                                         "\"sigma2\": 2.5, \"model\": \"softmax\", \"words\": \"they "
                                         "differ\"}, \"workers\": [" FIRST ", " SECOND("1.5") "]}",
        "<li>1,300 training rows</li><li>2 classes</li><li>2 workers</li><li>by submodular</li><li>seed "
        "7</li>",
        "<tr><th scope=\"row\">0</th><td class=\"num\">4</td><td class=\"num\">1,000</td><td "
        "class=\"num\">2.00e-01</td>"
        "<td class=\"num\">0.67</td><td class=\"num\">0.75</td><td><span class=\"num\">class "
        "&lt;dog&gt;</span></td></tr>",
        "<tr><th scope=\"row\">1</th><td class=\"num\">1</td><td class=\"num\">300</td><td "
        "class=\"num\">3.00e-02</td>"
        "<td class=\"num\">0.20</td><td class=\"num bad\">1.50</td>",
        "!<th scope=\"row\">2</th>", "!more, in partition.json",
        "mean 0.1, worst 0.3; of random rows 0.2; over all pairs, features raw, bandwidth 2.5</dd>",
        "<dt>facility location</dt><dd>1234.5679</dd>\n<dt>graph cut</dt><dd>98.765432</dd>",
        "mean 0.011, worst 0.022 nats", "at most 0.5 rows per class, 0.75 in a worker’s total",
        "ζ² 1.25 between parts, σ² 2.5 between a part’s rows, at the initial softmax: they differ</dd>",
        "<dd>lazy greedy</dd>", "<dt>time to partition</dt><dd>1.50 s</dd>",
        "<dt>time to measure</dt><dd>250 ms</dd>", "<dt>peak memory</dt><dd>3.00 MB</dd>",
        "\"measured\":true,\"all_workers\":2,\"all_classes\":2,", "\"worse\":[false,true]",
        ">motley partition d/rows.csv<");
    SAYS("{" HEAD("random") CLASSES QUALITY("0.1", "0.2", "0", "features") ", \"workers\": [" FIRST
                                                                           ", " SECOND("1.05") "]}",
        "by random features", "<dd>1.23e+03, estimated from a sample</dd>",
        "<dd>98.8, estimated from a sample</dd>",
        "\"worse\":[false,false]"); /* within the error of random features */
}

/* Of 150 workers 40 are listed and 120 drawn, the one with the worst block among them. */
TEST(many_workers_are_listed_in_part_and_the_worst_is_drawn)
{
    static char json[60000];
    for (size_t worst = 0; worst < 150; worst += 37) {
        size_t n = (size_t)snprintf(json, sizeof json, "{%s%s%s, \"workers\": [", HEAD("random"), CLASSES,
            QUALITY("0.1", "0.2", "1", "exact"));
        for (size_t j = 0; j < 150; j++)
            n += (size_t)snprintf(
                json + n, sizeof json - n, "%s%s", j ? ", " : "", j == worst ? SECOND("1.5") : FIRST);
        snprintf(json + n, sizeof json - n, "]}");
        char *page = page_of(json), said[64], drawn[64];
        snprintf(said, sizeof said, "at worst, worker %zu, class", worst);
        snprintf(drawn, sizeof drawn, "{\"id\":%zu,\"rows\":300,", worst);
        CHECK_HAS(page, said);
        CHECK_HAS(page, drawn);
        CHECK_HAS(page, "<th scope=\"row\">39</th>");
        CHECK(!strstr(page, "<th scope=\"row\">40</th>"));
        CHECK_HAS(page, "And 110 more, in partition.json.");
        size_t ids = 0;
        for (const char *p = page; (p = strstr(p, "{\"id\":")); p++) ids++;
        CHECK_INT(ids, 120);
        free(page);
    }
}

TEST_MAIN()
