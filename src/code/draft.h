/* draft.h -- a code under construction: entries of B in any order, and the code made of them. */
#ifndef MOT_CODE_DRAFT_H
#define MOT_CODE_DRAFT_H

#include <motley/code.h>

struct mot_draft {
    struct mot_code code; /* name, workers and parts are set beforehand; `build` sets what it knows */
    struct mot_entry {
        uint32_t role, part;
        double coef;
    } * entry;
    size_t entries, room;
    uint32_t *group_of; /* [workers], or NULL */
    char *warning;      /* malloc'd, or NULL */
};

#define MOT_DRAFT_MOST 100000000u /* entries: some gigabytes */
/* Fails if a code of this many entries is too large; call it before adding them. */
enum mot_status mot_draft_expect(const struct mot_draft *, uint64_t entries);
void mot_draft_add(struct mot_draft *, uint32_t role, uint32_t part, double coef);
/* Makes group_of, with nobody in a group yet. */
void mot_draft_groups(struct mot_draft *);

/* Sorts the entries into lists by role and by part, and takes over the draft's memory. */
enum mot_status mot_draft_finish(struct mot_draft *, struct mot_code **out);
void mot_draft_free(struct mot_draft *);

#endif
