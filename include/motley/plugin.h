/* plugin.h -- methods and models of your own in a shared object, for `motley ... --plugin FILE.so`:
 *
 *   #include <motley/plugin.h>
 *   static const struct mot_method *const methods[] = { &local_sgd, NULL };
 *   MOT_PLUGIN(.methods = methods)
 *
 *   cc -shared -fPIC local_sgd.c plugin.c $(pkg-config --cflags motley) -o local_sgd.so
 *
 * The object needs no library: the program that loads it provides everything these headers declare. */
#ifndef MOTLEY_PLUGIN_H
#define MOTLEY_PLUGIN_H

#include <motley/hub.h>
#include <motley/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Increases whenever a struct or function in these headers changes. */
#define MOT_PLUGIN_VERSION 4

struct mot_plugin {
    uint32_t version; /* MOT_PLUGIN_VERSION */
    /* sizes when the plugin was compiled: they give away the headers of another build */
    uint32_t plugin_bytes, method_bytes, traits_bytes, model_bytes, env_bytes;
    const struct mot_method *const *methods; /* ended by NULL; NULL: none */
    const struct mot_model *const *models;   /* likewise */
};

/* Defines what the program looks for. */
#define MOT_PLUGIN(...)                                                                                      \
    extern const struct mot_plugin motley_plugin __attribute__((visibility("default")));                     \
    const struct mot_plugin motley_plugin = { .version = MOT_PLUGIN_VERSION,                                 \
        .plugin_bytes = sizeof(struct mot_plugin),                                                           \
        .method_bytes = sizeof(struct mot_method),                                                           \
        .traits_bytes = sizeof(struct mot_traits),                                                           \
        .model_bytes = sizeof(struct mot_model),                                                             \
        .env_bytes = sizeof(struct mot_env),                                                                 \
        __VA_ARGS__ };

#ifdef __cplusplus
}
#endif
#endif
