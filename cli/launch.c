/* launch.c -- commands over MPI: `motley train` and `motley profile`.
 *
 * Launchers have exit codes of their own, so the process that starts one learns from the roll (roll.h) which
 * ranks are there and how the run ended. */
#include "launch.h"
#include "base/file.h"
#include "base/stopwatch.h"
#include "base/words.h"
#include "wire/ranks.h"
#include "interrupt.h"
#include "noise.h"
#include "roll.h"
#include "run.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REST_MS 20
#define LIBRARY_BYTES 128 /* for the name of the MPI library */
#define GRACE_S 5.0       /* between the run's end and the launcher's */

/* Where launchers put the number of ranks. */
static const char *const size_names[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE",
    "SLURM_STEP_NUM_TASKS" };
static const char *size_by_launcher(void)
{
    for (size_t i = 0; i < MOT_COUNT(size_names); i++)
        if (getenv(size_names[i])) return getenv(size_names[i]);
    return NULL;
}

bool cli_under_mpi(void)
{
    const char *ours = getenv("OMPI_COMM_WORLD_SIZE"), *step = size_by_launcher();
    if (ours) return true;
    /* A batch script has Slurm's variables too, though srun did not start it. */
    return step &&
        (getenv("PMI_RANK") || getenv("PMIX_RANK") || (getenv("SLURM_STEP_ID") && strcmp(step, "1") != 0));
}

/* ---- A rank ------------------------------------------------------------------------------------- */

enum mot_status cli_be_rank(const struct cli_args *args, cli_rank_run *run)
{
    char library[LIBRARY_BYTES];
    struct mot_transport *transport;
    struct mot_ranks *ranks;
    enum mot_status status = mot_mpi_library(library, sizeof library);
    if (status != MOT_OK) {
        const char *rank = cli_rank_by_launcher();
        if (rank && strcmp(rank, "0") != 0) exit(status); /* one message is enough */
        return status;
    }
    cli_catch_interrupts(); /* a request to stop may come as soon as the roll is full */
    if (!cli_roll_say(CLI_ROLL_HERE, 0)) exit(MOT_EPEER);
    status = mot_mpi_open(&transport);
    if (status != MOT_OK) {
        cli_roll_say(CLI_ROLL_ENDED, status);
        return status;
    }
    status = mot_ranks_open(transport, &ranks);
    cli_roll_say(CLI_ROLL_JOINED, 0);
    if (status == MOT_OK) status = run(args, ranks);
    if (mot_ranks_rank(ranks) == 0) {
        if (status != MOT_OK) cli_complain(status);
        fflush(NULL);
        cli_roll_say(CLI_ROLL_ENDED, status);
    }
    bool clean = mot_ranks_leave(ranks, status);
    fflush(NULL);
    if (clean) exit(status);
    _exit(status);
}

/* ---- The process that starts them ------------------------------------------------------------------- */

static volatile sig_atomic_t wanted_end; /* signals so far */

static void on_signal(int number)
{
    (void)number;
    wanted_end++;
}

