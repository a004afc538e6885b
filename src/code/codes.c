#include "code/codes.h"
#include "base/memory.h"
#include "base/words.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The default ------------------------------------------------------------------------------ */

static const struct mot_option auto_options[] = { MOT_CODE_STRAGGLERS, MOT_CODE_DECODER, { .name = NULL } };
static const struct mot_code_kind automatic = { "auto", "frc where it fits, else crc", auto_options,
    MOT_DECODER_AUTO, NULL };

const struct mot_code_kind *const mot_codes[] = { &automatic, &mot_code_frc, &mot_code_crc, &mot_code_hetero,
    &mot_code_hetero_groups, &mot_code_expander, &mot_code_graph, &mot_code_bernoulli, &mot_code_regularised,
    &mot_code_uncoded, &mot_code_sequential, NULL };

const struct mot_code_kind *mot_code_find(const char *name)
{
    for (size_t i = 0; mot_codes[i]; i++)
        if (strcmp(mot_codes[i]->name, name) == 0) return mot_codes[i];
    return NULL;
}

/* ---- Opening ------------------------------------------------------------------------------------ */

static enum mot_status find(const struct mot_code_spec *s, const struct mot_code_kind **out)
{
    const struct mot_code_kind *kind = mot_code_find(s->name);
    if (kind == &automatic) kind = s->workers % (s->stragglers + 1) == 0 ? &mot_code_frc : &mot_code_crc;
    *out = kind;
    return kind ? MOT_OK : mot_fail(MOT_EUSAGE, "code: there is no code '%s'", s->name);
}

#define APART " ,[]" /* what may stand between speeds */

static enum mot_status read_speeds(const struct mot_code_spec *s, double *speed)
{
    const char *p = s->speeds;
    uint32_t n = 0;
    for (p += strspn(p, APART); *p; p += strspn(p, APART)) {
        size_t length = strcspn(p, APART);
        char word[32];
        double x;
        snprintf(word, sizeof(word), "%.*s", (int)(length < sizeof(word) ? length : sizeof(word)), p);
        /* by the reader of all numbers, which knows no locale */
        if (length >= sizeof(word) || !mot_read_real(word, &x) || !(x > 0 && x < 1e300))
            return mot_fail(MOT_EUSAGE,
                "code.speeds: found '%.*s'; expected numbers above 0 and below 1e300, such as 1, 2, 4",
                (int)length, p);
        if (n < s->workers) speed[n] = x;
        n++;
        p += length;
    }
    if (n == s->workers) return MOT_OK;
    return mot_fail(
        MOT_EUSAGE, "code.speeds: found %u numbers; expected one for each of %u workers", n, s->workers);
}

static enum mot_status check_common(const struct mot_code_spec *s)
{
    if (s->workers < 1 || s->workers > MOT_CODE_MOST || s->parts > MOT_CODE_MOST)
        return mot_fail(MOT_EUSAGE,
            "code: found %u workers and %llu parts; expected 1 to %u workers, and at most as many parts",
            s->workers, (unsigned long long)s->parts, MOT_CODE_MOST);
    if (s->stragglers < s->workers || s->workers == 1) return MOT_OK;
    return mot_fail(MOT_EUSAGE,
        "code.stragglers: found %llu; expected fewer than there are workers (%u), since someone must answer",
        (unsigned long long)s->stragglers, s->workers);
}

/* Chooses the decoder, and adapts the code to it. */
static enum mot_status settle_decoder(const struct mot_code_kind *kind, uint32_t wanted, struct mot_draft *d)
{
    struct mot_code *c = &d->code;
    c->decoder = wanted == MOT_DECODER_AUTO ? kind->decoder : wanted;
    if (c->decoder == MOT_DECODER_AUTO)
        c->decoder = c->replicas ? MOT_DECODER_ANY_HOLDER : MOT_DECODER_OPTIMAL;
    if (c->decoder == MOT_DECODER_COMPONENT && kind->decoder != MOT_DECODER_COMPONENT)
        return mot_fail(MOT_EUSAGE, "code.decoder: component decodes graph codes only, not %s", kind->name);
    if (c->decoder == MOT_DECODER_ONE_STEP && c->stragglers) {
        if (!c->replicas || c->burst)
            return mot_fail(MOT_EUSAGE,
                "code.decoder: one-step gives all answers the same weight, which does not decode %s; "
                "expected "
                "auto",
                kind->name);
        c->stragglers = 0; /* a group with two answers counts twice */
        c->approximate = true;
    }
    bool alone = true; /* answers are usable whole; with any-holder only if each group's parts are its own */
    if (c->decoder == MOT_DECODER_ANY_HOLDER) alone = c->replicas;
    if (alone) return MOT_OK;
    if (c->burst)
        return mot_fail(MOT_EUSAGE, "code.decoder: %s decodes combinations; expected optimal", kind->name);
    c->partials = true;
    for (size_t e = 0; e < d->entries; e++) d->entry[e].coef = 1;
    return MOT_OK;
}

enum mot_status mot_code_open(const struct mot_code_spec *given, struct mot_code **out)
{
    struct mot_code_spec s = *given;
    const struct mot_code_kind *kind;
    double *speed = NULL;
    if (s.stragglers == 0) s.stragglers = 1;
    if (s.burst == 0) s.burst = 1;
    if (s.window == 0) s.window = s.burst + 1;
    if (s.distinct == 0) s.distinct = 2;
    enum mot_status status = check_common(&s);
    if (status == MOT_OK) status = find(&s, &kind);
    if (status != MOT_OK) return status;
    if (s.speeds) {
        s.speed = speed = mot_new(s.workers, sizeof(*speed));
        status = read_speeds(&s, speed);
    }
    struct mot_draft d = { .code = { .name = kind->name, .workers = s.workers, .leap = 1 } };
    d.code.parts = s.parts ? (uint32_t)s.parts : s.workers;
    if (status == MOT_OK) status = kind->build(&s, &d);
    d.code.approximate = d.code.stragglers == 0 && kind != &mot_code_uncoded;
    if (status == MOT_OK) status = settle_decoder(kind, s.decoder, &d);
    if (status == MOT_OK) status = mot_draft_finish(&d, out);
    mot_draft_free(&d);
    free(speed);
    return status;
}
