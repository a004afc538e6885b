/* Methods whose nodes have their own models: one mean at the end, simulated and on threads, however far
 * apart the nodes are. */
#include "base/file.h"
#include "wire/ranks.h"
#include "method/methods.h"
#include "run/ring.h"
#include "run/run.h"
#include "run/shards.h"
#include "scratch.h"
#include <stdlib.h>
#include <xxhash.h>

#define SMALL                                                                                                \
    "data", "digits", "model", "mlp", "model.hidden", "[16]", "method", "ring", "evaluate.train", "end"
#define UNEVEN                                                                                               \
    "cluster",                                                                                               \
        "{workers: [{count: 5, speed: 20000 samples/s}, {count: 1, speed: 2000 samples/s}], network: "       \
        "{latency: 10us}}"
#define EVEN "workers", "6"

static void play(struct run *r)
{
    static const struct mot_method *const more[] = { &ring, NULL };
    mot_methods_extend(more);
    run_go(r);
    mot_methods_extend(NULL);
}

static uint64_t model_of(const struct mot_driver *driver, bool emulate, const char *const *settings)
{
    struct run r = { .ways = { .driver = driver, .emulate = emulate } };
    run_set_all(&r, settings);
    play(&r);
    bool fine = r.status == MOT_OK && r.out.status == MOT_OK && r.out.last.updates == 40;
    for (int i = 0; i < 6 && driver == &mot_driver_threads; i++) fine = fine && r.out.node[i].updates == 40;
    uint64_t hash = fine ? r.out.model_hash : 0;
    run_free(&r);
    return hash;
}

/* The slow worker's neighbours are held back at once, those across the ring some
 * rounds later: in the simulator they are ahead when it ends. */
TEST(a_ring_ends_with_one_mean_simulated_and_on_threads)
{
    static const char *const even[] = { SMALL, EVEN, "stop.updates", "40", NULL },
                             *const uneven[] = { SMALL, UNEVEN, "stop.updates", "40", NULL };
    uint64_t hash = model_of(&mot_driver_sim, false, even);
    CHECK(hash != 0);
    CHECK(model_of(&mot_driver_sim, false, uneven) == hash);
    CHECK(model_of(&mot_driver_threads, false, even) == hash);
    CHECK(model_of(&mot_driver_threads, true, uneven) == hash);
}

TEST(momentum_does_not_change_that)
{
    static const char *const s[] = { SMALL, UNEVEN, "stop.updates", "40", "optimizer.momentum", "0.9", NULL };
    uint64_t hash = model_of(&mot_driver_sim, false, s);
    CHECK(hash != 0);
    CHECK(model_of(&mot_driver_threads, true, s) == hash);
}

static char *fresh_folder(char *folder, size_t size)
{
    snprintf(folder, size, "/tmp/motley-test-XXXXXX");
    if (!mkdtemp(folder)) abort();
    return folder;
}

/* "updates test_loss" of each line of metrics.jsonl. */
static void lines_of(const struct mot_driver *driver, char *into, size_t size)
{
    char folder[64];
    struct run r = { .ways = { .driver = driver, .emulate = driver == &mot_driver_threads } };
    fresh_folder(folder, sizeof folder);
    RUN_SET(&r, SMALL, UNEVEN, "stop.updates", "60", "evaluate.every", "20 updates", "output", folder);
    play(&r);
    run_free(&r);
    char *path = mot_path_join(folder, "metrics.jsonl"), line[1024];
    FILE *f = fopen(path, "r");
    for (size_t n = 0; f && n < size && fgets(line, sizeof line, f);) {
        const char *updates = strstr(line, "\"updates\":"), *loss = strstr(line, "\"test_loss\":");
        if (updates && loss)
            n += (size_t)snprintf(
                into + n, size - n, "%ld %.12g\n", strtol(updates + 10, NULL, 10), strtod(loss + 12, NULL));
    }
    if (f) fclose(f);
    free(path);
    scratch_remove(folder);
}

