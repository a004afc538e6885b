#include "serve.h"
#include "base/memory.h"
#include "base/stopwatch.h"
#include "base/words.h"
#include "interrupt.h"
#include "study.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NAP_NS 50000000

/* A process has one view, which may show a plan and then the run that follows from it. */
static struct mot_serve *view;
static char *results;

static enum mot_status check_flags(const struct cli_args *args, bool ranks, uint64_t *after_ns)
{
    const char *after = cli_value(args, "serve-after");
    *after_ns = 0;
    if (!cli_given(args, "serve") && (after || cli_given(args, "serve-anyone")))
        return mot_fail(
            MOT_EUSAGE, "--%s: expected --serve ADDRESS, too", after ? "serve-after" : "serve-anyone");
    if (after && !mot_read_time(after, after_ns))
        return mot_fail(MOT_EUSAGE, "--serve-after: expected a time such as 10min; found '%.60s'", after);
    if (after && ranks)
        return mot_fail(
            MOT_EUSAGE, "--serve-after: over MPI the view ends with the run, since all ranks would wait");
    return MOT_OK;
}

enum mot_status cli_serve_open(const struct cli_args *args, bool ranks, struct mot_serve **out)
{
    uint64_t after_ns;
    enum mot_status status = check_flags(args, ranks, &after_ns);
    if (status == MOT_OK && !view && cli_given(args, "serve")) {
        char *command = cli_study_command(args);
        status = mot_serve_open(cli_value(args, "serve"), cli_given(args, "serve-anyone"), command, &view);
        if (status == MOT_OK) fprintf(stderr, "live view: %s\n", mot_serve_url(view));
        free(command);
    }
    if (status == MOT_OK) *out = view;
    return status;
}

void cli_serve_results(const char *folder)
{
    free(results);
    results = folder ? mot_text(folder) : NULL;
}

static void stay(uint64_t ns)
{
    const volatile sig_atomic_t *interrupt = cli_catch_interrupts();
    uint64_t until = mot_wall_ns() + ns;
    char text[32];
    fflush(stdout);
    fprintf(stderr, "live view: stays at %s for %s; Ctrl-C ends it\n", mot_serve_url(view),
        mot_show_time(ns, text, sizeof text));
    while (!*interrupt && mot_wall_ns() < until) nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
}

enum mot_status cli_serve_end(const struct cli_args *args, enum mot_status status)
{
    uint64_t after_ns;
    if (!view) return status;
    mot_serve_ended(view, status, results);
    if (status == MOT_OK && check_flags(args, false, &after_ns) == MOT_OK && after_ns) stay(after_ns);
    mot_serve_close(view);
    view = NULL;
    cli_serve_results(NULL);
    return status;
}
