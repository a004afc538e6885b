/* tune.c -- `motley tune`: the best values of some keys, for each method. */
#include "study.h"

static enum mot_status tune(const struct cli_args *args) { return cli_study(args, true); }

static const struct cli_flag flags[] = {
    { "over", "KEY=VALUES",
        "what is tried: optimizer.lr=2^-1..2^-10, batch=16,32,64; may be given several times, and then every "
        "combination is" },
    { "by", "FIGURE",
        "what decides: time_to_target (preset), test_accuracy, train_loss or grad_norm; medians over the "
        "seeds" },
    { "halving", NULL,
        "drop the worse half of the points after shorter runs (see below) instead of running all at full "
        "length" },
    { "methods", "LIST", "tune each of these: allreduce,async or 'server{k: 6}, async'" },
    { "seeds", "SEEDS", "3 for so many from 1001, or 1001..1005; 3 unless told" },
    { "out", "DIR",
        "where best-METHOD.yaml, study.json, table.txt and report.html go; runs/tune-NAME unless told" },
    { "store", "DIR", "where runs are kept, and found again; MOTLEY_STORE or else runs/store" },
    { "jobs", "N", "how many runs at a time; one a core unless told" },
    { "csv", "PREFIX", "write PREFIX-runs.csv and PREFIX-curves.csv of the best points too" },
    { "models", NULL, "keep the model of every run" },
    { "dry-run", NULL, "check everything, say how many runs there are, and run nothing" },
    { "fresh", NULL, "make all runs again, also those in the store" },
    { NULL, NULL, NULL },
};

const struct cli_command cli_tune = {
    .name = "tune",
    .synopsis = "[EXPERIMENT.yaml] --over KEY=VALUES [--by FIGURE] [--KEY VALUE ...]",
    .summary = "find the best values of some keys for each method",
    .about = "Tries every combination of the values on every seed, for each method, and writes for each "
             "method best-METHOD.yaml, a whole experiment "
             "that motley sim runs. The table shows the figure for every value, and says so when the best is "
             "the least or the greatest "
             "that was tried: then the grid was too narrow. A file's section `tune: {over: {optimizer.lr: "
             "2^-1..2^-10}, by: FIGURE, seeds: "
             "1001..1003, halving: false}` says the same, and motley compare then tunes each arm before "
             "judging it on other seeds.\n"
             "By time_to_target, a run that misses the target is later than any that reaches it; where no "
             "point reaches it, the one that comes "
             "nearest is taken. By another figure, stop.target is lifted, so that all runs have their full "
             "length. An arm that sets a tuned key "
             "itself keeps its value.\n"
             "With --halving, n points have R rounds before the last, R being the least number with 2^(R+1) "
             ">= n, at most 4. The first round gives "
             "every point 1/2^R of the run's length (stop.updates, stop.epochs and stop.time alike), keeps "
             "the better half, rounded up, and "
             "doubles the length; the last round gives those that are left the full length. Ten points then "
             "cost six full runs a seed instead of ten; "
             "what learns slowly but well may be lost.",
    .examples = "motley tune --over optimizer.lr=2^-1..2^-10 --by test_accuracy --stop-epochs 5\n"
                "motley tune examples/mixed.yaml --methods allreduce,async --over "
                "optimizer.lr=0.025,0.05,0.1,0.2,0.4 --halving\n",
    .flags = flags,
    .words_max = 1,
    .experiment_flags = true,
    .run = tune,
};
