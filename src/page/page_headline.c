/* page_headline.c -- the document's answer, marked up: who wins, and by how much. */
#include "page/page_parts.h"
#include "base/memory.h"
#include "study/answer.h"
#include "study/race.h"
#include <stdlib.h>
#include <string.h>

#define TEXT 96
#define SENTENCES_MOST 12 /* conditions in the answer; the tables have all */

/* Commands are in backquotes. */
static void put_words(const char *text, FILE *out)
{
    for (bool command = false; *text; command = !command) {
        size_t n = strcspn(text, "`");
        char *part = mot_format("%.*s", (int)n, text);
        if (command) fputs("<code>", out);
        mot_page_text(part, out);
        if (command) fputs("</code>", out);
        free(part);
        text += n + (text[n] == '`');
    }
}

static void put_piece(const json_t *document, const json_t *piece, FILE *out)
{
    if (json_is_string(piece)) put_words(json_string_value(piece), out);
    else if (json_object_get(piece, "arm")) {
        size_t arm = mot_json_get_count(piece, "arm");
        fprintf(out, "<b class=\"k%zu\">", arm % 8);
        mot_page_text(mot_document_name(document, "arms", arm), out);
        fputs("</b>", out);
    } else {
        bool number = json_object_get(piece, "number") != NULL;
        fprintf(out, "<span class=\"%s\">", number ? "num" : "soft");
        mot_page_text(mot_json_get_text(piece, number ? "number" : "aside"), out);
        fputs("</span>", out);
    }
}

void mot_page_head(const json_t *document, FILE *out)
{
    const char *head = mot_json_get_text(json_object_get(document, "about"), "head");
    mot_page_text(*head ? head : mot_json_get_text(document, "title"), out);
}

/* A plan's answer, in the words of the command. */
static void put_plan(const json_t *plan, FILE *out)
{
    const bool recommends = *mot_json_get_text(plan, "command");
    const struct {
        const char *key, *lead;
    } sentences[] = { { "answer", recommends ? "Run" : "Nothing to recommend:" }, { "undecided", "It" },
        { "margin", "It is" }, { "reason", "Why:" } };
    fputs("<p class=\"answer\">", out);
    for (size_t i = 0; i < MOT_COUNT(sentences); i++) {
        const char *text = mot_json_get_text(plan, sentences[i].key);
        if (!*text) continue;
        fprintf(out, "%s%s ", i ? " " : "", sentences[i].lead);
        mot_page_text(text, out);
        fputc('.', out);
    }
    fputs("</p>\n", out);
}

void mot_page_headline(const json_t *document, FILE *out)
{
    const json_t *answers = mot_json_get_list(document, "answers");
    size_t conditions = json_array_size(answers), i;
    json_t *piece;
    if (*mot_json_get_text(json_object_get(document, "plan"), "answer")) {
        put_plan(json_object_get(document, "plan"), out);
        return;
    }
    if (conditions == 0) {
        fputs("<p class=\"answer\">No run has a figure to judge by.</p>\n", out);
        return;
    }
    if (conditions > 1) fputs("<ul class=\"answer\">\n", out);
    for (size_t c = 0; c < conditions && c < SENTENCES_MOST; c++) {
        fputs(conditions > 1 ? "<li><span class=\"under\">" : "<p class=\"answer\">", out);
        if (conditions > 1) {
            mot_page_text(mot_document_name(document, "conditions", c), out);
            fputs("</span> ", out);
        }
        json_array_foreach(json_array_get(answers, c), i, piece) put_piece(document, piece, out);
        fputs(conditions > 1 ? "</li>\n" : "</p>\n", out);
    }
    if (conditions > SENTENCES_MOST)
        fprintf(out, "<li class=\"soft\">and %zu more conditions, in the tables below</li>\n",
            conditions - SENTENCES_MOST);
    if (conditions > 1) fputs("</ul>\n", out);
}

void mot_page_plan(const json_t *document, FILE *out)
{
    const json_t *plan = json_object_get(document, "plan"), *changes = mot_json_get_list(plan, "changes");
    size_t i;
    const json_t *change;
    const char *command = mot_json_get_text(plan, "command");
    const bool incomplete = json_is_false(json_object_get(plan, "complete"));
    if (!*command && !incomplete) return;
    fputs("<section id=\"plan\">\n", out);
    if (*command) {
        fputs("<h2>What to run</h2>\n<pre id=\"recommended\" tabindex=\"0\">", out);
        mot_page_text(command, out);
        fputs("</pre>\n", out);
    }
    if (json_array_size(changes)) fputs("<h3>What would change that</h3>\n<ul>\n", out);
    json_array_foreach(changes, i, change)
    {
        fputs("<li>", out);
        mot_page_text(json_string_value(change), out);
        fputs("</li>\n", out);
    }
    if (json_array_size(changes)) fputs("</ul>\n", out);
    if (incomplete) fprintf(out, "<p class=\"soft\">Not complete: %s.</p>\n", mot_race_incomplete);
    fputs("</section>\n", out);
}

void mot_page_facts(const json_t *document, FILE *out)
{
    size_t runs = json_array_size(mot_json_get_list(document, "runs")),
           arms = json_array_size(mot_json_get_list(document, "arms"));
    size_t conditions = json_array_size(mot_json_get_list(document, "conditions")),
           seeds = json_array_size(mot_json_get_list(document, "seeds"));
    size_t i, failed = 0;
    json_t *run;
    json_array_foreach(mot_json_get_list(document, "runs"), i, run) failed +=
        strcmp(mot_json_get_text(run, "status"), "ok") != 0;
    if (*mot_json_get_text(json_object_get(document, "about"), "head")) {
        fputs("<li>", out);
        mot_page_text(mot_json_get_text(document, "title"), out);
        fputs("</li>", out);
    }
    fprintf(out, "<li>%zu %s", arms, arms == 1 ? "arm: " : "arms: ");
    for (i = 0; i < arms && i < 12; i++) {
        fprintf(out, "%s<span class=\"key k%zu\"></span>", i ? ", " : "", i % 8);
        mot_page_text(mot_document_name(document, "arms", i), out);
    }
    fputs(arms > 12 ? ", \u2026</li>" : "</li>", out);
    if (conditions > 1) fprintf(out, "<li>%zu conditions</li>", conditions);
    fprintf(
        out, "<li>%zu seed%s</li><li>%zu run%s", seeds, seeds == 1 ? "" : "s", runs, runs == 1 ? "" : "s");
    if (failed) fprintf(out, ", <a class=\"bad\" href=\"#failures\">%zu failed</a>", failed);
    fputs("</li>", out);
    const json_t *target = json_object_get(document, "target");
    if (json_is_object(target)) {
        char text[TEXT];
        fputs("<li>target: ", out);
        mot_page_text(mot_answer_target(target, text, sizeof text), out);
        fputs("</li>", out);
    } else {
        fputs(mot_study_has_targets(document) ? "<li>a target for each condition</li>" : "<li>no target</li>",
            out);
    }
}
