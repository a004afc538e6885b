/* A kernel set that the machine lacks is an error, not a silent default. A process chooses once. */
#include "math/kernels.h"
#include "math/models.h"
#include "math/optim.h"
#include "test.h"

TEST(an_unknown_kernel_set_is_refused_with_the_names_there_are)
{
    setenv("MOTLEY_KERNELS", "sse9", 1);
    CHECK_INT(mot_kernels_open(), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "MOTLEY_KERNELS is 'sse9'");
    CHECK_HAS(mot_error(), "generic");
}

TEST(nothing_opens_without_kernels)
{
    struct mot_net net;
    struct mot_optim optim;
    struct mot_optim_conf conf = { .lr = 1 };
    struct mot_schedule_conf schedule = { 0 };
    CHECK_INT(mot_net_open(mot_models[0], NULL, &(struct mot_shape){ 3, 2, false, { 0 } }, &net), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "sse9");
    CHECK_INT(mot_optim_open(mot_optimizers[0], &conf, &schedule, NULL, &optim), MOT_EUSAGE);
}

TEST_MAIN()
