/* ondemand.h -- libraries that few runs need, loaded on first use.
 *
 * Brokers, a web server and MPI pull in twenty more libraries, and loading those takes longer than everything
 * else that a short command does. So nothing is linked with them. Code that uses one lists the names it needs
 * once; the types come from the library's own header:
 *
 *   #define CALLS(CALL) CALL(mosquitto_, new) CALL(mosquitto_, destroy)
 *   static struct { CALLS(MOT_ONDEMAND_POINTER) } mosq;
 *   static const char *const names[] = { CALLS(MOT_ONDEMAND_NAME) };
 *   static struct mot_ondemand library = { .file = "libmosquitto.so.1", .wanted_by = "mqtt://",
 *       MOT_ONDEMAND_TABLE(mosq, names) };
 *   ...
 *   if (mot_ondemand(&library) == MOT_OK) client = mosq.new(id, true, self);
 */
#ifndef MOT_BASE_ONDEMAND_H
#define MOT_BASE_ONDEMAND_H

#include "base/memory.h"

struct mot_ondemand {
    const char *file;      /* as the loader knows it */
    const char *wanted_by; /* what a user asked for: the subject of an error message */
    const char *package;   /* in Debian; NULL: by Debian's rule, libname.so.1 is in libname1 */
    bool plugins;          /* it has plugins of its own, which look for its symbols */
    const char *const *names;
    size_t count;
    void *table; /* of `count` pointers, in the order of `names` */
    _Atomic bool ready;
};

/* Functions and, where a library exports them, objects. */
#define MOT_ONDEMAND_POINTER(prefix, name) __typeof__(prefix##name) *name;
#define MOT_ONDEMAND_NAME(prefix, name) #prefix #name,
#define MOT_ONDEMAND_TABLE(pointers, list)                                                                   \
    .names = (list), .count = sizeof(pointers) / sizeof(void *), .table = &(pointers)

/* Fills the table, from any thread; what is loaded stays loaded. If the library is missing or lacks one of
 * these symbols, fails with MOT_ESYSTEM and says what to install. */
enum mot_status mot_ondemand(struct mot_ondemand *);

#endif
