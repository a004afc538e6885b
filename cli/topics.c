#include "topics.h"
#include "base/memory.h"
#include "base/options.h"
#include "data/data.h"
#include "math/layer_list.h"
#include <motley/status.h>
#include <stdlib.h>
#include <string.h>

/* ---- Options --------------------------------------------------------------------------- */

/* `of`: the part that the key belongs to, or NULL. */
static void key_item(struct page *p, const struct mot_option *o, const char *term, const char *of)
{
    char *expects = mot_option_expects(o),
         *also = o->also ? mot_format("; also called %s", o->also) : mot_text("");
    char *only = of ? mot_format("; %s only", of) : mot_text("");
    char *more = o->preset ? mot_format("%s; default: %s%s%s", expects, o->preset, also, only)
                           : mot_format("%s; required%s%s", expects, also, only);
    page_item(p, term, o->doc, more);
    free(more);
    free(only);
    free(also);
    free(expects);
}

static void option_item(struct page *p, const struct mot_option *o, const char *prefix)
{
    char *term = mot_format("%s%s%s", prefix, *prefix ? "." : "", o->name);
    key_item(p, o, term, NULL);
    free(term);
}

void page_key(struct page *p, const struct mot_key *key) { key_item(p, key->option, key->name, key->of); }

static void option_items(struct page *p, const struct mot_option *options, const char *prefix)
{
    for (const struct mot_option *o = options; o && o->name; o++) option_item(p, o, prefix);
}

static void names_of(struct page *p, const struct mot_family *family)
{
    struct mot_choice choice;
    for (size_t i = 0; family->get(i, &choice); i++) {
        bool preset = strcmp(choice.name, family->preset) == 0;
        page_item(p, choice.name, choice.summary, preset ? "the default" : NULL);
    }
}

/* "stop: What ends the run", or in roff a short heading with the sentence below. */
static void section_head(struct page *p, const char *name, const char *doc)
{
    if (p->roff) {
        page_heading(p, *name ? name : "keys outside sections");
        if (*name) page_text(p, doc);
        return;
    }
    char *heading = *name ? mot_format("%s: %s", name, doc) : mot_text(doc);
    page_heading(p, heading);
    free(heading);
}

void page_section(struct page *p, const struct mot_section *s, const char *prefix)
{
    section_head(p, s->name, s->doc);
    option_items(p, s->options, prefix);
    if (s->family) names_of(p, s->family);
}

void page_family(struct page *p, const struct mot_family *family)
{
    char *heading = mot_format("The %s", family->many);
    if (p->roff) page_heading(p, heading);
    else fprintf(p->out, "%s\n", heading);
    names_of(p, family);
    free(heading);
    if (p->roff) return;
    char *more = mot_format("motley help %s NAME\n", family->section);
    page_heading(p, "Details");
    page_lines(p, more);
    free(more);
}

void page_choice(struct page *p, const struct mot_family *family, const struct mot_choice *choice)
{
    char *title = mot_format("%s %s", family->section, choice->name);
    page_title(p, title, "", choice->summary);
    free(title);
    if (choice->about) {
        page_heading(p, "About");
        page_text(p, choice->about);
    }
    page_heading(p, "Options");
    option_items(p, choice->options, "");
    if (!choice->options || !choice->options->name) page_text(p, "None.");
    page_heading(p, "Example");
    const struct mot_option *first = choice->options && choice->options->name ? choice->options : NULL;
    char *example = first ? mot_format("%s: {name: %s, %s: %s}\n", family->section, choice->name, first->name,
                                first->preset ? first->preset : "...")
                          : mot_format("%s: %s\n", family->section, choice->name);
    page_lines(p, example);
    free(example);
}

/* ---- Topics ------------------------------------------------------------------------------ */

static void print_experiment(struct page *p)
{
    page_text(p,
        "An experiment is a YAML file. Every key has a default, so an empty file is an experiment too. A "
        "plain word in place of a section is its name: 'method: async' means 'method: {name: async}'. Every "
        "key is also a flag, with dashes for dots: --stop-updates 100. Flags override the file. Paths in a "
        "file are relative to that file; 'output' is relative to the current folder.\n\n"
        "Times and bandwidths have units (3ms, 10s, 5min; 20Mbit, 1GB/s). Numbers may be written 25e6, 10k, "
        "2^-3 or 20%.");
    page_heading(p, "Example");
    page_lines(p,
        "seed: 1\n"
        "data: fashion-mnist\n"
        "model: {name: mlp, hidden: [128, 64]}\n"
        "method: {name: async}\n"
        "optimizer: {name: sgd, lr: 0.1, momentum: 0.9, schedule: {name: cosine, warmup: 100}}\n"
        "batch: 32\n"
        "cluster: cluster.yaml\n"
        "evaluate: {every: 1s}\n"
        "stop: {time: 10min, target: {test_accuracy: 0.85}}\n"
        "output: runs/first\n");
    for (const struct mot_section *s = mot_sections; s->name; s++) page_section(p, s, s->name);
    for (size_t i = 0; p->roff && mot_families[i]; i++) {
        struct mot_choice choice;
        for (size_t j = 0; mot_families[i]->get(j, &choice); j++) {
            if (!choice.options || !choice.options->name) continue;
            char *heading = mot_format("Options of the %s %s", mot_families[i]->one, choice.name);
            page_heading(p, heading);
            free(heading);
            option_items(p, choice.options, mot_families[i]->section);
        }
    }
}

