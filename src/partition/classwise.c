/* classwise.c -- the partitioners `herding` and `submodular`: quotas by speed, then each class by itself, by
 * herding.h or by the greedy of greedy.h.
 *
 * Only samples of one class are compared, which takes 1/L of all pairs with L balanced classes, and classes
 * are independent: they run in parallel if memory allows. The choice of algorithm depends on the data, the
 * options and the budget only, never on the number of threads. */
#include "base/memory.h"
#include "base/words.h"
#include "partition/classwise.h"
#include "partition/greedy.h"
#include "partition/herding.h"
#include "partition/quota.h"
#include "partition/sums.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BY_SPEED, BY_NUMBER };
enum algorithm { AUTO, DENSE, BLOCKED, KNN, STOCHASTIC, CHUNKS };
static const char *const algorithm_names[] = { "auto", "dense", "blocked", "knn", "stochastic", "chunks" };
/* By their places in the options' choices. */
static const enum algorithm of_submodular[] = { AUTO, DENSE, BLOCKED, KNN, STOCHASTIC },
                            of_herding[] = { AUTO, DENSE, BLOCKED, CHUNKS };

#define AT(field) offsetof(struct mot_classwise_conf, field)

/* Options of both. */
#define FEATURES                                                                                             \
    { .name = "features",                                                                                    \
        .type = MOT_OPT_TEXT,                                                                                \
        .offset = AT(features),                                                                              \
        .preset = "raw",                                                                                     \
        .doc = "what samples are compared by: raw (the data's columns), pca:K (K principal components), or " \
               "an NPY file with one row per row of the data file" },                                        \
    {                                                                                                        \
        .name = "bandwidth", .type = MOT_OPT_REAL, .offset = AT(bandwidth), .preset = "auto",                \
        .word = "auto", .min = 1e-30, .max = 1e30,                                                           \
        .doc = "the width of the similarity, exp(-d^2 / (2 bandwidth^2)); auto: the median distance in a "   \
               "sample"                                                                                      \
    }
#define MEMORY                                                                                               \
    {                                                                                                        \
        .name = "memory", .type = MOT_OPT_SIZE, .offset = AT(memory), .preset = "2GB", .min = 1,             \
        .doc = "memory to use besides the data"                                                              \
    }
#define SIZES                                                                                                \
    {                                                                                                        \
        .name = "sizes", .type = MOT_OPT_CHOICE, .offset = AT(sizes), .preset = "speed",                     \
        .choices = "speed|equal",                                                                            \
        .doc = "how many rows a worker gets: in proportion to its speed, or equally many"                    \
    }

static const struct mot_option herding_options[] = {
    FEATURES,
    { .name = "algorithm",
        .type = MOT_OPT_CHOICE,
        .offset = AT(algorithm),
        .preset = "auto",
        .choices = "auto|dense|blocked|chunks",
        .doc =
            "dense keeps all similarities of a class and blocked none, with the same result; chunks compares "
            "within chunks of 16384 rows and carries the rest over by random features; auto: dense if it "
            "fits in memory, else chunks" },
    MEMORY,
    SIZES,
    { .name = NULL },
};

static const struct mot_option submodular_options[] = {
    { .name = "objective",
        .type = MOT_OPT_CHOICE,
        .offset = AT(objective),
        .preset = "facility-location",
        .choices = "facility-location|graph-cut",
        .doc = "what a block maximises: how well it covers its class, or how much it shares with the rest of "
               "it" },
    { .name = "rule",
        .type = MOT_OPT_CHOICE,
        .offset = AT(rule),
        .preset = "fill",
        .choices = "fill|literal|round-robin",
        .doc = "the block that takes the next sample: the one filled least, the one with the smallest value "
               "(as in the paper), or round-robin" },
    FEATURES,
    { .name = "algorithm",
        .type = MOT_OPT_CHOICE,
        .offset = AT(algorithm),
        .preset = "auto",
        .choices = "auto|dense|blocked|knn|stochastic",
        .doc = "dense keeps all similarities of a class, blocked none and knn the largest; stochastic looks "
               "at a few random samples per pick; auto: by memory" },
    MEMORY,
    { .name = "neighbours",
        .type = MOT_OPT_UINT,
        .offset = AT(neighbours),
        .preset = "auto",
        .word = "auto",
        .min = 1,
        .max = 1e6,
        .doc = "knn: similarities kept per sample; auto: 16 per worker, at least 128, fewer if memory is "
               "short" },
    { .name = "epsilon",
        .type = MOT_OPT_REAL,
        .offset = AT(epsilon),
        .preset = "1e-4",
        .min = 1e-9,
        .max = 0.9,
        .doc = "stochastic: the fraction of the value that may be lost, on average" },
    SIZES,
    { .name = NULL },
};

