/* words.c -- columns of words: each becomes a column of zeros and ones for every word (one-hot). */
#include "data/words.h"

#include "base/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void mot_word_columns_free(struct mot_word_columns *all)
{
    for (uint32_t i = 0; i < all->count; i++) {
        for (uint32_t w = 0; w < all->at[i].count; w++) free(all->at[i].word[w]);
        free(all->at[i].word);
        free(all->at[i].name);
    }
    free(all->at);
    *all = (struct mot_word_columns){ 0 };
}

struct mot_word_columns mot_word_columns_copy(const struct mot_word_columns *from)
{
    struct mot_word_columns to = { 0 };
    if (from->count) to.at = mot_new(from->count, sizeof *to.at);
    for (; to.count < from->count; to.count++) {
        const struct mot_word_column *w = &from->at[to.count];
        struct mot_word_column *copy = &to.at[to.count];
        *copy = *w;
        copy->name = w->name ? mot_text(w->name) : NULL;
        copy->word = mot_new(w->count, sizeof *copy->word);
        for (uint32_t i = 0; i < w->count; i++) copy->word[i] = mot_text(w->word[i]);
    }
    return to;
}

const struct mot_word_column *mot_word_column_at(const struct mot_word_columns *all, uint32_t c)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (all->at[i].first == c) return &all->at[i];
    return NULL;
}

static const struct mot_word_column *known_words(const struct mot_word_columns *like, uint32_t column)
{
    for (uint32_t i = 0; like && i < like->count; i++)
        if (like->at[i].column == column) return &like->at[i];
    return NULL;
}

/* The words of a column in order, and which one each label is: `place[id]`, UINT32_MAX for none. */
static enum mot_status settle_words(const struct mot_worded *how, const char *file, uint32_t column,
    struct mot_word_column *out, uint32_t **place_out)
{
    const struct mot_labels *cell = how->cell[column];
    const struct mot_word_column *known = known_words(how->like, column);
    uint32_t count = 0, *class_of = NULL, gap = UINT32_MAX;
    char **names = NULL;
    *out = (struct mot_word_column){ .column = column };
    mot_labels_classes(cell, &count, &names, &class_of);
    if (mot_memory_refused()) count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (names[i][0] == 0) gap = i; /* a missing word is no word */
    if (how->names) out->name = mot_text(how->names[column]);
    out->word = mot_new(known ? known->count : count + 1, sizeof *out->word);
    uint32_t *to = mot_new(count + 1, sizeof *to);
    enum mot_status status = mot_memory_status();
    if (status == MOT_OK && !known)
        for (uint32_t i = 0; i < count; i++) {
            to[i] = i == gap ? UINT32_MAX : out->count;
            if (i != gap) out->word[out->count++] = mot_text(names[i]);
        }
    for (; status == MOT_OK && known && out->count < known->count; out->count++)
        out->word[out->count] = mot_text(known->word[out->count]);
    if (status == MOT_OK && known) {
        char *what = known->name ? mot_format("column '%.40s': word", known->name)
                                 : mot_format("column of words %u: word", column);
        status = mot_labels_match(cell,
            &(struct mot_known){ file, what,
                "words of the training data (`unknown: zeros` takes others, too)", known->word, known->count,
                how->unknown_zeros },
            place_out);
        free(what);
    } else if (status == MOT_OK) {
        *place_out = mot_new(cell->count + 1, sizeof **place_out);
        for (uint32_t i = 0; i < cell->count; i++) (*place_out)[i] = to[class_of[i]];
    }
    for (uint32_t i = 0; names && i < count; i++) free(names[i]);
    free(names);
    free(class_of);
    free(to);
    return status;
}

static void spread_names(struct mot_raw *raw, const struct mot_word_columns *all, uint32_t cols)
{
    if (!raw->column_names) return;
    char **names = mot_new_large(cols, sizeof *names);
    if (!names) return;
    for (uint32_t c = 0, to = 0; c < raw->cols; c++) {
        const struct mot_word_column *words = mot_word_column_at(all, to);
        for (uint32_t w = 0; words && w < words->count; w++)
            names[to++] = mot_format("%s=%s", raw->column_names[c], words->word[w]);
        if (words) free(raw->column_names[c]);
        else names[to++] = raw->column_names[c];
    }
    free(raw->column_names);
    raw->column_names = names;
}

