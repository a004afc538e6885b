/* driver.h -- what carries out a run: the simulator, threads, MPI ranks, or the replay of a record.
 *
 * All drivers take the same options and return the same outcome. Code above this header never asks which
 * driver runs; where drivers differ, it reads the table. */
#ifndef MOT_RUN_DRIVER_H
#define MOT_RUN_DRIVER_H

#include "run/gradient.h"
#include "run/outcome.h"
#include <signal.h>

struct mot_ranks;
struct mot_record;
struct mot_inspection;

struct mot_driver_options {
    const struct mot_experiment *experiment;
    const struct mot_problem *problem;
    const struct mot_optim *optim;
    const float *x0;                        /* [dim]: initial parameters */
    uint64_t hash;                          /* of experiment and data; ties a checkpoint to them */
    const struct mot_watch *watch;          /* may be NULL */
    const volatile sig_atomic_t *interrupt; /* nonzero: the signal that asks for a clean end; may be NULL */
    const char *checkpoint;                 /* file to write, or NULL */
    bool resume;                            /* start from that file */
    bool settled; /* when resuming a run that is over: its results exist, so do nothing */
    /* Called once, when everything is ready and the checkpoint, if any, has been accepted. `mark` is the
     * checkpoint's, or 0. If it fails, so does the run. May be NULL. */
    enum mot_status (*begins)(void *self, uint64_t mark);
    void *begins_self;
    bool emulate;              /* live: make nodes and links as slow as the cluster says */
    struct mot_record *record; /* live: where events of all nodes go, or NULL; replay: the record to play */
    const struct mot_inspection *inspection; /* replay: the node to inspect, or NULL */
    struct mot_ranks *ranks;                 /* mpi: the ranks of the run */
    /* mpi: no other rank shares this process's data set in memory. Rows that arrive are then written into it;
     * otherwise they must equal what is there. */
    bool own_rows;
    /* sim, with faults: how many messages may be in flight before others wait; 0: the planned number */
    uint32_t frames;
    /* sim: replicas that make the same step make it one by one, each into its own buffer, as live ones do */
    bool apart;
};

/* The memory of a run in one process, in bytes. Of buffers more is reserved than used: address space for the
 * worst case, of which `buffer_count` are expected to be touched. */
struct mot_memory_plan {
    uint64_t data, buffers, states, events, scratch, evaluation, total;
    uint64_t buffer_count, buffers_reserved;
    bool rehearsed;    /* that is what the run's first rounds used; else the most that it can use */
    uint32_t copies;   /* of all layers' outputs: one for each thread that computes or evaluates */
    const char *fewer; /* what there must be fewer of for fewer copies: "workers" */
};

struct mot_driver {
    const char *name;
    bool live;    /* runs on the wall clock; can be recorded */
    bool replays; /* plays a record */
    /* Returns MOT_OK and puts how the run ended into out->status, or an error if it never began. With
     * several processes, the first gets the outcome; the others get only its status. */
    enum mot_status (*run)(const struct mot_driver_options *, struct mot_outcome *out);
    /* For runs of several processes: whether they suit the experiment, and which of them this is. The
     * first leads: only it prints and writes. NULL: a single process. */
    enum mot_status (*fits)(const struct mot_ranks *, const struct mot_experiment *);
    uint32_t (*rank)(const struct mot_ranks *);
    /* What such a run takes; of several processes, the first. */
    enum mot_status (*plan)(const struct mot_driver_options *, struct mot_memory_plan *out);
};
extern const struct mot_driver mot_driver_sim, mot_driver_threads, mot_driver_mpi, mot_driver_replay;

static inline uint32_t mot_driver_rank(const struct mot_driver *d, const struct mot_ranks *ranks)
{
    return d->rank ? d->rank(ranks) : 0;
}

#endif
