/* Memory that is refused: for n = 1, 2, 3, ... the n-th allocation of a run through the public API fails, or
 * all from the n-th on. Every such call ends with MOT_ESYSTEM or with the right model, nothing is left
 * half-written, and under AddressSanitizer nothing leaks. A seeded sample of n; all of them with MOTLEY_LONG.
 *
 * Requests that grow with the input get NULL when they are refused, and have to be checked where they are
 * made: of those in a simulated run, one from each place in the code fails by itself, whatever the seed.
 *
 * malloc and its like are this program's own: so requests of jansson, libyaml, zlib and the C library fail
 * as well. */
#include "base/memory.h"
#include "base/rng.h"
#include "method/methods.h"
#include "test.h"
#include <dirent.h>
#include <errno.h>
#include <motley/motley.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>
#include <zlib.h>

/* ---- Allocation that fails ------------------------------------------------------------------- */

#if SANITIZED
#define REAL(name) __interceptor_##name
#else
#define REAL(name) __libc_##name
#endif
/* They are called before a sanitizer is ready to look at them. */
#define UNSEEN __attribute__((no_sanitize("address", "undefined")))
#define OVERRIDE __attribute__((visibility("default"))) UNSEEN
void *REAL(malloc)(size_t);
void *REAL(calloc)(size_t, size_t);
void *REAL(realloc)(void *, size_t);
void *REAL(memalign)(size_t, size_t);

static atomic_bool armed;
static atomic_ulong asked;  /* since it was armed */
static unsigned long first; /* that fails; 0: none */
static bool all_from_there; /* fail, not just that one */
/* A sanitizer starts threads in ways that bear no failure: under one, only the main thread has them. */
static _Thread_local bool exempt = SANITIZED;

/* Which requests were `large`, of a run that nothing is refused; one for each place that asks. */
#define LARGE_MOST 1000u
static struct {
    bool looking;
    unsigned n;
    unsigned long at[LARGE_MOST];
    void *place[LARGE_MOST];
} large;

/* Whether it is in a function that asks for large memory. */
UNSEEN static bool asks_for_large(const char *address)
{
    const ptrdiff_t length = SANITIZED ? 400 : 100; /* or more: then others count, too */
    const char *const begin[] = { (const char *)(uintptr_t)mot_new_large,
        (const char *)(uintptr_t)mot_grow_large, (const char *)(uintptr_t)mot_aligned_large,
        (const char *)(uintptr_t)mot_reserve };
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
        if (address > begin[i] && address - begin[i] < length) return true;
    return false;
}

#define FRAMES 8
struct frames {
    void *at[FRAMES];
    int n;
};

UNSEEN static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *self)
{
    struct frames *f = self;
    f->at[f->n++] = (void *)(uintptr_t)_Unwind_GetIP(context);
    return f->n == FRAMES ? _URC_END_OF_STACK : _URC_NO_REASON;
}

UNSEEN static void look_at(unsigned long n)
{
    struct frames f = { .n = 0 };
    int k = 0;
    _Unwind_Backtrace(add_frame, &f);
    while (k < f.n && !asks_for_large(f.at[k])) k++;
    if (k + 1 >= f.n || large.n == LARGE_MOST) return;
    for (unsigned i = 0; i < large.n; i++)
        if (large.place[i] == f.at[k + 1]) return;
    large.place[large.n] = f.at[k + 1];
    large.at[large.n++] = n;
}

static size_t too_many; /* bytes in one request; 0: none are */

UNSEEN static bool fails(size_t bytes)
{
    if (!atomic_load_explicit(&armed, memory_order_relaxed) || exempt) return false;
    unsigned long n = atomic_fetch_add(&asked, 1) + 1;
    if (large.looking) look_at(n);
    bool its_turn = first && (all_from_there ? n >= first : n == first);
    if (!its_turn && !(too_many && bytes >= too_many)) return false;
    errno = ENOMEM;
    return true;
}

