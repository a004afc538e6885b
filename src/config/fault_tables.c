/* fault_tables.c -- the keys of a cluster's faults. */
#include "config/fault_file.h"
#include <stddef.h>

#define ALL(field) offsetof(struct mot_faults_conf, field)
#define ONE(field) offsetof(struct mot_fault_conf, field)
#define CHANCE(key, i, text)                                                                                 \
    {                                                                                                        \
        .name = key, .type = MOT_OPT_REAL, .offset = ALL(chance[i]), .preset = "0", .max = 0.9, .doc = text  \
    }
#define RATE(key, i, text)                                                                                   \
    {                                                                                                        \
        .name = key, .type = MOT_OPT_RATE, .offset = ALL(rate[i]), .preset = "0/s", .max = 1000, .doc = text \
    }
#define MEAN(key, i, default_, text)                                                                         \
    {                                                                                                        \
        .name = key, .type = MOT_OPT_TIME, .offset = ALL(lasts[i]), .preset = default_, .min = 1,            \
        .max = 31536000e9, .doc = text                                                                       \
    }

const struct mot_option mot_faults_options[] = {
    { .name = "detect",
        .type = MOT_OPT_TIME,
        .offset = ALL(detect),
        .preset = "1s",
        .min = 1e6,
        .max = 31536000e9,
        .doc = "a peer that is silent for this long is given up for lost" },
    { .name = "until",
        .type = MOT_OPT_TIME,
        .offset = ALL(until),
        .preset = "never",
        .word = "never",
        .doc = "no random fault begins after this time; scheduled faults are not affected" },
    CHANCE("drop", 0, "the probability that a frame is lost"),
    CHANCE("duplicate", 1, "the probability that a frame arrives twice"),
    CHANCE("reorder", 2, "the probability that a frame is delayed and others overtake it"),
    CHANCE("corrupt", 3, "the probability that a frame arrives damaged; its checksum shows it"),
    { .name = "poison",
        .type = MOT_OPT_REAL,
        .offset = ALL(chance[4]),
        .preset = "0",
        .max = 1,
        .doc = "the probability that a gradient is NaN; the method sees it" },
    RATE("crash", 0, "how often each worker crashes"),
    { .name = "restart_after",
        .type = MOT_OPT_TIME,
        .offset = ALL(lasts[0]),
        .preset = "2s",
        .word = "never",
        .min = 1,
        .max = 31536000e9,
        .doc = "a crashed worker restarts after this long on average, without its state" },
    RATE("stall", 1, "how often each worker stalls: it computes nothing and handles no event"),
    MEAN("stall_for", 1, "200ms", "how long a stall lasts on average"),
    RATE("partition", 2, "how often each worker is cut off from all others"),
    MEAN("partition_for", 2, "200ms", "how long that lasts on average"),
    RATE("slow_link", 3, "how often each worker's link becomes slow"),
    MEAN("slow_link_for", 3, "1s", "how long a link stays slow on average"),
    { .name = "slow_link_factor",
        .type = MOT_OPT_REAL,
        .offset = ALL(slow_factor),
        .preset = "10",
        .min = 1,
        .max = 1e6,
        .doc = "how many times slower a slow link is" },
    { .name = NULL },
};

/* ---- Scheduled ones ---------------------------------------------------------------- */

#define AT                                                                                                   \
    {                                                                                                        \
        .name = "at", .type = MOT_OPT_TIME, .offset = ONE(at), .doc = "when it happens"                      \
    }
#define FOR(default_, word_, text)                                                                           \
    {                                                                                                        \
        .name = "for", .type = MOT_OPT_TIME, .offset = ONE(lasts), .preset = default_, .word = word_,        \
        .min = 1, .max = 31536000e9, .doc = text                                                             \
    }
#define WORKERS(text)                                                                                        \
    {                                                                                                        \
        .name = "workers", .type = MOT_OPT_UINTS, .offset = ONE(workers), .preset = "[]", .also = "worker",  \
        .doc = text                                                                                          \
    }
#define SERVER(text)                                                                                         \
    {                                                                                                        \
        .name = "server", .type = MOT_OPT_BOOL, .offset = ONE(server), .preset = "false", .doc = text        \
    }
#define END                                                                                                  \
    {                                                                                                        \
        .name = NULL                                                                                         \
    }

static const struct mot_option crash[] = {
    AT,
    FOR("never", "never", "how long until they restart without their state; a server's crash ends the run"),
    WORKERS("which workers; [2, 3] or 2"),
    SERVER("the server"),
    END,
};
static const struct mot_option restart[] = { AT, WORKERS("which workers; no effect on one that is running"),
    END };
static const struct mot_option stall[] = { AT, FOR("1s", NULL, "how long"), WORKERS("which workers"),
    SERVER("the server"), END };
static const struct mot_option partition[] = {
    AT,
    FOR("1s", NULL, "how long"),
    WORKERS("the workers on one side; all others are on the other"),
    SERVER("put the server on the side of these workers"),
    END,
};
static const struct mot_option slow_link[] = {
    AT,
    FOR("1s", NULL, "how long"),
    { .name = "factor",
        .type = MOT_OPT_REAL,
        .offset = ONE(amount),
        .preset = "10",
        .min = 1,
        .max = 1e6,
        .doc = "divides the bandwidth" },
    WORKERS("whose links; all links if neither workers nor the server are given"),
    SERVER("the server's link"),
    END,
};
static const struct mot_option frames[] = {
    AT,
    FOR("1s", NULL, "how long"),
    { .name = "probability",
        .type = MOT_OPT_REAL,
        .offset = ONE(amount),
        .preset = "1",
        .max = 1,
        .doc = "the probability for each frame" },
    WORKERS("frames from or to these; all frames if neither workers nor the server are given"),
    SERVER("frames from or to the server"),
    END,
};

static const struct mot_option poison[] = {
    AT,
    FOR("forever", "forever", "how long"),
    { .name = "probability",
        .type = MOT_OPT_REAL,
        .offset = ONE(amount),
        .preset = "1",
        .max = 1,
        .doc = "the probability for each gradient" },
    WORKERS("whose gradients; default: all workers'"),
    END,
};

/* In the order of enum mot_fault_kind. */
static const struct {
    const char *summary;
    const struct mot_option *options;
} faults[] = {
    { "a node stops and loses its state, its jobs and what it has not sent yet", crash },
    { "a crashed worker restarts", restart },
    { "a node computes nothing and handles no event; its channel still answers, so it is not given up for "
      "lost",
        stall },
    { "frames between two sides are lost; nodes cut off for longer than `detect` restart afterwards",
        partition },
    { "bandwidth is divided by a factor", slow_link },
    { "frames are lost and sent again", frames },
    { "frames arrive twice", frames },
    { "frames are delayed and others overtake them", frames },
    { "frames arrive damaged, are discarded and sent again", frames },
    { "gradients are NaN, and the method has to deal with it", poison },
};

static bool get_fault(size_t i, struct mot_choice *out)
{
    if (i >= MOT_COUNT(faults)) return false;
    *out = (struct mot_choice){ mot_fault_name((enum mot_fault_kind)i), faults[i].summary, NULL,
        faults[i].options, &faults[i], i };
    return true;
}

const struct mot_family mot_family_fault = { "faults.schedule[].kind", "kind of fault", "kinds of faults",
    "crash", get_fault };
