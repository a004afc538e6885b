/* partition_print.c -- a partition on the terminal. */
#include "base/memory.h"
#include "base/shown.h"
#include "base/words.h"
#include "partition.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CLASSES_SHOWN 12u
#define WORKERS_SHOWN 40u

static void print_table(const struct cli_cut *r)
{
    uint32_t parts = r->parts.parts, classes = r->q.classes,
             shown = r->data->train.classes && classes <= CLASSES_SHOWN ? classes : 0;
    printf("%6s  %10s  %8s", "worker", "speed", "rows");
    for (uint32_t l = 0; l < shown; l++) {
        char name[7];
        printf("  %6s", mot_show_text(r->data->class_names[l], name, sizeof name));
    }
    if (!shown && r->data->train.classes) printf("  %8s  %13s", "classes", "rows a class");
    if (r->features) printf("  %9s  %9s", "MMD^2", "of random");
    putchar('\n');
    for (uint32_t j = 0; j < parts && j < WORKERS_SHOWN; j++) {
        uint32_t least = UINT32_MAX, most = 0, present = 0, blocks = 0;
        double mmd2 = 0, random = 0;
        printf("%6u  %10.4g  %8llu", j, r->split.speed[j],
            (unsigned long long)(r->parts.at[j + 1] - r->parts.at[j]));
        for (uint32_t l = 0; l < classes; l++) {
            uint32_t n = r->q.count[(size_t)l * parts + j];
            double m = r->q.mmd2[(size_t)l * parts + j];
            if (l < shown) printf("  %6u", n);
            present += n > 0;
            if (n < least) least = n;
            if (n > most) most = n;
            if (!isnan(m)) mmd2 += m, random += r->q.random[(size_t)l * parts + j], blocks++;
        }
        if (!shown && r->data->train.classes) printf("  %8u  %6u-%-6u", present, least, most);
        if (r->features)
            printf("  %9.2e  %9.2g", blocks ? mmd2 / blocks : NAN, random > 0 ? mmd2 / random : 0);
        putchar('\n');
    }
    if (parts > WORKERS_SHOWN) printf("... and %u more workers\n", parts - WORKERS_SHOWN);
}

static void print_algorithm(const struct cli_cut *r)
{
    const struct mot_split_cost *c = &r->cost;
    char size[32];
    if (!c->algorithm) return;
    printf("%-12s %s: ", "algorithm", c->algorithm);
    if (c->neighbours) printf("the %u largest similarities per row; ", c->neighbours);
    else if (c->candidates)
        printf("the best of up to %u samples per pick, an expected loss of up to %.3g %% of the value; ",
            c->candidates, 100 * c->epsilon);
    else if (c->exact) printf("exact greedy; ");
    else printf("greedy within chunks of rows, random features for the rest; ");
    printf("%.4g pairs compared, %.4g gains, %s of memory planned\n", (double)c->pairs,
        (double)c->evaluations, mot_show_size(c->bytes, size, sizeof size));
}

/* ---- Compared with random rows ------------------------------------------------------------------------ */

#define WORST_SHOWN 5u

/* ", class 7", or "" if labels are values. */
static const char *class_text(const struct cli_cut *r, uint32_t class, char *into, size_t size)
{
    char name[64];
    if (!r->data->train.classes) return "";
    snprintf(into, size, ", class %s", mot_show_text(r->data->class_names[class], name, sizeof name));
    return into;
}

static bool fits_a_table(const struct cli_cut *r)
{
    return r->q.classes <= CLASSES_SHOWN && r->parts.parts <= WORKERS_SHOWN;
}

static const char *mark(const struct mot_quality *q, uint32_t class, uint32_t part)
{
    return mot_quality_is_worse(q, class, part) ? "!" : "";
}

