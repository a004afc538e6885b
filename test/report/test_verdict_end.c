/* What a verdict says of how a run ended and of what it learned. */
#include "base/options.h"
#include "math/optim.h"
#include "method/methods.h"
#include "test.h"

#include "report/judged.h"

TEST(a_lost_peer_is_named_with_what_became_of_it)
{
    struct run r;
    run_make(&r, &method_allreduce, 4, 100);
    r.e.stop.target = MOT_TARGET_TRAIN_LOSS;
    r.e.stop.value = 0.1;
    r.o.status = MOT_EPEER;
    r.o.ended_by = "peer_lost";
    r.o.has_peer = true;
    r.o.peer = 2;
    r.o.peer_by = "crash";
    r.o.peer_at = UINT64_C(3000000000);
    CHECK_HAS(judge(&r), "because worker 2 was lost: it crashed, at 3.00 s");
    CHECK_HAS(verdict, "`--method server` and `--method async` go on without");
    CHECK_HAS(verdict, "was not reached");
    run_make(&r, &method_async, 4, 100);
    r.o.status = MOT_EPEER;
    r.o.has_peer = true;
    r.o.peer = 4;
    CHECK_HAS(judge(&r), "Without its server nobody can go on");
}

TEST(faults_that_cost_resends_are_told)
{
    struct run r;
    run_make(&r, &method_async, 4, 100);
    CHECK_LACKS(judge(&r), "resends");
    r.o.has_faults = true;
    r.o.faults = (struct mot_fault_tally){
        .dropped = 7, .corrupted = 2, .resent = 9, .crashes = 1, .restarts = 1, .stalls = 2
    };
    CHECK_HAS(judge(&r), "9 resends (7 frames dropped, 2 corrupted");
    CHECK_HAS(verdict, "1 crash, 0 given up, 1 back. 2 stalls.");
}

TEST(a_target_not_reached_is_said_with_where_it_stood)
{
    struct run r;
    run_make(&r, &method_allreduce, 2, 100);
    r.e.stop.target = MOT_TARGET_TEST_ACCURACY, r.e.stop.value = 0.85;
    r.o.last.score.test_accuracy = 0.8123;
    CHECK_HAS(judge(&r),
        "The target, 85 % test accuracy, was not reached: it stood at 81.23 % when stop.updates ended the "
        "run.");
    r.o.target.reached = true;
    judge(&r);
    CHECK_LACKS(verdict, "target");
}

TEST(a_run_that_ended_after_one_update_says_so_in_the_singular)
{
    struct run r;
    run_make(&r, &method_allreduce, 2, 1);
    r.o.status = MOT_EINTERRUPTED;
    CHECK_HAS(judge(&r), "The run was interrupted after 1 update. ");
    r.o.status = MOT_EDIVERGED;
    CHECK_HAS(judge(&r), "no longer a number after 1 update. ");
    r.o.status = MOT_EDEADLINE;
    CHECK_HAS(judge(&r), "stopped making progress after 1 update: ");
    r.o.status = MOT_EPEER;
    CHECK_HAS(judge(&r), "The run ended after 1 update because a peer was lost. ");
    r.o.has_peer = true;
    CHECK_HAS(judge(&r), "The run ended after 1 update because worker 0");
    r.o.last.updates = 2;
    CHECK_HAS(judge(&r), "The run ended after 2 updates because worker 0");
}

TEST(a_diverged_run_is_told_to_take_a_smaller_rate)
{
    struct run r;
    run_make(&r, &method_async, 2, 100);
    r.o.status = MOT_EDIVERGED;
    run_note(&r, "staleness", 10, 30, 5);
    judge(&r);
    CHECK_HAS(verdict, "The run diverged");
    CHECK_HAS(verdict, "`--optimizer-lr 0.025`");
    CHECK_HAS(verdict, "3.0 updates old");
    CHECK_LACKS(verdict, "Bound by");
}

TEST(running_out_of_data_is_said)
{
    struct run r;
    run_make(&r, &method_allreduce, 2, 100);
    r.o.ended_by = "data";
    CHECK_HAS(judge(&r), "ran out of data");
}