#ifndef __SANITIZE_THREAD__ /* which has to know of all memory */
OVERRIDE void *malloc(size_t n) { return fails(n) ? NULL : REAL(malloc)(n); }
OVERRIDE void *calloc(size_t n, size_t size) { return fails(n * size) ? NULL : REAL(calloc)(n, size); }
OVERRIDE void *realloc(void *p, size_t n) { return fails(n) ? NULL : REAL(realloc)(p, n); }
OVERRIDE void *aligned_alloc(size_t to, size_t n) { return fails(n) ? NULL : REAL(memalign)(to, n); }
OVERRIDE void *memalign(size_t to, size_t n) { return fails(n) ? NULL : REAL(memalign)(to, n); }
OVERRIDE void *mmap(void *at, size_t n, int protection, int flags, int file, off_t offset)
{
    if (fails(n)) return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, n, protection, flags, file, offset);
}
#endif

/* Nor does anything wait for the disk: these files are not to survive a power failure. */
__attribute__((visibility("default"))) int fsync(int file)
{
    (void)file;
    return 0;
}

static void arm(unsigned long n, bool all)
{
    first = n;
    all_from_there = all;
    exempt = false;
    atomic_store(&asked, 0);
    atomic_store(&armed, true);
}

static unsigned long disarm(void)
{
    atomic_store(&armed, false);
    return atomic_load(&asked);
}

/* ---- Runs ---------------------------------------------------------------------------------------- */

#define SETS_MOST 24
struct trial {
    const char *name;
    bool train;  /* on threads, not simulated */
    bool resume; /* goes on with a run that was made before */
    bool folder; /* leaves one */
    const char *file;
    const char *set[SETS_MOST];
};

static char scratch[40];
static char output[64], file_csv[128], file_svm[128], file_yaml[64], file_streams[64], folder_set[96],
    source_set[128];

/* The small runs' data, model and length. */
#define SMALL                                                                                                \
    "data=synthetic", "data.size=90", "data.cols=3", "model=softmax", "workers=3", "stop.updates=5", "batch=4"
#define LIVE SMALL, "checkpoint.every=2 updates"

/* Besides these, every method with its defaults. */
static const struct trial trials[] = {
    { .name = "validation and norms",
        .set = { SMALL, "method=allreduce", "data.valid=0.1", "evaluate.grad_norm=true" } },
    { .name = "some clients", .set = { SMALL, "method=fedavg", "method.clients=2" } },
    { .name = "a regular graph", .set = { SMALL, "method=dpsgd", "topology=regular", "topology.degree=2" } },
    { .name = "matchings by chance",
        .set = { SMALL, "method=matcha", "method.budget=0.5", "topology=complete" } },
    { .name = "a cyclic code",
        .set = { SMALL, "method=coded", "workers=5", "code=crc", "code.stragglers=2" } },
    { .name = "groups that decode",
        .set = { SMALL, "method=coded", "workers=4", "code=hetero-groups", "code.stragglers=1" } },
    { .name = "a network",
        .set = { "data=digits", "data.size=60", "model=network",
            "model.layers=[{name: conv, out: 2, kernel: 3, padding: 1}, batch_norm, relu, flatten, {name: "
            "linear, out: classes}]",
            "workers=2", "stop.updates=2", "batch=4" } },
    { .name = "packets", .set = { SMALL, "method=server", "compress={name: topk, ratio: 10%}" } },
    { .name = "packets with what is left",
        .set = { SMALL, "method=async", "compress={name: topk, ratio: 10%, feedback: ef}" } },
    { .name = "samples that arrive", .file = file_streams, .set = { SMALL, "workers=3", "method=scadles" } },
    { .name = "digits on two threads",
        .set = { "data=digits", "model=mlp", "model.hidden=[8]", "workers=3", "stop.updates=4",
            "sim.threads=2" } },
    { .name = "faults, a trace and a checkpoint",
        .folder = true,
        .file = file_yaml,
        .set = { "data=synthetic", "data.size=90", "data.cols=3", "model=softmax", "batch=4",
            "stop.updates=5", "trace=true", "checkpoint.every=2 updates", "data.valid=0.1" } },
    { .name = "a checkpoint that goes on",
        .folder = true,
        .resume = true,
        .set = { LIVE, "method=server", "data.valid=0.1", "stop.updates=8" } },
    { .name = "models that differ go on",
        .folder = true,
        .resume = true,
        .set = { LIVE, "method=dpsgd", "stop.updates=8" } },
    { .name = "CSV, packed",
        .set = { "data=", "model=softmax", "workers=2", "stop.updates=3", "data.scale=standard",
            "data.order=sorted" } },
    { .name = "LIBSVM",
        .set = { "data=", "model=logistic", "workers=2", "stop.updates=3", "batch=2", "data.scale=minmax" } },
    { .name = "herding", .set = { SMALL, "partition=herding", "partition.features=pca:2" } },
    { .name = "submodular", .set = { SMALL, "partition=submodular", "partition.algorithm=knn" } },
    { .name = "graph cut", .set = { SMALL, "partition=submodular", "partition.objective=graph-cut" } },
    { .name = "stochastic", .set = { SMALL, "partition=submodular", "partition.algorithm=stochastic" } },
    { .name = "dirichlet", .set = { SMALL, "partition=dirichlet" } },
    { .name = "shards", .set = { SMALL, "partition=shards" } },
    { .name = "quantity", .set = { SMALL, "partition=quantity" } },
    { .name = "proportional", .set = { SMALL, "partition=proportional" } },
    { .name = "stratified", .set = { SMALL, "partition=stratified" } },
    { .name = "sorted", .set = { SMALL, "partition=sorted" } },
    { .name = "threads, allreduce", .train = true, .folder = true, .set = { LIVE, "method=allreduce" } },
    { .name = "threads, server",
        .train = true,
        .folder = true,
        .set = { LIVE, "method=server", "data.valid=0.1" } },
    { .name = "threads, async", .train = true, .set = { SMALL, "method=async" } },
    { .name = "threads, a source",
        .train = true,
        .set = { SMALL, "method=allreduce", "workers=1", "stop.updates=20", "source.ends=true",
            "evaluate.train=end" } },
    { .name = "threads, dpsgd", .train = true, .folder = true, .set = { LIVE, "method=dpsgd" } },
    { .name = "threads that go on",
        .train = true,
        .folder = true,
        .resume = true,
        .set = { LIVE, "method=allreduce", "stop.updates=8" } },
};

