/* page.c -- a page is one file made from the templates in src/page/template and a document; report.html is a
 * study's.
 *
 * Whatever comes from a study is escaped where it is written. The page's own policy (Content-Security-Policy)
 * allows only the one style and the one script that carry its nonce, and no requests at all. Without scripts
 * the answer, the tables and the settings are still there. */
#include "page/page.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/shown.h"
#include "config/version.h"
#include "page/page_parts.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static void put_escaped(const char *text, FILE *out)
{
    for (; *text; text++) {
        switch (*text) {
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '&': fputs("&amp;", out); break;
        case '"': fputs("&quot;", out); break;
        case '\'': fputs("&#39;", out); break;
        default: fputc(*text, out);
        }
    }
}

/* Control characters are not valid in HTML, except line ends. */
void mot_page_text(const char *text, FILE *out)
{
    for (;;) {
        size_t n = strcspn(text, "\n");
        char *line = mot_format("%.*s", (int)n, text), *shown = mot_shown(line);
        put_escaped(shown, out);
        free(shown);
        free(line);
        if (!text[n]) return;
        fputc('\n', out);
        text += n + 1;
    }
}

struct page {
    const struct mot_page *kind;
    const json_t *document;
    uint64_t number;
    FILE *out;
    enum mot_status status;
};

static void put_template(struct page *, const char *text);

static bool is(const char *name, const char *what, size_t n)
{
    return strlen(name) == n && memcmp(name, what, n) == 0;
}

/* A blank in the template: {{what}}. */
static void fill(struct page *p, const char *what, size_t n)
{
    const char *const words[] = { "title", "command", "experiment" };
    for (const struct mot_page_blank *b = p->kind->blank; b->name; b++)
        if (is(b->name, what, n)) {
            b->write(p->document, p->out);
            return;
        }
    for (size_t i = 0; i < MOT_COUNT(words); i++)
        if (is(words[i], what, n)) {
            mot_page_text(mot_json_get_text(p->document, words[i]), p->out);
            return;
        }
    if (is("subject", what, n)) {
        const char *subject = mot_json_get_text(json_object_get(p->document, "about"), "head");
        if (*subject) fputs(": ", p->out), mot_page_text(subject, p->out);
    } else if (is("body", what, n)) put_template(p, p->kind->body);
    else if (is("style", what, n)) fputs(mot_page_css, p->out);
    else if (is("script", what, n)) fputs(p->kind->script, p->out);
    else if (is("version", what, n)) fputs(MOT_VERSION, p->out);
    else if (is("nonce", what, n)) fprintf(p->out, "%016" PRIx64, p->number);
    else if (is("policy", what, n)) fputs(p->kind->policy ? p->kind->policy : "", p->out);
    else if (is("foot", what, n))
        fputs(p->kind->foot ? p->kind->foot : "This file is self-contained: it makes no network requests.",
            p->out);
    else if (is("data", what, n)) p->status = p->kind->data(p->document, p->out);
    else MOT_ASSERT(!"a blank that the template names and nobody fills");
}

static void put_template(struct page *p, const char *text)
{
    const char *blank;
    while (p->status == MOT_OK && (blank = strstr(text, "{{"))) {
        fwrite(text, 1, (size_t)(blank - text), p->out);
        const char *end = strstr(blank, "}}");
        MOT_ASSERT(end);
        fill(p, blank + 2, (size_t)(end - blank - 2));
        text = end + 2;
    }
    if (p->status == MOT_OK) fputs(text, p->out);
}

/* A nonce that nobody who chooses a name can predict, yet the same for the same study. */
static uint64_t number_of(const json_t *document)
{
    char *text = json_dumps(document, JSON_COMPACT | JSON_SORT_KEYS);
    if (!text) return 0;
    uint64_t number = XXH64(text, strlen(text), 0);
    free(text);
    return number;
}

enum mot_status mot_page_print(const struct mot_page *kind, const json_t *document, FILE *out)
{
    struct page p = { kind, document, number_of(document), out, MOT_OK };
    put_template(&p, mot_page_html);
    return p.status;
}

static const struct mot_page_blank blanks[] = {
    { "head", mot_page_head },
    { "headline", mot_page_headline },
    { "ran", mot_page_ran },
    { "facts", mot_page_facts },
    { "plan", mot_page_plan },
    { "about", mot_page_about },
    { "tables", mot_page_tables },
    { "failures", mot_page_failures },
    { "settings", mot_page_settings },
    { NULL, NULL },
};
static const struct mot_page of_a_study = {
    .body = mot_page_study, .script = mot_page_study_js, .blank = blanks, .data = mot_page_data
};

enum mot_status mot_page_write(const json_t *document, const char *path)
{
    struct mot_replace file;
    enum mot_status status = mot_replace_begin(path, &file);
    if (status != MOT_OK) return status;
    status = mot_page_print(&of_a_study, document, file.out);
    if (status == MOT_OK) return mot_replace_commit(&file);
    mot_replace_abandon(&file);
    return status;
}
