/* cluster_print.c -- a cluster as YAML that reads back to the same cluster, and in words. */
#include "base/options.h"
#include "config/cluster_file.h"
#include "config/fault_file.h"
#include "config/print.h"
#include "config/stream_file.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t nanoseconds(double seconds) { return (uint64_t)llround(seconds * 1e9); }

static struct mot_law_conf time_conf(const struct mot_law *law)
{
    return (struct mot_law_conf){
        .time = { nanoseconds(law->mean), nanoseconds(law->low), nanoseconds(law->high), nanoseconds(law->sd),
            nanoseconds(law->unit), nanoseconds(law->plus) },
        .factor = { .sigma = law->sigma, .alpha = law->alpha },
    };
}

static struct mot_law_conf factor_conf(const struct mot_law *law)
{
    return (struct mot_law_conf){
        .factor = { law->mean, law->low, law->high, law->sd, law->unit, law->plus, law->sigma, law->alpha },
    };
}

static struct mot_straggle_conf straggle_conf(const struct mot_straggle *s, uint64_t column)
{
    return (struct mot_straggle_conf){ s->factor, s->p, s->slow, s->p_slow, s->p_fast, s->stay_slow,
        s->stay_fast, s->path, column };
}

static double none_if_free(double bandwidth) { return isinf(bandwidth) ? NAN : bandwidth; }

static double none_if_zero(double rate) { return rate > 0 ? rate : (double)NAN; }

static struct mot_choice part_at(const struct mot_family *family, size_t i)
{
    struct mot_choice choice;
    family->get(i, &choice);
    return choice;
}

/* Whether the worker's column is the one `auto` gives; it is then printed as auto, so that groups stay
 * groups. */
static bool is_auto(const struct mot_cluster *c, uint32_t worker)
{
    const struct mot_straggle *s = &c->machine[worker].straggle;
    return !s->trace || s->column == worker % s->trace->cols;
}

static bool belongs(const struct mot_cluster *c, uint32_t first, uint32_t worker)
{
    const struct mot_machine *a = &c->machine[first], *b = &c->machine[worker];
    if (!mot_machine_alike(a, b)) return false;
    if (is_auto(c, first)) return is_auto(c, worker);
    return a->straggle.column == b->straggle.column && !is_auto(c, worker);
}

uint32_t mot_cluster_group(const struct mot_cluster *c, uint32_t at)
{
    uint32_t n = 1;
    while (at + n < c->workers && belongs(c, at, at + n)) n++;
    return n;
}

static void print_link(const struct mot_link *link, int indent, FILE *out)
{
    const struct mot_link_conf conf = { none_if_free(link->up), none_if_free(link->up),
        none_if_free(link->down), link->latency };
    /* The first option, `bandwidth`, is short for the next two. */
    mot_print_options(&mot_link_options[1], &conf, indent, out);
}

static void print_group(const struct mot_cluster *c, uint32_t first, uint32_t count, int indent, FILE *out)
{
    const struct mot_machine *m = &c->machine[first];
    const struct mot_group_conf group = { m->name, count, m->speed, m->fixed, m->price, m->room };
    fprintf(out, "%*s-\n", indent, "");
    indent += 2;
    for (const struct mot_option *o = mot_group_options; o->name; o++) {
        bool of_speed = strcmp(o->name, "speed") == 0 || strcmp(o->name, "fixed") == 0;
        bool by_itself = strcmp(o->name, "per") == 0 && m->price == MOT_PRICE_AUTO;
        bool of_store = strcmp(o->name, "memory") == 0 || strcmp(o->name, "storage") == 0;
        if (of_store && m->room.memory == 0) continue;
        if ((of_speed && m->has_job_time) || (strcmp(o->name, "name") == 0 && !m->name) || by_itself)
            continue;
        mot_print_option(o, &group, indent, out);
    }
    if (m->has_job_time) {
        const struct mot_law_conf conf = time_conf(&m->job_time);
        const struct mot_choice choice = part_at(&mot_family_job_time, m->job_time.kind);
        mot_print_choice("job_time", choice.name, choice.options, &conf, indent, out);
    }
    const struct mot_law_conf jitter = factor_conf(&m->jitter);
    const struct mot_choice jitter_choice = part_at(&mot_family_jitter, m->jitter.kind);
    mot_print_choice("jitter", jitter_choice.name, jitter_choice.options, &jitter, indent, out);
    const struct mot_straggle_conf straggle =
        straggle_conf(&m->straggle, is_auto(c, first) ? MOT_WORD_UINT : m->straggle.column);
    const struct mot_choice straggle_choice = part_at(&mot_family_straggle, m->straggle.kind);
    mot_print_choice("straggle", straggle_choice.name, straggle_choice.options, &straggle, indent, out);
    print_link(&m->link, indent, out);
    mot_stream_print(m, indent, out);
}

