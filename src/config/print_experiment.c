/* print_experiment.c -- the resolved experiment, as YAML and as a hash. */
#include "config/print.h"
#include "base/memory.h"
#include "base/options.h"
#include "code/codes.h"
#include "config/cluster_file.h"
#include "config/experiment.h"
#include "config/version.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* ---- Values ------------------------------------------------------------------- */

/* Letters, digits and a few marks without meaning to YAML inside a word. */
static bool is_plain(const char *text)
{
    if (!isalnum((unsigned char)*text) && *text != '/' && *text != '.' && *text != '+') return false;
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && !strchr("/._-+^% ", *text)) return false;
    return text[-1] != ' ';
}

void mot_print_scalar(const char *text, FILE *out)
{
    if (is_plain(text)) {
        fputs(text, out);
        return;
    }
    putc('"', out);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') fprintf(out, "\\%c", c);
        else if (c < ' ' || c == 127) fprintf(out, "\\x%02x", c);
        else putc(c, out);
    }
    putc('"', out);
}

void mot_print_option(const struct mot_option *option, const void *conf, int indent, FILE *out)
{
    bool no_text =
        option->type == MOT_OPT_TEXT && !*(const char *const *)((const char *)conf + option->offset);
    if (no_text) return; /* leaving the key out means the same */
    char *text = mot_option_text(option, conf);
    fprintf(out, "%*s%s: ", indent, "", option->name);
    if (option->type == MOT_OPT_UINTS || option->type == MOT_OPT_LIST) fputs(text, out);
    else mot_print_scalar(text, out);
    putc('\n', out);
    free(text);
}

void mot_print_options(const struct mot_option *table, const void *conf, int indent, FILE *out)
{
    for (const struct mot_option *o = table; o && o->name; o++) mot_print_option(o, conf, indent, out);
}

void mot_print_choice(const char *section, const char *name, const struct mot_option *table, const void *conf,
    int indent, FILE *out)
{
    fprintf(out, "%*s%s:\n%*sname: %s\n", indent, "", section, indent + 2, "", name);
    mot_print_options(table, conf, indent + 2, out);
}

/* ---- The experiment -------------------------------------------------------------- */

static void print_every(const char *section, const struct mot_every *every, FILE *out)
{
    static const struct mot_option time = { .name = "every", .type = MOT_OPT_TIME };
    static const struct mot_option number = { .name = "every", .type = MOT_OPT_REAL };
    fprintf(out, "%s:\n", section);
    if (every->unit == MOT_EVERY_AUTO) {
        fputs("  every: auto\n", out);
        return;
    }
    const uint64_t ns = (uint64_t)every->value;
    char *text =
        every->unit == MOT_EVERY_TIME ? mot_option_text(&time, &ns) : mot_option_text(&number, &every->value);
    const char *unit = every->unit == MOT_EVERY_UPDATES ? " updates"
        : every->unit == MOT_EVERY_EPOCHS               ? " epochs"
                                                        : "";
    fprintf(out, "  every: %s%s\n", text, unit);
    free(text);
}

static void print_batch(const struct mot_experiment *e, FILE *out)
{
    if (e->batch_full) {
        fputs("batch: full\n", out);
        return;
    }
    uint32_t i = 1;
    while (i < e->workers && e->batch[i] == e->batch[0]) i++;
    if (i == e->workers) {
        fprintf(out, "batch: %u\n", e->batch[0]);
        return;
    }
    fputs("batch: [", out);
    for (i = 0; i < e->workers; i++) fprintf(out, "%s%u", i ? ", " : "", e->batch[i]);
    fputs("]\n", out);
}

static void print_stop(const struct mot_experiment *e, FILE *out)
{
    const struct mot_stop_conf stop = { e->stop.updates, e->stop.epochs, e->stop.time };
    fputs("stop:\n", out);
    mot_print_options(mot_stop_options, &stop, 2, out);
    if (e->stop.target == MOT_TARGET_NONE) return;
    const struct mot_target_conf target = {
        e->stop.target == MOT_TARGET_TRAIN_LOSS ? e->stop.value : NAN,
        e->stop.target == MOT_TARGET_TEST_ACCURACY ? e->stop.value : NAN,
        e->stop.target == MOT_TARGET_GRAD_NORM ? e->stop.value : NAN,
    };
    fputs("  target:\n", out);
    mot_print_option(&mot_target_options[e->stop.target - MOT_TARGET_TRAIN_LOSS], &target, 4, out);
}

