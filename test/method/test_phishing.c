/* Numbers of the published asynchronous experiment: examples/asgrad-phishing.yaml. */
#include "../run/run.h"

TEST(async_gives_the_reference_numbers_on_phishing)
{
    char path[512];
    if (!shared_file("phishing/phishing.gz", path, sizeof(path))) SKIP(NOT_SHARED);
    struct run r = { 0 };
    RUN_SET(&r, "data.path", path);
    run_go_file(&r, "examples/asgrad-phishing.yaml");
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.out.last.now, 172000000000);
    static const int receipts[10] = { 172, 86, 57, 42, 34, 28, 24, 21, 19, 17 };
    for (int i = 0; i < 10; i++) CHECK_INT(r.out.node[i].updates, receipts[i]);
    CHECK_NEAR(r.out.last.staleness_mean, 8.874, 5e-4);
    CHECK_INT(r.out.last.staleness_max, 31);
    CHECK_NEAR(r.out.last.score.grad_norm, 0.0125512, 5e-8);
    CHECK_NEAR(r.out.last.score.train_loss, 0.677267, 5e-7);
    run_free(&r);
}

TEST(the_objective_at_the_start_is_that_of_the_reference)
{
    char path[512];
    if (!shared_file("phishing/phishing.gz", path, sizeof(path))) SKIP(NOT_SHARED);
    struct run r = { 0 };
    RUN_SET(&r, "data.path", path, "optimizer.lr", "1e-30", "stop.updates", "1");
    run_go_file(&r, "examples/asgrad-phishing.yaml");
    CHECK_INT(r.status, MOT_OK);
    CHECK_NEAR(r.out.last.score.grad_norm, 0.732643, 5e-7);
    CHECK_NEAR(r.out.last.score.train_loss, 5.829532, 5e-7);
    run_free(&r);
}

TEST_MAIN()
