#include "config/experiment.h"
#include "base/crew.h"
#include "base/file.h"
#include "base/options.h"
#include "base/words.h"
#include "config/cluster_file.h"
#include "config/cluster_named.h"
#include "config/code_section.h"
#include "config/compress_section.h"
#include "config/parse.h"
#include "config/read.h"
#include "config/source_section.h"
#include "config/stream_file.h"
#include "math/models.h"
#include "partition/features.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const name_key[] = { "name", NULL };

/* ---- Data ------------------------------------------------------------------------ */

static bool is_builtin(const char *name)
{
    for (const struct mot_builtin *b = mot_builtins; b->name; b++)
        if (strcmp(b->name, name) == 0) return true;
    return false;
}

/* A plain word is the name of a built-in set, or else a file. */
static enum mot_status read_data_word(
    const struct mot_yaml_reader *r, const struct mot_yaml *word, const char *key, struct mot_data_conf *conf)
{
    if (word->kind != MOT_YAML_SCALAR || !*word->text)
        return mot_read_fail(r, word, key, "expected the name of a data set or a file; found %s",
            mot_yaml_found(word, r->arena));
    conf->name = conf->path = NULL;
    if (is_builtin(word->text)) {
        conf->name = mot_arena_text(r->arena, word->text);
        return MOT_OK;
    }
    conf->path = mot_read_path(r, word, word->text);
    if (r->alone || mot_file_exists(conf->path)) return MOT_OK;
    const char *words[32] = { NULL };
    char known[256] = "";
    for (size_t i = 0; mot_builtins[i].name && i < MOT_COUNT(words) - 1; i++) {
        size_t used = strlen(known);
        words[i] = mot_builtins[i].name;
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", words[i]);
    }
    return mot_read_fail(r, word, key,
        "expected one of %s, or a file; found "
        "%s, and there is no such file%s",
        known, mot_yaml_found(word, r->arena), mot_did_you_mean(r, word->text, words));
}

static enum mot_status read_data_file(
    const struct mot_yaml_reader *r, const struct mot_yaml *map, const char *name, const char **path)
{
    const struct mot_yaml *node = mot_read_given(map, mot_option_find(mot_data_options, name));
    if (!node || !*path) return MOT_OK;
    *path = mot_read_path(r, node, *path);
    if (r->alone || mot_file_exists(*path)) return MOT_OK;
    return mot_read_fail(r, node, mot_key_join(r, "data", name), "there is no file '%s'", *path);
}

static enum mot_status read_data(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, struct mot_data_conf *conf)
{
    enum mot_status status = mot_read_options(r, node, "data", mot_data_options, conf, name_key, 0);
    if (status != MOT_OK) return status;
    const struct mot_yaml *map = node && node->kind == MOT_YAML_MAP ? node : NULL;
    const struct mot_yaml *name = map ? mot_yaml_get(map, "name") : node;
    const struct mot_yaml *path = mot_read_given(map, mot_option_find(mot_data_options, "path"));
    if (name && path)
        return mot_read_fail_key(r, path, "data.path",
            "expected either a name or a path; found both, name at %s", mot_yaml_where(name, r->arena));
    if (conf->path) conf->name = NULL;
    else if (!name) conf->name = "digits";
    else if ((status = read_data_word(r, name, map ? "data.name" : "data", conf))) return status;
    if ((status = read_data_file(r, map, "path", &conf->path))) return status;
    if ((status = read_data_file(r, map, "labels", &conf->labels))) return status;
    if ((status = read_data_file(r, map, "test_path", &conf->test_path))) return status;
    return read_data_file(r, map, "test_labels", &conf->test_labels);
}

/* ---- Parts that come by name --------------------------------------------------------- */

static enum mot_status read_choice(const struct mot_yaml_reader *r, const struct mot_yaml *node,
    const struct mot_family *family, struct mot_choice *choice)
{
    if (node && node->kind == MOT_YAML_LIST)
        return mot_read_fail(r, node, family->section,
            "expected a name or a map such as {name: %s}; found a list", family->preset);
    return mot_read_name(r, node, family->section, family, choice);
}

