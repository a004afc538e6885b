#include "base/options.h"
#include "math/optim.h"
#include "method/methods.h"
#include "test.h"

#include "report/judged.h"

TEST(balanced_workers_that_compute_are_bound_by_computing)
{
    struct run r;
    run_make(&r, &method_allreduce, 8, 100);
    CHECK_HAS(judge(&r),
        "Bound by computing: the workers computed 100 % of the time and are balanced (a job takes 1.00 s)");
}

TEST(a_slow_worker_is_named_with_its_group_factor_and_what_the_others_waited)
{
    struct run r;
    run_make(&r, &method_allreduce, 8, 100);
    r.machine[7].name = "edge";
    for (int i = 0; i < 8; i++) r.node[i].jobs = 20;
    for (int i = 0; i < 7; i++) run_shares(&r, i, 0.2, 0, 0.8);
    judge(&r);
    CHECK_HAS(verdict,
        "Held back by worker 7 (edge): a job takes 5.0 times the median's (5.00 s against 1.00 s), "
        "and the others waited 80 % of the time for it");
    CHECK_HAS(verdict, "`--method server --method-k 7`");
    CHECK_HAS(verdict, "`--method async`");
    CHECK_HAS(verdict, "`batch: [32, 32, 32, 32, 32, 32, 32, 6]`");
}

TEST(two_equally_slow_workers_are_both_named)
{
    struct run r;
    run_make(&r, &method_allreduce, 8, 100);
    for (int i = 0; i < 8; i++) r.node[i].jobs = 25;
    for (int i = 0; i < 6; i++) run_shares(&r, i, 0.25, 0, 0.75);
    judge(&r);
    CHECK_HAS(verdict, "Held back by workers 6 and 7: a job takes up to 4.0 times");
    CHECK_HAS(verdict, "--method-k 6");
}

/* What the network did to one of them must not depend on which of two equals is looked at: the first. */
TEST(of_equally_slow_workers_the_first_says_what_the_others_waited)
{
    struct run r;
    run_make(&r, &method_allreduce, 8, 100);
    for (int i = 0; i < 8; i++) r.node[i].jobs = 25;
    for (int i = 0; i < 6; i++) run_shares(&r, i, 0.25, 0, 0.75);
    run_shares(&r, 6, 0.9, 0.1, 0);
    r.node[7].compute = r.node[6].compute;
    r.node[7].wait = 3 * r.node[6].compute;
    CHECK_HAS(judge(&r), "and the others waited 65 % of the time");
}

TEST(half_of_the_workers_slow_are_measured_against_the_fast_half)
{
    struct run r;
    run_make(&r, &method_allreduce, 8, 100);
    for (int i = 0; i < 8; i++) r.node[i].jobs = 50;
    for (int i = 0; i < 4; i++) run_shares(&r, i, 0.5, 0, 0.5);
    CHECK_HAS(judge(&r), "Held back by workers 4, 5, 6 and 1 more: a job takes up to 2.0 times");
}

TEST(the_slower_of_two_workers_is_named)
{
    struct run r;
    run_make(&r, &method_allreduce, 2, 100);
    r.node[0].jobs = r.node[1].jobs = 50;
    run_shares(&r, 1, 0.4, 0, 0.6);
    CHECK_HAS(judge(&r),
        "Held back by worker 0: a job takes 2.5 times the median's (2.00 s against 800 ms), and the other "
        "waited "
        "60 %");
}

TEST(a_fast_worker_among_equal_ones_gets_a_larger_batch)
{
    struct run r;
    run_make(&r, &method_allreduce, 4, 100);
    for (int i = 0; i < 4; i++) r.node[i].jobs = 100;
    run_shares(&r, 2, 0.25, 0, 0.75);
    judge(&r);
    CHECK_HAS(verdict, "a job of worker 2 takes 0.25 of the median's time");
    CHECK_HAS(verdict, "it computed only 25 % of the time");
    CHECK_HAS(verdict, "`batch: [32, 32, 128, 32]`");
}

