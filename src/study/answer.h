/* answer.h -- a study's verdict, made once for the terminal, the page and the document. */
#ifndef MOT_STUDY_ANSWER_H
#define MOT_STUDY_ANSWER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Adds to a document with cells: `judged_by`, each cell's `verdict`, and `answers`, a sentence or two for
 * each condition (see docs/study.md). */
void mot_study_judge(json_t *document);

/* The answer under a condition as plain text; "" if there is none. malloc'd. */
char *mot_answer_text(const json_t *document, size_t condition);

/* The target of a condition's runs: {kind, value}, or null if they have none or several. */
const json_t *mot_study_target(const json_t *document, size_t condition);
/* Whether every condition has one: then the time to it judges, even if the targets differ. */
bool mot_study_has_targets(const json_t *document);

/* "92 % test accuracy", "a training loss of 0.1". Returns `into`. */
char *mot_answer_target(const json_t *target, char *into, size_t size);

/* Why one arm is at the target sooner than another: how many updates it took and how long each was, and how
 * much the workers computed. NULL: nothing is known. malloc'd. */
struct mot_way {
    double time, updates, busy; /* to the target; the share of time that workers computed; NaN: not known */
};
char *mot_why(struct mot_way, struct mot_way other, const char *other_name);

#endif