/* Paths in a partition are relative to the file that names them. */
static enum mot_status read_partition_paths(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, struct mot_experiment *e)
{
    static const char *const names[] = { "from", "features" };
    for (size_t i = 0; i < MOT_COUNT(names); i++) {
        const struct mot_option *option =
            e->partitioner->options ? mot_option_find(e->partitioner->options, names[i]) : NULL;
        const struct mot_yaml *given =
            option && node && node->kind == MOT_YAML_MAP ? mot_read_given(node, option) : NULL;
        if (!given) continue;
        const char **path = (const char **)((char *)e->partition_conf + option->offset);
        if (mot_features_word(*path)) continue;
        *path = mot_read_path(r, given, *path);
        if (!r->alone && !mot_file_exists(*path))
            return mot_read_fail(r, given, mot_key_join(r, "partition", names[i]), "there is no %s '%s'",
                i ? "file" : "folder", *path);
    }
    return MOT_OK;
}

static enum mot_status read_partition(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, struct mot_experiment *e)
{
    struct mot_choice choice;
    /* {from: DIR} */
    bool folder =
        node && node->kind == MOT_YAML_MAP && mot_yaml_get(node, "from") && !mot_yaml_get(node, "name");
    enum mot_status status = MOT_OK;
    if (folder) mot_family_find(&mot_family_partition, "from", &choice);
    else status = read_choice(r, node, &mot_family_partition, &choice);
    if (status != MOT_OK) return status;
    e->partitioner = choice.kind;
    e->partition_conf = mot_arena_new(r->arena, e->partitioner->conf_bytes + 1);
    status = mot_read_options(r, node, "partition", choice.options, e->partition_conf, name_key, 0);
    return status == MOT_OK ? read_partition_paths(r, node, e) : status;
}

static enum mot_status read_model(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, struct mot_experiment *e)
{
    struct mot_choice choice;
    enum mot_status status = read_choice(r, node, &mot_family_model, &choice);
    if (status != MOT_OK) return status;
    e->model = choice.kind;
    e->model_conf = mot_arena_new(r->arena, e->model->conf_bytes + 1);
    return mot_read_options(r, node, "model", choice.options, e->model_conf, name_key, 0);
}

static enum mot_status read_method(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, struct mot_experiment *e)
{
    struct mot_choice choice;
    enum mot_status status = read_choice(r, node, &mot_family_method, &choice);
    if (status != MOT_OK) return status;
    e->method = choice.kind;
    e->method_conf = mot_arena_new(r->arena, e->method->conf_bytes + 1);
    return mot_read_options(r, node, "method", choice.options, e->method_conf, name_key, 0);
}

static enum mot_status read_topology(
    const struct mot_yaml_reader *r, struct mot_yaml *node, struct mot_experiment *e)
{
    struct mot_choice choice;
    enum mot_status status = read_choice(r, node, &mot_family_topology, &choice);
    if (status != MOT_OK) return status;
    e->topology = choice.kind;
    struct mot_yaml *list = mot_yaml_get(node, "list");
    if (list && list->kind == MOT_YAML_LIST &&
        (status = mot_read_joined(r, list, "topology.list", "an edge such as 0-1")))
        return status;
    struct mot_topology_conf *conf = &e->topology_conf;
    status = mot_read_options(r, node, "topology", choice.options, conf, name_key, 0);
    if (status != MOT_OK || !conf->path) return status;
    const struct mot_yaml *path = mot_yaml_get(node, "path");
    conf->path = mot_read_path(r, path, conf->path);
    if (r->alone || mot_file_exists(conf->path)) return MOT_OK;
    return mot_read_fail(r, path, "topology.path", "there is no file '%s'", conf->path);
}

static enum mot_status read_optimizer(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, struct mot_experiment *e)
{
    static const char *const others[] = { "name", "schedule", NULL };
    struct mot_choice choice;
    enum mot_status status = read_choice(r, node, &mot_family_optimizer, &choice);
    if (status != MOT_OK) return status;
    e->optimizer = choice.kind;
    e->optim.clip = NAN;
    status = mot_read_options(r, node, "optimizer", choice.options, &e->optim, others, 0);
    if (status != MOT_OK) return status;
    return mot_read_options(
        r, mot_yaml_get(node, "schedule"), "optimizer.schedule", mot_schedule_options, &e->schedule, NULL, 0);
}

