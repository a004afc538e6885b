/* stuck.c -- ends runs that can make no progress, and says why. A run that is merely slow shows none of
 * these signs:
 *
 *   spin    a worker ends job after job at one instant, without an update: jobs that take no time keep the
 *           clock from reaching the jobs that the method waits for
 *   losses  workers were lost and came back so often without an update that the next is out of reach
 *   faults  stalls and network partitions follow each other, and nothing from a worker has arrived in a
 *           thousand times what its longest job and message take
 *
 * Checkpoints keep all counts, so a resumed run ends where it would have. */
#include "sim/state.h"

#define SPINS_MOST 30000u
#define LOSSES_MOST 100000u
#define FAULTS_MOST 1000000u
#define EACH_WORKER 100u /* extra losses and faults allowed per worker: rounds of many suffer many */
#define SPANS_MOST 1000u

static void give_up(struct sim *s, enum mot_status status, enum mot_stuck by, mot_node node, uint64_t count)
{
    if (s->judge.ended) return;
    s->stuck_by = by;
    s->stuck_node = node;
    s->stuck_count = count;
    mot_judge_end(&s->judge, status, "no_progress");
}

void mot_stuck_turn(struct sim *s, mot_node node)
{
    struct sim_spin *spin = &s->node[node].spin;
    if (spin->at != s->now || spin->updates != s->updates)
        *spin = (struct sim_spin){ .at = s->now, .updates = s->updates };
    if (++spin->turns > SPINS_MOST) give_up(s, MOT_EDEADLINE, MOT_STUCK_SPIN, node, spin->turns - 1);
}

void mot_stuck_lost(struct sim *s, mot_node node)
{
    if (++s->fruitless.losses <= LOSSES_MOST + (uint64_t)EACH_WORKER * s->world.workers) return;
    s->peer = node;
    s->has_peer = true;
    give_up(s, MOT_EPEER, MOT_STUCK_LOSSES, node, s->fruitless.losses - 1);
}

void mot_stuck_fault(struct sim *s)
{
    const struct sim_fruitless *f = &s->fruitless;
    s->fruitless.faults++;
    if (f->faults > FAULTS_MOST + (uint64_t)EACH_WORKER * s->world.workers &&
        (s->now - f->since) / SPANS_MOST > f->longest_job + f->longest_message)
        give_up(s, MOT_EDEADLINE, MOT_STUCK_FAULTS, 0, f->faults - 1);
}

void mot_stuck_arrived(struct sim *s)
{
    s->fruitless.faults = 0;
    s->fruitless.since = s->now;
}

void mot_stuck_updated(struct sim *s)
{
    s->fruitless.losses = 0;
    mot_stuck_arrived(s);
}
