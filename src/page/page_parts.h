/* page_parts.h -- what the parts of a page share: escaped text, JSON, the pieces of the template. */
#ifndef MOT_PAGE_PAGE_PARTS_H
#define MOT_PAGE_PAGE_PARTS_H

#include "report/json.h"
#include "study/document.h"
#include <motley/status.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The files of src/page/template, embedded by the build. Each ends with a zero byte. */
extern const char mot_page_html[], mot_page_css[], mot_page_study[], mot_page_study_js[],
    mot_page_partition[], mot_page_partition_js[], mot_page_live[], mot_page_live_js[];

/* A kind of page: page.html with its own body, and what fills the blanks of both. */
struct mot_page_blank {
    const char *name; /* {{name}} */
    void (*write)(const json_t *document, FILE *);
};
struct mot_page {
    const char *body, *script;
    const struct mot_page_blank *blank; /* ended by a NULL name */
    /* What the scripts draw: JSON without any `<`. */
    enum mot_status (*data)(const json_t *document, FILE *);
    /* What else its policy allows, and what its last line says; NULL: a file that makes no requests. */
    const char *policy, *foot;
};
/* The document has a title and the command that repeats it. */
enum mot_status mot_page_print(const struct mot_page *, const json_t *document, FILE *);

/* ---- Writing ------------------------------------------------------------------------------------------ */
/* as HTML, for an element or an attribute */
void mot_page_text(const char *text, FILE *);
/* what was run, or the title where that is not known */
void mot_page_head(const json_t *document, FILE *);
/* data, model, cluster, and the settings that are not the defaults */
void mot_page_ran(const json_t *document, FILE *);
/* the answer, a sentence for each condition */
void mot_page_headline(const json_t *document, FILE *);
/* of a plan: the command that it recommends, and what would change that; else nothing */
void mot_page_plan(const json_t *document, FILE *);
void mot_page_facts(const json_t *document, FILE *);
void mot_page_about(const json_t *document, FILE *); /* how to read the tables */
void mot_page_tables(const json_t *document, FILE *);
void mot_page_failures(const json_t *document, FILE *);
void mot_page_settings(const json_t *document, FILE *);
enum mot_status mot_page_data(const json_t *document, FILE *);
/* Only the part that the curves are drawn from. */
enum mot_status mot_page_curves(const json_t *document, FILE *);
/* One run in detail, as an entry of the data's `details`; returns its bytes, 0 if nothing can be shown. */
size_t mot_page_detail(const char *folder, size_t run, const char *lead, FILE *);
/* The code of a run, if it has one, as a further member: ,"code":{...} */
void mot_page_code(const json_t *summary, FILE *);
json_t *mot_page_load(const char *folder, const char *name); /* a file of a run; NULL: none */
void mot_page_json_text(const char *text, FILE *);
void mot_page_json_number(double value, FILE *);
void mot_page_json(const json_t *, FILE *); /* any value; NULL is null */

#endif