/* All that decides the mathematics and the virtual clock; `idle`: even a compressor that changes nothing. */
static void print_essence(const struct mot_experiment *e, bool idle, FILE *out)
{
    const struct mot_evaluate_conf evaluate = { NULL, e->evaluate.train, e->evaluate.grad_norm,
        e->evaluate.heterogeneity };
    fprintf(out, "seed: %llu\nworkers: %u\n", (unsigned long long)e->seed, e->workers);
    fputs("data:\n", out);
    mot_print_options(mot_data_options, &e->data, 2, out);
    if (e->source.from) {
        fputs("source:\n", out);
        mot_print_options(mot_intake_options, &e->source, 2, out);
    }
    mot_print_choice("partition", e->partitioner->name, e->partitioner->options, e->partition_conf, 0, out);
    fputs("sampler:\n", out);
    mot_print_options(mot_sampler_options, &e->sampler, 2, out);
    mot_print_choice("model", e->model->name, e->model->options, e->model_conf, 0, out);
    mot_print_choice("method", e->method->name, e->method->options, e->method_conf, 0, out);
    if (e->traits.mixes)
        mot_print_choice("topology", e->topology->name, e->topology->options, &e->topology_conf, 0, out);
    if (e->traits.codes)
        mot_print_choice("code", e->code.name, mot_code_find(e->code.name)->options, &e->code, 0, out);
    if (e->compress.kind->pack && (idle || !mot_compress_idle(&e->compress)))
        mot_print_choice("compress", e->compress.kind->name, e->compress.kind->options, &e->compress, 0, out);
    mot_print_choice("optimizer", e->optimizer->name, e->optimizer->options, &e->optim, 0, out);
    fputs("  schedule:\n", out);
    mot_print_options(mot_schedule_options, &e->schedule, 4, out);
    print_batch(e, out);
    if (e->elastic) fputs("elastic: true\n", out);
    if (e->no_raw_data) fputs("no_raw_data: true\n", out);
    fputs("cluster:\n", out);
    mot_cluster_print(e->cluster, 2, out);
    print_every("evaluate", &e->evaluate.every, out);
    mot_print_options(mot_evaluate_options, &evaluate, 2, out);
}

static struct mot_sim_conf sim_conf(const struct mot_experiment *e)
{
    return (struct mot_sim_conf){ e->sim.threads, e->sim.collective, e->sim.overcommit };
}

enum mot_status mot_experiment_print(const struct mot_experiment *e, FILE *out)
{
    const struct mot_sim_conf sim = sim_conf(e);
    const struct mot_mpi_conf mpi = { e->mpi.fast, e->mpi.own, e->mpi.check_all };
    const struct mot_header_conf header = { .trace = e->trace, .from = e->from, .output = e->output };
    fprintf(
        out, "# An experiment as motley " MOT_VERSION " resolved it. Running it again repeats the run.\n");
    print_essence(e, true, out);
    print_stop(e, out);
    fputs("sim:\n", out);
    mot_print_options(mot_sim_options, &sim, 2, out);
    fputs("mpi:\n", out);
    mot_print_options(mot_mpi_options, &mpi, 2, out);
    print_every("checkpoint", &e->checkpoint, out);
    mot_print_option(mot_option_find(mot_header_options, "from"), &header, 0, out);
    mot_print_option(mot_option_find(mot_header_options, "trace"), &header, 0, out);
    mot_print_option(mot_option_find(mot_header_options, "output"), &header, 0, out);
    if (ferror(out)) return mot_fail(MOT_ESYSTEM, "the experiment cannot be written: %s", strerror(errno));
    return MOT_OK;
}

uint64_t mot_experiment_hash(const struct mot_experiment *e)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (!out) {
        mot_memory_refuse(0);
        return 0;
    }
    const struct mot_sim_conf sim = sim_conf(e);
    print_essence(e, false, out);
    mot_print_option(mot_option_find(mot_sim_options, "collective"), &sim, 0, out);
    /* A schedule that ends with the run makes `stop` part of the mathematics. */
    bool ends_with_run =
        e->schedule.name == MOT_SCHEDULE_COSINE || e->schedule.name == MOT_SCHEDULE_POLYNOMIAL;
    if (ends_with_run && e->schedule.total == MOT_WORD_UINT) print_stop(e, out);
    if (fclose(out) != 0 || !text) mot_memory_refuse(0);
    uint64_t hash = text ? XXH64(text, n, 0) : 0;
    free(text);
    return hash;
}
