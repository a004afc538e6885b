/* page.c -- report.html: one file, made of the template in src/study/page and the study's document.
 *
 * Whatever comes from a study is escaped where it is written, and the page's own rules
 * (Content-Security-Policy) allow only the one style and the one script that carry its number, and no request
 * to anywhere. Without scripts the answer, the tables and the settings are there all the same. */
#include "study/page.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/shown.h"
#include "config/version.h"
#include "study/page_parts.h"
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

/* Controls are no text in HTML, but for the ends of lines. */
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
    const json_t *document;
    uint64_t number;
    FILE *out;
    enum mot_status status;
};

/* A blank in the template: {{what}}. */
static void fill(struct page *p, const char *what, size_t n)
{
    const struct {
        const char *name;
        void (*write)(const json_t *, FILE *);
    } parts[] = {
        { "headline", mot_page_headline },
        { "facts", mot_page_facts },
        { "about", mot_page_about },
        { "tables", mot_page_tables },
        { "failures", mot_page_failures },
        { "settings", mot_page_settings },
    };
    const char *const words[] = { "title", "command", "experiment" };
    for (size_t i = 0; i < MOT_COUNT(parts); i++)
        if (strlen(parts[i].name) == n && memcmp(parts[i].name, what, n) == 0) {
            parts[i].write(p->document, p->out);
            return;
        }
    for (size_t i = 0; i < MOT_COUNT(words); i++)
        if (strlen(words[i]) == n && memcmp(words[i], what, n) == 0) {
            mot_page_text(mot_page_word(p->document, words[i]), p->out);
            return;
        }
    if (n == 5 && memcmp(what, "style", n) == 0) fputs(mot_page_css, p->out);
    else if (n == 6 && memcmp(what, "script", n) == 0) fputs(mot_page_js, p->out);
    else if (n == 7 && memcmp(what, "version", n) == 0) fputs(MOT_VERSION, p->out);
    else if (n == 5 && memcmp(what, "nonce", n) == 0) fprintf(p->out, "%016" PRIx64, p->number);
    else if (n == 4 && memcmp(what, "data", n) == 0) p->status = mot_page_data(p->document, p->out);
    else MOT_ASSERT(!"a blank that the template names and nobody fills");
}

/* A number that nobody who chose a name could know beforehand, and yet the same for the same study. */
static uint64_t number_of(const json_t *document)
{
    char *text = json_dumps(document, JSON_COMPACT | JSON_SORT_KEYS);
    if (!text) return 0;
    uint64_t number = XXH64(text, strlen(text), 0);
    free(text);
    return number;
}

enum mot_status mot_page_write(const json_t *document, const char *path)
{
    struct mot_replace file;
    enum mot_status status = mot_replace_begin(path, &file);
    if (status != MOT_OK) return status;
    struct page p = { document, number_of(document), file.out, MOT_OK };
    const char *at = mot_page_html, *blank;
    while (p.status == MOT_OK && (blank = strstr(at, "{{"))) {
        fwrite(at, 1, (size_t)(blank - at), file.out);
        const char *end = strstr(blank, "}}");
        MOT_ASSERT(end);
        fill(&p, blank + 2, (size_t)(end - blank - 2));
        at = end + 2;
    }
    if (p.status != MOT_OK) {
        mot_replace_abandon(&file);
        return p.status;
    }
    fputs(at, file.out);
    return mot_replace_commit(&file);
}
