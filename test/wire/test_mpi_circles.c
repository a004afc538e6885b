/* Collectives of groups between processes: everyone gets the simulated bits.
 *
 * The program starts itself as ranks, with mpirun. */
#include "run/circles.h"
#include "method/methods.h"
#include "run/run.h"
#include "wire/ranks.h"
#include "wire/transport.h"
#include <inttypes.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define AS_RANK "MOTLEY_TEST_AS_RANK"

struct crew {
    const char *workers, *groups;
};
static const struct crew crews[] = { { "4", "2" }, { "6", "3" }, { "7", "1" }, { "8", "2" }, { "8", "8" } };

static void set_up(struct run *r, const struct crew *c)
{
    static const struct mot_method *const more[] = { &circles, NULL };
    mot_methods_extend(more);
    RUN_SET(r, "data", "digits", "model", "softmax", "method", "circles", "batch", "1", "evaluate.every",
        "1000 updates", "stop.updates", "15", "workers", c->workers, "method.groups", c->groups);
}

static int rank_main(const struct crew *c)
{
    struct mot_transport *transport;
    struct mot_ranks *ranks;
    struct run r = { .ways = { .driver = &mot_driver_mpi } };
    set_up(&r, c);
    enum mot_status status = mot_mpi_open(&transport);
    if (status == MOT_OK) status = mot_ranks_open(transport, &ranks);
    if (status != MOT_OK) return status;
    if (mot_experiment_open(NULL, r.setting, r.settings, &r.experiment) != MOT_OK ||
        mot_job_open(r.experiment, &r.job) != MOT_OK)
        abort();
    r.ways.ranks = ranks;
    status = mot_job_run(&r.job, &r.ways, &r.out);
    if (status == MOT_OK) status = r.out.status;
    if (atomic_load(&circles_wrong)) abort();
    if (mot_ranks_rank(ranks) == 0) /* one line, which the test reads */
        printf(
            "%s %" PRIu64 " %016" PRIx64 "\n", mot_status_name(status), r.out.last.updates, r.out.model_hash);
    fflush(stdout);
    mot_ranks_leave(ranks, status);
    run_free(&r);
    return status;
}

/* False: there is no mpirun. */
static bool over_mpi(size_t crew, char *line, size_t size)
{
    char self[512], command[900];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    snprintf(command, sizeof command,
        AS_RANK "=%zu ASAN_OPTIONS=detect_leaks=0:handle_sigill=1 timeout 120 mpirun -q --oversubscribe %s "
                "-n %s '%s'",
        crew, getuid() == 0 ? "--allow-run-as-root" : "", crews[crew].workers, self);
    FILE *ranks = popen(command, "r");
    *line = 0;
    if (!ranks || !fgets(line, (int)size, ranks)) *line = 0;
    int status = ranks ? pclose(ranks) : -1;
    if (status != 0) snprintf(line, size, "mpirun ended with %d", WEXITSTATUS(status));
    return !WIFEXITED(status) || WEXITSTATUS(status) != 127;
}

TEST(over_mpi_everyone_gets_the_simulated_bits)
{
    char text[300], line[200], expected[200];
    if (mot_mpi_library(text, sizeof text) != MOT_OK || !strstr(text, "Open MPI"))
        SKIP("this motley is built without Open MPI");
#ifdef __SANITIZE_THREAD__
    SKIP("MPI libraries are no subject of ThreadSanitizer's");
#endif
    for (size_t i = 0; i < MOT_COUNT(crews); i += 1 + 2 * SANITIZED) {
        struct run r = { 0 };
        set_up(&r, &crews[i]);
        run_go(&r);
        CHECK_INT(r.status, MOT_OK);
        CHECK_INT(atomic_load(&circles_wrong), 0);
        snprintf(expected, sizeof expected, "ok 15 %016" PRIx64 "\n", r.out.model_hash);
        run_free(&r);
        if (!over_mpi(i, line, sizeof line)) SKIP("mpirun is not installed: tools/setup build");
        CHECK_TEXT(line, expected);
    }
}

int main(int count, char **arguments)
{
    const char *crew = getenv(AS_RANK);
    return crew ? rank_main(&crews[strtoul(crew, NULL, 10)]) : test_main(count, arguments);
}
