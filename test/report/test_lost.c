/* What is said about real runs that a lost worker ended: each method's own sentence, true for its options. */
#include "report/report.h"
#include "run/run.h"

static char said[4096];

/* Options: pairs, ended by NULL. Worker 3 of four crashes; all: everybody does, one after the other. */
#define LOSE(method, all, ...) lose((method), (all), (const char *const[]){ __VA_ARGS__, NULL })
static const char *lose(const char *method, bool all, const char *const *pair)
{
    struct run r = { 0 };
    RUN_SET(&r, "data", "digits", "data.rows", "200", "model", "softmax", "method", method, "batch", "16",
        "stop.updates", "100000", "cluster",
        all ? "{workers: [{count: 4}], faults: {detect: 50ms, schedule: [{kind: crash, at: 300ms, worker: "
              "0}, "
              "{kind: crash, at: 400ms, worker: 1}, {kind: crash, at: 500ms, worker: 3}, {kind: crash, at: "
              "600ms, worker: 2}]}}"
            : "{workers: [{count: 4}], faults: {detect: 50ms, schedule: [{kind: crash, at: 300ms, worker: "
              "3}]}}");
    run_set_all(&r, pair);
    run_go(&r);
    said[0] = '\0';
    if (r.status == MOT_OK && r.out.status == MOT_EPEER) {
        char *verdict = mot_verdict(r.experiment, &r.out);
        snprintf(said, sizeof said, "%s", verdict);
        free(verdict);
    }
    run_free(&r);
    return said;
}

#define CHECK_SAYS(text, part)                                                                               \
    do {                                                                                                     \
        if (!strstr((text), (part))) FAIL("'%s' is not in: %s", (part), said);                               \
    } while (0)

TEST(only_the_last_worker_is_called_the_last_one_left)
{
    static const char *const served[] = { "server", "async", "rennala", "malenia", "ringmaster", "ringleader",
        "ia2sgd", "fedbuff", "ca2fl", "fedavg", "mindflayer", "gasync" };
    for (size_t i = 0; i < MOT_COUNT(served); i++)
        CHECK_SAYS(LOSE(served[i], true, NULL),
            "because worker 2 was lost: it crashed, at 600 ms, the "
            "last one that was left. ");
    CHECK_SAYS(LOSE("async", true, "method.shards", "2"),
        "worker 2 was lost: it crashed, at 600 ms, the "
        "last one that was left. ");
}

TEST(several_servers_that_share_out_jobs_say_that_they_cannot_pass_them_on)
{
    LOSE("async", false, "method.shards", "2", "method.assign", "shuffled");
    CHECK_SAYS(said,
        "because worker 3 was lost: it crashed, at 300 ms. Several servers cannot pass its "
        "jobs on to others; `--method-assign pure` goes on without it. ");
    CHECK(!strstr(said, "last one"));
}

TEST(a_sum_needs_everyone)
{
    CHECK_SAYS(LOSE("allreduce", false, NULL),
        "A sum needs everyone; `--method server` and `--method async` go on without it. ");
    CHECK(!strstr(said, "last one"));
}

TEST(neighbours_that_stop_say_what_lets_them_go_on)
{
    static const char *const methods[] = { "dpsgd", "matcha" };
    for (size_t i = 0; i < MOT_COUNT(methods); i++) {
        CHECK_SAYS(LOSE(methods[i], false, NULL),
            "Its neighbours do not go on without it; `--method-on-loss continue` lets them. ");
        CHECK(!strstr(said, "last one"));
        LOSE(methods[i], true, "method.on_loss", "continue");
        CHECK_SAYS(said, "It was the last node with the model, which is lost with it, ");
        CHECK(!strstr(said, "on-loss"));
    }
}

TEST_MAIN()
