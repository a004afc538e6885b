#include "config/keys.h"
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
        .doc = "how many workers; auto: as many as the cluster has, or 8" },
    { .name = "batch",
        .type = MOT_OPT_TEXT,
        .offset = FIELD(mot_header_conf, batch),
        .preset = "32",
        .doc = "samples a worker takes for one gradient: a number, 'full' for all it holds, or a list with "
               "one number a worker" },
    { .name = "sizing",
        .type = MOT_OPT_CHOICE,
        .offset = FIELD(mot_header_conf, sizing),
        .preset = "equal",
        .choices = "equal|proportional",
        .doc = "whose batch is how large: every worker's as `batch` says, or in proportion to its speed in "
               "the cluster, so that all need "
               "the same time; together they stay as many samples" },
    { .name = "cluster",
        .type = MOT_OPT_TEXT,
        .offset = FIELD(mot_header_conf, cluster),
        .preset = "auto",
        .word = "auto",
        .doc = "a cluster file, or the cluster itself (see motley help cluster); auto: workers alike with "
               "1000 samples/s, 1Gbit/s, 100us" },
    { .name = "from",
        .type = MOT_OPT_TEXT,
        .offset = FIELD(mot_header_conf, from),
        .preset = "none",
        .word = "none",
        .doc = "a model.safetensors whose parameters the run begins with; none: as model.init says" },
    { .name = "trace",
        .type = MOT_OPT_BOOL,
        .offset = FIELD(mot_header_conf, trace),
        .preset = "false",
        .doc = "write trace.json for Perfetto into the run's folder" },
    { .name = "output",
        .type = MOT_OPT_TEXT,
        .offset = FIELD(mot_header_conf, output),
        .preset = "none",
        .word = "none",
        .doc = "the folder that the run is written to, seen from the working directory" },
    { .name = NULL },
};

const struct mot_option mot_evaluate_options[] = {
    { .name = "every",
        .type = MOT_OPT_TEXT,
        .offset = FIELD(mot_evaluate_conf, every),
        .preset = "auto",
        .doc = "how often the model is evaluated: a time of the run's clock (1s), '100 updates', '0.5 "
               "epochs', or auto" },
    { .name = "train",
        .type = MOT_OPT_CHOICE,
        .offset = FIELD(mot_evaluate_conf, train),
        .preset = "always",
        .choices = "always|end",
        .doc =
            "when the loss over the whole training set is taken: at every evaluation, or only at the end" },
    { .name = "grad_norm",
        .type = MOT_OPT_BOOL,
        .offset = FIELD(mot_evaluate_conf, grad_norm),
        .preset = "false",
        .doc = "take the norm of the whole gradient at every evaluation, not only at the end" },
    { .name = "heterogeneity",
        .type = MOT_OPT_CHOICE,
        .offset = FIELD(mot_evaluate_conf, heterogeneity),
        .preset = "ends",
        .choices = "ends|always|never",
        .doc = "when it is measured, on some rows, how far the parts' gradients and those of rows differ "
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
        .doc = "end after so many global updates" },
    { .name = "epochs",
        .type = MOT_OPT_REAL,
        .offset = FIELD(mot_stop_conf, epochs),
        .preset = "20",
        .word = "none",
        .min = ABOVE_ZERO,
        .doc = "end after so many passes over the training set; not limited if updates or time is given" },
    { .name = "time",
        .type = MOT_OPT_TIME,
        .offset = FIELD(mot_stop_conf, time),
        .preset = "none",
        .word = "none",
        .min = 1,
        .doc = "end after so much time of the run's clock" },
    { .name = NULL },
};

const struct mot_option mot_target_options[] = {
    { .name = "train_loss",
        .type = MOT_OPT_REAL,
        .offset = FIELD(mot_target_conf, train_loss),
        .preset = "none",
        .word = "none",
        .doc = "end when an evaluation finds a training loss of at most this" },
    { .name = "test_accuracy",
        .type = MOT_OPT_REAL,
        .offset = FIELD(mot_target_conf, test_accuracy),
        .preset = "none",
        .word = "none",
        .min = 0,
        .max = 1,
        .doc = "end when an evaluation finds a test accuracy of at least this" },
    { .name = "grad_norm",
        .type = MOT_OPT_REAL,
        .offset = FIELD(mot_target_conf, grad_norm),
        .preset = "none",
        .word = "none",
        .min = ABOVE_ZERO,
        .doc = "end when an evaluation finds a norm of the gradient of at most this" },
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
        .doc = "threads that compute gradients; the result does not depend on it; auto: one a core" },
    { .name = "collective",
        .type = MOT_OPT_CHOICE,
        .offset = FIELD(mot_sim_conf, collective),
        .preset = "ring",
        .choices = "ring|tree|doubling",
        .doc = "the algorithm of collectives, run step by step over the links" },
    { .name = "overcommit",
        .type = MOT_OPT_BOOL,
        .offset = FIELD(mot_sim_conf, overcommit),
        .preset = "false",
        .doc = "run even if the plan needs more memory than the machine has" },
    { .name = NULL },
};

