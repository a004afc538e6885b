/* gather_names.c -- what sets arms apart, in words; and what they share, as YAML. */
#include "study/gather_parts.h"

#include "config/print.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS_IN_A_NAME 3

static const struct layout *layout_of(const struct finds *all, size_t arm)
{
    return &all->found[all->arm[arm]].layout;
}

static const char *value_of(const struct layout *l, const char *key)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->entry[i].key, key) == 0) return l->entry[i].value;
    return NULL;
}

/* Whether arms that have the key have different values; `besides`
 * counts an arm without it as different too. */
static bool differs(const struct finds *all, const char *key, bool besides, const char *method)
{
    const char *first = NULL;
    size_t have = 0, arms = 0;
    for (size_t a = 0; a < all->arms; a++) {
        const struct layout *l = layout_of(all, a);
        const char *value = value_of(l, key), *own = value_of(l, "method.name");
        if (method && !(own && strcmp(own, method) == 0)) continue;
        arms++;
        if (!value) continue;
        if (have++ && strcmp(first, value) != 0) return true;
        first = value;
    }
    /* The server's links are in the file only if the method has a server: they are no separate setting. */
    return besides && have < arms && strncmp(key, "cluster.server", 14) != 0;
}

/* "server (k=6, optimizer.lr=0.1)": the method if it differs, and
 * what sets it apart from others of that method. */
static char *name_of(const struct finds *all, size_t arm)
{
    const struct layout *l = layout_of(all, arm);
    const char *method = value_of(l, "method.name");
    bool by_method = differs(all, "method.name", false, NULL);
    char *name = mot_text(by_method || all->arms == 1 ? (method ? method : "run") : "");
    size_t shown = 0, more = 0;
    for (size_t i = 0; i < l->n && all->arms > 1; i++) {
        const struct entry *e = &l->entry[i];
        if (strcmp(e->key, "method.name") == 0 || !differs(all, e->key, true, by_method ? method : NULL))
            continue;
        if (shown == KEYS_IN_A_NAME) {
            more++;
            continue;
        }
        const char *key = strncmp(e->key, "method.", 7) == 0 ? e->key + 7 : e->key;
        char *longer = mot_format("%s%s%s=%s", name, shown ? ", " : *name ? " (" : "", key, e->value);
        free(name);
        name = longer;
        shown++;
    }
    char *whole =
        mot_format("%s%s%s", *name ? name : "run", more ? ", \u2026" : "", shown && by_method ? ")" : "");
    free(name);
    return whole;
}

void mot_name_arms(const struct finds *all, struct mot_study_side *arm)
{
    for (size_t a = 0; a < all->arms; a++) {
        const struct layout *l = layout_of(all, a);
        struct mot_study_setting *setting = mot_arena_new(all->arena, (l->n + 1) * sizeof *setting);
        size_t n = 0;
        for (size_t i = 0; i < l->n && all->arms > 1; i++)
            if (differs(all, l->entry[i].key, true, NULL))
                setting[n++] =
                    (struct mot_study_setting){ .key = l->entry[i].key, .value = l->entry[i].value };
        char *name = name_of(all, a);
        for (size_t b = 0; b < a; b++) /* the name leaves out what differs */
            if (strcmp(arm[b].name, name) == 0) {
                char *numbered = mot_format("%s #%zu", name, a + 1);
                free(name);
                name = numbered;
                break;
            }
        arm[a] = (struct mot_study_side){
            .name = mot_arena_text(all->arena, name), .setting = setting, .settings = n
        };
        free(name);
    }
}

/* ---- What is shared --------------------------------------------------------------------------- */

struct printer {
    const struct finds *all;
    FILE *out;
};

static bool is_shared(const struct finds *all, const char *key)
{
    const char *first = value_of(layout_of(all, 0), key);
    for (size_t a = 0; a < all->arms; a++) {
        const char *value = value_of(layout_of(all, a), key);
        if (!value || !first || strcmp(value, first) != 0) return false;
    }
    return true;
}

/* Whether anything below the node is shared. */
static bool shares(const struct printer *p, const struct mot_yaml *node, const char *key)
{
    if (is_shared(p->all, key)) return true;
    size_t place = 0;
    for (const struct mot_yaml *each = node->kind == MOT_YAML_SCALAR ? NULL : node->first; each;
         each = each->next, place++) {
        char *name = node->kind == MOT_YAML_LIST ? mot_format("%s[%zu]", key, place)
            : *key                               ? mot_format("%s.%s", key, each->key)
                                                 : mot_text(each->key);
        bool found = shares(p, each, name);
        free(name);
        if (found) return true;
    }
    return false;
}

static void print_node(const struct printer *p, const struct mot_yaml *node, const char *key, int indent)
{
    size_t place = 0;
    for (const struct mot_yaml *each = node->first; each; each = each->next, place++) {
        bool list = node->kind == MOT_YAML_LIST;
        char *name = list ? mot_format("%s[%zu]", key, place)
            : *key        ? mot_format("%s.%s", key, each->key)
                          : mot_text(each->key);
        if (shares(p, each, name)) {
            if (list) fprintf(p->out, "%*s-\n", indent, "");
            else fprintf(p->out, "%*s%s:", indent, "", each->key);
            if (is_shared(p->all, name)) {
                const char *value = value_of(layout_of(p->all, 0), name);
                fputc(' ', p->out);
                if (each->kind == MOT_YAML_LIST) fputs(value, p->out);
                else mot_print_scalar(value, p->out);
                fputc('\n', p->out);
            } else {
                if (!list) fputc('\n', p->out);
                print_node(p, each, name, indent + 2);
            }
        }
        free(name);
    }
}

const char *mot_shared_yaml(const struct finds *all)
{
    char *text = NULL;
    size_t n = 0;
    struct printer p = { all, open_memstream(&text, &n) };
    if (!p.out) return "";
    print_node(&p, all->found[all->arm[0]].experiment, "", 0);
    fclose(p.out);
    return mot_arena_take(all->arena, text);
}