struct job {
    const struct mot_classwise_conf *conf;
    bool herds;        /* by herding, not by a submodular function */
    const bool *which; /* [classes]: those to cut; NULL: all */
    const struct mot_split *split;
    struct mot_split_cost *cost;
    struct mot_features features;
    struct mot_strata strata;
    uint32_t *quota, *owner; /* [classes][parts], [rows] */
    double bandwidth;
    enum algorithm algorithm;
    enum mot_similar_kind kind;
    uint32_t neighbours;
    struct mot_headway work;
    struct mot_crew *crew; /* for the classes one after another; NULL: each class has a thread */
    /* [classes] */
    struct result {
        uint64_t pairs, evaluations;
        uint32_t candidates;
        enum mot_status status;
    } * result;
};

/* ---- The plan --------------------------------------------------------------------------- */

static uint32_t largest_class(const struct mot_strata *s)
{
    uint32_t most = 0;
    for (uint32_t c = 0; c < s->classes; c++)
        if (s->at[c + 1] - s->at[c] > most) most = s->at[c + 1] - s->at[c];
    return most;
}

static enum mot_similar_kind kind_of(enum algorithm a)
{
    return a == DENSE ? MOT_SIMILAR_DENSE : a == KNN ? MOT_SIMILAR_KNN : MOT_SIMILAR_BLOCKED;
}

static double class_bytes(const struct job *j, enum algorithm a, uint32_t neighbours)
{
    uint32_t n = largest_class(&j->strata), parts = j->split->parts;
    if (a == CHUNKS) return mot_herding_chunks_bytes(n, j->features.cols, MOT_HERDING_CHUNK, parts);
    return mot_samples_bytes(n, j->features.cols) + mot_similar_bytes(kind_of(a), n, neighbours) +
        (j->herds ? mot_herding_bytes(n, parts)
                  : mot_greedy_bytes((enum mot_objective)j->conf->objective, a == STOCHASTIC, n, parts));
}

/* As many neighbours as were asked for or as fit; 0: not even the minimum fits. */
static uint32_t neighbours_for(const struct job *j, double room)
{
    uint32_t n = largest_class(&j->strata), least = 32,
             parts = j->split->parts < 1000000 ? j->split->parts : 1000000;
    uint32_t want = 16 * parts > 128 ? 16 * parts : 128;
    if (j->conf->neighbours != MOT_WORD_UINT) want = least = (uint32_t)j->conf->neighbours;
    if (want > n) want = n;
    if (least > n) least = n;
    while (want > least && class_bytes(j, KNN, want) > room) want = want / 2 > least ? want / 2 : least;
    return class_bytes(j, KNN, want) <= room ? want : 0;
}

static const char *name_of(const struct job *j) { return j->herds ? "herding" : "submodular"; }

static enum mot_status too_small(const struct job *j, double need, enum algorithm least)
{
    char a[32], b[32];
    return mot_fail(MOT_EUSAGE,
        "partition %s: a memory of %s is too small: %s needs %s besides the data, for classes of up to %u "
        "rows with %u columns",
        name_of(j), mot_show_size((double)j->conf->memory, a, sizeof a), algorithm_names[least],
        mot_show_size(ceil(need), b, sizeof b), largest_class(&j->strata), j->features.cols);
}

