/* sim.c -- `motley sim`: train on a simulated cluster. */
#include "run.h"
#include "serve.h"

static enum mot_status sim(const struct cli_args *args)
{
    return cli_serve_end(
        args, cli_run(args, cli_given(args, "arrivals") ? &mot_driver_replay : &mot_driver_sim, NULL));
}

static const struct cli_flag flags[] = {
    { "arm", "NAME", "run this arm of a study's file" },
    { "dry-run", NULL,
        "print the resolved experiment (not with --json), the memory it would take and a forecast for the "
        "code, then exit" },
    { "arrivals", "RUN",
        "replay what motley train --record kept in this run folder: the same arrivals, the same model" },
    CLI_RUN_FLAGS,
    CLI_SERVE_FLAGS,
    { NULL, NULL, NULL },
};

const struct cli_command cli_sim = {
    .name = "sim",
    .synopsis = "[EXPERIMENT.yaml] [--KEY VALUE ...]",
    .summary = "train on a simulated cluster, with real mathematics",
    .about = "Runs the experiment in the simulator. Gradients are computed for real; how long they and the "
             "messages take comes from the description of the cluster, so a run repeats bit for bit on any "
             "machine. Every experiment key is a flag (see motley help experiment). Without a file, the "
             "defaults train an MLP on the built-in digits.\n"
             "With --out DIR it writes a run folder: experiment.yaml, metrics.jsonl, summary.json, "
             "timeline.json, model.safetensors, checkpoint.bin; with --trace true also trace.json for "
             "Perfetto, and with validation data best.safetensors. Ctrl-C ends the run cleanly and keeps "
             "what there is; --resume continues it.\n"
             "With --arrivals RUN nothing is random: every node gets the events that `motley train --record` "
             "kept in RUN, in the same order, so the model equals the live run's, bit for bit, whatever the "
             "method. Without an experiment file, RUN's own is used. If an event cannot be repeated, the "
             "exit code is 7 and the message names the node and the event.",
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
