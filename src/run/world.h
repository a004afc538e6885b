/* world.h -- what every driver derives from an experiment before the run: the world that methods see, what
 * they need, how often to evaluate. */
#ifndef MOT_RUN_WORLD_H
#define MOT_RUN_WORLD_H

#include "run/gradient.h"

/* Fails if the method's options do not suit the world. */
enum mot_status mot_world_open(const struct mot_experiment *, const struct mot_problem *,
    const struct mot_optim *, struct mot_world *out);
void mot_world_close(struct mot_world *);
/* Refuses a checkpoint that another experiment left, with this many workers and parameters. */
enum mot_status mot_world_refuse(
    const struct mot_world *, const char *checkpoint, uint32_t workers, uint32_t parameters);
/* Computes world.part_batch, [parts], for parts of the experiment's data. */
void mot_part_batches(const struct mot_experiment *, const struct mot_parts *, uint32_t *out);
/* Whether a node holds the rows of a part from the beginning of the run. */
bool mot_world_holds(const struct mot_experiment *, const struct mot_world *, mot_node, uint32_t part);
/* Puts the initial parameters and a zero vector into the pool. */
void mot_world_begin(struct mot_world *, struct mot_pool *, const float *x0);

/* Whose models make up the run's: the servers'; else every worker's if they differ; else worker 0's, which
 * stands for all. The lead is the first of these nodes. */
mot_node mot_world_lead(const struct mot_world *);
uint32_t mot_world_showing(const struct mot_experiment *, const struct mot_world *);
/* How many nodes a live run saves: all workers if each keeps something of its own, else those that show. */
uint32_t mot_world_saved(const struct mot_experiment *, const struct mot_world *);

/* What a node needs: the method's need(), and what packing takes besides. */
struct mot_need mot_need_of(const struct mot_experiment *, const struct mot_world *, mot_node);
/* The needs of all nodes together. most: the largest of each. shown: copies of models, if several nodes show
 * theirs. */
struct mot_needs {
    struct mot_need most;
    uint64_t states, buffers, holds, sends, works, terms, alarms, shown;
};
void mot_needs_add(struct mot_needs *, const struct mot_experiment *, const struct mot_world *, mot_node);
struct mot_needs mot_needs_of(const struct mot_experiment *, const struct mot_world *);
/* Collectives of one circle that can be in flight at once: a member that has got something from the root may
 * have joined the next one while others have yet to leave the one before. */
uint32_t mot_needs_window(const struct mot_needs *);
/* The same for all circles together; each collective may have a buffer for its result. */
uint32_t mot_needs_colls(const struct mot_needs *, const struct mot_world *);
size_t mot_state_room(size_t bytes); /* rounded up to whole cache lines */

/* Progress in the data as a function of updates. It is known beforehand for methods without a server,
 * where every update takes a batch of every worker, or several (not where each goes at its own pace). So
 * what is due at an epoch is due at an update that every node knows, and no driver has to ask the others
 * how far they are. */
struct mot_course {
    const struct mot_world *world;
    const struct mot_problem *problem;
    bool known;
    uint32_t batches;  /* of a worker, per update */
    uint64_t samples0; /* of a resumed run: before world->step0 */
};
struct mot_course mot_course_of(
    const struct mot_experiment *, const struct mot_world *, const struct mot_problem *, uint64_t samples0);
/* A worker's position in its part after so many updates. */
uint64_t mot_course_draw(const struct mot_course *, mot_node worker, uint64_t updates);
uint64_t mot_course_samples(const struct mot_course *, uint64_t updates);
double mot_course_epochs(const struct mot_course *, uint64_t updates);
/* The first update by which so many epochs are done. UINT64_MAX: the data ends before, or unknown. */
uint64_t mot_course_update(const struct mot_course *, double epochs);
/* The first update later than `after` at which something periodic is due. UINT64_MAX: the clock decides,
 * or unknown. */
uint64_t mot_course_due(const struct mot_course *, const struct mot_every *, uint64_t after);

/* evaluate.every, with auto resolved: about fifty evaluations, or one every quarter epoch without a limit. */
struct mot_every mot_every_resolve(const struct mot_experiment *);

/* Finds the slowest worker for progress: offer each with its mean job time (0: no job done), then ask. */
struct mot_pick {
    mot_node worker;
    uint32_t n;
    double longest, sum;
};
void mot_pick_worker(struct mot_pick *, mot_node, double job_time);
void mot_pick_slowest(const struct mot_pick *, struct mot_moment *);

#endif
