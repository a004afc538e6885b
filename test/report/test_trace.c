#include "test.h"

#include "base/rng.h"
#include "report/fixture.h"

/* ---- Reading a trace back ----------------------------------------------------- */

struct span {
    long long track, from, to;
};

static int by_track(const void *a, const void *b)
{
    const struct span *s = a, *t = b;
    if (s->track != t->track) return s->track < t->track ? -1 : 1;
    if (s->from != t->from) return s->from < t->from ? -1 : 1;
    return s->to > t->to ? -1 : s->to < t->to; /* the longer first: it encloses */
}

static long long ns(const json_t *event, const char *key)
{
    return llround(json_number_value(json_object_get(event, key)) * 1000);
}

static const char *text(const json_t *event, const char *key)
{
    const char *value = json_string_value(json_object_get(event, key));
    return value ? value : "";
}

/* How many pairs of slices on one track overlap without one holding the other. */
static size_t wrong_overlaps(const json_t *events)
{
    size_t n = 0, wrong = 0, i, depth = 0;
    json_t *e;
    struct span *span = calloc(json_array_size(events) + 1, sizeof *span);
    struct span *open = calloc(json_array_size(events) + 1, sizeof *open);
    json_array_foreach(events, i, e) if (strcmp(text(e, "ph"), "X") == 0) span[n++] =
        (struct span){ json_integer_value(json_object_get(e, "tid")), ns(e, "ts"),
            ns(e, "ts") + ns(e, "dur") };
    qsort(span, n, sizeof *span, by_track);
    for (i = 0; i < n; i++) {
        while (depth && (open[depth - 1].track != span[i].track || open[depth - 1].to <= span[i].from))
            depth--;
        if (depth && span[i].to > open[depth - 1].to) wrong++;
        open[depth++] = span[i];
    }
    free(span), free(open);
    return wrong;
}

/* Flows whose ends are not both there, in order, each in a slice of its own track. */
static size_t broken_flows(const json_t *events, size_t *flows_out)
{
    size_t i, k, broken = 0, flows = 0, n = json_array_size(events);
    json_t *e, *s;
    long long *began = calloc(n + 1, sizeof *began);
    for (i = 0; i <= n; i++) began[i] = -1;
    json_array_foreach(events, i, e)
    {
        const char *kind = text(e, "ph");
        if (strcmp(kind, "s") != 0 && strcmp(kind, "f") != 0) continue;
        size_t id = (size_t)json_integer_value(json_object_get(e, "id"));
        bool held = false;
        for (k = i; k-- > 0 && !held && i - k < 8;) {
            s = json_array_get(events, k);
            held = strcmp(text(s, "ph"), "X") == 0 &&
                json_equal(json_object_get(s, "tid"), json_object_get(e, "tid")) &&
                ns(s, "ts") <= ns(e, "ts") && ns(e, "ts") < ns(s, "ts") + ns(s, "dur");
        }
        if (!held || id > n) {
            broken++;
            continue;
        }
        if (kind[0] == 's') began[id] = ns(e, "ts"), flows++;
        else if (began[id] < 0 || began[id] > ns(e, "ts") || strcmp(text(e, "bp"), "e") != 0) broken++;
        else began[id] = -2;
    }
    for (i = 0; i <= n; i++) broken += began[i] >= 0;
    free(began);
    *flows_out = flows;
    return broken;
}

static json_t *parsed(const char *path)
{
    json_error_t error;
    json_t *trace = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!trace) printf("  %s:%d: %s\n", path, error.line, error.text);
    return trace;
}

/* ---- Claims --------------------------------------------------------------------- */

