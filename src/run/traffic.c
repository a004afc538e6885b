#include "run/traffic.h"
#include "base/memory.h"

static uint32_t blocks(uint32_t nodes, uint32_t shift)
{
    return (uint32_t)(((uint64_t)nodes + (UINT64_C(1) << shift) - 1) >> shift);
}

struct mot_blocks mot_blocks_of(const struct mot_world *w)
{
    struct mot_blocks b = { .workers = w->workers, .nodes = w->nodes };
    while (blocks(w->workers, b.shift) + blocks(w->servers, b.shift) > MOT_BLOCKS_MOST) b.shift++;
    b.of_workers = blocks(w->workers, b.shift);
    b.in_all = b.of_workers + blocks(w->servers, b.shift);
    return b;
}

void mot_block_nodes(const struct mot_blocks *b, uint32_t block, mot_node *first, mot_node *last)
{
    bool works = block < b->of_workers;
    mot_node base = works ? 0 : b->workers, end = works ? b->workers : b->nodes;
    *first = base + ((works ? block : block - b->of_workers) << b->shift);
    *last = end - *first > UINT32_C(1) << b->shift ? *first + (UINT32_C(1) << b->shift) - 1 : end - 1;
}

void mot_traffic_open(struct mot_traffic *t, const struct mot_world *w)
{
    t->blocks = mot_blocks_of(w);
    _Static_assert((MOT_BLOCKS_MOST + 1) * (MOT_BLOCKS_MOST + 1) * sizeof(*t->sent) <= 128u << 10,
        "at most 70 kB: small enough for mot_new");
    t->sent = mot_new((size_t)t->blocks.in_all * t->blocks.in_all, sizeof(*t->sent));
}

void mot_traffic_add(struct mot_traffic *t, mot_node from, const struct mot_sent *row)
{
    struct mot_sent *mine = mot_traffic_row(t, from);
    for (uint32_t k = 0; k < t->blocks.in_all; k++) {
        mine[k].bytes += row[k].bytes;
        mine[k].messages += row[k].messages;
    }
}
