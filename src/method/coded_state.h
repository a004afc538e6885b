/* coded_state.h -- the state of a coded server: who has which role, and the open tasks with the answers to
 * them. Inside coded.c and coded_tasks.c. */
#ifndef MOT_METHOD_CODED_STATE_H
#define MOT_METHOD_CODED_STATE_H

#include "method/coder.h"
#include "method/deadline.h"

struct mot_coded_conf {
    struct mot_coder_conf coder; /* must be first */
    uint64_t wait;
    bool rescale;
    struct mot_deadline_conf deadline;
};

struct mot_coded {
    struct mot_hub hub;
    struct mot_deadline deadline;
    uint64_t task;    /* the current round's; others that are open are older */
    uint64_t shuffle; /* how often roles have been shuffled */
    uint64_t next_shuffle;
    uint64_t first, rounds; /* the first task; rounds closed */
    mot_time opened;
    uint32_t overdue, answers; /* in this round */
    uint32_t unsettled;        /* workers whose rows have not all arrived */
    uint32_t samples_most;     /* of any role in a round */
    uint64_t samples_full;     /* of all parts in a round */
};

/* The rest of the state, by offsets from its beginning: all sizes are known from the code. */
struct mot_coded_seat {
    uint32_t role, wants; /* wants: rows it may still ask for */
    uint32_t unsettled, pieces;
};
struct mot_coded_task {
    uint64_t number;
    uint32_t open, got; /* got: workers that answered */
    uint32_t parts;     /* partials: parts that are here */
    uint32_t spare;
};
struct mot_coded_layout {
    size_t seat, task, answered, grad, missed, weight, decoder, bytes;
    uint32_t tasks, words, buffers; /* words: of a set of roles; buffers: of a task */
};

struct mot_coded_layout mot_coded_layout_of(const struct mot_world *);
static inline void *mot_coded_at(const struct mot_coded *s, size_t offset)
{
    return (char *)(uintptr_t)s + offset;
}
static inline struct mot_coded_seat *mot_coded_seats(
    const struct mot_coded *s, const struct mot_coded_layout *l)
{
    return mot_coded_at(s, l->seat);
}
static inline struct mot_coded_task *mot_coded_task_at(
    const struct mot_coded *s, const struct mot_coded_layout *l, uint64_t number)
{
    return (struct mot_coded_task *)mot_coded_at(s, l->task) + number % l->tasks;
}
static inline uint64_t *mot_coded_answered(
    const struct mot_coded *s, const struct mot_coded_layout *l, uint64_t number)
{
    return (uint64_t *)mot_coded_at(s, l->answered) + number % l->tasks * l->words;
}
static inline mot_buf *mot_coded_grads(
    const struct mot_coded *s, const struct mot_coded_layout *l, uint64_t number)
{
    return (mot_buf *)mot_coded_at(s, l->grad) + number % l->tasks * l->buffers;
}

/* coded_tasks.c. `number`: of the task. */

/* Whether its answers decode to the sum over all parts. */
bool mot_coded_exact(
    const struct mot_coded *, const struct mot_env *, const struct mot_coded_layout *, uint64_t number);
bool mot_coded_open(const struct mot_coded *, const struct mot_coded_layout *, uint64_t number);
/* Whether an older task must end with this round: only a sequential code has one. */
bool mot_coded_due(
    const struct mot_coded *, const struct mot_env *, const struct mot_coded_layout *, uint64_t *number_out);
bool mot_coded_has_answered(
    const struct mot_coded *, const struct mot_coded_layout *, uint64_t number, uint32_t role);
void mot_coded_begin_task(struct mot_coded *, const struct mot_coded_layout *); /* number s->task */
/* One step along what its answers decode to; none if there is none. */
void mot_coded_finish(struct mot_coded *, struct mot_env *, const struct mot_coded_layout *, uint64_t number);
struct mot_decoder *mot_coded_decoder(const struct mot_coded *, const struct mot_coded_layout *);

#endif
