/* traffic.h -- who sends to whom: bytes and messages for each pair of nodes.
 *
 * With more than MOT_BLOCKS_MOST nodes, neighbours are counted together, workers and servers apart: every
 * run's table is small, and counting a message always takes the same few instructions. */
#ifndef MOT_RUN_TRAFFIC_H
#define MOT_RUN_TRAFFIC_H

#include <motley/method.h>

#define MOT_BLOCKS_MOST 64u

struct mot_blocks {
    uint32_t workers, nodes;
    uint32_t shift;              /* a block is 1 << shift nodes; the last one of each kind may have fewer */
    uint32_t of_workers, in_all; /* blocks */
};
struct mot_blocks mot_blocks_of(const struct mot_world *);

static inline uint32_t mot_block_of(const struct mot_blocks *b, mot_node node)
{
    return node < b->workers ? node >> b->shift : b->of_workers + ((node - b->workers) >> b->shift);
}
void mot_block_nodes(const struct mot_blocks *, uint32_t block, mot_node *first, mot_node *last);

struct mot_sent {
    uint64_t bytes, messages;
};
/* Counts a message in a row [in_all], by receiver. */
static inline void mot_sent_add(const struct mot_blocks *b, struct mot_sent *row, mot_node to, uint64_t bytes)
{
    struct mot_sent *s = &row[mot_block_of(b, to)];
    s->bytes += bytes;
    s->messages++;
}

/* By sender and receiver. */
struct mot_traffic {
    struct mot_blocks blocks;
    struct mot_sent *sent; /* [in_all][in_all]; NULL: not counted */
};
void mot_traffic_open(struct mot_traffic *, const struct mot_world *); /* free `sent` */
static inline struct mot_sent *mot_traffic_row(const struct mot_traffic *t, mot_node from)
{
    return t->sent + (size_t)mot_block_of(&t->blocks, from) * t->blocks.in_all;
}
void mot_traffic_add(struct mot_traffic *, mot_node from, const struct mot_sent *row);

#endif
