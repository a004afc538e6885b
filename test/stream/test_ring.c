/* The ring between an intake and a model: what a job holds is never overwritten, nothing is lost or doubled,
 * and the cursor of a row is that of the record before it. */
#include "stream/intake.h"
#include "base/memory.h"
#include "test.h"
#include <motley/random.h>
#include <sched.h>
#include <unistd.h>

#define COLS 2u

static char *classes[] = { "0", "1" };
static const struct mot_record_form form = { .format = MOT_RECORDS_CSV,
    .label = UINT32_MAX,
    .separator = ',',
    .schema = { .cols = COLS, .classes = 2, .class_names = classes, .scale = MOT_SCALE_NONE } };

/* Rows "k,2k,k%2", every tenth line no row; returns how many are rows. */
static uint64_t write_rows(const char *path, uint64_t lines)
{
    uint64_t rows = 0;
    FILE *out = fopen(path, "w");
    for (uint64_t i = 0; out && i < lines; i++) {
        if (i % 10 == 9) fprintf(out, "x,%llu,0\n", (unsigned long long)i);
        else
            fprintf(out, "%llu,%llu,%llu\n", (unsigned long long)rows, 2 * (unsigned long long)rows,
                (unsigned long long)(rows & 1)),
                rows++;
    }
    if (out) fclose(out);
    return rows;
}

struct rig {
    char path[64];
    struct mot_intake_conf conf;
    struct mot_intake *intake;
    uint32_t rows;
    float *x, *y;
    double holdout;
    struct mot_reservoir *held;
};

static bool open_rig(struct rig *r, uint32_t buffer, uint64_t first, const struct mot_mark *begin)
{
    r->conf = (struct mot_intake_conf){
        .from = r->path, .buffer = buffer, .bound = MOT_WORD_UINT, .longest = 4096, .ends = true
    };
    r->conf.holdout = r->holdout;
    if (!r->x) r->x = mot_new((size_t)r->rows * COLS, sizeof(*r->x));
    if (!r->y) r->y = mot_new(r->rows, sizeof(*r->y));
    struct mot_intake_setup setup = { .conf = &r->conf,
        .form = &form,
        .workers = 1,
        .rows = r->rows,
        .x = r->x,
        .y = r->y,
        .first = first,
        .begin = *begin,
        .seed = 5,
        .held = r->held };
    return mot_intake_open(&setup, &r->intake) == MOT_OK;
}

static void close_rig(struct rig *r)
{
    mot_intake_close(r->intake);
    unlink(r->path);
    free(r->x);
    free(r->y);
}

/* Takes up to n rows from *head on, checks that they are what was written and stay so. */
static uint64_t take(struct rig *r, uint64_t *head, uint64_t n, uint64_t *dropped)
{
    struct mot_ring *ring = mot_intake_ring(r->intake);
    uint64_t oldest = mot_ring_hold(ring, *head), tail = atomic_load(&ring->tail), wrong = 0;
    *dropped += oldest - *head;
    *head = oldest;
    if (tail - *head < n) n = tail - *head;
    for (int look = 0; look < 2; look++) {
        for (uint64_t k = *head; k < *head + n; k++) {
            const float *x = r->x + k % r->rows * COLS;
            wrong += x[0] != (float)k || x[1] != (float)(2 * k) || r->y[k % r->rows] != (float)(k & 1);
        }
        sched_yield();
    }
    *head += n;
    mot_ring_release(ring, *head);
    return wrong;
}

static void run_to_end(uint32_t buffer)
{
    uint64_t lines = SANITIZED ? 20000 : 200000, head = 0, wrong = 0, dropped = 0, step = 0, seed = 11;
    struct rig r = { .rows = 128 };
    snprintf(r.path, sizeof r.path, "/tmp/motley-ring-%d.csv", (int)getpid());
    uint64_t rows = write_rows(r.path, lines);
    CHECK(open_rig(&r, buffer, 0, &(struct mot_mark){ 0 }));
    printf("  seed %llu\n", (unsigned long long)seed);
    struct mot_ring *ring = mot_intake_ring(r.intake);
    while (!mot_intake_state(r.intake).ended || atomic_load(&ring->tail) > head) {
        wrong += take(&r, &head, mot_hash3(seed, step++, 0) % 60, &dropped);
        if (step % 3 == 0) sched_yield();
    }
    CHECK_INT(wrong, 0);
    CHECK_INT(atomic_load(&ring->tail), rows);
    CHECK_INT(head, rows);
    CHECK_INT(mot_intake_state(r.intake).malformed, lines - rows);
    if (buffer == MOT_INTAKE_PERSIST) CHECK_INT(dropped, 0);
    close_rig(&r);
}

TEST(with_persist_every_row_is_read_once_and_none_changes_while_it_is_used)
{
    run_to_end(MOT_INTAKE_PERSIST);
}
TEST(with_truncate_rows_go_only_where_no_job_uses_them) { run_to_end(MOT_INTAKE_TRUNCATE); }

