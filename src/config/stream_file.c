#include "config/stream_file.h"
#include "config/cluster_file.h"
#include "config/experiment.h"
#include "config/print.h"
#include <math.h>
#include <stddef.h>

#define ABOVE_ZERO 1e-300 /* as a minimum it excludes 0 */
#define LONGEST (MOT_JOB_LONGEST_S * 1e9)
#define FIELD(field) offsetof(struct mot_stream, field)

#define RATE(key, text)                                                                                      \
    {                                                                                                        \
        .name = key, .type = MOT_OPT_RATE, .offset = FIELD(mean), .min = ABOVE_ZERO, .max = MOT_STREAM_MOST, \
        .doc = text                                                                                          \
    }
#define SD                                                                                                   \
    {                                                                                                        \
        .name = "sd", .type = MOT_OPT_RATE, .offset = FIELD(sd), .preset = "0", .max = MOT_STREAM_MOST,      \
        .doc = "standard deviation of the rates; rates below 1 sample/s are raised to it"                    \
    }
#define REDRAW                                                                                               \
    {                                                                                                        \
        .name = "redraw", .type = MOT_OPT_TIME, .offset = FIELD(redraw), .preset = "never", .word = "never", \
        .min = 1e6, .max = LONGEST, .doc = "how often a worker's rate is drawn anew; never: once per run"    \
    }
#define COMMON                                                                                               \
    { .name = "start",                                                                                       \
        .type = MOT_OPT_TIME,                                                                                \
        .offset = FIELD(start),                                                                              \
        .preset = "0",                                                                                       \
        .max = LONGEST,                                                                                      \
        .doc = "nothing arrives before" },                                                                   \
        { .name = "drift",                                                                                   \
            .type = MOT_OPT_REAL,                                                                            \
            .offset = FIELD(drift),                                                                          \
            .preset = "0",                                                                                   \
            .min = -1,                                                                                       \
            .max = 1e6,                                                                                      \
            .doc = "the rate grows by this share of itself over the time `over`, evenly, and stays there; "  \
                   "below 0: it shrinks" },                                                                  \
        { .name = "over",                                                                                    \
            .type = MOT_OPT_TIME,                                                                            \
            .offset = FIELD(over),                                                                           \
            .preset = "10min",                                                                               \
            .min = 1e6,                                                                                      \
            .max = LONGEST,                                                                                  \
            .doc = "how long the drift lasts" },                                                             \
        { .name = "burst",                                                                                   \
            .type = MOT_OPT_REAL,                                                                            \
            .offset = FIELD(burst),                                                                          \
            .preset = "1",                                                                                   \
            .min = ABOVE_ZERO,                                                                               \
            .max = 1e6,                                                                                      \
            .doc = "in a burst the rate is this many times higher; 1: no bursts" },                          \
        { .name = "burst_every",                                                                             \
            .type = MOT_OPT_TIME,                                                                            \
            .offset = FIELD(burst_every),                                                                    \
            .preset = "1min",                                                                                \
            .min = 1e6,                                                                                      \
            .max = LONGEST,                                                                                  \
            .doc = "each such period has one burst, at a random moment" },                                   \
        { .name = "burst_lasts",                                                                             \
            .type = MOT_OPT_TIME,                                                                            \
            .offset = FIELD(burst_lasts),                                                                    \
            .preset = "5s",                                                                                  \
            .max = LONGEST,                                                                                  \
            .doc = "how long a burst lasts" },                                                               \
        { .name = "buffer",                                                                                  \
            .type = MOT_OPT_CHOICE,                                                                          \
            .offset = FIELD(buffer),                                                                         \
            .preset = "persist",                                                                             \
            .choices = "persist|truncate|bounded",                                                           \
            .doc = "samples that wait to be used: all are kept, or the newest, as many as arrive in a "      \
                   "second, or the newest `bound`; a job always gets what it waits for" },                   \
    {                                                                                                        \
        .name = "bound", .type = MOT_OPT_UINT, .offset = FIELD(bound), .preset = "none", .word = "none",     \
        .min = 1, .max = 1e15,                                                                               \
        .doc = "samples that a bounded buffer holds; none: what memory and storage "                         \
               "hold"                                                                                        \
    }

