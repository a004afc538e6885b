/* study.h -- many runs of one experiment, and what they show together.
 *
 * A study has *arms*, which are compared (usually methods), *conditions*, under which they are compared
 * (every combination of the other swept keys), and *seeds*, which pair the runs. Its document is JSON, from
 * which all outputs are made: the table on the terminal, study.json, report.html, CSV files. docs/study.md
 * names every key. Nothing in it depends on the wall clock, the number of cores or the order in which runs
 * ended: the same study gives the same bytes. */
#ifndef MOT_STUDY_STUDY_H
#define MOT_STUDY_STUDY_H

#include "study/figures.h"
#include <jansson.h>
#include <motley/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an arm or a condition sets: "method" = "{name: server, k: 6}", and where that was written
 * ("exp.yaml:7:5"). */
struct mot_study_setting {
    const char *key, *value, *origin;
};
struct mot_study_side {
    const char *name;
    const struct mot_study_setting *setting;
    size_t settings;
};

/* One run: a folder with experiment.yaml, metrics.jsonl and summary.json, or why there is none. */
struct mot_study_run {
    uint32_t arm, condition;
    uint64_t seed;
    const char *folder; /* NULL: it failed before it could leave one */
    /* "crashed: signal 11 (Segmentation fault)"; NULL: the summary says how it ended */
    const char *failed;
    const struct mot_goal *goal; /* the target to judge it by; NULL: its own */
};

/* By condition, arm and seed: for qsort(). */
int mot_study_run_order(const void *run, const void *other);

struct mot_study {
    const char *title;      /* "demo.yaml" */
    const char *command;    /* repeats the study */
    const char *experiment; /* what all runs share, as YAML */
    const struct mot_study_side *arm, *condition;
    size_t arms, conditions; /* conditions: at least one, nameless if nothing is swept */
    const struct mot_study_run *run;
    size_t runs;
    json_t *tuning; /* what was tuned before, or NULL; not owned */
    /* the runs were for tuning: shown, but not compared */
    bool unjudged;
};

/* Reads the summaries and computes the figures: medians, bootstrap intervals, comparisons paired by seed. */
enum mot_status mot_study_document(const struct mot_study *, json_t **out);

#endif