static enum mot_status spread_rows(struct mot_raw *raw, const struct mot_source *s,
    const struct mot_worded *how, const struct mot_word_columns *all, uint32_t *const *place, uint64_t cols)
{
    float *wide = NULL;
    size_t room = 0;
    enum mot_status status =
        mot_raw_room(s, (void **)&wide, &room, raw->rows * cols, sizeof *wide, how->memory);
    if (status != MOT_OK) return status;
    float *to = wide;
    for (uint32_t r = 0; r < raw->rows; r++) {
        const float *x = raw->x + (size_t)r * raw->cols;
        for (uint32_t c = 0, next = 0; c < raw->cols; c++) {
            if (!how->cell[c]) {
                *to++ = x[c];
                continue;
            }
            const struct mot_labels *cell = how->cell[c];
            bool gap = cell->seen[cell->id[r]].text[0] == 0;
            uint32_t word = place[next][cell->id[r]], count = all->at[next++].count;
            for (uint32_t w = 0; w < count; w++) *to++ = gap ? NAN : (float)(w == word);
        }
    }
    free(raw->x);
    raw->x = wide;
    raw->x_room = room;
    return MOT_OK;
}

enum mot_status mot_words_spread(
    struct mot_raw *raw, const struct mot_source *s, const struct mot_worded *how)
{
    uint32_t columns = 0;
    for (uint32_t c = 0; c < raw->cols; c++) columns += how->cell[c] != NULL;
    if (columns == 0) return MOT_OK;
    struct mot_word_columns all = { .at = mot_new(columns, sizeof *all.at) };
    uint32_t **place = mot_new(columns, sizeof *place);
    uint64_t cols = 0;
    enum mot_status status = MOT_OK;
    for (uint32_t c = 0; c < raw->cols && status == MOT_OK; c++) {
        if (!how->cell[c]) {
            cols++;
            continue;
        }
        status = settle_words(how, mot_source_name(s), c, &all.at[all.count], &place[all.count]);
        all.at[all.count].first = (uint32_t)cols;
        cols += all.at[all.count++].count;
    }
    if (status == MOT_OK && (cols == 0 || cols > MOT_COLS_MAX))
        status = mot_fail(MOT_EDATA, "%s: %llu columns once words have theirs, expected 1 to %u",
            mot_source_name(s), (unsigned long long)cols, MOT_COLS_MAX);
    if (status == MOT_OK) status = spread_rows(raw, s, how, &all, place, cols);
    if (status == MOT_OK) {
        spread_names(raw, &all, (uint32_t)cols);
        raw->cols = (uint32_t)cols;
        raw->words = all;
        status = mot_memory_status();
    } else {
        mot_word_columns_free(&all);
    }
    for (uint32_t i = 0; i < columns; i++) free(place[i]);
    free(place);
    return status;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Whether each text is there once. */
static bool all_differ(char *const *text, uint32_t n)
{
    char **sorted = mot_new_large(n, sizeof *sorted);
    if (!sorted) return false;
    memcpy(sorted, text, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_text);
    bool differ = true;
    for (uint32_t i = 1; i < n && differ; i++) differ = strcmp(sorted[i - 1], sorted[i]) != 0;
    free(sorted);
    return differ;
}

char **mot_feature_names(
    char *const *column_names, uint32_t cols, const struct mot_word_columns *all, uint32_t *n_out)
{
    char **name = column_names ? mot_new_large((size_t)cols + all->count, sizeof *name) : NULL;
    uint32_t n = 0, c = 0, w = 0; /* n: of the features; a column of words may have no words at all */
    bool known = name;
    while (known && (c < cols || w < all->count)) {
        bool words = w < all->count && all->at[w].first <= c;
        if (!words && c == cols) break;
        name[n] = words ? all->at[w].name : column_names[c];
        c += words ? all->at[w].count : 1;
        w += words;
        known = name[n] && *name[n];
        n++;
    }
    if (known && all_differ(name, n)) {
        *n_out = n;
        return name;
    }
    free(name);
    return NULL;
}