TEST(a_trace_names_its_tracks_and_keeps_the_nanosecond)
{
    struct run r;
    struct mot_trace_file *t;
    char *path = scratch("trace.json");
    run_make(&r, &method_async, 2, 1);
    r.machine[1].name = "ed\"ge\\";
    CHECK_INT(mot_trace_open(path, &r.e, false, &t), MOT_OK);
    mot_trace_phase(t, 1, MOT_PHASE_COMPUTE, 5, 32, 1234567, 9999999);
    mot_trace_update(t, 2, 1, 10000001);
    CHECK(access(path, F_OK) != 0); /* whole or not at all */
    CHECK_INT(mot_trace_close(t), MOT_OK);
    json_t *trace = parsed(path), *events = json_object_get(trace, "traceEvents");
    CHECK(trace);
    CHECK_TEXT(text(json_array_get(events, 0), "name"), "process_name");
    CHECK_TEXT(text(json_object_get(json_array_get(events, 1), "args"), "name"), "worker 1 (edge)");
    CHECK_TEXT(text(json_array_get(events, 2), "name"), "thread_sort_index");
    const json_t *slice = json_array_get(events, 3);
    CHECK_TEXT(text(slice, "name"), "compute");
    CHECK_INT(ns(slice, "ts"), 1234567);
    CHECK_INT(ns(slice, "dur"), 9999999 - 1234567);
    CHECK_INT(json_integer_value(json_object_get(json_object_get(slice, "args"), "samples")), 32);
    CHECK_TEXT(text(json_object_get(json_array_get(events, 4), "args"), "name"), "server");
    CHECK_TEXT(text(json_array_get(events, 6), "ph"), "i");
    CHECK_TEXT(text(json_array_get(events, 6), "name"), "update 1");
    json_decref(trace);
    free(path);
}

TEST(a_piece_is_a_moment_in_its_job)
{
    struct run r;
    struct mot_trace_file *t;
    char *path = scratch("trace.json");
    run_make(&r, &method_async, 2, 1);
    CHECK_INT(mot_trace_open(path, &r.e, false, &t), MOT_OK);
    mot_trace_phase(t, 1, MOT_PHASE_PIECE, 5, 12, 2000, 2000);
    mot_trace_phase(t, 1, MOT_PHASE_COMPUTE, 5, 32, 1000, 4000);
    CHECK_INT(mot_trace_close(t), MOT_OK);
    json_t *trace = parsed(path), *events = json_object_get(trace, "traceEvents");
    const json_t *piece = json_array_get(events, 3), *job = json_array_get(events, 4);
    CHECK_TEXT(text(piece, "name"), "piece");
    CHECK_TEXT(text(piece, "ph"), "i");
    CHECK_INT(ns(piece, "ts"), 2000);
    CHECK_INT(json_integer_value(json_object_get(json_object_get(piece, "args"), "samples")), 12);
    CHECK_TEXT(text(job, "name"), "compute"); /* on the same track, whole */
    CHECK_INT(ns(job, "ts"), 1000);
    CHECK_INT(ns(job, "dur"), 3000);
    json_decref(trace);
    free(path);
}

TEST(a_message_is_drawn_for_the_time_it_keeps_each_link)
{
    struct run r;
    struct mot_trace_file *t;
    char *path = scratch("links.json");
    run_make(&r, &method_async, 2, 1);
    r.machine[0].link.up = 3e6; /* 333333.3 ns are 333334 to the links; the server takes 125 MB/s */
    CHECK_INT(mot_trace_open(path, &r.e, false, &t), MOT_OK);
    mot_trace_flight(t,
        &(struct mot_flight){
            .from = 0, .to = 2, .bytes = 1000, .sent = 5, .began = 10, .delivered = 1200010 });
    CHECK_INT(mot_trace_close(t), MOT_OK);
    json_t *trace = parsed(path), *events = json_object_get(trace, "traceEvents"), *e;
    size_t i, flows, slices = 0;
    json_array_foreach(events, i, e)
    {
        if (strcmp(text(e, "ph"), "X") != 0) continue;
        bool send = slices++ == 0;
        CHECK_TEXT(text(e, "name"), send ? "to server" : "from worker 0");
        CHECK_INT(ns(e, "ts"), send ? 10 : 1200010 - 8000);
        CHECK_INT(ns(e, "dur"), send ? 333334 : 8000);
    }
    CHECK_INT(slices, 2);
    CHECK_INT(broken_flows(events, &flows), 0);
    CHECK_INT(flows, 1);
    json_decref(trace);
    free(path);
}

