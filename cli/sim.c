/* sim.c -- `motley sim`: train on a simulated cluster. */
#include "run.h"

static enum mot_status sim(const struct cli_args *args)
{
    return cli_run(args, cli_given(args, "arrivals") ? MOT_DRIVER_REPLAY : MOT_DRIVER_SIM);
}

static const struct cli_flag flags[] = {
    { "dry-run", NULL,
        "print the experiment as resolved and the memory it will reserve (with --json only the latter), and "
        "run nothing" },
    { "arrivals", "RUN",
        "run again what motley train --record left in this folder: the same arrivals, the same model" },
    { "tensorboard", NULL,
        "write events for TensorBoard into --out, at each evaluation; their time is the run's" },
    { "resume", NULL, "go on with the run in --out from its last checkpoint" },
    { "replace", NULL, "write over a run that is already in --out" },
    { NULL, NULL, NULL },
};

const struct cli_command cli_sim = {
    .name = "sim",
    .synopsis = "[EXPERIMENT.yaml] [--KEY VALUE ...]",
    .summary = "train on a simulated cluster: real mathematics, virtual clock",
    .about = "Runs the experiment in the simulator. Gradients are computed for real; how long they take, and "
             "what messages "
             "cost, comes from the cluster's description, so a run on any cluster repeats bit for bit on any "
             "machine. Every key of an "
             "experiment file is a flag (see motley help experiment); without a file the defaults train an "
             "MLP on the built-in digits.\n"
             "With --out DIR the run's folder is written: experiment.yaml, metrics.jsonl, summary.json, "
             "timeline.json, model.safetensors, checkpoint.bin, "
             "with --trace true also trace.json for Perfetto, and with a validation part best.safetensors. "
             "Ctrl-C ends the run cleanly with what there is, and --resume goes on.\n"
             "With --arrivals RUN nothing is drawn: every node gets the events that `motley train --record` "
             "kept in RUN, in the same order, so "
             "the model is the live run's, bit for bit, whatever the method. Without an experiment file "
             "RUN's own is taken. If an event cannot "
             "happen again, the exit code is 7 and the message names node and event.",
    .examples = "motley sim\n"
                "motley sim --method async --workers 16 --out runs/first\n"
                "motley sim examples/mixed.yaml --method server --method-k 6\n"
                "motley sim --resume --out runs/first --stop-epochs 40\n"
                "motley sim --arrivals runs/live\n",
    .flags = flags,
    .words_max = 1,
    .experiment_flags = true,
    .run = sim,
};
