/* What terminal and page say in each of some forty situations: the words of the answer, which both have;
 * that every number in it is one of study.json; that it comes last, in 80 columns; and that nothing is
 * said that is not so. */
#include "ends.h"
#include "report/json.h"
#include "study/document.h"
#include <ctype.h>

struct situation {
    const char *name;
    struct end arm[3];
    size_t arms;    /* 0: two */
    uint64_t seeds; /* 0: six */
    const char *says[4], *never[3];
    bool methods;      /* arms are methods that share one untuned rate */
    bool tuned, swept; /* swept: over learning rates */
};

#define LEARNED .learned = 1
#define GOOD .accuracy = 0.9, .loss = 0.3, .time = 10, LEARNED
#define BLIND .accuracy = 0.12, .loss = 2.3, .time = 10, .learned = 0, .chance = 0.1
#define REMEDY                                                                                               \
    "The learning rate, 0.4, is probably too large for gradients that are 7.0 updates old: try "             \
    "`--optimizer-lr 0.05`."

static const struct situation situations[] = {
    { "nobody reaches the target",
        { { .accuracy = 0.7, .loss = 1, .time = 10, LEARNED, .target = NAN, .looks = 9 },
            { .accuracy = 0.75, .loss = 1, .time = 10, LEARNED, .target = NAN, .looks = 9 } },
        .says = { "No run reaches 80 % test accuracy; the nearest was second with a test accuracy of 75.3 % "
                  "(seed 2)." },
        .never = { "times", "fast", "not comparable:" } },
    { "one arm, which does not reach it",
        { { .accuracy = 0.7, .loss = 1, .time = 10, LEARNED, .target = NAN, .looks = 4 } }, .arms = 1,
        .says = { "No run reaches 80 % test accuracy; the nearest was first" } },
    { "only the first reaches it", { { GOOD, .target = 8, .looks = 8 }, { GOOD, .target = NAN } },
        .says = { "first wins: it reaches 80 % test accuracy in 8.00 s" }, .never = { "No run" } },
    { "only the second reaches it", { { GOOD, .target = NAN }, { GOOD, .target = 8, .looks = 8 } },
        .says = { "second wins: it reaches 80 % test accuracy in 8.00 s", ", which first never does" } },
    { "all of the second's runs reach it, and half of the first's",
        { { GOOD, .target = 8, .odd = true, .looks = 8 }, { GOOD, .target = 4, .looks = 8 } },
        .says = { "second wins", ", which first does in 3 of 6 runs", "first in half of its runs at most" },
        .never = { "mostly" } },
    { "half of the runs reach it",
        { { GOOD, .target = 8, .odd = true, .looks = 8 }, { GOOD, .target = NAN, .looks = 8 } },
        .says = { "No arm reaches 80 % test accuracy in more than half of its runs; first does in 3 of 6." },
        .never = { "No run" } },
    { "both reach it, the second sooner", { { GOOD, .target = 8 }, { GOOD, .target = 4 } },
        .says = { "second wins: it reaches 80 % test accuracy in 4.00 s",
            "2.00 times (2.00 to 2.00) as fast as first." } },
    { "both reach it at once", { { GOOD, .target = 8 }, { GOOD, .target = 8 } },
        .says = { "Nothing is distinguishable" }, .never = { "wins" } },
    { "three reach it, two of them alike",
        { { GOOD, .target = 8 }, { GOOD, .target = 4 }, { GOOD, .target = 4 } }, .arms = 3,
        .says = { "second is as good as any: it reaches",
            "Close to it, with intervals that overlap its own: third." },
        .never = { "wins" } },
    { "an arm diverges, without a target",
        { { GOOD }, { .accuracy = 0.1, .loss = NAN, .time = 1, .learned = -1, .status = "diverged" } },
        .says = { "first wins" }, .never = { "fast" } },
    { "an arm diverges on its way to the target",
        { { GOOD, .target = 8 },
            { .accuracy = 0.1, .loss = NAN, .time = 1, .learned = -1, .status = "diverged", .target = NAN } },
        .says = { "first wins: it reaches 80 % test accuracy in 8.00 s" } },
    { "the baseline diverges",
        { { .accuracy = 0.1, .loss = NAN, .time = 1, .learned = -1, .status = "diverged" }, { GOOD } },
        .says = { "second wins", "first mostly does not finish." }, .never = { "times" } },
    { "all diverge",
        { { .accuracy = 0.1, .loss = NAN, .time = 1, .learned = 0, .status = "diverged" },
            { .accuracy = 0.1, .loss = NAN, .time = 1, .learned = 0, .status = "diverged" } },
        .says = { "No arm learned anything" }, .never = { "fast", "wins" } },
    { "one seed, with a target", { { GOOD, .target = 8 }, { GOOD, .target = 4 } }, .seeds = 1,
        .says = { "second came first in one run: it reaches 80 % test accuracy in 4.00 s; not compared with "
                  "first: 1 pair "
                  "of runs; a verdict needs 6." },
        .never = { "wins", "median of" } },
    { "one seed, without a target, and the second is better",
        { { GOOD }, { .accuracy = 0.97, .loss = 0.1, .time = 5, LEARNED } }, .seeds = 1,
        .says = { "second has the best figure of one run each: it ends with a test accuracy of" },
        .never = { "wins", "first in one run" } },
    { "one seed, without a target", { { GOOD }, { .accuracy = 0.8, .loss = 1, .time = 5, LEARNED } },
        .seeds = 1, .says = { "not compared with the other: 1 pair of runs; a verdict needs 6." },
        .never = { "wins", "fast" } },
    { "three seeds", { { GOOD }, { .accuracy = 0.8, .loss = 1, .time = 5, LEARNED } }, .seeds = 3,
        .says = { "not compared with the other: 3 pairs of runs; a verdict needs 6." }, .never = { "wins" } },
    { "no test set",
        { { .accuracy = NAN, .loss = 0.4, .time = 5, LEARNED },
            { .accuracy = NAN, .loss = 0.2, .time = 5, LEARNED } },
        .says = { "second wins: it ends with a training loss of 0.2004" }, .never = { "accuracy" } },
    { "nothing was evaluated",
        { { .accuracy = NAN, .loss = NAN, .time = 5, .learned = -1 },
            { .accuracy = NAN, .loss = NAN, .time = 2, .learned = -1 } },
        .says = { "second wins: it ends after 2.00 s" }, .never = { "accuracy", "loss" } },
    { "one arm reaches its target", { { GOOD, .target = 8 } }, .arms = 1,
        .says = { "first reaches 80 % test accuracy in 8.00 s" }, .never = { "wins", "baseline" } },
    { "one arm, no target", { { GOOD } }, .arms = 1, .says = { "first ends with a test accuracy of 90.2 %" },
        .never = { "wins" } },
    { "one arm of one run", { { GOOD } }, .arms = 1, .seeds = 1,
        .says = { "first ends with a test accuracy of 90.2 %." }, .never = { "median" } },
    { "one arm learned nothing", { { BLIND, .remedy = REMEDY } }, .arms = 1,
        .says = { "It learned nothing: first ends with a test accuracy of 12.0 %",
            "and the commonest class alone would give 10.0 %.", "try `--optimizer-lr 0.05`." } },
    { "all arms learned nothing", { { BLIND }, { BLIND, .remedy = REMEDY } },
        .says = { "No arm learned anything: first ends with a test accuracy of 12.0 %",
            "and the commonest class alone would give 10.0 %." },
        .never = { "fast", "wins" } },
    { "all learned nothing, and there was a target",
        { { BLIND, .target = NAN, .looks = 4 }, { BLIND, .target = NAN, .looks = 4 } },
        .says = { "No arm learned anything: first ends with a test accuracy of 12.0 %",
            "No run reaches 80 % test accuracy" } },
    { "one of two learned nothing", { { GOOD }, { BLIND } },
        .says = { "first wins", "second learned nothing: a test accuracy of 12.0 %",
            "and the commonest class alone would give 10.0 %." },
        .never = { "fast" } },
    { "one of two learned nothing on its way to the target",
        { { GOOD, .target = 8 }, { BLIND, .target = NAN } },
        .says = { "first wins: it reaches", "second learned nothing: a test accuracy of 12.0 %" } },
    { "one of two learned nothing, and why", { { GOOD }, { BLIND, .remedy = REMEDY } },
        .says = { "is probably too large for gradients that are 7.0 updates old." }, .never = { "try" } },
    { "one of two learned nothing, because its parts differ",
        { { GOOD },
            { BLIND,
                .remedy = "The parts differ by 3.0 times the noise of a batch, so what one learns another "
                          "unlearns: try parts that are alike (`--partition stratified`), or a smaller rate "
                          "(`--optimizer-lr 0.1`)." } },
        .says = { "so what one learns another unlearns." }, .never = { "parts that are", "--partition" } },
    { "one of two learned nothing in few updates",
        { { GOOD }, { BLIND, .remedy = "It made only 12 updates: let it make more (`--stop-epochs`)." } },
        .says = { "It made only 12 updates." }, .never = { "let it", "--stop" } },
    { "one of two learned nothing, and its loss is above that of guessing",
        { { GOOD },
            { BLIND,
                .remedy = "Its test loss is 41, where guessing would give 2.3: the learning rate, 1000, is "
                          "probably too large. Try `--optimizer-lr 0.1`." } },
        .says = { "the learning rate, 1000, is probably too large." }, .never = { "Try", "--optimizer" } },
    { "the baseline learned nothing", { { BLIND }, { GOOD } },
        .says = { "second wins", "first learned nothing" }, .never = { "fast" } },
    { "all equal", { { GOOD }, { GOOD } }, .says = { "Nothing is distinguishable" }, .never = { "wins" } },
    { "alike, but faster", { { GOOD }, { .accuracy = 0.9, .loss = 0.3, .time = 5, LEARNED } },
        .says = { "What they learn is not distinguishable",
            "second is 2.00 times (2.00 to 2.00) as fast as first." } },
    { "faster, but worse", { { GOOD }, { .accuracy = 0.7, .loss = 1, .time = 1, LEARNED } },
        .says = { "first wins", "the next clearly behind, second, has 70.1 %" }, .never = { "fast" } },
    { "better, but slower", { { GOOD }, { .accuracy = 0.97, .loss = 0.1, .time = 40, LEARNED } },
        .says = { "second wins: it ends with a test accuracy of 97.2 %",
            "second takes 4.00 times (4.00 to 4.00) as long as first." } },
    { "better and faster", { { GOOD }, { .accuracy = 0.97, .loss = 0.1, .time = 5, LEARNED } },
        .says = { "second wins", "second is 2.00 times (2.00 to 2.00) as fast as first." } },
    { "the target is met at the first evaluation",
        { { GOOD, .target = 8, .looks = 8 }, { GOOD, .target = 4, .looks = 1 } },
        .says = { "second was there at the first evaluation, so its time is only an upper bound" } },
    { "the target is met at the second evaluation",
        { { GOOD, .target = 8, .looks = 2 }, { GOOD, .target = 4, .looks = 8 } },
        .says = { "first was there at the second evaluation, so the true time may be as little as half of "
                  "it" } },
    { "the target is met at the third",
        { { GOOD, .target = 8, .looks = 3 }, { GOOD, .target = 4, .looks = 8 } }, .says = { "second wins" },
        .never = { "evaluation" } },
    { "one rate for all, with a target", { { GOOD, .target = 8 }, { GOOD, .target = 4 } }, .methods = true,
        .says = { "All arms share one learning rate, which was not tuned for any of them. Tune them first: "
                  "`motley compare "
                  "x.yaml --over optimizer.lr=2^0..2^-8 --halving`" } },
    { "one rate for all, without a target", { { GOOD }, { GOOD } }, .methods = true,
        .says = { "--halving --by test_accuracy`" } },
    { "tuned arms", { { GOOD, .target = 8 }, { GOOD, .target = 4 } }, .methods = true, .tuned = true,
        .says = { "second wins" }, .never = { "Tune them first" } },
    { "rates beside each other", { { GOOD, .target = 8 }, { GOOD, .target = 4 } }, .methods = true,
        .swept = true, .says = { "second wins" }, .never = { "All arms share", "Tune them first" } },
    { "all runs of an arm crash", { { GOOD, .target = 8 }, { .crashed = true } },
        .says = { "first has the best median: it reaches 80 % test accuracy in 8.00 s" },
        .never = { "wins" } },
    { "all runs crash", { { .crashed = true }, { .crashed = true } }, .never = { "wins" } },
};

