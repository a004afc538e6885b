/* source_section.c -- the section `source:`: where samples arrive from while a live run trains. */
#include "config/source_section.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

bool mot_experiment_streams(const struct mot_experiment *e)
{
    return e->source.from || mot_cluster_streams(e->cluster);
}

static const struct mot_yaml *key_of(const struct mot_yaml *node, const char *key)
{
    const struct mot_yaml *given = node && node->kind == MOT_YAML_MAP ? mot_yaml_get(node, key) : NULL;
    return given ? given : node;
}

enum mot_status mot_read_source(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, struct mot_experiment *e)
{
    struct mot_intake_conf *c = &e->source;
    enum mot_status status = mot_read_map(r, node, "source", "{from: 'device-{worker}.csv'}");
    if (status == MOT_OK) status = mot_read_options(r, node, "source", mot_intake_options, c, NULL, 0);
    if (status != MOT_OK || !c->from) return status;
    bool path = strcmp(c->from, "-") != 0 && strcmp(c->from, "rate:") != 0 && !strstr(c->from, "://");
    if (path && *c->from) c->from = mot_read_path(r, key_of(node, "from"), c->from);
    struct {
        const char *key, **path;
    } file[] = { { "password_file", &c->password_file }, { "ca", &c->ca }, { "cert", &c->cert },
        { "key", &c->key }, { "spool", &c->spool } };
    for (size_t i = 0; i < MOT_COUNT(file); i++)
        if (*file[i].path) *file[i].path = mot_read_path(r, key_of(node, file[i].key), *file[i].path);
    return MOT_OK;
}

/* Checks keys that only some sources have. */
static enum mot_status check_kind(const struct mot_yaml_reader *r, const struct mot_yaml *node,
    const struct mot_intake_conf *c, const struct mot_address *a, const struct mot_experiment *e)
{
    bool broker = a->kind == MOT_INLET_MQTT || a->kind == MOT_INLET_KAFKA;
    const char *tls_key = c->ca ? "ca" : c->cert ? "cert" : "key";
    if (c->ends && a->kind != MOT_INLET_FILE)
        return mot_read_fail(r, key_of(node, "ends"), "source.ends",
            "only a file can be complete; found true with '%s'", c->from);
    if ((c->ca || c->cert || c->key) && !(broker && a->tls))
        return mot_read_fail(r, key_of(node, tls_key), "source.from",
            "certificates need an address that begins with mqtts:// or kafkas://; found '%s'", c->from);
    if (!c->cert != !c->key)
        return mot_read_fail(
            r, key_of(node, c->cert ? "cert" : "key"), "source.cert", "expected cert and key together");
    if (c->password_file && !(broker && a->user))
        return mot_read_fail(r, key_of(node, "password_file"), "source.password_file",
            "expected an address with a user, such as mqtt://USER@HOST/TOPIC; found '%s'", c->from);
    if (c->spool && a->kind != MOT_INLET_MQTT)
        return mot_read_fail(
            r, key_of(node, "spool"), "source.spool", "only MQTT needs a spool; found '%s'", c->from);
    if (a->kind == MOT_INLET_RATE && !mot_cluster_streams(e->cluster))
        return mot_read_fail(r, key_of(node, "from"), "source.from",
            "expected cluster.stream with rates for rate:; the cluster has none");
    return MOT_OK;
}

enum mot_status mot_check_source(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, const struct mot_experiment *e)
{
    const struct mot_intake_conf *c = &e->source;
    struct mot_address a;
    if (!c->from) return MOT_OK;
    char *wrong = mot_address_of(c->from, 0, e->workers, &a);
    if (wrong) {
        const char *kept = mot_arena_take(r->arena, wrong);
        return mot_read_fail(r, key_of(node, "from"), "source.from", "%s", kept);
    }
    enum mot_status status = check_kind(r, node, c, &a, e);
    mot_address_free(&a);
    if (status != MOT_OK) return status;
    if (c->bound != MOT_WORD_UINT && c->buffer != MOT_INTAKE_BOUNDED)
        return mot_read_fail(
            r, key_of(node, "bound"), "source.bound", "expected with `buffer: bounded` only");
    if (c->sequence && mot_records_format(c) != MOT_RECORDS_JSON)
        return mot_read_fail(r, key_of(node, "sequence"), "source.sequence",
            "only records of JSON have keys; expected with `records: json`");
    if (c->holdout > 0 && !mot_intake_outside(c))
        return mot_read_fail(r, key_of(node, "holdout"), "source.holdout",
            "rows of `data` come again and again, so none can be held out; its test rows evaluate the model");
    if (c->holdout > 0 && e->data.test_path)
        return mot_read_fail(r, key_of(node, "holdout"), "source.holdout",
            "expected only one of data.test_path and source.holdout: either evaluates the model");
    uint32_t most = 0;
    for (uint32_t i = 0; i < e->workers && !e->batch_full; i++)
        if (e->batch[i] > most) most = e->batch[i];
    if (c->bound < most && !e->traits.varies)
        return mot_read_fail(r, key_of(node, "bound"), "source.bound",
            "expected at least a batch of %u samples, or no job could begin; found %llu", most,
            (unsigned long long)c->bound);
    if (e->traits.passes)
        return mot_read_fail(r, node, "source",
            "method %s makes passes over the rows of a worker, and a source has no end", e->method->name);
    if (e->traits.shares)
        return mot_read_fail(r, node, "source",
            "method %s with alpha and beta sends samples between workers, but those of a source cannot be "
            "sent",
            e->method->name);
    return MOT_OK;
}
