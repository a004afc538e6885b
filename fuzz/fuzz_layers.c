/* fuzz_layers.c -- any bytes as a list of layers: parsed, and planned for small pictures. */
#include "base/memory.h"
#include "math/models.h"
#include "math/network.h"
#include "fuzz.h"
#include <string.h>

/* Rows that are pictures, or just numbers. */
static void check_plan(const struct mot_layer_list *list, bool pictures)
{
    struct mot_net net = { .kind = &mot_model_network, .shape = { .cols = 192, .classes = 4 } };
    if (pictures) net.shape.picture = (struct mot_picture){ 3, 8, 8 };
    if (mot_layer_plan_make(&net, list) == MOT_OK) {
        const struct mot_layer_plan *plan = net.plan;
        for (uint32_t i = 1; i < plan->ops; i++) {
            const struct mot_op *op = &plan->op[i];
            MOT_ASSERT(op->in < i && op->also < i && mot_map_size(&op->map) > 0 && op->slot < plan->slots);
            MOT_ASSERT(op->at + mot_map_size(&op->map) <= plan->results);
        }
        MOT_ASSERT(net.outputs == 4 && net.trained <= net.dim);
    }
    mot_net_close(&net);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n > 1 << 14) return 0;
    char *text = malloc(n + 1);
    if (n) memcpy(text, bytes, n);
    text[n] = '\0';
    struct mot_layer_list *list = mot_new(1, sizeof *list);
    const bool parsed = mot_layer_list_parse(text, list) == MOT_OK;
    for (int pictures = 0; parsed && pictures < 2; pictures++) check_plan(list, pictures);
    free(list);
    free(text);
    return 0;
}
