/* tune.c -- `motley tune`: the best values of some keys, for each method. */
#include "serve.h"
#include "study.h"

static enum mot_status tune(const struct cli_args *args) { return cli_study(args, true); }

static const struct cli_flag flags[] = {
    { "over", "KEY=VALUES",
        "the values to try: optimizer.lr=2^-1..2^-10, batch=16,32,64; if given several times, every "
        "combination" },
    { "by", "FIGURE",
        "what decides: time_to_target (default), test_accuracy, train_loss or grad_norm; medians over the "
        "seeds" },
    { "halving", NULL,
        "drop the worse half of the points after shorter runs instead of running all at full length (see "
        "About)" },
    { "methods", "LIST", "tune each of these: allreduce,async or 'server{k: 6}, async'" },
    { "seeds", "SEEDS", "how many seeds, from 1001 on, or which: 1001..1005; default: 3" },
    { "out", "DIR",
        "where best-METHOD.yaml, study.json, table.txt and report.html go; default: runs/tune-NAME" },
    { "store", "DIR", "where runs are kept and reused; default: MOTLEY_STORE, or else runs/store" },
    { "jobs", "N", "how many runs at a time; default: one per core" },
    { "csv", "PREFIX", "also write PREFIX-runs.csv and PREFIX-curves.csv of the best points" },
    { "models", NULL, "keep the model of every run" },
    { "dry-run", NULL, "check everything, say how many runs there are, then exit" },
    { "fresh", NULL, "repeat all runs, even those in the store" },
    CLI_SERVE_FLAGS,
    { NULL, NULL, NULL },
};

const struct cli_command cli_tune = {
    .name = "tune",
    .synopsis = "[EXPERIMENT.yaml] --over KEY=VALUES [--by FIGURE] [--KEY VALUE ...]",
    .summary = "find the best values of some keys for each method",
    .about = "Tries every combination of the values with every seed for each method, and writes "
             "best-METHOD.yaml, a complete experiment for motley sim. The table shows the figure for every "
             "value, and warns when the best lies at the edge of the grid: then the grid was too narrow. The "
             "section `tune: {over: {optimizer.lr: 2^-1..2^-10}, by: FIGURE, seeds: 1001..1003, halving: "
             "false}` of a file says the same; motley compare then tunes each arm before it compares them on "
             "other seeds.\n"
             "With time_to_target, a run that misses the target counts as later than any that reaches it; if "
             "no point reaches it, the one that comes nearest wins. With any other figure, stop.target is "
             "ignored, so that all runs have their full length. An arm that sets a tuned key itself keeps "
             "its value.\n"
             "With --halving, n points go through R rounds before the last one, where R is the smallest "
             "number with 2^(R+1) >= n, at most 4. The first round gives every point 1/2^R of the run's "
             "length (stop.updates, stop.epochs and stop.time alike), keeps the better half, rounded up, and "
             "doubles the length; the last round gives the remaining points the full length. Ten points then "
             "cost six full runs per seed instead of ten. A point that learns slowly but well may be "
             "dropped.",
    .examples = "motley tune --over optimizer.lr=2^-1..2^-10 --by test_accuracy --stop-epochs 5\n"
                "motley tune examples/mixed.yaml --methods allreduce,async --over "
                "optimizer.lr=0.025,0.05,0.1,0.2,0.4 --halving\n",
    .flags = flags,
    .words_max = 1,
    .experiment_flags = true,
    .run = tune,
};
