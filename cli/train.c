/* train.c -- `motley train`: the same experiment for real. */
#include "launch.h"
#include "run.h"
#include "wire/ranks.h"

static enum mot_status train_rank(const struct cli_args *args, struct mot_ranks *ranks)
{
    return cli_run(args, &mot_driver_mpi, ranks);
}

static enum mot_status train(const struct cli_args *args)
{
    if (cli_under_mpi()) return cli_be_rank(args, train_rank);
    if (cli_given(args, "ranks")) return cli_start_ranks(args, cli_value(args, "ranks"), mot_ranks_fit);
    return cli_run(args, &mot_driver_threads, NULL);
}

static const struct cli_flag flags[] = {
    { "emulate", NULL, "slow down workers and links, and straggle, as the cluster says" },
    { "ranks", "N", "start N ranks over MPI on this machine, one per worker" },
    { "record", NULL, "record every node's events in --out, for motley sim --arrivals and motley replay" },
    { "dry-run", NULL, "print the resolved experiment, and what to expect of a code, then exit" },
    { "tensorboard", NULL,
        "write TensorBoard events to --out at each evaluation, with the run's time as their time" },
    { "resume", NULL, "continue the run in --out from its last checkpoint" },
    { "replace", NULL, "overwrite the run in --out" },
    { NULL, NULL, NULL },
};

const struct cli_command cli_train = {
    .name = "train",
    .synopsis = "[EXPERIMENT.yaml] [--KEY VALUE ...]",
    .summary = "train for real: on this machine's threads, or over MPI",
    .about =
        "Runs the experiment for real, on the wall clock: one thread per worker and one for the server. If "
        "every round waits for given workers (allreduce, localsgd, slowmo, diloco, dpsgd, matcha, sgp, osgp, "
        "and "
        "server without k or a deadline), or takes the same sum whoever answers (coded with code frc), the "
        "model equals that of motley sim, bit "
        "for bit; otherwise it depends on the order of arrival or "
        "on measured times.\n"
        "With --emulate, jobs and messages take as long as the description of the cluster says. So you can "
        "try a mixed cluster for real on one machine.\n"
        "Started by mpirun or srun, it runs over MPI: one rank per worker, the server beside worker 0 on "
        "rank 0, further servers on the next ranks (mpi.place: own gives servers ranks of their own). "
        "--ranks N starts mpirun itself and exits with motley's exit codes. On several machines start mpirun "
        "yourself; as root it wants --allow-run-as-root, and --oversubscribe with more ranks than cores. "
        "Only rank 0 prints and writes. A rank that dies or falls silent is noticed within 8 s: allreduce "
        "then ends with exit code 4 (peer_lost), and methods with a server continue without it if the "
        "launcher lets them (mpirun --enable-recovery; --ranks does that). Without rank 0, or before the run "
        "has begun, all ranks end.\n"
        "With --out DIR it writes a run folder. Ctrl-C ends the run cleanly, and --resume continues it: to "
        "the same model if that is the simulator's, otherwise with jobs in flight started again. A finished "
        "run continues only with a later stop.",
    .examples = "motley train --workers 2 --stop-epochs 5\n"
                "motley train examples/mixed.yaml --method async --emulate --stop-time 20s\n"
                "motley train --workers 4 --ranks 4 --out runs/four\n",
    .flags = flags,
    .words_max = 1,
    .experiment_flags = true,
    .run = train,
};
