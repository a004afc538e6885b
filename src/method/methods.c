#include "method/methods.h"
#include <math.h>

static const struct mot_method *const built_in[] = {
    &mot_method_allreduce,
    &mot_method_server,
    &mot_method_async,
    &mot_method_rennala,
    &mot_method_malenia,
    &mot_method_ringmaster,
    &mot_method_ringleader,
    &mot_method_ia2sgd,
    &mot_method_fedbuff,
    &mot_method_ca2fl,
    &mot_method_fedavg,
    &mot_method_mindflayer,
    &mot_method_gasync,
    &mot_method_dpsgd,
    &mot_method_matcha,
    &mot_method_choco,
    &mot_method_crossover,
    &mot_method_adpsgd,
    &mot_method_gosgd,
    &mot_method_sgp,
    &mot_method_osgp,
    &mot_method_localsgd,
    &mot_method_slowmo,
    &mot_method_diloco,
    &mot_method_coded,
    &mot_method_scadles,
    &mot_method_selsync,
};
#define BUILT_IN (sizeof(built_in) / sizeof(built_in[0]))

/* Set only while an experiment is read; a run holds its own method. */
static _Thread_local const struct mot_method *const *brought;

const struct mot_method *mot_method_at(size_t i)
{
    if (i < BUILT_IN) return built_in[i];
    for (size_t k = 0; brought && brought[k]; k++)
        if (k == i - BUILT_IN) return brought[k];
    return NULL;
}

const struct mot_method *const *mot_methods_extend(const struct mot_method *const *more)
{
    const struct mot_method *const *before = brought;
    brought = more;
    return before;
}

struct mot_traits mot_method_traits(const struct mot_method *method, const void *conf, uint32_t workers)
{
    struct mot_traits t = {
        .model = MOT_MODEL_OF_ALL, .batches = workers, .round = workers, .parts = workers, .budget = NAN
    };
    if (method->traits) method->traits(conf, workers, &t);
    if (t.servers) t.model = MOT_MODEL_OF_SERVERS;
    return t;
}

bool mot_method_admits(const struct mot_method *method, const void *state, const struct mot_env *env,
    const struct mot_message *m)
{
    uint32_t dim = env->world->dim;
    if (m->to != env->self || m->from == env->self || m->from >= env->world->nodes) return false;
    if (m->body.buf != MOT_NO_BUF && (m->body.off > dim || m->body.len > dim - m->body.off)) return false;
    return method->admits && method->admits(state, env, m);
}
