#include "driver/outcome.h"
#include <stdlib.h>

void mot_outcome_close(struct mot_outcome *out)
{
    mot_arena_free(&out->arena);
    free(out->node);
    free(out->x);
    free(out->best);
    *out = (struct mot_outcome){ 0 };
}