void mot_cluster_print(const struct mot_cluster *c, int indent, FILE *out)
{
    fprintf(out, "%*sworkers:\n", indent, "");
    for (uint32_t at = 0, n; at < c->workers; at += n) {
        n = mot_cluster_group(c, at);
        print_group(c, at, n, indent + 2, out);
    }
    if (c->servers) {
        fprintf(out, "%*sserver:\n", indent, "");
        print_link(&c->machine[c->workers].link, indent + 2, out);
    }
    if (c->host.cores) {
        const struct mot_host_conf conf = { c->host.cores,
            c->host.workers ? c->host.workers : MOT_WORD_UINT };
        fprintf(out, "%*shost:\n", indent, "");
        mot_print_options(mot_host_options, &conf, indent + 2, out);
    }
    if (c->costs.step > 0 || c->costs.mix > 0) {
        const struct mot_costs conf = { none_if_zero(c->costs.step), none_if_zero(c->costs.mix) };
        fprintf(out, "%*scosts:\n", indent, "");
        mot_print_options(mot_costs_options, &conf, indent + 2, out);
    }
    mot_faults_print(&c->faults, indent, out);
}

/* ---- In words ------------------------------------------------------------------- */

char *mot_choice_text(const char *name, const struct mot_option *options, const void *conf)
{
    char *text = mot_text(name);
    bool open = false;
    for (const struct mot_option *o = options; o && o->name; o++) {
        char *value = mot_option_text(o, conf);
        const char *slash = o->type == MOT_OPT_TEXT ? strrchr(value, '/') : NULL;
        if (!o->preset || strcmp(value, o->preset) != 0) {
            char *longer =
                mot_format("%s%s%s %s", text, open ? ", " : " (", o->name, slash ? slash + 1 : value);
            free(text);
            text = longer;
            open = true;
        }
        free(value);
    }
    if (!open) return text;
    char *closed = mot_format("%s)", text);
    free(text);
    return closed;
}

char *mot_job_time_text(const struct mot_machine *m)
{
    const struct mot_choice choice = part_at(&mot_family_job_time, m->job_time.kind);
    const struct mot_law_conf conf = time_conf(&m->job_time);
    return mot_choice_text(choice.name, choice.options, &conf);
}

char *mot_jitter_text(const struct mot_machine *m)
{
    if (m->jitter.kind == MOT_LAW_FIXED && m->jitter.mean == 1 && m->jitter.plus == 0)
        return mot_text("none");
    const struct mot_choice choice = part_at(&mot_family_jitter, m->jitter.kind);
    const struct mot_law_conf conf = factor_conf(&m->jitter);
    return mot_choice_text(choice.name, choice.options, &conf);
}

char *mot_straggle_text(const struct mot_machine *m)
{
    const struct mot_choice choice = part_at(&mot_family_straggle, m->straggle.kind);
    const struct mot_straggle_conf conf = straggle_conf(&m->straggle, MOT_WORD_UINT);
    return mot_choice_text(choice.name, choice.options, &conf);
}
