/* Whole verdicts, word for word: verdicts.txt has what is said about each of these runs, in this order.
 * `MOTLEY_RECORD=1 build/test_verdicts` rewrites the file; read what has changed. */
#include "math/models.h"
#include "math/optim.h"
#include "recorded.h"
#include "report/fixture.h"

static FILE *page;
static struct run r;

/* Writes the verdict, a sentence a line. */
static void judged(const char *what)
{
    char *text = mot_verdict(&r.e, &r.o);
    fprintf(page, "%s, %u workers, %s\n    ", r.e.method->name, r.o.workers, what);
    for (const char *c = text; *c; c++) {
        if (*c == ' ' && c > text && c[-1] == '.') fputs("\n    ", page);
        else putc(*c, page);
    }
    fputs("\n\n", page);
    free(text);
}

static void all_shares(double compute, double send, double wait)
{
    for (uint32_t i = 0; i < r.o.workers; i++) run_shares(&r, i, compute, send, wait);
}

/* The last `slow` workers compute all the time on jobs that last `factor` times as long as the others'. */
static void make_slow(uint32_t slow, double factor)
{
    for (uint32_t i = 0; i < r.o.workers; i++) {
        r.node[i].jobs = r.node[i].updates = (uint64_t)(100 / factor);
        if (i < r.o.workers - slow) run_shares(&r, i, 1 / factor, 0, 1 - 1 / factor);
    }
}

static void slow_workers(void)
{
    const struct mot_method *const methods[] = { &method_allreduce, &method_server, &method_async,
        &method_rennala, &method_dpsgd };
    for (size_t m = 0; m < MOT_COUNT(methods); m++) {
        run_make(&r, methods[m], 4, 100);
        make_slow(1, 2);
        judged("the last takes twice as long");
        run_make(&r, methods[m], 8, 100);
        make_slow(3, 4);
        judged("three take four times as long");
        run_make(&r, methods[m], 20, 100);
        make_slow(5, 4);
        judged("five take four times as long");
        run_make(&r, methods[m], 4, 100);
        for (int i = 0; i < 4; i++) r.node[i].jobs = 100;
        run_shares(&r, 1, 0.5, 0, 0.5);
        judged("one takes half as long");
    }
    run_make(&r, &method_server, 4, 100);
    run_option(&r, "k", "3");
    make_slow(1, 2);
    judged("the last takes twice as long, and a round waits for three");
    run_make(&r, &method_server, 4, 100);
    run_option(&r, "k", "1");
    all_shares(0.5, 0, 0.5);
    judged("a round waits for one");
    for (int late = 24; late <= 26; late++) {
        run_make(&r, &method_server, 4, 100);
        make_slow(1, late * 0.05);
        judged(late < 25    ? "the last takes 1.2 times as long"
                : late > 25 ? "the last takes 1.3 times as long"
                            : "the last takes 1.25 times as long");
    }
    run_make(&r, &method_allreduce, 2, 100);
    make_slow(1, 1.25);
    judged("the last takes 1.25 times as long");
    for (int jobs = 9; jobs <= 10; jobs++) {
        run_make(&r, &method_async, 4, 100);
        for (int i = 0; i < 4; i++) r.node[i].jobs = 50;
        r.node[3].jobs = (uint64_t)jobs;
        judged(jobs < 10 ? "the last had time for nine jobs" : "the last had time for ten jobs");
    }
    for (int jobs = 74; jobs <= 75; jobs++) {
        run_make(&r, &method_server, 4, 100);
        for (int i = 0; i < 3; i++) run_shares(&r, i, 0.5, 0, 0.5);
        r.node[3].jobs = (uint64_t)jobs;
        judged(jobs < 75 ? "the last is out of step" : "the last is nearly in step");
    }
    run_make(&r, &method_allreduce, 4, 100);
    r.machine[3].straggle =
        (struct mot_straggle){ .kind = MOT_STRAGGLE_MARKOV, .factor = 5, .stay_slow = 0.9, .stay_fast = 0.9 };
    make_slow(1, 2);
    judged("the last straggles now and then");
}

