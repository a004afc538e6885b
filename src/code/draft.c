#include "code/draft.h"
#include "base/memory.h"
#include "base/rng.h"
#include <stdlib.h>
#include <string.h>

/* A code and the memory it points into. */
struct made {
    struct mot_code code;
    uint32_t *at, *held, *holder, *group_of;
    struct mot_share *share;
    double *exact;
    char *warning;
};

void mot_draft_add(struct mot_draft *d, uint32_t role, uint32_t part, double coef)
{
    if (d->entries == d->room) {
        size_t room = d->room ? 2 * d->room : 64;
        struct mot_entry *more = mot_grow_large(d->entry, room, sizeof(*more));
        if (!more) return; /* mot_draft_finish says so */
        d->entry = more;
        d->room = room;
    }
    d->entry[d->entries++] = (struct mot_entry){ role, part, coef };
}

enum mot_status mot_draft_expect(const struct mot_draft *d, uint64_t entries)
{
    if (entries <= MOT_DRAFT_MOST) return MOT_OK;
    return mot_fail(MOT_EUSAGE,
        "code %s: %u workers would hold %llu parts, each counted for all of its holders; expected at most "
        "%u: "
        "lower stragglers, load or parts",
        d->code.name, d->code.workers, (unsigned long long)entries, MOT_DRAFT_MOST);
}

void mot_draft_groups(struct mot_draft *d)
{
    d->group_of = mot_new(d->code.workers, sizeof(*d->group_of));
    for (uint32_t r = 0; r < d->code.workers; r++) d->group_of[r] = MOT_NO_ROLE;
}

void mot_draft_free(struct mot_draft *d)
{
    free(d->entry);
    free(d->group_of);
    free(d->warning);
    *d = (struct mot_draft){ 0 };
}

static int by_role(const void *x, const void *y)
{
    const struct mot_entry *a = x, *b = y;
    if (a->role != b->role) return a->role < b->role ? -1 : 1;
    return (a->part > b->part) - (a->part < b->part);
}

static void fill(struct made *m, const struct mot_draft *d)
{
    uint32_t workers = d->code.workers, parts = d->code.parts;
    for (size_t e = 0; e < d->entries; e++) {
        const struct mot_entry *x = &d->entry[e];
        m->share[e] = (struct mot_share){ x->part, (float)x->coef };
        m->exact[e] = x->coef;
        m->at[x->role + 1]++;
        m->held[x->part + 1]++;
    }
    for (uint32_t r = 0; r < workers; r++) m->at[r + 1] += m->at[r];
    for (uint32_t j = 0; j < parts; j++) m->held[j + 1] += m->held[j];
    uint32_t *next = mot_new((size_t)parts + 1, sizeof(*next)); /* at most 400 kB */
    memcpy(next, m->held, (size_t)parts * sizeof(*next));
    for (size_t e = 0; e < d->entries; e++) m->holder[next[d->entry[e].part]++] = d->entry[e].role;
    free(next);
}

enum mot_status mot_draft_finish(struct mot_draft *d, struct mot_code **out)
{
    if (mot_memory_refused()) return mot_memory_status();
    struct made *m = mot_new(1, sizeof(*m));
    m->at = mot_new((size_t)d->code.workers + 1, sizeof(*m->at));
    m->held = mot_new((size_t)d->code.parts + 1, sizeof(*m->held));
    m->holder = mot_new_large(d->entries + 1, sizeof(*m->holder));
    m->share = mot_new_large(d->entries + 1, sizeof(*m->share));
    m->exact = mot_new_large(d->entries + 1, sizeof(*m->exact));
    m->code = d->code;
    if (mot_memory_refused()) {
        mot_code_close(&m->code);
        return mot_memory_status();
    }
    if (d->entries) qsort(d->entry, d->entries, sizeof(*d->entry), by_role);
    fill(m, d);
    m->group_of = d->group_of;
    m->warning = d->warning;
    d->group_of = NULL;
    d->warning = NULL;
    for (uint32_t r = 0; r < m->code.workers; r++)
        if (m->at[r + 1] - m->at[r] > m->code.load_most) m->code.load_most = m->at[r + 1] - m->at[r];
    m->code.at = m->at;
    m->code.held = m->held;
    m->code.holder = m->holder;
    m->code.share = m->share;
    m->code.exact = m->exact;
    m->code.group_of = m->group_of;
    m->code.warning = m->warning;
    *out = &m->code;
    return MOT_OK;
}

void mot_code_close(struct mot_code *code)
{
    struct made *m = (struct made *)code; /* its first member */
    if (!m) return;
    free(m->at);
    free(m->held);
    free(m->holder);
    free(m->share);
    free(m->exact);
    free(m->group_of);
    free(m->warning);
    free(m);
}

uint64_t mot_code_hash(const struct mot_code *c)
{
    uint64_t hash = mot_hash3(c->workers, c->parts, (uint64_t)c->decoder << 32 | c->stragglers), slack;
    memcpy(&slack, &c->slack, sizeof(slack));
    hash = mot_hash3(hash, c->burst, slack);
    for (uint32_t r = 0; r < c->workers; r++)
        for (uint32_t k = c->at[r]; k < c->at[r + 1]; k++) {
            uint32_t bits;
            memcpy(&bits, &c->share[k].coef, sizeof(bits));
            hash = mot_hash3(hash, (uint64_t)r << 32 | c->share[k].part, bits);
        }
    return hash;
}
