/* train.c -- `motley train`: the same experiment for real. */
#include "launch.h"
#include "run.h"

static enum mot_status train_rank(const struct cli_args *args) { return cli_run(args, MOT_DRIVER_MPI); }

static enum mot_status train(const struct cli_args *args)
{
    if (cli_under_mpi()) return cli_be_rank(args, train_rank);
    if (cli_given(args, "ranks")) return cli_start_ranks(args, cli_value(args, "ranks"), mot_ranks_fit);
    return cli_run(args, MOT_DRIVER_THREADS);
}

static const struct cli_flag flags[] = {
    { "emulate", NULL,
        "workers as slow, links as thin and stragglers as frequent as the cluster says, by waiting" },
    { "ranks", "N", "start so many ranks over MPI on this machine: one for each worker" },
    { "record", NULL,
        "keep in --out what every node was given, for motley sim --arrivals and motley replay" },
    { "dry-run", NULL, "print the experiment as resolved, and run nothing" },
    { "tensorboard", NULL,
        "write events for TensorBoard into --out, at each evaluation; their time is the run's" },
    { "resume", NULL, "go on with the run in --out from its last checkpoint" },
    { "replace", NULL, "write over a run that is already in --out" },
    { NULL, NULL, NULL },
};

const struct cli_command cli_train = {
    .name = "train",
    .synopsis = "[EXPERIMENT.yaml] [--KEY VALUE ...]",
    .summary = "train for real: on this machine's threads, or over MPI",
    .about =
        "Runs the experiment for real: a thread for each worker, one for the server, the wall clock. "
        "Where every round waits for all (allreduce, dpsgd, matcha, and server unless k or a deadline says "
        "otherwise), the model is that of motley sim, bit for bit; elsewhere the order of arrival decides, "
        "or "
        "a time that is measured.\n"
        "With --emulate the cluster's description is obeyed: jobs take as long as it says, messages "
        "arrive when its links would "
        "deliver them. So a mixed cluster can be tried for real on one machine.\n"
        "Started by mpirun or srun it runs over MPI: a rank for each worker, and the server with worker "
        "0 on rank 0, further servers on the next "
        "ranks (mpi.place: own gives servers ranks of their own). --ranks N starts mpirun itself and "
        "exits with motley's own codes; on several machines start mpirun yourself, which as root wants "
        "--allow-run-as-root, and with "
        "more ranks than cores --oversubscribe. Only rank 0 prints and writes. A rank "
        "that dies or falls silent is noticed within 8 s: allreduce ends with code 4 (peer_lost), "
        "methods with a server go on without it, "
        "where the launcher lets them (mpirun --enable-recovery; --ranks does that); without rank 0, or "
        "before the run has begun, all end.\n"
        "With --out DIR the run's folder is written; Ctrl-C ends the run cleanly, and --resume goes on: "
        "to the same end where the model is the simulator's, else with the work under way asked for anew. "
        "A finished run goes on only with a later stop.",
    .examples = "motley train --workers 2 --stop-epochs 5\n"
                "motley train examples/mixed.yaml --method async --emulate --stop-time 20s\n"
                "motley train --workers 4 --ranks 4 --out runs/four\n",
    .flags = flags,
    .words_max = 1,
    .experiment_flags = true,
    .run = train,
};
