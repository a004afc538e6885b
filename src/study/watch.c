#include "study/watch.h"
#include "base/memory.h"
#include "base/shown.h"
#include "base/stopwatch.h"
#include "base/words.h"
#include "study/grid.h"
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define REDRAW_S 0.1
#define LINE_S 5.0       /* between plain lines */
#define FIRST_LINE_S 2.0 /* a study shorter than this prints none */

struct mot_watcher {
    const struct mot_runner *r;
    unsigned slots;
    size_t runs, done;
    const struct mot_case **now; /* [slots] what runs there, or NULL */
    double began, last;          /* wall seconds */
    bool drawn, partitions;
};

struct mot_watcher *mot_watcher_open(const struct mot_runner *r, unsigned slots, size_t runs, bool partitions)
{
    struct mot_watcher *w = mot_new(1, sizeof(*w));
    *w = (struct mot_watcher){ .r = r,
        .partitions = partitions,
        .slots = slots,
        .runs = runs,
        .now = mot_new(slots, sizeof(*w->now)),
        .began = mot_wall_s() };
    w->last = w->began + (r->terminal ? -REDRAW_S : FIRST_LINE_S - LINE_S);
    return w;
}

void mot_watcher_began(struct mot_watcher *w, const struct mot_case *c, unsigned slot) { w->now[slot] = c; }

void mot_watcher_ended(struct mot_watcher *w, unsigned slot)
{
    w->now[slot] = NULL;
    w->done++;
}

/* "async under cluster.slow=5, seed 3" */
static size_t describe(const struct mot_watcher *w, const struct mot_case *c, char *into, size_t size)
{
    const char *condition = w->r->plan->condition[c->condition].name;
    int n =
        snprintf(into, size, "%s%s%s", w->r->plan->arm[c->arm].name, *condition ? " under " : "", condition);
    for (size_t i = 0; i < c->mores && n > 0 && (size_t)n < size; i++)
        n += snprintf(into + n, size - (size_t)n, " %s=%s", c->more[i].key, c->more[i].value);
    if (n > 0 && (size_t)n < size)
        n += snprintf(into + n, size - (size_t)n, " seed %llu", (unsigned long long)c->seed);
    return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

static void compose(const struct mot_watcher *w, double now, char *into, size_t size)
{
    char left[48];
    double passed = now - w->began;
    size_t n = 0;
    if (w->r->terminal) {
        int filled = (int)(10 * w->done / (w->runs ? w->runs : 1));
        n += (size_t)snprintf(into, size, "[%.*s%.*s] ", filled, "##########", 10 - filled, "..........");
    }
    n += (size_t)snprintf(into + n, size - n, "%s: %zu of %zu %s", w->r->doing, w->done, w->runs,
        w->partitions ? "partitions" : "runs");
    if (w->done && passed > 0.5) {
        double seconds = passed * (double)(w->runs - w->done) / (double)w->done;
        n += (size_t)snprintf(
            into + n, size - n, ", %s left", mot_show_time((uint64_t)(seconds * 1e9), left, sizeof(left)));
    }
    const char *before = "; now ";
    for (unsigned i = 0; i < w->slots && i < 4 && n + 80 < size; i++) {
        if (!w->now[i]) continue;
        n += (size_t)snprintf(into + n, size - n, "%s", before);
        n += describe(w, w->now[i], into + n, size - n);
        before = ", ";
    }
}

static size_t width(FILE *err)
{
    struct winsize size;
    int file = fileno(err);
    if (file >= 0 && ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) return size.ws_col;
    return 80;
}

void mot_watcher_tick(struct mot_watcher *w)
{
    double now = mot_wall_s();
    FILE *err = w->r->progress;
    if (!err || w->done == w->runs || now - w->last < (w->r->terminal ? REDRAW_S : LINE_S)) return;
    char said[1024], line[1024];
    compose(w, now, said, sizeof(said));
    size_t n = strlen(mot_show_text(said, line, sizeof(line))); /* arms are named by a file */
    w->last = now;
    if (w->r->terminal) {
        /* The last column stays free: a full line would wrap, and could not be cleared. */
        size_t most = width(err) - 1;
        if (n > most) line[mot_text_cut(line, most)] = 0;
        fprintf(err, "\r%s\x1b[K", line);
        w->drawn = true;
    } else {
        fprintf(err, "%s\n", line);
    }
    fflush(err);
}

void mot_watcher_close(struct mot_watcher *w)
{
    if (w->drawn) {
        fputs("\r\x1b[K", w->r->progress);
        fflush(w->r->progress);
    }
    free(w->now);
    free(w);
}