/* `lr: auto` becomes a number with two digits, easy to read and to repeat. */
static void resolve_rate(struct mot_experiment *e)
{
    if (!isnan(e->optim.lr)) return;
    char digits[32];
    snprintf(digits, sizeof digits, "%.2g", mot_optim_rate(e->optimizer, &e->optim, e->traits.delay));
    e->optim.lr = strtod(digits, NULL);
}

/* ---- Small sections -------------------------------------------------------------------- */

/* "auto", "1s", "100 updates", "0.5 epochs" */
static bool read_every_text(const char *text, struct mot_every *out)
{
    uint64_t ns;
    double value;
    if (strcmp(text, "auto") == 0) {
        *out = (struct mot_every){ MOT_EVERY_AUTO, 0 };
        return true;
    }
    if (mot_read_time(text, &ns)) {
        *out = (struct mot_every){ MOT_EVERY_TIME, (double)ns };
        return ns > 0 && ns < UINT64_C(1) << 53;
    }
    size_t number = strcspn(text, " ");
    char digits[32];
    if (number == 0 || number >= sizeof digits || !text[number]) return false;
    memcpy(digits, text, number);
    digits[number] = '\0';
    const char *unit = text + number + strspn(text + number, " ");
    bool updates = strcmp(unit, "updates") == 0 || strcmp(unit, "update") == 0;
    bool epochs = strcmp(unit, "epochs") == 0 || strcmp(unit, "epoch") == 0;
    if ((!updates && !epochs) || !mot_read_real(digits, &value) || !(value > 0)) return false;
    if (updates && (value != floor(value) || value > 1e15)) return false;
    *out = (struct mot_every){ updates ? MOT_EVERY_UPDATES : MOT_EVERY_EPOCHS, value };
    return true;
}

static enum mot_status read_every(const struct mot_yaml_reader *r, const struct mot_yaml *section,
    const char *key, const char *text, struct mot_every *out)
{
    if (read_every_text(text, out)) return MOT_OK;
    const struct mot_yaml *node = mot_yaml_get(section, "every");
    return mot_read_fail(r, node, key,
        "expected a time such as 1s, '100 updates', '0.5 epochs' or 'auto'; found %s",
        mot_yaml_found(node, r->arena));
}

static enum mot_status read_evaluate(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, struct mot_experiment *e)
{
    struct mot_evaluate_conf conf;
    enum mot_status status = mot_read_options(r, node, "evaluate", mot_evaluate_options, &conf, NULL, 0);
    if (status != MOT_OK) return status;
    e->evaluate.train = conf.train;
    e->evaluate.grad_norm = conf.grad_norm;
    e->evaluate.heterogeneity = (enum mot_heterogeneity_when)conf.heterogeneity;
    return read_every(r, node, "evaluate.every", conf.every, &e->evaluate.every);
}

static enum mot_status read_checkpoint(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, struct mot_experiment *e)
{
    struct mot_checkpoint_conf conf;
    enum mot_status status = mot_read_options(r, node, "checkpoint", mot_checkpoint_options, &conf, NULL, 0);
    return status == MOT_OK ? read_every(r, node, "checkpoint.every", conf.every, &e->checkpoint) : status;
}

/* A flag's target replaces the file's. */
static enum mot_status read_target(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, struct mot_experiment *e)
{
    struct mot_target_conf conf;
    enum mot_status status = mot_read_map(r, node, "stop.target", "{test_accuracy: 0.8}");
    if (status == MOT_OK)
        status = mot_read_options(r, node, "stop.target", mot_target_options, &conf, NULL, 0);
    if (status != MOT_OK) return status;
    const struct mot_yaml *chosen = NULL;
    const double *value = &conf.train_loss;
    for (unsigned i = 0; mot_target_options[i].name; i++) {
        const struct mot_yaml *given = mot_yaml_get(node, mot_target_options[i].name);
        if (!given || isnan(value[i])) continue;
        if (chosen && !chosen->flag == !given->flag)
            return mot_read_fail_key(r, given, "stop.target", "expected one target; found two, '%s' and '%s'",
                chosen->key, given->key);
        if (chosen && !given->flag) continue;
        chosen = given;
        e->stop.target = MOT_TARGET_TRAIN_LOSS + i;
        e->stop.value = value[i];
    }
    return MOT_OK;
}

