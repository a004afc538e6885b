/* raw.c -- growing tables, and labels: each distinct one is kept once, by value if it is a number. */
#include "data/raw.h"

#include "base/memory.h"
#include "base/words.h"
#include "data/number.h"
#include "data/words.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

void mot_labels_free(struct mot_labels *l)
{
    for (uint32_t i = 0; i < l->count; i++) free(l->seen[i].text);
    free(l->seen);
    free(l->slot);
    free(l->value);
    free(l->id);
    *l = (struct mot_labels){ 0 };
}

void mot_raw_free(struct mot_raw *raw)
{
    free(raw->x);
    free(raw->row_at);
    free(raw->col);
    free(raw->val);
    mot_labels_free(&raw->labels);
    if (raw->column_names)
        for (uint32_t c = 0; c < raw->cols; c++) free(raw->column_names[c]);
    free(raw->column_names);
    free(raw->label_name);
    mot_word_columns_free(&raw->words);
    *raw = (struct mot_raw){ 0 };
}

uint64_t mot_raw_entries(const struct mot_raw *raw)
{
    return raw->sparse ? raw->row_at[raw->rows] : (uint64_t)raw->rows * raw->cols;
}

enum mot_status mot_raw_room(
    const struct mot_source *source, void **array, size_t *room, uint64_t need, size_t size, uint64_t most)
{
    if (need <= *room) return MOT_OK;
    if (need > most / size) {
        char text[32];
        return mot_fail(MOT_EDATA, "%s: the table needs more than %s of memory, the limit on this machine",
            mot_source_name(source), mot_show_size((double)most, text, sizeof text));
    }
    uint64_t wanted = *room ? 2 * (uint64_t)*room : 1024;
    if (wanted < need) wanted = need;
    if (wanted > most / size) wanted = most / size;
    void *more = mot_grow_large(*array, (size_t)wanted, size);
    if (!more) return mot_memory_status();
    *array = more;
    *room = (size_t)wanted;
    return MOT_OK;
}

/* ---- labels ---------------------------------------------------------------- */

static uint64_t hash_number(double value) { return XXH64(&value, sizeof value, 1); }
static uint64_t hash_word(const char *text, size_t n) { return XXH64(text, n, 2); }

static uint64_t hash_label(const struct mot_label *l)
{
    return l->number ? hash_number(l->value) : hash_word(l->text, strlen(l->text));
}

static void grow_slots(struct mot_labels *l)
{
    free(l->slot);
    l->slots = l->slots ? 2 * l->slots : 64;
    l->slot = mot_new(l->slots, sizeof *l->slot);
    for (uint32_t i = 0; i < l->count; i++) {
        uint32_t at = (uint32_t)hash_label(&l->seen[i]) & (l->slots - 1);
        while (l->slot[at]) at = (at + 1) & (l->slots - 1);
        l->slot[at] = i + 1;
    }
}

/* The entry of a label, or UINT32_MAX; *at_out is where it would go. */
static uint32_t find(
    const struct mot_labels *l, bool number, double value, const char *text, size_t n, uint32_t *at_out)
{
    uint32_t at = (uint32_t)(number ? hash_number(value) : hash_word(text, n)) & (l->slots - 1);
    for (; l->slot[at]; at = (at + 1) & (l->slots - 1)) {
        const struct mot_label *s = &l->seen[l->slot[at] - 1];
        if (s->number != number) continue;
        if (number ? s->value == value : strlen(s->text) == n && memcmp(s->text, text, n) == 0)
            return l->slot[at] - 1;
    }
    *at_out = at;
    return UINT32_MAX;
}

