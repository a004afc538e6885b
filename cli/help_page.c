#include "help_page.h"
#include "config/version.h"
#include <ctype.h>
#include <string.h>

#define WIDTH 80
#define TERM 26
#define ROFF_WIDTH 66

/* ---- Plain text ----------------------------------------------------------------- */

/* Words of `text`, from column `at` on, wrapped at WIDTH with `indent` before each line. */
static void wrap(FILE *out, const char *text, size_t n, int indent, int at)
{
    const char *end = text + n;
    bool fresh = true;
    while (text < end) {
        while (text < end && isspace((unsigned char)*text)) text++;
        const char *word = text;
        int width = 0;
        for (; text < end && !isspace((unsigned char)*text); text++)
            width += ((unsigned char)*text & 0xC0) != 0x80;
        if (text == word) break;
        if (!fresh && at + 1 + width > WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
            fresh = true;
        }
        fprintf(out, "%s%.*s", fresh ? "" : " ", (int)(text - word), word);
        at += width + !fresh;
        fresh = false;
    }
    putc('\n', out);
}

/* ---- Roff -------------------------------------------------------------------------- */

/* Escapes what roff would interpret; a dash stays one that a shell understands when copied. */
static void escape(FILE *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool starts = i == 0 || text[i - 1] == '\n'; /* a dot there would be a request */
        if (starts && (text[i] == '.' || text[i] == '\'')) fputs("\\&", out);
        if (text[i] == '\\') fputs("\\e", out);
        else if (text[i] == '-') fputs("\\-", out);
        else if (text[i] == '~') fputs("\\(ti", out);
        else if (text[i] == '^') fputs("\\(ha", out);
        else putc(text[i], out);
    }
}

/* Short lines, none of which ends with a space: roff fills them again. */
static void escape_words(FILE *out, const char *text, size_t n)
{
    bool fresh = true;
    size_t width = 0;
    for (size_t i = 0; i < n;) {
        while (i < n && isspace((unsigned char)text[i])) i++;
        size_t word = i;
        while (i < n && !isspace((unsigned char)text[i])) i++;
        if (i == word) break;
        bool full = width + (i - word) > ROFF_WIDTH;
        if (!fresh) putc(full ? '\n' : ' ', out);
        if (full) width = 0;
        escape(out, text + word, i - word);
        width += i - word + 1;
        fresh = false;
    }
    putc('\n', out);
}

/* ---- Both ---------------------------------------------------------------------------- */

void page_title(struct page *p, const char *name, const char *section, const char *summary)
{
    if (!p->roff) {
        fprintf(p->out, "%s: %s\n", name, summary);
        return;
    }
    fputs(".TH \"", p->out);
    for (const char *c = name; *c; c++) {
        if (*c == '-' || *c == ' ') fputs("\\-", p->out);
        else putc(toupper((unsigned char)*c), p->out);
    }
    fprintf(p->out, "\" \"%s\" \"%s\" \"motley %s\" \"motley manual\"\n.SH NAME\n", section, MOT_VERSION_DATE,
        MOT_VERSION);
    for (const char *c = name; *c; c++) fputs(*c == '-' || *c == ' ' ? "\\-" : (char[]){ *c, '\0' }, p->out);
    fputs(" \\- ", p->out);
    escape_words(p->out, summary, strlen(summary));
}

void page_heading(struct page *p, const char *heading)
{
    if (!p->roff) {
        fprintf(p->out, "\n%s\n", heading);
        return;
    }
    p->fresh = true;
    fputs(".SH ", p->out);
    for (; *heading; heading++) putc(toupper((unsigned char)*heading), p->out);
    putc('\n', p->out);
}

void page_text(struct page *p, const char *text)
{
    for (bool first = true; *text; first = false) {
        size_t n = strcspn(text, "\n");
        if (p->roff && !p->fresh) fputs(".PP\n", p->out);
        if (!p->roff && !first) putc('\n', p->out);
        p->fresh = false;
        if (p->roff) escape_words(p->out, text, n);
        else {
            fputs("  ", p->out);
            wrap(p->out, text, n, 2, 2);
        }
        text += n;
        while (*text == '\n') text++;
    }
}

void page_item(struct page *p, const char *term, const char *text, const char *more)
{
    p->fresh = false;
    if (p->roff) {
        fputs(".TP\n.B \"", p->out);
        for (const char *c = term; *c; c++) {
            if (*c == '"') fputs("\\(dq", p->out);
            else escape(p->out, c, 1);
        }
        fputs("\"\n", p->out);
        escape_words(p->out, text, strlen(text));
        if (more) {
            fputs(".br\n", p->out);
            escape_words(p->out, more, strlen(more));
        }
        return;
    }
    int width = (int)strlen(term);
    fprintf(p->out, "  %s", term);
    if (width + 4 > TERM) fprintf(p->out, "\n%*s", TERM, "");
    else fprintf(p->out, "%*s", TERM - 2 - width, "");
    wrap(p->out, text, strlen(text), TERM, TERM);
    if (!more) return;
    fprintf(p->out, "%*s", TERM, "");
    wrap(p->out, more, strlen(more), TERM, TERM);
}

void page_lines(struct page *p, const char *lines)
{
    if (p->roff) fputs(p->fresh ? ".nf\n" : ".PP\n.nf\n", p->out);
    p->fresh = false;
    while (*lines) {
        size_t n = strcspn(lines, "\n");
        if (p->roff) {
            if (n == 0) fputs("\\&", p->out);
            escape(p->out, lines, n);
        } else fprintf(p->out, "%s%.*s", n ? "  " : "", (int)n, lines);
        putc('\n', p->out);
        lines += n + (lines[n] == '\n');
    }
    if (p->roff) fputs(".fi\n", p->out);
}
