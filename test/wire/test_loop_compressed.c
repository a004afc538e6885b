/* Packets over ranks: the simulated bits and bytes, and whoever sends no packet is lost by damage. */
#include "compress/packet.h"
#include "wire/team.h"
#include <stddef.h>
#include <stdlib.h>

#define TINY                                                                                                 \
    "data", "digits", "model", "softmax", "workers", "3", "batch", "8", "evaluate.train", "end", "topology", \
        "ring", "optimizer.lr", "0.05"

static const char *const cases[][2] = {
    { "allreduce", "{name: topk, ratio: 5%}" },
    { "allreduce", "{name: topk, ratio: 10%, delta: 0.3, smoothing: 0.5}" },
    { "allreduce", "{name: topk, ratio: 20%, feedback: ef21}" },
    { "allreduce", "qsgd" },
    { "allreduce", "sign" },
    { "server", "{name: topk, ratio: 5%}" },
    { "localsgd", "{name: randomk, ratio: 20%}" },
    { "choco", "{name: topk, ratio: 10%}" },
    { "dpsgd", "{name: qsgd, levels: 127}" },
    /* nothing is left out: as without a compressor */
    { "allreduce", "{name: topk, ratio: 1}" },
    { "server", "{name: topk, ratio: 1}" },
    { "fedavg", "{name: topk, ratio: 1}" },
    { "localsgd", "{name: topk, ratio: 1}" },
    { "slowmo", "{name: topk, ratio: 1}" },
    { "{name: diloco, period: 4}", "{name: topk, ratio: 1}" },
    { "choco", "{name: topk, ratio: 1}" },
    { "scadles", "{name: topk, ratio: 1}" },
};

static void set_up(struct team *t, const char *method, const char *compress, const char *updates)
{
    RUN_SET(&t->run, TINY, "method", method, "compress", compress, "stop.updates", updates);
    if (!team_open(t)) abort();
}

TEST(over_ranks_on_threads_compressed_runs_have_the_simulated_bits_and_bytes)
{
    for (size_t i = 0; i < MOT_COUNT(cases); i++) {
        struct team t = { 0 };
        set_up(&t, cases[i][0], cases[i][1], "16");
        struct mot_outcome simulated = team_simulate(&t);
        team_go(&t);
        printf("  %s %s\n", cases[i][0], cases[i][1]);
        for (uint32_t r = 0; r < 3; r++) CHECK_INT(t.member[r].left_with, MOT_OK);
        CHECK(t.member[0].out.model_hash == simulated.model_hash);
        /* a sum of floats goes round a ring in the simulator, and straight over ranks: alike, to rounding */
        double off = (double)simulated.last.bytes_sent - (double)t.member[0].out.last.bytes_sent;
        if (strcmp(cases[i][0], "server") !=
            0) /* whose ranks have begun one more round when the last is over */
            CHECK_NEAR(off / (double)simulated.last.bytes_sent, 0, 0.02);
        mot_outcome_close(&simulated);
        team_forget(&t);
        team_close(&t);
    }
}

TEST(emulated_links_carry_packets_to_the_same_model)
{
    struct team t = { .emulate = true };
    RUN_SET(
        &t.run, "cluster", "{workers: [{count: 3, speed: 100000 samples/s}], network: {bandwidth: 100Mbit}}");
    set_up(&t, "allreduce", "{name: topk, ratio: 5%, delta: 0.5}", "10");
    struct mot_outcome simulated = team_simulate(&t);
    team_go(&t);
    CHECK_INT(t.member[0].left_with, MOT_OK);
    CHECK(t.member[0].out.model_hash == simulated.model_hash);
    mot_outcome_close(&simulated);
    team_forget(&t);
    team_close(&t);
}

/* ---- What is no packet ---------------------------------------------------------------------- */

struct lie {
    uint32_t kind;
    int n;            /* which of rank 2's to rank 0 */
    size_t at, bytes; /* of the envelope; bytes 0: of the body */
    uint64_t add;
    bool told;
};

static enum mot_loop_fate lie_look(void *self, struct mot_loop_frame *f)
{
    struct lie *l = self;
    if (l->told || f->from != 2 || f->to != 0 || f->envelope->kind != l->kind || --l->n > 0)
        return MOT_LOOP_PASS;
    l->told = true;
    if (l->bytes == 0) {
        ((unsigned char *)f->body)[l->at < f->bytes ? l->at : f->bytes - 1] += (unsigned char)l->add;
        return MOT_LOOP_PASS;
    }
    uint64_t value = 0;
    memcpy(&value, (unsigned char *)f->envelope + l->at, l->bytes);
    value += l->add;
    memcpy((unsigned char *)f->envelope + l->at, &value, l->bytes);
    mot_envelope_seal(f->envelope);
    return MOT_LOOP_PASS;
}

#define AT(member) offsetof(struct mot_envelope, member), sizeof(((struct mot_envelope *)0)->member)
#define BODY(byte) byte, 0

static void lie_to(const char *method, const struct lie *lies, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct lie l = lies[i];
        struct team t = { .look = lie_look, .self = &l, .ranks = 3 };
        set_up(&t, method, "{name: topk, ratio: 10%}", "200");
        team_go(&t);
        printf("  %s, lie %zu\n", method, i);
        CHECK(l.told);
        CHECK_TEXT(t.member[0].out.peer_by, "damage");
        CHECK_INT(t.member[0].out.peer, 2);
        CHECK_INT(t.member[2].left_with, MOT_EPEER);
        team_forget(&t);
        team_close(&t);
    }
}

TEST(who_sends_no_packet_is_lost_by_damage_on_threads)
{
    static const struct lie parts[] = {
        { MOT_ENVELOPE_PART, 3, AT(range.packed), 1, false },
        { MOT_ENVELOPE_PART, 3, AT(range.packed), UINT64_MAX, false }, /* 0 */
        { MOT_ENVELOPE_PART, 3, AT(range.unused), 1, false },
        { MOT_ENVELOPE_PART, 3, AT(range.coll), MOT_COLL_TO_ROOT, false },
        { MOT_ENVELOPE_PART, 3, AT(bytes), 1, false },
        { MOT_ENVELOPE_PART, 3, AT(bytes), UINT64_C(1) << 40, false },
        { MOT_ENVELOPE_PART, 3, BODY(0), 1, false },       /* another form */
        { MOT_ENVELOPE_PART, 3, BODY(0), 77, false },      /* none */
        { MOT_ENVELOPE_PART, 3, BODY(4), 1, false },       /* an entry more */
        { MOT_ENVELOPE_PART, 3, BODY(1), 1, false },       /* bits, where there are none */
        { MOT_ENVELOPE_PART, 3, BODY(99999), 127, false }, /* a gap that leads too far, or goes on */
    };
    static const struct lie messages[] = {
        { MOT_ENVELOPE_MESSAGE, 3, AT(message.packed), 1, false },
        { MOT_ENVELOPE_MESSAGE, 3, AT(message.packed), UINT64_MAX, false },
        { MOT_ENVELOPE_MESSAGE, 3, AT(message.given), 1, false },
        { MOT_ENVELOPE_MESSAGE, 3, AT(bytes), 1, false },
        { MOT_ENVELOPE_MESSAGE, 3, BODY(0), 1, false },
        { MOT_ENVELOPE_MESSAGE, 3, BODY(4), 1, false },
    };
    lie_to("allreduce", parts, MOT_COUNT(parts));
    lie_to("server", messages, MOT_COUNT(messages));
}

TEST_MAIN()
