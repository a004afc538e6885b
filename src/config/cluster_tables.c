/* cluster_tables.c -- the keys of a cluster file. */
#include "config/cluster_file.h"
#include "config/fault_file.h"
#include "config/stream_file.h"
#include <stddef.h>

#define ABOVE_ZERO 1e-300         /* as a minimum it excludes 0 */
#define PRICES "auto|job|samples" /* in the order of enum mot_price */
#define LINK(field) offsetof(struct mot_link_conf, field)
#define GROUP(field) offsetof(struct mot_group_conf, field)
#define LAW(field) offsetof(struct mot_law_conf, field)
#define STRAGGLE(field) offsetof(struct mot_straggle_conf, field)

const struct mot_option mot_cluster_options[] = {
    { .name = "slow",
        .type = MOT_OPT_REAL,
        .offset = offsetof(struct mot_cluster_conf, slow),
        .preset = "1",
        .min = 1,
        .max = 1e6,
        .doc = "slow down the last worker: its jobs take this many times longer than its group says" },
    { .name = "slow_count",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct mot_cluster_conf, slow_count),
        .preset = "1",
        .min = 1,
        .max = MOT_WORKERS_MAX,
        .doc = "how many workers, from the last, are slowed down" },
    { .name = "links",
        .type = MOT_OPT_REAL,
        .offset = offsetof(struct mot_cluster_conf, links),
        .preset = "1",
        .min = 1e-6,
        .max = 1e6,
        .doc = "multiplies the bandwidth of every link: 0.5 halves it" },
    { .name = "per",
        .type = MOT_OPT_CHOICE,
        .offset = offsetof(struct mot_cluster_conf, per),
        .preset = "auto",
        .choices = PRICES,
        .doc =
            "what job_time and traces give: the time of a job, whatever its size, or that of the worker's "
            "batch, so that a job of twice the samples takes twice as long; auto: samples if workers compute "
            "the same samples more than once, as with a code, else job" },
    { .name = NULL },
};

const struct mot_option mot_link_options[] = {
    { .name = "bandwidth",
        .type = MOT_OPT_BANDWIDTH,
        .offset = LINK(bandwidth),
        .preset = "1Gbit",
        .word = "none",
        .min = ABOVE_ZERO,
        .doc = "sets up and down; none: messages take no time on this link" },
    { .name = "up",
        .type = MOT_OPT_BANDWIDTH,
        .offset = LINK(up),
        .preset = "1Gbit",
        .word = "none",
        .min = ABOVE_ZERO,
        .doc = "bandwidth for sending" },
    { .name = "down",
        .type = MOT_OPT_BANDWIDTH,
        .offset = LINK(down),
        .preset = "1Gbit",
        .word = "none",
        .min = ABOVE_ZERO,
        .doc = "bandwidth for receiving" },
    { .name = "latency",
        .type = MOT_OPT_TIME,
        .offset = LINK(latency),
        .preset = "100us",
        .doc = "delay of a message at this end; both ends add up" },
    { .name = NULL },
};

const struct mot_option mot_group_options[] = {
    { .name = "name",
        .type = MOT_OPT_TEXT,
        .offset = GROUP(name),
        .preset = "none",
        .word = "none",
        .doc = "a name for tables and verdicts" },
    { .name = "count",
        .type = MOT_OPT_UINT,
        .offset = GROUP(count),
        .preset = "1",
        .min = 1,
        .max = MOT_WORKERS_MAX,
        .doc = "how many such workers" },
    { .name = "speed",
        .type = MOT_OPT_RATE,
        .offset = GROUP(speed),
        .preset = "1000 samples/s",
        .min = ABOVE_ZERO,
        .doc = "samples per second" },
    { .name = "fixed",
        .type = MOT_OPT_TIME,
        .offset = GROUP(fixed),
        .preset = "0",
        .max = MOT_JOB_LONGEST_S * 1e9,
        .doc = "overhead per batch" },
    { .name = "per",
        .type = MOT_OPT_CHOICE,
        .offset = GROUP(per),
        .preset = "auto",
        .choices = PRICES,
        .doc = "the same for these workers; auto: as the cluster's key says" },
    { .name = "memory",
        .type = MOT_OPT_SIZE,
        .offset = GROUP(room.memory),
        .preset = "none",
        .word = "none",
        .min = 1,
        .doc = "memory for samples of a stream that wait to be used; none: not limited" },
    { .name = "storage",
        .type = MOT_OPT_SIZE,
        .offset = GROUP(room.storage),
        .preset = "0",
        .doc = "storage for samples that memory has no room for; what neither can hold is dropped, oldest "
               "first" },
    { .name = NULL },
};