static void remove_files(const char *path)
{
    char name[512];
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        unlink(name);
    }
    if (d) closedir(d);
    rmdir(path);
}

/* What a killed or failed run may not leave. */
static bool has_temporary(const char *path)
{
    bool has = false;
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) has |= strstr(e->d_name, ".tmp") != NULL;
    if (d) closedir(d);
    return has;
}

struct result {
    enum mot_status status;
    float *x; /* a copy of the model */
    size_t n;
    char error[256];
};

static size_t sets_of(const struct trial *t, const char **set)
{
    size_t n = 0;
    for (; n < SETS_MOST && t->set[n]; n++) set[n] = t->set[n];
    if (strcmp(t->name, "CSV, packed") == 0) set[0] = file_csv;
    if (strcmp(t->name, "LIBSVM") == 0) set[0] = file_svm;
    if (strcmp(t->name, "threads, a source") == 0) set[n++] = source_set;
    if (t->folder) set[n++] = folder_set;
    return n;
}

/* Opens, runs and closes; the n-th allocation from the opening to the closing fails, 0: none. */
static struct result make(
    const struct trial *t, bool resume, unsigned long n, bool all, unsigned long *asked_out)
{
    const char *set[SETS_MOST + 1];
    struct mot_run_options o = { .size = sizeof o,
        .experiment = t->file,
        .set = set,
        .sets = sets_of(t, set),
        .resume = resume,
        .replace = !resume };
    struct mot_run *run = NULL;
    struct result r = { 0 };
    size_t floats = 0;
    arm(n, all);
    r.status = mot_run_open(&o, &run);
    if (r.status == MOT_OK) r.status = t->train ? mot_run_train(run) : mot_run_simulate(run);
    *asked_out = disarm();
    snprintf(r.error, sizeof r.error, "%s", mot_error());
    const float *x = run && r.status == MOT_OK ? mot_run_model(run, &floats) : NULL;
    if (x) {
        r.n = floats;
        r.x = memcpy(malloc(floats * sizeof *x), x, floats * sizeof *x);
        if (mot_run_summary(run)[0] != '{') r.status = MOT_EREPRODUCE; /* a summary is part of the result */
    }
    mot_run_close(run);
    return r;
}