static enum mot_status add(struct mot_labels *l, const struct mot_source *source, bool number, double value,
    const char *text, size_t n, uint64_t line)
{
    enum mot_status status = mot_raw_room(
        source, (void **)&l->value, &l->value_room, (uint64_t)l->rows + 1, sizeof *l->value, SIZE_MAX);
    if (status == MOT_OK)
        status = mot_raw_room(
            source, (void **)&l->id, &l->id_room, (uint64_t)l->rows + 1, sizeof *l->id, SIZE_MAX);
    if (status != MOT_OK) return status;
    if (value == 0) value = 0; /* -0 is 0 */
    l->value[l->rows] = value;
    if (number && value != trunc(value)) l->fractions = true;
    if (2 * (l->count + 1) > l->slots) grow_slots(l);
    uint32_t at = 0, id = l->many ? UINT32_MAX : find(l, number, value, text, n, &at);
    if (id == UINT32_MAX && l->count == MOT_CLASSES_MAX) l->many = true;
    if (l->many && (!number || l->words)) {
        char clip[MOT_CLIP];
        const char *word = number ? l->seen[l->words - 1].text : text;
        return mot_fail(MOT_EDATA,
            "%s:%llu: more than %u different labels, some of them words such as %s: expected classes or "
            "numbers",
            mot_source_name(source), (unsigned long long)line, MOT_CLASSES_MAX,
            mot_clip(clip, sizeof clip, word, number ? strlen(word) : n));
    }
    if (id == UINT32_MAX && !l->many) {
        status = mot_raw_room(
            source, (void **)&l->seen, &l->seen_room, (uint64_t)l->count + 1, sizeof *l->seen, SIZE_MAX);
        if (status != MOT_OK) return status;
        id = l->count++;
        l->seen[id] = (struct mot_label){ mot_format("%.*s", (int)n, text), value, number, line };
        l->slot[at] = id + 1;
        if (!number && !l->words) l->words = id + 1;
        status = mot_memory_status();
    }
    l->id[l->rows++] = id;
    return status;
}

enum mot_status mot_labels_add(struct mot_labels *l, const struct mot_source *source, const char *text,
    size_t n, char point, uint64_t line)
{
    while (n && (*text == ' ' || *text == '\t')) {
        text++;
        n--;
    }
    while (n && (text[n - 1] == ' ' || text[n - 1] == '\t')) n--;
    double value = 0;
    bool number = mot_is_number(text, n, point, &value);
    return add(l, source, number, value, text, n, line);
}

enum mot_status mot_labels_add_number(
    struct mot_labels *l, const struct mot_source *source, double value, uint64_t line)
{
    /* The spelling is needed only for a label that is new; printing each would be slow. */
    uint32_t at;
    if (l->rows && l->slots && !l->many && find(l, true, value == 0 ? 0 : value, NULL, 0, &at) != UINT32_MAX)
        return add(l, source, true, value, "", 0, line);
    char text[40];
    int n = 0;
    for (int digits = 15; digits <= 17; digits += 2) {
        double back;
        n = snprintf(text, sizeof text, "%.*g", digits, value == 0 ? 0 : value);
        for (int i = 0; i < n; i++)
            if (text[i] == ',') text[i] = '.';
        if (mot_is_number(text, (size_t)n, '.', &back) && back == value) break;
    }
    return add(l, source, true, value, text, (size_t)n, line);
}

enum mot_status mot_labels_task(
    const struct mot_labels *l, enum mot_task asked, const char *name, enum mot_task *out)
{
    char clip[MOT_CLIP];
    if (asked == MOT_TASK_REGRESSION && l->words) {
        const struct mot_label *word = &l->seen[l->words - 1];
        return mot_fail(MOT_EDATA, "%s:%llu: label %s, expected a number, because the task is regression",
            name, (unsigned long long)word->line,
            mot_clip(clip, sizeof clip, word->text, strlen(word->text)));
    }
    if (asked == MOT_TASK_CLASSES && l->many)
        return mot_fail(MOT_EDATA,
            "%s: more than %u different labels, expected fewer, because the task is classes", name,
            MOT_CLASSES_MAX);
    if (asked != MOT_TASK_AUTO) *out = asked;
    else
        *out = l->words || (!l->fractions && !l->many && l->count <= MOT_AUTO_CLASSES_MAX)
            ? MOT_TASK_CLASSES
            : MOT_TASK_REGRESSION;
    return MOT_OK;
}

enum mot_status mot_raw_task(
    const struct mot_raw *raw, enum mot_task asked, const char *name, enum mot_task *out)
{
    const struct mot_labels *l = &raw->labels;
    bool classes = raw->format == MOT_FORMAT_IDX || raw->format == MOT_FORMAT_CIFAR100;
    if (asked == MOT_TASK_AUTO && classes && !l->fractions && !l->many) asked = MOT_TASK_CLASSES;
    return mot_labels_task(l, asked, name, out);
}