const struct mot_option mot_host_options[] = {
    { .name = "cores",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct mot_host_conf, cores),
        .preset = "none",
        .word = "none",
        .min = 1,
        .max = 1u << 20,
        .doc = "cores that the nodes of a machine share; none: a core for each" },
    { .name = "workers",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct mot_host_conf, workers),
        .preset = "all",
        .word = "all",
        .min = 1,
        .max = MOT_WORKERS_MAX,
        .doc = "how many consecutive workers share a machine; servers are on the first" },
    { .name = NULL },
};

const struct mot_option mot_costs_options[] = {
    { .name = "step",
        .type = MOT_OPT_BANDWIDTH,
        .offset = offsetof(struct mot_costs, step),
        .preset = "none",
        .word = "none",
        .min = ABOVE_ZERO,
        .doc = "bytes of the model a second in an optimiser step; none: it takes no time" },
    { .name = "mix",
        .type = MOT_OPT_BANDWIDTH,
        .offset = offsetof(struct mot_costs, mix),
        .preset = "none",
        .word = "none",
        .min = ABOVE_ZERO,
        .doc = "bytes a second when a node sums or mixes models or gradients; none: it takes no time" },
    { .name = NULL },
};

/* ---- Laws ---------------------------------------------------------------------- */

#define TIME_MEAN                                                                                            \
    {                                                                                                        \
        .name = "mean", .type = MOT_OPT_TIME, .offset = LAW(time.mean), .max = MOT_JOB_LONGEST_S * 1e9,      \
        .doc = "the mean time of a job"                                                                      \
    }
#define TIME_PLUS                                                                                            \
    {                                                                                                        \
        .name = "plus", .type = MOT_OPT_TIME, .offset = LAW(time.plus), .preset = "0",                       \
        .max = MOT_JOB_LONGEST_S * 1e9, .doc = "added to every draw"                                         \
    }
#define FACTOR_MEAN                                                                                          \
    {                                                                                                        \
        .name = "mean", .type = MOT_OPT_REAL, .offset = LAW(factor.mean), .preset = "1", .min = ABOVE_ZERO,  \
        .doc = "the mean factor"                                                                             \
    }
#define FACTOR_PLUS                                                                                          \
    {                                                                                                        \
        .name = "plus", .type = MOT_OPT_REAL, .offset = LAW(factor.plus), .preset = "0", .max = 1e6,         \
        .doc = "added to every draw"                                                                         \
    }
#define SIGMA                                                                                                \
    {                                                                                                        \
        .name = "sigma", .type = MOT_OPT_REAL, .offset = LAW(factor.sigma), .preset = "0.2", .max = 10,      \
        .doc = "standard deviation of the logarithm"                                                         \
    }
#define ALPHA                                                                                                \
    {                                                                                                        \
        .name = "alpha", .type = MOT_OPT_REAL, .offset = LAW(factor.alpha), .preset = "3", .min = 1.01,      \
        .max = 1000, .doc = "exponent of the tail: the smaller, the heavier"                                 \
    }
#define END                                                                                                  \
    {                                                                                                        \
        .name = NULL                                                                                         \
    }