/* Emulating, an update takes milliseconds and an evaluation less: none is left out. */
TEST(evaluations_on_threads_are_of_the_mean_at_the_update_that_they_name)
{
    char s[512] = "", t[512] = "";
    lines_of(&mot_driver_sim, s, sizeof s);
    lines_of(&mot_driver_threads, t, sizeof t);
    CHECK_TEXT(t, s);
    CHECK_HAS(s, "\n20 ");
    CHECK_HAS(s, "\n60 ");
}

TEST(a_ring_on_threads_can_be_ended_by_its_clock)
{
    struct run r = { .ways = { .driver = &mot_driver_threads } };
    RUN_SET(&r, SMALL, EVEN, "stop.time", "200ms", "evaluate.every", "20ms");
    play(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK_TEXT(r.out.ended_by, "time");
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 6; i++)
        if (r.out.node[i].updates < least) least = r.out.node[i].updates;
    CHECK_INT(r.out.last.updates, least);
    CHECK(isfinite(r.out.last.score.test_loss)); /* how far it came is the machine's affair */
    run_free(&r);
}

TEST(a_target_that_the_mean_meets_ends_a_ring_on_threads)
{
    struct run r = { .ways = { .driver = &mot_driver_threads } };
    RUN_SET(&r, SMALL, EVEN, "stop.epochs", "200", "stop.target.test_accuracy", "0.8", "evaluate.every",
        "20 updates");
    play(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK_TEXT(r.out.ended_by, "target");
    CHECK(r.out.target.reached && r.out.target.updates % 20 == 0);
    run_free(&r);
}

static uint64_t go_to(const char *updates, const struct mot_driver *driver, const char *folder, bool resume)
{
    struct run r = { .ways = { .driver = driver, .resume = resume, .replace = true } };
    RUN_SET(&r, SMALL, UNEVEN, "stop.updates", updates, "optimizer.momentum", "0.9", "evaluate.every",
        "7 updates", "output", folder);
    play(&r);
    uint64_t hash = r.status == MOT_OK && r.out.status == MOT_OK ? r.out.model_hash : 0;
    run_free(&r);
    return hash;
}

TEST(a_simulated_ring_goes_on_to_the_same_end)
{
    char folder[64];
    fresh_folder(folder, sizeof folder);
    uint64_t whole = go_to("50", &mot_driver_sim, folder, false),
             part = go_to("23", &mot_driver_sim, folder, false);
    CHECK(whole != 0 && part != 0 && part != whole);
    CHECK(go_to("23", &mot_driver_sim, folder, true) == part);
    CHECK(go_to("50", &mot_driver_sim, folder, true) == whole);
    scratch_remove(folder);
}

/* The checksum fits, so only the method can tell. */
TEST(a_state_that_the_method_cannot_be_in_is_refused)
{
    char folder[64];
    size_t n, at = 0;
    unsigned char *bytes;
    const uint64_t mark = RING_MARK;
    fresh_folder(folder, sizeof folder);
    CHECK(go_to("23", &mot_driver_sim, folder, false) != 0);
    char *path = mot_path_join(folder, "checkpoint.bin");
    CHECK_INT(mot_file_read(path, 1u << 30, &bytes, &n), MOT_OK);
    while (at + 8 < n && memcmp(bytes + at, &mark, 8) != 0) at++;
    CHECK(at + 8 < n);
    bytes[at] ^= 1;
    uint64_t sum = XXH64(bytes, n - sizeof sum, 0);
    memcpy(bytes + n - sizeof sum, &sum, sizeof sum);
    CHECK_INT(mot_file_replace(path, bytes, n), MOT_OK);
    CHECK(go_to("50", &mot_driver_sim, folder, true) == 0);
    CHECK_HAS(mot_error(), "checkpoint.bin: damaged: a node is in a state that method ring cannot reach");
    free(bytes);
    free(path);
    scratch_remove(folder);
}

/* A checkpoint has every worker's own model and momentum, since all show theirs after the same update. */
TEST(a_ring_on_threads_goes_on_to_the_same_end)
{
    char folder[64];
    fresh_folder(folder, sizeof folder);
    uint64_t whole = go_to("50", &mot_driver_threads, folder, false),
             part = go_to("23", &mot_driver_threads, folder, false);
    CHECK(whole != 0 && part != 0 && part != whole);
    CHECK(go_to("50", &mot_driver_threads, folder, true) == whole);
    scratch_remove(folder);
}

static uint64_t recorded(const struct mot_driver *driver, const struct mot_method *method, const char *folder)
{
    const struct mot_method *const more[] = { method, NULL };
    struct run r = { .ways = { .driver = driver,
                         .record = driver == &mot_driver_threads,
                         .replace = true,
                         .arrivals = driver == &mot_driver_replay ? folder : NULL } };
    RUN_SET(&r, "data", "digits", "model", "mlp", EVEN, "method", method->name, "stop.updates", "40");
    if (driver == &mot_driver_threads) RUN_SET(&r, "output", folder);
    mot_methods_extend(more);
    run_go(&r);
    mot_methods_extend(NULL);
    uint64_t hash = r.status == MOT_OK && r.out.last.updates >= 40 ? r.out.model_hash : 0;
    run_free(&r);
    return hash;
}

TEST(what_several_nodes_have_between_them_is_replayed_to_the_same_model)
{
    static const struct mot_method *const methods[] = { &ring, &shards };
    for (int i = 0; i < 2; i++) {
        char folder[64];
        fresh_folder(folder, sizeof folder);
        uint64_t hash = recorded(&mot_driver_threads, methods[i], folder);
        CHECK(hash != 0);
        CHECK(recorded(&mot_driver_replay, methods[i], folder) == hash);
        scratch_remove(folder);
    }
}

/* For test_mpi_views.sh: `run DRIVER KEY=VALUE...` plays one of the two
 * methods; over ranks it is started by mpirun. */
static int run_one(char **words)
{
    static const struct mot_method *const more[] = { &ring, &shards, NULL };
    static char setting[SETTINGS_MAX][256];
    bool ranks = strcmp(words[0], "mpi") == 0;
    struct run r = { .ways = { .driver = ranks              ? &mot_driver_mpi
                             : strcmp(words[0], "sim") == 0 ? &mot_driver_sim
                                                            : &mot_driver_threads,
                         .replace = true,
                         .resume = getenv("RESUME") != NULL } };
    for (int i = 1; words[i] && i < SETTINGS_MAX; i++) {
        snprintf(setting[i], sizeof setting[i], "%s", words[i]);
        char *value = strchr(setting[i], '=');
        if (!value) return 2;
        *value++ = 0;
        run_set(&r, setting[i], value);
    }
    mot_methods_extend(more);
    struct mot_transport *transport;
    if (ranks && (mot_mpi_open(&transport) != MOT_OK || mot_ranks_open(transport, &r.ways.ranks) != MOT_OK))
        return 2;
    run_go(&r);
    bool leads = mot_ranks_rank(r.ways.ranks) == 0;
    if (leads && r.status == MOT_OK)
        printf("%016llx %llu updates %s %.6g\n", (unsigned long long)r.out.model_hash,
            (unsigned long long)r.out.last.updates, r.out.ended_by, r.out.last.score.test_loss);
    enum mot_status status = r.status != MOT_OK ? r.status : r.out.status;
    run_free(&r);
    bool clean = !ranks || mot_ranks_leave(r.ways.ranks, status);
    fflush(NULL);
    if (!clean) _exit(status);
    return (int)status;
}

int main(int count, char **arguments)
{
    if (count > 2 && strcmp(arguments[1], "run") == 0) return run_one(arguments + 2);
    return test_main(count, arguments);
}
