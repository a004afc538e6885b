/* capacity.h -- files in FedScale's form that say how fast many devices compute and send. */
#ifndef MOT_CLUSTER_CAPACITY_H
#define MOT_CLUSTER_CAPACITY_H

#include "base/memory.h"
#include <motley/status.h>

/* One device: how long a sample takes it, and what its link carries. */
struct mot_capacity {
    const char *name;
    double ms_per_sample, kbit_per_s; /* both above 0 */
};
struct mot_capacities {
    uint32_t n;
    struct mot_capacity *device; /* in the order of the file; free() it */
};

/* Whether these bytes look like such a file: JSON, a pickle, or CSV with a header that names both columns. */
bool mot_capacities_are(const unsigned char *bytes, size_t n);

/* Reads such a file: {CLIENT: {computation: MS, communication: KBIT_S}} as JSON or as a pickle (protocols 2
 * to 5, plain dictionaries of numbers and text; nothing in it is run), or CSV columns. A zero byte must
 * follow `bytes`; the arena owns the names; errors call the file `path`. */
enum mot_status mot_capacities_parse(
    const char *path, const unsigned char *bytes, size_t n, struct mot_arena *, struct mot_capacities *out);

/* ---- For the readers ---------------------------------------------------------------------------- */

struct mot_capacity_list {
    const char *path;
    struct mot_arena *arena;
    struct mot_capacities all;
    uint32_t room;
};
#define MOT_CAPACITIES_MAX 10000000u
/* Checks a device and adds it. Missing figures are NaN. */
enum mot_status mot_capacity_add(
    struct mot_capacity_list *, const char *name, double ms_per_sample, double kbit_per_s);
enum mot_status mot_capacities_unpickle(struct mot_capacity_list *, const unsigned char *bytes, size_t n);

#endif
