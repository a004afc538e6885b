/* page_run.c -- one run in detail, for the page: its timeline, where
 * its workers' time went, which data they hold. */
#include "study/page_parts.h"

#include "base/file.h"
#include "base/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WORKERS_MOST 64 /* that are listed, evenly chosen */
#define CLASSES_MOST 100
#define TICKS 1000000 /* a timeline's resolution */

static json_t *load(const char *folder, const char *name)
{
    char *path = mot_path_join(folder, name);
    json_t *value = json_load_file(path, 0, NULL);
    free(path);
    return value;
}

static json_int_t whole(const json_t *list, size_t i) { return json_integer_value(json_array_get(list, i)); }

/* [from, length, gap since its end, length, ...] in ticks: short numbers. */
static void put_spans(const json_t *spans, json_int_t from, double ns_a_tick, FILE *out)
{
    size_t i;
    json_t *span;
    long long at = 0;
    fputc('[', out);
    json_array_foreach(spans, i, span)
    {
        long long begin = llround((double)(whole(span, 0) - from) / ns_a_tick),
                  end = llround((double)(whole(span, 1) - from) / ns_a_tick);
        fprintf(out, "%s%lld,%lld", i ? "," : "", begin - at, end - begin);
        at = end;
    }
    fputc(']', out);
}

static void put_timeline(const json_t *timeline, FILE *out)
{
    static const char *const kinds[] = { "compute", "cancelled", "collective", "send", "receive" };
    json_int_t from = json_integer_value(json_object_get(timeline, "from")),
               until = json_integer_value(json_object_get(timeline, "until"));
    double ns_a_tick = until > from ? (double)(until - from) / TICKS : 1;
    size_t i;
    json_t *node;
    fputs(",\"timeline\":{\"from\":", out), mot_page_json_number((double)from / 1e9, out);
    fputs(",\"until\":", out), mot_page_json_number((double)until / 1e9, out);
    fprintf(out, ",\"ticks\":%d,\"cut\":%s,\"nodes\":%zu,\"node\":[", TICKS,
        json_is_true(json_object_get(timeline, "cut")) ? "true" : "false",
        mot_page_place(timeline, "nodes_of_run"));
    json_array_foreach(mot_page_list(timeline, "node"), i, node)
    {
        fprintf(out, "%s{\"id\":%zu,\"role\":", i ? "," : "", mot_page_place(node, "id"));
        mot_page_json_text(mot_page_word(node, "role"), out);
        fputs(",\"name\":", out), mot_page_json_text(mot_page_word(node, "name"), out);
        for (size_t k = 0; k < MOT_COUNT(kinds); k++) {
            const json_t *spans = mot_page_list(node, kinds[k]);
            if (json_array_size(spans) == 0) continue;
            fprintf(out, ",\"%s\":", kinds[k]), put_spans(spans, from, ns_a_tick, out);
        }
        fputc('}', out);
    }
    fputs("]}", out);
}

static void put_worker(const json_t *worker, FILE *out)
{
    const json_t *rows = json_object_get(worker, "rows_by_class");
    size_t classes = json_array_size(rows);
    fprintf(out, "{\"id\":%zu,\"name\":", mot_page_place(worker, "id"));
    mot_page_json_text(mot_page_word(worker, "name"), out);
    fputs(",\"time\":[", out), mot_page_json_number(mot_page_number(worker, "compute_s"), out);
    fputc(',', out), mot_page_json_number(mot_page_number(worker, "send_s"), out);
    fputc(',', out), mot_page_json_number(mot_page_number(worker, "wait_s"), out);
    fputs("],\"rows\":", out), mot_page_json_number(mot_page_number(worker, "rows"), out);
    fputs(",\"jobs\":", out), mot_page_json_number(mot_page_number(worker, "jobs"), out);
    fputs(",\"updates\":", out), mot_page_json_number(mot_page_number(worker, "updates"), out);
    if (classes && classes <= CLASSES_MOST) {
        fputs(",\"classes\":[", out);
        for (size_t c = 0; c < classes; c++)
            fprintf(out, "%s%" JSON_INTEGER_FORMAT, c ? "," : "", whole(rows, c));
        fputc(']', out);
    }
    fputc('}', out);
}

static void put_workers(const json_t *summary, FILE *out)
{
    const json_t *workers = mot_page_list(summary, "worker");
    size_t n = json_array_size(workers), shown = n < WORKERS_MOST ? n : WORKERS_MOST;
    fprintf(out, ",\"workers_of_run\":%zu,\"workers\":[", n);
    for (size_t i = 0; i < shown; i++) {
        if (i) fputc(',', out);
        put_worker(json_array_get(workers, shown < n ? i * (n - 1) / (shown - 1) : i), out);
    }
    fputc(']', out);
}

size_t mot_page_detail(const char *folder, size_t run, const char *lead, FILE *out)
{
    json_t *summary = load(folder, "summary.json"), *timeline = load(folder, "timeline.json");
    size_t bytes = 0;
    if (summary || timeline) {
        char *text = NULL;
        FILE *buffer = open_memstream(&text, &bytes); /* how long it is decides how many there are room for */
        MOT_ASSERT(buffer);
        fprintf(buffer, "%s{\"run\":%zu,\"verdict\":", lead, run);
        mot_page_json_text(mot_page_word(summary, "verdict"), buffer);
        fputs(",\"parts\":", buffer);
        mot_page_json_text(mot_page_word(json_object_get(summary, "heterogeneity"), "words"), buffer);
        fputs(",\"driver\":", buffer), mot_page_json_text(mot_page_word(summary, "driver"), buffer);
        fputs(",\"time\":", buffer), mot_page_json_number(mot_page_number(summary, "time_s"), buffer);
        put_workers(summary, buffer);
        if (timeline) put_timeline(timeline, buffer);
        fputc('}', buffer);
        fclose(buffer);
        fwrite(text, 1, bytes, out);
        free(text);
    }
    json_decref(summary);
    json_decref(timeline);
    return bytes;
}
