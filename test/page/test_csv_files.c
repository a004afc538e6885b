#include "page/pages.h"

/* A field of a CSV text by RFC 4180, unquoted into `into`; returns
 * what follows its separator, NULL at the end. */
static const char *field(const char *at, char *into, bool *ends_line)
{
    size_t n = 0;
    bool quoted = *at == '"';
    if (quoted) at++;
    for (; *at; at++) {
        if (quoted && *at == '"' && at[1] == '"') at++;
        else if (quoted && *at == '"') {
            quoted = false;
            continue;
        } else if (!quoted && (*at == ',' || *at == '\r')) break;
        into[n++] = *at;
    }
    into[n] = 0;
    *ends_line = *at == '\r';
    if (!*at) return NULL;
    return at + (*at == '\r' ? 2 : 1);
}

/* The field in that row and column. */
static char *at(const char *text, size_t row, size_t column)
{
    static char found[4096];
    bool ends = false;
    size_t r = 0, c = 0;
    for (const char *next = text; next && *next;) {
        next = field(next, found, &ends);
        if (r == row && c == column) return found;
        c++;
        if (ends) r++, c = 0;
    }
    return "(none)";
}

static size_t column_of(const char *text, const char *name)
{
    for (size_t c = 0; c < 64; c++)
        if (strcmp(at(text, 0, c), name) == 0) return c;
    return 99;
}

TEST(names_with_commas_quotes_and_lines_come_back_as_they_were)
{
    const char *const names[] = { "server, k=6", "a \"quoted\"\nline", " plain" };
    char *prefix = place("names"), *path = place("names-runs.csv");
    json_t *d = document_of(names, 3);
    for (int a = 0; a < 3; a++)
        add_run(d, a, 7 + a, NULL, a ? "ok" : "diverged", a ? NULL : "why, \"because\"", NAN);
    CHECK_INT(mot_csv_write(d, prefix), MOT_OK);
    char *text = whole_file(path);
    for (size_t a = 0; a < 3; a++) CHECK_TEXT(at(text, a + 1, 0), names[a]);
    CHECK_TEXT(at(text, 1, column_of(text, "failed")), "why, \"because\"");
    CHECK_TEXT(at(text, 1, column_of(text, "status")), "diverged");
    CHECK_TEXT(at(text, 2, column_of(text, "seed")), "8");
    CHECK_TEXT(at(text, 2, column_of(text, "time_to_target")), "");
    CHECK_TEXT(at(text, 2, column_of(text, "reached")), "false");
    free(text), free(path), free(prefix);
    json_decref(d);
}

TEST(numbers_have_all_their_digits)
{
    const char *const names[] = { "a" };
    char *prefix = place("digits"), *runs = place("digits-runs.csv"), *curves = place("digits-curves.csv"),
         *folder = place("run");
    SIMULATE(folder, "method=allreduce");
    json_t *d = document_of(names, 1);
    add_run(d, 0, 1, folder, "ok", NULL, 1.0 / 3);
    CHECK_INT(mot_csv_write(d, prefix), MOT_OK);
    char *text = whole_file(runs), *rows = whole_file(curves), *path = mot_path_join(folder, "metrics.jsonl"),
         *lines = whole_file(path);
    CHECK(strtod(at(text, 1, column_of(text, "time_to_target")), NULL) == 1.0 / 3);
    CHECK_INT(times_in(rows, "\r\n"), 5); /* the names, and evaluations after 0, 4, 8 and 12 updates */
    char *line = strchr(strchr(strchr(lines, '\n') + 1, '\n') + 1, '\n') + 1; /* the last */
    json_t *last = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
    const char *const keys[] = { "time_s", "updates", "samples", "epochs", "train_loss", "test_loss",
        "test_accuracy", "bytes_sent", "messages" };
    for (size_t k = 0; k < MOT_COUNT(keys); k++) {
        double want = json_number_value(json_object_get(last, keys[k]));
        CHECK(want > 0 && strtod(at(rows, 4, column_of(rows, keys[k])), NULL) == want);
    }
    CHECK_TEXT(at(rows, 4, column_of(rows, "valid_loss")), "");
    json_decref(last);
    json_decref(d);
    free(lines), free(path), free(rows), free(text), free(folder), free(curves), free(runs), free(prefix);
}

TEST(a_prefix_that_leads_nowhere_is_refused)
{
    const char *const names[] = { "a" };
    json_t *d = document_of(names, 1);
    CHECK_INT(mot_csv_write(d, "/no/such/folder/x"), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "/no/such/folder/x-runs.csv");
    json_decref(d);
}

TEST_MAIN()
