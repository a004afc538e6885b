#include "method/advice.h"
#include <stdio.h>

static void advise_rounds(const struct mot_situation *s, char *into, size_t size)
{
    if (s->rest) snprintf(into, size, "`--method server --method-k %u`, or `--method async`", s->rest);
    else snprintf(into, size, "`--method async`, which waits for nobody");
}

void mot_advise_served(const void *conf, const struct mot_situation *s, char *into, size_t size)
{
    (void)conf;
    switch (s->kind) {
    case MOT_WHEN_LOST:
        snprintf(into, size,
            s->elastic ? ". Nobody was left, and nobody came back" : ", the last one that was left");
        return;
    case MOT_WHEN_WAITING: advise_rounds(s, into, size); return;
    case MOT_WHEN_IDLE: snprintf(into, size, "`--method async`"); return;
    case MOT_WHEN_CROWDED:
        snprintf(into, size, "`--method allreduce`, which has no such meeting point");
        return;
    case MOT_WHEN_LEANING: snprintf(into, size, "`--method ringleader` weighs workers equally"); return;
    case MOT_WHEN_OVERDUE:
    case MOT_WHEN_LATE:
    case MOT_WHEN_THIN:
    case MOT_WHEN_EMPTY: return;
    }
}

void mot_advise_unserved(const void *conf, const struct mot_situation *s, char *into, size_t size)
{
    (void)conf;
    switch (s->kind) {
    case MOT_WHEN_WAITING: advise_rounds(s, into, size); return;
    case MOT_WHEN_IDLE: snprintf(into, size, "`--method async`"); return;
    case MOT_WHEN_THIN:
        snprintf(into, size, "`--method async` or `--method server --method-k %u`", s->rest);
        return;
    case MOT_WHEN_LOST:
    case MOT_WHEN_OVERDUE:
    case MOT_WHEN_LATE:
    case MOT_WHEN_CROWDED:
    case MOT_WHEN_LEANING:
    case MOT_WHEN_EMPTY: return;
    }
}

void mot_advise_own_pace(const void *conf, const struct mot_situation *s, char *into, size_t size)
{
    (void)conf;
    if (s->kind == MOT_WHEN_LOST) snprintf(into, size, ", the last one that was left");
    if (s->kind == MOT_WHEN_LEANING)
        snprintf(into, size, "`--method dpsgd` takes a batch of every worker in each update");
}

void mot_advise_summing(const void *conf, const struct mot_situation *s, char *into, size_t size)
{
    if (s->kind == MOT_WHEN_LOST)
        snprintf(
            into, size, ". A sum needs everyone; `--method server` and `--method async` go on without it");
    else mot_advise_unserved(conf, s, into, size);
}