static void the_network(void)
{
    const struct mot_method *const methods[] = { &method_allreduce, &method_server, &method_async,
        &method_dpsgd };
    for (size_t m = 0; m < MOT_COUNT(methods); m++)
        for (int full = 0; full < 2; full++) {
            run_make(&r, methods[m], 4, 100);
            r.e.batch_full = full;
            all_shares(0.25, 0.5, 0.25);
            judged(
                full ? "half of the time is messages, and batches are full" : "half of the time is messages");
            for (int i = 0; i < 4; i++) r.node[i].bytes_sent = UINT64_C(1600000000);
            if (r.o.servers) r.node[4].bytes_sent = UINT64_C(1600000000);
            judged("an eighth of the time is bytes");
            r.machine[2].link = (struct mot_link){ 1e6, 2e6, 100000 };
            judged("a thin link");
            for (int i = 0; i < 4; i++) r.machine[i].link = (struct mot_link){ 125e6, 125e6, 100000 };
            r.machine[1].link.latency = 2000000000;
            run_shares(&r, 1, 0.25, 0.75, 0);
            judged("a far worker");
            r.machine[0].link.latency = 1000000000;
            run_shares(&r, 0, 0.25, 0.75, 0);
            judged("two far workers");
        }
    const struct mot_method *const sends[] = { &method_allreduce, &mot_method_localsgd, &method_server };
    for (size_t m = 0; m < MOT_COUNT(sends); m++) { /* 12.5 GB fill a link for 100 s */
        run_make(&r, sends[m], 4, 100);
        r.e.model = mot_model_at(0);
        all_shares(0.25, 0.5, 0.25);
        for (int i = 0; i < 4; i++) r.node[i].bytes_sent = UINT64_C(3100000000);
        judged("less than half of the messages' time is bytes");
        for (int i = 0; i < 4; i++) r.node[i].bytes_sent = UINT64_C(3200000000);
        judged("more than half of the messages' time is bytes");
        r.e.compress = (struct mot_compress){ .kind = mot_compressors[1], .ratio = 0.1 };
        judged("more than half of the messages' time is bytes, and they are compressed");
    }
    for (uint32_t n = 40; n <= 41; n++) {
        run_make(&r, &method_allreduce, n, 100);
        r.e.model = mot_model_at(0);
        for (uint32_t i = 0; i < n; i++) run_shares(&r, i, 0.25, 0.5, 0.25);
        for (uint32_t i = 0; i < n; i++) r.node[i].bytes_sent = UINT64_C(3200000000);
        judged(n == 40 ? "few enough to send packets to all" : "too many to send packets to all");
    }
    run_make(&r, &method_allreduce, 4, 100);
    all_shares(0.75, 0.25, 0);
    judged("a quarter of the time is messages");
    all_shares(0.76, 0.24, 0);
    judged("less than a quarter is messages");
    all_shares(0.25, 0.25, 0.5);
    judged("a quarter is messages and half is waiting");
    r.e.sim.collective = MOT_COLLECTIVE_TREE;
    all_shares(0.25, 0.75, 0);
    judged("three quarters are messages in a tree");
    run_make(&r, &method_allreduce, 2, 100);
    all_shares(0.25, 0.75, 0);
    judged("three quarters are messages");
    r.e.cluster = NULL;
    judged("three quarters are messages over links that nobody knows");
    run_make(&r, &method_server, 4, 100);
    all_shares(0.4, 0.1, 0.5);
    run_shares(&r, 3, 0.4, 0.5, 0.1);
    judged("one sends half of the time, for which the others wait");
    run_make(&r, &method_async, 4, 100);
    all_shares(0.25, 0.75, 0);
    for (int i = 0; i < 4; i++) r.node[i].bytes_sent = UINT64_C(1875000000);
    judged("the server's link is in use 60 %");
    for (int i = 0; i < 4; i++) r.node[i].bytes_sent = UINT64_C(1800000000);
    judged("the server's link is in use less");
    r.node[4].bytes_sent = UINT64_C(9000000000);
    judged("the server sends more");
    run_make(&r, &method_async, 4, 100);
    r.e.cluster->servers = r.o.servers = 2;
    r.machine[5] = r.machine[4];
    all_shares(0.25, 0.75, 0);
    for (int i = 0; i < 4; i++) r.node[i].bytes_sent = UINT64_C(4800000000);
    judged("two servers have busy links");
    run_make(&r, &method_async, 8, 100);
    run_shares(&r, 2, 0.25, 0.75, 0), run_shares(&r, 3, 0.45, 0.55, 0);
    r.node[2].jobs = 25, r.node[3].jobs = 45;
    judged("two have little time to compute");
}