static const struct mot_option constant[] = {
    RATE("rate", "samples a second, at every worker"),
    COMMON,
    { .name = NULL },
};
static const struct mot_option drawn[] = {
    RATE("mean", "the mean of the workers' rates"),
    SD,
    REDRAW,
    COMMON,
    { .name = NULL },
};
static const struct mot_option listed[] = {
    { .name = "rates",
        .type = MOT_OPT_UINTS,
        .offset = FIELD(rates),
        .min = 1,
        .max = MOT_STREAM_MOST,
        .doc = "samples a second: worker i has the i-th, wrapping around if there are more workers" },
    COMMON,
    { .name = NULL },
};

/* In the order of enum mot_stream_kind. */
static const struct {
    const char *name, *summary;
    const struct mot_option *options;
} streams[] = {
    { "none", "all data is there from the beginning", NULL },
    { "constant", "the same rate everywhere", constant },
    { "uniform", "rates drawn from a uniform law", drawn },
    { "normal", "rates drawn from a normal law", drawn },
    { "list", "rates given one by one", listed },
};

static bool get_stream(size_t i, struct mot_choice *out)
{
    if (i >= MOT_COUNT(streams)) return false;
    *out =
        (struct mot_choice){ streams[i].name, streams[i].summary, NULL, streams[i].options, &streams[i], i };
    return true;
}

const struct mot_family mot_family_stream = { "stream", "law", "laws", "none", get_stream };

enum mot_status mot_stream_read(
    const struct mot_yaml_reader *r, const struct mot_yaml *node, const char *key, struct mot_stream *out)
{
    static const char *const name_key[] = { "name", NULL };
    struct mot_choice choice;
    struct mot_stream s = { 0 };
    if (!node) return MOT_OK;
    enum mot_status status = mot_read_name(r, node, key, &mot_family_stream, &choice);
    if (status == MOT_OK) status = mot_read_options(r, node, key, choice.options, &s, name_key, 0);
    if (status != MOT_OK) return status;
    s.kind = (uint32_t)choice.index;
    if (s.kind != MOT_STREAM_UNIFORM && s.kind != MOT_STREAM_NORMAL) s.redraw = MOT_NEVER;
    if (s.kind != MOT_STREAM_NONE && s.burst != 1 && s.burst_lasts > s.burst_every)
        return mot_read_fail(r, node, mot_key_join(r, key, "burst_lasts"),
            "expected at most burst_every; found a burst that lasts longer than the time to the next");
    *out = s;
    return MOT_OK;
}

static enum mot_status refuse(
    const struct mot_yaml_reader *r, const struct mot_yaml *at, const char *key, const char *instead)
{
    return mot_read_fail(
        r, at, key, "the workers have streams, which have no end and no epochs; expected %s", instead);
}

enum mot_status mot_streams_check(
    const struct mot_yaml_reader *r, const struct mot_yaml *root, const struct mot_experiment *e)
{
    const struct mot_yaml *stop = mot_yaml_get(root, "stop");
    if (!isnan(e->stop.epochs)) return refuse(r, stop, "stop", "updates, time or a target, without epochs");
    if (e->sampler.passes != MOT_WORD_UINT)
        return refuse(r, mot_yaml_get(root, "sampler"), "sampler.passes", "endless");
    if (e->evaluate.every.unit == MOT_EVERY_EPOCHS)
        return refuse(r, mot_yaml_get(root, "evaluate"), "evaluate.every", "a time or updates");
    if (e->checkpoint.unit == MOT_EVERY_EPOCHS)
        return refuse(r, mot_yaml_get(root, "checkpoint"), "checkpoint.every", "a time or updates");
    if (e->batch_full) return refuse(r, mot_yaml_get(root, "batch"), "batch", "a number of samples");
    if (e->shared_parts)
        return mot_read_fail(r, mot_yaml_get(root, "method"), "method",
            "%s has several workers compute the same samples, but those of a stream (cluster.stream) "
            "arrive at "
            "one worker only",
            e->method->name);
    return MOT_OK;
}

void mot_stream_print(const struct mot_machine *m, int indent, FILE *out)
{
    if (m->stream.kind == MOT_STREAM_NONE) return;
    mot_print_choice(
        "stream", streams[m->stream.kind].name, streams[m->stream.kind].options, &m->stream, indent, out);
}

char *mot_stream_text(const struct mot_stream *s)
{
    return mot_choice_text(streams[s->kind].name, streams[s->kind].options, s);
}
