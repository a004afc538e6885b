/* raw_data.c -- a data set as its file has it, for commands that show it or pass it on. */
#include "raw_data.h"

#include "base/options.h"
#include "data/missing.h"
#include <stdlib.h>

enum mot_status cli_raw_conf(
    const struct cli_args *args, const char *word, struct mot_arena *arena, struct mot_data_conf *out)
{
    struct mot_data_conf conf = { 0 };
    enum mot_status status = mot_options_preset(mot_data_options, &conf, arena);
    for (size_t i = 0; i < args->givens && status == MOT_OK; i++) {
        char *key = mot_arena_text(arena, args->given[i].flag->name);
        for (char *p = key; *p; p++)
            if (*p == '-') *p = '_';
        const struct mot_option *option = mot_option_find(mot_data_options, key);
        if (!option || !args->given[i].value) continue;
        status = mot_option_set(option, &conf, args->given[i].value, arena);
        if (status != MOT_OK) {
            char *why = mot_text(mot_error());
            status =
                mot_fail(MOT_EUSAGE, "--%s %s: %s", args->given[i].flag->name, args->given[i].value, why);
            free(why);
        }
    }
    conf.name = word;
    *out = conf;
    return status;
}

enum mot_status cli_raw_fill(const struct mot_data_conf *conf, struct mot_raw *raw)
{
    enum mot_missing how;
    float value = 0, *fill;
    enum mot_status status = mot_missing_read(conf->missing, &how, &value);
    if (status != MOT_OK || how == MOT_MISSING_REFUSE || raw->sparse) return status;
    status = mot_missing_fit(raw, conf->name, raw->rows, how, value, &fill);
    if (status != MOT_OK) return status;
    mot_missing_fill(raw, fill);
    free(fill);
    return MOT_OK;
}

enum mot_status cli_raw_open(const struct mot_data_conf *conf, bool keep_missing, struct mot_raw *out)
{
    struct mot_read_conf read = mot_read_as(conf);
    read.keep_missing |= keep_missing;
    return mot_raw_open(conf, 1, 0, &read, out);
}
