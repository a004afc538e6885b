/* plugin.c -- methods and models from shared objects (<motley/plugin.h>). */
#include "api/plugin.h"
#include "base/file.h"
#include "base/memory.h"
#include "math/models.h"
#include "method/methods.h"
#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define PLUGINS_MOST 16
#define BROUGHT_MOST 256
#define FILE_MOST (UINT64_C(1) << 28)

/* What is loaded stays loaded: a run may end long after its command has read its flags. */
static struct {
    char *path;
    uint64_t hash;
} plugin[PLUGINS_MOST];
static size_t plugins;
static const struct mot_method *method[BROUGHT_MOST + 1];
static const struct mot_model *model[BROUGHT_MOST + 1];
static size_t methods, models;

static enum mot_status check_head(const char *path, const struct mot_plugin *p)
{
    if (p->version != MOT_PLUGIN_VERSION)
        return mot_fail(MOT_EUSAGE,
            "--plugin %s: it is for version %u of the plugin interface, and this program has version %u: "
            "build it "
            "again with the headers of this motley",
            path, p->version, MOT_PLUGIN_VERSION);
    if (p->plugin_bytes != sizeof(struct mot_plugin) || p->method_bytes != sizeof(struct mot_method) ||
        p->traits_bytes != sizeof(struct mot_traits) || p->model_bytes != sizeof(struct mot_model) ||
        p->env_bytes != sizeof(struct mot_env))
        return mot_fail(MOT_EUSAGE,
            "--plugin %s: its structs differ in size from this program's: build it again with the headers of "
            "this motley",
            path);
    if ((!p->methods || !p->methods[0]) && (!p->models || !p->models[0]))
        return mot_fail(MOT_EUSAGE, "--plugin %s: it brings neither a method nor a model", path);
    return MOT_OK;
}

static enum mot_status fail_entry(const char *path, const char *kind, const char *name, const char *why)
{
    return mot_fail(MOT_EUSAGE, "--plugin %s: %s '%.60s': %s", path, kind, name ? name : "(no name)", why);
}

static enum mot_status add_method(const char *path, const struct mot_method *m)
{
    if (!m->name || !*m->name || !m->summary || !m->options)
        return fail_entry(path, "method", m->name, "expected a name, a summary and a table of options");
    if (!m->need || !m->init || !m->step || !m->model)
        return fail_entry(path, "method", m->name, "expected the functions need, init, step and model");
    for (size_t i = 0; mot_method_at(i); i++)
        if (strcmp(mot_method_at(i)->name, m->name) == 0)
            return fail_entry(path, "method", m->name, "there is one of that name already");
    if (methods == BROUGHT_MOST) return fail_entry(path, "method", m->name, "too many");
    method[methods++] = m;
    mot_methods_extend(method);
    return MOT_OK;
}

static enum mot_status add_model(const char *path, const struct mot_model *m)
{
    if (!m->name || !*m->name || !m->summary || !m->options)
        return fail_entry(path, "model", m->name, "expected a name, a summary and a table of options");
    if (!m->open || !m->init || !m->grad || !m->loss || !m->predict)
        return fail_entry(
            path, "model", m->name, "expected the functions open, init, grad, loss and predict");
    for (size_t i = 0; mot_model_at(i); i++)
        if (strcmp(mot_model_at(i)->name, m->name) == 0)
            return fail_entry(path, "model", m->name, "there is one of that name already");
    if (models == BROUGHT_MOST) return fail_entry(path, "model", m->name, "too many");
    model[models++] = m;
    mot_models_extend(model);
    return MOT_OK;
}

enum mot_status mot_plugin_load(const char *path)
{
    char whole[PATH_MAX]; /* dlopen looks for a name without a slash among the system's libraries */
    unsigned char *bytes;
    size_t n;
    if (!realpath(path, whole)) return mot_fail(MOT_EUSAGE, "--plugin %s: there is no such file", path);
    for (size_t i = 0; i < plugins; i++)
        if (strcmp(plugin[i].path, whole) == 0) return MOT_OK;
    if (plugins == PLUGINS_MOST) return mot_fail(MOT_EUSAGE, "--plugin: at most %d", PLUGINS_MOST);
    enum mot_status status = mot_file_read(whole, FILE_MOST, &bytes, &n);
    if (status != MOT_OK) return status;
    uint64_t hash = XXH3_64bits(bytes, n);
    free(bytes);
    void *object = dlopen(whole, RTLD_NOW | RTLD_LOCAL);
    if (!object) return mot_fail(MOT_EUSAGE, "--plugin %s: cannot load it: %s", path, dlerror());
    const struct mot_plugin *head = dlsym(object, "motley_plugin");
    if (!head) {
        dlclose(object);
        return mot_fail(MOT_EUSAGE,
            "--plugin %s: it has no symbol motley_plugin: write MOT_PLUGIN(...) of <motley/plugin.h> in one "
            "of its "
            "files",
            path);
    }
    status = check_head(path, head);
    for (size_t i = 0; status == MOT_OK && head->methods && head->methods[i]; i++)
        status = add_method(path, head->methods[i]);
    for (size_t i = 0; status == MOT_OK && head->models && head->models[i]; i++)
        status = add_model(path, head->models[i]);
    if (status != MOT_OK) return status;
    plugin[plugins].path = mot_text(whole);
    plugin[plugins++].hash = hash;
    return MOT_OK;
}

void mot_plugins_print(FILE *out)
{
    for (size_t i = 0; i < plugins; i++) fprintf(out, "plugin: %016" PRIx64 "\n", plugin[i].hash);
}
