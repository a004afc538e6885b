/* csv_layout.c -- finds the separator, header and columns of a CSV file from its first lines. */
#include "base/memory.h"
#include "base/words.h"
#include "data/csv.h"
#include "data/number.h"
#include <stdlib.h>
#include <string.h>

#define LOOK_BYTES 65536
#define LOOK_LINES 20

/* A copy of the first records that are not blank. */
struct look {
    char *text;
    struct {
        char *at;
        size_t n;
        uint64_t number; /* of its first line */
    } line[LOOK_LINES];
    size_t lines;
};

static bool blank_line(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != ' ' && p[i] != '\t' && p[i] != '\r') return false;
    return true;
}

/* ---- quotes -------------------------------------------------------------------- */

static bool is_blank(char separator, char c) { return c == ' ' || (c == '\t' && separator != '\t'); }

static bool is_separator(char separator, char c)
{
    if (!separator) return c == '\t' || c == ';' || c == ',' || c == ' ';
    return c == separator || (separator == ' ' && c == '\t');
}

static const char *skip_blanks(char separator, const char *p, const char *end)
{
    while (p < end && is_blank(separator, *p)) p++;
    return p;
}

/* The quote that closes the field around p, or `end`. */
static const char *closing_quote(const char *p, const char *end)
{
    while (p < end && !(*p == '"' && !(p + 1 < end && p[1] == '"'))) p += *p == '"' ? 2 : 1;
    return p;
}

/* Whether a closing quote, with the blanks up to p, ends the field. */
static bool ends_field(char separator, const char *p, const char *end)
{
    return p == end || is_separator(separator, *p) || (separator == ' ' && is_blank(separator, p[-1]));
}

bool csv_goes_on(void *quotes, const char *line, size_t n)
{
    struct csv_quotes *q = quotes;
    const char *p = line, *end = line + n;
    if (!q->inside && !memchr(line, '"', n)) return false;
    for (;;) {
        if (!q->inside) {
            p = skip_blanks(q->separator, p, end);
            q->inside = p < end && *p == '"';
            if (q->inside) p++;
        }
        if (q->inside) {
            p = closing_quote(p, end);
            if (p == end) return true;
            q->inside = false;
            p = skip_blanks(q->separator, p + 1, end);
            if (!ends_field(q->separator, p, end)) return false; /* wrong; reported later */
        }
        while (p < end && !is_separator(q->separator, *p)) p++;
        if (p == end) return false;
        if (!is_blank(q->separator, *p)) p++;
    }
}

/* Copies the inside of quotes over itself, undoubling quotes. Returns where the closing one is, or
 * `end`. */
static char *take_quoted(char *p, char *end, struct csv_field *field, uint32_t *line)
{
    char *to = field->text = p;
    for (; p < end; *to++ = *p++) {
        if (*p == '"' && !(p + 1 < end && p[1] == '"')) break;
        if (*p == '"') p++;
        *line += *p == '\n';
    }
    field->n = (size_t)(to - field->text);
    if (p < end) *to = 0;
    return p;
}

const char *csv_split(char *record, size_t n, char separator, struct csv_fields *f)
{
    bool runs = separator == ' ';
    char *p = record, *end = record + n;
    uint32_t line = 0;
    f->count = 0;
    for (;;) {
        while (p < end && is_blank(separator, *p)) p++;
        if (runs && p == end && f->count) return NULL;
        if (f->count == f->room) {
            uint32_t room = f->room ? 2 * f->room : 64;
            struct csv_field *more = mot_grow_large(f->field, room, sizeof *more);
            if (!more) return "out of memory for its cells";
            f->field = more;
            f->room = room;
        }
        struct csv_field *field = &f->field[f->count++];
        *field = (struct csv_field){ p, 0, line };
        if (p < end && *p == '"') {
            p = take_quoted(p + 1, end, field, &line);
            if (p == end) return "the quote is not closed before the end of the file";
            p++;
            while (p < end && is_blank(separator, *p)) p++;
            if (!ends_field(separator, p, end)) return "text follows a closing quote";
        } else {
            while (p < end && !is_separator(separator, *p)) p++;
            field->n = (size_t)(p - field->text);
            if (memchr(field->text, '\r', field->n))
                return "a carriage return that no newline follows: save the file with Unix or Windows line "
                       "ends";
            while (field->n && (field->text[field->n - 1] == ' ' || field->text[field->n - 1] == '\t'))
                field->n--;
        }
        if (p == end) return NULL;
        if (!runs) p++;
    }
}