TEST(an_intake_that_goes_on_from_a_mark_reads_the_rest_and_counts_on)
{
    struct rig r = { .rows = 64 };
    uint64_t head = 0, dropped = 0, lines = 500;
    snprintf(r.path, sizeof r.path, "/tmp/motley-ring-%d.csv", (int)getpid());
    uint64_t rows = write_rows(r.path, lines);
    CHECK(open_rig(&r, MOT_INTAKE_PERSIST, 0, &(struct mot_mark){ 0 }));
    while (head < 100) CHECK_INT(take(&r, &head, 100 - head, &dropped), 0);
    struct mot_mark mark = mot_ring_before(mot_intake_ring(r.intake), head);
    CHECK_INT(mark.malformed, 11); /* every tenth line: 100 rows are 111 lines */
    mot_intake_close(r.intake);
    CHECK(open_rig(&r, MOT_INTAKE_PERSIST, head, &mark));
    while (head < rows) CHECK_INT(take(&r, &head, 7, &dropped), 0);
    while (!mot_intake_state(r.intake).ended) sched_yield();
    CHECK_INT(mot_intake_state(r.intake).malformed, lines - rows);
    CHECK_INT(dropped, 0);
    close_rig(&r);
}

/* Takes what is in the ring and notes which rows those were, up to row `end` of the ring. */
static void note_trained(struct rig *r, uint64_t *head, uint64_t end, uint32_t *trained)
{
    struct mot_ring *ring = mot_intake_ring(r->intake);
    while (*head < end && !(mot_intake_state(r->intake).ended && atomic_load(&ring->tail) == *head)) {
        mot_ring_hold(ring, *head);
        uint64_t tail = atomic_load(&ring->tail);
        for (; *head < tail && *head < end; ++*head) trained[(uint32_t)r->x[*head % r->rows * COLS]]++;
        mot_ring_release(ring, *head);
        sched_yield();
    }
}

TEST(a_row_is_trained_on_or_held_out_never_both_also_where_an_intake_goes_on_from_a_mark)
{
    struct rig r = { .rows = 64, .holdout = 0.2 };
    uint64_t head = 0, lines = 5000;
    snprintf(r.path, sizeof r.path, "/tmp/motley-ring-%d.csv", (int)getpid());
    uint64_t rows = write_rows(r.path, lines);
    uint32_t *trained = mot_new(rows, sizeof(*trained)), *held = mot_new(rows, sizeof(*held));
    float *x = mot_new(rows * COLS, sizeof(*x)), *y = mot_new(rows, sizeof(*y));
    CHECK_INT(mot_reservoir_open((uint32_t)rows, COLS, &r.held), MOT_OK);
    CHECK(open_rig(&r, MOT_INTAKE_PERSIST, 0, &(struct mot_mark){ 0 }));
    note_trained(&r, &head, 1000, trained);
    struct mot_mark mark = mot_ring_before(mot_intake_ring(r.intake), head);
    CHECK(mark.held > 150 && mark.held < 350);
    mot_intake_close(r.intake); /* it has read further: those rows come again, and are held out again */
    CHECK(open_rig(&r, MOT_INTAKE_PERSIST, head, &mark));
    note_trained(&r, &head, rows, trained);
    while (!mot_intake_state(r.intake).ended) sched_yield();
    struct mot_intake_state s = mot_intake_state(r.intake);
    CHECK_INT(s.held + s.malformed + head, lines);
    uint32_t n = mot_reservoir_rows(r.held, x, y), wrong = 0;
    CHECK_INT(n, s.held);
    for (uint32_t i = 0; i < n; i++) held[(uint32_t)x[i * COLS]]++;
    for (uint64_t i = 0; i < rows; i++) wrong += trained[i] + held[i] != 1;
    CHECK_INT(wrong, 0);
    mot_reservoir_close(r.held);
    close_rig(&r);
    free(trained);
    free(held);
    free(x);
    free(y);
}

TEST(a_record_that_is_too_long_is_malformed_and_the_next_one_is_read)
{
    struct rig r = { .rows = 64 };
    snprintf(r.path, sizeof r.path, "/tmp/motley-ring-%d.csv", (int)getpid());
    FILE *out = fopen(r.path, "w");
    fputs("0,0,0\n", out);
    for (int i = 0; i < 3000000; i++) fputc('1', out);
    fputs("\n1,2,1\n2,4,0", out); /* the last line lacks its end, but the file is complete */
    fclose(out);
    uint64_t head = 0, dropped = 0;
    CHECK(open_rig(&r, MOT_INTAKE_PERSIST, 0, &(struct mot_mark){ 0 }));
    while (!mot_intake_state(r.intake).ended) sched_yield();
    CHECK_INT(atomic_load(&mot_intake_ring(r.intake)->tail), 3);
    CHECK_INT(take(&r, &head, 3, &dropped), 0);
    CHECK_INT(mot_intake_state(r.intake).malformed, 1);
    close_rig(&r);
}

TEST_MAIN()
