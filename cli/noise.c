#include "noise.h"
#include "base/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool cli_noise_open(struct cli_noise *s, int *into)
{
    int ends[2];
    *s = (struct cli_noise){ .from = -1 };
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    s->from = ends[0];
    *into = ends[1];
    return true;
}

/* Open MPI's report of a crashed rank ("*** Process received signal") is not noise. */
static bool is_noise(const char *line)
{
    static const char *const part[] = { "] PMIX ERROR: ", "] Read -1, expected " };
    if (strncmp(line, "[warn] ", 7) == 0) return true; /* libevent */
    for (size_t i = 0; i < MOT_COUNT(part) && line[0] == '['; i++)
        if (strstr(line, part[i])) return true;
    return false;
}

/* The line is complete, or longer than any noise. */
static void put_line(struct cli_noise *s)
{
    s->line[s->n] = '\0';
    if (!s->mute && !is_noise(s->line)) {
        fwrite(s->line, 1, s->n, stderr);
    } else if (s->n < sizeof(s->keep) - s->kept) {
        memcpy(s->keep + s->kept, s->line, s->n);
        s->kept += s->n;
    }
    s->n = 0;
}

static void put(struct cli_noise *s, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        s->line[s->n++] = text[i];
        if (text[i] == '\n' || s->n == sizeof(s->line) - 1) put_line(s);
    }
    fflush(stderr);
}

void cli_noise_pass(struct cli_noise *s, int ms)
{
    char text[4096];
    ssize_t n = -1;
    struct pollfd p = { .fd = s->from, .events = POLLIN };
    poll(&p, 1, ms);
    while (s->from >= 0 && (n = read(s->from, text, sizeof(text))) > 0) put(s, text, (size_t)n);
    if (n != 0) return;
    close(s->from); /* the launcher has ended */
    s->from = -1;
}

void cli_noise_close(struct cli_noise *s, bool tell)
{
    cli_noise_pass(s, 0);
    if (s->n) put_line(s);
    if (tell) fwrite(s->keep, 1, s->kept, stderr);
    fflush(stderr);
    if (s->from >= 0) close(s->from);
}