TEST(a_run_without_time_or_jobs_says_that_nothing_can_be_said)
{
    struct run r;
    run_make(&r, &method_allreduce, 4, 0);
    CHECK_HAS(judge(&r), "is unknown");
    for (int i = 0; i < 4; i++) r.node[i].jobs = 10;
    CHECK_HAS(judge(&r), "The run's clock did not move");
    run_make(&r, &method_allreduce, 4, 100);
    for (int i = 0; i < 4; i++) r.node[i] = (struct mot_node_tally){ .wait = r.o.last.now };
    CHECK_HAS(judge(&r), "is unknown");
    run_make(&r, &method_allreduce, 0, 100);
    CHECK_HAS(judge(&r), "is unknown");
}

/* A classifier of 10 classes whose test accuracy at the end is this. */
static void run_scores(struct run *r, double accuracy, double loss)
{
    r->o.chance = (struct mot_chance){ .rows = 360, .tested = true, .accuracy = 0.11, .loss = 2.3 };
    r->o.last.score.test_accuracy = accuracy;
    r->o.last.score.test_loss = loss;
    r->e.optimizer = mot_optimizers[0];
}

TEST(a_run_that_learned_nothing_says_that_first_and_is_not_told_to_become_more)
{
    struct run r;
    run_make(&r, &method_async, 16, 100);
    run_scores(&r, 0.12, 2.31);
    run_note(&r, "staleness", 100, 1500, 15);
    judge(&r);
    CHECK(strncmp(verdict,
              "The run learned nothing: its test accuracy is 12 %, and the commonest class alone would give "
              "11 %. "
              "The learning rate, 0.1, is probably too large for gradients that are 15.0 updates old: try "
              "`--optimizer-lr 0.027`. ",
              200) == 0);
    CHECK_HAS(verdict, "Bound by computing");
    CHECK_LACKS(verdict, "more or faster workers");
    run_make(&r, &method_allreduce, 1, 100);
    run_scores(&r, 0.12, 2.31);
    CHECK_LACKS(judge(&r), "Try more workers");
}

TEST(why_it_learned_nothing_depends_on_the_rate_and_the_updates)
{
    struct run r;
    run_make(&r, &method_allreduce, 4, 20);
    run_scores(&r, 0.12, 2.31);
    CHECK_HAS(judge(&r), "It made only 20 updates: let it make more (`--stop-updates`). ");
    run_make(&r, &method_allreduce, 4, 1000);
    run_scores(&r, 0.12, 2.31);
    CHECK_HAS(judge(&r), "Try a smaller learning rate (`--optimizer-lr 0.025`)");
    r.e.optim.lr = 0.001;
    CHECK_HAS(judge(&r), "The learning rate, 0.001, is small: try `--optimizer-lr 0.1`. ");
    run_make(&r, &method_async, 16, 1000); /* 0.027 suits gradients of that age */
    run_scores(&r, 0.12, 2.31);
    run_note(&r, "staleness", 100, 1500, 15);
    r.e.optim.lr = 0.045;
    CHECK_HAS(judge(&r), "0.045, is probably too large for gradients that are 15.0 updates old");
    r.e.optim.lr = 0.035;
    CHECK_LACKS(judge(&r), "probably too large");
}

TEST(a_loss_above_that_of_guessing_is_blamed_on_the_rate_however_few_updates_there_were)
{
    struct run r;
    run_make(&r, &method_allreduce, 4, 20);
    run_scores(&r, 0.12, 41);
    r.e.optim.lr = 1000;
    CHECK_HAS(judge(&r),
        "Its test loss is 41, where guessing would give 2.3: the learning rate, 1000, is probably too large. "
        "Try `--optimizer-lr 0.1`. ");
    r.o.last.score.test_loss = 3.4;
    CHECK_HAS(judge(&r), "It made only 20 updates");
    r.o.last.score.test_loss = 41;
    r.e.optim.lr = 0.11; /* hardly larger than what suits, so that would hardly help */
    CHECK_HAS(judge(&r), "the learning rate, 0.11, is probably too large. Try `--optimizer-lr 0.028`. ");
    r.e.optim.lr = 0.1; /* as small as suits: then it is not the rate */
    CHECK_LACKS(judge(&r), "too large");
    run_make(&r, &method_allreduce, 4, 1000);
    run_scores(&r, 0.12, 2.31);
    r.e.optim.lr = 1000;
    CHECK_HAS(judge(&r), "(`--optimizer-lr 250`)");
}