/* The run that another is to go on from: shorter. */
static void make_first_half(const struct trial *t)
{
    struct trial half = *t;
    size_t n = 0;
    while (half.set[n]) n++;
    half.set[n - 1] = "stop.updates=4";
    unsigned long asked_then;
    struct result r = make(&half, false, 0, false, &asked_then);
    free(r.x);
    if (r.status != MOT_OK) printf("  %s, its first half: %s\n", t->name, r.error);
}

/* Whether the run with that failure ends as it should. */
static bool holds(const struct trial *t, const struct result *right, unsigned long n, bool all)
{
    unsigned long asked_then;
    if (t->folder) remove_files(output);
    if (t->resume) make_first_half(t);
    struct result r = make(t, t->resume, n, all, &asked_then);
    /* Methods that take gradients as they come give other bits on threads every time. */
    bool repeats = !t->train || !strstr(t->name, "async");
    bool good = r.status == MOT_ESYSTEM ? r.error[0] != 0
                                        : r.status == MOT_OK && r.n == right->n &&
            (!repeats || memcmp(r.x, right->x, r.n * sizeof *r.x) == 0);
    if (good && t->folder && has_temporary(output)) {
        good = false;
        snprintf(r.error, sizeof r.error, "a file is left half-written");
    }
    if (!good)
        printf("  %s: %s %lu of %lu fail%s: status %d, %s\n", t->name, all ? "all from" : "allocation", n,
            asked_then, all ? "" : "s", r.status, r.error);
    free(r.x);
    return good;
}

static void write_files(void)
{
    char path[96];
    snprintf(scratch, sizeof scratch, "/tmp/motley-no-memory-XXXXXX");
    CHECK(mkdtemp(scratch) != NULL);
    snprintf(output, sizeof output, "%s/run", scratch);
    snprintf(folder_set, sizeof folder_set, "output=%s", output);
    snprintf(path, sizeof path, "%s/data.csv.gz", scratch);
    snprintf(file_csv, sizeof file_csv, "data=%s", path);
    gzFile packed = gzopen(path, "wb");
    gzputs(packed, "length,width,kind\n");
    for (int i = 0; i < 60; i++) gzprintf(packed, "%d.5,%d,%s\n", i % 7, i * i % 11, i % 3 ? "blue" : "red");
    gzclose(packed);
    snprintf(path, sizeof path, "%s/data.libsvm", scratch);
    snprintf(file_svm, sizeof file_svm, "data=%s", path);
    FILE *out = fopen(path, "w");
    for (int i = 0; i < 60; i++) fprintf(out, "%+d 1:%d %d:0.5\n", i % 2 ? 1 : -1, i % 5, 2 + i % 9);
    fclose(out);
    snprintf(file_yaml, sizeof file_yaml, "%s/experiment.yaml", scratch);
    out = fopen(file_yaml, "w");
    fputs("method: {name: server, k: 2}\n"
          "cluster: {workers: [{count: 2, speed: 1000/s}, {count: 2, speed: 300/s, jitter: {name: lognormal, "
          "sigma: 0.3}}],\n"
          "  faults: {drop: 5%, crash: 0.5/s, restart_after: 1s}}\n",
        out);
    fclose(out);
    snprintf(file_streams, sizeof file_streams, "%s/streams.yaml", scratch);
    out = fopen(file_streams, "w");
    fputs("cluster: {workers: [{count: 3, speed: 1000/s}],\n"
          "  stream: {name: list, rates: [200, 500, 900], buffer: truncate}}\n",
        out);
    fclose(out);
    snprintf(path, sizeof path, "%s/arrive.csv", scratch);
    snprintf(source_set, sizeof source_set, "source.from=%s", path);
    out = fopen(path, "w");
    for (int i = 0; i < 300; i++) fprintf(out, "%d,%d.5,%d,%d\n", i % 7, i * i % 11, i % 5, i % 2);
    fclose(out);
}

static void remove_all(void)
{
    remove_files(output);
    remove_files(scratch);
}

