/* Statistics over ranks: the simulated bits, with a compressor and without. */
#include "run/watched.h"
#include "wire/team.h"

TEST(over_ranks_models_with_statistics_have_the_simulated_bits)
{
    static const char *const cases[][2] = { { "allreduce", "none" },
        { "allreduce", "{name: topk, ratio: 20%}" }, { "localsgd", "none" }, { "dpsgd", "none" },
        { "server", "none" }, { "server", "{name: qsgd, levels: 3}" }, { "selsync", "none" },
        { "crossover", "none" }, { "choco", "{name: topk, ratio: 40%}" } };
    for (size_t i = 0; i < MOT_COUNT(cases); i++) {
        struct team t = { 0 };
        RUN_SET(&t.run, WATCHED_DATA, "model", "watched", "topology", "ring", "optimizer.lr", "0.02",
            "stop.updates", "20", "method", cases[i][0], "compress", cases[i][1]);
        const struct mot_model *const *before = mot_models_extend(watched_models);
        bool opened = team_open(&t);
        mot_models_extend(before);
        if (!opened) FAIL("%s, %s: %s", cases[i][0], cases[i][1], mot_error());
        struct mot_outcome simulated = team_simulate(&t);
        team_go(&t);
        printf("  %s, %s\n", cases[i][0], cases[i][1]);
        for (uint32_t r = 0; r < 4; r++) CHECK_INT(t.member[r].left_with, MOT_OK);
        CHECK(t.member[0].out.model_hash == simulated.model_hash);
        mot_outcome_close(&simulated);
        team_forget(&t);
        team_close(&t);
    }
}

TEST_MAIN()
