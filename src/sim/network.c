#include "sim/network.h"
#include "run/clock.h"
#include <math.h>
#include <string.h>

static mot_time wire_time(uint64_t bytes, double bytes_per_s)
{
    if (bytes == 0 || isinf(bytes_per_s)) return 0;
    double ns = (double)bytes * 1e9 / bytes_per_s;
    if (!(ns < (double)MOT_CLOCK_END)) return MOT_CLOCK_END;
    int64_t whole = (int64_t)ns; /* rounded up by hand: not every processor has an instruction for it */
    return (mot_time)(whole + ((double)whole < ns));
}

static mot_time later(mot_time a, mot_time b) { return a > b ? a : b; }

void mot_nic_reset(struct mot_nic *nic, mot_time now)
{
    if (nic->up_free > now) nic->up_free = now;
    if (nic->down_free > now) nic->down_free = now;
    nic->gaps = 0;
}

static void forget_gaps(struct mot_nic *nic, uint64_t first, uint64_t n)
{
    nic->gaps -= n;
    memmove(&nic->gap[first], &nic->gap[first + n], (nic->gaps - first) * sizeof(*nic->gap));
}

/* Inserts a gap at its place; a NIC whose memory is full forgets the first. */
static void add_gap(struct mot_nic *nic, uint64_t at, struct mot_gap gap)
{
    if (gap.from == gap.to) return;
    if (nic->gaps == MOT_GAPS) {
        if (at == 0) return;
        forget_gaps(nic, 0, 1);
        at--;
    }
    memmove(&nic->gap[at + 1], &nic->gap[at], (nic->gaps - at) * sizeof(*nic->gap));
    nic->gap[at] = gap;
    nic->gaps++;
}

/* Takes the first gap that is long enough, or the time after everything else. */
static __attribute__((noinline)) mot_time take_gap(
    struct mot_nic *nic, mot_time from, mot_time took, mot_time now)
{
    uint64_t past = 0;
    while (past < nic->gaps && nic->gap[past].to <= now) past++;
    if (past) forget_gaps(nic, 0, past);
    for (uint64_t i = 0; i < nic->gaps; i++) {
        struct mot_gap gap = nic->gap[i];
        mot_time began = later(from, gap.from);
        if (gap.to <= began || gap.to - began < took) continue;
        forget_gaps(nic, i, 1);
        add_gap(nic, i, (struct mot_gap){ began + took, gap.to });
        add_gap(nic, i, (struct mot_gap){ gap.from, began });
        return began;
    }
    mot_time idle = later(nic->down_free, now), began = later(from, idle);
    add_gap(nic, nic->gaps, (struct mot_gap){ idle, began });
    nic->down_free = mot_after(began, took);
    return began;
}

/* When the down link starts on a message that its sender can begin at `from`. The fast path: usually there is
 * no gap, and the message leaves none. */
static inline mot_time take_down(struct mot_nic *nic, mot_time from, mot_time took, mot_time now)
{
    mot_time idle = later(nic->down_free, now);
    if (nic->gaps || from > idle) return take_gap(nic, from, took, now);
    nic->down_free = mot_after(idle, took);
    return idle;
}

struct mot_transfer mot_network_pass(const struct mot_link *out, const struct mot_link *in,
    struct mot_nic *from, struct mot_nic *to, uint64_t bytes, mot_time now)
{
    mot_time up = wire_time(bytes, out->up);
    mot_time down = in->down == out->up ? up : wire_time(bytes, in->down);
    mot_time began = take_down(to, later(now, from->up_free), down, now);
    from->up_free = mot_after(began, up);
    mot_time done = down > up ? mot_after(began, down) : from->up_free;
    return (struct mot_transfer){ .began = began,
        .delivered = mot_after(mot_after(done, out->latency), in->latency) };
}

struct mot_transfer mot_network_send(const struct mot_cluster *cluster, struct mot_nic *nic, mot_node from,
    mot_node to, uint64_t bytes, mot_time now)
{
    return mot_network_pass(
        &cluster->machine[from].link, &cluster->machine[to].link, &nic[from], &nic[to], bytes, now);
}

struct mot_departure mot_network_leave(
    const struct mot_cluster *cluster, struct mot_nic *mine, mot_node from, uint64_t bytes, mot_time now)
{
    mot_time began = later(now, mine->up_free), up = wire_time(bytes, cluster->machine[from].link.up);
    mine->up_free = began + up;
    return (struct mot_departure){ .lag = began - now, .took = up };
}

mot_time mot_network_arrive(const struct mot_cluster *cluster, struct mot_nic *mine, mot_node from,
    mot_node to, uint64_t bytes, struct mot_departure d, mot_time now)
{
    const struct mot_link *out = &cluster->machine[from].link, *in = &cluster->machine[to].link;
    mot_time down = wire_time(bytes, in->down), began = take_down(mine, now + d.lag, down, now);
    return began + later(d.took, down) + out->latency + in->latency;
}
