/* progress.c -- how far a run is: one line redrawn on a terminal, a line now and then elsewhere.
 *
 * The line goes to standard error and is cleared at the end, so that neither the
 * result nor an error message is drawn over it. */
#include "report/report.h"

#include "base/memory.h"
#include "base/stopwatch.h"
#include "base/words.h"
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define REDRAW_S 0.1
#define LINE_S 5.0       /* between plain lines */
#define FIRST_LINE_S 2.0 /* a run shorter than this prints none */

struct mot_progress {
    const struct mot_experiment *e;
    FILE *err;
    bool terminal, drawn;
    double began, last;       /* wall seconds */
    struct mot_moment scored; /* the last evaluation */
    bool has_score;
};

struct mot_progress *mot_progress_open(const struct mot_experiment *e, FILE *err, bool terminal)
{
    struct mot_progress *p = mot_new(1, sizeof *p);
    p->e = e;
    p->err = err;
    p->terminal = terminal;
    p->began = mot_wall_s();
    p->last = p->began + (terminal ? -REDRAW_S : FIRST_LINE_S - LINE_S);
    return p;
}

/* How much of the run is done, by whichever stop is nearest; NaN where none is a count. */
static double done(const struct mot_experiment *e, const struct mot_moment *m)
{
    double most = NAN, share;
    if (e->stop.updates != MOT_WORD_UINT && e->stop.updates > 0) {
        share = (double)m->updates / (double)e->stop.updates;
        if (!(most >= share)) most = share;
    }
    if (e->stop.epochs > 0) {
        share = m->epochs / e->stop.epochs;
        if (!(most >= share)) most = share;
    }
    if (e->stop.time != MOT_NEVER && e->stop.time > 0) {
        share = (double)m->now / (double)e->stop.time;
        if (!(most >= share)) most = share;
    }
    return most < 1 || isnan(most) ? most : 1;
}

struct line {
    char text[512];
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *l, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(l->text + l->used, sizeof l->text - l->used, format, list);
    va_end(list);
    if (n > 0) l->used = l->used + (size_t)n < sizeof l->text ? l->used + (size_t)n : sizeof l->text - 1;
}

static void compose(const struct mot_progress *p, const struct mot_moment *m, double now, struct line *l)
{
    char time[48];
    double share = done(p->e, m), passed = now - p->began;
    if (isfinite(share)) {
        if (p->terminal) {
            static const char full[] = "##########", none[] = "..........";
            int filled = (int)(10 * share);
            add(l, "[%.*s%.*s] ", filled, full, 10 - filled, none);
        }
        add(l, "%3.0f %%  ", floor(100 * share));
    }
    add(l, "%" PRIu64 " updates", m->updates);
    if (passed > 0.05) add(l, " (%.3g/s)", (double)m->updates / passed);
    if (share > 0.01 && share < 1 && passed > 0.5) {
        double left = passed * (1 - share) / share;
        if (left < 1e9) add(l, "  %s left", mot_show_time((uint64_t)(left * 1e9), time, sizeof time));
    }
    if (m->slowest_factor > 1.2) add(l, "  slowest %.0f (%.1fx)", m->slowest, m->slowest_factor);
    if (p->has_score) {
        const struct mot_score *s = &p->scored.score;
        if (isfinite(s->train_loss)) add(l, "  loss %.4g", s->train_loss);
        else if (isfinite(s->test_loss)) add(l, "  loss %.4g", s->test_loss);
        if (isfinite(s->test_accuracy)) add(l, "  %.1f %% right", 100 * s->test_accuracy);
    }
    add(l, "  clock %s", mot_show_time(m->now, time, sizeof time));
}

static size_t width(FILE *err)
{
    struct winsize size;
    int file = fileno(err);
    if (file >= 0 && ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) return size.ws_col;
    return 80;
}

static void draw(struct mot_progress *p, const struct mot_moment *m, double now)
{
    struct line line = { .used = 0 };
    compose(p, m, now, &line);
    if (p->terminal) {
        /* The last column stays free: a full line would wrap, and could not be cleared. */
        size_t most = width(p->err) - 1;
        if (line.used > most) line.text[most] = '\0';
        fprintf(p->err, "\r%s\x1b[K", line.text);
        p->drawn = true;
    } else {
        fprintf(p->err, "%s\n", line.text);
    }
    fflush(p->err);
    p->last = now;
}

void mot_progress_tick(struct mot_progress *p, const struct mot_moment *m)
{
    if (!p) return;
    double now = mot_wall_s();
    if (now - p->last >= (p->terminal ? REDRAW_S : LINE_S)) draw(p, m, now);
}

void mot_progress_evaluated(struct mot_progress *p, const struct mot_moment *m)
{
    if (!p) return;
    p->scored = *m;
    p->has_score = true;
    mot_progress_tick(p, m);
}

void mot_progress_close(struct mot_progress *p)
{
    if (!p) return;
    if (p->drawn) {
        fputs("\r\x1b[K", p->err);
        fflush(p->err);
    }
    free(p);
}
