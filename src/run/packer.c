/* packer.c -- what methods call to compress what they send. */
#include "compress/compress.h"
#include "math/kernels.h"
#include "run/outbox.h"
#include "run/pool.h"
#include "base/rng.h"
#include <math.h>
#include <string.h>

/* Kept beside a method's own words. */
enum { WORD_WEIGHT = MOT_KEPT_WORDS - 3, WORD_LOST, WORD_PACKS };

static struct mot_slice range_of(const struct mot_packer *p, mot_buf b)
{
    return (struct mot_slice){ .buf = b, .off = p->off, .len = p->len };
}

static mot_buf take_range(struct mot_env *env, uint32_t off, uint32_t len)
{
    mot_buf b = mot_pool_take_range(env->pool, off, len);
    mot_enter_buffer(env, b);
    return b;
}

/* out = a x + b y over the packer's range; `into` may be either, or MOT_NO_BUF: a new one. */
static mot_buf blend(
    struct mot_env *env, const struct mot_packer *p, float a, mot_buf x, float b, mot_buf y, mot_buf into)
{
    if (into == MOT_NO_BUF) into = take_range(env, p->off, p->len);
    const float weight[2] = { a, b };
    const float *const in[2] = { mot_read(env, x) + p->off, mot_read(env, y) + p->off };
    mot_kernels()->sum(p->len, 2, weight, in, mot_pool_at(env->pool, into) + p->off);
    return into;
}

static mot_buf if_own(const struct mot_env *env, mot_buf b)
{
    return b != MOT_NO_BUF && mot_pool_count(env->pool, b) == 1 ? b : MOT_NO_BUF;
}

/* What to compress: the input plus what was not sent before, or (ef21) its difference from all that was. */
static mot_buf whole_of(struct mot_env *env, struct mot_packer *p, mot_buf in, bool in_place)
{
    uint32_t feedback = env->world->compress->feedback;
    if (p->rest == MOT_NO_BUF || feedback == MOT_FEEDBACK_NONE) return mot_hold(env, in);
    if (feedback == MOT_FEEDBACK_EF21) return blend(env, p, 1, in, -1, p->rest, MOT_NO_BUF);
    if (p->weighed == 0) return mot_hold(env, in);
    float factor = (float)(p->weighed / p->weight);
    mot_buf own = in_place ? if_own(env, p->rest) : MOT_NO_BUF;
    mot_buf whole = blend(env, p, 1, in, factor, p->rest, own);
    if (own != MOT_NO_BUF) p->rest = MOT_NO_BUF;
    return whole;
}

static void judge(struct mot_env *env, struct mot_packer *p)
{
    const struct mot_world *w = env->world;
    const struct mot_compress *c = w->compress;
    p->judged = p->lost;
    if (isnan(c->delta) || p->weighed == 0) return;
    double all =
        mot_kernels()->norm2(mot_trained_in(w, range_of(p, p->whole)), mot_read(env, p->whole) + p->off);
    double sent = mot_packet_norm2(mot_pool_packet(env->pool, p->packed), p->len);
    double lost = all > 0 ? fabs(all - sent) / all : 0;
    p->judged = p->packs == 0 ? lost : c->smoothing * p->lost + (1 - c->smoothing) * lost;
}

/* in_place: what was not sent before may be overwritten */
static bool weigh(
    struct mot_env *env, struct mot_packer *p, struct mot_slice in, double weight, bool in_place)
{
    const struct mot_compress *c = env->world->compress;
    const struct mot_world *w = env->world;
    MOT_ASSERT(p->whole == MOT_NO_BUF && "what was weighed is settled first");
    p->off = in.off;
    p->len = in.len;
    p->weighed = weight;
    if (!c) {
        p->whole = mot_hold(env, in.buf);
        return false;
    }
    p->whole = whole_of(env, p, in.buf, in_place);
    p->packed = take_range(env, in.off, in.len);
    struct mot_pressing pressing = { .len = mot_trained_in(w, in), /* statistics go as they are */
        .x = mot_read(env, p->whole) + in.off,
        .at = w->tensor_at,
        .layers = w->tensors,
        .off = in.off,
        .weight = weight,
        .key = mot_hash3(mot_rng_at(w->seed, MOT_RNG_COMPRESS, env->self).key, p->packs, in.off),
        .room = env->out->press };
    unsigned char *to = mot_pool_packet(env->pool, p->packed);
    size_t bytes = mot_packet_beside(in.len - pressing.len, pressing.x + pressing.len, to);
    bytes += pressing.len ? c->kind->pack(c, &pressing, to + bytes) : mot_packet_raw(0, NULL, to + bytes);
    mot_pool_pack(env->pool, p->packed, bytes);
    judge(env, p);
    return isnan(c->delta) || p->judged <= c->delta;
}

bool mot_weigh(struct mot_env *env, struct mot_packer *p, struct mot_slice in, double weight)
{
    return weigh(env, p, in, weight, false);
}

/* What the packet leaves out. If floats in the packet are not finite, the rest may not be either: drop it. */
static mot_buf left_out(struct mot_env *env, struct mot_packer *p)
{
    const unsigned char *packet = mot_pool_packet(env->pool, p->packed);
    if (!mot_packet_finite(packet, p->len)) return MOT_NO_BUF;
    mot_buf rest = if_own(env, p->whole);
    if (rest == MOT_NO_BUF) {
        rest = take_range(env, p->off, p->len);
        memcpy(
            mot_pool_at(env->pool, rest) + p->off, mot_read(env, p->whole) + p->off, p->len * sizeof(float));
    } else {
        mot_hold(env, rest);
    }
    mot_packet_subtract(packet, p->len, mot_pool_at(env->pool, rest) + p->off);
    return rest;
}

