#include "base/ondemand.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const char *package_of(const struct mot_ondemand *l, char *into, size_t size)
{
    const char *version = strstr(l->file, ".so.");
    if (l->package || !version) return l->package ? l->package : l->file;
    snprintf(into, size, "%.*s%s", (int)(version - l->file), l->file, version + strlen(".so."));
    return into;
}

static enum mot_status load(struct mot_ondemand *l)
{
    char package[64];
    void *library = dlopen(l->file, RTLD_LAZY | (l->plugins ? RTLD_GLOBAL : RTLD_LOCAL));
    if (!library)
        return mot_fail(MOT_ESYSTEM, "%s needs %s, which cannot be loaded: %s; install the Debian package %s",
            l->wanted_by, l->file, dlerror(), package_of(l, package, sizeof package));
    for (size_t i = 0; i < l->count; i++) {
        void *symbol = dlsym(library, l->names[i]);
        if (!symbol) {
            dlclose(library);
            return mot_fail(MOT_ESYSTEM,
                "%s needs %s of %s, which the installed version lacks; install a newer %s", l->wanted_by,
                l->names[i], l->file, package_of(l, package, sizeof package));
        }
        memcpy((char *)l->table + i * sizeof symbol, &symbol, sizeof symbol);
    }
    l->ready = true;
    return MOT_OK;
}

enum mot_status mot_ondemand(struct mot_ondemand *l)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (l->ready) return MOT_OK;
    pthread_mutex_lock(&lock);
    enum mot_status status = l->ready ? MOT_OK : load(l);
    pthread_mutex_unlock(&lock);
    return status;
}
