#include "base/peers.h"
#include "base/rng.h"

static void swap(mot_node *a, mot_node *b)
{
    mot_node t = *a;
    *a = *b;
    *b = t;
}

/* A shuffle that starts over as soon as an entry ends up at its own place: the result is uniform over the
 * permutations without fixed points. Takes about e tries. */
static void draw_uniform(struct mot_rng *rng, uint32_t n, mot_node *from)
{
    uint32_t left;
    do {
        for (uint32_t i = 0; i < n; i++) from[i] = i;
        for (left = n; left > 0; left--) {
            swap(&from[left - 1], &from[mot_rng_below(rng, left)]);
            if (from[left - 1] == left - 1) break;
        }
    } while (left > 0);
}

/* Nodes choose in turn among the remaining sources, but never themselves. The last but one takes the last
 * node if that remains; otherwise the last node would be left with itself. */
static void draw_authors(struct mot_rng *rng, uint32_t n, mot_node *from)
{
    /* from[i..] are the sources that are left; a node can be left only at or after its own place. */
    for (uint32_t i = 0; i < n; i++) from[i] = i;
    for (uint32_t i = 0; i + 1 < n; i++) {
        uint32_t own = n, last = n, at;
        for (uint32_t k = i; k < n && (own == n || last == n); k++) {
            if (from[k] == i) own = k;
            if (from[k] == n - 1) last = k;
        }
        if (i + 2 == n && last < n) at = last;
        else if (own == n) at = i + (uint32_t)mot_rng_below(rng, n - i);
        else {
            at = i + (uint32_t)mot_rng_below(rng, n - i - 1);
            at += at >= own;
        }
        swap(&from[i], &from[at]);
    }
}

static void draw_unfair(struct mot_rng *rng, uint32_t n, mot_node *from)
{
    for (uint32_t i = 0; i < n; i++) {
        mot_node other = (mot_node)mot_rng_below(rng, n - 1);
        from[i] = other + (other >= i);
    }
}

void mot_peers_draw(
    enum mot_peer_draw draw, uint32_t n, uint64_t seed, uint64_t round, uint32_t segment, mot_node *from)
{
    MOT_ASSERT(n >= 2);
    struct mot_rng rng = mot_rng_at(seed, MOT_RNG_PEERS, mot_hash3(round, segment, n));
    switch (draw) {
    case MOT_PEERS_UNIFORM: draw_uniform(&rng, n, from); return;
    case MOT_PEERS_AUTHORS: draw_authors(&rng, n, from); return;
    case MOT_PEERS_UNFAIR: draw_unfair(&rng, n, from); return;
    }
}
