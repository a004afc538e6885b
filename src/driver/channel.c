#include "driver/channel.h"
#include <xxhash.h>

#define MAGIC UINT32_C(0x4d4f5443) /* a peer of the other byte order reads another number */

void mot_channel_open(struct mot_channel *c, uint32_t life, mot_time now)
{
    *c = (struct mot_channel){ .life = life, .heard = now, .spoken = now, .gap_mean = (double)MOT_BEAT_NS };
}

static uint64_t sum_of(const struct mot_envelope *e)
{
    return XXH64(e, offsetof(struct mot_envelope, sum), 0);
}

void mot_channel_seal(struct mot_channel *c, struct mot_envelope *e, mot_time now)
{
    e->magic = MAGIC;
    e->life = c->life;
    e->seq = ++c->sent;
    e->sum = sum_of(e);
    c->spoken = now;
}

static void learn(struct mot_channel *c, mot_time now)
{
    double gap = now > c->heard ? (double)(now - c->heard) : 0;
    double off = gap > c->gap_mean ? gap - c->gap_mean : c->gap_mean - gap;
    c->gap_deviation += (off - c->gap_deviation) / 4;
    c->gap_mean += (gap - c->gap_mean) / 8;
    if (now > c->heard) c->heard = now;
}

enum mot_channel_verdict mot_channel_receive(struct mot_channel *c, const struct mot_envelope *e, mot_time now)
{
    if (c->broken) return MOT_CHANNEL_OLD;
    if (e->magic != MAGIC || e->sum != sum_of(e)) {
        c->broken = true;
        return MOT_CHANNEL_DAMAGED;
    }
    if (e->life < c->peer_life) return MOT_CHANNEL_OLD;
    if (e->life > c->peer_life) { /* it has come back, and counts from 1 */
        c->peer_life = e->life;
        c->received = 0;
    }
    if (e->seq <= c->received) return MOT_CHANNEL_DUPLICATE;
    if (e->seq > c->received + 1) {
        c->broken = true;
        return MOT_CHANNEL_GAP;
    }
    c->received = e->seq;
    learn(c, now);
    return MOT_CHANNEL_ACCEPT;
}

mot_time mot_channel_patience(const struct mot_channel *c)
{
    double ns = 8 * (c->gap_mean + 4 * c->gap_deviation);
    if (ns < (double)MOT_SILENCE_MIN_NS) return MOT_SILENCE_MIN_NS;
    if (ns > (double)MOT_SILENCE_MAX_NS) return MOT_SILENCE_MAX_NS;
    return (mot_time)ns;
}

bool mot_channel_silent(const struct mot_channel *c, mot_time now)
{
    return !c->broken && now > c->heard && now - c->heard > mot_channel_patience(c);
}

void mot_channel_excuse(struct mot_channel *c, mot_time away)
{
    c->heard += away;
}

uint64_t mot_body_sum(const void *body, size_t bytes)
{
    uint64_t sum = XXH64(body, bytes, 0);
    return sum ? sum : 1;
}
