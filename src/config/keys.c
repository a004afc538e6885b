#include "config/keys.h"
#include "code/codes.h"
#include "compress/compress.h"
#include "config/experiment.h"
#include "math/models.h"
#include "topology/topology.h"
#include <stdlib.h>
#include <string.h>

#define ABOVE_ZERO 1e-300 /* as a minimum it excludes 0 */
#define FIELD(type, field) offsetof(struct type, field)

/* `batch` and `cluster` are read by the experiment itself; their entries are for help and flags. */
const struct mot_option mot_header_options[] = {
    { .name = "seed",
        .type = MOT_OPT_UINT,
        .offset = FIELD(mot_header_conf, seed),
        .preset = "1",
        .doc = "the seed of everything random: data order, initial model, jitter, straggling" },
    { .name = "workers",
        .type = MOT_OPT_UINT,
        .offset = FIELD(mot_header_conf, workers),
        .preset = "auto",
        .word = "auto",
        .min = 1,
        .max = MOT_WORKERS_MAX,
        .doc = "how many workers; auto: as many as in the cluster, or else 8" },
    { .name = "batch",
        .type = MOT_OPT_TEXT,
        .offset = FIELD(mot_header_conf, batch),
        .preset = "32",
        .doc = "samples per gradient: a number, 'full' for all rows of the worker, or a list with one number "
               "per worker" },
    { .name = "sizing",
        .type = MOT_OPT_CHOICE,
        .offset = FIELD(mot_header_conf, sizing),
        .preset = "equal",
        .choices = "equal|proportional",
        .doc = "batch sizes: `batch` for every worker, or in proportion to its speed in the cluster, so that "
               "all take equally long; the total stays the same" },
    { .name = "cluster",
        .type = MOT_OPT_TEXT,
        .offset = FIELD(mot_header_conf, cluster),
        .preset = "auto",
        .word = "auto",
        .doc = "a cluster file, or the cluster itself (see motley help cluster); auto: identical workers "
               "with 1000 samples/s, 1Gbit/s, 100us" },
    { .name = "elastic",
        .type = MOT_OPT_BOOL,
        .offset = FIELD(mot_header_conf, elastic),
        .preset = "false",
        .doc = "methods with a server: when no worker is left, wait for one to come back instead of ending "
               "the run" },
    { .name = "from",
        .type = MOT_OPT_TEXT,
        .offset = FIELD(mot_header_conf, from),
        .preset = "none",
        .word = "none",
        .doc = "start from the parameters in this model.safetensors, or of the run in this folder; none: as "
               "model.init says" },
    { .name = "no_raw_data",
        .type = MOT_OPT_BOOL,
        .offset = FIELD(mot_header_conf, no_raw_data),
        .preset = "false",
        .doc = "refuse methods and options that send samples from one worker to another" },
    { .name = "trace",
        .type = MOT_OPT_BOOL,
        .offset = FIELD(mot_header_conf, trace),
        .preset = "false",
        .doc = "write trace.json for Perfetto into the run folder" },
    { .name = "output",
        .type = MOT_OPT_TEXT,
        .offset = FIELD(mot_header_conf, output),
        .preset = "none",
        .word = "none",
        .doc = "the run folder, relative to the current folder" },
    { .name = NULL },
};

const struct mot_option mot_evaluate_options[] = {
    { .name = "every",
        .type = MOT_OPT_TEXT,
        .offset = FIELD(mot_evaluate_conf, every),
        .preset = "auto",
        .doc = "how often to evaluate the model: a time on the run's clock (1s), '100 updates', '0.5 "
               "epochs', or auto" },
    { .name = "train",
        .type = MOT_OPT_CHOICE,
        .offset = FIELD(mot_evaluate_conf, train),
        .preset = "always",
        .choices = "always|end",
        .doc =
            "when to compute the loss over the whole training set: at every evaluation, or only at the end" },
    { .name = "grad_norm",
        .type = MOT_OPT_BOOL,
        .offset = FIELD(mot_evaluate_conf, grad_norm),
        .preset = "false",
        .doc = "compute the norm of the full gradient at every evaluation, not only at the end" },
    { .name = "heterogeneity",
        .type = MOT_OPT_CHOICE,
        .offset = FIELD(mot_evaluate_conf, heterogeneity),
        .preset = "ends",
        .choices = "ends|always|never",
        .doc = "when to measure, on a sample of rows, how far the gradients of parts and of rows differ "
               "(zeta2, sigma2): at the start and the end, at every evaluation, or never" },
    { .name = NULL },
};

