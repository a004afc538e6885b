/* method_options.h -- for tests of every method: options that take its other paths. */
#ifndef MOT_TEST_METHOD_OPTIONS_H
#define MOT_TEST_METHOD_OPTIONS_H

#include "base/memory.h"
#include "base/options.h"
#include "method/methods.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What a method is with its defaults. */
static inline struct mot_traits traits_of(const struct mot_method *method)
{
    struct mot_arena arena = { 0 };
    void *conf = mot_new(1, method->conf_bytes + 1);
    if (mot_options_preset(method->options, conf, &arena) != MOT_OK) abort();
    struct mot_traits traits = mot_method_traits(method, conf, 1);
    mot_arena_free(&arena);
    free(conf);
    return traits;
}

/* What a seed asks of a method besides; pairs, ended by NULL. */
static inline const char *const *options_of(const char *method, uint64_t seed)
{
    static const char *const none[] = { NULL };
    static const struct {
        const char *method, *pair[7];
    } options[] = {
        { "server", { "method.k", "2", NULL } },
        { "server", { "method.deadline", "adaptive", NULL } },
        { "async",
            { "method.assign", "shuffled", "method.max_staleness", "4", "method.on_stale", "cancel", NULL } },
        { "async",
            { "method.assign", "random", "method.max_staleness", "4", "method.on_stale", "drop", NULL } },
        { "async", { "method.max_staleness", "5", "method.on_stale", "wait", NULL } },
        { "async",
            { "method.step", "compensated", "method.lambda_decay", "0.95", "method.wait", "2", NULL } },
        { "rennala", { "method.unfinished", "finish", NULL } },
        { "malenia", { "method.unfinished", "finish", NULL } },
        { "ringmaster", { "method.r", "2", NULL } },
        { "ia2sgd", { "method.wait", "3", NULL } },
        { "fedbuff", { "method.assign", "random", NULL } },
        { "ca2fl", { "method.steps", "3", NULL } },
        { "fedavg", { "method.clients", "2", NULL } },
        { "fedavg", { "method.share", "0.5", "method.steps", "2", "method.proximal", "0.1", NULL } },
        { "fedavg", { "method.clients", "3", "method.deadline", "adaptive", "method.spread", "1", NULL } },
        { "mindflayer", { "method.tries", "1", NULL } },
        { "gasync", { "method.jobs", "9", NULL } },
        { "scadles", { "method.alpha", "0.5", "method.beta", "0.3", NULL } },
        { "scadles", { "method.alpha", "1", "method.beta", "1", "method.weighted", "false", NULL } },
        { "dpsgd", { "method.on_loss", "continue", NULL } },
        { "dpsgd", { "method.on_loss", "continue", "method.period", "4", NULL } },
        { "dpsgd", { "method.period", "4", NULL } },
        { "dpsgd", { "method.on_loss", "continue", "optimizer", "adamw", NULL } },
        { "matcha", { "method.on_loss", "continue", NULL } },
        { "matcha",
            { "method.on_loss", "continue", "method.period", "2", "optimizer.momentum", "0.9", NULL } },
        { "adpsgd", { "method.peers", "topology", "topology", "star", NULL } },
        { "gosgd", { "method.p", "1", "method.credits", "1", NULL } },
        { "gosgd", { "method.peers", "topology", NULL } },
        { "sgp", { "method.on_loss", "continue", NULL } },
        { "sgp", { "method.peers", "2", "method.on_loss", "continue", NULL } },
        { "sgp", { "method.graph", "topology", "topology", "star", "method.on_loss", "continue", NULL } },
        { "osgp", { "method.on_loss", "continue", NULL } },
        { "osgp", { "method.lag", "3", "method.on_loss", "continue", NULL } },
        { "osgp", { "method.lag", "2", "method.graph", "topology", "topology", "star", NULL } },
        { "crossover", { "method.mode", "loose", "method.deadline", "20ms", NULL } },
        { "crossover", { "method.peers", "unfair", "method.window", "1", NULL } },
        { "crossover", { "method.groups", "1", "method.micro", "2", NULL } },
        { "crossover", { "method.mode", "loose", "method.peers", "unfair", "method.window", "1", NULL } },
        { "crossover", { "method.cut", "equal", "method.segments", "5", "method.peers", "authors", NULL } },
        { "localsgd", { "method.period", "3", "method.overlap", "true", "method.weigh", "rows", NULL } },
        { "localsgd", { "method.local_from", "9", "method.state", "average", "optimizer", "adamw", NULL } },
        { "slowmo", { "method.period", "4", "method.state", "reset", "optimizer.momentum", "0.9", NULL } },
        { "diloco", { "method.period", "2", "method.overlap", "true", "method.weigh", "equal", NULL } },
        { "coded", { "method.shuffle", "random", NULL } },
        { "coded", { "code", "crc", "method.shuffle", "rotate-worker", "method.period", "2", NULL } },
        { "coded",
            { "code", "{name: bernoulli, decoder: any-holder}", "method.shuffle", "rotate-group", NULL } },
        { "coded", { "code", "{name: sr-sgc, distinct: 1}", NULL } },
        { "coded", { "code", "uncoded", "method.wait", "1", "method.rescale", "true", NULL } },
        { "coded", { "method.deadline", "adaptive", "method.shuffle", "partial", NULL } },
    };
    uint32_t found = 0;
    for (size_t i = 0; i < MOT_COUNT(options); i++) found += strcmp(options[i].method, method) == 0;
    uint64_t wanted = seed % (found + 1); /* the last: none */
    for (size_t i = 0; i < MOT_COUNT(options); i++)
        if (strcmp(options[i].method, method) == 0 && wanted-- == 0) return options[i].pair;
    return none;
}

#endif