TEST(a_fast_worker_that_waits_for_nobody_is_not_called_balanced)
{
    struct run r;
    run_make(&r, &method_async, 8, 100);
    r.node[0].jobs = 1000;
    judge(&r);
    CHECK_HAS(verdict, "the workers computed 100 % of the time (a job takes 1.00 s)");
    CHECK_LACKS(verdict, "balanced");
}

TEST(no_batch_is_advised_where_a_job_lasts_the_same_whatever_its_batch)
{
    struct run r;
    run_make(&r, &method_allreduce, 4, 100);
    for (int i = 0; i < 4; i++) r.node[i].jobs = 50, r.machine[i].has_job_time = true;
    for (int i = 0; i < 3; i++) run_shares(&r, i, 0.5, 0, 0.5);
    CHECK_HAS(judge(&r), "Held back by worker 3");
    CHECK_LACKS(verdict, "batch");
}

TEST(a_batch_that_fits_leaves_the_fixed_cost_aside)
{
    struct run r;
    run_make(&r, &method_allreduce, 4, 100);
    for (int i = 0; i < 4; i++) r.node[i].jobs = 50, r.machine[i].fixed = 500000000;
    for (int i = 0; i < 3; i++) run_shares(&r, i, 0.5, 0, 0.5);
    CHECK_HAS(judge(&r), "`batch: [32, 32, 32, 11]`"); /* 1.5 s beside the half second become 0.5 s */
    const struct mot_trace trace = { 1, 1, (const double[]){ 1.9 }, NULL };
    for (int i = 0; i < 4; i++)
        r.machine[i].straggle = (struct mot_straggle){ .kind = MOT_STRAGGLE_TRACE, .trace = &trace };
    judge(&r);
    CHECK_LACKS(verdict, "batch");
}

TEST(a_job_cut_short_is_left_out_of_a_jobs_time)
{
    struct run r;
    run_make(&r, &method_allreduce, 4, 2.8);
    for (int i = 0; i < 4; i++) r.machine[i].jitter.mean = 1; /* a job is 1 s; the third has 0.8 s of it */
    CHECK_HAS(judge(&r), "(a job takes 1.00 s)");
}

TEST(a_round_that_closes_without_the_slow_is_not_told_to)
{
    struct run r;
    run_make(&r, &method_server, 8, 100);
    run_option(&r, "k", "6");
    for (int i = 0; i < 8; i++) run_shares(&r, i, 0.5, 0, 0.5), r.node[i].jobs = 50;
    run_shares(&r, 7, 0.8, 0, 0.2);
    judge(&r);
    CHECK_LACKS(verdict, "--method-k 7");
    CHECK_HAS(verdict, "`--method-k 5`");
}

TEST(rounds_kept_open_by_a_deadline_name_whom_they_are_kept_open_for)
{
    struct run r;
    run_make(&r, &method_server, 8, 100);
    for (int i = 0; i < 7; i++) run_shares(&r, i, 0.6, 0, 0.4);
    r.node[7].jobs = 20, r.node[7].updates = 0;
    run_note(&r, "deadlines", 97, 97, 1);
    judge(&r);
    CHECK_HAS(verdict,
        "97 % of the rounds stayed open until their deadline for worker 7, whose jobs take 8.3 times");
    CHECK_HAS(verdict, "`--method-k 7`, which closes a round without it");
}

TEST(a_worker_kept_from_computing_by_its_messages_is_named_though_nobody_waits)
{
    struct run r;
    run_make(&r, &method_async, 8, 100);
    run_shares(&r, 5, 0.1, 0.9, 0);
    r.node[5].jobs = 10;
    judge(&r);
    CHECK_HAS(verdict,
        "Bound by computing: the workers computed 89 % of the time, but worker 5 only 10 %, with messages "
        "in flight for 90 %");
    CHECK_LACKS(verdict, "balanced");
}

TEST(a_slow_worker_that_nobody_waits_for_is_not_what_held_the_run_back)
{
    struct run r;
    run_make(&r, &method_async, 8, 100);
    r.node[7].jobs = 20;
    judge(&r);
    CHECK_HAS(verdict, "Bound by computing");
    CHECK_HAS(verdict, "worker 7 took 5.0 times the median for a job, but the others did not wait for it");
    CHECK_LACKS(verdict, "Held back");
}

