/* deadline.h -- when a synchronous server closes a round although answers are missing: never, after a fixed
 * time, or at the median of recent response times plus `spread` median absolute deviations. */
#ifndef MOT_METHOD_DEADLINE_H
#define MOT_METHOD_DEADLINE_H

#include <motley/method.h>

enum mot_deadline_rule { MOT_DEADLINE_NONE, MOT_DEADLINE_FIXED, MOT_DEADLINE_ADAPTIVE };
struct mot_deadline_conf {
    uint32_t rule;
    mot_time after;
    double spread;
};

#define MOT_DEADLINE_RECENT 128u /* response times behind the adaptive deadline */

struct mot_deadline {
    uint32_t n, next;
    mot_time recent[MOT_DEADLINE_RECENT], sorted[MOT_DEADLINE_RECENT];
};

void mot_deadline_saw(struct mot_deadline *, mot_time response);
/* Sets alarm 0 for the round that opens now with `present` workers. In the first round the adaptive deadline
 * has nothing to go by, so that round waits. */
void mot_deadline_arm(
    struct mot_deadline *, struct mot_env *, const struct mot_deadline_conf *, uint32_t present);
void mot_deadline_check(const struct mot_deadline *);

/* Options of a configuration that has a `struct mot_deadline_conf deadline`. */
#define MOT_DEADLINE_OPTIONS(CONF, BEFORE)                                                                   \
    { .name = "deadline",                                                                                    \
        .type = MOT_OPT_CHOICE,                                                                              \
        .offset = offsetof(CONF, deadline.rule),                                                             \
        .preset = "none",                                                                                    \
        .choices = "none|fixed|adaptive",                                                                    \
        .doc = "closes a round before " BEFORE ": never, `after` a fixed time, or at the median of "         \
               "recent response times plus `spread` deviations; a round always needs one gradient" },        \
        { .name = "after",                                                                                   \
            .type = MOT_OPT_TIME,                                                                            \
            .offset = offsetof(CONF, deadline.after),                                                        \
            .preset = "1s",                                                                                  \
            .min = 1,                                                                                        \
            .max = 31536000e9,                                                                               \
            .doc = "the fixed deadline, from the opening of the round" },                                    \
    {                                                                                                        \
        .name = "spread", .type = MOT_OPT_REAL, .offset = offsetof(CONF, deadline.spread), .preset = "4",    \
        .min = 0, .max = 1e6,                                                                                \
        .doc = "the adaptive deadline: this many median absolute deviations above the median"                \
    }

#endif
