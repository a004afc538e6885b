/* methods.h -- the table of methods. A new one is a file of its own and a line here and in methods.c. */
#ifndef MOT_METHOD_METHODS_H
#define MOT_METHOD_METHODS_H

#include <motley/method.h>

extern const struct mot_method mot_method_allreduce, mot_method_server, mot_method_async;
extern const struct mot_method *const mot_methods[]; /* ended by NULL; the first is the default */

#endif
