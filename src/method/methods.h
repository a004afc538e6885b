/* methods.h -- the table of methods. A new method is a file of its own, and a line here and in methods.c. */
#ifndef MOT_METHOD_METHODS_H
#define MOT_METHOD_METHODS_H

#include <motley/method.h>

extern const struct mot_method mot_method_allreduce, mot_method_server, mot_method_async;
extern const struct mot_method mot_method_rennala, mot_method_malenia, mot_method_ringmaster,
    mot_method_ringleader, mot_method_ia2sgd;
extern const struct mot_method mot_method_fedbuff, mot_method_ca2fl, mot_method_fedavg;
extern const struct mot_method mot_method_mindflayer, mot_method_gasync;
extern const struct mot_method mot_method_dpsgd, mot_method_matcha, mot_method_choco, mot_method_crossover;
extern const struct mot_method mot_method_adpsgd, mot_method_gosgd;
extern const struct mot_method mot_method_sgp, mot_method_osgp;
extern const struct mot_method mot_method_localsgd, mot_method_slowmo, mot_method_diloco;
extern const struct mot_method mot_method_coded;
extern const struct mot_method mot_method_scadles, mot_method_selsync;

/* Method number i, or NULL past the last; the first is the default. */
const struct mot_method *mot_method_at(size_t i);

struct mot_traits mot_method_traits(const struct mot_method *, const void *conf, uint32_t workers);

/* Whether a message from outside may be given to the node's step: see mot_method.admits. */
bool mot_method_admits(
    const struct mot_method *, const void *state, const struct mot_env *, const struct mot_message *);

/* Adds a library user's methods (ended by NULL; NULL: none) after the built-in ones, in this thread until
 * the next call. Returns the previous ones. */
const struct mot_method *const *mot_methods_extend(const struct mot_method *const *more);

#endif
