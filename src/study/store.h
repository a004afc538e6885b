/* store.h -- finished runs, kept by what they are runs of, and partitions that several runs share.
 *
 *   STORE/lock               see below
 *   STORE/tmp/PID-SLOT       a run being made
 *   STORE/ab/ab12...         a run: its folder, and `sums`, the sizes and hashes of its files; or a
 *                            partition (parts.h), with `sums` too
 *
 * The key of a run is a hash of the resolved experiment (without output and threads), the files that it
 * names, the version, the kernel set and the sources that the program was built from: other code never gets
 * old results. A run is made under tmp and renamed when it is whole. What does not agree with its sums is
 * thrown away and made again.
 *
 * Several programs may use one store: a lock on a range of STORE/lock is held by who makes the
 * run of that key. */
#ifndef MOT_STUDY_STORE_H
#define MOT_STUDY_STORE_H

#include "config/experiment.h"

#define MOT_KEY_SIZE 33 /* 32 hexadecimal digits and a zero */

struct mot_store;
/* Makes the folder, and sweeps out what killed programs left unless others are at work. */
enum mot_status mot_store_open(const char *path, struct mot_store **out);
void mot_store_close(struct mot_store *);

/* `models`: the run leaves its model too, and is then another run. */
enum mot_status mot_store_key(
    struct mot_store *, const struct mot_experiment *, bool models, char key[MOT_KEY_SIZE]);

/* The same for who holds which rows, a hash of what decides it. "" where that is found as fast as read. */
enum mot_status mot_store_parts_key(
    struct mot_store *, const struct mot_experiment *, char key[MOT_KEY_SIZE]);

/* where the run is or will be; malloc'd */
char *mot_store_folder(const struct mot_store *, const char *key);
bool mot_store_has(const struct mot_store *, const char *key); /* it is there, and whole */
void mot_store_remove(const struct mot_store *, const char *key);

/* Waits until nobody else makes this run; false if a signal came
 * first. In a process of its own (see runner.c). */
struct mot_store_claim {
    int file;
    uint64_t at;
};
bool mot_store_claim(const struct mot_store *, const char *key, struct mot_store_claim *);
void mot_store_release(struct mot_store_claim *);

/* A folder to make a run in, empty; `slot` tells the workers of one program apart. malloc'd. */
char *mot_store_workshop(const struct mot_store *, long program, unsigned slot);
/* Makes the workshop's files the run of that key. If there is one already, that one stays. */
enum mot_status mot_store_publish(const struct mot_store *, const char *workshop, const char *key);

void mot_remove_tree(const char *path); /* a folder and what is in it; never follows links */

#endif