/* Whether the run's clock never moves: all workers finish their jobs instantly, or, if the method waits for
 * nobody, any one of them does. */
static bool stands_still(const struct mot_experiment *e)
{
    uint32_t timeless = 0;
    for (uint32_t i = 0; i < e->workers; i++) {
        const struct mot_machine *m = &e->cluster->machine[i];
        bool free_link = isinf(m->link.up) && isinf(m->link.down) && m->link.latency == 0;
        timeless += free_link && !(mot_job_mean(m, 1) > 0);
    }
    return e->traits.asynchronous ? timeless > 0 : timeless == e->workers;
}

static enum mot_status read_stop(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, struct mot_experiment *e)
{
    static const char *const others[] = { "target", NULL };
    struct mot_stop_conf conf;
    enum mot_status status = mot_read_map(r, node, "stop", "{epochs: 20}");
    if (status == MOT_OK) status = mot_read_options(r, node, "stop", mot_stop_options, &conf, others, 0);
    if (status == MOT_OK) status = read_target(r, mot_yaml_get(node, "target"), e);
    if (status != MOT_OK) return status;
    bool limited = conf.updates != MOT_WORD_UINT || conf.time != MOT_NEVER;
    bool streams = mot_experiment_streams(e);
    if ((limited || streams) && !mot_yaml_get(node, "epochs")) conf.epochs = NAN;
    if (!limited && isnan(conf.epochs) && e->stop.target == MOT_TARGET_NONE)
        return mot_read_fail(r, node, "stop",
            "expected at least one of updates, %stime and target; found nothing that ends the run%s",
            streams ? "" : "epochs, ", streams ? ", and the workers' streams never end" : "");
    if (conf.updates == MOT_WORD_UINT && isnan(conf.epochs) && conf.time != MOT_NEVER && stands_still(e))
        return mot_read_fail(r, node, "stop",
            "expected updates or epochs, since jobs and messages take no time "
            "in this cluster; found only time, which never passes");
    e->stop.updates = conf.updates;
    e->stop.epochs = conf.epochs;
    e->stop.time = conf.time;
    return MOT_OK;
}

static enum mot_status read_sim(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, struct mot_experiment *e)
{
    struct mot_sim_conf conf;
    enum mot_status status = mot_read_options(r, node, "sim", mot_sim_options, &conf, NULL, 0);
    if (status != MOT_OK) return status;
    e->sim.threads = conf.threads == MOT_WORD_UINT ? mot_cores() : (uint32_t)conf.threads;
    e->sim.collective = conf.collective;
    e->sim.overcommit = conf.overcommit;
    return MOT_OK;
}

static enum mot_status read_mpi(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, struct mot_experiment *e)
{
    struct mot_mpi_conf conf;
    enum mot_status status = mot_read_options(r, node, "mpi", mot_mpi_options, &conf, NULL, 0);
    if (status != MOT_OK) return status;
    e->mpi.fast = conf.reduction == 1;
    e->mpi.own = conf.place == 1;
    e->mpi.check_all = conf.checksum == 1;
    return MOT_OK;
}

/* ---- Workers ------------------------------------------------------------------------------ */

/* b[i] = workers * B * r[i] / sum of r: as many samples in total as before, and all workers take the same
 * time. */
