#include "config/cluster_named.h"
#include "base/memory.h"
#include <string.h>

/* Only what `source` says is cited; the rest (numbers of machines, absolute speeds) is our choice. */
static const struct mot_named_cluster named[] = {
    { "lab", "a laboratory's GPUs of two generations: 4 new, 4 old, 10 times slower; 10 Gbit/s",
        "ResNet-50 trains about 10 times as fast on a V100 as on a K80: Narayanan, Santhanam, Kazhamiaka, "
        "Phanishayee, Zaharia, Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads, "
        "OSDI "
        "2020",
        "network: {bandwidth: 10Gbit, latency: 50us}\n"
        "workers:\n"
        "  - {name: new, count: 4, speed: 1000/s, jitter: {name: lognormal, sigma: 0.1}}\n"
        "  - {name: old, count: 4, speed: 100/s, jitter: {name: lognormal, sigma: 0.1}}\n" },
    { "spot",
        "10 cheap virtual machines, three of which straggle now and then, 5 to 10 times slower; 1 Gbit/s",
        "of 10 EC2 machines three straggled in 54, 29 and 4 % of their jobs, with mean factors of 5 to 10: "
        "traces "
        "published with gradient coding; on t2.micro some machines are 5 times slower: Tandon, Lei, Dimakis, "
        "Karampatziakis, Gradient Coding, ICML 2017",
        "network: {bandwidth: 1Gbit, latency: 200us}\n"
        "workers:\n"
        "  - {name: steady, count: 7, speed: 500/s, jitter: {name: lognormal, sigma: 0.1}}\n"
        "  - {name: often, count: 1, speed: 500/s, straggle: {name: iid, p: 0.54, factor: 5}}\n"
        "  - {name: sometimes, count: 1, speed: 500/s, straggle: {name: iid, p: 0.29, factor: 7}}\n"
        "  - {name: seldom, count: 1, speed: 500/s, straggle: {name: iid, p: 0.04, factor: 10}}\n" },
    { "phones", "32 phones, speeds and links 10 times apart; 1 to 10 Mbit/s up",
        "speeds and bandwidths of phones differ by an order of magnitude: Lai, Zhu, Madhyastha, Chowdhury, "
        "Oort: "
        "Efficient Federated Learning via Guided Participant Selection, OSDI 2021",
        "network: {latency: 25ms}\n"
        "workers:\n"
        "  - {name: new, count: 8, speed: 200/s, up: 10Mbit, down: 40Mbit, jitter: {name: lognormal, sigma: "
        "0.3}}\n"
        "  - {name: usual, count: 16, speed: 70/s, up: 4Mbit, down: 15Mbit, jitter: {name: lognormal, sigma: "
        "0.3}}\n"
        "  - {name: old, count: 8, speed: 20/s, up: 1Mbit, down: 4Mbit, jitter: {name: lognormal, sigma: "
        "0.3}}\n"
        "server: {bandwidth: 1Gbit, latency: 1ms}\n" },
    { "edge", "16 devices whose samples arrive over time, 38 a second on average; 100 Mbit/s",
        "arrivals follow the distribution S1: Tyagi, Swany, ScaDLES: Scalable Deep Learning over Streaming "
        "data at the Edge, IEEE Big Data 2022",
        "network: {bandwidth: 100Mbit, latency: 1ms}\n"
        "workers: [{name: device, count: 16, speed: 500/s, jitter: {name: lognormal, sigma: 0.1}}]\n"
        "stream: {name: uniform, mean: 38/s, sd: 24/s, buffer: truncate}\n"
        "server: {bandwidth: 1Gbit, latency: 1ms}\n" },
};

const struct mot_named_cluster *mot_named_cluster_at(size_t i)
{
    return i < MOT_COUNT(named) ? &named[i] : NULL;
}

const struct mot_named_cluster *mot_named_cluster_find(const char *name)
{
    for (size_t i = 0; i < MOT_COUNT(named); i++)
        if (strcmp(named[i].name, name) == 0) return &named[i];
    return NULL;
}