struct tally {
    unsigned long looked_at, bad, put_aside;
    uint64_t seed;
};

/* The result with memory, and how often it is asked for; then `large` says where for large requests. */
static struct result make_right(const struct trial *t, unsigned long *total)
{
    struct result warm = { 0 }, right = { 0 };
    for (int turn = 0; turn < 2; turn++) { /* what libraries keep for ever they have after the first */
        if (t->folder) remove_files(output);
        if (t->resume) make_first_half(t);
        large.n = 0;
        large.looking = turn > 0 && !t->train;
        right = make(t, t->resume, 0, false, total);
        large.looking = false;
        if (turn == 0) warm = right;
    }
    free(warm.x);
    if (right.status != MOT_OK) printf("  %s: %s\n", t->name, right.error);
    return right;
}

static void try_one(const struct trial *t, unsigned long sample, uint64_t stream, struct tally *tally)
{
    bool all_of_them = getenv("MOTLEY_LONG") != NULL;
    const char *only = getenv("MOTLEY_TRIAL");
    if (only && !strstr(t->name, only)) return;
    unsigned long total, aside = tally->put_aside;
    struct mot_rng rng = mot_rng_at(tally->seed, MOT_RNG_TEST, stream);
    struct result right = make_right(t, &total);
    CHECK_INT(right.status, MOT_OK);
    unsigned larges = large.n, stride = SANITIZED ? 12 : 1;
    for (unsigned k = (unsigned)mot_rng_below(&rng, stride); k < larges; k += stride, tally->looked_at++)
        tally->bad += !holds(t, &right, large.at[k], false);
    for (unsigned long k = 0; all_of_them ? k < total : k < sample; k++, tally->looked_at += 2) {
        unsigned long n = all_of_them ? k + 1
            : k == 0                  ? 1 + mot_rng_below(&rng, aside)
                                      : aside + 1 + mot_rng_below(&rng, total - aside);
        tally->bad += !holds(t, &right, n, false) + !holds(t, &right, n, true);
    }
    if (getenv("MOTLEY_TIMES")) printf("  %s: %lu allocations, %u of large memory\n", t->name, total, larges);
    free(right.x);
}

/* `sample` n of each trial are looked at, and `each` of every method. */
static void try_all(bool train, unsigned long sample, unsigned long each)
{
#ifdef __SANITIZE_THREAD__
    SKIP("ThreadSanitizer has its own malloc");
#endif
    struct tally tally = { .seed = getenv("MOTLEY_SEED") ? strtoull(getenv("MOTLEY_SEED"), NULL, 10) : 1 };
    struct mot_spare *spare;
    arm(0, false);
    CHECK_INT(mot_spare_open(&spare), MOT_OK);
    tally.put_aside = disarm();
    mot_spare_close(spare);
    printf("  seed %llu\n", (unsigned long long)tally.seed);
    for (size_t i = 0; i < MOT_COUNT(trials); i++)
        if (trials[i].train == train) try_one(&trials[i], sample, i, &tally);
    const struct mot_method *m;
    for (size_t i = 0; each && (m = mot_method_at(i)); i++) {
        char method[40];
        snprintf(method, sizeof method, "method=%s", m->name);
        const struct trial t = { .name = m->name, .set = { SMALL, "workers=4", method } };
        try_one(&t, each, MOT_COUNT(trials) + i, &tally);
    }
    printf("  %lu runs with failures\n", tally.looked_at);
    CHECK_INT(tally.bad, 0);
}

/* Or the runs that follow would be samples only. */
TEST(a_request_for_large_memory_is_known_from_others)
{
#ifdef __SANITIZE_THREAD__
    SKIP("ThreadSanitizer has its own malloc");
#endif
    large.n = 0;
    large.looking = true;
    arm(0, false);
    free(mot_new(100, 1));
    unsigned before = large.n;
    void *one = mot_new_large(100, 1), *other = mot_grow_large(NULL, 100, 1),
         *aligned = mot_aligned_large(100);
    unsigned found = large.n;
    disarm();
    large.looking = false;
    free(one), free(other), free(aligned);
    CHECK_INT(before, 0);
    CHECK_INT(found, 3);
}

