/* Parts that are not the workers' own, and samples that are computed more than once but count once: the same
 * figures and the same model under every driver. */
#include "base/file.h"
#include "method/methods.h"
#include "page/page_parts.h"
#include "partition/folder.h"
#include "report/report.h"
#include "report/tally.h"
#include "run/twice.h"
#include "run/world.h"
#include "scratch.h"
#include "wire/team.h"

#define SMALL                                                                                                \
    "data", "digits", "model", "softmax", "method", "twice", "workers", "4", "batch", "8", "optimizer.lr",   \
        "0.05", "evaluate.train", "end"
#define ROUND 32u /* samples: four batches of 8 */

static const struct mot_method *const more[] = { &twice, NULL };

static void play(struct run *r)
{
    mot_methods_extend(more);
    run_go(r);
    mot_methods_extend(NULL);
}

/* Every sample counts once and was computed twice. */
static void check_counts(const struct mot_outcome *out, uint32_t rows, uint64_t updates)
{
    CHECK_INT(out->status, MOT_OK);
    CHECK_INT(out->last.updates, updates);
    CHECK_INT(out->last.samples, updates * ROUND);
    CHECK_INT(out->last.computed, 2 * updates * ROUND);
    CHECK_NEAR(out->last.epochs, (double)(updates * ROUND) / rows, 1e-12);
}

static uint64_t simulated(const char *updates)
{
    struct run r = { 0 };
    RUN_SET(&r, SMALL, "stop.updates", updates);
    play(&r);
    uint64_t hash = r.status == MOT_OK ? r.out.model_hash : 0;
    run_free(&r);
    return hash;
}

/* ---- What methods see ----------------------------------------------------------------------- */

static bool open_world(struct run *r, struct mot_world *w)
{
    mot_methods_extend(more);
    r->status = mot_experiment_open(NULL, r->setting, r->settings, &r->experiment);
    mot_methods_extend(NULL);
    if (r->status == MOT_OK) r->status = mot_job_open(r->experiment, &r->job);
    if (r->status == MOT_OK) r->status = mot_world_open(r->experiment, &r->job.problem, &r->job.optim, w);
    return r->status == MOT_OK;
}

static void close_world(struct run *r, struct mot_world *w)
{
    mot_world_close(w);
    run_free(r);
}

TEST(parts_that_are_not_workers_are_of_equal_size_and_share_the_workers_batches)
{
    struct run r = { 0 };
    struct mot_world w;
    RUN_SET(&r, SMALL, "method.parts", "6", "cluster",
        "{workers: [{count: 2, speed: 100 samples/s}, {count: 2, speed: 900 samples/s}]}", "partition",
        "proportional");
    CHECK(open_world(&r, &w));
    uint64_t samples = 0, rows = 0;
    CHECK_INT(w.parts, 6);
    for (uint32_t i = 0; i < w.parts; i++) {
        samples += w.part_batch[i];
        rows += w.part_rows[i];
        CHECK(w.part_batch[i] == ROUND / 6 || w.part_batch[i] == ROUND / 6 + 1);
        CHECK(w.part_rows[i] == w.rows / 6 || w.part_rows[i] == w.rows / 6 + 1);
    }
    CHECK_INT(samples, ROUND);
    CHECK_INT(rows, r.job.data->train.rows);
    for (mot_node i = 0; i < 4; i++) CHECK_INT(w.batch[i], 8);
    for (uint32_t part = 0; part < w.parts; part++) {
        CHECK(mot_world_holds(r.experiment, &w, 4, part)); /* the server */
        for (mot_node i = 0; i < 4; i++)
            CHECK(mot_world_holds(r.experiment, &w, i, part) == (part % 4 == i || (part + 1) % 4 == i));
    }
    close_world(&r, &w);
}

/* With worker i's batch for part i, rows of some parts would weigh more than others'. */
TEST(batches_that_differ_by_worker_do_not_make_the_batches_of_shared_parts_differ)
{
    static const char *const batch[] = { "8", "[4, 8, 12, 8]" };
    for (size_t b = 0; b < MOT_COUNT(batch); b++) {
        struct run r = { 0 };
        struct mot_world w;
        RUN_SET(&r, SMALL, "method.parts", "4", "batch", batch[b]);
        CHECK(open_world(&r, &w));
        for (uint32_t i = 0; i < 4; i++) CHECK_INT(w.part_batch[i], 8);
        close_world(&r, &w);
    }
}

TEST(a_part_has_a_sample_in_every_round_however_small_the_batches_are)
{
    struct run r = { 0 };
    struct mot_world w;
    RUN_SET(&r, SMALL, "method.parts", "50", "batch", "1");
    CHECK(open_world(&r, &w));
    for (uint32_t i = 0; i < 50; i++) CHECK_INT(w.part_batch[i], 1);
    close_world(&r, &w);
}