static enum mot_status size_batches(
    const struct mot_yaml_reader *r, const struct mot_yaml *root, struct mot_experiment *e)
{
    const struct mot_yaml *node = mot_yaml_get(root, "batch"), *place = mot_yaml_get(root, "sizing");
    if (e->batch_full || (node && node->kind == MOT_YAML_LIST))
        return mot_read_fail(r, place, "sizing",
            "expected batch to be a number that is shared in proportion to speed; found %s",
            e->batch_full ? "'full'" : "a list");
    double *speed = mot_arena_new(r->arena, e->workers * sizeof *speed);
    uint32_t each = e->batch[0];
    for (uint32_t i = 0; i < e->workers; i++) {
        double seconds = mot_job_mean(&e->cluster->machine[i], each);
        if (!(seconds > 0))
            return mot_read_fail(r, place, "sizing",
                "worker %u takes no time for its jobs in this "
                "cluster, so it has no speed to be proportional to",
                i);
        speed[i] = each / seconds;
    }
    mot_share_out(e->workers, speed, (uint64_t)e->workers * each, e->batch);
    return MOT_OK;
}

static enum mot_status read_batch(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, struct mot_experiment *e)
{
    static const struct mot_option size = {
        .name = "batch", .type = MOT_OPT_UINT, .min = 1, .max = 1e9, .word = "full"
    };
    uint64_t value = 32;
    e->batch = mot_arena_new(r->arena, e->workers * sizeof *e->batch);
    if (node && node->kind == MOT_YAML_LIST) {
        if (node->count != e->workers)
            return mot_read_fail(r, node, "batch",
                "expected one number for each of the %u workers; found a list of %u", e->workers,
                node->count);
        const struct mot_yaml *child = node->first;
        for (uint32_t i = 0; i < e->workers; i++, child = child->next) {
            enum mot_status status = mot_read_value(r, child, "batch", &size, &value);
            if (status != MOT_OK) return status;
            if (value == MOT_WORD_UINT)
                return mot_read_fail(r, child, "batch",
                    "expected a whole number from 1 to 1000000000; found 'full' in a list");
            e->batch[i] = (uint32_t)value;
        }
        return MOT_OK;
    }
    enum mot_status status = node ? mot_read_value(r, node, "batch", &size, &value) : MOT_OK;
    if (status != MOT_OK) return status;
    e->batch_full = value == MOT_WORD_UINT;
    for (uint32_t i = 0; i < e->workers && !e->batch_full; i++) e->batch[i] = (uint32_t)value;
    return MOT_OK;
}

/* A named cluster file is read in place; its nodes remember that file. */
static enum mot_status load_cluster(const struct mot_yaml_reader *r, struct mot_yaml *root)
{
    struct mot_yaml *node = mot_yaml_get(root, "cluster"), *loaded;
    if (!node || node->kind != MOT_YAML_SCALAR || strcmp(node->text, "auto") == 0) return MOT_OK;
    if (!*node->text)
        return mot_read_fail(
            r, node, "cluster", "expected a cluster file or a map; found %s", mot_yaml_found(node, r->arena));
    if (r->alone) return mot_read_fail(r, node, "cluster", "expected a map; found a file");
    const char *path = mot_read_beside(r, node, node->text);
    const struct mot_named_cluster *known = mot_named_cluster_find(node->text);
    bool file = mot_file_exists(path); /* a file of that name takes precedence */
    if (!file && !known)
        return mot_read_fail(r, node, "cluster",
            "expected a cluster file, a map, or a name from motley cluster list; there is no file '%s'",
            path);
    enum mot_status status = file
        ? mot_yaml_read(path, r->arena, &loaded)
        : mot_yaml_parse(known->name, false, known->text, strlen(known->text), r->arena, &loaded);
    if (status != MOT_OK) return status;
    if (loaded->kind != MOT_YAML_MAP) return mot_read_map(r, loaded, "cluster", "{workers: 8}");
    loaded->key = node->key;
    loaded->next = node->next;
    *node = *loaded;
    return MOT_OK;
}

/* Redundant work must take time, or it would look free. */
static void price_jobs(struct mot_experiment *e)
{
    bool several = e->traits.codes || e->traits.redundant || e->traits.batches > e->workers;
    for (uint32_t i = 0; i < e->workers && several; i++) {
        struct mot_machine *m = &e->cluster->machine[i];
        if (mot_machine_timed(m) && m->price == MOT_PRICE_AUTO) m->price = MOT_PRICE_SAMPLES;
    }
}

