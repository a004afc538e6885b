/* A net's tensors: as many as a network has, trained ones first, then statistics. */
#include "base/memory.h"
#include "math/models.h"
#include <motley/method.h>
#include "test.h"

#define BLOCKS 300

static enum mot_status deep_open(struct mot_net *net)
{
    char name[64];
    for (uint32_t b = 0; b < BLOCKS; b++) {
        snprintf(name, sizeof name, "features.%u.weight", b);
        mot_net_add_tensor(net, name, 4, (uint32_t[]){ 2, 3, 1, 1 + b % 2 });
    }
    for (uint32_t b = 0; b < BLOCKS; b++) {
        snprintf(name, sizeof name, "features.%u.running_mean", b);
        mot_net_add_statistic(net, name, 2, 0.1F);
    }
    net->scratch_bytes = 64;
    return MOT_OK;
}

static enum mot_status vast_open(struct mot_net *net)
{
    mot_net_add_tensor(net, "vast", 4, (uint32_t[]){ UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX });
    mot_net_add_tensor(net, "more", 2, (uint32_t[]){ 1 << 16, 1 << 14 });
    mot_net_add_tensor(net, "and more", 2, (uint32_t[]){ 1 << 16, 1 << 14 });
    return MOT_OK;
}

TEST(a_net_has_as_many_tensors_as_it_adds_and_its_statistics_come_last)
{
    const struct mot_model deep = { .name = "deep", .computes = true, .open = deep_open };
    struct mot_net net;
    CHECK_INT(mot_net_open(&deep, NULL, &(struct mot_shape){ .cols = 3 }, &net), MOT_OK);
    CHECK_INT(net.segments, 2 * BLOCKS + 1);
    CHECK(
        mot_net_counts(&net, 2 * BLOCKS) && !mot_net_counts(&net, 0)); /* the rows: no tensor of the model */
    CHECK_INT(net.trained, BLOCKS * 9);
    CHECK_INT(net.dim, net.trained + BLOCKS * 2 + 1);
    uint32_t at = 0;
    for (uint32_t s = 0; s < net.segments; s++) {
        CHECK_INT(net.segment[s].off, at);
        CHECK_INT(net.segment[s].rank, s < BLOCKS ? 4 : 1);
        CHECK(net.segment[s].rate == (s < BLOCKS ? 0 : s < 2 * BLOCKS ? 0.1F : 1));
        at += net.segment[s].len;
    }
    CHECK_INT(at, net.dim);
    CHECK_TEXT(net.segment[299].name, "features.299.weight");
    CHECK_INT(net.segment[299].shape[3], 2);
    CHECK_TEXT(net.segment[599].name, "features.299.running_mean");
    mot_net_close(&net);
    CHECK(net.segment == NULL);
}

TEST(a_net_that_cannot_be_counted_is_refused)
{
    const struct mot_model vast = { .name = "vast", .computes = true, .open = vast_open };
    struct mot_net net = { .dim = 7 };
    CHECK_INT(mot_net_open(&vast, NULL, &(struct mot_shape){ .cols = 3 }, &net), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "vast would have 3.4e+38 parameters on 3 columns; at most 2.15e+09 are possible");
    CHECK_INT(net.dim, 7);
}

TEST_MAIN()