/* ---- A study of a situation ---------------------------------------------------------------------------- */

static json_t *study_of(const struct situation *s)
{
    static const struct mot_study_setting methods[] = { { "method", "allreduce", "" },
        { "method", "server", "" }, { "method", "async", "" } };
    static const char *const names[] = { "first", "second", "third" };
    static const struct mot_study_setting rate = { "optimizer.lr", "0.1", "" };
    const struct mot_study_side condition = { .name = "", .setting = &rate, .settings = s->swept };
    struct mot_study_side arm[3];
    size_t arms = s->arms ? s->arms : 2;
    json_t *d = NULL,
           *tuning = s->tuned
        ? json_pack("[{s:i, s:i, s:s, s:[s], s:[i], s:b, s:[], s:[]}]", "arm", 0, "condition", 0, "by",
              "time_to_target", "over", "optimizer.lr", "seeds", 1001, "halving", 0, "edge", "points")
        : NULL;
    for (size_t a = 0; a < arms; a++)
        arm[a] = (struct mot_study_side){ .name = names[a], .setting = &methods[a], .settings = s->methods };
    runs = 0;
    for (uint64_t seed = 1; seed <= (s->seeds ? s->seeds : SEEDS); seed++)
        for (uint32_t a = 0; a < arms; a++) add(a, seed, &s->arm[a]);
    struct mot_study study = { .title = "x.yaml",
        .command = "motley compare x.yaml --out 'a folder'", /* which is no part of the advice */
        .experiment = "",
        .arm = arm,
        .arms = arms,
        .condition = &condition,
        .conditions = 1,
        .run = run,
        .runs = runs,
        .tuning = tuning };
    if (mot_study_document(&study, &d) != MOT_OK) printf("  %s\n", mot_error());
    for (size_t i = 0; i < runs; i++) free((char *)(uintptr_t)run[i].folder);
    json_decref(tuning);
    return d;
}