TEST(a_full_batch_is_all_rows_of_every_part)
{
    struct run r = { 0 };
    RUN_SET(&r, SMALL, "method.parts", "7", "batch", "full", "stop.epochs", "3");
    play(&r);
    CHECK_INT(r.status, MOT_OK);
    uint64_t rows = r.job.data->train.rows;
    CHECK_INT(r.out.last.updates, 3);
    CHECK_INT(r.out.last.samples, 3 * rows);
    CHECK_INT(r.out.last.computed, 6 * rows);
    run_free(&r);
}

/* ---- The same everywhere ----------------------------------------------------------------------- */

TEST(samples_that_are_computed_twice_count_once)
{
    struct run r = { 0 };
    RUN_SET(&r, SMALL, "stop.updates", "40");
    play(&r);
    CHECK_INT(r.status, MOT_OK);
    check_counts(&r.out, r.job.data->train.rows, 40);
    uint64_t by_workers = 0;
    for (mot_node i = 0; i < 4; i++) by_workers += r.out.node[i].samples;
    CHECK_INT(by_workers, r.out.last.computed);
    run_free(&r);
}

TEST(epochs_end_a_run_by_what_went_into_updates)
{
    static const struct mot_driver *const driver[] = { &mot_driver_sim, &mot_driver_threads };
    for (size_t d = 0; d < MOT_COUNT(driver); d++) {
        struct run r = { .ways = { .driver = driver[d] } };
        RUN_SET(&r, SMALL, "stop.epochs", "0.5");
        play(&r);
        CHECK_INT(r.status, MOT_OK);
        uint32_t rows = r.job.data->train.rows;
        CHECK_TEXT(r.out.ended_by, "epochs");
        check_counts(&r.out, rows, (rows / 2 + ROUND) / ROUND);
        run_free(&r);
    }
}

