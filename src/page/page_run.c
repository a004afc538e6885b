/* page_run.c -- one run in detail: its timeline, where its workers' time went, what data they hold. */
#include "page/page_parts.h"

#include "base/file.h"
#include "base/json_text.h"
#include "base/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WORKERS_MOST 64 /* listed at most, evenly spaced */
#define CLASSES_MOST 100
#define BLOCKS_MOST 64 /* rows and columns of the picture of who sends to whom */
#define TICKS 1000000  /* a timeline's resolution */

json_t *mot_page_load(const char *folder, const char *name)
{
    char *path = mot_path_join(folder, name);
    json_t *value = NULL;
    if (*folder) (void)mot_json_read(path, MOT_EDATA, &value); /* not every run has all files */
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
        mot_json_get_count(timeline, "nodes_of_run"));
    json_array_foreach(mot_json_get_list(timeline, "node"), i, node)
    {
        fprintf(out, "%s{\"id\":%zu,\"role\":", i ? "," : "", mot_json_get_count(node, "id"));
        mot_page_json_text(mot_json_get_text(node, "role"), out);
        fputs(",\"name\":", out), mot_page_json_text(mot_json_get_text(node, "name"), out);
        for (size_t k = 0; k < MOT_COUNT(kinds); k++) {
            const json_t *spans = mot_json_get_list(node, kinds[k]);
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
    fprintf(out, "{\"id\":%zu,\"name\":", mot_json_get_count(worker, "id"));
    mot_page_json_text(mot_json_get_text(worker, "name"), out);
    fputs(",\"time\":[", out), mot_page_json_number(mot_json_get_number(worker, "compute_s"), out);
    fputc(',', out), mot_page_json_number(mot_json_get_number(worker, "send_s"), out);
    fputc(',', out), mot_page_json_number(mot_json_get_number(worker, "wait_s"), out);
    fputs("],\"rows\":", out), mot_page_json_number(mot_json_get_number(worker, "rows"), out);
    fputs(",\"jobs\":", out), mot_page_json_number(mot_json_get_number(worker, "jobs"), out);
    fputs(",\"updates\":", out), mot_page_json_number(mot_json_get_number(worker, "updates"), out);
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
    const json_t *workers = mot_json_get_list(summary, "worker");
    size_t n = json_array_size(workers), shown = n < WORKERS_MOST ? n : WORKERS_MOST;
    const json_t *names = mot_json_get_list(summary, "class_names");
    if (json_array_size(names) && json_array_size(names) <= CLASSES_MOST)
        fputs(",\"class_names\":", out), mot_page_json(names, out);
    fprintf(out, ",\"workers_of_run\":%zu,\"workers\":[", n);
    for (size_t i = 0; i < shown; i++) {
        if (i) fputc(',', out);
        put_worker(json_array_get(workers, shown < n ? i * (n - 1) / (shown - 1) : i), out);
    }
    fputc(']', out);
}

/* Summaries come from files: only what a picture can show is passed on. */
static void put_traffic(const json_t *summary, FILE *out)
{
    const json_t *traffic = json_object_get(summary, "traffic");
    size_t workers = json_array_size(mot_json_get_list(summary, "worker")),
           servers = json_array_size(mot_json_get_list(summary, "server")),
           together = mot_json_get_count(traffic, "nodes_together"), i;
    json_t *pair;
    if (!together || (workers + together - 1) / together + (servers + together - 1) / together > BLOCKS_MOST)
        return;
    fprintf(out, ",\"traffic\":{\"together\":%zu,\"servers\":%zu,\"sent\":[", together, servers);
    const char *lead = "";
    json_array_foreach(mot_json_get_list(traffic, "sent"), i, pair)
    {
        json_int_t from = whole(pair, 0), to = whole(pair, 1), nodes = (json_int_t)(workers + servers);
        if (from < 0 || from >= nodes || to < 0 || to >= nodes || whole(pair, 3) <= 0) continue;
        fprintf(out, "%s[%" JSON_INTEGER_FORMAT ",%" JSON_INTEGER_FORMAT ",", lead, from, to);
        mot_page_json_number(json_number_value(json_array_get(pair, 2)), out);
        fprintf(out, ",%" JSON_INTEGER_FORMAT "]", whole(pair, 3));
        lead = ",";
    }
    fputs("]}", out);
}

/* What mixing did to the workers' own models. */
static void put_mixed(const json_t *summary, FILE *out)
{
    static const char *const figures[] = { "consensus", "drift", "mass" };
    const json_t *notes = json_object_get(summary, "notes"),
                 *behind = json_object_get(notes, "rounds_behind");
    if (!json_is_number(json_object_get(summary, "consensus"))) return;
    fputs(",\"mixed\":{", out);
    for (size_t i = 0; i < MOT_COUNT(figures); i++) {
        fprintf(out, "\"%s\":", figures[i]);
        mot_page_json_number(mot_json_get_number(summary, figures[i]), out);
        fputc(',', out);
    }
    fputs("\"behind\":[", out), mot_page_json_number(mot_json_get_number(behind, "mean"), out);
    fputc(',', out), mot_page_json_number(mot_json_get_number(behind, "max"), out);
    fputs("],\"dropped\":", out);
    mot_page_json_number(mot_json_get_number(json_object_get(notes, "dropped_segments"), "sum"), out);
    fputc('}', out);
}

size_t mot_page_detail(const char *folder, size_t run, const char *lead, FILE *out)
{
    json_t *summary = mot_page_load(folder, "summary.json"),
           *timeline = mot_page_load(folder, "timeline.json");
    size_t bytes = 0;
    if (summary || timeline) {
        char *text = NULL;
        FILE *buffer = open_memstream(&text, &bytes); /* its length decides how many more fit */
        MOT_ASSERT(buffer);
        fprintf(buffer, "%s{\"run\":%zu,\"verdict\":", lead, run);
        mot_page_json_text(mot_json_get_text(summary, "verdict"), buffer);
        fputs(",\"parts\":", buffer);
        mot_page_json_text(mot_json_get_text(json_object_get(summary, "heterogeneity"), "words"), buffer);
        fputs(",\"driver\":", buffer), mot_page_json_text(mot_json_get_text(summary, "driver"), buffer);
        fputs(",\"time\":", buffer), mot_page_json_number(mot_json_get_number(summary, "time_s"), buffer);
        if (json_object_get(summary, "computed_samples")) {
            fputs(",\"samples\":[", buffer);
            mot_page_json_number(mot_json_get_number(summary, "samples"), buffer);
            fputc(',', buffer);
            mot_page_json_number(mot_json_get_number(summary, "computed_samples"), buffer);
            fputc(']', buffer);
        }
        mot_page_code(summary, buffer);
        put_mixed(summary, buffer);
        put_traffic(summary, buffer);
        put_workers(summary, buffer);
        if (timeline) put_timeline(timeline, buffer);
        char *trace = mot_path_join(folder, "trace.json");
        if (timeline && mot_file_exists(trace)) fputs(",\"trace\":true", buffer);
        free(trace);
        fputc('}', buffer);
        fclose(buffer);
        fwrite(text, 1, bytes, out);
        free(text);
    }
    json_decref(summary);
    json_decref(timeline);
    return bytes;
}
