/* methods.h -- the table of methods. A new one is a file of its own and a line here and in methods.c. */
#ifndef MOT_METHOD_METHODS_H
#define MOT_METHOD_METHODS_H

#include <motley/method.h>

extern const struct mot_method mot_method_allreduce, mot_method_server, mot_method_async;
extern const struct mot_method mot_method_rennala, mot_method_malenia, mot_method_ringmaster,
    mot_method_ringleader, mot_method_ia2sgd;
extern const struct mot_method mot_method_fedbuff, mot_method_ca2fl, mot_method_mindflayer, mot_method_gasync;
extern const struct mot_method mot_method_dpsgd, mot_method_matcha;

/* Method number i, or NULL past the last; the first is the default. */
const struct mot_method *mot_method_at(size_t i);

/* Methods that a user of the library brings (ended by NULL, or NULL for none) follow
 * the built-in ones in this thread, until the next call. Returns those before. */
const struct mot_method *const *mot_methods_extend(const struct mot_method *const *more);

#endif
