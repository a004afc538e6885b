/* place.h -- how far workers are in their streams of samples, as far as the nodes of one process know.
 *
 * A checkpoint needs every worker's position as of its model's update. With a server, messages say where
 * their sender was. Without one, and with one model for all, workers meet in collectives of all workers: each
 * notes its place as it joins, and whoever has the result knows where all were. They are at most two
 * collectives apart, so a few places of each are enough. */
#ifndef MOT_LIVE_PLACE_H
#define MOT_LIVE_PLACE_H

#include "run/feed.h"
#include "stream/ring.h"
#include <stdatomic.h>

/* As of its node's last look; without the samples that a resumed run had used before. */
struct mot_place {
    uint64_t arrived, used, dropped;
    uint64_t malformed, held; /* of a real source: records up to there that were not samples, or held out, */
    struct mot_cursor cursor; /* and where it goes on after what was used and dropped */
};

#define MOT_PLACES 8u
struct mot_places { /* of one worker */
    struct {
        _Atomic uint64_t arrived, used, dropped, malformed, held, cursor, sub, number;
    } now, at[MOT_PLACES]; /* at: when it joined its last collectives of all workers */
};

/* Takes in a worker's place: its own, or one heard from it. Counts only grow. */
void mot_place_note(struct mot_places *, const struct mot_place *);
void mot_place_join(struct mot_places *, uint64_t collective, const struct mot_place *);
struct mot_place mot_place_now(struct mot_places *);
struct mot_place mot_place_at(struct mot_places *, uint64_t collective);

#endif
