/* The weighted sum that decoding ends with. */
#include "base/rng.h"
#include "run/outbox.h"
#include "run/pool.h"
#include "test.h"
#include <motley/method.h>

#define DIM 2500u /* two blocks and a piece */
#define BUFS 11u

/* Large weights of both signs cancel: a sum in float would keep four digits less. */
TEST(a_weighted_sum_is_taken_in_double_and_rounded_once)
{
    struct mot_pool pool;
    struct mot_world world = { .dim = DIM };
    struct mot_outbox out = { 0 };
    struct mot_env env = { .world = &world, .pool = &pool, .out = &out };
    struct mot_rng rng = mot_rng_at(20250713, MOT_RNG_TEST, 1);
    mot_buf in[BUFS];
    double weight[BUFS];
    CHECK_INT(mot_pool_open(&pool, DIM, BUFS + 1), MOT_OK);
    for (uint32_t b = 0; b < BUFS; b++) {
        in[b] = mot_take(&env);
        weight[b] = 1e4 * mot_rng_normal(&rng);
        for (uint32_t i = 0; i < DIM; i++) mot_edit(&env, in[b])[i] = (float)mot_rng_normal(&rng);
    }
    weight[3] = 0; /* what has no weight is not read */
    for (uint32_t i = 0; i < DIM; i++) mot_edit(&env, in[3])[i] = NAN;
    mot_drop(&env, in[7]);
    in[7] = MOT_NO_BUF;
    mot_buf sum = mot_sum_weighted(&env, in, weight, BUFS);
    for (uint32_t i = 0; i < DIM; i++) {
        double want = 0;
        for (uint32_t b = 0; b < BUFS; b++)
            if (b != 3 && b != 7) want += weight[b] * (double)mot_read(&env, in[b])[i];
        CHECK(mot_read(&env, sum)[i] == (float)want);
    }
    mot_drop(&env, sum);
    weight[0] = 0;
    sum = mot_sum_weighted(&env, in, weight, 1);
    CHECK(mot_read(&env, sum)[DIM - 1] == 0);
    mot_pool_close(&pool);
}

TEST_MAIN()