const struct mot_option mot_mpi_options[] = {
    { .name = "reduction",
        .type = MOT_OPT_CHOICE,
        .offset = FIELD(mot_mpi_conf, reduction),
        .preset = "exact",
        .choices = "exact|fast",
        .doc = "sums over the ranks: exact adds in rank order, with the simulator's bits; fast leaves it to "
               "MPI_Iallreduce" },
    { .name = "place",
        .type = MOT_OPT_CHOICE,
        .offset = FIELD(mot_mpi_conf, place),
        .preset = "shared",
        .choices = "shared|own",
        .doc = "the server shares rank 0 with worker 0 (further ones the next ranks), or servers have ranks "
               "of their own, the first, before the workers'" },
    { .name = "checksum",
        .type = MOT_OPT_CHOICE,
        .offset = FIELD(mot_mpi_conf, checksum),
        .preset = "control",
        .choices = "control|all",
        .doc = "what has a checksum on its way: all that is not a model or gradient, or all" },
    { .name = NULL },
};

const struct mot_option mot_checkpoint_options[] = {
    { .name = "every",
        .type = MOT_OPT_TEXT,
        .offset = FIELD(mot_checkpoint_conf, every),
        .preset = "auto",
        .doc = "how often a checkpoint is written: a time of the run's clock (30s), '1000 updates', '1 "
               "epochs', or auto: at the end" },
    { .name = NULL },
};

/* ---- Families ------------------------------------------------------------------ */

static bool get_partition(size_t i, struct mot_part *out)
{
    const struct mot_partitioner *p = mot_partitioners[i];
    if (p) *out = (struct mot_part){ p->name, p->summary, NULL, p->options, p, i };
    return p;
}

static bool get_model(size_t i, struct mot_part *out)
{
    const struct mot_model *m = mot_model_at(i);
    if (m) *out = (struct mot_part){ m->name, m->summary, m->about, m->options, m, i };
    return m;
}

static bool get_method(size_t i, struct mot_part *out)
{
    const struct mot_method *m = mot_method_at(i);
    if (m) *out = (struct mot_part){ m->name, m->summary, m->about, m->options, m, i };
    return m;
}

static bool get_optimizer(size_t i, struct mot_part *out)
{
    const struct mot_optimizer *o = mot_optimizers[i];
    if (o) *out = (struct mot_part){ o->name, o->summary, NULL, o->options, o, i };
    return o;
}

static bool get_topology(size_t i, struct mot_part *out)
{
    const struct mot_topology *t = mot_topologies[i];
    if (t) *out = (struct mot_part){ t->name, t->summary, NULL, t->options, t, i };
    return t;
}

const struct mot_family mot_family_topology = { "topology", "topology", "topologies", "ring", get_topology };
const struct mot_family mot_family_partition = { "partition", "partition", "partitions", "equal",
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
    NULL,
};

bool mot_family_find(const struct mot_family *family, const char *name, struct mot_part *out)
{
    struct mot_part part;
    for (size_t i = 0; family->get(i, &part); i++) {
        if (strcmp(part.name, name) != 0) continue;
        *out = part;
        return true;
    }
    return false;
}

const struct mot_section mot_sections[] = {
    { "", "Keys outside sections", mot_header_options, NULL },
    { "data", "The data set: the name of a built-in one, a file, or a map", mot_data_options, NULL },
    { "partition", "Which rows a worker holds", NULL, &mot_family_partition },
    { "sampler", "Which rows of its own a worker takes next", mot_sampler_options, NULL },
    { "model", "What is trained", NULL, &mot_family_model },
    { "method", "How the workers train it together", NULL, &mot_family_method },
    { "topology", "Which workers exchange models, in decentralised methods; others do not look at it", NULL,
        &mot_family_topology },
    { "optimizer", "How a gradient changes the model", NULL, &mot_family_optimizer },
    { "optimizer.schedule", "How the learning rate changes", mot_schedule_options, NULL },
    { "evaluate", "When the model is looked at; it costs no time of the run's clock", mot_evaluate_options,
        NULL },
    { "stop", "What ends the run; the first that is reached", mot_stop_options, NULL },
    { "stop.target", "A quality that ends the run; at most one of them", mot_target_options, NULL },
    { "sim", "The simulator itself", mot_sim_options, NULL },
    { "mpi", "Runs over MPI", mot_mpi_options, NULL },
    { "checkpoint", "Copies of a run from which it can be resumed", mot_checkpoint_options, NULL },
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
    char *text = mot_format("%s%s%s", section, *section ? "." : "", name);
    const char *kept = mot_arena_text(arena, text);
    free(text);
    return kept;
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
        struct mot_part part;
        if (section->family)
            add_key(list, (struct mot_key){ dotted(list->arena, name, "name"), NULL, NULL, section->doc });
        for (size_t i = 0; section->family && section->family->get(i, &part); i++)
            add_options(list, name, part.options, part.name);
    }
}

const struct mot_key *mot_keys(struct mot_arena *arena, size_t *n_out)
{
    struct key_list list = { .arena = arena };
    add_sections(&list, mot_sections);
    /* Of a cluster, only what is not in its list of workers can be named by a flag. */
    static const char *const cluster_keys[] = { "slow", "slow_count", "network", "network.up", "network.down",
        "network.bandwidth", "network.latency", "workers", "server", "server.up", "server.down",
        "server.bandwidth", "server.latency" };
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
