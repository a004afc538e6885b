/* page.h -- what a study's document becomes for those who look and those who plot. */
#ifndef MOT_STUDY_PAGE_H
#define MOT_STUDY_PAGE_H

#include <jansson.h>
#include <motley/status.h>
#include <stdio.h>

/* One self-contained HTML file. Curves, timelines, parts and staleness are read from the folders that the
 * document names; a run whose folder lacks one of them is shown without it. */
enum mot_status mot_page_write(const json_t *document, const char *path);

/* The same for a partition: partition.html, of what is in partition.json and the command that made it. */
enum mot_status mot_partition_page(const json_t *partition, const char *command, FILE *out);

/* PREFIX-runs.csv, a row a run, and PREFIX-curves.csv, a row an evaluation. */
enum mot_status mot_csv_write(const json_t *document, const char *prefix);

#endif
