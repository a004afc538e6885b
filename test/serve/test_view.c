/* The live view from inside: what is told is what is shown, while others tell more. */
#include "base/memory.h"
#include "base/stopwatch.h"
#include "config/experiment.h"
#include "serve/serve.h"
#include "study/plan.h"
#include "test.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned port_of(const struct mot_serve *s)
{
    const char *colon = strrchr(mot_serve_url(s), ':');
    return (unsigned)strtoul(colon + 1, NULL, 10);
}

static int call(unsigned port)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0) return fd;
    close(fd);
    return -1;
}

/* The whole answer, head and all; malloc'd. */
static char *get(unsigned port, const char *path)
{
    int fd = call(port);
    if (fd < 0) return NULL;
    char *ask = mot_format("GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
    size_t n = strlen(ask), room = 1 << 16, got = 0;
    bool sent = write(fd, ask, n) == (ssize_t)n;
    free(ask);
    char *text = mot_new(room, 1);
    for (ssize_t more; sent && (more = read(fd, text + got, room - got - 1)) > 0;) {
        got += (size_t)more;
        if (got + 1 == room) text = mot_grow(text, room *= 2, 1);
        text[got] = 0;
    }
    close(fd);
    return text;
}

static struct mot_serve *open_run(const char *key, const char *value)
{
    struct mot_experiment *x;
    struct mot_serve *s;
    struct mot_setting setting[] = { { "model", "softmax", "--model" }, { key, value, "--set" } };
    if (mot_experiment_open(NULL, setting, key ? 2 : 1, &x) != MOT_OK ||
        mot_serve_open("127.0.0.1:0", false, "motley sim", &s) != MOT_OK) {
        puts(mot_error());
        exit(1);
    }
    mot_serve_run(s, x, "sim", "a \"title\" with <b> and \\ in it");
    mot_experiment_close(x);
    return s;
}

static struct mot_moment moment(uint64_t updates)
{
    return (struct mot_moment){ .now = updates * 1000000,
        .updates = updates,
        .samples = 32 * updates,
        .score = { .train_loss = 1.0 / (double)(updates + 1),
            .train_accuracy = NAN,
            .valid_loss = NAN,
            .valid_accuracy = NAN,
            .test_loss = NAN,
            .test_accuracy = 0.5,
            .grad_norm = NAN,
            .zeta2 = NAN,
            .sigma2 = NAN },
        .mixed = MOT_MIXED_UNKNOWN,
        .staleness_mean = NAN,
        .staleness_max = NAN,
        .active_jobs = NAN };
}

TEST(what_was_told_last_is_shown)
{
    struct mot_serve *s = open_run(NULL, NULL);
    char *before = get(port_of(s), "/state");
    struct mot_moment m = moment(1234);
    mot_serve_evaluated(s, &m);
    mot_serve_worked(s, 1, 2500000000u);
    m = moment(1300);
    mot_serve_tick(s, &m);
    char *metrics = get(port_of(s), "/metrics"), *page = get(port_of(s), "/"),
         *state = get(port_of(s), "/state");
    mot_serve_ended(s, MOT_OK, "runs/first");
    char *end = get(port_of(s), "/state");
    CHECK_HAS(before, "\"running\"");
    CHECK_HAS(metrics, "\nmotley_updates_total 1300\n");
    CHECK_HAS(metrics, "\nmotley_test_accuracy 0.5\n");
    CHECK_HAS(metrics, "\nmotley_worker_busy_seconds_total{worker=\"1\"} 2.5\n");
    CHECK(!strstr(metrics, "motley_gradient_norm")); /* nobody has measured it */
    CHECK_HAS(state, "1,300 updates");
    CHECK_HAS(page, "\"u\":[1234]");
    CHECK_HAS(page, "a &quot;title&quot; with &lt;b&gt;");
    CHECK_HAS(end, "The run has ended: 1,300 updates, 1.30 s on its clock. What it left is in runs/first.");
    mot_serve_close(s);
    free(before), free(metrics), free(page), free(state), free(end);
}

TEST(answers_say_what_they_are_and_who_may_keep_or_frame_them)
{
    static const char *const is[][2] = { { "/", "text/html; charset=utf-8" },
        { "/metrics", "text/plain; version=0.0.4; charset=utf-8" }, { "/state", "application/json" },
        { "/nothing", "text/plain; charset=utf-8" } };
    static const char *const head[] = { "Cache-Control: no-store", "X-Content-Type-Options: nosniff",
        "Referrer-Policy: no-referrer", "Cross-Origin-Resource-Policy: same-origin",
        "Content-Security-Policy: frame-ancestors 'none'" };
    struct mot_serve *s = open_run(NULL, NULL);
    for (size_t i = 0; i < MOT_COUNT(is); i++) {
        char *answer = get(port_of(s), is[i][0]), *type = mot_format("Content-Type: %s\r\n", is[i][1]);
        CHECK_HAS(answer, i < 3 ? "HTTP/1.1 200 " : "HTTP/1.1 404 ");
        CHECK_HAS(answer, type);
        for (size_t k = 0; k < MOT_COUNT(head); k++) CHECK_HAS(answer, head[k]);
        free(answer), free(type);
    }
    mot_serve_close(s);
}

TEST(a_command_that_failed_before_it_began_claims_no_results)
{
    struct mot_serve *s = open_run(NULL, NULL);
    mot_serve_ended(s, mot_fail(MOT_EUSAGE, "there is a run in this folder"), "runs/first");
    char *end = get(port_of(s), "/state");
    CHECK_HAS(end, "\"The run has failed: there is a run in this folder.\"");
    mot_serve_close(s);
    free(end);
}

static const char study[] = "model: softmax\ncompare: [allreduce, async]\nseeds: 2\n";

static bool says(const struct mot_serve *s, const char *path, const char *words)
{
    char *text = get(port_of(s), path);
    bool said = strstr(text, words) != NULL;
    if (!said) printf("  %s\n", text);
    free(text);
    return said;
}

TEST(a_study_is_told_run_by_run)
{
    struct mot_study_setting more[] = { { "optimizer.lr", "0.5", "" }, { "batch", "8", "" } };
    struct mot_case c[] = { { .arm = 0, .seed = 1, .key = "a", .more = more, .mores = 2 },
        { .arm = 1, .seed = 1, .key = "b" }, { .arm = 0, .seed = 2, .key = "c" },
        { .arm = 1, .seed = 2, .key = "c" } };
    struct mot_study_plan *plan;
    struct mot_serve *s;
    CHECK_INT(
        mot_study_plan_parse("d/e.yaml", study, strlen(study), &(struct mot_plan_flags){ 0 }, &plan), 0);
    CHECK_INT(mot_serve_open("127.0.0.1:0", false, "motley compare", &s), MOT_OK);
    struct mot_runner r = { .plan = plan, .doing = "tuning" };
    const struct mot_study_listener *l = mot_serve_study(s);
    l->begins(l->self, &r, c, 1);
    CHECK(says(s, "/state", "The study goes on, tuning: 0 of 1 run has ended."));
    CHECK(says(s, "/metrics", "motley_study_runs{step=\"tuning\",state=\"not_ended\"} 1\n"));
    CHECK(says(s, "/metrics", "title=\"e.yaml\""));
    r.doing = "comparing";      /* another step begins anew */
    c[0].failed = "crashed: a"; /* known before */
    l->begins(l->self, &r, c, 4);
    CHECK(says(s, "/state", "The study goes on, comparing: 1 of 4 runs have ended, 1 of them failed."));
    c[1].failed = "crashed: b";
    l->ended(l->self, &r, &c[1]);
    l->ended(l->self, &r, &c[1]); /* counts once */
    CHECK(says(s, "/state", "comparing: 2 of 4 runs have ended, 2 of them failed."));
    l->begins(l->self, &r, c, 4); /* it goes on with what it has */
    CHECK(says(s, "/state", "comparing: 2 of 4 runs"));
    c[2].failed = "crashed: c"; /* two arms that are the same share a run */
    l->ended(l->self, &r, &c[2]);
    CHECK(says(s, "/state", "comparing: 4 of 4 runs"));
    mot_serve_ended(s, MOT_OK, "out");
    char *page = get(port_of(s), "/");
    CHECK_HAS(page, "The study has ended. What it left is in out.");
    CHECK(!strstr(page, "ended so far:")); /* all have ended */
    CHECK_HAS(page, "crashed: a");
    CHECK_HAS(page, "softmax"); /* what all have in common */
    mot_serve_close(s);
    mot_study_plan_close(plan);
    free(page);
}

TEST(labels_are_escaped)
{
    struct mot_serve *s =
        open_run("cluster", "{workers: [{name: \"a\\\"b\\\\c\\nd\", count: 2, speed: 10 samples/s}]}");
    struct mot_moment m = moment(1);
    mot_serve_worked(s, 0, 1000000000);
    mot_serve_tick(s, &m);
    char *metrics = get(port_of(s), "/metrics");
    CHECK_HAS(metrics, "title=\"a \\\"title\\\" with <b> and \\\\ in it\"");
    CHECK_HAS(metrics, "{worker=\"0\",group=\"a\\\"b\\\\c\\nd\"} 1\n");
    mot_serve_close(s);
    free(metrics);
}

TEST(a_long_run_keeps_points_from_its_start_to_its_last)
{
    struct mot_serve *s = open_run(NULL, NULL);
    for (uint64_t i = 0; i < 5000; i++) {
        struct mot_moment m = moment(i);
        mot_serve_evaluated(s, &m);
    }
    char *page = get(port_of(s), "/"), *metrics = get(port_of(s), "/metrics");
    const char *updates = page ? strstr(page, "\"u\":[") : NULL;
    CHECK(updates);
    size_t n = 1, last = 0;
    for (const char *p = updates + 5; *p != ']'; p++) {
        if (*p == ',') n++, last = strtoul(p + 1, NULL, 10);
    }
    CHECK_INT(strtoul(updates + 5, NULL, 10), 0);
    CHECK_INT(last, 4999);
    CHECK(n >= 200 && n <= 513);
    CHECK_HAS(metrics, "\nmotley_evaluations_total 5000\n");
    mot_serve_close(s);
    free(page), free(metrics);
}

static atomic_bool enough;

static void *visit(void *port)
{
    static const char *const paths[] = { "/", "/state", "/metrics", "/healthz", "/nothing" };
    size_t seen = 0;
    while (!enough) {
        char *text = get(*(unsigned *)port, paths[seen++ % 5]);
        if (!text || strncmp(text, "HTTP/1.1 ", 9) != 0) abort();
        free(text);
    }
    return NULL;
}

TEST(visitors_and_those_who_tell_do_not_meet)
{
    struct mot_serve *s = open_run(NULL, NULL);
    unsigned port = port_of(s);
    pthread_t visitor[3];
    enough = false;
    for (size_t i = 0; i < 3; i++) pthread_create(&visitor[i], NULL, visit, &port);
    double until = mot_wall_s() + 1;
    uint64_t told = 0;
    for (; mot_wall_s() < until; told++) {
        struct mot_moment m = moment(told);
        mot_serve_worked(s, 0, told * 1000);
        if (told % 100 == 0) mot_serve_evaluated(s, &m);
        else mot_serve_tick(s, &m);
    }
    enough = true;
    for (size_t i = 0; i < 3; i++) pthread_join(visitor[i], NULL);
    mot_serve_ended(s, MOT_OK, NULL);
    mot_serve_close(s);
    CHECK(told > 1000);
}

TEST(a_port_in_use_is_said)
{
    struct mot_serve *s = open_run(NULL, NULL), *second;
    char *where = mot_format("127.0.0.1:%u", port_of(s));
    CHECK_INT(mot_serve_open(where, false, "", &second), MOT_ESYSTEM);
    CHECK_HAS(mot_error(), "in use");
    mot_serve_close(s);
    free(where);
}

/* As a study's workers are forked while visitors are there. */
TEST(a_forked_process_keeps_neither_the_port_nor_a_visitor)
{
    struct mot_serve *s = open_run(NULL, NULL), *again;
    unsigned port = port_of(s);
    for (int i = 0; i < 40; i++) free(get(port, "/healthz")); /* more than are kept count of at once */
    int visitor = call(port), pair[2], begun[2], input = fcntl(STDIN_FILENO, F_GETFD);
    char byte = 0;
    CHECK(visitor >= 0 && pipe(pair) == 0 && pipe(begun) == 0);
    free(get(port, "/healthz")); /* the visitor before was accepted, too */
    pid_t child = fork();
    if (child == 0) {
        close(pair[1]);
        if (fcntl(STDIN_FILENO, F_GETFD) != input) _exit(2); /* what is not a visitor's stays open */
        _exit(write(begun[1], &byte, 1) != 1 || read(pair[0], &byte, 1) != 0);
    }
    close(pair[0]);
    CHECK_INT(read(begun[0], &byte, 1), 1); /* until then it has what it was born with */
    mot_serve_close(s);
    CHECK_INT(read(visitor, &byte, 1), 0); /* it hears of the end at once */
    char *where = mot_format("127.0.0.1:%u", port);
    CHECK_INT(mot_serve_open(where, false, "", &again), MOT_OK);
    mot_serve_close(again);
    int how;
    close(pair[1]);
    CHECK(waitpid(child, &how, 0) == child && how == 0);
    close(visitor), close(begun[0]), close(begun[1]);
    free(where);
}

/* A lock that the server's thread held when a worker was forked would never be released in the worker.
 * glibc lets go of its allocator's in time, but AddressSanitizer does not, and libraries have locks of their
 * own. */
TEST(a_process_forked_while_the_server_answers_gets_memory)
{
    struct mot_serve *s = open_run(NULL, NULL);
    unsigned port = port_of(s);
    pid_t visitor = fork(); /* not a thread, which would have locks, too */
    if (visitor == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) free(get(port, "/"));
    }
    for (int i = 0; i < 40; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            for (size_t size = 16; size < (1 << 20); size *= 2) {
                char *volatile some = malloc(size);
                free(some);
            }
            _exit(0);
        }
        int how;
        CHECK(child > 0 && waitpid(child, &how, 0) == child);
        CHECK_INT(how, 0);
        usleep(1000);
    }
    kill(visitor, SIGKILL);
    waitpid(visitor, NULL, 0);
    mot_serve_close(s);
}

TEST_MAIN()
