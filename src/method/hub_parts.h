/* hub_parts.h -- inside the hub (<motley/hub.h>): its jobs, and the kinds of workers. */
#ifndef MOT_METHOD_HUB_PARTS_H
#define MOT_METHOD_HUB_PARTS_H

#include <motley/hub.h>
#include "method/advice.h"
#include "method/grader.h"
#include "method/local.h"

struct mot_hub_job {
    uint64_t round;
    double limit_s;
    mot_time given;
    mot_buf x;
    uint32_t next, task;
    uint16_t kind;
    bool replaced;
};

/* Whether a gradient that has come may be used. Checks only what the guard asks for and nobody else does. */
bool mot_hub_sound(const struct mot_hub *, const struct mot_env *, const struct mot_message *);

#endif
