/* Progress, judged alike under every driver: what is due, and when an evaluation ends the run. */
#include "run/judge.h"
#include "math/models.h"
#include "run/run.h"

TEST(what_is_due_every_so_often_is_due_at_its_multiples)
{
    struct mot_every every = { MOT_EVERY_UPDATES, 10 };
    double next = 10;
    CHECK(!mot_every_due(&every, &(struct mot_reached){ .updates = 9 }, &next));
    CHECK(mot_every_due(&every, &(struct mot_reached){ .updates = 10 }, &next));
    CHECK_NEAR(next, 20, 0);
    CHECK(!mot_every_due(&every, &(struct mot_reached){ .updates = 19, .epochs = 99, .now = 99 }, &next));
    CHECK(mot_every_due(&every, &(struct mot_reached){ .updates = 47 }, &next)); /* some are left out */
    CHECK_NEAR(next, 50, 0);
    every = (struct mot_every){ MOT_EVERY_EPOCHS, 0.5 };
    next = 0.5;
    CHECK(mot_every_due(&every, &(struct mot_reached){ .epochs = 0.75 }, &next));
    CHECK_NEAR(next, 1, 0);
    every.unit = MOT_EVERY_AUTO;
    next = 0;
    CHECK(!mot_every_due(&every, &(struct mot_reached){ 1, 1, 1 }, &next));
}

/* (floor(1 / 1e-300) + 1) * 1e-300 is 1 again, of 1e-310 it is infinite: the one would be due for ever, the
 * other never. */
TEST(where_doubles_are_too_coarse_the_next_is_the_next_number)
{
    const double fine[] = { 1e-300, 1e-310, 4e-17 };
    for (size_t i = 0; i < MOT_COUNT(fine); i++) {
        struct mot_every every = { MOT_EVERY_EPOCHS, fine[i] };
        double next = fine[i];
        CHECK(mot_every_due(&every, &(struct mot_reached){ .epochs = 1 }, &next));
        CHECK(next > 1 && next < 1.0000001);
    }
}

/* ---- What ends a run if several things could ---------------------------------------------------------- */

enum reason { MEMORY, TARGET, DIVERGED, INTERRUPTED, TIME, DONE, REASONS };
static const struct {
    enum mot_status status;
    const char *by;
} ends[REASONS] = { { MOT_ESYSTEM, "memory" }, { MOT_OK, "target" }, { MOT_EDIVERGED, "diverged" },
    { MOT_EINTERRUPTED, "interrupted" }, { MOT_OK, "time" }, { MOT_OK, "updates" } };

static bool decide(struct mot_judge *j, unsigned reasons)
{
    atomic_store(&j->target.met, (reasons >> TARGET & 1) != 0);
    atomic_store(&j->diverged, (reasons >> DIVERGED & 1) != 0);
    return mot_judge_decide(j,
        &(struct mot_facts){ .memory = reasons >> MEMORY & 1,
            .interrupted = reasons >> INTERRUPTED & 1,
            .time = reasons >> TIME & 1,
            .done = reasons >> DONE & 1 ? "updates" : NULL });
}

TEST(of_all_that_could_end_a_run_at_once_the_first_in_their_order_does)
{
    for (unsigned reasons = 0; reasons < 1u << REASONS; reasons++) {
        struct mot_judge j = { .status = MOT_OK };
        CHECK(decide(&j, reasons) == (reasons != 0));
        CHECK(j.ended == (reasons != 0));
        if (!reasons) continue;
        unsigned first = (unsigned)__builtin_ctz(reasons);
        CHECK_INT(j.status, ends[first].status);
        CHECK_TEXT(j.ended_by, ends[first].by);
    }
}

TEST(what_comes_later_does_not_change_how_a_run_ended)
{
    for (unsigned first = 0; first < REASONS; first++)
        for (unsigned reasons = 0; reasons < 1u << REASONS; reasons++) {
            struct mot_judge j = { .status = MOT_OK };
            CHECK(decide(&j, 1u << first));
            CHECK(decide(&j, reasons));
            CHECK_INT(j.status, ends[first].status);
            CHECK_TEXT(j.ended_by, ends[first].by);
        }
}

