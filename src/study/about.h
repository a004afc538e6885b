/* about.h -- what a study ran, in words: its data, model and cluster, and which settings are not the
 * defaults. */
#ifndef MOT_STUDY_ABOUT_H
#define MOT_STUDY_ABOUT_H

#include <jansson.h>

/* From the experiment that all runs share, as YAML, and the document's arms and conditions, which may set
 * some of it: {head: "Fashion-MNIST · MLP 128-64 · 8 workers (6 fast, 2 slow)", data, model, cluster:
 * texts or null, settings: [[KEY, VALUE], ...]}. What arms or conditions set is left out. */
json_t *mot_about_json(const char *experiment, const json_t *document);

/* The same without the settings, which take opening two experiments to compare with. */
json_t *mot_about_words(const char *experiment, const json_t *document);

#endif
