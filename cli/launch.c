/* launch.c -- commands over MPI: `motley train` and `motley profile`.
 *
 * Launchers have exit codes of their own, so the one who starts a launcher learns how the run
 * ended from rank 0 itself, through a file that the environment names. */
#include "launch.h"
#include "base/file.h"
#include "base/words.h"
#include "driver/ranks.h"
#include "driver/wire.h"
#include "run.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STATUS_FILE "MOTLEY_RANK_STATUS"
#define GRACE_MS 5000 /* between rank 0's last word and the launcher's end */

/* What launchers say of the size of a job, and of our place in it. */
static const char *const size_names[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE",
    "SLURM_STEP_NUM_TASKS" };
static const char *const rank_names[] = { "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID" };

static const char *first_of(const char *const *name, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (getenv(name[i])) return getenv(name[i]);
    return NULL;
}

bool cli_under_mpi(void)
{
    const char *ours = getenv("OMPI_COMM_WORLD_SIZE"), *step = first_of(size_names, MOT_COUNT(size_names));
    if (ours) return true;
    /* A batch script has Slurm's variables without being a task of srun's. */
    return step &&
        (getenv("PMI_RANK") || getenv("PMIX_RANK") || (getenv("SLURM_STEP_ID") && strcmp(step, "1") != 0));
}

/* ---- A rank ------------------------------------------------------------------------------------- */

/* "begun", then the status: an end without a status is a death. */
static void tell_launcher(const char *word)
{
    const char *path = getenv(STATUS_FILE);
    if (!path || mot_ranks_rank() != 0) return;
    FILE *out = fopen(path, "w");
    if (!out) return;
    fprintf(out, "%s\n", word);
    fclose(out);
}

enum mot_status cli_be_rank(const struct cli_args *args, cli_rank_run *run)
{
    if (!mot_ranks_built()) {
        const char *rank = first_of(rank_names, MOT_COUNT(rank_names));
        if (rank && strcmp(rank, "0") != 0) exit(MOT_EUSAGE); /* one complaint is enough */
        struct mot_wire none;
        return mot_wire_open(&none);
    }
    enum mot_status status = mot_ranks_open();
    if (status != MOT_OK && mot_ranks_count() == 0) return status;
    tell_launcher("begun");
    if (status == MOT_OK) status = run(args);
    if (mot_ranks_rank() == 0) {
        char code[16];
        if (status != MOT_OK) cli_complain(status);
        snprintf(code, sizeof(code), "%d", (int)status);
        fflush(NULL);
        tell_launcher(code);
    }
    mot_ranks_leave(status);
}

/* ---- The one who starts them ------------------------------------------------------------------------ */

static volatile sig_atomic_t wanted_end; /* how often */

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

/* The experiment is read here too: an error is said once, and before anything is started. */
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

static bool runs_open_mpi(void) { return strstr(mot_wire_library(), "Open MPI") != NULL; }

/* The launcher and its flags, ourselves, and our own words without --ranks. */
static const char **command_of(const struct cli_args *args, const char *ranks, const char *self)
{
    const char **word = mot_new(args->lines + 16, sizeof(*word));
    size_t n = 0;
    bool open_mpi = runs_open_mpi();
    word[n++] = open_mpi ? "mpirun.openmpi" : "mpirun.mpich";
    word[n++] = "-n";
    word[n++] = ranks;
    if (open_mpi) {
        word[n++] = "-q";
        word[n++] = "--enable-recovery"; /* else a death kills rank 0 before it can say so */
        word[n++] = "--bind-to";         /* a rank has more threads than one */
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

static void become(const char **word)
{
    setpgid(0, 0); /* Ctrl-C is for us; we tell rank 0 */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
    execvp(word[0], (char *const *)word);
    word[0] = "mpirun";
    execvp(word[0], (char *const *)word);
    fprintf(stderr, "motley: mpirun cannot be started: %s; is openmpi-bin installed?\n", strerror(errno));
    _exit(127);
}

/* What rank 0 said: a status, -1: it began, -2: nothing. */
static int last_word(const char *path)
{
    char text[32] = "";
    FILE *in = fopen(path, "r");
    if (!in) return -2;
    size_t n = fread(text, 1, sizeof(text) - 1, in);
    fclose(in);
    if (n == 0) return -2;
    return text[0] == 'b' ? -1 : (int)strtol(text, NULL, 10);
}

static void nap(void) { nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL); }

/* Passes signals on: the first as a wish, the second as an order. A
 * launcher that stays when rank 0 is done is ended. */
static int wait_for(pid_t launcher, const char *path)
{
    int code = 0, asked = 0;
    long since_ms = 0;
    while (waitpid(launcher, &code, WNOHANG) == 0) {
        if (wanted_end > asked) kill(launcher, ++asked == 1 ? SIGUSR1 : SIGTERM);
        if (last_word(path) >= 0) since_ms += 20;
        if (since_ms == GRACE_MS) kill(launcher, SIGTERM);
        if (since_ms == 2 * GRACE_MS) kill(launcher, SIGKILL);
        nap();
    }
    return WIFEXITED(code) ? WEXITSTATUS(code) : 128 + WTERMSIG(code);
}

enum mot_status cli_start_ranks(const struct cli_args *args, const char *ranks, cli_ranks_fit *fit)
{
    char *end;
    long n = strtol(ranks, &end, 10);
    if (*end || end == ranks || n < 1 || n > 100000)
        return mot_fail(MOT_EUSAGE, "--ranks: expected 1 to 100000; found '%.40s'", ranks);
    struct mot_wire none;
    if (!mot_ranks_built()) return mot_wire_open(&none);
    enum mot_status status = check_ranks(args, (uint32_t)n, fit);
    if (status != MOT_OK) return status;
    char self[PATH_MAX] = "", path[] = "/tmp/motley-rank-XXXXXX";
    if (readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0)
        return mot_fail(MOT_ESYSTEM, "/proc/self/exe: %s", strerror(errno));
    int fd = mkstemp(path);
    if (fd < 0) return mot_fail(MOT_ESYSTEM, "%s: %s", path, strerror(errno));
    close(fd);
    setenv(STATUS_FILE, path, 1);
    catch_signals();
    const char **word = command_of(args, ranks, self);
    fflush(NULL);
    pid_t launcher = fork();
    if (launcher == 0) become(word);
    int code = launcher > 0 ? wait_for(launcher, path) : 127, last = last_word(path);
    unlink(path);
    free(word);
    if (last == -2) return mot_fail(MOT_ESYSTEM, "mpirun ended with code %d before rank 0 began", code);
    if (last == -1) return mot_fail(MOT_EPEER, "rank 0 was lost");
    exit(last); /* it has said why itself */
}
