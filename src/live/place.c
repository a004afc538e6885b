#include "live/place.h"

static void grow(_Atomic uint64_t *at, uint64_t to)
{
    if (to > atomic_load(at)) atomic_store(at, to);
}

void mot_place_note(struct mot_places *p, const struct mot_place *is)
{
    /* Only what has grown can be news: `sub` may fall when the cursor moves on. */
    bool news = is->used + is->dropped >= atomic_load(&p->now.used) + atomic_load(&p->now.dropped);
    grow(&p->now.arrived, is->arrived);
    grow(&p->now.used, is->used);
    grow(&p->now.dropped, is->dropped);
    grow(&p->now.malformed, is->malformed);
    grow(&p->now.held, is->held);
    if (!news) return;
    atomic_store(&p->now.cursor, is->cursor.at);
    atomic_store(&p->now.sub, is->cursor.sub);
    atomic_store(&p->now.number, is->cursor.number);
}

void mot_place_join(struct mot_places *p, uint64_t collective, const struct mot_place *is)
{
    uint64_t slot = collective % MOT_PLACES;
    atomic_store(&p->at[slot].arrived, is->arrived);
    atomic_store(&p->at[slot].used, is->used);
    atomic_store(&p->at[slot].dropped, is->dropped);
    atomic_store(&p->at[slot].malformed, is->malformed);
    atomic_store(&p->at[slot].held, is->held);
    atomic_store(&p->at[slot].cursor, is->cursor.at);
    atomic_store(&p->at[slot].sub, is->cursor.sub);
    atomic_store(&p->at[slot].number, is->cursor.number);
}

struct mot_place mot_place_now(struct mot_places *p)
{
    return (struct mot_place){ atomic_load(&p->now.arrived), atomic_load(&p->now.used),
        atomic_load(&p->now.dropped), atomic_load(&p->now.malformed), atomic_load(&p->now.held),
        { atomic_load(&p->now.cursor), atomic_load(&p->now.sub), atomic_load(&p->now.number) } };
}

struct mot_place mot_place_at(struct mot_places *p, uint64_t collective)
{
    uint64_t slot = collective % MOT_PLACES;
    return (struct mot_place){
        atomic_load(&p->at[slot].arrived), atomic_load(&p->at[slot].used), atomic_load(&p->at[slot].dropped),
        atomic_load(&p->at[slot].malformed), atomic_load(&p->at[slot].held),
        { atomic_load(&p->at[slot].cursor), atomic_load(&p->at[slot].sub), atomic_load(&p->at[slot].number) }
    };
}
