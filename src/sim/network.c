#include "sim/network.h"
#include "run/clock.h"
#include <math.h>

static mot_time wire_time(uint64_t bytes, double bytes_per_s)
{
    if (bytes == 0 || isinf(bytes_per_s)) return 0;
    double ns = (double)bytes * 1e9 / bytes_per_s;
    if (!(ns < (double)MOT_CLOCK_END)) return MOT_CLOCK_END;
    int64_t whole = (int64_t)ns; /* rounded up: by hand, as not every processor does it in one instruction */
    return (mot_time)(whole + ((double)whole < ns));
}

static mot_time later(mot_time a, mot_time b) { return a > b ? a : b; }

struct mot_transfer mot_network_pass(const struct mot_link *out, const struct mot_link *in,
    struct mot_nic *from, struct mot_nic *to, uint64_t bytes, mot_time now)
{
    mot_time up = wire_time(bytes, out->up);
    mot_time down = in->down == out->up ? up : wire_time(bytes, in->down);
    mot_time began = later(now, later(from->up_free, to->down_free));
    from->up_free = mot_after(began, up);
    to->down_free = mot_after(began, down);
    mot_time done = mot_after(began, later(up, down));
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
    mot_time began = later(now + d.lag, mine->down_free), down = wire_time(bytes, in->down);
    mine->down_free = began + down;
    return began + later(d.took, down) + out->latency + in->latency;
}