static void print_ratios(const struct cli_cut *r)
{
    const struct mot_quality *q = &r->q;
    printf("\nMMD^2 relative to random rows, by class; !: above 1, worse than chance\n%6s", "worker");
    for (uint32_t l = 0; l < q->classes; l++) {
        char name[7];
        printf("  %6s",
            r->data->train.classes ? mot_show_text(r->data->class_names[l], name, sizeof name) : "all");
    }
    for (uint32_t j = 0; j < q->parts; j++) {
        printf("\n%6u", j);
        for (uint32_t l = 0; l < q->classes; l++) {
            double ratio = mot_quality_ratio(q, l, j);
            char text[32] = "-";
            if (!isnan(ratio)) snprintf(text, sizeof text, "%s%.2f", mark(q, l, j), ratio);
            printf("  %6s", text);
        }
    }
    putchar('\n');
}

struct block {
    double ratio;
    uint32_t class, part;
};

static int by_ratio(const void *a, const void *b)
{
    const struct block *p = a, *q = b;
    if (p->ratio != q->ratio) return p->ratio > q->ratio ? -1 : 1;
    if (p->class != q->class) return p->class < q->class ? -1 : 1;
    return (p->part > q->part) - (p->part < q->part);
}

static void print_worst(const struct cli_cut *r)
{
    const struct mot_quality *q = &r->q;
    struct block *block = mot_new_large((size_t)q->classes * q->parts, sizeof *block);
    size_t n = 0;
    if (!block) return; /* the command ends with a message */
    for (uint32_t l = 0; l < q->classes; l++)
        for (uint32_t j = 0; j < q->parts; j++) {
            double ratio = mot_quality_ratio(q, l, j);
            if (!isnan(ratio)) block[n++] = (struct block){ ratio, l, j };
        }
    qsort(block, n, sizeof *block, by_ratio);
    printf("\nMMD^2 relative to random rows, the largest; !: above 1, worse than chance\n");
    for (size_t i = 0; i < n && i < WORST_SHOWN; i++) {
        char name[96], text[32];
        snprintf(text, sizeof text, "%s%.2f", mark(q, block[i].class, block[i].part), block[i].ratio);
        printf("%8s  worker %u%s: %u rows\n", text, block[i].part,
            class_text(r, block[i].class, name, sizeof name),
            q->count[(size_t)block[i].class * q->parts + block[i].part]);
    }
    if (n > WORST_SHOWN) printf("  --json and --out give all %zu, as `mmd2_ratio` of the workers\n", n);
    free(block);
}

static void print_fallback(const struct cli_cut *r)
{
    const struct mot_fallback *f = &r->fallback;
    double before = 0, after = 0;
    if (f->by == MOT_FALLBACK_NONE) return;
    for (uint32_t l = 0; l < r->q.classes; l++) {
        if (!f->was_tried[l]) continue;
        if (f->before[l] > before) before = f->before[l];
        double now = f->is_taken[l] ? f->after[l] : f->before[l];
        if (now > after) after = now;
    }
    const char *by = f->by == MOT_FALLBACK_HERDING ? "herding" : "random rows";
    if (f->tried == 0) printf("%-12s not needed: nothing is worse than random rows\n", "fallback");
    else
        printf("%-12s %u of %u classes had a block worse than random rows; %s did better in %u. Their "
               "largest ratio was %.2f and is now %.2f\n",
            "fallback", f->tried, r->q.classes, by, f->taken, before, after);
}

/* What to do about blocks that are worse than random. */
static void print_warning(const struct cli_cut *r, const char *command)
{
    const struct mot_quality *q = &r->q;
    uint32_t most = 0;
    bool herds = r->x->partitioner == &mot_partition_herding || r->fallback.by == MOT_FALLBACK_HERDING;
    if (q->worse == 0 || !(cli_cut_classwise(r) || r->fallback.by != MOT_FALLBACK_NONE)) return;
    for (uint32_t l = 0; l < q->classes; l++)
        for (uint32_t j = 0; j < q->parts; j++)
            if (mot_quality_is_worse(q, l, j) && q->count[(size_t)l * q->parts + j] > most)
                most = q->count[(size_t)l * q->parts + j];
    printf("%-12s %u of %u blocks (a worker's rows of a class) represent their class worse than random rows "
           "would",
        "warning", q->worse, q->classes * q->parts);
    if (herds)
        printf(
            "; none has more than %u row%s. Fewer workers make larger blocks\n", most, most == 1 ? "" : "s");
    else printf("; to use herding for their classes:\n%-12s %s\n", "", command);
}

