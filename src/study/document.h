/* document.h -- reading a study's document: docs/study.md names its keys. What is missing is NULL or "". */
#ifndef MOT_STUDY_DOCUMENT_H
#define MOT_STUDY_DOCUMENT_H

#include "study/figures.h"
#include "study/stats.h"

/* An INTERVAL; `beyond` is a lower bound for a median that was not reached, or NaN. */
json_t *mot_interval_json(const struct mot_interval *, double beyond);

/* The name of an arm or a condition: `list` is "arms" or "conditions". */
const char *mot_document_name(const json_t *document, const char *list, size_t i);
const json_t *mot_document_cell(const json_t *document, size_t arm, size_t condition);
/* The figure that judges the arms; NULL: none does. */
const struct mot_figure_kind *mot_document_judge(const json_t *document);

/* Whether an arm's median of that figure is better than another's, under a condition; one without is
 * worse. */
bool mot_document_better(
    const json_t *document, const struct mot_figure_kind *, size_t condition, size_t arm, size_t than);

const json_t *mot_cell_figure(const json_t *cell, const char *figure);  /* an INTERVAL, or NULL */
const json_t *mot_cell_against(const json_t *cell, const char *figure); /* a COMPARISON, or NULL */

#endif
