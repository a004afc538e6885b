/* page_parts.h -- what the parts of the page share: figures, escaped text, the pieces of the template. */
#ifndef MOT_STUDY_PAGE_PARTS_H
#define MOT_STUDY_PAGE_PARTS_H

#include <jansson.h>
#include <motley/method.h>
#include <motley/status.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The files of src/study/page, as the build embeds them. Each ends with a zero. */
extern const char mot_page_html[], mot_page_css[], mot_page_study[], mot_page_study_js[],
    mot_page_partition[], mot_page_partition_js[];

/* A kind of page: page.html with a body of its own, and what fills the blanks of both. */
struct mot_page_blank {
    const char *name; /* {{name}} */
    void (*write)(const json_t *document, FILE *);
};
struct mot_page {
    const char *body, *script;
    const struct mot_page_blank *blank; /* ended by a NULL name */
    /* What the scripts draw: JSON in which no `<` stands. */
    enum mot_status (*data)(const json_t *document, FILE *);
};
/* The document has a title and the command that repeats it. */
enum mot_status mot_page_print(const struct mot_page *, const json_t *document, FILE *);

/* ---- Reading the document: what is missing is NULL, NaN, "" or 0 ------------------------------------ */
const json_t *mot_page_list(const json_t *object, const char *key); /* an empty list where there is none */
const char *mot_page_word(const json_t *object, const char *key);
double mot_page_number(const json_t *object, const char *key);
size_t mot_page_place(const json_t *object, const char *key); /* a whole number from 0 */
const char *mot_page_name(const json_t *document, const char *list, size_t i);
const json_t *mot_page_cell(const json_t *document, size_t arm, size_t condition);
const json_t *mot_page_figure(const json_t *cell, const char *figure);  /* an INTERVAL, or NULL */
const json_t *mot_page_against(const json_t *cell, const char *figure); /* a COMPARISON, or NULL */

/* ---- Figures ------------------------------------------------------------------------------------------ */
enum mot_page_unit {
    MOT_PAGE_SECONDS,
    MOT_PAGE_BYTES,
    MOT_PAGE_SHARE,
    MOT_PAGE_COUNT,
    MOT_PAGE_RATIO,
    MOT_PAGE_PLAIN
};
/* more: larger is better */
struct mot_page_kind {
    const char *figure, *title;
    enum mot_page_unit unit;
    bool more;
};
const struct mot_page_kind *mot_page_kind(const char *figure); /* NULL: not known */
char *mot_page_show(double value, enum mot_page_unit, char *into, size_t size);
/* By which arms are judged, as the document says. NULL: none. */
const struct mot_page_kind *mot_page_judge(const json_t *document);

/* ---- Writing ------------------------------------------------------------------------------------------ */
/* as HTML, in element or attribute */
void mot_page_text(const char *text, FILE *);
/* the answer, a sentence for each condition */
void mot_page_headline(const json_t *document, FILE *);
void mot_page_facts(const json_t *document, FILE *);
void mot_page_about(const json_t *document, FILE *); /* how to read the tables */
void mot_page_tables(const json_t *document, FILE *);
void mot_page_failures(const json_t *document, FILE *);
void mot_page_settings(const json_t *document, FILE *);
enum mot_status mot_page_data(const json_t *document, FILE *);
/* One run in detail, as a member of that; false: there is nothing to show. */
size_t mot_page_detail(const char *folder, size_t run, const char *lead, FILE *);
void mot_page_json_text(const char *text, FILE *);
void mot_page_json_number(double value, FILE *);
void mot_page_json(const json_t *, FILE *); /* any value; NULL is null */

#endif
