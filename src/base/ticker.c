#include "base/ticker.h"
#include "base/shown.h"
#include "base/stopwatch.h"
#include <string.h>
#include <sys/ioctl.h>

#define REDRAW_S 0.1
#define LINE_S 5.0 /* between plain lines */
#define FIRST_LINE_S 2.0
#define CLEAR_TO_END "\x1b[K"

void mot_ticker_open(struct mot_ticker *t, FILE *out, bool terminal)
{
    *t = (struct mot_ticker){ .out = out, .terminal = terminal, .began = mot_wall_s() };
    t->last = t->began + (terminal ? -REDRAW_S : FIRST_LINE_S - LINE_S);
}

bool mot_ticker_due(const struct mot_ticker *t)
{
    return mot_wall_s() - t->last >= (t->terminal ? REDRAW_S : LINE_S);
}

static size_t width(FILE *out)
{
    struct winsize size;
    int file = fileno(out);
    if (file >= 0 && ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) return size.ws_col;
    return 80;
}

void mot_ticker_show(struct mot_ticker *t, char *line)
{
    if (t->terminal) {
        /* The last column stays free: a full line would wrap and could not be cleared. */
        line[mot_text_cut(line, width(t->out) - 1)] = 0;
        fprintf(t->out, "\r%s" CLEAR_TO_END, line);
        t->drawn = true;
    } else {
        fprintf(t->out, "%s\n", line);
    }
    fflush(t->out);
    t->last = mot_wall_s();
}

void mot_ticker_clear(struct mot_ticker *t)
{
    if (!t->drawn) return;
    fputs("\r" CLEAR_TO_END, t->out);
    fflush(t->out);
    t->drawn = false;
}
