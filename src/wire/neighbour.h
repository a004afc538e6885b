/* neighbour.h -- other processes of a run on the same machine: whether they are still there, and ending them.
 *
 * The kernel knows at once what silence tells only after seconds. A neighbour is held by a
 * descriptor, not by its number, so that a process which gets the number later is not taken for it. */
#ifndef MOT_WIRE_NEIGHBOUR_H
#define MOT_WIRE_NEIGHBOUR_H

#include <stdbool.h>
#include <stdint.h>

/* machine: the boot and the pid namespace, hashed */
struct mot_neighbour_id {
    uint64_t machine;
    int64_t pid;
};
struct mot_neighbour_id mot_neighbour_self(void);

/* A descriptor, or -1: it is elsewhere, or cannot be watched. */
int mot_neighbour_open(const struct mot_neighbour_id *);
void mot_neighbour_close(int);
bool mot_neighbour_gone(int); /* it has ended; false too where it cannot be watched */
bool mot_neighbour_end(int);  /* kills it, also when it is stopped; false: that is not possible */

#endif
