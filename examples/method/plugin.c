/* plugin.c -- the methods of this folder for the program itself:
 *
 *   cc -shared -fPIC plugin.c local_sgd.c clipped.c $(pkg-config --cflags motley) -o methods.so
 *   motley sim --plugin ./methods.so --method local-sgd --method-period 16 */
#include <motley/plugin.h>

extern const struct mot_method local_sgd, clipped;

static const struct mot_method *const methods[] = { &local_sgd, &clipped, NULL };
MOT_PLUGIN(.methods = methods)