/* ---- looking ahead --------------------------------------------------------------- */

/* The end of the record at p. If quotes never close, the reader says so; while we only look for the
 * separator, the last one may not be a quote at all: then its line ends the record. NULL: it continues
 * after `end`. */
static char *record_end(char *p, char *end, bool whole, char separator)
{
    struct csv_quotes quotes = { .separator = separator };
    char *newline = memchr(p, '\n', (size_t)(end - p)), *doubtful = newline;
    for (char *line = p; newline && csv_goes_on(&quotes, line, (size_t)(newline - line));) {
        if (memchr(line, '"', (size_t)(newline - line))) doubtful = newline;
        line = newline + 1;
        newline = memchr(line, '\n', (size_t)(end - line));
    }
    if (newline || !whole) return newline;
    return doubtful && !separator ? doubtful : end;
}

static void find_lines(struct look *look, size_t n, bool whole, char separator)
{
    uint64_t number = 1;
    look->lines = 0;
    for (char *p = look->text, *end = p + n; p < end && look->lines < LOOK_LINES;) {
        char *stop = record_end(p, end, whole, separator);
        if (!stop) break;
        size_t length = (size_t)(stop - p);
        if (length && p[length - 1] == '\r') length--;
        if (!blank_line(p, length)) {
            look->line[look->lines].at = p;
            look->line[look->lines].number = number;
            look->line[look->lines++].n = length;
        }
        for (; p < stop; p++) number += *p == '\n';
        number++;
        p = stop + 1;
    }
}

/* At least two records, if the file has them. */
static enum mot_status look_ahead(struct mot_source *s, char separator, struct look *look)
{
    for (size_t want = LOOK_BYTES;; want *= 2) {
        const unsigned char *at;
        size_t n;
        enum mot_status status = mot_source_peek(s, want, &at, &n);
        if (status != MOT_OK) return status;
        bool whole = n < want || want > MOT_LINE_MAX;
        char *text = mot_grow_large(look->text, n + 1, 1);
        if (!text) return mot_memory_status();
        look->text = text;
        memcpy(look->text, at, n);
        look->text[n] = 0;
        find_lines(look, n, whole, separator);
        if (look->lines >= 2 || whole) return MOT_OK;
    }
}

size_t csv_used(const struct csv_fields *f)
{
    size_t n = f->count;
    while (n && f->field[n - 1].n == 0) n--;
    return n;
}

static bool is_one_of(const struct csv_field *f, const char *const *word, size_t words)
{
    const char *text = f->text;
    size_t n = f->n;
    if (n && (*text == '-' || *text == '+')) text++, n--;
    for (size_t i = 0; i < words; i++)
        if (strlen(word[i]) == n && strncasecmp(text, word[i], n) == 0) return true;
    return false;
}

bool csv_missing(const struct csv_field *f)
{
    static const char *const missing[] = { "nan", "na", "n/a", "null", "?" };
    return blank_line(f->text, f->n) || is_one_of(f, missing, MOT_COUNT(missing));
}

bool csv_damaged(const struct csv_field *f)
{
    static const char *const damaged[] = { "inf", "infinity", "" };
    return csv_missing(f) || is_one_of(f, damaged, MOT_COUNT(damaged));
}

bool csv_number(const struct csv_layout *layout, const struct csv_field *f, double *out)
{
    if (mot_is_number(f->text, f->n, '.', out)) return true;
    return layout->decimal_comma && mot_is_number(f->text, f->n, ',', out);
}

/* ---- the separator ----------------------------------------------------------- */

