/* code_section.c -- the section `code:`, for methods that code. */
#include "config/code_section.h"
#include <stdlib.h>
#include <string.h>

enum mot_status mot_read_code(
    const struct mot_yaml_reader *r, struct mot_yaml *node, struct mot_experiment *e)
{
    static const char *const name_key[] = { "name", NULL };
    struct mot_choice choice;
    if (node && node->kind == MOT_YAML_LIST)
        return mot_read_fail(r, node, "code", "expected a name or a map such as {name: auto}; found a list");
    enum mot_status status = mot_read_name(r, node, "code", &mot_family_code, &choice);
    if (status != MOT_OK) return status;
    struct mot_yaml *speeds = mot_yaml_get(node, "speeds");
    if (speeds && speeds->kind == MOT_YAML_LIST &&
        (status = mot_read_joined(r, speeds, "code.speeds", "a number such as 2.5")))
        return status;
    status = mot_read_options(r, node, "code", choice.options, &e->code, name_key, 0);
    e->code.name = choice.name;
    return status;
}

/* Puts before the message the place of the key that it is about, or else of the section. */
static enum mot_status say_where(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, enum mot_status status)
{
    const char *said = mot_arena_text(r->arena, mot_error());
    const struct mot_yaml *about = node;
    for (const struct mot_yaml *key = node && node->kind == MOT_YAML_MAP ? node->first : NULL; key;
         key = key->next) {
        size_t n = strlen(key->key);
        if (strncmp(said, "code.", 5) == 0 && strncmp(said + 5, key->key, n) == 0 && said[5 + n] == ':')
            about = key;
    }
    return about ? mot_fail(status, "%s: %s", mot_yaml_where(about, r->arena), said) : status;
}

/* Every run builds its code anew, since it may depend on the seed. This one only shows that such a code
 * exists and how many parts it has. */
enum mot_status mot_resolve_code(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, struct mot_experiment *e)
{
    struct mot_code *code;
    e->code.workers = e->workers;
    if (!e->traits.codes || r->alone) return MOT_OK;
    double *speed = mot_speeds_of(e), *kept = mot_arena_new(r->arena, e->workers * sizeof *kept);
    memcpy(kept, speed, e->workers * sizeof *kept);
    free(speed);
    e->code.speed = kept;
    struct mot_code_spec spec = mot_code_of(e);
    enum mot_status status = mot_code_open(&spec, &code);
    if (status != MOT_OK) return say_where(r, node, status);
    e->code.name = code->name; /* the kind that `auto` chose */
    e->traits.parts = code->parts;
    e->traits.stragglers = code->stragglers;
    e->traits.cuts |= code->approximate;
    if (e->traits.round > e->workers - code->stragglers) e->traits.round = e->workers - code->stragglers;
    mot_code_close(code);
    return MOT_OK;
}

struct mot_code_spec mot_code_of(const struct mot_experiment *e)
{
    struct mot_code_spec spec = e->code;
    spec.seed = e->seed;
    return spec;
}
