/* neighbour.h -- other processes of a run on the same machine: whether they are still alive, and ending
 * them.
 *
 * The kernel knows at once what silence tells only after seconds. A neighbour is held by a descriptor, not
 * by its pid, so a process that later gets the same pid is not mistaken for it. */
#ifndef MOT_WIRE_NEIGHBOUR_H
#define MOT_WIRE_NEIGHBOUR_H

#include <stdbool.h>
#include <stdint.h>

/* machine: hash of the boot id and the pid namespace */
struct mot_neighbour_id {
    uint64_t machine;
    int64_t pid;
};
struct mot_neighbour_id mot_neighbour_self(void);

/* A descriptor; -1: on another machine, or not watchable. */
int mot_neighbour_open(const struct mot_neighbour_id *);
void mot_neighbour_close(int);
bool mot_neighbour_gone(int); /* it has ended; false if it cannot be watched */
bool mot_neighbour_end(int);  /* kills it, even if stopped; false: impossible */

#endif
