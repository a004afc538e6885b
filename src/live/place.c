#include "live/place.h"

static void grow(_Atomic uint64_t *at, uint64_t to)
{
    if (to > atomic_load(at)) atomic_store(at, to);
}

void mot_place_note(struct mot_places *p, const struct mot_place *is)
{
    grow(&p->now.arrived, is->arrived);
    grow(&p->now.used, is->used);
    grow(&p->now.dropped, is->dropped);
}

void mot_place_join(struct mot_places *p, uint64_t collective, const struct mot_place *is)
{
    atomic_store(&p->at[collective % MOT_PLACES].arrived, is->arrived);
    atomic_store(&p->at[collective % MOT_PLACES].used, is->used);
    atomic_store(&p->at[collective % MOT_PLACES].dropped, is->dropped);
}

struct mot_place mot_place_now(struct mot_places *p)
{
    return (struct mot_place){ atomic_load(&p->now.arrived), atomic_load(&p->now.used),
        atomic_load(&p->now.dropped) };
}

struct mot_place mot_place_at(struct mot_places *p, uint64_t collective)
{
    return (struct mot_place){ atomic_load(&p->at[collective % MOT_PLACES].arrived),
        atomic_load(&p->at[collective % MOT_PLACES].used),
        atomic_load(&p->at[collective % MOT_PLACES].dropped) };
}