static enum mot_status check_groups(
    const struct mot_yaml_reader *r, const struct mot_yaml *root, const struct mot_experiment *e)
{
    uint32_t groups = e->traits.groups;
    if (groups == 0 || e->workers % groups == 0) return MOT_OK;
    return mot_read_fail(r, mot_yaml_get(root, "method"), "method",
        "groups of workers must be equal in size; %u groups do not divide %u workers", groups, e->workers);
}

static enum mot_status read_cluster(
    const struct mot_yaml_reader *r, const struct mot_yaml *root, uint64_t workers, struct mot_experiment *e)
{
    const struct mot_yaml *node = mot_yaml_get(root, "cluster"), *asked_by = mot_yaml_get(root, "workers");
    uint32_t asked = workers == MOT_WORD_UINT ? 0 : (uint32_t)workers;
    if (node && node->kind == MOT_YAML_SCALAR) node = NULL; /* auto */
    enum mot_status status = mot_cluster_build(r, node, "cluster", asked, asked_by, &e->cluster);
    if (status != MOT_OK) return status;
    e->workers = e->cluster->workers;
    e->traits = mot_method_traits(e->method, e->method_conf, e->workers);
    e->servers = e->traits.servers;
    e->shared_parts = e->method->holds || e->traits.codes;
    MOT_ASSERT(e->traits.parts == e->workers || e->shared_parts);
    status = check_groups(r, root, e);
    if (status != MOT_OK) return status;
    mot_cluster_serve(e->cluster, e->servers);
    price_jobs(e);
    return MOT_OK;
}

/* ---- The whole -------------------------------------------------------------------------------- */

const char *const mot_study_sections[] = { "compare", "sweep", "tune", NULL };

/* A study is many runs: whoever asks for one run is told how to run the study. */
static enum mot_status refuse_study(const struct mot_yaml_reader *r, const struct mot_yaml *root)
{
    for (const char *const *section = mot_study_sections; *section && !r->study; section++) {
        const struct mot_yaml *node = mot_yaml_get(root, *section);
        const char *command = strcmp(*section, "tune") == 0 ? "tune" : "compare";
        if (node)
            return mot_read_fail_key(r, node, *section,
                "makes this file a study of many runs: run it with 'motley %s %s'", command,
                node->file ? node->file : "FILE");
    }
    return MOT_OK;
}

static enum mot_status read_header(const struct mot_yaml_reader *r, const struct mot_yaml *root,
    struct mot_experiment *e, uint64_t *workers, bool *proportional)
{
    static const char *const others[] = { "data", "source", "partition", "sampler", "model", "method",
        "topology", "code", "compress", "optimizer", "batch", "cluster", "evaluate", "stop", "sim", "mpi",
        "checkpoint", "compare", "sweep", "tune", NULL };
    struct mot_header_conf conf;
    enum mot_status status = mot_read_map(r, root, "", "'data: digits'");
    if (status == MOT_OK) status = refuse_study(r, root);
    if (status == MOT_OK) status = mot_read_options(r, root, "", mot_header_options, &conf, others, 0);
    if (status != MOT_OK) return status;
    e->seed = conf.seed;
    e->trace = conf.trace;
    e->elastic = conf.elastic;
    e->no_raw_data = conf.no_raw_data;
    e->from = conf.from ? mot_read_path(r, mot_yaml_get(root, "from"), conf.from) : NULL;
    /* Relative to the working directory, not to the experiment's file. */
    e->output = conf.output ? mot_read_path(r, NULL, conf.output) : NULL;
    if (e->output && !*conf.output)
        return mot_read_fail(r, mot_yaml_get(root, "output"), "output", "expected a folder; found ''");
    *workers = conf.workers;
    *proportional = conf.sizing == 1;
    return MOT_OK;
}