TEST(a_job_cut_short_by_the_end_makes_no_worker_slow)
{
    struct run r;
    run_make(&r, &method_async, 4, 4);
    r.node[2].jobs = 3; /* the fourth was nearly done */
    judge(&r);
    CHECK_HAS(verdict, "are balanced");
    r.node[2].jobs = 1; /* 2 to 4 times slower: about 2.7 */
    CHECK_HAS(judge(&r), "worker 2 took 2.7 times the median");
}

TEST(a_slow_worker_under_a_slow_network_does_not_take_the_blame_for_it)
{
    struct run r;
    run_make(&r, &method_async, 4, 100);
    for (int i = 0; i < 4; i++) run_shares(&r, i, 0.2, 0.8, 0);
    run_shares(&r, 3, 0.5, 0.5, 0);
    r.node[3].jobs = 50; /* fewer jobs, each 2.5 times as long */
    CHECK_HAS(judge(&r), "Held back by the network");
}

TEST(an_incast_names_the_servers_link)
{
    struct run r;
    run_make(&r, &method_async, 8, 100);
    for (int i = 0; i < 8; i++) run_shares(&r, i, 0.3, 0.7, 0), r.node[i].bytes_sent = 1500000000;
    judge(&r);
    CHECK_HAS(verdict, "messages were in flight 70 % of the workers' time");
    CHECK_HAS(verdict, "the link into the server (1 Gbit/s) was in use 96 % of the run");
    CHECK_HAS(verdict, "`--method allreduce`");
}

TEST(a_busy_link_out_of_the_server_is_told_from_one_into_it)
{
    struct run r;
    run_make(&r, &method_async, 8, 100);
    for (int i = 0; i < 8; i++) run_shares(&r, i, 0.3, 0.7, 0), r.node[i].bytes_sent = 100000000;
    r.node[8].bytes_sent = 10000000000;
    CHECK_HAS(judge(&r), "the link out of the server (1 Gbit/s) was in use 80 % of the run");
}

TEST(a_thin_link_is_named)
{
    struct run r;
    run_make(&r, &method_allreduce, 8, 100);
    r.machine[5].name = "phone";
    r.machine[5].link.up = 2.5e6;
    for (int i = 0; i < 8; i++) run_shares(&r, i, 0.4, 0.5, 0.1);
    judge(&r);
    CHECK_HAS(verdict, "the link of worker 5 (phone) is thin (20 Mbit/s against a median of 1 Gbit/s)");
    CHECK_HAS(verdict, "`--method async`");
}

TEST(a_thin_link_that_all_wait_for_in_rounds_is_named_though_most_only_wait)
{
    struct run r;
    run_make(&r, &method_server, 4, 100);
    r.machine[3].link.up = 2.5e5;
    for (int i = 0; i < 3; i++) run_shares(&r, i, 0.02, 0.07, 0.91);
    run_shares(&r, 3, 0.02, 0.98, 0);
    judge(&r);
    CHECK_HAS(verdict,
        "the link of worker 3 is thin (2 Mbit/s against a median of 1 Gbit/s); the others waited 91 % of the "
        "time");
    CHECK_LACKS(verdict, "are equally fast");
}

TEST(a_worker_that_sends_much_is_not_to_blame_when_it_waits_as_long_as_the_others)
{
    struct run r;
    run_make(&r, &method_server, 4, 100);
    for (int i = 0; i < 3; i++) run_shares(&r, i, 0.30, 0.25, 0.45);
    run_shares(&r, 3, 0.06, 0.50, 0.44);
    r.node[3].jobs = 20; /* as long as the others' */
    judge(&r);
    CHECK_HAS(verdict, "waited 45 %");
    CHECK_LACKS(verdict, "network");
    CHECK_LACKS(verdict, "link");
}

TEST(a_far_worker_that_all_wait_for_is_named)
{
    struct run r;
    run_make(&r, &method_server, 8, 100);
    r.machine[6].name = "moon", r.machine[6].link.latency = 1200000000;
    for (int i = 0; i < 8; i++) run_shares(&r, i, 0.1, 0.02, 0.88);
    run_shares(&r, 6, 0.1, 0.9, 0);
    judge(&r);
    CHECK_HAS(verdict,
        "messages to and from worker 6 (moon) have a latency of 1.20 s (the median's: 100 us), and the "
        "others waited 88 %");
    CHECK_HAS(verdict, "Try not to wait for it (`--method-k 7`, or `--method async`)");
}