TEST(whatever_overlaps_in_the_run_nests_in_the_trace)
{
    const uint64_t seed = 20261115;
    struct mot_rng rng = mot_rng_at(seed, MOT_RNG_TEST, 0);
    struct run r;
    struct mot_trace_file *t;
    char *path = scratch("random.json");
    printf("  seed %llu\n", (unsigned long long)seed);
    run_make(&r, &method_async, 3, 1);
    CHECK_INT(mot_trace_open(path, &r.e, false, &t), MOT_OK);
    for (int i = 0; i < 4000; i++) {
        mot_time from = mot_rng_below(&rng, 5000), to = from + mot_rng_below(&rng, 300);
        if (i % 2) {
            mot_trace_phase(
                t, (mot_node)mot_rng_below(&rng, 4), (enum mot_phase)mot_rng_below(&rng, 3), 1, 2, from, to);
        } else {
            mot_node a = (mot_node)mot_rng_below(&rng, 4);
            mot_trace_flight(t,
                &(struct mot_flight){ .from = a,
                    .to = (a + 1) % 4,
                    .bytes = mot_rng_below(&rng, 40),
                    .sent = from,
                    .began = from,
                    .delivered = to,
                    .collective = i % 4 == 0 });
        }
    }
    CHECK_INT(mot_trace_close(t), MOT_OK);
    json_t *trace = parsed(path), *events = json_object_get(trace, "traceEvents");
    size_t flows;
    CHECK_INT(wrong_overlaps(events), 0);
    CHECK_INT(broken_flows(events, &flows), 0);
    CHECK_INT(flows, 2000);
    json_decref(trace);
    free(path);
}

TEST(a_trace_stops_at_its_limit_says_so_and_stays_valid)
{
    struct run r;
    struct mot_trace_file *t;
    char *path = scratch("limit.json"), *said = scratch("stderr");
    run_make(&r, &method_async, 2, 1);
    CHECK_INT(mot_trace_open(path, &r.e, false, &t), MOT_OK);
    mot_trace_limit(t, 10);
    fflush(stderr);
    int before = dup(2);
    CHECK(freopen(said, "w", stderr));
    for (mot_time i = 0; i < 100; i++)
        mot_trace_flight(t,
            &(struct mot_flight){
                .from = 0, .to = 2, .bytes = 8, .began = 100 * i, .delivered = 100 * i + 90 });
    fflush(stderr);
    dup2(before, 2), close(before);
    CHECK_INT(mot_trace_close(t), MOT_OK);
    json_t *trace = parsed(path), *other = json_object_get(trace, "otherData");
    size_t flows;
    CHECK_INT(broken_flows(json_object_get(trace, "traceEvents"), &flows), 0);
    CHECK_INT(flows, 2);
    CHECK_TEXT(text(other, "cut"), "true");
    CHECK_TEXT(text(other, "events"), "8");
    CHECK_TEXT(text(other, "events_left_out"), "392");
    char line[256] = "", more[8];
    FILE *in = fopen(said, "r");
    CHECK(fgets(line, sizeof line, in));
    CHECK_HAS(line, "trace.json: stops after 8 events");
    CHECK(!fgets(more, sizeof more, in)); /* once */
    fclose(in);
    json_decref(trace);
    free(path), free(said);
}

TEST(a_trace_larger_than_its_buffer_is_whole)
{
    struct run r;
    struct mot_trace_file *t;
    char *path = scratch("large.json");
    run_make(&r, &method_allreduce, 4, 1);
    CHECK_INT(mot_trace_open(path, &r.e, false, &t), MOT_OK);
    for (mot_time i = 0; i < 40000; i++)
        mot_trace_phase(t, i % 4, MOT_PHASE_COMPUTE, (uint32_t)i, 32, 1000 * i, 1000 * i + 900);
    CHECK_INT(mot_trace_close(t), MOT_OK);
    json_t *trace = parsed(path), *events = json_object_get(trace, "traceEvents");
    CHECK_INT(json_array_size(events), 1 + 4 * 2 + 40000);
    CHECK_INT(wrong_overlaps(events), 0);
    json_decref(trace);
    free(path);
}

TEST_MAIN()
