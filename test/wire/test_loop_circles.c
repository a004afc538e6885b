/* Collectives of groups over ranks: everyone gets the simulated bits, and only a group that has lost a rank
 * stalls. */
#include "run/circles.h"
#include "method/methods.h"
#include "wire/team.h"
#include <stdlib.h>

#define ROUNDS (SANITIZED ? 6 : 15)

static void set_up(struct team *t, uint32_t workers, uint32_t groups, const char *const *more)
{
    static const struct mot_method *const methods[] = { &circles, NULL };
    static char n[16], g[16], rounds[16];
    snprintf(n, sizeof n, "%u", workers);
    snprintf(g, sizeof g, "%u", groups);
    snprintf(rounds, sizeof rounds, "%d", ROUNDS);
    mot_methods_extend(methods);
    circles_reset();
    RUN_SET(&t->run, "data", "digits", "model", "softmax", "method", "circles", "method.groups", g, "batch",
        "1", "evaluate.every", "1000 updates", "workers", n, "stop.updates", rounds);
    if (more) run_set_all(&t->run, more);
    if (!team_open(t)) abort();
}

static void tear_down(struct team *t)
{
    team_forget(t);
    team_close(t);
    mot_methods_extend(NULL);
}

static void has_the_bits(uint32_t workers, uint32_t groups, bool emulate, const char *const *more)
{
    struct team t = { .emulate = emulate };
    set_up(&t, workers, groups, more);
    struct mot_outcome simulated = team_simulate(&t);
    team_go(&t);
    for (uint32_t r = 0; r < workers; r++) CHECK_INT(t.member[r].left_with, MOT_OK);
    CHECK_INT(t.member[0].out.last.updates, ROUNDS);
    CHECK(t.member[0].out.model_hash == simulated.model_hash);
    CHECK_INT(atomic_load(&circles_wrong), 0);
    mot_outcome_close(&simulated);
    tear_down(&t);
}

#define PAIRS(...)                                                                                           \
    (const char *const[]) { __VA_ARGS__, NULL }

TEST(over_ranks_on_threads_everyone_gets_the_simulated_bits)
{
    for (uint32_t n = 2; n <= TEAM_MAX; n++)
        for (uint32_t g = 1; g <= n; g++) {
            if (n % g || (SANITIZED && (n + g) % 3)) continue;
            int before = test_failures;
            has_the_bits(n, g, false, NULL);
            if (test_failures != before) FAIL("with %u workers in %u groups", n, g);
        }
    has_the_bits(6, 2, false, PAIRS("mpi.checksum", "all"));
}

TEST(over_emulated_links_too_whatever_the_steps)
{
    static const char *const ways[] = { "ring", "tree", "doubling" };
    for (size_t i = 0; i < MOT_COUNT(ways); i++) has_the_bits(6, 2, true, PAIRS("sim.collective", ways[i]));
}

/* ---- A rank is lost ---------------------------------------------------------------------------- */

struct loss {
    uint32_t rank;
    int n; /* of its envelopes of that kind */
    uint32_t kind;
    bool done;
};
static enum mot_loop_fate lose(void *self, struct mot_loop_frame *f)
{
    struct loss *l = self;
    if (l->done || f->from != l->rank || f->envelope->kind != l->kind || --l->n > 0) return MOT_LOOP_PASS;
    l->done = true;
    return MOT_LOOP_KILL;
}

/* Rank 0's group, in which nobody is lost, goes on to the end. */
TEST(a_rank_that_dies_in_a_collective_stalls_its_own_group_only)
{
    static const struct loss losses[] = { { 4, 9, MOT_ENVELOPE_PART, false },
        { 3, 9, MOT_ENVELOPE_SUM, false }, { 5, 12, MOT_ENVELOPE_SUM, false } };
    for (size_t i = 0; i < MOT_COUNT(losses); i++) {
        struct loss l = losses[i];
        struct team t = { .look = lose, .self = &l };
        set_up(&t, 6, 2, PAIRS("method.apart", "true"));
        team_go(&t);
        CHECK(l.done);
        CHECK_INT(t.member[0].out.peer, l.rank);
        CHECK_TEXT(t.member[0].out.peer_by, "death");
        CHECK_INT(atomic_load(&circles_wrong), 0);
        for (mot_node n = 0; n < 6; n++) {
            if (n < 3) CHECK_INT(atomic_load(&circles_rounds[n]), ROUNDS);
            else CHECK(atomic_load(&circles_rounds[n]) < ROUNDS);
        }
        tear_down(&t);
    }
}

TEST_MAIN()
