#include "wire/line.h"
#include <string.h>
#include <xxhash.h>

#define MAGIC UINT32_C(0x4d4f5443) /* a peer of the other byte order reads a different number */

void mot_line_open(struct mot_line *c, uint32_t life, mot_time now)
{
    *c = (struct mot_line){ .life = life, .heard = now, .spoken = now, .gap_mean = (double)MOT_BEAT_NS };
}

static uint64_t sum_of(const struct mot_envelope *e)
{
    return XXH64(e, offsetof(struct mot_envelope, sum), 0);
}

struct mot_envelope mot_envelope_of(enum mot_envelope_kind kind)
{
    struct mot_envelope e;
    memset(&e, 0, sizeof(e));
    e.magic = MAGIC;
    e.kind = (uint32_t)kind;
    e.kind_turned = ~e.kind;
    return e;
}

void mot_envelope_seal(struct mot_envelope *e) { e->sum = sum_of(e); }

void mot_line_seal(struct mot_line *c, struct mot_envelope *e, mot_time now)
{
    e->life = c->life;
    e->seq = ++c->sent;
    mot_envelope_seal(e);
    c->spoken = now;
}

static void learn(struct mot_line *c, mot_time now)
{
    double gap = now > c->heard ? (double)(now - c->heard) : 0;
    double off = gap > c->gap_mean ? gap - c->gap_mean : c->gap_mean - gap;
    c->gap_deviation += (off - c->gap_deviation) / 4;
    c->gap_mean += (gap - c->gap_mean) / 8;
    if (now > c->heard) c->heard = now;
}

enum mot_line_verdict mot_line_receive(struct mot_line *c, const struct mot_envelope *e, mot_time now)
{
    if (c->broken) return MOT_LINE_OLD;
    if (e->magic != MAGIC || e->sum != sum_of(e)) {
        c->broken = true;
        return MOT_LINE_DAMAGED;
    }
    if (e->life < c->peer_life) return MOT_LINE_OLD;
    if (e->life > c->peer_life) { /* it has come back and counts from 1 again */
        c->peer_life = e->life;
        c->received = 0;
    }
    if (e->seq <= c->received) return MOT_LINE_DUPLICATE;
    if (e->seq > c->received + 1) {
        c->broken = true;
        return MOT_LINE_GAP;
    }
    c->received = e->seq;
    learn(c, now);
    return MOT_LINE_ACCEPT;
}

mot_time mot_line_patience(const struct mot_line *c)
{
    double ns = 8 * (c->gap_mean + 4 * c->gap_deviation);
    if (ns < (double)MOT_SILENCE_MIN_NS) return MOT_SILENCE_MIN_NS;
    if (ns > (double)MOT_SILENCE_MAX_NS) return MOT_SILENCE_MAX_NS;
    return (mot_time)ns;
}

bool mot_line_silent(const struct mot_line *c, mot_time now)
{
    return !c->broken && now > c->heard && now - c->heard > mot_line_patience(c);
}

void mot_line_excuse(struct mot_line *c, mot_time away) { c->heard += away; }

uint64_t mot_body_sum(const void *body, size_t bytes)
{
    uint64_t sum = XXH64(body, bytes, 0);
    return sum ? sum : 1;
}