TEST(a_busy_link_into_the_workers_is_no_latency)
{
    struct run r;
    run_make(&r, &method_async, 8, 100);
    for (int i = 0; i < 8; i++)
        run_shares(&r, i, 0.2, 0.8, 0), r.machine[i].link.down = 625000, r.node[i].bytes_sent = 40000000;
    r.node[8].bytes_sent = 320000000;
    judge(&r);
    CHECK_LACKS(verdict, "latency");
    CHECK_HAS(verdict, "more bandwidth");
}

TEST(rows_that_workers_send_each_other_are_not_on_the_servers_link)
{
    struct run r;
    run_make(&r, &method_async, 8, 100);
    for (int i = 0; i < 8; i++) run_shares(&r, i, 0.3, 0.7, 0), r.node[i].bytes_sent = 1500000000;
    CHECK_HAS(judge(&r), "the link into the server");
    for (int i = 0; i < 8; i++) r.node[i].rows_bytes = 1400000000;
    judge(&r);
    CHECK_LACKS(verdict, "the link into");
}

TEST(rows_that_come_from_other_workers_make_a_link_busy)
{
    struct run r;
    run_make(&r, &method_async, 8, 100);
    for (int i = 0; i < 8; i++) run_shares(&r, i, 0.2, 0.8, 0), r.machine[i].link.down = 625000;
    CHECK_HAS(judge(&r), "latency");
    for (int i = 0; i < 8; i++) r.node[i].bytes_sent = r.node[i].rows_bytes = 40000000;
    judge(&r);
    CHECK_LACKS(verdict, "latency");
    CHECK_HAS(verdict, "more bandwidth");
}

TEST(a_few_random_jobs_make_no_worker_slow)
{
    struct run r;
    run_make(&r, &method_async, 8, 10);
    for (int i = 0; i < 8; i++)
        r.machine[i].jitter = (struct mot_law){ .kind = MOT_LAW_EXPONENTIAL, .mean = 1 };
    r.node[4].jobs = 7; /* 1.4 times the median, of seven draws */
    CHECK_HAS(judge(&r), "are balanced");
    for (int i = 0; i < 8; i++) r.node[i].jobs = 1000;
    r.node[4].jobs = 700; /* the same, of seven hundred */
    CHECK_HAS(judge(&r), "worker 4 took 1.4 times the median");
    /* Of jobs that are like the one before them, seven hundred say little too. */
    for (int i = 0; i < 8; i++)
        r.machine[i].straggle = (struct mot_straggle){
            .kind = MOT_STRAGGLE_MARKOV, .factor = 5, .stay_slow = 0.95, .stay_fast = 0.95
        };
    CHECK_HAS(judge(&r), "are balanced");
}

TEST(latency_is_told_from_bandwidth)
{
    struct run r;
    run_make(&r, &method_allreduce, 8, 100);
    /* a second of 100 */
    for (int i = 0; i < 8; i++) run_shares(&r, i, 0.4, 0.6, 0), r.node[i].bytes_sent = 125000000;
    CHECK_HAS(judge(&r), "The bytes alone would take 1 %: the rest is latency. Try larger batches");
    CHECK_HAS(verdict, "`--sim-collective doubling`");
    for (int i = 0; i < 8; i++) r.node[i].bytes_sent = 6000000000;
    judge(&r);
    CHECK_LACKS(verdict, "latency");
    CHECK_HAS(verdict, "more bandwidth");
    CHECK_LACKS(verdict, "--sim-collective");
    r.e.sim.collective = MOT_COLLECTIVE_TREE;
    CHECK_HAS(judge(&r), "`--sim-collective ring`");
}

