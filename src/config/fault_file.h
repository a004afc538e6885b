/* fault_file.h -- the faults of a cluster, from YAML and back. */
#ifndef MOT_CONFIG_FAULT_FILE_H
#define MOT_CONFIG_FAULT_FILE_H

#include "cluster/cluster.h"
#include "config/read.h"
#include <stdio.h>

struct mot_faults_conf {
    uint64_t detect, until;
    double chance[MOT_FAULTS_CHANCE], rate[MOT_FAULTS_RANDOM], slow_factor;
    uint64_t lasts[MOT_FAULTS_RANDOM];
};
struct mot_fault_conf {
    uint64_t at, lasts;
    double amount;
    struct mot_uints workers;
    bool server;
};
extern const struct mot_option mot_faults_options[];
extern const struct mot_family mot_family_fault;

/* Reads `node` (NULL: no faults) for a cluster of that many workers; the arena owns the listed faults. */
enum mot_status mot_faults_read(const struct mot_yaml_reader *, const struct mot_yaml *node, const char *key,
    uint32_t workers, struct mot_arena *, struct mot_faults *out);

/* As YAML under the key `faults`; nothing if there are none. */
void mot_faults_print(const struct mot_faults *, int indent, FILE *);

#endif