static enum mot_status check_raw_data(
    const struct mot_yaml_reader *r, const struct mot_yaml *root, const struct mot_experiment *e)
{
    bool moves = e->traits.shares || (e->traits.codes && e->traits.shuffle != MOT_SHUFFLE_NONE);
    if (!e->no_raw_data || !moves) return MOT_OK;
    return mot_read_fail(r, mot_yaml_get(root, "no_raw_data"), "no_raw_data",
        "method %s with these options sends samples from one worker to another (%s)", e->method->name,
        e->traits.shares ? "alpha and beta" : "shuffle");
}

static enum mot_status resolve(
    const struct mot_yaml_reader *r, struct mot_yaml *root, struct mot_experiment *e)
{
    uint64_t workers = MOT_WORD_UINT;
    bool proportional = false;
    enum mot_status status = read_header(r, root, e, &workers, &proportional);
    if (status == MOT_OK) status = read_data(r, mot_yaml_get(root, "data"), &e->data);
    if (status == MOT_OK) status = mot_read_source(r, mot_yaml_get(root, "source"), e);
    if (status == MOT_OK) status = read_partition(r, mot_yaml_get(root, "partition"), e);
    if (status == MOT_OK)
        status = mot_read_options(
            r, mot_yaml_get(root, "sampler"), "sampler", mot_sampler_options, &e->sampler, NULL, 0);
    if (status == MOT_OK) status = read_model(r, mot_yaml_get(root, "model"), e);
    if (status == MOT_OK) status = read_method(r, mot_yaml_get(root, "method"), e);
    if (status == MOT_OK) status = read_topology(r, mot_yaml_get(root, "topology"), e);
    if (status == MOT_OK) status = mot_read_code(r, mot_yaml_get(root, "code"), e);
    if (status == MOT_OK) status = mot_read_compress(r, mot_yaml_get(root, "compress"), e);
    if (status == MOT_OK) status = read_optimizer(r, mot_yaml_get(root, "optimizer"), e);
    if (status == MOT_OK) status = load_cluster(r, root);
    if (status == MOT_OK) status = read_cluster(r, root, workers, e);
    if (status == MOT_OK) status = mot_resolve_compress(r, mot_yaml_get(root, "compress"), e);
    if (status == MOT_OK) resolve_rate(e);
    if (status == MOT_OK) status = read_batch(r, mot_yaml_get(root, "batch"), e);
    if (status == MOT_OK && proportional) status = size_batches(r, root, e);
    if (status == MOT_OK) status = mot_resolve_code(r, mot_yaml_get(root, "code"), e);
    if (status == MOT_OK) status = read_evaluate(r, mot_yaml_get(root, "evaluate"), e);
    if (status == MOT_OK) status = read_stop(r, mot_yaml_get(root, "stop"), e);
    if (status == MOT_OK) status = read_sim(r, mot_yaml_get(root, "sim"), e);
    if (status == MOT_OK) status = read_mpi(r, mot_yaml_get(root, "mpi"), e);
    if (status == MOT_OK) status = read_checkpoint(r, mot_yaml_get(root, "checkpoint"), e);
    if (status == MOT_OK && mot_experiment_streams(e)) status = mot_streams_check(r, root, e);
    if (status == MOT_OK) status = mot_check_source(r, mot_yaml_get(root, "source"), e);
    if (status == MOT_OK) status = check_raw_data(r, root, e);
    return status;
}

/* Loads the cluster so that a setting can change it; `auto` is one without keys. */
static enum mot_status open_cluster(const struct mot_yaml_reader *r, struct mot_yaml *root)
{
    struct mot_yaml *node = mot_yaml_get(root, "cluster");
    enum mot_status status = load_cluster(r, root);
    if (status != MOT_OK || !node || node->kind != MOT_YAML_SCALAR) return status;
    node->kind = MOT_YAML_MAP;
    node->flag = "auto";
    return MOT_OK;
}

static unsigned depth_of(const char *key)
{
    unsigned dots = 0;
    for (; *key; key++) dots += *key == '.';
    return dots;
}

/* Sets a section's name before its options, whatever the order of the flags: `--method` replaces the section
 * and must not lose what `--method-k` sets in it. */