static void print_ratio(const struct cli_cut *r, const char *command)
{
    const struct mot_quality *q = &r->q;
    char name[96];
    if (q->mmd2_random <= 0) return; /* one worker has everything */
    printf("%-12s %.2f of the MMD^2 of random rows; at worst %.2f, worker %u%s\n", "ratio",
        q->mmd2_mean / q->mmd2_random, q->ratio_worst, q->worst_part,
        class_text(r, q->worst_class, name, sizeof name));
    print_fallback(r);
    print_warning(r, command);
}

static void print_quality(const struct cli_cut *r, const char *command)
{
    const struct mot_quality *q = &r->q;
    if (r->x->partitioner == &mot_partition_submodular && r->features) {
        bool cut = cli_cut_classwise(r)->objective != 0;
        printf("%-12s %s %.*g over all classes and workers%s\n", "value",
            cut ? "graph-cut" : "facility-location", q->mmd2_exact ? 8 : 3,
            cut ? q->graph_cut : q->facility_location, q->mmd2_exact ? "" : ", estimated from a sample");
    }
    char features[256];
    if (r->features)
        printf("%-12s between a worker's rows and their class: mean %.3g, worst %.3g; random rows %.3g (%s, "
               "features %s, bandwidth %.4g)\n",
            "MMD^2", q->mmd2_mean, q->mmd2_max, q->mmd2_random,
            q->mmd2_exact ? "exact" : "by random features",
            mot_show_text(r->features, features, sizeof features), q->bandwidth);
    if (r->features) print_ratio(r, command);
    if (r->data->train.classes)
        printf("%-12s divergence from the overall distribution: mean %.3g, worst %.3g nats\n", "labels",
            q->divergence_mean, q->divergence_max);
    printf("%-12s from shares by speed: at most %.3g rows per class, %.3g in a worker's total\n", "distance",
        q->quota_class, q->quota_worker);
}

static void print_cost(const struct cli_cut *r, const char *out)
{
    char split[32], work[32], measure[32], size[32];
    const struct mot_dataset *d = r->data;
    printf("%-12s %s to partition (%s of CPU time), %s to measure; %s at peak\n", "cost",
        mot_show_time((uint64_t)(r->split_s * 1e9), split, sizeof split),
        mot_show_time((uint64_t)(r->split_cpu_s * 1e9), work, sizeof work),
        mot_show_time((uint64_t)(r->measure_s * 1e9), measure, sizeof measure),
        mot_show_size(cli_cut_peak_bytes(), size, sizeof size));
    printf("%-12s %u of the %u in the training file", "rows", d->train.rows, d->file_rows);
    if (d->train.rows < d->file_rows)
        printf(
            "; %u are kept for testing or validation (data.test, data.valid)", d->file_rows - d->train.rows);
    putchar('\n');
    char folder[512];
    if (out) mot_show_text(out, folder, sizeof folder);
    if (out)
        printf("%-12s %s: row numbers count from 0 as in the file; train with `partition: {from: %s}`; see "
               "partition.html\n",
            "written", folder, folder);
}

void cli_cut_print(const struct cli_cut *r, const char *command, const char *out, bool table_only)
{
    print_table(r);
    if (table_only) return;
    if (r->features && r->q.mmd2_random > 0) (fits_a_table(r) ? print_ratios : print_worst)(r);
    putchar('\n');
    print_algorithm(r);
    print_quality(r, command);
    cli_differ_print(&r->differ);
    print_cost(r, out);
}
