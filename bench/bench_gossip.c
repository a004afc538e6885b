/* bench_gossip.c METHOD WORKERS PARAMETERS ROUNDS [SEGMENTS] -- seconds that a round takes, on threads, or
 * over MPI if mpirun starts it with a rank for each worker. bench/gossip runs it.
 *
 *   sums       a sum over all workers, and nothing else
 *   swaps      an exchange of segments with random peers and the mixing, and nothing else
 *   allreduce  the method: a gradient of zeros, the sum, the optimiser's step
 *   crossover  the method: a gradient of zeros, the optimiser's step, the exchange, the mixing */
#include "method/methods.h"
#include "rounds.h"
#include "wire/ranks.h"
#include "wire/transport.h"

/* A method as it is, whose worker 0 notes when its gradients come: one in each round. */
static const struct mot_method *inner;

static void timed_step(void *state, struct mot_env *env, const struct mot_event *event)
{
    if (event->kind == MOT_EV_WORK && env->self == 0) rounds_note(env);
    inner->step(state, env, event);
}

static struct mot_method timed;

static const struct mot_method *find(const char *name)
{
    for (size_t i = 0; rounds_methods[i]; i++)
        if (strcmp(rounds_methods[i]->name, name) == 0) return rounds_methods[i];
    for (size_t i = 0; (inner = mot_method_at(i)) != NULL && strcmp(inner->name, name) != 0;) i++;
    if (!inner) return NULL;
    timed = *inner;
    timed.name = "timed";
    timed.step = timed_step;
    return &timed;
}

int main(int count, char **argument)
{
    const char *size = getenv("OMPI_COMM_WORLD_SIZE"), *segments = count > 5 ? argument[5] : "1";
    const struct mot_method *method = count > 4 ? find(argument[1]) : NULL;
    uint32_t parameters = count > 4 ? (uint32_t)strtoul(argument[3], NULL, 10) : 0;
    unsigned wanted = count > 4 ? (unsigned)strtoul(argument[4], NULL, 10) : 0;
    char updates[16];
    struct rig r = { 0 };
    struct mot_outcome out;
    struct mot_transport *transport;
    struct mot_ranks *ranks = NULL;
    enum mot_status status = MOT_OK;
    if (!method || parameters == 0 || wanted == 0) {
        fprintf(stderr, "usage: bench_gossip METHOD WORKERS PARAMETERS ROUNDS [SEGMENTS]\n");
        return 2;
    }
    const struct mot_method *const extra[] = { method, NULL };
    snprintf(updates, sizeof(updates), "%u", wanted + WARM_UP);
    const struct mot_setting setting[] = {
        { "data", "synthetic", "bench" },
        { "data.size", "256", "bench" },
        { "model", "softmax", "bench" },
        { "workers", argument[2], "bench" },
        { "optimizer", "{name: sgd, lr: 0.1, momentum: 0}", "bench" },
        { "stop.updates", updates, "bench" },
        { "evaluate.every", "1000000000 updates", "bench" },
        { "method", method->name, "bench" },
        { "method.segments", segments, "bench" },
        { "method.cut", "equal", "bench" },
    };
    bool cuts = strcmp(argument[1], "swaps") == 0, crosses = strcmp(argument[1], "crossover") == 0;
    mot_methods_extend(extra);
    if (size) status = mot_mpi_open(&transport);
    if (size && status == MOT_OK) status = mot_ranks_open(transport, &ranks);
    if (status == MOT_OK)
        status = rig_open(&r, &rig_silent, parameters, setting,
            MOT_COUNT(setting) -
                (crosses       ? 0
                        : cuts ? 1
                               : 2));
    if (status == MOT_OK) status = rig_run_over(&r, ranks, &out);
    if (status == MOT_OK) status = out.status;
    if (status != MOT_OK) fprintf(stderr, "bench_gossip: %s\n", mot_error());
    else if (mot_ranks_rank(ranks) == 0)
        printf("%.6f %.6f\n", rounds_each(), (noted.last_cpu - noted.first_cpu) / (noted.n - WARM_UP));
    fflush(stdout);
    if (ranks) mot_ranks_leave(ranks, status);
    _Exit(status);
}
