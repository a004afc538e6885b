/* pages.h -- for tests: small real runs, documents of studies, and whole files as text. */
#ifndef MOT_TEST_PAGE_PAGES_H
#define MOT_TEST_PAGE_PAGES_H

#include "base/file.h"
#include "base/memory.h"
#include "study/answer.h"
#include "page/page.h"
#include "test.h"
#include <ftw.h>
#include <jansson.h>
#include <motley/motley.h>
#include <unistd.h>

static char pages_folder[64];
static inline int pages_remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info, (void)kind, (void)walk;
    return remove(path);
}
static inline void pages_remove(void) { (void)nftw(pages_folder, pages_remove_one, 8, FTW_DEPTH | FTW_PHYS); }

/* A path in a folder of the test's own, which goes when the test ends. malloc'd. */
static inline char *place(const char *name)
{
    if (!pages_folder[0]) {
        snprintf(pages_folder, sizeof pages_folder, "/tmp/motley-test-XXXXXX");
        if (!mkdtemp(pages_folder)) abort();
        atexit(pages_remove);
    }
    return mot_path_join(pages_folder, name);
}

/* Simulates into that folder; the settings are ended by NULL. */
static inline void simulate(const char *folder, const char *const *more)
{
    const char *set[32] = { "data=digits", "model=softmax", "workers=4", "stop.updates=12",
        "evaluate.every=4 updates", "sim.threads=1" };
    size_t n = 6;
    char *output = mot_format("output=%s", folder);
    for (; *more; more++) set[n++] = *more;
    set[n++] = output;
    struct mot_run_options o = { .size = sizeof o, .set = set, .sets = n };
    struct mot_run *run;
    if (mot_run_open(&o, &run) != MOT_OK) {
        printf("  %s\n", mot_error());
        abort();
    }
    (void)mot_run_simulate(run);
    mot_run_close(run);
    free(output);
}
#define SIMULATE(folder, ...) simulate((folder), (const char *const[]){ __VA_ARGS__, NULL })

static inline char *whole_file(const char *path)
{
    unsigned char *bytes;
    size_t n;
    if (mot_file_read(path, 1 << 28, &bytes, &n) != MOT_OK) {
        printf("  %s\n", mot_error());
        abort();
    }
    char *text = mot_new(n + 1, 1);
    memcpy(text, bytes, n);
    free(bytes);
    return text;
}

static inline size_t times_in(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part)) n++;
    return n;
}

/* ---- Documents by hand ------------------------------------------------------------------------ */

static inline json_t *number(double value) { return isnan(value) ? json_null() : json_real(value); }

static inline json_t *interval(double median, double low, double high, int n)
{
    return json_pack("{s:o, s:o, s:o, s:i, s:n}", "median", number(median), "low", number(low), "high",
        number(high), "n", n, "beyond");
}

/* Arms of these names under one condition; figures are added by tests. */
static inline json_t *document_of(const char *const *names, size_t arms)
{
    json_t *d =
        json_pack("{s:s, s:s, s:s, s:s, s:{s:s, s:f}, s:[], s:[{s:s, s:{}}], s:[i, i], s:[], s:[], s:[]}",
            "motley", "0.1.0", "title", "x.yaml", "command", "motley compare x.yaml", "experiment",
            "seed: 1\n", "target", "kind", "test_accuracy", "value", 0.9, "arms", "conditions", "name", "",
            "settings", "seeds", 1, 2, "runs", "cells", "tuning");
    for (size_t a = 0; a < arms; a++) {
        json_array_append_new(json_object_get(d, "arms"),
            json_pack("{s:s, s:{s:s}}", "name", names[a], "settings", "method", names[a]));
        json_array_append_new(json_object_get(d, "cells"),
            json_pack("{s:i, s:i, s:i, s:i, s:i, s:{}, s:{}, s:n}", "arm", (int)a, "condition", 0, "runs", 2,
                "reached", 2, "failed", 0, "figures", "against", "worst_worker"));
    }
    return d;
}
static inline json_t *cell_at(json_t *d, size_t arm)
{
    return json_array_get(json_object_get(d, "cells"), arm);
}
static inline void set_figure(
    json_t *d, size_t arm, const char *figure, double median, double low, double high)
{
    json_object_set_new(json_object_get(cell_at(d, arm), "figures"), figure, interval(median, low, high, 10));
}
static inline void set_against(
    json_t *d, size_t arm, const char *figure, double ratio, double low, double high, const char *verdict)
{
    json_object_set_new(json_object_get(cell_at(d, arm), "against"), figure,
        json_pack("{s:f, s:f, s:f, s:i, s:s, s:n}", "ratio", ratio, "low", low, "high", high, "n", 10,
            "verdict", verdict, "reason"));
}
static inline void add_run(
    json_t *d, int arm, int seed, const char *folder, const char *status, const char *failed, double time)
{
    json_t *run = json_pack("{s:i, s:i, s:i, s:s?, s:s, s:s?, s:s?, s:b, s:{}}", "arm", arm, "condition", 0,
        "seed", seed, "folder", folder, "status", status, "ended_by", "updates", "failed", failed, "reached",
        !isnan(time), "figures");
    json_object_set_new(
        json_object_get(run, "figures"), "time_to_target", isnan(time) ? json_null() : json_real(time));
    json_array_append_new(json_object_get(d, "runs"), run);
}

/* The page as text. malloc'd. */
static inline char *page_of(json_t *d)
{
    char *path = place("page.html");
    mot_study_judge(d);
    if (mot_page_write(d, path) != MOT_OK) printf("  %s\n", mot_error());
    char *text = whole_file(path);
    free(path);
    return text;
}

/* A page is too long to be printed when a claim about it fails. */
#define CHECK_PAGE(page, part) CHECK(strstr((page), (part)) != NULL)

#endif
