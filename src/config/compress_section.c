/* compress_section.c -- the section `compress:`, and which methods it suits. */
#include "config/compress_section.h"
#include <math.h>
#include <string.h>

enum mot_status mot_read_compress(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, struct mot_experiment *e)
{
    static const char *const name_key[] = { "name", NULL };
    struct mot_choice choice;
    if (node && node->kind == MOT_YAML_LIST)
        return mot_read_fail(
            r, node, "compress", "expected a name or a map such as {name: topk}; found a list");
    enum mot_status status = mot_read_name(r, node, "compress", &mot_family_compress, &choice);
    if (status != MOT_OK) return status;
    e->compress.delta = NAN;
    e->compress.kind = choice.kind;
    status = mot_read_options(r, node, "compress", choice.options, &e->compress, name_key, 0);
    if (status != MOT_OK || e->compress.bucket % 8 == 0) return status;
    return mot_read_fail(r, mot_yaml_get(node, "bucket"), "compress.bucket",
        "expected a multiple of 8; found %llu", (unsigned long long)e->compress.bucket);
}

static const struct mot_yaml *key_of(const struct mot_yaml *node, const char *name)
{
    const struct mot_yaml *key = node && node->kind == MOT_YAML_MAP ? mot_yaml_get(node, name) : NULL;
    return key ? key : node;
}

static enum mot_status check_method(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, const struct mot_experiment *e)
{
    const struct mot_compressor *kind = e->compress.kind;
    const char *method = e->method->name;
    if (!e->model->computes)
        return mot_read_fail(r, node, "compress",
            "the model %s computes no gradients, so there is nothing to choose entries by", e->model->name);
    if (e->traits.packs == MOT_PACKS_NOTHING && e->traits.packs_not)
        return mot_read_fail(r, node, "compress", "not with the method %s: %s", method, e->traits.packs_not);
    if (e->traits.packs == MOT_PACKS_NOTHING)
        return mot_read_fail(r, node, "compress",
            "not with the method %s: its workers exchange models, from which nothing can be left out; the "
            "method choco sends compressed differences instead",
            method);
    if (e->traits.packs == MOT_PACKS_MODELS && !kind->quantises)
        return mot_read_fail(r, node, "compress",
            "%s does not suit the method %s: its workers exchange models, from which nothing can be left "
            "out; expected qsgd or sign, or the method choco, which sends differences",
            kind->name, method);
    return MOT_OK;
}

static enum mot_status check_feedback(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, const struct mot_experiment *e)
{
    const struct mot_yaml *key = key_of(node, "feedback");
    enum mot_packs packs = e->traits.packs;
    bool later = packs == MOT_PACKS_GRADIENTS || packs == MOT_PACKS_SUMS;
    if (e->compress.feedback != MOT_FEEDBACK_NONE && !later)
        return mot_read_fail(r, key, "compress.feedback", "expected none: the method %s sends %s",
            e->method->name,
            packs == MOT_PACKS_MODELS ? "models, not gradients" : "differences, and has feedback of its own");
    if (e->compress.feedback == MOT_FEEDBACK_EF21 && packs != MOT_PACKS_SUMS)
        return mot_read_fail(r, key, "compress.feedback",
            "ef21 needs a packet from every worker in every update; expected none or ef for the method %s",
            e->method->name);
    if (isnan(e->compress.delta)) return MOT_OK;
    key = key_of(node, "delta");
    if (!later || (packs == MOT_PACKS_SUMS && !e->traits.votes))
        return mot_read_fail(
            r, key, "compress.delta", "expected none: the method %s always compresses", e->method->name);
    if (e->compress.feedback == MOT_FEEDBACK_EF21)
        return mot_read_fail(r, key, "compress.delta", "expected none: ef21 always sends differences");
    return MOT_OK;
}

enum mot_status mot_resolve_compress(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, struct mot_experiment *e)
{
    struct mot_compress *c = &e->compress;
    if (!c->kind->pack) return MOT_OK;
    enum mot_status status = check_method(r, node, e);
    if (status != MOT_OK) return status;
    bool later = e->traits.packs == MOT_PACKS_GRADIENTS || e->traits.packs == MOT_PACKS_SUMS;
    if (c->feedback == MOT_FEEDBACK_AUTO)
        c->feedback = c->kind->biased && later ? MOT_FEEDBACK_EF : MOT_FEEDBACK_NONE;
    if ((status = check_feedback(r, node, e)) != MOT_OK) return status;
    c->corrected = c->feedback != MOT_FEEDBACK_NONE || e->traits.packs == MOT_PACKS_DIFFERENCES;
    /* With a server, the server is what is saved. */
    if (mot_compress_idle(c) || e->traits.packs != MOT_PACKS_SUMS) return MOT_OK;
    e->traits.keeps += c->feedback == MOT_FEEDBACK_NONE ? 0 : c->feedback == MOT_FEEDBACK_EF ? 1 : 2;
    bool differ = c->feedback != MOT_FEEDBACK_NONE || !isnan(c->delta); /* what workers keep */
    e->traits.keeps_own = e->traits.model == MOT_MODEL_OF_ALL && differ;
    MOT_ASSERT(e->traits.keeps <= MOT_KEPT_BUFFERS && e->method->keep);
    return MOT_OK;
}