TEST(threads_and_their_replay_give_the_simulated_model_and_counts)
{
    char folder[] = "/tmp/motley-test-XXXXXX";
    uint64_t hash = simulated("40");
    CHECK(hash != 0 && mkdtemp(folder) != NULL);
    struct run r = { .ways = { .driver = &mot_driver_threads, .record = true } }, again = { 0 };
    RUN_SET(&r, SMALL, "stop.updates", "40", "output", folder);
    play(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK(r.out.model_hash == hash);
    check_counts(&r.out, r.job.data->train.rows, 40);
    again.ways.driver = &mot_driver_replay;
    again.ways.arrivals = folder;
    RUN_SET(&again, SMALL, "stop.updates", "40");
    play(&again);
    CHECK_INT(again.status, MOT_OK);
    CHECK(again.out.model_hash == hash);
    check_counts(&again.out, again.job.data->train.rows, 40);
    run_free(&again);
    run_free(&r);
    scratch_remove(folder);
}

TEST(ranks_give_the_simulated_model_and_counts)
{
    struct team t = { 0 };
    RUN_SET(&t.run, SMALL, "stop.updates", "40");
    mot_methods_extend(more);
    bool open = team_open(&t);
    mot_methods_extend(NULL);
    CHECK(open);
    struct mot_outcome simulated = team_simulate(&t);
    team_go(&t);
    for (uint32_t rank = 0; rank < t.ranks; rank++) CHECK_INT(t.member[rank].status, MOT_OK);
    CHECK(t.member[0].out.model_hash == simulated.model_hash);
    check_counts(&t.member[0].out, t.run.job.data->train.rows, 40);
    mot_outcome_close(&simulated);
    team_forget(&t);
    team_close(&t);
}

TEST(a_run_that_was_stopped_twice_has_counted_like_one_that_was_not)
{
    static const struct mot_driver *const driver[] = { &mot_driver_sim, &mot_driver_threads };
    static const char *const until[] = { "11", "25", "40" };
    uint64_t hash = simulated("40");
    CHECK(hash != 0);
    for (size_t d = 0; d < MOT_COUNT(driver); d++) {
        char folder[] = "/tmp/motley-test-XXXXXX";
        CHECK(mkdtemp(folder) != NULL);
        for (size_t i = 0; i < MOT_COUNT(until); i++) {
            struct run r = { .ways = { .driver = driver[d], .resume = i > 0 } };
            RUN_SET(&r, SMALL, "stop.updates", until[i], "output", folder);
            play(&r);
            CHECK_INT(r.status, MOT_OK);
            check_counts(&r.out, r.job.data->train.rows, strtoul(until[i], NULL, 10));
            CHECK((r.out.model_hash == hash) == (i == 2));
            run_free(&r);
        }
        scratch_remove(folder);
    }
}

/* ---- What redundant work costs ------------------------------------------------------------------ */

/* Ten rounds of a second a batch of 8; with four parts every worker computes 16 samples a round. */
static double seconds_of(const char *method, const char *key, const char *per)
{
    struct run r = { 0 };
    RUN_SET(&r, SMALL, "method", method, "cluster", "{workers: [{count: 4, job_time: 1s}], network: none}",
        "stop.updates", "10");
    if (strcmp(method, "twice") == 0) RUN_SET(&r, "method.parts", "4");
    if (per) run_set(&r, key, per);
    play(&r);
    double seconds = r.status == MOT_OK ? (double)r.out.last.now * 1e-9 : NAN;
    run_free(&r);
    return seconds;
}

TEST(redundant_work_costs_its_samples_unless_the_cluster_says_otherwise)
{
    CHECK_NEAR(seconds_of("twice", NULL, NULL), 20, 1e-9);
    CHECK_NEAR(seconds_of("twice", "cluster.per", "auto"), 20, 1e-9);
    CHECK_NEAR(seconds_of("twice", "cluster.per", "samples"), 20, 1e-9);
    CHECK_NEAR(seconds_of("twice", "cluster.per", "job"), 10, 1e-9);
    CHECK_NEAR(seconds_of("twice", "cluster.workers.0.per", "job"), 10, 1e-9);
}

TEST(a_job_of_one_batch_takes_its_job_time_however_it_is_priced)
{
    CHECK_NEAR(seconds_of("server", NULL, NULL), 10, 1e-9);
    CHECK_NEAR(seconds_of("server", "cluster.per", "samples"), 10, 1e-9);
    CHECK_NEAR(seconds_of("server", "cluster.per", "job"), 10, 1e-9);
}

/* A worker that is slow takes 2 s for a job of two batches, the others 1 s. */
TEST(the_verdict_names_the_time_of_a_whole_job_on_shared_parts)
{
    struct run r = { 0 };
    RUN_SET(&r, SMALL, "method.parts", "4", "cluster",
        "{workers: [{count: 3, job_time: 500ms}, {job_time: 1s}], network: none}", "stop.updates", "10");
    play(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK_NEAR(mot_job_seconds(r.experiment, &r.out, 0), 1, 1e-9);
    CHECK_NEAR(mot_job_seconds(r.experiment, &r.out, 3), 2, 1e-9);
    r.out.node[3].samples /= 2; /* as if each had been cut short half-way, */
    CHECK_NEAR(mot_whole_jobs(r.experiment, &r.out, 3), 5, 1e-9);
    char *verdict = mot_verdict(r.experiment, &r.out);
    CHECK_HAS(verdict, "worker 3");
    CHECK(!strstr(verdict, "batch: [")); /* a worker's batch would not change what it computes */
    free(verdict);
    run_free(&r);
}

TEST(threads_that_emulate_are_held_for_as_long_as_the_samples_cost)
{
    struct run r = { .ways = { .driver = &mot_driver_threads, .emulate = true } };
    RUN_SET(&r, SMALL, "method.parts", "4", "cluster",
        "{workers: [{count: 4, job_time: 20ms}], network: none}", "stop.updates", "5");
    play(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK(r.out.last.now >= 5 * 40000000);
    run_free(&r);
}

static void check_said(const char *per, const char *expected)
{
    struct run r = { 0 };
    RUN_SET(&r, SMALL, "cluster",
        "{workers: [{count: 1, speed: 100 samples/s}, {count: 2, job_time: 1s}, {name: odd, job_time: 1s}]}",
        "stop.updates", "2");
    if (per) run_set(&r, "cluster.workers.odd.per", per);
    play(&r);
    CHECK_INT(r.status, MOT_OK);
    json_t *said = mot_job_summary(&r.job, &mot_driver_sim, &r.out);
    CHECK_TEXT(json_string_value(json_object_get(said, "per")), expected);
    json_decref(said);
    run_free(&r);
}

TEST(the_summary_says_how_redundant_work_was_priced)
{
    check_said(NULL, "samples");
    check_said("job", "mixed");
}

/* ---- Reports ------------------------------------------------------------------------------------ */

static char *text_of(const char *folder, const char *name)
{
    char *path = mot_path_join(folder, name);
    unsigned char *bytes = NULL;
    size_t n = 0;
    if (mot_file_read(path, SIZE_MAX, &bytes, &n) != MOT_OK) abort();
    char *text = mot_grow(bytes, n + 1, 1);
    text[n] = '\0';
    free(path);
    return text;
}

TEST(metrics_summary_and_page_tell_useful_samples_from_computed_ones)
{
    char folder[] = "/tmp/motley-test-XXXXXX";
    CHECK(mkdtemp(folder) != NULL);
    struct run r = { 0 };
    RUN_SET(&r, SMALL, "stop.updates", "10", "output", folder);
    play(&r);
    CHECK_INT(r.status, MOT_OK);
    char *metrics = text_of(folder, "metrics.jsonl"), *summary = text_of(folder, "summary.json");
    CHECK_HAS(metrics, "\"samples\":320,");
    CHECK_HAS(metrics, "\"computed_samples\":640,");
    CHECK_HAS(summary, "\"samples\": 320,");
    CHECK_HAS(summary, "\"computed_samples\": 640,");
    CHECK_HAS(summary, "\"parts\": 6,");
    char *page = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&page, &n);
    mot_page_detail(folder, 0, "", out);
    fclose(out);
    CHECK_HAS(page, "\"samples\":[320,640]");
    free(page);
    json_t *said = mot_job_summary(&r.job, &mot_driver_sim, &r.out), *worker;
    size_t i;
    json_array_foreach(json_object_get(said, "worker"), i, worker)
    {
        uint64_t rows = 0, by_class = 0;
        const struct mot_parts *p = &r.job.parts;
        for (uint32_t part = 0; part < 6; part++)
            if (part % 4 == i || (part + 1) % 4 == i) rows += p->at[part + 1] - p->at[part];
        json_t *count;
        size_t c;
        json_array_foreach(json_object_get(worker, "rows_by_class"), c, count) by_class +=
            (uint64_t)json_integer_value(count);
        CHECK_INT(json_integer_value(json_object_get(worker, "rows")), rows);
        CHECK_INT(by_class, rows);
    }
    json_decref(said);
    free(metrics);
    free(summary);
    run_free(&r);
    scratch_remove(folder);
}

TEST(methods_without_redundant_work_report_as_before)
{
    struct run r = { 0 };
    RUN_SET(&r, SMALL, "method", "server", "stop.updates", "5");
    play(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.out.last.samples, 5 * ROUND);
    CHECK_INT(r.out.last.computed, 0);
    json_t *said = mot_job_summary(&r.job, &mot_driver_sim, &r.out);
    CHECK(!json_object_get(said, "computed_samples") && !json_object_get(said, "parts"));
    json_decref(said);
    run_free(&r);
}

/* ---- What does not fit ------------------------------------------------------------------------------ */

static void refuses(const char *key, const char *value, const char *because)
{
    struct run r = { 0 };
    RUN_SET(&r, SMALL, "data", "{name: digits, test: 0.98}", "method.parts", "64", key, value);
    play(&r);
    CHECK_INT(r.status, MOT_EUSAGE);
    CHECK_HAS(mot_error(), because);
    run_free(&r);
}

TEST(more_parts_than_rows_are_refused_in_these_words)
{
    refuses("partition", "equal", "64 parts share 36 training rows, expected at least one each");
}

TEST(batches_that_a_term_cannot_count_are_refused)
{
    struct run r = { 0 };
    RUN_SET(&r, SMALL, "workers", "5", "batch", "1000000000");
    play(&r);
    CHECK_INT(r.status, MOT_EUSAGE);
    CHECK_HAS(mot_error(), "batch: the batches of all workers come to 5000000000 samples");
    run_free(&r);
}

TEST(a_partition_folder_must_have_as_many_parts_as_the_method)
{
    char folder[] = "/tmp/motley-test-XXXXXX";
    CHECK(mkdtemp(folder) != NULL);
    struct run r = { 0 }, fits = { 0 }, misses = { 0 };
    struct mot_world w;
    RUN_SET(&r, SMALL, "method.parts", "5");
    CHECK(open_world(&r, &w));
    const struct mot_dataset *data = r.job.data;
    struct mot_split split = {
        .table = &data->train, .parts = 5, .seed = 1, .file_rows = data->file_rows, .file_row = data->file_row
    };
    char *inside = mot_path_join(folder, "parts"), *from = mot_format("{from: %s}", inside);
    json_t *facts = mot_partition_facts(&split, &r.job.parts);
    char *json = json_dumps(facts, 0);
    CHECK_INT(mot_partition_write(inside, false, &split, &r.job.parts, json, NULL), MOT_OK);
    RUN_SET(&fits, SMALL, "method.parts", "5", "partition", from, "stop.updates", "2");
    play(&fits);
    CHECK_INT(fits.status, MOT_OK);
    RUN_SET(&misses, SMALL, "method.parts", "6", "partition", from, "stop.updates", "2");
    play(&misses);
    CHECK_INT(misses.status, MOT_EUSAGE);
    CHECK_HAS(mot_error(), "a partition into 5 parts, expected one into the 6 that the method needs");
    free(json);
    json_decref(facts);
    free(inside);
    free(from);
    run_free(&misses);
    run_free(&fits);
    close_world(&r, &w);
    scratch_remove(folder);
}

TEST_MAIN()