const struct mot_option mot_stop_options[] = {
    { .name = "updates",
        .type = MOT_OPT_UINT,
        .offset = FIELD(mot_stop_conf, updates),
        .preset = "none",
        .word = "none",
        .min = 1,
        .doc = "stop after this many global updates" },
    { .name = "epochs",
        .type = MOT_OPT_REAL,
        .offset = FIELD(mot_stop_conf, epochs),
        .preset = "20",
        .word = "none",
        .min = ABOVE_ZERO,
        .doc = "stop after this many passes over the training set; no limit if updates or time is given" },
    { .name = "time",
        .type = MOT_OPT_TIME,
        .offset = FIELD(mot_stop_conf, time),
        .preset = "none",
        .word = "none",
        .min = 1,
        .doc = "stop after this much time on the run's clock" },
    { .name = NULL },
};

const struct mot_option mot_target_options[] = {
    { .name = "train_loss",
        .type = MOT_OPT_REAL,
        .offset = FIELD(mot_target_conf, train_loss),
        .preset = "none",
        .word = "none",
        .doc = "stop when an evaluation finds a training loss this low" },
    { .name = "test_accuracy",
        .type = MOT_OPT_REAL,
        .offset = FIELD(mot_target_conf, test_accuracy),
        .preset = "none",
        .word = "none",
        .min = 0,
        .max = 1,
        .doc = "stop when an evaluation finds a test accuracy this high" },
    { .name = "grad_norm",
        .type = MOT_OPT_REAL,
        .offset = FIELD(mot_target_conf, grad_norm),
        .preset = "none",
        .word = "none",
        .min = ABOVE_ZERO,
        .doc = "stop when an evaluation finds a gradient norm this low" },
    { .name = NULL },
};

const struct mot_option mot_sim_options[] = {
    { .name = "threads",
        .type = MOT_OPT_UINT,
        .offset = FIELD(mot_sim_conf, threads),
        .preset = "auto",
        .word = "auto",
        .min = 1,
        .max = 1024,
        .doc = "threads that compute gradients; they do not change the result; auto: one per core" },
    { .name = "collective",
        .type = MOT_OPT_CHOICE,
        .offset = FIELD(mot_sim_conf, collective),
        .preset = "ring",
        .choices = "ring|tree|doubling",
        .doc = "the algorithm of collectives, simulated message by message" },
    { .name = "overcommit",
        .type = MOT_OPT_BOOL,
        .offset = FIELD(mot_sim_conf, overcommit),
        .preset = "false",
        .doc = "run even if that needs more memory than the machine has; live runs too" },
    { .name = NULL },
};

const struct mot_option mot_mpi_options[] = {
    { .name = "reduction",
        .type = MOT_OPT_CHOICE,
        .offset = FIELD(mot_mpi_conf, reduction),
        .preset = "exact",
        .choices = "exact|fast",
        .doc = "sums over ranks: exact adds in rank order, to the same bits as the simulator; fast leaves it "
               "to MPI_Iallreduce" },
    { .name = "place",
        .type = MOT_OPT_CHOICE,
        .offset = FIELD(mot_mpi_conf, place),
        .preset = "shared",
        .choices = "shared|own",
        .doc = "shared: the server shares rank 0 with worker 0, further servers the next ranks; own: servers "
               "have ranks of their own, before the workers" },
    { .name = "checksum",
        .type = MOT_OPT_CHOICE,
        .offset = FIELD(mot_mpi_conf, checksum),
        .preset = "control",
        .choices = "control|all",
        .doc = "which messages carry a checksum: all but models, gradients and rows, or all" },
    { .name = NULL },
};

