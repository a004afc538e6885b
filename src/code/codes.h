/* codes.h -- the table of codes: the `code:` section. */
#ifndef MOT_CODE_CODES_H
#define MOT_CODE_CODES_H

#include "code/draft.h"
#include <motley/option.h>

struct mot_code_kind {
    const char *name, *summary;
    const struct mot_option
        *options;     /* over struct mot_code_spec; each kind has those that mean something to it */
    uint32_t decoder; /* what `auto` is */
    /* Adds the entries of B, and sets what is not a default, or says why there is no such code. */
    enum mot_status (*build)(const struct mot_code_spec *, struct mot_draft *);
};
extern const struct mot_code_kind *const mot_codes[]; /* ended by NULL; the first is the default */

const struct mot_code_kind *mot_code_find(const char *name); /* NULL: there is none */

extern const struct mot_code_kind mot_code_frc, mot_code_crc, mot_code_uncoded, mot_code_sequential,
    mot_code_hetero, mot_code_hetero_groups, mot_code_expander, mot_code_graph, mot_code_bernoulli,
    mot_code_regularised;

/* Options that several kinds have. */
#define MOT_CODE_FIELD(field) offsetof(struct mot_code_spec, field)
#define MOT_CODE_STRAGGLERS                                                                                  \
    {                                                                                                        \
        .name = "stragglers", .type = MOT_OPT_UINT, .offset = MOT_CODE_FIELD(stragglers), .preset = "1",     \
        .min = 1, .max = MOT_CODE_MOST, .doc = "missing answers that are decoded exactly"                    \
    }
#define MOT_CODE_DECODER                                                                                     \
    {                                                                                                        \
        .name = "decoder", .type = MOT_OPT_CHOICE, .offset = MOT_CODE_FIELD(decoder), .preset = "auto",      \
        .choices = "auto|any-holder|one-step|optimal|component", .doc = "how answers become a gradient"      \
    }
#define MOT_CODE_PARTS(text)                                                                                 \
    {                                                                                                        \
        .name = "parts", .type = MOT_OPT_UINT, .offset = MOT_CODE_FIELD(parts), .preset = "0", .min = 0,     \
        .max = MOT_CODE_MOST, .doc = text                                                                    \
    }
#define MOT_CODE_LOAD(text)                                                                                  \
    {                                                                                                        \
        .name = "load", .type = MOT_OPT_UINT, .offset = MOT_CODE_FIELD(load), .preset = "3", .min = 1,       \
        .max = MOT_CODE_MOST, .doc = text                                                                    \
    }

/* coverage[j]: as mot_code_coverage, over as many shuffles as it takes; exact unless shuffles are partial. */
void mot_shuffle_coverage(
    const struct mot_code *, const struct mot_shuffle *, const double *straggles, double *coverage);

/* The k-th of `shuffles` to look at. If they are fewer than a rotation's full turn, they spread over it. */
static inline uint64_t mot_shuffle_seen(
    const struct mot_shuffle *s, const struct mot_code *c, uint64_t k, uint64_t shuffles)
{
    bool turns = s->kind == MOT_SHUFFLE_ROTATE_WORKER || s->kind == MOT_SHUFFLE_ROTATE_GROUP;
    return turns && shuffles < c->workers ? k * c->workers / shuffles : k;
}

#endif