static enum mot_status choose(struct job *j)
{
    const bool cut = !j->herds && j->conf->objective == MOT_GRAPH_CUT;
    enum algorithm asked = (j->herds ? of_herding : of_submodular)[j->conf->algorithm];
    double own = mot_features_bytes(&j->features), room = (double)j->conf->memory - own;
    if (cut && (asked == KNN || asked == STOCHASTIC))
        return mot_fail(MOT_EUSAGE,
            "partition submodular: %s is for facility-location; a graph cut needs every pair once, and "
            "`blocked` does that in little memory",
            algorithm_names[asked]);
    /* From exact and large to small; `blocked` is exact for graph cut, and small too. */
    static const enum algorithm for_location[] = { DENSE, KNN, STOCHASTIC }, for_cut[] = { DENSE, BLOCKED },
                                for_herding[] = { DENSE, CHUNKS };
    const enum algorithm *order = asked != AUTO ? &asked
        : j->herds                              ? for_herding
        : cut                                   ? for_cut
                                                : for_location;
    size_t n = asked != AUTO ? 1 : j->herds || cut ? 2 : MOT_COUNT(for_location);
    for (size_t i = 0; i < n && j->algorithm == AUTO; i++) {
        uint32_t k = order[i] == KNN ? neighbours_for(j, room) : 0;
        if (order[i] == KNN ? k == 0 : class_bytes(j, order[i], 0) > room) continue;
        j->algorithm = order[i];
        j->neighbours = k;
    }
    enum algorithm least = order[n - 1];
    uint64_t asked_k = j->conf->neighbours;
    if (j->algorithm == AUTO)
        return too_small(
            j, own + class_bytes(j, least, asked_k != MOT_WORD_UINT ? (uint32_t)asked_k : 32), least);
    j->kind = kind_of(j->algorithm);
    j->cost->bytes = own + class_bytes(j, j->algorithm, j->neighbours);
    return MOT_OK;
}

/* ---- One class ------------------------------------------------------------------------------- */

static uint64_t units_of_class(const struct job *j, uint32_t c)
{
    uint32_t n = j->strata.at[c + 1] - j->strata.at[c];
    if (n == 0 || (j->which && !j->which[c])) return 0;
    if (j->algorithm == CHUNKS) return mot_herding_chunks_units(n, j->features.cols, MOT_HERDING_CHUNK);
    struct mot_samples samples = { .n = n, .cols = j->features.cols };
    struct mot_similar similar = {
        .kind = j->kind, .samples = &samples, .k = j->neighbours < n ? j->neighbours : n
    };
    struct mot_greedy g = { .similar = &similar,
        .objective = (enum mot_objective)j->conf->objective,
        .blocks = j->split->parts,
        .quota = j->quota + (size_t)c * j->split->parts,
        .stochastic = j->algorithm == STOCHASTIC };
    uint64_t all = (uint64_t)n * n * (j->features.cols + 16), fill = all;
    if (j->kind == MOT_SIMILAR_DENSE) fill = all / 2;
    if (j->algorithm == STOCHASTIC) fill = 0;
    return fill + (j->herds ? mot_herding_units(&similar, n) : mot_greedy_units(&g));
}

static struct mot_similar similar_of(struct job *j, const struct mot_samples *samples, unsigned who)
{
    return (struct mot_similar){
        .kind = j->kind, .samples = samples, .crew = j->crew, .who = who, .work = &j->work, .k = j->neighbours
    };
}

static enum mot_status greedy_class(
    struct job *j, uint32_t c, struct mot_similar *similar, uint32_t *owner, struct result *r)
{
    struct mot_greedy g = { .similar = similar,
        .objective = (enum mot_objective)j->conf->objective,
        .rule = (enum mot_block_rule)j->conf->rule,
        .blocks = j->split->parts,
        .quota = j->quota + (size_t)c * j->split->parts,
        .stochastic = j->algorithm == STOCHASTIC,
        .epsilon = j->conf->epsilon,
        .draws = { j->split->seed, c },
        .owner = owner,
        .value = mot_new_large(j->split->parts, sizeof(int64_t)) };
    enum mot_status status = g.value ? mot_greedy_run(&g) : mot_memory_status();
    r->evaluations = g.evaluations;
    r->candidates = g.candidates;
    free(g.value);
    return status;
}

static enum mot_status herd_class(
    struct job *j, uint32_t c, struct mot_similar *similar, uint32_t *owner, struct result *r)
{
    struct mot_herding h = { .similar = similar,
        .blocks = j->split->parts,
        .quota = j->quota + (size_t)c * j->split->parts,
        .owner = owner };
    enum mot_status status = mot_herding_run(&h);
    r->evaluations = h.evaluations;
    return status;
}