/* Separators of a line outside quotes; runs of blanks count once. */
static size_t count_of(const char *line, size_t n, char separator)
{
    size_t count = 0;
    bool quoted = false, blank = true;
    while (separator == ' ' && n && (line[n - 1] == ' ' || line[n - 1] == '\t')) n--;
    for (size_t i = 0; i < n; i++) {
        bool hit = !quoted && (line[i] == separator || (separator == ' ' && line[i] == '\t'));
        if (line[i] == '"') quoted = !quoted;
        count += hit && !(separator == ' ' && blank);
        blank = hit;
    }
    return count;
}

/* A separator occurs equally often in every line; the header may have one fewer. If none does, take the one
 * that every line has, so that the error names the line that differs. */
static char find_separator(const struct look *look)
{
    static const char candidates[] = "\t;, ";
    char fallback = 0;
    for (const char *c = candidates; *c; c++) {
        size_t first = count_of(look->line[0].at, look->line[0].n, *c);
        size_t second = look->lines > 1 ? count_of(look->line[1].at, look->line[1].n, *c) : first;
        bool same = second > 0 && (first == second || first + 1 == second), everywhere = first > 0;
        for (size_t i = 1; i < look->lines; i++) {
            size_t n = count_of(look->line[i].at, look->line[i].n, *c);
            same = same && n == second;
            everywhere = everywhere && n > 0;
        }
        if (same) return *c;
        if (everywhere && !fallback) fallback = *c;
    }
    return fallback;
}

static enum mot_status separator_of(
    const struct mot_source *s, const struct mot_read_conf *conf, const struct look *look, char *out)
{
    const char *asked = conf->separator;
    if (asked && (strcmp(asked, "tab") == 0 || strcmp(asked, "\\t") == 0)) *out = '\t';
    else if (asked && strcmp(asked, "space") == 0) *out = ' ';
    else if (asked && strlen(asked) == 1 && *asked != '"' && *asked != '\n') *out = *asked;
    else if (asked) {
        char clip[MOT_CLIP];
        return mot_fail(MOT_EUSAGE, "separator %s, expected one character, 'tab' or 'space'",
            mot_clip(clip, sizeof clip, asked, strlen(asked)));
    } else {
        char clip[MOT_CLIP];
        *out = find_separator(look);
        if (!*out && !conf->unlabelled)
            return mot_fail(MOT_EDATA,
                "%s:%llu: found %s, expected columns separated by ',', ';', tab or space", mot_source_name(s),
                (unsigned long long)look->line[0].number,
                mot_clip(clip, sizeof clip, look->line[0].at, look->line[0].n));
        if (!*out) *out = ','; /* a single column of features */
    }
    return MOT_OK;
}

/* ---- the header and the columns ------------------------------------------------ */

enum cell { CELL_NUMBER, CELL_MISSING, CELL_WORD };

/* A number too large for a float is still a number, and a missing value is not the name of a column:
 * neither may turn a row into a header. */
static enum cell kind_of(const struct csv_layout *layout, const struct csv_field *f)
{
    double value;
    const char *end = f->text + f->n;
    if (csv_number(layout, f, &value) || (f->n && mot_scan_double(f->text, '.', &value) == end) ||
        (f->n && layout->decimal_comma && mot_scan_double(f->text, ',', &value) == end))
        return CELL_NUMBER;
    return csv_damaged(f) ? CELL_MISSING : CELL_WORD;
}

/* What the first row looks like. */
struct first_row {
    size_t numbers, missing, words;
    size_t above;       /* column + 1 of the first word that has a number below it */
    size_t words_below; /* words that have a word below them */
};