static enum mot_status apply(
    const struct mot_yaml_reader *r, struct mot_yaml *root, const struct mot_setting *setting, size_t n)
{
    unsigned deepest = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned depth = depth_of(setting[i].key);
        if (depth > deepest) deepest = depth;
    }
    for (unsigned depth = 0; depth <= deepest; depth++) {
        for (size_t i = 0; i < n; i++) {
            enum mot_status status = MOT_OK;
            if (depth_of(setting[i].key) != depth) continue;
            if (strncmp(setting[i].key, "cluster.", 8) == 0) status = open_cluster(r, root);
            if (status == MOT_OK)
                status = mot_yaml_put(root, setting[i].key, setting[i].value, setting[i].origin, r->arena);
            if (status != MOT_OK) return status;
        }
    }
    return MOT_OK;
}

static enum mot_status finish(struct mot_experiment *e, struct mot_yaml_reader *r, struct mot_yaml *root,
    const struct mot_setting *setting, size_t settings, struct mot_experiment **out)
{
    enum mot_status status = mot_read_map(r, root, "", "'data: digits'");
    if (status == MOT_OK) status = apply(r, root, setting, settings);
    if (status == MOT_OK) status = resolve(r, root, e);
    if (status == MOT_OK) status = mot_memory_status();
    if (status != MOT_OK) {
        mot_experiment_close(e);
        return status;
    }
    *out = e;
    return MOT_OK;
}

enum mot_status mot_experiment_found(const char *path)
{
    if (!mot_file_exists(path)) return mot_fail(MOT_EUSAGE, "there is no experiment file '%s'", path);
    if (!mot_is_folder(path)) return MOT_OK;
    char *file = mot_path_join(path, "experiment.yaml");
    enum mot_status status = mot_file_exists(file)
        ? mot_fail(MOT_EUSAGE,
              "expected an experiment file; found '%s', the folder of a run: `motley sim` and `motley train` "
              "continue it with --resume --out, and %s repeats it",
              path, file)
        : mot_fail(MOT_EUSAGE, "expected an experiment file; found the folder '%s'", path);
    free(file);
    return status;
}

enum mot_status mot_experiment_open(
    const char *path, const struct mot_setting *setting, size_t settings, struct mot_experiment **out)
{
    struct mot_experiment *e = mot_new(1, sizeof *e);
    struct mot_yaml_reader reader = { .arena = &e->arena };
    struct mot_yaml nothing = { .kind = MOT_YAML_MAP }, *root = &nothing;
    enum mot_status status = path ? mot_experiment_found(path) : MOT_OK;
    if (status == MOT_OK && path) status = mot_yaml_read(path, &e->arena, &root);
    if (status != MOT_OK) {
        mot_experiment_close(e);
        return status;
    }
    return finish(e, &reader, root, setting, settings, out);
}

enum mot_status mot_experiment_parse(
    const char *name, const char *text, size_t n, struct mot_experiment **out)
{
    struct mot_experiment *e = mot_new(1, sizeof *e);
    struct mot_yaml_reader reader = { .arena = &e->arena, .alone = true };
    struct mot_yaml *root;
    enum mot_status status = mot_yaml_parse(name, false, text, n, &e->arena, &root);
    if (status != MOT_OK) {
        mot_experiment_close(e);
        return status;
    }
    return finish(e, &reader, root, NULL, 0, out);
}

enum mot_status mot_experiment_open_run(const char *name, const char *text, size_t n,
    const struct mot_setting *setting, size_t settings, struct mot_experiment **out)
{
    struct mot_experiment *e = mot_new(1, sizeof *e);
    struct mot_yaml_reader reader = { .arena = &e->arena, .study = true, .file = name };
    struct mot_yaml nothing = { .kind = MOT_YAML_MAP }, *root = &nothing;
    enum mot_status status = name ? mot_yaml_parse(name, false, text, n, &e->arena, &root) : MOT_OK;
    if (status != MOT_OK) {
        mot_experiment_close(e);
        return status;
    }
    return finish(e, &reader, root, setting, settings, out);
}

void mot_experiment_close(struct mot_experiment *e)
{
    if (!e) return;
    mot_cluster_close(e->cluster);
    mot_arena_free(&e->arena);
    free(e);
}