const struct mot_option mot_checkpoint_options[] = {
    { .name = "every",
        .type = MOT_OPT_TEXT,
        .offset = FIELD(mot_checkpoint_conf, every),
        .preset = "auto",
        .doc = "how often to write a checkpoint: a time on the run's clock (30s), '1000 updates', '1 "
               "epochs', or auto: at the end" },
    { .name = NULL },
};

/* ---- Families ------------------------------------------------------------------ */

static bool get_partition(size_t i, struct mot_choice *out)
{
    const struct mot_partitioner *p = mot_partitioners[i];
    if (p) *out = (struct mot_choice){ p->name, p->summary, NULL, p->options, p, i };
    return p;
}

static bool get_model(size_t i, struct mot_choice *out)
{
    const struct mot_model *m = mot_model_at(i);
    if (m) *out = (struct mot_choice){ m->name, m->summary, m->about, m->options, m, i };
    return m;
}

static bool get_method(size_t i, struct mot_choice *out)
{
    const struct mot_method *m = mot_method_at(i);
    if (m) *out = (struct mot_choice){ m->name, m->summary, m->about, m->options, m, i };
    return m;
}

static bool get_optimizer(size_t i, struct mot_choice *out)
{
    const struct mot_optimizer *o = mot_optimizers[i];
    if (o) *out = (struct mot_choice){ o->name, o->summary, NULL, o->options, o, i };
    return o;
}

static bool get_topology(size_t i, struct mot_choice *out)
{
    const struct mot_topology *t = mot_topologies[i];
    if (t) *out = (struct mot_choice){ t->name, t->summary, NULL, t->options, t, i };
    return t;
}

static bool get_code(size_t i, struct mot_choice *out)
{
    const struct mot_code_kind *k = mot_codes[i];
    if (k) *out = (struct mot_choice){ k->name, k->summary, NULL, k->options, k, i };
    return k;
}

static bool get_compress(size_t i, struct mot_choice *out)
{
    const struct mot_compressor *k = mot_compressors[i];
    if (k) *out = (struct mot_choice){ k->name, k->summary, NULL, k->options, k, i };
    return k;
}

const struct mot_family mot_family_compress = { "compress", "compressor", "compressors", "none",
    get_compress };
const struct mot_family mot_family_code = { "code", "code", "codes", "auto", get_code };
const struct mot_family mot_family_topology = { "topology", "topology", "topologies", "ring", get_topology };
const struct mot_family mot_family_partition = { "partition", "partitioner", "partitioners", "equal",
    get_partition };
const struct mot_family mot_family_model = { "model", "model", "models", "mlp", get_model };
const struct mot_family mot_family_method = { "method", "method", "methods", "allreduce", get_method };
const struct mot_family mot_family_optimizer = { "optimizer", "optimiser", "optimisers", "sgd",
    get_optimizer };
const struct mot_family *const mot_families[] = {
    &mot_family_method,
    &mot_family_model,
    &mot_family_optimizer,
    &mot_family_partition,
    &mot_family_topology,
    &mot_family_code,
    &mot_family_compress,
    NULL,
};

bool mot_family_find(const struct mot_family *family, const char *name, struct mot_choice *out)
{
    struct mot_choice choice;
    for (size_t i = 0; family->get(i, &choice); i++) {
        if (strcmp(choice.name, name) != 0) continue;
        *out = choice;
        return true;
    }
    return false;
}

