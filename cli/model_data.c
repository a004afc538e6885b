/* model_data.c -- flags that say how to read DATA, as settings of the data section. */
#include "model_data.h"

#include <math.h>
#include <stdio.h>

void cli_data_settings(const struct cli_args *args, struct cli_data_settings *out)
{
    static const struct cli_flag flags[] = { CLI_DATA_FLAGS };
    _Static_assert(sizeof flags / sizeof *flags == CLI_DATA_FLAGS_MOST, "a place for each flag");
    out->n = 0;
    for (size_t i = 0; i < CLI_DATA_FLAGS_MOST; i++) {
        const char *value = cli_value(args, flags[i].name);
        if (!value) continue;
        char *key = out->key[out->n], *origin = out->origin[out->n];
        snprintf(origin, sizeof out->origin[0], "--%s", flags[i].name);
        snprintf(key, sizeof out->key[0], "%s", flags[i].name);
        for (char *c = key; *c; c++)
            if (*c == '-') *c = '_';
        out->setting[out->n++] = (struct mot_setting){ key, value, origin };
    }
}

enum mot_status cli_model_is_finite(const char *path, const struct mot_saved_model *m)
{
    size_t wrong = 0;
    for (size_t i = 0; i < m->net.dim; i++) wrong += !isfinite(m->x[i]);
    if (!wrong) return MOT_OK;
    return mot_fail(MOT_EDIVERGED,
        "%s: %zu of its %zu parameters are not finite: the run that wrote it diverged, so it cannot be used",
        path, wrong, (size_t)m->net.dim);
}