static struct first_row look_at(
    const struct csv_layout *layout, const struct csv_fields *first, const struct csv_fields *second)
{
    struct first_row row = { 0 };
    size_t used = csv_used(first), shift = second->count == first->count + 1;
    for (size_t i = 0; i < used; i++) {
        enum cell kind = kind_of(layout, &first->field[i]);
        row.numbers += kind == CELL_NUMBER;
        row.missing += kind == CELL_MISSING;
        row.words += kind == CELL_WORD;
        bool below = i + shift < second->count && kind_of(layout, &second->field[i + shift]) == CELL_NUMBER;
        if (kind == CELL_WORD && below && !row.above) row.above = i + 1;
        row.words_below += kind == CELL_WORD && i + shift < second->count &&
            kind_of(layout, &second->field[i + shift]) == CELL_WORD;
    }
    return row;
}

static bool names_column(const struct csv_fields *first, const char *name)
{
    for (size_t i = 0; name && i < first->count; i++)
        if (strlen(name) == first->field[i].n && memcmp(name, first->field[i].text, strlen(name)) == 0)
            return true;
    return false;
}

/* A header has words and no numbers. Four kinds of lines may be a header or a row, and a guess could silently
 * lose a row or a name: one with numbers and a word above a number; one with words and gaps, but no word
 * above a number; one of nothing but gaps; and words above nothing but words. */
static enum mot_status find_header(const struct mot_source *s, const struct mot_read_conf *conf,
    uint64_t line, const struct csv_fields *first, const struct csv_fields *second, struct csv_layout *layout)
{
    struct first_row row = look_at(layout, first, second);
    bool torn = row.numbers && row.above, gaps = !row.numbers && (row.missing || !row.words) && !row.above;
    layout->header = !row.numbers;
    if (layout->header && !gaps && row.words_below == csv_used(second) && row.words_below == row.words &&
        !names_column(first, conf->label_column) && !(conf->columns && names_column(first, conf->column[0])))
        return mot_fail(MOT_EDATA,
            "%s:%llu: words above words: is this line a header or a row? Set `header: yes` or `header: no`",
            mot_source_name(s), (unsigned long long)line);
    if (!torn && !gaps) return MOT_OK;
    char clip[MOT_CLIP];
    size_t column = torn ? row.above - 1 : 0;
    while (gaps && kind_of(layout, &first->field[column]) != CELL_MISSING) column++;
    const struct csv_field *f = &first->field[column];
    return mot_fail(MOT_EDATA,
        "%s:%llu: column %zu: found %s %s: is this line a header or a row? Set `header: yes` or `header: no`",
        mot_source_name(s), (unsigned long long)line + f->line, column,
        f->n ? mot_clip(clip, sizeof clip, f->text, f->n) : "an empty cell",
        torn ? "above a number, in a line that has numbers too" : "in a line without numbers");
}

/* The column of a name or number, or `width`. */
static uint32_t column_of(const struct csv_layout *layout, const char *text, size_t n)
{
    for (uint32_t c = 0; layout->names && c < layout->width; c++)
        if (strlen(layout->names[c]) == n && memcmp(layout->names[c], text, n) == 0) return c;
    uint64_t number = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9' || number > layout->width) return layout->width;
        number = number * 10 + (uint64_t)(text[i] - '0');
    }
    return n && number < layout->width ? (uint32_t)number : layout->width;
}

