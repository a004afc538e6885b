/* The link model: numbers worked out by hand. */
#include "base/rng.h"
#include "sim/network.h"
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

/* Emulated, each end knows only its own link; a message takes what it takes simulated. */
TEST(what_leaves_one_end_arrives_at_the_other_when_the_simulator_says)
{
    struct mot_machine mixed[2] = { { .link = { 1e6, 2e6, 3000000 } }, { .link = { 4e6, 5e5, 7000000 } } };
    struct mot_cluster c = { .workers = 2, .machine = mixed };
    struct mot_nic whole[2] = { { 0 } }, sender = { 0 }, receiver = { 0 };
    for (uint64_t i = 0; i < 3; i++) {
        mot_time now = i * 1000000, simulated = mot_network_send(&c, whole, 0, 1, 1000, now).delivered;
        struct mot_departure d = mot_network_leave(&c, &sender, 0, 1000, now);
        CHECK_INT(mot_network_arrive(&c, &receiver, 0, 1, 1000, d, now), simulated);
        CHECK_INT(simulated, (i + 1) * 2000000 + 10000000); /* 2 ms each at 500 kB/s, and both latencies */
    }
}

/* 0 sends to 1 and then to 2. Until that begins, 2 can take what is done by then. */
TEST(a_message_passes_before_another_whose_sender_is_still_busy)
{
    const mot_time ms = 1000000;
    links(1000, 1000, 0);
    mot_network_send(&cluster, nic, 0, 1, 100, 0);
    CHECK_INT(mot_network_send(&cluster, nic, 0, 2, 50, 0).began, 100 * ms);
    CHECK_INT(
        mot_network_send(&cluster, nic, 1, 2, 101, 0).began, 150 * ms); /* too long to be done by then */
    links(1000, 1000, 0);
    mot_network_send(&cluster, nic, 0, 1, 100, 0);
    mot_network_send(&cluster, nic, 0, 2, 50, 0);
    CHECK_INT(mot_network_send(&cluster, nic, 1, 2, 40, 10 * ms).began, 10 * ms);
    CHECK_INT(mot_network_send(&cluster, nic, 1, 2, 50, 10 * ms).began, 50 * ms); /* fits to the end */
    CHECK_INT(mot_network_send(&cluster, nic, 1, 2, 1, 10 * ms).began, 150 * ms);
    CHECK_INT(nic[2].down_free, 151 * ms);
}

/* Many more than a NIC remembers: a forgotten idle time costs time, and no two messages overlap. */
TEST(a_link_never_carries_two_messages_at_once_however_many_idle_times_it_has)
{
    enum { NODES = 3, MESSAGES = 2000 };
    static mot_time from[MESSAGES], to[MESSAGES];
    static mot_node at[MESSAGES];
    mot_time now = 0;
    struct mot_rng rng = mot_rng_at(7, MOT_RNG_TEST, 0);
    links(1e9, 1e9, 0); /* a byte takes a nanosecond */
    for (int i = 0; i < MESSAGES; i++) {
        mot_node a = (mot_node)mot_rng_below(&rng, NODES),
                 b = (a + 1 + (mot_node)mot_rng_below(&rng, NODES - 1)) % NODES;
        uint64_t bytes = mot_rng_below(&rng, 100);
        now += mot_rng_below(&rng, 60);
        struct mot_transfer t = mot_network_send(&cluster, nic, a, b, bytes, now);
        CHECK(t.began >= now && t.delivered == t.began + bytes);
        from[i] = t.began, to[i] = t.delivered, at[i] = b;
        for (int k = 0; k < i; k++) CHECK(at[k] != b || to[k] <= from[i] || to[i] <= from[k]);
    }
}

TEST(no_network_costs_nothing)
{
    links(INFINITY, INFINITY, 0);
    struct mot_transfer t = mot_network_send(&cluster, nic, 0, 1, 1u << 30, 5);
    CHECK_INT(t.delivered, 5);
}

TEST_MAIN()
