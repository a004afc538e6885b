/* Which node a fault of the schedule hits, and when gradients are poisoned. */
#include "base/memory.h"
#include "cluster/fault.h"
#include "test.h"

TEST(a_fault_without_nodes_hits_all_and_one_with_nodes_only_these)
{
    const struct mot_fault all = { .kind = MOT_FAULT_STALL };
    struct mot_fault some = { .kind = MOT_FAULT_STALL, .workers = { .n = 2, .v = { 0, 2 } } },
                     server = { .kind = MOT_FAULT_STALL, .server = true };
    for (mot_node i = 0; i < 5; i++) {
        CHECK(mot_fault_hits(&all, 3, i));
        CHECK_INT(mot_fault_hits(&some, 3, i), i == 0 || i == 2);
        CHECK_INT(mot_fault_hits(&server, 3, i), i >= 3);
    }
    some.server = true;
    for (mot_node i = 0; i < 5; i++) CHECK_INT(mot_fault_hits(&some, 3, i), i != 1);
}

static int poisoned(const struct mot_faults *f, mot_node node, mot_time now)
{
    int n = 0;
    for (uint64_t job = 0; job < 4000; job++) n += mot_fault_poisons(f, 3, 4, node, job, now);
    return n;
}

TEST(gradients_are_poisoned_with_the_greatest_chance_that_holds_then_and_there)
{
    struct mot_fault fault[] = {
        { .kind = MOT_FAULT_POISON,
            .at = 100,
            .lasts = 50,
            .amount = 0.5,
            .workers = { .n = 1, .v = { 1 } } },
        { .kind = MOT_FAULT_POISON, .at = 100, .lasts = 50, .amount = 0.25 },
        { .kind = MOT_FAULT_DROP, .at = 100, .lasts = 50, .amount = 1 },
    };
    struct mot_faults f = { .until = 1000, .fault = fault, .scheduled = 3 };
    f.chance[MOT_FAULT_POISON - MOT_FAULT_DROP] = 0.1;
    printf("  seed 3\n");
    /* each within five deviations */
    CHECK_NEAR(poisoned(&f, 1, 99), 400, 95);
    CHECK_NEAR(poisoned(&f, 1, 100), 2000, 158);
    CHECK_NEAR(poisoned(&f, 1, 149), 2000, 158);
    CHECK_NEAR(poisoned(&f, 1, 150), 400, 95);
    CHECK_NEAR(poisoned(&f, 2, 100), 1000, 137);
    CHECK_NEAR(poisoned(&f, 1, 999), 400, 95);
    CHECK_INT(poisoned(&f, 1, 1000), 0);
    fault[1].amount = 0.05; /* less than the chance that holds anyway */
    CHECK_NEAR(poisoned(&f, 2, 100), 400, 95);
}

TEST(whether_a_gradient_is_poisoned_depends_on_seed_worker_and_job_alone)
{
    struct mot_faults f = { .until = MOT_NEVER };
    f.chance[MOT_FAULT_POISON - MOT_FAULT_DROP] = 0.5;
    int alike[3] = { 0 };
    for (uint64_t job = 0; job < 1000; job++) {
        bool now = mot_fault_poisons(&f, 3, 4, 1, job, 5);
        CHECK_INT(mot_fault_poisons(&f, 3, 4, 1, job, 500), now);
        alike[0] += mot_fault_poisons(&f, 3, 4, 2, job, 5) == now;
        alike[1] += mot_fault_poisons(&f, 4, 4, 1, job, 5) == now;
        alike[2] += mot_fault_poisons(&f, 3, 4, 1, job + 1, 5) == now;
    }
    for (int i = 0; i < 3; i++) CHECK_NEAR(alike[i], 500, 80);
}

TEST(every_kind_of_fault_has_its_name)
{
    static const char *const name[] = { "crash", "restart", "stall", "partition", "slow-link", "drop",
        "duplicate", "reorder", "corrupt", "poison" };
    static const enum mot_fault_kind kind[] = { MOT_FAULT_CRASH, MOT_FAULT_RESTART, MOT_FAULT_STALL,
        MOT_FAULT_PARTITION, MOT_FAULT_SLOW_LINK, MOT_FAULT_DROP, MOT_FAULT_DUPLICATE, MOT_FAULT_REORDER,
        MOT_FAULT_CORRUPT, MOT_FAULT_POISON };
    for (size_t i = 0; i < MOT_COUNT(kind); i++) CHECK_TEXT(mot_fault_name(kind[i]), name[i]);
}

TEST_MAIN()
