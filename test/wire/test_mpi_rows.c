/* Rows that move between processes: each can see only the rows that it holds, and the model is the
 * simulator's.
 *
 * The program starts itself as ranks, with mpirun. */
#include "method/methods.h"
#include "run/carousel.h"
#include "run/run.h"
#include "wire/blank.h"
#include "wire/ranks.h"
#include "wire/transport.h"
#include <inttypes.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define AS_RANK "MOTLEY_TEST_AS_RANK"

/* Parts of some 800 kB: several chunks each. */
static void set_up(struct run *r)
{
    static const struct mot_method *const more[] = { &carousel, NULL };
    mot_methods_extend(more);
    RUN_SET(r, "data", "{name: synthetic, size: 24000, cols: 60}", "model", "softmax", "optimizer.lr", "0.1",
        "method", "carousel", "evaluate.train", "end", "workers", "3", "batch", "16", "stop.updates", "12");
}

static int rank_main(const char *checksum)
{
    struct mot_transport *transport;
    struct mot_ranks *ranks;
    struct run r = { .ways = { .driver = &mot_driver_mpi, .own_rows = true } };
    set_up(&r);
    run_set(&r, "mpi.checksum", checksum);
    enum mot_status status = mot_mpi_open(&transport);
    if (status == MOT_OK) status = mot_ranks_open(transport, &ranks);
    if (status != MOT_OK) return status;
    uint32_t rank = mot_ranks_rank(ranks);
    if (mot_experiment_open(NULL, r.setting, r.settings, &r.experiment) != MOT_OK ||
        mot_job_open(r.experiment, &r.job) != MOT_OK)
        abort();
    r.ways.ranks = ranks;
    if (rank != 0 && blank_foreign(&r.job, rank) < 24000 * 8 / 10 / 2) abort();
    status = mot_job_run(&r.job, &r.ways, &r.out);
    if (status == MOT_OK) status = r.out.status;
    if (rank == 0) /* one line, which the test reads */
        printf("%s %" PRIu64 " %016" PRIx64 " %" PRIu64 "\n", mot_status_name(status), r.out.last.updates,
            r.out.model_hash, r.out.last.rows_bytes);
    fflush(stdout);
    mot_ranks_leave(ranks, status);
    run_free(&r);
    return status;
}

/* False: there is no mpirun. */
static bool over_mpi(const char *checksum, char *line, size_t size)
{
    char self[512], command[900];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    snprintf(command, sizeof command,
        AS_RANK
        "=%s ASAN_OPTIONS=detect_leaks=0:handle_sigill=1 timeout 120 mpirun -q --oversubscribe %s -n 3 '%s'",
        checksum, getuid() == 0 ? "--allow-run-as-root" : "", self);
    FILE *ranks = popen(command, "r");
    *line = 0;
    if (!ranks || !fgets(line, (int)size, ranks)) *line = 0;
    int status = ranks ? pclose(ranks) : -1;
    if (status != 0) snprintf(line, size, "mpirun ended with %d", WEXITSTATUS(status));
    return !WIFEXITED(status) || WEXITSTATUS(status) != 127;
}

TEST(rows_go_round_over_mpi_to_the_simulated_bits)
{
    char text[300], line[200], expected[200];
    if (mot_mpi_library(text, sizeof text) != MOT_OK || !strstr(text, "Open MPI"))
        SKIP("this motley is built without Open MPI");
#ifdef __SANITIZE_THREAD__
    SKIP("MPI libraries are no subject of ThreadSanitizer's");
#endif
    struct run r = { 0 };
    set_up(&r);
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.out.last.updates, 12);
    snprintf(expected, sizeof expected, "ok 12 %016" PRIx64 " %" PRIu64 "\n", r.out.model_hash,
        12 * 4 * (uint64_t)r.job.data->train.rows * (1 + r.job.data->train.cols));
    run_free(&r);
    static const char *const checksums[] = { "control", "all" };
    for (int i = 0; i < 2; i++) {
        if (!over_mpi(checksums[i], line, sizeof line)) SKIP("mpirun is not installed: tools/setup build");
        CHECK_TEXT(line, expected);
    }
}

int main(int count, char **arguments)
{
    const char *checksum = getenv(AS_RANK);
    return checksum ? rank_main(checksum) : test_main(count, arguments);
}