static int by_value_then_word(const void *a, const void *b)
{
    const struct mot_label *p = *(const struct mot_label *const *)a, *q = *(const struct mot_label *const *)b;
    if (p->number != q->number) return p->number ? -1 : 1;
    if (!p->number) return strcmp(p->text, q->text);
    return (p->value > q->value) - (p->value < q->value);
}

void mot_labels_classes(
    const struct mot_labels *l, uint32_t *count_out, char ***names_out, uint32_t **class_of_out)
{
    const struct mot_label **order = mot_new(l->count + 1, sizeof *order);
    for (uint32_t i = 0; i < l->count; i++) order[i] = &l->seen[i];
    qsort(order, l->count, sizeof *order, by_value_then_word);
    char **names = mot_new(l->count + 1, sizeof *names);
    uint32_t *class_of = mot_new(l->count + 1, sizeof *class_of);
    for (uint32_t c = 0; c < l->count && !mot_memory_refused(); c++) {
        names[c] = mot_text(order[c]->text);
        class_of[order[c] - l->seen] = c;
    }
    free(order);
    *count_out = l->count;
    *names_out = names;
    *class_of_out = class_of;
}

/* "0, 1, 2, ... (20 of them)" */
static char *list_names(char *const *names, uint32_t count)
{
    char *text = mot_text("");
    for (uint32_t c = 0; c < count && c < 8; c++) {
        char *longer = mot_format("%s%s%.40s", text, c ? ", " : "", names[c]);
        free(text);
        text = longer;
    }
    if (count > 8) {
        char *longer = mot_format("%s, ... (%u in all)", text, count);
        free(text);
        text = longer;
    }
    return text;
}

enum mot_status mot_labels_match(
    const struct mot_labels *l, const struct mot_known *k, uint32_t **class_of_out)
{
    struct mot_labels known = { 0 };
    const char *name = k->file;
    char *const *names = k->names;
    uint32_t count = k->count;
    if (count > MOT_CLASSES_MAX)
        return mot_fail(MOT_EDATA, "%s: %u classes, expected at most %u", name, count, MOT_CLASSES_MAX);
    for (uint32_t c = 0; c < count; c++) { /* by value where a name is a number: "1" is "+1" is "1.0" */
        double value = 0;
        size_t n = strlen(names[c]);
        bool number = mot_is_number(names[c], n, '.', &value) || mot_is_number(names[c], n, ',', &value);
        if (add(&known, NULL, number, value, names[c], n, c) != MOT_OK) break;
    }
    uint32_t *class_of = mot_new(l->count + 1, sizeof *class_of), at;
    enum mot_status status = mot_memory_status();
    for (uint32_t i = 0; i < l->count && status == MOT_OK; i++) {
        const struct mot_label *s = &l->seen[i];
        uint32_t id =
            known.slots ? find(&known, s->number, s->value, s->text, strlen(s->text), &at) : UINT32_MAX;
        if (id != UINT32_MAX || k->others || s->text[0] == 0) {
            class_of[i] = id == UINT32_MAX ? UINT32_MAX : (uint32_t)known.seen[id].line;
            continue;
        }
        char *list = list_names(names, count), clip[MOT_CLIP];
        status =
            mot_fail(MOT_EDATA, "%s:%llu: %s %s is not among the %s: %s", name, (unsigned long long)s->line,
                k->what, mot_clip(clip, sizeof clip, s->text, strlen(s->text)), k->among, list);
        free(list);
    }
    if (status == MOT_OK && l->many)
        status = mot_fail(MOT_EDATA, "%s: more than %u different labels, expected %u classes", name,
            MOT_CLASSES_MAX, count);
    mot_labels_free(&known);
    if (status == MOT_OK) *class_of_out = class_of;
    else free(class_of);
    return status;
}

const float *mot_raw_row(const struct mot_raw *raw, uint32_t r, float *scratch)
{
    if (!raw->sparse) return raw->x + (size_t)r * raw->cols;
    memset(scratch, 0, (size_t)raw->cols * sizeof *scratch);
    for (uint64_t i = raw->row_at[r]; i < raw->row_at[r + 1]; i++) scratch[raw->col[i]] = raw->val[i];
    return scratch;
}

const char *mot_raw_label(const struct mot_raw *raw, uint32_t r, char into[40])
{
    if (!raw->labels.many) return raw->labels.seen[raw->labels.id[r]].text;
    mot_print_float(into, 40, (float)raw->labels.value[r]);
    return into;
}