TEST(a_simulated_run_without_memory_ends_with_a_status_or_the_right_result)
{
    write_files();
    try_all(false, SANITIZED ? 6 : 24, SANITIZED ? 2 : 8);
    remove_all();
}

TEST(a_run_on_threads_without_memory_ends_with_a_status_or_the_right_result)
{
    write_files();
    try_all(true, SANITIZED ? 6 : 40, 0);
    remove_all();
}

struct beside {
    pthread_t thread;
    unsigned good, made;
};

static void *run_beside(void *p)
{
    struct beside *b = p;
    const char *set[] = { SMALL };
    exempt = true;
    for (; b->made < 20; b->made++) {
        struct mot_run_options o = { .size = sizeof o, .set = set, .sets = MOT_COUNT(set) };
        struct mot_run *run = NULL;
        b->good += mot_run_open(&o, &run) == MOT_OK && mot_run_simulate(run) == MOT_OK;
        mot_run_close(run);
    }
    return NULL;
}

TEST(a_call_beside_one_that_has_no_memory_does_not_notice)
{
#ifdef __SANITIZE_THREAD__
    SKIP("ThreadSanitizer has its own malloc");
#endif
    struct beside beside = { 0 };
    unsigned refused = 0, total = 20;
    CHECK_INT(pthread_create(&beside.thread, NULL, run_beside, &beside), 0);
    for (unsigned i = 0; i < total; i++) {
        unsigned long asked_then;
        struct result r = make(&trials[0], false, 1400 + 10 * i, true, &asked_then);
        refused += r.status == MOT_ESYSTEM;
        free(r.x);
    }
    pthread_join(beside.thread, NULL);
    CHECK_INT(refused, total);
    CHECK_INT(beside.good, beside.made);
}

/* More than any block that a call has put aside: a request that nobody checks ends the process. */
static void refuse_large(const char *const *set, size_t sets)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct mot_run_options o = { .size = sizeof o, .set = set, .sets = sets };
        struct mot_run *run = NULL;
        too_many = (1 << 20) + 1;
        arm(0, false);
        enum mot_status status = mot_run_open(&o, &run);
        if (status == MOT_OK) status = mot_run_simulate(run);
        disarm();
        _exit(status != MOT_ESYSTEM || strstr(mot_error(), "out of memory") == NULL ? 98 : 0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 0);
}

TEST(a_request_that_grows_with_the_square_of_the_workers_is_a_status_if_refused)
{
#ifdef __SANITIZE_THREAD__
    SKIP("ThreadSanitizer has its own malloc");
#endif
    static const char *const set[][8] = {
        { "workers=500", "method=coded", "code=crc", "code.stragglers=2" },
        { "workers=500", "method=coded", "code=hetero", "code.stragglers=300" },
        { "workers=500", "method=coded", "code=hetero-groups", "code.stragglers=300" },
        { "workers=500", "method=coded", "code=frc", "code.decoder=optimal" },
        { "workers=2000", "method=dpsgd", "topology=complete" },
    };
    for (size_t i = 0; i < MOT_COUNT(set); i++) {
        const char *all[12] = { "data=synthetic", "data.size=5000", "data.cols=3", "model=softmax" };
        size_t n = 4;
        for (size_t k = 0; k < 8 && set[i][k]; k++) all[n++] = set[i][k];
        refuse_large(all, n);
    }
}

TEST(data_that_the_machine_cannot_hold_is_a_status)
{
    if (SANITIZED) SKIP("a sanitizer needs address space of its own");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) { /* with 100 MB of addresses, of which the data would take 400 */
        const char *set[] = { "data=synthetic", "data.size=2000000", "data.cols=50" };
        struct rlimit most = { 100 << 20, 100 << 20 };
        struct mot_run_options o = { .size = sizeof o, .set = set, .sets = MOT_COUNT(set) };
        struct mot_run *run = NULL;
        if (setrlimit(RLIMIT_AS, &most) != 0) _exit(99);
        enum mot_status status = mot_run_open(&o, &run);
        _exit(run || strstr(mot_error(), "out of memory") == NULL ? 98 : (int)status);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), MOT_ESYSTEM);
}

TEST_MAIN()
