/* store.h -- finished runs, filed under what they ran, and partitions that several runs share.
 *
 *   STORE/lock               see below
 *   STORE/tmp/PID-SLOT       a run being made
 *   STORE/family/FAMILY      the key of the last run made of those that differ only in their target
 *   STORE/ab/ab12...         a run: its folder, and `sums`, the sizes and hashes of its files; or a
 *                            partition (kept_parts.h), with `sums` too
 *
 * A run's key is a hash of the resolved experiment (without output and threads), the files it names, the
 * version, the kernel set and the program's sources: new code never gets old results. A run is made under tmp
 * and renamed once it is complete. What does not match its sums is thrown away and made again.
 *
 * Several programs may share a store: whoever makes a run locks a byte of STORE/lock that its key decides. */
#ifndef MOT_STUDY_STORE_H
#define MOT_STUDY_STORE_H

#include "config/experiment.h"

#define MOT_KEY_SIZE 33 /* 32 hexadecimal digits and a zero */

struct mot_store;
/* Makes the folder, and removes what killed programs left, unless another program is using the store. */
enum mot_status mot_store_open(const char *path, struct mot_store **out);
void mot_store_close(struct mot_store *);

/* A key without the seed: an experiment is printed and hashed once for all its seeds. */
struct mot_stem {
    bool none; /* its keys are "" */
    uint64_t high, low;
};
/* `models`: the run keeps its model too, which makes it a different run. */
enum mot_status mot_store_stem(
    struct mot_store *, const struct mot_experiment *, bool models, struct mot_stem *out);
/* The same for a partition. None if cutting it is as fast as reading it. */
enum mot_status mot_store_parts_stem(struct mot_store *, const struct mot_experiment *, struct mot_stem *out);
void mot_store_key(const struct mot_stem *, uint64_t seed, char key[MOT_KEY_SIZE]);

/* where the run is or will be; malloc'd */
char *mot_store_folder(const struct mot_store *, const char *key);
bool mot_store_has(const struct mot_store *, const char *key); /* it is there, and whole */
void mot_store_remove(const struct mot_store *, const char *key);

/* Waits until nobody else is making this run; false if a signal came first. For a process of its own
 * (runner.c). */
struct mot_store_claim {
    int file;
    uint64_t at;
};
bool mot_store_claim(const struct mot_store *, const char *key, struct mot_store_claim *);
void mot_store_release(struct mot_store_claim *);

/* The path of an empty folder to make a run in; `slot` tells the workers of a program apart. malloc'd. */
char *mot_store_workshop(const struct mot_store *, long program, unsigned slot);
/* Turns the workshop into the run of that key. If there is one already, it stays. */
enum mot_status mot_store_publish(const struct mot_store *, const char *workshop, const char *key);

/* Runs that differ only in their target are a family. The last one made usually went furthest, or an earlier
 * one would have done instead: its key is kept in STORE/family. */
void mot_store_relate(const struct mot_store *, const char *family, const char *key);
bool mot_store_relative(const struct mot_store *, const char *family, char key[MOT_KEY_SIZE]);

void mot_remove_tree(const char *path); /* a folder and its contents; never follows links */

#endif
