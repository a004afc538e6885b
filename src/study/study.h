/* study.h -- many runs of one experiment, and what they say together.
 *
 * A study has *arms*, which are compared (usually methods), *conditions*, under which they are
 * compared (every combination of the other keys that are swept), and *seeds*, by which runs are paired. Its
 * document is JSON that all outputs are made of: the table on the terminal, study.json, report.html, CSV
 * files. docs/study.md names every key. Nothing in it depends on the wall clock, the number of cores or the
 * order in which runs ended: the same study gives the same bytes. */
#ifndef MOT_STUDY_STUDY_H
#define MOT_STUDY_STUDY_H

#include <jansson.h>
#include <motley/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What an arm or a condition sets: "method" = "{name: server, k: 6}", and who says so ("exp.yaml:7:5"). */
struct mot_study_setting {
    const char *key, *value, *origin;
};
struct mot_study_side {
    const char *name;
    const struct mot_study_setting *setting;
    size_t settings;
};

/* One run: a folder with experiment.yaml, metrics.jsonl and summary.json; or why there is none. */
struct mot_study_run {
    uint32_t arm, condition;
    uint64_t seed;
    const char *folder; /* NULL: it failed before it could leave one */
    /* "crashed: signal 11 (Segmentation fault)"; NULL: the summary says how it ended */
    const char *failed;
};

struct mot_study {
    const char *title;      /* "demo.yaml" */
    const char *command;    /* that repeats it */
    const char *experiment; /* what all runs share, as YAML */
    const struct mot_study_side *arm, *condition;
    size_t arms, conditions; /* conditions: at least one; a nameless one where nothing is swept */
    const struct mot_study_run *run;
    size_t runs;
    json_t *tuning; /* what was tuned before, or NULL; not owned */
    /* these runs were tuned on: they are shown, but compared with nothing */
    bool unjudged;
};

/* Reads the summaries and computes the figures: medians, bootstrap intervals, comparisons paired by seed. */
enum mot_status mot_study_document(const struct mot_study *, json_t **out);

/* The tables, as a person reads them. */
void mot_study_print(const json_t *document, FILE *out, bool colour);

#endif
