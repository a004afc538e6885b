/* stuck.c -- ends runs that can make no progress, and says why. A run that is merely slow shows none of
 * these signs:
 *
 *   spin    a worker ends job after job at one instant, without an update: jobs that take no time keep the
 *           clock from reaching the jobs that the method waits for
 *   losses  workers were lost and came back so often without an update that the next is out of reach
 *   faults  stalls and network partitions follow each other, and nothing from a worker has arrived in a
 *           thousand times what its longest job and message take
 *   wait    the method awaits all workers, and these ended a million jobs without an update while one of
 *           them ended none: it is stalled, or much slower than the others. If stop.epochs are over,
 *           MOT_OVERDUE_JOBS are enough, and the run ends by that
 *
 * Checkpoints keep all counts, so a resumed run ends where it would have. */
#include "sim/channel.h"

#define SPINS_MOST 30000u
#define LOSSES_MOST 100000u
#define FAULTS_MOST 1000000u
#define EACH_WORKER 100u /* extra losses and faults allowed per worker: rounds of many suffer many */
#define SPANS_MOST 1000u
#define ABSENT_MOST 1000000u

static void note_why(struct sim *s, enum mot_stuck by, mot_node node, uint64_t count)
{
    s->stuck_by = by;
    s->stuck_node = node;
    s->stuck_count = count;
}

static void give_up(struct sim *s, enum mot_status status, enum mot_stuck by, mot_node node, uint64_t count)
{
    if (s->judge.ended) return;
    note_why(s, by, node, count);
    mot_judge_end(&s->judge, status, "no_progress");
}

void mot_stuck_turn(struct sim *s, mot_node node)
{
    struct sim_spin *spin = &s->node[node].spin;
    if (spin->at != s->now || spin->updates != s->updates)
        *spin = (struct sim_spin){ .at = s->now, .updates = s->updates };
    if (++spin->turns > SPINS_MOST) give_up(s, MOT_EDEADLINE, MOT_STUCK_SPIN, node, spin->turns - 1);
}

static bool told_lost(const struct sim *s, mot_node node)
{
    return s->node[node].dead && s->channel->health[node].told;
}

/* Of the workers that are awaited, the one that ended its last job (or alarm) longest ago. */
static mot_node longest_absent(const struct sim *s)
{
    mot_node who = s->world.workers;
    mot_time last = MOT_NEVER;
    for (mot_node i = 0; i < s->world.workers; i++) {
        const struct sim_node *n = &s->node[i];
        if (n->stopped || told_lost(s, i) || n->spin.at >= last) continue;
        who = i;
        last = n->spin.at;
    }
    return who;
}

/* After a window of jobs in which `who` ended none. */
static void waits_for(struct sim *s, mot_node who)
{
    if (s->judge.ended) return;
    mot_sim_overdue(s);
    if (s->judge.ended) note_why(s, MOT_STUCK_WAIT, who, s->fruitless.absent);
    else if (s->fruitless.absent >= ABSENT_MOST)
        give_up(s, MOT_EDEADLINE, MOT_STUCK_WAIT, who, s->fruitless.absent);
}

void mot_stuck_job(struct sim *s)
{
    struct sim_fruitless *f = &s->fruitless;
    if (!s->x->traits.awaits_all) return;
    if (f->left == 0) {
        f->left = MOT_OVERDUE_JOBS(s->world.workers);
        f->window = s->now;
    }
    if (--f->left > 0) return;
    mot_node who = longest_absent(s);
    bool absent = who < s->world.workers && s->node[who].spin.at < f->window;
    f->absent = absent ? f->absent + MOT_OVERDUE_JOBS(s->world.workers) : 0;
    if (absent) waits_for(s, who);
}

void mot_stuck_resumed(struct sim *s)
{
    if (s->fruitless.absent > 0 && s->fruitless.left == 0) waits_for(s, longest_absent(s));
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
    s->fruitless.losses = s->fruitless.left = s->fruitless.absent = 0;
    mot_stuck_arrived(s);
}
