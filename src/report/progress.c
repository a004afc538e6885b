/* progress.c -- a run's progress: one line redrawn on a terminal, a line now and then elsewhere.
 *
 * The line goes to standard error and is cleared at the end, so that neither the result nor an error
 * message is drawn over it. */
#include "report/report.h"

#include "base/memory.h"
#include "base/stopwatch.h"
#include "base/ticker.h"
#include "base/words.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct mot_progress {
    const struct mot_experiment *e;
    struct mot_ticker ticker;
    struct mot_moment scored; /* the last evaluation */
    bool has_score;
};

struct mot_progress *mot_progress_open(const struct mot_experiment *e, FILE *err, bool terminal)
{
    struct mot_progress *p = mot_new(1, sizeof *p);
    p->e = e;
    mot_ticker_open(&p->ticker, err, terminal);
    return p;
}

double mot_progress_share(const struct mot_experiment *e, const struct mot_moment *m)
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
    char time[48], count[32];
    double share = mot_progress_share(p->e, m), passed = now - p->ticker.began;
    if (isfinite(share)) {
        if (p->ticker.terminal) {
            static const char full[] = "##########", none[] = "..........";
            int filled = (int)(10 * share);
            add(l, "[%.*s%.*s] ", filled, full, 10 - filled, none);
        }
        add(l, "%3.0f %%  ", floor(100 * share));
    }
    add(l, "%s updates", mot_show_count((double)m->updates, count, sizeof count));
    if (passed > 0.05) {
        double rate = (double)m->updates / passed;
        if (rate < 100) add(l, " (%.3g/s)", rate);
        else add(l, " (%s/s)", mot_show_count(rate, count, sizeof count));
    }
    if (share > 0.01 && share < 1 && passed > 0.5) {
        double left = passed * (1 - share) / share;
        if (left < 1e9) add(l, "  %s left", mot_show_time((uint64_t)(left * 1e9), time, sizeof time));
    }
    if (m->slowest_factor > 1.2) add(l, "  slowest %.0f (%.1fx)", m->slowest, m->slowest_factor);
    if (m->stalled) add(l, "  %s", m->stalled);
    if (p->has_score) {
        const struct mot_score *s = &p->scored.score;
        if (isfinite(s->train_loss)) add(l, "  loss %.4g", s->train_loss);
        else if (isfinite(s->test_loss)) add(l, "  loss %.4g", s->test_loss);
        if (isfinite(s->test_accuracy)) add(l, "  %.1f %% right", 100 * s->test_accuracy);
    }
    add(l, "  clock %s", mot_show_time(m->now, time, sizeof time));
}

void mot_progress_tick(struct mot_progress *p, const struct mot_moment *m)
{
    if (!p) return;
    if (!mot_ticker_due(&p->ticker)) return;
    struct line line = { .used = 0 };
    compose(p, m, mot_wall_s(), &line);
    mot_ticker_show(&p->ticker, line.text);
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
    mot_ticker_clear(&p->ticker);
    free(p);
}