static enum mot_status herd_chunks(struct job *j, uint32_t c, unsigned who, uint32_t *owner, struct result *r)
{
    struct mot_herding_class h = { .features = &j->features,
        .row = j->strata.row + j->strata.at[c],
        .n = j->strata.at[c + 1] - j->strata.at[c],
        .chunk = MOT_HERDING_CHUNK,
        .blocks = j->split->parts,
        .quota = j->quota + (size_t)c * j->split->parts,
        .bandwidth = j->bandwidth,
        .seed = j->split->seed,
        .index = c,
        .crew = j->crew,
        .who = who,
        .work = &j->work,
        .owner = owner };
    enum mot_status status = mot_herding_chunks(&h);
    r->evaluations = h.evaluations;
    r->pairs = h.pairs;
    return status;
}

/* All pairs of a class, or what is kept of them. */
static enum mot_status compare_class(
    struct job *j, uint32_t c, unsigned who, uint32_t *owner, struct result *r)
{
    struct mot_samples samples;
    mot_samples_open(&j->features, j->strata.row + j->strata.at[c], j->strata.at[c + 1] - j->strata.at[c],
        j->bandwidth, &samples);
    struct mot_similar similar = similar_of(j, &samples, who);
    enum mot_status status = mot_memory_status();
    if (status == MOT_OK) status = mot_similar_open(&similar);
    if (status == MOT_OK) status = (j->herds ? herd_class : greedy_class)(j, c, &similar, owner, r);
    if (status == MOT_OK) mot_glimpse_class(j->split->glimpse, c, &similar, owner);
    r->pairs = similar.pairs;
    mot_similar_close(&similar);
    mot_samples_close(&samples);
    return status;
}

static void run_class(void *context, uint32_t c, unsigned who)
{
    struct job *j = context;
    struct result *r = &j->result[c];
    const uint32_t *row = j->strata.row + j->strata.at[c];
    uint32_t n = j->strata.at[c + 1] - j->strata.at[c];
    if (n == 0 || (j->which && !j->which[c])) return;
    if (mot_split_interrupted(j->split)) {
        r->status = MOT_EINTERRUPTED;
        return;
    }
    uint32_t *owner = mot_new_large(n, sizeof *owner);
    r->status = !owner           ? mot_memory_status()
        : j->algorithm == CHUNKS ? herd_chunks(j, c, who, owner, r)
                                 : compare_class(j, c, who, owner, r);
    for (uint32_t i = 0; i < n && r->status == MOT_OK; i++) j->owner[row[i]] = owner[i];
    free(owner);
}

/* ---- All of them ------------------------------------------------------------------------------- */

/* One thread per class if each thread can have one and the memory suffices; else all threads in one class. */
static enum mot_status run_classes(struct job *j, struct mot_crew *crew)
{
    uint32_t classes = j->strata.classes, busy = 0;
    double own = mot_features_bytes(&j->features), each = j->cost->bytes - own,
           room = (double)j->conf->memory - own;
    unsigned threads = mot_crew_threads(crew);
    for (uint32_t c = 0; c < classes; c++) {
        busy += j->strata.at[c + 1] > j->strata.at[c];
        j->work.total += (double)units_of_class(j, c);
    }
    bool side_by_side = threads > 1 && busy >= threads && each * threads <= room;
    if (side_by_side) {
        j->cost->bytes = own + each * threads;
        mot_crew_each(crew, classes, run_class, j);
    } else {
        j->crew = crew;
        for (uint32_t c = 0; c < classes; c++) run_class(j, c, 0);
    }
    for (uint32_t c = 0; c < classes; c++) {
        if (j->result[c].status != MOT_OK) return mot_fail(MOT_EINTERRUPTED, "interrupted");
        j->cost->pairs += j->result[c].pairs;
        j->cost->evaluations += j->result[c].evaluations;
        if (j->result[c].candidates > j->cost->candidates) j->cost->candidates = j->result[c].candidates;
    }
    return MOT_OK;
}

