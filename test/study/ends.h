/* ends.h -- for tests: runs of a study by how they ended, as the folders they would have left. */
#ifndef MOT_TEST_STUDY_ENDS_H
#define MOT_TEST_STUDY_ENDS_H

#include "study/study.h"
#include "page/pages.h"

#define SEEDS 6
static struct mot_study_run run[8 * SEEDS];
static size_t runs;

struct end {
    double accuracy, loss, time; /* accuracy NaN: there is no test part */
    int learned;                 /* -1: it cannot be said */
    const char *status;          /* NULL: ok */
    double target;               /* when it reached 0.8; NaN: not; 0: there is none */
    double chance;               /* 0: not known */
    const char *remedy;
    int looks;    /* evaluations on the way; 0: no metrics.jsonl */
    bool odd;     /* only odd seeds reach the target */
    bool crashed; /* there is no folder */
};

/* Evaluations at equal distances, the accuracy rising to what it ends with. */
static inline void write_looks(const char *folder, const struct end *e, double accuracy, double until)
{
    char *path = mot_path_join(folder, "metrics.jsonl"), *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    for (int i = 0; i <= e->looks; i++)
        fprintf(out, "{\"time_s\": %.9g, \"updates\": %d, \"test_accuracy\": %.6f, \"bytes_sent\": %d}\n",
            until * i / e->looks, 10 * i, accuracy * i / e->looks, 100 * i);
    fclose(out);
    if (mot_file_replace(path, text, n) != MOT_OK) abort();
    free(text);
    free(path);
}

static inline void add(uint32_t arm, uint64_t seed, const struct end *e)
{
    if (e->crashed) {
        run[runs++] = (struct mot_study_run){
            .arm = arm, .seed = seed, .failed = "crashed: signal 11 (Segmentation fault)"
        };
        return;
    }
    char *name = mot_format("run-%zu", runs), *folder = place(name),
         *path = mot_path_join(folder, "summary.json");
    char accuracy[40] = "null", loss[40] = "null", reached[120] = "null", more[600] = "";
    double noise = 1 + 0.001 * (double)((seed * 7) % 5);
    bool misses = isnan(e->target) || (e->odd && seed % 2 == 0);
    if (!isnan(e->accuracy)) snprintf(accuracy, sizeof accuracy, "%.6f", e->accuracy * noise);
    if (!isnan(e->loss)) snprintf(loss, sizeof loss, "%.6f", e->loss * noise);
    if (e->target != 0)
        snprintf(reached, sizeof reached,
            misses ? "{\"kind\": \"test_accuracy\", \"value\": 0.8, \"reached\": false}"
                   : "{\"kind\": \"test_accuracy\", \"value\": 0.8, \"reached\": true, \"time_s\": %g, "
                     "\"updates\": 9}",
            e->target);
    if (e->chance > 0) snprintf(more, sizeof more, "\"chance_accuracy\": %g, ", e->chance);
    if (e->remedy)
        snprintf(more + strlen(more), sizeof more - strlen(more), "\"remedy\": \"%s\", ", e->remedy);
    char *text =
        mot_format("{\"status\": \"%s\", \"ended_by\": \"epochs\", \"updates\": 50, \"time_s\": %g, "
                   "\"bytes_sent\": 1000, \"train_loss\": %s, \"test_accuracy\": %s, \"learned\": %s, "
                   "%s\"target\": %s, \"worker\": []}",
            e->status ? e->status : "ok", e->time, loss, accuracy,
            e->learned < 0   ? "null"
                : e->learned ? "true"
                             : "false",
            more, reached);
    mot_make_folder(folder);
    if (mot_file_replace(path, text, strlen(text)) != MOT_OK) abort();
    char *metrics = mot_path_join(folder, "metrics.jsonl");
    (void)remove(metrics); /* of another test's run */
    free(metrics);
    if (e->looks) write_looks(folder, e, e->accuracy * noise, e->target > 0 && !misses ? e->target : e->time);
    run[runs++] =
        (struct mot_study_run){ .arm = arm, .seed = seed, .folder = folder }; /* kept until the end */
    free(text);
    free(path);
    free(name);
}

/* A line of the text without its marks and breaks: words with one space between. */
static inline char *plain(const char *text)
{
    char *out = mot_new(strlen(text) + 1, 1);
    size_t n = 0;
    bool mark = false;
    for (; *text; text++) {
        if (*text == '<') mark = true;
        else if (*text == '>' && mark) mark = false;
        else if (!mark && !(strchr(" \n", *text) && n && out[n - 1] == ' '))
            out[n++] = *text == '\n' ? ' ' : *text;
    }
    return out;
}

#endif
