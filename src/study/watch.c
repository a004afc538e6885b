#include "study/watch.h"
#include "base/memory.h"
#include "base/shown.h"
#include "base/stopwatch.h"
#include "base/ticker.h"
#include "base/words.h"
#include <stdlib.h>
#include <string.h>

struct mot_watcher {
    const struct mot_runner *r;
    unsigned slots;
    size_t runs, done;
    const struct mot_case **now; /* [slots] what runs there, or NULL */
    struct mot_ticker ticker;
    bool partitions;
};

struct mot_watcher *mot_watcher_open(const struct mot_runner *r, unsigned slots, size_t runs, bool partitions)
{
    struct mot_watcher *w = mot_new(1, sizeof(*w));
    *w = (struct mot_watcher){
        .r = r, .partitions = partitions, .slots = slots, .runs = runs, .now = mot_new(slots, sizeof(*w->now))
    };
    mot_ticker_open(&w->ticker, r->progress, r->terminal);
    return w;
}

void mot_watcher_began(struct mot_watcher *w, const struct mot_case *c, unsigned slot) { w->now[slot] = c; }

void mot_watcher_ended(struct mot_watcher *w, unsigned slot)
{
    w->now[slot] = NULL;
    w->done++;
}

/* "async under cluster.slow=5 optimizer.lr=0.1 seed 3"; leaves out stop.*, since it is the same for all runs
 * of a race's stage. */
static size_t describe(const struct mot_watcher *w, const struct mot_case *c, char *into, size_t size)
{
    const char *condition = w->r->plan->condition[c->condition].name;
    int n =
        snprintf(into, size, "%s%s%s", w->r->plan->arm[c->arm].name, *condition ? " under " : "", condition);
    for (size_t i = 0; i < c->mores && n > 0 && (size_t)n < size; i++)
        if (strncmp(c->more[i].key, "stop.", 5) != 0)
            n += snprintf(into + n, size - (size_t)n, " %s=%s", c->more[i].key, c->more[i].value);
    if (n > 0 && (size_t)n < size)
        n += snprintf(into + n, size - (size_t)n, " seed %llu", (unsigned long long)c->seed);
    return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

static void compose(const struct mot_watcher *w, double now, char *into, size_t size)
{
    char left[48];
    double passed = now - w->ticker.began;
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

void mot_watcher_tick(struct mot_watcher *w)
{
    if (!w->r->progress || w->done == w->runs || !mot_ticker_due(&w->ticker)) return;
    char said[1024], line[1024];
    compose(w, mot_wall_s(), said, sizeof(said));
    mot_ticker_show(&w->ticker, mot_show_text(said, line, sizeof(line))); /* arms' names come from a file */
}

void mot_watcher_close(struct mot_watcher *w)
{
    mot_ticker_clear(&w->ticker);
    free(w->now);
    free(w);
}