/* ---- Every number is the document's ---------- */

/* A number as each unit shows it, and turned over, as ratios may be; each followed by a newline. */
static void list_number(double value, FILE *out)
{
    char text[96];
    for (int unit = MOT_UNIT_SECONDS; unit <= MOT_UNIT_PLAIN; unit++)
        fprintf(out, "\n%s ", mot_figure_show(value, unit, text, sizeof text));
    if (value != 0) fprintf(out, "\n%s ", mot_figure_show(1 / value, MOT_UNIT_RATIO, text, sizeof text));
    fprintf(out, "\n%.4g \n%.4g \n%.0f ", value, 100 * value, 100 * value);
}

static void list_numbers(const json_t *value, FILE *out)
{
    size_t i;
    json_t *each;
    const char *key;
    if (json_is_number(value)) list_number(json_number_value(value), out);
    if (json_is_array(value)) fprintf(out, "\n%zu ", json_array_size(value));
    json_array_foreach((json_t *)(size_t)value, i, each) list_numbers(each, out);
    if (json_is_object(value))
        json_object_foreach((json_t *)(size_t)value, key, each) list_numbers(each, out);
}

/* The first number of a text that is none of the list's; NULL: all are. Commands, in backquotes, and "95
 * %" of an interval are no figures. */
static const char *stranger(const char *answer, const char *list, const char *words)
{
    static char token[64];
    bool command = false;
    for (const char *c = answer; *c; c++) {
        if (*c == '`') command = !command;
        if (command || !isdigit((unsigned char)*c) || (c > answer && (isalnum((unsigned char)c[-1]))))
            continue;
        size_t n = strspn(c, "0123456789.,");
        while (n > 1 && strchr(".,", c[n - 1])) n--;
        snprintf(token, sizeof token, "\n%.*s ", (int)n, c);
        char bare[64];
        snprintf(bare, sizeof bare, "%.*s", (int)n, c);
        if (!strstr(list, token) && !strstr(words, bare)) return token + 1;
        c += n - 1;
    }
    return NULL;
}