static void waiting_and_losing(void)
{
    for (int wait = 9; wait <= 10; wait++) {
        run_make(&r, &method_allreduce, 4, 100);
        all_shares(1 - wait / 100.0, 0, wait / 100.0);
        judged(wait < 10 ? "9 % waiting" : "10 % waiting");
    }
    run_make(&r, &method_async, 4, 100);
    all_shares(0.5, 0.2, 0.3);
    judged("30 % waiting");
    run_make(&r, &method_rennala, 4, 100);
    all_shares(0.5, 0.2, 0.3);
    judged("30 % waiting");
    run_make(&r, &method_allreduce, 1, 100);
    all_shares(0.5, 0.2, 0.3);
    judged("30 % waiting");
    for (int closed = 49; closed <= 50; closed++) {
        run_make(&r, &method_server, 4, 100);
        all_shares(0.75, 0, 0.25);
        run_note(&r, "deadlines", (uint64_t)closed, closed, 1);
        judged(closed < 50 ? "49 of 100 rounds closed by their deadline"
                           : "50 of 100 rounds closed by their deadline");
    }
    run_make(&r, &method_server, 4, 100);
    all_shares(0.5, 0, 0.5);
    r.node[2].jobs = r.node[3].jobs = 25;
    run_shares(&r, 2, 1, 0, 0), run_shares(&r, 3, 1, 0, 0);
    run_note(&r, "deadlines", 100, 100, 1);
    judged("all rounds closed by their deadline for two slow workers");
    const int late[] = { 8, 9, 100, 101, 300 };
    for (size_t i = 0; i < MOT_COUNT(late); i++) {
        char what[48];
        run_make(&r, &method_server, 4, 100);
        run_option(&r, "k", "3");
        r.node[3].jobs = (uint64_t)(100 + late[i]);
        run_note(&r, "late", (uint64_t)late[i], late[i], 1);
        snprintf(what, sizeof what, "%d gradients late", late[i]);
        judged(what);
    }
    run_make(&r, &method_async, 4, 100);
    run_note(&r, "late", 100, 100, 1);
    judged("100 gradients late");
    run_make(&r, &method_server, 8, 100);
    for (int i = 0; i < 8; i++) r.node[i].updates = 75;
    run_note(&r, "late", 200, 200, 1);
    judged("everyone's gradients are late alike");
    r.node[0].updates = r.node[5].updates = 0;
    r.node[6].updates = 50;
    judged("those of three are late more often");
    const double old[][2] = { { 6, 12 }, { 6.1, 7 }, { 5, 12.1 }, { 12, 40 } };
    for (size_t i = 0; i < MOT_COUNT(old); i++) {
        char what[64];
        run_make(&r, &method_async, 4, 100);
        run_note(&r, "staleness", 10, 10 * old[i][0], old[i][1]);
        snprintf(what, sizeof what, "gradients %.1f updates old, %.1f at most", old[i][0], old[i][1]);
        judged(what);
    }
}

static void ends(void)
{
    static const char *const by[] = { "updates", "epochs", "time", "interrupted", "data", "other" };
    for (size_t i = 0; i < MOT_COUNT(by); i++) {
        run_make(&r, &method_allreduce, 4, 100);
        r.o.ended_by = by[i];
        r.e.stop.target = MOT_TARGET_TEST_ACCURACY, r.e.stop.value = 0.9;
        r.o.last.score.test_accuracy = 0.75;
        judged(by[i]);
    }
    r.o.target.reached = true;
    judged("with its target");
    static const char *const lost[] = { "crash", "partition", "death", "silence", "damage", "channel" };
    const struct mot_method *const methods[] = { &method_allreduce, &method_async, &method_dpsgd,
        &method_dpsgd };
    for (size_t i = 0; i < MOT_COUNT(lost); i++) {
        run_make(&r, methods[i % 4], 4, 100);
        if (i % 4 == 3) run_option(&r, "on_loss", "continue");
        r.o.status = MOT_EPEER, r.o.has_peer = true, r.o.peer = 3, r.o.last.updates = i;
        r.o.peer_by = lost[i], r.o.peer_at = UINT64_C(1500000000);
        judged(lost[i]);
    }
    r.o.has_peer = false;
    judged("somebody is lost");
    run_make(&r, &method_async, 4, 1);
    r.o.status = MOT_EPEER, r.o.has_peer = true, r.o.peer = 4, r.o.peer_by = "death", r.o.peer_at = 7;
    judged("the server is lost");
    r.o.model_lost = true;
    judged("the server is lost with the model");
    r.o.saved = true, r.o.saved_updates = 40;
    judged("the server is lost with the model, but for a checkpoint");
    static const enum mot_stuck stuck[] = { MOT_STUCK_NOT, MOT_STUCK_SPIN, MOT_STUCK_LOSSES, MOT_STUCK_FAULTS,
        MOT_STUCK_WAIT };
    for (size_t i = 0; i < MOT_COUNT(stuck); i++) {
        run_make(&r, &method_async, 4, 100);
        r.o.status = MOT_EDEADLINE, r.o.stuck_by = stuck[i], r.o.stuck_count = 1000, r.o.stuck_node = 3;
        judged("stuck");
    }
    r.o.stuck_by = MOT_STUCK_SPIN, r.o.stuck_node = 4;
    judged("stuck at the server");
    run_make(&r, &method_async, 4, 100);
    r.o.has_faults = true;
    r.o.faults = (struct mot_fault_tally){ .resent = 5, .cut = 1, .crashes = 2, .given_up = 1, .stalls = 1 };
    judged("faults");
    r.o.faults = (struct mot_fault_tally){ .resent = 5, .given_up = 2, .restarts = 2 };
    judged("faults that the network had no part in");
    for (int set = 0; set < 8; set++) {
        run_make(&r, &method_async, 4, 100);
        r.o.status = MOT_EDIVERGED;
        r.o.last.updates = 1;
        r.e.optim.lr = set & 1 ? 0.1 : 0;
        r.e.optim.clip = set & 2 ? 1 : 0;
        r.e.schedule.warmup = set & 4 ? 1 : 0;
        run_note(&r, "staleness", 10, set & 1 ? 15 : 10, 3);
        judged("diverged");
    }
}

