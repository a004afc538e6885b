/* unfinished.h -- what to do with jobs that are no longer of use, as an option. */
#ifndef MOT_METHOD_UNFINISHED_H
#define MOT_METHOD_UNFINISHED_H

#include "method/hub_parts.h"

enum mot_unfinished { MOT_UNFINISHED_CANCEL, MOT_UNFINISHED_FINISH };

#define MOT_UNFINISHED_OPTION(conf, member)                                                                  \
    {                                                                                                        \
        .name = "unfinished", .type = MOT_OPT_CHOICE, .offset = offsetof(conf, member), .preset = "cancel",  \
        .choices = "cancel|finish",                                                                          \
        .doc = "what to do with jobs that have become useless: cancel gives them up and starts them "        \
               "again at the current model, at the price of a message to each worker; finish lets "          \
               "them finish and drops their gradients"                                                       \
    }

/* Sets the queue and the backlog: a replaced job keeps its place until it is answered. */
static inline void mot_unfinished_need(
    enum mot_unfinished what, const struct mot_world *world, struct mot_hub_need *need)
{
    need->queue = what == MOT_UNFINISHED_CANCEL ? 2 : 1;
    need->backlog = what == MOT_UNFINISHED_CANCEL ? world->workers : 0;
}

#endif