TEST(but_an_evaluation_of_before_that_meets_the_target_does)
{
    struct mot_judge j = { .status = MOT_OK };
    CHECK(decide(&j, 1u << INTERRUPTED));
    atomic_store(&j.target.met, true);
    mot_judge_overrule(&j);
    CHECK_INT(j.status, MOT_OK);
    CHECK_TEXT(j.ended_by, "target");
}

TEST(a_run_that_reaches_updates_and_epochs_at_once_ends_by_its_updates)
{
    struct mot_experiment x = { .stop = { .updates = 10, .epochs = 2 } };
    struct mot_judge j = { .experiment = &x };
    CHECK(mot_judge_stop(&j, 9, 1.9) == NULL);
    CHECK_TEXT(mot_judge_stop(&j, 10, 1.9), "updates");
    CHECK_TEXT(mot_judge_stop(&j, 9, 2), "epochs");
    CHECK_TEXT(mot_judge_stop(&j, 10, 2), "updates");
}

/* ---- A model whose gradients stay finite while what is evaluated does not ---------------------------- */

static enum mot_status cliff_open(struct mot_net *net)
{
    mot_net_add_segment(net, "x", 1, 1, 0);
    net->parameters = 1;
    net->outputs = net->shape.classes ? net->shape.classes : 1;
    net->scratch_bytes = 64;
    return MOT_OK;
}

static void cliff_init(const struct mot_net *net, uint64_t seed, float *x)
{
    (void)net, (void)seed;
    x[0] = 0;
}

static double cliff_grad(
    const struct mot_net *net, const float *x, const struct mot_batch *b, float coef, float *g, void *scratch)
{
    (void)net, (void)x, (void)scratch;
    g[0] -= coef * (float)b->rows; /* a step is the learning rate */
    return 0;
}

static double cliff_loss(
    const struct mot_net *net, const float *x, const struct mot_batch *b, uint32_t *hits, void *scratch)
{
    (void)net, (void)b, (void)scratch;
    *hits = 0;
    return x[0] > 25 ? INFINITY : 1;
}

static void cliff_predict(
    const struct mot_net *net, const float *x, const struct mot_batch *b, float *out, void *scratch)
{
    (void)scratch;
    for (size_t i = 0; i < (size_t)b->rows * net->outputs; i++) out[i] = x[0];
}

static const struct mot_option no_options[] = { { .name = NULL } };
static const struct mot_model cliff = { .name = "cliff",
    .summary = "falls off, for tests",
    .options = no_options,
    .computes = true,
    .open = cliff_open,
    .init = cliff_init,
    .grad = cliff_grad,
    .loss = cliff_loss,
    .predict = cliff_predict };

/* Every tenth update is evaluated; after the 25th the loss is infinite. */
static void fall(const struct mot_driver *driver, const char *method)
{
    static const struct mot_model *const more[] = { &cliff, NULL };
    struct run r = { .ways.driver = driver };
    RUN_SET(&r, "data", "digits", "model", "cliff", "method", method, "workers", "2", "optimizer.lr", "1",
        "evaluate.every", "10 updates", "stop.updates", "20000000");
    mot_models_extend(more);
    run_go(&r);
    mot_models_extend(NULL);
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.out.status, MOT_EDIVERGED);
    CHECK_TEXT(r.out.ended_by, "diverged");
    CHECK(r.out.last.updates >= 30);
    if (driver == &mot_driver_sim) CHECK_INT(r.out.last.updates, 30);
    run_free(&r);
}

TEST(an_infinite_loss_at_an_evaluation_ends_a_simulated_run) { fall(&mot_driver_sim, "allreduce"); }
TEST(an_infinite_loss_at_an_evaluation_ends_a_run_on_threads) { fall(&mot_driver_threads, "allreduce"); }
TEST(an_infinite_loss_at_an_evaluation_ends_a_run_with_a_server) { fall(&mot_driver_threads, "async"); }
TEST(an_infinite_loss_at_an_evaluation_ends_a_run_of_models_that_differ)
{
    fall(&mot_driver_threads, "dpsgd");
}

TEST_MAIN()