TEST(what_is_above_chance_or_has_a_lower_loss_has_learned)
{
    struct run r;
    run_make(&r, &method_allreduce, 4, 1000);
    run_scores(&r, 0.14, 2.31); /* within two deviations of 0.11 on 360 rows */
    CHECK_HAS(judge(&r), "learned nothing");
    run_scores(&r, 0.15, 2.31);
    CHECK_LACKS(judge(&r), "learned nothing");
    run_scores(&r, 0.11, 2.2); /* the commonest class, but surer of it where it is right */
    CHECK_LACKS(judge(&r), "learned nothing");
    run_scores(&r, 0.11, NAN);
    CHECK_HAS(judge(&r), "learned nothing");
    r.o.chance.rows = 0;
    CHECK_LACKS(judge(&r), "learned nothing");
}

TEST(a_regression_has_learned_nothing_if_the_mean_label_is_as_good)
{
    static const struct mot_model squares = { .name = "least-squares" }, own = { .name = "own" };
    struct run r;
    run_make(&r, &method_allreduce, 4, 1000);
    r.e.model = &squares;
    r.o.chance = (struct mot_chance){ .rows = 100, .accuracy = NAN, .loss = 0.5 };
    r.o.last.score.train_loss = 0.495;
    CHECK_HAS(judge(&r),
        "The run learned nothing: its training loss is 0.495, and the mean label alone would give 0.5");
    r.o.last.score.train_loss = 0.4;
    CHECK_LACKS(judge(&r), "learned nothing");
    r.o.last.score.train_loss = 0.6;
    r.e.model = &own; /* whose loss may be anything */
    CHECK_LACKS(judge(&r), "learned nothing");
}

TEST(a_rate_too_large_for_its_staleness_is_said_though_something_was_learned)
{
    struct run r;
    run_make(&r, &method_async, 16, 100);
    run_scores(&r, 0.39, 2);
    run_note(&r, "staleness", 100, 1500, 15);
    CHECK_HAS(judge(&r),
        "15 at most, for which the rate is large: if the loss is unsteady, try a smaller rate "
        "(`--optimizer-lr 0.027`)");
    CHECK_LACKS(verdict, "more or faster workers"); /* which would make them older */
    r.e.optim.lr = 0.027;
    CHECK_LACKS(judge(&r), "updates old");
    CHECK_HAS(verdict, "more or faster workers");
}

TEST(gradients_that_are_not_old_are_not_said_to_be)
{
    struct run r;
    run_make(&r, &method_server, 8, 100);
    run_scores(&r, 0.9, 0.3);
    run_note(&r, "staleness", 100, 0, 0);
    r.e.optim.lr = 0.5;
    CHECK_LACKS(judge(&r), "updates old");
}

TEST(what_is_set_already_is_not_advised_to_a_run_that_diverged)
{
    struct run r;
    run_make(&r, &method_allreduce, 4, 100);
    r.o.status = MOT_EDIVERGED;
    CHECK_HAS(
        judge(&r), "`--optimizer-lr 0.025`, a warm-up (`--optimizer-schedule-warmup 100`), or clipping");
    r.e.optim.clip = 1;
    CHECK_HAS(judge(&r), "`--optimizer-lr 0.025` or a warm-up (`--optimizer-schedule-warmup 100`).");
    r.e.schedule.warmup = 10;
    CHECK_HAS(judge(&r), "`--optimizer-lr 0.025`.");
}

TEST(a_mean_that_mixing_moved_is_said_only_where_something_was_lost)
{
    struct run r;
    run_make(&r, &method_async, 4, 100);
    r.o.last.mixed = (struct mot_mixed){ .consensus = 1, .drift = 0.25, .mass = 0.8 };
    CHECK_LACKS(judge(&r), "Mixing"); /* models of different rounds need not add up */
    CHECK_LACKS(verdict, "push-sum");
    run_note(&r, "dropped_segments", 3, 3, 1);
    CHECK_HAS(judge(&r),
        "Mixing moved the mean of the workers' models by 25 % of its norm: 3 segments came too early or too "
        "late "
        "and were dropped. ");
    CHECK_LACKS(verdict, "push-sum");
    run_note(&r, "neighbours_lost", 1, 1, 1);
    CHECK_HAS(judge(&r), "were dropped, and neighbours were given up for lost 1 time. ");
    CHECK_HAS(verdict, "push-sum weights that are left add up to 80 % of those that the workers began with");
    r.o.last.mixed = (struct mot_mixed){ .consensus = 1, .drift = 1e-7, .mass = 1 - 1e-7 };
    CHECK_LACKS(judge(&r), "Mixing");
    CHECK_LACKS(verdict, "push-sum");
}

TEST_MAIN()