TEST(equal_workers_that_wait_in_turn_are_held_back_by_waiting)
{
    struct run r;
    run_make(&r, &method_allreduce, 8, 100);
    for (int i = 0; i < 8; i++) run_shares(&r, i, 0.6, 0.05, 0.35);
    judge(&r);
    CHECK_HAS(verdict, "the workers that rounds wait for are equally fast");
    CHECK_HAS(verdict, "waited 35 % of the time");
    CHECK_HAS(verdict, "`--method server --method-k 7`");
    r.e.method = &method_server, run_option(&r, "k", "4");
    CHECK_HAS(judge(&r), "Try not to wait for the last (`--method-k 3`, or `--method async`)");
}

TEST(dropped_gradients_are_counted_and_their_worker_named)
{
    struct run r;
    run_make(&r, &method_server, 8, 100);
    run_option(&r, "k", "7");
    r.node[7].jobs = 100, r.node[7].updates = 0;
    run_note(&r, "late", 100, 100, 1);
    judge(&r);
    CHECK_HAS(verdict, "100 gradients (13 %) came late and were dropped, most of them from worker 7");
    r.o.note[0].count = 3; /* below 2 % it is no news */
    judge(&r);
    CHECK_LACKS(verdict, "late");
}

TEST(workers_that_lose_half_as_many_as_the_worst_are_named_too)
{
    struct run r;
    run_make(&r, &method_server, 8, 100);
    run_option(&r, "k", "7");
    r.node[0].updates = 60, r.node[3].updates = 80, r.node[5].updates = 81;
    run_note(&r, "late", 79, 79, 1);
    judge(&r);
    CHECK_HAS(verdict, "dropped, most of them from workers 0 and 3, whose data counts for less");
}

TEST(many_dropped_gradients_advise_a_larger_k)
{
    struct run r;
    run_make(&r, &method_server, 4, 100);
    run_option(&r, "k", "2");
    r.node[2].updates = r.node[3].updates = 0;
    run_note(&r, "late", 200, 200, 1);
    CHECK_HAS(
        judge(&r), "200 gradients (50 %) came late and were dropped, most of them from workers 2 and 3");
    CHECK_HAS(verdict, "`--method-k 3`");
}

TEST(a_round_that_waits_and_drops_much_is_not_advised_both_ways)
{
    struct run r;
    run_make(&r, &method_server, 8, 100);
    run_option(&r, "k", "6");
    for (int i = 0; i < 8; i++) run_shares(&r, i, 0.7, 0, 0.3), r.node[i].updates = 75;
    run_note(&r, "late", 200, 200, 1);
    judge(&r);
    CHECK_HAS(verdict,
        "Try `--method async`, which waits for nobody. 200 gradients (25 %) came late and were dropped. ");
    CHECK_LACKS(verdict, "--method-k");
}

TEST(staleness_is_news_only_beyond_what_equal_workers_give)
{
    struct run r;
    run_make(&r, &method_async, 8, 100);
    run_note(&r, "staleness", 100, 700, 9);
    judge(&r);
    CHECK_LACKS(verdict, "updates old");
    r.o.note[0].max = 40;
    CHECK_HAS(judge(&r),
        "Gradients were 7.0 updates old on average, 40 at most (about 7 is what 8 equal workers give)");
    CHECK_HAS(verdict, "`--optimizer-lr 0.05`");
}

TEST(one_worker_is_told_to_become_more)
{
    struct run r;
    run_make(&r, &method_allreduce, 1, 100);
    CHECK_HAS(judge(&r), "One worker, which computed 100 % of the time. Try more workers");
    run_shares(&r, 0, 0.2, 0.8, 0);
    CHECK_HAS(judge(&r), "Held back by the network");
}

TEST(jobs_that_take_no_time_are_balanced)
{
    struct run r;
    run_make(&r, &method_allreduce, 4, 100);
    for (int i = 0; i < 4; i++) run_shares(&r, i, 0, 1, 0);
    judge(&r);
    CHECK_HAS(verdict, "Held back by the network");
    CHECK_LACKS(verdict, "nan");
    CHECK_LACKS(verdict, "inf");
}

TEST(jobs_that_a_method_cancels_make_those_who_finish_theirs_no_slower)
{
    struct run r;
    run_make(&r, &method_async, 4, 100);
    for (int i = 0; i < 4; i++) r.batch[i] = 32, r.node[i].samples = 100 * 32;
    for (int i = 0; i < 3; i++) r.node[i].jobs = 199; /* every other one ends as it begins */
    run_note(&r, "wasted", 297, 297, 1);
    CHECK_HAS(judge(&r), "are balanced (a job takes 1.00 s)");
    CHECK_LACKS(verdict, "worker 3");
}

