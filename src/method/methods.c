#include "method/methods.h"

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
    &mot_method_mindflayer,
    &mot_method_gasync,
    &mot_method_dpsgd,
    &mot_method_matcha,
};
#define BUILT_IN (sizeof(built_in) / sizeof(built_in[0]))

/* Set only while an experiment is read: a run itself holds the method it uses. */
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
