#include "base/crew.h"
#include "base/memory.h"
#include <motley/method.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

unsigned mot_cores(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 && n < 1024 ? (unsigned)n : 1;
}

struct member {
    struct mot_crew *crew;
    unsigned who;
    pthread_t thread;
};

struct mot_crew {
    unsigned threads;      /* the caller's own included */
    struct member *member; /* [threads]; entry 0 is the caller */
    pthread_mutex_t lock;
    pthread_cond_t work, done; /* a task is queued, or the crew ends; a task is done */
    struct mot_crew_task *first, *last;
    struct mot_spare *spare; /* of the thread that opened the crew */
    bool end;
};

static void unlink_task(struct mot_crew *c, struct mot_crew_task *t)
{
    if (t->before) t->before->next = t->next;
    else c->first = t->next;
    if (t->next) t->next->before = t->before;
    else c->last = t->before;
    t->next = t->before = NULL;
}

static void append_task(struct mot_crew *c, struct mot_crew_task *t)
{
    t->before = c->last;
    t->next = NULL;
    if (c->last) c->last->next = t;
    else c->first = t;
    c->last = t;
    t->state = MOT_TASK_QUEUED;
}

/* Runs a task that is in no queue. Called and returns with the lock held. */
static void run_locked(struct mot_crew *c, struct mot_crew_task *t, unsigned who)
{
    t->state = MOT_TASK_RUNNING;
    pthread_mutex_unlock(&c->lock);
    t->run(t, who);
    pthread_mutex_lock(&c->lock);
    t->state = MOT_TASK_DONE;
    pthread_cond_broadcast(&c->done);
}

static void *member_main(void *argument)
{
    struct member *m = argument;
    struct mot_crew *c = m->crew;
    mot_spare_use(c->spare);
    pthread_mutex_lock(&c->lock);
    while (!c->end) {
        struct mot_crew_task *t = c->first;
        if (!t) {
            pthread_cond_wait(&c->work, &c->lock);
            continue;
        }
        unlink_task(c, t);
        run_locked(c, t, m->who);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

struct mot_crew *mot_crew_open(unsigned threads)
{
    MOT_ASSERT(threads >= 1);
    struct mot_crew *c = mot_new(1, sizeof(*c));
    c->member = mot_new(threads, sizeof(*c->member));
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->work, NULL);
    pthread_cond_init(&c->done, NULL);
    c->spare = mot_spare_mine();
    c->threads = 1;
    for (unsigned i = 1; i < threads; i++) {
        c->member[i] = (struct member){ .crew = c, .who = i };
        /* Fewer threads than asked for is only slower. */
        if (pthread_create(&c->member[i].thread, NULL, member_main, &c->member[i]) != 0) break;
        c->threads++;
    }
    return c;
}

void mot_crew_close(struct mot_crew *c)
{
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    c->end = true;
    pthread_cond_broadcast(&c->work);
    pthread_mutex_unlock(&c->lock);
    for (unsigned i = 1; i < c->threads; i++) pthread_join(c->member[i].thread, NULL);
    pthread_cond_destroy(&c->work);
    pthread_cond_destroy(&c->done);
    pthread_mutex_destroy(&c->lock);
    free(c->member);
    free(c);
}

unsigned mot_crew_threads(const struct mot_crew *c) { return c->threads; }

void mot_crew_give(struct mot_crew *c, struct mot_crew_task *t)
{
    if (c->threads == 1) {
        t->state = MOT_TASK_IDLE;
        return;
    }
    pthread_mutex_lock(&c->lock);
    MOT_ASSERT(t->state == MOT_TASK_IDLE || t->state == MOT_TASK_DONE);
    append_task(c, t);
    pthread_cond_signal(&c->work);
    pthread_mutex_unlock(&c->lock);
}

void mot_crew_await(struct mot_crew *c, struct mot_crew_task *t)
{
    if (c->threads == 1) {
        if (t->state != MOT_TASK_DONE) t->run(t, 0);
        t->state = MOT_TASK_DONE;
        return;
    }
    pthread_mutex_lock(&c->lock);
    while (t->state != MOT_TASK_DONE) {
        struct mot_crew_task *mine = t;
        if (t->state == MOT_TASK_QUEUED) unlink_task(c, t);
        else if (t->state == MOT_TASK_RUNNING) mine = c->first; /* help with another task meanwhile */
        if (!mine) {
            pthread_cond_wait(&c->done, &c->lock);
            continue;
        }
        if (mine != t) unlink_task(c, mine);
        run_locked(c, mine, 0);
    }
    pthread_mutex_unlock(&c->lock);
}

bool mot_crew_recall(struct mot_crew *c, struct mot_crew_task *t)
{
    bool fresh;
    pthread_mutex_lock(&c->lock);
    while (t->state == MOT_TASK_RUNNING) pthread_cond_wait(&c->done, &c->lock);
    fresh = t->state != MOT_TASK_DONE;
    if (t->state == MOT_TASK_QUEUED) unlink_task(c, t);
    t->state = MOT_TASK_IDLE;
    pthread_mutex_unlock(&c->lock);
    return fresh;
}

/* ---- A loop over all threads ------------------------------------------------ */

struct each {
    void (*run)(void *, uint32_t, unsigned);
    void *context;
    uint32_t n;
    atomic_uint next;
};
struct each_task {
    struct mot_crew_task task;
    struct each *each;
};

static void each_loop(struct each *e, unsigned who)
{
    for (;;) {
        uint32_t i = atomic_fetch_add(&e->next, 1);
        if (i >= e->n) return;
        e->run(e->context, i, who);
    }
}

static void each_run(struct mot_crew_task *t, unsigned who) { each_loop(((struct each_task *)t)->each, who); }

#define EACH_MOST 64u

void mot_crew_each(struct mot_crew *c, uint32_t n, void (*run)(void *, uint32_t, unsigned), void *context)
{
    struct each e = { .run = run, .context = context, .n = n, .next = 0 };
    struct each_task task[EACH_MOST];
    unsigned helpers = c->threads - 1 < EACH_MOST ? c->threads - 1 : EACH_MOST;
    if (n < 2) helpers = 0;
    for (unsigned i = 0; i < helpers; i++) {
        task[i] = (struct each_task){ .task = { .run = each_run }, .each = &e };
        mot_crew_give(c, &task[i].task);
    }
    each_loop(&e, 0);
    /* A helper that never ran must not keep a pointer to this frame. */
    for (unsigned i = 0; i < helpers; i++) mot_crew_recall(c, &task[i].task);
}
