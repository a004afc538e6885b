/* cluster_named.h -- typical clusters by name: `cluster: lab`. */
#ifndef MOT_CONFIG_CLUSTER_NAMED_H
#define MOT_CONFIG_CLUSTER_NAMED_H

#include <stddef.h>

struct mot_named_cluster {
    const char *name, *summary, *source, *text; /* text: a cluster file */
};
const struct mot_named_cluster *mot_named_cluster_at(size_t i);           /* NULL past the last */
const struct mot_named_cluster *mot_named_cluster_find(const char *name); /* NULL: none */

#endif
