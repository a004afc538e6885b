/* help_page.h -- a page of help, rendered as plain text or as roff for man. */
#ifndef MOT_CLI_HELP_PAGE_H
#define MOT_CLI_HELP_PAGE_H

#include <stdbool.h>
#include <stdio.h>

struct page {
    FILE *out;
    bool roff, fresh;
}; /* fresh: nothing since the last heading */

/* A man page's head: name, section and summary; in plain text only the summary line. */
void page_title(struct page *, const char *name, const char *section, const char *summary);
void page_heading(struct page *, const char *heading);
/* Each line is a paragraph, and is wrapped. */
void page_text(struct page *, const char *paragraphs);
/* A term with its explanation beside or below it; `more` (may be NULL) is a second paragraph. */
void page_item(struct page *, const char *term, const char *text, const char *more);
/* Lines as they are, such as a command and its output. */
void page_lines(struct page *, const char *lines);

#endif
