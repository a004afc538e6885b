/* layer_list.h -- a network as users write it: a list of layers, as text.
 *
 *     [{name: conv, out: 6, kernel: 5, padding: 2}, relu, {name: max_pool, kernel: 2}, flatten,
 *      {name: linear, out: 120}]
 *
 * A layer is a word, or a map with its name and options; `as` names its tensors, otherwise its place does,
 * from 0, as in PyTorch's nn.Sequential. A residual has a list of its own. */
#ifndef MOT_MATH_LAYER_LIST_H
#define MOT_MATH_LAYER_LIST_H

#include <motley/option.h>
#include <motley/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOT_LAYERS_MOST 512
#define MOT_LAYER_NAME 40
#define MOT_LAYER_DEPTH 4 /* residuals in residuals */
#define MOT_LAYER_PLACE 32

enum mot_layer_kind {
    MOT_LAYER_CONV,
    MOT_LAYER_LINEAR,
    MOT_LAYER_RELU,
    MOT_LAYER_MAX_POOL,
    MOT_LAYER_MEAN_POOL,
    MOT_LAYER_BATCH_NORM,
    MOT_LAYER_GROUP_NORM,
    MOT_LAYER_DROPOUT,
    MOT_LAYER_EMBEDDING,
    MOT_LAYER_FLATTEN,
    MOT_LAYER_RESIDUAL,     /* begins here; */
    MOT_LAYER_RESIDUAL_END, /* what entered there is added to what comes here */
};

enum mot_shortcut { MOT_SHORTCUT_IDENTITY, MOT_SHORTCUT_PAD, MOT_SHORTCUT_CONV };

struct mot_layer {
    enum mot_layer_kind kind;
    char place[MOT_LAYER_PLACE]; /* in the list that the user wrote, for messages: "2.1", from 1 */
    char name[MOT_LAYER_NAME];   /* of its tensors: "layer1.0.conv1" */
    uint64_t out;                /* channels or width; MOT_WORD_UINT: the classes */
    uint64_t kernel, stride, padding, groups, words;
    bool bias;
    double momentum, epsilon, rate;
    uint32_t shortcut;
    char shortcut_conv[MOT_LAYER_NAME], shortcut_norm[MOT_LAYER_NAME];
};

struct mot_layer_list {
    uint32_t n;
    struct mot_layer layer[MOT_LAYERS_MOST];
};

/* Fails with a message that names the layer. */
enum mot_status mot_layer_list_parse(const char *text, struct mot_layer_list *out);

const char *mot_layer_word(enum mot_layer_kind);

/* For help: kind i, or false past the last. */
bool mot_layer_kind_at(size_t i, const char **name, const char **doc, const struct mot_option **options);

#endif