static const struct mot_option time_mean[] = { TIME_MEAN, TIME_PLUS, END };
static const struct mot_option time_uniform[] = {
    { .name = "low",
        .type = MOT_OPT_TIME,
        .offset = LAW(time.low),
        .max = MOT_JOB_LONGEST_S * 1e9,
        .preset = "0",
        .doc = "the least" },
    { .name = "high",
        .type = MOT_OPT_TIME,
        .offset = LAW(time.high),
        .max = MOT_JOB_LONGEST_S * 1e9,
        .doc = "the most" },
    TIME_PLUS,
    END,
};
static const struct mot_option time_normal[] = {
    TIME_MEAN,
    { .name = "sd",
        .type = MOT_OPT_TIME,
        .offset = LAW(time.sd),
        .max = MOT_JOB_LONGEST_S * 1e9,
        .doc = "the deviation; the sign of a draw is dropped" },
    TIME_PLUS,
    END,
};
static const struct mot_option time_lognormal[] = { TIME_MEAN, SIGMA, TIME_PLUS, END };
static const struct mot_option time_pareto[] = { TIME_MEAN, ALPHA, TIME_PLUS, END };
static const struct mot_option time_poisson[] = {
    TIME_MEAN,
    { .name = "unit",
        .type = MOT_OPT_TIME,
        .offset = LAW(time.unit),
        .preset = "1s",
        .min = 1,
        .max = MOT_JOB_LONGEST_S * 1e9,
        .doc = "the unit: every draw is a whole number of units" },
    TIME_PLUS,
    END,
};

static const struct mot_option factor_mean[] = { FACTOR_MEAN, FACTOR_PLUS, END };
static const struct mot_option factor_uniform[] = {
    { .name = "low",
        .type = MOT_OPT_REAL,
        .offset = LAW(factor.low),
        .preset = "0.5",
        .max = 1e6,
        .doc = "the least" },
    { .name = "high",
        .type = MOT_OPT_REAL,
        .offset = LAW(factor.high),
        .preset = "1.5",
        .max = 1e6,
        .doc = "the most" },
    FACTOR_PLUS,
    END,
};
static const struct mot_option factor_normal[] = {
    FACTOR_MEAN,
    { .name = "sd",
        .type = MOT_OPT_REAL,
        .offset = LAW(factor.sd),
        .preset = "0.1",
        .max = 1e6,
        .doc = "the deviation; the sign of a draw is dropped" },
    FACTOR_PLUS,
    END,
};
static const struct mot_option factor_lognormal[] = { FACTOR_MEAN, SIGMA, FACTOR_PLUS, END };
static const struct mot_option factor_pareto[] = { FACTOR_MEAN, ALPHA, FACTOR_PLUS, END };
static const struct mot_option factor_poisson[] = {
    FACTOR_MEAN,
    { .name = "unit",
        .type = MOT_OPT_REAL,
        .offset = LAW(factor.unit),
        .preset = "0.1",
        .min = 1e-6,
        .max = 1e6,
        .doc = "the unit: every draw is a whole number of units" },
    FACTOR_PLUS,
    END,
};

/* In the order of enum mot_law_kind. */
static const struct {
    const char *name, *summary;
    const struct mot_option *time, *factor;
} laws[] = {
    { "fixed", "always the mean", time_mean, factor_mean },
    { "uniform", "anything from low to high", time_uniform, factor_uniform },
    { "normal", "|N(mean, sd)|", time_normal, factor_normal },
    { "lognormal", "skewed, with a moderate tail", time_lognormal, factor_lognormal },
    { "exponential", "memoryless", time_mean, factor_mean },
    { "pareto", "a heavy tail", time_pareto, factor_pareto },
    { "poisson", "a Poisson number of units", time_poisson, factor_poisson },
};

static bool get_job_time(size_t i, struct mot_choice *out)
{
    if (i >= MOT_COUNT(laws)) return false;
    *out = (struct mot_choice){ laws[i].name, laws[i].summary, NULL, laws[i].time, &laws[i], i };
    return true;
}

static bool get_jitter(size_t i, struct mot_choice *out)
{
    if (i >= MOT_COUNT(laws)) return false;
    *out = (struct mot_choice){ laws[i].name, laws[i].summary, NULL, laws[i].factor, &laws[i], i };
    return true;
}

/* ---- Straggling ------------------------------------------------------------------ */

#define FACTOR                                                                                               \
    {                                                                                                        \
        .name = "factor", .type = MOT_OPT_REAL, .offset = STRAGGLE(factor), .preset = "5",                   \
        .min = ABOVE_ZERO, .max = 1e6, .doc = "a straggling job takes this many times longer"                \
    }