static void leave_rest(struct mot_env *env, struct mot_packer *p, bool compress)
{
    mot_buf rest = compress ? left_out(env, p) : MOT_NO_BUF;
    mot_drop(env, p->rest);
    p->rest = rest;
    p->weight = p->weighed;
}

/* Adds the packet to the sum of all sent so far. */
static void add_to_sent(struct mot_env *env, struct mot_packer *p)
{
    if (p->rest == MOT_NO_BUF) {
        p->rest = mot_hold(env, p->packed);
        mot_read(env, p->rest); /* whoever saves it reads its floats */
        return;
    }
    mot_buf sent = blend(env, p, 1, p->rest, 1, p->packed, MOT_NO_BUF);
    mot_drop(env, p->rest);
    p->rest = sent;
}

struct mot_slice mot_settle(struct mot_env *env, struct mot_packer *p, bool compress)
{
    const struct mot_compress *c = env->world->compress;
    mot_buf out = compress ? p->packed : p->whole;
    MOT_ASSERT(p->whole != MOT_NO_BUF && "nothing was weighed");
    if (c) {
        mot_note(env, "compressed", compress);
        mot_note(env, "packed_share",
            (double)(compress ? mot_pool_packed(env->pool, out) : p->len * sizeof(float)) /
                ((double)p->len * sizeof(float)));
    }
    if (c) {
        p->packs++;
        p->lost = p->judged;
    }
    if (c && c->feedback == MOT_FEEDBACK_EF && p->weighed != 0) leave_rest(env, p, compress);
    if (c && compress && c->feedback == MOT_FEEDBACK_EF21) add_to_sent(env, p);
    mot_drop(env, compress ? p->whole : p->packed);
    p->whole = p->packed = MOT_NO_BUF;
    return range_of(p, out);
}

struct mot_slice mot_pack(struct mot_env *env, struct mot_packer *p, struct mot_slice in, double weight)
{
    if (!env->world->compress) {
        mot_hold(env, in.buf);
        return in;
    }
    bool compress = weigh(env, p, in, weight, true);
    return mot_settle(env, p, compress);
}

bool mot_votes(const struct mot_world *w) { return w->compress && !isnan(w->compress->delta); }

bool mot_vote_passes(const struct mot_world *w, double agreeing)
{
    uint32_t half = w->workers / 2;
    return agreeing >= (half ? half : 1);
}

struct mot_slice mot_gathered(struct mot_env *env, struct mot_packer *p, struct mot_slice sum)
{
    const struct mot_compress *c = env->world->compress;
    if (!c || c->feedback != MOT_FEEDBACK_EF21) {
        mot_hold(env, sum.buf);
        return sum;
    }
    p->off = sum.off;
    p->len = sum.len;
    mot_buf total =
        p->total == MOT_NO_BUF ? mot_hold(env, sum.buf) : blend(env, p, 1, p->total, 1, sum.buf, MOT_NO_BUF);
    mot_drop(env, p->total);
    p->total = total;
    mot_hold(env, total);
    return range_of(p, total);
}

void mot_packer_keep(const struct mot_packer *p, const struct mot_env *env, struct mot_kept *out, uint32_t at)
{
    const struct mot_compress *c = env->world->compress;
    if (!c) return;
    if (c->feedback != MOT_FEEDBACK_NONE) out->buf[at] = p->rest ? p->rest : env->world->zero;
    if (c->feedback == MOT_FEEDBACK_EF21) out->buf[at + 1] = p->total ? p->total : env->world->zero;
    double weight = p->rest ? p->weight : 0;
    memcpy(&out->word[WORD_WEIGHT], &weight, sizeof(weight));
    memcpy(&out->word[WORD_LOST], &p->lost, sizeof(p->lost));
    out->word[WORD_PACKS] = p->packs;
}

void mot_packer_init(struct mot_env *env, struct mot_packer *p, uint32_t at)
{
    const struct mot_compress *c = env->world->compress;
    const struct mot_kept *kept = env->world->kept ? &env->world->kept[env->self] : NULL;
    *p = (struct mot_packer){ 0 };
    if (!kept || !c || kept->word[WORD_PACKS] == 0) return;
    memcpy(&p->weight, &kept->word[WORD_WEIGHT], sizeof(p->weight));
    memcpy(&p->lost, &kept->word[WORD_LOST], sizeof(p->lost));
    p->packs = kept->word[WORD_PACKS];
    if (c->feedback == MOT_FEEDBACK_EF21) {
        p->rest = mot_hold(env, kept->buf[at]);
        p->total = mot_hold(env, kept->buf[at + 1]);
    } else if (c->feedback == MOT_FEEDBACK_EF && p->weight > 0) {
        p->rest = mot_hold(env, kept->buf[at]);
    }
}

void mot_packer_go_on(struct mot_env *env, struct mot_packer *p, uint32_t server)
{
    const struct mot_world *w = env->world;
    *p = (struct mot_packer){ 0 };
    if (!w->left || env->life > 0) return;
    const struct mot_left *left = &w->left[env->self * w->servers + server];
    *p = (struct mot_packer){ .weight = left->weight, .lost = left->lost, .packs = left->packs };
    if (left->rest != MOT_NO_BUF) p->rest = mot_hold(env, left->rest);
}