const struct mot_section mot_sections[] = {
    { "", "Keys outside sections", mot_header_options, NULL },
    { "data", "The data set: a built-in one by name, a file, or a map", mot_data_options, NULL },
    { "source", "Where samples arrive from while a live run trains; a simulated run takes them from `data`",
        mot_intake_options, NULL },
    { "partition", "Which rows each worker holds", NULL, &mot_family_partition },
    { "sampler", "The order in which a worker takes its rows", mot_sampler_options, NULL },
    { "model", "What is trained", NULL, &mot_family_model },
    { "method", "How the workers train it together", NULL, &mot_family_method },
    { "topology", "Which workers exchange models, in decentralised methods; other methods ignore it", NULL,
        &mot_family_topology },
    { "code", "Which workers compute which parts, in coded methods; other methods ignore it", NULL,
        &mot_family_code },
    { "compress", "How gradients, or whatever else workers send, are made smaller", NULL,
        &mot_family_compress },
    { "optimizer", "How a gradient changes the model", NULL, &mot_family_optimizer },
    { "optimizer.schedule", "How the learning rate changes", mot_schedule_options, NULL },
    { "evaluate", "When to evaluate the model; it takes no time on the run's clock", mot_evaluate_options,
        NULL },
    { "stop", "What ends the run, whichever comes first", mot_stop_options, NULL },
    { "stop.target", "A goal that ends the run; at most one", mot_target_options, NULL },
    { "sim", "The simulator itself", mot_sim_options, NULL },
    { "mpi", "Runs over MPI", mot_mpi_options, NULL },
    { "checkpoint", "Snapshots that a run can be resumed from", mot_checkpoint_options, NULL },
    { NULL, NULL, NULL, NULL },
};

/* ---- All keys ------------------------------------------------------------------- */

struct key_list {
    struct mot_arena *arena;
    struct mot_key *key;
    size_t n, room;
};

static void add_key(struct key_list *list, struct mot_key key)
{
    if (list->n == list->room) {
        list->room = list->room ? 2 * list->room : 64;
        list->key = mot_grow(list->key, list->room, sizeof *list->key);
    }
    list->key[list->n++] = key;
}

static const char *dotted(struct mot_arena *arena, const char *section, const char *name)
{
    return mot_arena_take(arena, mot_format("%s%s%s", section, *section ? "." : "", name));
}

static void add_options(
    struct key_list *list, const char *section, const struct mot_option *options, const char *of)
{
    for (const struct mot_option *o = options; o && o->name; o++) {
        add_key(list, (struct mot_key){ dotted(list->arena, section, o->name), o, of, o->doc });
        if (o->also) add_key(list, (struct mot_key){ dotted(list->arena, section, o->also), o, of, o->doc });
    }
}

static void add_sections(struct key_list *list, const struct mot_section *section)
{
    for (; section->name; section++) {
        const char *name = section->name;
        if (*name) add_key(list, (struct mot_key){ name, NULL, NULL, section->doc });
        add_options(list, name, section->options, NULL);
        struct mot_choice choice;
        if (section->family)
            add_key(list, (struct mot_key){ dotted(list->arena, name, "name"), NULL, NULL, section->doc });
        for (size_t i = 0; section->family && section->family->get(i, &choice); i++)
            add_options(list, name, choice.options, choice.name);
    }
}

const struct mot_key *mot_keys(struct mot_arena *arena, size_t *n_out)
{
    struct key_list list = { .arena = arena };
    add_sections(&list, mot_sections);
    /* Flags can name any key of a cluster except those in its list of workers. */
    static const char *const cluster_keys[] = { "slow", "slow_count", "per", "network", "network.up",
        "network.down", "network.bandwidth", "network.latency", "workers", "server", "server.up",
        "server.down", "server.bandwidth", "server.latency" };
    for (size_t i = 0; i < MOT_COUNT(cluster_keys); i++)
        add_key(&list,
            (struct mot_key){
                dotted(arena, "cluster", cluster_keys[i]), NULL, NULL, "see motley help cluster" });
    struct mot_key *kept = mot_arena_new(arena, list.n * sizeof *kept);
    memcpy(kept, list.key, list.n * sizeof *kept);
    free(list.key);
    *n_out = list.n;
    return kept;
}
