#include "roll.h"
#include "base/memory.h"
#include "base/stopwatch.h"
#include "wire/line.h"
#include "wire/neighbour.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROLL_FILE "MOTLEY_RANK_ROLL"
/* After this long without news, MPI will not start. Many ranks may have to take turns on few cores. */
#define START_S(ranks) (60 + 0.5 * (ranks))

enum { ABSENT = -1, GONE = -2, UNWATCHED = -3 }; /* instead of a descriptor */

/* ---- A rank ------------------------------------------------------------------------------------- */

const char *cli_rank_by_launcher(void)
{
    static const char *const name[] = { "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID" };
    for (size_t i = 0; i < MOT_COUNT(name); i++)
        if (getenv(name[i])) return getenv(name[i]);
    return NULL;
}

bool cli_roll_say(enum cli_roll_word word, int status)
{
    const char *path = getenv(ROLL_FILE), *rank = cli_rank_by_launcher();
    if (!path || !rank) return true;
    char line[64];
    int n = snprintf(
        line, sizeof(line), "%.20s %c %d\n", rank, word, word == CLI_ROLL_HERE ? (int)getpid() : status);
    int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC); /* a short line is appended whole */
    bool said = file >= 0 && write(file, line, (size_t)n) == n;
    if (file >= 0) close(file);
    return said;
}

/* ---- The process that starts them ------------------------------------------------------------------- */

enum mot_status cli_roll_open(struct cli_roll *r, uint32_t ranks)
{
    static const char name[] = "/motley-ranks-XXXXXX";
    const char *folder = getenv("TMPDIR");
    *r = (struct cli_roll){ .ranks = ranks, .heard_s = mot_wall_s(), .status = -1 };
    if (!folder || !*folder || strlen(folder) + sizeof(name) > sizeof(r->path)) folder = "/tmp";
    snprintf(r->path, sizeof(r->path), "%s%s", folder, name);
    r->file = mkstemp(r->path);
    if (r->file < 0) return mot_fail(MOT_ESYSTEM, "%s: %s", r->path, strerror(errno));
    r->process = mot_new(ranks, sizeof(*r->process));
    for (uint32_t i = 0; i < ranks; i++) r->process[i] = ABSENT;
    setenv(ROLL_FILE, r->path, 1);
    return MOT_OK;
}

static void watch(struct cli_roll *r, uint32_t rank, int pid)
{
    if (r->process[rank] != ABSENT) return;
    struct mot_neighbour_id id = { .machine = mot_neighbour_self().machine, .pid = pid };
    int process = mot_neighbour_open(&id);
    if (process < 0) process = kill(pid, 0) != 0 && errno == ESRCH ? GONE : UNWATCHED;
    r->process[rank] = process;
    r->here++;
}

static void take_line(struct cli_roll *r, const char *line)
{
    char *at;
    unsigned long rank = strtoul(line, &at, 10);
    if (at == line || at[0] != ' ' || at[1] == '\0' || at[2] != ' ' || rank >= r->ranks) return;
    char word = at[1];
    int number = (int)strtol(at + 3, NULL, 10);
    r->heard_s = mot_wall_s();
    if (word == CLI_ROLL_HERE) watch(r, (uint32_t)rank, number);
    else if (word == CLI_ROLL_JOINED) r->joined++;
    else if (word == CLI_ROLL_ENDED && rank == 0) r->status = number;
}

void cli_roll_read(struct cli_roll *r)
{
    char text[4096];
    ssize_t n;
    while ((n = pread(r->file, text, sizeof(text) - 1, r->read)) > 0) {
        text[n] = '\0';
        char *line = text, *end;
        for (; (end = strchr(line, '\n')); line = end + 1) take_line(r, line);
        if (line == text) return; /* a line that is being written */
        r->read += line - text;
    }
}

static enum mot_status lost(uint32_t rank, const char *how)
{
    return mot_fail(MOT_EPEER, "rank %u was lost before the run began: %s", rank, how);
}

enum mot_status cli_roll_check(struct cli_roll *r)
{
    if (r->joined == r->ranks) return MOT_OK;
    double quiet = mot_wall_s() - r->heard_s;
    for (uint32_t i = 0; i < r->ranks; i++) {
        if (r->process[i] != GONE && !mot_neighbour_gone(r->process[i])) continue;
        cli_roll_read(r); /* it may have said why */
        return r->status >= 0 ? MOT_OK : lost(i, "it died");
    }
    for (uint32_t i = 0; i < r->ranks && r->here && quiet > MOT_SILENCE_MAX_NS * 1e-9; i++)
        if (r->process[i] == ABSENT) return lost(i, "it did not start");
    if (r->here < r->ranks || quiet <= START_S(r->ranks)) return MOT_OK;
    return mot_fail(MOT_EPEER, "MPI did not start within %.0f s: only %u of %u ranks are up",
        START_S(r->ranks), r->joined, r->ranks);
}

void cli_roll_watch(const struct cli_roll *r, int also, int ms)
{
    struct pollfd *p = mot_new(r->ranks + 1, sizeof(*p));
    for (uint32_t i = 0; i < r->ranks; i++) p[i] = (struct pollfd){ .fd = r->process[i], .events = POLLIN };
    p[r->ranks] = (struct pollfd){ .fd = also, .events = POLLIN };
    poll(p, r->ranks + 1, ms);
    free(p);
}

void cli_roll_end_ranks(const struct cli_roll *r)
{
    unlink(r->path);
    for (uint32_t i = 0; i < r->ranks; i++) mot_neighbour_end(r->process[i]);
}

void cli_roll_close(struct cli_roll *r)
{
    unlink(r->path);
    close(r->file);
    for (uint32_t i = 0; i < r->ranks; i++) mot_neighbour_close(r->process[i]);
    free(r->process);
}