static enum mot_status fail_column(const struct mot_source *s, const struct csv_layout *layout,
    const char *option, const char *text, size_t n)
{
    char clip[MOT_CLIP], *wrong = mot_format("%.*s", (int)n, text);
    const char *nearest =
        layout->names ? mot_nearest(wrong, (const char *const *)layout->names, layout->width) : NULL;
    enum mot_status status = mot_fail(MOT_EUSAGE,
        "%s: %s %s is not a column, expected a %snumber from 0 to %u%s%s%s", mot_source_name(s), option,
        mot_clip(clip, sizeof clip, text, n), layout->names ? "name of the header or a " : "",
        layout->width - 1, nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
    free(wrong);
    return status;
}

/* Gives a role to the columns that an option lists. */
static enum mot_status assign_list(const struct mot_source *s, struct csv_layout *layout, const char *option,
    const char *list, enum csv_role role)
{
    for (const char *p = list; p && *p;) {
        while (*p == ' ' || *p == ',') p++;
        size_t n = strcspn(p, ","), used = n;
        while (used && p[used - 1] == ' ') used--;
        if (!used) break;
        uint32_t c = column_of(layout, p, used);
        if (c == layout->width) return fail_column(s, layout, option, p, used);
        layout->role[c] = (unsigned char)role;
        p += n;
    }
    return MOT_OK;
}

/* The column of the label, or `width`. */
static uint32_t label_of(const struct mot_read_conf *conf, const struct csv_layout *layout)
{
    const char *label = conf->label_column ? conf->label_column : "last";
    uint32_t c = column_of(layout, label, strlen(label));
    if (c == layout->width && strcmp(label, "last") == 0) return layout->width - 1;
    return c == layout->width && strcmp(label, "first") == 0 ? 0 : c;
}

/* Whether columns can be found by name: no wanted name is there twice. */
static bool names_are_clear(const struct mot_read_conf *conf, const struct csv_layout *layout)
{
    for (uint32_t f = 0; f < conf->columns; f++) {
        uint32_t times = 0;
        for (uint32_t c = 0; c < layout->width; c++) times += strcmp(layout->names[c], conf->column[f]) == 0;
        if (times > 1) return false;
    }
    return conf->columns > 0;
}

/* Finds the features by name, wherever they are; other columns are left out. */
static enum mot_status assign_by_name(
    const struct mot_source *s, const struct mot_read_conf *conf, struct csv_layout *layout)
{
    memset(layout->role, CSV_SKIP, layout->width);
    layout->features = conf->columns;
    for (uint32_t f = 0; f < conf->columns; f++) {
        const char *name = conf->column[f];
        uint32_t c = 0;
        while (c < layout->width && strcmp(layout->names[c], name) != 0) c++;
        if (c == layout->width) {
            char clip[MOT_CLIP];
            const char *near = mot_nearest(name, (const char *const *)layout->names, layout->width);
            return mot_fail(MOT_EDATA, "%s: its header has no column %s, which the training data has%s%s%s",
                mot_source_name(s), mot_clip(clip, sizeof clip, name, strlen(name)), near ? "; is it '" : "",
                near ? near : "", near ? "'?" : "");
        }
        if (layout->role[c] == CSV_FEATURE) {
            char clip[MOT_CLIP];
            return mot_fail(MOT_EDATA, "%s: the model names the column %s twice", mot_source_name(s),
                mot_clip(clip, sizeof clip, name, strlen(name)));
        }
        layout->role[c] = CSV_FEATURE;
        layout->feature[c] = f;
    }
    layout->label = label_of(conf, layout);
    layout->labelled = !conf->unlabelled;
    bool found = layout->label < layout->width && layout->role[layout->label] == CSV_SKIP;
    if (layout->labelled && !found) {
        if (!conf->features)
            return mot_fail(MOT_EDATA,
                "%s: no column with labels: the one that `label_column` names (by default the last) is a "
                "feature of the training data, or not there",
                mot_source_name(s));
        layout->labelled = false; /* rows to predict need none */
    }
    if (layout->labelled) layout->role[layout->label] = CSV_LABEL;
    return MOT_OK;
}

static enum mot_status assign_roles(
    const struct mot_source *s, const struct mot_read_conf *conf, struct csv_layout *layout)
{
    const char *label = conf->label_column ? conf->label_column : "last";
    layout->labelled = !conf->unlabelled;
    layout->role = mot_new_large(layout->width, 1);
    layout->feature = mot_new_large(layout->width, sizeof *layout->feature);
    if (!layout->role || !layout->feature) return mot_memory_status();
    if (layout->names && names_are_clear(conf, layout)) return assign_by_name(s, conf, layout);
    enum mot_status status = assign_list(s, layout, "words", conf->words, CSV_WORDS);
    if (status == MOT_OK) status = assign_list(s, layout, "skip", conf->skip, CSV_SKIP);
    if (status != MOT_OK) return status;
    if (layout->labelled && conf->features) {
        uint32_t left = 0;
        for (uint32_t c = 0; c < layout->width; c++) left += layout->role[c] <= CSV_WORDS;
        layout->labelled = left != conf->features;
    }
    if (layout->labelled) {
        layout->label = label_of(conf, layout);
        if (layout->label == layout->width)
            return fail_column(s, layout, "label_column", label, strlen(label));
        if (layout->role[layout->label] == CSV_SKIP)
            return mot_fail(
                MOT_EUSAGE, "%s: column %u is both the label and skipped", mot_source_name(s), layout->label);
        layout->role[layout->label] = CSV_LABEL;
    }
    for (uint32_t c = 0; c < layout->width; c++) {
        layout->feature[c] = layout->features;
        layout->features += layout->role[c] <= CSV_WORDS;
    }
    if (layout->features == 0)
        return mot_fail(MOT_EDATA, "%s: no column left for the features", mot_source_name(s));
    return MOT_OK;
}

static enum mot_status split_look(
    const struct mot_source *s, struct look *look, size_t i, char separator, struct csv_fields *out)
{
    const char *wrong = csv_split(look->line[i].at, look->line[i].n, separator, out);
    if (!wrong) return MOT_OK;
    if (mot_memory_refused()) return mot_memory_status();
    return mot_fail(MOT_EDATA, "%s:%llu: %s", mot_source_name(s),
        (unsigned long long)look->line[i].number + out->field[out->count - 1].line, wrong);
}

static enum mot_status find_columns(const struct mot_source *s, const struct mot_read_conf *conf,
    struct look *look, struct csv_layout *layout)
{
    struct csv_fields first = { 0 }, second = { 0 };
    enum mot_status status = split_look(s, look, 0, layout->separator, &first);
    if (status == MOT_OK && look->lines > 1) status = split_look(s, look, 1, layout->separator, &second);
    if (status == MOT_OK) {
        layout->header = conf->header == 1;
        if (conf->header == 0) status = find_header(s, conf, look->line[0].number, &first, &second, layout);
        size_t width = csv_used(&first), below = csv_used(&second);
        if (below > width && below <= first.count) width = below; /* its last cells are empty */
        if (status == MOT_OK && (width == 0 || width > MOT_COLS_MAX))
            status = mot_fail(MOT_EDATA, "%s:%llu: %zu columns, expected 1 to %u", mot_source_name(s),
                (unsigned long long)look->line[0].number, width, MOT_COLS_MAX);
        layout->width = (uint32_t)width;
        layout->row_names = layout->header && below == width + 1;
        if (status == MOT_OK && layout->header) {
            layout->names = mot_new_large(width, sizeof *layout->names);
            for (size_t c = 0; c < width && !mot_memory_refused(); c++)
                layout->names[c] = mot_format("%.*s", (int)first.field[c].n, first.field[c].text);
        }
        if (status == MOT_OK) status = mot_memory_status();
        if (status == MOT_OK) status = assign_roles(s, conf, layout);
    }
    free(first.field);
    free(second.field);
    return status;
}

enum mot_status csv_layout_find(
    struct mot_source *s, const struct mot_read_conf *conf, struct csv_layout *out)
{
    struct look look = { 0 };
    struct csv_layout layout = { 0 };
    enum mot_status status = look_ahead(s, 0, &look);
    if (status == MOT_OK && look.lines == 0)
        status = mot_fail(MOT_EDATA, "%s: no rows, expected lines of numbers", mot_source_name(s));
    if (status == MOT_OK) status = separator_of(s, conf, &look, &layout.separator);
    if (status == MOT_OK) status = look_ahead(s, layout.separator, &look);
    layout.decimal_comma = layout.separator == ';';
    if (status == MOT_OK) status = find_columns(s, conf, &look, &layout);
    free(look.text);
    if (status == MOT_OK) *out = layout;
    else csv_layout_free(&layout);
    return status;
}

void csv_layout_free(struct csv_layout *layout)
{
    for (uint32_t c = 0; layout->names && c < layout->width; c++) free(layout->names[c]);
    free(layout->names);
    free(layout->role);
    free(layout->feature);
    *layout = (struct csv_layout){ 0 };
}
