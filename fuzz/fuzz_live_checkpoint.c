/* fuzz_live_checkpoint.c -- any bytes as the body of a checkpoint of a live run: its header and checksum
 * are made to fit, so that damage gets past them. What is let through is what would be written: packed
 * again, it is the same bytes. */
#include "base/bytes.h"
#include "live/node.h"
#include "small_job.h"
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* The first byte chooses the method: one model; one per worker; a server that keeps more; what workers have
 * left to send to two servers. */
static const char *const methods[][2] = {
    { "allreduce", "none" },
    { "dpsgd", "none" },
    { "coded", "none" },
    { "{name: async, shards: 2}", "topk" },
};
#define METHODS 4

struct bench {
    struct mot_experiment *x;
    struct mot_job job;
    struct mot_live live;
};
static struct bench bench[METHODS];

static void make(struct bench *b, const char *const method[2])
{
    small_job(method[0], method[1], "4", &b->x, &b->job);
    const struct mot_driver_options options = {
        .experiment = b->x, .problem = &b->job.problem, .optim = &b->job.optim, .x0 = b->job.x0
    };
    if (mot_live_open(&b->live, &options) == MOT_OK) return;
    fprintf(stderr, "%s\n", mot_error());
    abort();
}

static struct mot_bytes head_of(const struct bench *b)
{
    uint64_t draw[4] = { 0 };
    struct mot_live_params model = { .x = b->job.x0, .slot = { b->job.x0, b->job.x0 } };
    struct mot_live_checkpoint c = { .draw = draw, .models = 1, .model = &model };
    struct mot_bytes file = mot_live_pack(&b->live, &c);
    file.n = MOT_LIVE_HEAD;
    return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n == 0) return 0;
    struct bench *b = &bench[bytes[0] % METHODS];
    if (!b->x) make(b, methods[bytes[0] % METHODS]);
    struct mot_bytes file = head_of(b);
    mot_bytes_put(&file, bytes + 1, n - 1);
    uint64_t sum = XXH64(file.at, file.n, 0);
    mot_bytes_put(&file, &sum, sizeof(sum));
    struct mot_live_checkpoint c;
    if (mot_live_unpack("fuzz", file.at, file.n, &b->live, &c) == MOT_OK) {
        struct mot_bytes again = mot_live_pack(&b->live, &c);
        MOT_ASSERT(again.n == file.n && memcmp(again.at, file.at, file.n) == 0);
        mot_bytes_free(&again);
        mot_live_checkpoint_free(&c);
    }
    mot_bytes_free(&file);
    return 0;
}
