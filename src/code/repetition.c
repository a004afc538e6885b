/* repetition.c -- codes whose workers repeat each other's work: fractional repetition, and no code at all.
 *
 * Tandon, Lei, Dimakis and Karampatziakis, Gradient Coding: Avoiding Stragglers in Distributed Learning,
 * 2017. */
#include "code/codes.h"

/* One worker per part, to wait for everyone or to do without stragglers. */
static enum mot_status build_uncoded(const struct mot_code_spec *s, struct mot_draft *d)
{
    d->code.parts = s->workers;
    d->code.groups = s->workers;
    d->code.replicas = true;
    d->code.row_sum = 1;
    mot_draft_groups(d);
    for (uint32_t r = 0; r < s->workers; r++) {
        d->group_of[r] = r;
        mot_draft_add(d, r, r, 1);
    }
    return MOT_OK;
}

/* Workers in groups of stragglers + 1. The members of a group hold the same block of the data, and whoever
 * answers first serves. */
static enum mot_status build_frc(const struct mot_code_spec *s, struct mot_draft *d)
{
    uint32_t size = (uint32_t)s->stragglers + 1, groups = s->workers / size;
    if (s->workers % size != 0)
        return mot_fail(MOT_EUSAGE,
            "code frc: %u workers cannot form groups of %u: expected stragglers + 1 to divide the number of "
            "workers; crc takes any number",
            s->workers, size);
    if (d->code.parts % groups != 0)
        return mot_fail(
            MOT_EUSAGE, "code.parts: found %u; expected a multiple of the %u groups", d->code.parts, groups);
    uint32_t block = d->code.parts / groups;
    enum mot_status status = mot_draft_expect(d, (uint64_t)s->workers * block);
    if (status != MOT_OK) return status;
    d->code.stragglers = size - 1;
    d->code.groups = groups;
    d->code.replicas = true;
    d->code.leap = size;
    d->code.row_sum = block;
    mot_draft_groups(d);
    for (uint32_t r = 0; r < s->workers; r++) {
        d->group_of[r] = r / size;
        for (uint32_t k = 0; k < block; k++) mot_draft_add(d, r, r / size * block + k, 1);
    }
    return MOT_OK;
}

static const struct mot_option uncoded_options[] = { MOT_CODE_DECODER, { .name = NULL } };
static const struct mot_option frc_options[] = { MOT_CODE_STRAGGLERS,
    MOT_CODE_PARTS("parts of the data, a multiple of the groups; 0: as many as workers"), MOT_CODE_DECODER,
    { .name = NULL } };

const struct mot_code_kind mot_code_uncoded = { "uncoded",
    "each part by one worker; decoder one-step scales up what has come", uncoded_options,
    MOT_DECODER_ANY_HOLDER, build_uncoded };
const struct mot_code_kind mot_code_frc = { "frc",
    "fractional repetition: groups whose members hold the same parts", frc_options, MOT_DECODER_ANY_HOLDER,
    build_frc };