static void law_options(struct page *p, const struct mot_family *family)
{
    struct mot_choice choice;
    for (size_t i = 0; family->get(i, &choice); i++) {
        char *keys = mot_text("");
        for (const struct mot_option *o = choice.options; o && o->name; o++) {
            char *longer = mot_format("%s%s%s%s%s", keys, *keys ? ", " : "", o->name, o->preset ? "=" : "",
                o->preset ? o->preset : "");
            free(keys);
            keys = longer;
        }
        page_item(p, choice.name, choice.summary, *keys ? keys : NULL);
        free(keys);
    }
}

static void print_cluster(struct page *p)
{
    page_text(p,
        "A cluster is a YAML file, or the same keys under 'cluster' in an experiment. It says how fast each "
        "worker computes and how much its link carries. A link carries one message at a time in each "
        "direction: B bytes occupy the sender's link for B/up and the receiver's for B/down; the message "
        "arrives when the slower of the two is done, plus both latencies.\n\n"
        "A job takes fixed + samples/speed (or job_time), times the jitter, times 'factor' while the worker "
        "straggles. A job_time or a trace gives the time of a job of any size or, with 'per: samples', of a "
        "job of the worker's batch. 'motley cluster show FILE' prints a cluster as a table.\n\n"
        "Flags can set any key of an experiment's cluster: --cluster-slow 5, --set cluster.server.up=1Gbit. "
        "A group is addressed by its name or its number from 0: --set cluster.workers.slow.speed=100/s.");
    page_heading(p, "Example");
    page_lines(p,
        "network: {bandwidth: 1Gbit, latency: 100us}     # or none: messages take no time\n"
        "workers:\n"
        "  - {name: fast, count: 6, speed: 1000 samples/s, jitter: {name: lognormal, sigma: 0.2}}\n"
        "  - {name: slow, count: 2, speed: 250 samples/s, up: 20Mbit, down: 100Mbit}\n"
        "server: {bandwidth: 10Gbit}\n"
        "faults: {drop: 1%, until: 20s, schedule: [{kind: crash, at: 3s, for: 2s, worker: 7}]}\n");
    for (const struct mot_section *s = mot_cluster_sections; s->name; s++) {
        section_head(p, s->name, s->doc);
        option_items(p, s->options, "");
        if (s->family) law_options(p, s->family);
        if (!s->options && !s->family) page_text(p, "The same keys as network.");
    }
}

static void print_data(struct page *p)
{
    page_text(p,
        "'data: NAME' is a built-in data set, 'data: FILE' a file (IDX, LIBSVM, CSV, NPY, NPZ or CIFAR; .gz "
        "is fine). "
        "'motley data info NAME|FILE' describes one.");
    page_heading(p, "Built in");
    for (const struct mot_builtin *b = mot_builtins; b->name; b++)
        page_item(p, b->name, b->summary, b->available && b->available() ? NULL : b->hint);
    page_heading(p, "Keys");
    option_items(p, mot_data_options, "data");
}

static void print_layers(struct page *p)
{
    page_text(p,
        "The model 'network' is a list of layers. A layer is a word, or a map with its name and options; "
        "'as' names its tensors, which are otherwise called by its place, from 0. Shapes are checked before "
        "anything runs.");
    page_heading(p, "Example");
    page_lines(p,
        "model:\n"
        "  name: network\n"
        "  layers:\n"
        "    - {name: conv, out: 16, kernel: 3, padding: 1}\n"
        "    - {name: group_norm, groups: 4}\n"
        "    - relu\n"
        "    - mean_pool\n"
        "    - flatten\n"
        "    - {name: linear, out: classes}\n");
    const char *name, *doc;
    const struct mot_option *options;
    for (size_t i = 0; mot_layer_kind_at(i, &name, &doc, &options); i++) {
        section_head(p, name, doc);
        option_items(p, options, "");
        if (strcmp(name, "residual") == 0)
            page_item(p, "layers", "the layers that the input goes through", "a list; required");
    }
}

void topic_exit_codes_items(struct page *p)
{
    page_item(p, "0", "success; reaching a time limit is a normal end", NULL);
    page_item(p, "1", "system error: disk, memory, permissions", NULL);
    page_item(p, "2", "bad usage or configuration: a flag, an experiment, a cluster file or its trace", NULL);
    page_item(p, "3", "bad data: a damaged or unsuitable data file", NULL);
    page_item(p, "4", "a peer was lost", NULL);
    page_item(p, "5", "a deadline passed, or the run could not make progress", NULL);
    page_item(p, "6", "the loss became NaN or infinite", NULL);
    page_item(p, "7", "a replayed run did not repeat, or ranks have read different files", NULL);
    page_item(p, "130", "interrupted by Ctrl-C", NULL);
}

const struct topic topics[] = {
    { "experiment", "the experiment file and all its keys", print_experiment },
    { "cluster", "the cluster file and all its keys", print_cluster },
    { "data", "data sets and files", print_data },
    { "layers", "the layers of a network", print_layers },
    { "exit-codes", "what each exit code means", topic_exit_codes_items },
    { NULL, NULL, NULL },
};

const struct topic *topic_find(const char *name)
{
    for (const struct topic *t = topics; t->name; t++)
        if (strcmp(t->name, name) == 0) return t;
    return NULL;
}
