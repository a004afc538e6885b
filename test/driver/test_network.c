/* The link model: numbers worked out by hand. */
#include "driver/network.h"
#include "test.h"

static struct mot_machine machine[3];
static struct mot_cluster cluster = { .workers = 3, .machine = machine };
static struct mot_nic nic[3];

static void links(double up, double down, mot_time latency)
{
    memset(nic, 0, sizeof(nic));
    for (int i = 0; i < 3; i++)
        machine[i].link = (struct mot_link){ .up = up, .down = down, .latency = latency };
}

TEST(a_message_takes_the_slower_link_and_both_latencies)
{
    links(1000, 500, 7);
    struct mot_transfer t = mot_network_send(&cluster, nic, 0, 1, 100, 50);
    CHECK_INT(t.began, 50);
    CHECK_INT(t.delivered, 50 + 200000000 + 14);
    CHECK_INT(nic[0].up_free, 50 + 100000000);
    CHECK_INT(nic[1].down_free, 50 + 200000000);
}

TEST(incast_queues_at_the_receivers_down_link)
{
    links(1000, 1000, 0);
    struct mot_transfer a = mot_network_send(&cluster, nic, 0, 2, 100, 0),
                        b = mot_network_send(&cluster, nic, 1, 2, 100, 0);
    CHECK_INT(a.delivered, 100000000);
    CHECK_INT(b.began, 100000000);
    CHECK_INT(b.delivered, 200000000);
}

TEST(a_sender_carries_one_message_at_a_time)
{
    links(1000, 1e9, 0);
    mot_network_send(&cluster, nic, 0, 1, 100, 0);
    struct mot_transfer b = mot_network_send(&cluster, nic, 0, 2, 100, 0);
    CHECK_INT(b.began, 100000000);
}

TEST(both_directions_of_a_nic_are_independent)
{
    links(1000, 1000, 0);
    mot_network_send(&cluster, nic, 0, 1, 100, 0);
    struct mot_transfer b = mot_network_send(&cluster, nic, 1, 0, 100, 0);
    CHECK_INT(b.began, 0);
}

TEST(a_fast_senders_link_is_free_before_a_slow_receiver_is_done)
{
    links(1000, 1000, 0);
    machine[1].link.down = 100;
    /* keeps 1's down link for 1 s, 0's up link for 0.1 s */
    mot_network_send(&cluster, nic, 0, 1, 100, 0);
    struct mot_transfer b = mot_network_send(&cluster, nic, 0, 2, 100, 0);
    CHECK_INT(b.began, 100000000);
}

TEST(no_network_costs_nothing)
{
    links(INFINITY, INFINITY, 0);
    struct mot_transfer t = mot_network_send(&cluster, nic, 0, 1, 1u << 30, 5);
    CHECK_INT(t.delivered, 5);
}

TEST_MAIN()