/* Ways for time to pass, each the cause of another sentence. */
static void pass_time(struct run *r, int way)
{
    for (int i = 0; i < 8; i++) {
        if (way == 0) run_shares(r, i, i == 7 ? 1 : 0.3, 0, i == 7 ? 0 : 0.7), r->node[i].jobs = 25;
        if (way == 1) run_shares(r, i, i == 0 ? 0.2 : 1, 0, i == 0 ? 0.8 : 0), r->node[i].jobs = 100;
        if (way == 2) run_shares(r, i, 0.6, 0.05, 0.35);
        if (way == 3)
            run_shares(r, i, 0.3, 0.7, 0), r->machine[6].link = (struct mot_link){ 1e6, 1e6, 100000 };
        if (way == 4)
            run_shares(r, i, 0.1, i == 6 ? 0.9 : 0.02, i == 6 ? 0 : 0.88),
                r->machine[6].link.latency = 1200000000;
        if (way == 5) run_shares(r, i, 0.3, 0.7, 0);
        if (way == 6) run_shares(r, i, 0.7, 0, 0.3), r->node[i].updates = 75;
    }
    if (way == 6) run_note(r, "late", 200, 200, 1);
}

TEST(no_method_is_advised_to_become_itself)
{
    for (size_t m = 0; mot_method_at(m); m++) {
        const struct mot_method *method = mot_method_at(m);
        char name[64], before[64];
        snprintf(name, sizeof name, "--method %s`", method->name);
        snprintf(before, sizeof before, "--method %s ", method->name);
        for (int way = 0; way < 7; way++) {
            struct run r;
            run_make(&r, method, 8, 100);
            pass_time(&r, way);
            judge(&r);
            if (strstr(verdict, name) || strstr(verdict, before)) FAIL("%s: %s", method->name, verdict);
            mot_arena_free(&r.arena);
        }
    }
}

TEST(asynchronous_methods_have_no_rounds_that_wait_unless_they_wait_for_several)
{
    struct run r;
    run_make(&r, &method_async, 8, 100);
    pass_time(&r, 2);
    CHECK_LACKS(judge(&r), "each round waits");
    run_option(&r, "wait", "all");
    CHECK_HAS(judge(&r), "each round waits for the slowest");
    CHECK_HAS(verdict, "Try not to wait for the last (`--method-wait 1`)");
    run_option(&r, "assign", "shuffled");
    CHECK_HAS(judge(&r), "(`--method-assign pure`)");
}

TEST(mixing_methods_have_no_collective_and_full_batches_cannot_grow)
{
    struct run r;
    run_make(&r, &method_dpsgd, 8, 100);
    pass_time(&r, 3);
    CHECK_HAS(judge(&r), "Neighbours wait for it. Try");
    CHECK_LACKS(verdict, "collective");
    run_make(&r, &method_dpsgd, 8, 100);
    pass_time(&r, 5);
    CHECK_LACKS(judge(&r), "--sim-collective");
    CHECK_HAS(verdict, "larger batches");
    r.e.batch_full = true;
    CHECK_LACKS(judge(&r), "larger batches");
}

TEST(a_run_in_which_nobodys_time_was_measured_is_not_bound_by_computing)
{
    struct run r;
    run_make(&r, &method_allreduce, 4, 100);
    for (int i = 0; i < 4; i++) r.node[i].compute = 0;
    CHECK_HAS(judge(&r), "No node's time was measured");
    CHECK_LACKS(verdict, "Bound by computing");
}

TEST(an_unknown_figure_never_becomes_nan_in_the_text)
{
    struct run r;
    run_make(&r, &method_async, 4, 100);
    r.e.stop.target = MOT_TARGET_GRAD_NORM, r.e.stop.value = 0.01;
    r.o.ended_by = NULL;
    r.e.cluster = NULL;
    r.node[2].jobs = 0;
    run_note(&r, "staleness", 0, 0, NAN);
    run_note(&r, "late", 0, 0, NAN);
    judge(&r);
    CHECK_HAS(verdict, "The target, a gradient norm of 0.01, was not reached. ");
    CHECK_LACKS(verdict, "nan");
    free(verdict);
    verdict = NULL;
}