static const char *wrong_number(const json_t *d, const char *answer)
{
    char *list = NULL, *words = mot_text("a verdict needs 6");
    size_t n, i;
    json_t *each;
    FILE *out = open_memstream(&list, &n);
    list_numbers(json_object_get(d, "cells"), out);
    json_array_foreach(mot_json_get_list(d, "cells"), i, each) /* what an update takes */
        list_number(mot_json_get_number(mot_cell_figure(each, "time_to_target"), "median") /
                mot_json_get_number(mot_cell_figure(each, "updates_to_target"), "median"),
            out);
    list_numbers(json_object_get(d, "runs"), out);
    list_numbers(json_object_get(d, "target"), out);
    list_numbers(json_object_get(d, "seeds"), out);
    fclose(out);
    json_array_foreach(mot_json_get_list(d, "runs"), i, each) if (*mot_json_get_text(each, "remedy"))
    {
        char *longer = mot_format("%s %s", words, mot_json_get_text(each, "remedy"));
        free(words);
        words = longer;
    }
    const char *found = stranger(answer, list, words);
    free(words);
    free(list);
    return found;
}

/* ---- What is shown ---------- */

static size_t widest(const char *text)
{
    size_t most = 0, now = 0;
    for (; *text; text++) {
        now = *text == '\n' ? 0 : now + ((*text & 0xC0) != 0x80);
        if (now > most) most = now;
    }
    return most;
}

