/* sequential.c -- codes over several rounds: what a burst of stragglers left undone is repeated later.
 *
 * Krishnan, Ebrahimi and Khisti, Sequential Gradient Coding for Straggler Mitigation, ICLR 2023, SR-SGC. If
 * in any `window` rounds at most `distinct` workers straggle, each for at most `burst` rounds in a row, a
 * code for s = ceil(burst * distinct / (window - 1 + burst)) stragglers suffices, fewer than `distinct`:
 * where more than s fail in a round, those beyond s repeat its task `burst` rounds later. */
#include "code/codes.h"

static enum mot_status build_sequential(const struct mot_code_spec *s, struct mot_draft *d)
{
    uint64_t burst = s->burst, window = s->window, distinct = s->distinct;
    if (window < 2 || (window - 1) % burst != 0)
        return mot_fail(MOT_EUSAGE,
            "code.window: found %llu; expected 1 more than a multiple of burst (%llu), such as %llu",
            (unsigned long long)window, (unsigned long long)burst, (unsigned long long)(2 * burst + 1));
    if (distinct >= s->workers)
        return mot_fail(MOT_EUSAGE, "code.distinct: found %llu; expected fewer than there are workers (%u)",
            (unsigned long long)distinct, s->workers);
    struct mot_code_spec within = *s;
    within.stragglers = (burst * distinct + window + burst - 2) / (window - 1 + burst);
    within.parts = 0;
    bool groups = s->workers % (within.stragglers + 1) == 0;
    enum mot_status status = (groups ? &mot_code_frc : &mot_code_crc)->build(&within, d);
    d->code.burst = (uint32_t)burst;
    d->code.slack = s->slack;
    return status;
}

static const struct mot_option sequential_options[] = {
    { .name = "burst",
        .type = MOT_OPT_UINT,
        .offset = MOT_CODE_FIELD(burst),
        .preset = "1",
        .min = 1,
        .max = 1000,
        .doc = "the most rounds in a row for which a worker straggles; a task may take that many rounds "
               "longer" },
    { .name = "window",
        .type = MOT_OPT_UINT,
        .offset = MOT_CODE_FIELD(window),
        .preset = "0",
        .min = 0,
        .max = 1e6,
        .doc =
            "rounds in which at most `distinct` workers straggle: 1 more than a multiple of burst; 0: burst "
            "+ 1" },
    { .name = "distinct",
        .type = MOT_OPT_UINT,
        .offset = MOT_CODE_FIELD(distinct),
        .preset = "2",
        .min = 1,
        .max = MOT_CODE_MOST,
        .doc = "the most workers that straggle in any `window` rounds" },
    { .name = "slack",
        .type = MOT_OPT_REAL,
        .offset = MOT_CODE_FIELD(slack),
        .preset = "1",
        .min = 0,
        .max = 1e6,
        .doc = "a worker straggles if it takes 1 + slack times as long as the fastest of the round" },
    MOT_CODE_DECODER,
    { .name = NULL },
};

const struct mot_code_kind mot_code_sequential = { "sr-sgc",
    "sequential: what a burst of stragglers left undone is repeated in a later round", sequential_options,
    MOT_DECODER_AUTO, build_sequential };