static void unlearned(void)
{
    static const char *const by[] = { "updates", "epochs", "time", "target" };
    for (size_t i = 0; i < MOT_COUNT(by); i++)
        for (int updates = 49; updates <= 50; updates++)
            for (int rate = 0; rate < 5; rate++) {
                static const double rates[] = { 0, 0.02, 0.025, 0.15, 0.151 };
                if (i && (rate != 3 || updates == 50)) continue;
                char what[64];
                run_make(&r, &method_allreduce, 4, updates);
                r.o.ended_by = by[i];
                r.o.chance =
                    (struct mot_chance){ .rows = 400, .tested = i % 2, .accuracy = 0.1, .loss = 2.3 };
                r.o.last.score.test_accuracy = 0.11, r.o.last.score.train_accuracy = 0.12;
                r.e.optimizer = mot_optimizers[0];
                r.e.optim.lr = rates[rate];
                run_note(&r, "staleness", 10, 10, 1);
                snprintf(what, sizeof what, "nothing learned, %d updates, %s, rate %g", updates, by[i],
                    rates[rate]);
                judged(what);
            }
}

static void make_coded(const char *code, uint32_t stragglers, bool cuts)
{
    run_make(&r, &mot_method_coded, 6, 100);
    r.e.code.name = code;
    r.e.traits.stragglers = stragglers;
    r.e.traits.parts = r.o.parts = 6;
    r.e.traits.cuts = cuts;
}

static void coded_runs(void)
{
    static uint64_t missed[6] = { 40, 40, 0, 0, 0, 0 }, evenly[6] = { 13, 14, 13, 14, 13, 13 },
                    unheld[6] = { 0, 0, 100, 0, 0, 0 };
    make_coded("frc", 1, false);
    judged("every update exact");
    make_coded("frc", 1, false);
    run_note(&r, "inexact", 40, 40, 1);
    r.o.missed = missed;
    judged("two of a group are lost");
    make_coded("uncoded", 0, false);
    run_note(&r, "inexact", 1, 1, 1);
    judged("one is lost, and nobody may be");
    for (int shuffled = 0; shuffled < 2; shuffled++) {
        make_coded("frc", 1, true);
        run_note(&r, "inexact", 40, 40, 1);
        run_note(&r, "decode_error", 100, 80, 2);
        r.o.missed = shuffled ? evenly : missed;
        judged(shuffled ? "a deadline that all parts suffer from" : "a deadline that two parts suffer from");
    }
    make_coded("frc", 1, true);
    run_note(&r, "inexact", 1, 1, 1);
    judged("a deadline that hardly matters");
    make_coded("expander", 0, true);
    run_note(&r, "inexact", 100, 100, 1);
    run_note(&r, "decode_error", 100, 10, 2);
    judged("an approximate code that uses all parts");
    make_coded("bernoulli", 0, true);
    run_note(&r, "inexact", 100, 100, 1);
    run_note(&r, "decode_error", 100, 100, 1);
    r.o.missed = unheld;
    judged("a code that leaves a part to nobody");
    make_coded("frc", 1, false);
    run_note(&r, "shuffles", 25, 25, 1);
    run_note(&r, "shuffles_delayed", 75, 75, 1);
    judged("three of four shuffles cannot begin");
    make_coded("frc", 1, false);
    run_note(&r, "shuffles", 99, 99, 1);
    run_note(&r, "shuffles_delayed", 1, 1, 1);
    judged("one shuffle cannot begin");
}

TEST(every_verdict_reads_as_it_is_written_down)
{
    char *text = NULL;
    size_t n;
    page = open_memstream(&text, &n);
    slow_workers();
    the_network();
    waiting_and_losing();
    ends();
    unlearned();
    coded_runs();
    fclose(page);
    CHECK(as_recorded("test/report/verdicts.txt", text));
}

TEST_MAIN()