#define CHANCE(key, default_, text)                                                                          \
    {                                                                                                        \
        .name = #key, .type = MOT_OPT_REAL, .offset = STRAGGLE(key), .preset = default_, .max = 1,           \
        .doc = text                                                                                          \
    }

static const struct mot_option iid[] = { FACTOR, CHANCE(p, "0.1", "the probability that a job straggles"),
    END };
static const struct mot_option two_class[] = {
    FACTOR,
    CHANCE(slow, "0.2", "the probability that a worker is slow, drawn once"),
    CHANCE(p_slow, "0.8", "the probability that a job of a slow worker straggles"),
    CHANCE(p_fast, "0.01", "the probability that a job of any other worker straggles"),
    END,
};
static const struct mot_option markov[] = {
    FACTOR,
    CHANCE(stay_slow, "0.95", "the probability that a straggling worker straggles in its next job too"),
    CHANCE(stay_fast, "0.95", "the probability that any other worker does not straggle in its next job"),
    END,
};
static const struct mot_option trace[] = {
    { .name = "path",
        .type = MOT_OPT_TEXT,
        .offset = STRAGGLE(path),
        .doc = "a CSV file of seconds, one row per iteration, one column per node; relative to the cluster "
               "file" },
    { .name = "column",
        .type = MOT_OPT_UINT,
        .offset = STRAGGLE(column),
        .preset = "auto",
        .word = "auto",
        .doc = "the column, from 0, that these workers replay; auto: worker i replays column i, wrapping "
               "around" },
    END,
};

/* In the order of enum mot_straggle_kind. */
static const struct {
    const char *name, *summary;
    const struct mot_option *options;
} straggles[] = {
    { "none", "no straggling", NULL },
    { "iid", "every job straggles with the same probability", iid },
    { "two-class", "some workers straggle often, the others rarely", two_class },
    { "markov", "a worker that straggles keeps straggling for a while", markov },
    { "trace", "replays recorded job times: each cell of the file is the time of one job", trace },
};

static bool get_straggle(size_t i, struct mot_choice *out)
{
    if (i >= MOT_COUNT(straggles)) return false;
    *out = (struct mot_choice){ straggles[i].name, straggles[i].summary, NULL, straggles[i].options,
        &straggles[i], i };
    return true;
}

const struct mot_family mot_family_job_time = { "workers[].job_time", "law", "laws", "fixed", get_job_time };
const struct mot_family mot_family_jitter = { "workers[].jitter", "law", "laws", "fixed", get_jitter };
const struct mot_family mot_family_straggle = { "workers[].straggle", "kind of straggling",
    "kinds of straggling", "none", get_straggle };

const struct mot_section mot_cluster_sections[] = {
    { "", "Keys outside sections", mot_cluster_options, NULL },
    { "network", "The link of every node that has none of its own; 'none': messages take no time",
        mot_link_options, NULL },
    { "workers[]",
        "The number of workers, or a list of groups of identical workers; a group also takes the keys of "
        "network, and a stream",
        mot_group_options, NULL },
    { "workers[].job_time", "The time of a job, instead of speed and fixed; 'job_time: 2s' is constant", NULL,
        &mot_family_job_time },
    { "workers[].jitter", "A random factor on the time of each job", NULL, &mot_family_jitter },
    { "workers[].straggle", "Jobs that take several times longer now and then", NULL, &mot_family_straggle },
    { "stream",
        "Samples arrive over time, instead of being there from the beginning; for every worker whose "
        "group has "
        "no `stream` of its own",
        NULL, &mot_family_stream },
    { "server", "The link of each server; default: that of network", NULL, NULL },
    { "host", "Workers that share a machine and its cores, as measured by motley profile", mot_host_options,
        NULL },
    { "costs", "What nodes spend on models besides computing gradients, as measured by motley profile",
        mot_costs_options, NULL },
    { "faults", "Random faults, drawn from the seed; times are exponential with the given mean",
        mot_faults_options, NULL },
    { "faults.schedule[]", "Faults at given times: a list; 'faults: [...]' is short for it", NULL,
        &mot_family_fault },
    { NULL, NULL, NULL, NULL },
};
