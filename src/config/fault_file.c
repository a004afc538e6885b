/* fault_file.c -- reads and prints faults: chances and rates from the seed, and a list. */
#include "config/fault_file.h"
#include "base/options.h"
#include "config/print.h"
#include <string.h>

/* ---- Reading --------------------------------------------------------------------- */

static bool must_name(enum mot_fault_kind kind)
{
    return kind == MOT_FAULT_CRASH || kind == MOT_FAULT_RESTART || kind == MOT_FAULT_STALL ||
        kind == MOT_FAULT_PARTITION;
}

static enum mot_status check_fault(const struct mot_yaml_reader *r, const struct mot_yaml *node,
    const char *key, const struct mot_fault *f, uint32_t workers)
{
    const struct mot_yaml *list =
        mot_yaml_get(node, "workers") ? mot_yaml_get(node, "workers") : mot_yaml_get(node, "worker");
    for (uint32_t i = 0; i < f->workers.n; i++)
        if (f->workers.v[i] >= workers)
            return mot_read_fail(r, list, mot_key_join(r, key, "workers"),
                "expected workers from 0 to %u; found %u", workers - 1, f->workers.v[i]);
    if (must_name(f->kind) && f->workers.n == 0 && !f->server)
        return mot_read_fail(r, node, key, "a %s must say whom it affects: worker: 3, workers: [0, 1]%s",
            mot_fault_name(f->kind), f->kind == MOT_FAULT_RESTART ? "" : " or server: true");
    if (f->kind == MOT_FAULT_CRASH && f->server && f->lasts != MOT_NEVER)
        return mot_read_fail(r, mot_yaml_get(node, "for"), mot_key_join(r, key, "for"),
            "has no meaning for a server: its crash ends the run");
    return MOT_OK;
}

static enum mot_status read_fault(const struct mot_yaml_reader *r, const struct mot_yaml *node,
    const char *key, uint32_t workers, struct mot_fault *out)
{
    static const char *const kind_key[] = { "kind", NULL };
    struct mot_choice choice;
    struct mot_fault_conf conf = { .lasts = MOT_NEVER };
    enum mot_status status = mot_read_map(r, node, key, "{kind: stall, at: 3s, for: 500ms, worker: 2}");
    if (status != MOT_OK) return status;
    const struct mot_yaml *kind = mot_yaml_get(node, "kind");
    if (!kind)
        return mot_read_fail(
            r, node, mot_key_join(r, key, "kind"), "is missing; expected crash, stall, partition, drop, ...");
    if ((status = mot_read_name(r, kind, mot_key_join(r, key, "kind"), &mot_family_fault, &choice)))
        return status;
    if ((status = mot_read_options(r, node, key, choice.options, &conf, kind_key, 0))) return status;
    *out = (struct mot_fault){ .kind = (enum mot_fault_kind)choice.index,
        .at = conf.at,
        .lasts = conf.lasts,
        .amount = conf.amount,
        .workers = conf.workers,
        .server = conf.server };
    return check_fault(r, node, key, out, workers);
}

static enum mot_status read_list(const struct mot_yaml_reader *r, const struct mot_yaml *list,
    const char *key, uint32_t workers, struct mot_arena *arena, struct mot_faults *out)
{
    if (list->kind != MOT_YAML_LIST)
        return mot_read_fail(r, list, key,
            "expected a list of faults ('- {kind: crash, at: 3s, worker: 2}'); found %s",
            mot_yaml_found(list, r->arena));
    out->fault = mot_arena_new(arena, (list->count + 1) * sizeof *out->fault);
    for (const struct mot_yaml *node = list->first; node; node = node->next) {
        char at[80];
        snprintf(at, sizeof at, "%s[%u]", key, out->scheduled);
        enum mot_status status =
            read_fault(r, node, mot_arena_text(r->arena, at), workers, &out->fault[out->scheduled]);
        if (status != MOT_OK) return status;
        out->scheduled++;
    }
    return MOT_OK;
}

static void take_conf(const struct mot_faults_conf *conf, struct mot_faults *f)
{
    f->detect = conf->detect;
    f->until = conf->until;
    f->slow_factor = conf->slow_factor;
    f->any = f->scheduled > 0;
    for (int i = 0; i < MOT_FAULTS_CHANCE; i++) {
        f->chance[i] = conf->chance[i];
        f->any |= f->chance[i] > 0;
    }
    for (int i = 0; i < MOT_FAULTS_RANDOM; i++) {
        f->rate[i] = (struct mot_fault_rate){ conf->rate[i], conf->lasts[i] };
        f->any |= conf->rate[i] > 0;
    }
}

enum mot_status mot_faults_read(const struct mot_yaml_reader *r, const struct mot_yaml *node, const char *key,
    uint32_t workers, struct mot_arena *arena, struct mot_faults *out)
{
    static const char *const others[] = { "schedule", NULL };
    struct mot_faults_conf conf = { 0 };
    enum mot_status status;
    *out = (struct mot_faults){ 0 };
    if (!node) return MOT_OK;
    bool bare = node->kind == MOT_YAML_LIST; /* only the list */
    const struct mot_yaml *listed = bare ? node : mot_yaml_get(node, "schedule");
    status = bare ? MOT_OK
                  : mot_read_map(r, node, key, "{drop: 1%, schedule: [{kind: crash, at: 3s, worker: 2}]}");
    if (status == MOT_OK)
        status = mot_read_options(r, bare ? NULL : node, key, mot_faults_options, &conf, others, 0);
    if (status == MOT_OK && listed)
        status = read_list(r, listed, bare ? key : mot_key_join(r, key, "schedule"), workers, arena, out);
    if (status != MOT_OK) return status;
    take_conf(&conf, out);
    return MOT_OK;
}

/* ---- Printing ---------------------------------------------------------------------- */

static void print_fault(const struct mot_fault *f, int indent, FILE *out)
{
    struct mot_choice choice;
    const struct mot_fault_conf conf = { f->at, f->lasts, f->amount, f->workers, f->server };
    mot_family_fault.get(f->kind, &choice);
    fprintf(out, "%*s-\n%*skind: %s\n", indent, "", indent + 2, "", choice.name);
    mot_print_options(choice.options, &conf, indent + 2, out);
}

void mot_faults_print(const struct mot_faults *f, int indent, FILE *out)
{
    if (!f->any) return;
    struct mot_faults_conf conf = { .detect = f->detect, .until = f->until, .slow_factor = f->slow_factor };
    for (int i = 0; i < MOT_FAULTS_CHANCE; i++) conf.chance[i] = f->chance[i];
    for (int i = 0; i < MOT_FAULTS_RANDOM; i++) {
        conf.rate[i] = f->rate[i].per_s;
        conf.lasts[i] = f->rate[i].lasts;
    }
    fprintf(out, "%*sfaults:\n", indent, "");
    mot_print_options(mot_faults_options, &conf, indent + 2, out);
    if (!f->scheduled) return;
    fprintf(out, "%*sschedule:\n", indent + 2, "");
    for (uint32_t i = 0; i < f->scheduled; i++) print_fault(&f->fault[i], indent + 4, out);
}
