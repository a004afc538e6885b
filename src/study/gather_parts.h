/* gather_parts.h -- runs that were found, and the keys of their experiments. */
#ifndef MOT_STUDY_GATHER_PARTS_H
#define MOT_STUDY_GATHER_PARTS_H

#include "base/memory.h"
#include "config/yaml.h"
#include "study/study.h"

struct entry {
    const char *key, *value;
}; /* "method.k" = "6" */
struct layout {
    struct entry *entry;
    size_t n, room;
};

struct found {
    const char *folder, *driver;
    /* device and number: which folder it is, by whatever name */
    uint64_t seed, device, number;
    uint32_t arm, repeat;
    struct mot_yaml *experiment;
    struct layout layout;
};

struct finds {
    struct mot_arena *arena;
    struct found *found;
    size_t n, room;
    size_t *arm, arms; /* the first run of each arm */
};

/* Names and settings of the arms. */
void mot_name_arms(const struct finds *, struct mot_study_side *arm);
/* What all arms have in common, as YAML. */
const char *mot_shared_yaml(const struct finds *);

#endif
