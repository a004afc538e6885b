#include "method/methods.h"

const struct mot_method *const mot_methods[] = {
    &mot_method_allreduce,
    &mot_method_server,
    &mot_method_async,
    NULL,
};
