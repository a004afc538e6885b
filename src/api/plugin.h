/* plugin.h -- methods and models from shared objects (<motley/plugin.h>). */
#ifndef MOT_API_PLUGIN_H
#define MOT_API_PLUGIN_H

#include <motley/plugin.h>
#include <stdio.h>

/* Loads a shared object: from now on its methods and models follow the built-in ones in this thread, and in
 * processes that it forks. They stay until the program ends. */
enum mot_status mot_plugin_load(const char *path);

/* A line for each that is loaded, with a hash of its file: what a stored result depends on. */
void mot_plugins_print(FILE *out);

#endif
