/* The crew: every task runs once, on whichever thread; threads run in parallel; tasks that have not begun
 * can be taken back. */
#include "base/bytes.h"
#include "base/crew.h"
#include "test.h"
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define TASKS 1000u

struct sum {
    struct mot_crew_task task; /* first: the crew gives it back as this */
    uint64_t from, result;
    atomic_uint times;
    unsigned who;
};

static void add_up(struct mot_crew_task *t, unsigned who)
{
    struct sum *s = (struct sum *)t;
    s->result = 0;
    for (uint64_t i = 0; i < 100; i++) s->result += s->from + i;
    s->who = who;
    atomic_fetch_add(&s->times, 1);
}

TEST(every_task_runs_once_and_is_done_when_awaited_on_any_number_of_threads)
{
    static struct sum s[TASKS];
    alarm(120);
    for (unsigned threads = 1; threads <= 5; threads++) {
        struct mot_crew *c = mot_crew_open(threads);
        CHECK_INT(mot_crew_threads(c), threads);
        memset(s, 0, sizeof s);
        for (uint32_t i = 0; i < TASKS; i++) {
            s[i].task.run = add_up;
            s[i].from = i;
            mot_crew_give(c, &s[i].task);
        }
        for (uint32_t k = 0; k < TASKS; k++) { /* in another order than given */
            struct sum *mine = &s[k * 7 % TASKS];
            mot_crew_await(c, &mine->task);
            CHECK_INT(mine->times, 1);
            CHECK_INT(mine->result, 100 * mine->from + 4950);
            CHECK(mine->who < threads);
        }
        mot_crew_await(c, &s[3].task); /* again: there is nothing left to do */
        CHECK_INT(s[3].times, 1);
        mot_crew_give(c, &s[3].task); /* what is done can be given anew */
        mot_crew_await(c, &s[3].task);
        CHECK_INT(s[3].times, 2);
        mot_crew_close(c);
    }
    alarm(0);
}

/* ---- Loops ------------------------------------------------------------------------------------ */

#define THREADS 4u
struct meeting {
    pthread_barrier_t all;
    atomic_uint there[THREADS], calls[TASKS];
};

static void meet(void *self, uint32_t i, unsigned who)
{
    struct meeting *m = self;
    atomic_fetch_add(&m->calls[i], 1);
    if (i < THREADS) pthread_barrier_wait(&m->all);
    if (i < THREADS && who < THREADS) atomic_fetch_add(&m->there[who], 1);
}

/* The first calls wait for each other: fewer threads than all would wait for ever. */
TEST(a_loop_runs_on_all_threads_at_once_and_takes_every_number_once)
{
    static struct meeting m;
    alarm(120);
    struct mot_crew *c = mot_crew_open(THREADS);
    pthread_barrier_init(&m.all, NULL, THREADS);
    mot_crew_each(c, TASKS, meet, &m);
    for (uint32_t i = 0; i < TASKS; i++) CHECK_INT(m.calls[i], 1);
    for (uint32_t t = 0; t < THREADS; t++) CHECK_INT(m.there[t], 1); /* each with a number of its own */
    pthread_barrier_destroy(&m.all);
    mot_crew_close(c);
    alarm(0);
}

static void count(void *self, uint32_t i, unsigned who)
{
    (void)who;
    atomic_fetch_add(&((atomic_uint *)self)[i], 1);
}

TEST(a_short_loop_is_whole_too)
{
    for (uint32_t n = 0; n < 6; n++) {
        atomic_uint calls[6] = { 0 };
        struct mot_crew *c = mot_crew_open(3);
        mot_crew_each(c, n, count, calls);
        for (uint32_t i = 0; i < 6; i++) CHECK_INT(calls[i], i < n);
        mot_crew_close(c);
    }
}

/* ---- Taking back ------------------------------------------------------------------------------- */

struct gate {
    struct mot_crew_task task;
    atomic_bool begun, open;
};

static void wait_at_gate(struct mot_crew_task *t, unsigned who)
{
    (void)who;
    struct gate *g = (struct gate *)t;
    g->begun = true;
    while (!g->open) usleep(100);
}

static void *open_gate(void *g)
{
    ((struct gate *)g)->open = true;
    return NULL;
}

TEST(a_task_that_has_not_begun_can_be_taken_back_and_one_that_runs_is_waited_for)
{
    alarm(120);
    struct mot_crew *c = mot_crew_open(2);
    struct gate gate = { .task = { .run = wait_at_gate } };
    struct sum s[3] = { { .from = 0 } };
    mot_crew_give(c, &gate.task);
    while (!gate.begun) usleep(100); /* the only other thread is busy now */
    for (int i = 0; i < 3; i++) {
        s[i].task.run = add_up;
        mot_crew_give(c, &s[i].task);
    }
    CHECK(mot_crew_recall(c, &s[1].task)); /* from the middle of the queue */
    pthread_t opener;
    CHECK(pthread_create(&opener, NULL, open_gate, &gate) == 0);
    CHECK(!mot_crew_recall(c, &gate.task));
    CHECK(gate.open);
    pthread_join(opener, NULL);
    mot_crew_await(c, &s[2].task);
    mot_crew_await(c, &s[0].task);
    CHECK_INT(s[0].times, 1);
    CHECK_INT(s[1].times, 0);
    CHECK_INT(s[2].times, 1);
    CHECK(!mot_crew_recall(c, &s[0].task));
    CHECK(mot_crew_recall(c, &s[0].task)); /* it is idle by now */
    mot_crew_await(c, &s[1].task);         /* what was taken back can still be had */
    CHECK_INT(s[1].times, 1);
    mot_crew_close(c);
    alarm(0);
}

/* ---- Bytes --------------------------------------------------------------------------------------- */

TEST(bytes_come_back_as_they_were_put_and_a_reader_stops_at_their_end)
{
    struct mot_bytes b = { 0 };
    for (uint32_t i = 0; i < 5000; i++) mot_bytes_put(&b, &i, sizeof i);
    CHECK_INT(b.n, 20000);
    struct mot_reader r = { .at = b.at, .n = b.n };
    for (uint32_t i = 0; i < 5000; i++) {
        uint32_t got;
        mot_reader_get(&r, &got, sizeof got);
        CHECK_INT(got, i);
    }
    CHECK(!r.short_of && r.done == r.n);
    uint32_t beyond = 7;
    mot_reader_get(&r, &beyond, sizeof beyond);
    CHECK(r.short_of && beyond == 0);
    r = (struct mot_reader){ .at = b.at, .n = 6 };
    mot_reader_get(&r, &beyond, 4);
    CHECK(!r.short_of);
    mot_reader_get(&r, &beyond, 4); /* two bytes are left */
    CHECK(r.short_of && beyond == 0);
    mot_reader_get(&r, &beyond, 2); /* once short, nothing that follows can be told */
    CHECK(r.short_of && r.done == 4);
    mot_bytes_free(&b);
    CHECK(b.n == 0 && !b.at);
}

TEST_MAIN()
