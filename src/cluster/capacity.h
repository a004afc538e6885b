/* capacity.h -- files that say how fast each of many devices computes and sends, as FedScale has them. */
#ifndef MOT_CLUSTER_CAPACITY_H
#define MOT_CLUSTER_CAPACITY_H

#include "base/memory.h"
#include <motley/status.h>

/* One device: how long it computes for a sample, and what its link carries. */
struct mot_capacity {
    const char *name;
    double ms_per_sample, kbit_per_s; /* both above 0 */
};
struct mot_capacities {
    uint32_t n;
    struct mot_capacity *device; /* in the order of the file; free() it */
};

/* Whether these bytes are such a file at all: JSON, a pickle, or CSV whose header names both columns. */
bool mot_capacities_are(const unsigned char *bytes, size_t n);

/* Reads it: {CLIENT: {computation: MS, communication: KBIT_S}}, as JSON, as a pickle (protocols 2 to 5, plain
 * dictionaries of numbers and text; nothing in it is run), or as the columns of a CSV file. `bytes` has a
 * zero byte after it; the arena owns the names; errors call the file `path`. */
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
/* Adds one, checked. Figures that are missing are NaN. */
enum mot_status mot_capacity_add(
    struct mot_capacity_list *, const char *name, double ms_per_sample, double kbit_per_s);
enum mot_status mot_capacities_unpickle(struct mot_capacity_list *, const unsigned char *bytes, size_t n);

#endif