static enum mot_status run(struct job *j, struct mot_crew *crew)
{
    const struct mot_split *s = j->split;
    enum mot_status status = mot_features_open(j->conf->features, s, j->conf->memory, crew, &j->features);
    if (status == MOT_OK && !j->quota)
        status = mot_quota_of(&j->strata, s->parts, j->conf->sizes == BY_SPEED ? s->speed : NULL, &j->quota);
    if (status == MOT_OK) status = choose(j);
    if (status != MOT_OK) return status;
    j->bandwidth =
        isnan(j->conf->bandwidth) ? mot_features_bandwidth(&j->features, s->seed) : j->conf->bandwidth;
    *j->cost = (struct mot_split_cost){ .algorithm = algorithm_names[j->algorithm],
        .exact = j->algorithm == DENSE || j->algorithm == BLOCKED ||
            (j->algorithm == CHUNKS && largest_class(&j->strata) <= MOT_HERDING_CHUNK),
        .neighbours = j->neighbours,
        .bandwidth = j->bandwidth,
        .bytes = j->cost->bytes,
        .epsilon = j->algorithm == STOCHASTIC ? j->conf->epsilon : 0 };
    return run_classes(j, crew);
}

/* Fills owner and, unless it is there, quota. */
static enum mot_status run_job(struct job *j)
{
    struct mot_crew *crew = mot_crew_open(mot_split_threads(j->split));
    j->strata = mot_strata_of(j->split->table);
    j->work.split = j->split;
    j->result = mot_new_large(j->strata.classes, sizeof *j->result);
    enum mot_status status = mot_memory_status();
    if (status == MOT_OK) status = run(j, crew);
    mot_crew_close(crew);
    mot_features_close(&j->features);
    mot_strata_free(&j->strata);
    free(j->result);
    return status;
}

static enum mot_status split(const struct mot_classwise_conf *conf, bool herds, const struct mot_split *s,
    struct mot_parts *out, struct mot_split_cost *cost)
{
    struct job j = { .conf = conf, .herds = herds, .split = s, .cost = cost };
    j.owner = mot_new_large(s->table->rows, sizeof *j.owner);
    enum mot_status status = j.owner ? run_job(&j) : mot_memory_status();
    if (status == MOT_OK) *out = mot_parts_owned(s->parts, s->table->rows, j.owner);
    free(j.quota);
    free(j.owner);
    return status;
}

enum mot_status mot_herd_classes(const struct mot_classwise_conf *from, const struct mot_split *s,
    const bool *which, const uint32_t *quota, uint32_t *owner)
{
    struct mot_split_cost cost = { 0 };
    struct mot_classwise_conf conf = *from;
    conf.algorithm = 0; /* the given one may be another partitioner's */
    conf.neighbours = MOT_WORD_UINT;
    struct job j = {
        .conf = &conf, .herds = true, .split = s, .cost = &cost, .which = which, .owner = owner
    };
    size_t cells = (size_t)(s->table->classes ? s->table->classes : 1) * s->parts;
    j.quota = mot_new_large(cells, sizeof *j.quota);
    if (!j.quota) return mot_memory_status();
    memcpy(j.quota, quota, cells * sizeof *j.quota);
    enum mot_status status = run_job(&j);
    free(j.quota);
    return mot_memory_refused() ? mot_memory_status() : status;
}

static enum mot_status split_submodular(
    const void *conf, const struct mot_split *s, struct mot_parts *out, struct mot_split_cost *cost)
{
    return split(conf, false, s, out, cost);
}

static enum mot_status split_herding(
    const void *conf, const struct mot_split *s, struct mot_parts *out, struct mot_split_cost *cost)
{
    return split(conf, true, s, out, cost);
}

const struct mot_partitioner mot_partition_herding = {
    .name = "herding",
    .summary = "a share of every class by speed, matching the class's mean in feature space",
    .options = herding_options,
    .conf_bytes = sizeof(struct mot_classwise_conf),
    .split = split_herding,
};

const struct mot_partitioner mot_partition_submodular = {
    .name = "submodular",
    .summary = "a share of every class by speed that maximises a submodular function (RCD-SGD)",
    .options = submodular_options,
    .conf_bytes = sizeof(struct mot_classwise_conf),
    .split = split_submodular,
};

bool mot_is_classwise(const struct mot_partitioner *p)
{
    return p == &mot_partition_herding || p == &mot_partition_submodular;
}
