/* partition_json.c -- partition.json: the partition, its quality and its cost. */
#include "base/options.h"
#include "config/version.h"
#include "partition.h"
#include "partition/folder.h"
#include "report/json.h"
#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>

const struct mot_classwise_conf *cli_cut_classwise(const struct cli_cut *r)
{
    return mot_is_classwise(r->x->partitioner) ? r->x->partition_conf : NULL;
}

double cli_cut_peak_bytes(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return 1024.0 * (double)u.ru_maxrss;
}

static json_t *counts_json(const struct cli_cut *r, uint32_t worker)
{
    json_t *counts = json_array();
    for (uint32_t l = 0; l < r->q.classes; l++)
        json_array_append_new(counts, json_integer(r->q.count[(size_t)l * r->q.parts + worker]));
    return counts;
}

/* One figure of a worker for each class, from a table [classes][parts]. */
static json_t *by_class_json(const struct cli_cut *r, const double *table, uint32_t worker)
{
    json_t *list = json_array();
    for (uint32_t l = 0; l < r->q.classes; l++)
        json_array_append_new(list, mot_json_number(table[(size_t)l * r->q.parts + worker]));
    return list;
}

static json_t *partition_json(const struct cli_cut *r)
{
    const struct mot_option *o = r->x->partitioner->options;
    json_t *p = json_pack("{s:s}", "name", r->x->partitioner->name);
    for (; o && o->name; o++) {
        char *text = mot_option_text(o, r->x->partition_conf);
        json_t *value = json_string(text);
        json_object_set_new(p, o->name, value ? value : json_null());
        free(text);
    }
    return p;
}

static json_t *ratios_json(const struct cli_cut *r, uint32_t worker)
{
    json_t *list = json_array();
    for (uint32_t l = 0; l < r->q.classes; l++)
        json_array_append_new(list, mot_json_number(mot_quality_ratio(&r->q, l, worker)));
    return list;
}

/* Which classes were partitioned again, and whether the result was kept. */
static json_t *fallback_json(const struct cli_cut *r)
{
    const struct mot_fallback *f = &r->fallback;
    json_t *classes = json_array();
    for (uint32_t l = 0; l < r->q.classes; l++) {
        if (!f->was_tried[l]) continue;
        json_t *each = json_pack("{s:I, s:o, s:o, s:b}", "class", (json_int_t)l, "ratio_worst_before",
            mot_json_number(f->before[l]), "ratio_worst_after", mot_json_number(f->after[l]), "taken",
            f->is_taken[l]);
        json_array_append_new(classes, each);
    }
    return json_pack(
        "{s:s, s:o}", "by", f->by == MOT_FALLBACK_HERDING ? "herding" : "random", "classes", classes);
}

static json_t *quality_json(const struct cli_cut *r)
{
    const struct mot_quality *q = &r->q;
    bool has_mmd2 = r->features != NULL;
    json_t *quality = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "mmd2_mean",
        mot_json_number(q->mmd2_mean), "mmd2_max", has_mmd2 ? mot_json_number(q->mmd2_max) : json_null(),
        "mmd2_random", has_mmd2 ? mot_json_number(q->mmd2_random) : json_null(), "mmd2_by",
        has_mmd2 ? json_string(q->mmd2_exact ? "exact" : "random features") : json_null(),
        "label_divergence_mean", mot_json_number(q->divergence_mean), "label_divergence_max",
        mot_json_number(q->divergence_max), "quota_error_class", mot_json_number(q->quota_class),
        "quota_error_worker", mot_json_number(q->quota_worker));
    if (has_mmd2) {
        json_object_set_new(quality, "facility_location", mot_json_number(q->facility_location));
        json_object_set_new(quality, "graph_cut", mot_json_number(q->graph_cut));
        json_object_set_new(quality, "objectives_by",
            q->mmd2_exact ? json_string("exact")
                          : json_sprintf("%u rows of each class that is not compared pair by pair",
                                MOT_OBJECTIVE_ROWS));
    }
    json_object_set_new(
        quality, "mmd2_ratio_worst", has_mmd2 ? mot_json_number(q->ratio_worst) : json_null());
    json_object_set_new(quality, "worse_than_random", has_mmd2 ? json_integer(q->worse) : json_null());
    json_object_set_new(quality, "bandwidth", has_mmd2 ? mot_json_number(q->bandwidth) : json_null());
    json_object_set_new(quality, "features", has_mmd2 ? json_string(r->features) : json_null());
    return quality;
}

static json_t *cost_json(const struct cli_cut *r)
{
    const struct mot_split_cost *c = &r->cost;
    json_t *cost = json_pack("{s:f, s:f, s:f, s:f, s:f, s:I}", "seconds", r->split_s, "cpu_seconds",
        r->split_cpu_s, "measure_seconds", r->measure_s, "measure_cpu_seconds", r->measure_cpu_s,
        "peak_bytes", cli_cut_peak_bytes(), "threads", (json_int_t)mot_split_threads(&r->split));
    if (!c->algorithm) return cost;
    json_object_set_new(cost, "algorithm", json_string(c->algorithm));
    json_object_set_new(cost, "exact_greedy", json_boolean(c->exact));
    json_object_set_new(cost, "planned_bytes", json_real(c->bytes));
    json_object_set_new(cost, "pairs", json_integer((json_int_t)c->pairs));
    json_object_set_new(cost, "evaluations", json_integer((json_int_t)c->evaluations));
    if (c->neighbours) json_object_set_new(cost, "neighbours", json_integer(c->neighbours));
    if (c->candidates) json_object_set_new(cost, "candidates", json_integer(c->candidates));
    if (c->epsilon > 0) json_object_set_new(cost, "epsilon", json_real(c->epsilon));
    return cost;
}

json_t *cli_cut_json(const struct cli_cut *r)
{
    json_t *all = mot_partition_facts(&r->split, &r->parts), *workers = json_object_get(all, "workers"),
           *classes = json_array();
    for (uint32_t j = 0; j < r->parts.parts; j++) {
        json_t *w = json_array_get(workers, j);
        json_object_set_new(w, "speed", mot_json_number(r->split.speed[j]));
        json_object_set_new(w, "count", counts_json(r, j));
        if (!r->features) continue;
        json_object_set_new(w, "mmd2", by_class_json(r, r->q.mmd2, j));
        json_object_set_new(w, "mmd2_random", by_class_json(r, r->q.random, j));
        json_object_set_new(w, "mmd2_ratio", ratios_json(r, j));
    }
    for (uint32_t l = 0; l < r->data->train.classes; l++)
        json_array_append_new(classes, mot_json_text(r->data->class_names[l]));
    json_object_set_new(all, "motley", json_string(MOT_VERSION));
    json_object_set_new(all, "data", json_string(r->data->name));
    json_object_set_new(all, "seed",
        json_integer(
            (json_int_t)(r->x->data.data_seed != MOT_WORD_UINT ? r->x->data.data_seed : r->x->seed)));
    json_object_set_new(all, "indexes", json_string("rows of the training file, from 0"));
    json_object_set_new(all, "classes", classes);
    json_object_set_new(all, "partition", partition_json(r));
    if (r->fallback.by != MOT_FALLBACK_NONE) json_object_set_new(all, "fallback", fallback_json(r));
    json_object_set_new(all, "quality", quality_json(r));
    json_object_set_new(all, "heterogeneity", cli_differ_json(&r->differ));
    json_object_set_new(all, "cost", cost_json(r));
    return all;
}