/* 2 of 8 workers a round: a quarter of the time of all is that of those it asks. */
TEST(rounds_of_drawn_workers_are_judged_by_those_they_ask)
{
    static const struct {
        double compute, send;
        const char *said;
    } cases[] = {
        { 0.24, 0.01,
            "Bound by computing: a round asks 2 of 8 workers, and of their time 96 % was computing, 4 % "
            "messages in flight and 0 % waiting for the last of them." },
        { 0.15, 0.025,
            "Held back by waiting: a round asks 2 of 8 workers, and of their time 60 % was computing, "
            "10 % messages in flight and 30 % waiting for the last of them. Try `--method-deadline "
            "adaptive`." },
        { 0.1, 0.1,
            "Held back by the network: a round asks 2 of 8 workers, and of their time 40 % was computing, "
            "40 % messages in flight and 20 % waiting for the last of them. Try more local work in a "
            "round." },
    };
    for (size_t k = 0; k < MOT_COUNT(cases); k++) {
        struct run r;
        run_make(&r, &mot_method_fedavg, 8, 100);
        run_option(&r, "clients", "2");
        for (int i = 0; i < 8; i++)
            run_shares(&r, i, cases[k].compute, cases[k].send, 1 - cases[k].compute - cases[k].send);
        CHECK_HAS(judge(&r), cases[k].said);
    }
}

TEST(rounds_of_drawn_workers_that_close_at_a_deadline_are_counted)
{
    struct run r;
    run_make(&r, &mot_method_fedavg, 8, 100);
    run_option(&r, "clients", "2");
    run_option(&r, "deadline", "fixed");
    r.o.last.updates = 50;
    run_note(&r, "late", 10, 10, 1);
    run_note(&r, "deadlines", 8, 8, 1);
    CHECK_HAS(judge(&r), "A round asks 2 of 8 workers, and 8 of 50 rounds reached their deadline.");
    CHECK_LACKS(verdict, "Bound by");
}

/* A pass over the rows takes as long whatever the batch, and its steps are more jobs than reports. */
TEST(local_epochs_get_no_advice_on_batches_and_their_steps_are_not_lost_gradients)
{
    struct run r;
    run_make(&r, &mot_method_fedavg, 4, 100);
    run_option(&r, "deadline", "fixed");
    for (int i = 0; i < 4; i++) r.node[i].jobs = i == 3 ? 100 : 50, r.node[i].updates = 10;
    for (int i = 0; i < 3; i++) run_shares(&r, i, 0.25, 0, 0.75);
    run_note(&r, "late", 10, 10, 1);
    judge(&r);
    CHECK_HAS(
        verdict, "10 gradients (20 %) came late and were dropped. A longer deadline would use more of them.");
    CHECK_LACKS(verdict, "batch");
    run_option(&r, "steps", "5");
    CHECK_HAS(judge(&r), "batch");
}

TEST(samples_that_are_dropped_or_wait_are_counted_and_their_worker_named)
{
    struct run r;
    run_make(&r, &method_allreduce, 4, 100);
    for (int i = 0; i < 4; i++) r.node[i].feed.arrived = 1000;
    r.node[1].feed.waiting = 900, r.node[1].feed.oldest = 3000000000;
    r.node[2].feed.dropped = 400, r.node[3].feed.malformed = 80;
    CHECK(!strstr(judge(&r), "samples"));
    r.o.last.streams = true;
    judge(&r);
    CHECK_HAS(verdict,
        "400 samples (10 % of those that arrived) were dropped unused; worker 2 dropped the largest share of "
        "its own, 40 %. ");
    CHECK_HAS(verdict, "80 records (2 %) were malformed: check that `source.records`");
    CHECK_HAS(verdict, "900 samples (23 %) still wait, the oldest for 3.00 s: more arrives than is used");
    CHECK_HAS(verdict, "above all at worker 1.");
}

TEST_MAIN()