static void catch_signals(void)
{
    struct sigaction action = { .sa_handler = on_signal };
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

/* The experiment is read here too, so that an error is reported once, before anything starts. */
static enum mot_status check_ranks(const struct cli_args *args, uint32_t ranks, cli_ranks_fit *fit)
{
    struct mot_experiment *x;
    char *path = cli_experiment_path(args);
    enum mot_status status = mot_experiment_open(path, args->setting, args->settings, &x);
    free(path);
    if (status != MOT_OK) return status;
    status = fit(x, ranks);
    mot_experiment_close(x);
    return status;
}

/* The launcher with its flags, then this program with its own words except --ranks. */
static const char **command_of(
    const struct cli_args *args, const char *ranks, const char *self, const char *library)
{
    const char **word = mot_new(args->lines + 16, sizeof(*word));
    size_t n = 0;
    bool open_mpi = strstr(library, "Open MPI") != NULL;
    word[n++] = open_mpi ? "mpirun.openmpi" : "mpirun.mpich";
    word[n++] = "-n";
    word[n++] = ranks;
    if (open_mpi) {
        word[n++] = "-q";
        word[n++] = "--enable-recovery"; /* else a rank's death kills rank 0 before it can report it */
        word[n++] = "--bind-to";         /* a rank has several threads */
        word[n++] = "none";
        word[n++] = "--oversubscribe";
        if (geteuid() == 0) word[n++] = "--allow-run-as-root";
    } else {
        word[n++] = "-disable-auto-cleanup";
    }
    word[n++] = self;
    for (size_t i = 0; i < args->lines; i++) {
        if (strcmp(args->line[i], "--ranks") == 0) i++;
        else if (strncmp(args->line[i], "--ranks=", 8) != 0) word[n++] = args->line[i];
    }
    return word;
}

static void become(const char **word, int says)
{
    setpgid(0, 0); /* Ctrl-C is for us; we tell rank 0 */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
    if (says >= 0) dup2(says, STDERR_FILENO);
    execvp(word[0], (char *const *)word);
    word[0] = "mpirun";
    execvp(word[0], (char *const *)word);
    fprintf(stderr, "motley: cannot start mpirun: %s; is openmpi-bin installed?\n", strerror(errno));
    _exit(127);
}

struct launcher {
    pid_t pid;
    bool ended;
    int code;
    struct cli_roll roll;
    struct cli_noise noise;
};

static bool has_ended(struct launcher *l)
{
    int how = 0;
    if (!l->ended && waitpid(l->pid, &how, WNOHANG) != 0) {
        l->ended = true;
        l->code = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
    }
    return l->ended;
}

/* Ends a launcher that lingers: SIGTERM first, then SIGKILL. */
static void end_launcher(struct launcher *l)
{
    double began = mot_wall_s();
    if (!l->ended) kill(l->pid, SIGTERM);
    while (!has_ended(l)) {
        if (mot_wall_s() - began > GRACE_S) kill(l->pid, SIGKILL);
        cli_noise_pass(&l->noise, REST_MS);
    }
}

/* While ranks are starting, none can report a loss or heed a request to stop, so either ends them all. */
static enum mot_status wait_for_start(struct launcher *l)
{
    struct cli_roll *roll = &l->roll;
    for (;;) {
        bool ended = has_ended(l);
        cli_roll_read(roll);
        if (roll->joined == roll->ranks || roll->status >= 0) return MOT_OK;
        if (wanted_end) return MOT_EINTERRUPTED; /* wait_for() says so, unless rank 0 does */
        if (ended)
            return mot_fail(MOT_ESYSTEM,
                "mpirun exited with code %d before the run began: %u of %u ranks had started", l->code,
                roll->here, roll->ranks);
        enum mot_status status = cli_roll_check(roll);
        if (status != MOT_OK) return status;
        cli_roll_watch(roll, l->noise.from, REST_MS);
        cli_noise_pass(&l->noise, 0);
    }
}

/* Passes signals on: the first as a request, the second as an order. Ends a launcher that lingers after
 * rank 0 is done. */
static enum mot_status wait_for_end(struct launcher *l)
{
    int asked = 0;
    double over_s = INFINITY;
    while (!has_ended(l)) {
        if (wanted_end > asked) kill(l->pid, ++asked == 1 ? SIGUSR1 : SIGTERM);
        cli_roll_read(&l->roll);
        if (l->roll.status >= 0 && isinf(over_s)) over_s = mot_wall_s();
        if (mot_wall_s() - over_s > GRACE_S) end_launcher(l);
        cli_noise_pass(&l->noise, REST_MS);
    }
    cli_roll_read(&l->roll);
    return l->roll.status >= 0 ? (enum mot_status)l->roll.status : mot_fail(MOT_EPEER, "rank 0 was lost");
}

static enum mot_status wait_for(struct launcher *l)
{
    enum mot_status status = wait_for_start(l);
    if (status == MOT_OK) return wait_for_end(l);
    l->noise.mute = status != MOT_ESYSTEM; /* we know why it ends; its own complaints would only confuse */
    end_launcher(l);
    cli_roll_end_ranks(&l->roll); /* those that outlived it */
    if (status != MOT_EINTERRUPTED) return status;
    cli_roll_read(&l->roll); /* the run may have begun just before */
    return l->roll.status >= 0 ? (enum mot_status)l->roll.status
                               : mot_fail(status, "interrupted before the run began");
}

static enum mot_status start(struct launcher *l, const char **word)
{
    int says = -1;
    bool piped = cli_noise_open(&l->noise, &says);
    fflush(NULL);
    l->pid = piped ? fork() : -1;
    if (l->pid == 0) become(word, says);
    if (l->pid < 0) return mot_fail(MOT_ESYSTEM, "cannot start a process: %s", strerror(errno));
    close(says);
    return MOT_OK;
}

enum mot_status cli_start_ranks(const struct cli_args *args, const char *ranks, cli_ranks_fit *fit)
{
    char *end, self[PATH_MAX] = "", library[LIBRARY_BYTES];
    struct launcher l = { 0 };
    long n = strtol(ranks, &end, 10);
    if (*end || end == ranks || n < 1 || n > 100000)
        return mot_fail(MOT_EUSAGE, "--ranks: expected 1 to 100000; found '%.40s'", ranks);
    enum mot_status status = mot_mpi_library(library, sizeof library);
    if (status != MOT_OK) return status;
    catch_signals();
    status = check_ranks(args, (uint32_t)n, fit);
    if (status != MOT_OK) return status;
    if (readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0)
        return mot_fail(MOT_ESYSTEM, "/proc/self/exe: %s", strerror(errno));
    status = cli_roll_open(&l.roll, (uint32_t)n);
    if (status != MOT_OK) return status;
    const char **word = command_of(args, ranks, self, library);
    status = start(&l, word);
    if (status == MOT_OK) status = wait_for(&l);
    bool told = l.roll.status >= 0; /* rank 0 has said why itself */
    cli_noise_close(&l.noise, status == MOT_ESYSTEM && !told);
    cli_roll_close(&l.roll);
    free(word);
    if (told) exit(l.roll.status);
    return status;
}
