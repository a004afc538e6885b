/* page.h -- what is shown of a study's document: the table, the page, files to plot from. */
#ifndef MOT_PAGE_PAGE_H
#define MOT_PAGE_PAGE_H

#include <jansson.h>
#include <motley/status.h>
#include <stdbool.h>
#include <stdio.h>

/* Writes table.txt and report.html into the study's folder, and CSV files if `csv` names their prefix. */
enum mot_status mot_study_show(const json_t *document, const char *folder, const char *csv);

/* The tables and the answer as text, in lines of at most `columns`; with `colour`, for a terminal. */
#define MOT_TABLE_COLUMNS 80
void mot_study_table(const json_t *document, FILE *out, size_t columns, bool colour);

/* One self-contained HTML file. Curves, timelines, parts and staleness are read from the folders that the
 * document names; a run whose folder lacks one of them is shown without it. */
enum mot_status mot_page_write(const json_t *document, const char *path);

/* One picture as an SVG file: the arms' timelines one below another, the best first, and their curves. */
enum mot_status mot_picture_write(const json_t *document, const char *path);

/* The same for a partition: partition.html, from partition.json and the command that made it. */
enum mot_status mot_partition_page(const json_t *partition, const char *command, FILE *out);

/* PREFIX-runs.csv, one row per run, and PREFIX-curves.csv, one row per evaluation. */
enum mot_status mot_csv_write(const json_t *document, const char *prefix);

#endif