/* Without backquotes, which the page shows as code. */
static char *unquoted(const char *text)
{
    char *out = mot_text(text), *to = out;
    for (const char *c = text; *c; c++)
        if (*c != '`') *to++ = *c;
    *to = '\0';
    return out;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    while (n && text[n - 1] == ' ') n--;
    return n >= m && memcmp(text + n - m, end, m) == 0;
}

struct shown {
    json_t *d;
    char *answer, *table, *rows, *seen; /* the table's words; the page's */
};

static void hold(const struct situation *s, const struct shown *w)
{
    char *bare = unquoted(w->answer);
    bool on_page = strstr(w->seen, bare) != NULL;
    free(bare);
    for (size_t i = 0; i < MOT_COUNT(s->says) && s->says[i]; i++) CHECK_HAS(w->answer, s->says[i]);
    for (size_t i = 0; i < MOT_COUNT(s->never) && s->never[i]; i++) CHECK(!strstr(w->answer, s->never[i]));
    CHECK(ends_with(w->rows, w->answer)); /* it comes last */
    CHECK(on_page);                       /* in the same words */
    CHECK(widest(w->table) <= MOT_TABLE_COLUMNS);
    const char *wrong = wrong_number(w->d, w->answer);
    CHECK_TEXT(wrong ? wrong : "", "");
    CHECK(!strstr(w->table, "nan") && !strstr(w->table, " inf") &&
        times_in(w->seen, "NaN") == times_in(w->seen, "the loss became infinite or NaN"));
    if (!strstr(w->answer, "No run reaches")) return;
    CHECK(s->arms == 1 || strstr(w->rows, " \u2013 ")); /* no speed-ups */
    CHECK(!strstr(w->seen, "1.00\u00d7") && !strstr(w->table, " 1.00 "));
    CHECK_INT(times_in(w->rows, "reaching the target"), 0); /* once is enough */
}

static void look_at(const struct situation *s)
{
    struct shown w = { .d = study_of(s) };
    char *path = place("page.html");
    size_t n;
    w.answer = mot_answer_text(w.d, 0);
    FILE *out = open_memstream(&w.table, &n);
    mot_study_table(w.d, out, MOT_TABLE_COLUMNS, false);
    fclose(out);
    if (mot_page_write(w.d, path) != MOT_OK) abort();
    char *page = whole_file(path), *scripts = strstr(page, "<script");
    if (scripts) *scripts = '\0';
    w.seen = plain(page);
    w.rows = plain(w.table);
    int before = test_failures;
    hold(s, &w);
    if (test_failures > before) printf("  where %s:\n%s\n", s->name, w.table);
    free(page), free(path), free(w.seen), free(w.rows), free(w.table), free(w.answer);
    json_decref(w.d);
}

TEST(what_is_said_is_so_in_each_of_these_situations)
{
    CHECK(MOT_COUNT(situations) >= 30);
    for (size_t i = 0; i < MOT_COUNT(situations); i++) look_at(&situations[i]);
}

/* The check itself: a number that the document does not have is found. */
TEST(a_number_that_is_not_in_the_document_is_noticed)
{
    json_t *d = study_of(&situations[5]);
    CHECK(wrong_number(d, "second takes 4.00 s, 2.00 times as fast") == NULL);
    CHECK_HAS(wrong_number(d, "second takes 4.37 s"), "4.37");
    json_decref(d);
}

TEST_MAIN()
