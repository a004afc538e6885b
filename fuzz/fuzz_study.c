/* fuzz_study.c -- any bytes as a study's file: what is accepted is within its limits, and what
 * it sets is text that the experiment's reader takes or refuses in words. */
#include "study/plan.h"
#include "study/values.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check_side(const struct mot_study_side *side, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        MOT_ASSERT(side[i].name);
        for (size_t k = 0; k < side[i].settings; k++)
            MOT_ASSERT(*side[i].setting[k].origin && side[i].setting[k].key && side[i].setting[k].value);
    }
}

static void check_plan(const struct mot_study_plan *plan)
{
    MOT_ASSERT(plan->arms >= 1 && plan->arms <= MOT_ARMS_MAX && plan->conditions >= 1 &&
        plan->conditions <= MOT_CONDITIONS_MAX);
    MOT_ASSERT(plan->seeds.n >= 1 && plan->arms * plan->conditions * plan->seeds.n <= MOT_RUNS_MAX);
    MOT_ASSERT(!plan->tune.asked || (plan->tune.overs >= 1 && plan->tune.seeds.n >= 1));
    check_side(plan->arm, plan->arms);
    check_side(plan->condition, plan->conditions);
}

/* What a value becomes as text is read again as the same value. */
static void check_text(const char *text)
{
    if (*text != '{' && *text != '[') return;
    struct mot_arena arena = { 0 };
    struct mot_yaml *node;
    if (mot_yaml_parse("value", true, text, strlen(text), &arena, &node) == MOT_OK &&
        node->kind != MOT_YAML_SCALAR)
        MOT_ASSERT(strcmp(mot_value_text(node, &arena), text) == 0);
    mot_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct mot_study_plan *plan;
    /* The first line is --methods, the rest the file. */
    const uint8_t *line = memchr(bytes, '\n', n);
    size_t first = line ? (size_t)(line - bytes) : 0;
    char *methods = calloc(first + 1, 1);
    MOT_ASSERT(methods);
    if (first) memcpy(methods, bytes, first);
    const char *text = (const char *)bytes + (line ? first + 1 : 0);
    struct mot_plan_flags flags = { .methods = (const char *const[]){ methods }, .methods_n = first > 0 };
    if (mot_study_plan_parse("fuzz.yaml", text, n - (line ? first + 1 : 0), &flags, &plan) == MOT_OK) {
        check_plan(plan);
        for (size_t a = 0; a < plan->arms; a++)
            for (size_t k = 0; k < plan->arm[a].settings; k++) check_text(plan->arm[a].setting[k].value);
        mot_study_plan_close(plan);
    } else {
        MOT_ASSERT(*mot_error());
    }
    free(methods);
    return 0;
}
