/* team.h -- for tests: an experiment over ranks that are threads of this process (wire/loop.h). */
#ifndef MOT_TEST_TEAM_H
#define MOT_TEST_TEAM_H

#include "run/run.h"
#include "wire/loop.h"
#include "wire/ranks.h"
#include <pthread.h>
#include <stdatomic.h>

#define TEAM_MAX 8

struct team;
struct member {
    struct team *team;
    uint32_t rank;
    enum mot_status status, left_with; /* of mot_job_run; what the rank would exit with */
    struct mot_outcome out;            /* if status is MOT_OK */
    bool clean;                        /* of mot_ranks_leave */
    char error[256];
};

struct team {
    struct run run; /* settings, and the job that all ranks share */
    bool emulate, resume;
    /* Each rank but 0 has a job of its own, so that rows which arrive are written into its own tables. */
    void (*own)(struct mot_job *, uint32_t rank);   /* is shown it before the run; NULL: all share one */
    void (*after)(struct mot_job *, uint32_t rank); /* and this after it; may be NULL */
    uint32_t ranks;
    mot_loop_look *look;
    void *self;
    void (*tick)(void *told, const struct mot_moment *); /* of rank 0 */
    const volatile sig_atomic_t *interrupt;              /* rank 0's */
    void (*meanwhile)(struct team *); /* by the thread of the test, while the ranks run; may be NULL */
    struct mot_loop *loop;
    struct member member[TEAM_MAX];
    _Atomic uint32_t done;
};

static void *member_main(void *p)
{
    struct member *m = p;
    struct team *t = m->team;
    struct mot_transport *transport;
    struct mot_ranks *ranks;
    m->status = mot_loop_open(t->loop, m->rank, &transport);
    if (m->status == MOT_OK) m->status = mot_ranks_open(transport, &ranks);
    struct mot_job_ways ways = { .driver = &mot_driver_mpi,
        .ranks = ranks,
        .emulate = t->emulate,
        .resume = t->resume,
        .replace = !t->resume };
    struct mot_job own, *job = &t->run.job;
    if (t->own && m->rank != 0) {
        if (mot_job_open(t->run.experiment, &own) != MOT_OK) abort();
        t->own(&own, m->rank);
        job = &own;
        ways.own_rows = true;
    }
    if (m->rank == 0) {
        ways.interrupt = t->interrupt;
        ways.tick = t->tick;
        ways.told = t;
    }
    m->status = mot_job_run(job, &ways, &m->out);
    if (m->status != MOT_OK) snprintf(m->error, sizeof m->error, "%s", mot_error());
    m->left_with = m->status != MOT_OK ? m->status : m->out.status;
    m->clean = mot_ranks_leave(ranks, m->left_with);
    if (job == &own && t->after) t->after(&own, m->rank);
    if (job == &own) mot_job_close(&own);
    atomic_fetch_add(&t->done, 1);
    return NULL;
}

/* Opens the job of the settings once; team_go may be called again and again after it. */
static inline bool team_open(struct team *t)
{
    struct run *r = &t->run;
    r->status = mot_experiment_open(NULL, r->setting, r->settings, &r->experiment);
    if (r->status == MOT_OK) r->status = mot_job_open(r->experiment, &r->job);
    if (r->status != MOT_OK) printf("  %s\n", mot_error());
    if (!t->ranks && r->status == MOT_OK) {
        const struct mot_experiment *x = r->experiment;
        t->ranks = x->workers + (x->mpi.own ? x->servers : 0);
    }
    return r->status == MOT_OK;
}

static inline void team_forget(struct team *t)
{
    for (uint32_t r = 0; r < t->ranks; r++)
        if (t->member[r].status == MOT_OK) mot_outcome_close(&t->member[r].out);
    memset(t->member, 0, sizeof t->member);
}

/* Runs it over all ranks, and waits for them. team_forget after it. */
static inline void team_go(struct team *t)
{
    pthread_t thread[TEAM_MAX];
    atomic_store(&t->done, 0);
    t->loop = mot_loop_new(t->ranks, t->look, t->self);
    for (uint32_t r = 0; r < t->ranks; r++) {
        t->member[r] = (struct member){ .team = t, .rank = r };
        if (pthread_create(&thread[r], NULL, member_main, &t->member[r]) != 0) abort();
    }
    if (t->meanwhile) t->meanwhile(t);
    for (uint32_t r = 0; r < t->ranks; r++) pthread_join(thread[r], NULL);
    for (uint32_t r = 0; r < t->ranks; r++)
        if (!t->member[r].clean) FAIL("rank %u could not free its memory", r);
    mot_loop_free(t->loop);
}

static inline void team_close(struct team *t)
{
    mot_job_close(&t->run.job);
    mot_experiment_close(t->run.experiment);
}

/* The same job, simulated. */
static inline struct mot_outcome team_simulate(struct team *t)
{
    struct mot_outcome out = { 0 };
    if (mot_job_run(&t->run.job, &(struct mot_job_ways){ .driver = &mot_driver_sim }, &out) != MOT_OK)
        abort();
    return out;
}

#endif
