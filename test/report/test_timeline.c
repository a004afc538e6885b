#include "test.h"

#include "report/fixture.h"
#include "report/timeline.h"

static json_t *read_back(const char *path)
{
    json_error_t error;
    json_t *timeline = json_load_file(path, 0, &error);
    if (!timeline) printf("  %s: %s\n", path, error.text);
    return timeline;
}

static json_t *node_of(json_t *timeline, json_int_t id)
{
    size_t i;
    json_t *node;
    json_array_foreach(json_object_get(timeline, "node"), i,
        node) if (json_integer_value(json_object_get(node, "id")) == id) return node;
    return NULL;
}

static size_t count(json_t *node, const char *kind) { return json_array_size(json_object_get(node, kind)); }
static long long edge(json_t *node, const char *kind, size_t span, size_t side)
{
    return json_integer_value(json_array_get(json_array_get(json_object_get(node, kind), span), side));
}
static long long number(json_t *timeline, const char *key)
{
    return json_integer_value(json_object_get(timeline, key));
}

static void fly(struct mot_timeline *t, mot_node from, mot_node to, mot_time sent, mot_time delivered)
{
    mot_timeline_flight(t,
        &(struct mot_flight){ .from = from, .to = to, .sent = sent, .began = sent, .delivered = delivered });
}

TEST(phases_and_messages_are_written_for_both_ends_to_the_nanosecond)
{
    struct run r;
    char *path = scratch("timeline.json");
    run_make(&r, &method_server, 2, 1);
    r.machine[0].name = "a \"quoted\"\nname";
    struct mot_timeline *t = mot_timeline_open(path, &r.e);
    mot_timeline_phase(t, 0, MOT_PHASE_PIECE, 3, 3); /* shown by its job */
    mot_timeline_phase(t, 0, MOT_PHASE_COMPUTE, 5, 105);
    mot_timeline_phase(t, 1, MOT_PHASE_CANCELLED, 5, 75);
    mot_timeline_phase(t, 1, MOT_PHASE_COLLECTIVE, 80, 90);
    fly(t, 0, 2, 105, 305);
    CHECK_INT(mot_timeline_close(t, 1000), MOT_OK);
    json_t *timeline = read_back(path);
    CHECK(timeline);
    CHECK_INT(number(timeline, "from"), 5);
    CHECK_INT(number(timeline, "until"), 1000);
    CHECK_INT(number(timeline, "nodes_of_run"), 3);
    CHECK(json_is_false(json_object_get(timeline, "cut")));
    CHECK_TEXT(json_string_value(json_object_get(node_of(timeline, 0), "name")), "a \"quoted\"\nname");
    CHECK_TEXT(json_string_value(json_object_get(node_of(timeline, 2), "role")), "server");
    CHECK_INT(edge(node_of(timeline, 0), "compute", 0, 0), 5);
    CHECK_INT(edge(node_of(timeline, 0), "compute", 0, 1), 105);
    CHECK_INT(edge(node_of(timeline, 1), "cancelled", 0, 1), 75);
    CHECK_INT(edge(node_of(timeline, 1), "collective", 0, 0), 80);
    CHECK_INT(edge(node_of(timeline, 0), "send", 0, 1), 305);
    CHECK_INT(edge(node_of(timeline, 2), "receive", 0, 0), 105);
    CHECK_INT(count(node_of(timeline, 2), "send"), 0);
    json_decref(timeline);
    free(path);
}

TEST(messages_that_overlap_are_one_span_and_those_apart_are_two)
{
    struct run r;
    char *path = scratch("overlap.json");
    run_make(&r, &method_allreduce, 2, 1);
    struct mot_timeline *t = mot_timeline_open(path, &r.e);
    for (mot_time i = 0; i < 500; i++) fly(t, 0, 1, 10 * i, 10 * i + 10); /* a ring's many little steps */
    fly(t, 0, 1, 9000, 9100);
    CHECK_INT(mot_timeline_close(t, 10000), MOT_OK);
    json_t *timeline = read_back(path), *first = node_of(timeline, 0);
    CHECK_INT(count(first, "send"), 2);
    CHECK_INT(edge(first, "send", 0, 0), 0);
    CHECK_INT(edge(first, "send", 0, 1), 5000);
    CHECK_INT(edge(first, "send", 1, 0), 9000);
    CHECK_INT(count(node_of(timeline, 1), "receive"), 2);
    json_decref(timeline);
    free(path);
}

TEST(it_stops_after_its_spans_says_where_and_takes_phases_that_began_before)
{
    struct run r;
    char *path = scratch("cut.json");
    run_make(&r, &method_allreduce, 4, 1);
    struct mot_timeline *t = mot_timeline_open(path, &r.e);
    mot_time now = 0;
    for (; !atomic_load(mot_timeline_enough(t)); now += 100) {
        mot_timeline_phase(t, 0, MOT_PHASE_COMPUTE, now, now + 50);
        /* long: it ends after the cut */
        if (now == 220000) mot_timeline_phase(t, 3, MOT_PHASE_COMPUTE, 7, now);
        CHECK(now < 1000000);
    }
    mot_timeline_save(t);
    CHECK(access(path, F_OK) == 0); /* before the run has ended */
    mot_timeline_phase(t, 0, MOT_PHASE_COMPUTE, now, now + 50);
    CHECK_INT(mot_timeline_close(t, now), MOT_OK);
    json_t *timeline = read_back(path);
    CHECK(json_is_true(json_object_get(timeline, "cut")));
    CHECK_INT(count(node_of(timeline, 0), "compute"), MOT_TIMELINE_SPANS);
    CHECK_INT(number(timeline, "until"), (MOT_TIMELINE_SPANS - 1) * 100 + 50);
    CHECK_INT(count(node_of(timeline, 3), "compute"), 1);
    CHECK_INT(edge(node_of(timeline, 3), "compute", 0, 1), 220000);
    json_decref(timeline);
    free(path);
}

TEST(of_many_workers_some_are_kept_from_the_first_to_the_last)
{
    static struct mot_machine machine[1000];
    struct mot_cluster cluster = { .workers = 1000, .machine = machine };
    struct mot_experiment e = { .workers = 1000, .method = &method_allreduce, .cluster = &cluster };
    char *path = scratch("many.json");
    struct mot_timeline *t = mot_timeline_open(path, &e);
    for (mot_node n = 0; n < 1000; n++) mot_timeline_phase(t, n, MOT_PHASE_COMPUTE, n, n + 1);
    CHECK_INT(mot_timeline_close(t, 2000), MOT_OK);
    json_t *timeline = read_back(path);
    CHECK_INT(json_array_size(json_object_get(timeline, "node")), MOT_TIMELINE_WORKERS);
    CHECK_INT(count(node_of(timeline, 0), "compute"), 1);
    CHECK_INT(edge(node_of(timeline, 999), "compute", 0, 0), 999);
    CHECK(!node_of(timeline, 1));
    json_decref(timeline);
    free(path);
}

TEST(a_run_of_which_nothing_was_seen_leaves_no_file)
{
    struct run r;
    char *path = scratch("none.json");
    run_make(&r, &method_allreduce, 2, 1);
    CHECK_INT(mot_timeline_close(mot_timeline_open(path, &r.e), 5), MOT_OK);
    CHECK(access(path, F_OK) != 0);
    CHECK_INT(mot_timeline_close(NULL, 5), MOT_OK);
    free(path);
}

TEST_MAIN()
