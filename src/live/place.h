/* place.h -- how far workers are in streams of samples, as the nodes of one process know it.
 *
 * A checkpoint needs every worker's position at the update that its model is of. With a server, messages say
 * where their sender was. Without one, and with one model for all, workers meet in collectives of
 * everyone: each notes its place as it joins, and whoever has got the result knows where all were. They
 * are at most two collectives apart, so a few places of each are enough. */
#ifndef MOT_LIVE_PLACE_H
#define MOT_LIVE_PLACE_H

#include "run/feed.h"
#include "stream/ring.h"
#include <stdatomic.h>

/* As of when its node last looked; without the samples that a resumed run had used before. */
struct mot_place {
    uint64_t arrived, used, dropped;
    uint64_t malformed, held; /* of a real source: records up to there that were no samples, or held out, */
    struct mot_cursor cursor; /* and where it goes on after what was used and dropped */
};

#define MOT_PLACES 8u
struct mot_places { /* of one worker */
    struct {
        _Atomic uint64_t arrived, used, dropped, malformed, held, cursor, sub, number;
    } now, at[MOT_PLACES]; /* at: when it joined its last collectives of all workers */
};

/* Heard of a worker, or noted by itself. Counts only grow. */
void mot_place_note(struct mot_places *, const struct mot_place *);
void mot_place_join(struct mot_places *, uint64_t collective, const struct mot_place *);
struct mot_place mot_place_now(struct mot_places *);
struct mot_place mot_place_at(struct mot_places *, uint64_t collective);

#endif
