/* The seeds of fuzz_checkpoint are checkpoints, so that the fuzzer begins behind the check of their length.
 * `MOTLEY_RECORD=1 build/test_checkpoint_seeds` grows them anew, when the format has changed. */
#include "../../fuzz/checkpoint_seed.h"
#include "base/file.h"
#include "test.h"

static const struct {
    const char *name;
    mot_time at;
} moments[] = { { "1ns", 1 }, { "5ms", 5000000 }, { "9ms", 9000000 } };

/* Writes the state of a run at that time, as a seed. */
static enum mot_status grow(const struct mot_driver_options *o, uint8_t method)
{
    struct mot_outcome out;
    enum mot_status status = mot_driver_sim.run(o, &out);
    if (status != MOT_OK) return status;
    mot_outcome_close(&out);
    unsigned char *file;
    size_t n;
    status = mot_file_read(o->checkpoint, 1 << 20, &file, &n);
    if (status != MOT_OK) return status;
    file[MOT_SIM_HEAD - 1] = method;
    status =
        mot_file_replace(o->checkpoint, file + MOT_SIM_HEAD - 1, n - MOT_SIM_HEAD + 1 - sizeof(uint64_t));
    free(file);
    return status;
}

static void check_seed(const struct mot_driver_options *o, uint8_t method)
{
    unsigned char *seed;
    size_t n;
    struct sim *s;
    CHECK_INT(mot_file_read(o->checkpoint, 1 << 20, &seed, &n), MOT_OK);
    CHECK(n > 1 && seed[0] == method);
    CHECK_INT(mot_sim_open(o, &s), MOT_OK);
    if (seed_unpack(s, seed + 1, n - 1) != MOT_OK) FAIL("%s", mot_error());
    mot_sim_close(s);
    free(seed);
}

TEST(every_seed_is_a_checkpoint_that_can_be_restored)
{
    for (uint8_t m = 0; m < SEED_METHODS; m++)
        for (size_t i = 0; i < MOT_COUNT(moments); i++) {
            struct mot_experiment *x;
            struct mot_job job;
            char path[64];
            small_job(seed_method[m], "none", "3", &x, &job);
            snprintf(path, sizeof path, "fuzz/corpus/checkpoint/%s-%s", seed_method[m], moments[i].name);
            struct mot_driver_options o = { .experiment = x,
                .problem = &job.problem,
                .optim = &job.optim,
                .x0 = job.x0,
                .checkpoint = path };
            if (getenv("MOTLEY_RECORD")) {
                x->stop.time = moments[i].at;
                CHECK_INT(grow(&o, m), MOT_OK);
            }
            check_seed(&o, m);
            mot_job_close(&job);
            mot_experiment_close(x);
        }
}

TEST_MAIN()
