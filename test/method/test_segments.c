/* The model cut into segments. */
#include "method/segments.h"
#include "test.h"

static const uint32_t at[] = { 0, 100, 110, 310, 315, 320 };
static const struct mot_world world = { .dim = 320, .tensors = 5, .tensor_at = at };

static bool covers(const struct mot_segments *g)
{
    uint32_t next = 0;
    for (uint32_t s = 0; s < g->n; s++) {
        struct mot_slice slice = mot_segment(&world, g, s, 3);
        if (slice.buf != 3 || slice.off != next || slice.len == 0) return false;
        next += slice.len;
    }
    return next == world.dim;
}

TEST(segments_follow_each_other_cover_the_model_and_are_not_empty)
{
    for (uint32_t n = 1; n <= 320; n++) {
        struct mot_segments g;
        CHECK_INT(mot_segments_of(&world, MOT_CUT_EQUAL, n, "segments", &g), MOT_OK);
        CHECK(g.n == n && covers(&g));
        for (uint32_t s = 0; s < n; s++) {
            uint32_t len = mot_segment(&world, &g, s, 1).len;
            CHECK(len == 320 / n || len == 320 / n + 1);
        }
        if (n > 5) continue;
        CHECK_INT(mot_segments_of(&world, MOT_CUT_LAYERS, n, "segments", &g), MOT_OK);
        CHECK(g.n == n && covers(&g));
    }
}

TEST(cut_at_layers_a_segment_is_a_run_of_whole_tensors)
{
    struct mot_segments g;
    CHECK_INT(mot_segments_of(&world, MOT_CUT_LAYERS, MOT_WORD_UINT, "segments", &g), MOT_OK);
    CHECK_INT(g.n, 5);
    for (uint32_t s = 0; s < 5; s++) CHECK_INT(mot_segment(&world, &g, s, 1).off, at[s]);
    CHECK_INT(mot_segments_of(&world, MOT_CUT_LAYERS, 2, "segments", &g), MOT_OK);
    CHECK_INT(mot_segment(&world, &g, 1, 1).off, 110); /* two tensors, then three */
}

TEST(more_segments_than_parameters_or_than_places_to_cut_are_refused)
{
    struct mot_segments g = { .n = 77 };
    CHECK_INT(mot_segments_of(&world, MOT_CUT_EQUAL, 321, "segments", &g), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "segments: 321 segments, but the model has only 320 parameters");
    CHECK_INT(mot_segments_of(&world, MOT_CUT_LAYERS, 6, "segments", &g), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "segments: 6 segments, but the model has only 5 tensors");
    CHECK_INT(g.n, 77);
}

TEST_MAIN()
