/* train.c -- `motley train`: the same experiment for real. */
#include "base/file.h"
#include "base/memory.h"
#include "launch.h"
#include "plan.h"
#include "report/json.h"
#include "run.h"
#include "serve.h"
#include "study.h"
#include "wire/ranks.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum mot_status train_rank(const struct cli_args *args, struct mot_ranks *ranks)
{
    return cli_serve_end(args, cli_run(args, &mot_driver_mpi, ranks));
}

/* Plans, then trains with what was recommended. */
static enum mot_status train_planned(const struct cli_args *args)
{
    json_t *plan;
    char *cluster, rate[32];
    if (cli_given(args, "ranks") || cli_given(args, "arm"))
        return mot_fail(MOT_EUSAGE,
            "--auto trains on this machine's threads; with --ranks or --arm, run motley plan first and give "
            "its method and rate");
    enum mot_status status = cli_plan_here(args, &plan, &cluster);
    if (status != MOT_OK) return status;
    struct cli_args chosen = *args;
    chosen.setting = mot_new(args->settings + 3, sizeof(*chosen.setting));
    for (size_t i = 0; i < args->settings; i++) chosen.setting[i] = args->setting[i];
    snprintf(rate, sizeof(rate), "%.6g", mot_json_get_number(plan, "lr"));
    if (cluster) chosen.setting[chosen.settings++] = (struct mot_setting){ "cluster", cluster, "--profile" };
    chosen.setting[chosen.settings++] =
        (struct mot_setting){ "method", mot_json_get_text(plan, "setting"), "--auto" };
    chosen.setting[chosen.settings++] = (struct mot_setting){ "optimizer.lr", rate, "--auto" };
    if (!args->quiet && !args->json) putchar('\n');
    /* A plan predicts a run on the machine that it measured, or one that emulates the plan's cluster. */
    static const struct cli_flag predicted = { "predicted", "DIR", "" };
    char *folder = cli_study_folder(args, "plan"),
         *path = cluster || cli_given(args, "emulate") ? mot_path_join(folder, "plan.json") : NULL;
    free(folder);
    chosen.given = mot_new(args->givens + 1, sizeof(*chosen.given));
    for (size_t i = 0; i < args->givens; i++) chosen.given[i] = args->given[i];
    if (path) {
        chosen.given[chosen.givens].flag = &predicted;
        chosen.given[chosen.givens++].value = path;
    }
    status = cli_run(&chosen, &mot_driver_threads, NULL);
    free(chosen.given);
    free(path);
    free(chosen.setting);
    free(cluster);
    json_decref(plan);
    return status;
}

static enum mot_status train(const struct cli_args *args)
{
    if (cli_given(args, "auto")) return cli_serve_end(args, train_planned(args));
    if (cli_under_mpi()) return cli_be_rank(args, train_rank);
    if (cli_given(args, "ranks")) return cli_start_ranks(args, cli_value(args, "ranks"), mot_ranks_fit);
    return cli_serve_end(args, cli_run(args, &mot_driver_threads, NULL));
}

static const struct cli_flag flags[] = {
    { "auto", NULL, "run motley plan first, and train with what it recommends" },
    { "budget", "TIME", "with --auto: how long planning may take; default: 2min" },
    { "profile", NULL, "with --auto: measure this machine first, and plan for it" },
    { "store", "DIR",
        "with --auto: where planning keeps its runs; default: MOTLEY_STORE, or else runs/store" },
    { "jobs", "N", "with --auto: how many runs at a time; default: one per core" },
    { "predicted", "DIR", "say how accurate a prediction was: a simulated run's folder, or a plan.json" },
    { "arm", "NAME", "train this arm of a study's file" },
    { "emulate", NULL, "slow down workers and links as the cluster says, stragglers included" },
    { "ranks", "N", "start N ranks over MPI on this machine, one per worker" },
    { "record", NULL, "record every node's events in --out, for motley sim --arrivals and motley replay" },
    { "dry-run", NULL,
        "print the resolved experiment (not with --json), the memory it would take and a forecast for the "
        "code, then exit" },
    CLI_RUN_FLAGS,
    CLI_SERVE_FLAGS,
    { NULL, NULL, NULL },
};

const struct cli_command cli_train = {
    .name = "train",
    .synopsis = "[EXPERIMENT.yaml] [--KEY VALUE ...]",
    .summary = "train for real: on this machine's threads, or over MPI",
    .about = "Runs the experiment for real, on the wall clock: one thread per worker and one for the server. "
             "If every round waits for given workers (allreduce, localsgd, slowmo, diloco, dpsgd, matcha, "
             "sgp, osgp, and server without k or a deadline), or takes the same sum whoever answers (coded "
             "with code frc), the model equals that of motley sim, bit for bit; otherwise it depends on the "
             "order of arrival or on measured times.\n"
             "With --emulate, jobs and messages take as long as the description of the cluster says, so you "
             "can try a mixed cluster for real on one machine.\n"
             "Started by mpirun or srun, it runs over MPI: one rank per worker, the server beside worker 0 "
             "on rank 0, further servers on the next ranks (mpi.place: own gives servers ranks of their "
             "own). --ranks N starts mpirun itself and exits with motley's exit codes. On several machines "
             "start mpirun yourself; it needs --allow-run-as-root as root, and --oversubscribe with more "
             "ranks than cores. Only rank 0 prints and writes. A rank that dies or falls silent is noticed "
             "within 8 s: allreduce then ends with exit code 4 (peer_lost), and methods with a server "
             "continue without it if the launcher lets them (mpirun --enable-recovery; --ranks does that). "
             "Without rank 0, or before the run has begun, all ranks end.\n"
             "With --auto it plans first (see motley help plan) and trains with the method and the rate that "
             "come out best. With --arm NAME the file is a study's, and the arm of that name is trained.\n"
             "With --out DIR it writes a run folder. Ctrl-C ends the run cleanly, and --resume continues it: "
             "to the same model if that equals the simulator's; otherwise jobs in flight start again. A "
             "finished run continues only with a later stop.",
    .examples = "motley train --workers 2 --stop-epochs 5\n"
                "motley train examples/mixed.yaml --method async --emulate --stop-time 20s\n"
                "motley train --workers 4 --ranks 4 --out runs/four\n",
    .flags = flags,
    .words_max = 1,
    .experiment_flags = true,
    .run = train,
};
